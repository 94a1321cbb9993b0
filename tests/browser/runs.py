"""Runs to make pages of: an ordinary one, a large one, and one in which every text is given."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcptest.core.coverage import CoveredOffer, CoveredProperty, ServerCoverage
from mcptest.core.diagnostics import Diagnostic
from mcptest.core.events import CaseFinished, RunFinished, RunStarted, SuiteStarted
from mcptest.core.results import CaseResult, Evidence, Fault, Finding, LogLine, Mismatch, Summary
from mcptest.reporters.html.page import HtmlReporter

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mcptest.core.events import Event

ANSWER = {"jsonrpc": "2.0", "id": 3, "result": {"content": [{"type": "text", "text": "Rainy"}]}}
WRONG = Mismatch(
    path="result.content[0].text",
    expected="Sunny in Paris",
    actual="Rainy in Paris",
    message="differs",
    hint="look at the city",
)
LOG = (
    LogLine(at_s=0.0001, direction="sent", text='{"jsonrpc":"2.0","id":3,"method":"tools/call"}'),
    LogLine(at_s=0.004, direction="stderr", text="looking up Paris"),
    LogLine(at_s=0.01, direction="noise", text="DEBUG: cache miss"),
    LogLine(at_s=0.0123, direction="received", text='{"jsonrpc":"2.0","id":3,"result":{}}'),
)
GONE = Fault(
    kind="exited_during_call",
    message="the server exited",
    hint="read its last words",
    effect="indefinite",
    evidence=Evidence(
        command=("python3", "server.py"),
        cwd="/srv",
        exit_status="exited with 1",
        stderr_tail="Traceback\nMemoryError\n",
        stdout_tail='{"jsonrpc"',
    ),
)
COVERAGE = ServerCoverage(
    server="Weather",
    offers=(
        CoveredOffer(
            kind="tool",
            name="forecast",
            calls=4,
            properties=(
                CoveredProperty(name="city", calls=4),
                CoveredProperty(name="days", calls=0),
            ),
        ),
        CoveredOffer(kind="prompt", name="summarise", calls=0),
    ),
)
WARNING = Diagnostic(
    code="W001",
    file="rain.test.mcp.yml",
    line=3,
    column=5,
    message="a slip",
    help="mend it",
    source="    performance: 3",
    width=11,
)


def page_of(events: Iterable[Event]) -> str:
    reporter = HtmlReporter("1.2.3")
    for event in events:
        reporter(event)
    return reporter.render()


def ordinary_run() -> list[Event]:
    """Every verdict once or more, in two suites; the failures come last."""
    passed = CaseResult(name="lists the tools", status="passed", line=4, duration_s=0.002, log=LOG)
    return [
        RunStarted(
            started_at="2026-01-01T12:00:00Z",
            server="Weather",
            suites=2,
            total=9,
            warnings=(WARNING,),
        ),
        _suite("Sunshine", "sun.test.mcp.yml"),
        CaseFinished(result=passed),
        CaseFinished(result=passed.but(name="finds Paris", tags=("slow", "europe"), line=14)),
        CaseFinished(result=passed.but(name="comes at last", attempts=3, line=24)),
        CaseFinished(result=passed.but(name="waits", status="skipped", reason="needs a network")),
        _suite("Rain", "rain.test.mcp.yml"),
        CaseFinished(
            result=passed.but(
                name="says what falls",
                status="failed",
                line=9,
                mismatches=(WRONG,),
                actual=ANSWER,
                stderr="looking up\n",
                notes=("a note",),
                tags=("europe",),
            )
        ),
        CaseFinished(result=passed.but(name="lives on", status="error", line=19, fault=GONE)),
        RunFinished(
            summary=Summary(passed=3, failed=1, errors=1, skipped=1, flaky=1),
            duration_s=2.5,
            bailed=True,
            findings=(
                Finding(kind="crlf", server="Weather", message="lines end in CR LF", quote='"\\r"'),
            ),
            coverage=(COVERAGE,),
            missed_gates=("coverage is 50 %, and 80 % are wanted",),
        ),
    ]


def large_run(suites: int, tests: int) -> list[Event]:
    """So many suites with so many tests in each; one test fails."""
    total = suites * tests
    events: list[Event] = [
        RunStarted(started_at="2026-01-01T12:00:00Z", server="Weather", suites=suites, total=total)
    ]
    for suite in range(suites):
        events.append(_suite(f"Suite {suite}", f"folder/suite-{suite}.test.mcp.yml"))
        for test in range(tests):
            result = CaseResult(
                name=f"test number {suite}-{test} does what it should",
                status="passed",
                line=4 + 9 * test,
                duration_s=(test % 97) / 1000,
                tags=("fast",),
                log=LOG,
            )
            if (suite, test) == (0, 7):
                result = result.but(status="failed", mismatches=(WRONG,))
            events.append(CaseFinished(result=result))
    summary = Summary(passed=total - 1, failed=1)
    return [*events, RunFinished(summary=summary, duration_s=60.0)]


def run_of_texts(texts: Iterable[str]) -> list[Event]:
    """Each of these texts in every place of a report that a file or a server can fill."""
    texts = list(texts)
    events: list[Event] = [
        RunStarted(
            started_at=texts[0],
            server=" ".join(texts),
            suites=len(texts),
            total=len(texts) * 4,
            warnings=tuple(diagnostic_of(text) for text in texts),
        )
    ]
    for text in texts:
        events.append(SuiteStarted(name=text, file=text, format="conductor", server=text, total=4))
        events += [CaseFinished(result=result) for result in _results_of(text)]
    findings = (Finding(kind=each, server=each, message=each, quote=each) for each in texts)
    return [
        *events,
        RunFinished(
            summary=Summary(
                passed=len(texts), failed=len(texts), errors=len(texts), skipped=len(texts)
            ),
            duration_s=1.0,
            findings=tuple(findings),
            interrupted=True,
            interrupted_in=" ".join(texts),
            coverage=tuple(_coverage_of(text) for text in texts),
            missed_gates=tuple(texts),
        ),
    ]


def diagnostic_of(text: str) -> Diagnostic:
    return WARNING.but(code=text, file=text, message=text, help=text, source=text)


def fault_of(text: str) -> Fault:
    evidence = Evidence(
        command=(text,), cwd=text, exit_status=text, stderr_tail=text, stdout_tail=text
    )
    return Fault(kind=text, message=text, hint=text, evidence=evidence)


def _results_of(text: str) -> list[CaseResult]:
    directions = ("sent", "received", "stderr", "noise")
    log = tuple(LogLine(at_s=0.1, direction=each, text=text) for each in directions)  # type: ignore[arg-type]  # each is one of the four
    wrong = Mismatch(path=text, expected=text, actual=text + "!", message=text, hint=text)
    nested = wrong.but(path="result.x", expected={text: [text]}, actual=[{text: text}])
    passed = CaseResult(
        name=text,
        status="passed",
        line=1,
        reason=text,
        sent=text,
        notes=(text,),
        tags=(text,),
        stderr=text,
        log=log,
    )
    answer = {"result": {"x": [{text: text}], text: text}}
    return [
        passed,
        passed.but(status="skipped"),
        passed.but(status="failed", mismatches=(wrong, nested), actual=answer),
        passed.but(status="error", fault=fault_of(text), log=(), actual=answer),
    ]


def _coverage_of(text: str) -> ServerCoverage:
    parts = (CoveredProperty(name=text, calls=1), CoveredProperty(name=text, calls=0))
    offer = CoveredOffer(kind="tool", name=text, calls=0, properties=parts)
    return ServerCoverage(server=text, offers=(offer,))


def _suite(name: str, file: str) -> SuiteStarted:
    return SuiteStarted(name=name, file=file, format="conductor", server="Weather", total=0)
