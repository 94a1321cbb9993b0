"""Read a JSON report back into the run it describes, so that any reporter can render it again.

Text goes in, a `CollectedRun` comes out, or a `FormatError` that says what is wrong with the file.
What a report left out to stay small (long values, logs) is lost. Unknown keys are ignored, since
reports may grow; known keys must be valid.
"""

from __future__ import annotations

from mcptest.core.coverage import (
    COVERAGE_GATES,
    PERFORMANCE_GATES,
    CoveredOffer,
    CoveredProperty,
    MeasuredGates,
    ServerCoverage,
)
from mcptest.core.diagnostics import Diagnostic
from mcptest.core.errors import FormatError
from mcptest.core.events import (
    Matrix,
    OfferDifference,
    ReportedShard,
    ResultDifference,
    RunFinished,
    RunStarted,
    SeenResult,
    SeenValue,
    ServerRevision,
    SuiteStarted,
    Way,
    WayRun,
)
from mcptest.core.results import (
    STATUSES,
    VERDICTS,
    CaptureScore,
    CaseResult,
    Conflict,
    Evidence,
    FailedAttempt,
    Fault,
    Finding,
    LogLine,
    Mismatch,
    SessionScore,
    SnapshotReport,
    Summary,
    Verdict,
    merge_sessions,
)
from mcptest.core.strict_json import NotJsonError, parse_json
from mcptest.core.text import excerpt, plural, show_json
from mcptest.core.typed_json import JsonObject, TypedJsonError
from mcptest.core.value_class import ABSENT
from mcptest.reporters.json import OFFER_LISTS, REPORT_VERSION, summary_members
from mcptest.reporters.run_model import CollectedRun, report_suite, summary_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["read_saved_run"]

# An answer may be 200 levels deep, and is some levels down in the report.
_MAX_DEPTH = 250
# The most that --shard takes.
_MAX_SHARDS = 999_999
_MAX_SHOWN_CHARS = 80

_HELP = "a report is written by: mcptest run … --reporter json=FILE"
_CODES = {"type": "F008", "missing": "F007", "choice": "F009"}


def read_saved_run(text: str, file: str) -> CollectedRun:
    """The run that the report in `text` describes; `file` is its name in diagnostics."""
    line = column = 0
    try:
        report = JsonObject(parse_json(text, _MAX_DEPTH))
        _check_head(report)
        run = _read_run(report)
        _add_missing_tests(run, file)
        return run
    except NotJsonError as error:
        code, message = "F002", f"this is not JSON: {error.reason}"
        before = text[: max(0, error.column - 1)]
        line = before.count("\n") + 1 if error.column else 0
        column = len(before) - (before.rfind("\n") + 1) + 1
    except TypedJsonError as error:
        code, message = _CODES[error.problem], _describe(error)
    except _ReportError as error:
        code, message = error.code, error.message
    raise FormatError(
        [Diagnostic(code=code, file=file, message=message, line=line, column=column, help=_HELP)]
    )


def _describe(error: TypedJsonError) -> str:
    if error.problem == "missing":
        return f'{error.path or "a report"} needs the key "{error.name}"'
    if error.problem == "choice":
        seen = excerpt(str(error.actual), _MAX_SHOWN_CHARS)
        return f'{error.path} is "{seen}"; there are: {error.expected}'
    seen = show_json(error.actual, _MAX_SHOWN_CHARS)
    return f"{error.path or 'the report'} must be {error.expected}, not {seen}"


