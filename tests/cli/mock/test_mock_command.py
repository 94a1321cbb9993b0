"""`mcptest mock`: files, options, reports and exit codes."""

from __future__ import annotations

import json
import signal
import sys
from typing import TYPE_CHECKING

import pytest
from console import mcptest, run
from mock_client import call, mocking, request

if TYPE_CHECKING:
    from pathlib import Path

CONTRACT = """\
case: Adds
in: {"jsonrpc": "2.0", "id": 1, "method": "tools/call",
     "params": {"name": "add", "arguments": {"a": 1, "b": 2}}}
out: {"jsonrpc": "2.0", "id": 1, "result": {"content": [{"type": "text", "text": "3"}]}}
---
case: Reads
in: {"jsonrpc": "2.0", "id": 1, "method": "resources/read", "params": {"uri": "note://one"}}
out: {"jsonrpc": "2.0", "id": 1, "result": {"contents": [{"uri": "note://one", "text": "first"}]}}
"""

MANIFEST = """\
tools:
  - name: greet
    inputSchema: {type: object, properties: {who: {type: string}}, required: [who]}
    answer: "Hello ${args.who}"
resources: [{uri: "note://one", text: first}]
prompts: [{name: ask, arguments: [{name: who}], text: "Ask ${args.who}"}]
"""

READ = request("resources/read", {"uri": "note://one"}, 2)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "contract_test.yaml").write_text(CONTRACT, encoding="utf-8")
    (tmp_path / "manifest.yaml").write_text(MANIFEST, encoding="utf-8")
    return tmp_path


def test_a_plain_contract_does_not_load_what_reads_recordings(folder: Path) -> None:
    script = (
        "import sys; from mcptest.cli.main import main; "
        "main(['mock', 'contract_test.yaml']); print(*sys.modules)"
    )
    loaded = run([sys.executable, "-c", script], folder, {}).out.split()
    assert "mcptest.mock.player" in loaded
    assert [
        name for name in loaded if name.startswith(("mcptest.traffic", "mcptest.mock.http"))
    ] == []


def test_a_contract_is_played_and_summarized_at_the_end(folder: Path) -> None:
    with mocking(folder, "contract_test.yaml") as client:
        opened = client.ask("initialize", {"protocolVersion": "2025-06-18"})["result"]
        assert opened["serverInfo"]["name"] == "contract_test"
        client.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        client.send(call("add", "mine", a=1, b=2))
        answer = client.message()
        assert (answer["id"], answer["result"]["content"][0]["text"]) == ("mine", "3")
        ended = client.leave()
    assert (ended.code, ended.out) == (0, "")
    assert ended.err == (
        "mcptest mock: 1 of 2 cases exercised\n  missed  Reads (contract_test.yaml:6)\n"
    )


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_ends_it_with_the_same_report(folder: Path, number: signal.Signals) -> None:
    with mocking(folder, "contract_test.yaml", "--report", "r.json") as client:
        client.send(call("add", a=1, b=2))
        client.message()
        ended = client.signal(number)
    assert ended.code == 0
    assert ended.err.startswith("mcptest mock: 1 of 2 cases exercised\n")
    report = json.loads((folder / "r.json").read_text(encoding="utf-8"))
    assert report == {"exercised": ["Adds"], "missed": ["Reads"], "waiting": [], "wrong": []}


def test_the_report_says_what_was_wrong(folder: Path) -> None:
    with mocking(folder, "contract_test.yaml", "--report", "r.json", "--quiet") as client:
        client.send(call("add", a=1, b=3))
        error = client.message()["error"]
        assert error["data"]["nearest"] == {"case": "Adds", "file": "contract_test.yaml", "line": 1}
        ended = client.leave()
    assert (ended.code, ended.err) == (0, "")
    (wrong,) = json.loads((folder / "r.json").read_text(encoding="utf-8"))["wrong"]
    assert wrong["request"]["params"]["arguments"] == {"a": 1, "b": 3}
    assert wrong["differences"] == error["data"]["differences"]


def test_verify_is_exit_0_when_the_contract_was_kept(folder: Path) -> None:
    with mocking(folder, "contract_test.yaml", "--verify") as client:
        client.send(call("add", a=1, b=2), READ)
        assert [client.message()["id"] for _ in range(2)] == [1, 2]
        assert client.leave().code == 0


def test_verify_is_exit_1_when_a_case_was_missed(folder: Path) -> None:
    with mocking(folder, "contract_test.yaml", "--verify") as client:
        client.send(READ)
        assert client.leave().code == 1


