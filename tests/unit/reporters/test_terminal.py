"""The terminal report as a whole: what is printed for which events."""

from __future__ import annotations

import io

import pytest

from mcptest.core.coverage import CoveredOffer, ServerCoverage
from mcptest.core.diagnostics import Diagnostic
from mcptest.core.events import (
    CaseFinished,
    CaseStarted,
    Event,
    RunFinished,
    RunStarted,
    SuiteFinished,
    SuiteStarted,
)
from mcptest.core.results import CaseResult, Evidence, Fault, Finding, Mismatch, Summary
from mcptest.reporters.terminal import TerminalReporter

STARTED = RunStarted(started_at="2026-01-01T00:00:00Z", server="Files", suites=1, total=3)
SUITE = SuiteStarted(name="Tools", file="a.test.mcp.yml", format="conductor", server="", total=3)
SUITE_DONE = SuiteFinished(name="Tools", file="a.test.mcp.yml")
PASSED = CaseResult(name="lists the tools", status="passed", line=4, duration_s=0.002)
GONE = Fault(kind="server_exited", message="the server exited before it answered")
WRONG = Mismatch(path="result.n", expected=1, actual=2, message="differs")


def finished(**fields: object) -> RunFinished:
    run = RunFinished(summary=Summary(passed=1), duration_s=0.25)
    return run.but(**fields)


def printed(*events: Event, colour: bool = False, verbose: bool = False, width: int = 80) -> str:
    stream = io.StringIO()
    report = TerminalReporter(stream, colour=colour, live=False, width=width, verbose=verbose)
    for event in events:
        report(event)
    return stream.getvalue()


def case(**fields: object) -> CaseFinished:
    return CaseFinished(result=PASSED.but(**fields))


def test_a_run_that_passes_reads_like_this() -> None:
    assert printed(STARTED, SUITE, CaseFinished(result=PASSED), SUITE_DONE, finished()) == (
        "Files\n"
        "\n"
        "Tools  a.test.mcp.yml\n"
        "  ✓ lists the tools (2 ms)\n"
        "\n"
        "1 test: 1 passed, in 250 ms\n"
    )


def test_each_status_has_its_mark_and_a_failure_its_block() -> None:
    fault = Fault(
        kind="timeout",
        message="no answer within 30 s",
        hint="raise `timeout`",
        effect="indefinite",
        evidence=Evidence(
            command=("node", "server.js"),
            cwd="/srv",
            exit_status="killed by signal 9",
            stderr_tail="one\ntwo\n",
            stdout_tail="three",
        ),
    )
    text = printed(
        STARTED,
        SUITE,
        case(name="adds", status="failed", line=21, mismatches=(WRONG,)),
        case(name="hangs", status="error", line=40, duration_s=30.0, fault=fault),
        case(name="not today", status="skipped", reason="needs a network"),
        case(name="nor tomorrow", status="skipped"),
        SUITE_DONE,
        finished(summary=Summary(failed=1, errors=1, skipped=2), duration_s=31.24),
    )
    assert text == (
        "Files\n"
        "\n"
        "Tools  a.test.mcp.yml\n"
        "  ✗ adds (2 ms)\n"
        "      a.test.mcp.yml:21\n"
        "\n"
        "      result.n: differs\n"
        "        expected  1\n"
        "        actual    2\n"
        "\n"
        "  ! hangs (30.0 s)\n"
        "      a.test.mcp.yml:40\n"
        "      timeout: no answer within 30 s\n"
        "        hint      raise `timeout`\n"
        "        effect    unknown: the call may have taken effect\n"
        "        ended     killed by signal 9\n"
        "        command   node server.js\n"
        "        stderr    | one\n"
        "                  | two\n"
        "        stdout    | three\n"
        "\n"
        "  - not today (skipped: needs a network)\n"
        "  - nor tomorrow (skipped)\n"
        "\n"
        "4 tests: 1 failed, 1 error, 2 skipped, in 31.2 s\n"
    )


