"""`mcptest cases from`: from recorded traffic to a contract that the same server meets again."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from console import ENVIRONMENT, Ended, mcptest

SERVERS = Path(__file__).parents[2] / "servers"
ROOT = SERVERS.parent.parent
EXAMPLE = ROOT / "examples" / "filesystem"
VARYING = (sys.executable, str(SERVERS / "varying_server.py"))
TALKING = (sys.executable, str(SERVERS / "talking_server.py"))
TIME_SERVER = (sys.executable, "-m", "mcp_server_time")

# A client that uses what the server gives it.
CLIENT = """\
case: opens
in_1: {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
  "protocolVersion": "2025-11-25", "capabilities": {"sampling": {}},
  "clientInfo": {"name": "c", "version": "1"}}}
out: {"id": 0, "result": {"serverInfo": {"name": "varying"}}}
in_2: {"jsonrpc": "2.0", "method": "notifications/initialized"}
---
in_1: {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
out_1: {"id": 1, "result": {"nextCursor": !!bind cursor }}
in_2: {"jsonrpc": "2.0", "id": 2, "method": "tools/list", "params": {"cursor": !!ref cursor }}
out_2: {"id": 2, "result": {}}
---
in_1: {"jsonrpc": "2.0", "id": 3, "method": "tools/call",
  "params": {"name": "create_note", "arguments": {"text": "it's / a \\\\ \\"note\\""}}}
out_1: {"id": 3, "result": {"structuredContent": {"id": !!bind id }}}
in_2: {"jsonrpc": "2.0", "id": 4, "method": "tools/call",
  "params": {"name": "read_note", "arguments": {"id": !!ref id }}}
out_2: {"id": 4, "result": {}}
---
in: {"jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": {"name": "log_in",
  "arguments": {"user": "alice", "password": "hunter2"}}}
out: {"id": 5, "result": {}}
---
in: {"jsonrpc": "2.0", "id": 6, "method": "tools/call", "params": {"name": "work",
  "_meta": {"progressToken": 6}}}
out: {"id": 6, "result": {}}
---
in_1: {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": "ask"}}
out_1: {"method": "sampling/createMessage", "id": !!bind asked }
in_2: {"jsonrpc": "2.0", "id": !!ref asked , "result": {"role": "assistant", "model": "m",
  "content": {"type": "text", "text": "hi"}}}
out_2: {"id": 7, "result": {}}
"""

# A client of a server that talks on its own.
LISTENER = """\
in_1: {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
  "protocolVersion": "2025-03-26", "capabilities": {"sampling": {}, "elicitation": {}},
  "clientInfo": {"name": "c", "version": "1"}}}
out: {"id": 0, "result": {}}
in_2: {"jsonrpc": "2.0", "method": "notifications/initialized"}
---
in_1: {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "slow"}}
in_2: {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "fast"}}
out_1: {"id": 2, "result": {}}
out_2: {"id": 1, "result": {}}
---
in_1: {"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": {"name": "ask"}}
out_1: {"method": "sampling/createMessage", "id": !!bind first }
in_2: {"jsonrpc": "2.0", "id": !!ref first , "result": {"role": "assistant", "model": "m",
  "content": {"type": "text", "text": "hi"}}}
out_2: {"method": "elicitation/create", "id": !!bind second }
in_3: {"jsonrpc": "2.0", "id": !!ref second , "result": {"action": "decline"}}
out_3: {"id": 3, "result": {}}
---
in: {"jsonrpc": "2.0", "id": 4, "method": "tools/call", "params": {"name": "work",
  "_meta": {"progressToken": 4}}}
out_1: {"id": 4, "result": {}}
out_2: {"method": "notifications/message", "params": {"data": "after the answer"}}
---
in: [{"jsonrpc": "2.0", "id": 5, "method": "ping"}, {"jsonrpc": "2.0", "id": 6, "method":
  "tools/call", "params": {"name": "fast"}}]
