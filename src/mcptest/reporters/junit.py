"""The report for CI systems: JUnit XML, with the text of the terminal report inside.

Events go in, one XML 1.0 document comes out. It needs no XML library, only escaping. Characters
that XML forbids are written as visible escapes.
"""

from __future__ import annotations

from mcptest.core.diagnostics import render_diagnostic
from mcptest.core.events import CaseFinished, RunFinished, RunStarted, SuiteStarted
from mcptest.core.outcome import CaseResult, Fault
from mcptest.core.visible import defused, defused_markers, shorten, visible
from mcptest.matching.diff import DiffLine
from mcptest.reporters.summary import not_run_line
from mcptest.reporters.text import fault_headline, place_line, render_result, stable_server

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcptest.core.events import Event
    from mcptest.core.outcome import LogWish

__all__ = ["JunitReporter"]

# Lines do not wrap in a file, so a caret line fits below any value that is shown whole.
COLUMNS = 300
MAX_FINDINGS = 100
MAX_FINDING_CHARS = 400


class JunitReporter:
    """A listener that keeps each case as an XML element."""

    wants_log: LogWish = ""

    def __init__(self) -> None:
        self._started = RunStarted(started_at="", server="", suites=0, total=0)
        self._finished: RunFinished | None = None
        self._suites: list[_Suite] = []

    def __call__(self, event: Event) -> None:
        if isinstance(event, CaseFinished):
            self._suites[-1].add(event.result)
        elif isinstance(event, SuiteStarted):
            self._suites.append(_Suite(event.name, event.file, stable_server(event)))
        elif isinstance(event, RunStarted):
            self._started = event
        elif isinstance(event, RunFinished):
            self._finished = event

    def render(self) -> str:
        """The document of what has happened so far."""
        suites = [*self._suites, *self._run_suites()]
        counts = [sum(column) for column in zip(*(suite.counts() for suite in suites), strict=True)]
        attributes = {
            "name": "mcptest",
            **_count_attributes(counts or [0, 0, 0, 0]),
            "time": _seconds(self._finished.duration_s if self._finished else 0.0),
        }
        if self._started.started_at:
            attributes["timestamp"] = self._started.started_at
        # JUnit has no place for findings about the run, so they are properties of the first suite.
        body = [suite.render(() if index else self._found()) for index, suite in enumerate(suites)]
        lines = ['<?xml version="1.0" encoding="UTF-8"?>', _tag("testsuites", attributes)]
        return "\n".join([*lines, *body, "</testsuites>", ""])

    def _found(self) -> list[tuple[str, str]]:
        """The findings of the run as properties."""
        findings = self._finished.findings if self._finished else ()
        return [
            (f"finding.{each.kind}", shorten(f"{each.server}: {each.message}", MAX_FINDING_CHARS))
            for each in findings[:MAX_FINDINGS]
        ]

    def _run_suites(self) -> list[_Suite]:
        """Problems of the whole run, as cases: a report without cases looks like success."""
        finished = self._finished
        if finished is not None and finished.fault is not None:
            suite = _Suite("mcptest", "")
            suite.add(_errored("the tests can be run", finished.fault), self._mistakes())
            return [suite]
        results = []
        if finished is None or finished.interrupted:
            ran = sum(suite.tests for suite in self._suites)
            fault = Fault(kind="interrupted", message=f"{ran} of {self._started.total} tests ran")
            results.append(_errored("the run came to its end", fault))
        for gate in finished.missed_gates if finished else ():
            results.append(_failed("the gate is reached", gate))
        if finished and finished.broken_rules:
            listed = f"rules broken: {', '.join(finished.broken_rules)}"
            results.append(_failed("no rule is broken", listed))
        if finished and finished.not_run and not finished.may_leave_out:
            results.append(_failed("every declared test can be run", not_run_line(finished)))
        suite = _Suite("mcptest", "")
        for result in results:
            suite.add(result)
        return [suite] if results else []

    def _mistakes(self) -> list[DiffLine]:
        """The diagnostics that kept the run from beginning."""
        lines: list[DiffLine] = []
        for diagnostic in self._started.warnings:
            texts = ("", *render_diagnostic(diagnostic).split("\n"))
            lines += [DiffLine(sign=" ", text=text) for text in texts]
        return lines