def test_colour_marks_verdicts_sides_and_asides() -> None:
    text = printed(
        SUITE,
        CaseFinished(result=PASSED),
        case(name="adds", status="failed", mismatches=(WRONG,)),
        case(name="later", status="skipped"),
        finished(summary=Summary(passed=1, failed=1, errors=2, skipped=1)),
        colour=True,
    )
    assert text == (
        "\x1b[1mTools\x1b[0m  \x1b[2ma.test.mcp.yml\x1b[0m\n"
        "  \x1b[32m✓\x1b[0m lists the tools \x1b[2m(2 ms)\x1b[0m\n"
        "  \x1b[31m✗\x1b[0m adds \x1b[2m(2 ms)\x1b[0m\n"
        "      \x1b[2ma.test.mcp.yml:4\x1b[0m\n"
        "\n"
        "      result.n: differs\n"
        "      \x1b[32m  expected  1\x1b[0m\n"
        "      \x1b[31m  actual    2\x1b[0m\n"
        "\n"
        "  \x1b[33m-\x1b[0m later \x1b[33m(skipped)\x1b[0m\n"
        "\n"
        "\x1b[1m5 tests\x1b[0m: \x1b[32m1 passed\x1b[0m, \x1b[31m1 failed\x1b[0m, "
        "\x1b[31m2 errors\x1b[0m, \x1b[33m1 skipped\x1b[0m\x1b[2m, in 250 ms\x1b[0m\n"
    )


def test_the_same_cause_is_reported_once() -> None:
    text = printed(
        SUITE,
        case(name="first", status="error", fault=GONE),
        case(name="second", status="error", fault=GONE),
        case(name="third", status="error", fault=GONE.but(message="another")),
    )
    assert text == (
        "Tools  a.test.mcp.yml\n"
        "  ! first (2 ms)\n"
        "      a.test.mcp.yml:4\n"
        "      server_exited: the server exited before it answered\n"
        "\n"
        "  ! second (2 ms) same cause as above\n"
        "  ! third (2 ms)\n"
        "      a.test.mcp.yml:4\n"
        "      server_exited: another\n"
        "\n"
    )


def test_the_same_mismatches_are_reported_once_unless_more_is_asked_for() -> None:
    failed = case(name="first", status="failed", mismatches=(WRONG,))
    events = (
        SUITE,
        failed,
        case(name="second", status="failed", mismatches=(WRONG,), notes=("n",)),
        case(name="third", status="failed", mismatches=(WRONG.but(actual=3),)),
    )
    text = printed(*events)
    assert (
        "        actual    2\n\n"
        '  ✗ second (2 ms) same as "first"\n'
        "      note: n\n\n"
        "  ✗ third (2 ms)\n"
    ) in text
    assert text.count("result.n: differs") == 2
    assert printed(*events, verbose=True).count("result.n: differs") == 3


def test_a_flaky_test_is_said_to_be_in_its_line_and_at_the_end() -> None:
    text = printed(
        STARTED,
        SUITE,
        case(attempts=2),
        case(name="never", status="failed", attempts=3),
        finished(summary=Summary(passed=1, failed=1, flaky=1)),
    )
    assert "  ✓ lists the tools (2 ms, 2 attempts) flaky\n" in text
    assert "  ✗ never (2 ms, 3 attempts)\n" in text
    assert text.endswith("2 tests: 1 passed (1 flaky), 1 failed, in 250 ms\n")


def test_coverage_is_before_the_totals_and_missed_gates_are_after_them() -> None:
    offers = (
        CoveredOffer(kind="tool", name="add", calls=1),
        CoveredOffer(kind="tool", name="drop\x1b", calls=0),
    )
    coverage = (ServerCoverage(server="Files", offers=offers),)
    events = (STARTED, finished(coverage=coverage, missed_gates=("coverage is 50 %\x1b",)))
    assert printed(*events) == (
        "Files\n"
        "\n"
        "coverage of Files: 50 % (1 of 2)\n"
        "  tools never called    drop\\u001b\n"
        "\n"
        "1 test: 1 passed, in 250 ms\n"
        "gate missed: coverage is 50 %\\u001b\n"
    )
    assert "\x1b[31mgate missed: coverage is 50 %\\u001b\x1b[0m\n" in printed(*events, colour=True)


