"""The servers behind the tests of files: how they are started, shared, replaced and reported."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from sessions import (
    SERVER,
    call,
    pytest_in,
    statuses,
    text,
    write_conductor,
    write_suite,
)

SECRET = "s3cr3t-of-the-house"


def counts(name: str, number: int) -> dict[str, Any]:
    """A test that expects to be the call with this number of its server."""
    return call(name, "count", text(str(number)))


# Sharing


def test_one_server_is_shared_by_all_files_that_name_it(tmp_path: Path) -> None:
    write_conductor(tmp_path / "a.test.mcp.yml", counts("a", 1), counts("b", 2))
    write_conductor(tmp_path / "b.test.mcp.yml", counts("c", 3))
    assert pytest_in(tmp_path).summary == "3 passed"


def test_a_file_can_have_a_server_of_its_own(tmp_path: Path) -> None:
    for name in ("a", "b"):
        file = tmp_path / f"{name}.test.mcp.yml"
        write_conductor(file, counts(f"{name}1", 1), counts(f"{name}2", 2), isolation="file")
    assert pytest_in(tmp_path).summary == "4 passed"


def test_a_test_can_have_a_server_of_its_own(tmp_path: Path) -> None:
    flaky = call("c", "flaky", text("ok"), arguments={"until": 2}, retries=1)
    file = tmp_path / "a.test.mcp.yml"
    write_conductor(file, counts("a", 1), counts("b", 1), flaky, counts("d", 1), isolation="test")
    assert pytest_in(tmp_path).summary == "4 passed"


def test_a_case_file_has_a_server_of_its_own(tmp_path: Path) -> None:
    params = {"name": "count", "arguments": {}}
    asked = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    answer = {"jsonrpc": "2.0", "id": 1, "result": text("1")}
    head = {"_server": {"command": SERVER[0], "args": SERVER[1:]}}
    for name in ("a", "b"):
        case = head | {"case": name, "in": asked, "out": answer}
        (tmp_path / f"{name}.cases.yaml").write_text(json.dumps(case), encoding="utf-8")
    assert pytest_in(tmp_path).summary == "2 passed"


def test_each_server_of_a_suite_gets_its_own_tests(tmp_path: Path) -> None:
    servers = {name: {"command": [*SERVER, name]} for name in ("one", "two")}
    matcher = {"exact": "1"}
    expect = [{"target": "result.content[0].text", "matcher": matcher}]
    tools = [
        {"name": f"counts {name}", "tool": "count", "server": name, "expect": expect}
        for name in servers
    ]
    write_suite(tmp_path / "mcptest.yaml", servers=servers, tools=tools)
    ended = pytest_in(tmp_path, "-v")
    assert ended.summary == "2 passed"
    assert "mcptest.yaml::mcptest::two::counts two PASSED" in ended.out


def test_a_server_is_stopped_when_the_next_file_has_another_one(tmp_path: Path) -> None:
    """As in a run of the command."""
    for number, name in enumerate(("one", "two", "one")):
        write_conductor(tmp_path / f"{number}.test.mcp.yml", counts("counts", 1), name=name)
    assert pytest_in(tmp_path).summary == "3 passed"


INTERLEAVED = """
def pytest_collection_modifyitems(items):
    items.sort(key=lambda item: item.name)
