"""The report for CI systems: JUnit XML, with the text of the terminal report inside.

Events go in, one XML 1.0 document comes out. It needs no XML library, only escaping. Characters
that XML forbids are written as visible escapes.
"""

from __future__ import annotations

from mcptest.core.diagnostics import render_diagnostic
from mcptest.core.events import RunFinished, RunStarted, SuiteStarted
from mcptest.core.results import CaseResult, Fault, Summary
from mcptest.core.text import defuse, defuse_markers, shorten, visible
from mcptest.reporters.failure_text import fault_headline, place_line, render_result, stable_server
from mcptest.reporters.run_model import CollectedRun, summary_of
from mcptest.reporters.style import not_run_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcptest.core.results import Status

__all__ = ["JunitReporter", "render_suites"]

# Lines do not wrap in a file, so a caret line fits below any value that is shown whole.
_COLUMNS = 300
_MAX_FINDINGS = 100
_MAX_FINDING_CHARS = 400


class JunitReporter(CollectedRun):
    """A listener that makes a test case of each case."""

    def render(self) -> str:
        """The document of what has happened so far."""
        finished = self.finished
        suites = [*self.all_suites, *self._run_suite()]
        results = [result for _, results in suites for result in results]
        attributes = {
            "name": "mcptest",
            **_counts(results),
            "time": _seconds(finished.duration_s),
        }
        if self.started.started_at:
            attributes["timestamp"] = self.started.started_at
        # JUnit has no place for findings about the run, so they are properties of the first suite.
        properties = [
            (f"finding.{each.kind}", shorten(f"{each.server}: {each.message}", _MAX_FINDING_CHARS))
            for each in finished.findings[:_MAX_FINDINGS]
        ]
        lines = ['<?xml version="1.0" encoding="UTF-8"?>', _tag("testsuites", attributes)]
        for suite, results in suites:
            lines += self._suite_lines(suite, results, properties)
            properties = []
        return "\n".join([*lines, "</testsuites>", ""])

    def _run_suite(self) -> list[tuple[SuiteStarted, list[CaseResult]]]:
        """Problems of the whole run, as cases: a report without cases looks like success."""
        finished, results = self.finished, list[CaseResult]()
        if finished.fault is not None:
            results.append(_problem("the tests can be run", fault=finished.fault))
        else:
            if finished.interrupted:
                message = f"{finished.summary.total} of {self.started.total} tests ran"
                fault = Fault(kind="interrupted", message=message)
                results.append(_problem("the run was completed", fault=fault))
            results += [_problem("the gate is reached", gate) for gate in finished.missed_gates]
            if finished.broken_rules:
                listed = f"rules broken: {', '.join(finished.broken_rules)}"
                results.append(_problem("no rule is broken", listed))
            if finished.not_run and not finished.may_leave_out:
                results.append(_problem("every declared test can be run", not_run_line(finished)))
        suite = SuiteStarted(name="mcptest", file="", format="", server="", total=len(results))
        return [(suite, results)] if results else []

    def _suite_lines(
        self,
        suite: SuiteStarted,
        results: Sequence[CaseResult],
        properties: Sequence[tuple[str, str]],
    ) -> list[str]:
        server = stable_server(suite)
        attributes = {"name": f"{suite.name} on {server}" if server else suite.name}
        if suite.file:
            attributes["file"] = suite.file
        attributes |= _counts(results)
        attributes["time"] = _seconds(sum(result.duration_s for result in results))
        if started_at := suite.started_at or self.started.started_at:
            attributes["timestamp"] = started_at
        # Readers group by class; a file can have tests of several servers.
        class_ = ".".join(part for part in (_class_name(suite.file), server) if part) or "mcptest"
        written = _properties(properties)
        return [
            f"  {_tag('testsuite', attributes)}",
            *([f"    {written}"] if written else []),
            *(self._case_element(result, suite.file, class_) for result in results),
            "  </testsuite>",
        ]

    def _case_element(self, result: CaseResult, file: str, class_: str) -> str:
        attributes = {"name": result.name, "classname": class_}
        if file:
            attributes |= {"file": file, "line": str(result.line)}
        attributes["time"] = _seconds(result.duration_s)
        # What JUnit has no element for.
        pairs = [("tag", tag) for tag in result.tags]
        if result.attempts > 1:
            pairs += [("attempts", str(result.attempts)), ("flaky", str(result.is_flaky).lower())]
        if result.repeats > 1:
            pairs.append(("repeats", str(result.repeats)))
        if result.not_run:
            pairs.append(("not_run", "true"))
        if result.trace_id:
            pairs.append(("trace_id", result.trace_id))
        if result.status == "passed":
            pairs += [("note", note) for note in result.notes]
        more: list[str] = []
        if result.fault is not None and result.fault is self.finished.fault:
            # The diagnostics that kept the run from beginning.
            for diagnostic in self.started.warnings:
                more += ["", *render_diagnostic(diagnostic).split("\n")]
        inner = [part for part in (_properties(pairs), _verdict(result, file, more)) if part]
        inner += _earlier_attempts(result)
        if not inner:
            return f"    {_tag('testcase', attributes, is_empty=True)}"
        body = "".join(f"      {part}\n" for part in inner)
        return f"    {_tag('testcase', attributes)}\n{body}    </testcase>"


