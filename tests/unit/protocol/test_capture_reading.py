"""A capture is read session by session, from a stream or a document, with its messages in order."""

from __future__ import annotations

import json
from typing import Any

import pytest
from case_tables import each_case

from mcptest.core.errors import FormatError
from mcptest.protocol.capture import MessageOrder, read_capture, walk_capture

FILE = "session.json"


def request(id: int) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id, "method": "ping"}


def result(id: int) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id, "result": {}}


def numbered(id: int, sent: int, answered: int) -> dict[str, Any]:
    order = {"request": sent, "response": answered}
    return {"request": request(id), "response": result(id), "order": order}


def pieces(text: str, size: int = 7) -> Any:
    parts = iter([text[at : at + size] for at in range(0, len(text), size)])
    return lambda: next(parts, "")


def streamed(text: str, **options: Any) -> list[list[tuple[str, Any]]]:
    return [list(session) for session in read_capture(pieces(text), FILE, **options)]


def walked(value: Any) -> list[list[tuple[str, Any]]]:
    return [list(session) for session in walk_capture(value, FILE)]


def in_order(*exchanges: dict[str, Any], pairs_replies: bool = False) -> list[tuple[str, Any]]:
    order = MessageOrder(pairs_replies=pairs_replies)
    messages = [message for each in exchanges for message in order.add(each)]
    return [(each.member, each.value) for each in (*messages, *order.finish())]


def test_members_and_exchanges_of_each_session_are_read() -> None:
    one = {"server_label": "a", "exchanges": [{"request": request(1)}], "own": [1]}
    two = {"server_label": "b", "exchanges": []}
    first, second = streamed(json.dumps([one, two]))
    assert first == [("server_label", "a"), ("exchange", one["exchanges"][0]), ("own", [1])]
    assert second == [("server_label", "b")]
    assert [sorted(map(str, each)) for each in walked([one, two])] == [
        sorted(map(str, each)) for each in (first, second)
    ]


def test_the_unread_rest_of_a_session_is_skipped() -> None:
    session = {"exchanges": [{"request": request(1)}, {"request": request(2)}]}
    sessions = read_capture(pieces(json.dumps([session, session])), FILE)
    assert [next(each)[1]["request"]["id"] for each in sessions] == [1, 1]


def test_a_long_capture_is_read_while_it_is_written() -> None:
    exchange = json.dumps(numbered(1, 1, 2))
    sent: list[str] = []

    def read() -> str:
        sent.append('{"exchanges": [' if not sent else f"{exchange}, ")
        return sent[-1]

    (session,) = [next(read_capture(read, FILE))]
    taken = [next(session) for _ in range(1_000)]
    assert len(taken) == 1_000
    assert len(sent) < 1_100


@each_case(
    ("value", "code", "message"),
    [
        (5, "F008", "a capture must be an object"),
        ([5], "F008", "[0] must be an object"),
        ({"server_label": "x"}, "F007", 'the session has no "exchanges"'),
        ([{"exchanges": []}, {}], "F007", '[1] has no "exchanges"'),
        ({"exchanges": {}}, "F008", "exchanges must be an array"),
        ({"exchanges": [5]}, "F008", "exchanges[0] must be an object and is a number"),
        ({"exchanges": [{"response": {}}]}, "F007", 'exchanges[0] has no "request"'),
        ([{"exchanges": [{}]}], "F007", '[0].exchanges[0] has no "request"'),
        (
            {"exchanges": [{"request": None}]},
            "F008",
            "exchanges[0].request must be an object and is null",
        ),
        (
            {"exchanges": [{"request": {}, "response": "x"}]},
            "F008",
            "exchanges[0].response must be an object and is a string",
        ),
        (
            {"exchanges": [{"request": {}, "replies": {}}]},
            "F008",
            "exchanges[0].replies must be an array and is an object",
        ),
        (
            {"prologue": [], "exchanges": []},
            "F008",
            "prologue must be an object and is an array",
        ),
        (
            {"prologue": {"noise": 1.5}, "exchanges": []},
            "F008",
            "prologue.noise must be an array and is a number",
        ),
        (
            {"server_label": True, "exchanges": []},
            "F008",
            "server_label must be a string and is a boolean",
        ),
        (
            {"server_capabilities": [], "exchanges": []},
            "F008",
            "server_capabilities must be an object or null and is an array",
        ),
    ],
)
def test_a_mistake_is_reported_alike_in_streams_and_documents(
    value: Any, code: str, message: str
) -> None:
    with pytest.raises(FormatError) as in_stream:
        streamed(json.dumps(value))
    with pytest.raises(FormatError) as in_document:
        walked(value)
    for caught in (in_stream, in_document):
        (found,) = caught.value.diagnostics
        assert (found.code, found.file) == (code, FILE)
        assert found.message.startswith(message)
        assert found.help
    assert in_stream.value.diagnostics[0].line == 1


