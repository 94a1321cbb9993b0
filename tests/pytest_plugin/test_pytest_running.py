"""Tests of files that are run by pytest: their verdicts, and the words for what is wrong."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from sessions import (
    SERVER,
    Ended,
    call,
    cases_of,
    mcptest,
    pytest_in,
    statuses,
    text,
    write_conductor,
    write_suite,
)

ECHO = call("echoes", "echo", text("hi"), arguments={"text": "hi"})
WRONG = call("differs", "echo", text("Hello, World!"), arguments={"text": "Hello, world!"})


def lines_of(ended: Ended, name: str) -> list[str]:
    """What a session says of one failed test."""
    found = re.search(rf"^_+ {re.escape(name)} _+$\n(.*?)^[_=]{{3,}}", ended.out, re.M | re.S)
    assert found, ended.out
    return found[1].rstrip("\n").split("\n")


def reported_by_run(folder: Path, *words: str) -> str:
    """What the command says of the same file, without its margin."""
    lines = mcptest(folder, "run", *words).out.splitlines()
    return "\n".join(line.strip() for line in lines)


# Verdicts


def test_correct_tests_pass_and_wrong_ones_fail(tmp_path: Path) -> None:
    write_conductor(
        tmp_path / "a.test.mcp.yml", ECHO, WRONG, call("adds", "add", arguments={"a": 1, "b": 2})
    )
    ended = pytest_in(tmp_path, "-v")
    assert ended.code == 1
    assert statuses(ended) == {"echoes": "passed", "differs": "failed", "adds": "passed"}


def test_a_failure_is_reported_as_in_a_run(tmp_path: Path) -> None:
    write_conductor(tmp_path / "a.test.mcp.yml", WRONG)
    ended = pytest_in(tmp_path)
    lines = lines_of(ended, "mcptest::sdk::differs")
    assert lines == [
        "result.content[0].text: differs",
        '  expected  "Hello, World!"',
        '  actual    "Hello, world!"',
        "                    ^",
        "  hint      differs only in case",
        "",
        "a.test.mcp.yml:13",
    ]
    message = reported_by_run(tmp_path)
    assert "\n".join(line.strip() for line in lines[:5]) in message
    # One line at the end says which test, and why.
    assert (
        "FAILED a.test.mcp.yml::mcptest::sdk::differs - MismatchError: result.content" in ended.out
    )


def test_an_answer_with_several_mistakes_shows_the_place_of_each(tmp_path: Path) -> None:
    wanted = {"content": [{"type": "image"}], "structuredContent": {"sum": 4}}
    write_conductor(
        tmp_path / "a.test.mcp.yml", call("adds", "add", wanted, arguments={"a": 1, "b": 2})
    )
    said = "\n".join(line.strip() for line in lines_of(pytest_in(tmp_path), "mcptest::sdk::adds"))
    assert "result.content[0].type: differs" in said
    assert "result.structuredContent.sum: differs" in said
    assert said.removesuffix("\n\na.test.mcp.yml:13") in reported_by_run(tmp_path)


def test_more_is_reported_with_v(tmp_path: Path) -> None:
    write_conductor(tmp_path / "a.test.mcp.yml", WRONG)
    assert "sent      " not in pytest_in(tmp_path).out
    assert "sent      " in pytest_in(tmp_path, "-v").out


def test_a_refusal_of_the_server_is_an_answer(tmp_path: Path) -> None:
    response = {"error": {"code": -32602, "message": "I would rather not", "data": {"why": "mood"}}}
    refuses = {"it": "refuses", "tool": "refuse", "expect": {"response": response}}
    write_conductor(tmp_path / "a.test.mcp.yml", refuses, call("wants more", "refuse"))
    ended = pytest_in(tmp_path, "-v")
    assert statuses(ended)["refuses"] == "passed"


def test_every_lane_with_a_word_is_driven(tmp_path: Path) -> None:
    write_suite(
        tmp_path / "mcptest.yaml",
        tools=[
            {
                "name": "adds",
                "tool": "add",
                "args": {"a": 1, "b": 2},
                "expect": [{"target": "result.structuredContent.sum", "matcher": {"gte": 3}}],
            },
            {
                "name": "adds wrongly",
                "tool": "add",
                "args": {"a": 1, "b": 2},
                "expect": [{"target": "result.structuredContent.sum", "matcher": {"gte": 4}}],
            },
        ],
        resources=[
            {
                "name": "reads",
                "uri": "memo://a",
                "expect": [{"target": "result.contents[0].text", "matcher": {"contains": "memo"}}],
            }
        ],
        prompts=[
            {
                "name": "greets",
                "prompt": "greet",
                "args": {"who": "Ada"},
                "expect": [
                    {"target": "result.messages[0].content.text", "matcher": {"exact": "Hi Ada"}}
                ],
            }
        ],
    )
    ended = pytest_in(tmp_path, "-v")
    assert statuses(ended) == {
        "adds": "passed",
        "adds wrongly": "failed",
        "reads": "passed",
        "greets": "passed",
    }
    assert "result.structuredContent.sum: expected" in ended.out


def test_the_output_of_a_tool_is_held_against_its_own_schema(tmp_path: Path) -> None:
    write_suite(tmp_path / "mcptest.yaml", tools=[{"name": "lies", "tool": "lie"}])
    ended = pytest_in(tmp_path)
    assert ended.code == 1
    assert "result.structuredContent: does not meet the tool's own outputSchema" in ended.out


def test_lists_are_driven(tmp_path: Path) -> None:
    listed = {
        "it": "lists",
        "request": {"jsonrpc": "2.0", "id": "l", "method": "resources/list"},
        "expect": {
            "response": {
                "jsonrpc": "2.0",
                "id": "l",
                "result": {"resources": [{"uri": "memo://a", "name": "a"}]},
            }
        },
    }
    write_conductor(tmp_path / "a.test.mcp.yml", listed)
    assert pytest_in(tmp_path).summary == "1 passed"


# Values from test to test


def keeping(*between: dict[str, Any]) -> list[dict[str, Any]]:
    stores = call("stores", "store", arguments={"text": "tea"})
    stores["capture"] = {"id": "result.structuredContent.id"}
    recalls = call("recalls", "recall", text("tea"), arguments={"id": "${id}"})
    return [stores, *between, recalls]


def test_captured_values_are_available_to_later_tests(tmp_path: Path) -> None:
    write_conductor(tmp_path / "a.test.mcp.yml", *keeping(ECHO))
    write_conductor(tmp_path / "b.test.mcp.yml", *keeping())
    assert pytest_in(tmp_path).summary == "5 passed"


def test_nothing_to_capture_is_a_failure(tmp_path: Path) -> None:
    tests = keeping()
    tests[0]["capture"] = {"id": "result.structuredContent.key"}
    write_conductor(tmp_path / "a.test.mcp.yml", *tests)
    ended = pytest_in(tmp_path, "-v")
    assert statuses(ended) == {"stores": "failed", "recalls": "failed"}
    assert "nothing to capture as 'id'" in ended.out


# Tries, teardown


def test_a_flaky_test_is_tried_again_and_reported(tmp_path: Path) -> None:
    flaky = call("flaky", "flaky", text("ok"), arguments={"until": 3})
    write_conductor(tmp_path / "a.test.mcp.yml", flaky | {"retries": 3}, ECHO)
    ended = pytest_in(tmp_path, "--junitxml", "report.xml")
    assert (ended.code, ended.summary) == (0, "2 passed")
    name = "a.test.mcp.yml::mcptest::sdk::flaky"
    assert f"{name}: flaky: attempt 3 passed" in ended.out
    assert f"{name}: attempt 1: failed at result.content[0].text, differs" in ended.out
    report = (tmp_path / "report.xml").read_text(encoding="utf-8")
    assert 'name="mcptest_note" value="flaky: attempt 3 passed"' in report


def test_a_test_without_tries_left_fails_with_all_of_them(tmp_path: Path) -> None:
    flaky = call("flaky", "flaky", text("ok"), arguments={"until": 9})
    write_conductor(tmp_path / "a.test.mcp.yml", flaky | {"retries": 1})
    ended = pytest_in(tmp_path)
    assert ended.code == 1
    assert "note: attempt 1: failed at result.content[0].text, differs" in ended.out


@pytest.mark.parametrize(("text", "code"), [("tea", 0), ("coffee", 1)])
def test_a_teardown_that_fails_is_reported(tmp_path: Path, text: str, code: int) -> None:
    entry = {
        "name": "stores",
        "steps": [
            {
                "tool": "store",
                "args": {"text": "tea"},
                "capture": {"id": "result.structuredContent.id"},
            }
        ],
        "teardown": [
            {
                "tool": "recall",
                "args": {"id": "${id}"},
                "expect": [{"target": "result.content[0].text", "matcher": {"exact": text}}],
            }
        ],
    }
    write_suite(tmp_path / "mcptest.yaml", tools=[entry])
    ended = pytest_in(tmp_path)
    assert ended.code == code, ended.out
    assert ("it passed, but its teardown did not" in ended.out) is bool(code)


# Case files


def cases(folder: Path, *documents: dict[str, Any]) -> None:
    head = {"_server": {"command": SERVER[0], "args": SERVER[1:], "name": "lib"}}
    first, *rest = documents
    parts = [json.dumps(head | first), *map(json.dumps, rest)]
    (folder / "a.cases.yaml").write_text("\n---\n".join(parts) + "\n", encoding="utf-8")


def case(name: str, tool: str, result: Any, **arguments: Any) -> dict[str, Any]:
    params = {"name": tool, "arguments": arguments}
    asked = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    return {"case": name, "in": asked, "out": {"jsonrpc": "2.0", "id": 1, "result": result}}


def test_cases_of_one_call_and_of_more_are_run(tmp_path: Path) -> None:
    two = case("two", "count", text("2")) | {"in_too": {"jsonrpc": "2.0", "method": "x"}}
    cases(tmp_path, case("one", "count", text("1")), two, case("three", "count", text("2")))
    ended = pytest_in(tmp_path, "-v")
    assert statuses(ended) == {"one": "passed", "two": "passed", "three": "failed"}


@pytest.mark.parametrize(
    ("tool", "wanted"),
    [
        ("echo", text("other")),
        ("echo", {"content": []}),
        ("refuse", text("a")),
    ],
)
def test_a_case_that_fails_is_reported_as_in_a_run(tmp_path: Path, tool: str, wanted: Any) -> None:
    cases(tmp_path, case("one", tool, wanted, text="hi"))
    lines = lines_of(pytest_in(tmp_path), "mcptest::lib::one")
    assert lines[0].startswith("out.result")
    message = reported_by_run(tmp_path, "a.cases.yaml")
    *said, blank, place = (line.strip() for line in lines)
    assert "\n".join(said) in message
    assert (blank, place in message) == ("", True)


# Order


def test_x_stops_at_the_first_failure(tmp_path: Path) -> None:
    write_conductor(tmp_path / "a.test.mcp.yml", ECHO, WRONG, call("counts", "count"))
    ended = pytest_in(tmp_path, "-x")
    assert (ended.code, ended.summary) == (1, "1 failed, 1 passed")


def test_tests_that_failed_last_time_are_run_again(tmp_path: Path) -> None:
    write_conductor(tmp_path / "a.test.mcp.yml", ECHO, WRONG, call("counts", "count"))
    with_cache = ("cacheprovider",)
    assert pytest_in(tmp_path, plugins=with_cache).code == 1
    ended = pytest_in(tmp_path, "--lf", "-v", plugins=with_cache)
    assert statuses(ended) == {"differs": "failed"}
    write_conductor(tmp_path / "a.test.mcp.yml", ECHO, WRONG | ECHO | {"it": "differs"})
    ended = pytest_in(tmp_path, "--lf", plugins=with_cache)
    assert ended.summary == "1 passed, 1 deselected"
    assert pytest_in(tmp_path, "--lf", plugins=with_cache).summary == "2 passed"


def test_a_junit_report_has_names_and_reasons(tmp_path: Path) -> None:
    skipped = call("skipped", "count", skip="not today")
    write_conductor(tmp_path / "sub" / "a.test.mcp.yml", ECHO, WRONG, skipped, call("dies", "die"))
    pytest_in(tmp_path, "--junitxml", "report.xml")
    found = {each.attrib["name"]: each for each in cases_of(tmp_path / "report.xml")}
    assert list(found) == ["echoes", "differs", "skipped", "dies"]
    assert {each.attrib["classname"] for each in found.values()} == {
        "sub.a.test.mcp.yml.mcptest.sdk"
    }
    assert list(found["echoes"]) == []
    (failure,) = found["differs"]
    assert failure.tag == "failure"
    assert failure.attrib["message"].startswith("MismatchError: result.content[0].text: differs")
    assert failure.text is not None
    assert '  actual    "Hello, world!"' in failure.text
    (skip,) = found["skipped"]
    assert (skip.tag, skip.attrib["message"]) == ("skipped", "not today")
    (broken,) = found["dies"]
    assert broken.attrib["message"].startswith("BrokenError: exited_during_call: the server ended")


def test_server_output_cannot_control_a_terminal(tmp_path: Path) -> None:
    rude = call("rude", "echo", text("a"), arguments={"text": "\x1b[2J\u202e"})
    write_conductor(
        tmp_path / "a.test.mcp.yml", rude, call("dies", "die", arguments={"words": "\x1b[2J"})
    )
    ended = pytest_in(tmp_path)
    assert ended.summary == "2 failed"
    assert "\x1b" not in ended.out
    assert "\u202e" not in ended.out


# Other hosts

IN_A_THREAD = """
import threading
import pytest
from _pytest.runner import runtestprotocol

