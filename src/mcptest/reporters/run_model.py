"""A whole run as one value, for reports that are written at the end; and several runs merged.

`CollectedRun` keeps the events of a run, suite by suite, and `replay` returns them again.
`merge_runs` makes one run of several, for example of the shards of a build matrix.
"""

from __future__ import annotations

from mcptest.core.coverage import (
    GATES_NOT_ASKED,
    merge_coverage,
    merge_gates,
    missed_gates,
    report_unchecked_gates,
)
from mcptest.core.errors import UsageError
from mcptest.core.events import (
    CaseFinished,
    CaseStarted,
    RunFinished,
    RunStarted,
    SuiteFinished,
    SuiteStarted,
)
from mcptest.core.results import (
    STATUSES,
    CaptureScore,
    CaseResult,
    Fault,
    Finding,
    Summary,
    merge_findings,
    merge_sessions,
    merge_snapshots,
)
from mcptest.core.text import excerpt, shorten, visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from mcptest.core.diagnostics import Diagnostic
    from mcptest.core.events import Event, ReportedShard
    from mcptest.core.results import LogWish

__all__ = [
    "REPORT_FORMAT",
    "CollectedRun",
    "failed_run",
    "merge_runs",
    "report_suite",
    "summary_of",
]

# The format of the suite that stands for a merged report whose tests are missing, all or some.
REPORT_FORMAT = "report"


class CollectedRun:
    """A listener that keeps all events of a run."""

    wants_log: LogWish = ""

    def __init__(self) -> None:
        self.started = RunStarted(started_at="", server="", suites=0, total=0)
        self.all_suites: list[tuple[SuiteStarted, list[CaseResult]]] = []
        self.last: RunFinished | None = None

    def __call__(self, event: Event) -> None:
        if isinstance(event, CaseFinished):
            self.all_suites[-1][1].append(event.result)
        elif isinstance(event, SuiteStarted):
            self.all_suites.append((event, []))
        elif isinstance(event, RunStarted):
            self.started = event
        elif isinstance(event, RunFinished):
            self.last = event

    @property
    def finished(self) -> RunFinished:
        """The last event; if there was none the run is reported as interrupted."""
        if self.last is not None:
            return self.last
        results = [result for _, results in self.all_suites for result in results]
        not_run = sum(result.not_run for result in results)
        summary = summary_of(results)
        return RunFinished(summary=summary, duration_s=0.0, interrupted=True, not_run=not_run)

    @property
    def suites(self) -> Sequence[tuple[SuiteStarted, list[CaseResult]]]:
        """The suites; none if no test could run: then only the reason is reported."""
        return [] if self.finished.fault else self.all_suites

    def results(self) -> Iterator[tuple[SuiteStarted, CaseResult]]:
        for suite, results in self.suites:
            for result in results:
                yield suite, result

    def failures(self) -> list[tuple[SuiteStarted, CaseResult]]:
        return [pair for pair in self.results() if pair[1].status in ("failed", "error")]

    def flaky(self) -> list[tuple[SuiteStarted, CaseResult]]:
        return [pair for pair in self.results() if pair[1].is_flaky]

    def noted(self) -> list[tuple[SuiteStarted, CaseResult]]:
        """Tests that passed and have notes; those of others are shown with their failures."""
        return [pair for pair in self.results() if pair[1].status == "passed" and pair[1].notes]

    def not_run(self) -> list[tuple[SuiteStarted, CaseResult]]:
        """Declared tests that this version cannot run."""
        return [pair for pair in self.results() if pair[1].not_run]

    def replay(self) -> Iterator[Event]:
        """The events again, in the order of a run."""
        yield self.started
        for suite, results in self.all_suites:
            yield suite
            for result in results:
                yield CaseStarted(name=result.name, line=result.line)
                yield CaseFinished(result=result)
            yield SuiteFinished(name=suite.name, file=suite.file)
        yield self.finished


def summary_of(results: Iterable[CaseResult]) -> Summary:
    counts = dict.fromkeys(STATUSES, 0)
    flaky = 0
    for result in results:
        counts[result.status] += 1
        flaky += result.is_flaky
    return Summary.of(counts).but(flaky=flaky)


def failed_run(
    fault: Fault, diagnostics: Sequence[Diagnostic], started_at: str
) -> tuple[RunStarted, RunFinished]:
    """The events of a run that never began: files, command line or server are at fault."""
    return (
        RunStarted(
            started_at=started_at, server="", suites=0, total=0, warnings=tuple(diagnostics)
        ),
        RunFinished(summary=Summary(), duration_s=0.0, fault=fault),
    )


# The fault of a run without tests: not an error of a shard if others have some.
_NOTHING_SELECTED = "nothing_selected"
# The finding about shards whose reports were not given.
_SHARD_MISSING = "shard_missing"
# How much of a list of files, or of the message of another run, is quoted.
_MAX_QUOTED_CHARS = 300
# How many missing parts are listed by number.
_MAX_LISTED_PARTS = 20

