"""`mcptest exec --suite-server FILE` from the outside: the tests of a file, one at a time."""

from __future__ import annotations

import json
import os
import signal
import sys
from typing import TYPE_CHECKING, Any

import pytest
from console import PATIENCE_S, mcptest
from console import run as run_command
from exec_client import connected, converse, request
from suite_runs import call, journal, server, text_is, write

if TYPE_CHECKING:
    from contextlib import AbstractContextManager
    from pathlib import Path

    from connect_back import Listener
    from exec_client import ExecClient
    from suite_runs import Keys

GREEN = call("echoes", args={"text": "a"}, expect=text_is("a"))
RED = call("says b", args={"text": "a"}, expect=text_is("b"))


def serving(
    folder: Path, suite: Keys | None = None, file: str = "mcptest.yaml", **environment: str
) -> AbstractContextManager[ExecClient]:
    """A channel with this suite; one server is there if none is named."""
    if suite is not None:
        write(folder, suite if "servers" in suite else {"servers": {"a": server()}, **suite})
    return connected(folder, "", "--suite-server", file, **environment)


PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
ANSWERED = {"response": {"match:partial": {"result": "match:type:object"}}}


def conductor_file(folder: Path, *tests: Keys) -> None:
    text = json.dumps({"description": "a file", "tests": tests})
    (folder / "a.test.mcp.yml").write_text(text, encoding="utf-8")


def run(sdk: ExecClient, id: str) -> Any:
    return sdk.ask("suite.run", {"id": id})


# What there is


def test_the_list_has_every_test_with_its_place_and_every_lane(tmp_path: Path) -> None:
    suite = {
        "servers": {"a": server("a-"), "b": server("b-")},
        "tools": [
            call("echoes", "a-echo", server="a", tags=["quick"], args={"text": 1}),
            call("echoes", "a-echo", server="a", skip="not yet"),
            call("echoes", "b-echo", server="b", timeout="2s", retries=2),
        ],
        "compliance": {"server": "a", "tests": ["ping"]},
        "agents": [{"name": "asks", "server": "a", "prompt": "hello", "model": "some"}],
    }
    with serving(tmp_path, suite) as sdk:
        found = sdk.ask("suite.list")
        assert sdk.leave().err == ""
    assert (found["version"], found["file"]) == (1, "mcptest.yaml")
    assert found["tests"] == [
        {
            "id": id,
            "server": id[0],
            "name": "echoes",
            "file": "mcptest.yaml",
            "line": line,
            "tags": tags,
            "skip": skip,
            "limit_ms": limit_ms,
        }
        for id, line, tags, skip, limit_ms in zip(
            ["a::echoes", "a::echoes #2", "b::echoes"],
            [each["line"] for each in found["tests"]],
            [["quick"], [], []],
            ["", "not yet", ""],
            [95_000, 95_000, 3 * 67_000],
            strict=True,
        )
    ]
    text = (tmp_path / "mcptest.yaml").read_text(encoding="utf-8").splitlines()
    assert all("{" in text[each["line"] - 1] for each in found["tests"])
    assert sorted(lane["lane"] for lane in found["lanes"]) == ["agents", "compliance"]
    assert (found["left"], found["warnings"]) == ([], [])
    assert journal(tmp_path) == []


def test_gates_of_a_whole_run_are_listed_as_left_out(tmp_path: Path) -> None:
    suite = {"coverage": {"tools": 100}, "performance": {"p95_ms": 1}, "tools": [GREEN]}
    reason = "judged for a whole run only; run: mcptest run mcptest.yaml"
    with serving(tmp_path, suite) as sdk:
        left = sdk.ask("suite.list")["left"]
    assert left == [
        {"name": "coverage gate", "reason": reason},
        {"name": "performance gate", "reason": reason},
    ]
    with serving(tmp_path) as sdk:
        assert run(sdk, "a::echoes")["status"] == "passed"
        assert sdk.leave().err == ""
    config = {"name": "a", "command": "cat", "args": [], "strictInvariants": True}
    (tmp_path / "conductor.config.json").write_text(json.dumps(config), encoding="utf-8")
    conductor_file(tmp_path, {"it": "pings", "request": PING, "expect": ANSWERED})
    with serving(tmp_path, file="a.test.mcp.yml") as sdk:
        left = sdk.ask("suite.list")["left"]
    assert [each["name"] for each in left] == ["strict invariants"]