def test_verify_is_exit_1_when_a_call_was_wrong(folder: Path) -> None:
    with mocking(folder, "contract_test.yaml", "--verify") as client:
        client.send(call("add", a=1, b=2), READ, request("nope"))
        assert client.leave().code == 1


def test_once_answers_each_case_one_time(folder: Path) -> None:
    with mocking(folder, "contract_test.yaml", "--once") as client:
        client.send(READ, READ)
        assert ["result" in client.message() for _ in range(2)] == [True, False]


def test_several_files_of_cases_are_one_contract(folder: Path) -> None:
    more = CONTRACT.replace('"add"', '"more"').replace("Adds", "More")
    (folder / "more_test.yaml").write_text(more, encoding="utf-8")
    with mocking(folder, "contract_test.yaml", "more_test.yaml") as client:
        tools = client.ask("tools/list")["result"]["tools"]
        assert [tool["name"] for tool in tools] == ["add", "more"]
        assert "0 of 4 cases" in client.leave().err


def test_a_capture_is_played_as_it_was_recorded(folder: Path) -> None:
    response = {"jsonrpc": "2.0", "id": 2, "result": {"contents": [{"uri": "note://one"}]}}
    exchanges = [{"request": READ, "response": response}]
    session = {"server_label": "x", "server_capabilities": {}, "exchanges": exchanges}
    (folder / "c.json").write_text(json.dumps(session), encoding="utf-8")
    with mocking(folder, "c.json", "contract_test.yaml") as client:
        client.send(READ)
        assert client.message() == response
        assert "1 of 3 cases" in client.leave().err


@pytest.mark.parametrize("method", [["tools/call"], {"a": 1}, 5, None])
def test_a_capture_is_played_also_where_a_method_in_it_is_not_a_string(
    folder: Path, method: object
) -> None:
    odd = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {}}
    refused = {"jsonrpc": "2.0", "id": 1, "error": {"code": -32600, "message": "no"}}
    response = {"jsonrpc": "2.0", "id": 2, "result": {"contents": [{"uri": "note://one"}]}}
    exchanges = [{"request": odd, "response": refused}, {"request": READ, "response": response}]
    (folder / "c.json").write_text(json.dumps({"exchanges": exchanges}), encoding="utf-8")
    with mocking(folder, "c.json") as client:
        client.send(READ)
        assert client.message() == response
        client.send(odd)
        assert client.message()["error"]["code"] == -32600
        ended = client.leave()
    assert (ended.code, "1 of 2 cases" in ended.err) == (0, True)


def test_a_log_of_messages_is_played_like_a_capture(folder: Path) -> None:
    response = {"jsonrpc": "2.0", "id": 2, "result": {"contents": [{"uri": "note://one"}]}}
    lines = [{"in": READ}, {"out": response}]
    (folder / "tee.log").write_text("".join(f"{json.dumps(x)}\n" for x in lines), encoding="utf-8")
    with mocking(folder, "tee.log") as client:
        client.send(READ)
        assert client.message() == response
        assert "1 of 1 cases" in client.leave().err


def test_a_message_in_a_comment_makes_no_log_of_a_file_of_cases(folder: Path) -> None:
    text = f"# for example {json.dumps(READ)}\n{CONTRACT}"
    (folder / "told_test.yaml").write_text(text, encoding="utf-8")
    with mocking(folder, "told_test.yaml") as client:
        assert "0 of 2 cases" in client.leave().err


def test_a_file_that_is_given_twice_is_played_once(folder: Path) -> None:
    (folder / "link.yaml").symlink_to("contract_test.yaml")
    with mocking(folder, "contract_test.yaml", "./contract_test.yaml", "link.yaml") as client:
        assert "0 of 2 cases" in client.leave().err


def test_a_server_that_a_contract_names_need_not_be_complete(folder: Path) -> None:
    text = f"_server: {{command: x, env: {{KEY: '${{NOT_SET_ANYWHERE}}'}}}}\n{CONTRACT}"
    (folder / "named_test.yaml").write_text(text, encoding="utf-8")
    with mocking(folder, "named_test.yaml") as client:
        assert "0 of 2 cases" in client.leave().err


@pytest.mark.parametrize(
    ("id", "message"), [(None, None), (1.5, 1.5), ([], None), ({}, None), (True, None)]
)
def test_verify_is_exit_1_when_an_id_is_none(folder: Path, id: object, message: object) -> None:
    with mocking(folder, "contract_test.yaml", "--verify") as client:
        client.send(call("add", a=1, b=2), READ, call("add", id, a=1, b=2))
        answers = [client.message() for _ in range(3)]
        ended = client.leave()
    assert (answers[2]["error"]["code"], answers[2]["id"]) == (-32600, message)
    assert "2 of 2 cases exercised, 1 wrong call" in ended.err
    assert ended.code == 1


