"""`mcptest cases from`: create a contract from recorded traffic."""

from __future__ import annotations

import gc
import os

from mcptest.cli.options import Command, Option
from mcptest.cli.output import StandardOutput, write_stderr
from mcptest.cli.report_files import check_writable, is_special, write_file
from mcptest.core.diagnostics import closest
from mcptest.core.errors import UsageError
from mcptest.core.results import ExitCode
from mcptest.core.text import plural, visible
from mcptest.engine.test_files import CASE_ENDINGS, read_text
from mcptest.traffic.contract import build_contract
from mcptest.traffic.reading import read_traffic

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mcptest.cli.options import Arguments
    from mcptest.traffic.contract import Contract

__all__ = ["COMMAND", "cases"]

_MAX_NOTES = 20


def cases(arguments: Arguments) -> int:
    """Run the subcommand that the first word names; returns the exit code."""
    subcommand, *files = arguments.paths or ("",)
    if subcommand != "from":
        raise _unknown_subcommand(subcommand)
    if len(files) != 1:
        problem = "takes one file at a time" if files else "needs a file with recorded traffic"
        raise UsageError(
            f"mcptest cases from {problem}",
            "a capture is written by: mcptest run … --capture FILE",
        )
    (source,) = files
    target = _target(arguments, source)
    # A contract makes many objects and no garbage, so collecting it would be wasted time.
    gc.disable()
    traffic = read_traffic(read_text(source), source)
    contract = build_contract(traffic, keep_values=arguments.has("--keep-values"))
    if target:
        write_file(target, contract.text)
    else:
        StandardOutput().write_utf8(contract.text)
    _report(target, contract)
    return ExitCode.PASSED


def _unknown_subcommand(word: str) -> UsageError:
    if not word:
        return UsageError(
            "mcptest cases needs a subcommand: from",
            "for example mcptest cases from capture.json",
        )
    meant = ""
    if os.path.exists(word):
        meant = f"; did you mean: mcptest cases from {visible(word)}"
    elif closest(word, ("from",)):
        meant = "; did you mean 'from'?"
    message = f"mcptest cases has no subcommand {visible(word)!r}{meant}"
    return UsageError(message, "mcptest cases --help lists the subcommands")


def _target(arguments: Arguments, source: str) -> str:
    """The file to write, "" for standard output; an existing file is refused."""
    path = arguments.last("--output", "-")
    if path == "-":
        return ""
    check_writable(path)
    if is_special(path):
        return path
    if not path.endswith((".yaml", ".yml")):
        raise UsageError(
            f"{visible(path)} would not be read as a case file; their names end in "
            f"{CASE_ENDINGS[2]} or {CASE_ENDINGS[0]}",
            f"for example -o {visible(path.partition('.')[0] or 'server')}{CASE_ENDINGS[2]}",
        )
    if os.path.realpath(path) == os.path.realpath(source):
        message = f"{visible(path)} is the file to read; it would be replaced"
        raise UsageError(message, "give the contract another name")
    if os.path.lexists(path) and not arguments.has("--force"):
        message = f"{visible(path)} exists already and was not changed"
        raise UsageError(message, "--force replaces it; another name with -o keeps both")
    return path


def _report(target: str, contract: Contract) -> None:
    for note in contract.notes[:_MAX_NOTES]:
        write_stderr(f"warning: {visible(note)}\n")
    if len(contract.notes) > _MAX_NOTES:
        write_stderr(f"warning: … and {len(contract.notes) - _MAX_NOTES:,} more like these\n")
    skipped = f", {contract.skipped:,} of them skipped: unanswered" if contract.skipped else ""
    summary = f"{plural(contract.cases, 'case')}{skipped}"
    write_stderr(f"wrote {visible(target)}: {summary}\n" if target else f"{summary}\n")
    if target:
        file = visible(target)
        write_stderr(f'test the server:  mcptest run {file} --server-command "COMMAND"\n')
        write_stderr(f"play the server:  mcptest mock {file}\n")


COMMAND = Command(
    name="mcptest cases",
    summary="Create a contract from recorded traffic.",
    usage="mcptest cases from FILE [-o OUT] [options]",
    details="FILE is a capture (mcptest run … --capture FILE), or a log with one JSON-RPC message "
    "per line, bare or with its direction. Values that vary become tags; secrets are left out.",
    options=(
        Option(
            names=("-o", "--output"),
            value="OUT",
            help="case file to write, *.cases.yaml (default: standard output)",
        ),
        Option(names=("--force",), help="replace the file if it exists"),
        Option(
            names=("--keep-values",),
            help="keep recorded values that look as if they vary; secrets are still left out",
        ),
    ),
    examples=(
        "mcptest cases from capture.json -o server.cases.yaml",
        "mcptest cases from tee.ndjson > server.cases.yaml",
    ),
    words=("from",),
    run=cases,
)