def test_ids_are_those_of_pytest(tmp_path: Path) -> None:
    names = ["a", "a", "a #2", "b::c", "ends:", "é [x]"]
    with serving(tmp_path, {"tools": [call(name) for name in names]}) as sdk:
        ours = [each["id"] for each in sdk.ask("suite.list")["tests"]]
    words = ["-m", "pytest", "--collect-only", "-q", "mcptest.yaml", "-p", "no:cacheprovider"]
    done = run_command([sys.executable, *words], tmp_path, {})
    theirs = [line for line in done.out.splitlines() if line.startswith("mcptest.yaml::")]
    assert [f"mcptest.yaml::mcptest::{id}" for id in ours] == theirs


# What becomes of a test


def test_every_row_is_a_test_with_an_id_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("text,wants\na,a\nb,c\n", encoding="utf-8")
    rows = {
        "each": {"file": "rows.csv"},
        "args": {"text": "${text}"},
        "expect": text_is("${wants}"),
    }
    with serving(tmp_path, {"tools": [call("echoes", **rows)]}) as sdk:
        ids = [each["id"] for each in sdk.ask("suite.list")["tests"]]
        assert ids == ["a::echoes [text=a]", "a::echoes [text=b]"]
        bad, good = run(sdk, ids[1]), run(sdk, ids[0])
    assert (bad["status"], good["status"]) == ("failed", "passed")
    assert "note: its row is at rows.csv:3" in bad["text"]


def test_a_test_has_the_verdict_and_the_text_of_a_run(tmp_path: Path) -> None:
    dead = call("dies", "die")
    with serving(tmp_path, {"tools": [GREEN, RED, dead]}) as sdk:
        ended = {name: run(sdk, f"a::{name}") for name in ("echoes", "says b", "dies")}
    assert [each["status"] for each in ended.values()] == ["passed", "failed", "error"]
    assert (ended["echoes"]["text"], ended["echoes"]["notes"]) == ("", [])
    printed = [line.strip() for line in mcptest(tmp_path, "run", COLUMNS="80").out.splitlines()]
    for name in ("says b", "dies"):
        one = ended[name]
        assert one["text"].endswith(f"\n\nmcptest.yaml:{one['line']}")
        assert [line for line in one["text"].splitlines() if line.strip() not in printed] == []
        assert "\x1b" not in one["text"]
        assert one["duration_ms"] >= 0


def test_the_text_of_a_failure_is_that_of_pytest(tmp_path: Path) -> None:
    with serving(tmp_path, {"tools": [RED]}) as sdk:
        text = run(sdk, "a::says b")["text"]
    words = ["-m", "pytest", "-q", "mcptest.yaml", "-p", "no:cacheprovider"]
    assert text in run_command([sys.executable, *words], tmp_path, {"COLUMNS": "80"}).out


def test_a_skipped_test_and_one_without_its_variable_start_nothing(tmp_path: Path) -> None:
    suite = {
        "tools": [
            call("waits", skip="not built yet"),
            call("needs", args={"text": "${unset}"}),
        ],
        "variables": {"unset": {"from_env": "NOT_SET_ANYWHERE"}},
    }
    with serving(tmp_path, suite) as sdk:
        skipped, unset = run(sdk, "a::waits"), run(sdk, "a::needs")
    assert (skipped["status"], skipped["text"]) == ("skipped", "not built yet")
    assert unset["status"] == "error"
    assert "NOT_SET_ANYWHERE" in unset["text"]
    assert unset["text"].endswith(f"\n\nmcptest.yaml:{unset['line']}")
    assert journal(tmp_path) == []


