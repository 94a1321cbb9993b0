"""A tape that grows. Where there is one, beside it, until the session was recorded.

A recording that fails must not cost the tape of a session that did not.
"""

from __future__ import annotations

import contextlib
import errno
import os
from itertools import count

from mcptest.coprocess.files import open_regular, why_not, write_all
from mcptest.coprocess.refusals import quoted
from mcptest.coprocess.tape import looks_like_tape, render_header
from mcptest.runner.file_targets import resolve_target

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mcptest.coprocess.tape import Take

__all__ = ["Recorder"]

_MAX_HEADER_BYTES = 1024 * 1024
_numbers = count(1)


class Recorder:
    """Records to `part`: the file itself, or one beside it when that is a tape.

    OSError when that is impossible, or when something else is there.
    """

    def __init__(self, path: str, command: tuple[str, ...]) -> None:
        is_there = _is_tape(path)
        self.path = path
        # Where a link leads is replaced, and not the link.
        self._place = resolve_target(path)
        beside = f"{self._place}.{os.getpid()}-{next(_numbers)}.part"
        self.part = beside if is_there else self._place
        self._has_begun = False
        self._calls = 0
        self._fd = open_regular(self.part, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW)
        try:
            write_all(self._fd, render_header(command))
        except OSError:
            self._drop()
            raise

    def begin(self, hello: Take) -> None:
        """The first take of all, once."""
        if not self._has_begun:
            write_all(self._fd, hello.render())
            self._has_begun = True

    def add(self, take: Take) -> None:
        write_all(self._fd, take.render())
        self._calls += 1

    def finish(self, *, is_whole: bool) -> str:
        """Put the tape in its place; a sentence when it is left where it is, or is no use.

        One that is there is only replaced by a whole session in which something was asked.
        """
        if not self._has_begun:
            self._drop()
            return ""
        if self.part == self._place:
            os.close(self._fd)
            return ""
        if not (is_whole and self._calls):
            return self._left()
        try:
            os.replace(self.part, self._place)
        except OSError as error:
            os.close(self._fd)
            why = f"the cassette {quoted(self.path)} cannot be written: {why_not(error)}"
            return f"{why}; what was recorded is in {quoted(self.part)}"
        os.close(self._fd)
        return ""

    def _left(self) -> str:
        kept = f"the cassette {quoted(self.path)} was left as it is"
        if not self._calls:
            self._drop()
            return f"{kept}: nothing was asked"
        os.close(self._fd)
        return f"{kept}: the session broke off; what was recorded is in {quoted(self.part)}"

    def _drop(self) -> None:
        os.close(self._fd)
        with contextlib.suppress(OSError):
            os.unlink(self.part)


def _is_tape(path: str) -> bool:
    """Whether there is a tape; whatever else is there is not ours to replace."""
    try:
        fd = open_regular(path, os.O_RDONLY)
    except FileNotFoundError:
        return False
    with os.fdopen(fd, "rb") as file:
        line = file.readline(_MAX_HEADER_BYTES)
    if line and not looks_like_tape(line):
        raise OSError(errno.EEXIST, "it is there and is no cassette; choose another name")
    return bool(line)
