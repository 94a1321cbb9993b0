"""A mock over HTTP for clients of the stateless era: every POST is independent."""

from __future__ import annotations

import pytest
from http_stage import STATELESS, asking, envelope, http_contract, http_manifest
from stage import a_case, cases

ADD = a_case("Adds", "{name: add, arguments: {a: 1, b: 2}}", "three")

READS = """
case: Reads
in: {jsonrpc: '2.0', id: 1, method: resources/read, params: {uri: 'note://one'}}
out: {jsonrpc: '2.0', id: 1, result: {contents: [{uri: 'note://one', text: first}]}}
"""

GROWS = """
case: Grows
in: {jsonrpc: '2.0', id: 1, method: tools/call, params: {name: grow}}
out_changed: {jsonrpc: '2.0', method: notifications/tools/list_changed}
out: {jsonrpc: '2.0', id: 1, result: {content: []}}
"""

PROGRESS = """
case: Goes on
in: {jsonrpc: '2.0', id: 1, method: tools/call, params: {name: go, _meta: {progressToken: t}}}
out_one: {jsonrpc: '2.0', method: notifications/progress, params: {progressToken: t, progress: 1}}
out: {jsonrpc: '2.0', id: 1, result: {content: []}}
"""

HEADERED = """
tools:
  - name: route
    inputSchema: {type: object, properties: {to: {type: string, x-mcp-header: To}}}
    answer: done
"""

ADDING = {"name": "add", "arguments": {"a": 1, "b": 2}}


def test_a_request_is_answered_with_json() -> None:
    stage = http_contract(ADD)
    response = stage.ask("tools/call", 7, **ADDING)
    assert (response.status, response.kind) == (200, "application/json")
    assert (response.message["id"], response.message["result"]["resultType"]) == (7, "complete")
    assert "Mcp-Session-Id" not in response.headers
    assert stage.exercised == ["Adds"]


def test_messages_that_belong_to_a_request_turn_its_answer_into_a_stream() -> None:
    stage = http_contract(PROGRESS)
    response = stage.ask("tools/call", meta=envelope() | {"progressToken": "mine"}, name="go")
    assert [id for id, _ in response.events] == ["", ""]
    progress, answer = response.messages
    assert progress["params"]["progressToken"] == "mine"
    assert answer["result"]["resultType"] == "complete"
    assert response.headers["X-Accel-Buffering"] == "no"
    assert response.has_ended()


@pytest.mark.parametrize(
    ("meta", "code"),
    [
        ({}, -32602),
        ({"io.modelcontextprotocol/protocolVersion": STATELESS}, -32602),
        ({"io.modelcontextprotocol/clientCapabilities": {}}, -32602),
        (envelope(5), -32602),
        (envelope() | {"io.modelcontextprotocol/clientCapabilities": []}, -32602),
        (envelope("2025-11-25"), -32020),
    ],
)
def test_an_envelope_that_is_not_whole_is_400(meta: object, code: int) -> None:
    stage = http_contract(ADD)
    response = stage.ask("tools/list", 3, meta=meta or {"x": 1})
    assert (response.status, response.message["error"]["code"]) == (400, code)
    assert response.message["id"] == 3
    assert len(stage.blamed) == 1


def test_a_version_that_is_not_spoken_is_400_and_an_offer() -> None:
    stage = http_contract(ADD)
    message = asking("tools/list", _meta=envelope("1999-01-01"))
    response = stage.post(message, mcp_protocol_version="1999-01-01", mcp_method="tools/list")
    error = response.message["error"]
    assert (response.status, error["code"]) == (400, -32022)
    assert error["data"] == {"supported": [STATELESS], "requested": "1999-01-01"}
    assert stage.blamed == []


def test_headers_that_are_missing_or_differ_are_400() -> None:
    stage = http_contract(ADD)
    message = asking("tools/list", _meta=envelope())
    for headers in (
        {"mcp_method": "tools/list"},
        {"mcp_protocol_version": STATELESS},
        {"mcp_protocol_version": STATELESS, "mcp_method": "tools/call"},
    ):
        response = stage.post(message, **headers)
        assert (response.status, response.message["error"]["code"]) == (400, -32020)
    assert len(stage.blamed) == 3


