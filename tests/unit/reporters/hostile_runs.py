"""Random runs in which every text from outside is hostile."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from hypothesis import strategies as st

from mcptest.core.coverage import KINDS, CoveredOffer, CoveredProperty, ServerCoverage
from mcptest.core.diagnostics import Diagnostic
from mcptest.core.events import Event, RunFinished, RunStarted, SuiteStarted
from mcptest.core.results import STATUSES, CaseResult, Evidence, Fault, Finding, LogLine, Mismatch
from mcptest.core.value_class import ABSENT
from mcptest.reporters.run_model import CollectedRun, summary_of

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["HostileRun", "hostile_runs", "joined", "replayed"]

# Each of these is the end, the start or the escape of something in one of the formats.
NASTY = [
    "\x00", "\x07", "\x1b[31m", "\x1b]0;title\x07", "\x7f", "\x85", "\x9b1m", "\r", "\n", "\r\n",
    "\t", "\ud800", "\udfff", "\ud83d", "\u2028", "\u202e", "\u2066", "\u200b", "\ufeff", "\ufffe",
    "\ufe0f", "🙂", "日本", "e\u0301", "x" * 5000, "]]>", "<!--", "-->", "--", "<script>", "</",
    "&amp;", "&#0;", "'", '"', "\\", "\\|", "|", "`", "```", "~~~", "# ", "## x", "#", "# SKIP",
    "# TODO", "\\# skip", "ok 1 - x", "not ok 2", "1..9", "TAP version 13", "Bail out!", "---",
    "...", "  ---", "  ...", "- ", ": ", "%", "%0A", "%25", ",", "::", "::error::x", "::endgroup::",
    "##[error]", "##vso[task]", "##teamcity[x]", "[a](http://b)", "![a](b)", "http://a.example",
    "@everyone", "{0}", "{", "}", "*", "_", "    ", " ", "",
]  # fmt: skip

texts = st.lists(st.sampled_from(NASTY) | st.text(max_size=6), max_size=4).map("".join)
counts = st.integers(0, 3)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=5,
)
sides = values | st.just(ABSENT)
tuples_of_texts = st.lists(texts, max_size=2).map(tuple)


class HostileRun(NamedTuple):
    """The events of a run, and the same as one value."""

    events: list[Event]
    run: CollectedRun


def replayed(reporter: Callable[[Event], None], hostile: HostileRun) -> None:
    for event in hostile.events:
        reporter(event)


def joined(text: str) -> str:
    """`text` as any JSON reader gives it back: two halves of a pair are one character."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")


@st.composite
def mismatches(draw: st.DrawFn) -> Mismatch:
    return Mismatch(
        path=draw(texts),
        expected=draw(sides),
        actual=draw(sides),
        message=draw(texts),
        hint=draw(texts),
    )


@st.composite
def faults(draw: st.DrawFn) -> Fault:
    evidence = Evidence(
        command=draw(tuples_of_texts),
        cwd=draw(texts),
        exit_status=draw(texts),
        stderr_tail=draw(texts),
        stdout_tail=draw(texts),
    )
    return Fault(
        kind=draw(st.sampled_from(["timeout", "spawn_failed"]) | texts),
        message=draw(texts),
        hint=draw(texts),
        effect=draw(st.sampled_from(["definite", "indefinite"])),
        evidence=evidence,
    )


@st.composite
def results(draw: st.DrawFn) -> CaseResult:
    status = draw(st.sampled_from(STATUSES))
    broken = status == "error"
    log = LogLine(at_s=0.5, direction=draw(st.sampled_from(["sent", "noise"])), text=draw(texts))
    return CaseResult(
        name=draw(texts),
        status=status,
        line=draw(counts),
        duration_s=draw(st.sampled_from([0.0, 0.0012, 75.0])),
        mismatches=tuple(draw(st.lists(mismatches(), max_size=2))) if status == "failed" else (),
        fault=draw(faults()) if broken else None,
        reason=draw(texts) if status != "passed" else "",
        sent=draw(texts),
        expected=draw(sides),
        actual=draw(sides),
        notes=draw(tuples_of_texts),
        stderr=draw(texts),
        tags=draw(tuples_of_texts),
        attempts=draw(st.integers(1, 2)),
        log=(log,) * draw(counts),
    )


@st.composite
def coverages(draw: st.DrawFn) -> ServerCoverage:
    kinds = st.sampled_from([kind.unit for kind in KINDS.values()])
    offers = []
    for kind in draw(st.lists(kinds, max_size=3)):
        names = draw(tuples_of_texts) if kind in ("tool", "prompt") else ()
        parts = tuple(CoveredProperty(name=name, calls=draw(counts)) for name in names)
        offer = CoveredOffer(kind=kind, name=draw(texts), calls=draw(counts), properties=parts)
        offers.append(offer)
    # The report keeps them by kind.
    order = [kind.unit for kind in KINDS.values()]
    offers.sort(key=lambda offer: order.index(offer.kind))
    return ServerCoverage(server=draw(texts), offers=tuple(offers))


@st.composite
def warnings(draw: st.DrawFn) -> Diagnostic:
    return Diagnostic(
        code="W001",
        severity="warning",
        file=draw(texts),
        line=draw(counts),
        column=1,
        message=draw(texts),
        help=draw(texts),
        source=draw(texts),
    )


@st.composite
def findings(draw: st.DrawFn) -> Finding:
    return Finding(
        kind=draw(st.sampled_from(["crlf", "unknown_id"])),
        server=draw(texts),
        message=draw(texts),
        quote=draw(texts),
        count=draw(st.integers(1, 3)),
    )


@st.composite
def hostile_runs(draw: st.DrawFn) -> HostileRun:
    """A whole run: with failures of every kind, or one in which no test could run."""
    fault = draw(st.none() | st.none() | st.none() | faults())
    suites = [] if fault else draw(st.lists(st.lists(results(), max_size=3), max_size=3))
    run = CollectedRun()
    run.all_suites = [
        (
            SuiteStarted(
                name=draw(texts),
                file=draw(texts),
                format="conductor",
                server=draw(texts),
                total=len(cases),
            ),
            cases,
        )
        for cases in suites
    ]
    summary = summary_of(case for cases in suites for case in cases)
    run.started = RunStarted(
        started_at="2026-01-01T00:00:00Z",
        server=draw(texts),
        suites=len(suites),
        total=summary.total,
        warnings=tuple(draw(st.lists(warnings(), max_size=2))),
    )
    run.last = RunFinished(
        summary=summary,
        duration_s=draw(st.sampled_from([0.0, 1.5])),
        findings=tuple(draw(st.lists(findings(), max_size=2))),
        fault=fault,
        interrupted=draw(st.booleans()) and not fault,
        interrupted_in=draw(texts),
        bailed=draw(st.booleans()),
        coverage=tuple(draw(st.lists(coverages(), max_size=2))),
        missed_gates=draw(tuples_of_texts),
    )
    return HostileRun(list(run.replay()), run)
