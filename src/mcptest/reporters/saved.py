"""SAVED"""

from __future__ import annotations

from mcptest.core.conformance import (
    VERDICTS,
    CaptureScore,
    Hazard,
    SessionScore,
    Verdict,
    merge_sessions,
)
from mcptest.core.coverage import CoveredOffer, CoveredProperty, ServerCoverage
from mcptest.core.diagnostics import Diagnostic
from mcptest.core.errors import FormatError
from mcptest.core.events import ReportedShard, RunFinished, RunStarted, Spoken, SuiteStarted
from mcptest.core.measured_gates import COVERAGE_GATES, PERFORMANCE_GATES, MeasuredGates
from mcptest.core.outcome import (
    ABSENT,
    STATUSES,
    CaseResult,
    Evidence,
    Fault,
    Finding,
    LogLine,
    Mismatch,
)
from mcptest.core.snapshots import SnapshotReport
from mcptest.core.strict_json import NotJsonError, parse_json
from mcptest.core.visible import shorten, visible
from mcptest.matching.shown import counted, shown
from mcptest.reporters.json import OFFER_LISTS, REPORT_VERSION, read_matrix, summary_members
from mcptest.reporters.run_model import REPORT_FORMAT, CollectedRun, summary_of
from mcptest.reporters.saved_part import SavedPart, SavedPartError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mcptest.core.outcome import Summary
    from mcptest.reporters.saved_part import SavedPart

__all__ = ["read_saved_run"]

# A value may be as deep as an answer may be, and stands some levels down in the report.
MAX_DEPTH = 250

# The most that --shard takes.
_MAX_SHARDS = 999_999

_HELP = "a report is written by: mcptest run … --reporter json=FILE"


def read_saved_run(text: str, file: str) -> CollectedRun:
    """The run that the report in `text` tells of; `file` is whom to blame."""
    try:
        value = parse_json(text, MAX_DEPTH)
        return _whole(_run(SavedPart(value)), file)
    except NotJsonError as error:
        before = text[: max(0, error.column - 1)]
        line = before.count("\n") + 1 if error.column else 0
        column = len(before) - (before.rfind("\n") + 1) + 1
        message = f"this is not JSON: {error.reason}"
        mistake = Diagnostic(
            code="F002", file=file, message=message, line=line, column=column, help=_HELP
        )
    except SavedPartError as error:
        mistake = Diagnostic(code=error.code, file=file, message=error.message, help=_HELP)
    raise FormatError([mistake])


def _run(report: SavedPart) -> CollectedRun:
    _check_head(report)
    run = CollectedRun()
    run.all_suites = [_read_suite(part) for part in report.parts("suites", is_needed=True)]
    summary = summary_of(result for _, results in run.all_suites for result in results)
    _check_summary(report.part("summary"), summary)
    error = report.part("error") if report.has("error") else None
    mistakes = [_diagnostic(each) for each in error.parts("diagnostics")] if error else []
    run.started = RunStarted(
        started_at=report.text("started_at"),
        server=report.text("server", ""),
        suites=len(run.all_suites),
        total=report.count("selected", summary.total),
        warnings=(*mistakes, *map(_diagnostic, report.parts("warnings"))),
        shard=_shard(report.part("shard")) if report.has("shard") else None,
    )
    run.last = RunFinished(
        summary=summary,
        duration_s=report.milliseconds("duration_ms"),
        findings=tuple(map(_finding, report.parts("findings"))),
        fault=_fault(error) if error else None,
        interrupted=report.flag("interrupted", default=False),
        interrupted_in=report.text("interrupted_in") if report.has("interrupted_in") else "",
        bailed=report.flag("bailed", default=False),
        coverage=read_coverage(report),
        missed_gates=report.texts("gates"),
        conformance=_conformance(report),
        broken_rules=report.texts("broken_rules"),
        not_run=_not_run(report, run),
        may_leave_out=report.flag("not_run_allowed", default=False),
        snapshots=_snapshots(report.part("snapshots")) if report.has("snapshots") else None,
        unasked_gates=tuple(map(read_gates, report.parts("unasked_gates"))),
        spoken=tuple(map(_spoken, report.parts("spoken"))),
    )
    if report.has("matrix"):
        matrix = read_matrix(report.part("matrix"))
        run.last = run.last.but(matrix=matrix)
    return run


