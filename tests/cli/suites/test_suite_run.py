"""Suites, run by the real command: which servers are started, what is selected and reported."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

import pytest
from console import mcptest
from suite_runs import (
    SUITE_SERVER,
    call,
    journal,
    mismatches,
    outcomes,
    results_of,
    run_suite,
    server,
    text_is,
    write,
)

if TYPE_CHECKING:
    from pathlib import Path

TWO = {"a": server("a_"), "b": server("b_")}


# Servers


def test_each_server_is_started_once_in_any_order_of_its_tests(tmp_path: Path) -> None:
    tests = [
        call("1", "a_echo", server="a"),
        call("2", "b_echo", server="b"),
        call("3", "a_add", server="a", args={"a": 1, "b": 2}),
        call("4", "b_echo", server="b"),
    ]
    ended = run_suite(tmp_path, {"servers": TWO, "tools": tests})
    assert (ended.code, ended.err) == (0, "")
    assert [test["name"] for test in results_of(ended)] == ["1", "3", "2", "4"]
    assert journal(tmp_path) == [
        "a_starts",
        "a_echo {}",
        'a_add {"a": 1, "b": 2}',
        "a_ends",
        "b_starts",
        "b_echo {}",
        "b_echo {}",
        "b_ends",
    ]
    suites = [(suite["file"], suite["server"]) for suite in ended.report()["suites"]]
    assert suites == [("mcptest.yaml", "a"), ("mcptest.yaml", "b")]


@pytest.mark.parametrize(
    ("words", "started"),
    [
        (("-k", "second"), ["b_starts"]),
        (("--tag", "quick"), ["a_starts"]),
        (("--skip-tag", "quick"), ["b_starts"]),
        ((), ["a_starts", "b_starts"]),
    ],
)
def test_a_server_that_no_chosen_test_needs_is_never_started(
    words: tuple[str, ...], started: list[str], tmp_path: Path
) -> None:
    tests = [
        call("first", "a_echo", server="a", tags=["quick"]),
        call("second", "b_echo", server="b"),
    ]
    ended = run_suite(tmp_path, {"servers": TWO, "tools": tests}, *words)
    assert ended.code == 0
    assert [line for line in journal(tmp_path) if "starts" in line] == started


def test_a_server_whose_tests_are_skipped_or_that_has_none_is_never_started(tmp_path: Path) -> None:
    servers = {**TWO, "c": server("c_")}
    tests = [call("1", "a_echo", server="a"), call("2", "b_echo", server="b", skip="not yet")]
    ended = run_suite(tmp_path, {"servers": servers, "tools": tests})
    assert (ended.code, outcomes(ended)) == (0, {"1": "passed", "2": "skipped"})
    assert [line for line in journal(tmp_path) if "starts" in line] == ["a_starts"]


def test_servers_of_imported_files_are_started_once_for_all_files(tmp_path: Path) -> None:
    part = {"tools": [call("3", "a_echo", server="a"), call("4", "b_echo", server="b")]}
    write(tmp_path, part, "parts/more.yaml")
    main = {
        "imports": ["parts/more.yaml"],
        "servers": TWO,
        "tools": [call("1", "a_echo", server="a"), call("2", "b_echo", server="b")],
    }
    ended = run_suite(tmp_path, main)
    assert ended.code == 0
    starts = [line for line in journal(tmp_path) if "starts" in line]
    assert starts == ["a_starts", "b_starts"]
    files = [(suite["file"], suite["server"]) for suite in ended.report()["suites"]]
    assert files == [
        ("mcptest.yaml", "a"),
        ("parts/more.yaml", "a"),
        ("mcptest.yaml", "b"),
        ("parts/more.yaml", "b"),
    ]


def test_a_server_that_cannot_be_started_leaves_the_others_alone(tmp_path: Path) -> None:
    servers = {"broken": {"command": ["/nowhere/at/all"]}, "a": server("a_")}
    tests = [call("1", server="broken"), call("2", "a_echo", server="a")]
    ended = run_suite(tmp_path, {"servers": servers, "tools": tests})
    assert (ended.code, outcomes(ended)) == (1, {"1": "error", "2": "passed"})
    assert results_of(ended)[0]["error"]["kind"] == "spawn_failed"


def test_when_the_only_server_cannot_be_started_no_test_runs(tmp_path: Path) -> None:
    broken = {"broken": {"command": ["/nowhere/at/all"]}}
    ended = run_suite(tmp_path, {"servers": broken, "tools": [call("1")]})
    assert ended.code == 3
    assert ended.report()["error"]["kind"] == "spawn_failed"


def test_a_server_runs_in_the_folder_of_the_suite_with_its_environment(tmp_path: Path) -> None:
    folder = tmp_path / "deep" / "down"
    suite = {"servers": {"a": server()}, "tools": [call("1")]}
    write(folder, suite)
    ended = mcptest(tmp_path, "run", "deep/down/mcptest.yaml", "--json")
    assert ended.code == 0
    assert journal(folder) == ["starts", "echo {}", "ends"]


@pytest.mark.parametrize(("isolation", "starts"), [("run", 1), ("file", 1), ("test", 2)])
def test_isolation_says_what_gets_a_process_of_its_own(
    isolation: str, starts: int, tmp_path: Path
) -> None:
    suite = {"run_options": {"isolation": isolation}, "tools": [call("1"), call("2")]}
    assert run_suite(tmp_path, suite).code == 0
    assert journal(tmp_path).count("starts") == starts


@pytest.mark.parametrize("words", [(), ("--parallel", "2")])
def test_servers_run_side_by_side_and_the_report_is_in_order(
    words: tuple[str, ...], tmp_path: Path
) -> None:
    tests = [
        call("slow", "a_slow", server="a", args={"ms": 300}),
        call("quick", "b_echo", server="b"),
    ]
    options = {} if words else {"run_options": {"parallel": 2}}
    ended = run_suite(tmp_path, {"servers": TWO, "tools": tests, **options}, *words)
    assert (ended.code, list(outcomes(ended))) == (0, ["slow", "quick"])
    lines = journal(tmp_path)
    # The second had its turn before the first was done with its own.
    assert lines.index("b_starts") < lines.index("a_ends")


# Which server


def test_a_command_on_the_command_line_replaces_the_only_server(tmp_path: Path) -> None:
    suite = {
        "servers": {"a": {"command": ["/nowhere"], "env": server()["env"]}},
        "tools": [call("1", "z_echo")],
    }
    command = f"{sys.executable} {SUITE_SERVER} z_"
    ended = run_suite(tmp_path, suite, "--server-command", command)
    assert (ended.code, journal(tmp_path)[0]) == (0, "z_starts")
    assert ended.report()["suites"][0]["server"] == "a"


def test_a_command_on_the_command_line_cannot_replace_two_servers(tmp_path: Path) -> None:
    tests = [call("1", "a_echo", server="a"), call("2", "b_echo", server="b")]
    ended = run_suite(tmp_path, {"servers": TWO, "tools": tests}, "--server-command", "x")
    assert ended.code == 2
    message = "--server-command names one server, and mcptest.yaml has 2 servers: a, b"
    assert ended.report()["error"]["message"] == message
    assert journal(tmp_path) == []


def test_a_config_beside_or_on_the_command_line_does_not_replace_a_suite_s_servers(
    tmp_path: Path,
) -> None:
    config = {"name": "other", "command": "/nowhere", "args": []}
    (tmp_path / "conductor.config.json").write_text(json.dumps(config), encoding="utf-8")
    suite = {"tools": [call("1")]}
    assert run_suite(tmp_path, suite).code == 0
    ended = run_suite(tmp_path, suite, "mcptest.yaml", "--config", "conductor.config.json")
    assert (ended.code, journal(tmp_path)[0]) == (0, "starts")


# Which files


@pytest.mark.parametrize("name", ["mcptest.yaml", "mcptest.yml"])
def test_without_a_path_the_suite_of_the_folder_is_run_and_nothing_else(
    name: str, tmp_path: Path
) -> None:
    write(tmp_path, {"servers": {"a": server()}, "tools": [call("1")]}, name)
    write(tmp_path, {"broken": True}, "sub/mcptest.yaml")
    (tmp_path / "a.test.mcp.yml").write_text("broken", encoding="utf-8")
    ended = run_suite(tmp_path, None)
    assert (ended.code, [suite["file"] for suite in ended.report()["suites"]]) == (0, [name])


def test_two_suites_in_one_folder_without_a_path_are_a_question(tmp_path: Path) -> None:
    for name in ("mcptest.yaml", "mcptest.yml"):
        write(tmp_path, {"servers": {"a": server()}, "tools": [call("1")]}, name)
    ended = run_suite(tmp_path, None)
    message = "there are both mcptest.yaml and mcptest.yml; which one is meant?"
    assert (ended.code, ended.report()["error"]["message"]) == (2, message)
    assert journal(tmp_path) == []
    assert run_suite(tmp_path, None, "mcptest.yml").code == 0


def test_a_folder_means_every_test_file_of_any_format_below_it(tmp_path: Path) -> None:
    suite = {"servers": {"a": server()}, "tools": [call("1")]}
    for name in ("mcptest.yaml", "sub/mcptest.yml", "sub/other.mcptest.yaml"):
        write(tmp_path, suite, name)
    write(tmp_path, {"no": "suite"}, "notmcptest.yaml")
    conductor = (
        f"description: d\nserver: {{name: c, command: '{sys.executable}', "
        f"args: ['{SUITE_SERVER}']}}\ntests:\n  - {{it: c, tool: echo, expect: "
        "{response: {match:partial: {result: {isError: false}}}}}\n"
    )
    (tmp_path / "sub" / "c.test.mcp.yml").write_text(conductor, encoding="utf-8")
    ended = run_suite(tmp_path, None, ".")
    assert ended.code == 0
    assert [(each["file"], each["format"]) for each in ended.report()["suites"]] == [
        ("mcptest.yaml", "suite"),
        ("sub/c.test.mcp.yml", "conductor"),
        ("sub/mcptest.yml", "suite"),
        ("sub/other.mcptest.yaml", "suite"),
    ]


@pytest.mark.parametrize("words", [("weather.yaml",), ("weather.json", "--format", "suite")])
def test_a_file_of_any_name_is_known_by_its_servers_or_by_the_option(
    words: tuple[str, ...], tmp_path: Path
) -> None:
    suite = {"servers": {"a": server()}, "description": "Weather", "tools": [call("1")]}
    write(tmp_path, suite, words[0])
    ended = run_suite(tmp_path, None, *words)
    assert (ended.code, ended.report()["suites"][0]["name"]) == (0, "Weather")


# Marks


def test_skip_and_only_are_kept_to(tmp_path: Path) -> None:
    tests = [call("1", skip="later"), call("2", only=True), call("3")]
    ended = run_suite(tmp_path, {"tools": tests})
    assert outcomes(ended) == {"1": "skipped", "2": "passed", "3": "skipped"}
    assert journal(tmp_path) == ["starts", "echo {}", "ends"]
    assert [each["code"] for each in ended.report()["warnings"]] == ["W002"]


def test_a_run_in_which_nothing_is_selected_does_not_succeed(tmp_path: Path) -> None:
    ended = run_suite(tmp_path, {"tools": [call("1")]}, "-k", "nothing like it")
    assert (ended.code, journal(tmp_path)) == (7, [])


def test_tags_of_defaults_choose_as_well(tmp_path: Path) -> None:
    suite = {"defaults": {"tags": ["all"]}, "tools": [call("1", tags=["own"]), call("2")]}
    assert outcomes(run_suite(tmp_path, suite, "--tag", "all")) == {"1": "passed", "2": "passed"}
    assert outcomes(run_suite(tmp_path, None, "--tag", "own")) == {"1": "passed"}


# All lanes, and how a failure is reported


def test_tools_resources_and_prompts_are_called_with_what_is_written(tmp_path: Path) -> None:
    suite = {
        "variables": {"order": "A-17", "region": {"from_env": "REGION", "default": "eu"}},
        "tools": [call("t", args={"text": "${order} in ${region}"}, expect=text_is("A-17 in us"))],
        "resources": [
            {
                "name": "r",
                "uri": "memo://a",
                "expect": [{"target": "result.contents[0].text", "matcher": {"regex": "^# "}}],
            }
        ],
        "prompts": [
            {
                "name": "p",
                "prompt": "greet",
                "args": {"who": "Ada"},
                "expect": text_is("Hi Ada", "result.messages[0].content.text"),
            }
        ],
    }
    ended = run_suite(tmp_path, suite, REGION="us")
    assert (ended.code, outcomes(ended)) == (0, dict.fromkeys("trp", "passed"))
    assert journal(tmp_path)[1:-1] == [
        'echo {"text": "A-17 in us"}',
        "uri memo://a",
        'prompt {"arguments": {"who": "Ada"}, "name": "greet"}',
    ]


def test_every_assertion_that_fails_is_in_the_report_in_the_author_s_words(tmp_path: Path) -> None:
    expect = [
        {"target": "result.content[0].text", "matcher": {"contains": "B"}, "message": "echoed"},
        {"target": "result.isError", "matcher": {"exact": False}},
        {"target": "result.content[*].type", "matcher": {"exact": ["image"]}},
    ]
    ended = run_suite(tmp_path, {"tools": [call("1", args={"text": "A"}, expect=expect)]})
    assert ended.code == 1
    [test] = results_of(ended)
    assert test["mismatches"][0] == {
        "path": "result.content[0].text",
        "expected": "contains: B",
        "actual": "A",
        "message": 'echoed: expected a string that contains "B"; it does not',
        "hint": "",
        "described": True,
    }
    assert mismatches(ended)[1:] == [("result.content[*].type[0]", "differs")]
    (tmp_path / "report.json").write_text(ended.out, encoding="utf-8")
    assert "  expected  contains: B\n" in mcptest(tmp_path, "report", "report.json").out
    lines = (tmp_path / "mcptest.yaml").read_text(encoding="utf-8").splitlines()
    assert lines[test["line"]].strip() == '"name": "1",'


def test_a_mistake_in_the_file_starts_nothing_and_is_one_object_with_all_of_them(
    tmp_path: Path,
) -> None:
    suite = {
        "servers": {"a": server()},
        "tools": [call("1", server="b"), call("2", expect=[])],
        "toolz": 1,
    }
    ended = run_suite(tmp_path, suite)
    report = ended.report()
    assert (ended.code, report["suites"], journal(tmp_path)) == (2, [], [])
    found = report["error"]["diagnostics"]
    assert [each["code"] for each in found] == ["F009", "F011", "F006"]
    assert all(each["file"] == "mcptest.yaml" and each["line"] > 1 for each in found)


def test_a_suite_is_validated_without_starting_anything(tmp_path: Path) -> None:
    write(tmp_path, {"servers": TWO, "tools": [call("1", "a_echo", server="a")]})
    ended = mcptest(tmp_path, "validate", "mcptest.yaml")
    assert (ended.code, ended.err, journal(tmp_path)) == (0, "", [])
    write(tmp_path, {"servers": TWO, "tools": [call("1", "a_echo")]})
    ended = mcptest(tmp_path, "validate", "mcptest.yaml")
    assert (ended.code, journal(tmp_path)) == (2, [])
    assert 'it must say which "server" is meant: there is more than one' in ended.err
