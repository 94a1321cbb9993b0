"""`mcptest run`: run test files against a server."""

from __future__ import annotations

import gc
import os
import time

from mcptest.cli.options import Command, Option
from mcptest.cli.reports import Reports
from mcptest.core.errors import McptestError, UsageError
from mcptest.core.verdict import exit_code_of
from mcptest.formats.durations import parse_duration
from mcptest.runner.loading import Wanted, load_plan

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mcptest.cli.options import Arguments
    from mcptest.core.capture import SessionCapture
    from mcptest.core.events import RunFinished
    from mcptest.runner.loading import Plan
    from mcptest.wire.interrupts import Interrupts

__all__ = ["COMMAND", "OPTIONS", "run"]

# A report that is being written is finished, unless whoever should read it never comes.
_WRITING_PATIENCE_S = 2.0

OPTIONS = (
    Option(
        names=("-c", "--config"),
        value="FILE",
        help="how to start the server; default: conductor.config.json in this folder",
    ),
    Option(
        names=("--server-command",),
        value='"ARGV"',
        help="start the server with this command instead; split like a shell would, "
        "run without one",
    ),
    Option(
        names=("-k", "--filter"),
        value="TEXT",
        help="only tests whose name, or whose suite's name, holds this text; case is ignored",
    ),
    Option(names=("-x", "--bail"), help="stop after the first test that does not pass"),
    Option(
        names=("--timeout",),
        value="TIME",
        help='longest wait for one answer, as 500, "500ms" or "2s"; default 30s',
    ),
    Option(names=("--json",), help="print the JSON report, and nothing else, on standard output"),
    Option(names=("--junit",), value="FILE", help="write a JUnit XML report"),
    Option(
        names=("--reporter",),
        value="NAME[=FILE]",
        repeatable=True,
        help="terminal, json or junit; to standard output or, but for terminal, to FILE; "
        "may be repeated",
    ),
    Option(
        names=("--capture",), value="FILE", help="write all traffic as a capture (JSON sessions)"
    ),
    Option(names=("--no-color",), help="no colour; NO_COLOR in the environment does the same"),
    Option(
        names=("-v", "--verbose"),
        help="show more: what was sent and answered in tests that fail, folders, stderr",
    ),
)


def run(arguments: Arguments) -> int:
    """Load everything, run it, write the reports; the exit status."""
    _check_folder()
    wanted = _wanted(arguments)
    reports = Reports.of(arguments)
    # A plan makes many objects and no garbage: collecting while it grows, or walking it
    # later again and again, is time for nothing.
    gc.disable()
    try:
        plan = load_plan(wanted, os.environ)
    except McptestError as error:
        reports.write_failure(error, _now())
        raise
    gc.freeze()
    gc.enable()
    reports.open(plan.secrets)
    # What opens processes is imported once the files have turned out to be right.
    from mcptest.wire.interrupts import Interrupts  # noqa: PLC0415

    with Interrupts() as interrupts:
        finished, captures = _run(plan, arguments, reports, interrupts)
        interrupts.shorten_patience(_WRITING_PATIENCE_S)
        files = {}
        if arguments.has("--capture"):
            files[arguments.last("--capture")] = _render_captures(reports.redacted(captures))
        reports.close(files)
    return exit_code_of(finished)


def _check_folder() -> None:
    try:
        os.getcwd()
    except OSError:
        raise UsageError("the folder this was started in does not exist any more") from None


def _now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def _wanted(arguments: Arguments) -> Wanted:
    return Wanted(
        paths=arguments.paths,
        config=arguments.last("--config"),
        server_command=_split_command(arguments),
        filter=arguments.last("--filter"),
        timeout_s=_timeout_s(arguments),
    )


def _split_command(arguments: Arguments) -> tuple[str, ...]:
    if not arguments.has("--server-command"):
        return ()
    import shlex  # noqa: PLC0415  # only for those who use the option

    text = arguments.last("--server-command")
    try:
        words = tuple(shlex.split(text))
    except ValueError as error:
        raise UsageError(f"--server-command cannot be split: {error}") from None
    if not words:
        raise UsageError("--server-command is empty")
    if arguments.has("--config"):
        raise UsageError("--server-command and --config both name a server; give one of them")
    return words


def _timeout_s(arguments: Arguments) -> float | None:
    if not arguments.has("--timeout"):
        return None
    try:
        return parse_duration(arguments.last("--timeout"))
    except ValueError as error:
        raise UsageError(f"--timeout {error}") from None


def _run(
    plan: Plan, arguments: Arguments, reports: Reports, interrupts: Interrupts
) -> tuple[RunFinished, list[SessionCapture]]:
    from mcptest.runner.run import RunOptions, run_plan  # noqa: PLC0415  # as above
    from mcptest.runner.server import Launcher  # noqa: PLC0415  # as above
    from mcptest.wire.guardian import Guardian  # noqa: PLC0415  # as above

    options = RunOptions(started_at=_now(), bail=arguments.has("--bail"))
    guardian = Guardian(adopts_orphans=True)
    interrupts.on_second = guardian.kill_all
    launcher = Launcher(
        guardian=guardian,
        interrupts=interrupts,
        keeps_traffic=arguments.has("--capture"),
        while_waiting=reports.tick,
    )
    try:
        return run_plan(plan, options, launcher, reports.tell)
    finally:
        guardian.dismiss()


def _render_captures(captures: list[SessionCapture]) -> str:
    from mcptest.core.capture import render_capture  # noqa: PLC0415  # as above
    from mcptest.core.strict_json import dump_json  # noqa: PLC0415  # as above
    from mcptest.core.visible import printable_json  # noqa: PLC0415  # as above

    sessions = [render_capture(capture) for capture in captures]
    return printable_json(dump_json(sessions[0] if len(sessions) == 1 else sessions)) + "\n"


COMMAND = Command(
    name="mcptest run",
    summary="Run test files against an MCP server, and say what differs.",
    usage="mcptest run [PATH…] [options]",
    details="PATH is a file, a folder or a quoted glob; without one, this folder.",
    options=OPTIONS,
    examples=(
        "mcptest run tests/ --config conductor.config.json",
        'mcptest run files.test.mcp.yml --server-command "python3 server.py"',
        'mcptest run "tests/**/*.test.mcp.yml" -k read_file --json',
    ),
    run=run,
)
