"""Whatever servers and files say, each report can be read by a parser that is not ours."""

from __future__ import annotations

import io
import json
import re
from typing import Any
from xml.etree import ElementTree

import pytest
import yaml
from hostile_runs import HostileRun, hostile_runs, joined, replayed
from hypothesis import HealthCheck, given, settings
from markdown_it import MarkdownIt
from sarif_pydantic import Sarif  # type: ignore[import-untyped]  # it has no py.typed
from tap.parser import Parser  # type: ignore[import-untyped]  # it has no py.typed

from mcptest.core.text import visible
from mcptest.reporters.agent import AgentReporter, MinimalReporter
from mcptest.reporters.github import GithubReporter
from mcptest.reporters.json import JsonReporter, NdjsonReporter
from mcptest.reporters.junit import JunitReporter
from mcptest.reporters.markdown import MarkdownReporter
from mcptest.reporters.run_model import CollectedRun
from mcptest.reporters.sarif import SarifReporter
from mcptest.reporters.tap import TapReporter
from mcptest.reporters.terminal import TerminalReporter

# Each example holds dozens of texts.
thorough = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
any_run = given(hostile_runs())


def rendered(reporter: CollectedRun | JsonReporter | JunitReporter, hostile: HostileRun) -> str:
    replayed(reporter, hostile)
    # As it is written to a file.
    text: str = reporter.render()  # type: ignore[union-attr]  # each reporter has it
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def assert_no_command(text: str) -> None:
    """Nothing that GitHub, Azure or TeamCity would obey."""
    assert not any(line.lstrip().startswith("::") for line in text.split("\n"))
    assert not re.search(r"##\[|##vso\[|##teamcity\[", text)


def assert_plain(text: str) -> None:
    assert all(line.isprintable() for line in text.split("\n"))
    assert_no_command(text)


@pytest.mark.slow
@any_run
@thorough
def test_json_is_json_with_the_names_as_they_were(hostile: HostileRun) -> None:
    text = rendered(JsonReporter("1"), hostile)
    report = json.loads(text)
    assert [
        (suite["name"], [test["name"] for test in suite["tests"]]) for suite in report["suites"]
    ] == [
        (joined(suite.name), [joined(result.name) for result in results])
        for suite, results in hostile.run.suites
    ]
    assert_plain(text)


@pytest.mark.slow
@any_run
@thorough
def test_ndjson_is_one_object_for_each_event(hostile: HostileRun) -> None:
    written: list[str] = []
    replayed(NdjsonReporter(written.append, "1"), hostile)
    text = "".join(written).encode("utf-8", "backslashreplace").decode("utf-8")
    lines = text.removesuffix("\n").split("\n")
    assert len(lines) == len(hostile.events)
    assert all(isinstance(json.loads(line), dict) for line in lines)
    assert_plain(text)


@pytest.mark.long
@pytest.mark.slow
@any_run
@thorough
def test_junit_is_xml_with_a_case_for_each_test(hostile: HostileRun) -> None:
    text = rendered(JunitReporter(), hostile)
    root = ElementTree.fromstring(text)
    finished = hostile.run.finished
    own = 1 if finished.fault else finished.interrupted + len(finished.missed_gates)
    assert len(list(root.iter("testcase"))) == len(list(hostile.run.results())) + own
    assert_no_command(text)


def read_tap(text: str) -> list[tuple[str, str, dict[str, Any]]]:
    """A reader of TAP 14: verdict, directive and diagnostics of each point, and nothing unknown."""
    lines = text.removesuffix("\n").split("\n")
    assert lines[0] == "TAP version 14"
    plan = re.fullmatch(r"1\.\.(\d+)", lines[1])
    assert plan
    points: list[tuple[str, str, dict[str, Any]]] = []
    rest = iter(lines[2:])
    for line in rest:
        if line == "  ---":
            block = []
            while (inner := next(rest)) != "  ...":
                block.append(inner)
            points[-1] = (*points[-1][:2], yaml.safe_load("\n".join(block)))
        elif point := re.fullmatch(r"(ok|not ok) (\d+) - ((?:[^\\#]|\\.)*)(?:# (.*))?", line):
            assert int(point[2]) == len(points) + 1
            points.append((point[1], (point[4] or "").split(" ")[0], {}))
        else:
            assert line.startswith(("# ", "Bail out! ")), line
    assert len(points) == int(plan[1])
    return points


@pytest.mark.long
@pytest.mark.slow
@any_run
@thorough
def test_tap_is_read_alike_by_a_strict_reader_and_an_old_one(hostile: HostileRun) -> None:
    text = rendered(TapReporter(), hostile)
    points = read_tap(text)
    own = len(points) - len(list(hostile.run.results()))
    wanted = [
        ("not ok" if result.status in ("failed", "error") else "ok", result.status == "skipped")
        for _, result in hostile.run.results()
    ] + [("not ok", False)] * own
    assert [(verdict, directive == "SKIP") for verdict, directive, _ in points] == wanted
    by_tap_py = [line for line in Parser().parse_text(text) if line.category == "test"]
    assert [("ok" if line.ok else "not ok", line.skip) for line in by_tap_py] == wanted
    assert not any(line.todo for line in by_tap_py)
    for (_, result), (_, _, diagnostics) in zip(hostile.run.results(), points, strict=False):
        assert diagnostics.get("tags", []) == [visible(tag) for tag in result.tags]
    assert_plain(text)


_COMMAND = re.compile(r"::(\w+)(?: ([^:]*))?::(.*)")