def test_a_test_starts_only_its_own_server_and_may_be_run_again(tmp_path: Path) -> None:
    suite = {
        "servers": {"a": server("a-"), "b": server("b-")},
        "tools": [call("first", "a-echo", server="a"), call("second", "b-echo", server="b")],
    }
    with serving(tmp_path, suite) as sdk:
        assert [run(sdk, "b::second")["status"] for _ in range(2)] == ["passed", "passed"]
        assert sdk.ask("mcp.shutdown") == {}
        assert sdk.leave().code == 0
    assert [line.partition(" ")[0] for line in journal(tmp_path)] == [
        "b-starts",
        "b-echo",
        "b-echo",
        "b-ends",
    ]


def test_retries_teardown_and_a_fresh_server_for_each_test_are_as_in_a_run(tmp_path: Path) -> None:
    torn_down = {"tool": "echo", "args": {"text": "swept"}}
    suite = {
        "servers": {"a": server(isolation="test")},
        "tools": [
            call("flaky", "flaky", args={"until": 2}, retries=1, expect=text_is("ok")),
            {**RED, "teardown": [torn_down]},
        ],
    }
    with serving(tmp_path, suite) as sdk:
        flaky, red = run(sdk, "a::flaky"), run(sdk, "a::says b")
    assert (flaky["status"], red["status"]) == ("passed", "failed")
    assert "flaky: attempt 2 passed" in flaky["notes"]
    happened = journal(tmp_path)
    assert happened.count("starts") == 2
    assert 'echo {"text": "swept"}' in happened


def test_a_test_that_needs_a_saved_value_runs_the_one_that_saves_it_first(tmp_path: Path) -> None:
    def tool(name: str, arguments: Keys) -> Keys:
        params = {"name": name, "arguments": arguments}
        return {"jsonrpc": "2.0", "id": name, "method": "tools/call", "params": params}

    body = server()
    config = {"name": "a", "command": body["command"][0], "args": body["command"][1:]}
    tests = [
        {
            "it": "creates",
            "request": tool("create", {"text": "hello"}),
            "expect": ANSWERED,
            "capture": {"id": "result.structuredContent.id"},
        },
        {"it": "reads", "request": tool("read", {"id": "${id}"}), "expect": ANSWERED},
    ]
    (tmp_path / "conductor.config.json").write_text(json.dumps(config), encoding="utf-8")
    conductor_file(tmp_path, *tests)
    with serving(tmp_path, file="a.test.mcp.yml") as sdk:
        limits = [each["limit_ms"] for each in sdk.ask("suite.list")["tests"]]
        assert run(sdk, "a::reads")["status"] == "passed"
    assert limits[1] == 2 * limits[0]


@pytest.mark.parametrize(
    ("expects_error", "strict", "status"),
    [(True, False, "passed"), (True, True, "failed"), (False, False, "failed")],
)
def test_a_misspelt_tool_is_named_with_the_test_that_calls_it(
    tmp_path: Path, expects_error: bool, strict: bool, status: str
) -> None:
    expect = [{"target": "result.isError", "matcher": {"exact": expects_error}}]
    script = tmp_path / "wrap.py"
    script.write_text(
        "import json, sys, subprocess\n"
        f"inner = subprocess.Popen({server()['command']!r}, stdin=-1, stdout=-1)\n"
        "for line in sys.stdin.buffer:\n"
        "    if b'failin\"' in line:\n"
        "        body = {'content': [], 'isError': True}\n"
        "        answer = {'jsonrpc': '2.0', 'id': json.loads(line)['id'], 'result': body}\n"
        "        sys.stdout.write(json.dumps(answer) + '\\n')\n"
        "    else:\n"
        "        inner.stdin.write(line); inner.stdin.flush()\n"
        "        if b'\"id\"' in line:\n"
        "            sys.stdout.write(inner.stdout.readline().decode())\n"
        "    sys.stdout.flush()\n",
        encoding="utf-8",
    )
    suite = {
        "servers": {"a": {"command": [sys.executable, str(script)]}},
        "run_options": {"strict": strict},
        "tools": [call("fails", "failin", expect=expect), GREEN],
    }
    with serving(tmp_path, suite) as sdk:
        first, second = run(sdk, "a::fails"), run(sdk, "a::echoes")
    assert (first["status"], second["status"]) == (status, "passed")
    said = "\n".join(first["notes"]) if status == "passed" else first["text"]
    assert 'the server lists no tool "failin"; did you mean "failing"?' in said
    assert second["notes"] == []


