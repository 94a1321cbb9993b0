"""Requests that are answered without a case: those of the session, and lists."""

from __future__ import annotations

from typing import Any

import pytest
from stage import a_case, cases, contract, request

from mcptest import __version__
from mcptest.protocol.revisions import DEFAULT_OFFER, HANDSHAKE_REVISIONS

ADD = a_case("Adds", "{name: add, arguments: {a: 1, b: 2}}", "three")

INITIALIZE = (
    "case: Opens\n"
    "in: {jsonrpc: '2.0', id: 1, method: initialize, params: {protocolVersion: '2025-06-18',"
    " capabilities: {}, clientInfo: {name: %s, version: '1'}}}\n"
    "out: {jsonrpc: '2.0', id: 1, result: {protocolVersion: '2025-03-26', capabilities: {},"
    " serverInfo: {name: %s, version: '1'}}}\n"
    "in_ready: {jsonrpc: '2.0', method: notifications/initialized}\n"
)


def opening(name: str = "me", version: object = "2025-06-18") -> dict[str, Any]:
    info = {"name": name, "version": "1"}
    return {"protocolVersion": version, "capabilities": {}, "clientInfo": info}


# initialize


@pytest.mark.parametrize("version", HANDSHAKE_REVISIONS)
def test_the_revision_of_the_client_is_taken_when_it_is_known(version: str) -> None:
    assert contract(ADD).result("initialize", opening(version=version)) == {
        "protocolVersion": version,
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "contract", "version": __version__},
    }


@pytest.mark.parametrize("version", ["1999-01-01", "2026-07-28", 5, None, ["x"]])
def test_another_revision_is_answered_with_the_newest(version: object) -> None:
    result = contract(ADD).result("initialize", opening(version=version))
    assert result["protocolVersion"] == DEFAULT_OFFER


def test_a_case_for_initialize_answers_any_client() -> None:
    stage = contract(INITIALIZE % ("somebody", "server"))
    assert stage.result("initialize", opening("me"))["serverInfo"]["name"] == "server"
    stage.notify("notifications/initialized")
    assert stage.exercised == ["Opens"]
    assert stage.report.wrong == ()


def test_a_case_for_exactly_this_client_has_precedence() -> None:
    stage = contract(cases(INITIALIZE % ("somebody", "one"), INITIALIZE % ("me", "two")))
    assert stage.result("initialize", opening("me"))["serverInfo"]["name"] == "two"


def test_all_cases_that_begin_with_the_handshake_have_had_it() -> None:
    """A client makes it once, over stdio: the others could never be exercised."""
    rest = a_case("x", "{name: go}", "gone").partition("\n")[2].replace("in:", "in_go:")
    second = INITIALIZE % ("other", "server") + rest.replace("out:", "out_go:")
    stage = contract(cases(INITIALIZE % ("somebody", "server"), second.replace("Opens", "Goes")))
    stage.send(request("initialize", opening()))
    stage.notify("notifications/initialized")
    stage.send(request("tools/call", {"name": "go"}))
    assert stage.exercised == ["Opens", "Goes"]


REFUSES = (
    "case: Refuses\n"
    "in: {jsonrpc: '2.0', id: 1, method: initialize, params: {protocolVersion: '1'}}\n"
    "out: {jsonrpc: '2.0', id: 1, error: {code: -32602, message: too old}}\n"
)


def test_a_case_that_refuses_a_client_is_not_for_all_of_them() -> None:
    stage = contract(cases(REFUSES, INITIALIZE % ("somebody", "server")))
    assert stage.result("initialize", opening())["serverInfo"]["name"] == "server"
    assert stage.missed == ["Refuses", "Opens"]
    assert stage.error("initialize", opening(version="1"))["message"] == "too old"
    assert "Refuses" in stage.exercised


def test_a_contract_that_only_refuses_refuses_every_client() -> None:
    assert "error" in contract(REFUSES).ask("initialize", opening())


# Capabilities


def one(method: str, side: str = "in") -> str:
    id = ", id: 1" if not method.startswith("notifications/") else ""
    return f"{side}: {{jsonrpc: '2.0'{id}, method: {method}}}\n"


@pytest.mark.parametrize(
    ("text", "capabilities"),
    [
        (one("x/y"), {}),
        (one("tools/list"), {"tools": {}}),
        (one("notifications/tools/list_changed", "out"), {"tools": {"listChanged": True}}),
        (one("resources/read"), {"resources": {}}),
        (one("resources/subscribe"), {"resources": {"subscribe": True}}),
        (one("notifications/resources/updated", "out"), {"resources": {"subscribe": True}}),
        (
            cases(one("resources/subscribe"), one("notifications/resources/list_changed", "out")),
            {"resources": {"subscribe": True, "listChanged": True}},
        ),
        (one("prompts/get"), {"prompts": {}}),
        (one("logging/setLevel"), {"logging": {}}),
        (one("notifications/message", "out"), {"logging": {}}),
        (one("completion/complete"), {"completions": {}}),
    ],
)
def test_capabilities_are_those_that_the_messages_need(text: str, capabilities: object) -> None:
    assert contract(text).result("initialize", opening())["capabilities"] == capabilities


