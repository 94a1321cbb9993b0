"""`mcptest exec --connection-server` from the outside: each method, and lines that are none."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from console import mcptest
from exec_client import (
    NOBODY,
    connected,
    converse,
    fault_server,
    feature_server,
    request,
    scripted_server,
)

from mcptest import __version__
from mcptest.coprocess.protocol import CONNECTION_METHODS

if TYPE_CHECKING:
    from pathlib import Path

    from connect_back import Listener

OURS = {"protocol_version": 2, "binary_version": __version__}


def results(answers: list[dict[str, Any]]) -> list[Any]:
    return [answer["result"] if "result" in answer else answer["error"] for answer in answers]


# The command line


def test_without_the_switch_the_command_says_what_it_needs(tmp_path: Path) -> None:
    ended = mcptest(tmp_path, "exec", "--server-command", NOBODY)
    assert (ended.code, ended.out) == (2, "")
    assert "mcptest exec needs either --connection-server or --suite-server FILE" in ended.err


def test_without_a_server_the_command_says_so_and_no_frame(tmp_path: Path) -> None:
    ended = mcptest(tmp_path, "exec", "--connection-server")
    assert (ended.code, ended.out) == (2, "")
    assert "no server to talk to" in ended.err


def test_a_server_that_is_not_named_is_an_error_that_names_this_command(
    tmp_path: Path,
) -> None:
    ended = mcptest(tmp_path, "exec", "--connection-server")
    assert (ended.code, ended.out) == (2, "")
    assert 'give --server-command "ARGV", --url URL or --config FILE' in ended.err


@pytest.mark.parametrize("words", [("surplus",), ("--connection-serve",), ("--", "cat")])
def test_words_that_mean_nothing_are_refused(tmp_path: Path, words: tuple[str, ...]) -> None:
    ended = mcptest(tmp_path, "exec", "--connection-server", "--server-command", NOBODY, *words)
    assert (ended.code, ended.out) == (2, "")


def test_a_config_says_how_to_start_the_server(tmp_path: Path) -> None:
    command = feature_server().split(" ")
    config = {"name": "features", "command": command[0], "args": command[1:]}
    (tmp_path / "conductor.config.json").write_text(json.dumps(config), encoding="utf-8")
    words = ("exec", "--connection-server", "--config", "conductor.config.json")
    ended = mcptest(tmp_path, *words)
    assert (ended.code, ended.out, ended.err) == (0, "", "")


# Methods


def test_every_method_is_answered_in_the_order_of_the_requests(tmp_path: Path) -> None:
    requests = [
        request("coprocess/handshake", {"protocol_version": 2, "sdk": "go"}, 1),
        request("mcp.initialize", None, "two"),
        request("mcp.call", {"tool": "echo", "arguments": {"text": "hi"}}, 3.5),
        request("mcp.listTools", {}, 4),
        request("mcp.listResources", None, 5),
        request("mcp.readResource", {"uri": "memo://one"}, 6),
        request("mcp.callPrompt", {"name": "greet", "arguments": {"who": "Ada"}}, 7),
        request("mcp.callPrompt", {"prompt": "greet"}, 8),
        request("mcp.cache.set_mode", {"mode": "read_only"}, 9),
        request("mcp.cassette.set_mode", {"mode": "off"}, 10),
        request("mcp.reporter.setUpload", {"enabled": False}, 11),
        request("mcp.reporter.flush", None, 12),
        request("mcp.initialize", None, 13),
        request("mcp.shutdown", None, "last"),
    ]
    assert {each["method"] for each in requests} == set(CONNECTION_METHODS)
    answers, ended = converse(tmp_path, feature_server(), *requests)
    assert [answer["id"] for answer in answers] == [each["id"] for each in requests]
    found = results(answers)
    hello = found.pop(1)
    assert hello["serverInfo"] == {"name": "features", "version": "1"}
    tools = found.pop(2)["tools"]
    assert [tool["name"] for tool in tools][:2] == ["echo", "flaky"]

    def said(who: str) -> dict[str, Any]:
        content = {"type": "text", "text": f"Hello {who}"}
        return {"messages": [{"role": "user", "content": content}]}

    assert found == [
        OURS,
        {"content": [{"type": "text", "text": "hi"}]},
        {"resources": [{"uri": "memo://one", "name": "one"}]},
        {"contents": [{"uri": "memo://one", "text": "this is memo://one"}]},
        said("Ada"),
        said("you"),
        {"mode": "read_only"},
        {"mode": "off"},
        {"enabled": False},
        {"flushed": 0},
        hello,
        {},
    ]
    assert (ended.code, ended.err) == (0, "")


def test_a_result_is_returned_exactly_as_the_server_sent_it(tmp_path: Path) -> None:
    result = {
        "content": [{"type": "text", "text": "ü \u2028 \U0001f642 \u0000"}],
        "structuredContent": {"big": 10**30, "small": 1e-7, "one": 1.0, "null": None},
        "isError": True,
        "_meta": {"x/y": [True, {}]},
        "later": "members of other revisions",
    }
    server = scripted_server(tools_call={"result": result})
    answers, _ = converse(tmp_path, server, request("mcp.call", {"tool": "a"}))
    assert json.dumps(results(answers)) == json.dumps([result])


def test_the_server_is_initialised_once_and_only_when_it_is_needed(
    tmp_path: Path,
) -> None:
    quiet = [
        request("coprocess/handshake", {"protocol_version": 2}),
        request("mcp.cache.set_mode", {"mode": "off"}),
        request("mcp.reporter.flush"),
        request("mcp.shutdown"),
    ]
    answers, ended = converse(tmp_path, NOBODY, *quiet)
    assert results(answers) == [OURS, {"mode": "off"}, {"flushed": 0}, {}]
    assert ended.code == 0
    with connected(tmp_path, feature_server()) as sdk:
        first = sdk.ask("mcp.initialize")
        sdk.text("echo", text="x")
        assert sdk.ask("mcp.initialize") == first


def test_all_pages_of_a_list_are_returned_as_one(tmp_path: Path) -> None:
    pages = [
        {"result": {"tools": [{"name": "a"}], "nextCursor": "2"}},
        {"result": {"tools": [], "nextCursor": "3"}},
        {"result": {"tools": [{"name": "b"}, {"name": "c"}], "nextCursor": None}},
    ]
    server = scripted_server(tools_list=pages, resources_list={"result": {"resources": []}})
    requests = (request("mcp.listTools"), request("mcp.listResources"))
    answers, _ = converse(tmp_path, server, *requests)
    assert results(answers) == [
        {"tools": [{"name": "a"}, {"name": "b"}, {"name": "c"}]},
        {"resources": []},
    ]


@pytest.mark.parametrize(
    ("result", "why"),
    [
        ({}, 'the result of tools/list has no array "tools"'),
        ({"tools": {}}, 'the result of tools/list has no array "tools"'),
        ({"tools": [], "nextCursor": 2}, "the nextCursor of tools/list is not a string"),
        ({"tools": [], "nextCursor": "2"}, "goes in a circle: a cursor came twice"),
        ([], "has no result that is an object"),
    ],
)
def test_a_list_that_is_none_or_never_ends_is_an_error_of_the_server(
    tmp_path: Path, result: object, why: str
) -> None:
    server = scripted_server(tools_list={"result": result})
    answers, _ = converse(tmp_path, server, request("mcp.listTools"))
    (error,) = results(answers)
    assert error["code"] == -32000
    assert why in error["message"]


def test_goodbye_is_handled_before_every_line_after_it(tmp_path: Path) -> None:
    tally = tmp_path / "tally"
    flaky = request("mcp.call", {"tool": "flaky", "arguments": {"until": 9}}, 3)
    answers, ended = converse(
        tmp_path, feature_server(str(tally)), request("mcp.shutdown"), flaky, b"noise\n"
    )
    assert (results(answers), ended.code) == ([{}], 0)
    assert not tally.exists(), "nothing is called for somebody who has said goodbye"


# Versions


def test_the_mismatch_error_says_which_side_to_upgrade(tmp_path: Path) -> None:
    ahead = request("coprocess/handshake", {"protocol_version": 3, "sdk": "rust"}, 1)
    behind = request("coprocess/handshake", {"protocol_version": 1, "sdk": "rust"}, 2)
    call, goodbye = request("mcp.call", {"tool": "echo"}, 3), request("mcp.shutdown", None, 4)
    start = "coprocess protocol version mismatch: this mcptest binary speaks v2, the rust SDK sent "
    sentences = {
        1: f"{start}v3. Upgrade the mcptest binary (or pin the SDK to the matching release).",
        2: f"{start}v1. Upgrade the rust SDK (or pin the mcptest binary to the matching release).",
    }
    for shake in (ahead, behind):
        answers, ended = converse(tmp_path, NOBODY, shake, call, goodbye)
        error = {"code": -32602, "message": sentences[shake["id"]]}
        assert results(answers) == [error, error, {}]
        assert [answer["id"] for answer in answers] == [shake["id"], 3, 4]
        assert ended.code == 0


# Lines that are not requests


def test_after_every_bad_line_the_next_request_is_answered(tmp_path: Path) -> None:
    good = request("mcp.reporter.flush", None, "good")
    bad: list[tuple[object, int, object]] = [
        (b"hello\n", -32700, None),
        (b'{"jsonrpc":\n', -32700, None),
        (b"\xff\xfe\n", -32700, None),
        ([good], -32600, None),
        ({**good, "trace": 1}, -32600, "good"),
        ({"method": "mcp.shutdown"}, -32600, None),
        ({"jsonrpc": "2.0", "method": "mcp.shutdown"}, -32600, None),
        ({**good, "id": None}, -32600, None),
        ({**good, "id": True}, -32600, None),
        (request("mcp.nothing", None, "é"), -32601, "é"),
        (request("mcp.call", {}, 10**30), -32602, 10**30),
        (request("mcp.call", {"tool": "a", "args": {}}, 0), -32602, 0),
        (request("mcp.call", {"tool": "a", "arguments": []}, -1), -32602, -1),
        (request("mcp.readResource", {"uri": 1}, ""), -32602, ""),
    ]
    lines = [line for message, _, _ in bad for line in (message, good)]
    answers, ended = converse(tmp_path, NOBODY, *lines, b"\n  \n")
    assert [(each["error"]["code"], each["id"]) for each in answers[::2]] == [
        (code, id) for _, code, id in bad
    ]
    assert results(answers[1::2]) == [{"flushed": 0}] * len(bad)
    assert (ended.code, ended.err) == (0, "")


def test_a_last_line_without_its_newline_is_answered(tmp_path: Path) -> None:
    answers, ended = converse(tmp_path, NOBODY, json.dumps(request("mcp.shutdown")).encode())
    assert (results(answers), ended.code) == ([{}], 0)


# Sizes


def test_large_params_and_large_answers_arrive_whole(tmp_path: Path) -> None:
    text = "ü" * 3_000_000
    call = request("mcp.call", {"tool": "echo", "arguments": {"text": text}})
    answers, ended = converse(tmp_path, fault_server("good"), call)
    assert results(answers) == [{"content": [{"type": "text", "text": text}]}]
    assert ended.code == 0


def test_a_line_beyond_the_limit_is_refused_and_the_next_one_answered(tmp_path: Path) -> None:
    limit = 64 * 1024 * 1024
    endless = b'{"jsonrpc":"2.0","id":1,"method":"' + b"m" * limit + b'"}\n'
    answers, _ = converse(tmp_path, NOBODY, endless, request("mcp.reporter.flush"))
    assert results(answers) == [
        {
            "code": -32700,
            "message": f"the line cannot be read: it has more than {limit:,} bytes",
        },
        {"flushed": 0},
    ]


def test_ten_thousand_requests_in_one_breath_are_answered_in_their_order(tmp_path: Path) -> None:
    count = 10_000
    requests = (request("mcp.reporter.flush", None, number) for number in range(count))
    answers, ended = converse(tmp_path, NOBODY, *requests)
    assert [answer["id"] for answer in answers] == list(range(count))
    assert ended.code == 0


def test_an_answer_is_not_kept_back_by_the_next_request(tmp_path: Path, listener: Listener) -> None:
    """Both are sent in one breath, and the second is never answered."""
    with connected(tmp_path, fault_server("announced-silent"), **listener.environment) as sdk:
        lists, call = request("mcp.listTools", None, 1), request("mcp.call", {"tool": "echo"}, 2)
        sdk.send(b"".join(json.dumps(each).encode() + b"\n" for each in (lists, call)))
        server = listener.next_caller()
        assert server.next_word() == "tools/call"
        assert sdk.answer()["id"] == 1


# Streams


def test_stdout_has_only_frames_and_noise_of_the_server_is_reported_on_stderr(
    tmp_path: Path,
) -> None:
    server = fault_server("before", b"banner\x1b[2J\n".hex())
    call = request("mcp.call", {"tool": "echo", "arguments": {"text": "x"}})
    answers, ended = converse(tmp_path, server, call, call)
    assert results(answers) == [{"content": [{"type": "text", "text": "x"}]}] * 2
    assert ended.err.startswith("warning: the server wrote to stdout something that is not a ")
    assert "(2 times)" in ended.err
    assert "\x1b" not in ended.err


def test_a_surrounding_that_prints_does_not_reach_stdout(tmp_path: Path) -> None:
    """Warnings of Python itself go where logs go."""
    answers, _ = converse(
        tmp_path, NOBODY, request("mcp.shutdown"), PYTHONWARNINGS="always", PYTHONDEVMODE="1"
    )
    assert results(answers) == [{}]


def test_requests_are_utf_8_whatever_the_locale_says(tmp_path: Path) -> None:
    call = '{"jsonrpc":"2.0","id":"ü","method":"mcp.call","params":{"tool":"echo","arguments":'
    line = f'{call}{{"text":"é\u2028"}}}}}}\n'.encode()
    answers, _ = converse(
        tmp_path, fault_server("good"), line, LC_ALL="C", PYTHONUTF8="0", PYTHONIOENCODING="ascii"
    )
    assert answers[0]["id"] == "ü"
    assert results(answers) == [{"content": [{"type": "text", "text": "é\u2028"}]}]


def test_a_tool_that_fails_and_is_not_listed_is_reported_at_the_end(tmp_path: Path) -> None:
    asked = [request("mcp.call", {"tool": name}, name) for name in ("ech", "echo", "missing_tool")]
    refusal = {"error": {"code": -32602, "message": "no such tool"}}
    tools = {"tools": [{"name": "echo", "inputSchema": {"type": "object"}}]}
    server = scripted_server(tools_call=refusal, tools_list={"result": tools})
    _, ended = converse(tmp_path, server, *asked)
    assert ended.err.splitlines() == [
        'warning: the server lists no tool "ech"; did you mean "echo"?',
        'warning: the server lists no tool "missing_tool"',
    ]


def test_tools_that_are_listed_or_cannot_be_listed_are_not_reported(tmp_path: Path) -> None:
    ask = request("mcp.call", {"tool": "echo"})
    refusal = {"error": {"code": -32602, "message": "not today"}}
    tools = {"tools": [{"name": "echo", "inputSchema": {"type": "object"}}]}
    for listed in ({"result": tools}, refusal):
        server = scripted_server(tools_call=refusal, tools_list=listed)
        _, ended = converse(tmp_path, server, ask)
        assert (ended.code, ended.err) == (0, "")