def _shard(part: SavedPart) -> ReportedShard:
    count = part.count("count")
    indexes = part.counts("indexes") if part.has("indexes") else (part.count("index"),)
    is_sound = 1 <= len(indexes) == len(set(indexes)) and count <= _MAX_SHARDS
    if not is_sound or not all(1 <= index <= count for index in indexes):
        seen = shown(indexes[0] if len(indexes) == 1 else list(indexes), 40)
        raise SavedPartError("F009", f"there is no shard {seen} of {count:,}")
    selection = part.text("selection") if part.has("selection") else ""
    return ReportedShard(indexes=indexes, count=count, selection=selection)


def _snapshots(part: SavedPart) -> SnapshotReport:
    names = [name for name, _ in SnapshotReport().fields() if part.has(name)]
    return SnapshotReport(**{name: part.part(name).lists() for name in names})


def _not_run(report: SavedPart, run: CollectedRun) -> int:
    """How many tests could not be run, as the report and its tests both say."""
    counted_ = sum(result.not_run for _, results in run.all_suites for result in results)
    written = report.count("not_run", counted_)
    # Of a run that never began there are no tests to count.
    if written != counted_ and run.all_suites:
        message = f"not_run is {written:,}, but counted from suites it is {counted_:,}"
        raise SavedPartError("F009", message)
    return written


def _conformance(report: SavedPart) -> CaptureScore:
    """What the rules said; reports of earlier versions say nothing of it."""
    sessions = [
        SessionScore(
            server_label=part.text("server"),
            verdicts=(
                Verdict(
                    id=part.text("id"),
                    category="",
                    status=part.word("status", VERDICTS),
                    message=part.text("message", ""),
                ),
            ),
        )
        for part in report.parts("invariants")
    ]
    hazards = [
        Hazard(
            kind=part.text("kind"),
            message=part.text("message", ""),
            servers=part.texts("servers"),
            what=(),
        )
        for part in report.parts("composition")
    ]
    return CaptureScore(sessions=merge_sessions(sessions), hazards=tuple(hazards))


def _whole(run: CollectedRun, file: str) -> CollectedRun:
    """The run, with an error in the place of tests that it selected and does not have.

    A run that was stopped says so itself. Any other that lacks tests has lost them, failures
    perhaps, and must not count as a success.
    """
    finished, selected = run.finished, run.started.total
    has_all = selected <= finished.summary.total
    if has_all or finished.interrupted or finished.bailed or finished.fault:
        return run
    there = f"{finished.summary.total:,} of {counted(selected, 'selected test')}"
    fault = Fault(
        kind="incomplete_report",
        message=f"this report has the results of {there}, and does not say why",
        hint="run the tests again; the report has been cut or changed",
    )
    lost = CaseResult(name="the report is whole", status="error", line=0, fault=fault)
    suite = SuiteStarted(name=file, file=file, format=REPORT_FORMAT, server="", total=1)
    run.all_suites.append((suite, [lost]))
    summary = summary_of(result for _, results in run.all_suites for result in results)
    # What is rendered from here on tells of the loss, and is whole in itself.
    run.started = run.started.but(suites=len(run.all_suites), total=summary.total)
    run.last = finished.but(summary=summary)
    return run


def _check_head(report: SavedPart) -> None:
    if report.members.get("tool") != "mcptest":
        raise SavedPartError("F005", "this is not a JSON report of mcptest")
    version = report.members.get("version")
    if version != REPORT_VERSION or isinstance(version, bool):
        message = f"a report of version {shown(version, 40)}; this mcptest reads {REPORT_VERSION}"
        raise SavedPartError("F010", message)
    if "suites" not in report.members and "files" in report.members:
        message = "this is what mcptest validate --json writes, not the report of a run"
        raise SavedPartError("F005", message)


def _check_summary(part: SavedPart, summary: Summary) -> None:
    """A summary that its own tests deny is no report of ours."""
    for name, count in summary_members(summary).items():
        written = part.count(name, 0 if name == "flaky" else None)
        if written != count:
            message = f"summary.{name} is {written:,}, but counted from suites it is {count:,}"
            raise SavedPartError("F009", message)


def _read_suite(part: SavedPart) -> tuple[SuiteStarted, list[CaseResult]]:
    results = [_result(each) for each in part.parts("tests", is_needed=True)]
    suite = SuiteStarted(
        name=part.text("name"),
        file=part.text("file"),
        format=part.text("format"),
        server=part.text("server"),
        total=len(results),
    )
    return suite, results


