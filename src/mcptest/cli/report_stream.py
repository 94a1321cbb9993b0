"""A report that is written while the run goes on, to a file that appears only when it is whole."""

from __future__ import annotations

import atexit
import contextlib
import os

from mcptest.cli.output import is_special, open_special, write_special
from mcptest.core.errors import UsageError
from mcptest.core.text import visible
from mcptest.runner.file_targets import open_beside, put_in_place, resolve_target

__all__ = ["ReportStream", "append_file"]


class ReportStream:
    """Takes text as it comes. A pipe or device gets it at once, a file when `finish` is called.

    What goes wrong is kept until then: a full disk must not end the run, nor the other reports.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._target = ""
        self._temporary = ""
        self._fd = -1
        self._trouble: UsageError | None = None
        try:
            if is_special(path):
                self._fd = open_special(path)
            else:
                self._target = resolve_target(path)
                self._temporary, self._fd = open_beside(self._target)
                # A run that ends in a fault of ours leaves no litter either.
                atexit.register(self._discard)
        except OSError as error:
            self._trouble = self._told(error)

    def write(self, text: str) -> None:
        if self._trouble is not None:
            return
        try:
            write_special(self._fd, text.encode("utf-8", "backslashreplace"))
        except OSError as error:
            self._trouble = self._told(error)

    def finish(self) -> None:
        """Close it, and put the file in its place; a `UsageError` when something went wrong."""
        try:
            if self._temporary and self._trouble is None:
                self._replace()
            if self._fd >= 0:
                os.close(self._fd)
        except OSError as error:
            self._trouble = self._trouble or self._told(error)
        self._discard()
        if self._trouble is not None:
            raise self._trouble

    def _replace(self) -> None:
        os.fsync(self._fd)
        put_in_place(self._temporary, self._target)

    def _discard(self) -> None:
        if self._temporary:
            with contextlib.suppress(OSError):
                os.unlink(self._temporary)

    def _told(self, error: OSError) -> UsageError:
        return UsageError(f"cannot write {visible(self._path)}: {error.strerror}")


def append_file(path: str, text: str) -> None:
    """Add a report to the end of a file that others write to as well."""
    try:
        with open(path, "ab") as target:
            target.write(text.encode("utf-8", "backslashreplace"))
    except OSError as error:
        raise UsageError(f"cannot write {visible(path)}: {error.strerror}") from None
