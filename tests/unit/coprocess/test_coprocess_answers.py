"""Every line of ours is one that an SDK reads: not too large, and not nested too deep."""

from __future__ import annotations

import json
from typing import Any

import pytest

from mcptest.coprocess.protocol import UPSTREAM_ERROR, RefusedError, encode_error, encode_result
from mcptest.core.strict_json import MAX_DEPTH, parse_json

# What an SDK allows for the envelope, on top of the longest line of a server.
AROUND = 64 * 1024


def nested(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


def read(line: bytes) -> Any:
    """As an SDK reads it."""
    assert line.endswith(b"\n")
    return parse_json(line.decode("utf-8"))


def refused(result: object, limit: int) -> RefusedError:
    with pytest.raises(RefusedError) as caught:
        encode_result(7, result, limit)
    return caught.value


# Results


def test_an_answer_may_be_a_little_larger_than_a_line_of_the_server() -> None:
    limit = 1000
    around = len(encode_result(7, {"text": ""}, limit)) - 1
    fits = {"text": "x" * (limit + AROUND - around)}
    assert len(encode_result(7, fits, limit)) - 1 == limit + AROUND
    fits["text"] += "x"
    assert refused(fits, limit).code == UPSTREAM_ERROR


def test_a_result_at_the_limit_of_depth_is_passed_on_and_one_beyond_it_is_not() -> None:
    deepest = nested(MAX_DEPTH - 1)
    assert read(encode_result(7, deepest))["result"] == deepest
    error = refused(nested(MAX_DEPTH), 1 << 20)
    assert error.message.endswith("is nested deeper than 200 levels when it is passed on")


def test_many_brackets_are_not_deep() -> None:
    wide: list[Any] = [[] for _ in range(1000)]
    assert read(encode_result(7, wide))["result"] == wide


# Errors of the server


def server_error(data: object, message: str = "no") -> RefusedError:
    said = {"code": -5, "message": message, "data": data}
    return RefusedError(UPSTREAM_ERROR, "the server refused tools/call: no", said, id=7)


def test_the_data_of_an_error_is_passed_on_as_deep_as_it_can_be() -> None:
    error = server_error(nested(MAX_DEPTH - 3))
    assert read(encode_error(error))["error"]["data"] == error.data


def test_data_that_grows_too_large_is_left_out_and_reported() -> None:
    body = read(encode_error(server_error([1e9] * 10_000), 50_000))["error"]
    assert "(its data is left out: it has 130," in body["message"]
    assert body["data"] == {"code": -5, "message": "no"}


def test_where_all_of_it_is_too_much_only_the_sentence_is_left() -> None:
    body = read(encode_error(server_error(1, message="x" * 200_000), 50_000))["error"]
    assert list(body) == ["code", "message"]
    other = RefusedError(UPSTREAM_ERROR, "y" * 200_000, [1], id=7)
    body = read(encode_error(other, 50_000))["error"]
    assert list(body) == ["code", "message"]
    assert len(json.dumps(body)) < 5000
