"""What was called, as NDJSON, delivered to a file or an HTTP target when it is asked for.

A target that cannot be reached loses nothing: the records stay queued for the next time.
"""

from __future__ import annotations

import os
import time

from mcptest.coprocess.files import open_regular, why_not, write_all
from mcptest.core.strict_json import dump_json
from mcptest.core.visible import visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    import socket
    from typing import Any

    from mcptest.coprocess.targets import Target

__all__ = ["UploadError", "Uploads"]

PATIENCE_S = 10.0
_MAX_HEAD_BYTES = 64 * 1024


class UploadError(Exception):
    """A target that cannot be reached, or does not take what it is sent."""


class Uploads:
    """The calls since the last delivery, and where they go."""

    def __init__(self) -> None:
        self.is_enabled = False
        self.target: Target | None = None
        self._queue: list[bytes] = []

    def __len__(self) -> int:
        return len(self._queue)

    def add(self, record: dict[str, Any]) -> None:
        if self.is_enabled:
            self._queue.append(dump_json(record).encode("utf-8", "backslashreplace") + b"\n")

    def flush(self, patience_s: float = PATIENCE_S) -> int:
        """Deliver everything; how many records there were. UploadError leaves them queued."""
        if self._queue:
            # Nothing is queued before a target has been named.
            assert self.target is not None
            deliver(self.target, b"".join(self._queue), patience_s)
        count, self._queue = len(self._queue), []
        return count

    def save(self, path: str) -> None:
        """Put what cannot be delivered into a file; OSError when that is impossible, too."""
        os.makedirs(os.path.dirname(path), exist_ok=True)
        _append(os.fsencode(path), b"".join(self._queue))
        self._queue = []


def deliver(target: Target, text: bytes, patience_s: float) -> None:
    """Append to the file, or post to the URL; UploadError when it was not taken."""
    if target.file:
        try:
            _append(target.file, text)
        except OSError as error:
            message = f"cannot write to {visible(target.text)}: {why_not(error)}"
            raise UploadError(message) from None
        return
    status = _post(target, text, time.monotonic() + patience_s)
    # A redirect is not followed: nobody said that the records may go elsewhere.
    if not 200 <= status < 300:
        raise UploadError(f"{visible(target.text)} answered with status {status}")


def _append(path: bytes, text: bytes) -> None:
    fd = open_regular(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    try:
        write_all(fd, text)
    finally:
        os.close(fd)


def _post(target: Target, text: bytes, deadline: float) -> int:
    # Only for those who upload; it takes longer to import than the rest of this program.
    import http.client  # noqa: PLC0415

    kind = http.client.HTTPSConnection if target.is_secure else http.client.HTTPConnection
    connection = kind(target.host, target.port, timeout=max(0.1, deadline - time.monotonic()))
    try:
        headers = {"Content-Type": "application/x-ndjson", "Connection": "close"}
        connection.request("POST", target.resource, text, headers)
        return _status(connection.sock, deadline)
    except (OSError, ValueError, http.client.HTTPException) as error:
        raise UploadError(f"cannot reach {visible(target.text)}: {visible(str(error))}") from None
    finally:
        connection.close()


def _status(sock: socket.socket, deadline: float) -> int:
    """The status of the answer, whose head must be there by the deadline."""
    head = b""
    while True:
        line, end, rest = head.partition(b"\r\n\r\n")
        if end:
            status = _status_in(line)
            if status >= 200:
                return status
            # Something for meanwhile; the answer follows.
            head = rest
            continue
        left_s = deadline - time.monotonic()
        if left_s <= 0:
            raise TimeoutError("no answer in time")
        sock.settimeout(left_s)
        chunk = sock.recv(4096)
        if not chunk:
            raise ConnectionResetError("it hung up without an answer")
        head += chunk
        if len(head) > _MAX_HEAD_BYTES:
            raise ValueError("the head of its answer never ends")


def _status_in(head: bytes) -> int:
    words = head.split(b"\r\n")[0].split()
    is_http = len(words) > 1 and words[0].startswith(b"HTTP/") and words[1].isdigit()
    if not is_http:
        raise ValueError("its answer is not HTTP")
    return int(words[1])
