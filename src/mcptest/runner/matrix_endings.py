"""Make one ending out of those of several ways; and say that a server cannot be reached. Pure."""

from __future__ import annotations

from mcptest.core.conformance import CaptureScore
from mcptest.core.coverage import merge_coverage
from mcptest.core.events import RunFinished
from mcptest.core.outcome import Finding, Summary, merge_findings
from mcptest.core.snapshots import SnapshotReport

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from mcptest.core.conformance import SessionScore
    from mcptest.core.matrix import Way
    from mcptest.core.outcome import Fault
    from mcptest.runner.matrix_probing import Probe

    Ends = Sequence[tuple[Way, RunFinished]]

__all__ = ["merge_ways", "unreachable", "with_broken_ways"]

_BROKEN = "way_broken"

_HINT = (
    "with --transport-matrix, --server-command (or the server of the files) is spoken to over "
    "stdio, and --http-command is what starts the one at --url"
)


def unreachable(probes: Sequence[Probe]) -> Fault | None:
    """Why the tests cannot be run: a transport over which the server speaks in no era.

    An era that it does not speak is nothing wrong, as long as it speaks the other one.
    """
    for transport in dict.fromkeys(probe.way.transport for probe in probes):
        tried = [probe for probe in probes if probe.way.transport == transport]
        faults = [probe.fault for probe in tried if probe.fault]
        if len(faults) == len(tried):
            told = dict.fromkeys(fault.message for fault in faults)
            message = f"the server cannot be tested over {transport}: {'; '.join(told)}"
            # What broke says more than what is not spoken.
            broken = [probe.fault for probe in tried if probe.fault and probe.is_broken]
            first = (broken or faults)[0]
            hint = f"{first.hint}; {_HINT}" if first.hint else _HINT
            return first.but(message=message, hint=hint)
    return None


def with_broken_ways(finished: RunFinished, probes: Sequence[Probe], server: str) -> RunFinished:
    """The ending of a run without those ways that could not be opened: no success."""
    findings = tuple(
        Finding(kind=_BROKEN, server=probe.way.named(server), message=_broken(probe.fault))
        for probe in probes
        if probe.fault and probe.is_broken
    )
    if not findings:
        return finished
    return finished.but(
        findings=(*findings, *finished.findings),
        broken_rules=(_BROKEN, *finished.broken_rules),
    )


def _broken(fault: Fault) -> str:
    return f"no test ran in this way, for the server could not be opened: {fault.message}"


def merge_ways(ends: Ends) -> RunFinished:
    """The sum of them, in their order; what was found in one way says in which."""
    last = ends[-1][1]
    finished = [each for _, each in ends]
    return RunFinished(
        summary=_sum(each.summary for each in finished),
        duration_s=0.0,
        findings=merge_findings(
            _found_in(way, finding) for way, each in ends for finding in each.findings
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
                _scored_in(way, score) for way, each in ends for score in each.conformance.sessions
            ),
            hazards=tuple(
                dict.fromkeys(hazard for each in finished for hazard in each.conformance.hazards)
            ),
        ),
        broken_rules=tuple(dict.fromkeys(rule for each in finished for rule in each.broken_rules)),
        not_run=sum(each.not_run for each in finished),
        may_leave_out=last.may_leave_out,
        snapshots=_snapshots([each.snapshots for each in finished if each.snapshots]),
        unasked_gates=tuple(gates for each in finished for gates in each.unasked_gates),
    )


def _sum(summaries: Iterable[Summary]) -> Summary:
    total = dict.fromkeys((name for name, _ in Summary().fields()), 0)
    for summary in summaries:
        for name, count in summary.fields():
            total[name] += count
    return Summary(**total)


def _found_in(way: Way, finding: Finding) -> Finding:
    """What is said of a server, with the way in which it did so."""
    is_told = not finding.server or finding.server.endswith(way.named(""))
    return finding if is_told else finding.but(server=way.named(finding.server))


def _scored_in(way: Way, score: SessionScore) -> SessionScore:
    return score.but(server_label=way.named(score.server_label))


def _snapshots(reports: Sequence[SnapshotReport]) -> SnapshotReport | None:
    """All names of all ways: each of them may have written some of one file."""
    merged: dict[str, dict[str, tuple[str, ...]]] = {}
    for report in reports:
        for name, by_file in report.fields():
            known = merged.setdefault(name, {})
            for file, keys in by_file.items():
                known[file] = tuple(dict.fromkeys((*known.get(file, ()), *keys)))
    return SnapshotReport(**merged) if merged else None