@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item, nextitem):
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    thread = threading.Thread(target=runtestprotocol, args=(item,), kwargs={"nextitem": nextitem})
    thread.start()
    thread.join()
    return True
"""


def test_tests_can_be_run_off_the_main_thread(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(IN_A_THREAD, encoding="utf-8")
    pattern = call("matches", "echo", text("match:regex:^a+$"), arguments={"text": "aaa"})
    write_conductor(tmp_path / "a.test.mcp.yml", ECHO, WRONG, pattern)
    ended = pytest_in(tmp_path, "-v")
    assert statuses(ended) == {"echoes": "passed", "differs": "failed", "matches": "passed"}


FORKS = """
import os

def test_fork():
    child = os.fork()
    if child:
        # The copy has run the rest of the session with a server of its own, and failed there.
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 1
"""


def test_a_fork_that_runs_the_rest_of_a_session_leaves_the_servers_alone(tmp_path: Path) -> None:
    write_conductor(tmp_path / "a.test.mcp.yml", call("first", "count", text("1")))
    (tmp_path / "test_b.py").write_text(FORKS, encoding="utf-8")
    write_conductor(tmp_path / "z.test.mcp.yml", call("second", "count", text("2")))
    ended = pytest_in(tmp_path)
    assert (ended.code, ended.summary) == (0, "3 passed"), ended.out
