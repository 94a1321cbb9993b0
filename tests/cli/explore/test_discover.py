"""`mcptest discover`: from a server to a test file that passes, with nothing edited by hand."""

from __future__ import annotations

import json
import shutil
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from console import CONDUCTOR, Ended, mcptest, run

SERVERS = Path(__file__).parents[2] / "servers"
ROOT = SERVERS.parent.parent
OFFERING = SERVERS / "offering_server.py"
FAULTY = SERVERS / "fault_server.py"
NODE_SERVERS = ROOT / ".venv" / "node" / "node_modules" / "@modelcontextprotocol"

needs_npm = pytest.mark.skipif(
    shutil.which("npm") is None, reason="there is no npm, so ./check could not install it"
)


def discover(folder: Path, *command: str, **environment: str) -> Ended:
    words = ("-o", "a.test.mcp.yml", "--timeout", "2s", "--", *command)
    return mcptest(folder, "discover", *words, **environment)


def verdicts(folder: Path, *words: str, **environment: str) -> dict[str, str]:
    """What becomes of each test in the file, which is run as it is."""
    ended = mcptest(folder, "run", "a.test.mcp.yml", "--json", *words, **environment)
    tests = [test for suite in ended.report()["suites"] for test in suite["tests"]]
    assert ended.code == 0, [test for test in tests if test["status"] not in ("passed", "skipped")]
    return {test["name"]: test["status"] for test in tests}


# Servers of others


@pytest.mark.long
def test_the_time_server_becomes_a_file_that_passes(tmp_path: Path) -> None:
    ended = discover(tmp_path, sys.executable, "-m", "mcp_server_time")
    assert (ended.code, ended.out) == (0, "")
    text = (tmp_path / "a.test.mcp.yml").read_text(encoding="utf-8")
    assert text.startswith(
        "# yaml-language-server: "
        "$schema=https://mcptest.github.io/mcptest/schemas/conductor.schema.json\n"
    )
    found = verdicts(tmp_path)
    assert found["calls convert_time"] == "passed"
    assert set(found.values()) == {"passed"}


@pytest.mark.long
@needs_npm
def test_server_everything_becomes_a_file_that_passes(tmp_path: Path) -> None:
    script = NODE_SERVERS / "server-everything" / "dist" / "index.js"
    assert discover(tmp_path, "node", str(script), "stdio").code == 0
    found = verdicts(tmp_path)
    assert found["calls get-sum"] == "passed"
    assert found["calls gzip-file-as-resource"] == "skipped"
    assert sum(status == "passed" for status in found.values()) >= 25


@pytest.mark.long
@needs_npm
def test_server_filesystem_becomes_a_file_that_passes_and_no_file_is_touched(
    tmp_path: Path,
) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "kept.txt").write_text("kept", encoding="utf-8")
    script = NODE_SERVERS / "server-filesystem" / "dist" / "index.js"
    assert discover(tmp_path, "node", str(script), "data").code == 0
    found = verdicts(tmp_path)
    assert found["calls list_directory"] == "passed"
    assert found["calls write_file"] == found["calls move_file"] == "skipped"
    assert [path.name for path in (tmp_path / "data").iterdir()] == ["kept.txt"]


# A server of ours


@pytest.mark.long
def test_everything_that_is_offered_is_in_the_file_and_harm_is_only_a_placeholder(
    tmp_path: Path,
) -> None:
    calls = tmp_path / "calls"
    ended = discover(tmp_path, sys.executable, str(OFFERING), CALLS=str(calls))
    assert ended.code == 0
    found = verdicts(tmp_path)
    assert [name for name, status in found.items() if status == "skipped"] == [
        "calls fail",
        "calls refuse",
        "calls hang",
        "calls die",
        "calls delete_all",
        "calls wipe",
    ]
    assert found["refuses show without text"] == found["reads note://one"] == "passed"
    assert found["gets the prompt greet"] == "passed"
    assert not {"delete_all", "wipe"} & set(calls.read_text(encoding="utf-8").split())


@pytest.mark.long
def test_the_placeholder_of_a_call_says_what_happened(tmp_path: Path) -> None:
    discover(tmp_path, sys.executable, str(OFFERING))
    text = (tmp_path / "a.test.mcp.yml").read_text(encoding="utf-8")
    assert 'skip: "timeout: no answer to tools/call within 2 s"' in text
    assert 'skip: "exited_during_call: the server ended (exit status 1)' in text


