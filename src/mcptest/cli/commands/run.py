"""`mcptest run`: run test files against a server."""

from __future__ import annotations

import gc
import os
import time
from contextlib import suppress
from functools import partial

from mcptest.cli.options import Command
from mcptest.cli.output import describe_exhaustion, hide_secrets, is_terminal, write_stderr
from mcptest.cli.reports import Reports
from mcptest.cli.run_options import (
    OPTIONS,
    WATCHER_VARIABLE,
    min_coverage,
    parallel,
    parse_request,
    retries,
)
from mcptest.cli.signals import without_gc
from mcptest.core.errors import McptestError, OwnFaultError, UsageError
from mcptest.core.events import ReportedShard
from mcptest.core.record import Record
from mcptest.core.results import NOT_KEPT, exit_code_of
from mcptest.engine.loading import load_plan

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mcptest.cli.matrix import TransportMatrix
    from mcptest.cli.options import Arguments
    from mcptest.core.events import Listener, RunFinished
    from mcptest.engine.code_coverage import Collectors
    from mcptest.engine.loading import Plan, Wanted
    from mcptest.engine.server import Launcher
    from mcptest.protocol.capture import SessionCapture
    from mcptest.transport.process.signals import Interrupts

__all__ = ["COMMAND", "CONDUCTOR_COMMAND", "run"]


# After a signal, reports that are being written get this long, in case a pipe is never read.
_WRITING_PATIENCE_S = 2.0


# Keeps the plan alive until the process exits: freeing a large plan takes longer.
_kept: list[Plan] = []


class Limits(Record):
    """The numbers on the command line; `workers` is None unless files run side by side."""

    workers: int | None
    retries: int
    min_coverage: float | None


def run(arguments: Arguments) -> int:
    """Load the tests, run them, write the reports; return the exit code."""
    if WATCHER_VARIABLE in os.environ:
        from mcptest.transport.process.workers import follow  # noqa: PLC0415  # only with --watch

        follow(os.environ.pop(WATCHER_VARIABLE))
    matrix = _matrix(arguments)
    if arguments.has("--watch"):
        from mcptest.cli.watch import watch  # noqa: PLC0415  # rare

        return watch(arguments)
    asked = matrix.request if matrix else parse_request(arguments)
    limits = _limits(arguments)
    reports = Reports.of(arguments)
    with without_gc():
        try:
            plan = matrix.load(os.environ) if matrix else load_plan(asked, os.environ)
            collectors = _collectors(arguments)
        except McptestError as error:
            error.shard = error.shard or _failed_shard(asked)
            reports.write_failure(error, _now())
            raise
        _load_runner()
        # The plan lives until the end, so the collector need not visit it.
        gc.freeze()
    _kept.append(plan)
    if collectors:
        plan = plan.with_servers(lambda spec: collectors.with_collector(spec, os.environ))
    hide_secrets(plan.secrets)
    reports.open(plan.secrets)
    try:
        finished = _run_and_report(plan, limits, arguments, reports, matrix)
    except McptestError:
        raise
    except Exception as error:
        _write_fault(error, plan, reports)
        raise
    if collectors:
        write_stderr(collectors.outcome() + "\n")
    for finding in finished.findings:
        if finding.kind in NOT_KEPT:
            write_stderr(f"error: {finding.message}\n")
    return reports.exit_status(exit_code_of(finished))


def _failed_shard(asked: Wanted) -> ReportedShard | None:
    """The shard of a run that failed before its selection was known."""
    shard = asked.selection.shard
    return ReportedShard(indexes=(shard.number,), count=shard.count) if shard else None


def _write_fault(error: Exception, plan: Plan, reports: Reports) -> None:
    """Overwrite reports of an earlier run, which could be mistaken for the result of this one."""
    if isinstance(error, BrokenPipeError) and not reports.has_files:
        # The reader of standard output is gone, and there is no other report.
        return
    fault = OwnFaultError(reports.redacted(f"a fault of mcptest itself: {error!r}"))
    failure = describe_exhaustion(error) or fault
    failure.shard = plan.shard
    reports.write_failure(failure, _now())
    write_stderr("".join(f"error: {each}\n" for each in failure.unwritten))


def _load_runner() -> None:
    # Modules that start processes are imported only if the files have no mistakes.
    import mcptest.engine.run  # noqa: PLC0415
    import mcptest.transport.process.guardian  # noqa: F401, PLC0415


def _run_and_report(
    plan: Plan,
    limits: Limits,
    arguments: Arguments,
    reports: Reports,
    matrix: TransportMatrix | None,
) -> RunFinished:
    from mcptest.transport.process.signals import Interrupts  # noqa: PLC0415  # as above

    with Interrupts() as interrupts:
        finished, captures = _run(plan, limits, arguments, reports, interrupts, matrix)
        interrupts.shorten_patience(_WRITING_PATIENCE_S)
        files = {}
        if arguments.has("--capture"):
            files[arguments.last("--capture")] = _render_captures(reports.redacted(captures))
        reports.close(files)
    return finished


