"""`conductor "<glob>" [--config FILE]`: `mcptest run` under its format's own name."""

from __future__ import annotations

from mcptest.cli.options import Command
from mcptest.cli.run import run
from mcptest.cli.run_options import OPTIONS
from mcptest.core.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mcptest.cli.options import Arguments

__all__ = ["COMMAND"]


def _run(arguments: Arguments) -> int:
    if not arguments.paths:
        raise UsageError(
            "conductor needs a glob of test files", 'for example: conductor "**/*.test.mcp.yml"'
        )
    return run(arguments)


COMMAND = Command(
    name="conductor",
    summary="Run Conductor test files; the same engine and options as mcptest run.",
    usage='conductor "GLOB" [--config conductor.config.json] [options]',
    options=OPTIONS,
    examples=('conductor "./examples/**/*.test.mcp.yml" --config conductor.config.json',),
    run=_run,
    takes_command=True,
)
