"""Run the files of a plan side by side; those that share a server, one after the other.

Workers run one job at a time, a file or several that share a server, and send its events, which are
emitted in the order of the files: the report is the same however many workers there are. Events of
the job that is next in order are emitted while it runs, those of others when their turn comes.
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
from mcptest.core.results import CaptureScore, CaseResult, merge_findings
from mcptest.core.secrets import LEARNED
from mcptest.core.value_class import Record
from mcptest.engine import faults
from mcptest.engine.case import time_limit_s
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
    score_sessions,
)
from mcptest.engine.server import launching
from mcptest.transport.process.signals import Interrupts
from mcptest.transport.process.workers import Workers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from mcptest.core.events import Event, Listener
    from mcptest.core.plan import ServerSpec, Suite
    from mcptest.core.results import Fault
    from mcptest.engine.server import Launcher
    from mcptest.protocol.capture import SessionCapture
    from mcptest.transport.process.workers import Worker

    Paired = tuple[Suite, ServerSpec]

__all__ = ["run_parallel", "split_into_jobs"]

_TICK_S = 0.1

# The events of a worker that are emitted.
_PASSED_ON = (ServerNamed, SuiteStarted, CaseStarted, CaseFinished, SuiteFinished)

# The exit status of a worker that was ended by a third signal, or by its own time limit.
_LEFT = 130


def run_parallel(
    plan: Plan, options: RunOptions, launcher: Launcher, emit: Listener, workers: int
) -> tuple[RunFinished, list[SessionCapture]]:
    """As `run_plan`, with so many workers (0: as many as there are cores), at most one per job."""
    jobs = split_into_jobs(plan)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    count = max(1, min(workers or cores or 1, len(jobs)))
    return _ParallelRun(plan, jobs, options, launcher, emit).run(count)


def split_into_jobs(plan: Plan) -> list[tuple[Paired, ...]]:
    """The jobs of a run: suites that share one server process, and every other one by itself.

    As in a run one by one, suites share a process only if no other server is used between them.
    """
    jobs: list[tuple[Paired, ...]] = []
    for suite, spec in plan.suites:
        last = jobs[-1][-1][1] if jobs else None
        if spec.isolation == "run" and last == spec:
            jobs[-1] += ((suite, spec),)
        else:
            jobs.append(((suite, spec),))
    return jobs


class _JobProgress:
    """One job: the events of its worker that wait to be emitted, and its ending."""

    def __init__(self, suites: tuple[Paired, ...]) -> None:
        self.suites = suites
        self.waiting: list[Event] = []
        self.tally = Tally()
        self.ending: Ending | None = None
        # How many suites have started and finished, and how many results the last one has.
        self._started = self._finished = self._results = 0

    def take(self, event: Event) -> None:
        self.waiting.append(event)
        if isinstance(event, SuiteStarted):
            self._started += 1
            self._results = 0
        elif isinstance(event, SuiteFinished):
            self._finished += 1
        elif isinstance(event, CaseFinished):
            self._results += 1
            self.tally.add(event.result)

    def give_up(self, fault: Fault) -> None:
        """End the job with an error for each test that has no result."""
        for suite, spec in self.suites[self._finished :]:
            if self._started == self._finished:
                self.take(make_suite_started(suite, spec))
            for case in suite.cases[self._results :]:
                result = CaseResult(
                    name=case.name, status="error", line=case.line, fault=fault, tags=case.tags
                )
                self.take(CaseFinished(result=result))
            self.take(SuiteFinished(name=suite.name, file=suite.file))
        finished = RunFinished(summary=self.tally.summary, duration_s=0.0)
        self.ending = Ending(finished=finished)

    def time_limit_s(self, retries: int, repeat: int) -> float:
        """Longer than any one test of these files can take, with starting and stopping."""
        cases = ((case, spec) for suite, spec in self.suites for case in suite.cases)
        limits = (time_limit_s(case, spec, retries) for case, spec in cases)
        return max(limits, default=0.0) * max(1, repeat)


class _LearnedSecrets(Record):
    """Secrets that a worker has learned, to be removed from reports."""

    secrets: tuple[str, ...]


class _ParallelRun:
    def __init__(
        self,
        plan: Plan,
        jobs: Sequence[tuple[Paired, ...]],
        options: RunOptions,
        launcher: Launcher,
        emit: Listener,
    ) -> None:
        self._plan = plan
        self._options = options
        self._launcher = launcher
        self._emit = add_watchers(emit, options)
        self._jobs = [_JobProgress(suites) for suites in jobs]
        self._next_job = 0
        self._turn = 0
        self._endings: list[Ending] = []
        # Counts the results that were emitted.
        self._tally = Tally()
        # The kinds of events that were left out.
        self._left_out: set[type[Event]] = set()
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
        score = score_sessions(scores)
        if self._left_out:
            finished = finished.but(summary=self._tally.summary, not_run=self._tally.not_run)
        finished = finished.but(
            duration_s=time.monotonic() - began,
            interrupted=self._is_interrupted,
            conformance=score,
            findings=collect_findings(finished.findings, score),
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
        """Run jobs in this process, which is a copy of the one that made the plan."""
        self._launcher.guardian.let_go()
        # Sent at once: another worker may receive them from a server.
        LEARNED.listener = lambda secrets: send(_LearnedSecrets(secrets=secrets))
        with Interrupts() as interrupts, launching(interrupts, self._plan.plugins) as own:
            launcher = self._launcher.but(
                guardian=own.guardian, interrupts=interrupts, while_waiting=None
            )
            first = self._plan.suites[0][1]
            for job in jobs:
                plan = Plan(suites=self._jobs[job].suites, snapshots=self._plan.snapshots)
                options = self._options.but(
                    # Only the first job may end the run, if all have its server.
                    may_give_up=job == 0 and all(spec == first for _, spec in self._plan.suites),
                    min_coverage=None,
                    gates=None,
                    snapshots=None,
                    strict_invariants=False,
                    # While results are held back, messages show that the worker is not stuck.
                    on_hold=lambda: send(None),
                )
                run = Run(plan, options, launcher, send)
                finished = run.run()
                coverage = run.count_coverage()
                captures = tuple(run.pool.captures)
                # The rules are reported once, for all jobs together.
                finished = finished.but(
                    conformance=CaptureScore(), findings=merge_findings(run.pool.findings)
                )
                scores = tuple(run.pool.scores)
                send(Ending(finished=finished, captures=captures, coverage=coverage, scores=scores))

    # In the main process

    def _start_workers(self, workers: Workers, count: int) -> None:
        """Start this many workers, or as many as there are file descriptors for."""
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
        if self._next_job < len(self._jobs):
            worker.give(self._next_job)
            self._next_job += 1
        else:
            worker.dismiss()

    def _receive(self, workers: Workers) -> None:
        """Receive until everything has been emitted, or the run is over."""
        tick = self._launcher.while_waiting
        while workers.alive and not self._is_over:
            if self._launcher.interrupts.count and not self._is_interrupted:
                self._is_interrupted = True
                self._next_job = len(self._jobs)
                workers.stop_waking()
                for worker in workers.alive:
                    worker.interrupt()
            for worker, values in workers.wait(_TICK_S):
                for value in values:
                    self._take(worker, value)
                if worker.has_ended:
                    status = workers.remove_ended(worker)
                    self._launcher.guardian.release(worker.pid)
                    self._handle_exit(worker, status)
                    if self._next_job < len(self._jobs):
                        self._start_workers(workers, 1)
            # Kill workers that have sent nothing for longer than any test can take.
            options = self._options
            for worker in workers.alive:
                if worker.job is not None:
                    limit_s = self._jobs[worker.job].time_limit_s(options.retries, options.repeat)
                    if time.monotonic() - worker.last_message_at > limit_s:
                        worker.kill()
            self._emit_in_order()
            if tick:
                tick()

    def _take(self, worker: Worker, value: object) -> None:
        if isinstance(value, _LearnedSecrets):
            LEARNED.add(*value.secrets)
            return
        if isinstance(value, Exception):
            if worker.job is not None:
                why = getattr(value, "strerror", "") or "Cannot allocate memory"
                fault = faults.lost_worker_fault(f"met a limit ({why})", hint_at_limit(value))
                self._jobs[worker.job].give_up(fault)
            return
        assert worker.job is not None
        job = self._jobs[worker.job]
        if isinstance(value, Ending) and value.finished.interrupted and not self._is_interrupted:
            # The worker was interrupted from outside, and does not run anything else.
            job.give_up(faults.lost_worker_fault("received a signal to stop"))
            worker.job = None
            worker.dismiss()
        elif isinstance(value, Ending):
            job.ending = value
            self._assign(worker)
        elif isinstance(value, _PASSED_ON):
            job.take(value)

    def _handle_exit(self, worker: Worker, status: int) -> None:
        """Report the unfinished tests of a worker that has exited."""
        job = self._jobs[worker.job] if worker.job is not None else None
        if job is None or job.ending or self._is_interrupted:
            return
        if os.WIFEXITED(status) and os.WEXITSTATUS(status) != _LEFT:
            file = job.suites[0][0].file
            raise RuntimeError(f"a worker failed over {file}; its own words are above")
        how = f"was killed by signal {os.WTERMSIG(status)}" if os.WIFSIGNALED(status) else "left"
        job.give_up(faults.lost_worker_fault(how))

    def _emit_in_order(self) -> None:
        """Emit the events of finished jobs, and of the job that is next in order."""
        while self._turn < len(self._jobs):
            job = self._jobs[self._turn]
            waiting, job.waiting = job.waiting, []
            for event in waiting:
                self._emit_one(event)
            if job.ending is None:
                return
            finished = job.ending.finished
            self._endings.append(job.ending)
            self._turn += 1
            if finished.fault or self._has_failed_enough():
                self._is_over = True
                return

    def _emit_one(self, event: Event) -> None:
        """Emit an event, unless it is that of a test after the last failure that is accepted.

        A worker does not know of the failures in other files.
        """
        is_of_case = isinstance(event, (CaseStarted, CaseFinished))
        if (is_of_case or isinstance(event, SuiteStarted)) and self._has_failed_enough():
            self._left_out.add(type(event))
            return
        if isinstance(event, SuiteFinished) and SuiteStarted in self._left_out:
            return
        if isinstance(event, CaseFinished):
            self._tally.add(event.result)
        self._emit(event)

    def _has_failed_enough(self) -> bool:
        return 0 < self._options.max_failures <= self._tally.failures
