"""The response to a POST, or a stream: messages, or a named fault."""

from __future__ import annotations

import json
from typing import Any

import pytest
from case_tables import each_case

from mcptest.core.value_class import ABSENT
from mcptest.protocol.framing import Frame, TransportFault
from mcptest.protocol.http_messages import AnswerReader

JSON = "application/json"
EVENTS = "text/event-stream"
ANSWER = {"jsonrpc": "2.0", "id": 7, "result": {}}
REFUSED = {"jsonrpc": "2.0", "id": 7, "error": {"code": -32601, "message": "no"}}
NAMELESS = REFUSED | {"id": None}


def reader(id: object = 7, said: str = "tools/call", **more: Any) -> AnswerReader:
    options: dict[str, Any] = {"stream": "post", "limit": 1000}
    return AnswerReader(said, id, **(options | more))


def read(
    found: AnswerReader, body: object = b"", status: int = 200, kind: str = JSON, **headers: str
) -> list[Frame | TransportFault]:
    """All items of an answer with this body; in names of headers `_` means `-`."""
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    items = found.begin(status, {"content-type": kind, **named})
    return [*items, *found.feed(raw), *found.finish()]


def the_fault(items: list[Frame | TransportFault]) -> TransportFault:
    (found,) = [item for item in items if isinstance(item, TransportFault)]
    return found


def values(items: list[Frame | TransportFault]) -> list[object]:
    return [item.value for item in items if isinstance(item, Frame)]


# Bodies


@pytest.mark.parametrize("kind", [JSON, "application/json; charset=utf-8", "APPLICATION/JSON"])
def test_a_body_of_json_is_a_message(kind: str) -> None:
    found = reader()
    assert values(read(found, ANSWER, kind=kind)) == [ANSWER]
    assert found.is_answered
    assert not found.is_stream


@pytest.mark.parametrize("status", [400, 403, 404, 500])
def test_a_refusal_in_a_message_is_an_answer_like_any_other(status: int) -> None:
    found = reader()
    assert read(found, REFUSED, status) == [
        Frame(
            value=REFUSED,
            line=0,
            http={
                "stream": "post",
                "request_id": 7,
                "status": status,
                "content_type": JSON,
                "headers": {"content-type": JSON},
            },
            answers=frozenset([("int", 7)]),
        )
    ]


@pytest.mark.parametrize("message", [REFUSED | {"id": "server-error"}, NAMELESS])
def test_a_refusal_under_another_id_is_reported_and_the_status_counts(
    message: dict[str, Any],
) -> None:
    items = read(reader(), message, 400)
    assert values(items) == [message]
    fault = the_fault(items)
    assert (fault.kind, fault.id) == ("http_status", 7)
    assert "refused tools/call with status 400" in fault.message


@pytest.mark.parametrize(
    "message",
    [
        ANSWER | {"id": "7"},
        ANSWER | {"id": 8},
        ANSWER | {"id": None},
        {"jsonrpc": "2.0", "method": "notifications/message"},
        {},
        "text",
    ],
)
def test_a_body_that_answers_something_else_is_not_waited_on(message: object) -> None:
    items = read(reader(), message)
    assert values(items) == [message]
    fault = the_fault(items)
    assert (fault.kind, fault.id) == ("http_body", 7)
    assert "a message that is not a response to it" in fault.message


@each_case(
    ("body", "status", "kind", "wanted", "words"),
    [
        (b"", 200, JSON, "http_body", "with status 200 and no body"),
        (b" \n", 200, JSON, "http_body", "with status 200 and no body"),
        (b"", 202, "", "http_body", "with status 202 and no body"),
        (b"{oops", 200, JSON, "malformed_json", "is not JSON at column 2"),
        (b"\xff", 200, JSON, "malformed_json", "is not valid UTF-8"),
        (b"{}", 200, "text/plain", "content_type", "with text/plain, neither"),
        (b"{}", 200, "", "content_type", "with no type at all, neither"),
        (b"{}", 500, JSON, "http_status", "with status 500"),
        (b"[1]", 400, JSON, "http_status", "with status 400"),
        (b"{oops", 502, JSON, "http_status", "with status 502"),
        (b"<html>", 404, "text/html", "http_status", 'with status 404: "<html>"'),
        (b"", 503, "", "http_status", "with status 503 and an empty body"),
        (b"x" * 1001, 200, JSON, "line_too_long", "more than 1,000 bytes"),
    ],
)
def test_each_kind_of_response_without_a_message_has_a_name(
    body: bytes, status: int, kind: str, wanted: str, words: str
) -> None:
    found = reader()
    fault = the_fault(read(found, body, status, kind))
    assert (fault.kind, fault.id) == (wanted, 7)
    assert words in fault.message
    assert not found.is_answered


