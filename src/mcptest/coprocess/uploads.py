"""What was called, as NDJSON, delivered to a file or an HTTP target when it is asked for.

A target that cannot be reached loses nothing: the records stay queued for the next time, and at
the end they are in a file before the last delivery is tried.
"""

from __future__ import annotations

import contextlib
import os
import time

from mcptest.coprocess.files import open_regular, why_not, write_all
from mcptest.core.strict_json import dump_json
from mcptest.core.text import plural, visible
from mcptest.runner.file_targets import resolve_inside, resolve_target

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from mcptest.coprocess.targets import Target
    from mcptest.core.http_address import Address

    # Posts a body of some type to an address by a deadline. The status of the answer, or an
    # OSError that says why there is none.
    Post = Callable[[Address, str, bytes, float], int]

__all__ = ["UploadError", "Uploads"]

PATIENCE_S = 10.0
# An SDK waits ten seconds for our end, and a server that does not want to stop takes four.
LAST_PATIENCE_S = 3.0

_FOLDERS = (".mcptest", os.path.join(".mcptest", "unsent"))


class UploadError(Exception):
    """A target that cannot be reached, or does not take what it is sent."""


class Uploads:
    """The calls since the last delivery, and where they go."""

    def __init__(self, post: Post) -> None:
        self._post = post
        self.is_enabled = False
        self.target: Target | None = None
        self._queue: list[bytes] = []
        self._unsent = Unsent()

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
            deadline = time.monotonic() + patience_s
            deliver(self.target, b"".join(self._queue), deadline, self._post)
        count, self._queue = len(self._queue), []
        return count

    def save(self) -> None:
        """Put what is queued into a file, which stays unless `finish` delivers it.

        For the end, before anything is waited for: whoever is killed from here on loses nothing.
        """
        if self._queue and not self._unsent.path:
            self._unsent.write(b"".join(self._queue))

    def finish(self, patience_s: float = LAST_PATIENCE_S) -> str:
        """Deliver what is left, for the last time; a sentence when that was impossible."""
        self.save()
        count, path, trouble = plural(len(self), "call"), self._unsent.path, self._unsent.trouble
        try:
            self.flush(patience_s)
        except UploadError as error:
            if trouble:
                return f"{count} lost: {error}, and {path} cannot be written: {trouble}"
            return f"{count} not uploaded: {error}; what was to be sent is in {path}"
        self._unsent.remove()
        return ""


class Unsent:
    """The file for what may never be delivered. `trouble` says why it could not be written."""

    def __init__(self) -> None:
        self.path = ""
        self.trouble = ""
        self._made: list[str] = []

    def write(self, text: bytes) -> None:
        # Machines that share a folder may have the same time and the same process id.
        name = f"{time.strftime('%Y%m%dT%H%M%S')}-{os.getpid()}-{os.urandom(4).hex()}.ndjson"
        self.path = os.path.join(_FOLDERS[-1], name)
        self._made = [folder for folder in _FOLDERS if not os.path.isdir(folder)]
        try:
            try:
                self._create(text)
            except FileNotFoundError:
                # Somebody else has just removed a folder that was empty.
                self._create(text)
        except OSError as error:
            self.trouble = why_not(error)
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
        """Take it away, once everything has been delivered."""
        if self.path and not self.trouble:
            with contextlib.suppress(OSError):
                os.unlink(self.path)
            self._remove_folders()

    def _remove_folders(self) -> None:
        """Those that were made for it and hold nothing else."""
        with contextlib.suppress(OSError):
            for folder in reversed(self._made):
                os.rmdir(folder)


def deliver(target: Target, text: bytes, deadline: float, post: Post) -> None:
    """Append to the file, or post to the URL; UploadError when it was not taken."""
    if target.address:
        _send(target, target.address, text, deadline, post)
        return
    try:
        _append(target.file, text)
    except OSError as error:
        message = f"cannot write to {visible(target.text)}: {why_not(error)}"
        raise UploadError(message) from None


def _send(target: Target, address: Address, text: bytes, deadline: float, post: Post) -> None:
    try:
        status = post(address, "application/x-ndjson", text, deadline)
    except OSError as error:
        raise UploadError(f"cannot reach {visible(target.text)}: {visible(str(error))}") from None
    # A redirect is not followed: nobody said that the records may go elsewhere.
    if not 200 <= status < 300:
        raise UploadError(f"{visible(target.text)} answered with status {status}")


def _append(path: bytes, text: bytes) -> None:
    target = resolve_target(os.fsdecode(path))
    fd = open_regular(target, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW)
    try:
        write_all(fd, text)
    finally:
        os.close(fd)
