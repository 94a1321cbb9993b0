"""A wrong request always gets an answer."""

from __future__ import annotations

from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any

import pytest
from stage import Stage, a_case, cases, contract, request

from mcptest.core.errors import PatternTimeoutError
from mcptest.mock.respond import respond, respond_to_noise
from mcptest.protocol.framing import LineDecoder, Noise, Overlong

if TYPE_CHECKING:
    from collections.abc import Iterator

ADD = a_case("Adds", "{name: add, arguments: {a: 1, b: 2}}", "three")
PLACE = {"case": "Adds", "file": "contract.yaml", "line": 1}


def test_no_match_names_the_nearest_case_and_what_differs() -> None:
    stage = contract(cases(ADD, a_case("Other", "{name: other}", "x")))
    error = stage.error("tools/call", {"name": "add", "arguments": {"a": 1, "b": 3}})
    assert error["code"] == -32602
    assert error["message"] == (
        'mcptest mock: no case answers this tools/call; the nearest is "Adds" (contract.yaml:1): '
        "params.arguments.b: differs, expected 2, got 3"
    )
    difference = {
        "path": "params.arguments.b",
        "expected": 2,
        "actual": 3,
        "message": "differs",
    }
    assert error["data"] == {"nearest": PLACE, "differences": [difference]}


def test_the_first_differences_are_reported_in_words_and_the_rest_is_counted() -> None:
    error = contract(ADD).error("tools/call", {"name": "add", "arguments": {"other": 1, "a": 5}})
    assert error["message"].endswith(
        ": params.arguments.a: differs, expected 1, got 5; "
        "params.arguments.b: is missing, expected 2; "
        "params.arguments.other: is not expected, got 1"
    )
    more = dict.fromkeys("abcdefg", 0)
    error = contract(ADD).error("tools/call", {"name": "add", "arguments": more})
    assert error["message"].endswith("; and 4 more")
    assert len(error["data"]["differences"]) == 7


def test_a_missing_value_is_null_in_the_differences() -> None:
    error = contract(ADD).error("tools/call", {"name": "add", "arguments": {"a": 1}})
    (difference,) = error["data"]["differences"]
    assert (difference["actual"], difference["message"]) == (None, "is missing")


def test_a_call_of_the_same_tool_is_nearer_than_fewer_differences() -> None:
    """Another tool differs in its name only, and is another thing altogether."""
    stage = contract(cases(a_case("Far", "{name: far}", "x"), ADD))
    error = stage.error("tools/call", {"name": "add", "arguments": {"a": 5, "b": 6}})
    assert error["data"]["nearest"]["case"] == "Adds"


def test_the_case_with_the_fewest_differences_is_nearest() -> None:
    stage = contract(
        cases(
            a_case("Far", "{name: find, arguments: {q: b, limit: 2}}", "x"),
            a_case("Near", "{name: find, arguments: {q: a}}", "x"),
            a_case("Also near", "{name: find, arguments: {q: !!re ^a, page: {from: 1}}}", "x"),
        )
    )
    for arguments, nearest, path in (
        ({"q": "a", "limit": 1}, "Near", "params.arguments.limit"),
        ({"q": "b", "limit": 3}, "Far", "params.arguments.limit"),
        ({"q": "ab", "page": {"from": 2}}, "Also near", "params.arguments.page.from"),
        ({"q": "ab", "page": {"from": 1, "to": 2}}, "Also near", "params.arguments.page.to"),
    ):
        data = stage.error("tools/call", {"name": "find", "arguments": arguments})["data"]
        assert data["nearest"]["case"] == nearest
        assert [each["path"] for each in data["differences"]] == [path]


def test_a_case_that_may_be_for_any_tool_is_near_too() -> None:
    stage = contract(cases(ADD, a_case("Any", "{name: !!re ^a, arguments: {x: 1}}", "x")))
    for name in ("add", "all"):
        error = stage.error("tools/call", {"name": name, "arguments": {"x": 2}})
        assert error["data"]["nearest"]["case"] == "Any"


def test_a_name_that_is_nearly_that_of_a_tool_is_reported_with_it() -> None:
    stage = contract(cases(a_case("Other", "{name: other}", "x"), ADD))
    error = stage.error("tools/call", {"name": "ad", "arguments": {}})
    assert error["data"]["nearest"]["case"] == "Adds"
    assert 'params.name: differs, expected "add", got "ad"' in error["message"]


def test_an_unknown_method_is_reported_with_the_one_that_was_meant() -> None:
    error = contract(ADD).error("tools/cal")
    assert error["code"] == -32601
    assert "no case has the method tools/cal; did you mean tools/call?" in error["message"]
    (difference,) = error["data"]["differences"]
    assert (difference["path"], difference["expected"]) == ("method", "tools/call")


def test_a_method_that_is_like_no_other_has_no_nearest_case() -> None:
    error = contract(ADD).error("something/else")
    assert (error["code"], error["data"]["nearest"]) == (-32601, None)


def test_every_refusal_is_recorded_as_wrong() -> None:
    stage = contract(ADD)
    stage.error("tools/call", {"name": "add"})
    stage.error("nope")
    first, second = stage.report.wrong
    assert first.request == request("tools/call", {"name": "add"})
    assert first.nearest == PLACE
    assert (second.nearest, len(second.differences)) == (None, 1)


def test_answered_calls_are_not_recorded_as_wrong() -> None:
    stage = contract(ADD)
    stage.call("add", a=1, b=2)
    assert stage.report.wrong == ()


