"""The JUnit report: the elements CI systems read, and XML that always parses."""

from __future__ import annotations

import xml.dom.minidom
import xml.etree.ElementTree as ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcptest.core.diagnostics import Diagnostic
from mcptest.core.events import CaseFinished, Event, RunFinished, RunStarted, SuiteStarted
from mcptest.core.results import CaseResult, Evidence, Fault, Finding, Mismatch, Summary
from mcptest.reporters.junit import JunitReporter

STARTED = RunStarted(started_at="2026-01-01T00:00:00Z", server="Files", suites=1, total=4)
SUITE = SuiteStarted(
    name="Tools", file="./suites/a.test.mcp.yml", format="conductor", server="Files", total=4
)
PASSED = CaseResult(name="lists the tools", status="passed", line=4, duration_s=0.0012)
WRONG = Mismatch(path="result.n", expected="<1>", actual="<2>", message="differs")
GONE = Fault(kind="server_exited", message="the server is gone")


def rendered(*events: Event) -> str:
    report = JunitReporter()
    for event in events:
        report(event)
    return report.render()


def case(**fields: object) -> CaseFinished:
    return CaseFinished(result=PASSED.but(**fields))


def test_every_verdict_has_its_element() -> None:
    text = rendered(
        STARTED,
        SUITE,
        case(),
        case(name="adds", status="failed", line=9, mismatches=(WRONG,)),
        case(name="dies", status="error", line=12, fault=GONE),
        case(name="later", status="skipped", line=15, reason="needs a network"),
        RunFinished(summary=Summary(passed=1, failed=1, errors=1, skipped=1), duration_s=1.5),
    )
    place = 'classname="suites.a.test.mcp" file="./suites/a.test.mcp.yml"'
    assert text == (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        '<testsuites name="mcptest" tests="4" failures="1" errors="1" skipped="1" time="1.500" '
        'timestamp="2026-01-01T00:00:00Z">\n'
        '  <testsuite name="Tools" file="./suites/a.test.mcp.yml" tests="4" failures="1" '
        'errors="1" skipped="1" time="0.005" timestamp="2026-01-01T00:00:00Z">\n'
        f'    <testcase name="lists the tools" {place} line="4" time="0.001"/>\n'
        f'    <testcase name="adds" {place} line="9" time="0.001">\n'
        '      <failure type="mismatch" message="result.n: differs">./suites/a.test.mcp.yml:9\n'
        "\n"
        "result.n: differs\n"
        "  expected  &quot;&lt;1&gt;&quot;\n"
        "  actual    &quot;&lt;2&gt;&quot;\n"
        "              ^</failure>\n"
        "    </testcase>\n"
        f'    <testcase name="dies" {place} line="12" time="0.001">\n'
        '      <error type="server_exited" message="server_exited: the server is gone">'
        "./suites/a.test.mcp.yml:12\n"
        "server_exited: the server is gone</error>\n"
        "    </testcase>\n"
        f'    <testcase name="later" {place} line="15" time="0.001">\n'
        '      <skipped message="needs a network"/>\n'
        "    </testcase>\n"
        "  </testsuite>\n"
        "</testsuites>\n"
    )


def test_a_run_in_which_no_test_could_run_is_an_error_and_not_an_empty_success() -> None:
    text = rendered(RunFinished(summary=Summary(), duration_s=0.0, fault=GONE))
    assert text == (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        '<testsuites name="mcptest" tests="1" failures="0" errors="1" skipped="0" time="0.000">\n'
        '  <testsuite name="mcptest" tests="1" failures="0" errors="1" skipped="0" time="0.000">\n'
        '    <testcase name="the tests can be run" classname="mcptest" time="0.000">\n'
        '      <error type="server_exited" message="server_exited: the server is gone">'
        "server_exited: the server is gone</error>\n"
        "    </testcase>\n"
        "  </testsuite>\n"
        "</testsuites>\n"
    )


@pytest.mark.parametrize(
    "last",
    [[], [RunFinished(summary=Summary(passed=1), duration_s=0.1, interrupted=True)]],
    ids=["no last event", "interrupted"],
)
def test_an_interrupted_run_says_so(last: list[Event]) -> None:
    root = ElementTree.fromstring(rendered(STARTED, SUITE, case(), *last))
    error = root.find("testsuite/testcase/error")
    assert error is not None
    assert error.attrib == {"type": "interrupted", "message": "interrupted: 1 of 4 tests ran"}


def test_a_finished_run_has_no_additional_case() -> None:
    finished = RunFinished(summary=Summary(passed=1), duration_s=0.1)
    root = ElementTree.fromstring(rendered(STARTED, SUITE, case(), finished))
    assert [each.get("name") for each in root.iter("testcase")] == ["lists the tools"]


