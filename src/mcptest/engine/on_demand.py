"""Perform the cases of test files one at a time, when the caller asks for them, in any order.

`mcptest run` goes through a plan from the first case to the last. A host such as pytest, or an SDK
behind the suite channel, decides itself which case comes next, may leave cases out and may come
back to a file later. In both, `mcptest.engine.run.Run` performs each case. This module decides how
long each server lives, and which other cases must be performed first.
"""

from __future__ import annotations

import os
from threading import RLock

from mcptest.core.coverage import merge_coverage
from mcptest.core.errors import InterruptedRunError
from mcptest.core.events import RunFinished
from mcptest.core.results import Summary
from mcptest.core.text import visible
from mcptest.engine.case import describe_failure, time_limit_s
from mcptest.engine.loading import Plan
from mcptest.engine.pool import ServerPool
from mcptest.engine.run import (
    Run,
    RunOptions,
    add_watchers,
    apply_gates,
    collect_findings,
    combine_coverage,
    make_options,
    make_suite_started,
    score_sessions,
)
from mcptest.engine.server import create_launcher
from mcptest.transport.process.isolated import silence_fork_warnings
from mcptest.transport.process.signals import GuestInterrupts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from mcptest.core.coverage import ServerCoverage
    from mcptest.core.plan import Case, ServerSpec, Suite
    from mcptest.core.results import CaseResult, Finding, SessionScore
    from mcptest.engine.server import Launcher
    from mcptest.rules.scorer import SessionNames
    from mcptest.transport.process.signals import Interrupts

__all__ = ["FileRun", "Session", "SuiteRun"]

# How many servers may run at the same time, when the tests of several files are interleaved.
_MAX_RUNNING = 4

_PARTIAL = "not all tests of the suite were run in this process"


class Session:
    """Owns the guardian, the signals and the servers of all files of this process.

    Nothing is started before the first case is performed. With a `launcher`, the process is ours
    and the launcher's owner stops what is left. Otherwise we are a guest in the process of a host:
    Ctrl-C ends the current case, and is then raised as KeyboardInterrupt. With `traces`, each case
    sends a trace context with its requests.
    """

    def __init__(self, launcher: Launcher | None = None, *, traces: bool = False) -> None:
        self._traces = traces
        self.files: list[FileRun] = []
        self.current: SuiteRun | None = None
        # A host may run tests in several threads.
        self.lock = RLock()
        self.is_guest = launcher is None
        self._interrupts: Interrupts | None = launcher.interrupts if launcher else None
        self._launcher = launcher
        # In the order in which they were last used.
        self._pools: list[ServerPool] = []
        self._pid = os.getpid()

    def add(self, plan: Plan) -> FileRun:
        """A file whose cases can be performed from now on."""
        self.files.append(FileRun(self, plan))
        return self.files[-1]

    @property
    def interrupts(self) -> Interrupts:
        if self._interrupts is None:
            self._interrupts = GuestInterrupts()
        return self._interrupts

    @property
    def launcher(self) -> Launcher:
        if self._launcher is None:
            # Other children of this process belong to the host.
            self._launcher = create_launcher(
                self.interrupts, adopts_orphans=False, traces=self._traces
            )
        return self._launcher

    def forget_parent(self) -> None:
        """Start afresh in a forked copy of the process: the servers belong to the original."""
        if os.getpid() == self._pid:
            return
        if self._launcher:
            self._launcher.guardian.let_go()
        self._pid, self._launcher, self._interrupts = os.getpid(), None, None
        self._pools, self.current = [], None
        for file in self.files:
            file.forget()

    def turn_to(self, suite: SuiteRun) -> ServerPool:
        """The pool of the server that this suite needs; unneeded servers are stopped.

        As in `mcptest run`, a server is stopped when the next file needs another one. Only while
        tests of several files are interleaved, the servers of unfinished files are kept.
        """
        if suite.pool is None:
            # Suites with isolation `run` share the server if it is started in the same way.
            suites = (each for file in self.files for each in file.suites)
            suite.pool = next(
                (each.pool for each in suites if each.pool and each.shares(suite)), None
            )
        if suite.pool is None:
            suite.pool = ServerPool(self.launcher)
            self._pools.insert(0, suite.pool)
        pool = suite.pool
        if self._pools[-1] is pool and pool.is_running:
            return pool
        self._pools.remove(pool)
        users = [each for file in self.files for each in file.suites if each.is_open]
        for other in self._pools:
            if other.is_running and not any(each.pool is other for each in users):
                other.retire()
        running = [other for other in self._pools if other.is_running]
        for other in running[: max(0, len(running) + 1 - _MAX_RUNNING)]:
            other.replace("others were needed meanwhile")
        self._pools.append(pool)
        return pool

    def is_needed(self, pool: ServerPool, spec: ServerSpec) -> bool:
        """Whether a case that is still to come can use this server."""
        waiting = (each for file in self.files for each in file.suites if not each.is_done)
        return any(
            each.pool is pool or (each.pool is None and each.spec == spec) for each in waiting
        )

    def drain(self) -> tuple[list[Finding], list[tuple[SessionScore, SessionNames]]]:
        """The findings and scores of all servers since the last call."""
        findings, scores = [], []
        for pool in self._pools:
            findings += pool.findings
            scores += pool.scores
            pool.findings, pool.scores = [], []
        return findings, scores

    def close(self) -> list[RunFinished]:
        """Stop every server and plugin; the ends of the files that were not finished before."""
        if self._launcher is None or os.getpid() != self._pid:
            return []
        launcher, self._launcher = self._launcher, None
        begun = [file for file in self.files if file.is_open]
        try:
            with self.interrupts.counting():
                for pool in self._pools:
                    pool.retire()
                ended = [file.finish() for file in begun]
                findings, scores = self.drain()
                used = (each for file in self.files for each in file.suites if each.pool)
                is_strict = any(each.spec.strict_invariants for each in used)
                options = RunOptions(started_at="", strict_invariants=is_strict)
                return [*ended, _make_ending(options, findings, scores)]
        finally:
            for file in begun:
                file.close_plugins()
            if self.is_guest:
                launcher.guardian.dismiss()
                self.interrupts.close()


