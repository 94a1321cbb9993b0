"""A contract has only the members that matter; complete messages are sent."""

from __future__ import annotations

from typing import Any

import pytest
from stage import build, contract

from mcptest.core.plan import Suite
from mcptest.formats.cases import load_cases
from mcptest.matching.registry import builtin_registry
from mcptest.mock.contract import RECORDED, build_contract


def case(method: str, result: str, params: str = "{}") -> str:
    return (
        f"in: {{jsonrpc: '2.0', id: 1, method: {method}, params: {params}}}\n"
        f"out: {{jsonrpc: '2.0', id: 1, result: {result}}}\n"
    )


TEXT = {"type": "text", "text": ""}


@pytest.mark.parametrize(
    ("method", "written", "sent"),
    [
        ("tools/call", "{isError: true}", {"isError": True, "content": []}),
        ("tools/call", "{content: [{type: text}]}", {"content": [TEXT]}),
        ("tools/call", "{content: [{type: image}]}", {"content": [{"type": "image"}]}),
        (
            "tools/list",
            "{tools: [{name: a}]}",
            {"tools": [{"name": "a", "inputSchema": {"type": "object"}}]},
        ),
        ("tools/list", "{nextCursor: x}", {"nextCursor": "x", "tools": []}),
        ("resources/read", "{}", {"contents": []}),
        (
            "resources/read",
            "{contents: [{text: x}, {blob: y}, {}]}",
            {
                "contents": [
                    {"text": "x", "uri": "note://one"},
                    {"blob": "y", "uri": "note://one"},
                    {"uri": "note://one", "text": ""},
                ]
            },
        ),
        ("prompts/get", "{messages: [{}]}", {"messages": [{"role": "user", "content": TEXT}]}),
        ("x/y", "{a: 1}", {"a": 1}),
        ("tools/call", "[1]", [1]),
    ],
)
def test_members_the_protocol_requires_are_added(method: str, written: str, sent: object) -> None:
    params = "{uri: 'note://one'}"
    stage = contract(case(method, written, params))
    assert stage.result(method, {"uri": "note://one"}) == sent


def test_an_error_has_a_code_and_a_message() -> None:
    text = case("x", "{}").replace("result: {}", "error: {code: -5}")
    assert contract(text).error("x") == {"code": -5, "message": "error"}


def test_written_members_are_never_replaced() -> None:
    text = case("tools/call", "{content: [{type: text, text: 5}], isError: maybe}")
    result = contract(text).result("tools/call")
    assert result == {"content": [{"type": "text", "text": 5}], "isError": "maybe"}


def test_an_exact_case_is_sent_as_it_is() -> None:
    assert contract(case("tools/call", "{}") + "_match: exact\n").result("tools/call") == {}


def initialized(text: str) -> Any:
    return contract(text).result("initialize", {"protocolVersion": "2025-06-18"})


def test_the_answer_to_initialize_is_made_whole() -> None:
    result = initialized(case("initialize", "{instructions: x, capabilities: {logging: {}}}"))
    assert result["protocolVersion"] == "2025-06-18"
    assert result["capabilities"] == {"logging": {}}
    assert result["instructions"] == "x"
    assert result["serverInfo"]["name"] == "contract"


def test_an_exact_answer_to_initialize_is_sent_as_it_is() -> None:
    assert initialized(case("initialize", "{a: 1}") + "_match: exact\n") == {"a": 1}


def test_recorded_messages_are_sent_unchanged() -> None:
    suite: Suite = load_cases(
        case("tools/call", "{isError: true}"), "c.json", builtin_registry(), {}
    )[0]
    (answer,) = build_contract([suite.but(format=RECORDED)]).outgoing
    assert answer.value["result"] == {"isError": True}
    (answer,) = build(case("tools/call", "{isError: true}")).outgoing
    assert answer.value["result"] == {"isError": True, "content": []}
