"""What is asked of a whole run of a suite: gates, schemas, several servers together, its end."""

from __future__ import annotations

import json
import signal
import socket
from typing import TYPE_CHECKING, Any

import pytest
from console import mcptest
from plugin_runs import plugin_words, running
from suite_runs import (
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

    from connect_back import Listener

    Keys = dict[str, Any]

TWO = {"a": server("a_"), "b": server("b_")}
ALL_RESOURCES = [
    {"name": "r1", "uri": "memo://a", "tags": ["most"]},
    {"name": "r2", "uri": "memo://b"},
]
ALL_PROMPTS = [{"name": "p", "prompt": "greet", "tags": ["most"]}]


# Gates


@pytest.mark.parametrize(
    ("coverage", "resources", "code", "gates"),
    [
        ({"resources": 100, "prompts": 100}, 2, 0, []),
        (
            {"resources": 51, "prompts": 100},
            1,
            6,
            [
                "coverage of resources is 50.0 %, and the suite asks for 51 %; unused: memo://b",
            ],
        ),
        ({"resources": 50}, 1, 0, []),
        ({"total": 16}, 2, 6, None),
        ({"total": 15}, 2, 0, []),
    ],
)
def test_coverage_of_each_kind_is_a_gate(
    coverage: Keys, resources: int, code: int, gates: list[str] | None, tmp_path: Path
) -> None:
    read = ALL_RESOURCES[:resources]
    suite = {"coverage": coverage, "resources": read, "prompts": ALL_PROMPTS}
    ended = run_suite(tmp_path, suite)
    report = ended.report()
    assert (ended.code, report["summary"]["failed"]) == (code, 0)
    if gates is None:
        [gate] = report["gates"]
        assert gate.startswith("coverage of all offers is 15.7 %, and the suite asks for 16 %; ")
    else:
        assert report["gates"] == gates


def test_part_of_the_tests_misses_no_gate(tmp_path: Path) -> None:
    suite = {"coverage": {"resources": 100}, "resources": ALL_RESOURCES, "prompts": ALL_PROMPTS}
    ended = run_suite(tmp_path, suite, "--tag", "most")
    assert (ended.code, ended.report()["gates"]) == (0, [])


def test_coverage_is_of_all_servers_of_the_suite(tmp_path: Path) -> None:
    prompts = [
        {"name": f"{each}_p", "server": each, "prompt": f"{each}_greet"} for each in ("a", "b")
    ]
    suite = {"servers": TWO, "coverage": {"prompts": 100}, "prompts": prompts}
    assert run_suite(tmp_path, suite).code == 0
    tools = [call("t", "b_echo", server="b")]
    ended = run_suite(tmp_path, {**suite, "prompts": prompts[:1], "tools": tools})
    assert ended.code == 6
    assert ended.report()["gates"] == [
        "coverage of prompts is 50.0 %, and the suite asks for 100 %; unused: b_greet"
    ]


@pytest.mark.parametrize("words", [(), ("--parallel", "2")])
def test_times_of_calls_are_gates_also_when_servers_run_side_by_side(
    words: tuple[str, ...], tmp_path: Path
) -> None:
    tests = [call("a", "a_slow", server="a", args={"ms": 40}), call("b", "b_echo", server="b")]
    suite = {"servers": TWO, "tools": tests, "performance": {"max_ms": 30, "p50_ms": 20_000}}
    ended = run_suite(tmp_path, suite, *words)
    assert ended.code == 6
    [gate] = ended.report()["gates"]
    assert gate.startswith("max_ms is ")
    assert gate.endswith(" ms over 2 calls, and the suite asks for 30 ms")
    assert run_suite(tmp_path, {**suite, "performance": {"max_ms": 20_000}}, *words).code == 0


def test_gates_of_a_suite_and_of_what_it_imports_are_reported_once(tmp_path: Path) -> None:
    write(tmp_path, {"resources": ALL_RESOURCES[:1]}, "part.yaml")
    suite = {"imports": ["part.yaml"], "coverage": {"resources": 60}, "prompts": ALL_PROMPTS}
    ended = run_suite(tmp_path, suite)
    assert (ended.code, len(ended.report()["gates"])) == (6, 1)
    assert run_suite(tmp_path, {**suite, "coverage": {"resources": 50}}).code == 0


# Schemas


def test_structured_output_is_held_against_the_schema_of_its_tool(tmp_path: Path) -> None:
    tests = [
        call("right", "add", args={"a": 1, "b": 2}),
        call("too much", "add", args={"a": 999, "b": 2}),
        call("wrong", "wrong", expect=[{"target": "result", "matcher": {"type": "object"}}]),
        call("missing", "bare"),
        call(
            "an error", "failing", expect=[{"target": "result.isError", "matcher": {"exact": True}}]
        ),
        call("a format", "clock", args={"when": "soon"}),
    ]
    ended = run_suite(tmp_path, {"tools": tests})
    assert outcomes(ended) == {
        "right": "passed",
        "too much": "failed",
        "wrong": "failed",
        "missing": "failed",
        "an error": "passed",
        "a format": "failed",
    }
    assert {path for path, _ in mismatches(ended)} == {"result.structuredContent"}
    # The rules about sessions say the same.
    assert {each["kind"] for each in ended.report()["findings"]} == {"TOOL-07", "TOOL-08"}


@pytest.mark.parametrize("mode", ["bad_input", "bad_output", "no_schema"])
def test_an_invalid_schema_fails_the_run_even_if_its_tool_is_never_called(
    mode: str, tmp_path: Path
) -> None:
    suite = {"servers": {"a": server(env={"MODE": mode})}, "tools": [call("n")]}
    ended = run_suite(tmp_path, suite)
    assert (ended.code, outcomes(ended)) == (1, {"n": "passed"})
    found = ended.report()["findings"]
    [finding] = [each for each in found if each["kind"] == "bad_schema"]
    assert (finding["server"], finding["count"]) == ("a", 1)
    assert " of the tool odd is not a JSON Schema that can be used: it " in finding["message"]
    # A test that calls it has it in its own result as well.
    ended = run_suite(tmp_path, {**suite, "tools": [call("n", "odd")]})
    assert (ended.code, outcomes(ended)) == (1, {"n": "failed"})


@pytest.mark.parametrize("scheme", ["http", "https", "ftp"])
def test_remote_references_of_a_schema_are_never_fetched(scheme: str, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        reference = f"{scheme}://127.0.0.1:{listening.getsockname()[1]}/schema.json"
        env = {"MODE": "ref", "REF": reference}
        tests = [call("n", "odd"), call("own")]
        ended = run_suite(tmp_path, {"servers": {"a": server(env=env)}, "tools": tests})
        listening.setblocking(False)
        with pytest.raises(BlockingIOError):
            listening.accept()
    assert (ended.code, outcomes(ended)) == (1, {"n": "failed", "own": "passed"})
    [(path, message)] = mismatches(ended)
    assert path == "tools/list odd.outputSchema"
    assert f"it refers to {reference}; nothing is fetched" in message


def test_a_schema_of_the_file_that_refers_elsewhere_is_refused_before_anything_starts(
    tmp_path: Path,
) -> None:
    matcher = {"schema": {"$ref": "http://127.0.0.1:9/x.json"}}
    ended = run_suite(
        tmp_path, {"tools": [call("n", expect=[{"target": "result", "matcher": matcher}])]}
    )
    assert (ended.code, journal(tmp_path)) == (2, [])
    assert ended.report()["error"]["diagnostics"][0]["code"] == "F019"


@pytest.mark.long
def test_validation_against_a_schema_that_takes_too_long_is_stopped_and_does_not_pass(
    tmp_path: Path,
) -> None:
    suite = {
        "servers": {"a": server(env={"MODE": "wide"})},
        "tools": [call("endless", "odd"), call("after")],
    }
    ended = run_suite(tmp_path, suite)
    assert outcomes(ended) == {"endless": "failed", "after": "passed"}
    said = "cannot be held against the tool's outputSchema: that takes over 2 s"
    assert mismatches(ended) == [("result.structuredContent", said)]
    assert journal(tmp_path).count("starts") == 1


# Several servers together


def test_tools_of_one_name_on_two_servers_are_reported_and_fail_a_strict_run(
    tmp_path: Path,
) -> None:
    servers = {"a": server(), "b": server()}
    tests = [call("1", server="a"), call("2", server="b")]
    ended = run_suite(tmp_path, {"servers": servers, "tools": tests})
    assert ended.code == 0
    findings = ended.report()["findings"]
    assert "tool_overlap" in {finding["kind"] for finding in findings}
    ended = run_suite(tmp_path, None, "--strict-invariants")
    assert (ended.code, ended.report()["summary"]["passed"]) == (1, 2)


@pytest.mark.parametrize("words", [(), ("--parallel", "2")])
def test_two_servers_that_do_not_get_in_each_other_s_way_pass_a_strict_run(
    words: tuple[str, ...], tmp_path: Path
) -> None:
    tests = [
        call("1", "a_add", server="a", args={"a": 1, "b": 2}),
        call("2", "b_add", server="b", args={"a": 1, "b": 2}),
    ]
    suite = {"servers": TWO, "tools": tests}
    ended = run_suite(tmp_path, suite, "--strict-invariants", "--capture", "run.json", *words)
    assert (ended.code, ended.report()["findings"]) == (0, [])
    sessions = json.loads((tmp_path / "run.json").read_text(encoding="utf-8"))
    assert len(sessions) == 2
    assert mcptest(tmp_path, "compliance", "check", "--capture", "run.json").code == 0


# Plugins


@pytest.mark.parametrize(
    ("town", "code", "said"),
    [
        ("Paris", 0, []),
        (
            "Oslo",
            1,
            [
                (
                    "result.content[0].text",
                    'right town: expected what the plugin geo accepts as same for "Oslo"; '
                    "it says: 'Paris' is not 'Oslo'",
                )
            ],
        ),
    ],
)
def test_a_suite_can_declare_and_use_its_own_plugin(
    town: str, code: int, said: list[tuple[str, str]], tmp_path: Path
) -> None:
    matcher = {"plugin": {"name": "geo", "method": "same", "params": town}}
    expect = [{"target": "result.content[0].text", "matcher": matcher, "message": "right town"}]
    suite = {
        "imports": {"subprocess_matchers": {"geo": {"command": plugin_words()}}},
        "tools": [call("n", args={"text": "Paris"}, expect=expect)],
    }
    ended = run_suite(tmp_path, suite)
    assert (ended.code, mismatches(ended)) == (code, said)


def test_an_undeclared_plugin_is_a_mistake(tmp_path: Path) -> None:
    expect = [{"target": "result", "matcher": {"plugin": {"name": "geo", "method": "same"}}}]
    ended = run_suite(tmp_path, {"tools": [call("n", expect=expect)]})
    assert ended.code == 2
    [found] = ended.report()["error"]["diagnostics"]
    assert (found["code"], found["message"]) == (
        "F021",
        "the matcher \"plugin\" finds no plugin 'geo'",
    )


# Secrets


def test_a_secret_reaches_the_server_and_no_report(tmp_path: Path) -> None:
    suite = {
        "variables": {"token": {"secret_env": "SHOP_TOKEN"}},
        "tools": [call("n", args={"text": "it is ${token}"}, expect=text_is("no"))],
    }
    ended = run_suite(tmp_path, suite, "--capture", "run.json", SHOP_TOKEN="correct-horse-9")
    assert (ended.code, journal(tmp_path)[1]) == (1, 'echo {"text": "it is correct-horse-9"}')
    capture = (tmp_path / "run.json").read_text(encoding="utf-8")
    assert "correct-horse-9" not in ended.out + ended.err + capture
    assert "it is [secret]" in results_of(ended)[0]["mismatches"][0]["actual"]


# The end


@pytest.mark.long
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_suite_leaves_no_server_and_a_report(
    number: signal.Signals, tmp_path: Path, listener: Listener
) -> None:
    tests = [
        call("1", "a_echo", server="a"),
        call("2", "b_hang", server="b", teardown=[{"tool": "b_echo"}]),
        call("3", "b_echo", server="b"),
    ]
    write(tmp_path, {"servers": TWO, "tools": tests, "coverage": {"tools": 100}})
    with running(tmp_path, **listener.environment) as run:
        first, second = listener.next_caller(), listener.next_caller()
        assert (first.name, second.name) == ("a_suite", "b_suite")
        assert second.next_word() == "hangs"
        run.signal(number)
        ended = run.finish()
        assert first.is_dead_within(10)
        assert second.is_dead_within(10)
    assert ended.code == 130
    assert ended.report()["interrupted"] is True
    assert outcomes(ended)["1"] == "passed"


@pytest.mark.parametrize("words", [(), ("--parallel", "2")])
def test_a_suite_that_is_killed_leaves_no_server(
    words: tuple[str, ...], tmp_path: Path, listener: Listener
) -> None:
    tests = [call("1", "a_hang", server="a"), call("2", "b_hang", server="b")]
    write(tmp_path, {"servers": TWO, "tools": tests if words else tests[:1]})
    with running(tmp_path, *words, **listener.environment) as run:
        callers = [listener.next_caller() for _ in range(2 if words else 1)]
        assert [caller.next_word() for caller in callers] == ["hangs"] * len(callers)
        run.signal(signal.SIGKILL)
        assert all(caller.is_dead_within(10) for caller in callers)


# Files that several suites import


def test_a_file_that_two_suites_import_runs_for_each_of_them(tmp_path: Path) -> None:
    common = {"tools": [{"name": "says", "tool": "echo", "args": {"text": "hi"}}]}
    (tmp_path / "common.yaml").write_text(json.dumps(common), encoding="utf-8")
    for name in ("a", "b"):
        suite = {"servers": {"s": server()}, "imports": ["common.yaml"]}
        (tmp_path / f"{name}.mcptest.yaml").write_text(json.dumps(suite), encoding="utf-8")
    ended = mcptest(tmp_path, "run", "a.mcptest.yaml", "b.mcptest.yaml", "--json")
    assert ended.report()["summary"]["total"] == 2
