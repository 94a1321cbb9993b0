"""`mcptest run`: run test files against a server."""

from __future__ import annotations

import gc
import os
from contextlib import suppress

from mcptest.cli.options import Command
from mcptest.cli.output import describe_exhaustion, hide_secrets, is_terminal, write_stderr
from mcptest.cli.reports import Reports
from mcptest.cli.shared_options import (
    OPTIONS,
    SHOWN_VARIABLE,
    WATCHER_VARIABLE,
    parse_max_failures,
    parse_min_coverage,
    parse_repeat,
    parse_retries,
    parse_wanted,
    parse_workers,
)
from mcptest.cli.signals import without_gc
from mcptest.core.errors import McptestError, OwnFaultError, UsageError
from mcptest.core.events import CaseFinished, ReportedShard, SuiteStarted
from mcptest.core.plan import ISOLATE_FILES
from mcptest.core.results import NOT_KEPT, exit_code_of
from mcptest.core.text import plural, visible
from mcptest.engine.loading import load_plan
from mcptest.engine.selection import STATE_FILE, keep_failed
from mcptest.transport import IS_WINDOWS, URL_INSTEAD, refuse_windows, utc_now

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from mcptest.cli.options import Arguments
    from mcptest.cli.run_modes import ShownBefore, TransportMatrix
    from mcptest.core.events import Event, Listener, RunFinished
    from mcptest.core.plan import ServerSpec
    from mcptest.core.results import Mismatch
    from mcptest.engine.code_coverage import Collectors
    from mcptest.engine.loading import Plan
    from mcptest.engine.run import RunOptions
    from mcptest.engine.server import Launcher
    from mcptest.protocol.capture import SessionCapture

__all__ = ["COMMAND", "CONDUCTOR_COMMAND", "run"]


# How long an interrupted run may take to write its reports.
_WRITING_PATIENCE_S = 2.0


# Keeps the plan alive until the process ends: freeing it takes longer than exiting.
_kept: list[Plan] = []


def run(arguments: Arguments) -> int:
    """Load the tests, run or list them, and report; return the exit code."""
    if arguments.has("--list"):
        from mcptest.cli.list_tests import list_tests  # noqa: PLC0415  # only with its option

        return list_tests(arguments)
    before = _follow_watcher() if WATCHER_VARIABLE in os.environ else None
    matrix = _parse_matrix(arguments)
    if arguments.has("--watch"):
        from mcptest.cli.run_modes import watch  # noqa: PLC0415  # only with its option

        refuse_windows("--watch", "run the command again by hand")
        return watch(arguments)
    wanted = matrix.wanted if matrix else parse_wanted(arguments)
    wanted = wanted.but(note=before.note) if before else wanted
    settings: dict[str, Any] = {
        "strict_invariants": arguments.has("--strict-invariants"),
        "max_failures": parse_max_failures(arguments),
        "repeat": parse_repeat(arguments),
        "retries": parse_retries(arguments),
        "min_coverage": parse_min_coverage(arguments),
        "allow_not_run": arguments.has("--allow-not-run"),
        "workers": parse_workers(arguments),
    }
    reports = Reports(arguments, on_github=True)
    with without_gc():
        try:
            plan = matrix.load(os.environ) if matrix else load_plan(wanted, os.environ)
            collectors = _parse_collectors(arguments)
            _refuse_processes(plan)
        except McptestError as error:
            # The run may have failed before its selection was known.
            if (shard := wanted.selection.shard) and not error.shard:
                error.shard = ReportedShard(indexes=(shard.number,), count=shard.count)
            reports.write_failure(error, utc_now())
            raise
        # Loaded only once the files are known to be valid.
        import mcptest.engine.run  # noqa: PLC0415
        import mcptest.transport.process.child  # noqa: F401, PLC0415

        # The plan lives until the end: the collector need not look at it again.
        gc.freeze()
    _kept.append(plan)
    if collectors:
        plan = plan.with_servers(lambda spec: collectors.with_collector(spec, os.environ))
    hide_secrets(plan.secrets)
    if before:
        files = {suite.file for suite, _ in plan.suites}
        reports.terminal_warnings = before.new_warnings(plan.warnings, files)
    reports.open(plan.secrets)
    outcomes = _Outcomes(reports)
    try:
        finished = _run_tests(plan, settings, arguments, reports, outcomes, matrix)
    except McptestError:
        raise
    except Exception as error:
        _write_fault(error, plan, reports)
        raise
    outcomes.keep(plan, finished)
    if collectors:
        write_stderr(collectors.outcome() + "\n")
    for finding in finished.findings:
        if finding.kind in NOT_KEPT:
            write_stderr(f"error: {finding.message}\n")
    return reports.exit_status(exit_code_of(finished))


class _Outcomes:
    """A listener that passes events on to the reports, and keeps for --last-failed what failed.

    Where nothing has failed before and nothing fails now, nothing is written.
    """

    def __init__(self, reports: Reports) -> None:
        self._reports = reports
        self._is_known = os.path.lexists(STATE_FILE)
        self._file = ""
        self._failed: dict[str, set[str]] = {}
        self._passed: dict[str, set[str]] = {}

    def __call__(self, event: Event) -> None:
        if isinstance(event, CaseFinished):
            if event.result.status in ("failed", "error"):
                name = self._reports.redact(event.result.name)
                self._failed.setdefault(self._file, set()).add(name)
            elif self._is_known:
                self._passed.setdefault(self._file, set()).add(event.result.name)
        elif isinstance(event, SuiteStarted):
            self._file = event.file
        self._reports.emit(event)

    def keep(self, plan: Plan, finished: RunFinished) -> None:
        if finished.fault or not (self._failed or self._is_known):
            return
        names: dict[str, set[str]] = {}
        if plan.is_whole and not (finished.interrupted or finished.bailed):
            for suite, _ in plan.suites:
                names.setdefault(suite.file, set()).update(case.name for case in suite.cases)
        keep_failed(self._failed, self._passed, names)


