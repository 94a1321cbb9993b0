"""The HTML report: elements, and the page of a run."""

from __future__ import annotations

import base64
import hashlib
import html
import re
from html.parser import HTMLParser

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcptest.core.coverage import CoveredOffer, CoveredProperty, ServerCoverage
from mcptest.core.diagnostics import Diagnostic
from mcptest.core.events import CaseFinished, Event, RunFinished, RunStarted, SuiteStarted
from mcptest.core.results import (
    CaseResult,
    Evidence,
    ExitCode,
    Fault,
    Finding,
    LogLine,
    Mismatch,
    Summary,
)
from mcptest.core.text import visible
from mcptest.core.value_class import ABSENT
from mcptest.reporters.html import Markup, cut, element, escaped, joined
from mcptest.reporters.html.page import HtmlReporter, render_failure_page


def test_text_in_an_element_is_escaped_and_markup_is_not() -> None:
    inner = element("b", "a < b & 'c' \"d\"")
    assert inner == "<b>a &lt; b &amp; &#39;c&#39; &quot;d&quot;</b>"
    assert element("p", inner, "<i>") == f"<p>{inner}&lt;i&gt;</p>"


def test_markup_that_was_put_into_a_plain_text_is_text_again() -> None:
    assert element("p", f"{Markup('<b>')}") == "<p>&lt;b&gt;</p>"


def test_attributes_are_quoted_named_as_html_names_them_and_left_out_when_false() -> None:
    made = element("a", class_="x", aria_label='"><script>', hidden=True, open=False, tabindex=0)
    expected = '<a class="x" aria-label="&quot;&gt;&lt;script&gt;" hidden tabindex="0"></a>'
    assert made == expected


def test_an_element_that_has_no_end_is_written_without() -> None:
    assert element("input", type="search") == '<input type="search">'


def test_parts_are_joined_with_the_text_between_them() -> None:
    assert joined([Markup("<b>"), "<"], ", ") == "<b>, &lt;"


def test_long_text_is_cut_in_the_middle() -> None:
    assert cut("a" * 50 + "b" * 50, 40) == "a" * 19 + " …72 more… " + "b" * 9


@given(st.text(st.characters() | st.sampled_from("<>&\"'#:[")))
def test_a_reader_sees_the_text_that_was_escaped(text: str) -> None:
    made = escaped(text)
    assert html.unescape(made) == visible(text)
    assert not set(made) & set("<>\"'")
    assert "##" not in made
    assert "::" not in made


STARTED = RunStarted(started_at="2026-01-01T00:00:00Z", server="Files", suites=1, total=4)
SUITE = SuiteStarted(name="Tools", file="a.yml", format="conductor", server="Files", total=4)
PASSED = CaseResult(name="lists the tools", status="passed", line=4, duration_s=0.0012)
WRONG = Mismatch(path="result.n", expected="Sunny", actual="Sunna", message="differs", hint="h")
GONE = Fault(
    kind="timeout",
    message="no answer within 30 s",
    hint="raise it",
    effect="indefinite",
    evidence=Evidence(
        command=("node", "x.js"),
        cwd="/srv",
        exit_status="exited with 1",
        stderr_tail="err 1\nerr 2\n",
        stdout_tail="out",
    ),
)
DONE = RunFinished(summary=Summary(passed=1), duration_s=1.5)
SLIP = Diagnostic(code="W001", file="a.yml", line=3, column=5, message="a slip", help="mend it")
VOID = {"meta", "input"}


