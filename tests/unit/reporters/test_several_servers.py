"""Tests of one name on several servers of a suite are distinguished in every report."""

from __future__ import annotations

import io
import json
import re
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

import pytest
from sample_run import FAILED, FLAKY, PASSED, SKIPPED, rendered, run_of

from mcptest.core.events import SuiteStarted
from mcptest.core.results import CaseResult
from mcptest.reporters.agent import AgentReporter, MinimalReporter
from mcptest.reporters.github import GithubReporter
from mcptest.reporters.html.page import HtmlReporter
from mcptest.reporters.json import JsonReporter, NdjsonReporter
from mcptest.reporters.junit import JunitReporter
from mcptest.reporters.markdown import MarkdownReporter
from mcptest.reporters.run_model import CollectedRun, summary_of
from mcptest.reporters.sarif import SarifReporter
from mcptest.reporters.tap import TapReporter
from mcptest.reporters.terminal import TerminalReporter

if TYPE_CHECKING:
    from sample_run import Rendering

FILE = "mcptest.yaml"
NOT_RUN = SKIPPED.but(name="asks", not_run=True)
RESULTS = (PASSED, FAILED, FLAKY, NOT_RUN)


def suite_on(server: str, results: tuple[CaseResult, ...]) -> tuple[SuiteStarted, list[CaseResult]]:
    suite = SuiteStarted(name=FILE, file=FILE, format="suite", server=server, total=len(results))
    return suite, list(results)


def run_on(*servers: str) -> CollectedRun:
    """The same tests on each of these servers of one suite."""
    run = run_of(*RESULTS)
    run.all_suites = [suite_on(server, RESULTS) for server in servers]
    count = len(servers)
    run.started = run.started.but(
        server=", ".join(servers), suites=count, total=count * len(RESULTS)
    )
    assert run.last is not None
    run.last = run.last.but(summary=summary_of(RESULTS * count), not_run=count)
    return run


def lines_of(reporter: Rendering, *servers: str) -> list[str]:
    return rendered(reporter, run_on(*servers).replay()).split("\n")


# What programs read


def test_the_class_of_a_junit_case_and_the_name_of_its_suite_have_the_server() -> None:
    root = ET.fromstring(rendered(JunitReporter(), run_on("a", "b").replay()))
    suites = root.findall("testsuite")[:2]
    assert [suite.get("name") for suite in suites] == ["mcptest.yaml on a", "mcptest.yaml on b"]
    classes = [{case.get("classname") for case in suite} for suite in suites]
    assert classes == [{"mcptest.a"}, {"mcptest.b"}]


def test_a_junit_case_has_one_class_whichever_tests_are_chosen() -> None:
    root = ET.fromstring(rendered(JunitReporter(), run_on("a").replay()))
    assert root[0][0].get("classname") == "mcptest.a"
    # A Conductor file is for one server, and is known by its name.
    root = ET.fromstring(rendered(JunitReporter(), run_of(PASSED).replay()))
    assert root[0][0].get("classname") == "tests.files.test.mcp"
    assert root[0].get("name") == "Files"


def test_the_json_report_has_the_server_of_every_suite() -> None:
    report = json.loads(rendered(JsonReporter("0"), run_on("a", "b").replay()))
    assert [(each["file"], each["server"]) for each in report["suites"]] == [
        (FILE, "a"),
        (FILE, "b"),
    ]


def test_every_line_about_a_test_or_a_suite_has_the_server() -> None:
    lines: list[str] = []
    reporter = NdjsonReporter(lines.append, "0")
    for event in run_on("a", "b").replay():
        reporter(event)
    message = [json.loads(line) for line in lines[1:-1]]
    per_suite = len(message) // 2
    assert [each["server"] for each in message] == ["a"] * per_suite + ["b"] * per_suite


