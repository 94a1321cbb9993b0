"""The files that commands write: refuse unsuitable ones, replace them, stream to one."""

from __future__ import annotations

import atexit
import contextlib
import errno
import os
import select
import shlex
import stat
import time

from mcptest.core.errors import UsageError
from mcptest.core.text import visible
from mcptest.engine.test_files import CONFIG_NAMES, SUITE_ENDINGS, resolve_target
from mcptest.transport import OPEN_FLAGS
from mcptest.transport.files import open_beside, put_in_place, replace_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcptest.cli.options import Arguments

__all__ = ["ReportStream", "check_writable", "is_special", "refuse_clashes", "write_file"]


def refuse_clashes(files: Sequence[str], arguments: Arguments) -> None:
    """Raise a `UsageError` if reports would replace each other, or a file that the run reads.

    Links are resolved first: a report is written where they lead.
    """
    inputs = _inputs(arguments)
    owners: dict[str, str] = {}
    for file in files:
        target = os.path.realpath(file)
        if target in owners:
            shared = _describe(file, owners[target])
            raise UsageError(f"two reports cannot share the file {shared}")
        owners[target] = file
        if target == os.path.realpath("/dev/stdout") != os.devnull:
            message = f"{visible(file)} is standard output, which holds one report"
            raise UsageError(message, "leave the file name out to choose which one")
        name, what = os.path.basename(target), inputs.get(target, "")
        if name.endswith(SUITE_ENDINGS):
            what = "a test file"
        elif name in CONFIG_NAMES:
            what = "a config"
        if what:
            message = f"{_describe(file, target)} is {what}; a report would replace it"
            raise UsageError(message, "give the report another name")


def _describe(file: str, other: str) -> str:
    """A file as it was given, with the file it leads to if that is another one."""
    if os.path.abspath(file) == os.path.abspath(other):
        return visible(file)
    return f"{visible(file)} ({visible(other)})"


def _inputs(arguments: Arguments) -> dict[str, str]:
    """The files that the command line names, and what each of them is."""
    words = list(arguments.command)
    for text in arguments.all("--server-command"):
        # A command that cannot be split is reported when the server is started.
        with contextlib.suppress(ValueError):
            words += shlex.split(text)
    named = [
        *((word, "named in the command of the server") for word in words),
        *((file, "the config of this run") for file in arguments.all("--config")),
        *((path, "one of the files to run") for path in arguments.paths),
    ]
    return {os.path.realpath(file): what for file, what in named}


def check_writable(path: str) -> None:
    """Raise a `UsageError` if a report could not be written there; called before the run."""
    if not path:
        raise UsageError("the name of a report file is empty")
    reason = "it is a folder" if os.path.isdir(path) else ""
    try:
        folder = os.path.dirname(path if reason else resolve_target(path))
        if not reason and not os.path.isdir(folder):
            reason = f"there is no folder {visible(folder)}"
        elif not reason and not is_special(path) and not os.access(folder, os.W_OK):
            reason = f"the folder {visible(folder)} cannot be written to"
    except OSError as error:
        reason = error.strerror or "it cannot be looked at"
    if reason:
        raise UsageError(f"cannot write {visible(path)}: {reason}")


def write_file(path: str, text: str, *, appends: bool = False) -> None:
    """Write a report. A pipe or device is written to, a regular file is replaced atomically.

    With `appends`, a regular file is appended to: other programs write to it as well.
    """
    raw = text.encode("utf-8", "backslashreplace")
    try:
        if is_special(path):
            fd = _open_special(path)
            try:
                _write_special(fd, raw)
            finally:
                os.close(fd)
        elif appends:
            with open(path, "ab") as target:
                target.write(raw)
        else:
            replace_file(resolve_target(path), raw)
    except OSError as error:
        raise _make_error(path, error) from None


class ReportStream:
    """A report that is written during the run. A regular file appears only when it is complete.

    Pipes and devices are written to directly. Errors are kept until `finish`: a full disk must
    not end the run, nor the other reports.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._target = ""
        self._temporary = ""
        self._fd = -1
        self._error: UsageError | None = None
        try:
            if is_special(path):
                self._fd = _open_special(path)
            else:
                self._target = resolve_target(path)
                self._temporary, self._fd = open_beside(self._target)
                # Also when the run ends in an internal error.
                atexit.register(self._discard)
        except OSError as error:
            self._error = _make_error(path, error)

    def write(self, text: str) -> None:
        if self._error is not None:
            return
        try:
            _write_special(self._fd, text.encode("utf-8", "backslashreplace"))
        except OSError as error:
            self._error = _make_error(self._path, error)

    def finish(self) -> None:
        """Close the file and move it into place; raises the first error of this report."""
        try:
            if self._temporary and self._error is None:
                os.fsync(self._fd)
                fd, self._fd = self._fd, -1
                put_in_place(self._temporary, fd, self._target)
            if self._fd >= 0:
                os.close(self._fd)
        except OSError as error:
            self._error = self._error or _make_error(self._path, error)
        self._discard()
        if self._error is not None:
            raise self._error

    def _discard(self) -> None:
        if self._temporary:
            with contextlib.suppress(OSError):
                os.unlink(self._temporary)


# Pipes and devices

# Limit for a reader to open the pipe that a report is written to, and then to read on.
_READER_PATIENCE_S = 10.0


def is_special(path: str) -> bool:
    """True if the path exists and is not a regular file: a pipe, a device, a folder."""
    try:
        return not stat.S_ISREG(os.stat(path).st_mode)
    except FileNotFoundError:
        return False


def _open_special(path: str) -> int:
    """Open a pipe or device for `_write_special`; wait for a reader, up to a limit."""
    deadline = time.monotonic() + _READER_PATIENCE_S
    while True:
        try:
            fd = os.open(path, os.O_WRONLY | OPEN_FLAGS)
        except OSError as error:
            if error.errno != errno.ENXIO or time.monotonic() > deadline:
                raise
            time.sleep(0.02)
        else:
            return fd


def _write_special(fd: int, raw: bytes) -> None:
    """Write all bytes; raise a `TimeoutError` if the reader does not read for too long."""
    rest = memoryview(raw)
    while rest:
        try:
            rest = rest[os.write(fd, rest) :]
        except BlockingIOError:
            writable = select.poll()
            writable.register(fd, select.POLLOUT)
            if not writable.poll(_READER_PATIENCE_S * 1000):
                reason = f"its reader has read nothing for {_READER_PATIENCE_S:g} s"
                raise TimeoutError(errno.ETIMEDOUT, reason) from None


def _make_error(path: str, error: OSError) -> UsageError:
    return UsageError(f"cannot write {visible(path)}: {error.strerror}")