def _result(part: SavedPart) -> CaseResult:
    return CaseResult(
        name=part.text("name"),
        status=part.word("status", STATUSES),
        line=part.count("line"),
        duration_s=part.milliseconds("duration_ms"),
        mismatches=tuple(map(_mismatch, part.parts("mismatches"))),
        fault=_fault(part.part("error")) if part.has("error") else None,
        reason=part.text("reason", ""),
        sent=part.text("sent", ""),
        expected=part.members.get("expected", ABSENT),
        actual=part.members.get("actual", ABSENT),
        notes=part.texts("notes"),
        stderr=part.text("stderr", ""),
        tags=part.texts("tags"),
        attempts=max(1, part.count("attempts", 1)),
        log=tuple(map(_log_line, part.parts("log"))),
        not_run=part.flag("not_run", default=False),
    )


def _log_line(part: SavedPart) -> LogLine:
    return LogLine(
        at_s=part.milliseconds("at_ms"),
        direction=part.word("direction", ("sent", "received", "stderr", "noise")),
        text=part.text("text"),
    )


def _mismatch(part: SavedPart) -> Mismatch:
    missing = part.texts("missing")
    return Mismatch(
        path=part.text("path"),
        expected=ABSENT if "expected" in missing else part.members.get("expected"),
        actual=ABSENT if "actual" in missing else part.members.get("actual"),
        message=part.text("message"),
        hint=part.text("hint", ""),
    )


def _fault(part: SavedPart) -> Fault:
    evidence = Evidence(
        command=part.texts("command"),
        url=part.text("url", ""),
        cwd=part.text("cwd", ""),
        exit_status=part.text("exit_status", ""),
        stderr_tail=part.text("stderr_tail", ""),
        stdout_tail=part.text("stdout_tail", ""),
    )
    return Fault(
        kind=part.text("kind"),
        message=part.text("message"),
        hint=part.text("hint", ""),
        effect=part.word("effect", ("definite", "indefinite"), "definite"),
        evidence=evidence,
    )


def _spoken(part: SavedPart) -> Spoken:
    return Spoken(
        server=part.text("server"), revision=part.text("revision"), url=part.text("url", "")
    )


def _finding(part: SavedPart) -> Finding:
    return Finding(
        kind=part.text("kind"),
        server=part.text("server"),
        message=part.text("message"),
        quote=part.text("quote", ""),
        count=part.count("count", 1),
    )


def _diagnostic(part: SavedPart) -> Diagnostic:
    code = part.text("code")
    return Diagnostic(
        code=code,
        file=part.text("file"),
        line=part.count("line", 0),
        column=part.count("column", 0),
        message=part.text("message"),
        help=part.text("help", ""),
        severity="warning" if code.startswith("W") else "error",
    )


_SHOWN_CHARS = 80


def read_coverage(report: SavedPart) -> tuple[ServerCoverage, ...]:
    """The coverage of each server; none where nobody asked."""
    if not report.has("coverage"):
        return ()
    servers = report.part("coverage").parts("servers", is_needed=True)
    return tuple(map(_server_coverage, servers))


def _server_coverage(part: SavedPart) -> ServerCoverage:
    return ServerCoverage(
        server=part.text("server"), offers=tuple(_offers(part)), home=part.text("suite", "")
    )


def _offers(server: SavedPart) -> Iterator[CoveredOffer]:
    for kind, name in OFFER_LISTS.items():
        for offer in server.parts(name):
            properties = tuple(
                CoveredProperty(name=part.text("name"), calls=part.count("calls"))
                for part in offer.parts("properties")
            )
            yield CoveredOffer(
                kind=kind,
                name=offer.text("name"),
                calls=offer.count("calls"),
                properties=properties,
            )


def read_gates(part: SavedPart) -> MeasuredGates:
    """What a suite asks for, and what the run has measured of it."""
    return MeasuredGates(
        home=part.text("suite"),
        coverage=_wanted(part, "coverage", COVERAGE_GATES),
        performance=_wanted(part, "performance", PERFORMANCE_GATES),
        files=part.texts("files"),
        ran=part.texts("ran"),
        servers=tuple(map(_server_coverage, part.parts("servers"))),
        silent=part.texts("silent"),
        idle=part.texts("idle"),
        took_ms=part.numbers("took_ms"),
    )


def _wanted(part: SavedPart, name: str, known: Sequence[str]) -> dict[str, float]:
    """What is asked for; a gate that nobody here can ask must not get lost."""
    inner = part.part(name)
    for key in inner.members:
        if key not in known:
            seen = visible(shorten(key, _SHOWN_CHARS))
            message = f'"{seen}" is no gate of {name}; there are: {", ".join(known)}'
            raise SavedPartError("F009", message)
    return {key: inner.number(key) for key in inner.members}