def _matrix(arguments: Arguments) -> TransportMatrix | None:
    if not (arguments.has("--transport-matrix") or arguments.has("--http-command")):
        return None
    from mcptest.cli.matrix import TransportMatrix  # noqa: PLC0415  # rare

    return TransportMatrix.of(arguments)


def _limits(arguments: Arguments) -> Limits:
    return Limits(
        workers=parallel(arguments),
        retries=retries(arguments),
        min_coverage=min_coverage(arguments),
    )


def _collectors(arguments: Arguments) -> Collectors | None:
    if not arguments.has("--server-coverage"):
        return None
    from mcptest.engine.code_coverage import Collectors  # noqa: PLC0415  # rare

    return Collectors(arguments.last("--server-coverage"))


def _now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def _run(
    plan: Plan,
    limits: Limits,
    arguments: Arguments,
    reports: Reports,
    interrupts: Interrupts,
    matrix: TransportMatrix | None,
) -> tuple[RunFinished, list[SessionCapture]]:
    from mcptest.engine.server import launching  # noqa: PLC0415  # as above

    if is_terminal():
        interrupts.on_first = _tell_what_happens
    with launching(
        interrupts,
        plan.plugins,
        keeps_traffic=arguments.has("--capture"),
        keeps_log=reports.wants_log,
        while_waiting=reports.tick,
    ) as launcher:
        if matrix is None:
            return _run_once(plan, launcher, reports.tell, limits, arguments)
        run_way = partial(_run_once, limits=limits, arguments=arguments, may_give_up=False)
        bail, is_strict = arguments.has("--bail"), _is_strict(plan, arguments)
        options = matrix.options(plan, _now(), bail=bail, is_strict=is_strict)
        return matrix.run(plan, options, launcher, reports.tell, run_way)


def _tell_what_happens() -> None:
    # Called from a signal handler, so without buffered streams.
    text = "\r\x1b[Kinterrupted: stopping the server; Ctrl-C again kills it at once\n"
    with suppress(OSError):
        os.write(2, text.encode())


def _run_once(
    plan: Plan,
    launcher: Launcher,
    tell: Listener,
    limits: Limits,
    arguments: Arguments,
    may_give_up: bool = True,
) -> tuple[RunFinished, list[SessionCapture]]:
    from mcptest.engine.run import options_for, run_plan  # noqa: PLC0415  # as above

    options = options_for(
        plan,
        strict_invariants=arguments.has("--strict-invariants"),
        bail=arguments.has("--bail"),
        retries=limits.retries,
        min_coverage=limits.min_coverage,
        allow_not_run=arguments.has("--allow-not-run"),
        may_give_up=may_give_up,
    )
    workers = limits.workers
    if workers is None:
        workers = max((suite.parallel or 0 for suite, _ in plan.suites), default=0) or None
    if workers is None:
        return run_plan(plan, options, launcher, tell)
    from mcptest.engine.parallel import run_parallel  # noqa: PLC0415  # rare

    return run_parallel(plan, options, launcher, tell, workers)


def _is_strict(plan: Plan, arguments: Arguments) -> bool:
    asked = any(spec.strict_invariants for _, spec in plan.suites)
    return asked or arguments.has("--strict-invariants")


def _render_captures(captures: list[SessionCapture]) -> str:
    from mcptest.core.strict_json import dump_json  # noqa: PLC0415  # as above
    from mcptest.core.text import printable_json  # noqa: PLC0415  # as above
    from mcptest.protocol.capture import render_capture  # noqa: PLC0415  # as above

    sessions = [render_capture(capture) for capture in captures]
    return printable_json(dump_json(sessions[0] if len(sessions) == 1 else sessions)) + "\n"


COMMAND = Command(
    name="mcptest run",
    summary="Run test files against an MCP server, and report what differs.",
    usage="mcptest run [PATH…] [options] [-- COMMAND…]",
    details="PATH is a file, a folder or a quoted glob (default: the current folder). COMMAND "
    "starts the server, like --server-command.",
    options=OPTIONS,
    examples=(
        "mcptest run tests/ --config conductor.config.json",
        'mcptest run files.test.mcp.yml --server-command "python3 server.py"',
        'mcptest run "tests/**/*.test.mcp.yml" -k read_file --json',
        'mcptest run tests/ --transport-matrix --server-command "python3 server.py"',
    ),
    run=run,
    takes_command=True,
)


def _run_conductor(arguments: Arguments) -> int:
    if not arguments.paths:
        raise UsageError(
            "conductor needs a glob of test files", 'for example: conductor "**/*.test.mcp.yml"'
        )
    return run(arguments)


CONDUCTOR_COMMAND = Command(
    name="conductor",
    summary="Run Conductor test files, with the engine and options of mcptest run.",
    usage='conductor "GLOB" [--config conductor.config.json] [options]',
    options=OPTIONS,
    examples=('conductor "./examples/**/*.test.mcp.yml" --config conductor.config.json',),
    run=_run_conductor,
    takes_command=True,
)
