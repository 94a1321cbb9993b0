"""A plugin that fails makes its test an error, affects no other test, and leaves no process."""

from __future__ import annotations

import json
import signal
import sys
from typing import TYPE_CHECKING, Any

import pytest
from console import TINY_SERVER, case, mcptest, write_suite
from plugin_runs import (
    asking,
    config_with,
    option,
    plugin_words,
    results,
    run_tests,
    running,
    statuses,
)

if TYPE_CHECKING:
    from pathlib import Path

    from connect_back import Caller, Listener

LONG_S = 20.0


def counting_config(folder: Path, mode: str = "good", **keys: object) -> None:
    """As `config_with`, and every start of the server leaves a line in the file `starts`."""
    script = f"echo started >> starts; exec {sys.executable} {TINY_SERVER}"
    config_with(folder, mode, **keys)
    change_config(folder, command="sh", args=["-c", script])


def change_config(folder: Path, **keys: object) -> None:
    path = folder / "conductor.config.json"
    config = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps(config | keys), encoding="utf-8")


def starts(folder: Path) -> int:
    return len((folder / "starts").read_text(encoding="utf-8").splitlines())


# Each way to fail: the name of the failure, its message, and whether the next call works.
FAILURES = [
    ("not_json", "InvalidJson", "it does not begin like JSON: geo: looking it up \\u001b[1m", True),
    ("not_utf8", "InvalidJson", "is not valid UTF-8", True),
    ("array", "InvalidResponse", "it is not an object: []", True),
    ("both", "InvalidResponse", 'it has both of "result" and "error"', True),
    ("neither", "InvalidResponse", 'it has neither of "result" and "error"', True),
    ("other_id", "InvalidResponse", 'it answers what was never asked: {"id": 999', True),
    ("id_as_text", "InvalidResponse", "its id is not that of the call, ", True),
    ("exit", "PluginCrashed", "exit status 3", False),
    ("die", "PluginCrashed", "killed by SIGKILL", False),
    ("half_a_line", "PluginCrashed", "exit status 0, in the middle of a line", False),
    ("close_stdout", "PluginCrashed", "it closed its stdout and stayed", False),
]


@pytest.mark.parametrize(("method", "name", "message", "recovers"), FAILURES)
def test_a_failure_is_an_error_of_its_test_and_the_others_go_on(
    method: str, name: str, message: str, recovers: bool, tmp_path: Path
) -> None:
    counting_config(tmp_path)
    tests = (asking(f"geo.{method}"), case("other"), asking("geo.same:Paris"), case("last"))
    ended = run_tests(tmp_path, *tests, words=())
    third = "passed" if recovers else "error"
    assert (ended.code, statuses(ended)) == (1, ["error", "passed", third, "passed"])
    fault = results(ended)[0]["error"]
    assert fault["kind"] == "plugin_failed"
    assert fault["message"].startswith(f"the plugin 'geo' failed ({name}): ")
    assert message in fault["message"]
    assert results(ended)[0]["mismatches"] == []
    if not recovers:
        later = results(ended)[2]["error"]
        assert later["kind"] == "plugin_failed"
        assert later["message"].endswith("(in an earlier call)")
    # It does not count against the server.
    assert ended.report()["findings"] == []
    assert starts(tmp_path) == 1
    assert all(test.get("notes", []) == [] for test in results(ended))


def test_a_plugin_that_does_not_answer_in_time_is_an_error_with_the_limit_of_the_config(
    tmp_path: Path,
) -> None:
    counting_config(tmp_path, call_timeout="300ms")
    tests = (asking("geo.late"), asking("geo.silent"), case("other"))
    ended = run_tests(tmp_path, *tests, words=())
    assert (ended.code, statuses(ended)) == (1, ["error", "error", "passed"])
    for test in results(ended)[:2]:
        assert "(Timeout): no answer to " in test["error"]["message"]
        assert test["error"]["message"].endswith(" within 0.3 s")
        assert "stdout must be flushed" in test["error"]["hint"]
    assert starts(tmp_path) == 1