@pytest.mark.long
def test_a_test_that_does_not_pass_twice_is_skipped_with_the_reason(tmp_path: Path) -> None:
    fickle = {"FICKLE": str(tmp_path / "seen")}
    assert discover(tmp_path, sys.executable, str(OFFERING), **fickle).code == 0
    text = (tmp_path / "a.test.mcp.yml").read_text(encoding="utf-8")
    assert 'skip: "a second try was answered differently: result' in text
    assert verdicts(tmp_path, **fickle)["calls fickle"] == "skipped"


@pytest.mark.long
def test_text_from_the_server_is_escaped_in_the_file(tmp_path: Path) -> None:
    discover(tmp_path, sys.executable, str(OFFERING))
    text = (tmp_path / "a.test.mcp.yml").read_text(encoding="utf-8")
    assert "Shows what it was given. \\u001b[31mred" in text
    assert all(char == "\n" or char.isprintable() for char in text)


@pytest.mark.long
def test_texts_that_no_file_can_hold_are_written_so_that_it_can(tmp_path: Path) -> None:
    ended = discover(tmp_path, sys.executable, str(OFFERING), ODD="1")
    assert ended.code == 0, ended.err
    text = (tmp_path / "a.test.mcp.yml").read_text(encoding="utf-8")
    assert text.count('"half \\\\ud800 a pair of {NOBODY}"') == 2
    assert "note: 1 tool(s) left out: their names cannot be written down\n" in ended.err
    assert verdicts(tmp_path, ODD="1")["calls odd"] == "passed"


def test_the_file_goes_to_standard_output_when_no_name_is_given(tmp_path: Path) -> None:
    ended = mcptest(tmp_path, "discover", "--", sys.executable, str(SERVERS / "tiny_server.py"))
    assert ended.code == 0
    assert ended.err == "1 test, 0 of them skipped with a reason\n"
    (tmp_path / "a.test.mcp.yml").write_text(ended.out, encoding="utf-8")
    assert verdicts(tmp_path) == {"answers a ping": "passed"}


def test_conductor_discover_is_the_same_command(tmp_path: Path) -> None:
    server = (sys.executable, str(SERVERS / "tiny_server.py"))
    same = run([sys.executable, "-c", CONDUCTOR, "discover", "--", *server], tmp_path, {})
    assert same == mcptest(tmp_path, "discover", "--", *server)
    assert same.code == 0


def test_a_file_in_another_folder_finds_its_server(tmp_path: Path) -> None:
    (tmp_path / "tests").mkdir()
    shutil.copy(SERVERS / "tiny_server.py", tmp_path)
    target = "tests/a.test.mcp.yml"
    ended = mcptest(tmp_path, "discover", "-o", target, "--", sys.executable, "tiny_server.py")
    assert ended.code == 0
    assert 'cwd: ".."' in (tmp_path / target).read_text(encoding="utf-8")
    assert mcptest(tmp_path / "tests", "run").code == 0
    assert mcptest(tmp_path, "run", target).code == 0


# Servers that are broken or not set up


def scripted(folder: Path, tools: dict[str, object], **more: object) -> tuple[str, ...]:
    """A server with these tools, all without hints, and the answer of each to every call."""
    schema = {"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"]}
    listed = [{"name": name, "inputSchema": schema} for name in tools]
    script = folder / "scripted.py"
    script.write_text(
        f"""
import json, sys, time
tools, answers, more = {listed!r}, {tools!r}, {more!r}
for line in sys.stdin:
    message = json.loads(line)
    method, params = message["method"], message.get("params", {{}})
    if method == "initialize":
        info = {{"name": more.get("name", "scripted"), "version": "1"}}
        result = {{"capabilities": {{"tools": {{}}}}, "serverInfo": info}}
        answer = {{"result": result | {{"protocolVersion": params["protocolVersion"]}}}}
    elif method == "tools/list":
        answer = more.get("list") or {{"result": {{"tools": tools}}}}
    elif method == "tools/call":
        open("calls.txt", "a").write(params["name"] + " " + " ".join(sys.argv[1:]) + "\\n")
        time.sleep(more.get("slow_s", 0))
        answer = answers[params["name"]]
    else:
        answer = {{"result": {{}}}}
    if "id" in message:
        print(json.dumps({{"jsonrpc": "2.0", "id": message["id"], **answer}}), flush=True)
""",
        encoding="utf-8",
    )
    return sys.executable, "-S", "-E", script.name