def test_an_html_page_is_distinguished_from_other_types() -> None:
    assert "page for people" in the_fault(read(reader(), b"<html>", kind="text/html")).hint
    assert the_fault(read(reader(), b"hello", kind="text/plain")).hint == ""


@pytest.mark.parametrize("coding", ["gzip", "br", "x\x1b[0m"])
def test_a_packed_body_is_refused_unread(coding: str) -> None:
    items = read(reader(), b"\x1f\x8b", content_encoding=coding)
    fault = the_fault(items)
    assert fault.kind == "http_body"
    assert "packed as" in fault.message
    assert "\x1b" not in fault.message


@pytest.mark.parametrize(
    ("status", "kind"), [(401, "auth_failed"), (404, "http_status"), (500, "http_status")]
)
def test_a_refusal_with_a_packed_body_is_a_refusal(status: int, kind: str) -> None:
    fault = the_fault(read(reader(), b"\x1f\x8b", status=status, content_encoding="gzip"))
    assert fault.kind == kind
    assert fault.message.endswith(f"with status {status} and a body packed as 'gzip'")


@pytest.mark.parametrize("coding", ["identity", " Identity ", ""])
def test_a_body_that_is_not_packed_is_read(coding: str) -> None:
    assert values(read(reader(), ANSWER, content_encoding=coding)) == [ANSWER]


def test_a_batch_is_an_answer() -> None:
    found = reader()
    assert values(read(found, [ANSWER])) == [[ANSWER]]
    assert found.is_answered


# What needs no answer


@pytest.mark.parametrize("status", [202])
def test_an_accepted_notification_has_no_response(status: int) -> None:
    assert read(reader(ABSENT), b"", status, "") == []


@pytest.mark.parametrize(("status", "body"), [(200, b"{}"), (204, b""), (202, b"ok")])
def test_a_notification_accepted_with_another_status_is_not_a_refusal(
    status: int, body: bytes
) -> None:
    fault = the_fault(read(reader(ABSENT, "notifications/x"), body, status))
    assert not fault.is_refusal
    assert "it is to be 202 and no body" in fault.message


@pytest.mark.parametrize("status", [400, 404, 500])
def test_a_refused_notification_is_a_refusal(status: int) -> None:
    fault = the_fault(read(reader(ABSENT, "notifications/x"), b"", status))
    assert fault.is_refusal
    assert fault.id is ABSENT


def test_the_refusal_of_a_cancellation_is_ignored() -> None:
    fault = the_fault(read(reader(ABSENT, "notifications/cancelled"), b"", 400))
    assert not fault.is_refusal


def test_over_the_older_transport_a_post_is_only_accepted() -> None:
    assert read(reader(is_old=True), b"Accepted", 202, "text/plain") == []
    assert the_fault(read(reader(is_old=True), b"", 500)).id == 7


# Streams


def event(message: object, *fields: str) -> bytes:
    return "\n".join((*fields, f"data: {json.dumps(message)}", "", "")).encode()


def test_messages_of_a_stream_have_the_ids_of_their_events() -> None:
    found = reader()
    note = {"jsonrpc": "2.0", "method": "notifications/message"}
    body = event(note, "id: e1") + b": ping\n\n" + event(ANSWER, "event: message")
    items = read(found, body, kind=EVENTS)
    assert values(items) == [note, ANSWER]
    assert [item.http and item.http.get("event_id") for item in items if type(item) is Frame] == [
        "e1",
        None,
    ]
    assert (found.is_stream, found.is_answered, found.events) == (True, True, 2)
    assert found.last_id == "e1"


def test_a_stream_may_end_without_an_answer() -> None:
    found = reader()
    assert read(found, b"id: 1\ndata:\n\n", kind=EVENTS) == []
    assert (found.is_answered, found.last_id, found.events) == (False, "1", 1)


@pytest.mark.parametrize(
    ("body", "kind", "problem"),
    [
        (b"data: {oops\n\n", "malformed_json", "an event that is not JSON"),
        (b"event: x\x1b[0m\ndata: {}\n\n", "event_stream", "an event named 'x"),
    ],
)
def test_an_event_that_is_not_a_message_does_not_end_the_stream(
    body: bytes, kind: str, problem: str
) -> None:
    found = reader()
    items = read(found, body + event(ANSWER), kind=EVENTS)
    fault = the_fault(items)
    assert (fault.kind, fault.id) == (kind, ABSENT)
    assert "\x1b" not in fault.message
    assert found.is_answered
    assert problem in found.problem


