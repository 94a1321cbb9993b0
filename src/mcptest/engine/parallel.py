"""Run the files of a plan side by side, each against a server of its own.

Workers run one file at a time and send its events, which are emitted in the order of the files: the
report is the same however many workers there are. Events of the file that is next in order are
emitted while it runs, those of other files when their turn comes.
"""

from __future__ import annotations

import os
import time

from mcptest.core.errors import hint_at_limit
from mcptest.core.events import (
    CaseFinished,
    CaseStarted,
    RunFinished,
    ServerNamed,
    SuiteFinished,
    SuiteStarted,
)
from mcptest.core.record import Record
from mcptest.core.results import CaptureScore, CaseResult, merge_findings
from mcptest.core.secrets import LEARNED
from mcptest.engine import faults
from mcptest.engine.loading import Plan
from mcptest.engine.run import (
    Ending,
    Run,
    RunOptions,
    Tally,
    add_watchers,
    apply_gates,
    collect_findings,
    combine_coverage,
    make_run_started,
    make_suite_started,
    merge_endings,
    score_conformance,
)
from mcptest.engine.server import launching
from mcptest.transport.process.signals import Interrupts
from mcptest.transport.process.workers import Workers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from mcptest.core.events import Event, Listener
    from mcptest.core.plan import ServerSpec, Suite
    from mcptest.core.results import Fault
    from mcptest.engine.server import Launcher
    from mcptest.protocol.capture import SessionCapture
    from mcptest.transport.process.workers import Worker

__all__ = ["run_parallel"]

_TICK_S = 0.1

# Extra time for stopping a server and judging, on a slow machine.
_MARGIN_S = 60.0

# The events of a worker that are emitted.
_PASSED_ON = (ServerNamed, SuiteStarted, CaseStarted, CaseFinished, SuiteFinished)

# The exit status of a worker that was ended by a third signal, or by its own time limit.
_LEFT = 130


def run_parallel(
    plan: Plan, options: RunOptions, launcher: Launcher, emit: Listener, workers: int
) -> tuple[RunFinished, list[SessionCapture]]:
    """As `run_plan`, with so many workers (0: as many as there are cores), at most one per file."""
    plan = plan.with_servers(
        lambda spec: spec.but(isolation="file") if spec.isolation == "run" else spec
    )
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    count = max(1, min(workers or cores or 1, len(plan.suites)))
    return _ParallelRun(plan, options, launcher, emit).run(count)


class _FileProgress:
    """One file: the events of its worker that wait to be emitted, and its ending."""

    def __init__(self, suite: Suite, spec: ServerSpec) -> None:
        self.suite = suite
        self.spec = spec
        self.has_started = self.has_finished = False
        self.waiting: list[Event] = []
        self.tally = Tally()
        self.ending: Ending | None = None

    def take(self, event: Event) -> None:
        self.waiting.append(event)
        self.has_started |= isinstance(event, SuiteStarted)
        self.has_finished |= isinstance(event, SuiteFinished)
        if isinstance(event, CaseFinished):
            self.tally.add(event.result)

    def time_limit_s(self, retries: int) -> float:
        """Longer than any one test of this file can take, with starting and stopping."""
        longest_s = max((case.timeout_s or 0.0 for case in self.suite.cases), default=0.0)
        most = max((case.retries or 0 for case in self.suite.cases), default=0)
        tries = 1 + max(retries, most)
        per_try_s = max(longest_s, self.spec.timeout_s) + self.spec.startup_timeout_s
        return tries * (per_try_s + _MARGIN_S)


class _LearnedSecrets(Record):
    """Secrets that a worker has learned, to be removed from reports."""

    secrets: tuple[str, ...]


