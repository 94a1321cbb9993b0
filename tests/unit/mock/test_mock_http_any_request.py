"""Any request over HTTP: nothing breaks, and every request is answered once."""

from __future__ import annotations

import json
from typing import Any

import pytest
from http_stage import BOTH, STATELESS, envelope, head, http_contract
from hypothesis import given, settings
from hypothesis import strategies as st
from stage import a_case, cases

CONTRACT = cases(
    a_case("Adds", "{name: add, arguments: {a: !!any}}", "three"),
    """
case: Asks
in: {jsonrpc: '2.0', id: 1, method: tools/call, params: {name: ask}}
out_log: {jsonrpc: '2.0', method: notifications/message, params: {level: info, data: wait}}
out_question: {jsonrpc: '2.0', id: q, method: elicitation/create, params: {message: Who?}}
in_answer: {jsonrpc: '2.0', id: q, result: {action: !!any}}
out: {jsonrpc: '2.0', id: 1, result: {content: []}}
out_changed: {jsonrpc: '2.0', method: notifications/tools/list_changed}
""",
)

ANY_VALUE = st.none() | st.booleans() | st.integers() | st.sampled_from(["add", "ask", "q", "", []])
META = st.sampled_from(
    [
        None,
        {},
        envelope(),
        envelope(STATELESS, "elicitation", logLevel="debug"),
        envelope("1999-01-01"),
        {"progressToken": 1},
    ]
)
PARAMS = st.fixed_dictionaries(
    {},
    optional={
        "_meta": META,
        "name": ANY_VALUE,
        "arguments": st.sampled_from([{}, {"a": 1}, [], None]),
        "inputResponses": st.sampled_from([{"q": {"action": "accept"}}, {}, 5]),
        "requestState": ANY_VALUE,
        "notifications": st.sampled_from([{}, {"toolsListChanged": True}, 5]),
        "protocolVersion": st.sampled_from(["2025-03-26", "2025-11-25", 5]),
    },
)
METHODS = st.sampled_from(
    [
        "initialize",
        "notifications/initialized",
        "notifications/cancelled",
        "ping",
        "server/discover",
        "subscriptions/listen",
        "tools/list",
        "tools/call",
        "nope",
    ]
)
ASKING = st.fixed_dictionaries(
    {"jsonrpc": st.just("2.0"), "method": METHODS}, optional={"id": ANY_VALUE, "params": PARAMS}
)
ANSWERS = st.fixed_dictionaries(
    {"jsonrpc": st.just("2.0"), "id": ANY_VALUE, "result": st.just({"action": "accept"})}
)
MESSAGES = ASKING | ANSWERS | ANY_VALUE
BODIES = (MESSAGES | st.lists(MESSAGES, max_size=3)).map(lambda value: json.dumps(value).encode())
HEADERS = st.fixed_dictionaries(
    {"host": st.sampled_from(["127.0.0.1:8000", "127.0.0.1:8000", "evil"])},
    optional={
        "mcp_session_id": st.sampled_from(["session-1", "session-2", ""]),
        "mcp_protocol_version": st.sampled_from(["2025-11-25", STATELESS, "1999-01-01"]),
        "mcp_method": METHODS,
        "mcp_name": st.sampled_from(["add", "ask"]),
        "last_event_id": st.sampled_from(["0-0", "1-1", "2-1", "x"]),
        "accept": st.sampled_from([BOTH, BOTH, "text/event-stream"]),
    },
)
REQUESTS = st.tuples(
    st.sampled_from(["POST", "POST", "POST", "POST", "GET", "DELETE", "PUT"]),
    HEADERS,
    BODIES | st.binary(max_size=5),
    st.booleans(),
)


@pytest.mark.long
@pytest.mark.slow
@settings(deadline=None)
@given(st.lists(REQUESTS, max_size=12))
def test_every_request_is_answered_once_or_waits_for_the_client(requests: list[Any]) -> None:
    stage = http_contract(CONTRACT)
    opening = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {}}
    session = stage.post(opening).headers["Mcp-Session-Id"]
    assert session == "session-1"
    for method, headers, body, leaves in requests:
        response = stage.send(head(method, **headers).but(body=body))
        # A stream may stay open; that nothing follows its end is checked as it happens.
        assert response.status in (200, 202, 204, 400, 403, 404, 405, 406, 409)
        if response.status >= 400:
            assert response.has_ended()
            assert "error" in response.message
        if leaves and not response.has_ended():
            stage.leave(response)
    assert len(stage.report.cases) == 2
