"""`--latency` and `--fault`: what becomes of an answer."""

from __future__ import annotations

import json
from typing import Any

import pytest

from mcptest.core.errors import UsageError
from mcptest.mock.faults import Faults, deliver, parse_faults
from mcptest.mock.session import Sent

METHODS = ("tools/call", "tools/list", "initialize")


def faults(*fault: str, latency: tuple[str, ...] = ()) -> Faults:
    return parse_faults(latency, fault, METHODS)


def answer(id: int = 1, method: str = "tools/call") -> Sent:
    return Sent(message={"jsonrpc": "2.0", "id": id, "result": {}}, method=method)


NOTE = Sent(message={"jsonrpc": "2.0", "method": "notifications/message"})


def delivered(faults: Faults, *sent: Sent) -> list[tuple[float, Any]]:
    return [
        (wait_s, None if line is None else json.loads(line))
        for wait_s, line in deliver(faults, sent)
    ]


def test_without_faults_everything_goes_out_at_once_and_as_it_is() -> None:
    found = delivered(faults(), NOTE, answer(), NOTE)
    assert found == [(0.0, NOTE.message), (0.0, answer().message), (0.0, NOTE.message)]


def test_latency_is_before_every_answer_and_the_messages_after_it() -> None:
    found = delivered(faults(latency=("200",)), NOTE, answer(), NOTE)
    assert [wait_s for wait_s, _ in found] == [0.0, 0.2, 0.2]


def test_latency_of_one_method_is_only_before_its_answers() -> None:
    slow = faults(latency=("tools/call=1s", "50ms"))
    assert delivered(slow, answer(), answer(2, "tools/list"))[0][0] == 1.0
    assert delivered(slow, answer(2, "tools/list"))[0][0] == 0.05


def test_slow_is_added_to_latency() -> None:
    found = delivered(faults("tools/call=slow:300", latency=("200",)), answer())
    assert found == [(0.5, answer().message)]


def test_hang_answers_nothing_and_nothing_behind_it() -> None:
    assert delivered(faults("tools/call=hang"), NOTE, answer(), NOTE) == [(0.0, NOTE.message)]
    assert delivered(faults("tools/call=hang"), answer(1, "tools/list")) != []


def test_drop_ends_the_connection_instead_of_the_answer() -> None:
    found = delivered(faults("tools/call=drop"), NOTE, answer(), NOTE)
    assert found == [(0.0, NOTE.message), (0.0, None)]


def test_a_star_is_for_all_methods_and_a_name_wins_over_it() -> None:
    both = faults("*=hang", "tools/list=error")
    assert delivered(both, answer(1, "initialize")) == []
    assert "error" in delivered(both, answer(1, "tools/list"))[0][1]


def test_faults_never_affect_messages_that_are_not_answers() -> None:
    for kind in ("hang", "drop", "error", "malformed"):
        assert delivered(faults(f"*={kind}"), NOTE) == [(0.0, NOTE.message)]


def batch(*parts: Sent) -> Sent:
    return Sent(message=[part.message for part in parts], parts=parts)


def test_faults_affect_only_the_chosen_requests_of_a_batch() -> None:
    parts = answer(1), answer(2, "tools/list")
    ((_, messages),) = delivered(faults("tools/call=hang"), batch(*parts))
    assert messages == [parts[1].message]
    ((_, messages),) = delivered(faults("tools/call=error"), batch(*parts))
    assert ["error" in message for message in messages] == [True, False]
    assert delivered(faults("*=hang"), batch(*parts)) == []


@pytest.mark.parametrize(
    ("latency", "fault", "error"),
    [
        ("soon", "", "--latency must be a number of milliseconds"),
        ("tools/cal=5", "", "--latency: nothing asks for 'tools/cal'; did you mean tools/call?"),
        ("", "hang", "--fault takes METHOD=KIND, not 'hang'"),
        ("", "tools/call=hnag", "there is no fault 'hnag'; did you mean hang?"),
        ("", "tools/cal=hang", "--fault: nothing asks for 'tools/cal'; did you mean tools/call?"),
        ("", "tools/call=slow", "--fault slow takes a time: slow:500"),
        ("", "tools/call=slow:x", "--fault slow must be a number of milliseconds"),
        ("", "tools/call=hang:5", "--fault hang takes no '5'"),
    ],
)
def test_a_bad_fault_is_an_error(latency: str, fault: str, error: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_faults([latency] if latency else [], [fault] if fault else [], METHODS)
    assert str(caught.value).startswith(error)


@pytest.mark.parametrize(
    ("latencies", "kinds"),
    [(["5", "6"], []), ([], ["*=hang", "*=drop"]), (["initialize=1", "initialize=2"], [])],
)
def test_the_same_is_not_said_twice(latencies: list[str], kinds: list[str]) -> None:
    with pytest.raises(UsageError, match="twice"):
        parse_faults(latencies, kinds, METHODS)