def test_a_sarif_result_has_the_server_in_its_text_and_its_fingerprint() -> None:
    document = json.loads(rendered(SarifReporter("0"), run_on("a", "b").replay()))
    results = document["runs"][0]["results"]
    texts = [each["message"]["text"].split(":")[0] for each in results]
    for name in ("adds", "sometimes works", "asks"):
        assert [text for text in texts if text.startswith(name)] == [
            f"{name} (on a)",
            f"{name} (on b)",
        ]
    prints = [each.get("partialFingerprints") for each in results[:2]]
    assert prints == [{"test/v1": f"mcptest.yaml#{server}#adds"} for server in "ab"]


def test_a_tap_point_has_the_server_in_its_name_and_its_block() -> None:
    lines = lines_of(TapReporter(), "a", "b")
    names = [line.partition(" - ")[2] for line in lines if re.match("(not )?ok ", line)]
    assert names[:2] == ["lists the tools (on a)", "adds (on a)"]
    assert names[3].startswith("asks (on a) # SKIP")
    assert names[4] == "lists the tools (on b)"
    assert [line for line in lines if "server:" in line] == ['  server: "a"', '  server: "b"']


# What people read


def test_a_markdown_page_has_the_server_in_its_table_and_with_every_name() -> None:
    text = "\n".join(lines_of(MarkdownReporter(), "a", "b"))
    assert "| `mcptest.yaml` on `a` |" in text
    assert "| `mcptest.yaml` on `b` |" in text
    assert "#### `adds (on b)`\n\n`mcptest.yaml:9`: the same as `adds (on a)`" in text
    assert "- `sometimes works (on b)` passed on attempt 2" in text
    assert "- `asks (on a)`: " in text


def test_a_github_log_has_the_server_with_groups_and_annotations() -> None:
    lines = lines_of(GithubReporter(), "a", "b")
    groups = [line for line in lines if line.startswith("::group::")]
    assert groups == [f"::group::mcptest.yaml on {server} (4 tests)" for server in "ab"]
    titles = re.findall("title=(.*?)::", "\n".join(lines))
    for what in (
        "adds (on {}) failed",
        "sometimes works (on {}) is flaky",
        "asks (on {}) was not run",
    ):
        assert {what.format(server) for server in "ab"} <= set(titles)


def test_the_shortest_report_has_the_server_with_every_name() -> None:
    lines = lines_of(MinimalReporter(), "a", "b")
    assert lines[0].startswith("FAIL mcptest.yaml:9 adds (on a): ")
    assert lines[1] == "FAIL mcptest.yaml:9 adds (on b): same as mcptest.yaml:9"
    assert lines[2].startswith("NOT RUN mcptest.yaml:20 asks (on a): ")


def test_an_agent_reads_the_server_with_every_name() -> None:
    lines = lines_of(AgentReporter(), "a", "b")
    assert "1. adds (on a)" in lines
    assert "   same: adds (on b) (mcptest.yaml:9)" in lines
    assert "flaky: sometimes works (on b) (mcptest.yaml:25): 2 attempts" in lines


def test_on_the_terminal_the_first_of_two_that_are_the_same_has_its_server() -> None:
    stream = io.StringIO()
    reporter = TerminalReporter(stream, colour=False, live=False, width=80, verbose=False)
    for event in run_on("a", "b").replay():
        reporter(event)
    assert '✗ adds (3 ms) same as "adds" on a\n' in stream.getvalue()


def test_a_card_of_the_page_and_its_durations_have_the_server() -> None:
    page = rendered(HtmlReporter("0"), run_on("a", "<b>").replay())
    for server in ("a", "&lt;b&gt;"):
        assert f'<span class="server">on {server}</span>' in page
        assert f"adds (on {server})" in page


@pytest.mark.parametrize(
    "reporter",
    [
        TapReporter(),
        MarkdownReporter(),
        GithubReporter(),
        MinimalReporter(),
        AgentReporter(),
        HtmlReporter("0"),
    ],
    ids=lambda reporter: type(reporter).__name__,
)
def test_where_a_run_has_one_server_no_name_has_it(reporter: Rendering) -> None:
    text = rendered(reporter, run_on("the-only-one").replay())
    assert "on the-only-one" not in text
    assert "adds" in text
