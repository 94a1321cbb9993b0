"""Plugins and servers of suites where no test is run, and processes that a plugin leaves behind."""

from __future__ import annotations

import json
import shlex
import sys
from typing import TYPE_CHECKING, Any

import pytest
from console import mcptest, server, write_config, write_suite
from plugin_runs import asking, config_with, plugin_words, statuses
from suite_runs import call, run_suite, write
from suite_runs import server as suite_server

if TYPE_CHECKING:
    from pathlib import Path

    from console import Ended

GEO = {"subprocess_matchers": {"geo": {"command": plugin_words()}}}


def suite(**keys: Any) -> dict[str, Any]:
    return {"servers": {"a": suite_server()}, "imports": GEO, "tools": [call("echoes")], **keys}


def names(ended: Ended) -> list[tuple[str, str]]:
    return [(each["name"], each["owner"]) for each in ended.report()["plugins"]]


# A command that names the server


def server_command() -> str:
    spec = server()
    return shlex.join([spec["command"], *spec["args"]])


@pytest.mark.parametrize("place", [".", "below"])
def test_the_plugins_of_a_config_are_known_beside_a_server_of_the_command_line(
    place: str, tmp_path: Path
) -> None:
    config_with(tmp_path)
    write_suite(tmp_path / place / "a.test.mcp.yml", asking("geo.same:Paris"))
    words = (f"{place}/a.test.mcp.yml", "--json", "--server-command", server_command())
    ended = mcptest(tmp_path, "run", *words)
    assert (ended.code, statuses(ended)) == (0, ["passed"])


def test_the_server_of_that_config_need_not_be_complete(tmp_path: Path) -> None:
    config_with(tmp_path)
    path = tmp_path / "conductor.config.json"
    config = json.loads(path.read_text(encoding="utf-8")) | {"env": {"TOKEN": "${NOT_SET}"}}
    path.write_text(json.dumps(config), encoding="utf-8")
    write_suite(tmp_path / "a.test.mcp.yml", asking("geo.same:Paris"))
    words = ("a.test.mcp.yml", "--json", "--server-command", server_command())
    assert mcptest(tmp_path, "run", *words).code == 0
    assert mcptest(tmp_path, "run", "a.test.mcp.yml", "--json").code == 2


# Suites


def test_the_plugins_of_a_suite_in_the_folder_can_be_listed_and_called(tmp_path: Path) -> None:
    write(tmp_path, suite())
    assert names(mcptest(tmp_path, "plugin", "list", "--json")) == [("geo", "mcptest.yaml")]
    ended = mcptest(tmp_path, "plugin", "call", "geo", "echo", "5")
    assert (ended.code, ended.out) == (0, '{"id":1,"result":5}\n')


def test_so_can_those_of_its_imports_and_of_a_config_beside_it(tmp_path: Path) -> None:
    config_with(tmp_path)
    other = {"subprocess_matchers": {"far": {"command": plugin_words()}}}
    write(tmp_path, {"imports": other}, "far.yaml")
    write(tmp_path, suite(imports={"suites": ["far.yaml"]}))
    listed = names(mcptest(tmp_path, "plugin", "list", "--json"))
    assert listed == [("geo", "conductor.config.json"), ("far", "far.yaml")]


def test_a_suite_may_be_named_instead_of_a_config(tmp_path: Path) -> None:
    write_config(tmp_path / "conductor.config.json", imports={"subprocess_matchers": {}})
    write(tmp_path, suite(), "deep/shop.mcptest.yaml")
    words = ("--json", "--config", "deep/shop.mcptest.yaml")
    listed = names(mcptest(tmp_path, "plugin", "list", *words))
    assert listed == [("geo", "deep/shop.mcptest.yaml")]
    ended = mcptest(tmp_path, "list", "tools", "--config", "deep/shop.mcptest.yaml")
    assert ended.code == 0
    assert ended.report()["tools"]


def test_a_mistake_in_the_plugins_of_a_suite_is_reported_with_its_place(tmp_path: Path) -> None:
    write(tmp_path, suite(imports={"subprocess_matchers": {"geo": {}}}))
    ended = mcptest(tmp_path, "plugin", "list")
    assert ended.code == 2
    assert 'a plugin needs the key "command"' in ended.err
    assert " --> mcptest.yaml:" in ended.err


def test_the_secrets_of_a_suite_are_blanked_in_what_a_plugin_says(tmp_path: Path) -> None:
    write(tmp_path, suite(variables={"token": {"secret_env": "SHOP_TOKEN"}}))
    secret = "correct-horse-battery"
    words = ("plugin", "call", "geo", "echo", json.dumps(secret))
    ended = mcptest(tmp_path, *words, SHOP_TOKEN=secret)
    assert ended.code == 0
    assert secret not in ended.out
    assert secret in mcptest(tmp_path, *words).out


SOURCES = [
    {"env": {"TOKEN": {"secret_env": "SHOP_IT"}}},
    {"env": {"KEY": {"from_env": "SHOP_API_KEY"}}},
    {"url": "http://127.0.0.1:1/", "headers": {"X-Key": {"secret_env": "SHOP_IT"}}},
    {"url": "http://127.0.0.1:1/", "auth": {"bearer_token_env": "SHOP_IT"}},
]


