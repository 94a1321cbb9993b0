"""What was called, as NDJSON, delivered to a file or an HTTP target when it is asked for.

A target that cannot be reached loses nothing: the records stay queued for the next time.
"""

from __future__ import annotations

import os
from urllib.parse import unquote, urlsplit

from mcptest.core.strict_json import dump_json
from mcptest.core.visible import visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["UploadError", "Uploads", "check_target"]

_LOOPBACK = frozenset(["localhost", "127.0.0.1", "::1"])
_PATIENCE_S = 10.0


class UploadError(Exception):
    """A target that cannot be meant, or cannot be reached."""


class Uploads:
    """The calls since the last delivery, and where they go."""

    def __init__(self) -> None:
        self.is_enabled = False
        self.target = ""
        self._queue: list[str] = []

    def add(self, record: dict[str, Any]) -> None:
        if self.is_enabled:
            self._queue.append(dump_json(record) + "\n")

    def flush(self) -> int:
        """Deliver everything; how many records there were. UploadError leaves them queued."""
        if not self._queue:
            return 0
        if not self.target:
            raise UploadError("no target has been set: mcp.reporter.setUpload names one")
        text = "".join(self._queue).encode("utf-8", "backslashreplace")
        if self.target.startswith("file:"):
            _append(_path_of(self.target), text)
        else:
            _post(self.target, text)
        count, self._queue = len(self._queue), []
        return count


def check_target(target: str) -> None:
    """UploadError when nothing may be sent there: secrets travel in clear over plain HTTP."""
    parts = urlsplit(target)
    if parts.scheme == "file":
        if not _path_of(target):
            raise UploadError("a file: target names a file, such as file:///tmp/calls.ndjson")
        return
    is_near = parts.scheme == "http" and parts.hostname in _LOOPBACK
    if not (is_near or (parts.scheme == "https" and parts.hostname)):
        message = f"{visible(target)!r} is no target: file:, https: or http: on this machine"
        raise UploadError(message)


def _path_of(target: str) -> str:
    return unquote(urlsplit(target).path)


def _append(path: str, text: bytes) -> None:
    try:
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NONBLOCK, 0o666)
        try:
            start = os.fstat(fd).st_size
            view = memoryview(text)
            while view:
                view = view[os.write(fd, view) :]
        except OSError:
            # Half of it must not stay: all of it is sent again.
            os.ftruncate(fd, start)
            raise
        finally:
            os.close(fd)
    except OSError as error:
        raise UploadError(f"cannot write to {visible(path)}: {error.strerror}") from None


def _post(target: str, text: bytes) -> None:
    # Only for those who upload; it takes longer to import than the rest of this program.
    import http.client  # noqa: PLC0415

    parts = urlsplit(target)
    kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    assert parts.hostname, "it was checked"
    connection = kind(parts.hostname, parts.port, timeout=_PATIENCE_S)
    path = f"{parts.path or '/'}{'?' + parts.query if parts.query else ''}"
    try:
        connection.request("POST", path, text, {"Content-Type": "application/x-ndjson"})
        status = connection.getresponse().status
    except (OSError, http.client.HTTPException) as error:
        raise UploadError(f"cannot reach {visible(target)}: {error}") from None
    finally:
        connection.close()
    # A redirect is not followed: nobody said that the records may go elsewhere.
    if not 200 <= status < 300:
        raise UploadError(f"{visible(target)} answered with status {status}")
