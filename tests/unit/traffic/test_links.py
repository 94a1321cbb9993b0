"""Values that the server sends and the client uses again get a name."""

from __future__ import annotations

from typing import Any

import pytest
from traffic_samples import (
    OTHER_UUID,
    UUID,
    call,
    cases_of,
    contract,
    notification,
    request,
    result,
)

HEX = "0123456789abcdef0123"


def exchange(id: int, asked: dict[str, Any], /, **answer: Any) -> list[tuple[str, Any]]:
    return [("in", {**asked, "id": id}), ("out", result(id, **answer))]


def messages(*said: tuple[str, Any], keep_values: bool = False) -> list[dict[str, Any]]:
    """All messages of the contract in order."""
    found = cases_of(contract(*said, keep_values=keep_values).text)
    return [message for case in found.values() for message in case.values()]


def arguments(message: dict[str, Any]) -> Any:
    return message["params"].get("arguments")


LISTED = request(0, "tools/list")


def test_a_cursor_is_bound_where_it_first_occurs_and_used_by_its_name() -> None:
    said = [
        *exchange(1, LISTED, tools=[], nextCursor="2"),
        *exchange(2, request(0, "tools/list", cursor="2"), tools=[], nextCursor="3"),
        *exchange(3, request(0, "tools/list", cursor="3"), tools=[]),
    ]
    found = messages(*said)
    assert [found[1]["result"]["nextCursor"], found[3]["result"]["nextCursor"]] == [
        "!!bind cursor",
        "!!bind cursor_2",
    ]
    assert [found[2]["params"], found[4]["params"]] == [
        {"cursor": "!!ref cursor"},
        {"cursor": "!!ref cursor_2"},
    ]


@pytest.mark.parametrize(
    ("given", "used", "name"),
    [
        ({"id": "note-1"}, {"note_id": "note-1"}, "note_id"),
        ({"noteId": "n1"}, {"id": "n1"}, "note_id"),
        ({"id": 42}, {"noteId": 42}, "note_id"),
        ({"sessionId": "s"}, {"sessionId": "s"}, "session_id"),
        ({"token": "a-b"}, {"token": "a-b"}, "token"),
        ({"what": UUID}, {"which": UUID}, "which"),
        ({"uri": f"note://{UUID}"}, {"uri": f"note://{UUID}"}, "uri"),
        ({"deep": [{"id": HEX}]}, {"list": [HEX]}, "list"),
        ({"id": "x"}, {"id": "x"}, "id"),
    ],
)
def test_a_value_that_is_used_again_gets_a_name(
    given: dict[str, Any], used: dict[str, Any], name: str
) -> None:
    found = messages(*exchange(1, call(0), **given), *exchange(2, call(0, **used)))
    assert f"!!bind {name}" in str(found[1])
    assert f"!!ref {name}" in str(arguments(found[2]))


@pytest.mark.parametrize(
    ("given", "used"),
    [
        ({"name": "echo"}, {"name": "echo"}),
        ({"id": 1}, {"limit": 1}),
        ({"count": 3}, {"id": 3}),
        ({"id": "1"}, {"id": 1}),
        ({"id": True}, {"id": True}),
        ({"id": ""}, {"id": ""}),
        ({"id": None}, {"id": None}),
        ({"inputSchema": {"id": "x"}}, {"id": "x"}),
    ],
)
def test_a_value_that_only_happens_to_be_the_same_stays(
    given: dict[str, Any], used: dict[str, Any]
) -> None:
    found = messages(*exchange(1, call(0), **given), *exchange(2, call(0, **used)))
    assert found[1]["result"] == given
    assert arguments(found[2]) == used


def test_values_that_the_client_sent_first_stay_literal() -> None:
    said = [*exchange(1, call(0, id=UUID), id=UUID), *exchange(2, call(0, id=UUID), id=UUID)]
    assert all(UUID in str(message) for message in messages(*said))


def test_a_bound_value_is_referred_to_by_its_name_in_later_answers_too() -> None:
    said = [
        *exchange(1, call(0), id="n1"),
        *exchange(2, call(0, id="n1"), id="n1", name="n1", text="n1 is there"),
    ]
    assert messages(*said)[3]["result"] == {"id": "!!ref id", "name": "n1", "text": "n1 is there"}


