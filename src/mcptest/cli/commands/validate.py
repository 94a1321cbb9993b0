"""`mcptest validate`: load test files and report every mistake, without starting a server."""

from __future__ import annotations

import os

from mcptest import __version__
from mcptest.cli.options import Command, Option
from mcptest.cli.output import StandardOutput, write_stderr_wrapped
from mcptest.cli.shared_options import PLUGIN_OPTION, parse_format, parse_plugins
from mcptest.core.diagnostics import render_diagnostic
from mcptest.core.errors import FormatError, UsageError
from mcptest.core.results import ExitCode
from mcptest.core.text import visible
from mcptest.engine.loading import Wanted, load_suites

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mcptest.cli.options import Arguments
    from mcptest.core.diagnostics import Diagnostic

__all__ = ["COMMAND", "validate"]


def validate(arguments: Arguments) -> int:
    """Report every mistake in the files; return the exit code."""
    config = arguments.last("--config")
    if config and not os.path.exists(config):
        raise UsageError(f"there is no config file {visible(config)!r}")
    asked = Wanted(
        paths=arguments.paths,
        config=config,
        format=parse_format(arguments),
        plugins=parse_plugins(arguments),
    )
    suites, mistakes, warnings = load_suites(asked, os.environ)
    if mistakes:
        raise FormatError([*mistakes, *warnings])
    for warning in warnings:
        write_stderr_wrapped(render_diagnostic(warning) + "\n\n")
    tests = sum(len(suite.cases) for suite in suites)
    files = len({suite.file for suite in suites})
    if arguments.has("--json"):
        _write_json(files, tests, warnings)
        return ExitCode.PASSED
    StandardOutput().write(
        f"{files} file{'s' if files != 1 else ''} with {tests} "
        f"test{'s' if tests != 1 else ''}: no mistakes\n"
    )
    return ExitCode.PASSED


def _write_json(files: int, tests: int, warnings: list[Diagnostic]) -> None:
    from mcptest.reporters.json import render_validation  # noqa: PLC0415  # only with --json

    StandardOutput().write_utf8(render_validation(files, tests, warnings, __version__))


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
        Option(
            names=("--format",),
            value="NAME",
            help="read all files as conductor, cases or suite (default: by name, else by content)",
        ),
    ),
    examples=("mcptest validate tests/", "mcptest validate tests/ --json"),
    run=validate,
)
