"""Group D of the fault catalogue: messages that JSON-RPC or MCP does not allow there."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from staging import LONG_S, call, echo, perform, spec_for

from mcptest.protocol.jsonrpc import result_response
from mcptest.protocol.session import ClientSession, ResponseReceived, UnexpectedResponse

SAID_SO = "the server sent a message that breaks JSON-RPC"


def test_an_answer_under_an_unknown_id_is_a_finding_and_the_right_one_counts() -> None:
    """Row 48."""
    report = perform(spec_for("wrong-then-right"))
    assert (report.status, report.statuses) == (0, ["passed"])
    assert "not yours" in report.findings["unknown_id"]["quote"]


def test_an_answer_under_a_wrong_id_only_is_a_timeout_that_names_it() -> None:
    """Row 48."""
    report = perform(spec_for("id-as", "999", timeout_s=0.3))
    assert (report.status, report.fault["kind"]) == (1, "timeout")
    assert report.fault["hint"] == "an answer with id 999 came"
    assert report.findings["unknown_id"]["count"] == 1


@pytest.mark.parametrize(
    ("id", "finding", "story"),
    [
        ('"7"', "unknown_id", 'id "7" came: the id must come back as it was sent, a number'),
        ("7.0", "protocol_violation", '"id" must be a string or an integer and is 7.0'),
        ("true", "protocol_violation", '"id" must be a string or an integer and is true'),
        ("[7]", "protocol_violation", '"id" must be a string or an integer and is [7]'),
        ("null", "protocol_violation", "a result must carry the id of its request"),
    ],
)
def test_an_id_of_another_type_is_not_an_answer_and_is_explained(
    id: str, finding: str, story: str
) -> None:
    """Row 49."""
    report = perform(spec_for("id-as", id, timeout_s=0.3), echo(id=7))
    assert (report.status, report.fault["kind"]) == (1, "timeout")
    assert story in report.fault["hint"]
    assert list(report.findings) == [finding]


@pytest.mark.parametrize("mode", ["duplicate", "duplicate-differs"])
def test_the_first_of_two_answers_counts_and_the_second_is_a_finding(mode: str) -> None:
    """Row 50. Also when the second arrives after the last test."""
    report = perform(spec_for(mode), echo(), echo("again", id=2))
    assert (report.status, report.statuses) == (0, ["passed", "passed"])
    assert list(report.findings) == ["duplicate_response"]
    assert report.findings["duplicate_response"]["count"] == 2


def test_a_late_answer_is_a_finding_and_touches_none_of_twenty_calls_after_it() -> None:
    """Row 51."""
    later = [echo(f"call {n}", id=n) for n in range(2, 22)]
    report = perform(spec_for("late"), echo("late", id=1, timeout="300ms"), *later)
    assert report.status == 1
    assert report.statuses == ["error"] + ["passed"] * 20
    assert report.fault["kind"] == "timeout"
    assert report.findings["late_response"]["count"] == 1
    assert report.notes == []


def test_an_id_whose_answer_is_still_owed_is_not_used_again() -> None:
    """Row 51, with the ids that most files use: 1 and nothing but 1."""
    first = echo("late", id=1, timeout="300ms")
    ping = {
        "it": "answers a ping",
        "request": {"jsonrpc": "2.0", "id": 1, "method": "ping"},
        "expect": {"response": {"jsonrpc": "2.0", "id": 1, "result": {}}},
    }
    report = perform(spec_for("late"), first, ping)
    assert report.statuses == ["error", "passed"]
    assert report.findings["late_response"]["count"] == 1
    assert report.notes == []


def test_an_answer_after_one_that_could_not_be_read_is_the_second() -> None:
    """Rows 39 and 50."""
    session = ClientSession()
    session.open_request(1)
    session.mark_unreadable(1)
    assert not session.is_owed(1)
    answer = result_response(1, {})
    assert list(session.receive(answer)) == [
        UnexpectedResponse(message=answer, kind="duplicate_response")
    ]


@given(st.permutations(range(8)))
def test_answers_in_any_order_find_their_requests(order: list[int]) -> None:
    """Row 52."""
    session = ClientSession()
    for id in range(8):
        session.open_request(id)
    for id in order:
        answer = result_response(id, {"for": id})
        assert list(session.receive(answer)) == [ResponseReceived(message=answer, id=id)]


@pytest.mark.parametrize(
    ("changes", "where"),
    [
        ({"error": {"code": 1, "message": ""}}, f"{SAID_SO}: a response must not carry both"),
        ({"result": None}, f'{SAID_SO}: a response must carry "result" or "error"'),
        ({"result": None, "error": {"code": 1.5, "message": ""}}, f"{SAID_SO} at error.code"),
        ({"result": None, "error": {"message": ""}}, f"{SAID_SO} at error.code"),
        ({"result": None, "error": {"code": 1}}, f"{SAID_SO} at error.message"),
        ({"result": None, "error": "boom"}, f'{SAID_SO} at error: "error" must be an object'),
        ({"jsonrpc": None}, f'{SAID_SO} at jsonrpc: "jsonrpc" must be "2.0" and is missing'),
        ({"jsonrpc": "1.0"}, f'{SAID_SO} at jsonrpc: "jsonrpc" must be "2.0" and is "1.0"'),
        ({"jsonrpc": 2.0}, f'{SAID_SO} at jsonrpc: "jsonrpc" must be "2.0" and is 2.0'),
    ],
)
def test_a_broken_answer_with_our_id_ends_the_call_at_once(changes: object, where: str) -> None:
    """Row 53."""
    report = perform(spec_for("altered", json.dumps(changes)))
    assert (report.status, report.statuses) == (1, ["error"])
    assert report.fault["kind"] == "protocol_violation"
    assert report.fault["message"].startswith(where)
    assert '"id":1' in report.fault["message"]
    assert report.members["duration_ms"] < LONG_S * 1000 / 3


def test_an_error_without_an_id_answers_only_what_is_not_legal() -> None:
    """Row 53: so JSON-RPC has a server answer that could not read the id."""
    error = {"code": -32700, "message": "parse error"}
    changes = json.dumps({"id": None, "result": None, "error": error})
    wanted = {"response": {"jsonrpc": "2.0", "error": error}}
    server = spec_for("altered", changes, timeout_s=0.4)
    illegal = echo() | {"expect": wanted}
    illegal["request"] = illegal["request"] | {"jsonrpc": "1.0"}
    perform(server, illegal).assert_spotless()
    report = perform(server, echo() | {"expect": wanted})
    assert (report.status, report.fault["kind"]) == (1, "timeout")
    assert report.findings["unattributed_error"]["count"] == 1


def test_a_batch_is_taken_in_the_one_revision_that_has_them() -> None:
    """Row 54."""
    perform(spec_for("batch", "2025-03-26")).assert_spotless()


@pytest.mark.parametrize("version", ["2024-11-05", "2025-06-18", "2025-11-25"])
def test_a_batch_in_any_other_revision_is_a_violation(version: str) -> None:
    """Row 54."""
    report = perform(spec_for("batch", version))
    assert (report.status, report.fault["kind"]) == (1, "protocol_violation")
    assert f"revision {version} has no batches" in report.fault["message"]
    assert report.members["duration_ms"] < LONG_S * 1000 / 3


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"[]\n", "an empty batch is never legal"),
        (b"42\n", "it is neither a request, a notification nor a response"),
        (b"{}\n", "it is neither a request, a notification nor a response"),
        (b'{"jsonrpc":"2.0","method":7}\n', '"method" must be a string and is 7'),
    ],
)
def test_a_value_that_is_not_a_message_is_a_finding_and_the_answer_counts(
    line: bytes, reason: str
) -> None:
    """Rows 53 and 54."""
    report = perform(spec_for("before", line.hex()))
    assert (report.status, report.statuses) == (0, ["passed"])
    assert reason in report.findings["protocol_violation"]["message"]


@pytest.mark.long
def test_a_storm_of_notifications_does_not_hide_the_answer() -> None:
    """Row 55. Its memory is measured in test_command_line."""
    perform(spec_for("storm", "200000")).assert_spotless()


@pytest.mark.parametrize(
    ("method", "said"),
    [
        ("ping", {"result": {}}),
        ("roots/list", "the client does not offer roots/list"),
        ("sampling/createMessage", "the client does not offer sampling/createMessage"),
        ("elicitation/create", "the client does not offer elicitation/create"),
    ],
)
def test_a_server_request_during_a_call_is_answered(method: str, said: object) -> None:
    """Rows 56 and 60: it asks under the very id of our call, and each side keeps its own."""
    if isinstance(said, str):
        said = {"error": {"code": -32601, "message": said}}
    answer = json.dumps({"id": 1, "jsonrpc": "2.0", **said}, sort_keys=True)  # type: ignore[dict-item]
    test = echo(answer)
    test["request"] = call("ignored")
    perform(spec_for("ask", method), test).assert_spotless()


def test_a_server_request_is_answered_while_our_request_is_still_being_written() -> None:
    """Row 56. The reply queues up behind a request that does not fit into the pipe."""
    answer = json.dumps({"id": "early", "jsonrpc": "2.0", "result": {}}, sort_keys=True)
    test = echo(answer)
    test["request"] = call("x" * 2_000_000)
    perform(spec_for("ask-first", "ping"), test).assert_spotless()


def test_a_server_that_sends_requests_forever_runs_into_the_timeout() -> None:
    """Row 59."""
    report = perform(spec_for("ask-forever", timeout_s=0.4))
    assert (report.status, report.fault["kind"]) == (1, "timeout")
    assert report.fault["hint"].endswith("other messages came meanwhile")
    assert report.members["findings"] == []


def test_a_late_answer_is_not_called_unknown() -> None:
    """Row 48, silent: a test of the exit status alone still sent a request."""
    test = {"it": "ends", "request": call(), "expect": {"exitCode": 0}}
    perform(spec_for("exit-after-answer"), test).assert_spotless()