def test_a_run_without_suites_is_still_a_document() -> None:
    root = ElementTree.fromstring(rendered(RunFinished(summary=Summary(), duration_s=0.0)))
    assert (root.get("tests"), len(root)) == ("0", 0)


def test_tags_and_attempts_are_properties_and_most_tests_have_none() -> None:
    root = ElementTree.fromstring(
        rendered(SUITE, case(), case(tags=("net", "slow"), attempts=2, status="failed"))
    )
    plain, tagged, _ = root.iter("testcase")
    assert list(plain) == []
    assert [each.attrib for each in tagged.iter("property")] == [
        {"name": "tag", "value": "net"},
        {"name": "tag", "value": "slow"},
        {"name": "attempts", "value": "2"},
        {"name": "flaky", "value": "false"},
    ]


def test_a_missed_gate_is_a_failure() -> None:
    finished = RunFinished(summary=Summary(passed=1), duration_s=0.1, missed_gates=("too little",))
    root = ElementTree.fromstring(rendered(STARTED, SUITE, case(), finished))
    (failure,) = root.iter("failure")
    assert failure.attrib == {"type": "failed", "message": "too little"}
    assert root.get("failures") == "1"


def test_mistakes_in_files_are_shown_with_their_places() -> None:
    mistake = Diagnostic(code="F006", file="a.yml", line=3, column=5, message="unknown key")
    finished = RunFinished(
        summary=Summary(), duration_s=0.0, fault=GONE.but(kind="bad_file", message="1 mistake")
    )
    root = ElementTree.fromstring(rendered(STARTED.but(warnings=(mistake,)), finished))
    (error,) = root.iter("error")
    assert error.attrib == {"type": "bad_file", "message": "bad_file: 1 mistake"}
    assert error.text == "bad_file: 1 mistake\n\nerror[F006]: unknown key\n --> a.yml:3:5"


@pytest.mark.parametrize(
    ("file", "classname"),
    [
        ("a.yml", "a"),
        ("/abs/b.test.mcp.yml", "abs.b.test.mcp"),
        ("..\\win\\c.yaml", "win.c"),
        ("dir.d/plain", "dir.d.plain"),
        ("", "mcptest"),
    ],
)
def test_the_classname_is_the_path_with_dots(file: str, classname: str) -> None:
    root = ElementTree.fromstring(rendered(SUITE.but(file=file), case()))
    found = root.find("testsuite/testcase")
    assert found is not None
    assert found.get("classname") == classname


def test_a_line_break_in_a_name_is_made_visible() -> None:
    assert 'name="a\\nb"' in rendered(SUITE, case(name="a\nb"))


def test_a_ci_command_is_defused_in_names_and_texts() -> None:
    fault = GONE.but(message="::x ##[error]", evidence=Evidence(stderr_tail="##[group]\n::y"))
    text = rendered(SUITE, case(name="##[error]", status="error", fault=fault))
    assert "##[" not in text
    assert not any(line.lstrip().startswith("::") for line in text.split("\n"))


@given(st.text(st.characters() | st.sampled_from("\x00\x1b\ud800\ufffe\uffff<&>\"']\n\r\t")))
def test_any_text_gives_a_document_that_two_parsers_read(text: str) -> None:
    evidence = Evidence(command=(text,), cwd=text, exit_status=text, stderr_tail=text)
    fault = Fault(kind=text, message=text, hint=text, evidence=evidence)
    wrong = Mismatch(path=text, expected=text, actual=[text], message=text, hint=text)
    document = rendered(
        STARTED.but(started_at=text),
        SUITE.but(name=text, file=text),
        case(name=text, status="failed", mismatches=(wrong,), notes=(text,), stderr=text),
        case(name=text, status="error", fault=fault),
        case(name=text, status="skipped", reason=text),
        RunFinished(summary=Summary(), duration_s=0.0, fault=fault),
    )
    raw = document.encode("utf-8")
    assert len(list(ElementTree.fromstring(raw).iter("testcase"))) == 4
    assert len(xml.dom.minidom.parseString(raw).getElementsByTagName("testcase")) == 4


def test_findings_beside_the_tests_are_properties_of_the_first_suite() -> None:
    finding = Finding(kind="tls_unverified", server="shop", message='not "checked"')
    finished = RunFinished(summary=Summary(passed=2), duration_s=1.5, findings=(finding,))
    text = rendered(STARTED, SUITE, case(), SUITE, case(), finished)
    first, second = ElementTree.fromstring(text).findall("testsuite")
    (found,) = first.findall("properties/property")
    assert found.attrib == {"name": "finding.tls_unverified", "value": 'shop: not "checked"'}
    assert second.find("properties") is None


def test_a_run_without_findings_has_no_properties() -> None:
    finished = RunFinished(summary=Summary(passed=1), duration_s=1.5)
    assert "<properties>" not in rendered(STARTED, SUITE, case(), finished)
