"""Tests that use a plugin, run by the real command: the calls, and what is reported."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import pytest
from console import case, mcptest, server, write_config, write_suite
from plugin_runs import (
    BAD_PLUGIN,
    asking,
    config_with,
    option,
    plugin_words,
    results,
    run_tests,
    statuses,
)

if TYPE_CHECKING:
    from pathlib import Path

    from connect_back import Listener


def asked_of_plugin(ended: Any) -> Any:
    """What the method `shown` was asked by the one test."""
    [test] = results(ended)
    [mismatch] = test["mismatches"]
    return json.loads(mismatch["message"].partition("it says: ")[2])


# Pass and fail


def test_a_value_that_the_plugin_accepts_passes(tmp_path: Path) -> None:
    ended = run_tests(tmp_path, asking("geo.same:Paris"))
    assert (ended.code, statuses(ended)) == (0, ["passed"])
    assert ended.err == ""


def test_a_value_that_the_plugin_refuses_fails_with_path_and_reason(tmp_path: Path) -> None:
    ended = run_tests(tmp_path, asking("geo.same:Oslo"), asking("geo.same:Paris"))
    assert (ended.code, statuses(ended)) == (1, ["failed", "passed"])
    [mismatch] = results(ended)[0]["mismatches"]
    assert mismatch == {
        "path": "result.say",
        "expected": "match:plugin:geo.same:Oslo",
        "actual": "Paris",
        "message": 'expected what the plugin geo accepts as same for "Oslo"; '
        "it says: 'Paris' is not 'Oslo'",
        "hint": "",
    }
    assert results(ended)[0]["error"] is None
    assert ended.report()["findings"] == []


def test_a_refusal_without_a_reason_says_no(tmp_path: Path) -> None:
    ended = run_tests(tmp_path, asking("geo.mute_refusal"))
    assert results(ended)[0]["mismatches"][0]["message"].endswith("; it says no")


def test_the_negation_passes_where_the_plugin_refuses(tmp_path: Path) -> None:
    tests = [asking(f"geo.same:{town}") for town in ("Oslo", "Paris")]
    for test in tests:
        result = test["expect"]["response"]["result"]
        result["say"] = result["say"].replace("match:", "match:not:")
    ended = run_tests(tmp_path, *tests)
    assert (ended.code, statuses(ended)) == (1, ["passed", "failed"])
    assert results(ended)[1]["mismatches"][0]["message"].endswith("; it is just that")


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("geo.shown", None),
        ("geo.shown:", ""),
        ("geo.shown:a:b::c", "a:b::c"),
        ("geo.shown:Ærø 🙂", "Ærø 🙂"),
        ("geo.shown:5", "5"),
    ],
)
def test_the_argument_is_sent_as_text_and_null_when_it_is_left_out(
    pattern: str, expected: str | None, tmp_path: Path
) -> None:
    value = {"lat": 48.86, "deep": [None, True, 10**30]}
    ended = run_tests(tmp_path, asking(pattern, value))
    assert asked_of_plugin(ended) == {"actual": value, "expected": expected, "path": "result.say"}


def test_a_large_answer_is_sent_to_the_plugin_whole(tmp_path: Path) -> None:
    """Such an answer is judged in a process of its own, unless a plugin is asked."""
    town = "x" * 1_000_000
    ended = run_tests(tmp_path, asking(f"geo.same:{town}", town), asking("geo.same:x", town))
    assert (ended.code, statuses(ended)) == (1, ["passed", "failed"])


def test_a_plugin_and_a_regular_expression_may_judge_one_answer(tmp_path: Path) -> None:
    wanted = {"match:all": ["match:regex:^P", "match:plugin:geo.same:Paris"]}
    other = {"match:all": ["match:regex:^O", "match:plugin:geo.same:Oslo"]}
    tests = [case(name, wants={"say": each}) for name, each in [("Paris", wanted), ("Rome", other)]]
    ended = run_tests(tmp_path, *tests)
    assert statuses(ended) == ["passed", "failed"]
    assert len(results(ended)[1]["mismatches"]) == 2


def test_a_plugin_can_judge_stderr_of_the_server_too(tmp_path: Path) -> None:
    test = case("env", "env", params={"name": "HOME"}, wants={"match:partial": {}})
    del test["expect"]["response"]
    test["expect"]["stderr"] = "match:plugin:geo.shown"
    ended = run_tests(tmp_path, test, HOME="/home/me")
    assert asked_of_plugin(ended) == {
        "actual": "HOME is /home/me",
        "expected": None,
        "path": "stderr",
    }


def test_an_argument_may_be_what_an_earlier_test_captured(tmp_path: Path) -> None:
    first = case("first", params={"say": "Paris"}, capture={"town": "result.say"})
    ended = run_tests(tmp_path, first, asking("geo.same:${town}"))
    assert (ended.code, statuses(ended)) == (0, ["passed", "passed"])


def test_a_secret_in_the_words_of_a_plugin_is_left_out_of_the_report(tmp_path: Path) -> None:
    write_config(tmp_path / "conductor.config.json", env={"KEY": "${TOKEN}"})
    test = case("env", "env", params={"name": "KEY"}, wants={"value": "match:plugin:geo.shown"})
    ended = run_tests(tmp_path, test, TOKEN="hunter2-hunter2")
    assert statuses(ended) == ["failed"]
    assert "it says: " in ended.out
    assert "hunter2" not in ended.out + ended.err


def test_the_words_of_a_plugin_do_not_reach_the_terminal_as_they_are(tmp_path: Path) -> None:
    run_tests(tmp_path, asking("geo.rude"))
    ended = mcptest(tmp_path, "run", "a.test.mcp.yml", *option())
    assert ended.code == 1
    assert "\x1b" not in ended.out
    assert "\u202e" not in ended.out
    assert len(ended.out) < 5000


# Where the value is


@pytest.mark.parametrize(
    ("wanted", "value", "paths"),
    [
        ({"match:any": [1, "match:plugin:geo.noted:a"]}, "a", ["result.say"]),
        ({"match:anyElement": "match:plugin:geo.noted:b"}, ["a", "b", "c"], [0, 1]),
        ({"match:arrayElements": "match:plugin:geo.noted:a"}, ["a", "a"], [0, 1]),
        ({"match:partial": {"x": "match:plugin:geo.noted:a"}}, {"x": "a", "y": 1}, [".x"]),
        ([1, {"the key": "match:plugin:geo.noted:a"}], [1, {"the key": "a"}], ['[1]["the key"]']),
    ],
)
def test_the_plugin_gets_the_path_of_the_value(
    wanted: object, value: object, paths: list[str | int], tmp_path: Path, listener: Listener
) -> None:
    test = case("a", params={"say": value}, wants={"say": wanted})
    ended = run_tests(tmp_path, test, words=option("at-home"), **listener.environment)
    assert (ended.code, statuses(ended)) == (0, ["passed"])
    home = listener.next_caller()
    steps = [f"[{path}]" if isinstance(path, int) else path for path in paths]
    wanted_paths = [step if step.startswith("result") else f"result.say{step}" for step in steps]
    assert [home.next_word() for _ in wanted_paths] == wanted_paths
    assert home.next_word() == "end of stdin"


@pytest.mark.parametrize("directive", ["any", "anyElement", "arrayElements"])
def test_a_refusal_inside_a_directive_fails_the_test(directive: str, tmp_path: Path) -> None:
    inner: object = "match:plugin:geo.same:Oslo"
    wanted = {f"match:{directive}": [inner, 1] if directive == "any" else inner}
    ended = run_tests(tmp_path, case("a", params={"say": ["Paris"]}, wants={"say": wanted}))
    assert (ended.code, statuses(ended)) == (1, ["failed"])


# A contract


def contract(*documents: dict[str, Any]) -> str:
    return "\n---\n".join(json.dumps(document) for document in documents)


def exchange(name: str, wanted: object, **keys: object) -> dict[str, Any]:
    ask = {"jsonrpc": "2.0", "id": 1, "method": "echo", "params": {"say": name}}
    out = {"jsonrpc": "2.0", "id": 1, "result": {"say": wanted}}
    return {"case": name, "_patterns": True, **keys, "in": ask, "out": out}


def test_a_case_of_a_contract_can_ask_a_plugin(tmp_path: Path) -> None:
    """Where `_patterns` is not said, a pattern is the text that it is."""
    write_config(tmp_path / "conductor.config.json")
    pattern = "match:plugin:geo.same:Paris"
    text = contract(
        exchange("Paris", pattern),
        exchange("Oslo", pattern),
        exchange(pattern, pattern, _patterns=False),
        exchange("Rome", "match:plugin:geo.shown"),
    )
    (tmp_path / "a.cases.yaml").write_text(text, encoding="utf-8")
    ended = mcptest(tmp_path, "run", "a.cases.yaml", "--json", *option())
    assert statuses(ended) == ["passed", "failed", "passed", "failed"]
    [mismatch] = results(ended)[1]["mismatches"]
    assert (mismatch["path"], mismatch["actual"]) == ("out.result.say", "Oslo")
    [mismatch] = results(ended)[3]["mismatches"]
    asked = json.loads(mismatch["message"].partition("it says: ")[2])
    assert asked == {"actual": "Rome", "expected": None, "path": "out.result.say"}


def test_a_failing_plugin_makes_a_case_an_error_and_the_next_one_runs(tmp_path: Path) -> None:
    write_config(tmp_path / "conductor.config.json")
    text = contract(
        exchange("Paris", "match:plugin:geo.not_json"),
        exchange("Oslo", "match:plugin:geo.same:Oslo"),
    )
    (tmp_path / "a.cases.yaml").write_text(text, encoding="utf-8")
    ended = mcptest(tmp_path, "run", "a.cases.yaml", "--json", *option())
    assert (ended.code, statuses(ended)) == (1, ["error", "passed"])
    assert results(ended)[0]["error"]["kind"] == "plugin_failed"


# Who is asked


def test_one_process_serves_all_files_of_a_run(tmp_path: Path) -> None:
    config_with(tmp_path)
    for name in ("a", "b", "c"):
        write_suite(tmp_path / f"{name}.test.mcp.yml", asking("geo.counted"))
    ended = mcptest(tmp_path, "run", ".", "--json")
    said = [test["mismatches"][0]["message"].rpartition(": ")[2] for test in results(ended)]
    assert said == ["call number 1", "call number 2", "call number 3"]


def test_two_plugins_are_asked_by_their_names(tmp_path: Path) -> None:
    tests = [asking("geo.counted"), asking("geo.counted"), asking("geo.counted")]
    response = tests[1]["expect"]["response"]
    response["result"]["say"] = "match:plugin:units.counted"
    ended = run_tests(tmp_path, *tests, words=(*option(), *option(name="units")))
    said = [test["mismatches"][0]["message"].rpartition(": ")[2] for test in results(ended)]
    assert said == ["call number 1", "call number 1", "call number 2"]


def test_a_plugin_that_is_never_used_is_never_started(tmp_path: Path) -> None:
    words = ("--plugin", "geo=/no/such/program")
    ended = run_tests(tmp_path, case("plugin"), words=words)
    assert (ended.code, statuses(ended)) == (0, ["passed"])
    tests = (asking("geo.same:Paris", name="asks"), case("other"))
    ended = run_tests(tmp_path, *tests, words=(*words, "-k", "other"))
    assert ended.code == 0


def test_a_plugin_of_a_config_runs_in_its_folder_whatever_the_command_is(tmp_path: Path) -> None:
    home = tmp_path / "conf"
    home.mkdir()
    (home / "geo.py").write_text(
        BAD_PLUGIN.read_text(encoding="utf-8").replace(
            "from connect_back import call_home", "call_home = print"
        ),
        encoding="utf-8",
    )
    (home / "geo").write_text(f"#!/bin/sh\nexec {sys.executable} geo.py\n", encoding="utf-8")
    (home / "geo").chmod(0o755)
    for command in (["./geo"], [sys.executable, "geo.py"]):
        imports = {"subprocess_matchers": {"geo": {"command": command}}}
        write_config(home / "conductor.config.json", imports=imports)
        write_suite(tmp_path / "a.test.mcp.yml", asking(f"geo.here:{home}"))
        words = ("run", "a.test.mcp.yml", "--json", "--config", "conf/conductor.config.json")
        ended = mcptest(tmp_path, *words)
        assert (ended.code, statuses(ended)) == (0, ["passed"])


def test_a_plugin_of_the_command_line_runs_where_the_command_was_started(tmp_path: Path) -> None:
    write_config(tmp_path / "conf" / "conductor.config.json")
    write_suite(tmp_path / "sub" / "a.test.mcp.yml", asking(f"geo.here:{tmp_path}"))
    words = ("run", "sub", "--json", "--config", "conf/conductor.config.json", *option())
    assert mcptest(tmp_path, *words).code == 0


def test_the_config_beside_a_file_declares_its_plugins(tmp_path: Path) -> None:
    for folder in ("one", "two"):
        config_with(tmp_path / folder)
        write_suite(tmp_path / folder / "a.test.mcp.yml", asking(f"geo.here:{tmp_path / folder}"))
    ended = mcptest(tmp_path, "run", ".", "--json")
    assert (ended.code, statuses(ended)) == (0, ["passed", "passed"])


def test_a_plugin_of_the_command_line_works_beside_a_server_of_the_command_line(
    tmp_path: Path,
) -> None:
    write_suite(tmp_path / "a.test.mcp.yml", asking("geo.same:Paris"))
    spec = server()
    command = " ".join([spec["command"], *spec["args"]])
    words = ("--server-command", command, *option())
    assert mcptest(tmp_path, "run", "a.test.mcp.yml", "--json", *words).code == 0


def test_a_plugin_sees_the_environment_of_the_command(tmp_path: Path) -> None:
    script = (
        "import json, os, sys\n"
        "for line in sys.stdin:\n"
        "    print(os.environ['ANSWER'] % json.loads(line)['id'], flush=True)"
    )
    (tmp_path / "geo.py").write_text(script, encoding="utf-8")
    words = ("--plugin", f"geo={sys.executable} geo.py")
    answer = '{"id":%d,"result":{"pass":true}}'
    assert run_tests(tmp_path, asking("geo.near"), words=words, ANSWER=answer).code == 0


def test_the_words_of_a_plugin_on_the_command_line_are_split_like_a_shell_would(
    tmp_path: Path,
) -> None:
    script = tmp_path / "my plugin.sh"
    script.write_text(f"#!/bin/sh\nexec {' '.join(plugin_words())}\n", encoding="utf-8")
    words = ("--plugin", f"geo=sh '{script}' a\\ b")
    assert run_tests(tmp_path, asking("geo.same:Paris"), words=words).code == 0
