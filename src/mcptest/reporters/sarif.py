"""The report for code scanning: SARIF 2.1.0, one result for each problem.

Events go in, one JSON document comes out. Failures and faults are located at the line of their
test, diagnostics at their own place, findings at the first file that ran against the server.
"""

from __future__ import annotations

import json
from types import MappingProxyType
from urllib.parse import quote

from mcptest.core.diagnostics import CODES
from mcptest.core.text import defuse_markers, excerpt, shorten, visible
from mcptest.matching.diff import show_sides
from mcptest.reporters.failure_text import case_name, case_title, headline, stable_server
from mcptest.reporters.run_model import CollectedRun
from mcptest.reporters.style import ending_line, times

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    Members = dict[str, object]

__all__ = ["SarifReporter", "location", "make_result", "render_sarif"]

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_MAX_MISMATCHES = 10
_MAX_TEXT_CHARS = 1_000
_MAX_SIDE_CHARS = 200

# Descriptions of rules; diagnostics have their own, and kinds of faults describe themselves.
_FAILED = "test-failed"
_RULES = {
    _FAILED: "A test found something other than what it expects.",
    "gate-missed": "A quality gate was not reached.",
    "run-interrupted": "The run did not come to its end.",
    "flaky-test": "A test passed only when it was tried again.",
    "test-not-run": "A declared test cannot be run by this version of mcptest.",
    "test-note": "A test passed, and something about it deserves a look.",
}


class SarifReporter(CollectedRun):
    """A listener that makes a result of each problem."""

    def __init__(self, tool_version: str) -> None:
        super().__init__()
        self._tool_version = tool_version

    def render(self) -> str:
        """The document of what has happened so far."""
        results = list(self._results())
        ids = list(dict.fromkeys(str(result["ruleId"]) for result in results))
        for result in results:
            result["ruleIndex"] = ids.index(str(result["ruleId"]))
        is_whole = self.finished.fault is None and not self.finished.interrupted
        invocation: Members = {"executionSuccessful": is_whole}
        if self.started.started_at:
            invocation["startTimeUtc"] = self.started.started_at
        rules = {rule: _description(rule) for rule in ids}
        return render_sarif(results, rules, invocation, self._tool_version)

    def _results(self) -> Iterator[Members]:
        for diagnostic in self.started.warnings:
            text = "\n".join(part for part in (diagnostic.message, diagnostic.help) if part)
            place = location(diagnostic.file, diagnostic.line, diagnostic.column)
            yield make_result(diagnostic.code, diagnostic.severity, text, place)
        yield from self._test_results()
        for finding in self.finished.findings:
            text = f"{finding.message}{times(finding.count)}\n{finding.quote}".strip()
            files = (suite.file for suite, _ in self.all_suites if suite.server == finding.server)
            file = next(files, "")
            at = location(file, 1) if file else self._anywhere()
            yield make_result(f"finding/{finding.kind}", "note", text, at)
        for gate in self.finished.missed_gates:
            yield make_result("gate-missed", "error", gate, self._anywhere())
        fault = self.finished.fault
        if fault is not None:
            text = "\n".join(part for part in (fault.message, fault.hint) if part)
            yield make_result(f"fault/{fault.kind}", "error", text, self._anywhere())
        if self.finished.interrupted:
            text = ending_line(self.started, self.finished)
            yield make_result("run-interrupted", "error", text, self._anywhere())

    def _test_results(self) -> Iterator[Members]:
        for suite, result in self.failures():
            rule = _FAILED if result.fault is None else f"fault/{result.fault.kind}"
            lines = [f"{case_title(self.started, suite, result)}: {headline(result)}"]
            for mismatch in result.mismatches[:_MAX_MISMATCHES]:
                sides = "expected {}, actual {}".format(*show_sides(mismatch, _MAX_SIDE_CHARS))
                lines.append(f"{excerpt(mismatch.path, _MAX_TEXT_CHARS)}: {sides}")
            lines += [f"note: {excerpt(note, _MAX_TEXT_CHARS)}" for note in result.notes]
            place = location(suite.file, result.line)
            members = make_result(rule, "error", "\n".join(lines), place)
            # The name, not the line: a test that moves is still the same.
            parts = (visible(suite.file), stable_server(suite), case_name(result))
            fingerprint = "#".join(part for part in parts if part)
            members["partialFingerprints"] = {"test/v1": fingerprint}
            yield members
        for suite, result in self.flaky():
            text = (
                f"{case_title(self.started, suite, result)}: passed on attempt {result.attempts:,}"
            )
            yield make_result("flaky-test", "warning", text, location(suite.file, result.line))
        level = "note" if self.finished.may_leave_out else "error"
        for suite, result in self.not_run():
            text = f"{case_title(self.started, suite, result)}: {result.reason}"
            yield make_result("test-not-run", level, text, location(suite.file, result.line))
        for suite, result in self.noted():
            for note in result.notes:
                text = f"{case_title(self.started, suite, result)}: {note}"
                yield make_result("test-note", "note", text, location(suite.file, result.line))

    def _anywhere(self) -> Members | None:
        """A location for results that have none: readers drop results without one."""
        return location(self.all_suites[0][0].file, 1) if self.all_suites else None


def render_sarif(
    results: list[Members],
    rules: dict[str, str],
    invocation: Members,
    tool_version: str,
    links: Mapping[str, str] = MappingProxyType({}),
    more: Mapping[str, Members] = MappingProxyType({}),
) -> str:
    """The document; `rules` are the descriptions of the rules by id, `links` pages about them.

    `more` are further members of rules.
    """
    described = [
        {
            "id": id,
            "shortDescription": {"text": text},
            **({"helpUri": links[id]} if id in links else {}),
            **more.get(id, {}),
        }
        for id, text in rules.items()
    ]
    driver = {"name": "mcptest", "version": tool_version, "rules": described}
    run: Members = {
        "tool": {"driver": driver},
        "invocations": [invocation],
        "columnKind": "unicodeCodePoints",
        "results": results,
    }
    document = {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}
    return defuse_markers(json.dumps(document, indent=1)) + "\n"


def _description(rule: str) -> str:
    text = _RULES.get(rule) or CODES.get(rule)
    if text:
        return text
    family, _, kind = rule.partition("/")
    broken = "broke a rule" if family == "finding" else "or the run failed"
    return f"The server {broken}: {kind.replace('_', ' ')}."


def make_result(rule: str, level: str, text: str, place: Members | None) -> Members:
    """One result, safe to display."""
    text = visible(shorten(text, 10 * _MAX_TEXT_CHARS), keep_newlines=True)
    # Together `](` would be a link.
    text = text.replace("](", "] (") or "(nothing is known)"
    members: Members = {"ruleId": visible(rule), "level": level, "message": {"text": text}}
    if place:
        members["locations"] = [place]
    return members


def location(file: str, line: int, column: int = 0) -> Members:
    """A place in a file; lines and columns count from 1."""
    path = quote(file.removeprefix("./").encode("utf-8", "surrogatepass"))
    artifact = {"uri": path, "uriBaseId": "%SRCROOT%"}
    if file.startswith("/"):
        artifact = {"uri": f"file://{path}"}
    place: Members = {"artifactLocation": artifact}
    if line > 0:
        place["region"] = {"startLine": line, **({"startColumn": column} if column > 0 else {})}
    return {"physicalLocation": place}