def test_other_members_may_be_required() -> None:
    with pytest.raises(FormatError) as caught:
        streamed('{"exchanges": []}', required=("server_label", "exchanges"))
    assert caught.value.diagnostics[0].message == 'the session has no "server_label"'


@pytest.mark.parametrize(
    ("text", "code", "place"),
    [
        ("", "F005", (1, 1)),
        ("[]", "F011", (1, 3)),
        ("{", "F002", (1, 2)),
        ('{"exchanges": []} x', "F002", (1, 19)),
        ('{"exchanges": [],\n}', "F002", (2, 1)),
        ('{"exchanges": [], "exchanges": []}', "F003", (1, 34)),
        ('{"server_label": "x",\n "exchanges": [{"request": 3}]}', "F008", (2, 16)),
    ],
)
def test_a_mistake_in_a_stream_has_its_place(text: str, code: str, place: tuple[int, int]) -> None:
    with pytest.raises(FormatError) as caught:
        streamed(text)
    (found,) = caught.value.diagnostics
    assert (found.code, (found.line, found.column)) == (code, place)


def test_messages_are_ordered_by_their_numbers() -> None:
    found = in_order(numbered(1, 1, 4), numbered(2, 2, 3), numbered(3, 5, 6))
    assert [value["id"] for _, value in found] == [1, 2, 2, 1, 3, 3]


def test_a_message_is_returned_as_soon_as_no_other_can_precede_it() -> None:
    order = MessageOrder()
    assert list(order.add(numbered(1, 1, 3))) == []
    assert [each.order for each in order.add(numbered(2, 2, 4))] == [1]
    assert [each.order for each in order.add(numbered(3, 5, 6))] == [2, 3, 4]
    assert [each.order for each in order.finish()] == [5, 6]


@pytest.mark.slow
def test_few_messages_are_held_back_whatever_their_numbers_are() -> None:
    order = MessageOrder()
    held = 0
    for number in range(30_000):
        late = {"request": {}, "noise": ["x"], "order": {"noise": [10**9 - number]}}
        held += 2 - len(list(order.add(late)))
    assert held <= 20_000


def test_without_numbers_messages_are_in_the_order_of_the_file() -> None:
    asked, answered = [request(7), request(8)], [result(7), result(8)]
    exchange = {
        "response": result(1),
        "noise": ["x"],
        "replies": answered,
        "server_messages": asked,
        "request": request(1),
    }
    members = [member for member, _ in in_order(exchange)]
    assert members == ["request", *["server_messages"] * 2, *["replies"] * 2, "noise", "response"]
    paired = in_order(exchange, pairs_replies=True)[1:5]
    assert [value["id"] for _, value in paired] == [7, 7, 8, 8]


def test_a_message_has_what_the_capture_notes_about_it() -> None:
    order = MessageOrder()
    prologue = {"noise": ["a", "b"], "order": {"noise": [1]}}
    exchange = {
        "request": request(1),
        "http": {"request": {"status": 200}},
        "order": {"request": 2},
    }
    messages = [*order.add(prologue, is_prologue=True), *order.add(exchange), *order.finish()]
    assert [(each.exchange, each.order, each.http) for each in messages] == [
        (-1, 1, {}),
        (-1, None, {}),
        (0, 2, {"status": 200}),
    ]
    assert [each.is_from_client for each in messages] == [False, False, True]
