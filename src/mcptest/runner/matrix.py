"""Run one plan in every way in which its server can be spoken to, one way after the other.

Each way is a run like any other, with gates, snapshots and plugins as usual; its servers carry
the way in their names. What is told is one run: one beginning, the suites of all ways, one end.
"""

from __future__ import annotations

import time
from itertools import islice

from mcptest.core.errors import InterruptedRunError
from mcptest.core.events import RunFinished, RunStarted
from mcptest.core.matrix import Matrix, WayRun
from mcptest.core.outcome import Summary
from mcptest.core.record import Record
from mcptest.runner.matrix_differences import (
    WayResults,
    offer_differences,
    result_differences,
    unread_lists,
)
from mcptest.runner.matrix_endings import merge_ways, unreachable, with_broken_ways
from mcptest.runner.matrix_probing import probe_eras
from mcptest.runner.run import run_started

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from mcptest.core.capture import SessionCapture
    from mcptest.core.events import Event, Listener
    from mcptest.core.matrix import Way
    from mcptest.core.plan import ServerSpec
    from mcptest.runner.launcher import Launcher
    from mcptest.runner.loading import Plan
    from mcptest.runner.matrix_probing import Probe

    # Runs a plan once, and tells what happens.
    RunOnce = Callable[[Plan, Listener], tuple[RunFinished, list[SessionCapture]]]

__all__ = ["MatrixOptions", "Transport", "run_matrix"]

# So many differences in what the server says of itself are told one by one.
_MAX_OFFERS = 100

_OFFERS_DIFFER = "offers_differ"


class Transport(Record):
    """One transport, and what a server of the plan becomes when it is reached over it."""

    name: str
    change: Callable[[ServerSpec], ServerSpec]


class MatrixOptions(Record):
    """How a plan is run in several ways. `is_strict` makes differing offers a failure."""

    started_at: str
    transports: tuple[Transport, ...]
    bail: bool = False
    is_strict: bool = False


def run_matrix(
    plan: Plan, options: MatrixOptions, launcher: Launcher, tell: Listener, run_once: RunOnce
) -> tuple[RunFinished, list[SessionCapture]]:
    """Find the ways, run the plan in each of them, and say in what they differ."""
    run = _MatrixRun(plan, options, tell)
    return run.run(launcher, run_once), run.captures


class _MatrixRun:
    def __init__(self, plan: Plan, options: MatrixOptions, tell: Listener) -> None:
        self._plan = plan
        self._options = options
        self._tell = tell
        self._probes: list[Probe] = []
        self._results: list[tuple[Way, WayResults]] = []
        self._ends: list[tuple[Way, RunFinished]] = []
        self.captures: list[SessionCapture] = []

    def run(self, launcher: Launcher, run_once: RunOnce) -> RunFinished:
        began = time.monotonic()
        finished = self._probe(launcher)
        ways = [probe.way for probe in self._probes if probe.opening]
        self._tell(self._started(len(ways)))
        if finished is None:
            for way in ways:
                self._run_way(way, run_once)
                if self._is_over():
                    break
            finished = self._finish(ways)
        finished = finished.but(duration_s=time.monotonic() - began)
        self._tell(finished)
        return finished

    def _started(self, ways: int) -> RunStarted:
        started = run_started(self._plan, self._options.started_at)
        # A run that finds no way is told with the tests that it was to run in one.
        count = max(1, ways)
        return started.but(suites=started.suites * count, total=started.total * count)

    def _probe(self, launcher: Launcher) -> RunFinished | None:
        """Try all ways; the end of the run when no test can be run."""
        spec = self._plan.suites[0][1]
        try:
            for transport in self._options.transports:
                self._probes += probe_eras(transport.name, transport.change(spec), launcher)
        except InterruptedRunError:
            return RunFinished(summary=Summary(), duration_s=0.0, interrupted=True)
        fault = unreachable(self._probes)
        return RunFinished(summary=Summary(), duration_s=0.0, fault=fault) if fault else None

    def _run_way(self, way: Way, run_once: RunOnce) -> None:
        (transport,) = (each for each in self._options.transports if each.name == way.transport)
        results = WayResults()

        def hear(event: Event) -> None:
            results.hear(event)
            # There is one beginning and one end, and they are ours.
            if not isinstance(event, RunStarted | RunFinished):
                self._tell(event)

        def changed(spec: ServerSpec) -> ServerSpec:
            name, revision = way.named(spec.name), way.revision
            return transport.change(spec).but(name=name, spec_version=revision)

        finished, captures = run_once(self._plan.with_servers(changed), hear)
        self.captures += captures
        self._results.append((way, results))
        self._ends.append((way, finished))

    def _is_over(self) -> bool:
        finished = self._ends[-1][1]
        has_failed = finished.summary.failed or finished.summary.errors
        is_bailed = self._options.bail and has_failed
        return bool(finished.interrupted or finished.fault or is_bailed)

    def _finish(self, ways: Sequence[Way]) -> RunFinished:
        matrix = self._matrix()
        finished = merge_ways(self._ends)
        if len(self._ends) < len(ways) and not (finished.interrupted or finished.fault):
            finished = finished.but(bailed=True)
        if self._options.is_strict and matrix.offers:
            finished = finished.but(broken_rules=(*finished.broken_rules, _OFFERS_DIFFER))
        server = self._plan.suites[0][1].name
        return with_broken_ways(finished.but(matrix=matrix), self._probes, server)

    def _matrix(self) -> Matrix:
        results = [(way, each.results) for way, each in self._results]
        compared, differences = result_differences(results)
        openings = [(each.way, each.opening) for each in self._probes if each.opening]
        offers = offer_differences(openings)
        return Matrix(
            ways=tuple(self._way_runs()),
            total=self._plan.total,
            compared=compared,
            differences=differences,
            offers=tuple(islice(offers, _MAX_OFFERS)),
            more_offers=sum(1 for _ in offers),
            unread=tuple(unread_lists(openings)),
        )

    def _way_runs(self) -> Iterator[WayRun]:
        summaries = {way: finished.summary for way, finished in self._ends}
        for probe in self._probes:
            why = probe.fault.message if probe.fault else ""
            yield WayRun(
                way=probe.way,
                refusal="" if probe.is_broken else why,
                error=why if probe.is_broken else "",
                summary=summaries.get(probe.way),
            )
