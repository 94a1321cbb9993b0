"""What an ear makes of what a server says."""

from __future__ import annotations

from collections import Counter

from mcptest.core.session import Answered, Asked, Notified, Strayed, Violated
from mcptest.runner.ear import Ear

NOTE = {"jsonrpc": "2.0", "method": "notifications/a"}
OTHER = {"jsonrpc": "2.0", "method": "notifications/b"}
QUESTION = {"jsonrpc": "2.0", "id": 7, "method": "roots/list"}
REPLY = {"jsonrpc": "2.0", "id": 7, "result": {}}
ANSWER = {"jsonrpc": "2.0", "id": 1, "result": {}}


def test_answers_are_kept_by_id_and_its_type() -> None:
    ear = Ear(Counter())
    assert ear.listen(Answered(message=ANSWER, id=1))
    assert ear.answers == {("int", 1): ANSWER}


def test_messages_are_claimed_in_the_order_in_which_they_came() -> None:
    ear = Ear(Counter())
    for message in (NOTE, OTHER, NOTE):
        assert ear.listen(Notified(message=message))
    first = ear.claim("notifications/b")
    assert first is not None
    assert first.message == OTHER
    second = ear.claim("notifications/a")
    assert second is not None
    assert ear.claim("notifications/a") is None
    assert [each.message for each in ear.unclaimed] == [NOTE]
    assert ear.left_over == []


def test_any_message_can_be_claimed_by_no_method() -> None:
    ear = Ear(Counter())
    ear.listen(Notified(message=NOTE))
    claimed = ear.claim("")
    assert claimed is not None
    assert claimed.message == NOTE


def test_a_question_is_held_as_often_as_the_dialogue_speaks_of_it() -> None:
    ear = Ear(Counter(["roots/list"]))
    assert ear.listen(Asked(message=QUESTION, reply=REPLY))
    assert not ear.listen(Asked(message=QUESTION, reply=REPLY))
    assert [each.reply for each in ear.heard] == [REPLY, None]


def test_a_question_that_was_carried_over_counts_as_held() -> None:
    before = Ear(Counter(["roots/list"]))
    before.listen(Asked(message=QUESTION, reply=REPLY))
    after = Ear(Counter(["roots/list"]), before.left_over)
    assert not after.listen(Asked(message=QUESTION, reply=REPLY))


def test_strays_are_noted_and_left_to_others_as_are_violations() -> None:
    ear = Ear(Counter())
    assert not ear.listen(Strayed(message=ANSWER, kind="unknown_id"))
    assert not ear.listen(Strayed(message=OTHER, kind="late_response"))
    assert not ear.listen(Violated(message=3, path="", reason="odd"))
    assert ear.strays == [ANSWER]


def test_what_arrived_is_put_in_words() -> None:
    ear = Ear(Counter())
    assert ear.arrivals() == "nothing else arrived"
    ear.listen(Answered(message=ANSWER, id=1))
    for message in (NOTE, NOTE, OTHER):
        ear.listen(Notified(message=message))
    assert ear.arrivals() == (
        "what did arrive: answers to id 1 and notifications/a (2), notifications/b"
    )