def test_mismatches_are_reported_even_when_the_fault_beside_them_is_known() -> None:
    broken = case(name="x", status="error", fault=GONE, mismatches=(WRONG,))
    assert printed(SUITE, broken, broken).count("result.n: differs") == 2


def test_warnings_are_first_and_point_into_the_file() -> None:
    warning = Diagnostic(
        code="W001",
        severity="warning",
        file="a.test.mcp.yml",
        line=7,
        column=5,
        width=6,
        message="`stderr` directly under a test",
        source="    stderr: toBeEmpty",
        help="move it under `expect`",
    )
    assert printed(STARTED.but(warnings=(warning,)), SUITE) == (
        "warning[W001]: `stderr` directly under a test\n"
        " --> a.test.mcp.yml:7:5\n"
        "  |\n"
        "7 |     stderr: toBeEmpty\n"
        "  |     ^^^^^^\n"
        "  = help: move it under `expect`\n"
        "\n"
        "Files\n"
        "\n"
        "Tools  a.test.mcp.yml\n"
    )


def test_findings_are_last_and_quote_what_was_seen() -> None:
    stray = Finding(
        kind="stray_output",
        server="Files",
        message="the server wrote to stdout something that is not a message",
        quote='"Server started!"',
        count=3,
    )
    text = printed(
        STARTED,
        finished(findings=(stray, stray.but(server="Other", quote="", count=1))),
    )
    assert text == (
        "Files\n"
        "\n"
        "note: the server wrote to stdout something that is not a message (3 times)\n"
        '      "Server started!"\n'
        "\n"
        "note: the server wrote to stdout something that is not a message [Other]\n"
        "\n"
        "1 test: 1 passed, in 250 ms\n"
    )


def test_a_fault_of_the_whole_run_is_an_error_with_its_evidence() -> None:
    fault = Fault(
        kind="spawn_failed",
        message="the server could not be started: no such file",
        evidence=Evidence(command=("nod", "server.js"), cwd="/srv", stderr_tail="oh no"),
    )
    assert printed(STARTED, finished(summary=Summary(), fault=fault, duration_s=0.0)) == (
        "Files\n"
        "\n"
        "error: the server could not be started: no such file\n"
        "  command   nod server.js\n"
        "  folder    /srv\n"
        "  stderr    | oh no\n"
        "\n"
        "no tests ran, in <1 ms\n"
    )


@pytest.mark.parametrize(
    ("flags", "last_line"),
    [
        ({"interrupted": True}, "interrupted: 1 of 3 tests ran"),
        ({"bailed": True}, "stopped after the first failure: 2 of 3 tests not run"),
        ({}, "1 test: 1 passed, in 250 ms"),
    ],
    ids=["interrupted", "bailed", "finished"],
)
def test_the_last_line_says_how_the_run_ended(flags: dict[str, bool], last_line: str) -> None:
    assert printed(STARTED, finished(**flags)).splitlines()[-1] == last_line


def test_a_second_suite_is_set_apart_and_names_a_server_of_its_own() -> None:
    text = printed(
        STARTED,
        SUITE,
        CaseFinished(result=PASSED),
        SUITE_DONE,
        SUITE.but(name="b.yml", file="b.yml", server="Other"),
    )
    assert text.endswith("  ✓ lists the tools (2 ms)\n\nb.yml  on Other\n")


def test_notes_are_below_any_verdict_and_stderr_below_a_pass_only_on_request() -> None:
    noted = case(notes=("the array is empty",), stderr="debug\n")
    assert printed(noted) == "  ✓ lists the tools (2 ms)\n      note: the array is empty\n"
    assert printed(noted, verbose=True) == (
        "  ✓ lists the tools (2 ms)\n      note: the array is empty\n        stderr    | debug\n"
    )