class Reader(HTMLParser):
    """Reads a page as a browser does: the text of it, its tags, and whether they nest."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.pieces: list[str] = []
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] not in ("style", "script"):
            self.pieces.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.pieces).split())


def rendered(*events: Event) -> str:
    report = HtmlReporter("0.1.0")
    for event in events:
        report(event)
    return report.render()


def text_of(*events: Event) -> str:
    return Reader(rendered(*events)).text


def case(**fields: object) -> CaseFinished:
    return CaseFinished(result=PASSED.but(**fields))


@pytest.mark.parametrize(
    ("finished", "headline", "status"),
    [
        (DONE, "Passed", ExitCode.PASSED),
        (DONE.but(summary=Summary(passed=1, failed=1)), "Failed", ExitCode.FAILED),
        (DONE.but(summary=Summary(errors=1)), "Failed", ExitCode.FAILED),
        (DONE.but(fault=GONE), "No server", ExitCode.NO_SERVER),
        (DONE.but(missed_gates=("x",)), "Gate missed", ExitCode.GATE_MISSED),
        (DONE.but(summary=Summary(skipped=1)), "Nothing ran", ExitCode.NOTHING_SELECTED),
        (DONE.but(interrupted=True), "Interrupted", ExitCode.INTERRUPTED),
    ],
)
def test_the_banner_and_the_tab_say_the_verdict_and_what_the_exit_status_means(
    finished: RunFinished, headline: str, status: ExitCode
) -> None:
    page = rendered(STARTED, SUITE, case(), finished)
    assert f"<h1>{headline}</h1>" in page
    assert f"<title>{headline}: " in page
    assert f"exit status {status.value}: " in Reader(page).text


def test_the_banner_has_counts_server_start_and_duration() -> None:
    summary = Summary(passed=1_200, failed=1, errors=2, skipped=3, flaky=4)
    text = text_of(STARTED, DONE.but(summary=summary))
    assert "1,206 tests 1,200 passed 1 failed 2 errors 3 skipped 4 flaky" in text
    assert "server Files started 2026-01-01T00:00:00Z took 1.5 s" in text


def test_a_failed_test_is_shown_in_full_before_any_list() -> None:
    answer = {"result": {"n": "Sunna", "m": 1}}
    log = (
        LogLine(at_s=0.0001, direction="sent", text='{"id":1}'),
        LogLine(at_s=0.0123, direction="received", text='{"result":1}'),
        LogLine(at_s=0.02, direction="stderr", text="oh"),
        LogLine(at_s=0.03, direction="noise", text="hm"),
    )
    absent = WRONG.but(path="result.k", actual=ABSENT, message="is missing", hint="")
    fields = {"mismatches": (WRONG, absent), "actual": answer, "notes": ("n",), "stderr": "e\n"}
    text = text_of(STARTED, SUITE, case(), case(name="adds", status="failed", log=log, **fields))
    card = text[text.index("Failures failed adds") : text.index("Tests Tools")]
    for part in (
        "Tools · a.yml:4",
        'result.n: differs expected "Sunny" actual "Sunna" ^ hint h',
        '- "n": "Sunny" + "n": "Sunna"',
        "Table of 2 mismatches path expected actual why hint",
        'result.k "Sunny" (nothing) is missing',
        "Message log (4 lines) at what text",
        '0.1 ms → sent {"id":1}',
        '12.3 ms ← received {"result":1}',
        "20.0 ms stderr oh",
        "30.0 ms noise hm",
        "Standard error during this test e",
        "note: n",
    ):
        assert part in card
    assert "Request" not in card


def test_a_test_that_broke_has_its_fault_and_evidence() -> None:
    text = text_of(STARTED, SUITE, case(status="error", fault=GONE, sent='{"id":2}', actual={}))
    for part in (
        "timeout: no answer within 30 s",
        "hint raise it",
        "effect unknown",
        "ended exited with 1",
        "command node x.js",
        "folder /srv",
        "Last stderr err 1 err 2",
        "Last stdout out",
        'Request Sent {"id":2}',
        "Answer {}",
    ):
        assert part in text


def test_a_run_without_failures_has_no_section_for_them() -> None:
    text = text_of(STARTED, SUITE, case(), DONE)
    assert "Failures" not in text
    for section in ("Coverage", "Findings", "Warnings", "gate missed", "interrupted", "stopped"):
        assert section not in text


def test_a_row_has_status_name_tags_marks_and_duration() -> None:
    text = text_of(STARTED, SUITE, case(tags=("slow", "net"), attempts=3, notes=("x",)), DONE)
    assert "passed lists the tools flaky: passed at attempt 3 slow net 1 ms note: x" in text
    text = text_of(STARTED, SUITE, case(status="skipped", reason="needs a network"), DONE)
    assert "skipped lists the tools needs a network" in text
    text = text_of(STARTED, SUITE, case(status="failed", attempts=2), DONE)
    assert "failed lists the tools 2 attempts 1 ms" in text


def test_a_passed_test_has_its_first_messages() -> None:
    log = tuple(LogLine(at_s=0.0, direction="sent", text=f"m{n}.") for n in range(30))
    text = text_of(STARTED, SUITE, case(log=log), DONE)
    assert "m19." in text
    assert "m20." not in text
    assert "… 10 later lines left out of this report" in text


def test_durations_are_charted_slowest_first_and_by_size() -> None:
    tests = [case(name=f"n{ms}", duration_s=ms / 1000) for ms in (0, 2, 2, 50, 20_000)]
    skipped = case(name="later", status="skipped")
    page = rendered(STARTED, SUITE, *tests, skipped, DONE)
    text = Reader(page).text
    assert "test took n20000 20.0 s n50 50 ms n2 2 ms n2 2 ms n0 <1 ms" in text
    assert "under 1 ms 1 1 to 3 ms 2 3 to 10 ms 0" in text
    assert "10 s and more 1" in text
    assert '<rect width="100.0" height="8"></rect>' in page


def test_coverage_names_what_was_never_called_and_never_given() -> None:
    parts = (CoveredProperty(name="path", calls=2), CoveredProperty(name="head", calls=0))
    offers = (
        CoveredOffer(kind="tool", name="read", calls=2, properties=parts),
        CoveredOffer(kind="resourceTemplate", name="file:///{x}", calls=0),
    )
    full = ServerCoverage(server="Files", offers=offers)
    text = text_of(STARTED, DONE.but(coverage=(full, ServerCoverage(server="Bare"))))
    assert "50 %: 2 of 4 offers and input properties exercised" in text
    assert "tool read 2 given: path (2) never given: head" in text
    assert "resource template file:///{x} never called" in text
    assert "Bare This server offers nothing." in text


def test_findings_warnings_gates_and_stops_are_shown() -> None:
    finding = Finding(kind="crlf", server="Other", message="lines end oddly", quote='"q"', count=3)
    finished = DONE.but(findings=(finding,), missed_gates=("80 % are wanted",), bailed=True)
    text = text_of(STARTED.but(warnings=(SLIP,)), SUITE, case(), finished)
    assert 'crlf lines end oddly server: Other "q" 3' in text
    assert "error[W001]: a slip --> a.yml:3:5 = help: mend it" in text
    assert "gate missed: 80 % are wanted" in text
    assert "stopped after the first failure: 3 of 4 tests not run" in text
    text = text_of(STARTED, SUITE, case(), DONE.but(interrupted=True, interrupted_in="adds"))
    assert "interrupted: 1 of 4 tests ran" in text
    assert 'in the middle of "adds"; its call may have taken effect' in text


def test_a_report_without_a_last_event_says_interrupted_and_counts_what_it_has() -> None:
    text = text_of(STARTED, SUITE, case(attempts=2), case(status="error", fault=GONE))
    assert "Interrupted 2 tests 1 passed 1 error 1 flaky interrupted: 2 of 4 tests ran" in text


def test_a_run_in_which_no_test_could_run_has_no_suites_and_says_why() -> None:
    finished = RunFinished(summary=Summary(), duration_s=0.0, fault=GONE)
    text = text_of(STARTED, SUITE, case(status="error", fault=GONE), finished)
    assert "No server 0 tests timeout: no answer within 30 s" in text
    assert "Tools" not in text
    assert "Durations" not in text


def test_a_run_that_never_began_is_a_page_with_every_diagnostic() -> None:
    slips = [SLIP, SLIP.but(code="F006", message="unknown key")]
    text = Reader(render_failure_page("bad_file", "2 mistakes", slips, "0.1.0", "2026-01-01")).text
    assert "Nothing ran bad_file: 2 mistakes started 2026-01-01" in text
    assert "[W001]: a slip" in text
    assert "[F006]: unknown key" in text
    assert "made by mcptest 0.1.0" in text


def test_values_lists_and_outputs_that_would_swell_the_page_are_cut_and_counted() -> None:
    result = PASSED.but(
        status="failed",
        name="n" * 100_000,
        tags=("t",) * 30,
        notes=("x",) * 60,
        mismatches=(WRONG.but(expected="x" * 100_000, path="p" * 100_000),) * 300,
        stderr="line\n" * 10_000,
    )
    page = rendered(STARTED, SUITE, CaseFinished(result=result), DONE)
    assert len(page) < 1_000_000
    text = Reader(page).text
    for part in (
        "… and 10 more tags",
        "… and 10 more notes",
        "… and 100 more",
        "(… 98,000 more characters)",
        "… 9,800 earlier lines",
        "Table of 300 mismatches",
    ):
        assert part in text


@pytest.mark.long
@pytest.mark.slow
def test_failures_beyond_what_a_page_holds_keep_their_line_and_their_reason() -> None:
    wrong = WRONG.but(expected="x" * 100_000)
    large = case(status="failed", mismatches=(wrong,) * 200)
    page = rendered(STARTED, SUITE, *[large] * 20, DONE)
    assert len(page) < 7_000_000
    text = Reader(page).text
    hidden = 20 - page.count('class="failure failed"')
    assert 0 < hidden < 20
    assert f"… {hidden} more tests did not pass; the list below names them" in text
    assert page.count('<li class="failed"') == 20
    assert text.count("result.n: differs (and 199 more)") == hidden


@pytest.mark.slow
def test_logs_beyond_what_a_page_holds_are_counted() -> None:
    log = (LogLine(at_s=0.0, direction="received", text="x" * 5_000),) * 20
    page = rendered(STARTED, SUITE, *[case(log=log)] * 60, DONE)
    assert len(page) < 2_000_000
    kept = page.count("Message log")
    assert 0 < kept < 60
    assert f"The message logs of {60 - kept} tests are left out of this page." in page


def test_only_our_style_and_script_are_allowed_by_the_policy_and_by_nothing_else() -> None:
    page = rendered(STARTED, DONE)
    policy = re.findall(r'Content-Security-Policy" content="([^"]+)"', page)
    hashes = []
    for tag in ("script", "style"):
        (inner,) = re.findall(f"<{tag}>(.*?)</{tag}>", page, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(inner.encode()).digest()).decode()
        hashes.append(f"{tag}-src 'sha256-{digest}'")
    allowed = f"default-src 'none'; {'; '.join(hashes)}; base-uri 'none'; form-action 'none'"
    assert policy == [allowed]
    # The browser must know both before it reads anything else.
    assert page.encode().index(b'charset="utf-8"') < page.encode().index(b"<title>") < 1024


def test_our_script_makes_no_markup_of_texts_and_our_style_asks_for_nothing() -> None:
    page = rendered(STARTED, DONE)
    for word in ("innerHTML", "outerHTML", "insertAdjacent", "document.write", "eval(", "fetch("):
        assert word not in page
    assert "url(" not in page
    assert "@import" not in page
    assert "://" not in page


def test_no_line_of_the_page_is_a_command_to_a_ci_system() -> None:
    texts = "::error::x\n##[error]y\n###vso[z]\n##teamcity[a]"
    evidence = Evidence(stderr_tail=texts, stdout_tail=texts)
    page = rendered(SUITE, case(status="error", fault=GONE.but(evidence=evidence)), DONE)
    assert not any(line.lstrip().startswith("::") for line in page.split("\n"))
    assert not any(marker in page for marker in ("##[", "##vso[", "##teamcity["))
    assert "::error::x" in Reader(page).text


def test_the_same_events_give_the_same_text() -> None:
    events = [STARTED, SUITE, case(status="error", fault=GONE), case(), DONE]
    assert rendered(*events) == rendered(*events)


@pytest.mark.slow
@settings(max_examples=50, deadline=None)
@given(
    st.text(st.characters() | st.sampled_from("<>&\"'`=/!-$\x00\x1b\ud800\udfff\ufffe\n\r\u202e"))
)
def test_no_text_changes_what_the_page_is_made_of(text: str) -> None:
    """The tags and attribute names are those of the page with a harmless word instead."""
    flat = text.replace("\n", "")

    def skeleton(word: str) -> list[tuple[str, list[str]]]:
        wrong = WRONG.but(path="result.n", expected=1, actual={word: 1}, message=word, hint=word)
        finding = Finding(kind=word, server=word, message=word, quote=word)
        page = rendered(
            STARTED.but(started_at=word, server=word, warnings=(SLIP.but(message=word),)),
            SUITE.but(name=word, file=word, server=word),
            case(name=word, tags=(word,), notes=(word,), stderr=word),
            case(name=word, status="failed", reason=word, mismatches=(wrong,), notes=(word,)),
            DONE.but(findings=(finding,), missed_gates=(word,), interrupted_in=word),
        )
        # What is written to a file is UTF-8 whatever a server sent.
        page.encode("utf-8")
        return [(tag, list(attributes)) for tag, attributes in Reader(page).tags]

    assert skeleton(f"x{flat}") == skeleton("x")