def test_an_argument_that_a_header_repeats_is_checked_by_the_schema_of_its_tool() -> None:
    stage = http_manifest(HEADERED)
    message = asking("tools/call", name="route", arguments={"to": "eu"}, _meta=envelope())
    headers: dict[str, str | None] = {
        "mcp_protocol_version": STATELESS,
        "mcp_method": "tools/call",
        "mcp_name": "route",
    }
    assert stage.post(message, **headers).status == 400
    assert stage.post(message, **headers, mcp_param_to="us").message["error"]["code"] == -32020
    assert stage.post(message, **headers, mcp_param_to="eu").status == 200


def test_the_schema_of_a_contract_is_the_one_that_it_lists() -> None:
    lists = """
case: Lists
in: {jsonrpc: '2.0', id: 1, method: tools/list}
out: {jsonrpc: '2.0', id: 1, result: {tools: [{name: add, inputSchema:
      {type: object, properties: {a: {type: integer, x-mcp-header: A}}}}]}}
"""
    stage = http_contract(cases(lists, ADD))
    assert stage.ask("tools/call", **ADDING).message["error"]["code"] == -32020
    assert http_contract(ADD).ask("tools/call", **ADDING).status == 200


@pytest.mark.parametrize(
    ("method", "params", "status", "code"),
    [
        ("nope", {}, 404, -32601),
        ("ping", {}, 404, -32601),
        ("initialize", {}, 404, -32601),
        ("logging/setLevel", {"level": "info"}, 404, -32601),
        ("resources/subscribe", {"uri": "x"}, 404, -32601),
        ("subscriptions/listen", {"notifications": {}}, 404, -32601),
        ("tools/call", {"name": "other"}, 400, -32602),
    ],
)
def test_the_status_of_an_error_is_that_of_its_code(
    method: str, params: dict[str, object], status: int, code: int
) -> None:
    response = http_contract(ADD).ask(method, **params)
    assert (response.status, response.message["error"]["code"]) == (status, code)


def test_an_error_that_no_status_is_prescribed_for_is_200() -> None:
    failing = ADD.partition("out:")[0] + "out: {jsonrpc: '2.0', id: 1, error: {code: -5}}\n"
    assert http_contract(failing).ask("tools/call", **ADDING).status == 200


def test_discover_tells_what_there_is() -> None:
    response = http_contract(cases(GROWS, READS)).ask("server/discover")
    result = response.message["result"]
    assert result["supportedVersions"] == [STATELESS]
    assert result["capabilities"] == {"tools": {"listChanged": True}, "resources": {}}
    assert (result["ttlMs"], result["cacheScope"]) == (0, "private")
    assert result["_meta"]["io.modelcontextprotocol/serverInfo"]["name"] == "contract"


def test_discover_without_an_envelope_is_reported_with_what_is_missing() -> None:
    response = http_contract(ADD).post(asking("server/discover"))
    assert (response.status, response.message["error"]["code"]) == (400, -32602)


def test_notifications_are_taken_and_answers_are_not() -> None:
    stage = http_contract(ADD)
    note = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}
    response = stage.post(note, mcp_protocol_version=STATELESS)
    assert (response.status, response.data) == (202, b"")
    assert stage.blamed == []
    answer = {"jsonrpc": "2.0", "id": 1, "result": {}}
    refused = stage.post(answer, mcp_protocol_version=STATELESS)
    assert (refused.status, refused.message["error"]["code"]) == (400, -32600)


@pytest.mark.parametrize("value", [[asking("tools/list", _meta=envelope())], 5, {"id": 1}])
def test_a_message_of_another_era_gets_400(value: object) -> None:
    response = http_contract(ADD).post(value, mcp_protocol_version=STATELESS)
    assert (response.status, response.message["error"]["code"]) == (400, -32600)