"""


def test_while_files_are_interleaved_some_servers_are_kept(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(INTERLEAVED, encoding="utf-8")
    for number in range(6):
        # Of six servers four run at a time, until each has had its last test.
        tests = (counts("a", 1), counts("b", 1 if number < 3 else 2))
        write_conductor(tmp_path / f"{number}.test.mcp.yml", *tests, name=f"server {number}")
    ended = pytest_in(tmp_path)
    assert ended.summary == "12 passed"
    assert "::b: a fresh server was started: others were needed meanwhile" in ended.out
    for number in range(2, 6):
        (tmp_path / f"{number}.test.mcp.yml").unlink()
    for number in range(2):
        tests = (counts("a", 1), counts("b", 2))
        write_conductor(tmp_path / f"{number}.test.mcp.yml", *tests, name=f"server {number}")
    assert pytest_in(tmp_path).summary == "4 passed"


# Starting


def test_a_server_is_started_as_its_config_says(tmp_path: Path) -> None:
    (tmp_path / "place").mkdir()
    write_conductor(
        tmp_path / "a.test.mcp.yml",
        call("folder", "cwd", text(str(tmp_path / "place"))),
        call("variable", "env", text("Ærø ${X}"), arguments={"name": "TOWN"}),
        call("ours", "env", text("unset"), arguments={"name": "OURS"}),
        call("revision", "hello", text("2024-11-05"), arguments={"key": "protocolVersion"}),
        cwd="place",
        env={"TOWN": "Ærø ${DOLLAR}"},
        inheritEnv=False,
        readyPattern="^ready$",
        protocolVersion="2024-11-05",
    )
    ended = pytest_in(tmp_path, env={"OURS": "seen", "DOLLAR": "${X}"})
    assert ended.summary == "4 passed", ended.out


def test_the_clients_script_is_played(tmp_path: Path) -> None:
    write_conductor(
        tmp_path / "a.test.mcp.yml",
        call(
            "roots", "ask", text("match:contains:file:///here"), arguments={"method": "roots/list"}
        ),
        call(
            "first",
            "ask",
            text("match:contains:decline"),
            arguments={"method": "elicitation/create"},
        ),
        call(
            "second",
            "ask",
            text("match:contains:accept"),
            arguments={"method": "elicitation/create"},
        ),
        client={"roots": ["file:///here"], "elicitation": ["decline", {"action": "accept"}]},
    )
    assert pytest_in(tmp_path).summary == "3 passed"


def test_a_server_that_never_says_that_it_is_ready_is_reported(tmp_path: Path) -> None:
    write_conductor(
        tmp_path / "a.test.mcp.yml",
        counts("a", 1),
        counts("b", 1),
        readyPattern="^ready$",
        startupTimeout=300,
        env={"SDK_MODE": "unready"},
    )
    ended = pytest_in(tmp_path)
    assert ended.summary == "2 failed"
    assert "handshake_timeout: the server did not write '^ready$' to stderr" in ended.out


def test_a_server_that_does_not_start_fails_every_test_and_is_reported_once(tmp_path: Path) -> None:
    broken = {"SDK_MODE": "exit"}
    write_conductor(tmp_path / "a.test.mcp.yml", counts("a", 1), counts("b", 1), env=broken)
    write_conductor(tmp_path / "b.test.mcp.yml", counts("c", 1))
    ended = pytest_in(tmp_path)
    assert ended.summary == "2 failed, 1 passed"
    assert ended.out.count("| this server does not want to start") == 1
    assert ended.out.count("(same cause as above)") == 1
    assert "effect" not in ended.out


def test_a_program_that_is_not_there_is_named(tmp_path: Path) -> None:
    write_conductor(tmp_path / "a.test.mcp.yml", counts("a", 1), command="no-such-program", args=[])
    ended = pytest_in(tmp_path)
    assert "spawn_failed: cannot start 'no-such-program'" in ended.out


# Dying


def test_a_server_that_dies_fails_its_test_and_the_next_one_gets_a_fresh_one(
    tmp_path: Path,
) -> None:
    dies = call("dies", "die", arguments={"words": "out of luck"})
    write_conductor(tmp_path / "a.test.mcp.yml", counts("a", 1), dies, counts("b", 1))
    ended = pytest_in(tmp_path, "-v")
    assert statuses(ended) == {"a": "passed", "dies": "failed", "b": "passed"}
    assert "exited_during_call: the server ended (exit status 3)" in ended.out
    assert "| last words: out of luck" in ended.out
    assert "effect    unknown: the call may have taken effect" in ended.out
    fresh = "a fresh server was started: the test before ended in exited_during_call"
    assert f"::b: {fresh}" in ended.out


def test_a_server_that_always_dies_is_not_restarted_until_another_one_is_needed(
    tmp_path: Path,
) -> None:
    dies = [call(f"d{number}", "die") for number in range(5)]
    write_conductor(tmp_path / "a.test.mcp.yml", *dies)
    write_conductor(tmp_path / "b.test.mcp.yml", counts("fresh", 1), name="other")
    ended = pytest_in(tmp_path, "-v")
    assert ended.summary == "5 failed, 1 passed"
    assert ended.out.count("not run: the server failed 3 times in a row") >= 2
    assert statuses(ended)["fresh"] == "passed"


ALARM = """
import pytest, signal

def too_long(number, frame):
    raise RuntimeError("that takes too long")

@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    signal.signal(signal.SIGALRM, too_long)
    signal.setitimer(signal.ITIMER_REAL, 0.5 if item.name == "hangs" else 0)
    return (yield)
