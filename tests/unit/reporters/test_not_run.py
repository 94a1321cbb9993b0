"""How each report shows declared tests that this version cannot run, and that this is allowed."""

from __future__ import annotations

import io
import json
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

import pytest
from sample_run import PASSED, rendered, run_of

from mcptest.core.errors import FormatError
from mcptest.core.results import CaseResult, exit_code_of
from mcptest.reporters.agent import AgentReporter, MinimalReporter
from mcptest.reporters.github import GithubReporter
from mcptest.reporters.html.page import HtmlReporter
from mcptest.reporters.json import JsonReporter, NdjsonReporter
from mcptest.reporters.junit import JunitReporter
from mcptest.reporters.markdown import MarkdownReporter
from mcptest.reporters.run_model import merge_runs
from mcptest.reporters.sarif import SarifReporter
from mcptest.reporters.saved import read_saved_run
from mcptest.reporters.style import not_run_line
from mcptest.reporters.tap import TapReporter
from mcptest.reporters.terminal import TerminalReporter

if TYPE_CHECKING:
    from mcptest.reporters.run_model import CollectedRun

LEFT = CaseResult(
    name="refunds", status="skipped", line=41, reason='lane "agents" is not drivable', not_run=True
)
FAILS = (
    "1 declared test cannot be run by this version of mcptest, which fails the run; "
    "--allow-not-run accepts it"
)
ACCEPTED = "1 declared test cannot be run by this version of mcptest, which --allow-not-run accepts"


def left_run(*, is_accepted: bool = False, **fields: Any) -> CollectedRun:
    return run_of(PASSED, LEFT, not_run=1, may_leave_out=is_accepted, **fields)


def report_of(reporter: Any, *, is_accepted: bool = False) -> str:
    return rendered(reporter, left_run(is_accepted=is_accepted).replay())


def test_the_sentence_counts_and_says_what_to_do() -> None:
    assert not_run_line(left_run().finished) == FAILS
    assert not_run_line(left_run(is_accepted=True).finished) == ACCEPTED
    assert not_run_line(left_run().finished.but(not_run=2)).startswith("2 declared tests cannot")
    assert not_run_line(run_of(PASSED).finished) == ""


@pytest.mark.parametrize(("is_accepted", "line"), [(False, FAILS), (True, ACCEPTED)])
def test_the_terminal_calls_it_not_run_and_says_so_again_at_the_end(
    is_accepted: bool, line: str
) -> None:
    stream = io.StringIO()
    reporter = TerminalReporter(stream, colour=False, live=False, width=80, verbose=False)
    for event in left_run(is_accepted=is_accepted).replay():
        reporter(event)
    assert '  - refunds (not run: lane "agents" is not drivable)\n' in stream.getvalue()
    assert stream.getvalue().endswith(f"2 tests: 1 passed, 1 skipped, in 510 ms\n{line}\n")


def test_a_report_that_was_cut_short_has_counted_what_it_saw() -> None:
    events = list(left_run().replay())[:-1]
    assert json.loads(rendered(JsonReporter("1"), events))["not_run"] == 1
    collected = AgentReporter()
    for event in events:
        collected(event)
    assert collected.finished.not_run == 1


def test_a_saved_count_that_its_own_tests_deny_is_refused() -> None:
    report = json.loads(rendered(JsonReporter("1"), left_run().replay()))
    report["not_run"] = 0
    with pytest.raises(FormatError) as caught:
        read_saved_run(json.dumps(report), "run.json")
    message = caught.value.diagnostics[0].message
    assert message == "not_run is 0, but counted from suites it is 1"


def test_a_saved_report_of_an_earlier_version_has_none() -> None:
    report = json.loads(rendered(JsonReporter("1"), run_of(PASSED).replay()))
    del report["not_run"], report["not_run_allowed"]
    finished = read_saved_run(json.dumps(report), "run.json").finished
    assert (finished.not_run, finished.may_leave_out) == (0, False)


def test_merged_runs_are_accepted_only_if_each_of_them_is() -> None:
    def merged(*accepted: bool) -> Any:
        runs = [
            (f"{number}.json", left_run(is_accepted=each)) for number, each in enumerate(accepted)
        ]
        for number, (_, run) in enumerate(runs):
            suite, results = run.all_suites[0]
            run.all_suites = [(suite.but(file=f"{number}.yaml"), results)]
        return merge_runs([*runs, ("plain.json", run_of(PASSED, file="plain.yaml"))]).finished

    finished = merged(True, False)
    assert (finished.not_run, finished.may_leave_out, exit_code_of(finished)) == (2, False, 1)
    finished = merged(True, True)
    assert (finished.not_run, finished.may_leave_out, exit_code_of(finished)) == (2, True, 0)