def said(text: str) -> dict[str, object]:
    return {"result": {"content": [{"type": "text", "text": text}], "isError": True}}


FINE: dict[str, object] = {"result": {"content": [{"type": "text", "text": "fine"}]}}


def test_errors_of_a_broken_server_are_skipped_and_named(tmp_path: Path) -> None:
    tools: dict[str, object] = {
        "get_a": {"error": {"code": -32603, "message": "Internal error"}},
        "get_b": said("KeyError: 'city'"),
        "get_c": said("SHOP_API_KEY is not set"),
        "get_d": said("City not found"),
    }
    ended = discover(tmp_path, *scripted(tmp_path, tools))
    assert ended.code == 0
    assert verdicts(tmp_path) == {
        "lists its tools": "passed",
        "calls get_a": "skipped",
        "calls get_b": "skipped",
        "calls get_c": "skipped",
        "calls get_d with made-up values, and gets an error": "passed",
        "refuses get_d without q": "passed",
    }
    text = (tmp_path / "a.test.mcp.yml").read_text(encoding="utf-8")
    assert "code: -32603" not in text
    assert (
        "3 answers look as if the server were broken or not set up; their tests are skipped:\n"
        '  calls get_a: error -32603 "Internal error"\n'
        "  calls get_b: \"KeyError: 'city'\"\n"
        '  calls get_c: "SHOP_API_KEY is not set"\n'
    ) in ended.err


def test_a_list_that_fails_is_skipped_and_named(tmp_path: Path) -> None:
    failure = {"error": {"code": -32603, "message": "no database"}}
    ended = discover(tmp_path, *scripted(tmp_path, {}, list=failure))
    assert verdicts(tmp_path) == {"lists its tools": "skipped", "answers a ping": "passed"}
    assert '  lists its tools: error -32603 "no database"\n' in ended.err


# Which tools are called


NAMES = ("get_x", "fork_x", "delete_x")


def called(folder: Path, *options: str) -> tuple[set[str], str]:
    """The tools that were called, and what was printed."""
    server = scripted(folder, dict.fromkeys(NAMES, FINE))
    ended = mcptest(folder, "discover", *options, "--", *server)
    assert ended.code == 0, ended.err
    calls = folder / "calls.txt"
    lines = calls.read_text(encoding="utf-8").splitlines() if calls.exists() else []
    return {line.split()[0] for line in lines}, ended.err


def test_without_hints_only_tools_that_look_as_if_they_read_are_called(tmp_path: Path) -> None:
    names, printed = called(tmp_path)
    assert names == {"get_x"}
    assert printed.startswith("calling 1 of 3 tools: get_x\n")
    assert "\ncalled 1 of 3 tools: get_x; the file says why not the others\n" in printed


def test_others_are_called_on_request_unless_they_look_harmful(tmp_path: Path) -> None:
    names, printed = called(tmp_path, "--call-unannotated")
    assert names == {"get_x", "fork_x"}
    assert printed.startswith("calling 2 of 3 tools: get_x, fork_x\n")


def test_tools_are_called_once_and_never_with_harmful_arguments(tmp_path: Path) -> None:
    def taking(name: str, argument: str, part: object) -> dict[str, object]:
        schema = {"type": "object", "properties": {argument: part}, "required": [argument]}
        return {"name": name, "inputSchema": schema}

    listed = [
        taking("get_weather", "city", {"type": "string"}),
        taking("search", "query", {"type": "string"}),
        taking("get_rows", "action", {"enum": ["delete"]}),
        taking("get_disk", "force", {"const": True}),
        {**taking("get_cache", "key", {}), "description": "This tool clears the cache."},
        {**taking("get_hint", "key", {}), "annotations": {"destructiveHint": "true"}},
    ]
    circle = {"result": {"tools": listed, "nextCursor": "again"}}
    server = scripted(tmp_path, {"get_weather": FINE, "search": FINE}, list=circle)
    ended = mcptest(tmp_path, "discover", "--", *server)
    assert ended.code == 0, ended.err
    assert "calling 2 of 6 tools: get_weather, search\n" in ended.err
    calls = (tmp_path / "calls.txt").read_text(encoding="utf-8").split()
    # With and without the argument, and both again to verify the file.
    assert sorted(calls) == ["get_weather"] * 4 + ["search"] * 4