def read_commands(text: str) -> list[tuple[str, dict[str, str], str]]:
    """The workflow commands in a log, decoded the way GitHub documents it."""
    commands = []
    for line in text.split("\n"):
        if line.lstrip().startswith("::"):
            found = _COMMAND.fullmatch(line)
            assert found, line
            pairs = [pair.partition("=") for pair in (found[2] or "").split(",") if pair]
            properties = {key: decoded(value) for key, _, value in pairs}
            commands.append((found[1], properties, decoded(found[3])))
    return commands


def decoded(text: str) -> str:
    codes = {"%25": "%", "%0D": "\r", "%0A": "\n", "%3A": ":", "%2C": ","}
    return re.sub("%(25|0D|0A|3A|2C)", lambda found: codes[found[0]], text)


@pytest.mark.slow
@any_run
@thorough
def test_github_gets_exactly_our_commands(hostile: HostileRun) -> None:
    text = rendered(GithubReporter(), hostile)
    run = hostile.run
    commands = read_commands(text)
    names = [name for name, _, _ in commands]
    finished = run.finished
    assert names.count("group") == names.count("endgroup") == len(run.all_suites)
    assert names.count("warning") == len(run.started.warnings) + len(run.flaky())
    assert names.count("notice") == len(finished.findings)
    own = len(finished.missed_gates) + (finished.fault is not None) + finished.interrupted
    assert names.count("error") == len(run.failures()) + own
    assert set(names) <= {"group", "endgroup", "warning", "notice", "error"}
    errors = [properties for name, properties, _ in commands if name == "error"]
    for (suite, _), properties in zip(run.failures(), errors, strict=False):
        assert properties.get("file", "") == re.sub(
            r"##(?=\[|vso\[|teamcity\[)", r"#\\u0023", visible(suite.file)
        )
    assert not re.search(r"##\[|##vso\[|##teamcity\[", text)


def read_markdown(text: str) -> dict[str, int]:
    """How many there are of each kind of token, inline ones included."""
    counts: dict[str, int] = {}
    for token in MarkdownIt("gfm-like", {"linkify": False}).parse(text):
        for each in (token, *(token.children or ())):
            name = f"{each.type}:{each.tag}"
            counts[name] = counts.get(name, 0) + 1
    return counts


@pytest.mark.slow
@any_run
@thorough
def test_markdown_has_our_structure_and_no_other(hostile: HostileRun) -> None:
    run = hostile.run
    text = rendered(MarkdownReporter(), hostile)
    tokens = read_markdown(text)
    # A verdict, a heading for each section, and one for each failure.
    sections = [run.failures(), run.flaky(), run.finished.findings, run.started.warnings]
    offering = [server for server in run.finished.coverage if server.offers]
    sections += [run.noted(), offering]
    assert tokens.get("heading_open:h2") == 1
    assert tokens.get("heading_open:h3", 0) == sum(map(bool, sections))
    told_in_full = tokens.get("heading_open:h4", 0)
    assert told_in_full == len(run.failures()) or "more failure" in text
    tables = bool(run.suites) + bool(offering)
    assert tokens.get("table_open:table", 0) == tables
    rows = len(run.suites) + (len(run.suites) > 1) + len(offering)
    assert tokens.get("tr_open:tr", 0) == rows + tables
    cells = 6 * (len(run.suites) + (len(run.suites) > 1)) + 3 * len(offering)
    assert tokens.get("td_open:td", 0) == cells
    for forbidden in ("html_block:", "html_inline:", "link_open:a", "image:img", "hr:hr"):
        assert forbidden not in tokens
    assert_plain(text)


@pytest.mark.slow
@any_run
@thorough
def test_sarif_keeps_the_rules_of_the_standard(hostile: HostileRun) -> None:
    text = rendered(SarifReporter("1"), hostile)
    document = json.loads(text)
    Sarif.model_validate(document)
    (run,) = document["runs"]
    rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    assert len(rules) == len(set(rules))
    wanted = len(hostile.run.failures()) + len(hostile.run.flaky())
    wanted += sum(len(result.notes) for _, result in hostile.run.noted())
    wanted += len(hostile.run.started.warnings) + len(hostile.run.finished.findings)
    finished = hostile.run.finished
    wanted += len(finished.missed_gates) + (finished.fault is not None) + finished.interrupted
    assert len(run["results"]) == wanted
    for result in run["results"]:
        assert rules[result["ruleIndex"]] == result["ruleId"]
        assert result["level"] in ("error", "warning", "note")
        assert result["message"]["text"]
        for location in result.get("locations", ()):
            place = location["physicalLocation"]
            # RFC 3986: nothing outside of ASCII, and no spaces.
            assert re.fullmatch(r"[\x21-\x7e]*", place["artifactLocation"]["uri"])
            assert place.get("region", {"startLine": 1})["startLine"] >= 1
    assert_plain(text)


@pytest.mark.slow
@any_run
@thorough
def test_text_for_people_and_agents_holds_nothing_that_acts(hostile: HostileRun) -> None:
    stream = io.StringIO()
    terminal = TerminalReporter(stream, colour=False, live=False, width=80, verbose=True)
    replayed(terminal, hostile)
    assert_plain(stream.getvalue())
    for reporter in (MinimalReporter(), AgentReporter(["--config", "a b.json"])):
        assert_plain(rendered(reporter, hostile))


@pytest.mark.slow
@any_run
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_colour_is_the_only_escape_on_a_terminal(hostile: HostileRun) -> None:
    stream = io.StringIO()
    replayed(TerminalReporter(stream, colour=True, live=False, width=80, verbose=False), hostile)
    text = re.sub(r"\x1b\[(?:0|1|2|31|32|33)m", "", stream.getvalue())
    assert all(line.isprintable() for line in text.split("\n"))
