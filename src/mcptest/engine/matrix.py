"""Run one plan over every transport and era that its server supports, one after the other.

Each way is a run like any other, with gates, snapshots and plugins; its servers carry the way in
their names. The events are those of one run: one beginning, the suites of all ways, one end.
"""

from __future__ import annotations

import time
from itertools import islice

from mcptest.core.coverage import KINDS, merge_coverage
from mcptest.core.errors import InterruptedRunError, ServerError
from mcptest.core.events import (
    CaseFinished,
    Matrix,
    OfferDifference,
    ResultDifference,
    RunFinished,
    RunStarted,
    SeenResult,
    SeenValue,
    SuiteStarted,
    Way,
    WayRun,
)
from mcptest.core.results import CaptureScore, Finding, SnapshotReport, Summary, merge_findings
from mcptest.core.strict_json import dump_json
from mcptest.core.text import render_path
from mcptest.core.value_class import ABSENT, Record
from mcptest.engine.pool import EndlessError, list_pages
from mcptest.engine.run import add_summaries, make_run_started, run_plan
from mcptest.engine.server import Server
from mcptest.matching.compare import is_same
from mcptest.protocol.http_messages import NOT_SPOKEN
from mcptest.protocol.revisions import (
    HANDSHAKE_REVISIONS,
    REVISIONS,
    STATELESS_REVISIONS,
    refuses_era,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from mcptest.core.coverage import Kind
    from mcptest.core.events import Event, Listener
    from mcptest.core.plan import ServerSpec
    from mcptest.core.results import CaseResult, Fault
    from mcptest.engine.loading import Plan
    from mcptest.engine.run import RunOptions
    from mcptest.engine.server import Launcher
    from mcptest.protocol.capture import SessionCapture

    # The name and file of a suite, the number of its run, and the index of the test.
    Key = tuple[str, str, int, int]
    # By name, and how often the list has had it so far.
    Entries = dict[tuple[str, int], dict[str, object]]
    Ends = Sequence[tuple[Way, RunFinished]]

__all__ = [
    "Opening",
    "Probe",
    "Transport",
    "WayResults",
    "merge_ways",
    "offer_differences",
    "result_differences",
    "run_matrix",
    "unreachable_fault",
    "unread_lists",
    "with_broken_ways",
]


# How many differences between offers are reported one by one.
_MAX_OFFERS = 100

_OFFERS_DIFFER = "offers_differ"


class Transport(Record):
    """One transport, and the change to a server of the plan that uses it."""

    name: str
    change: Callable[[ServerSpec], ServerSpec]


def run_matrix(
    plan: Plan,
    transports: Sequence[Transport],
    options_for: Callable[[Plan], RunOptions],
    launcher: Launcher,
    emit: Listener,
    after_way: Callable[[Plan, RunFinished], None],
) -> tuple[RunFinished, list[SessionCapture]]:
    """Find the ways, run the plan in each of them, and report in what they differ.

    `options_for` makes the options of each run, `after_way` is called after each.
    """
    run = _MatrixRun(plan, transports, options_for, launcher, emit)
    return run.run(after_way), run.captures


class _MatrixRun:
    def __init__(
        self,
        plan: Plan,
        transports: Sequence[Transport],
        options_for: Callable[[Plan], RunOptions],
        launcher: Launcher,
        emit: Listener,
    ) -> None:
        self._plan = plan
        self._transports = transports
        self._options_for = options_for
        self._options = options_for(plan)
        self._launcher = launcher
        self._emit = emit
        self._probes: list[Probe] = []
        self._results: list[tuple[Way, WayResults]] = []
        self._ends: list[tuple[Way, RunFinished]] = []
        self.captures: list[SessionCapture] = []

    def run(self, after_way: Callable[[Plan, RunFinished], None]) -> RunFinished:
        began = time.monotonic()
        finished = self._probe()
        # Call a server that no file names by its own name.
        names = [probe.opening.own_name for probe in self._probes if probe.opening]
        name = next(filter(None, names), "")
        self._plan = self._plan.with_servers(
            lambda spec: spec if spec.is_named or not name else spec.but(name=name, is_named=True)
        )
        ways = [probe.way for probe in self._probes if probe.opening]
        started = make_run_started(self._plan, self._options.started_at)
        # A run that finds no way reports the tests that it would have run in one.
        count = max(1, len(ways))
        self._emit(started.but(suites=started.suites * count, total=started.total * count))
        if finished is None:
            for way in ways:
                after_way(*self._run_way(way))
                if self._is_over():
                    break
            finished = self._finish(ways)
        finished = finished.but(duration_s=time.monotonic() - began)
        self._emit(finished)
        return finished

    def _probe(self) -> RunFinished | None:
        """Try all ways; the end of the run if no test can be run, else None."""
        spec = self._plan.suites[0][1]
        try:
            for transport in self._transports:
                changed = transport.change(spec)
                self._probes += _probe_eras(transport.name, changed, self._launcher)
        except InterruptedRunError:
            return RunFinished(summary=Summary(), duration_s=0.0, interrupted=True)
        fault = unreachable_fault(self._probes)
        return RunFinished(summary=Summary(), duration_s=0.0, fault=fault) if fault else None

    def _run_way(self, way: Way) -> tuple[Plan, RunFinished]:
        (transport,) = (each for each in self._transports if each.name == way.transport)
        results = WayResults()

        def emit(event: Event) -> None:
            results.observe(event)
            # The matrix emits one beginning and one end of its own.
            if not isinstance(event, RunStarted | RunFinished):
                self._emit(event)

        def change(spec: ServerSpec) -> ServerSpec:
            name, revision = way.named(spec.name), way.revision
            return transport.change(spec).but(name=name, spec_version=revision)

        plan = self._plan.with_servers(change)
        if plan.plugins:
            # Those of the way before have been reported.
            plan.plugins.findings.clear()
        options = self._options_for(plan).but(may_give_up=False, max_failures=self._failures_left())
        finished, captures = run_plan(plan, options, self._launcher, emit)
        self.captures += captures
        self._results.append((way, results))
        self._ends.append((way, finished))
        return plan, finished

    def _is_over(self) -> bool:
        finished = self._ends[-1][1]
        is_bailed = self._options.max_failures and self._failures_left() <= 0
        return bool(finished.interrupted or finished.fault or is_bailed)

    def _failures_left(self) -> int:
        """After how many further failures the run stops; 0 if it does not."""
        summaries = [finished.summary for _, finished in self._ends]
        return self._options.max_failures and self._options.max_failures - sum(
            summary.failed + summary.errors for summary in summaries
        )

    def _finish(self, ways: Sequence[Way]) -> RunFinished:
        matrix = self._make_matrix()
        finished = merge_ways(self._ends)
        if len(self._ends) < len(ways) and not (finished.interrupted or finished.fault):
            finished = finished.but(bailed=True)
        if self._options.strict_invariants and matrix.offers:
            finished = finished.but(broken_rules=(*finished.broken_rules, _OFFERS_DIFFER))
        server = self._plan.suites[0][1].name
        return with_broken_ways(finished.but(matrix=matrix), self._probes, server)

    def _make_matrix(self) -> Matrix:
        results = [(way, each.results) for way, each in self._results]
        compared, differences = result_differences(results)
        openings = [(each.way, each.opening) for each in self._probes if each.opening]
        offers = offer_differences(openings)
        summaries = {way: finished.summary for way, finished in self._ends}
        return Matrix(
            ways=tuple(
                WayRun(
                    way=probe.way,
                    refusal=probe.fault.message if probe.fault and not probe.is_broken else "",
                    error=probe.fault.message if probe.fault and probe.is_broken else "",
                    summary=summaries.get(probe.way),
                )
                for probe in self._probes
            ),
            total=self._plan.total,
            compared=compared,
            differences=differences,
            offers=tuple(islice(offers, _MAX_OFFERS)),
            more_offers=sum(1 for _ in offers),
            unread=tuple(unread_lists(openings)),
        )


# Differences between the ways. Only what both revisions have is compared: a capability that came
# or went with a revision is not a mistake of the server.

# The capabilities that have the same meaning in every revision.
_LASTING = ("tools", "resources", "prompts", "completions")
_INFO = ("name", "title", "version")
_MEMBERS = {
    "tool": ("description", "inputSchema", "outputSchema", "annotations"),
    "resource": ("name", "mimeType"),
    "resourceTemplate": ("name", "mimeType"),
    "prompt": ("description", "arguments"),
}


class Opening(Record):
    """What a server declares when it is opened; None for what could not be read.

    `lists` has each list that the server says it has, by the name of its kind.
    """

    capabilities: dict[str, object]
    info: dict[str, object] | None = None
    lists: dict[str, Entries | None] = {}  # noqa: RUF012  # nothing of a record changes
    own_name: str = ""


class WayResults:
    """A listener that keeps the results of one way, by a key that is the same in all ways."""

    def __init__(self) -> None:
        self.results: dict[Key, CaseResult] = {}
        self._times: dict[tuple[str, str], int] = {}
        self._suite = ("", "")
        self._next = 0

    def observe(self, event: Event) -> None:
        if isinstance(event, SuiteStarted):
            self._suite = (event.name, event.file)
            self._times[self._suite] = self._times.get(self._suite, 0) + 1
            self._next = 0
        elif isinstance(event, CaseFinished):
            key = (*self._suite, self._times.get(self._suite, 0), self._next)
            self.results[key] = event.result
            self._next += 1


def result_differences(
    ways: Sequence[tuple[Way, Mapping[Key, CaseResult]]],
) -> tuple[int, tuple[ResultDifference, ...]]:
    """How many tests ran in more than one way, and those with different results."""
    compared, found = 0, []
    for key in dict.fromkeys(key for _, results in ways for key in results):
        there = [results[key] for _, results in ways if key in results]
        if len(there) < 2:
            continue
        compared += 1
        if len({result.status for result in there}) > 1:
            seen = tuple(_describe_result(way, results.get(key)) for way, results in ways)
            first = there[0]
            found.append(
                ResultDifference(
                    suite=key[0], file=key[1], line=first.line, test=first.name, seen=seen
                )
            )
    return compared, tuple(found)


def _describe_result(way: Way, result: CaseResult | None) -> SeenResult:
    """The result, with its fault or first mismatch if it did not pass."""
    if result is None:
        return SeenResult(way=way, status=None)
    reason = "" if result.status == "passed" else result.reason
    if result.fault:
        reason = f"{result.fault.kind}: {result.fault.message}"
    elif result.mismatches:
        first = result.mismatches[0]
        reason = f"{first.path or '(the whole answer)'}: {first.message or 'differs'}"
    return SeenResult(way=way, status=result.status, reason=reason)


def offer_differences(openings: Sequence[tuple[Way, Opening]]) -> Iterator[OfferDifference]:
    """What the server declares differently, or not at all, in some ways."""
    yield from _capability_differences(openings)
    infos = [(way, opening.info) for way, opening in openings if opening.info is not None]
    for member in _INFO:
        seen = [(way, info.get(member, ABSENT)) for way, info in infos]
        yield from _find_difference("serverInfo", member, seen)
    for kind in KINDS.values():
        lists = [
            (way, entries)
            for way, opening in openings
            if (entries := opening.lists.get(kind.name)) is not None
        ]
        yield from _list_differences(kind.noun, _MEMBERS[kind.unit], lists)


def _capability_differences(
    openings: Sequence[tuple[Way, Opening]],
) -> Iterator[OfferDifference]:
    reported = set()
    for name in _LASTING:
        there = [(way, name in opening.capabilities or ABSENT) for way, opening in openings]
        for difference in _find_difference(f"capability {name}", "", there):
            reported.add(name)
            yield difference
    for revision in dict.fromkeys(way.revision for way, _ in openings):
        alike = [(way, each.capabilities) for way, each in openings if way.revision == revision]
        for name in dict.fromkeys(name for _, capabilities in alike for name in capabilities):
            if name not in reported:
                seen = [(way, capabilities.get(name, ABSENT)) for way, capabilities in alike]
                yield from _find_difference("capabilities", name, seen)


def _list_differences(
    noun: str, members: Iterable[str], lists: Sequence[tuple[Way, Entries]]
) -> Iterator[OfferDifference]:
    for key in dict.fromkeys(key for _, entries in lists for key in entries):
        name, time = key
        what = f"{noun} {dump_json(name)}" + (f", listed {time} times" if time > 1 else "")
        there = [(way, key in entries or ABSENT) for way, entries in lists]
        missing = list(_find_difference(what, "", there))
        yield from missing
        if not missing:
            for member in members:
                seen = [(way, entries[key].get(member, ABSENT)) for way, entries in lists]
                yield from _find_difference(what, member, seen)


def _find_difference(
    what: str, member: str, seen: Sequence[tuple[Way, object]]
) -> Iterator[OfferDifference]:
    if _are_one([value for _, value in seen]):
        return
    steps, values = _narrow([value for _, value in seen])
    path = render_path((member, *steps)) if member else ""
    found = zip((way for way, _ in seen), values, strict=True)
    pairs = tuple(SeenValue(way=way, value=value) for way, value in found)
    yield OfferDifference(what=what, member=path, seen=pairs)


def _narrow(values: list[object]) -> tuple[list[str | int], list[object]]:
    """The first place at which values differ, and the values there: whole ones may be long."""
    steps: list[str | int] = []
    while True:
        parts = [_parts(value) for value in values]
        # If one is missing or of another type, the whole says more.
        if any(part is None for part in parts) or len({type(value) for value in values}) > 1:
            return steps, values
        known = [part for part in parts if part is not None]
        for step in dict.fromkeys(step for part in known for step in part):
            inner = [part.get(step, ABSENT) for part in known]
            if not _are_one(inner):
                steps.append(step)
                values = inner
                break


def _parts(value: object) -> dict[str | int, object] | None:
    if isinstance(value, dict):
        return {str(key): inner for key, inner in value.items()}
    return dict(enumerate(value)) if isinstance(value, list) else None


def _are_one(values: Sequence[object]) -> bool:
    return all(values[0] is value or is_same(values[0], value) for value in values)


def unread_lists(openings: Sequence[tuple[Way, Opening]]) -> Iterator[str]:
    """A sentence for each list that could not be compared."""
    for way, opening in openings:
        for name, entries in opening.lists.items():
            if entries is None:
                yield f"the list of {name} could not be read over {way.label}"


# The end of the run


_BROKEN = "way_broken"

_HINT = (
    "with --transport-matrix, --server-command (or the server of the files) is spoken to over "
    "stdio, and --http-command is what starts the one at --url"
)


def unreachable_fault(probes: Sequence[Probe]) -> Fault | None:
    """The fault of a transport over which the server supports no era.

    An era that it does not speak is nothing wrong, as long as it speaks the other one.
    """
    for transport in dict.fromkeys(probe.way.transport for probe in probes):
        tried = [probe for probe in probes if probe.way.transport == transport]
        faults = [probe.fault for probe in tried if probe.fault]
        if len(faults) == len(tried):
            reasons = dict.fromkeys(fault.message for fault in faults)
            message = f"the server cannot be tested over {transport}: {'; '.join(reasons)}"
            # An error says more than an era that is not supported.
            broken = [probe.fault for probe in tried if probe.fault and probe.is_broken]
            first = (broken or faults)[0]
            hint = f"{first.hint}; {_HINT}" if first.hint else _HINT
            return first.but(message=message, hint=hint)
    return None


def with_broken_ways(finished: RunFinished, probes: Sequence[Probe], server: str) -> RunFinished:
    """The end of a run in which some ways could not be opened: not a success."""
    findings = tuple(
        Finding(
            kind=_BROKEN,
            server=probe.way.named(server),
            message="no test ran in this way, for the server could not be opened: "
            + probe.fault.message,
        )
        for probe in probes
        if probe.fault and probe.is_broken
    )
    if not findings:
        return finished
    return finished.but(
        findings=(*findings, *finished.findings),
        broken_rules=(_BROKEN, *finished.broken_rules),
    )


def merge_ways(ends: Ends) -> RunFinished:
    """The sum of all ways; each finding names its way."""
    last = ends[-1][1]
    finished = [each for _, each in ends]
    return RunFinished(
        summary=add_summaries(each.summary for each in finished),
        duration_s=0.0,
        findings=merge_findings(
            _add_way(way, finding) for way, each in ends for finding in each.findings
        ),
        fault=last.fault,
        interrupted=last.interrupted,
        interrupted_in=last.interrupted_in,
        bailed=last.bailed,
        coverage=merge_coverage(each.coverage for each in finished),
        missed_gates=tuple(
            f"{way.label}: {gate}" for way, each in ends for gate in each.missed_gates
        ),
        conformance=CaptureScore(
            sessions=tuple(
                score.but(server_label=way.named(score.server_label))
                for way, each in ends
                for score in each.conformance.sessions
            ),
            conflicts=tuple(
                dict.fromkeys(
                    conflict for each in finished for conflict in each.conformance.conflicts
                )
            ),
        ),
        broken_rules=tuple(dict.fromkeys(rule for each in finished for rule in each.broken_rules)),
        not_run=sum(each.not_run for each in finished),
        may_leave_out=last.may_leave_out,
        snapshots=_merge_snapshots([each.snapshots for each in finished if each.snapshots]),
        unasked_gates=tuple(gates for each in finished for gates in each.unasked_gates),
    )


def _add_way(way: Way, finding: Finding) -> Finding:
    """The finding with its way in the name of the server."""
    is_named = not finding.server or finding.server.endswith(way.named(""))
    return finding if is_named else finding.but(server=way.named(finding.server))


def _merge_snapshots(reports: Sequence[SnapshotReport]) -> SnapshotReport | None:
    """The report on all ways together: each may have written to the same file."""
    merged: dict[str, dict[str, tuple[str, ...]]] = {}
    for report in reports:
        for name, by_file in report.fields():
            known = merged.setdefault(name, {})
            for file, keys in by_file.items():
                known[file] = tuple(dict.fromkeys((*known.get(file, ()), *keys)))
    return SnapshotReport(**merged) if merged else None


# Probing: which eras a server supports over a transport. An era is unsupported only if the server
# refuses it as such; any other reason why it cannot be opened is an error of that way.

# How long all lists of one way together may take, and how much of each is read.
_PATIENCE_S = 5.0
_MAX_ENTRIES = 20_000

_DISCOVER = "server/discover"


class Probe(Record):
    """One way that was tried: what the server declares, or why it cannot be used.

    `is_broken` when that is an error, and not the server's word that it does not speak so.
    """

    way: Way
    opening: Opening | None = None
    fault: Fault | None = None
    is_broken: bool = False


def _probe_eras(transport: str, spec: ServerSpec, launcher: Launcher) -> Iterator[Probe]:
    """Try each era with a process of its own: a server may be bound to the first one."""
    # No test is run, so nothing is recorded.
    launcher = launcher.but(keeps_traffic=False, judges=False, keeps_log="")
    for revisions in (HANDSHAKE_REVISIONS, STATELESS_REVISIONS):
        yield _probe_era(revisions, transport, spec, launcher)


def _probe_era(
    revisions: Sequence[str], transport: str, spec: ServerSpec, launcher: Launcher
) -> Probe:
    """The newest revision of an era, or the one that the server has instead."""
    own = (spec.spec_version, spec.protocol_version)
    offer = next((each for each in own if each in revisions), revisions[-1])
    probe = _probe(Way(transport=transport, revision=offer), spec, launcher)
    is_refused = probe.fault is not None and probe.fault.kind == "unsupported_version"
    if not is_refused or len(revisions) == 1:
        return probe
    # With which revision does it answer an offer?
    try:
        server = Server(spec.but(spec_version="", protocol_version=offer), launcher)
        try:
            server.open()
            version = str(server.handshake.get("protocolVersion", ""))
        finally:
            server.close()
    except ServerError:
        return probe
    if version in revisions and version != offer:
        return _probe(Way(transport=transport, revision=version), spec, launcher)
    return probe


def _probe(way: Way, spec: ServerSpec, launcher: Launcher) -> Probe:
    try:
        server = Server(spec.but(spec_version=way.revision), launcher)
        try:
            server.open()
            return Probe(way=way, opening=_read_opening(server))
        finally:
            server.close()
    except ServerError as error:
        return Probe(way=way, fault=error.fault, is_broken=not _is_refusal(way, error.fault))


def _is_refusal(way: Way, fault: Fault) -> bool:
    """Whether the fault says that this era is not supported."""
    if refuses_era(fault):
        return True
    if fault.kind == "http_status":
        return fault.code in NOT_SPOKEN
    # Over pipes, servers with a handshake ignore any other first request, or exit.
    is_mute = fault.kind in ("handshake_timeout", "exited_early") and _DISCOVER in fault.message
    return is_mute and way.transport == "stdio" and REVISIONS[way.revision].is_stateless


def _read_opening(server: Server) -> Opening:
    declared = server.capabilities
    capabilities = declared if isinstance(declared, dict) else {}
    info = server.handshake.get("serverInfo")
    deadline = time.monotonic() + _PATIENCE_S
    return Opening(
        capabilities=capabilities,
        info=info if isinstance(info, dict) else None,
        own_name=server.own_name,
        lists={
            kind.name: _read_entries(server, kind, deadline)
            for kind in KINDS.values()
            if kind.capability in capabilities
        },
    )


def _read_entries(server: Server, kind: Kind, deadline: float) -> Entries | None:
    """The entries of a list; None when it could not be read to its end."""
    found: Entries = {}
    times: dict[str, int] = {}
    try:
        for page in list_pages(server, kind, deadline):
            for entry in page:
                if isinstance(entry, dict) and isinstance(name := entry.get(kind.key), str):
                    times[name] = times.get(name, 0) + 1
                    found[name, times[name]] = entry
            if len(found) > _MAX_ENTRIES:
                return None
    except (EndlessError, ServerError):
        return None
    return found