def test_stderr_of_the_server_is_shown_with_a_failure() -> None:
    failed = case(status="failed", mismatches=(WRONG,), stderr="why\n", notes=("so",))
    assert printed(SUITE, failed).endswith(
        "        actual    2\n\n        stderr    | why\n      note: so\n\n"
    )


def test_a_verdict_without_mismatch_or_fault_gives_its_reason() -> None:
    failed = case(status="failed", reason="it was not to happen")
    assert printed(SUITE, failed).endswith("      a.test.mcp.yml:4\n      it was not to happen\n\n")


def test_only_the_first_ten_mismatches_are_shown_unless_more_is_asked_for() -> None:
    wrong = tuple(WRONG.but(path=f"n{number}") for number in range(22))
    text = printed(SUITE, case(status="failed", mismatches=wrong))
    assert text.count(": differs") == 10
    assert text.endswith("\n      … and 12 more mismatches; -v shows them\n\n")
    whole = printed(SUITE, case(status="failed", mismatches=wrong), verbose=True)
    assert whole.count(": differs") == 22
    assert " more mismatch" not in whole


def test_ten_mismatches_are_all_there_is_to_say() -> None:
    wrong = tuple(WRONG.but(path=f"n{number}") for number in range(10))
    text = printed(SUITE, case(status="failed", mismatches=wrong))
    assert text.count(": differs") == 10
    assert " more mismatch" not in text


def test_in_verbose_mode_all_features_never_exercised_are_named() -> None:
    offers = tuple(CoveredOffer(kind="tool", name=f"tool_{n}", calls=0) for n in range(40))
    coverage = (ServerCoverage(server="Files", offers=offers),)
    end = RunFinished(summary=Summary(), duration_s=0.1, coverage=coverage)
    assert "… and 35 more" in printed(SUITE, end)
    assert "tool_39\n" in printed(SUITE, end, verbose=True)


def test_only_the_last_twenty_lines_of_an_output_are_shown() -> None:
    tail = "".join(f"line {number}\n" for number in range(25))
    fault = GONE.but(evidence=Evidence(stderr_tail=tail))
    text = printed(SUITE, case(status="error", fault=fault))
    assert text.count(" | ") == 21
    assert "        stderr    | … 5 earlier lines\n                  | line 5\n" in text


ANSWER = {"id": 1, "result": {"n": 2, "m": {}}}


def test_the_answer_is_opened_for_a_missing_member_but_not_for_one_scalar() -> None:
    one = case(status="failed", mismatches=(WRONG,), actual=ANSWER)
    two = case(status="failed", mismatches=(WRONG, WRONG.but(path="result.m")), actual=ANSWER)
    whole = case(
        status="failed", mismatches=(WRONG.but(path="result.m", actual={}),), actual=ANSWER
    )
    assert "{" not in printed(SUITE, one)
    for event in (two, whole):
        assert '\n          … 1 more key: id\n          "result": {\n' in printed(SUITE, event)


EVIL = "\x1b[2J\u202e\ud800\r\n::error::x ##[error]y\n##vso[z]"


def test_nothing_from_outside_reaches_the_stream_raw() -> None:
    fault = Fault(
        kind=EVIL,
        message=EVIL,
        hint=EVIL,
        evidence=Evidence(
            command=(EVIL,), cwd=EVIL, exit_status=EVIL, stderr_tail=EVIL, stdout_tail=EVIL
        ),
    )
    wrong = Mismatch(path=EVIL, expected=EVIL, actual={EVIL: EVIL}, message=EVIL, hint=EVIL)
    text = printed(
        STARTED.but(server=EVIL, warnings=(Diagnostic(code="W001", file=EVIL, message=EVIL),)),
        SUITE.but(name=EVIL, file=EVIL, server=EVIL),
        case(name=EVIL, status="skipped", reason=EVIL),
        case(name=EVIL, status="failed", mismatches=(wrong,), stderr=EVIL, notes=(EVIL,)),
        case(name=EVIL, status="error", fault=fault),
        finished(
            findings=(Finding(kind=EVIL, server=EVIL, message=EVIL, quote=EVIL),),
            fault=fault.but(message="::" + EVIL),
        ),
        verbose=True,
    )
    lines = text.split("\n")
    assert all(line.isprintable() for line in lines)
    assert "##[" not in text
    assert "##vso[" not in text
    assert not any(line.lstrip().startswith("::") for line in lines)