@pytest.mark.long
def test_a_late_answer_is_not_mistaken_for_the_next_one(tmp_path: Path) -> None:
    config_with(tmp_path, call_timeout="2s")
    ended = run_tests(tmp_path, asking("geo.late"), asking("geo.settle"), words=())
    assert statuses(ended) == ["error", "error"]
    assert 'with "in time", which is not a verdict' in results(ended)[1]["error"]["message"]


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ("geo.refusal", "answered 'refusal' with an error: code 7, no such town"),
        ("geo.nosuch", "answered 'nosuch' with an error: code -32601, there is no method nosuch"),
        ('geo.verdict:"yes"', "answered 'verdict' with \"yes\", which is not a verdict"),
        ("geo.verdict:null", "answered 'verdict' with null, which is not a verdict"),
        ('geo.verdict:{"pass":"true"}', "which is not a verdict"),
        ('geo.verdict:{"pass":1}', "which is not a verdict"),
        ('geo.verdict:{"pass":true,"message":7}', "which is not a verdict"),
        ('geo.verdict:{"pass":true,"Message":"x"}', 'and a verdict has no member "Message"'),
    ],
)
@pytest.mark.parametrize("negation", ["", "not:"])
def test_an_error_answer_or_an_invalid_verdict_is_an_error_and_never_a_pass(
    pattern: str, message: str, negation: str, tmp_path: Path
) -> None:
    test = asking(pattern)
    result = test["expect"]["response"]["result"]
    result["say"] = result["say"].replace("match:", f"match:{negation}")
    ended = run_tests(tmp_path, test, asking("geo.same:Paris"))
    assert (ended.code, statuses(ended)) == (1, ["error", "passed"])
    fault = results(ended)[0]["error"]
    assert (fault["kind"], message in fault["message"]) == ("plugin_failed", True)


@pytest.mark.parametrize("directive", ["any", "all", "anyElement"])
def test_a_failure_inside_a_directive_is_an_error_whatever_else_would_hold(
    directive: str, tmp_path: Path
) -> None:
    inner: Any = "match:plugin:geo.not_json"
    wanted = {f"match:{directive}": inner if directive == "anyElement" else [inner, ["Paris"]]}
    test = case("a", params={"say": ["Paris"]}, wants={"say": wanted})
    ended = run_tests(tmp_path, test)
    assert (ended.code, statuses(ended)) == (1, ["error"])


def test_a_program_that_cannot_be_started_is_an_error_with_what_to_do(tmp_path: Path) -> None:
    words = ("--plugin", "geo=/no/such/program --fast")
    ended = run_tests(tmp_path, asking("geo.near"), case("other"), words=words)
    assert (ended.code, statuses(ended)) == (1, ["error", "passed"])
    fault = results(ended)[0]["error"]
    assert "(SpawnFailed): cannot start '/no/such/program'" in fault["message"]
    assert fault["hint"] == "there is no such file: check the path, and whether it is installed"


def test_stderr_of_a_crashed_plugin_is_shown(tmp_path: Path) -> None:
    ended = run_tests(tmp_path, asking("geo.near"), words=option("exits-at-once"))
    fault = results(ended)[0]["error"]
    assert "exit status 4" in fault["message"]
    assert fault["stderr_tail"] == "geo: no map found\n"
    assert fault["command"] == plugin_words("exits-at-once")
    ended = mcptest(tmp_path, "run", "a.test.mcp.yml", *option("exits-at-once"))
    assert "geo: no map found" in ended.out
    assert "the plugin 'geo' failed (PluginCrashed)" in ended.out


@pytest.mark.long
def test_a_test_whose_plugin_failed_may_be_tried_again(tmp_path: Path) -> None:
    config_with(tmp_path, call_timeout="1s")
    test = asking("geo.late") | {"retries": 2}
    ended = run_tests(tmp_path, test, words=())
    assert (ended.code, statuses(ended), results(ended)[0]["attempts"]) == (1, ["error"], 3)


# No process is left


def family_of(listener: Listener) -> tuple[list[Caller], Caller]:
    family = listener.callers("plugin", "child")
    return family, next(caller for caller in family if caller.name == "plugin")


def assert_dead(family: list[Caller]) -> None:
    assert [caller.name for caller in family if not caller.is_dead_within(LONG_S)] == []


@pytest.mark.parametrize("words", [(), ("--parallel", "2")])
def test_a_plugin_sees_the_end_of_its_input_when_the_run_is_over(
    words: tuple[str, ...], tmp_path: Path, listener: Listener
) -> None:
    words = (*option("at-home"), *words)
    ended = run_tests(tmp_path, asking("geo.same:Paris"), words=words, **listener.environment)
    assert ended.code == 0
    home = listener.next_caller()
    assert home.next_word() == "end of stdin"
    assert home.is_dead_within(LONG_S)


