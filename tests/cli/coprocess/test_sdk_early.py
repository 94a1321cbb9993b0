"""What a program must not hand to the SDK, and a binary must not say before it is asked."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from scripted_binary import hello, scripted

import mcptest
from mcptest.sdk.coprocess import Coprocess
from mcptest.sdk.errors import ContractError

SERVERS = Path(__file__).parents[2] / "servers"
SERVER = [sys.executable, "-S", "-E", str(SERVERS / "sdk_server.py")]


# Answers without a question


def answer(id: int, text: str) -> str:
    content = [{"type": "text", "text": text}]
    return json.dumps({"jsonrpc": "2.0", "id": id, "result": {"content": content}})


def scripted_coprocess(
    folder: Path, monkeypatch: pytest.MonkeyPatch, *entries: object
) -> Coprocess:
    for name, value in scripted(folder, hello(2), *entries).items():
        monkeypatch.setenv(name, value)
    return Coprocess(["no-server"], timeout=30)


def test_an_answer_that_arrived_before_its_request_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    both = f"{answer(2, 'real')}\n{answer(3, 'forged')}"
    with scripted_coprocess(tmp_path, monkeypatch, both, answer(3, "late")) as coprocess:
        coprocess.request("mcp.call", {"tool": "a"})
        with pytest.raises(
            ContractError, match=r"before mcp\.call was asked, there came"
        ) as message:
            coprocess.request("mcp.call", {"tool": "b"})
        assert "forged" in str(message.value)
        # Nothing more is asked of such a binary.
        with pytest.raises(ContractError, match="forged"):
            coprocess.request("mcp.listTools")


def test_an_answer_that_arrives_after_its_request_is_accepted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    entries = (answer(2, "one"), answer(3, "two"))
    with scripted_coprocess(tmp_path, monkeypatch, *entries) as coprocess:
        for _ in entries:
            coprocess.request("mcp.call", {"tool": "a"})


# Arguments


def nested(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({"v": float("nan")}, ValueError, "arguments['v'] is nan, and JSON has no such number"),
        ({"v": [1, float("-inf")]}, ValueError, "arguments['v'][1] is -inf, and JSON has no such"),
        ({"v": object()}, TypeError, "arguments['v'] is object, and JSON has no such value"),
        ({"v": {b"x"}}, TypeError, "arguments['v'] is set, and JSON has no such value"),
        ({1: 2}, TypeError, "a key of arguments is a string, not int: 1"),
        ({"v": {None: 2}}, TypeError, "a key of arguments['v'] is a string, not None: None"),
        ({"v": nested(200)}, ValueError, "is nested deeper than 190 levels"),
        ([], TypeError, "arguments is a dict, not list"),
    ],
)
def test_arguments_that_are_not_json_are_refused_by_name(
    arguments: Any, error: type[Exception], words: str
) -> None:
    with mcptest.connect(SERVER) as server:
        with pytest.raises(error) as message:
            server.call_tool("echo", arguments)
        assert words in str(message.value)
        with pytest.raises(error):
            server.get_prompt("greet", arguments)
        # Nothing was sent, and the connection is as good as before.
        assert server.call_tool("count").text == "1"


def test_every_json_value_is_sent() -> None:
    given: dict[str, Any] = {"a": (1, 2.5, None, True), "b": {"c": ["é\ud800"]}, "v": nested(150)}
    with mcptest.connect(SERVER) as server:
        assert server.call_tool("echo", given).success


def test_answers_of_a_client_that_are_not_json_are_refused() -> None:
    with pytest.raises(TypeError, match=r"client\['roots'\] is set"):
        mcptest.connect(SERVER, client={"roots": {"file:///a"}})


@pytest.mark.parametrize("given", [None, {}, {"who": "Ada"}])
def test_arguments_of_a_prompt_are_sent_when_they_are_given(
    tmp_path: Path, given: dict[str, str] | None
) -> None:
    cassette = tmp_path / "tape.ndjson"
    with mcptest.connect(SERVER, record=cassette) as server:
        server.get_prompt("greet", given)
    takes = [json.loads(line) for line in cassette.read_text(encoding="utf-8").splitlines()[1:]]
    asked = {"name": "greet"} if given is None else {"name": "greet", "arguments": given}
    assert [take["params"] for take in takes if take["method"] == "prompts/get"] == [asked]