def test_a_server_whose_name_is_a_ci_command_is_not_obeyed() -> None:
    assert printed(STARTED.but(server="::set-output name=x::y")) == (
        "\\u003a:set-output name=x::y\n\n"
    )


def test_a_stream_that_is_not_utf_8_gets_ascii_marks_and_escapes() -> None:
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding="latin-1")
    report = TerminalReporter(stream, colour=False, live=False, width=80, verbose=False)
    for event in (
        SUITE,
        case(name="é › 日…"),
        case(name="b", status="skipped"),
        case(name="c", status="failed"),
        case(name="d", status="error"),
        SUITE_DONE,
    ):
        report(event)
    assert raw.getvalue().decode("latin-1") == (
        "Tools  a.test.mcp.yml\n"
        "  ok    é > \\u65e5... (2 ms)\n"
        "  skip  b (skipped)\n"
        "  FAIL  c (2 ms)\n"
        "      a.test.mcp.yml:4\n"
        "\n"
        "  ERROR d (2 ms)\n"
        "      a.test.mcp.yml:4\n"
        "\n"
    )


class Clock:
    """A clock that changes only when it is moved."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_terminal_gets_a_progress_line_that_is_erased_before_anything_else() -> None:
    stream, clock = io.StringIO(), Clock()
    report = TerminalReporter(stream, colour=False, live=True, width=40, verbose=False, clock=clock)
    report(STARTED)
    report(SUITE)
    report(CaseStarted(name="lists the tools", line=4))
    before = stream.getvalue()
    clock.now = 0.3
    report.tick()
    report.tick()
    report(CaseFinished(result=PASSED))
    assert before == "Files\n\nTools  a.test.mcp.yml\n"
    assert stream.getvalue()[len(before) :] == (
        f"  [1/3] Tools › lists the tools\r{' ' * 32}\r  ✓ lists the tools (2 ms)\n"
    )


def test_a_server_that_takes_its_time_to_start_is_waited_for_in_words() -> None:
    stream, clock = io.StringIO(), Clock()
    report = TerminalReporter(stream, colour=False, live=True, width=40, verbose=False, clock=clock)
    report(STARTED)
    report.tick()
    before = stream.getvalue()
    clock.now = 0.3
    report.tick()
    report(SUITE)
    assert before == "Files\n\n"
    assert stream.getvalue()[len(before) :] == (
        f"  starting the server …\r{' ' * 24}\rTools  a.test.mcp.yml\n"
    )


def test_the_progress_line_is_escaped_and_counts_finished_cases() -> None:
    stream, clock = io.StringIO(), Clock()
    report = TerminalReporter(stream, colour=False, live=True, width=80, verbose=False, clock=clock)
    report(STARTED)
    report(CaseFinished(result=PASSED))
    clock.now = 1.0
    report(CaseStarted(name=EVIL, line=1))
    assert stream.getvalue().split("\n")[-1].startswith("  [2/3] \\u001b[2J\\u202e\\ud800\\r\\n")


def test_off_a_terminal_there_is_no_progress_line_and_ticking_does_nothing() -> None:
    stream = io.StringIO()
    report = TerminalReporter(stream, colour=False, live=False, width=80, verbose=False)
    report(STARTED)
    report(CaseStarted(name="x", line=1))
    report.tick()
    assert stream.getvalue() == "Files\n\n"
