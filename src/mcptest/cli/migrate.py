"""`mcptest migrate`: turn test files of one format into another."""

from __future__ import annotations

import os

from mcptest.cli.migrate_files import Place, owned_file
from mcptest.cli.migrate_suite import suite_files
from mcptest.cli.migrate_writing import Migrated, write_all
from mcptest.cli.options import Command, Option
from mcptest.cli.output import complain, explain
from mcptest.core.diagnostics import render_diagnostic
from mcptest.core.errors import FormatError, UsageError
from mcptest.core.exit_codes import ExitCode
from mcptest.core.text import plural, visible
from mcptest.migrate.suite_writing import write_suite
from mcptest.runner.discovery import find_suites, read_text
from mcptest.runner.file_format import FORMATS, format_of
from mcptest.runner.loading import Unneeded, Wanted, load_suites

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mcptest.cli.options import Arguments
    from mcptest.migrate.remarks import Remark

__all__ = ["COMMAND", "migrate"]

_YAML = (".yaml", ".yml")


def migrate(arguments: Arguments) -> int:
    """Write what the files hold in another format; the exit status."""
    if not arguments.paths:
        raise UsageError("mcptest migrate needs a test file", "for example a.test.mcp.yml")
    files = find_suites(arguments.paths)
    formats = {file: format_of(file, read_text(file)) for file in files}
    to = _direction(arguments, formats)
    target = arguments.last("--output", "-")
    target = "" if target == "-" else target
    _refuse_mistakes(arguments)
    if to == "suite":
        made = _to_suite(formats, target, arguments)
    else:
        made = suite_files(files[0], to, target)
    write_all(made, to_files=bool(target), force=arguments.has("--force"))
    return _tell(made, target)


def _direction(arguments: Arguments, formats: dict[str, str]) -> str:
    """The format to write, which is another one than those to read."""
    to = arguments.last("--to")
    if arguments.has("--to") and to not in FORMATS:
        raise UsageError(f"--to takes {', '.join(FORMATS)}, not {visible(to)!r}")
    suites = [file for file, format in formats.items() if format == "suite"]
    if not suites:
        if to not in ("", "suite"):
            message = "Conductor files and contracts become suites, and suites become either"
            raise UsageError(message, "write a suite first, and migrate that one")
        return "suite"
    if to in ("", "suite"):
        help = "--to conductor or --to cases says what it is to become"
        raise UsageError(f"{visible(suites[0])} is a suite already", help)
    if len(formats) > 1:
        raise UsageError("one suite is migrated at a time", f"leave out all but {suites[0]}")
    return to


def _refuse_mistakes(arguments: Arguments) -> None:
    wanted = Wanted(paths=arguments.paths, config=arguments.last("--config"))
    _, mistakes, warnings = load_suites(wanted, Unneeded(os.environ))
    if mistakes:
        raise FormatError([*mistakes, *warnings])
    for warning in warnings:
        explain(render_diagnostic(warning) + "\n\n")


def _to_suite(formats: dict[str, str], target: str, arguments: Arguments) -> Migrated:
    is_suite = target.endswith(_YAML) and format_of(target, "servers:\n") == "suite"
    if target and not is_suite:
        message = f"{visible(target)} would not be read as a suite"
        raise UsageError(message, "for example -o mcptest.yaml")
    place = Place(os.path.dirname(target))
    owned = [owned_file(file, format, place, arguments) for file, format in formats.items()]
    suite = write_suite([each.owned for each in owned], place.mistake_in_suite)
    return Migrated(
        texts={target: suite.text} if suite.text else {},
        remarks=suite.remarks,
        needed={path: what for each in owned for path, what in each.needed.items()},
    )


# What comes of it


def _tell(made: Migrated, target: str) -> int:
    losses = [remark for remark in made.remarks if remark.is_loss]
    for remark in sorted(made.remarks, key=lambda remark: (remark.file, remark.line)):
        explain(f"{'left behind' if remark.is_loss else 'note'}: {_told(remark)}\n")
    if not made.texts:
        complain("nothing could be carried over, so nothing is written\n")
    for path in made.texts if target else ():
        complain(f"wrote {visible(path)}\n")
    if losses:
        complain(f"{plural(len(losses), 'thing')} left behind\n")
    return ExitCode.FAILED if losses else ExitCode.PASSED


def _told(remark: Remark) -> str:
    place = visible(remark.file)
    if remark.line:
        place += f":{remark.line}"
    name = f"{visible(remark.what)!r}: " if remark.what else ""
    return f"{place}: {name}{visible(remark.reason)}"


COMMAND = Command(
    name="mcptest migrate",
    summary="Turn test files of one format into another.",
    usage="mcptest migrate FILE… [--to FORMAT] [-o OUT] [options]",
    details="Conductor files and contracts become one suite; a suite becomes either. A test is "
    "carried over when it means the same there, and left behind otherwise: each one is named on "
    "standard error with its place and the reason, and the exit status is 1 then. Comments are "
    "not carried over. Nothing is run.",
    options=(
        Option(
            names=("--to",),
            value="FORMAT",
            help="suite, conductor or cases; default: suite",
        ),
        Option(
            names=("-o", "--output"),
            value="OUT",
            help="the file to write; default: standard output, with paths as seen from this folder",
        ),
        Option(names=("--force",), help="replace files that are there"),
        Option(
            names=("-c", "--config"),
            value="FILE",
            help="how the server is started; default: as the files say, or a config beside them",
        ),
        Option(
            names=("--server-command",),
            value='"ARGV"',
            help="start the server with this command instead",
        ),
    ),
    examples=(
        "mcptest migrate tests/*.test.mcp.yml -o mcptest.yaml",
        "mcptest migrate server.cases.yaml > mcptest.yaml",
        "mcptest migrate mcptest.yaml --to conductor -o server.test.mcp.yml",
    ),
    run=migrate,
)
