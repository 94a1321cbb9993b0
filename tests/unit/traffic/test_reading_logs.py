"""Logs become sessions, whatever a line looks like."""

from __future__ import annotations

import json
from typing import Any

import pytest
from case_tables import each_case
from traffic_samples import (
    HANDSHAKE,
    INITIALIZE,
    INITIALIZED,
    OPENED,
    call,
    log,
    notification,
    refused,
    request,
    result,
)

from mcptest.core.errors import FormatError
from mcptest.traffic.reading import read_traffic

FILE = "tee.ndjson"
ASKED = request(1, "sampling/createMessage")


def said(text: str) -> list[tuple[str, Any]]:
    recording = read_traffic(text, FILE)
    return [(each.direction, each.message) for each in recording.sessions[0].messages]


def notes(text: str) -> tuple[str, ...]:
    return read_traffic(text, FILE).notes


def lines(*values: Any) -> str:
    return "".join(f"{json.dumps(value)}\n" for value in values)


# Either side may send it.
PING = request(1, "ping")
ASKS = json.dumps(PING)
IN, OUT = json.dumps(call(1)), json.dumps(result(1))


@each_case(
    ("line", "direction"),
    [
        *(
            (json.dumps({key: word, "message": PING}), direction)
            for key in ("direction", "dir", "from", "type", "source")
            for word, direction in (("in", "in"), ("out", "out"), ("Client", "in"))
        ),
        *((json.dumps({"dir": "server", key: result(1)}), "out") for key in ("data", "payload")),
        *((json.dumps({"dir": "server", key: OUT}), "out") for key in ("raw", "line", "body")),
        *(
            (json.dumps({"dir": word, "json": PING, "ts": 12}), "in")
            for word in (
                *("in", "client", "send", "sent", "stdin", "->", "-->", ">", "=>", "→", "c2s"),
                *("client-to-server", "client_to_server", "clientToServer", "to server"),
            )
        ),
        *(
            (json.dumps({"dir": word, "json": PING, "timestamp": "12"}), "out")
            for word in (
                *("out", "server", "recv", "received", "stdout", "<-", "<--", "<", "←", "s2c"),
                *("server-to-client", "SERVER_TO_CLIENT", "to client"),
            )
        ),
        (json.dumps({"in": PING}), "in"),
        (json.dumps({"out": PING}), "out"),
        (json.dumps({"out": ASKS}), "out"),
        (f"-> {ASKS}", "in"),
        (f"<-- {OUT}", "out"),
        (f"in: {ASKS}", "in"),
        (f"out: {OUT}", "out"),
        (f"2025-01-01T00:00:00Z >> {ASKS}", "in"),
        (f"[12:00:01] [info] << {OUT}", "out"),
        (f"client -> server: {ASKS}", "in"),
        (f"server → client: {ASKS}", "out"),
        (f"12 sent to client {ASKS}", "out"),
        (f"2025-01-01T00:00:00Z [info] [x] Message from client: {ASKS}", "in"),
        (f"2025-01-01T00:00:00Z [info] Message from server: {OUT} {{ metadata: 1 }}", "out"),
    ],
)
def test_a_line_says_who_said_it(line: str, direction: str) -> None:
    assert [each[0] for each in said(f"{line}\n")] == [direction]


@pytest.mark.parametrize(
    "line",
    [
        IN,
        json.dumps({"dir": "upwards", "message": call(1)}),
        json.dumps({"type": "request", "message": call(1)}),
        json.dumps({"request": call(1)}),
        f"something {IN}",
    ],
)
def test_a_line_that_does_not_say_is_judged_by_its_message(line: str) -> None:
    assert said(line) == [("in", call(1))]


def test_a_line_may_hold_a_request_and_its_response() -> None:
    assert said(lines({"request": call(1), "response": result(1)})) == [
        ("in", call(1)),
        ("out", result(1)),
    ]


def test_a_json_array_of_messages_is_a_log_too() -> None:
    assert said(json.dumps([call(1), result(1)])) == [("in", call(1)), ("out", result(1))]


# Directions that are not named


@pytest.mark.parametrize(
    "method",
    [
        "sampling/createMessage",
        "elicitation/create",
        "roots/list",
        "notifications/message",
        "notifications/tools/list_changed",
        "notifications/prompts/list_changed",
        "notifications/resources/list_changed",
        "notifications/resources/updated",
        "notifications/elicitation/complete",
    ],
)
def test_messages_that_only_servers_send_belong_to_the_server(method: str) -> None:
    assert said(lines({"jsonrpc": "2.0", "method": method}))[0][0] == "out"


@pytest.mark.parametrize(
    "method",
    ["tools/call", "ping", "notifications/initialized", "notifications/roots/list_changed", "x"],
)
def test_everything_else_is_the_clients(method: str) -> None:
    assert said(lines({"jsonrpc": "2.0", "method": method}))[0][0] == "in"


def test_a_response_goes_the_way_back_of_its_request_also_when_both_sides_use_its_id() -> None:
    found = said(lines(call(1), ASKED, result(1, role="user"), result(1, content=[])))
    assert [direction for direction, _ in found] == ["in", "out", "in", "out"]