_SAME = "run every part with the same files, the same filters and the same version of the tests"


def merge_runs(
    runs: Sequence[tuple[str, CollectedRun]], *, allow_missing: bool = False
) -> CollectedRun:
    """One run of all these, given with the names of their files; a `UsageError` if impossible.

    Parts of a sharded run must be of the same selection, each given once, and all of them unless
    `allow_missing`. Two runs of the same test file cannot be merged. The runs ran side by side, so
    the longest duration is that of the merged run.
    """
    shard = _incomplete_shard(runs, allow_missing=allow_missing)
    lack = (
        [Finding(kind=_SHARD_MISSING, server="", message=_describe_missing(shard))] if shard else []
    )
    _refuse_repeated_files(runs)
    merged = CollectedRun()
    suites = [pair for _, run in runs for pair in run.suites]
    fault = _find_common_fault(runs)
    if fault is None:
        # A run in which no test could run, as a failed test, so that it is not lost.
        suites += [
            report_suite(name, "the tests can be run", run.finished.fault)
            for name, run in runs
            if _could_not_run(run)
        ]
    merged.all_suites = sorted(suites, key=lambda pair: (pair[0].file, pair[0].name))
    summary = summary_of(result for _, results in merged.all_suites for result in results)
    ends = [run.finished for _, run in runs]
    servers = [name for _, run in runs for name in run.started.server.split(", ") if name]
    merged.started = RunStarted(
        started_at=min(run.started.started_at for _, run in runs),
        server=", ".join(dict.fromkeys(servers)),
        suites=len(merged.all_suites),
        total=max(
            summary.total, sum(run.started.total for _, run in runs if not _could_not_run(run))
        ),
        warnings=tuple(dict.fromkeys(each for _, run in runs for each in run.started.warnings)),
        shard=shard,
    )
    merged.last = RunFinished(
        summary=summary,
        duration_s=max(end.duration_s for end in ends),
        findings=(*merge_findings(each for end in ends for each in _lasting_findings(end)), *lack),
        server_revisions=tuple(
            dict.fromkeys(spoken for end in ends for spoken in end.server_revisions)
        ),
        fault=fault,
        interrupted=any(end.interrupted for end in ends),
        interrupted_in=next((end.interrupted_in for end in ends if end.interrupted_in), ""),
        bailed=any(end.bailed for end in ends),
        coverage=merge_coverage(end.coverage for end in ends),
        conformance=CaptureScore(
            sessions=merge_sessions(each for end in ends for each in end.conformance.sessions),
            conflicts=tuple(
                dict.fromkeys(each for end in ends for each in end.conformance.conflicts)
            ),
        ),
        broken_rules=tuple(dict.fromkeys(id for end in ends for id in end.broken_rules)),
        not_run=sum(end.not_run for end in ends),
        may_leave_out=all(end.may_leave_out for end in ends if end.not_run),
        snapshots=merge_snapshots(end.snapshots for end in ends),
    )
    merged.last = _merge_gates(merged.last, ends, {suite.file for suite, _ in suites})
    return merged


def _lasting_findings(end: RunFinished) -> Sequence[Finding]:
    """The findings of a run, except those that a merge makes obsolete."""
    obsolete = {_SHARD_MISSING, *([GATES_NOT_ASKED] if end.unasked_gates else [])}
    return [finding for finding in end.findings if finding.kind not in obsolete]


def _incomplete_shard(
    runs: Sequence[tuple[str, CollectedRun]], *, allow_missing: bool
) -> ReportedShard | None:
    """The parts of a sharded run that are here; None if all are, or the run is not sharded.

    A `UsageError` if they cannot be parts of one run, or if parts are missing and must not be.
    """
    first = next((pair for pair in runs if pair[1].started.shard), None)
    if first is None:
        return None
    owners: dict[int, str] = {}
    digests: dict[str, str] = {}
    for name, run in runs:
        part = _part_of_run(first, name, run)
        for index in part.indexes:
            if index in owners:
                both = f"{visible(owners[index])} and {visible(name)} are both"
                both = f"{visible(name)} was given twice: it is" if owners[index] == name else both
                message = f"{both} part {index} of {part.count}"
                raise UsageError(message, "give the report of each part once")
            owners[index] = name
        if part.selection:
            digests.setdefault(part.selection, name)
    if len(digests) > 1:
        names = " and ".join(visible(name) for name in list(digests.values())[:2])
        raise UsageError(f"{names} are parts of different selections of tests", _SAME)
    if len(owners) == part.count:
        return None
    merged = part.but(indexes=tuple(sorted(owners)), selection=next(iter(digests), ""))
    if not allow_missing:
        help = "give the reports of all parts, or add --allow-missing to merge without them"
        raise UsageError(_describe_missing(merged), help)
    return merged


