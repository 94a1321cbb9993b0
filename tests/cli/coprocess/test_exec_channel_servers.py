"""Servers that refuse, cannot be started, die, hang, flood or talk nonsense, seen by an SDK."""

from __future__ import annotations

import json
import shlex
import sys
from typing import TYPE_CHECKING, Any

import pytest
from exec_client import (
    NOBODY,
    connected,
    converse,
    fault_server,
    feature_server,
    request,
    scripted_server,
)

if TYPE_CHECKING:
    from pathlib import Path

    from connect_back import Listener

CALL = request("mcp.call", {"tool": "echo", "arguments": {"text": "x"}})
LIST = request("mcp.listTools", None, 2)
ECHOED = {"content": [{"type": "text", "text": "x"}]}


def outcomes(
    folder: Path, server: str, *requests: Any, options: tuple[str, ...] = (), **environment: str
) -> list[Any]:
    answers, ended = converse(folder, server, *requests, options=options, **environment)
    assert len(answers) == len(requests)
    assert (ended.code, "Traceback" in ended.err) == (0, False)
    return [answer["result"] if "result" in answer else answer["error"] for answer in answers]


def is_repeated_error(error: Any, first: Any, method: str) -> bool:
    """True if a later call fails because it was not sent, with what happened to the server."""
    message = f"{method} was not sent, because of what came before: {first['message']}"
    same = error["data"] | {"effect": ""} == first["data"] | {"effect": ""}
    is_definite = error["data"]["effect"] == "definite"
    return bool(error["message"] == message and error["code"] == -32001 and same and is_definite)


# The server says no


@pytest.mark.parametrize(
    "said",
    [
        {"code": -32602, "message": "no such tool"},
        {"code": 7, "message": "", "data": {"a": [None, "ü"]}},
        {"code": -32000, "message": "x", "more": 1},
    ],
)
def test_a_refusal_of_the_server_is_returned_with_its_message(
    tmp_path: Path, said: dict[str, Any]
) -> None:
    answer = {"error": said}
    server = scripted_server(
        tools_call=answer, tools_list=answer, resources_read=answer, prompts_get=answer
    )
    requests = {
        "tools/call": CALL,
        "tools/list": LIST,
        "resources/read": request("mcp.readResource", {"uri": "a:"}),
        "prompts/get": request("mcp.callPrompt", {"name": "p"}),
    }
    assert outcomes(tmp_path, server, *requests.values()) == [
        {
            "code": -32000,
            "message": f"the server refused {method}: {said['message']}",
            "data": said,
        }
        for method in requests
    ]


def test_a_hostile_refusal_is_short_and_visible_in_the_sentence_and_whole_in_the_data(
    tmp_path: Path,
) -> None:
    said = {"code": 1, "message": "\x1b[2J" * 5_000}
    (error,) = outcomes(tmp_path, scripted_server(tools_call={"error": said}), CALL)
    assert len(error["message"]) < 10_000
    assert "\x1b" not in error["message"]
    assert error["data"] == said


def test_after_a_refusal_the_server_is_asked_on(tmp_path: Path) -> None:
    answers = [{"error": {"code": 1, "message": "no"}}, {"result": {"n": 1}}]
    refused, result = outcomes(tmp_path, scripted_server(tools_call=answers), CALL, CALL)
    assert (refused["code"], result) == (-32000, {"n": 1})


@pytest.mark.parametrize("result", ["null", "7", "[]", '"x"'])
def test_a_result_that_is_not_an_object_is_an_error_of_the_server(
    tmp_path: Path, result: str
) -> None:
    server = scripted_server(tools_call={"result": json.loads(result)})
    first, second = outcomes(tmp_path, server, CALL, LIST)
    assert first["code"] == -32000
    assert first["message"].endswith("its answer to tools/call has no result that is an object")
    assert "tools" in second


# The server cannot be started