# Our own client


def test_a_contract_can_be_explored(folder: Path) -> None:
    server = ("--", sys.executable, "-m", "mcptest", "mock", "contract_test.yaml")
    listed = mcptest(folder, "list", *server).report()
    assert [tool["name"] for tool in listed["tools"]] == ["add"]
    assert [resource["uri"] for resource in listed["resources"]] == ["note://one"]
    called = mcptest(folder, "call", "add", "a=1", "b=2", *server)
    assert (called.code, called.report()["content"][0]["text"]) == (0, "3")
    assert mcptest(folder, "read", "note://one", *server).code == 0


def test_a_call_that_no_case_has_is_refused_with_the_nearest(folder: Path) -> None:
    server = ("--", sys.executable, "-m", "mcptest", "mock", "-q", "contract_test.yaml")
    ended = mcptest(folder, "call", "add", "a=1", "b=2", "c=3", "--no-check", *server)
    assert (ended.code, ended.out) == (1, "")
    assert "params.arguments.c: is not expected, got" in ended.err


def test_a_manifest_can_be_explored(folder: Path) -> None:
    server = ("--", sys.executable, "-m", "mcptest", "mock", "manifest.yaml")
    called = mcptest(folder, "call", "greet", "who=you", *server)
    assert (called.code, called.report()["content"][0]["text"]) == (0, "Hello you")
    read = mcptest(folder, "read", "note://one", *server)
    assert read.report()["contents"] == [{"uri": "note://one", "text": "first"}]
    got = mcptest(folder, "prompt", "ask", "who=Ada", *server)
    assert got.report()["messages"][0]["content"]["text"] == "Ask Ada"


OPENINGS = """\
case: Says one
out_log: {jsonrpc: "2.0", method: notifications/message, params: {level: info, data: one}}
in: {jsonrpc: "2.0", id: 1, method: tools/call, params: {name: a}}
out: {jsonrpc: "2.0", id: 1, result: {content: []}}
---
case: Says nothing
in: {jsonrpc: "2.0", id: 1, method: tools/call, params: {name: b}}
out: {jsonrpc: "2.0", id: 1, result: {content: []}}
---
case: Says three
out_changed: {jsonrpc: "2.0", method: notifications/tools/list_changed}
in: {jsonrpc: "2.0", id: 1, method: tools/call, params: {name: c}}
out: {jsonrpc: "2.0", id: 1, result: {content: []}}
---
case: Says four
out_changed: {jsonrpc: "2.0", method: notifications/prompts/list_changed}
"""


def test_openings_of_later_cases_are_kept_by_their_own_mock(folder: Path) -> None:
    (folder / "o_test.yaml").write_text(OPENINGS, encoding="utf-8")
    command = f"{sys.executable} -m mcptest mock o_test.yaml --report r.json"
    words = ("--server-command", command, "--timeout", "5000", "--json")
    ended = mcptest(folder, "run", "o_test.yaml", *words)
    assert (ended.code, ended.report()["summary"]["passed"]) == (0, 4)
    report = json.loads((folder / "r.json").read_text(encoding="utf-8"))
    assert (len(report["exercised"]), report["wrong"]) == (4, [])


SECRETIVE = {
    "server_label": "x",
    "server_capabilities": {},
    "exchanges": [
        {
            "request": call("login", 1, password="hunter2-xyz"),
            "response": {"jsonrpc": "2.0", "id": 1, "result": {"content": []}},
        }
    ],
}


def test_a_client_with_a_secret_gets_what_was_recorded_for_it(folder: Path) -> None:
    (folder / "c.json").write_text(json.dumps(SECRETIVE), encoding="utf-8")
    with mocking(folder, "c.json", "--verify") as client:
        client.send(call("login", 1, password="hunter2-xyz"))
        assert client.message()["result"] == {"content": []}
        assert client.leave().code == 0


def test_a_secret_in_a_wrong_call_is_shown_nowhere(folder: Path) -> None:
    (folder / "c.json").write_text(json.dumps(SECRETIVE), encoding="utf-8")
    with mocking(folder, "c.json", "--report", "r.json") as client:
        client.send(call("login", 1, password="hunter2-xyz", more="of it"))
        answer = client.line().decode("utf-8")
        ended = client.leave()
    report = (folder / "r.json").read_text(encoding="utf-8")
    for text in (answer, report, ended.err):
        assert "hunter2" not in text
    assert "of it" in answer
    assert "(hidden)" in report