@pytest.mark.parametrize("keys", SOURCES, ids=["secret", "named so", "header", "bearer"])
def test_so_are_those_that_only_its_servers_know(keys: dict[str, Any], tmp_path: Path) -> None:
    own = keys if "url" in keys else {**suite_server(), **keys}
    write(tmp_path, suite(servers={"a": own}))
    secret = "correct-horse-battery"
    words = ("plugin", "call", "geo", "echo", json.dumps(secret))
    ended = mcptest(tmp_path, *words, SHOP_IT=secret, SHOP_API_KEY=secret)
    assert (ended.code, secret in ended.out) == (0, False)


def test_a_value_of_a_server_that_is_not_a_secret_is_not_blanked(tmp_path: Path) -> None:
    own = suite_server(env={"REGION": {"from_env": "SHOP_REGION"}})
    write(tmp_path, suite(servers={"a": own}))
    ended = mcptest(tmp_path, "plugin", "call", "geo", "echo", '"oslo"', SHOP_REGION="oslo")
    assert "oslo" in ended.out


def test_the_only_server_of_a_suite_is_the_one_that_is_listed(tmp_path: Path) -> None:
    write(tmp_path, suite())
    ended = mcptest(tmp_path, "list", "tools")
    assert ended.code == 0
    assert "echo" in [each["name"] for each in ended.report()["tools"]]


def test_with_several_servers_none_is_guessed(tmp_path: Path) -> None:
    tests = [call("one", server="a"), call("two", server="b")]
    write(tmp_path, suite(servers={"a": suite_server(), "b": suite_server()}, tools=tests))
    ended = mcptest(tmp_path, "list")
    assert (ended.code, ended.out) == (2, "")
    assert "mcptest.yaml has 2 servers: a, b" in ended.err


def test_a_server_that_misses_a_variable_is_not_started(tmp_path: Path) -> None:
    lacking = suite_server(env={"TOKEN": "${token}"})
    variables = {"token": {"from_env": "NOT_SET_ANYWHERE"}}
    write(tmp_path, suite(servers={"a": lacking}, variables=variables))
    ended = mcptest(tmp_path, "list")
    assert (ended.code, ended.out) == (2, "")
    assert "NOT_SET_ANYWHERE" in ended.err


def test_a_variable_that_only_a_test_misses_is_not_missed(tmp_path: Path) -> None:
    variables = {"token": {"secret_env": "NOT_SET_ANYWHERE"}}
    write(tmp_path, suite(variables=variables, tools=[call("signs", args={"text": "${token}"})]))
    ended = mcptest(tmp_path, "list", "tools")
    assert (ended.code, ended.err) == (0, "")
    assert mcptest(tmp_path, "run").code == 2


# Processes that a plugin leaves behind

LEAKY = """\
import json, os, subprocess, sys

null = subprocess.DEVNULL
for line in sys.stdin:
    request = json.loads(line)
    env = {} if "wiped" in sys.argv else None
    words = [sys.executable, "-S", "-E", "-c", "import signal; signal.pause()"]
    child = os.fork() if "daemon" in sys.argv else 0
    if child == 0:
        pipes = {"stdin": null, "stdout": null, "stderr": null}
        subprocess.Popen(words, env=env, start_new_session=True, **pipes)
        if "daemon" in sys.argv:
            os._exit(0)
    else:
        os.waitpid(child, 0)
    answer = {"id": request["id"], "result": {"pass": True}}
    print(json.dumps(answer), flush=True)
"""


def leaving(folder: Path, *words: str) -> list[tuple[str, str]]:
    """Run a suite whose plugin leaves a process behind; the findings."""
    (folder / "leaky.py").write_text(LEAKY, encoding="utf-8")
    plugin = {"command": [sys.executable, "-S", "-E", "leaky.py", *words]}
    expect = [{"target": "result", "matcher": {"plugin": {"name": "leaky", "method": "m"}}}]
    keys = {"imports": {"subprocess_matchers": {"leaky": plugin}}}
    ended = run_suite(folder, suite(**keys, tools=[call("asks", expect=expect)]))
    assert ended.code == 0
    return [(each["server"], each["message"]) for each in ended.report()["findings"]]


@pytest.mark.parametrize("words", [(), ("wiped",), ("daemon",)])
def test_processes_that_a_plugin_leaves_behind_are_attributed_to_it(
    words: tuple[str, ...], tmp_path: Path
) -> None:
    message = "the plugin 'leaky' left processes behind; they were killed"
    assert leaving(tmp_path, *words) == [("", message)]


def test_leftover_processes_of_unknown_origin_name_server_and_plugin(tmp_path: Path) -> None:
    message = "the server or the plugin leaky left processes behind; they were killed"
    assert leaving(tmp_path, "daemon", "wiped") == [("a", message)]


def test_a_plugin_that_leaves_no_process_behind_is_not_named(tmp_path: Path) -> None:
    expect = [{"target": "result", "matcher": {"plugin": {"name": "geo", "method": "good"}}}]
    ended = run_suite(tmp_path, suite(tools=[call("asks", expect=expect)]))
    assert ended.report()["findings"] == []