class FileRun:
    """One file, with what it imports: its suites, and what is judged of all of them together."""

    def __init__(self, session: Session, plan: Plan) -> None:
        self.session = session
        self.plan = plan
        self.suites = [SuiteRun(self, suite, spec) for suite, spec in plan.suites]
        self.forget()

    def forget(self) -> None:
        """Start afresh, as if no case had been performed."""
        self.options = make_options(self.plan)
        self.emit = add_watchers(lambda event: None, self.options)
        self._has_plugins = self.is_open = False
        for suite in self.suites:
            suite.forget()

    def open(self) -> None:
        """Start the plugins of the file, before its first case is performed."""
        self.is_open = True
        if self.plan.plugins and not self._has_plugins:
            self._has_plugins = True
            launcher = self.session.launcher
            self.plan.plugins.open(launcher.guardian, launcher.interrupts)

    def finish(self) -> RunFinished:
        """Write the snapshots of the file; how it ended, with the gates that it missed."""
        self.is_open = False
        self.close_plugins()
        findings, scores = self.session.drain()
        if self.plan.plugins:
            findings += self.plan.plugins.findings
            self.plan.plugins.findings = []
        if not all(suite.is_whole for suite in self.suites):
            if self.options.gates:
                self.options.gates.leave_out(_PARTIAL)
            if self.options.snapshots:
                self.options.snapshots.is_whole = False
        coverage = combine_coverage(
            suite.run.count_coverage() for suite in self.suites if suite.run
        )
        return _make_ending(self.options, findings, scores, coverage)

    def close_plugins(self) -> None:
        if self.plan.plugins:
            self._has_plugins = False
            self.plan.plugins.close()


