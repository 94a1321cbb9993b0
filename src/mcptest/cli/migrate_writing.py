"""Write what came of a migration: all files or none, and never over something that is needed."""

from __future__ import annotations

import os

from mcptest.cli.output import StandardOutput, check_writable, is_special
from mcptest.core.errors import UsageError
from mcptest.core.record import Record
from mcptest.core.text import visible
from mcptest.runner.file_targets import resolve_target
from mcptest.wire.whole_files import replace_files

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from mcptest.migrate.remarks import Remark

__all__ = ["SOURCE", "Migrated", "needed_by_server", "write_all"]

# What a file that must not be replaced is.
SOURCE = "one of the files to read"
_OF_SERVER = "named in the command of a server"


class Migrated(Record):
    """The new files by name, what there is to say, and the files that must stay as they are.

    Of those, `needed` says what each of them is.
    """

    texts: dict[str, str]
    remarks: tuple[Remark, ...]
    needed: dict[str, str]


def needed_by_server(words: Iterable[object], folders: Iterable[str]) -> dict[str, str]:
    """The files that the command of a server names, as seen from one of these folders."""
    paths = [os.path.join(folder, str(word)) for word in words for folder in folders]
    return {path: _OF_SERVER for path in paths if os.path.isfile(path)}


def write_all(made: Migrated, *, to_files: bool, force: bool) -> None:
    """Write the files, or what would be in them to standard output."""
    if not to_files:
        for text in made.texts.values():
            StandardOutput().write_utf8(text)
        return
    _refuse_losses(made, force=force)
    try:
        replace_files(
            {
                resolve_target(path): text.encode("utf-8", "backslashreplace")
                for path, text in made.texts.items()
            }
        )
    except OSError as error:
        message = f"cannot write {visible(str(error.filename))}: {error.strerror}"
        raise UsageError(message, "nothing was written, and nothing was replaced") from None


def _refuse_losses(made: Migrated, *, force: bool) -> None:
    needed = {_identity(path): what for path, what in made.needed.items()}
    owners: dict[object, str] = {}
    for path in made.texts:
        check_writable(path)
        who = _identity(path)
        if who in owners:
            message = f"{visible(owners[who])} and {visible(path)} are one and the same file"
            raise UsageError(message, "give the new files another name with -o")
        owners[who] = path
        if who in needed:
            message = f"{visible(path)} is {needed[who]}; it would be replaced"
            raise UsageError(message, "give the new file another name")
        if os.path.lexists(path) and not force:
            message = f"{visible(path)} is there already, and is left as it is"
            raise UsageError(message, "--force replaces it; another name with -o keeps both")
        if is_special(path):
            raise UsageError(f"cannot write {visible(path)}: it is no regular file")


def _identity(path: str) -> object:
    """What two names of one file have in common: links, and letters that a disk takes for equal."""
    try:
        status = os.stat(path)
    except OSError:
        return os.path.realpath(path)
    return status.st_dev, status.st_ino
