"""Under pytest a test passes only where the command passes it, and says what really happened."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
from sessions import SERVER, SERVERS, call, mcptest, pytest_in, statuses, text, write_conductor

FAULTY = [sys.executable, "-S", "-E", str(SERVERS / "fault_server.py")]
ANSWER = {"content": [{"type": "text", "text": "x"}]}


def raw(id: object, expects: Any, **params: Any) -> dict[str, Any]:
    """A test with a request that is written out."""
    asked = {"name": "echo", "arguments": {"text": "x"}} | params
    request = {"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": asked}
    return {"it": "echoes", "request": request, "expect": {"response": expects}}


def whole(id: object, **more: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id, "result": ANSWER, **more}


def verdicts(folder: Path, *words: str, test: dict[str, Any]) -> tuple[str, str]:
    """What the command says of a test, and what pytest does."""
    keys: dict[str, Any] = {"command": FAULTY[0], "args": [*FAULTY[1:], *words]}
    write_conductor(folder / "a.test.mcp.yml", test, timeout=1000, **keys)
    ran = json.loads(mcptest(folder, "run", "a.test.mcp.yml", "--json").out)
    (message,) = [test["status"] for suite in ran["suites"] for test in suite["tests"]]
    (here,) = statuses(pytest_in(folder, "-v")).values()
    return message, here


def test_a_request_shown_as_sent_was_sent(tmp_path: Path) -> None:
    test = raw("my-own-id", whole("my-own-id") | {"result": {}})
    write_conductor(tmp_path / "a.test.mcp.yml", test)
    ended = pytest_in(tmp_path, "-v")
    assert '"id":"my-own-id","method":"tools/call"' in ended.out.replace(" ", "")


# Tests that build on each other

FIRST = call("counts", "count", capture={"n": "result.content[0].text"})
SECOND = call("echoes it", "echo", text("${n}!"), arguments={"text": "${n}"})


NEEDY = "a.test.mcp.yml::mcptest::sdk::echoes it"


@pytest.mark.parametrize("words", [("-k", "echoes"), (NEEDY,)])
def test_a_test_runs_the_one_first_whose_value_it_needs(
    tmp_path: Path, words: tuple[str, ...]
) -> None:
    right = call("echoes it", "echo", text("1"), arguments={"text": "${n}"})
    write_conductor(tmp_path / "a.test.mcp.yml", FIRST, right)
    assert pytest_in(tmp_path, "-v", *words).summary.startswith("1 passed")


def test_a_test_whose_value_cannot_be_had_names_the_one_that_saves_it(tmp_path: Path) -> None:
    wrong = call("counts", "count", text("7"), capture={"n": "result.content[0].text"})
    write_conductor(tmp_path / "a.test.mcp.yml", wrong, SECOND)
    ended = pytest_in(tmp_path, NEEDY)
    assert ended.code == 1
    assert "missing_capture: not sent: it needs ${n}" in ended.out
    assert "'counts' was run first, because it saves ${n}, and did not pass: " in ended.out


REVERSED = "def pytest_collection_modifyitems(items): items.reverse()\n"


def test_in_any_order_each_test_has_the_value_that_it_has_in_a_run(tmp_path: Path) -> None:
    def gets(name: str, number: int) -> dict[str, Any]:
        return call(name, "echo", text(str(number)), arguments={"text": "${n}"})

    again = FIRST | {"it": "counts again"}
    write_conductor(tmp_path / "a.test.mcp.yml", FIRST, gets("first", 1), again, gets("then", 3))
    assert pytest_in(tmp_path).summary == "4 passed"
    (tmp_path / "conftest.py").write_text(REVERSED, encoding="utf-8")
    # The last test runs "counts again", which is the first call of the server then.
    ended = pytest_in(tmp_path, "-v")
    assert statuses(ended) == {
        "then": "failed",
        "counts again": "passed",
        "first": "failed",
        "counts": "passed",
    }
    assert "missing_capture" not in ended.out


def test_with_lf_a_failed_test_runs_the_one_that_it_needs(tmp_path: Path) -> None:
    write_conductor(tmp_path / "a.test.mcp.yml", FIRST, call("fine", "echo"), SECOND)
    with_cache = ("cacheprovider",)
    ended = pytest_in(tmp_path, plugins=with_cache)
    assert ended.summary == "1 failed, 2 passed"
    ended = pytest_in(tmp_path, "--lf", "-v", plugins=with_cache)
    assert statuses(ended) == {"echoes it": "failed"}
    assert "missing_capture" not in ended.out


@pytest.mark.long
def test_over_workers_a_test_runs_the_one_that_it_needs(tmp_path: Path) -> None:
    gets = [call(f"gets {n}", "echo", text("1"), arguments={"text": "${n}"}) for n in range(6)]
    write_conductor(tmp_path / "a.test.mcp.yml", FIRST, *gets)
    with_workers = ("xdist.plugin", "no:cacheprovider")
    assert pytest_in(tmp_path, "-n", "2", plugins=with_workers).summary == "7 passed"


# Tags


def test_every_tag_can_be_given_to_m_in_letters_that_it_knows(tmp_path: Path) -> None:
    tags = ["a:b", "1st", "_own", "a b", "and"]
    tests = [call(f"has {tag}", "echo", tags=[tag]) for tag in tags]
    write_conductor(tmp_path / "a.test.mcp.yml", *tests)
    for mark, tag in [("a_b", "a:b"), ("1st", "1st"), ("tag_own", "_own")]:
        ended = pytest_in(tmp_path, "-v", "--strict-markers", "-m", mark)
        expected = {f"has {tag}"} | ({"has a b"} if mark == "a_b" else set())
        assert set(statuses(ended)) == expected, ended.out


# Faults, short


def test_a_fault_of_ours_is_one_sentence(tmp_path: Path) -> None:
    broken = (
        "from mcptest.core.text import visible\n"
        "from mcptest.engine.on_demand import SuiteRun\n"
        "SuiteRun.perform = lambda *words: visible(None)\n"
    )
    (tmp_path / "conftest.py").write_text(broken, encoding="utf-8")
    write_conductor(tmp_path / "a.test.mcp.yml", call("echoes", "echo"))
    ended = pytest_in(tmp_path)
    assert ended.code == 1
    assert "this is a fault of mcptest, and not of the server: AttributeError: " in ended.out
    assert "please report it, and run: mcptest run a.test.mcp.yml" in ended.out
    assert "_pytest" not in ended.out
    assert ended.out.count("\n") < 20


def test_an_exception_of_another_plugin_is_not_called_an_internal_error(tmp_path: Path) -> None:
    broken = (
        "from mcptest.engine.on_demand import SuiteRun\n"
        "def late(*words): raise RuntimeError('time is up')\n"
        "SuiteRun.perform = late\n"
    )
    (tmp_path / "conftest.py").write_text(broken, encoding="utf-8")
    write_conductor(tmp_path / "a.test.mcp.yml", call("echoes", "echo"))
    ended = pytest_in(tmp_path)
    assert "RuntimeError: time is up" in ended.out
    assert "fault of mcptest" not in ended.out


def test_a_server_that_cannot_be_started_is_reported_in_full_once(tmp_path: Path) -> None:
    tests = [call(name, "echo") for name in ("one", "two", "three")]
    keys: dict[str, Any] = {"command": sys.executable, "args": ["-c", "raise SystemExit('no db')"]}
    write_conductor(tmp_path / "a.test.mcp.yml", *tests, **keys)
    ended = pytest_in(tmp_path)
    assert ended.summary == "3 failed"
    assert ended.out.count("stderr  ") == 1
    assert ended.out.count("(same cause as above)") == 2


# Fixtures

PROGRAM = "def test_a(mcptest_client):\n    mcptest_client.call_tool('die')\n"


def test_an_error_in_a_test_shows_the_test_and_nothing_of_us(tmp_path: Path) -> None:
    (tmp_path / "test_a.py").write_text(PROGRAM, encoding="utf-8")
    ended = pytest_in(tmp_path, "--mcp-server-command", " ".join(SERVER))
    assert "mcptest_client.call_tool('die')" in ended.out
    assert "UpstreamGoneError" in ended.out
    for name in ("_coprocess.py", "client.py", "concurrent"):
        assert name not in ended.out


def test_a_server_of_the_fixtures_that_cannot_be_started_is_reported_in_full_once(
    tmp_path: Path,
) -> None:
    program = "".join(
        f"def test_{number}({fixture}): pass\n"
        for number, fixture in enumerate(["mcptest_client"] * 3 + ["mcptest_session"] * 2)
    )
    (tmp_path / "test_a.py").write_text(program, encoding="utf-8")
    script = tmp_path / "broken.py"
    script.write_text("raise SystemExit('no database')\n", encoding="utf-8")
    ended = pytest_in(tmp_path, "--mcp-server-command", f"{sys.executable} {script}")
    assert ended.summary == "5 errors"
    assert ended.out.count("| no database") == 1
    assert ended.out.count("(details above)") >= 4
    for name in ("_coprocess.py", "client.py", "pytest_fixtures.py:"):
        assert name not in ended.out


def test_a_command_of_the_config_is_run_in_the_folder_of_the_config(tmp_path: Path) -> None:
    shutil.copy(SERVERS / "sdk_server.py", tmp_path)
    shutil.copy(SERVERS / "connect_back.py", tmp_path)
    ini = f"[pytest]\nmcp_server_command = {sys.executable} sdk_server.py\n"
    (tmp_path / "pytest.ini").write_text(ini, encoding="utf-8")
    below = tmp_path / "below"
    below.mkdir()
    program = (
        "import os\n"
        "def test_a(mcptest_client):\n"
        "    assert mcptest_client.call_tool('cwd').text == os.path.dirname(os.getcwd())\n"
    )
    (below / "test_a.py").write_text(program, encoding="utf-8")
    ended = pytest_in(below, "-c", "../pytest.ini", "test_a.py")
    assert ended.summary == "1 passed", ended.out


def test_options_of_connect_can_be_given_by_a_fixture(tmp_path: Path) -> None:
    conftest = (
        "import pytest\n"
        "@pytest.fixture(scope='session')\n"
        "def mcp_server_options(): return {'env': {'TOWN': 'Oslo'}}\n"
    )
    (tmp_path / "conftest.py").write_text(conftest, encoding="utf-8")
    program = (
        "def test_a(mcptest_client):\n"
        "    assert mcptest_client.call_tool('env', {'name': 'TOWN'}).text == 'Oslo'\n"
    )
    (tmp_path / "test_a.py").write_text(program, encoding="utf-8")
    ended = pytest_in(tmp_path, "--mcp-server-command", " ".join(SERVER))
    assert ended.summary == "1 passed", ended.out


def test_an_option_of_connect_that_makes_no_sense_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "test_a.py").write_text("def test_a(mcptest_client): pass\n", encoding="utf-8")
    ended = pytest_in(tmp_path, "--mcp-server-command", "http://127.0.0.1:1/mcp")
    assert "the fixtures of mcptest cannot connect: " in ended.out
    assert "say connect(url='http://127.0.0.1:1/mcp')" in ended.out
    assert "Traceback" not in ended.out


@pytest.mark.parametrize(
    ("kind", "message"), [("complete", "passed"), ("input_required", "failed"), ("odd", "failed")]
)
def test_a_call_that_did_not_finish_fails_under_pytest_too(
    tmp_path: Path, kind: str, message: str
) -> None:
    command = [sys.executable, str(SERVERS / "era_server.py"), "log.txt", "typed", kind]
    server = {"command": command, "protocol_version": "2026-07-28"}
    suite = {"servers": {"s": server}, "tools": [{"name": "t", "tool": "echo", "args": {}}]}
    (tmp_path / "mcptest.yaml").write_text(json.dumps(suite), encoding="utf-8")
    ran = json.loads(mcptest(tmp_path, "run", "--json").out)
    assert [test["status"] for suite in ran["suites"] for test in suite["tests"]] == [message]
    assert list(statuses(pytest_in(tmp_path, "-v")).values()) == [message]


@pytest.mark.parametrize("strict", [False, True])
def test_a_misspelt_name_is_reported_with_the_words_of_the_command(
    tmp_path: Path, strict: bool
) -> None:
    naming = [*FAULTY[:-1], str(SERVERS / "naming_server.py")]
    keys: dict[str, Any] = {"command": naming[0], "args": naming[1:], "strict": strict}
    error = {"response": {"error": {"match:partial": {"code": -32602}}}}
    misspelt = {"it": "refuses", "tool": "red_file", "expect": error}
    write_conductor(tmp_path / "a.test.mcp.yml", misspelt, **keys)
    ended = pytest_in(tmp_path)
    said = 'the server lists no tool "red_file"; did you mean "read_file"?'
    assert (ended.code, said in ended.out) == (int(strict), True)
    # The test itself fails, with nothing of pytest's inside.
    assert ended.summary == ("1 failed" if strict else "1 passed")
    assert "_multicall" not in ended.out
    write_conductor(tmp_path / "a.test.mcp.yml", misspelt | {"unlisted": True}, **keys)
    ended = pytest_in(tmp_path)
    assert (ended.code, "the server lists" in ended.out) == (0, False)


def test_a_missed_gate_is_a_short_error(tmp_path: Path) -> None:
    tools = [{"name": "t", "tool": "echo", "args": {"text": "a"}}]
    suite = {"servers": {"s": {"command": SERVER}}, "tools": tools, "coverage": {"tools": 100}}
    (tmp_path / "mcptest.yaml").write_text(json.dumps(suite), encoding="utf-8")
    ended = pytest_in(tmp_path)
    assert "gate missed: " in ended.out
    assert (ended.code, "_multicall" in ended.out) == (1, False)


@pytest.mark.long
def test_hints_name_the_options_of_pytest(tmp_path: Path) -> None:
    slow = {"command": sys.executable, "args": ["-c", "import time; time.sleep(9)"]}
    wanted: dict[str, Any] = {"response": {"result": {}}}
    test = {"it": "t", "request": {"id": 1, "method": "ping"}, "expect": wanted}
    write_conductor(tmp_path / "a.test.mcp.yml", test, **slow, startupTimeout=100)
    ended = pytest_in(tmp_path)
    assert 'the limit is "startupTimeout" in the config' in ended.out
    assert "--start-timeout" not in ended.out


def test_the_note_about_shared_servers_names_the_option_of_pytest(tmp_path: Path) -> None:
    wrong = {"response": {"result": {"a": 1}}}
    test = {"it": "t", "request": {"jsonrpc": "2.0", "id": 1, "method": "ping"}, "expect": wrong}
    for name in "ab":
        write_conductor(tmp_path / f"{name}.test.mcp.yml", test)
    ended = pytest_in(tmp_path)
    assert "--mcptest-isolation file gives each file its own" in " ".join(ended.out.split())