def _part_of_run(first: tuple[str, CollectedRun], name: str, run: CollectedRun) -> ReportedShard:
    """Which part a run is; a `UsageError` if it does not belong to the same run as the first."""
    part, other, fault = run.started.shard, first[1].started.shard, run.finished.fault
    assert other, "the first run is one with a shard"
    if part is None:
        why = f"; its run failed: {excerpt(fault.message, _MAX_QUOTED_CHARS)}" if fault else ""
        message = (
            f"{_describe_part(first[0], other)}, but {visible(name)} is not a part of any run{why}"
        )
        help = "merge the parts of one run by themselves; the result can be merged with others"
        raise UsageError(message, help)
    if part.count != other.count:
        message = f"{_describe_part(first[0], other)}, but {_describe_part(name, part)}"
        raise UsageError(message, "all parts must have the same N in --shard I/N")
    if not part.selection and not _could_not_run(run):
        raise UsageError(f"{_describe_part(name, part)}, but its run found no test files", _SAME)
    return part


def _describe_part(name: str, shard: ReportedShard) -> str:
    return f"{visible(name)} is {_list_parts(shard.indexes)} of {shard.count:,}"


def _list_parts(indexes: Sequence[int]) -> str:
    if len(indexes) == 1:
        return f"part {indexes[0]}"
    more = (
        f" and {len(indexes) - _MAX_LISTED_PARTS:,} more"
        if len(indexes) > _MAX_LISTED_PARTS
        else ""
    )
    return f"parts {', '.join(map(str, indexes[:_MAX_LISTED_PARTS]))}{more}"


def _describe_missing(shard: ReportedShard) -> str:
    """A sentence that names the missing parts."""
    missing = sorted(set(range(1, shard.count + 1)).difference(shard.indexes))
    is_missing = "is missing" if len(missing) == 1 else "are missing"
    return (
        f"{_list_parts(missing)} of {shard.count:,} {is_missing}: no merged report has those tests"
    )


def _merge_gates(merged: RunFinished, ends: Sequence[RunFinished], files: set[str]) -> RunFinished:
    """The merged run with the gates of suites whose tests were spread over several runs.

    A gate that still cannot be measured counts as missed, and its data is kept for a merge with
    the other shards. The suite of a gate is named if there are tests of other files.
    """
    known = [gate for end in ends for gate in end.missed_gates if gate != _missing_gate_data(end)]
    measured = merge_gates(gates for end in ends for gates in end.unasked_gates)
    merged = merged.but(unasked_gates=tuple(gates for gates in measured if gates.missing))
    is_named = any(files.difference(gates.files) for gates in measured)
    whole = [gates for gates in measured if not gates.missing]
    known += missed_gates(whole, is_named=is_named)
    known += [_missing_gate_data(merged)] if merged.unasked_gates else []
    return merged.but(missed_gates=tuple(dict.fromkeys(known)))


def _missing_gate_data(end: RunFinished) -> str:
    """Why the gates of a run cannot be measured; "" if there are none left."""
    parts = end.unasked_gates
    if not parts:
        return ""
    files = dict.fromkeys(visible(file) for part in parts for file in part.missing)
    lack = f"no report here has the tests of {shorten(', '.join(files), _MAX_QUOTED_CHARS)}"
    return report_unchecked_gates(
        [part.home for part in parts], f"{lack}; merge the reports of all shards"
    ).message


def _refuse_repeated_files(runs: Sequence[tuple[str, CollectedRun]]) -> None:
    owners: dict[str, str] = {}
    for name, run in runs:
        for file in dict.fromkeys(suite.file for suite, _ in run.suites):
            if file in owners:
                both = f"{visible(owners[file])} and {visible(name)}"
                message = f"{both} both hold the tests of {visible(file)}"
                raise UsageError(message, "reports to merge must be of different test files")
            owners[file] = name


def _could_not_run(run: CollectedRun) -> bool:
    fault = run.finished.fault
    return fault is not None and fault.kind != _NOTHING_SELECTED


def _find_common_fault(runs: Sequence[tuple[str, CollectedRun]]) -> Fault | None:
    """Why no test ran at all; None if any run had tests."""
    faults = [run.finished.fault for _, run in runs]
    found = [fault for fault in faults if fault is not None]
    if len(found) < len(faults):
        return None
    return next((fault for fault in found if fault.kind != _NOTHING_SELECTED), found[0])


def report_suite(
    file: str, test: str, fault: Fault | None
) -> tuple[SuiteStarted, list[CaseResult]]:
    """A suite that represents a report: one test, which is an error."""
    result = CaseResult(name=test, status="error", line=0, fault=fault)
    suite = SuiteStarted(name=file, file=file, format=REPORT_FORMAT, server="", total=1)
    return suite, [result]
