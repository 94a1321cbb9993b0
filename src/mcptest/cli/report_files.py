"""The files that reports are written to: refuse unsuitable ones, stream to one."""

from __future__ import annotations

import atexit
import contextlib
import os
import shlex

from mcptest.cli.output import is_special, open_special, unwritable, write_special
from mcptest.core.errors import UsageError
from mcptest.core.text import visible
from mcptest.engine.test_files import CONFIG_NAMES, SUITE_ENDINGS, resolve_target
from mcptest.transport.files import open_beside, put_in_place

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcptest.cli.options import Arguments

__all__ = ["ReportStream", "refuse_clashes"]


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
                self._fd = open_special(path)
            else:
                self._target = resolve_target(path)
                self._temporary, self._fd = open_beside(self._target)
                # Also when the run ends in an internal error.
                atexit.register(self._discard)
        except OSError as error:
            self._error = unwritable(path, error)

    def write(self, text: str) -> None:
        if self._error is not None:
            return
        try:
            write_special(self._fd, text.encode("utf-8", "backslashreplace"))
        except OSError as error:
            self._error = unwritable(self._path, error)

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
            self._error = self._error or unwritable(self._path, error)
        self._discard()
        if self._error is not None:
            raise self._error

    def _discard(self) -> None:
        if self._temporary:
            with contextlib.suppress(OSError):
                os.unlink(self._temporary)