def test_an_unfinished_event_is_reported_as_the_flaw_of_the_stream() -> None:
    found = reader()
    assert read(found, event(ANSWER)[:-1], kind=EVENTS) == []
    assert "without the empty line that ends it" in found.problem


def test_a_complete_stream_has_no_flaw() -> None:
    found = reader()
    read(found, event(ANSWER), kind=EVENTS)
    assert found.problem == ""


def test_a_giant_event_ends_the_reading() -> None:
    found = reader()
    items = read(found, b"data: " + b"x" * 2000, kind=EVENTS)
    fault = the_fault(items)
    assert (fault.kind, fault.id) == ("line_too_long", 7)
    assert found.feed(event(ANSWER)) == []


def test_a_refusal_is_never_read_as_a_stream() -> None:
    found = reader()
    assert the_fault(read(found, event(ANSWER), 400, EVENTS)).kind == "http_status"


def test_the_older_transport_names_its_endpoint_first() -> None:
    found = reader(ABSENT, stream="get", is_old=True)
    body = b"event: endpoint\ndata: /messages?s=1\n\n" + event(ANSWER)
    assert values(read(found, body, kind=EVENTS)) == [ANSWER]
    assert found.endpoint == "/messages?s=1"


def test_elsewhere_an_endpoint_is_an_event_like_any_other() -> None:
    found = reader(ABSENT, stream="get")
    items = read(found, b"event: endpoint\ndata: /x\n\n", kind=EVENTS)
    assert (the_fault(items).kind, found.endpoint) == ("event_stream", "")


def test_a_resumed_stream_continues_where_the_other_broke_off() -> None:
    broken, rest = reader(), reader(stream="get")
    read(broken, b"retry: 900\nid: e5\ndata:\n\n", kind=EVENTS)
    rest.resume(broken)
    assert (rest.last_id, rest.retry_s) == ("e5", 0.9)
    (frame,) = read(rest, event(ANSWER, "id: e6"), kind=EVENTS)
    assert isinstance(frame, Frame)
    assert frame.http
    assert (frame.http["resumed"], frame.http["event_id"]) == (True, "e6")


# What captures keep


def test_only_the_headers_that_rules_need_are_kept() -> None:
    (frame,) = read(
        reader(), ANSWER, set_cookie="secret=1", x_accel_buffering="no", mcp_session_id="s1"
    )
    assert isinstance(frame, Frame)
    assert frame.http
    assert frame.http["headers"] == {"content-type": JSON, "x-accel-buffering": "no"}
    assert frame.http["session_id"] == "s1"


# Progress


def test_progress_says_how_much_of_an_answer_has_arrived() -> None:
    found = reader()
    message = [found.progress]
    found.begin(200, {"content-type": JSON})
    message.append(found.progress)
    found.feed(b"{" * 40)
    message.append(found.progress)
    assert message == [
        "",
        "status 200 came, no body",
        "status 200 came and 40 bytes of a message that is not complete",
    ]


def test_progress_of_a_stream_tells_events_from_their_parts() -> None:
    found = reader()
    found.begin(200, {"content-type": EVENTS})
    assert found.progress == "status 200 came and no message that answers it"
    found.feed(b"data: {")
    assert found.progress == "status 200 came and 7 bytes of a message that is not complete"


# Batches


NOTE = {"jsonrpc": "2.0", "method": "notifications/message", "params": {}}


def test_a_batch_of_notifications_answers_nothing() -> None:
    found = reader()
    items = read(found, event([NOTE, NOTE]) + event(ANSWER), kind=EVENTS)
    assert values(items) == [[NOTE, NOTE], ANSWER]
    assert found.is_answered


def test_a_batch_is_answered_when_all_of_it_is() -> None:
    other = ANSWER | {"id": 8}
    found = reader(ids=frozenset([("int", 7), ("int", 8)]))
    items = read(found, event(ANSWER), kind=EVENTS)
    assert (values(items), found.is_answered) == ([ANSWER], False)
    assert values(found.feed(event(other))) == [other]
    assert found.is_answered


def test_an_error_without_an_id_answers_only_what_is_not_legal() -> None:
    legal, illegal = reader(), reader(is_illegal=True)
    read(legal, NAMELESS, 400)
    read(illegal, NAMELESS, 400)
    assert (legal.is_answered, illegal.is_answered) == (False, True)
