"""The report for TAP harnesses: version 14, with a YAML block for each test that did not just pass.

A name that contains `# SKIP` must not become a directive: neither for a reader of version 14, where
a backslash is enough, nor for an older one, where it is not. The values in the YAML are JSON, which
every YAML reader accepts.
"""

from __future__ import annotations

import json
import re

from mcptest.core.results import CaseResult
from mcptest.core.text import defuse, excerpt, shorten, show_json, visible
from mcptest.core.value_class import ABSENT
from mcptest.matching.diff import cut_sides
from mcptest.reporters.failure_text import case_title, diagnostic_line, headline, shown_server
from mcptest.reporters.run_model import CollectedRun
from mcptest.reporters.style import coverage_lines, ending_line, not_run_line, times

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcptest.core.events import SuiteStarted
    from mcptest.core.results import Fault, Mismatch

__all__ = ["TapReporter"]

_MAX_MISMATCHES = 20
_MAX_VALUE_CHARS = 2_000
_MAX_TAIL_CHARS = 2_000

_DIRECTIVE = re.compile(r"#(?=\s*(?:skip|todo))", re.IGNORECASE)
# Escaped for readers of version 14, and for all readers.
_HASH = "\\#"
_NO_HASH = "\\\\u0023"


class TapReporter(CollectedRun):
    """A listener that makes a test point of each case."""

    def render(self) -> str:
        """The document of what has happened so far."""
        points = [*self._points(), *self._run_points()]
        lines = ["TAP version 14", f"1..{len(points)}"]
        for number, (is_ok, title, block) in enumerate(points, 1):
            lines += [f"{'ok' if is_ok else 'not ok'} {number} - {title}", *block]
        finished, ending = self.finished, ending_line(self.started, self.finished)
        for finding in finished.findings:
            message = excerpt(finding.message, _MAX_TAIL_CHARS)
            lines.append(f"# note: {message}{times(finding.count)}")
        lines += [f"# {line}" for line in coverage_lines(finished.coverage)]
        if finished.not_run and finished.may_leave_out:
            lines.append(f"# {not_run_line(finished)}")
        if finished.bailed:
            lines.append(f"# {ending}")
        if finished.fault is not None:
            lines.append(f"Bail out! {excerpt(finished.fault.message, _MAX_TAIL_CHARS)}")
        elif finished.interrupted:
            lines.append(f"Bail out! {ending}")
        return defuse("\n".join(lines) + "\n")

    def _points(self) -> Iterator[tuple[bool, str, list[str]]]:
        for suite, result in self.results():
            title = _escape_title(case_title(self.started, suite, result))
            if result.status == "skipped":
                reason = excerpt(result.reason, _MAX_TAIL_CHARS)
                # An older reader would take the first # for that of the directive.
                title = f"{title.replace(_HASH, _NO_HASH)} # SKIP {_escape_title(reason)}".rstrip()
            is_ok = result.status in ("passed", "skipped")
            server = shown_server(self.started, suite)
            yield is_ok, title, _block(_case_members(suite, result, server))

    def _run_points(self) -> Iterator[tuple[bool, str, list[str]]]:
        """Problems of the whole run, as points: a document without points looks like success."""
        finished, members = self.finished, dict[str, object]()
        if finished.fault is not None:
            mistakes = [diagnostic_line(each) for each in self.started.warnings]
            members = {
                **_fault_members(finished.fault),
                **({"files": mistakes} if mistakes else {}),
            }
            yield False, "the tests can be run", _block(members)
        if finished.broken_rules:
            rules = finished.broken_rules
            listed = excerpt(", ".join(rules), _MAX_TAIL_CHARS)
            members = {"message": f"rules broken: {listed}", "severity": "fail"}
            found = [
                excerpt(each.message, _MAX_TAIL_CHARS)
                for each in finished.findings
                if each.kind in rules
            ]
            members |= {"findings": found} if found else {}
            yield False, "no rule is broken", _block(members)
        for gate in finished.missed_gates:
            message = excerpt(gate, _MAX_TAIL_CHARS)
            yield False, "the gate is reached", _block({"message": message, "severity": "fail"})
        if finished.not_run and not finished.may_leave_out:
            members = {"message": not_run_line(finished), "severity": "fail"}
            yield False, "every declared test can be run", _block(members)
        if finished.interrupted:
            ending = ending_line(self.started, finished)
            members = {"message": ending, "severity": "error"}
            yield False, "the run was completed", _block(members)