def test_a_command_that_cannot_be_started_is_named_in_every_answer(tmp_path: Path) -> None:
    first, second = outcomes(tmp_path, f"{NOBODY} --port 1", CALL, LIST)
    assert is_repeated_error(second, first, "tools/list")
    assert first["code"] == -32001
    assert f"cannot start '{NOBODY}'" in first["message"]
    assert first["message"].endswith(f"(command: {NOBODY} --port 1)")
    assert first["data"] == {
        "kind": "spawn_failed",
        "effect": "definite",
        "stderr": "",
        "hint": "there is no such file: check the path, and whether it is installed",
        "command": [NOBODY, "--port", "1"],
        "exit_status": "",
        "exit_code": None,
        "signal": None,
    }


@pytest.mark.parametrize("command", ["''", " ", "'"])
def test_a_command_that_is_none_is_a_mistake_of_the_command_line(
    tmp_path: Path, command: str
) -> None:
    _, ended = converse(tmp_path, command, CALL)
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith("error: ")


def test_a_server_that_ends_at_once_is_gone_with_its_status_and_last_words(
    tmp_path: Path,
) -> None:
    server = fault_server("exit", "3", "cannot open the database\n")
    first, second = outcomes(tmp_path, server, CALL, request("mcp.initialize"))
    assert is_repeated_error(second, first, "initialize")
    assert first["code"] == -32001
    assert "the server ended (exit status 3)" in first["message"]
    assert "(command: " in first["message"]
    assert first["data"]["kind"] == "exited_early"
    assert first["data"]["exit_status"] == "exit status 3"
    assert first["data"]["stderr"] == "cannot open the database"
    assert first["data"]["command"] == shlex.split(server)


def test_a_server_that_refuses_the_handshake_is_not_there(tmp_path: Path) -> None:
    server = scripted_server(initialize={"error": {"code": -32000, "message": "not today"}})
    first, second = outcomes(tmp_path, server, CALL, LIST)
    assert is_repeated_error(second, first, "tools/list")
    assert (first["code"], first["data"]["kind"]) == (-32001, "handshake_refused")
    assert "not today" in first["message"]


def test_a_server_that_never_completes_its_handshake_is_named(
    tmp_path: Path, listener: Listener
) -> None:
    command = [sys.executable, *shlex.split(fault_server("mute"))[1:]]
    config = {"name": "mute", "command": command[0], "args": command[1:], "startupTimeout": 300}
    (tmp_path / "conductor.config.json").write_text(json.dumps(config), encoding="utf-8")
    with connected(
        tmp_path, "", "--config", "conductor.config.json", **listener.environment
    ) as sdk:
        error = sdk.ask("mcp.initialize")
        assert error["code"] == -32001
        assert error["message"].startswith("the server did not answer initialize within 300 ms (")
        assert error["data"]["kind"] == "handshake_timeout"
        assert is_repeated_error(sdk.call("echo", text="x"), error, "tools/call")
        assert listener.next_caller().is_dead_within(30.0)


def test_a_server_that_forgets_to_flush_gets_a_hint(tmp_path: Path) -> None:
    command = shlex.split(fault_server("unflushed"))
    config = {"name": "u", "command": command[0], "args": command[1:], "startupTimeout": 300}
    (tmp_path / "conductor.config.json").write_text(json.dumps(config), encoding="utf-8")
    with connected(tmp_path, "", "--config", "conductor.config.json") as sdk:
        error = sdk.ask("mcp.initialize")
    assert "flush" in error["data"]["hint"]


# The server goes away


def test_a_server_that_dies_during_a_call_is_gone_for_good(tmp_path: Path) -> None:
    server = fault_server("exit-on-call", "5", "out of memory\n")
    first, second, third = outcomes(tmp_path, server, CALL, CALL, LIST)
    assert is_repeated_error(second, first, "tools/call")
    assert is_repeated_error(third, first, "tools/list")
    assert first["code"] == -32001
    assert first["message"] == (
        "the server ended (exit status 5) while tools/call was waiting for its answer"
    )
    assert first["data"] == {
        "kind": "exited_during_call",
        "effect": "indefinite",
        "stderr": "out of memory",
        "command": shlex.split(server),
        "exit_status": "exit status 5",
        "exit_code": 5,
        "signal": None,
    }


