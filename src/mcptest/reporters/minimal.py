"""The shortest report: a line for each failure, and one line at the end."""

from __future__ import annotations

from mcptest.core.results import FATAL
from mcptest.core.text import defuse, excerpt, visible
from mcptest.reporters.run_model import CollectedRun
from mcptest.reporters.summary import (
    ending_line,
    not_run_line,
    percent_shown,
    percent_text,
    snapshot_counts,
    totals,
)
from mcptest.reporters.text import SeenFailures, case_place, case_title, diagnostic_line, headline

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["MinimalReporter"]

MAX_MESSAGE_CHARS = 400


class MinimalReporter(CollectedRun):
    """A listener that has a line for each problem."""

    def render(self) -> str:
        return defuse("\n".join([*self._problems(), self._last_line()]) + "\n")

    def _problems(self) -> Iterator[str]:
        for mistake in self.started.warnings:
            if mistake.severity == "error":
                yield diagnostic_line(mistake)
        seen = SeenFailures()
        for suite, result in self.failures():
            word = "FAIL" if result.status == "failed" else "ERROR"
            name, place = case_title(self.started, suite, result), case_place(suite, result)
            same_as = seen.first_like(result, f"same as {place}")
            yield f"{word} {place} {name}: {same_as or headline(result)}"
        for suite, result in self.not_run():
            reason = excerpt(result.reason, MAX_MESSAGE_CHARS)
            name = case_title(self.started, suite, result)
            yield f"NOT RUN {case_place(suite, result)} {name}: {reason}"
        yield from self._findings()
        if self.finished.broken_rules:
            listed = ", ".join(self.finished.broken_rules)
            yield f"RULES BROKEN {excerpt(listed, MAX_MESSAGE_CHARS)}"
        for gate in self.finished.missed_gates:
            yield f"GATE {excerpt(gate, MAX_MESSAGE_CHARS)}"
        if self.finished.fault is not None:
            yield f"ERROR {excerpt(self.finished.fault.message, MAX_MESSAGE_CHARS)}"

    def _findings(self) -> Iterator[str]:
        """The findings that must not be missed: those that fail the run or cast doubt on it."""
        for finding in self.finished.findings:
            if finding.kind in FATAL:
                yield f"FAIL {excerpt(finding.message, MAX_MESSAGE_CHARS)}"
            elif finding.kind == "shard_missing":
                yield f"NOTE {excerpt(finding.message, MAX_MESSAGE_CHARS)}"
            elif finding.kind == "tls_unverified":
                # Another program may have answered in place of the server.
                yield f"NOTE {visible(finding.server)}: {visible(finding.message)}"

    def _last_line(self) -> str:
        finished = self.finished
        parts = [totals(finished.summary, finished.duration_s)]
        if percent_shown(finished.coverage) is not None:
            parts.append(f"coverage {percent_text(finished.coverage)}")
        parts += snapshot_counts(finished.snapshots) if finished.snapshots else []
        parts += [not_run_line(finished), ending_line(self.started, finished)]
        return "; ".join(part for part in parts if part)
