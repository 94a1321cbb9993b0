"""Two recordings of one conversation: what differs varies."""

from __future__ import annotations

from typing import Any

import pytest
from traffic_samples import HANDSHAKE, OTHER_UUID, UUID, call, cases_of, log, result, told

from mcptest.core.errors import FormatError
from mcptest.traffic.contract import Contract, build_contract
from mcptest.traffic.reading import read_recording

Said = list[tuple[str, Any]]


def laid(*conversations: Said) -> Contract:
    files = [f"{letter}.ndjson" for letter in "abc"]
    recordings = [
        read_recording(log(*said), file) for file, said in zip(files, conversations, strict=False)
    ]
    return build_contract(recordings)


def answered(value: Any, id: int = 2) -> Said:
    return [*HANDSHAKE, ("in", call(id)), ("out", result(id, value=value))]


def value_of(made: Contract) -> Any:
    return cases_of(made.text)["tools/call get_time"]["out"]["result"].get("value", "nothing")


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        (1, 2, "!!type number"),
        ("a", "b", "!!type string"),
        (True, False, "!!type boolean"),
        (1, "1", "!!any"),
        (None, 1, "!!any"),
        ([1], {"a": 1}, "!!any"),
        ([1, 2], [1, 3], [1, "!!type number"]),
        ([1], [1, 2], "!!type array"),
        ({"a": 1, "b": 2}, {"a": 1, "c": 2}, {"a": 1}),
        (1, 1.0, 1),
        ("a", "a", "a"),
        ("12:34:56", "12:35:01", r"!!re ^\d{1,2}:\d{2}:\d{2}(?:[.,]\d+)?$"),
        ("12:34:56", "12:34:56", r"!!re ^\d{1,2}:\d{2}:\d{2}(?:[.,]\d+)?$"),
        ("12:34:56", "noon", "!!type string"),
    ],
)
def test_what_differs_between_two_recordings_becomes_a_tag(
    one: Any, other: Any, expected: Any
) -> None:
    assert value_of(laid(answered(one), answered(other))) == expected


def test_a_third_recording_counts_as_well() -> None:
    assert value_of(laid(answered(1), answered(1), answered(2))) == "!!type number"


def test_ids_of_the_client_may_differ_and_are_those_of_the_first() -> None:
    made = laid(answered("a", id=2), answered("a", id=12))
    assert [each["id"] for each in cases_of(made.text)["tools/call get_time"].values()] == [2, 2]
    assert made.notes == ()


def test_a_value_that_differs_and_is_used_again_is_bound_whatever_it_looks_like() -> None:
    def conversation(name: str) -> Said:
        said = answered({"room": name})
        return [*said, ("in", call(3, "enter", where=name)), ("out", result(3, room=name))]

    found = cases_of(laid(conversation("red"), conversation("blue")).text)
    assert found["tools/call get_time"]["out"]["result"]["value"] == {"room": "!!bind where"}
    assert found["tools/call enter"]["in"]["params"]["arguments"] == {"where": "!!ref where"}
    assert found["tools/call enter"]["out"]["result"] == {"room": "!!ref where"}


def test_a_value_that_the_client_sends_differently_is_told() -> None:
    def conversation(value: str) -> Said:
        return [("in", call(2, seed=value)), ("out", result(2))]

    made = laid(conversation("a"), conversation("b"))
    assert made.notes == (
        "tools/call get_time: params.arguments.seed differs between the recordings; the first "
        "one's is sent",
    )


def test_an_argument_that_one_recording_lacks_is_sent() -> None:
    made = laid([("in", call(2, a=1)), ("out", result(2))], [("in", call(2)), ("out", result(2))])
    assert cases_of(made.text)["tools/call get_time"]["in"]["params"]["arguments"] == {"a": 1}
    assert made.notes == ()


def test_a_secret_is_hidden_in_all_of_them() -> None:
    made = laid(answered({"password": "a1234"}), answered({"password": "b1234"}))
    assert value_of(made) == {"password": "!!any"}


def test_tokens_and_ids_of_the_server_may_differ() -> None:
    def conversation(token: Any) -> Said:
        asked = call(2) | {"params": {"name": "a", "_meta": {"progressToken": token}}}
        progress = told("notifications/progress", progressToken=token, progress=1)
        return [("in", asked), ("out", progress), ("out", result(2))]

    made = laid(conversation(1), conversation(7))
    assert cases_of(made.text)["tools/call a"]["out_progress"]["params"]["progressToken"] == 1
    assert made.notes == ()


@pytest.mark.parametrize(
    ("one", "other", "message"),
    [
        (
            [("in", call(2)), ("out", result(2))],
            [("in", call(2)), ("out", told("notifications/message")), ("out", result(2))],
            "message 2 is the server's notification notifications/message, and the server's "
            "result there",
        ),
        (
            [("in", call(2)), ("out", result(2))],
            [("in", call(2))],
            "message 2 is the end of session 1, and the server's result there",
        ),
        (
            [*HANDSHAKE],
            [*HANDSHAKE, *HANDSHAKE],
            "message 5 is the client's request initialize, and the end of the recording there",
        ),
    ],
)
def test_another_conversation_is_refused_with_the_first_difference(
    one: Said, other: Said, message: str
) -> None:
    with pytest.raises(FormatError) as caught:
        laid(one, other)
    (found,) = caught.value.diagnostics
    assert (found.code, found.file) == ("F005", "b.ndjson")
    assert found.message == (
        f"this recording does not hold the same conversation as a.ndjson: {message}"
    )
    assert "record the same steps again" in found.help


def test_two_recordings_that_are_the_same_are_one() -> None:
    said = answered(UUID)
    once, twice = laid(said).text, laid(said, said).text
    assert once.partition("---")[2] == twice.partition("---")[2]
    assert value_of(laid(answered(UUID), answered(OTHER_UUID))) == value_of(laid(said))
