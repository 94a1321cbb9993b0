"""The report of a conformance run on a terminal, and the words that all its reports share."""

from __future__ import annotations

import re

from mcptest.core.record import Record
from mcptest.core.text import defuse, excerpt, list_names, plural, visible
from mcptest.reporters.style import encode_narrow, render_duration, status_marks, wrap_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from mcptest.core.conformance import CheckResult, ConformanceReport
    from mcptest.reporters.style import Paint

__all__ = [
    "MAX_MESSAGE",
    "Finding",
    "Group",
    "count_words",
    "describe_grade",
    "evidence_lines",
    "group_findings",
    "hint_advice",
    "open_checks",
    "render_text",
    "title",
]


MAX_MESSAGE = 1_000
_MAX_SHOWN = 2
_MAX_LINES = 14
_MAX_IDS = 20
# The headers of an HTTP answer that findings are about; others say nothing about the protocol.
_HEADERS = (
    *("access-control-allow-origin:", "allow:", "content-type:", "location:", "mcp-"),
    *("set-cookie:", "www-authenticate:", "x-accel-buffering:"),
)
# The metadata of ordinary requests of the stateless era, which says nothing about a finding. What
# a check sends on purpose, such as an unknown version, does not match and is shown.
_METADATA = (
    r'"_meta":\{"io\.modelcontextprotocol/protocolVersion":"20[\d-]+",'
    r'"io\.modelcontextprotocol/clientCapabilities":\{\},'
    r'"io\.modelcontextprotocol/clientInfo":\{[^{}]*\}\}'
)


class Finding(Record):
    """A check that did not pass, in every revision in which it did so in the same way."""

    check: CheckResult
    revisions: tuple[str, ...]

    @property
    def heading(self) -> str:
        revisions = ", ".join(self.revisions)
        return f"{self.check.id} {self.check.name} ({self.check.level}, {revisions})"


class Group(Record):
    """Findings that are read together."""

    title: str
    verdict: str
    findings: tuple[Finding, ...]


# Title and look of each group, and which checks belong to it; each check to the first that fits.
_GROUPS: tuple[tuple[str, str, Callable[[CheckResult], bool]], ...] = (
    (
        "Pending: newer than the profile, not counted",
        "pending",
        lambda check: check.is_pending,
    ),
    ("Expected failures", "expected", lambda check: bool(check.expected)),
    (
        "Deviations that all SDKs share, not counted",
        "shared",
        lambda check: check.is_shared,
    ),
    ("Failures", "failed", lambda check: check.verdict == "failed"),
    ("Warnings", "warning", lambda check: check.verdict == "warning"),
)
_ORDER = ("failed", "warning", "shared", "expected", "pending")


def group_findings(report: ConformanceReport) -> list[Group]:
    """The groups that have findings, the most important first."""
    found: dict[str, list[CheckResult]] = {}
    titles = {verdict: title for title, verdict, _ in _GROUPS}
    for check in report.checks:
        if check.verdict in ("failed", "warning"):
            verdict = next(verdict for _, verdict, fits in _GROUPS if fits(check))
            found.setdefault(verdict, []).append(check)
    return [
        Group(title=titles[verdict], verdict=verdict, findings=tuple(_merge(found[verdict])))
        for verdict in _ORDER
        if verdict in found
    ]


def _merge(checks: Iterable[CheckResult]) -> Iterator[Finding]:
    """One finding for all revisions in which the same happened, ordered by cause."""
    merged: dict[tuple[str, str, str], list[CheckResult]] = {}
    for check in checks:
        # What is said of two revisions may differ in the revision, and in what is quoted.
        message = re.split(r'[{["]', check.message.replace(check.revision, ""), maxsplit=1)[0]
        merged.setdefault((check.cause, check.id, message), []).append(check)
    # Python sorts stably: findings without a known cause first, the others by it.
    for _, same in sorted(merged.items(), key=lambda item: item[0][0]):
        yield Finding(check=same[-1], revisions=tuple(check.revision for check in same))