"""


def test_a_test_that_is_broken_off_from_outside_costs_only_itself(tmp_path: Path) -> None:
    """As plugins do that watch the time."""
    (tmp_path / "conftest.py").write_text(ALARM, encoding="utf-8")
    tests = (counts("before", 1), call("hangs", "hang"), counts("after", 1))
    write_conductor(tmp_path / "a.test.mcp.yml", *tests)
    ended = pytest_in(tmp_path, "-v", "--tb=line")
    assert statuses(ended) == {"before": "passed", "hangs": "failed", "after": "passed"}
    assert "RuntimeError: that takes too long" in ended.out


def test_a_line_that_is_too_long_is_reported(tmp_path: Path) -> None:
    long = call("long", "echo", arguments={"text": "x" * 3000})
    write_conductor(tmp_path / "a.test.mcp.yml", long, counts("after", 1), maxLineBytes=2000)
    ended = pytest_in(tmp_path, "-v")
    assert statuses(ended) == {"long": "failed", "after": "passed"}
    assert "line_too_long: the server wrote more than 2,000 bytes without a newline" in ended.out


# Time


@pytest.mark.long
def test_a_call_that_takes_too_long_is_an_error_and_the_server_is_kept(tmp_path: Path) -> None:
    hangs = call("slow", "slow", arguments={"ms": 1600})
    write_conductor(tmp_path / "a.test.mcp.yml", hangs, counts("after", 2), timeout=1500)
    ended = pytest_in(tmp_path, "-v")
    assert statuses(ended) == {"slow": "failed", "after": "passed"}
    assert "timeout: no answer to tools/call" in ended.out
    assert "within 1.5 s" in ended.out


@pytest.mark.long
@pytest.mark.parametrize("config_ms", [60_000, 200])
def test_a_test_can_have_a_limit_of_its_own(tmp_path: Path, config_ms: int) -> None:
    write_conductor(
        tmp_path / "a.test.mcp.yml",
        call("short", "slow", arguments={"ms": 900}, timeout=300),
        call("long", "slow", arguments={"ms": 500}, timeout=30_000),
        timeout=config_ms,
    )
    ended = pytest_in(tmp_path, "-v")
    assert statuses(ended) == {"short": "failed", "long": "passed"}
    assert "timeout: no answer to tools/call" in ended.out
    assert "within 300 ms" in ended.out


def test_the_duration_of_an_answer_is_checked(tmp_path: Path) -> None:
    def timed(name: str, limit: str) -> dict[str, Any]:
        test = call(name, "slow", arguments={"ms": 300})
        test["expect"]["performance"] = {"maxResponseTime": limit}
        return test

    write_conductor(
        tmp_path / "a.test.mcp.yml", counts("a", 1), timed("b", "100ms"), timed("c", "30s")
    )
    ended = pytest_in(tmp_path, "-v")
    assert statuses(ended) == {"a": "passed", "b": "failed", "c": "passed"}
    assert "performance.maxResponseTime: the answer took" in ended.out


@pytest.mark.long
def test_a_pattern_that_never_ends_is_an_error_of_its_test(tmp_path: Path) -> None:
    words = {"text": "a" * 40 + "b"}
    slow = call("endless", "echo", text("match:regex:^(a+)+$"), arguments=words)
    write_conductor(tmp_path / "a.test.mcp.yml", slow, counts("after", 2))
    ended = pytest_in(tmp_path, "-v")
    assert statuses(ended) == {"endless": "failed", "after": "passed"}
    assert "pattern_too_slow" in ended.out


def test_a_schema_is_checked_in_a_process_of_its_own(tmp_path: Path) -> None:
    """In a process of its own, which needs what a run has."""
    for name, least in (("right", 1), ("wrong", 2)):
        schema = {"type": "array", "minItems": least}
        (tmp_path / f"{name}.json").write_text(json.dumps(schema), encoding="utf-8")
    write_conductor(
        tmp_path / "a.test.mcp.yml",
        call("right", "count", {"content": "match:jsonSchema:right.json"}),
        call("wrong", "count", {"content": "match:jsonSchema:wrong.json"}),
    )
    ended = pytest_in(tmp_path, "-v", "-W", "error")
    assert statuses(ended) == {"right": "passed", "wrong": "failed"}


# Secrets


def test_a_secret_reaches_the_server_and_nothing_that_is_shown(tmp_path: Path) -> None:
    write_conductor(
        tmp_path / "a.test.mcp.yml",
        call("has it", "env", text(f"match:contains:{SECRET[:6]}"), arguments={"name": "TOKEN"}),
        call("shows it", "env", text("nothing"), arguments={"name": "TOKEN"}),
        call("says it", "die", arguments={"words": SECRET}),
        call("takes it", "slow", arguments={"ms": 0}),
        env={"TOKEN": "Bearer ${HOUSE_TOKEN}"},
    )
    ended = pytest_in(tmp_path, "-vv", "--junitxml", "report.xml", env={"HOUSE_TOKEN": SECRET})
    assert ended.summary == "2 failed, 2 passed"
    report = (tmp_path / "report.xml").read_text(encoding="utf-8")
    for shown in (ended.out, ended.err, report):
        assert SECRET not in shown
    assert "[secret]" in ended.out


# Between two tests


HOOKS = """
def pytest_runtest_setup(item):
    with open("order.txt", "a") as file:
        file.write(f"setup {item.name}\\n")