def test_no_tool_is_called_if_that_is_wanted(tmp_path: Path) -> None:
    names, printed = called(tmp_path, "--no-calls")
    assert names == set()
    assert printed.startswith("calling 0 of 3 tools\n")


@pytest.mark.parametrize(
    "words", [("--", "./nope.sh"), ("--server-command", "./nope.sh")], ids=["after --", "option"]
)
def test_a_missing_file_is_said_to_be_looked_for_in_its_folder(
    tmp_path: Path, words: tuple[str, ...]
) -> None:
    ended = mcptest(tmp_path, "discover", *words)
    where = f"it was looked for in {tmp_path}: run mcptest from another folder"
    assert (ended.code, f"{where}, or give the whole path\n" in ended.err) == (3, True), ended.err
    (tmp_path / "conductor.config.json").write_text(
        json.dumps({"name": "a", "command": "./nope.sh", "args": []}), encoding="utf-8"
    )
    ended = mcptest(tmp_path, "discover")
    assert f"it was looked for in {tmp_path}: set cwd, or give the whole path\n" in ended.err


@pytest.mark.parametrize("options", [(), ("-v",)])
def test_the_names_of_called_tools_are_wrapped_and_with_v_complete(
    tmp_path: Path, options: tuple[str, ...]
) -> None:
    names = [f"get_thing_{number}" for number in range(50)]
    server = scripted(tmp_path, dict.fromkeys(names, FINE))
    printed = mcptest(tmp_path, "discover", "--total-timeout", "40", *options, "--", *server).err
    assert max(map(len, printed.splitlines())) <= 80
    calling, called = " ".join(printed.split()).split(" 101 tests, ")
    shown = f"{', '.join(names)}" if options else f"{', '.join(names[:40])} and 10 more"
    assert calling == f"calling 50 of 50 tools: {shown}"
    assert f"called 50 of 50 tools: {shown}" in called


# Time

# A server that answers calls at once, or after a while, and in its second process never.
STUCK = """
import json, os, sys, time
path, slow_s = sys.argv[1], float(sys.argv[2])
is_second = os.path.exists(path)
open(path, "w").close()
info = {"name": "s", "version": "1"}
for line in sys.stdin:
    request = json.loads(line)
    method = request["method"]
    if "id" not in request:
        continue
    result = {"content": [{"type": "text", "text": "hi"}]}
    if method == "initialize":
        version = request["params"]["protocolVersion"]
        offered = {"tools": {}}
        result = {"protocolVersion": version, "capabilities": offered, "serverInfo": info}
    elif method == "tools/list":
        tool = {"name": "get_x", "inputSchema": {"type": "object"}}
        result = {"tools": [tool | {"annotations": {"readOnlyHint": True}}]}
    else:
        time.sleep(60 if is_second else slow_s)
    print(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}), flush=True)
"""


def test_a_bare_number_is_seconds(tmp_path: Path) -> None:
    server = scripted(tmp_path, {"get_x": FINE})
    ended = discover(tmp_path, *server)
    words = ("-o", "b.test.mcp.yml", "--total-timeout", "30", "--", *server)
    assert mcptest(tmp_path, "discover", *words).err == ended.err.replace("a.test", "b.test")
    ended = mcptest(tmp_path, "discover", "--total-timeout", "soon", "--", *server)
    assert ended.code == 2
    assert "--total-timeout must be a number of seconds" in ended.err


def test_no_time_at_all_is_said_plainly(tmp_path: Path) -> None:
    server = scripted(tmp_path, {"get_x": FINE, "delete_x": FINE})
    words = ("-o", "a.test.mcp.yml", "--total-timeout", "1ms", "--", *server)
    ended = mcptest(tmp_path, "discover", *words)
    assert "no test was completed before the time was over: all requests together" in ended.err
    assert "have 0.001 s\n  give them more with --total-timeout\n" in ended.err
    assert "run them" not in ended.err


@pytest.mark.long
@pytest.mark.parametrize("slow_s", [0.0, 30.0])
def test_a_pending_request_is_cancelled_when_the_time_is_over(
    tmp_path: Path, slow_s: float
) -> None:
    # The first time it is slow, or only when the file is run.
    server = [sys.executable, "-S", "-c", STUCK, str(tmp_path / "seen"), str(slow_s)]
    words = ("--timeout", "30s", "--total-timeout", "2s", "--", *server)
    began = time.monotonic()
    ended = mcptest(tmp_path, "discover", "-o", "a.test.mcp.yml", *words)
    assert time.monotonic() - began < 15
    assert ended.code == 0
    text = (tmp_path / "a.test.mcp.yml").read_text(encoding="utf-8")
    assert "not tried a second time: 2 s (--total-timeout) were over" in text
    assert ("timeout: no answer to tools/call within " in text) is bool(slow_s)


