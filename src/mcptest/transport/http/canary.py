"""A server on this machine that records the requests it receives: for probes with URLs.

A tool that is given its URL and connects has reached this machine. It runs in a thread of its own,
because the caller waits for the tool meanwhile.
"""

from __future__ import annotations

import contextlib
import socket
import threading
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Self

__all__ = ["CanaryServer"]

_MAX_HEAD_BYTES = 8 * 1024
_REQUEST_S = 2.0
_TICK_S = 0.1
_ANSWER = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n"
    b"Connection: close\r\n\r\nok"
)


class CanaryServer:
    """Listens on 127.0.0.1 while it is entered; `targets` are the paths that were asked for."""

    def __init__(self) -> None:
        self._listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        self._listener.bind(("127.0.0.1", 0))
        self._listener.listen(16)
        self._listener.settimeout(_TICK_S)
        self.port: int = self._listener.getsockname()[1]
        self.targets: list[str] = []
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._serve, name="canary", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self._thread.join(_REQUEST_S + 1.0)
        self._listener.close()

    def _serve(self) -> None:
        while not self._is_over.is_set():
            with contextlib.suppress(OSError):
                connection, _ = self._listener.accept()
                with connection:
                    self._answer(connection)

    def _answer(self, connection: socket.socket) -> None:
        """Read the head of one request, in limited time, and answer it."""
        deadline = time.monotonic() + _REQUEST_S
        head = b""
        # A connection that sends nothing, or breaks, has reached this machine, too.
        with contextlib.suppress(OSError):
            while b"\r\n\r\n" not in head and len(head) < _MAX_HEAD_BYTES:
                left_s = deadline - time.monotonic()
                if left_s <= 0:
                    break
                connection.settimeout(left_s)
                piece = connection.recv(_MAX_HEAD_BYTES)
                if not piece:
                    break
                head += piece
        self.targets.append(head.partition(b"\r\n")[0].decode("latin-1"))
        connection.sendall(_ANSWER)
