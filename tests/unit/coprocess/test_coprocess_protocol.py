"""What a line of an SDK means: a request, or the error that answers it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from mcptest.coprocess.protocol import (
    CONNECTION_METHODS,
    COPROCESS_PROTOCOL_VERSION,
    RefusedError,
    Request,
    describe_version_mismatch,
    encode_error,
    encode_result,
    read_request,
)
from mcptest.protocol.framing import LineDecoder


def read(line: str | bytes, limit: int = 1 << 20) -> Request:
    raw = line if isinstance(line, bytes) else line.encode()
    (item,) = LineDecoder(limit).feed(raw + b"\n")
    return read_request(item, CONNECTION_METHODS)


def refused(line: str | bytes, limit: int = 1 << 20) -> RefusedError:
    with pytest.raises(RefusedError) as caught:
        read(line, limit)
    return caught.value


def envelope(**members: Any) -> str:
    return json.dumps({"jsonrpc": "2.0", "id": 7, "method": "mcp.listTools"} | members)


# Requests


def test_a_request_has_its_id_method_and_params() -> None:
    line = envelope(method="mcp.call", params={"tool": "add", "arguments": {"a": 1}})
    params = {"tool": "add", "arguments": {"a": 1}}
    assert read(line) == Request(id=7, method="mcp.call", params=params)


def test_params_may_be_left_out_or_empty_where_none_are_needed() -> None:
    assert read(envelope()).params == {}
    assert read(envelope(params={})).params == {}


def test_members_may_be_in_any_order_with_spaces_and_a_carriage_return() -> None:
    line = ' { "method" : "mcp.shutdown" , "id" : "a" , "jsonrpc" : "2.0" } \r'
    assert read(line) == Request(id="a", method="mcp.shutdown", params={})


@pytest.mark.parametrize(
    "written", ["0", "-1", "1.5", "1e2", '"a"', '""', '"1"', str(10**40), '"\\u00fc"']
)
def test_an_id_is_any_number_or_string_and_is_returned_unchanged(written: str) -> None:
    request = read(f'{{"jsonrpc":"2.0","id":{written},"method":"mcp.shutdown"}}')
    back = json.loads(encode_result(request.id, {}))["id"]
    assert (back, type(back)) == (json.loads(written), type(json.loads(written)))


# Lines that cannot be read


@pytest.mark.parametrize(
    ("line", "why"),
    [
        (b"hello", "it does not begin like JSON"),
        (b'{"jsonrpc":"2.0","id":1,', "expecting property name"),
        (b'{"jsonrpc":"2.0","id":1,"id":2,"method":"mcp.shutdown"}', '"id" occurs twice'),
        (b'{"jsonrpc":"2.0","id":NaN,"method":"mcp.shutdown"}', "NaN is not JSON"),
        (b'{"jsonrpc":"2.0","id":"\xff","method":"mcp.shutdown"}', "not valid UTF-8"),
        (b"\xef\xbb\xbf{}", "byte order mark"),
        (b"Content-Length: 3", "LSP"),
        (b"[" * 300 + b"]" * 300, "nested deeper"),
    ],
)
def test_an_unreadable_line_is_a_parse_error_without_an_id(line: bytes, why: str) -> None:
    error = refused(line)
    assert (error.code, error.id) == (-32700, None)
    assert error.message.startswith("the line cannot be read: ")
    assert why in error.message


def test_a_line_that_is_too_long_is_a_parse_error_that_says_the_limit() -> None:
    error = refused(envelope(), limit=10)
    assert (error.code, error.id) == (-32700, None)
    assert error.message == "the line cannot be read: it has more than 10 bytes"


# The envelope


@pytest.mark.parametrize("line", ["null", "1", '"x"', "true"])
def test_only_an_object_is_a_request(line: str) -> None:
    error = refused(line)
    assert (error.code, error.id) == (-32600, None)
    assert "one object on a line" in error.message


@pytest.mark.parametrize("line", ["[]", f"[{envelope()}]", f"[{envelope()},{envelope()}]"])
def test_a_batch_is_refused_with_the_way_out(line: str) -> None:
    error = refused(line)
    assert (error.code, error.id) == (-32600, None)
    assert error.message.endswith("send a batch as its requests, one on a line")


@pytest.mark.parametrize("name", ["trace", "Id", "result", "jsonrpc ", ""])
def test_an_undeclared_member_is_refused_by_its_name(name: str) -> None:
    error = refused(envelope(**{name: 1}))
    assert (error.code, error.id) == (-32600, 7)
    assert error.message == (
        f'a request has no member "{name}": it has jsonrpc, id, method, params, and no others'
    )


@pytest.mark.parametrize("version", ["1.0", 2.0, 2, "2", None, ["2.0"]])
def test_another_jsonrpc_version_is_refused(version: object) -> None:
    error = refused(envelope(jsonrpc=version))
    assert (error.code, error.id, error.message) == (
        *(-32600, 7),
        'a request says "jsonrpc": "2.0"',
    )


def test_no_jsonrpc_version_is_refused() -> None:
    assert refused('{"id":"a","method":"mcp.shutdown"}').id == "a"


def test_a_notification_is_refused() -> None:
    error = refused('{"jsonrpc":"2.0","method":"mcp.shutdown"}')
    assert (error.code, error.id) == (-32600, None)
    assert error.message == 'a request has an "id": there are no notifications on this channel'


@pytest.mark.parametrize(
    ("id", "seen"), [(None, "null"), (True, "a boolean"), ([1], "an array"), ({}, "an object")]
)
def test_an_id_of_another_type_is_refused_and_not_echoed(id: object, seen: str) -> None:
    error = refused(envelope(id=id))
    assert (error.code, error.id) == (-32600, None)
    assert error.message == f'a request has an "id" that is a number or a string, not {seen}'


@pytest.mark.parametrize(("method", "seen"), [(1, "a number"), (None, "null"), ([], "an array")])
def test_a_method_that_is_not_a_string_is_refused(method: object, seen: str) -> None:
    error = refused(envelope(method=method))
    assert (error.code, error.id) == (-32600, 7)
    assert error.message == f'a request has a "method" that is a string, not {seen}'


def test_a_request_without_a_method_is_refused() -> None:
    error = refused('{"jsonrpc":"2.0","id":7}')
    assert (error.code, error.id) == (-32600, 7)
    assert error.message.endswith("not nothing")


# Methods


@pytest.mark.parametrize(
    ("method", "message"),
    [
        ("mcp.cal", 'there is no method "mcp.cal"; did you mean mcp.call?'),
        ("MCP.CALL", 'there is no method "MCP.CALL"; did you mean mcp.call?'),
        ("tools/call", 'there is no method "tools/call"'),
        ("", 'there is no method ""'),
        ("mcp.\x1b[2J", 'there is no method "mcp.\\u001b[2J"'),
    ],
)
def test_an_unknown_method_is_refused_with_what_was_meant(method: str, message: str) -> None:
    error = refused(envelope(method=method))
    assert (error.code, error.id, error.message) == (-32601, 7, message)


def test_a_name_of_enormous_length_is_quoted_in_part() -> None:
    for line in (envelope(method="m" * 100_000), envelope(**{"k" * 100_000: 1})):
        assert len(refused(line).message) < 300


def test_an_unknown_method_is_reported_before_its_params() -> None:
    assert refused(envelope(method="mcp.nothing", params=7)).code == -32601


# Versions


def test_the_same_version_is_not_a_mismatch() -> None:
    assert (
        describe_version_mismatch({"protocol_version": COPROCESS_PROTOCOL_VERSION, "sdk": "rust"})
        == ""
    )


@pytest.mark.parametrize("params", [{}, {"sdk": ""}])
def test_an_sdk_without_a_name_is_just_the_sdk(params: dict[str, Any]) -> None:
    assert describe_version_mismatch({"protocol_version": 1, **params}) == (
        "coprocess protocol version mismatch: this mcptest binary speaks v2, the SDK sent v1. "
        "Upgrade the SDK (or pin the mcptest binary to the matching release)."
    )


def test_a_hostile_name_and_version_stay_short_and_visible() -> None:
    hostile = {"protocol_version": -(10**4000), "sdk": "\x1b[2J" * 1000}
    message = describe_version_mismatch(hostile)
    assert len(message) < 400
    assert "\x1b" not in message


# Answers


def test_an_answer_is_one_line_of_utf_8() -> None:
    line = encode_result("ä", {"text": "ü\n\u2028"})
    assert line == '{"jsonrpc":"2.0","id":"ä","result":{"text":"ü\\n\u2028"}}\n'.encode()


def test_a_refusal_has_data_only_when_there_is_some() -> None:
    without = json.loads(encode_error(RefusedError(-32602, "no")))
    assert without == {"jsonrpc": "2.0", "id": None, "error": {"code": -32602, "message": "no"}}
    with_null = json.loads(encode_error(RefusedError(-32000, "no", None, id=3)))
    assert with_null["error"] == {"code": -32000, "message": "no", "data": None}
    assert with_null["id"] == 3


def test_half_a_surrogate_pair_travels_as_an_escape() -> None:
    request = read('{"jsonrpc":"2.0","id":"\\ud800","method":"mcp.shutdown"}')
    assert encode_result(request.id, {}) == b'{"jsonrpc":"2.0","id":"\\ud800","result":{}}\n'