def open_checks(report: ConformanceReport) -> list[tuple[str, str]]:
    """Why checks could not run, each reason with the ids of the checks."""
    reasons: dict[str, dict[str, None]] = {}
    for check in report.checks:
        if check.verdict == "could_not_run":
            reasons.setdefault(check.message, {})[check.id] = None
    return [(reason, list_names([*ids], _MAX_IDS)) for reason, ids in reasons.items()]


def hint_advice(report: ConformanceReport) -> str:
    """What to do about checks that need a hint; "" if none does."""
    needs = {check.needs for check in report.checks}
    hints = sorted(each for each in needs if each and not each.startswith("--"))
    if not hints:
        return ""
    return (
        "hints are keys of a file for --hints that tell mcptest about the server; write "
        f"{hints[0]}: none there if it has no such thing (mcptest schema hints describes them)"
    )


def title(report: ConformanceReport) -> str:
    """The server, how it was reached, and in which revisions."""
    name = excerpt(f"{report.server} {report.version}".strip(), 120)
    over = {"stdio": "stdio", "http": "HTTP"}.get(report.transport, visible(report.transport))
    revisions = ", ".join(report.revisions)
    return f"{name} over {over}" + (f", MCP {revisions}" if revisions else "")


def describe_grade(report: ConformanceReport) -> str:
    """The grade and the verdict, with the reason why the grade is not better."""
    reason = f": {visible(report.grade_reason)}" if report.grade_reason else ""
    grade = f"grade {report.grade}" if report.grade else "no grade"
    return f"{report.verdict}, {grade}{reason}"


def count_words(report: ConformanceReport) -> str:
    """How many checks ended how."""
    expected = sum(check.verdict == "failed" and bool(check.expected) for check in report.checks)
    parts = [
        f"{report.count('passed'):,} passed",
        f"{report.count('failed'):,} failed" + (f" ({expected:,} expected)" if expected else ""),
        plural(report.count("warning"), "warning"),
        f"{report.count('could_not_run'):,} could not run",
        f"{report.count('not_applicable'):,} do not apply",
    ]
    each = " (each revision counted)" if len(report.revisions) > 1 else ""
    return f"{', '.join(parts)}{each}, in {render_duration(report.duration_s)}"


def evidence_lines(messages: tuple[str, ...], max_chars: int) -> list[str]:
    """The first messages as lines that are safe to show, each cut.

    Later messages only show that the server still runs. Lines that are not messages come before
    the message that a finding is about.
    """
    lines: list[str] = []
    noise = next((at for at, each in enumerate(messages) if _is_message(each)), 0)
    shown = messages[:_MAX_SHOWN] if noise < _MAX_SHOWN else (messages[0], messages[noise])
    for message in shown:
        parts = _parts(re.sub(_METADATA, '"_meta":{…}', message))
        if lines and len(parts) > 1:
            lines.append("")
        lines += [excerpt(part, max_chars) for part in parts[:_MAX_LINES]]
        if len(parts) > _MAX_LINES:
            lines.append(f"… {plural(len(parts) - _MAX_LINES, 'more line')}")
    hidden = len(messages) - _MAX_SHOWN
    if hidden > 0:
        lines.append(f"… {plural(hidden, 'further message')}")
    return lines


def _is_message(text: str) -> bool:
    """True for JSON and for what came over HTTP, false for a line of a log."""
    return text.startswith(("{", "[{", "HTTP "))


def _parts(message: str) -> list[str]:
    """The lines of a message. Of an HTTP answer only those that may concern a finding."""
    parts = message.split("\n")
    if not message.startswith("HTTP "):
        return parts
    end = parts.index("") if "" in parts else len(parts)
    headers = [line for line in parts[1:end] if line.lower().startswith(_HEADERS)]
    hidden = end - 1 - len(headers)
    body = [line for line in parts[end:] if line and not re.match(r"data: ?$", line)]
    if any(line.startswith("data:") for line in body):
        # Of an event stream, what the events hold.
        body = [line for line in body if line.startswith("data:")]
    shown = [parts[0], *headers]
    if hidden:
        shown.append(f"… {plural(hidden, 'further header')}")
    return [*shown, *([""] if body else ()), *body]


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
