"""Refuse reports that would replace each other, or a file that the run is about."""

from __future__ import annotations

import os
import shlex

from mcptest.core.errors import UsageError
from mcptest.core.text import visible
from mcptest.runner.discovery import CONFIG_NAMES, SUITE_ENDINGS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcptest.cli.options import Arguments

__all__ = ["refuse_clashes"]


def refuse_clashes(files: Sequence[str], arguments: Arguments) -> None:
    """A `UsageError` unless every one of these files can be a report of its own.

    Files are told apart by where their links lead: a report is written there.
    """
    inputs = _inputs(arguments)
    owners: dict[str, str] = {}
    for file in files:
        target = os.path.realpath(file)
        if target in owners:
            raise UsageError(f"two reports cannot share the file {_told(file, owners[target])}")
        owners[target] = file
        if target == os.path.realpath("/dev/stdout") != os.devnull:
            message = f"{visible(file)} is standard output, which holds one report"
            raise UsageError(message, "leave the file name out to choose which one")
        what = _kind_of(target) or inputs.get(target, "")
        if what:
            message = f"{_told(file, target)} is {what}; a report would replace it"
            raise UsageError(message, "give the report another name")


def _told(file: str, other: str) -> str:
    """A file as it was given and, when that does not show it, which one it is."""
    if os.path.abspath(file) == os.path.abspath(other):
        return visible(file)
    return f"{visible(file)} ({visible(other)})"


def _kind_of(target: str) -> str:
    name = os.path.basename(target)
    if name.endswith(SUITE_ENDINGS):
        return "a test file"
    return "a config" if name in CONFIG_NAMES else ""


def _inputs(arguments: Arguments) -> dict[str, str]:
    """The files that the command line names, and what each of them is."""
    words = list(arguments.command)
    for text in arguments.all("--server-command"):
        try:
            words += shlex.split(text)
        except ValueError:
            # Whoever starts the server says what is wrong with it.
            continue
    named = [
        *((word, "named in the command of the server") for word in words),
        *((file, "the config of this run") for file in arguments.all("--config")),
        *((path, "one of the files to run") for path in arguments.paths),
    ]
    return {os.path.realpath(file): what for file, what in named}