def test_a_session_is_neither_created_nor_checked() -> None:
    stage = http_contract(ADD)
    message = asking("tools/list", _meta=envelope())
    response = stage.post(
        message,
        mcp_protocol_version=STATELESS,
        mcp_method="tools/list",
        mcp_session_id="made up",
        last_event_id="0-1",
    )
    assert response.status == 200
    assert stage.get(mcp_session_id="made up", mcp_protocol_version=STATELESS).status == 405


def test_all_such_clients_share_one_state() -> None:
    stage = http_contract(ADD, once=True)
    assert stage.ask("tools/call", **ADDING).status == 200
    assert stage.ask("tools/call", **ADDING).status == 400


# Subscriptions


def listening(**wishes: object) -> dict[str, object]:
    return {"notifications": wishes}


def test_changes_go_to_listeners_only() -> None:
    stage = http_contract(GROWS)
    both = [stage.ask("subscriptions/listen", "l", **listening(toolsListChanged=True))]
    both.append(stage.ask("subscriptions/listen", "l", **listening(toolsListChanged=True)))
    other = stage.ask("subscriptions/listen", "o", **listening(promptsListChanged=True))
    called = stage.ask("tools/call", name="grow")
    assert called.kind == "application/json"
    for response in both:
        acknowledged, changed = response.messages
        meta = {"io.modelcontextprotocol/subscriptionId": "l"}
        assert acknowledged["method"] == "notifications/subscriptions/acknowledged"
        assert acknowledged["params"] == {
            "notifications": {"toolsListChanged": True},
            "_meta": meta,
        }
        assert changed["method"] == "notifications/tools/list_changed"
        assert changed["params"] == {"_meta": meta}
        assert not response.has_ended()
    (acknowledged,) = other.messages
    assert acknowledged["params"]["notifications"] == {}


def test_a_client_that_has_left_gets_nothing_more() -> None:
    stage = http_contract(GROWS)
    response = stage.ask("subscriptions/listen", "l", **listening(toolsListChanged=True))
    stage.leave(response)
    stage.ask("tools/call", name="grow")
    assert len(response.messages) == 1


def test_a_subscription_may_be_for_single_resources() -> None:
    updates = GROWS.replace(
        "notifications/tools/list_changed",
        "notifications/resources/updated, params: {uri: 'note://a/one'}",
    )
    stage = http_contract(updates)
    uris = ["note://a/one", "note://a", "note://b", "note://a/on"]
    streams = [
        stage.ask("subscriptions/listen", uri, **listening(resourceSubscriptions=[uri]))
        for uri in uris
    ]
    stage.ask("tools/call", name="grow")
    assert [len(response.messages) for response in streams] == [2, 2, 1, 1]


@pytest.mark.parametrize("wishes", [None, [], {"resourceSubscriptions": "x"}])
def test_a_subscription_that_makes_no_sense_is_refused(wishes: object) -> None:
    response = http_contract(GROWS).ask("subscriptions/listen", notifications=wishes)
    assert response.message["error"]["code"] == -32602


def test_a_wish_that_there_is_not_is_wrong() -> None:
    stage = http_contract(GROWS)
    stage.ask("subscriptions/listen", **listening(toolListChanged=True))
    assert stage.blamed == ["no subscription has toolListChanged; did you mean toolsListChanged?"]


def test_more_subscriptions_than_can_be_kept_are_refused() -> None:
    stage = http_contract(GROWS)
    streams = [stage.ask("subscriptions/listen", **listening()) for _ in range(101)]
    assert streams[-1].message["error"]["code"] == -32603
    stage.leave(streams[0])
    assert stage.ask("subscriptions/listen", **listening()).kind == "text/event-stream"


def test_a_notification_of_another_version_is_reported_with_what_is_spoken() -> None:
    note = {"jsonrpc": "2.0", "method": "notifications/x", "params": {"_meta": envelope("1999")}}
    response = http_contract(ADD).post(note, mcp_protocol_version="1999")
    assert (response.status, response.message["error"]["code"]) == (400, -32022)