out_1: {"id": 5, "result": {}}
out_2: {"id": 6, "result": {}}
---
in_1: {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": "add"}}
out_1: {"id": 7, "result": {"structuredContent": {"id": !!bind id }}}
in_2: {"jsonrpc": "2.0", "id": 8, "method": "tools/call", "params": {"name": "get",
  "arguments": {"id": !!ref id }}}
out_2: {"id": 8, "result": {}}
"""
# What is said then, in order.
SPOKEN = [
    *("in_initialize", "out_message", "out_answer", "in_initialized"),
    *("in_call", "in_call_2", "out_answer", "out_answer_2"),
    *("in_call", "out_create_message", "in_answer", "out_create", "in_answer_2", "out_answer"),
    *("in", "out_progress", "out_progress_2", "out_answer", "out_list_changed", "out_message"),
    *("in", "out_answer", "out_answer_2"),
    *("in", "out_message", "out_answer"),
    *("in", "out"),
]


def tee(log: str, server: tuple[str, ...]) -> str:
    """The command of a server behind a proxy that logs the messages."""
    return shlex.join([sys.executable, str(SERVERS / "tee.py"), log, *server])


def record(folder: Path, log: str = "tee.ndjson") -> None:
    (folder / "client.yaml").write_text(CLIENT, encoding="utf-8")
    ended = mcptest(folder, "run", "client.yaml", "--server-command", tee(log, VARYING))
    assert ended.code == 0, ended.out


def verdicts(folder: Path, contract: str, *words: str) -> dict[str, str]:
    """What becomes of each case of a contract."""
    ended = mcptest(folder, "run", contract, "--json", *words)
    tests = [test for suite in ended.report()["suites"] for test in suite["tests"]]
    assert ended.code == 0, [test for test in tests if test["status"] != "passed"] or ended.err
    return {test["name"]: test["status"] for test in tests}


def convert(folder: Path, *words: str) -> Ended:
    return mcptest(folder, "cases", "from", *words, "-o", "made.cases.yaml")


def text_of(folder: Path) -> str:
    return (folder / "made.cases.yaml").read_text(encoding="utf-8")


# There and back


def test_a_capture_of_a_run_becomes_a_contract_that_passes_twice(tmp_path: Path) -> None:
    config = ("--config", str(EXAMPLE / "conductor.config.json"))
    assert mcptest(tmp_path, "run", str(EXAMPLE), *config, "--capture", "run.json").code == 0
    ended = convert(tmp_path, "run.json")
    assert (ended.code, ended.out) == (0, "")
    assert ended.err == (
        "wrote made.cases.yaml: 8 cases\n"
        'test the server:  mcptest run made.cases.yaml --server-command "COMMAND"\n'
        "play the server:  mcptest mock made.cases.yaml\n"
    )
    for _ in range(2):
        found = verdicts(tmp_path, "made.cases.yaml", *config)
        assert set(found.values()) == {"passed"}
        assert list(found)[:2] == ["initialize", "tools/list"]


def test_a_log_of_a_server_that_never_answers_the_same_becomes_a_contract_that_passes_twice(
    tmp_path: Path,
) -> None:
    record(tmp_path)
    assert convert(tmp_path, "tee.ndjson").code == 0
    for _ in range(2):
        found = verdicts(tmp_path, "made.cases.yaml", "--server-command", shlex.join(VARYING))
        assert list(found.items()) == [
            ("initialize", "passed"),
            ("tools/list", "passed"),
            ("tools/list (2)", "passed"),
            ("tools/call create_note", "passed"),
            ("tools/call read_note", "passed"),
            ("tools/call log_in", "passed"),
            ("tools/call work", "passed"),
            ("tools/call ask", "passed"),
            # What a run asks at its end, to know what it has exercised.
            ("tools/list (3)", "passed"),
            ("tools/list (4)", "passed"),
        ]


def test_the_contract_says_what_varies_and_no_more(tmp_path: Path) -> None:
    record(tmp_path)
    ended = convert(tmp_path, "tee.ndjson")
    text = text_of(tmp_path)
    for part in (
        '"nextCursor": !!bind cursor',
        '"cursor": !!ref cursor',
        '"id": !!bind id',
        '"arguments": {"id": !!ref id}',
        '"createdAt": !!type number',
        '"pid": !!type number',
        '"accessToken": !!any',
        '"id": !!bind sampling_id',
        '"id": !!ref sampling_id',
        '"progressToken": 6',
        '"text": "the client said hi"',
    ):
        assert part in text
    assert "hunter2" not in text
    assert ended.err.startswith(
        "warning: tools/call log_in: params.arguments.password holds a secret; "
        "a made-up string is sent instead\n"
    )


def test_the_contract_plays_the_server_too(tmp_path: Path) -> None:
    record(tmp_path)
    convert(tmp_path, "tee.ndjson")
    mock = shlex.join([sys.executable, "-m", "mcptest", "mock", "made.cases.yaml"])
    found = verdicts(tmp_path, "made.cases.yaml", "--server-command", mock)
    assert set(found.values()) == {"passed"}


@pytest.mark.long
def test_a_server_by_others_meets_the_contract_of_its_own_traffic(tmp_path: Path) -> None:
    suite = str(ROOT / "tests" / "real" / "time.test.mcp.yml")
    through = ("--server-command", tee("tee.ndjson", TIME_SERVER), "--timeout", "20s")
    assert mcptest(tmp_path, "run", suite, *through).code == 0
    assert convert(tmp_path, "tee.ndjson").code == 0
    command = ("--server-command", shlex.join(TIME_SERVER), "--timeout", "20s")
    found = verdicts(tmp_path, "made.cases.yaml", *command)
    assert found["initialize"] == "passed"
    assert len(found) >= 4
    assert r"\d{4}-\d{2}-\d{2}T" in text_of(tmp_path)


# Whatever is said


def listen(folder: Path, *server: str, capture: str = "") -> None:
    (folder / "listener.yaml").write_text(LISTENER, encoding="utf-8")
    words = ("--capture", capture) if capture else ()
    command = ("--server-command", shlex.join(server))
    ended = mcptest(folder, "run", "listener.yaml", "--format", "cases", *command, *words)
    assert ended.code == 0, ended.out


def keys_in(text: str) -> list[str]:
    return re.findall(r"(?m)^((?:in|out)\w*):", text)


@pytest.mark.parametrize("is_relayed", [False, True])
def test_everything_that_is_said_is_in_the_contract_in_its_order(
    tmp_path: Path, is_relayed: bool
) -> None:
    if is_relayed:
        relay = (sys.executable, "-m", "mcptest", "record", "-o", "talk.json", "--")
        listen(tmp_path, *relay, *TALKING)
    else:
        listen(tmp_path, *TALKING, capture="talk.json")
    ended = convert(tmp_path, "talk.json")
    assert "warning" not in ended.err
    assert keys_in(text_of(tmp_path)) == SPOKEN
    for server in (shlex.join(TALKING), mock_of("made.cases.yaml"), mock_of("talk.json")):
        found = verdicts(tmp_path, "made.cases.yaml", "--server-command", server)
        assert list(found.values()) == ["passed"] * 7


def test_an_id_varies_wherever_the_server_says_it(tmp_path: Path) -> None:
    listen(tmp_path, *TALKING, capture="talk.json")
    convert(tmp_path, "talk.json")
    for part in (
        "\"data\": !!ere 'adding /[0-9a-f]{8}/'",
        r"!!ere 'Added /[0-9a-f]{8}/ in /\d+(?:\.\d+)?/ ms'",
        '"structuredContent": {"label": !!re \'^[0-9a-f]{8}$\', "id": !!bind id}',
        '"arguments": {"id": !!ref id}',
        "!!ere '/[0-9a-f]{8}/ is here'",
    ):
        assert part in text_of(tmp_path)


def test_lines_that_are_not_messages_are_left_out_with_a_warning(tmp_path: Path) -> None:
    listen(tmp_path, *TALKING, "loudly", capture="talk.json")
    ended = convert(tmp_path, "talk.json")
    assert ended.err.startswith("warning: talk.json: 2 lines are not messages and were left out\n")
    assert keys_in(text_of(tmp_path)) == SPOKEN


# The command line


def exchange(**answer: Any) -> str:
    asked = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "a"}}
    answered = {"jsonrpc": "2.0", "id": 1, "result": answer}
    return json.dumps({"exchanges": [{"request": asked, "response": answered}]})


@pytest.fixture
def capture(tmp_path: Path) -> Path:
    path = tmp_path / "run.json"
    path.write_text(exchange(at="2026-01-02T03:04:05Z"), encoding="utf-8")
    return path


def test_without_a_file_the_contract_goes_to_standard_output(tmp_path: Path, capture: Path) -> None:
    ended = mcptest(tmp_path, "cases", "from", capture.name)
    assert (ended.code, ended.err) == (0, "1 case\n")
    assert ended.out.startswith("# Made by mcptest from run.json; edit it as you like.\n")
    assert "!!re" in ended.out


def test_values_can_be_kept(tmp_path: Path, capture: Path) -> None:
    ended = mcptest(tmp_path, "cases", "from", capture.name, "--keep-values")
    assert '"at": "2026-01-02T03:04:05Z"' in ended.out


def test_a_file_that_is_there_is_replaced_only_by_force(tmp_path: Path, capture: Path) -> None:
    target = tmp_path / "made.cases.yaml"
    target.write_text("mine", encoding="utf-8")
    ended = convert(tmp_path, capture.name)
    assert ended.code == 2
    assert "made.cases.yaml exists already and was not changed" in ended.err
    assert target.read_text(encoding="utf-8") == "mine"
    assert convert(tmp_path, capture.name, "--force").code == 0
    assert target.read_text(encoding="utf-8").startswith("# Made by mcptest")
    assert sorted(os.listdir(tmp_path)) == ["made.cases.yaml", "run.json"]


def test_skipped_cases_and_lines_that_were_left_out_are_reported(tmp_path: Path) -> None:
    line = '{"jsonrpc": "2.0", "id": 1, "method": "ping"}'
    (tmp_path / "a.log").write_text(f"banner\n-> {line}\n", encoding="utf-8")
    ended = mcptest(tmp_path, "cases", "from", "a.log")
    assert ended.err == (
        "warning: a.log: 1 line has no message and was left out: line 1\n"
        "1 case, 1 of them skipped: unanswered\n"
    )


def test_only_the_first_of_very_many_warnings_are_reported(tmp_path: Path) -> None:
    asked = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "x",
        "params": {f"password{n}": "hunter2" for n in range(30)},
    }
    (tmp_path / "a.log").write_text(json.dumps(asked), encoding="utf-8")
    ended = mcptest(tmp_path, "cases", "from", "a.log")
    assert ended.err.count("warning: ") == 21
    assert "warning: … and 10 more like these\n" in ended.err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "mcptest cases needs a subcommand: from"),
        (("form", "run.json"), "mcptest cases has no subcommand 'form'; did you mean 'from'?"),
        (("paint",), "mcptest cases has no subcommand 'paint'\n"),
        (("run.json",), "did you mean: mcptest cases from run.json"),
        (("from",), "mcptest cases from needs a file with recorded traffic"),
        (("from", "nowhere.json"), "error[F001]: cannot read it: No such file or directory"),
        (("from", "."), "error[F001]: it is a folder"),
        (("from", "words.txt"), "error[F005]: there is no MCP message in this file"),
        (("from", "run.json", "run.yaml"), "mcptest cases from takes one file at a time"),
        (("from", "binary"), "error[F001]: it is not UTF-8: byte 0xff"),
        (("from", "run.json", "-o", "a.json"), "a.json would not be read as a case file"),
        (("from", "run.json", "-o", "no/where.yaml"), "cannot write no/where.yaml: there is no"),
        (("from", "run.json", "-o", ""), "the name of a report file is empty"),
        (("from", "run.yaml", "-o", "run.yaml", "--force"), "is the file to read"),
        (("from", "run.json", "--keep-value"), "did you mean --keep-values?"),
        (("from", "made_test.yaml"), "this is a case file already and needs no conversion"),
    ],
)
def test_an_impossible_conversion_is_reported_and_nothing_is_written(
    tmp_path: Path, capture: Path, words: tuple[str, ...], message: str
) -> None:
    (tmp_path / "words.txt").write_text("no message here\n", encoding="utf-8")
    (tmp_path / "binary").write_bytes(b"\xff\xfe{")
    (tmp_path / "made_test.yaml").write_text("case: a\nin: {}\n", encoding="utf-8")
    (tmp_path / "run.yaml").write_bytes(capture.read_bytes())
    before = sorted(os.listdir(tmp_path))
    ended = mcptest(tmp_path, "cases", *words)
    assert (ended.code, ended.out) == (2, "")
    assert message in ended.err
    assert sorted(os.listdir(tmp_path)) == before


def test_nothing_from_a_recording_reaches_the_terminal_raw(tmp_path: Path) -> None:
    asked = {"jsonrpc": "2.0", "id": "\x1b[2J", "method": "x", "params": {"pass\x1bword": "abcd"}}
    stray = {"jsonrpc": "2.0", "id": "\x1b]0;", "result": {"secret": "\x1b[31m"}}
    (tmp_path / "a.log").write_text(json.dumps([asked, stray]), encoding="utf-8")
    ended = mcptest(tmp_path, "cases", "from", "a.log")
    assert ended.code == 0
    assert "\x1b" not in ended.out + ended.err


def test_the_help_shows_how_it_is_used(tmp_path: Path) -> None:
    ended = mcptest(tmp_path, "cases", "--help")
    assert (ended.code, ended.err) == (0, "")
    assert "usage: mcptest cases from FILE [-o OUT] [options]" in ended.out


def test_a_contract_run_recorded_and_written_again_holds_for_server_and_mock(
    tmp_path: Path,
) -> None:
    """Everything comes round: the library asks its reader, and two answers overlap."""
    library = ROOT / "examples" / "contract"
    recorded = mcptest(library, "run", "--capture", str(tmp_path / "capture.json"))
    assert recorded.code == 0
    made = mcptest(tmp_path, "cases", "from", "capture.json", "-o", "again.cases.yaml")
    assert made.code == 0
    for server in (f"{sys.executable} {library / 'library_server.py'}", mock_of("capture.json")):
        ended = mcptest(tmp_path, "run", "--server-command", server, "--json")
        summary = ended.report()["summary"]
        # Two concurrent requests are one case or two, depending on when the answers arrived.
        assert (ended.code, summary["passed"] in (7, 8)) == (0, True)


def mock_of(file: str) -> str:
    return f"{sys.executable} -m mcptest mock {file}"


# A client of the revision without a handshake, and a server of both eras: after a handshake its
# results have no type.
DUAL = """
import json, sys
is_new = True
for line in sys.stdin:
    request = json.loads(line)
    if "id" not in request:
        continue
    method, params = request["method"], request.get("params", {})
    meta = params.get("_meta", {})
    is_new = is_new and "io.modelcontextprotocol/protocolVersion" in meta
    kept = {"resultType": "complete"} if is_new else {}
    listed = kept | ({"ttlMs": 0, "cacheScope": "private"} if is_new else {})
    info = {"name": "dual", "version": "1"}
    found = {
        "initialize": {
            "protocolVersion": params.get("protocolVersion"),
            "capabilities": {"tools": {}},
            "serverInfo": info,
        },
        "server/discover": listed | {
            "supportedVersions": ["2026-07-28", "2025-11-25"],
            "capabilities": {"tools": {}},
            "_meta": {"io.modelcontextprotocol/serverInfo": info},
        },
        "tools/list": listed | {"tools": [{"name": "echo", "inputSchema": {"type": "object"}}]},
        "tools/call": kept | {"content": [{"type": "text", "text": "hi"}]},
    }[method]
    print(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": found}), flush=True)
"""


def test_a_stateless_session_passes_again_with_the_printed_commands(
    tmp_path: Path,
) -> None:
    (tmp_path / "dual.py").write_text(DUAL, encoding="utf-8")
    server = f"{sys.executable} dual.py"
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": {"name": "client", "version": "1"},
    }
    asked = [("server/discover", {}), ("tools/list", {}), ("tools/call", {"name": "echo"})]
    messages = [
        {"jsonrpc": "2.0", "id": id, "method": method, "params": {**params, "_meta": meta}}
        for id, (method, params) in enumerate(asked)
    ]
    with subprocess.Popen(
        [sys.executable, "-m", "mcptest", "record", "-o", "s.json", "--", *server.split()],
        cwd=tmp_path,
        env=ENVIRONMENT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        bufsize=0,
    ) as client:
        assert client.stdin
        assert client.stdout
        for each in messages:
            client.stdin.write(json.dumps(each).encode() + b"\n")
            assert b'"result"' in client.stdout.readline()
    made = mcptest(tmp_path, "cases", "from", "s.json", "-o", "s.cases.yaml")
    assert (made.code, "3 cases\n" in made.err) == (0, True)
    assert '_protocol_version: "2026-07-28"' in (tmp_path / "s.cases.yaml").read_text("utf-8")
    printed = re.findall(r": +mcptest (.*)", made.err)
    run, mock = (shlex.split(each.replace("COMMAND", server)) for each in printed)
    assert (run[0], mock[0]) == ("run", "mock")
    ended = mcptest(tmp_path, *run)
    assert (ended.code, "3 passed" in ended.out) == (0, True), ended.out
    # The mock, played to a client that would make a handshake with a server that has one.
    played = shlex.join([sys.executable, "-m", "mcptest", *mock])
    ended = mcptest(tmp_path, "run", "s.cases.yaml", "--server-command", played)
    assert (ended.code, "3 passed" in ended.out) == (0, True), ended.out
    # Without the key, the session begins with a handshake, and the results are others.
    text = (tmp_path / "s.cases.yaml").read_text("utf-8").replace('_protocol_version: "2026-', "#")
    (tmp_path / "other.cases.yaml").write_text(text, encoding="utf-8")
    assert mcptest(tmp_path, "run", "other.cases.yaml", "--server-command", server).code == 1


def test_a_contract_with_a_handshake_says_nothing_of_its_revision(tmp_path: Path) -> None:
    path = tmp_path / "tee.ndjson"
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {}}
    request = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}
    answer = {"jsonrpc": "2.0", "id": 1, "result": {"protocolVersion": "2025-06-18"}}
    path.write_text("".join(json.dumps(each) + "\n" for each in (request, answer)), "utf-8")
    ended = mcptest(tmp_path, "cases", "from", "tee.ndjson")
    assert (ended.code, "_protocol_version" in ended.out) == (0, False)


def test_the_revision_is_in_the_first_document(tmp_path: Path) -> None:
    case = '{"case": "a", "in": {"jsonrpc": "2.0", "id": 1, "method": "ping"}}'
    text = f'{case}\n---\n_protocol_version: "2026-07-28"\n---\n{case}\n'
    (tmp_path / "a.cases.yaml").write_text(text, encoding="utf-8")
    ended = mcptest(tmp_path, "validate", "a.cases.yaml")
    assert ended.code == 2
    assert '"_protocol_version" belongs in the first document: a file has one revision' in (
        ended.out + ended.err
    )