@pytest.mark.long
def test_tools_that_are_not_tried_in_time_are_skipped_and_named(tmp_path: Path) -> None:
    tools: dict[str, object] = {f"get_{number}": FINE for number in range(20)}
    server = scripted(tmp_path, tools, slow_s=0.2)
    words = ("-o", "a.test.mcp.yml", "--total-timeout", "2s", "--", *server)
    began = time.monotonic()
    ended = mcptest(tmp_path, "discover", *words)
    assert time.monotonic() - began < 8
    assert "  all requests together have 2 s; see --total-timeout\n" in ended.err
    text = (tmp_path / "a.test.mcp.yml").read_text(encoding="utf-8")
    assert 'skip: "not tried: the time for all requests (1 s, half of --total-timeout)' in text
    found = verdicts(tmp_path)
    assert found["calls get_0"] == "passed"
    assert found["calls get_19"] == "skipped"


# Files


def test_a_file_needs_a_name(tmp_path: Path) -> None:
    ended = mcptest(tmp_path, "discover", "-o", "", "--", "none")
    help = "for example -o server.test.mcp.yml"
    wanted = f"error: the name of the test file is empty\n  help: {help}\n"
    assert (ended.code, ended.err) == (2, wanted)


def test_a_file_that_is_there_is_left_alone_unless_it_is_forced(tmp_path: Path) -> None:
    path = tmp_path / "a.test.mcp.yml"
    path.write_text("mine", encoding="utf-8")
    ended = discover(tmp_path, sys.executable, str(SERVERS / "tiny_server.py"))
    assert ended.code == 2
    assert ended.err.startswith("error: a.test.mcp.yml exists already and was not changed\n")
    assert path.read_text(encoding="utf-8") == "mine"
    words = ("-o", path.name, "--force", "--", sys.executable, str(SERVERS / "tiny_server.py"))
    assert mcptest(tmp_path, "discover", *words).code == 0
    assert verdicts(tmp_path) == {"answers a ping": "passed"}


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["-o", "a.yml"], "error: a.yml would not be found as a test file"),
        (["-o", "no/a.test.mcp.yml"], "error: cannot write no/a.test.mcp.yml: there is no folder"),
        (["server.py"], "error: mcptest discover takes no 'server.py'"),
        (["--url", "ftp://x"], "error: --url is not the URL of a server"),
        (["--no-calls", "--call-unannotated"], "error: --no-calls and --call-unannotated exclude"),
        (["--total-timeout", "soon"], "error: --total-timeout "),
    ],
)
def test_an_output_that_cannot_be_written_is_refused_before_anything_starts(
    tmp_path: Path, words: list[str], error: str
) -> None:
    started = tmp_path / "started"
    server = (sys.executable, str(SERVERS / "tiny_server.py"), str(started))
    ended = mcptest(tmp_path, "discover", *words, "--", *server)
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith(error)
    assert not started.exists()


@pytest.mark.long
def test_secrets_of_a_config_are_not_copied(tmp_path: Path) -> None:
    config: dict[str, Any] = {
        "name": "mine",
        "command": sys.executable,
        "args": [str(OFFERING)],
        "env": {"KEY": "${MY_KEY}", "API_TOKEN": "plain-as-day", "LEVEL": "debug"},
    }
    (tmp_path / "conductor.config.json").write_text(json.dumps(config), encoding="utf-8")
    words = ("discover", "-o", "a.test.mcp.yml", "--timeout", "2s")
    ended = mcptest(tmp_path, *words, MY_KEY="hunter22")
    assert ended.code == 0
    note = "note: API_TOKEN is written as ${API_TOKEN}; to run the file, set it: export API_TOKEN=…"
    assert note in ended.err
    text = (tmp_path / "a.test.mcp.yml").read_text(encoding="utf-8")
    assert "hunter22" not in text
    assert "plain-as-day" not in text
    assert all(line in text for line in ('KEY: "${MY_KEY}"', 'LEVEL: "debug"', 'name: "mine"'))
    assert verdicts(tmp_path, MY_KEY="hunter22", API_TOKEN="x")["calls secret"] == "passed"


