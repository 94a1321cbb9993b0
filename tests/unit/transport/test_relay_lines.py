"""Which lines of a relayed session are messages, and what is kept of the others."""

from __future__ import annotations

from typing import Any

from mcptest.core.value_class import ABSENT
from mcptest.protocol.jsonrpc import is_message, is_message_or_batch
from mcptest.transport.relay import MessageLines

MESSAGES: list[Any] = [
    {"jsonrpc": "2.0", "id": 1, "method": "ping"},
    {"jsonrpc": "2.0", "method": "notifications/initialized"},
    {"jsonrpc": "2.0", "id": 1, "result": {}},
    {"jsonrpc": "2.0", "id": 1, "error": {}},
    {"jsonrpc": "2.0", "result": {}},
    {"jsonrpc": "2.0", "id": 1},
    {"id": 1, "method": "ping"},
    {"id": 1, "result": {}},
]
OTHERS: list[Any] = [
    {"jsonrpc": "2.0", "id": 1, "method": 5},
    {"jsonrpc": "2.0"},
    {"id": 1, "method": "ping", "level": "info"},
    {"id": 1},
    {"result": {}},
    {"method": 5},
    {},
    5,
    "text",
    None,
]


def test_a_message_has_the_version_or_no_other_members() -> None:
    assert [each for each in (*MESSAGES, *OTHERS) if is_message(each)] == MESSAGES
    assert [each for each in (*MESSAGES, *OTHERS) if is_message_or_batch(each)] == MESSAGES


def test_a_batch_is_a_message_when_all_of_it_is() -> None:
    ping = MESSAGES[0]
    assert is_message_or_batch([ping, ping])
    assert [is_message_or_batch(each) for each in ([], [ping, 5], [ping, [ping]])] == [False] * 3


def lines(*pieces: bytes, limit: int = 10_000, keeps_heads: bool = True) -> list[tuple[Any, str]]:
    side = MessageLines(limit, keeps_heads)
    return [(message, text) for piece in pieces for message, text, _ in side.feed(piece)]


def test_a_message_may_arrive_in_pieces_and_end_in_crlf() -> None:
    assert lines(b'{"jsonrpc":"2.0",', b'"method":"a"}', b"\r\n") == [
        ({"jsonrpc": "2.0", "method": "a"}, "")
    ]


def test_a_line_that_is_not_a_message_is_kept_as_text() -> None:
    assert lines(b"hello\r\n", b"\n", b"42\n", b"\xff\n", b'{"a":1}\n') == [
        (ABSENT, "hello"),
        (ABSENT, "42"),
        (ABSENT, "\\xff"),
        (ABSENT, '{"a":1}'),
    ]


def test_the_head_of_a_long_text_is_kept_with_its_length() -> None:
    assert lines(b"x" * 6000 + b"\n") == [(ABSENT, "x" * 4096 + " … (6,000 bytes in all)")]


def test_where_there_are_secrets_no_text_is_cut_in_two() -> None:
    assert lines(b"x" * 6000 + b"\n", keeps_heads=False) == [(ABSENT, " … (6,000 bytes in all)")]
    assert lines(b"short\n", keeps_heads=False) == [(ABSENT, "short")]


def test_a_line_over_the_limit_is_reported_at_its_end_with_its_length() -> None:
    assert lines(b"[" * 8, b"[" * 8, b"[" * 8, limit=10) == []
    found = lines(b"[" * 8, b"[" * 8, b"[" * 8 + b"\n", b"next\n", limit=10)
    assert found == [(ABSENT, "[[[[[[[[[[ … (24 bytes in all)"), (ABSENT, "next")]


def test_a_line_of_exactly_the_limit_is_read() -> None:
    assert lines(b'{"id":1,"method":"abc"}\n', limit=23) == [({"id": 1, "method": "abc"}, "")]