class SuiteRun:
    """The cases of one file that have one server."""

    def __init__(self, file: FileRun, suite: Suite, spec: ServerSpec) -> None:
        self.file = file
        self.suite = suite
        self.spec = spec
        # The indexes of the cases that will be asked for.
        self.expected: set[int] = set()
        # By name, the indexes of the cases that save a value for later ones. A suite saves
        # values within one test only.
        self._providers: dict[str, list[int]] = {}
        for index, case in enumerate(suite.cases if suite.format != "suite" else ()):
            for name in _find_saved_names(case) if _can_run(case) else ():
                self._providers.setdefault(name, []).append(index)

    def forget(self) -> None:
        """Start afresh, as if no case had been performed."""
        self.pool: ServerPool | None = None
        self.run: Run | None = None
        self._performed: set[int] = set()
        # What each case has saved, and whether they were performed in the order of the file.
        self._saved: dict[int, dict[str, object]] = {}
        self._last, self._is_in_order = -1, True
        # The results of cases that were performed because others need what they save.
        self._early: dict[int, CaseResult] = {}

    @property
    def is_done(self) -> bool:
        """Whether every case that will be asked for has been."""
        return self.expected <= self._performed

    @property
    def is_open(self) -> bool:
        return bool(self._performed) and not self.is_done

    @property
    def is_whole(self) -> bool:
        """Whether every case of it was performed, except in lanes that a host cannot drive."""
        cases = enumerate(self.suite.cases)
        plain = {at for at, case in cases if case.skip is None and not (case.lane or case.check)}
        return plain <= self._performed

    def time_limit_s(self, index: int) -> float:
        """Longer than this case can take, with those that must be performed before it."""
        needed, unseen = {index}, [index]
        while unseen:
            at = unseen.pop()
            for name in _find_needed_names(self.suite.cases[at]) if self._providers else ():
                earlier = {each for each in self._providers.get(name, ()) if each < at} - needed
                needed |= earlier
                unseen += earlier
        return sum(time_limit_s(self.suite.cases[each], self.spec) for each in needed)

    def shares(self, other: SuiteRun) -> bool:
        """Whether both suites use the same server process."""
        return self.spec.isolation == "run" and self.spec == other.spec

    def perform(self, index: int, following: int | None = None) -> CaseResult:
        """The verdict on a case; `following` is the index of the one that comes next, if any.

        A case that was performed early, because another one needed its values, is not repeated.
        """
        session = self.file.session
        session.forget_parent()
        with session.lock, session.interrupts.counting(), silence_fork_warnings():
            try:
                result = self._early.pop(index, None) or self._perform(index, following)
            except InterruptedRunError:
                if session.is_guest:
                    raise KeyboardInterrupt from None
                raise
            except BaseException:
                # Broken off in the middle, by a time limit of the host for example.
                if self.pool:
                    self.pool.retire(at_once=True)
                    self.pool.replace("the test before was broken off")
                raise
            finally:
                self._performed.add(index)
            return result

    def finish_case(self, index: int) -> RunFinished | None:
        """Stop the server if it is not needed any more; how the file ended if this was the last.

        Also called for a case that the host left out after all.
        """
        file, session = self.file, self.file.session
        if index not in self._performed:
            self.expected.discard(index)
        if not self.is_done or not (self.pool or file.is_open):
            return None
        with session.lock, session.interrupts.counting():
            if self.pool:
                self._take_inventory(self.pool)
                if self.spec.isolation != "run" or not session.is_needed(self.pool, self.spec):
                    self.pool.retire()
            if file.is_open and all(suite.is_done for suite in file.suites):
                return file.finish()
        return None

    def settle(self, result: CaseResult) -> CaseResult:
        """The result of the last case with what is wrong about the names that it called."""
        if self.run is None or not self.run.open_doubts:
            return result
        self.run.pool.take_inventory(self.spec)
        found = self.run.pool.inventories.get(self.spec.name)
        doubts, self.run.open_doubts = self.run.open_doubts, []
        for _, doubt in doubts:
            result = doubt.settle(result, found, is_strict=self.spec.is_strict)
        return result

    def settle_doubts(self) -> list[str]:
        """What is wrong with names that tests called, if the server has listed its own by now."""
        run = self.run
        if run is None or not self.is_done:
            return []
        doubts, run.open_doubts = run.open_doubts, []
        found = run.pool.inventories.get(self.spec.name)
        judged = ((result, doubt.judge(found)) for result, doubt in doubts)
        return [f"{visible(result.name)}: {wrong.message}" for result, wrong in judged if wrong]

    def _perform(self, index: int, following: int | None) -> CaseResult:
        notes = self._perform_providers(index)
        run, pool = self._prepare()
        values, case = run.performer.values, self.suite.cases[index]
        self._is_in_order = self._is_in_order and index > self._last
        self._last = index
        if self._providers and not self._is_in_order:
            # Dialogues use the same dictionary.
            values.clear()
            for earlier in sorted(each for each in self._saved if each < index):
                values.update(self._saved[earlier])
        next_case = self.suite.cases[following] if following is not None else None
        if next_case and (following in self._early or not _can_run(next_case)):
            next_case = None
        result = run.run_case(case, self.spec, next_case)
        if self._providers:
            self._saved[index] = {
                name: values[name] for name in _find_saved_names(case) if name in values
            }
        if self.spec.isolation == "test":
            self._take_inventory(pool)
            pool.retire()
        return result.but(notes=(*result.notes, *notes)) if notes else result

    def _perform_providers(self, index: int) -> list[str]:
        """Perform the cases before this one that save what it needs, unless they have been.

        Returns a note for each of them that did not pass: the host may never ask for it.
        """
        notes = []
        for name in _find_needed_names(self.suite.cases[index]) if self._providers else ():
            earlier = (each for each in self._providers.get(name, ()) if each < index)
            for provider in sorted(earlier, reverse=True):
                if provider not in self._saved:
                    early = self._early[provider] = self._perform(provider, None)
                    if early.status != "passed":
                        what = (
                            f"{visible(early.name)!r} was run first, because it saves ${{{name}}}"
                        )
                        notes.append(f"{what}, and did not pass: {describe_failure(early)}")
                if name in self._saved[provider]:
                    break
        return notes

    def _prepare(self) -> tuple[Run, ServerPool]:
        """The run of this suite, with its server chosen."""
        session = self.file.session
        self.file.open()
        pool = session.turn_to(self)
        if self.run is None:
            plan = Plan(suites=((self.suite, self.spec),), snapshots=self.file.plan.snapshots)
            options = self.file.options.but(gates=None, snapshots=None, may_hold=False)
            self.run = Run(plan, options, session.launcher, self.file.emit, pool)
            self.run.performer.start_suite(self.suite)
        if session.current is not self:
            session.current = self
            self.file.emit(make_suite_started(self.suite, self.spec))
            self.run.start_counting(self.suite)
        return self.run, pool

    def _take_inventory(self, pool: ServerPool) -> None:
        gates = self.suite.gates
        if (gates and gates.coverage) or (self.run and self.run.open_doubts):
            pool.take_inventory(self.spec)


