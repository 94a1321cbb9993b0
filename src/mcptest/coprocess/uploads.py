"""Records of calls, delivered on request to a file or an HTTP target as NDJSON.

If a target cannot be reached, the records stay queued. At the end of the session they are saved to
a file before the last delivery is tried.
"""

from __future__ import annotations

import contextlib
import os
import time
from urllib.parse import unquote_to_bytes, urlsplit

from mcptest.core.text import excerpt, plural, visible
from mcptest.core.value_class import Record
from mcptest.engine.test_files import (
    open_regular,
    resolve_inside,
    resolve_target,
    why_not,
    write_all,
)
from mcptest.protocol.framing import encode_line
from mcptest.protocol.http_address import Address

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any
    from urllib.parse import SplitResult

    Params = dict[str, Any]
    # (address, content type, body, deadline) -> status; OSError if there is no answer.
    Post = Callable[[Address, str, bytes, float], int]

__all__ = ["LAST_PATIENCE_S", "BadTargetError", "Target", "UploadError", "Uploads", "read_target"]

_PATIENCE_S = 10.0
# An SDK waits ten seconds until we end; a server that ignores the end of its input takes four.
LAST_PATIENCE_S = 3.0

_FOLDERS = (".mcptest", os.path.join(".mcptest", "unsent"))


class UploadError(Exception):
    """A target that cannot be reached, or refuses the records."""


class Uploads:
    """The queue of records, and its target."""

    def __init__(self, post: Post) -> None:
        self._post = post
        self.is_enabled = False
        self.target: Target | None = None
        self._queue: list[bytes] = []
        self._unsent = _Unsent()

    def __len__(self) -> int:
        return len(self._queue)

    def add(self, record: dict[str, Any]) -> None:
        if self.is_enabled:
            self._queue.append(encode_line(record))

    def flush(self, patience_s: float = _PATIENCE_S) -> int:
        """Deliver everything and return the number of records. UploadError leaves them queued."""
        if self._queue:
            assert self.target is not None, "nothing is queued before a target is set"
            deadline = time.monotonic() + patience_s
            _deliver(self.target, b"".join(self._queue), deadline, self._post)
        count, self._queue = len(self._queue), []
        return count

    def save(self) -> None:
        """Write the queue to a file, which stays unless `finish` delivers it.

        Called before anything else at the end, so that nothing is lost if we are killed.
        """
        if self._queue and not self._unsent.path:
            self._unsent.write(b"".join(self._queue))

    def finish(self, patience_s: float = LAST_PATIENCE_S) -> str:
        """Deliver what is left; a warning if that failed."""
        self.save()
        count, path, why = plural(len(self), "call"), self._unsent.path, self._unsent.problem
        try:
            self.flush(patience_s)
        except UploadError as error:
            if why:
                return f"{count} lost: {error}, and {path} cannot be written: {why}"
            return f"{count} not uploaded: {error}; what was to be sent is in {path}"
        self._unsent.remove()
        return ""


