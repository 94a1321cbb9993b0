"""Run the files of a plan side by side, each against a server of its own.

Workers run one file at a time and send its events; here they are told on in the order of
the files, so that the report is the same however many workers there are. The file that is
next in order is told while it runs, the others when their turn comes.
"""

from __future__ import annotations

import os
import time

from mcptest.core.errors import hint_at_limit
from mcptest.core.events import CaseFinished, CaseStarted, RunFinished, SuiteFinished, SuiteStarted
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
    make_run_started,
    make_suite_started,
    measure_coverage,
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

# What stopping a server, judging and being slow take at most.
_MARGIN_S = 60.0

# The exit status of a worker that a third signal, or its own patience, made leave.
_LEFT = 130


def _worker_count(wanted: int, files: int) -> int:
    """How many workers to use: as many as asked for (0: as cores), never more than files."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return max(1, min(wanted or cores or 1, files))


def run_parallel(
    plan: Plan, options: RunOptions, launcher: Launcher, emit: Listener, workers: int
) -> tuple[RunFinished, list[SessionCapture]]:
    """As `run_plan`, with so many workers (0: as many as there are cores)."""
    plan = plan.but(suites=tuple((suite, _own_server(spec)) for suite, spec in plan.suites))
    run = _ParallelRun(plan, options, launcher, emit)
    return run.run(_worker_count(workers, len(plan.suites)))


def _own_server(spec: ServerSpec) -> ServerSpec:
    return spec.but(isolation="file") if spec.isolation == "run" else spec


class _Lane:
    """One file: what its worker has told of it, and how it ended once it has."""

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

    def patience_s(self, retries: int) -> float:
        """Longer than any one test of this file can take, with all that comes before and after."""
        longest_s = max((case.timeout_s or 0.0 for case in self.suite.cases), default=0.0)
        most = max((case.retries or 0 for case in self.suite.cases), default=0)
        tries = 1 + max(retries, most)
        per_try_s = max(longest_s, self.spec.timeout_s) + self.spec.startup_timeout_s
        return tries * (per_try_s + _MARGIN_S)


class _LearnedSecrets(Record):
    """What a worker has learned of secrets: those who write the reports blank them."""

    secrets: tuple[str, ...]


class _ParallelRun:
    def __init__(self, plan: Plan, options: RunOptions, launcher: Launcher, emit: Listener) -> None:
        self._plan = plan
        self._options = options
        self._launcher = launcher
        self._emit = add_watchers(emit, options)
        self._lanes = [_Lane(suite, spec) for suite, spec in plan.suites]
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
            self._hire(workers, count)
            self._listen(workers)
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
        coverage = measure_coverage(ending.coverage for ending in self._endings)
        finished = apply_gates(finished, self._options, coverage)
        if not (finished.interrupted or finished.bailed or finished.fault):
            assert finished.summary.total == self._plan.total, "tests got lost between workers"
        self._emit(finished)
        captures = [capture for ending in self._endings for capture in ending.captures]
        return finished, captures

    # What a worker does

    def _work(self, jobs: Iterator[int], send: Callable[[object], None]) -> None:
        """Run files in this process, which is a copy of the one that made the plan."""
        self._launcher.guardian.let_go()
        # At once: a server may show them to another worker.
        LEARNED.listener = lambda secrets: send(_LearnedSecrets(secrets=secrets))
        with Interrupts() as interrupts, launching(interrupts, self._plan.plugins) as own:
            launcher = self._launcher.but(
                guardian=own.guardian, interrupts=interrupts, while_waiting=None
            )
            for job in jobs:
                plan = Plan(suites=(self._plan.suites[job],), snapshots=self._plan.snapshots)
                options = self._options.but(
                    may_give_up=self._may_give_up(job),
                    min_coverage=None,
                    gates=None,
                    snapshots=None,
                    strict_invariants=False,
                )
                run = Run(plan, options, launcher, send)
                finished = run.run()
                coverage = run.count_coverage()
                captures = tuple(run.pool.captures)
                # What the rules say is told once, of all files together.
                finished = finished.but(
                    conformance=CaptureScore(), findings=merge_findings(run.pool.findings)
                )
                scores = tuple(run.pool.scores)
                send(Ending(finished=finished, captures=captures, coverage=coverage, scores=scores))

    def _may_give_up(self, job: int) -> bool:
        """Only the first file may say that there is no server, and only for all of them."""
        first = self._plan.suites[0][1]
        return job == 0 and all(spec == first for _, spec in self._plan.suites)

    # What we do

    def _hire(self, workers: Workers, count: int) -> None:
        """So many workers, or as many as there are descriptors for."""
        for _ in range(count):
            try:
                worker = workers.start()
            except OSError:
                if not workers.alive:
                    raise
                return
            # Should we be killed, our guardian ends it, whatever it is busy with.
            self._launcher.guardian.watch(worker.pid)
            self._employ(worker)

    def _employ(self, worker: Worker) -> None:
        worker.job = None
        if self._next_job < len(self._lanes):
            worker.give(self._next_job)
            self._next_job += 1
        else:
            worker.dismiss()

    def _listen(self, workers: Workers) -> None:
        """Until all is told, or nothing more has to be."""
        tick = self._launcher.while_waiting
        while workers.alive and not self._is_over:
            self._pass_interrupt_on(workers)
            for worker, values in workers.wait(_TICK_S):
                for value in values:
                    self._take(worker, value)
                if worker.has_ended:
                    self._lose(worker, self._buried(workers, worker))
                    if self._next_job < len(self._lanes):
                        self._hire(workers, 1)
            self._end_the_silent(workers)
            self._tell_on()
            if tick:
                tick()

    def _buried(self, workers: Workers, worker: Worker) -> int:
        status = workers.bury(worker)
        self._launcher.guardian.release(worker.pid)
        return status

    def _end_the_silent(self, workers: Workers) -> None:
        """A worker is always heard of in time, unless it is stopped or stuck."""
        for worker in workers.alive:
            if worker.job is not None:
                silent_s = time.monotonic() - worker.heard_at
                if silent_s > self._lanes[worker.job].patience_s(self._options.retries):
                    worker.kill()

    def _pass_interrupt_on(self, workers: Workers) -> None:
        if self._launcher.interrupts.count and not self._is_interrupted:
            self._is_interrupted = True
            self._next_job = len(self._lanes)
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
                self._give_up(self._lanes[worker.job], fault)
            return
        assert worker.job is not None
        lane = self._lanes[worker.job]
        if isinstance(value, Ending) and value.finished.interrupted and not self._is_interrupted:
            # Somebody told the worker to stop, and it was not us: it is of no use any more.
            self._give_up(lane, faults.lost_worker_fault("was told to stop by a signal"))
            worker.job = None
            worker.dismiss()
        elif isinstance(value, Ending):
            lane.ending = value
            self._employ(worker)
        elif isinstance(value, SuiteStarted | SuiteFinished | CaseStarted | CaseFinished):
            lane.take(value)

    def _lose(self, worker: Worker, status: int) -> None:
        """A worker that went away over its work: what it has not told is not known."""
        lane = self._lanes[worker.job] if worker.job is not None else None
        if lane is None or lane.ending or self._is_interrupted:
            return
        if os.WIFEXITED(status) and os.WEXITSTATUS(status) != _LEFT:
            raise RuntimeError(f"a worker failed over {lane.suite.file}; its own words are above")
        how = f"was killed by signal {os.WTERMSIG(status)}" if os.WIFSIGNALED(status) else "left"
        self._give_up(lane, faults.lost_worker_fault(how))

    def _give_up(self, lane: _Lane, fault: Fault) -> None:
        """Make errors of the tests whose end nobody has told."""
        if not lane.has_started:
            lane.take(make_suite_started(lane.suite, lane.spec))
        for case in lane.suite.cases[lane.tally.summary.total :]:
            result = CaseResult(
                name=case.name, status="error", line=case.line, fault=fault, tags=case.tags
            )
            lane.take(CaseFinished(result=result))
        if not lane.has_finished:
            lane.take(SuiteFinished(name=lane.suite.name, file=lane.suite.file))
        finished = RunFinished(summary=lane.tally.summary, duration_s=0.0)
        lane.ending = Ending(finished=finished)

    def _tell_on(self) -> None:
        """Tell what is next in order: files that are over, and the one whose turn it is."""
        while self._turn < len(self._lanes):
            lane = self._lanes[self._turn]
            waiting, lane.waiting = lane.waiting, []
            for event in waiting:
                self._emit(event)
            if lane.ending is None:
                return
            finished = lane.ending.finished
            self._endings.append(lane.ending)
            self._turn += 1
            has_failed = finished.summary.failed or finished.summary.errors
            if finished.fault or (self._options.bail and has_failed):
                self._is_over = True
                return