"""
SKIPS = """
import pytest

def pytest_collection_modifyitems(items):
    items[1].add_marker(pytest.mark.skip(reason="not here"))
"""
PROGRAM = """
import json, sys
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message: continue
    name = message.get("params", {}).get("name")
    if name: open("order.txt", "a").write(name + "\\n")
    info = {"name": "a", "version": "1"}
    hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": info}
    answer = {"jsonrpc": "2.0", "id": message["id"], "result": hello | {"content": []}}
    print(json.dumps(answer), flush=True)
"""
NAMES = ("one", "two", "three")


@pytest.mark.parametrize(
    ("conftest", "order"),
    [
        ("", ["one", "two", "three"]),
        # The next request must not overtake what is done before its test.
        (HOOKS, ["setup one", "one", "setup two", "two", "setup three", "three"]),
        (SKIPS, ["one", "three"]),
    ],
)
def test_a_request_is_sent_for_a_test_that_is_run_and_not_before_it_is_prepared(
    tmp_path: Path, conftest: str, order: list[str]
) -> None:
    (tmp_path / "conftest.py").write_text(conftest, encoding="utf-8")
    tests = [call(name, name) for name in NAMES]
    command = {"command": sys.executable, "args": ["-c", PROGRAM]}
    write_conductor(tmp_path / "a.test.mcp.yml", *tests, **command)
    assert pytest_in(tmp_path).code == 0
    assert (tmp_path / "order.txt").read_text(encoding="utf-8").splitlines() == order


@pytest.mark.parametrize("way", ["config", "option", "ini"])
def test_the_isolation_of_the_files_can_be_overridden(tmp_path: Path, way: str) -> None:
    for name in "ab":
        write_conductor(tmp_path / f"{name}.test.mcp.yml", counts("counts", 1))
    words = ("--mcptest-isolation=file",) if way == "option" else ()
    ini = "[pytest]\nmcptest_isolation = file\n" if way == "ini" else "[pytest]\n"
    (tmp_path / "pytest.ini").write_text(ini, encoding="utf-8")
    ended = pytest_in(tmp_path, *words)
    shared = "this server had run 1 other file before" in ended.out
    assert (ended.code, shared) == ((1, True) if way == "config" else (0, False))


@pytest.mark.parametrize("way", ["option", "ini", "none", "unknown"])
def test_one_of_several_servers_of_a_client_can_be_chosen(tmp_path: Path, way: str) -> None:
    file = {"description": "of a client", "tests": [counts("counts", 1)]}
    (tmp_path / "a.test.mcp.yml").write_text(json.dumps(file), encoding="utf-8")
    write_conductor(tmp_path / "b.test.mcp.yml", counts("has its own", 1))
    servers = {
        "shop": {"command": SERVER[0], "args": SERVER[1:]},
        "mail": {"command": "not-installed", "args": []},
    }
    config = json.dumps({"mcpServers": servers})
    (tmp_path / ".mcp.json").write_text(config, encoding="utf-8")
    ini = "[pytest]\nmcptest_server = shop\n" if way == "ini" else "[pytest]\n"
    (tmp_path / "pytest.ini").write_text(ini, encoding="utf-8")
    words = {"option": ("--mcptest-server", "shop"), "unknown": ("--mcptest-server=shp",)}
    ended = pytest_in(tmp_path, *words.get(way, ()))
    if way in ("option", "ini"):
        assert ended.summary == "2 passed"
        return
    mistake = "no server 'shp'; did you mean shop?" if way == "unknown" else "2 servers: shop, mail"
    help = "choose one with --mcptest-server NAME: shop, mail"
    assert f".mcp.json has {mistake}\n{help}" in ended.out
    assert ended.summary == "1 error"


def test_an_isolation_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    (tmp_path / "pytest.ini").write_text("[pytest]\nmcptest_isolation = x\n", encoding="utf-8")
    ended = pytest_in(tmp_path)
    assert ended.code == 4
    assert "mcptest_isolation takes run, file or test, not 'x'" in ended.err