def test_snapshots_are_written_at_the_end_but_never_in_ci(tmp_path: Path) -> None:
    expect = [{"target": "result.content[0].text", "matcher": {"snapshot": True}}]
    tests = [call("one", args={"text": "a"}, expect=expect), GREEN]
    written = tmp_path / "__snapshots__" / "mcptest.yaml.snap.yaml"
    with serving(tmp_path, {"tools": tests}, CI="true") as sdk:
        assert run(sdk, "a::one")["status"] == "failed"
        sdk.leave()
    assert not written.exists()
    with serving(tmp_path, CI="") as sdk:
        assert run(sdk, "a::one")["status"] == "passed"
        ended = sdk.leave()
    assert written.exists()
    assert "warning: 1 snapshot written" in ended.err
    with serving(tmp_path, CI="") as sdk:
        assert run(sdk, "a::echoes")["status"] == "passed"
        assert "stale" not in sdk.leave().err


def test_the_text_of_a_failure_refers_to_no_other_failure(tmp_path: Path) -> None:
    gone = {"command": ["/nowhere/no-such-server"]}
    tests = [call("first", server="a"), call("second", server="b")]
    with serving(tmp_path, {"servers": {"a": gone, "b": gone}, "tools": tests}) as sdk:
        first, second = run(sdk, "a::first"), run(sdk, "b::second")
    assert "same cause" not in second["text"]
    assert first["text"].count("\n") == second["text"].count("\n") > 2


# What is refused


def test_mistakes_of_the_file_are_all_in_the_answer_to_both_methods(tmp_path: Path) -> None:
    suite = {"servers": {"a": server()}, "tools": [{"tool": 5}, {"nme": "x"}]}
    write(tmp_path, suite)
    ask = [request("suite.list", None, 1), request("suite.run", {"id": "a::x"}, 2)]
    answers, ended = converse(tmp_path, "", *ask, options=("--suite-server", "mcptest.yaml"))
    assert [answer["error"]["code"] for answer in answers] == [-32602, -32602]
    first, second = (answer["error"]["message"] for answer in answers)
    assert first == second
    assert first.count("error[") >= 3
    assert ended.code == 0


def test_a_file_that_is_not_there_and_one_without_a_server_say_so(tmp_path: Path) -> None:
    with serving(tmp_path, file="none.yaml") as sdk:
        assert "none.yaml" in sdk.ask("suite.list")["message"]
    conductor_file(tmp_path, {"it": "pings", "request": PING, "expect": ANSWERED})
    with serving(tmp_path, file="a.test.mcp.yml") as sdk:
        refusal = sdk.ask("suite.list")
    assert refusal["code"] == -32602
    assert "conductor.config.json" in refusal["message"]


def test_several_servers_of_a_client_are_refused_without_an_option_that_hosts_lack(
    tmp_path: Path,
) -> None:
    conductor_file(tmp_path, {"it": "answers", "request": PING, "expect": ANSWERED})
    config = json.dumps({"mcpServers": {name: {"command": "a", "args": []} for name in "ab"}})
    (tmp_path / ".mcp.json").write_text(config, encoding="utf-8")
    with serving(tmp_path, file="a.test.mcp.yml") as sdk:
        refusal = sdk.ask("suite.list")
    assert refusal["message"] == (
        ".mcp.json has 2 servers: a, b\n"
        "choose one in a suite, with from: FILE#NAME, or describe it in the test file"
    )
    assert "--server-command" not in refusal["message"]


