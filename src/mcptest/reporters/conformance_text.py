"""What the rules say of captured sessions, for people."""

from __future__ import annotations

from mcptest.core.text import defuse, plural, shorten, visible
from mcptest.reporters.marks import encodable, painted_marks

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mcptest.core.conformance import CaptureScore, Hazard, SessionScore, Verdict
    from mcptest.reporters.paint import Paint

__all__ = ["render_conformance"]

_MARKS = {"pass": "passed", "fail": "failed", "warning": "error", "not_applicable": "skipped"}

# The rules that are always shown; of all others only what is broken.
_SHOWN_FAMILY = "INV-"
_MAX_MESSAGE = 1_000


def render_conformance(
    score: CaptureScore, paint: Paint, encoding: str = "", *, is_verbose: bool = False
) -> str:
    """The whole report; `encoding` is that of a stream which cannot take every character."""
    lines: list[str] = []
    for session in score.sessions:
        lines += [
            paint.bold(_clean(session.server_label)),
            *_rows(session, paint, encoding, is_verbose),
            "",
        ]
    if len(score.sessions) > 1:
        lines += [
            paint.bold("all sessions together"),
            *_hazard_rows(score.hazards, paint, encoding),
            "",
        ]
    lines.append(_summary(score, paint))
    return encodable("\n".join(lines) + "\n", encoding)


def _rows(session: SessionScore, paint: Paint, encoding: str, is_verbose: bool) -> Iterator[str]:
    marks = painted_marks(paint, encoding)
    quiet = 0
    for verdict in session.verdicts:
        is_broken = verdict.status in ("fail", "warning")
        if is_broken or is_verbose or verdict.id.startswith(_SHOWN_FAMILY):
            yield f"  {marks[_MARKS[verdict.status]]} {verdict.id} {_told(verdict, paint)}"
        else:
            quiet += verdict.status == "pass"
    if quiet:
        yield paint.dim(f"    and {plural(quiet, 'further rule')} kept; -v shows all")


def _told(verdict: Verdict, paint: Paint) -> str:
    message = _clean(verdict.message)
    if verdict.status == "not_applicable":
        return paint.dim(f"not applicable: {message}")
    if verdict.status == "pass":
        return message
    return f"{'should: ' if verdict.status == 'warning' else ''}{message}{_where(verdict)}"


def _where(verdict: Verdict) -> str:
    parts = []
    if verdict.exchange is not None:
        at = (
            f"exchange {verdict.exchange}" if verdict.exchange >= 0 else "before the first exchange"
        )
        parts.append(at)
    if verdict.count > 1:
        parts.append(f"{verdict.count:,} times")
    return f" ({', '.join(parts)})" if parts else ""


def _hazard_rows(hazards: Sequence[Hazard], paint: Paint, encoding: str) -> Iterator[str]:
    marks = painted_marks(paint, encoding)
    for hazard in hazards:
        yield f"  {marks['failed']} {hazard.kind}: {_clean(hazard.message)}"
    if not hazards:
        yield f"  {marks['passed']} nothing clashes"


def _summary(score: CaptureScore, paint: Paint) -> str:
    broken = sum(session.count("fail") for session in score.sessions)
    warnings = sum(session.count("warning") for session in score.sessions)
    parts = [plural(broken, "rule") + " broken"] if broken else ["no rule broken"]
    if warnings:
        parts.append(plural(warnings, "warning"))
    if score.hazards:
        count = len(score.hazards)
        parts.append(f"{count:,} clash{'es' if count > 1 else ''}")
    text = f"{plural(len(score.sessions), 'session')}: {', '.join(parts)}"
    return paint.green(text) if score.passed else paint.red(text)


def _clean(text: str) -> str:
    return defuse(visible(shorten(text, _MAX_MESSAGE)))