# What makes no sense


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (
            [],
            "error: mcptest mock needs a file: cases, a capture or a manifest\n"
            "  help: for example mcptest mock server.cases.yaml\n",
        ),
        (["contract_tst.yaml"], "did you mean 'contract_test.yaml'?"),
        (["."], "error: . is a folder"),
        (["contract_test.yaml", "manifest.yaml"], "error: a manifest and cases cannot be played"),
        (["manifest.yaml", "--once"], "error: --once is for cases"),
        (["contract_test.yaml", "--fault", "tools/cal=hang"], "did you mean tools/call?"),
        (["manifest.yaml", "--fault", "logging/setLevel=hang"], "nothing asks for"),
        (["contract_test.yaml", "--latency", "soon"], "error: --latency must be"),
        (["contract_test.yaml", "--report", "no/r.json"], "error: cannot write no/r.json"),
        (["contract_test.yaml", "--report", "contract_test.yaml"], "a report would replace it"),
        (["manifest.yaml", "--report", "./manifest.yaml"], "a report would replace it"),
        (["manifest.yaml", "--report", "/dev/stdout"], "is standard output"),
        (["contract_test.yaml", "--verfiy"], "did you mean --verify?"),
    ],
)
def test_a_command_that_makes_no_sense_serves_nothing(
    folder: Path, words: list[str], error: str
) -> None:
    ended = mcptest(folder, "mock", *words)
    assert (ended.code, ended.out) == (2, "")
    assert error in ended.err
    assert (folder / "contract_test.yaml").read_text(encoding="utf-8") == CONTRACT
    assert (folder / "manifest.yaml").read_text(encoding="utf-8") == MANIFEST


def test_the_mistakes_of_all_files_are_reported_before_anything_is_served(folder: Path) -> None:
    (folder / "a.yaml").write_text("case: a\nin: {method: x, id: 1}\nuot: {}\n", encoding="utf-8")
    (folder / "b.yaml").write_text("tools: [{name: a}]\n", encoding="utf-8")
    ended = mcptest(folder, "mock", "a.yaml", "b.yaml")
    assert (ended.code, ended.out) == (2, "")
    assert "a.yaml:3" in ended.err
    assert "b.yaml:1" in ended.err


@pytest.mark.parametrize("value", ["!!re '(?=zzz)zzz'", "'match:crossField:a < b'"])
def test_an_answer_that_cannot_be_generated_is_a_mistake(folder: Path, value: str) -> None:
    text = (
        "_patterns: true\nin: {jsonrpc: '2.0', id: 1, method: x}\n"
        f"out: {{jsonrpc: '2.0', id: 1, result: {{v: {value}}}}}\n"
    )
    (folder / "bad.yaml").write_text(text, encoding="utf-8")
    ended = mcptest(folder, "mock", "bad.yaml")
    assert ended.code == 2
    assert "is to be sent" in ended.err


@pytest.mark.parametrize(
    "value", ["!!re '^(([0-9a-f-]+)+)+Z!(?=x)$'", "'match:regex:^(([0-9a-f-]+)+)+Z!(?=x)$'"]
)
def test_a_pattern_that_takes_forever_is_a_mistake_with_its_place(folder: Path, value: str) -> None:
    text = (
        "_patterns: true\nin: {jsonrpc: '2.0', id: 1, method: x}\n"
        f"out: {{jsonrpc: '2.0', id: 1, result: {{v: {value}}}}}\n"
    )
    (folder / "slow.yaml").write_text(text, encoding="utf-8")
    ended = mcptest(folder, "mock", "slow.yaml")
    assert ended.code == 2
    assert "slow.yaml:3" in ended.err
    assert "is to be sent" in ended.err


def test_a_method_that_is_a_tag_is_a_mistake_with_its_place(folder: Path) -> None:
    text = "case: a\nin: {jsonrpc: '2.0', id: 1, method: !!re '^tools/'}\n"
    (folder / "tagged.yaml").write_text(text, encoding="utf-8")
    ended = mcptest(folder, "mock", "tagged.yaml")
    assert ended.code == 2
    assert "tagged.yaml:2" in ended.err
    assert "write a case for each method" in ended.err


def test_a_contract_of_which_nothing_is_left_is_exit_7(folder: Path) -> None:
    text = "in: {jsonrpc: '2.0', id: 1, method: x}\n_skip: true\n"
    (folder / "skipped.yaml").write_text(text, encoding="utf-8")
    assert mcptest(folder, "mock", "skipped.yaml").code == 7


def test_help_shows_examples(folder: Path) -> None:
    ended = mcptest(folder, "mock", "--help")
    assert ended.code == 0
    assert "mcptest mock contract_test.yaml --verify" in ended.out
