"""A session is cut into cases: one exchange each, with all that belongs to it."""

from __future__ import annotations

from typing import Any

from traffic_samples import (
    HANDSHAKE,
    INITIALIZE,
    INITIALIZED,
    call,
    cases_of,
    contract,
    loaded,
    notification,
    refused,
    request,
    result,
)

LOG = notification("notifications/message", level="info", data="x")
SAMPLE = request(7, "sampling/createMessage", maxTokens=5)


def keys(*said: tuple[str, Any]) -> dict[str, list[str]]:
    """The keys of each case."""
    return {name: list(messages) for name, messages in cases_of(contract(*said).text).items()}


def skips(*said: tuple[str, Any]) -> dict[str, str | None]:
    return {case.name: case.skip for case in loaded(contract(*said).text).cases}


def notes(*said: tuple[str, Any]) -> tuple[str, ...]:
    return contract(*said).notes


def test_the_handshake_is_one_case_and_each_exchange_another() -> None:
    assert keys(*HANDSHAKE, ("in", call(2)), ("out", result(2)), ("in", request(3, "ping"))) == {
        "initialize": ["in_initialize", "out", "in_initialized"],
        "tools/call get_time": ["in", "out"],
        "ping": ["in"],
    }


def test_messages_between_a_request_and_its_answer_are_part_of_the_case() -> None:
    asked = call(2) | {"params": {"name": "a", "_meta": {"progressToken": 5}}}
    progress = notification("notifications/progress", progressToken=5, progress=1)
    assert keys(
        ("in", asked), ("out", progress), ("out", LOG), ("out", progress), ("out", result(2))
    ) == {"tools/call a": ["in", "out_progress", "out_message", "out_progress_2", "out_answer"]}


def test_a_request_of_the_server_and_its_answer_are_part_of_the_case() -> None:
    assert keys(
        ("in", call(2)), ("out", SAMPLE), ("in", result(7, role="user")), ("out", refused(2))
    ) == {"tools/call get_time": ["in_call", "out_create_message", "in_answer", "out_error"]}


def test_requests_that_overlap_stay_together() -> None:
    said = [("in", call(2, "a")), ("in", call(3, "b")), ("out", result(3)), ("out", result(2))]
    assert keys(*said, ("in", call(4)), ("out", result(4))) == {
        "tools/call a and tools/call b": ["in_call", "in_call_2", "out_answer", "out_answer_2"],
        "tools/call get_time": ["in", "out"],
    }


def test_many_requests_at_a_time_are_counted_in_the_name() -> None:
    asked = [("in", call(id, "a")) for id in range(2, 7)]
    (name,) = keys(*asked, *(("out", result(id)) for id in range(2, 7)))
    assert name == "tools/call a and tools/call a and 3 more"


def test_unsolicited_messages_belong_to_the_case_before() -> None:
    said = [*HANDSHAKE, ("out", LOG), ("in", call(2)), ("out", result(2)), ("out", LOG)]
    assert keys(*said) == {
        "initialize": ["in_initialize", "out_answer", "in_initialized", "out_message"],
        "tools/call get_time": ["in", "out_answer", "out_message"],
    }


def test_messages_before_the_first_request_have_a_case_of_their_own() -> None:
    assert list(keys(("out", LOG), *HANDSHAKE)) == [
        "the server begins with notifications/message",
        "initialize",
    ]


def test_a_request_of_the_server_outside_any_other_holds_its_case_open_until_it_is_answered() -> (
    None
):
    said = [*HANDSHAKE, ("out", request(1, "roots/list")), ("in", result(1, roots=[]))]
    assert keys(*said, ("in", call(2)), ("out", result(2))) == {
        "initialize": ["in_initialize", "out_answer", "in_initialized", "out_list", "in_answer"],
        "tools/call get_time": ["in", "out"],
    }


def test_a_notification_of_the_client_is_a_case_of_its_own() -> None:
    changed = notification("notifications/roots/list_changed")
    assert list(keys(*HANDSHAKE, ("in", changed))) == [
        "initialize",
        "notifications/roots/list_changed",
    ]


def test_a_late_end_of_a_handshake_is_a_case_of_its_own() -> None:
    said = [*HANDSHAKE[:2], ("in", call(2)), ("out", result(2)), ("in", INITIALIZED)]
    assert list(keys(*said)) == ["initialize", "tools/call get_time", "notifications/initialized"]


# Answers that never arrived, or answer nothing


def test_a_request_without_an_answer_is_skipped_and_all_others_are_run() -> None:
    said = [("in", call(2, "lost")), ("in", call(3)), ("out", result(3))]
    assert skips(*said) == {
        "tools/call lost": "not answered when it was recorded",
        "tools/call get_time": None,
    }