def _escape_title(text: str) -> str:
    text = text.replace("\\", "\\\\")
    return _DIRECTIVE.sub(lambda _: _NO_HASH, text).replace("#", _HASH)


def _case_members(suite: SuiteStarted, result: CaseResult, server: str) -> dict[str, object]:
    members: dict[str, object] = {}
    if result.status in ("failed", "error"):
        members |= {
            "message": headline(result),
            "severity": "fail" if result.status == "failed" else "error",
            "suite": visible(suite.name),
            **({"server": server} if server else {}),
            "file": visible(suite.file),
            "line": result.line,
            "duration_ms": round(result.duration_s * 1000, 3),
        }
        if result.mismatches:
            shown_ones = result.mismatches[:_MAX_MISMATCHES]
            members["mismatches"] = [_mismatch_members(each) for each in shown_ones]
        if result.fault is not None:
            members |= _fault_members(result.fault)
        if result.stderr:
            members["stderr"] = visible(result.stderr[-_MAX_TAIL_CHARS:], keep_newlines=True)
    if result.attempts > 1:
        members |= {"attempts": result.attempts, "flaky": result.is_flaky}
    if result.trace_id:
        members["trace_id"] = visible(result.trace_id)
    if result.tags:
        members["tags"] = [visible(tag) for tag in result.tags]
    if result.notes:
        members["notes"] = [excerpt(note, _MAX_TAIL_CHARS) for note in result.notes]
    return members


def _fault_members(fault: Fault) -> dict[str, object]:
    members: dict[str, object] = {
        "message": excerpt(fault.message, _MAX_TAIL_CHARS),
        "severity": "error",
        "kind": visible(fault.kind),
    }
    rows = {"hint": fault.hint, "ended": fault.evidence.exit_status}
    members |= {name: excerpt(text, _MAX_TAIL_CHARS) for name, text in rows.items() if text}
    tails = {
        "server_stderr": fault.evidence.stderr_tail,
        "server_stdout": fault.evidence.stdout_tail,
    }
    for name, tail in tails.items():
        if tail:
            members[name] = visible(tail[-_MAX_TAIL_CHARS:], keep_newlines=True)
    return members


def _mismatch_members(mismatch: Mismatch) -> dict[str, object]:
    """A mismatch with scalars as they are and other values as JSON text."""
    members: dict[str, object] = {"path": visible(mismatch.path)}
    sides = cut_sides(mismatch, _MAX_VALUE_CHARS)
    for name, side in zip(("expected", "actual"), sides, strict=True):
        if side is not ABSENT:
            members[name] = _scalar(side)
    members["message"] = excerpt(mismatch.message, _MAX_TAIL_CHARS)
    if mismatch.hint:
        members["hint"] = excerpt(mismatch.hint, _MAX_TAIL_CHARS)
    return members


def _scalar(value: object) -> object:
    if isinstance(value, str):
        return visible(shorten(value, _MAX_VALUE_CHARS), keep_newlines=True)
    if value is None or isinstance(value, bool | int):
        return value
    return show_json(value, _MAX_VALUE_CHARS)


def _block(members: dict[str, object]) -> list[str]:
    """The YAML block: one member per line, one mismatch per line, every value as JSON."""
    if not members:
        return []
    lines = ["  ---"]
    for name, value in members.items():
        if isinstance(value, list):
            lines.append(f"  {name}:")
            lines += [f"    - {_json(item)}" for item in value]
        else:
            lines.append(f"  {name}: {_json(value)}")
    return [*lines, "  ..."]


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