def test_a_server_that_is_killed_says_by_which_signal(tmp_path: Path) -> None:
    (error,) = outcomes(tmp_path, fault_server("die-on-call", "SIGKILL"), CALL)
    assert (error["code"], error["data"]["exit_status"]) == (-32001, "killed by SIGKILL")
    assert (error["data"]["exit_code"], error["data"]["signal"]) == (None, "SIGKILL")


def test_a_server_that_dies_between_two_calls_is_gone_at_the_second(tmp_path: Path) -> None:
    first, second, third = outcomes(tmp_path, fault_server("exit-after-answer"), CALL, CALL, LIST)
    assert first == ECHOED
    assert is_repeated_error(third, second, "tools/list")
    assert (second["code"], second["data"]["exit_status"]) == (-32001, "exit status 0")
    assert (second["data"]["exit_code"], second["data"]["signal"]) == (0, None)


def test_a_server_that_closes_its_stdout_is_gone(tmp_path: Path) -> None:
    first, second = outcomes(tmp_path, fault_server("close-stdout"), CALL, LIST)
    assert is_repeated_error(second, first, "tools/list")
    assert (first["code"], first["data"]["kind"]) == (-32001, "exited_during_call")
    assert "closed its stdout" in first["message"]


@pytest.mark.long
def test_a_server_that_floods_its_stdout_is_gone(tmp_path: Path) -> None:
    command = shlex.split(fault_server("endless-line"))
    config = {"name": "f", "command": command[0], "args": command[1:], "maxLineBytes": 100_000}
    (tmp_path / "conductor.config.json").write_text(json.dumps(config), encoding="utf-8")
    with connected(tmp_path, "", "--config", "conductor.config.json") as sdk:
        error = sdk.call("echo", text="x")
        assert (error["code"], error["data"]["kind"]) == (-32001, "line_too_long")
        assert is_repeated_error(sdk.ask("mcp.listTools"), error, "tools/list")


def test_a_flood_on_stderr_stops_nothing_and_only_its_end_is_shown(tmp_path: Path) -> None:
    assert outcomes(tmp_path, fault_server("stderr-flood", "4"), CALL, CALL) == [ECHOED, ECHOED]
    dying = fault_server("exit-on-call", "1", "line\n" * 10_000 + "the end\n")
    (error,) = outcomes(tmp_path, dying, CALL)
    assert error["data"]["stderr"].endswith("line\nthe end")
    assert len(error["data"]["stderr"]) < 10_000


# The server hangs or talks nonsense


def test_a_call_that_is_not_answered_in_time_costs_that_call_only(
    tmp_path: Path, listener: Listener
) -> None:
    server, options = fault_server("silent"), ("--timeout", "300ms")
    first, second = outcomes(tmp_path, server, CALL, LIST, options=options, **listener.environment)
    assert first["code"] == -32000
    assert first["message"] == "no answer to tools/call within 300 ms"
    assert (first["data"]["kind"], first["data"]["effect"]) == ("timeout", "indefinite")
    assert "tools" in second
    assert listener.next_caller().next_word().startswith("cancelled ")


def test_a_late_answer_is_not_mistaken_for_that_of_the_next_call(tmp_path: Path) -> None:
    calls = [request("mcp.call", {"tool": "echo", "arguments": {"text": text}}) for text in "ab"]
    first, second = outcomes(tmp_path, fault_server("late"), *calls, options=("--timeout", "1s"))
    assert first["data"]["kind"] == "timeout"
    assert second == {"content": [{"type": "text", "text": "b"}]}


def test_an_answer_with_another_id_is_not_an_answer_and_is_reported(tmp_path: Path) -> None:
    server, options = fault_server("id-as", "77"), ("--timeout", "300ms")
    answers, ended = converse(tmp_path, server, CALL, options=options)
    error = answers[0]["error"]
    assert (error["code"], error["data"]["kind"]) == (-32000, "timeout")
    assert "an answer with id 77 came" in error["data"]["hint"]
    assert "an answer whose id belongs to no open request" in ended.err