def test_a_cancelled_request_is_skipped_together_with_its_cancellation() -> None:
    said = [
        ("in", call(2)),
        ("out", result(2)),
        ("in", call(3, "slow")),
        ("in", request(4, "ping")),
        ("out", result(4)),
        ("in", notification("notifications/cancelled", requestId=3)),
    ]
    assert keys(*said)["tools/call slow"] == ["in_call", "in_cancelled"]
    assert skips(*said)["tools/call slow"]
    assert not skips(*said)["ping"]


def test_server_requests_during_an_unanswered_request_are_skipped_with_it() -> None:
    said = [*HANDSHAKE, ("in", call(2)), ("out", SAMPLE), ("in", result(7))]
    assert keys(*said)["tools/call get_time"] == ["in_call", "out", "in_answer"]
    assert skips(*said)["tools/call get_time"]


def test_an_unanswered_request_while_another_waits_has_a_case_of_its_own() -> None:
    said = [("in", call(2, "a")), ("in", call(3, "lost")), ("out", result(2))]
    assert keys(*said) == {"tools/call a": ["in", "out"], "tools/call lost": ["in"]}


def test_an_answer_without_a_request_is_left_out_and_reported() -> None:
    said = [("in", call(2)), ("out", result(2)), ("out", result(2)), ("out", result("2"))]
    assert keys(*said) == {"tools/call get_time": ["in", "out"]}
    assert notes(*said) == (
        "session.json: a response with id 2 answers no request and is left out",
        'session.json: a response with id "2" answers no request and is left out',
    )


def test_an_error_without_an_id_answers_the_only_request_that_waits() -> None:
    assert keys(("in", call(2)), ("out", refused(None))) == {"tools/call get_time": ["in", "out"]}
    said = [("in", call(2)), ("in", call(3)), ("out", refused(None))]
    assert len(notes(*said, ("out", result(2)), ("out", result(3)))) == 1


# Ids and batches


def test_an_id_that_is_used_again_within_a_case_is_another_one() -> None:
    said = [
        ("in", call(2, "a")),
        ("in", call(2, "b")),
        ("out", result(2, n=1)),
        ("out", result(2, n=2)),
    ]
    (messages,) = cases_of(contract(*said).text).values()
    assert [message["id"] for message in messages.values()] == [2, 3, 2, 3]
    assert messages["out_answer_2"]["result"] == {"n": 2}


def test_a_text_that_is_used_again_as_an_id_stays_a_text() -> None:
    said = [("in", call("x")), ("in", call("x")), ("out", result("x")), ("out", result("x"))]
    (messages,) = cases_of(contract(*said).text).values()
    assert [message["id"] for message in messages.values()] == ["x", "x-2", "x", "x-2"]


def test_the_same_id_in_another_case_stays() -> None:
    said = [("in", call(2)), ("out", result(2)), ("in", call(2)), ("out", result(2))]
    found = cases_of(contract(*said).text)
    assert [messages["in"]["id"] for messages in found.values()] == [2, 2]


def test_a_batch_is_one_message_with_an_answer_each() -> None:
    said = [("in", [call(2, "a"), call(2, "b")]), ("out", result(2)), ("out", result(2))]
    (messages,) = cases_of(contract(*said).text).values()
    assert list(messages) == ["in", "out_answer", "out_answer_2"]
    assert [part["id"] for part in messages["in"]] == [2, 3]


def test_a_batch_of_which_a_part_is_never_answered_is_skipped() -> None:
    said = [("in", [call(2), call(3)]), ("out", result(2)), *HANDSHAKE]
    assert list(skips(*said).values()) == ["not answered when it was recorded", None]


def test_a_batch_that_is_answered_in_part_while_another_request_waits_is_a_case_by_itself() -> None:
    said = [
        ("in", call(1, "slow")),
        ("in", [call(2, "a"), call(2, "b")]),
        ("out", result(2)),
        ("out", result(1)),
    ]
    assert keys(*said) == {
        "tools/call slow": ["in", "out"],
        "tools/call a and tools/call b": ["in", "out"],
    }
    batch = cases_of(contract(*said).text)["tools/call a and tools/call b"]["in"]
    assert [part["id"] for part in batch] == [2, 3]


def test_a_cancellation_before_its_request_in_the_same_batch_stays_in_the_batch() -> None:
    cancelled = notification("notifications/cancelled", requestId=3)
    said = [("in", [cancelled, request(3, "ping")]), ("out", result(3))]
    assert keys(*said) == {"ping": ["in", "out"]}


def test_a_batch_beside_other_requests_says_that_it_is_one() -> None:
    said = [("in", call(1)), ("in", [call(2), call(3)]), *(("out", result(n)) for n in (1, 2, 3))]
    (found,) = keys(*said).values()
    assert found == ["in_call", "in_batch", "out_answer", "out_answer_2", "out_answer_3"]


def test_each_session_begins_with_its_own_handshake() -> None:
    assert list(keys(*HANDSHAKE, *HANDSHAKE)) == ["initialize", "initialize (2)"]
    assert cases_of(contract(*HANDSHAKE).text)["initialize"]["in_initialize"] == INITIALIZE
