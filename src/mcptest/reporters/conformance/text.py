"""The report of a conformance run for people, on a terminal."""

from __future__ import annotations

from mcptest.core.text import defuse, excerpt, visible
from mcptest.reporters.conformance.findings import (
    MAX_MESSAGE,
    count_words,
    describe_grade,
    evidence_lines,
    group_findings,
    hint_advice,
    open_checks,
    title,
)
from mcptest.reporters.style import encode_narrow, status_marks, wrap_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcptest.core.conformance import ConformanceReport
    from mcptest.reporters.conformance.findings import Finding
    from mcptest.reporters.style import Paint

__all__ = ["render_text"]

_COLUMNS = 80
_LABEL = 10
_MAX_EVIDENCE_CHARS = 240

# The mark of each group; marks are those of tests.
_MARKS = {
    "failed": "failed",
    "warning": "error",
    "shared": "skipped",
    "expected": "skipped",
    "pending": "skipped",
}
_BRIEF = ("shared", "pending")


def render_text(
    report: ConformanceReport,
    paint: Paint,
    encoding: str = "",
    columns: int = _COLUMNS,
    *,
    is_verbose: bool = False,
) -> str:
    """The whole report; `encoding` is that of a stream which cannot take every character.

    Of findings that do not count, the evidence is shown only if it `is_verbose`.
    """
    columns = max(40, columns or _COLUMNS)
    lines = [paint.bold(title(report)), ""]
    whole = []
    if report.interrupted:
        whole.append("interrupted: this is the report of a part of the checks")
    whole += [f"expected failures: {visible(problem)}" for problem in report.problems]
    whole += [f"note: {excerpt(note, MAX_MESSAGE)}" for note in report.notes]
    for text in whole:
        lines += [*wrap_line(text, columns), ""]
    marks = status_marks(paint, encoding)
    for group in group_findings(report):
        lines += [paint.bold(group.title), ""]
        for finding in group.findings:
            mark = marks[_MARKS[group.verdict]]
            is_whole = is_verbose or group.verdict not in _BRIEF
            lines += [*_finding_lines(finding, mark, paint, columns, is_whole), ""]
    reasons = open_checks(report)
    if reasons:
        lines += [paint.bold("Could not run"), ""]
        for reason, ids in reasons:
            text = f"  {excerpt(reason, MAX_MESSAGE)}: {ids}"
            lines += wrap_line(text, columns, 4)
        if advice := hint_advice(report):
            lines += [paint.dim(line) for line in wrap_line(f"  {advice}", columns)]
        lines.append("")
    lines += wrap_line(count_words(report), columns)
    grade = describe_grade(report)
    colour = paint.green if report.verdict == "conformant" else paint.red
    colour = paint.yellow if report.verdict == "incomplete" else colour
    lines += [colour(line) for line in wrap_line(grade, columns)]
    if report.profiles:
        lines.append(paint.dim(f"profile {report.profile}"))
    return encode_narrow(defuse("\n".join(lines)) + "\n", encoding)


def _finding_lines(
    finding: Finding, mark: str, paint: Paint, columns: int, is_whole: bool
) -> Iterator[str]:
    check = finding.check
    indent = "    "
    yield f"  {mark} {paint.bold(finding.heading)}"
    yield from wrap_line(f"{indent}{excerpt(check.message, MAX_MESSAGE)}", columns, len(indent))
    if check.expected:
        yield from _labelled("expected", excerpt(check.expected, MAX_MESSAGE), columns)
    if check.cause:
        yield from _labelled("cause", visible(check.cause), columns)
    if not is_whole:
        yield f"{indent}{'repeat':{_LABEL}}{visible(check.repeat)}"
        return
    if check.reference.page:
        yield from _labelled("spec", f"{check.reference.page}, {check.reference.section}", columns)
        yield f"{indent}{'':{_LABEL}}{paint.dim(check.reference.url)}"
    for label, messages in (("sent", check.sent), ("received", check.received)):
        # Messages have few spaces, so they are broken anywhere.
        room = columns - _LABEL - len(indent)
        for line in evidence_lines(messages, _MAX_EVIDENCE_CHARS):
            for start in range(0, max(1, len(line)), room):
                yield f"{indent}{label:{_LABEL}}{line[start : start + room]}"
                label = ""
    # Commands are on one line each, so that they can be copied.
    for label, command in (("repeat", check.repeat), ("curl", check.curl)):
        if command:
            yield f"{indent}{label:{_LABEL}}{visible(command)}"


def _labelled(label: str, text: str, columns: int) -> list[str]:
    lead = f"    {label:{_LABEL}}"
    return wrap_line(f"{lead}{text}", columns, len(lead))