class _ParallelRun:
    def __init__(self, plan: Plan, options: RunOptions, launcher: Launcher, emit: Listener) -> None:
        self._plan = plan
        self._options = options
        self._launcher = launcher
        self._emit = add_watchers(emit, options)
        self._files = [_FileProgress(suite, spec) for suite, spec in plan.suites]
        self._next_job = 0
        self._turn = 0
        self._endings: list[Ending] = []
        self._is_over = False
        self._is_interrupted = False

    def run(self, count: int) -> tuple[RunFinished, list[SessionCapture]]:
        began = time.monotonic()
        self._emit(make_run_started(self._plan, self._options.started_at))
        workers = Workers(self._work, self._launcher.interrupts.fd)
        self._launcher.interrupts.on_second = workers.kill
        try:
            self._start_workers(workers, count)
            self._receive(workers)
        finally:
            workers.stop()
        finished = merge_endings(self._endings)
        scores = [score for ending in self._endings for score in ending.scores]
        conformance = score_conformance(scores)
        finished = finished.but(
            duration_s=time.monotonic() - began,
            interrupted=self._is_interrupted,
            conformance=conformance,
            findings=collect_findings(finished.findings, conformance),
            bailed=self._is_over and finished.summary.total < self._plan.total,
        )
        coverage = combine_coverage(ending.coverage for ending in self._endings)
        finished = apply_gates(finished, self._options, coverage)
        if not (finished.interrupted or finished.bailed or finished.fault):
            assert finished.summary.total == self._plan.total, "tests got lost between workers"
        self._emit(finished)
        captures = [capture for ending in self._endings for capture in ending.captures]
        return finished, captures

    # In a worker

    def _work(self, jobs: Iterator[int], send: Callable[[object], None]) -> None:
        """Run files in this process, which is a copy of the one that made the plan."""
        self._launcher.guardian.let_go()
        # Sent at once: another worker may receive them from a server.
        LEARNED.listener = lambda secrets: send(_LearnedSecrets(secrets=secrets))
        with Interrupts() as interrupts, launching(interrupts, self._plan.plugins) as own:
            launcher = self._launcher.but(
                guardian=own.guardian, interrupts=interrupts, while_waiting=None
            )
            first = self._plan.suites[0][1]
            for job in jobs:
                plan = Plan(suites=(self._plan.suites[job],), snapshots=self._plan.snapshots)
                options = self._options.but(
                    # Only the first file may end the run, if all have its server.
                    may_give_up=job == 0 and all(spec == first for _, spec in self._plan.suites),
                    min_coverage=None,
                    gates=None,
                    snapshots=None,
                    strict_invariants=False,
                )
                run = Run(plan, options, launcher, send)
                finished = run.run()
                coverage = run.count_coverage()
                captures = tuple(run.pool.captures)
                # Conformance is reported once, for all files together.
                finished = finished.but(
                    conformance=CaptureScore(), findings=merge_findings(run.pool.findings)
                )
                scores = tuple(run.pool.scores)
                send(Ending(finished=finished, captures=captures, coverage=coverage, scores=scores))

    # In the main process

    def _start_workers(self, workers: Workers, count: int) -> None:
        """Start workers: this many, or as many as there are descriptors for."""
        for _ in range(count):
            try:
                worker = workers.start()
            except OSError:
                if not workers.alive:
                    raise
                return
            # If this process is killed, the guardian ends the worker.
            self._launcher.guardian.watch(worker.pid)
            self._assign(worker)

    def _assign(self, worker: Worker) -> None:
        worker.job = None
        if self._next_job < len(self._files):
            worker.give(self._next_job)
            self._next_job += 1
        else:
            worker.dismiss()

    def _receive(self, workers: Workers) -> None:
        """Receive until everything has been emitted, or the run is over."""
        tick = self._launcher.while_waiting
        while workers.alive and not self._is_over:
            self._pass_interrupt_on(workers)
            for worker, values in workers.wait(_TICK_S):
                for value in values:
                    self._take(worker, value)
                if worker.has_ended:
                    status = workers.remove_ended(worker)
                    self._launcher.guardian.release(worker.pid)
                    self._handle_exit(worker, status)
                    if self._next_job < len(self._files):
                        self._start_workers(workers, 1)
            self._kill_stuck(workers)
            self._emit_in_order()
            if tick:
                tick()

    def _kill_stuck(self, workers: Workers) -> None:
        """Kill workers that have sent nothing for longer than any test can take."""
        for worker in workers.alive:
            if worker.job is not None:
                silent_s = time.monotonic() - worker.last_message_at
                if silent_s > self._files[worker.job].time_limit_s(self._options.retries):
                    worker.kill()

    def _pass_interrupt_on(self, workers: Workers) -> None:
        if self._launcher.interrupts.count and not self._is_interrupted:
            self._is_interrupted = True
            self._next_job = len(self._files)
            workers.stop_waking()
            for worker in workers.alive:
                worker.interrupt()

    def _take(self, worker: Worker, value: object) -> None:
        if isinstance(value, _LearnedSecrets):
            LEARNED.add(*value.secrets)
            return
        if isinstance(value, Exception):
            if worker.job is not None:
                why = getattr(value, "strerror", "") or "Cannot allocate memory"
                fault = faults.lost_worker_fault(f"met a limit ({why})", hint_at_limit(value))
                self._give_up(self._files[worker.job], fault)
            return
        assert worker.job is not None
        file = self._files[worker.job]
        if isinstance(value, Ending) and value.finished.interrupted and not self._is_interrupted:
            # The worker was interrupted from outside, and does not run anything else.
            self._give_up(file, faults.lost_worker_fault("was told to stop by a signal"))
            worker.job = None
            worker.dismiss()
        elif isinstance(value, Ending):
            file.ending = value
            self._assign(worker)
        elif isinstance(value, _PASSED_ON):
            file.take(value)

    def _handle_exit(self, worker: Worker, status: int) -> None:
        """Report the unfinished tests of a worker that has exited."""
        file = self._files[worker.job] if worker.job is not None else None
        if file is None or file.ending or self._is_interrupted:
            return
        if os.WIFEXITED(status) and os.WEXITSTATUS(status) != _LEFT:
            raise RuntimeError(f"a worker failed over {file.suite.file}; its own words are above")
        how = f"was killed by signal {os.WTERMSIG(status)}" if os.WIFSIGNALED(status) else "left"
        self._give_up(file, faults.lost_worker_fault(how))

    def _give_up(self, file: _FileProgress, fault: Fault) -> None:
        """Report an error for each test of the file that has no result."""
        if not file.has_started:
            file.take(make_suite_started(file.suite, file.spec))
        for case in file.suite.cases[file.tally.summary.total :]:
            result = CaseResult(
                name=case.name, status="error", line=case.line, fault=fault, tags=case.tags
            )
            file.take(CaseFinished(result=result))
        if not file.has_finished:
            file.take(SuiteFinished(name=file.suite.name, file=file.suite.file))
        finished = RunFinished(summary=file.tally.summary, duration_s=0.0)
        file.ending = Ending(finished=finished)

    def _emit_in_order(self) -> None:
        """Emit the events of finished files, and of the file that is next in order."""
        while self._turn < len(self._files):
            file = self._files[self._turn]
            waiting, file.waiting = file.waiting, []
            for event in waiting:
                self._emit(event)
            if file.ending is None:
                return
            finished = file.ending.finished
            self._endings.append(file.ending)
            self._turn += 1
            has_failed = finished.summary.failed or finished.summary.errors
            if finished.fault or (self._options.bail and has_failed):
                self._is_over = True
                return
