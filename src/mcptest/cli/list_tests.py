"""`mcptest run --list`: the tests that a run would run, and where they are."""

from __future__ import annotations

import os

from mcptest import __version__
from mcptest.cli.one_server import write_json
from mcptest.cli.options import parse_color
from mcptest.cli.output import (
    StandardOutput,
    hide_secrets,
    wants_colour,
    write_stderr,
)
from mcptest.cli.shared_options import (
    parse_wanted,
)
from mcptest.core.diagnostics import render_diagnostic
from mcptest.core.errors import UsageError
from mcptest.core.results import ExitCode
from mcptest.core.secrets import redact_all, redactor
from mcptest.core.text import plural, visible
from mcptest.engine.loading import PlaceholderEnvironment, load_plan
from mcptest.reporters.style import Paint, encode_narrow, narrow_encoding

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from mcptest.cli.options import Arguments
    from mcptest.engine.loading import Plan

    Members = dict[str, Any]

__all__ = ["list_tests"]

# What has no meaning if nothing runs.
_REFUSED = (
    "--watch",
    "--reporter",
    "--junit",
    "--capture",
    "--server-coverage",
    "--transport-matrix",
    "--http-command",
    "--update-snapshots",
    "--force-update-snapshots",
    "--repeat",
    "--durations",
)


def list_tests(arguments: Arguments) -> int:
    """List the selected tests as text or JSON; return the exit code."""
    for option in _REFUSED:
        if arguments.has(option):
            raise UsageError(f"--list runs nothing, so {option} has no meaning with it")
    wanted = parse_wanted(arguments).but(is_only_listed=True)
    # Neither servers nor variables are needed to know the tests.
    plan = load_plan(wanted, PlaceholderEnvironment(os.environ))
    hide_secrets(plan.secrets)
    tests = redact_all(list(_describe_tests(plan)), redactor(plan.secrets))
    skipped = sum(test["skip"] is not None for test in tests)
    if arguments.has("--json"):
        summary = {"total": len(tests), "to_run": len(tests) - skipped, "skipped": skipped}
        write_json(
            {
                "version": 1,
                "tool": "mcptest",
                "tool_version": __version__,
                "summary": summary,
                "tests": tests,
                "error": None,
            }
        )
        return ExitCode.PASSED
    for warning in plan.warnings:
        write_stderr(render_diagnostic(warning) + "\n\n")
    output = StandardOutput()
    paint = Paint(on=wants_colour(parse_color(arguments)))
    lines = [_render_line(test, paint) for test in tests]
    if not arguments.has("--quiet"):
        files = plural(len({test["file"] for test in tests}), "file")
        left_out = f"; {skipped:,} would be skipped" if skipped else ""
        lines += ["", f"{plural(len(tests), 'test')} in {files}{left_out}"]
    output.write(encode_narrow("\n".join(lines) + "\n", narrow_encoding(output)))
    return ExitCode.PASSED


def _describe_tests(plan: Plan) -> Iterator[Members]:
    """The tests in the order of a run. Each has an id of its own."""
    ids: dict[str, int] = {}
    for suite, spec in plan.suites:
        for case in suite.cases:
            # A suite may have tests of the same name for several servers.
            parts = (suite.file, spec.name if suite.format == "suite" else "", case.name)
            id = "::".join(filter(None, parts))
            ids[id] = ids.get(id, 0) + 1
            yield {
                "id": id if ids[id] == 1 else f"{id} #{ids[id]}",
                "name": case.name,
                "suite": suite.name,
                "file": suite.file,
                "line": case.line,
                "format": suite.format,
                "server": spec.name or None,
                "lane": case.lane or ("compliance" if case.check else None),
                "tags": list(case.tags),
                "skip": case.skip,
                "not_run": case.not_run,
                "row": case.row or None,
            }


def _render_line(test: Members, paint: Paint) -> str:
    parts = [f"{paint.dim(visible(test['file']) + ':' + str(test['line']))}", visible(test["name"])]
    if test["tags"]:
        parts.append(paint.dim(f"[{visible(', '.join(test['tags']))}]"))
    if test["lane"]:
        parts.append(paint.dim(f"lane {test['lane']}"))
    if test["format"] == "suite" and test["server"]:
        parts.append(paint.dim(f"on {visible(test['server'])}"))
    if test["row"] not in (None, f"{test['file']}:{test['line']}"):
        parts.append(paint.dim(f"row {visible(test['row'])}"))
    if test["skip"] is not None:
        reason = f": {visible(test['skip'])}" if test["skip"] else ""
        parts.append(paint.yellow(f"({'not run' if test['not_run'] else 'skipped'}{reason})"))
    return "  ".join(parts)