def test_an_unknown_test_is_refused_with_the_nearest_id(tmp_path: Path) -> None:
    with serving(tmp_path, {"tools": [GREEN]}) as sdk:
        assert run(sdk, "a::echos") == {
            "code": -32602,
            "message": 'there is no test "a::echos"; did you mean "a::echoes"?',
        }
        assert run(sdk, "a::echoes")["status"] == "passed"


def test_an_sdk_of_another_version_runs_nothing(tmp_path: Path) -> None:
    with serving(tmp_path, {"tools": [GREEN]}) as sdk:
        refusal = sdk.ask("coprocess/handshake", {"protocol_version": 3, "sdk": "go"})
        assert "speaks v2, the go SDK sent v3" in refusal["message"]
        assert run(sdk, "a::echoes") == refusal
    assert journal(tmp_path) == []


def test_options_and_variables_of_the_other_channel_are_refused(tmp_path: Path) -> None:
    write(tmp_path, {"servers": {"a": server()}, "tools": [GREEN]})
    suite = ("exec", "--suite-server", "mcptest.yaml")
    for words in (("--cwd", "."), ("--timeout", "2s"), ("--server-command", "x"), ("--url", "x")):
        ended = mcptest(tmp_path, *suite, *words)
        assert (ended.code, ended.out) == (2, "")
        assert f"{words[0]} is for --connection-server" in ended.err
    ended = mcptest(tmp_path, *suite, MCPTEST_SERVER_ENV='{"set": {"A": "hush-hush"}}')
    assert ended.code == 2
    assert "MCPTEST_SERVER_ENV is for --connection-server" in ended.err
    assert "hush-hush" not in ended.err
    ended = mcptest(tmp_path, *suite, "--connection-server")
    assert ended.code == 2
    ended = mcptest(tmp_path, "exec", "--suite-server", "")
    assert (ended.code, "--suite-server needs a file" in ended.err) == (2, True)


# How it ends

HANGING = call("hangs", "hang", teardown=[{"tool": "echo", "args": {"text": "swept"}}])


def test_a_test_that_is_under_way_is_finished_for_an_sdk_that_has_closed_its_input(
    tmp_path: Path,
) -> None:
    slow = call("slow", "slow", args={"ms": 500}, expect=text_is("done"))
    write(tmp_path, {"servers": {"a": server()}, "tools": [slow, GREEN]})
    ask = [request("suite.run", {"id": id}, id) for id in ("a::slow", "a::echoes")]
    answers, ended = converse(tmp_path, "", *ask, options=("--suite-server", "mcptest.yaml"))
    assert [answer["result"]["status"] for answer in answers] == ["passed", "passed"]
    assert (ended.code, ended.err) == (0, "")


@pytest.mark.long
def test_a_test_that_never_ends_is_stopped_after_the_input_has_ended(tmp_path: Path) -> None:
    write(tmp_path, {"servers": {"a": server()}, "tools": [call("hangs", "hang")]})
    ask = request("suite.run", {"id": "a::hangs"})
    answers, ended = converse(tmp_path, "", ask, options=("--suite-server", "mcptest.yaml"))
    assert (answers, ended.code) == ([], 0)
    assert "warning: standard input has ended" in ended.err


@pytest.mark.long
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_stops_the_test_and_its_server(
    tmp_path: Path, listener: Listener, number: signal.Signals
) -> None:
    suite = {"tools": [call("hangs", "hang")]}
    with serving(tmp_path, suite, **listener.environment) as sdk:
        sdk.send(request("suite.run", {"id": "a::hangs"}))
        caller = listener.next_caller()
        assert caller.next_word() == "hangs"
        assert sdk.signal(number).code == 130
        assert caller.is_dead_within(PATIENCE_S)


@pytest.mark.long
def test_an_sdk_that_leaves_in_the_middle_of_a_test_leaves_nothing_behind(
    tmp_path: Path, listener: Listener
) -> None:
    with serving(tmp_path, {"tools": [HANGING]}, **listener.environment) as sdk:
        sdk.send(request("suite.run", {"id": "a::hangs"}))
        caller = listener.next_caller()
        assert caller.next_word() == "hangs"
        sdk.stdout.close()
        sdk.stdin.close()
        sdk.process.wait(PATIENCE_S)
        assert caller.is_dead_within(PATIENCE_S)


