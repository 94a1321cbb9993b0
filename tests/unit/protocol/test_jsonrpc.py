"""What a message is, and in which ways it can be broken."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from case_tables import each_case
from hypothesis import given
from hypothesis import strategies as st

from mcptest.core.value_class import ABSENT
from mcptest.protocol import jsonrpc

if TYPE_CHECKING:
    from mcptest.protocol.jsonrpc import MessageKind

REQUEST = {"jsonrpc": "2.0", "id": 1, "method": "ping", "params": {}}
NOTIFICATION = {"jsonrpc": "2.0", "method": "notifications/initialized"}
RESULT = {"jsonrpc": "2.0", "id": "a", "result": {}}
ERROR = {"jsonrpc": "2.0", "id": 1, "error": {"code": -32601, "message": "no such method"}}


@each_case(
    ("message", "kind"),
    [
        (REQUEST, "request"),
        (NOTIFICATION, "notification"),
        (RESULT, "response"),
        (ERROR, "response"),
        ({"id": 1}, "response"),
        ({"method": 1, "id": 1}, "request"),
        ({"method": "a", "result": {}}, "notification"),
        ({}, "malformed"),
        ({"jsonrpc": "2.0"}, "malformed"),
        ([], "malformed"),
        ("ping", "malformed"),
        (None, "malformed"),
        (1, "malformed"),
    ],
)
def test_a_message_is_classified_by_its_members(message: object, kind: MessageKind) -> None:
    assert jsonrpc.message_kind(message) == kind


@pytest.mark.parametrize(
    "message",
    [
        REQUEST,
        REQUEST | {"id": "text", "params": [1]},
        {"jsonrpc": "2.0", "id": 0, "method": "ping"},
        NOTIFICATION,
        RESULT,
        RESULT | {"result": None},
        ERROR,
        ERROR | {"id": None},
        {"jsonrpc": "2.0", "error": {"code": 1, "message": "", "data": [1]}},
        RESULT | {"extra": 1},
    ],
)
def test_a_legal_message_has_no_violation(message: dict[str, object]) -> None:
    assert list(jsonrpc.find_violations(message)) == []


MUST_BE_ID = '"id" must be a string or an integer and is'


@each_case(
    ("legal", "changes", "breaches"),
    [
        (RESULT, {"jsonrpc": ABSENT}, [("jsonrpc", '"jsonrpc" must be "2.0" and is missing')]),
        (RESULT, {"jsonrpc": "1.0"}, [("jsonrpc", '"jsonrpc" must be "2.0" and is "1.0"')]),
        (RESULT, {"jsonrpc": 2.0}, [("jsonrpc", '"jsonrpc" must be "2.0" and is 2.0')]),
        (REQUEST, {"method": 5}, [("method", '"method" must be a string and is 5')]),
        (REQUEST, {"method": None}, [("method", '"method" must be a string and is null')]),
        (REQUEST, {"id": None}, [("id", f"{MUST_BE_ID} null")]),
        (REQUEST, {"id": 1.5}, [("id", f"{MUST_BE_ID} 1.5")]),
        (REQUEST, {"id": True}, [("id", f"{MUST_BE_ID} true")]),
        (REQUEST, {"id": {}}, [("id", f"{MUST_BE_ID} {{}}")]),
        (REQUEST, {"params": "x"}, [("params", '"params" must be an object or an array')]),
        (NOTIFICATION, {"params": 1}, [("params", '"params" must be an object or an array')]),
        (
            RESULT,
            {"error": ERROR["error"]},
            [("", 'a response must not carry both "result" and "error"')],
        ),
        (RESULT, {"result": ABSENT}, [("", 'a response must carry "result" or "error"')]),
        (RESULT, {"id": [1]}, [("id", f"{MUST_BE_ID} [1]")]),
        (RESULT, {"id": 1.0}, [("id", f"{MUST_BE_ID} 1.0")]),
        (RESULT, {"id": ABSENT}, [("id", "a result must carry the id of its request")]),
        (RESULT, {"id": None}, [("id", "a result must carry the id of its request")]),
        (ERROR, {"error": "no"}, [("error", '"error" must be an object')]),
        (
            ERROR,
            {"error": {"message": "x"}},
            [("error.code", '"error.code" must be an integer and is missing')],
        ),
        (
            ERROR,
            {"error": {"code": "1", "message": "x"}},
            [("error.code", '"error.code" must be an integer and is "1"')],
        ),
        (
            ERROR,
            {"error": {"code": True, "message": 1}},
            [
                ("error.code", '"error.code" must be an integer and is true'),
                ("error.message", '"error.message" must be a string'),
            ],
        ),
    ],
)
def test_each_change_that_breaks_a_legal_message_is_named(
    legal: dict[str, object], changes: dict[str, object], breaches: list[tuple[str, str]]
) -> None:
    broken = {name: value for name, value in (legal | changes).items() if value is not ABSENT}
    assert list(jsonrpc.find_violations(broken)) == breaches


IDS: list[Any] = [0, 1, 1.0, True, "1", None, "", [1], [1.0], {"a": 1}]


def test_ids_are_equal_only_when_type_and_value_are() -> None:
    keys = [jsonrpc.id_key(id) for id in IDS]
    assert len(set(keys)) == len(IDS)
    assert keys == [jsonrpc.id_key(id) for id in IDS]


def test_messages_are_built_with_and_without_params() -> None:
    assert jsonrpc.request(1, "ping", {}) == REQUEST
    assert jsonrpc.notification("notifications/initialized") == NOTIFICATION
    assert jsonrpc.notification("a", None) == {"jsonrpc": "2.0", "method": "a", "params": None}
    assert jsonrpc.result_response("a", {}) == RESULT
    assert jsonrpc.error_response(1, -32601, "no such method") == ERROR


@pytest.mark.parametrize(("id", "words"), [(1, "id 1"), ("1", 'id "1"'), (ABSENT, "no id")])
def test_an_id_is_described_as_json_writes_it(id: object, words: str) -> None:
    assert jsonrpc.describe_id(id) == words


@given(
    st.dictionaries(
        st.sampled_from(["jsonrpc", "id", "result", "error", "method", "params"]),
        st.sampled_from(["2.0", "1.0", 1, 1.0, True, None, "x", {}, {"code": 1, "message": "m"}]),
    )
)
def test_a_plain_result_is_a_response_without_a_violation(message: dict[str, object]) -> None:
    """The short cut must never let through what the long way refuses."""
    if jsonrpc.is_plain_result(message):
        assert jsonrpc.message_kind(message) == "response"
        assert list(jsonrpc.find_violations(message)) == []
    elif "result" in message:
        is_call = "method" in message
        assert is_call or list(jsonrpc.find_violations(message)) != []