class _Unsent:
    """The file for undelivered records. `problem` says why it could not be written."""

    def __init__(self) -> None:
        self.path = ""
        self.problem = ""
        self._made: list[str] = []

    def write(self, text: bytes) -> None:
        # Random, because machines that share a folder may have the same time and process id.
        name = f"{time.strftime('%Y%m%dT%H%M%S')}-{os.getpid()}-{os.urandom(4).hex()}.ndjson"
        self.path = os.path.join(_FOLDERS[-1], name)
        self._made = [folder for folder in _FOLDERS if not os.path.isdir(folder)]
        try:
            try:
                self._create(text)
            except FileNotFoundError:
                # Another process has just removed the empty folder.
                self._create(text)
        except OSError as error:
            self.problem = why_not(error)
            self._remove_folders()

    def _create(self, text: bytes) -> None:
        resolve_inside(_FOLDERS[-1], ".")
        os.makedirs(_FOLDERS[-1], exist_ok=True)
        fd = open_regular(self.path, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
        try:
            write_all(fd, text)
        except OSError:
            os.unlink(self.path)
            raise
        finally:
            os.close(fd)

    def remove(self) -> None:
        """Remove the file, once everything has been delivered."""
        if self.path and not self.problem:
            with contextlib.suppress(OSError):
                os.unlink(self.path)
            self._remove_folders()

    def _remove_folders(self) -> None:
        """Remove the folders that were created for it, if they are empty."""
        with contextlib.suppress(OSError):
            for folder in reversed(self._made):
                os.rmdir(folder)


def _deliver(target: Target, text: bytes, deadline: float, post: Post) -> None:
    """Append to the file, or post to the URL; UploadError if that fails."""
    place = visible(target.text)
    if target.address:
        try:
            status = post(target.address, "application/x-ndjson", text, deadline)
        except OSError as error:
            raise UploadError(f"cannot reach {place}: {visible(str(error))}") from None
        # Redirects are not followed: the records were meant for this target only.
        if not 200 <= status < 300:
            raise UploadError(f"{place} answered with status {status}")
        return
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW
    try:
        fd = open_regular(resolve_target(os.fsdecode(target.file)), flags)
        try:
            write_all(fd, text)
        finally:
            os.close(fd)
    except OSError as error:
        raise UploadError(f"cannot write to {place}: {why_not(error)}") from None


# Targets: a file, HTTP to this machine, HTTPS to any other. Pure.


class BadTargetError(ValueError):
    """A target that is not accepted."""


class Target(Record):
    """The path of a file, or the address of a URL."""

    text: str
    file: bytes = b""
    address: Address | None = None


def read_target(text: str) -> Target:
    """The target that a string names; BadTargetError says what is wrong with it."""
    shown = excerpt(text, 200)
    if not text.isprintable():
        raise BadTargetError(f'"{shown}" holds characters that cannot be seen')
    try:
        parts = urlsplit(text)
        if parts.scheme == "file":
            return Target(text=text, file=_read_file_target(parts, text))
        if parts.scheme in ("http", "https"):
            return _read_url_target(parts, text)
    except BadTargetError:
        raise
    except ValueError as error:
        # Brackets without an address, a bad port, half a surrogate pair.
        raise BadTargetError(f'"{shown}" cannot be read: {visible(str(error))}') from None
    ways = "a file: target, an https: URL, or an http: URL on this machine"
    raise BadTargetError(f'"{shown}" is none of them: {ways}')


def _read_file_target(parts: SplitResult, text: str) -> bytes:
    if parts.netloc not in ("", "localhost"):
        advice = f"file://{parts.netloc}{parts.path} names a host; a path begins with a third slash"
        raise BadTargetError(excerpt(advice, 200))
    if "?" in text or "#" in text:
        raise BadTargetError("a file: target has no ? and no #: write %3F and %23 for them")
    path = unquote_to_bytes(parts.path)
    if not path or b"\0" in path or path.endswith(b"/"):
        raise BadTargetError("a file: target names a file, such as file:///tmp/calls.ndjson")
    return path


def _read_url_target(parts: SplitResult, text: str) -> Target:
    shown = excerpt(text, 200)
    if not text.isascii() or " " in text:
        raise BadTargetError(f'"{shown}" is not a URL: spaces and letters beyond ASCII are encoded')
    if "@" in parts.netloc or "#" in text:
        raise BadTargetError("a URL to upload to holds no user, no password and no #")
    host = parts.hostname or ""
    if not host:
        raise BadTargetError(f'"{shown}" names no host')
    if "%" in host:
        raise BadTargetError(f'"{shown}" names a host with a %: zones and escapes are not for URLs')
    if "[" in parts.netloc and ":" not in host:
        raise BadTargetError(f'"{shown}" has brackets around something that is not an IPv6 address')
    if parts.scheme != "https" and not _is_this_machine(host):
        message = f'"{shown}" would send what tools answer in clear over the network; use https:'
        raise BadTargetError(message)
    is_secure = parts.scheme == "https"
    usual_port = 443 if is_secure else 80
    address = Address(
        scheme="https" if is_secure else "http",
        host=host,
        port=usual_port if parts.port is None else parts.port,
        target=(parts.path or "/") + (f"?{parts.query}" if parts.query else ""),
    )
    return Target(text=text, address=address)


def _is_this_machine(host: str) -> bool:
    numbers = host.split(".")
    # 127.999.1.1 is not an address: it would be resolved as a name.
    is_address = all(len(word) < 4 and word.isdigit() and int(word) < 256 for word in numbers)
    is_loopback = len(numbers) == 4 and numbers[0] == "127" and is_address
    return is_loopback or host in ("localhost", "::1")