@pytest.mark.parametrize("id", [1, "1", "mcptest-1"])
def test_the_server_gets_the_id_of_the_request_so_that_what_it_makes_of_it_shows(
    tmp_path: Path, id: object
) -> None:
    call = {**CALL, "id": id}
    answers, _ = converse(
        tmp_path, fault_server("id-as", json.dumps(id)), call, options=("--timeout", "1s")
    )
    assert answers[0] == {"jsonrpc": "2.0", "id": id, "result": ECHOED}


def test_an_id_whose_answer_may_still_arrive_is_not_reused(tmp_path: Path) -> None:
    options = ("--timeout", "1s")
    same = {**CALL, "id": 9}
    first, second = outcomes(tmp_path, fault_server("late"), same, same, options=options)
    assert first["data"]["kind"] == "timeout"
    assert second == ECHOED


def test_an_answer_with_a_member_that_no_response_has_is_refused_and_in_the_data(
    tmp_path: Path,
) -> None:
    server = fault_server("altered", '{"extra": 1}')
    first, second = outcomes(tmp_path, server, CALL, LIST)
    assert first["code"] == -32000
    assert first["message"].endswith(
        'its answer to tools/call has a member "extra" beside the result'
    )
    assert first["data"]["kind"] == "protocol_violation"
    assert first["data"]["answer"] == {"jsonrpc": "2.0", "id": 1, "result": ECHOED, "extra": 1}
    assert "tools" in second


def test_the_right_answer_after_a_wrong_one_counts(tmp_path: Path) -> None:
    assert outcomes(tmp_path, fault_server("wrong-then-right"), CALL) == [ECHOED]


def test_an_answer_that_is_not_json_is_an_error_of_that_call(tmp_path: Path) -> None:
    torn = b'{"jsonrpc": "2.0", "id": 1, "result": {\n'.hex()
    first, second = outcomes(tmp_path, fault_server("instead", torn), CALL, LIST)
    assert (first["code"], first["data"]["kind"]) == (-32000, "malformed_line")
    assert "tools" in second


def test_an_answer_that_breaks_json_rpc_is_an_error_of_that_call(tmp_path: Path) -> None:
    server = fault_server("altered", '{"jsonrpc": "1.0"}')
    first, second = outcomes(tmp_path, server, CALL, LIST)
    assert (first["code"], first["data"]["kind"]) == (-32000, "protocol_violation")
    assert "tools" in second


def test_a_list_must_end_within_the_time_of_one_answer(tmp_path: Path) -> None:
    """A server whose list never ends; each page is sent at once."""
    (error,) = outcomes(
        tmp_path, feature_server(), LIST, options=("--timeout", "5s"), ENDLESS_LISTS="1"
    )
    assert error["code"] == -32000
    assert "goes in a circle" in error["message"]


def test_a_server_that_asks_its_client_gets_an_answer(tmp_path: Path) -> None:
    call = request("mcp.call", {"tool": "ask", "arguments": {"method": "roots/list"}})
    (result,) = outcomes(tmp_path, feature_server(), call)
    assert "-32601" in result["content"][0]["text"]


# Secrets


def test_no_secret_of_a_config_is_in_an_error(tmp_path: Path) -> None:
    secret = "s3cr3t-of-the-config-file"
    command = shlex.split(fault_server("exit-on-call", "1", f"key {secret}\n"))
    config = {
        "name": "leaky",
        "command": command[0],
        "args": command[1:],
        "env": {"KEY": "${CANARY}"},
    }
    (tmp_path / "conductor.config.json").write_text(json.dumps(config), encoding="utf-8")
    with connected(tmp_path, "", "--config", "conductor.config.json", CANARY=secret) as sdk:
        error = sdk.call("echo", text="x")
        ended = sdk.leave()
    assert error["code"] == -32001
    assert error["data"]["stderr"].startswith("key ")
    assert secret not in json.dumps(error) + ended.err