def test_it_is_bound_where_it_first_is_a_whole_value() -> None:
    said = [
        *exchange(1, call(0), text=f"made {UUID}", structuredContent={"id": UUID}, again=UUID),
        *exchange(2, call(0, id=UUID)),
    ]
    answer = messages(*said)[1]["result"]
    assert answer["structuredContent"] == {"id": "!!bind id"}
    assert answer["text"].startswith("!!ere made /")
    assert answer["again"].startswith("!!re ^")


def test_values_in_skipped_cases_are_bound_to_nothing() -> None:
    lost = [("in", [call(1), call(2)]), ("out", result(1, id=UUID))]
    assert "!!ref" not in contract(*lost, *exchange(3, call(0, id=UUID))).text


def test_a_value_from_inside_a_longer_string_is_sent_literally_and_reported() -> None:
    said = [*exchange(1, call(0), text=f"made {UUID}"), *exchange(2, call(0, id=UUID))]
    made = contract(*said)
    assert made.notes == (
        f"tools/call get_time (2): the client sends {UUID}, which the server sent inside a "
        "longer string; it is sent again as it is",
    )
    assert arguments(messages(*said)[2]) == {"id": UUID}


def test_values_that_the_server_only_repeated_are_not_reported() -> None:
    said = [*exchange(1, call(0, id=UUID), text=f"made {UUID}"), *exchange(2, call(0, id=UUID))]
    assert contract(*said).notes == ()


def test_kept_values_get_no_names() -> None:
    said = [*exchange(1, call(0), id=UUID), *exchange(2, call(0, id=UUID))]
    found = messages(*said, keep_values=True)
    assert (found[1]["result"], arguments(found[2])) == ({"id": UUID}, {"id": UUID})


# The server's own requests


def test_the_id_of_a_servers_request_is_bound_and_used_in_the_answer() -> None:
    said = [
        ("in", call(1)),
        ("out", request(1, "sampling/createMessage")),
        ("in", result(1)),
        ("out", request("x", "sampling/createMessage")),
        ("in", result("x")),
        ("out", result(1)),
    ]
    assert [message["id"] for message in messages(*said)] == [
        1,
        "!!bind sampling_id",
        "!!ref sampling_id",
        "!!bind sampling_id_2",
        "!!ref sampling_id_2",
        1,
    ]
    assert [message["id"] for message in messages(*said, keep_values=True)][
        1
    ] == "!!bind sampling_id"


def test_the_id_of_a_request_that_the_client_did_not_answer_is_any() -> None:
    said = [("in", call(1)), ("out", request(1, "roots/list")), ("out", result(1))]
    assert messages(*said)[1]["id"] == "!!any"


def test_a_cancellation_by_the_server_refers_to_its_request_by_name() -> None:
    said = [
        ("in", call(1)),
        ("out", request(7, "roots/list")),
        ("out", notification("notifications/cancelled", requestId=7)),
        ("out", notification("notifications/cancelled", requestId=8)),
        ("in", result(7)),
        ("out", result(1)),
    ]
    found = messages(*said)
    assert [found[2]["params"], found[3]["params"]] == [
        {"requestId": "!!ref roots_id"},
        {"requestId": "!!any"},
    ]


def test_a_progress_token_of_the_client_stays_and_any_other_is_any() -> None:
    asked = request(1, "tools/call", name="a", _meta={"progressToken": 5})
    said = [
        ("in", asked),
        ("out", notification("notifications/progress", progressToken=5, progress=1)),
        ("out", notification("notifications/progress", progressToken="other", progress=1)),
        ("out", result(1)),
    ]
    found = messages(*said)
    assert found[1]["params"] == {"progressToken": 5, "progress": 1}
    assert found[2]["params"] == {"progressToken": "!!any", "progress": 1}


def test_a_progress_token_of_the_server_is_bound_when_the_client_uses_it() -> None:
    asks = request(7, "sampling/createMessage", _meta={"progressToken": OTHER_UUID})
    quiet = request(8, "sampling/createMessage", _meta={"progressToken": 9})
    said = [
        ("in", call(1)),
        ("out", asks),
        ("in", notification("notifications/progress", progressToken=OTHER_UUID, progress=1)),
        ("in", notification("notifications/progress", progressToken="unknown", progress=1)),
        ("in", result(7)),
        ("out", quiet),
        ("in", result(8)),
        ("out", result(1)),
    ]
    found = messages(*said)
    assert found[1]["params"]["_meta"] == {"progressToken": "!!bind progress_token"}
    assert found[2]["params"]["progressToken"] == "!!ref progress_token"
    assert found[3]["params"]["progressToken"] == "unknown"
    assert found[5]["params"]["_meta"] == {"progressToken": "!!any"}
