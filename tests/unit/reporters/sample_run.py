"""One run with something of everything, for the tests of reports that are read whole."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcptest.core.coverage import CoveredOffer, CoveredProperty, ServerCoverage
from mcptest.core.diagnostics import Diagnostic
from mcptest.core.events import Event, RunFinished, RunStarted, SuiteStarted
from mcptest.core.results import CaseResult, Evidence, Fault, Finding, Mismatch
from mcptest.core.value_class import ABSENT
from mcptest.reporters.run_model import CollectedRun, failed_run, summary_of

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Protocol

    class Rendering(Protocol):
        def __call__(self, event: Event) -> None: ...
        def render(self) -> str: ...


FILE = "tests/files.test.mcp.yml"
PASSED = CaseResult(name="lists the tools", status="passed", line=4, duration_s=0.002)
WRONG = Mismatch(path="result.n", expected=1, actual="one", message="differs", hint="it is a text")
MISSING = Mismatch(path="result.m", expected={"a": 1}, actual=ABSENT, message="is missing")
FAILED = CaseResult(
    name="adds", status="failed", line=9, duration_s=0.003, mismatches=(WRONG, MISSING)
)
GONE = Fault(
    kind="exited_during_call",
    message="the server exited before it answered",
    hint="look at its stderr",
    effect="indefinite",
    evidence=Evidence(
        command=("node", "my server.js"),
        cwd="/srv",
        exit_status="exited with 1",
        stderr_tail="Error: boom\n",
    ),
)
BROKEN = CaseResult(name="divides", status="error", line=14, duration_s=0.5, fault=GONE)
SKIPPED = CaseResult(name="sleeps", status="skipped", line=20, reason="too slow")
FLAKY = PASSED.but(name="sometimes works", line=25, attempts=2, tags=("net",))
WARNING = Diagnostic(
    code="W001", severity="warning", file=FILE, line=7, column=5, message="a slip", help="mend it"
)
MISTAKE = Diagnostic(
    code="F006", file="a.yml", line=3, column=5, message="unknown key", help="remove it"
)
FINDING = Finding(kind="crlf", server="Files", message="ends lines with CRLF", quote="x", count=2)
COVERAGE = ServerCoverage(
    server="Files",
    offers=(
        CoveredOffer(
            kind="tool",
            name="add",
            calls=3,
            properties=(
                CoveredProperty(name="a", calls=3),
                CoveredProperty(name="b", calls=0),
            ),
        ),
        CoveredOffer(kind="tool", name="drop", calls=0),
        CoveredOffer(kind="prompt", name="ask", calls=0),
    ),
)


def run_of(*results: CaseResult, file: str = FILE, **fields: Any) -> CollectedRun:
    """A run of one suite; `fields` are those of its end."""
    run = CollectedRun()
    run.started = RunStarted(
        started_at="2026-01-01T00:00:00Z", server="Files", suites=1, total=len(results)
    )
    suite = SuiteStarted(
        name="Files", file=file, format="conductor", server="Files", total=len(results)
    )
    run.all_suites = [(suite, list(results))]
    end = RunFinished(summary=summary_of(results), duration_s=0.51)
    run.last = end.but(**fields)
    return run


def full_run() -> CollectedRun:
    run = run_of(
        PASSED,
        FAILED,
        BROKEN,
        SKIPPED,
        FLAKY,
        FAILED.but(name="adds again", line=30),
        findings=(FINDING,),
        coverage=(COVERAGE,),
        missed_gates=("coverage is 40 %, wanted 80 %",),
    )
    run.started = run.started.but(warnings=(WARNING,))
    return run


def bad_file_run() -> tuple[Event, ...]:
    fault = Fault(kind="bad_file", message="1 mistake in the files given")
    return failed_run(fault, [MISTAKE], "2026-01-01T00:00:00Z")


def rendered(reporter: Rendering, events: Iterable[Event]) -> str:
    for event in events:
        reporter(event)
    return reporter.render()
