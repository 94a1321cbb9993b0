"""`mcptest validate`: load test files and report every mistake, without starting a server."""

from __future__ import annotations

import os

from mcptest.cli.main import render_error, write_validation
from mcptest.cli.options import Command, Option
from mcptest.cli.output import StandardOutput, write_note, write_stderr_wrapped
from mcptest.cli.shared_options import PLUGIN_OPTION, parse_format, parse_plugins
from mcptest.core.diagnostics import render_diagnostic
from mcptest.core.errors import FormatError, UsageError
from mcptest.core.results import ExitCode
from mcptest.core.text import plural, visible
from mcptest.engine.loading import Wanted, load_suites
from mcptest.engine.test_files import FORMATS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mcptest.cli.options import Arguments
    from mcptest.core.diagnostics import Diagnostic

__all__ = ["COMMAND", "validate"]


def validate(arguments: Arguments) -> int:
    """Report every mistake in the files; return the exit code."""
    config = arguments.last("--config")
    if config and not os.path.exists(config):
        raise UsageError(f"there is no config file {visible(config)!r}")
    notes: list[str] = []
    wanted = Wanted(
        paths=arguments.paths,
        config=config,
        format=parse_format(arguments),
        plugins=parse_plugins(arguments),
        note=notes.append,
    )
    suites, mistakes, warnings = load_suites(wanted, os.environ)
    for note in notes:
        write_note(note)
    shown = map(render_diagnostic, warnings) if arguments.has("--verbose") else _fold(warnings)
    write_stderr_wrapped("".join(f"{each}\n\n" for each in shown))
    tests = sum(len(suite.cases) for suite in suites)
    files = len({suite.file for suite in suites})
    if not arguments.has("--json"):
        if mistakes:
            raise FormatError(mistakes)
        counts = f"{plural(files, 'file')} with {plural(tests, 'test')}"
        StandardOutput().write(f"{counts}: no mistakes\n")
        return ExitCode.PASSED
    error = FormatError(mistakes) if mistakes else None
    if error:
        write_stderr_wrapped(render_error(error))
    write_validation(error, files=files, tests=tests, warnings=warnings, notes=notes)
    return ExitCode.BAD_INPUT if error else ExitCode.PASSED


def _fold(warnings: Sequence[Diagnostic]) -> Iterator[str]:
    """The warnings, with equal ones as one line that has their number and the first place."""
    alike: dict[tuple[str, str, str], list[Diagnostic]] = {}
    for each in warnings:
        alike.setdefault((each.code, each.message, each.help), []).append(each)
    for first, *others in alike.values():
        if not others:
            yield render_diagnostic(first)
            continue
        place = visible(first.file) + (f":{first.line}:{first.column}" if first.line else "")
        help = f"; {visible(first.help)}" if first.help else ""
        many = f"(and {len(others):,} more, first at {place})"
        yield f"warning[{first.code}]: {visible(first.message)}{help} {many}"


COMMAND = Command(
    name="mcptest validate",
    summary="Check test files for mistakes, without starting a server.",
    usage="mcptest validate [PATH…]",
    details="PATH is a file, a folder or a quoted glob (default: as for mcptest run).",
    options=(
        Option(
            names=("-c", "--config"),
            value="FILE",
            help="config whose plugins the files may use (default: as for mcptest run)",
        ),
        PLUGIN_OPTION,
        Option(names=("--json",), help="print the result as one JSON object"),
        Option(names=("-v", "--verbose"), help="show every place of a warning, not only the first"),
        Option(
            names=("--format",),
            value="NAME",
            choices=FORMATS,
            help="read all files as conductor, cases or suite (default: by name, else by content)",
        ),
    ),
    examples=("mcptest validate tests/", "mcptest validate tests/ --json"),
    run=validate,
)
