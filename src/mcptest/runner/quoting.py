"""Which files a message may quote: those of the folders that the user named.

A suite can name any file: in `imports`, as a schema, through a symbolic link. A mistake in such
a file must not print what is in it. `SuiteFolders` is the only place that decides this.
"""

from __future__ import annotations

import os

from mcptest.core.diagnostics import CODES, UNQUOTED, UnquotedText
from mcptest.core.errors import FormatError
from mcptest.runner.discovery import glob_root, read_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from mcptest.core.diagnostics import Diagnostic

__all__ = ["SuiteFolders"]


class SuiteFolders:
    """The folders of a run: the current one, and those of the paths that the user named.

    A file belongs to them if it is in one or below one after all links are resolved, on a way
    without hidden folders. The root of the file system is not such a folder. A file that the
    user named himself belongs to them wherever it is; `is_found` says that the paths were found
    by a search instead.

    As a context manager, removes from each `FormatError` what it may not quote.
    """

    def __init__(self, named: Iterable[str], *, is_found: bool = False) -> None:
        self._named = [path for path in named if path]
        self._is_found = is_found

    def __enter__(self) -> None:
        pass

    def __exit__(self, _: object, error: object, __: object) -> None:
        if isinstance(error, FormatError):
            error.diagnostics = tuple(self.quotable(error.diagnostics))

    def quotable(self, diagnostics: Iterable[Diagnostic]) -> list[Diagnostic]:
        """The same diagnostics; those about other files say what and where, and quote nothing."""
        return [each if self.hold(each.file) else _unquoted(each) for each in diagnostics]

    def hold(self, path: str) -> bool:
        """Whether a file belongs to these folders, so that messages may quote it."""
        real = os.path.realpath(path)
        if not self._is_found and any(real == os.path.realpath(named) for named in self._named):
            return True
        folders = {os.path.realpath(folder) for folder in (".", *map(_folder_of, self._named))}
        return any(_is_below(real, folder) for folder in folders)

    def reader_beside(self, file: str) -> Callable[[str], str]:
        """Reads what a test file names, relative to its own folder.

        ValueError when it cannot be read; `UnquotedText` when it may not be quoted.
        """

        def read(name: str) -> str:
            path = os.path.join(os.path.dirname(file), name)
            try:
                text = read_text(path)
            except FormatError as error:
                [found] = self.quotable(error.diagnostics)
                raise ValueError("; ".join(filter(None, (found.message, found.help)))) from None
            return text if self.hold(path) else UnquotedText(text)

        return read


def _folder_of(named: str) -> str:
    root = glob_root(named)
    return root if os.path.isdir(root) else os.path.dirname(root) or "."


def _is_below(path: str, folder: str) -> bool:
    parent = folder + os.sep
    if folder == os.sep or not path.startswith(parent):
        return False
    return not any(part.startswith(".") for part in path.removeprefix(parent).split(os.sep))


def _unquoted(diagnostic: Diagnostic) -> Diagnostic:
    if diagnostic.code == "F001" and not diagnostic.line:
        # Why a file cannot be opened says nothing about its content.
        return diagnostic
    return diagnostic.but(message=CODES[diagnostic.code], source="", help=UNQUOTED)
