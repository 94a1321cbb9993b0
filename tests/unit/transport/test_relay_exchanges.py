"""Both sides of a relayed session as exchanges."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from mcptest.core.secrets import redactor
from mcptest.transport.relay import ExchangeBuilder, render_entry

INITIALIZE = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {}}
OPENED = {
    "jsonrpc": "2.0",
    "id": 0,
    "result": {"capabilities": {"tools": {}}, "protocolVersion": "2025-06-18"},
}
LOG = {"jsonrpc": "2.0", "method": "notifications/message", "params": {"data": "x" * 200}}


def ask(id: object, method: str = "ping", **params: object) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id, "method": method, "params": params}


def answer(id: object) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id, "result": {}}


def line(message: object) -> bytes:
    return message if isinstance(message, bytes) else json.dumps(message).encode() + b"\n"


class Session:
    """A transcript, and the exchanges it has returned."""

    def __init__(self, **limits: Any) -> None:
        self.transcript = ExchangeBuilder(**limits)
        self.exchanges: list[dict[str, Any]] = []
        self.ms = 0.0

    def client(self, *messages: object) -> Session:
        for message in messages:
            self.ms += 1
            self.transcript.add("client", line(message), self.ms)
            self.take(self.transcript.take_ready())
        return self

    def server(self, *messages: object) -> Session:
        for message in messages:
            self.ms += 1
            self.transcript.add("server", line(message), self.ms)
            self.take(self.transcript.take_ready())
        return self

    def take(self, taken: list[Any]) -> None:
        self.exchanges += [render_entry(exchange, asides, None) for exchange, asides in taken]

    def finish(self) -> list[dict[str, Any]]:
        self.take(self.transcript.finish(self.ms))
        return self.exchanges


def test_requests_and_answers_are_paired_and_numbered() -> None:
    session = Session().client(INITIALIZE).server(OPENED).client(ask(1), ask("1"))
    prologue, *exchanges = session.server(answer("1"), answer(1)).finish()
    assert prologue == {}
    assert exchanges[0] == {
        "request": INITIALIZE,
        "response": OPENED,
        "order": {"request": 1, "response": 2},
        "ms": {"request": 1.0, "response": 2.0},
    }
    assert [each["response"]["id"] for each in exchanges[1:]] == [1, "1"]
    assert [each["order"]["response"] for each in exchanges[1:]] == [6, 5]


def test_a_session_without_a_handshake_has_no_capabilities() -> None:
    assert Session().client(ask(1)).server(answer(1)).transcript.capabilities is None


def test_noise_of_the_server_and_of_the_client_are_kept_apart() -> None:
    session = Session().server(b"banner\n").client(b"what?\n", ask(1), b"42\n").server(b"oh\n")
    prologue, exchange = session.server(answer(1)).finish()
    assert (prologue["noise"], prologue["client_noise"]) == (["banner"], ["what?"])
    assert (exchange["noise"], exchange["client_noise"]) == (["oh"], ["42"])
    assert exchange["ms"]["client_noise"] == [4.0]
    # A reader that orders a session by numbers must not wait for one that is missing.
    assert prologue["order"] == {"noise": [1]}
    assert exchange["order"] == {"request": 2, "noise": [3], "response": 4}


def test_requests_of_the_server_and_their_answers_are_recorded_beside_the_exchange() -> None:
    session = Session().client(ask(1)).server(LOG, ask("q", "elicitation/create"))
    _, exchange = session.client(answer("q")).server(answer(1)).finish()
    assert [each["method"] for each in exchange["server_messages"]] == [
        "notifications/message",
        "elicitation/create",
    ]
    assert exchange["replies"] == [answer("q")]


def test_the_parts_of_a_batch_are_exchanges_of_their_own() -> None:
    batch = [ask(1), {"jsonrpc": "2.0", "method": "notifications/a"}, ask(2)]
    session = Session().client(batch, b"after\n").server([answer(2), answer(1)])
    _, *exchanges = session.finish()
    assert [each.get("response", {}).get("id") for each in exchanges] == [1, None, 2]
    assert [each.get("client_noise") for each in exchanges] == [None, None, ["after"]]


def test_a_last_line_without_an_end_is_a_line() -> None:
    _, exchange = Session().client(line(ask(1))[:-1]).server(line(answer(1))[:-1]).finish()
    assert (exchange["request"], exchange["response"]) == (ask(1), answer(1))


# What is held


def test_exchanges_are_returned_while_the_session_continues() -> None:
    session = Session()
    for number in range(50):
        session.client(ask(number)).server(answer(number))
    assert len(session.exchanges) == 50


def test_a_request_without_an_answer_holds_back_a_limited_number() -> None:
    session = Session(max_waiting=10).client(ask("never"))
    for number in range(50):
        session.client(ask(number)).server(answer(number))
    assert len(session.exchanges) > 35
    assert [each["request"]["id"] for each in session.finish()[1:]] == ["never", *range(50)]


def test_a_request_without_an_answer_holds_back_a_limited_size() -> None:
    session = Session(max_held_bytes=20_000).client(ask("never"))
    for number in range(50):
        session.client(ask(number, text="x" * 5000)).server(answer(number))
    assert len(session.exchanges) > 40
    assert all("response" in each for each in session.finish()[2:])


def test_a_cancelled_request_holds_back_no_more_than_others() -> None:
    cancel = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7}}
    session = Session(max_held_bytes=20_000).client(ask(7), cancel)
    for number in range(50):
        session.client(ask(f"n{number}", text="x" * 5000)).server(answer(f"n{number}"))
    assert len(session.exchanges) > 40


def test_messages_beside_an_exchange_are_kept_up_to_a_size_and_then_counted() -> None:
    session = Session(max_beside_bytes=10_000).client(ask(1)).server(*[LOG] * 100)
    session.client(ask(2)).server(LOG, answer(1), answer(2))
    _, first, second = session.finish()
    kept = len(first["server_messages"])
    assert 5 < kept < 30
    size = (100 - kept) * len(line(LOG))
    assert first["left_out"] == [
        f"{100 - kept} lines of {size:,} bytes in all were passed on and not recorded"
    ]
    assert len(second["server_messages"]) == 1
    assert "left_out" not in second
    assert (first["response"], second["response"]) == (answer(1), answer(2))


def test_messages_left_out_at_the_very_end_are_reported_as_well() -> None:
    session = Session(max_beside_bytes=1000).client(ask(1)).server(*[b"noise\n"] * 10)
    _, exchange = session.finish()
    assert (len(exchange["noise"]), exchange["left_out"][0][:7]) == (1, "9 lines")


# What is owed


def test_an_answer_is_owed_until_it_arrives() -> None:
    session = Session().client(ask(1), ask(2)).server(answer(1))
    assert session.transcript.is_owed
    assert not session.server(answer(2)).transcript.is_owed


def test_a_cancelled_request_is_not_waited_for() -> None:
    cancel = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}
    assert not Session().client(ask(1), cancel).transcript.is_owed


def test_a_notification_is_owed_nothing() -> None:
    note = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    assert not Session().client(note).transcript.is_owed


# Secrets


def test_secrets_are_blanked_wherever_they_occur() -> None:
    transcript = ExchangeBuilder(keeps_heads=False)
    transcript.add("client", line(ask(1, key="hush-hush")), 1.0)
    transcript.add("server", b"key is hush-hush\n", 2.0)
    transcript.add("client", b"and hush-hush\n", 3.0)
    shown = [render_entry(*taken, redactor(["hush-hush"])) for taken in transcript.finish(4.0)]
    assert "hush-hush" not in json.dumps(shown)
    assert shown[1]["request"]["params"] == {"key": "[secret]"}
    assert shown[1]["client_noise"] == ["and [secret]"]


# Any traffic at all

SPOKEN = st.lists(
    st.tuples(
        st.booleans(),
        st.one_of(
            st.binary(max_size=40),
            st.builds(ask, st.integers(0, 3)).map(line),
            st.builds(answer, st.integers(0, 3)).map(line),
            st.just(line(LOG)),
        ),
    ),
    max_size=20,
)


@given(SPOKEN)
def test_any_bytes_become_exchanges_that_each_have_a_request(
    spoken: list[tuple[bool, bytes]],
) -> None:
    session = Session(max_line_bytes=100, max_waiting=3, max_beside_bytes=2000)
    for is_client, chunk in spoken:
        for piece in chunk.split(b"\n"):
            (session.client if is_client else session.server)(piece + b"\n")
    prologue, *exchanges = session.finish()
    assert "request" not in prologue
    assert all("request" in each for each in exchanges)
    json.dumps([prologue, *exchanges])