def _refuse_processes(plan: Plan) -> None:
    """On Windows, raise a `UsageError` if a server or hook must be started, before the run.

    A test that asks a plugin fails by itself.
    """
    if not IS_WINDOWS:
        return
    for suite, spec in plan.suites:
        if spec.command:
            refuse_windows(f"starting the server {visible(spec.name)}", URL_INSTEAD)
        dialogues = (case.dialogue for case in suite.cases)
        if any(each.before or each.after for each in dialogues if each):
            refuse_windows(f"running the hooks of {visible(suite.file)}")


def _follow_watcher() -> ShownBefore:
    """End with the watching process; return what earlier rounds of it have shown."""
    # In rounds of a watch only.
    from mcptest.cli.run_modes import ShownBefore  # noqa: PLC0415
    from mcptest.transport.process.workers import follow  # noqa: PLC0415

    follow(os.environ.pop(WATCHER_VARIABLE))
    return ShownBefore(os.environ.pop(SHOWN_VARIABLE, ""))


def _write_fault(error: Exception, plan: Plan, reports: Reports) -> None:
    """Write a failure report, so that no report of an earlier run is taken for this one."""
    if isinstance(error, BrokenPipeError) and not reports.has_files:
        # The reader of standard output is gone, and there is no other report.
        return
    fault = OwnFaultError(reports.redact(f"a fault of mcptest itself: {error!r}"))
    failure = describe_exhaustion(error) or fault
    failure.shard = plan.shard
    reports.write_failure(failure, utc_now())
    write_stderr("".join(f"error: {each}\n" for each in failure.unwritten))


def _run_tests(
    plan: Plan,
    settings: dict[str, Any],
    arguments: Arguments,
    reports: Reports,
    emit: Listener,
    matrix: TransportMatrix | None,
) -> RunFinished:
    from mcptest.engine.run import make_options, run_plan  # noqa: PLC0415  # as above
    from mcptest.engine.server import launching  # noqa: PLC0415  # as above
    from mcptest.transport.process.signals import Interrupts  # noqa: PLC0415  # as above

    workers = plan.workers if settings["workers"] is None else settings["workers"]
    if IS_WINDOWS and workers is not None:
        workers = None
        write_stderr("note: files run one after the other: --parallel has no effect on Windows\n")
    if workers is not None:
        _note_shared_servers(plan)
    settings = {**settings, "workers": workers, "reports_starts": reports.shows_starts}

    def options_for(plan: Plan) -> RunOptions:
        return make_options(plan, **settings)

    with Interrupts() as interrupts:
        if is_terminal():
            interrupts.on_first = _print_interrupted
        with launching(
            interrupts,
            plan.plugins,
            keeps_traffic=arguments.has("--capture"),
            keeps_log=reports.wants_log,
            traces=arguments.has("--trace"),
            while_waiting=reports.tick,
            check_actively=_check_actively,
        ) as launcher:
            if matrix:
                finished, captures = matrix.run(plan, options_for, launcher, emit)
            else:
                finished, captures = run_plan(plan, options_for(plan), launcher, emit)
        interrupts.shorten_patience(_WRITING_PATIENCE_S)
        files = {}
        if arguments.has("--capture"):
            files[arguments.last("--capture")] = _render_captures(reports.redact(captures))
        reports.close(files)
    return finished


def _check_actively(
    spec: ServerSpec, launcher: Launcher, version: str
) -> tuple[tuple[Mismatch, ...], tuple[str, ...]]:
    """Make the active checks of a server, for `compliance: {tests: [active]}` of a suite."""
    from mcptest.cli.compliance_run import check_actively  # noqa: PLC0415  # few suites ask for it

    return check_actively(spec, launcher, version)


def _note_shared_servers(plan: Plan) -> None:
    """Say which files cannot run side by side, and how they could."""
    from mcptest.engine.parallel import split_into_jobs  # noqa: PLC0415  # few runs are parallel

    shared = [job for job in split_into_jobs(plan) if len(job) > 1]
    if shared:
        named = [job[0][1] for job in shared]
        names = ", ".join(dict.fromkeys(visible(spec.name) for spec in named))
        server = f"the server {names}" if all(spec.is_named for spec in named) else "one server"
        files = plural(sum(map(len, shared)), "file")
        message = f"{files} share {server} and run one after the other"
        write_stderr(f"note: {message}; {ISOLATE_FILES} gives each file its own\n")


def _parse_matrix(arguments: Arguments) -> TransportMatrix | None:
    if not (arguments.has("--transport-matrix") or arguments.has("--http-command")):
        return None
    from mcptest.cli.run_modes import TransportMatrix  # noqa: PLC0415  # only with its option

    return TransportMatrix.of(arguments)


def _parse_collectors(arguments: Arguments) -> Collectors | None:
    if not arguments.has("--server-coverage"):
        return None
    from mcptest.engine.code_coverage import Collectors  # noqa: PLC0415  # only with its option

    return Collectors(arguments.last("--server-coverage"))


def _print_interrupted() -> None:
    # May be called at any moment, so it is written without any buffer.
    text = "\r\x1b[Kinterrupted: stopping the server; Ctrl-C again kills it at once\n"
    with suppress(OSError):
        os.write(2, text.encode())


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