def test_a_response_to_nothing_is_the_servers() -> None:
    assert said(lines(refused(None)))[0][0] == "out"


def test_progress_and_cancellations_belong_to_the_request_they_name() -> None:
    mine = call(1) | {"params": {"_meta": {"progressToken": "a"}}}
    theirs = ASKED | {"id": 7, "params": {"_meta": {"progressToken": "b"}}}
    spoken_of = [
        notification("notifications/progress", progressToken="a"),
        notification("notifications/progress", progressToken="b"),
        notification("notifications/progress", progressToken="unknown"),
        notification("notifications/cancelled", requestId=1),
        notification("notifications/cancelled", requestId=7),
        notification("notifications/cancelled", requestId="unknown"),
    ]
    found = said(lines(mine, theirs, *spoken_of))
    assert [direction for direction, _ in found[2:]] == ["out", "in", "out", "in", "out", "in"]


def test_directions_that_the_server_sees_are_turned_round() -> None:
    other = {"in": "sent", "out": "received"}
    text = log(*((other["out" if side == "in" else "in"], each) for side, each in HANDSHAKE))
    assert said(text) == HANDSHAKE
    (note,) = notes(text)
    assert note == "tee.ndjson: the directions are those of the server's side and were reversed"
    assert notes(log(*HANDSHAKE)) == ()


# Batches


def test_a_batch_of_requests_stays_one_and_any_other_is_taken_apart() -> None:
    text = lines([call(1), call(2)], [result(1), result(2)])
    assert said(text) == [("in", [call(1), call(2)]), ("out", result(1)), ("out", result(2))]


# Input that is not a message


def test_lines_without_a_message_are_left_out_and_reported() -> None:
    text = f"server started\n\n{IN}\n{{broken\n{OUT}\n" + '{"level": "info", "msg": "x"}\n'
    assert said(text) == [("in", call(1)), ("out", result(1))]
    assert notes(text) == ("tee.ndjson: 3 lines have no message and were left out: lines 1, 4, 6",)


def test_only_the_first_of_very_many_lines_are_named() -> None:
    assert notes("noise\n" * 30 + IN)[0].endswith("lines 1, 2, 3, 4, 5, 6, 7, 8 and 22 more")
    assert notes(f"noise\n{IN}") == ("tee.ndjson: 1 line has no message and was left out: line 1",)


def test_blank_lines_are_ignored_silently() -> None:
    assert notes(f"\n\n{IN}\n  \n") == ()


@pytest.mark.parametrize(
    "line",
    [
        '{"jsonrpc": "2.0", "method": "a", "method": "b"}',
        '{"jsonrpc": "2.0", "method": "a", "params": {"n": NaN}}',
        '{"jsonrpc": "2.0", "method": "a", "params": {"n": 1e999}}',
        '{"jsonrpc": "2.0", "method": "a", "params": ' + "[" * 250 + "]" * 250 + "}",
        '{"jsonrpc": "2.0", "method": 5}',
        '{"method": "a", "level": "info"}',
        '{"id": 5}',
        "[]",
        "[1, 2]",
    ],
)
def test_a_line_that_no_contract_could_hold_is_left_out(line: str) -> None:
    assert said(f"{line}\n{IN}\n") == [("in", call(1))]
    assert len(notes(f"{line}\n{IN}\n")) == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the file is empty"),
        (" \n\n", "the file is empty"),
        ("just words\nand more\n", "there is no MCP message in this file"),
    ],
)
def test_a_file_without_any_message_is_refused(text: str, message: str) -> None:
    with pytest.raises(FormatError) as caught:
        read_traffic(text, FILE)
    (found,) = caught.value.diagnostics
    assert (found.code, found.message) == ("F005", message)
    assert "capture" in found.help


@pytest.mark.parametrize(
    "text",
    [
        f"case: a\nin: {IN}\nout: {OUT}\n",
        f"in: {IN}\nout: {OUT}\n---\nin: {IN}\n",
        "in:\n  jsonrpc: '2.0'\n  method: x\n",
        'in_1: {\n  "jsonrpc": "2.0",\n  "method": "x"\n}\n',
    ],
)
def test_a_case_file_needs_no_conversion(text: str) -> None:
    with pytest.raises(FormatError) as caught:
        read_traffic(text, FILE)
    (found,) = caught.value.diagnostics
    assert found.message == "this is a case file already and needs no conversion"
    assert found.help == "run it as it is: mcptest run FILE"


def test_a_log_with_a_line_of_dashes_is_still_a_log() -> None:
    assert len(said(f"---\n{IN}\n---\n{OUT}\n")) == 2


def test_a_byte_order_mark_and_dos_lines_do_not_matter() -> None:
    assert said(f"\ufeff{IN}\r\n{OUT}\r\n") == [("in", call(1)), ("out", result(1))]


def test_a_new_handshake_begins_a_new_session() -> None:
    text = log(*HANDSHAKE, *HANDSHAKE)
    sessions = read_traffic(text, FILE).sessions
    assert [[each.message for each in session.messages] for session in sessions] == [
        [INITIALIZE, OPENED, INITIALIZED],
        [INITIALIZE, OPENED, INITIALIZED],
    ]