def test_credentials_of_the_command_are_not_written(tmp_path: Path) -> None:
    server = (*scripted(tmp_path, {"get_x": FINE}), "--api-key", "abc-1234", "sk-abcdef123456")
    ended = discover(tmp_path, *server)
    text = (tmp_path / "a.test.mcp.yml").read_text(encoding="utf-8")
    assert not any(secret in text + ended.err for secret in ("abc-1234", "sk-abcdef123456"))
    written = "note: the value of --api-key is written as ${API_KEY}; to run the file, set it: "
    assert f"{written}export API_KEY=…\n" in ended.err
    assert "is written as ${API_KEY_2}; to run the file, set it: export API_KEY_2=…\n" in ended.err
    assert mcptest(tmp_path, "run", "a.test.mcp.yml").code == 2
    (tmp_path / "calls.txt").unlink()
    assert verdicts(tmp_path, API_KEY="abc-1234", API_KEY_2="sk-9")["calls get_x"] == "passed"
    calls = (tmp_path / "calls.txt").read_text(encoding="utf-8").splitlines()
    assert set(calls) == {"get_x --api-key abc-1234 sk-9"}


def test_an_ordinary_word_after_an_option_that_names_a_secret_is_not_written(
    tmp_path: Path,
) -> None:
    server = (*scripted(tmp_path, {"get_x": FINE}), "--api-key", "SECRET", "--level", "WORD")
    ended = discover(tmp_path, *server)
    text = (tmp_path / "a.test.mcp.yml").read_text(encoding="utf-8")
    assert ended.code == 0
    assert ("SECRET" in text, "${API_KEY}" in text, "WORD" in text) == (False, True, True)
    assert "note: the value of --api-key is written as ${API_KEY}; to run the file" in ended.err
    assert verdicts(tmp_path, API_KEY="SECRET")["calls get_x"] == "passed"


# Servers with a fault


def test_a_server_that_does_not_start_writes_no_file(tmp_path: Path) -> None:
    ended = discover(tmp_path, "no-such-program")
    assert ended.code == 3
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "mode",
    [
        ["crlf"],
        ["die-on-call", "KILL"],
        ["duplicate"],
        ["endless-notifications"],
        ["exit-on-call", "1"],
        ["half-exit"],
        ["instead", "garbage\n"],
        ["no-newline"],
        ["pretty"],
        ["stop-itself"],
    ],
    ids=lambda mode: mode[0],
)
def test_a_server_with_a_fault_gives_a_file_that_passes_or_a_reason(
    tmp_path: Path, mode: list[str]
) -> None:
    """None of these hangs: `run` fails if a command does."""
    command = (sys.executable, "-S", "-E", str(FAULTY), *mode)
    ended = mcptest(
        tmp_path, "discover", "-o", "a.test.mcp.yml", "--timeout", "300ms", "--", *command
    )
    if ended.code == 0:
        assert "passed" in verdicts(tmp_path).values()
    else:
        assert ended.code in (1, 3)
        assert ended.err.startswith("error: ")
        assert list(tmp_path.iterdir()) == []


@pytest.mark.long
def test_a_list_that_is_not_answered_in_the_time_for_all_is_left_out(tmp_path: Path) -> None:
    text = (
        "import json, sys, time\n"
        "for line in sys.stdin:\n"
        "    message = json.loads(line)\n"
        "    if message['method'] == 'tools/list':\n"
        "        time.sleep(60)\n"
        "    info = {'name': 'late', 'version': '1'}\n"
        "    result = {'protocolVersion': '2025-11-25', 'capabilities': {'tools': {}},\n"
        "              'serverInfo': info}\n"
        "    if 'id' in message:\n"
        "        print(json.dumps({'jsonrpc': '2.0', 'id': message['id'], 'result': result}),\n"
        "              flush=True)\n"
    )
    (tmp_path / "late.py").write_text(text, encoding="utf-8")
    words = ("-o", "a.test.mcp.yml", "--total-timeout", "1", "--", sys.executable, "late.py")
    ended = mcptest(tmp_path, "discover", *words)
    assert "tools/list was not answered before the time for all requests" in ended.err
    assert "(1 s, --total-timeout) was over" in ended.err
    assert "no test was completed before the time was over" in ended.err
