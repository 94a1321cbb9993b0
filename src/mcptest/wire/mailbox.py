"""What one thread leaves for another, which waits for it with a poll.

A pipe wakes the poll. Whoever brings more than is fetched is made to wait, so that a flood
stays where it comes from.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import threading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["Mailbox"]

# How much may lie here before whoever brings more has to wait.
_ROOM_BYTES = 4 * 1024 * 1024


class Mailbox:
    """Items from an event loop in another thread, for the thread that made this."""

    def __init__(self) -> None:
        self.fd, self._writer = os.pipe()
        os.set_blocking(self.fd, False)
        self._lock = threading.Lock()
        self._items: list[Any] = []
        self._size = 0
        self._is_open = True
        self._room = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None

    # The side that brings

    def post(self, item: object, size: int = 0) -> bool:
        """Leave an item, whatever lies here; False when the box is closed: nobody fetches it."""
        with self._lock:
            if not self._is_open:
                return False
            self._items.append(item)
            self._size += size
            if len(self._items) == 1:
                os.write(self._writer, b"!")
        return True

    async def put(self, item: object, size: int) -> None:
        """Leave an item as soon as there is room for it."""
        self._loop = asyncio.get_running_loop()
        while self._is_open and self._size > _ROOM_BYTES:
            self._room.clear()
            await self._room.wait()
        self.post(item, size)

    # The side that fetches

    def take(self) -> list[Any]:
        """Everything that lies here."""
        with self._lock:
            if not self._items:
                return []
            os.read(self.fd, 1)
            items, self._items, self._size = self._items, [], 0
        self._make_room()
        return items

    def close(self) -> list[Any]:
        """Let go of the pipe, and of whoever waits to bring something; what was not fetched."""
        with self._lock:
            if not self._is_open:
                return []
            self._is_open = False
            left, self._items = self._items, []
            os.close(self.fd)
            os.close(self._writer)
            self.fd = -1
        self._make_room()
        return left

    def _make_room(self) -> None:
        if self._loop:
            # A loop that is closed has nobody who waits.
            with contextlib.suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self._room.set)