def test_ping_is_answered_and_so_is_discover() -> None:
    stage = contract(ADD)
    assert stage.result("ping") == {}
    found = stage.result("server/discover")
    assert found["supportedVersions"] == ["2026-07-28"]
    assert found["capabilities"] == {"tools": {}}


def test_a_case_for_ping_is_the_one_that_answers() -> None:
    stage = contract(one("ping") + "out: {jsonrpc: '2.0', id: 1, result: {late: true}}\n")
    assert stage.result("ping") == {"late": True}


# Lists


def test_tools_are_listed_with_the_arguments_that_were_seen() -> None:
    stage = contract(
        cases(
            a_case("a", "{name: find, arguments: {q: x, limit: 5, deep: true}}", "r"),
            a_case("b", "{name: find, arguments: {q: !!re ., limit: 0.5, tags: [a], o: {}}}", "r"),
            a_case("c", "{name: find, arguments: {q: !!any, limit: null}}", "r"),
            a_case("d", "{name: plain}", "r"),
        )
    )
    assert stage.result("tools/list") == {
        "tools": [
            {
                "name": "find",
                "inputSchema": {
                    "type": "object",
                    "properties": {
                        "q": {},
                        "limit": {"type": ["number", "null"]},
                        "deep": {"type": "boolean"},
                        "tags": {"type": "array"},
                        "o": {"type": "object"},
                    },
                    "required": ["q", "limit"],
                },
            },
            {"name": "plain", "inputSchema": {"type": "object"}},
        ]
    }


@pytest.mark.parametrize(
    ("written", "schema"),
    [
        ("5", {"type": "integer"}),
        ("!!type integer", {"type": "integer"}),
        ("!!type string|null", {"type": ["string", "null"]}),
        ("!!ere 'a/b/'", {"type": "string"}),
        ("!!bind x", {}),
    ],
)
def test_the_type_of_an_argument_is_what_the_contract_says_of_it(
    written: str, schema: object
) -> None:
    stage = contract(a_case("a", f"{{name: t, arguments: {{v: {written}}}}}", "r"))
    (tool,) = stage.result("tools/list")["tools"]
    assert tool["inputSchema"]["properties"]["v"] == schema


def test_names_the_server_refuses_are_not_listed() -> None:
    refused = (
        "in: {jsonrpc: '2.0', id: 1, method: tools/call, params: {name: nope}}\n"
        "out: {jsonrpc: '2.0', id: 1, error: {code: -32602, message: unknown tool}}\n"
    )
    (tool,) = contract(cases(ADD, refused)).result("tools/list")["tools"]
    assert tool["name"] == "add"


def test_resources_and_prompts_are_listed_too() -> None:
    read = (
        "in: {jsonrpc: '2.0', id: 1, method: resources/read, params: {uri: 'note://a/one'}}\n"
        "out: {jsonrpc: '2.0', id: 1, result: {contents: [{uri: 'note://a/one',"
        " mimeType: text/plain, text: x}]}}\n"
    )
    get = "in: {jsonrpc: '2.0', id: 1, method: prompts/get, params: {name: p, arguments: %s}}\n"
    stage = contract(cases(read, get % "{a: x, b: y}", get % "{a: z}"))
    resource = {"uri": "note://a/one", "name": "one", "mimeType": "text/plain"}
    assert stage.result("resources/list") == {"resources": [resource]}
    assert stage.result("resources/templates/list") == {"resourceTemplates": []}
    arguments = [{"name": "a", "required": True}, {"name": "b", "required": False}]
    assert stage.result("prompts/list") == {"prompts": [{"name": "p", "arguments": arguments}]}


LISTS = (
    "in: {jsonrpc: '2.0', id: 1, method: tools/list%s}\n"
    "out: {jsonrpc: '2.0', id: 1, result: {tools: [], nextCursor: %s}}\n"
)


def test_a_case_that_lists_is_the_one_that_answers() -> None:
    assert contract(cases(ADD, LISTS % ("", "p2"))).result("tools/list", {"cursor": None}) == {
        "tools": [],
        "nextCursor": "p2",
    }


def test_pages_are_distinguished_by_their_cursor() -> None:
    second = LISTS % (", params: {cursor: p2}", "p3")
    stage = contract(cases(LISTS % ("", "p2"), second))
    for _ in range(2):
        assert stage.result("tools/list")["nextCursor"] == "p2"
        assert stage.result("tools/list", {"cursor": "p2"})["nextCursor"] == "p3"


@pytest.mark.parametrize("text", [ADD, LISTS % ("", "p2")])
def test_a_page_that_the_contract_does_not_have_is_an_error(text: str) -> None:
    error = contract(text).error("tools/list", {"cursor": "p2"})
    assert error["code"] == -32602
    assert [each["path"] for each in error["data"]["differences"]] == ["params.cursor"]


def test_the_first_page_is_generated_when_only_later_ones_are_written() -> None:
    stage = contract(cases(ADD, LISTS % (", params: {cursor: p2}", "p3")))
    assert [tool["name"] for tool in stage.result("tools/list")["tools"]] == ["add"]