class _Suite:
    """The cases of one suite as XML, and their counts."""

    def __init__(self, name: str, file: str, server: str = "") -> None:
        self._name = f"{name} on {server}" if server else name
        self._file = file
        # Readers group by class; a file can have tests of several servers.
        self._class = ".".join(part for part in (_dotted(file), server) if part) or "mcptest"
        self._cases: list[str] = []
        self._duration_s = 0.0
        self._by_status = dict.fromkeys(("passed", "failed", "error", "skipped"), 0)

    @property
    def tests(self) -> int:
        return len(self._cases)

    def counts(self) -> list[int]:
        by_status = self._by_status
        return [self.tests, by_status["failed"], by_status["error"], by_status["skipped"]]

    def add(self, result: CaseResult, more: Sequence[DiffLine] = ()) -> None:
        """Add a case; `more` are further lines about its fault."""
        self._by_status[result.status] += 1
        self._duration_s += result.duration_s
        self._cases.append(_case_element(result, self._file, self._class, more))

    def render(self, properties: Sequence[tuple[str, str]] = ()) -> str:
        attributes = {"name": self._name}
        if self._file:
            attributes["file"] = self._file
        attributes |= _count_attributes(self.counts()) | {"time": _seconds(self._duration_s)}
        written = _properties(properties)
        beside = [f"    {written}"] if written else []
        return "\n".join(
            [f"  {_tag('testsuite', attributes)}", *beside, *self._cases, "  </testsuite>"],
        )


def _errored(name: str, fault: Fault) -> CaseResult:
    return CaseResult(name=name, status="error", line=0, fault=fault)


def _failed(name: str, reason: str) -> CaseResult:
    return CaseResult(name=name, status="failed", line=0, reason=reason)


def _case_element(result: CaseResult, file: str, class_: str, more: Sequence[DiffLine]) -> str:
    attributes = {"name": result.name, "classname": class_}
    if file:
        attributes |= {"file": file, "line": str(result.line)}
    attributes["time"] = _seconds(result.duration_s)
    inner = [part for part in (_properties(_marks(result)), _verdict(result, file, more)) if part]
    if not inner:
        return f"    {_tag('testcase', attributes, is_empty=True)}"
    body = "".join(f"      {part}\n" for part in inner)
    return f"    {_tag('testcase', attributes)}\n{body}    </testcase>"


def _marks(result: CaseResult) -> list[tuple[str, str]]:
    """What JUnit has no element for: tags, attempts, and whether the test can be run."""
    pairs = [("tag", tag) for tag in result.tags]
    if result.attempts > 1:
        pairs += [("attempts", str(result.attempts)), ("flaky", str(result.is_flaky).lower())]
    if result.not_run:
        pairs.append(("not_run", "true"))
    return pairs


def _properties(pairs: Sequence[tuple[str, str]]) -> str:
    tags = [
        _tag("property", {"name": name, "value": value}, is_empty=True) for name, value in pairs
    ]
    return f"<properties>{''.join(tags)}</properties>" if tags else ""


def _verdict(result: CaseResult, file: str, more: Sequence[DiffLine]) -> str:
    if result.status == "skipped":
        return _tag("skipped", {"message": result.reason} if result.reason else {}, is_empty=True)
    if result.status == "passed":
        return ""
    lines = [*render_result(result, columns=COLUMNS, verbose=True), *more]
    text = _text([place_line(file, result.line), *lines] if file else lines)
    if result.status == "error" and result.fault is not None:
        attributes = {"type": result.fault.kind, "message": fault_headline(result.fault)}
        return f"{_tag('error', attributes)}{text}</error>"
    name = "error" if result.status == "error" else "failure"
    message = next((line.text for line in lines if line.text), "")
    kind = "mismatch" if result.mismatches else "failed"
    return f"{_tag(name, {'type': kind, 'message': message})}{text}</{name}>"


def _dotted(file: str) -> str:
    """`suites/files.test.yml` as `suites.files.test`."""
    path = file.replace("\\", "/")
    stem, dot, extension = path.rpartition(".")
    if dot and "/" not in extension:
        path = stem
    return ".".join(part for part in path.split("/") if part not in ("", ".", ".."))


def _count_attributes(counts: list[int]) -> dict[str, str]:
    names = ("tests", "failures", "errors", "skipped")
    return {name: str(count) for name, count in zip(names, counts, strict=True)}


def _seconds(seconds: float) -> str:
    return f"{seconds:.3f}"


def _tag(name: str, attributes: dict[str, str], *, is_empty: bool = False) -> str:
    # Parsers turn a line break in an attribute into a space, so it is shown as an escape.
    shown = ((key, defused_markers(visible(value))) for key, value in attributes.items())
    written = "".join(f' {key}="{_escaped(value)}"' for key, value in shown)
    return f"<{name}{written}{'/' if is_empty else ''}>"


def _text(lines: list[DiffLine]) -> str:
    return _escaped(defused("\n".join(line.text for line in lines)))


def _escaped(text: str) -> str:
    """Text for an element or an attribute; `visible` escapes all that XML 1.0 forbids."""
    text = visible(text, keep_newlines=True)
    for char, entity in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ('"', "&quot;")):
        text = text.replace(char, entity)
    return text