def render_suites(
    suites: Sequence[tuple[SuiteStarted, list[CaseResult]]],
    *,
    started_at: str = "",
    server: str = "",
    total: int = 0,
    duration_s: float = 0.0,
    interrupted: bool = False,
    fault: Fault | None = None,
) -> str:
    """The document of results that are not of a run of tests, such as those of a scan."""
    reporter = JunitReporter()
    reporter.started = RunStarted(
        started_at=started_at, server=server, suites=len(suites), total=total
    )
    reporter.all_suites = list(suites)
    reporter.last = RunFinished(
        summary=Summary(), duration_s=duration_s, interrupted=interrupted, fault=fault
    )
    return reporter.render()


def _problem(name: str, reason: str = "", fault: Fault | None = None) -> CaseResult:
    status: Status = "failed" if fault is None else "error"
    return CaseResult(name=name, status=status, line=0, reason=reason, fault=fault)


def _properties(pairs: Sequence[tuple[str, str]]) -> str:
    tags = [
        _tag("property", {"name": name, "value": value}, is_empty=True) for name, value in pairs
    ]
    return f"<properties>{''.join(tags)}</properties>" if tags else ""


def _verdict(result: CaseResult, file: str, more: Sequence[str]) -> str:
    if result.status == "skipped":
        return _tag("skipped", {"message": result.reason} if result.reason else {}, is_empty=True)
    if result.status == "passed":
        return ""
    lines = [line.text for line in render_result(result, columns=_COLUMNS, verbose=True)]
    lines += more
    place = [place_line(file, result.line).text] if file else []
    text = _escape(defuse("\n".join([*place, *lines])))
    name = "error" if result.status == "error" else "failure"
    if name == "error" and result.fault is not None:
        attributes = {"type": result.fault.kind, "message": fault_headline(result.fault)}
    else:
        message = next((line for line in lines if line), "")
        attributes = {"type": "mismatch" if result.mismatches else "failed", "message": message}
    return f"{_tag(name, attributes)}{text}</{name}>"


def _earlier_attempts(result: CaseResult) -> list[str]:
    """The failed attempts before the last one, as Maven Surefire writes them.

    A test that passed in the end has flaky failures, one that failed has failures of reruns.
    """
    lead = "flaky" if result.status == "passed" else "rerun"
    elements = []
    for each in result.earlier:
        name = f"{lead}{'Error' if each.kind else 'Failure'}"
        tag = _tag(name, {"type": each.kind or "mismatch", "message": each.message})
        trace = _escape(defuse(each.message))
        elements.append(f"{tag}<stackTrace>{trace}</stackTrace></{name}>")
    return elements


def _class_name(file: str) -> str:
    """`suites/files.test.yml` as `suites.files.test`."""
    path = file.replace("\\", "/")
    stem, dot, extension = path.rpartition(".")
    if dot and "/" not in extension:
        path = stem
    return ".".join(part for part in path.split("/") if part not in ("", ".", ".."))


def _counts(results: Sequence[CaseResult]) -> dict[str, str]:
    summary = summary_of(results)
    counts = {"tests": summary.total, "failures": summary.failed}
    counts |= {"errors": summary.errors, "skipped": summary.skipped}
    return {name: str(count) for name, count in counts.items()}


def _seconds(seconds: float) -> str:
    return f"{seconds:.3f}"


def _tag(name: str, attributes: dict[str, str], *, is_empty: bool = False) -> str:
    # Parsers turn a line break in an attribute into a space, so it is shown as an escape.
    shown = ((key, defuse_markers(visible(value))) for key, value in attributes.items())
    written = "".join(f' {key}="{_escape(value)}"' for key, value in shown)
    return f"<{name}{written}{'/' if is_empty else ''}>"


def _escape(text: str) -> str:
    """Text for an element or an attribute; `visible` escapes all that XML 1.0 forbids."""
    text = visible(text, keep_newlines=True)
    for char, entity in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ('"', "&quot;")):
        text = text.replace(char, entity)
    return text