def test_large_values_are_cut_in_what_is_recorded_and_sent() -> None:
    stage = contract(ADD)
    error = stage.error("tools/call", {"name": "add", "arguments": {"a": "x" * 100_000, "b": 2}})
    assert len(str(error)) < 10_000
    assert len(str(stage.report.wrong[0].request)) < 10_000


# Input that is not a message


def refused(stage: Stage, value: object) -> dict[str, Any]:
    (answer,) = stage.send(value)
    assert len(stage.report.wrong) == 1
    assert isinstance(answer, dict)
    return answer


@pytest.mark.parametrize("value", [5, "x", None, True, {}, {"a": 1}, {"jsonrpc": "2.0"}])
def test_input_that_is_not_a_message_is_refused_without_an_id(value: object) -> None:
    answer = refused(contract(ADD), value)
    assert (answer["id"], answer["error"]["code"]) == (None, -32600)


@pytest.mark.parametrize(
    "message",
    [
        {"id": 5},
        {"jsonrpc": "1.0", "id": 5, "method": "ping"},
        {"id": 5, "method": "ping"},
        {"jsonrpc": "2.0", "id": 5, "method": 7},
        {"jsonrpc": "2.0", "id": 5, "method": "ping", "params": "x"},
    ],
)
def test_a_request_that_is_none_is_refused_with_its_id(message: object) -> None:
    answer = refused(contract(ADD), message)
    assert (answer["id"], answer["error"]["code"]) == (5, -32600)


def noise(raw: bytes, limit: int = 1000) -> Noise | Overlong:
    (item,) = LineDecoder(limit).feed(raw)
    assert isinstance(item, Noise | Overlong)
    return item


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (b"hello\n", "it does not begin like JSON"),
        (b'{"a": 1, "a": 2}\n', 'the key "a" occurs twice'),
        (b"x" * 2000, "it is longer than 1,000 bytes"),
    ],
)
def test_a_line_that_is_not_json_is_a_parse_error(raw: bytes, reason: str) -> None:
    stage = contract(ADD)
    (sent,) = respond_to_noise(stage.session, noise(raw))
    answer: Any = sent.message
    assert (answer["id"], answer["error"]["code"]) == (None, -32700)
    assert reason in answer["error"]["message"]
    assert len(stage.session.wrong) == 1


@contextmanager
def expired() -> Iterator[None]:
    """A limit that is exceeded when a message has been handled."""
    yield
    raise PatternTimeoutError(2.0, "!!re x")


def test_a_pattern_that_takes_too_long_is_an_error_answer_and_nothing_else_happens() -> None:
    stage = contract(ADD).greet()
    (sent,) = respond(stage.player, stage.session, CALL, expired())
    answer: Any = sent.message
    assert (answer["id"], answer["error"]["code"], sent.method) == (7, -32603, "tools/call")
    assert "more than 2 s" in answer["error"]["message"]
    assert len(stage.session.wrong) == 1
    assert stage.exercised == []


def test_a_notification_on_which_a_pattern_took_too_long_is_not_answered() -> None:
    message = {"jsonrpc": "2.0", "method": "notifications/x"}
    stage = contract(ADD)
    assert respond(stage.player, stage.session, message, expired()) == []
    assert len(stage.session.wrong) == 1


# Batches


def test_a_pattern_that_takes_too_long_on_one_message_of_a_batch_spares_the_others() -> None:
    stage = in_revision("2025-03-26")
    limit = ExpiredOnce()
    (sent,) = respond(stage.player, stage.session, [request("ping", None, 6), CALL], limit)
    answers: Any = sent.message
    assert [(each["id"], "error" in each) for each in answers] == [(6, True), (7, False)]


class ExpiredOnce(AbstractContextManager[None]):
    """A limit that only the first message exceeds."""

    is_over = False

    def __exit__(self, *error: object) -> None:
        if not self.is_over:
            self.is_over = True
            raise PatternTimeoutError(2.0)


def in_revision(version: str) -> Stage:
    stage = contract(ADD)
    stage.send(request("initialize", {"protocolVersion": version}))
    return stage


CALL = request("tools/call", {"name": "add", "arguments": {"a": 1, "b": 2}}, 7)


def test_a_batch_is_answered_as_a_batch_where_the_revision_has_them() -> None:
    (answers,) = in_revision("2025-03-26").send([CALL, request("ping", None, 8), {"x": 1}])
    assert [each["id"] for each in answers] == [7, 8, None]
    assert answers[0]["result"]["content"][0]["text"] == "three"


def test_a_batch_of_notifications_is_not_answered() -> None:
    note = {"jsonrpc": "2.0", "method": "notifications/cancelled"}
    assert in_revision("2025-03-26").send([note, note]) == []


def test_other_messages_after_a_batch_are_sent_before_its_answers() -> None:
    log = "out_log: {jsonrpc: '2.0', method: notifications/message, params: {data: x}}\n"
    stage = contract(ADD + log)
    stage.send(request("initialize", {"protocolVersion": "2025-03-26"}))
    note, answers = stage.send([CALL])
    assert (note["method"], [each["id"] for each in answers]) == ("notifications/message", [7])


@pytest.mark.parametrize("version", ["2024-11-05", "2025-06-18", "2025-11-25"])
def test_a_batch_is_refused_where_the_revision_has_none(version: str) -> None:
    answer = refused(in_revision(version), [CALL])
    assert (answer["id"], answer["error"]["code"]) == (None, -32600)
    assert version in answer["error"]["message"]


def test_a_batch_before_any_revision_is_refused_and_so_is_an_empty_one() -> None:
    assert refused(contract(ADD), [CALL])["error"]["code"] == -32600
    assert refused(in_revision("2025-03-26"), [])["error"]["code"] == -32600