def _make_ending(
    options: RunOptions,
    findings: Iterable[Finding],
    scores: list[tuple[SessionScore, SessionNames]],
    coverage: tuple[ServerCoverage, ...] = (),
) -> RunFinished:
    score = score_sessions(scores)
    finished = RunFinished(
        summary=Summary(),
        duration_s=0.0,
        findings=collect_findings(findings, score),
        conformance=score,
        coverage=merge_coverage([coverage]),
    )
    return apply_gates(finished, options, coverage)


def _can_run(case: Case) -> bool:
    return case.skip is None and not case.needs


def _find_saved_names(case: Case) -> Iterator[str]:
    """The names of the values that a case saves for later ones."""
    for step in (*case.steps, *case.teardown):
        yield from (capture.name for capture in step.captures)
    for turn in case.dialogue.turns if case.dialogue else ():
        yield from (bind.name for bind in turn.binds)


def _find_needed_names(case: Case) -> list[str]:
    """The names of the values of earlier cases that a case needs."""
    needed: dict[str, None] = {}
    own: set[str] = set()
    for step in (*case.steps, *case.teardown):
        needed |= dict.fromkeys(set(step.template.needs if step.template else ()) - own)
        own |= {capture.name for capture in step.captures}
    for turn in case.dialogue.turns if case.dialogue else ():
        needed |= dict.fromkeys(set(turn.needs) - own)
        own |= {bind.name for bind in turn.binds}
    return list(needed)
