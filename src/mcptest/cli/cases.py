"""`mcptest cases from`: make a contract of recorded traffic."""

from __future__ import annotations

import gc
import os

from mcptest.cli.options import Command, Option
from mcptest.cli.output import (
    StandardOutput,
    check_writable,
    complain,
    is_special,
    write_file,
)
from mcptest.core.diagnostics import Diagnostic
from mcptest.core.errors import FormatError, UsageError
from mcptest.core.exit_codes import ExitCode
from mcptest.core.suggest import closest
from mcptest.core.text import plural, visible
from mcptest.runner.discovery import CASE_ENDINGS, read_text
from mcptest.traffic.contract import build_contract
from mcptest.traffic.reading import read_recording

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcptest.cli.options import Arguments
    from mcptest.traffic.contract import Contract
    from mcptest.traffic.recording import Recording

__all__ = ["COMMAND", "cases"]

_DEEDS = ("from",)
_YAML = (".yaml", ".yml")
_MAX_NOTES = 20


def cases(arguments: Arguments) -> int:
    """Do what the first word says; the exit status."""
    deed, *files = arguments.paths or ("",)
    if deed not in _DEEDS:
        raise _unknown_deed(deed)
    if not files:
        raise UsageError(
            "mcptest cases from needs a recording",
            "a capture is written by: mcptest run … --capture FILE",
        )
    target = _target(arguments, files)
    # A contract makes many objects and no garbage: looking for it is time for nothing.
    gc.disable()
    contract = build_contract(_recordings(files), keep_values=arguments.has("--keep-values"))
    if target:
        write_file(target, contract.text)
    else:
        StandardOutput().write_utf8(contract.text)
    _tell(target, contract)
    return ExitCode.PASSED


def _unknown_deed(word: str) -> UsageError:
    if not word:
        return UsageError(
            "mcptest cases needs a word that says what to do: from",
            "for example mcptest cases from capture.json",
        )
    if os.path.exists(word):
        meant = f"; did you mean: mcptest cases from {visible(word)}"
    else:
        near = closest(word, _DEEDS)
        meant = f"; did you mean {near!r}?" if near else ""
    message = f"mcptest cases cannot do {visible(word)!r}{meant}"
    return UsageError(message, "mcptest cases --help shows what it can do")


def _target(arguments: Arguments, files: Sequence[str]) -> str:
    """The file to write, "" for standard output; refused when it is there already."""
    path = arguments.last("--output", "-")
    if path == "-":
        return ""
    check_writable(path)
    if is_special(path):
        return path
    if not path.endswith(_YAML):
        raise UsageError(
            f"{visible(path)} would not be read as a case file; their names end in "
            f"{CASE_ENDINGS[2]} or {CASE_ENDINGS[0]}",
            f"for example -o {visible(path.partition('.')[0] or 'server')}{CASE_ENDINGS[2]}",
        )
    if os.path.realpath(path) in map(os.path.realpath, files):
        message = f"{visible(path)} is one of the files to read; it would be replaced"
        raise UsageError(message, "give the contract another name")
    if os.path.lexists(path) and not arguments.has("--force"):
        message = f"{visible(path)} is there already, and is left as it is"
        raise UsageError(message, "--force replaces it; another name with -o keeps both")
    return path


def _recordings(files: Sequence[str]) -> list[Recording]:
    found: list[Recording] = []
    mistakes: list[Diagnostic] = []
    for file in files:
        try:
            found.append(read_recording(read_text(file), file))
        except FormatError as error:
            mistakes += error.diagnostics
    if mistakes:
        raise FormatError(mistakes)
    return found


def _tell(target: str, contract: Contract) -> None:
    for note in contract.notes[:_MAX_NOTES]:
        complain(f"warning: {visible(note)}\n")
    if len(contract.notes) > _MAX_NOTES:
        complain(f"warning: … and {len(contract.notes) - _MAX_NOTES:,} more like these\n")
    skipped = f", {contract.skipped:,} of them skipped: unanswered" if contract.skipped else ""
    told = f"{plural(contract.cases, 'case')}{skipped}"
    complain(f"wrote {visible(target)}: {told}\n" if target else f"{told}\n")
    if target:
        file = visible(target)
        complain(f'test the server:  mcptest run {file} --server-command "COMMAND"\n')
        complain(f"play the server:  mcptest mock {file}\n")


COMMAND = Command(
    name="mcptest cases",
    summary="Make a contract of recorded traffic.",
    usage="mcptest cases from FILE… [-o OUT] [options]",
    details="FILE is a capture (mcptest run … --capture FILE), or a log with one JSON-RPC message "
    "per line, bare or with its direction. Values that vary become tags; secrets are left out. "
    "Several files must be recordings of the same conversation: what differs between them varies.",
    options=(
        Option(
            names=("-o", "--output"),
            value="OUT",
            help="the case file to write, *.cases.yaml; default: standard output",
        ),
        Option(names=("--force",), help="replace the file if it is there"),
        Option(
            names=("--keep-values",),
            help="keep every value as it was recorded, also those that look as if they vary; "
            "secrets are left out all the same",
        ),
    ),
    examples=(
        "mcptest cases from capture.json -o server.cases.yaml",
        "mcptest cases from monday.json tuesday.json -o server.cases.yaml",
        "mcptest cases from tee.ndjson > server.cases.yaml",
    ),
    run=cases,
)