@pytest.mark.long
@pytest.mark.parametrize("words", [(), ("--parallel", "2")])
def test_a_plugin_that_ignores_the_end_of_its_input_is_killed_with_its_child(
    words: tuple[str, ...], tmp_path: Path, listener: Listener
) -> None:
    config_with(tmp_path, "stubborn", call_timeout="3s")
    ended = run_tests(tmp_path, asking("geo.same:Paris"), words=words, **listener.environment)
    assert (ended.code, ended.report()["findings"]) == (0, [])
    family, leader = family_of(listener)
    assert leader.next_word() == "end of stdin"
    assert_dead(family)


def test_each_worker_has_a_plugin_of_its_own_and_ends_it(
    tmp_path: Path, listener: Listener
) -> None:
    config_with(tmp_path, "at-home", call_timeout="1s")
    for name in ("a", "b"):
        write_suite(tmp_path / f"{name}.test.mcp.yml", asking("geo.announced"))
    with running(tmp_path, ".", "-j", "2", "--isolation", "file", **listener.environment) as run:
        homes = listener.callers("plugin", "plugin")
        for home in homes:
            assert home.next_word() == "asked"
        ended = run.finish()
    assert (ended.code, statuses(ended)) == (1, ["error", "error"])
    for home in homes:
        assert home.next_word() == "end of stdin"
        assert home.is_dead_within(LONG_S)


@pytest.mark.parametrize("words", [(), ("--parallel", "2")])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_while_a_plugin_is_asked_ends_the_run_and_the_plugin(
    number: signal.Signals, words: tuple[str, ...], tmp_path: Path, listener: Listener
) -> None:
    config_with(tmp_path, "stubborn", call_timeout="10m")
    tests = (case("first"), asking("geo.announced"), case("last"))
    write_suite(tmp_path / "a.test.mcp.yml", *tests)
    with running(tmp_path, "a.test.mcp.yml", *words, **listener.environment) as run:
        family, leader = family_of(listener)
        assert leader.next_word() == "asked"
        run.signal(number)
        ended = run.finish()
    assert ended.code == 130
    report = ended.report()
    assert (report["interrupted"], statuses(ended)) == (True, ["passed"])
    assert report["findings"] == []
    assert_dead(family)


@pytest.mark.parametrize("words", [(), ("--parallel", "2")])
def test_a_run_that_is_killed_leaves_neither_plugin_nor_its_child(
    words: tuple[str, ...], tmp_path: Path, listener: Listener
) -> None:
    config_with(tmp_path, "stubborn", call_timeout="10m")
    write_suite(tmp_path / "a.test.mcp.yml", asking("geo.announced"))
    with running(tmp_path, "a.test.mcp.yml", *words, **listener.environment) as run:
        family, leader = family_of(listener)
        assert leader.next_word() == "asked"
        run.signal(signal.SIGKILL)
        assert_dead(family)


def test_ctrl_c_cuts_the_goodbye_of_a_stubborn_plugin_short(
    tmp_path: Path, listener: Listener
) -> None:
    """All tests have finished, and the report says so; the exit code says that it was cut short."""
    config_with(tmp_path, "stubborn", call_timeout="10m")
    write_suite(tmp_path / "a.test.mcp.yml", asking("geo.same:Paris"))
    with running(tmp_path, "a.test.mcp.yml", **listener.environment) as run:
        family, leader = family_of(listener)
        assert leader.next_word() == "end of stdin"
        run.signal(signal.SIGINT)
        ended = run.finish()
    assert (ended.code, statuses(ended)) == (130, ["passed"])
    assert_dead(family)


def test_a_plugin_that_crashed_leaves_no_child(tmp_path: Path, listener: Listener) -> None:
    words = option("orphan-child")
    tests = (asking("geo.exit"), asking("geo.same:Paris"), case("last"))
    ended = run_tests(tmp_path, *tests, words=words, **listener.environment)
    assert statuses(ended) == ["error", "error", "passed"]
    assert listener.next_caller().is_dead_within(LONG_S)


def test_a_fresh_server_does_not_cost_the_plugin_its_life(tmp_path: Path) -> None:
    """The server of each test is stopped with all it left; the plugin is not among that."""
    config_with(tmp_path)
    change_config(tmp_path, isolation="test")
    ended = run_tests(tmp_path, *[asking("geo.counted")] * 3, words=())
    said = [test["mismatches"][0]["message"].rpartition(": ")[2] for test in results(ended)]
    assert said == ["call number 1", "call number 2", "call number 3"]
