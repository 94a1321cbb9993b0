"""`mcptest validate`: load test files and report every mistake. Nothing is started."""

from __future__ import annotations

import os
import sys

from mcptest.cli.options import Command
from mcptest.cli.output import StandardOutput
from mcptest.core.diagnostics import render_diagnostic
from mcptest.core.errors import FormatError, UsageError
from mcptest.core.exit_codes import ExitCode
from mcptest.runner.loading import load_suites

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mcptest.cli.options import Arguments

__all__ = ["COMMAND", "validate"]


def validate(arguments: Arguments) -> int:
    """Report every mistake in the files; the exit status."""
    if not arguments.paths:
        raise UsageError("mcptest validate needs a file, a folder or a glob")
    suites, mistakes, warnings = load_suites(arguments.paths, os.environ)
    if mistakes:
        raise FormatError([*mistakes, *warnings])
    for warning in warnings:
        sys.stderr.write(render_diagnostic(warning) + "\n\n")
    tests = sum(len(suite.cases) for suite in suites)
    files = len(suites)
    StandardOutput().write(
        f"{files} file{'s' if files != 1 else ''} with {tests} "
        f"test{'s' if tests != 1 else ''}: no mistakes\n"
    )
    return ExitCode.PASSED


COMMAND = Command(
    name="mcptest validate",
    summary="Load test files and report every mistake, without starting anything.",
    usage="mcptest validate PATH…",
    details="PATH is a file, a folder or a quoted glob.",
    options=(),
    examples=("mcptest validate tests/",),
    run=validate,
)