def test_ndjson_has_the_members_of_the_json_report() -> None:
    lines: list[str] = []
    reporter = NdjsonReporter(lines.append, "1")
    for event in left_run().replay():
        reporter(event)
    values = [json.loads(line) for line in lines]
    (left,) = [value for value in values if value.get("not_run") is True]
    assert (left["event"], left["name"]) == ("test_finished", "refunds")
    assert (values[-1]["not_run"], values[-1]["not_run_allowed"]) == (1, False)


def test_junit_skips_it_with_the_reason_and_fails_unless_that_is_accepted() -> None:
    root = ElementTree.fromstring(report_of(JunitReporter()))
    cases = {case.get("name"): case for case in root.iter("testcase")}
    skipped = cases["refunds"].find("skipped")
    assert skipped is not None
    assert skipped.get("message") == LEFT.reason
    assert cases["refunds"].find("properties/property[@name='not_run']") is not None
    failure = cases["every declared test can be run"].find("failure")
    assert failure is not None
    assert failure.get("message") == FAILS
    assert (root.get("tests"), root.get("failures"), root.get("skipped")) == ("3", "1", "1")
    accepted = ElementTree.fromstring(report_of(JunitReporter(), is_accepted=True))
    assert (accepted.get("tests"), accepted.get("failures")) == ("2", "0")


def test_tap_skips_it_and_is_not_ok_unless_that_is_accepted() -> None:
    text = report_of(TapReporter())
    assert 'ok 2 - refunds # SKIP lane "agents" is not drivable\n' in text
    assert "not ok 3 - every declared test can be run\n" in text
    accepted = report_of(TapReporter(), is_accepted=True)
    assert "not ok" not in accepted
    assert f"# {ACCEPTED}\n" in accepted


def test_minimal_has_a_line_for_it() -> None:
    lines = report_of(MinimalReporter()).splitlines()
    assert lines[0] == (
        'NOT RUN tests/files.test.mcp.yml:41 refunds: lane "agents" is not drivable'
    )
    assert lines[-1].endswith(f"; {FAILS}")


def test_an_agent_learns_that_the_run_failed_and_why() -> None:
    text = report_of(AgentReporter())
    assert text.startswith("FAILED: 2 tests: 1 passed, 1 skipped")
    assert f"\n{FAILS}\n" in text
    assert '\nnot run: refunds (tests/files.test.mcp.yml:41): lane "agents" is not' in text
    assert report_of(AgentReporter(), is_accepted=True).startswith("PASSED: ")


def test_markdown_has_it_in_the_verdict_and_in_a_list() -> None:
    text = report_of(MarkdownReporter())
    title = "## mcptest: 1 test passed, 1 skipped, but 1 declared test cannot be run\n"
    assert text.startswith(title)
    assert f"\n**{FAILS}.**\n" in text
    assert '\n### Not run\n\n- `refunds`: `lane "agents" is not drivable`\n' in text
    accepted = report_of(MarkdownReporter(), is_accepted=True)
    assert accepted.startswith("## mcptest: 1 test passed, 1 skipped\n")
    assert "### Not run" in accepted


def test_github_gets_a_warning_for_it_and_an_error_for_the_run() -> None:
    text = report_of(GithubReporter())
    place = "file=tests/files.test.mcp.yml,line=41,title=refunds was not run"
    assert f'::warning {place}::lane "agents" is not drivable\n' in text
    assert f"::error title=mcptest%3A not run::{FAILS}\n" in text
    accepted = report_of(GithubReporter(), is_accepted=True)
    assert "::warning " in accepted
    assert "::error " not in accepted


@pytest.mark.parametrize(("is_accepted", "level"), [(False, "error"), (True, "note")])
def test_sarif_has_a_result_for_it(is_accepted: bool, level: str) -> None:
    document = json.loads(report_of(SarifReporter("1"), is_accepted=is_accepted))
    (result,) = document["runs"][0]["results"]
    assert (result["ruleId"], result["level"]) == ("test-not-run", level)
    assert result["message"]["text"] == 'refunds: lane "agents" is not drivable'
    (rule,) = document["runs"][0]["tool"]["driver"]["rules"]
    text = "A declared test cannot be run by this version of mcptest."
    assert rule["shortDescription"]["text"] == text


def test_a_page_says_why_a_run_without_failures_failed() -> None:
    page = report_of(HtmlReporter("1"))
    assert "1: declared tests cannot be run by this version" in page
    assert "not run: this version cannot" in page
    assert FAILS in page
    accepted = report_of(HtmlReporter("1"), is_accepted=True)
    assert "0: everything that was asked for ran and passed" in accepted
    assert ACCEPTED in accepted


def test_a_test_that_is_only_skipped_is_called_skipped_everywhere() -> None:
    run = run_of(PASSED, LEFT.but(not_run=False))
    for reporter in (JunitReporter(), TapReporter(), MarkdownReporter(), HtmlReporter("1")):
        text = rendered(reporter, run.replay())
        assert "not run" not in text.lower()
        assert "not_run" not in text
        assert "every declared test can be run" not in text