class _ReportError(ValueError):
    """A report whose values have the right types and still make no sense."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


def _check_head(report: JsonObject) -> None:
    if report.members.get("tool") != "mcptest":
        raise _ReportError("F005", "this is not a JSON report of mcptest")
    version = report.members.get("version")
    if version != REPORT_VERSION or isinstance(version, bool):
        shown = show_json(version, 40)
        message = f"a report of version {shown}; this mcptest reads {REPORT_VERSION}"
        raise _ReportError("F010", message)
    if "suites" not in report.members and "files" in report.members:
        message = "this is what mcptest validate --json writes, not the report of a run"
        raise _ReportError("F005", message)


def _read_run(report: JsonObject) -> CollectedRun:
    run = CollectedRun()
    run.all_suites = list(report.objects("suites", _read_suite, required=True))
    summary = summary_of(result for _, results in run.all_suites for result in results)
    for name, count in summary_members(summary).items():
        _compare_counts(
            f"summary.{name}",
            report.inner("summary").count(name, 0 if name == "flaky" else None),
            count,
        )
    not_run = sum(result.not_run for _, results in run.all_suites for result in results)
    written_not_run = report.count("not_run", not_run)
    # A run that never began has no tests to count.
    if run.all_suites:
        _compare_counts("not_run", written_not_run, not_run)
    error = report.inner("error") if report.has("error") else None
    run.started = RunStarted(
        started_at=report.string("started_at"),
        server=report.string("server", ""),
        suites=len(run.all_suites),
        total=report.count("selected", summary.total),
        warnings=(
            *(error.objects("diagnostics", _read_diagnostic) if error else ()),
            *report.objects("warnings", _read_diagnostic),
        ),
        shard=_read_shard(report.inner("shard")) if report.has("shard") else None,
    )
    coverage = report.inner("coverage") if report.has("coverage") else None
    run.last = RunFinished(
        summary=summary,
        duration_s=report.seconds("duration_ms"),
        findings=report.objects("findings", _read_finding),
        fault=_read_fault(error) if error else None,
        interrupted=report.flag("interrupted", default=False),
        interrupted_in=report.string("interrupted_in") if report.has("interrupted_in") else "",
        bailed=report.flag("bailed", default=False),
        coverage=coverage.objects("servers", _read_coverage, required=True) if coverage else (),
        missed_gates=report.strings("gates"),
        conformance=CaptureScore(
            sessions=merge_sessions(report.objects("invariants", _read_verdict)),
            conflicts=report.objects("composition", _read_conflict),
        ),
        broken_rules=report.strings("broken_rules"),
        not_run=written_not_run,
        may_leave_out=report.flag("not_run_allowed", default=False),
        snapshots=_read_snapshots(report.inner("snapshots")) if report.has("snapshots") else None,
        unasked_gates=report.objects("unasked_gates", _read_gates),
        server_revisions=report.objects("spoken", _read_server_revision),
    )
    if report.has("matrix"):
        run.last = run.last.but(matrix=_read_matrix(report.inner("matrix")))
    return run


def _compare_counts(name: str, written: int, counted: object) -> None:
    if written != counted:
        message = f"{name} is {written:,}, but counted from suites it is {counted:,}"
        raise _ReportError("F009", message)


def _add_missing_tests(run: CollectedRun, file: str) -> None:
    """Add an error in place of tests that the run selected and the report does not have.

    A run that was stopped says so. Any other that lacks tests has lost them, perhaps failures,
    and must not count as a success.
    """
    finished, selected = run.finished, run.started.total
    has_all = selected <= finished.summary.total
    if has_all or finished.interrupted or finished.bailed or finished.fault:
        return
    there = f"{finished.summary.total:,} of {plural(selected, 'selected test')}"
    fault = Fault(
        kind="incomplete_report",
        message=f"this report has the results of {there}, and does not say why",
        hint="run the tests again; the report has been cut or changed",
    )
    run.all_suites.append(report_suite(file, "the report is whole", fault))
    summary = summary_of(result for _, results in run.all_suites for result in results)
    # A report that is rendered from this run includes the error, and is complete.
    run.started = run.started.but(suites=len(run.all_suites), total=summary.total)
    run.last = finished.but(summary=summary)


def _read_shard(part: JsonObject) -> ReportedShard:
    count = part.count("count")
    indexes = part.counts("indexes") if part.has("indexes") else (part.count("index"),)
    is_valid = 1 <= len(indexes) == len(set(indexes)) and count <= _MAX_SHARDS
    if not is_valid or not all(1 <= index <= count for index in indexes):
        seen = show_json(indexes[0] if len(indexes) == 1 else list(indexes), 40)
        raise _ReportError("F009", f"there is no shard {seen} of {count:,}")
    selection = part.string("selection") if part.has("selection") else ""
    return ReportedShard(indexes=indexes, count=count, selection=selection)


def _read_snapshots(part: JsonObject) -> SnapshotReport:
    lists = {}
    for name, _ in SnapshotReport().fields():
        if part.has(name):
            by_file = part.inner(name)
            lists[name] = {file: by_file.strings(file) for file in by_file.members}
    return SnapshotReport(**lists)


def _read_suite(part: JsonObject) -> tuple[SuiteStarted, list[CaseResult]]:
    results = list(part.objects("tests", _read_result, required=True))
    suite = SuiteStarted(
        name=part.string("name"),
        file=part.string("file"),
        format=part.string("format"),
        server=part.string("server"),
        total=len(results),
        started_at=part.string("started_at", ""),
    )
    return suite, results


def _read_result(part: JsonObject) -> CaseResult:
    return CaseResult(
        name=part.string("name"),
        status=part.choice("status", STATUSES),
        line=part.count("line"),
        duration_s=part.seconds("duration_ms"),
        mismatches=part.objects("mismatches", _read_mismatch),
        fault=_read_fault(part.inner("error")) if part.has("error") else None,
        reason=part.string("reason", ""),
        sent=part.string("sent", ""),
        expected=part.members.get("expected", ABSENT),
        actual=part.members.get("actual", ABSENT),
        notes=part.strings("notes"),
        stderr=part.string("stderr", ""),
        tags=part.strings("tags"),
        attempts=max(1, part.count("attempts", 1)),
        earlier=part.objects("earlier", _read_attempt),
        repeats=max(1, part.count("repeats", 1)),
        log=part.objects("log", _read_log_line),
        not_run=part.flag("not_run", default=False),
        trace_id=part.string("trace_id", ""),
    )


def _read_attempt(part: JsonObject) -> FailedAttempt:
    return FailedAttempt(
        kind=part.string("kind"),
        message=part.string("message"),
        duration_s=part.seconds("duration_ms"),
    )


def _read_log_line(part: JsonObject) -> LogLine:
    return LogLine(
        at_s=part.seconds("at_ms"),
        direction=part.choice("direction", ("sent", "received", "stderr", "noise")),
        text=part.string("text"),
    )


def _read_mismatch(part: JsonObject) -> Mismatch:
    missing = part.strings("missing")
    at = part.inner("at") if part.has("at") else None
    return Mismatch(
        path=part.string("path"),
        expected=ABSENT if "expected" in missing else part.members.get("expected"),
        actual=ABSENT if "actual" in missing else part.members.get("actual"),
        message=part.string("message"),
        hint=part.string("hint", ""),
        at=(at.count("expected"), at.count("actual")) if at else None,
        is_described=part.flag("described", default=False),
    )


def _read_fault(part: JsonObject) -> Fault:
    evidence = Evidence(
        command=part.strings("command"),
        url=part.string("url", ""),
        cwd=part.string("cwd", ""),
        exit_status=part.string("exit_status", ""),
        stderr_tail=part.string("stderr_tail", ""),
        stdout_tail=part.string("stdout_tail", ""),
    )
    return Fault(
        kind=part.string("kind"),
        message=part.string("message"),
        hint=part.string("hint", ""),
        effect=part.choice("effect", ("definite", "indefinite"), "definite"),
        evidence=evidence,
    )


def _read_server_revision(part: JsonObject) -> ServerRevision:
    url = part.string("url", "")
    return ServerRevision(server=part.string("server"), revision=part.string("revision"), url=url)


def _read_finding(part: JsonObject) -> Finding:
    return Finding(
        kind=part.string("kind"),
        server=part.string("server"),
        message=part.string("message"),
        quote=part.string("quote", ""),
        count=part.count("count", 1),
    )


def _read_diagnostic(part: JsonObject) -> Diagnostic:
    code = part.string("code")
    return Diagnostic(
        code=code,
        file=part.string("file"),
        line=part.count("line", 0),
        column=part.count("column", 0),
        message=part.string("message"),
        help=part.string("help", ""),
        severity="warning" if code.startswith("W") else "error",
    )


def _read_verdict(part: JsonObject) -> SessionScore:
    verdict = Verdict(
        id=part.string("id"),
        category="",
        status=part.choice("status", VERDICTS),
        message=part.string("message", ""),
    )
    return SessionScore(server_label=part.string("server"), verdicts=(verdict,))


def _read_conflict(part: JsonObject) -> Conflict:
    message, servers = part.string("message", ""), part.strings("servers")
    return Conflict(kind=part.string("kind"), message=message, servers=servers, what=())


def _read_coverage(part: JsonObject) -> ServerCoverage:
    def read_property(inner: JsonObject) -> CoveredProperty:
        return CoveredProperty(name=inner.string("name"), calls=inner.count("calls"))

    offers = [
        CoveredOffer(
            kind=kind,
            name=offer.string("name"),
            calls=offer.count("calls"),
            properties=offer.objects("properties", read_property),
        )
        for kind, name in OFFER_LISTS.items()
        for offer in part.objects(name, lambda offer: offer)
    ]
    server, home = part.string("server"), part.string("suite", "")
    return ServerCoverage(server=server, offers=tuple(offers), home=home)


def _read_gates(part: JsonObject) -> MeasuredGates:
    return MeasuredGates(
        home=part.string("suite"),
        coverage=_read_limits(part, "coverage", COVERAGE_GATES),
        performance=_read_limits(part, "performance", PERFORMANCE_GATES),
        files=part.strings("files"),
        ran=part.strings("ran"),
        servers=part.objects("servers", _read_coverage),
        silent=part.strings("silent"),
        idle=part.strings("idle"),
        took_ms=part.numbers("took_ms"),
    )


def _read_limits(part: JsonObject, name: str, known: Sequence[str]) -> dict[str, float]:
    """The limits of gates; an unknown gate is an error, since it could not be checked."""
    limits = part.inner(name)
    for key in limits.members:
        if key not in known:
            seen = excerpt(key, _MAX_SHOWN_CHARS)
            message = f'"{seen}" is not a gate of {name}; there are: {", ".join(known)}'
            raise _ReportError("F009", message)
    return {key: limits.number(key) for key in limits.members}


# The transport matrix


def _read_matrix(part: JsonObject) -> Matrix:
    return Matrix(
        ways=part.objects("ways", _read_way_run),
        total=part.count("selected"),
        compared=part.count("compared"),
        differences=part.objects("differences", _read_difference),
        offers=part.objects("offers", _read_offer),
        more_offers=part.count("more_offers", 0),
        unread=part.strings("unread"),
    )


def _read_way(part: JsonObject) -> Way:
    return Way(transport=part.string("transport"), revision=part.string("revision"))


def _read_way_run(part: JsonObject) -> WayRun:
    summary = None
    if part.has("summary"):
        names, counts = ("passed", "failed", "errors", "skipped", "flaky"), part.inner("summary")
        summary = Summary(**{name: counts.count(name, 0) for name in names})
    return WayRun(
        way=_read_way(part),
        refusal=part.string("reason", ""),
        error=part.string("error", ""),
        summary=summary,
    )


def _read_difference(part: JsonObject) -> ResultDifference:
    return ResultDifference(
        suite=part.string("suite"),
        file=part.string("file"),
        line=part.count("line"),
        test=part.string("test"),
        seen=part.objects("results", _read_seen_result),
    )


def _read_seen_result(part: JsonObject) -> SeenResult:
    status = part.choice("status", STATUSES) if part.has("status") else None
    return SeenResult(way=_read_way(part), status=status, reason=part.string("reason", ""))


def _read_offer(part: JsonObject) -> OfferDifference:
    member = part.string("member") if part.has("member") else ""
    seen = part.objects("seen", _read_seen_value)
    return OfferDifference(what=part.string("what"), member=member, seen=seen)


def _read_seen_value(part: JsonObject) -> SeenValue:
    is_there = "value" not in part.strings("missing")
    return SeenValue(way=_read_way(part), value=part.members.get("value") if is_there else ABSENT)
