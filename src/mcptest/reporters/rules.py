"""The verdicts of the rules about captured sessions: as text, JSON, JUnit XML and SARIF."""

from __future__ import annotations

import json

from mcptest.core.events import SuiteStarted
from mcptest.core.results import CaseResult
from mcptest.core.text import defuse, defuse_markers, excerpt, plural, printable_json
from mcptest.reporters.json import conflict_members
from mcptest.reporters.junit import render_suites
from mcptest.reporters.sarif import location, make_result, render_sarif
from mcptest.reporters.style import encode_narrow, status_marks

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcptest.core.results import CaptureScore, SessionScore, Verdict
    from mcptest.reporters.style import Paint

    Members = dict[str, object]

__all__ = [
    "render_score",
    "render_score_json",
    "render_score_junit",
    "render_score_sarif",
]

_MARKS = {"pass": "passed", "fail": "failed", "warning": "error", "not_applicable": "skipped"}

# The rules that are always shown; of all others only what is broken.
_SHOWN_FAMILY = "INV-"
_MAX_MESSAGE = 1_000
_VERDICT_MEMBERS = ("id", "category", "status", "message", "exchange")


def render_score(
    score: CaptureScore, paint: Paint, encoding: str = "", *, is_verbose: bool = False
) -> str:
    """The whole report; `encoding` is that of a stream which cannot take every character."""
    lines: list[str] = []
    marks = status_marks(paint, encoding)
    for session in score.sessions:
        name = paint.bold(_clean(session.server_label))
        lines += [name, *_session_lines(session, paint, marks, is_verbose), ""]
    if len(score.sessions) > 1:
        lines += [
            paint.bold("all sessions together"),
            *(
                f"  {marks['failed']} {conflict.kind}: {_clean(conflict.message)}"
                for conflict in score.conflicts
            ),
            *([] if score.conflicts else [f"  {marks['passed']} nothing clashes"]),
            "",
        ]
    lines.append(_summary(score, paint))
    return encode_narrow("\n".join(lines) + "\n", encoding)


def _session_lines(
    session: SessionScore, paint: Paint, marks: dict[str, str], is_verbose: bool
) -> Iterator[str]:
    quiet = 0
    for verdict in session.verdicts:
        is_broken = verdict.status in ("fail", "warning")
        if is_broken or is_verbose or verdict.id.startswith(_SHOWN_FAMILY):
            yield f"  {marks[_MARKS[verdict.status]]} {verdict.id} {_describe(verdict, paint)}"
        else:
            quiet += verdict.status == "pass"
    if quiet:
        yield paint.dim(f"    and {plural(quiet, 'further rule')} kept; -v shows all")


def _describe(verdict: Verdict, paint: Paint) -> str:
    message = _clean(verdict.message)
    if verdict.status == "not_applicable":
        return paint.dim(f"not applicable: {message}")
    if verdict.status == "pass":
        return message
    parts = []
    if verdict.exchange is not None:
        is_early = verdict.exchange < 0
        parts.append("before the first exchange" if is_early else f"exchange {verdict.exchange}")
    if verdict.count > 1:
        parts.append(f"{verdict.count:,} times")
    where = f" ({', '.join(parts)})" if parts else ""
    return f"{'should: ' if verdict.status == 'warning' else ''}{message}{where}"


def _summary(score: CaptureScore, paint: Paint) -> str:
    broken = sum(session.count("fail") for session in score.sessions)
    warnings = sum(session.count("warning") for session in score.sessions)
    parts = [plural(broken, "rule") + " broken"] if broken else ["no rule broken"]
    if warnings:
        parts.append(plural(warnings, "warning"))
    if score.conflicts:
        count = len(score.conflicts)
        parts.append(f"{count:,} clash{'es' if count > 1 else ''}")
    text = f"{plural(len(score.sessions), 'session')}: {', '.join(parts)}"
    return paint.green(text) if score.passed else paint.red(text)


def _clean(text: str) -> str:
    return defuse(excerpt(text, _MAX_MESSAGE))


def render_score_json(score: CaptureScore) -> str:
    members = {
        "sessions": [
            {
                "server_label": session.server_label,
                "invariants": [
                    {name: getattr(verdict, name) for name in _VERDICT_MEMBERS}
                    for verdict in session.verdicts
                ],
            }
            for session in score.sessions
        ],
        "composition": [conflict_members(conflict) for conflict in score.conflicts],
        "passed": score.passed,
    }
    text = json.dumps(members, indent=1, ensure_ascii=False)
    return defuse_markers(printable_json(text)) + "\n"


def render_score_junit(score: CaptureScore, file: str) -> str:
    """A suite for each session, a case for each rule."""
    named = [
        (session.server_label, [_case(verdict) for verdict in session.verdicts])
        for session in score.sessions
    ]
    if len(score.sessions) > 1:
        clashes = [
            CaseResult(name=conflict.kind, status="failed", line=0, reason=conflict.message)
            for conflict in score.conflicts
        ]
        nothing = CaseResult(name="nothing clashes", status="passed", line=0)
        named.append(("composition", clashes or [nothing]))
    suites = []
    for name, results in named:
        total = len(results)
        suite = SuiteStarted(name=name, file=file, format="capture", server=name, total=total)
        suites.append((suite, results))
    return render_suites(suites)


def _case(verdict: Verdict) -> CaseResult:
    if verdict.status == "not_applicable":
        return CaseResult(name=verdict.id, status="skipped", line=0, reason=verdict.message)
    if verdict.status != "fail":
        notes = (f"should: {verdict.message}",) if verdict.status == "warning" else ()
        return CaseResult(name=verdict.id, status="passed", line=0, notes=notes)
    return CaseResult(name=verdict.id, status="failed", line=0, reason=_locate(verdict))


def render_score_sarif(score: CaptureScore, file: str, tool_version: str) -> str:
    """A result for each broken rule and each clash."""
    place = location(file, 1)
    results = [
        make_result(
            verdict.id,
            "error" if verdict.status == "fail" else "warning",
            f"{session.server_label}: {_locate(verdict)}",
            place,
        )
        for session in score.sessions
        for verdict in session.verdicts
        if verdict.status in ("fail", "warning")
    ]
    results += [
        make_result(f"composition/{conflict.kind}", "error", conflict.message, place)
        for conflict in score.conflicts
    ]
    rules = {id: f"Rule {id}" for id in (str(result["ruleId"]) for result in results)}
    return render_sarif(results, rules, {"executionSuccessful": True}, tool_version)


def _locate(verdict: Verdict) -> str:
    """The message, with the exchange it is about."""
    where = "" if verdict.exchange is None else f" (exchange {verdict.exchange})"
    return f"{verdict.message}{where}"