# Options of the other channel that SDKs need


def test_the_server_is_started_in_a_folder_with_variables_of_its_own(
    tmp_path: Path,
) -> None:
    script = tmp_path / "server.py"
    script.write_text(
        "import json, os, sys\n"
        "for line in sys.stdin:\n"
        "    asked = json.loads(line)\n"
        "    if 'id' not in asked: continue\n"
        "    found = {name: os.environ.get(name) for name in ('A', 'MCPTEST_SERVER_ENV')}\n"
        "    said = {'cwd': os.getcwd(), **found}\n"
        "    if asked['method'] == 'initialize':\n"
        "        info = {'name': 'a', 'version': '1'}\n"
        "        version = asked['params']['protocolVersion']\n"
        "        said = {'protocolVersion': version, 'capabilities': {}, 'serverInfo': info}\n"
        "    answer = {'jsonrpc': '2.0', 'id': asked['id'], 'result': said}\n"
        "    print(json.dumps(answer), flush=True)\n",
        encoding="utf-8",
    )
    (tmp_path / "inner").mkdir()
    env = {"MCPTEST_SERVER_ENV": json.dumps({"set": {"A": "1"}, "secrets": ["A"]})}
    options = ("--cwd", "inner", "--start-timeout", "20s")
    with connected(tmp_path, f"{sys.executable} {script}", *options, **env) as sdk:
        said = sdk.call("any")
    assert said == {
        "cwd": os.path.realpath(tmp_path / "inner"),
        "A": "1",
        "MCPTEST_SERVER_ENV": None,
    }


def test_secrets_for_the_server_are_hidden_in_messages(tmp_path: Path) -> None:
    code = "import os, sys; sys.exit('bad password ' + os.environ['PIN_OF_IT'])"
    env = {"set": {"PIN_OF_IT": "tangerine-42"}, "secrets": ["PIN_OF_IT"]}
    command = f'{sys.executable} -c "{code}"'
    with connected(tmp_path, command, MCPTEST_SERVER_ENV=json.dumps(env)) as sdk:
        answer = sdk.ask("mcp.initialize")
    assert answer["code"] == -32001
    assert "bad password [secret]" in answer["data"]["stderr"]


@pytest.mark.parametrize(
    "value",
    [
        "hush-hush",
        '{"set": {"A": "hush-hush"}, "more": 1}',
        '{"set": {"A": 5}}',
        '{"set": {"A=": "hush-hush"}}',
        '{"set": {"": "hush-hush"}}',
        '{"set": {"A": "hush-hush"}, "secrets": ["B"]}',
        '{"set": {"A": "hush-hush"}, "secrets": [[]]}',
        '{"set": {"A": "hush-hush", "A": "b"}}',
        "[]",
    ],
)
def test_a_bad_variable_is_refused_and_never_shown(tmp_path: Path, value: str) -> None:
    words = ("exec", "--connection-server", "--server-command", "cat")
    ended = mcptest(tmp_path, *words, MCPTEST_SERVER_ENV=value)
    assert (ended.code, ended.out) == (2, "")
    assert "MCPTEST_SERVER_ENV is not what an SDK sets" in ended.err
    assert "hush-hush" not in ended.err


def test_a_folder_that_is_not_there_is_refused(tmp_path: Path) -> None:
    words = ("exec", "--connection-server", "--server-command", "cat", "--cwd", "nowhere")
    ended = mcptest(tmp_path, *words)
    assert (ended.code, ended.out) == (2, "")
    assert "--cwd: there is no folder 'nowhere'" in ended.err
    words = ("exec", "--connection-server", "--url", "http://127.0.0.1:1/mcp", "--cwd", ".")
    assert "--cwd is for a server that is started" in mcptest(tmp_path, *words).err
