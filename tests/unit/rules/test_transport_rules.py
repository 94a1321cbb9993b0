"""The beginning of a session, stdio and HTTP: what the captures do not show."""

from __future__ import annotations

from typing import Any

import pytest
from case_tables import each_case

from mcptest.core.results import Verdict
from mcptest.protocol.revisions import REVISIONS, VERSION_KEY
from mcptest.rules.all_rules import RULES
from mcptest.rules.captures import CaptureScorer, score_capture

VERSIONS = dict(zip("ABCDE", REVISIONS, strict=True))
BY_ID = {rule.id: rule for rule in RULES}

OK: dict[str, object] = {"content": []}
JSON_ANSWER = {"stream": "post", "status": 200, "content_type": "application/json"}
EVENTS = {"stream": "post", "status": 200, "content_type": "text/event-stream"}
ON_GET = {"stream": "get", "status": 200, "content_type": "text/event-stream"}
LOGGED = {"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info"}}


def request(id: object, method: str, **params: object) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id, "method": method, "params": params}


def result(id: object, value: object = OK) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id, "result": value}


def call(id: int = 1, **more: Any) -> dict[str, Any]:
    """An exchange of a call and its result."""
    return {"request": request(id, "tools/call"), "response": result(id)} | more


def verdict(id: str, letter: str, *exchanges: dict[str, Any], transport: str = "") -> Verdict:
    """What one rule says of a session of a revision."""
    session = {"server_label": "x", "transport": transport, "exchanges": exchanges}
    if letter:
        session["protocol_version"] = VERSIONS[letter]
    [score] = score_capture([session], [BY_ID[id]]).sessions
    return score.verdicts[0]


def status(id: str, letter: str, *exchanges: dict[str, Any], transport: str = "") -> str:
    return verdict(id, letter, *exchanges, transport=transport).status


# The beginning


def test_a_client_that_skips_initialized_is_not_the_fault_of_the_server() -> None:
    begun = {"request": request(0, "initialize"), "response": result(0, {})}
    went_on = call(1, server_messages=[request(5, "roots/list")])
    assert status("LIFE-10", "D", begun, went_on) == "not_applicable"
    early = begun | {"server_messages": [request(5, "roots/list")]}
    assert status("LIFE-10", "D", early, went_on) == "warning"


def test_a_message_after_initialized_is_not_early() -> None:
    begun = {"request": request(0, "initialize"), "response": result(0, {})}
    ready = {
        "request": {"jsonrpc": "2.0", "method": "notifications/initialized"},
        "server_messages": [request(5, "roots/list")],
    }
    assert status("LIFE-10", "D", begun, ready) == "pass"


def test_a_handshake_that_was_refused_says_nothing_about_early_requests() -> None:
    refused = {
        "request": request(0, "initialize"),
        "response": {"jsonrpc": "2.0", "id": 0, "error": {"code": -32602, "message": "no"}},
    }
    ready = {"request": {"jsonrpc": "2.0", "method": "notifications/initialized"}}
    assert status("LIFE-10", "D", refused, ready) == "not_applicable"


@pytest.mark.parametrize("info", [None, 5, [], {"name": "s"}, {"name": 1, "version": "1"}])
def test_a_server_must_give_its_name_and_its_version(info: object) -> None:
    meta = {"io.modelcontextprotocol/serverInfo": info}
    assert status("LIFE-17", "E", call(response=result(1, {"_meta": meta}))) == "warning"
    assert status("LIFE-17", "E", call(response=result(1, {"_meta": info}))) == "warning"


def test_the_server_info_is_not_read_from_a_result_that_is_not_an_object() -> None:
    assert status("LIFE-17", "E", call(response=result(1, []))) == "not_applicable"
    assert status("LIFE-17", "E", call(response=result(1, {}))) == "warning"


# stdio


@pytest.mark.parametrize("id", ["STDIO-01", "STDIO-02", "STDIO-03", "STDIO-07"])
def test_rules_about_stdio_are_only_for_sessions_over_stdio(id: str) -> None:
    assert status(id, "E", call(), transport="stdio:7@now") == "pass"
    assert status(id, "E", call(), transport="http://127.0.0.1/mcp") == "not_applicable"
    assert status(id, "E", call()) == "not_applicable"


def test_a_line_of_noise_is_the_fault_of_a_server_over_stdio_even_when_none_is_named() -> None:
    noisy = call(noise=["hello"])
    assert status("STDIO-01", "D", noisy) == "fail"
    assert status("STDIO-01", "D", noisy, transport="http://x") == "not_applicable"


@pytest.mark.parametrize(
    ("message", "verdict"),
    [(5, "fail"), ("ready", "fail"), ({"level": "info"}, "fail"), ({"jsonrpc": "2.0"}, "pass")],
)
def test_json_that_is_not_a_message_is_noise_too(message: object, verdict: str) -> None:
    strayed = call(server_messages=[message])
    assert status("STDIO-01", "D", strayed, transport="stdio") == verdict


def late(*exchanges: dict[str, Any], transport: str) -> dict[str, Verdict]:
    """The verdicts when the transport is named after the exchanges."""
    judge = CaptureScorer(RULES)
    judge.set_member("protocol_version", VERSIONS["E"])
    for exchange in exchanges:
        judge.add_exchange(exchange)
    judge.set_member("transport", transport)
    return {each.id: each for each in judge.finish().verdicts}


def test_the_transport_named_last_applies_to_earlier_exchanges() -> None:
    asking = call(server_messages=[request(7, "roots/list")])
    assert late(asking, transport="stdio:7")["STDIO-07"].status == "fail"
    assert late(asking, transport="http://x")["STDIO-07"].status == "not_applicable"
    assert late(call(), transport="stdio:7")["STDIO-07"].status == "pass"


def test_the_number_of_exchanges_held_back_for_the_transport_is_limited() -> None:
    asking = [call(id, server_messages=[request(id, "roots/list")]) for id in range(100)]
    assert 0 < late(*asking, transport="stdio:7")["STDIO-07"].count <= 20


@pytest.mark.parametrize(
    "lines",
    [
        ["{", '"jsonrpc": "2.0"', "}"],
        ["[", "1,", "[2, 3],", '"a ] \\" b"', "]"],
        ['{"a": [', "], ", '"b": {}}'],
        ["starting", "{", '"a": 1', "}", "done"],
    ],
)
def test_lines_that_are_one_value_when_they_are_joined_are_a_message_on_several(
    lines: list[str],
) -> None:
    found = verdict("STDIO-02", "D", call(noise=lines), transport="stdio")
    assert (found.status, found.count) == ("fail", 1)


@pytest.mark.parametrize(
    "lines",
    [
        ["starting {", "}"],
        ["{", "not json", "}"],
        ["}", "{"],
        ["[INFO] one", "[INFO] two"],
        ["{" * 300, "}" * 300],
    ],
)
def test_other_lines_are_not_a_message_over_several_lines(lines: list[str]) -> None:
    assert status("STDIO-02", "D", call(noise=lines), transport="stdio") == "pass"


def test_a_message_between_two_lines_keeps_them_apart() -> None:
    halves = [call(1, noise=["{"]), call(2), call(3, noise=['"a": 1}'])]
    assert status("STDIO-02", "D", *halves, transport="stdio") == "pass"


def test_a_bracket_that_is_never_closed_does_not_gather_lines_forever() -> None:
    open_for_long = call(1, noise=["{", *['"a": 1,'] * 20_000])
    then = call(2, noise=["[", "1", "]"])
    assert verdict("STDIO-02", "D", open_for_long, then, transport="stdio").count == 1


@pytest.mark.parametrize(
    "line",
    [
        '{"jsonrpc": "2.0", "method": "a"}{"jsonrpc": "2.0", "method": "b"}',
        '{"jsonrpc": "2.0", "method": "a"}Traceback',
        ' {"jsonrpc": "2.0", "id": 3, "result": {}}',
    ],
)
def test_a_message_on_a_line_that_is_none_lacks_its_newline(line: str) -> None:
    assert status("STDIO-03", "D", call(noise=[line]), transport="stdio") == "fail"


@pytest.mark.parametrize(
    "line",
    ["hello", '{"jsonrpc": "2.0", ', '{"level": "jsonrpc"} x', "{" * 5000 + '"jsonrpc"', "[1]"],
)
def test_a_line_that_does_not_begin_with_a_message_lacks_none(line: str) -> None:
    assert status("STDIO-03", "D", call(noise=[line]), transport="stdio") == "pass"


# Answers over HTTP


def handshake(letter: str, **http: object) -> dict[str, Any]:
    """A handshake for a revision, whose answer arrived over HTTP like this."""
    return {
        "request": request(0, "initialize"),
        "response": result(0, {"protocolVersion": VERSIONS[letter]}),
        "http": {"response": http},
    }


def over_http(**http: object) -> dict[str, Any]:
    """A call whose result arrived over HTTP like this."""
    return call(http={"response": http})


@pytest.mark.parametrize(
    ("http", "verdict"),
    [
        (JSON_ANSWER | {"content_type": "APPLICATION/json ; charset=utf-8"}, "pass"),
        ({"stream": "post", "headers": {"content-type": "text/event-stream"}}, "pass"),
        ({"stream": "post", "headers": {"content-type": "text/html"}}, "fail"),
        ({"stream": "post"}, "not_applicable"),
        (JSON_ANSWER | {"status": 404, "content_type": "text/html"}, "not_applicable"),
        (ON_GET | {"content_type": "text/html"}, "not_applicable"),
        ({}, "not_applicable"),
    ],
)
def test_the_type_of_an_answer_is_judged_when_it_is_known(
    http: dict[str, Any], verdict: str
) -> None:
    assert status("HTTP-03", "D", over_http(**http)) == verdict


def test_an_answer_in_json_may_be_an_array_while_there_are_batches() -> None:
    batch = {
        "request": [request(1, "ping")],
        "response": [result(1)],
        "http": {"response": JSON_ANSWER},
    }
    assert status("HTTP-04", "B", batch) == "pass"
    assert status("HTTP-04", "C", batch) == "fail"


def test_an_error_whose_request_could_not_be_read_is_an_answer() -> None:
    error = {"jsonrpc": "2.0", "id": None, "error": {"code": -32700, "message": "what?"}}
    unread = {"request": request(1, "ping"), "server_messages": [error]}
    unread["http"] = {"server_messages": [JSON_ANSWER]}
    assert status("HTTP-04", "D", unread, unread) == "pass"


@pytest.mark.parametrize(
    ("id", "verdict"),
    [
        ("!~", "pass"),
        ("", "not_applicable"),
        (5, "not_applicable"),
        ("a b", "fail"),
        ("\x7f", "fail"),
        ("a\n", "fail"),
        ("ä", "fail"),
    ],
)
def test_a_session_id_is_made_of_visible_ascii(id: object, verdict: str) -> None:
    begun = handshake("D", **JSON_ANSWER, session_id=id)
    assert status("HTTP-11", "", begun) == verdict


def test_buffering_is_only_judged_when_the_headers_are_known() -> None:
    assert status("HTTP-54", "E", over_http(**EVENTS)) == "not_applicable"
    assert status("HTTP-54", "E", over_http(**EVENTS, headers={})) == "warning"
    assert (
        status("HTTP-54", "E", over_http(**EVENTS, headers={"x-accel-buffering": " No"})) == "pass"
    )
    assert status("HTTP-54", "E", over_http(**JSON_ANSWER, headers={})) == "not_applicable"


# Streams over HTTP


def test_over_the_old_transport_responses_arrive_on_the_get_stream() -> None:
    for id in ("HTTP-08", "HTTP-10"):
        assert status(id, "", handshake("D", **ON_GET), over_http(**ON_GET)) == "not_applicable"
    assert status("HTTP-57", "", handshake("A", **ON_GET), over_http(**ON_GET)) == "pass"
    assert status("HTTP-08", "D", over_http(**ON_GET), transport="sse:x") == "not_applicable"
    assert status("HTTP-08", "", handshake("D", **JSON_ANSWER), over_http(**ON_GET)) == "fail"


def test_the_oldest_revision_over_the_newer_transport_is_not_the_old_transport() -> None:
    newer = [handshake("A", **JSON_ANSWER), over_http(**JSON_ANSWER)]
    assert status("HTTP-57", "", *newer) == "not_applicable"
    assert status("HTTP-57", "", *newer, transport="http+sse://x") == "fail"


def streamed(id: int, **http: object) -> dict[str, Any]:
    """A call whose answer has a log message and no response."""
    return {
        "request": request(id, "tools/call"),
        "server_messages": [LOGGED],
        "http": {"server_messages": [EVENTS | http]},
    }


def test_a_stream_without_a_response_is_only_at_fault_when_the_client_went_on() -> None:
    assert status("HTTP-10", "D", streamed(1)) == "not_applicable"
    assert status("HTTP-10", "D", streamed(1), call(2)) == "warning"
    cancelled = {
        "request": {
            "jsonrpc": "2.0",
            "method": "notifications/cancelled",
            "params": {"requestId": 1},
        }
    }
    assert status("HTTP-10", "D", streamed(1), cancelled, call(2)) == "not_applicable"


def test_a_response_may_arrive_on_a_resumed_stream() -> None:
    resumed = streamed(1) | {"response": result(1)}
    resumed["http"]["response"] = ON_GET | {"resumed": True}
    for id in ("HTTP-08", "HTTP-10"):
        assert status(id, "D", resumed, call(2)) == "not_applicable"


def test_when_several_requests_are_open_a_message_may_belong_to_any() -> None:
    both = [streamed(1), streamed(2)]
    assert verdict("HTTP-10", "D", *both, call(3)).count == 1
    named = [streamed(1, request_id=1), streamed(2, request_id=2)]
    assert verdict("HTTP-10", "D", *named, call(3)).count == 2


def test_the_messages_of_one_batch_share_the_id_of_their_event() -> None:
    batch = call(server_messages=[[LOGGED, LOGGED]])
    batch["http"] = {"server_messages": [EVENTS | {"event_id": "7"}]}
    assert status("HTTP-23", "B", batch) == "pass"
    assert (
        verdict(
            "HTTP-23",
            "B",
            batch,
            batch | {"http": {"server_messages": [EVENTS | {"event_id": "7"}]}},
        ).count
        == 1
    )


def test_events_that_are_sent_again_keep_their_ids() -> None:
    first, again = (
        over_http(**EVENTS, event_id="7"),
        over_http(**ON_GET, event_id="7", resumed=True),
    )
    assert status("HTTP-23", "D", first, again) == "pass"


def test_only_a_limited_number_of_ids_of_events_are_remembered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("mcptest.rules.http._MAX_IDS", 3)
    events = [over_http(**EVENTS, event_id=id) for id in ("1", "2", "3", "4", "4", "1")]
    assert verdict("HTTP-23", "D", *events).count == 1


def modern(id: int, method: str, meta: dict[str, object], *said: dict[str, Any]) -> dict[str, Any]:
    meta = {VERSION_KEY: VERSIONS["E"]} | meta
    return {
        "request": request(id, method, _meta=meta),
        "server_messages": list(said),
        "response": result(id),
        "http": {"response": EVENTS, "server_messages": [EVENTS] * len(said)},
    }


def note(method: str, **params: object) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "method": f"notifications/{method}", "params": params}


@pytest.mark.parametrize(
    ("method", "meta", "said", "verdict"),
    [
        ("tools/call", {"progressToken": 1}, note("progress", progressToken=1), "pass"),
        ("tools/call", {"progressToken": 1}, note("progress", progressToken="1"), "fail"),
        ("tools/call", {"progressToken": 1}, note("progress", progressToken=True), "fail"),
        ("tools/call", {}, note("progress"), "fail"),
        ("tools/call", {}, note("tools/list_changed"), "fail"),
        ("subscriptions/listen", {}, note("tools/list_changed"), "pass"),
        ("tools/call", {}, note("x/mine"), "pass"),
    ],
)
def test_a_notification_belongs_to_the_request_of_its_stream(
    method: str, meta: dict[str, object], said: dict[str, Any], verdict: str
) -> None:
    assert status("HTTP-40", "", modern(1, method, meta, said)) == verdict


def test_a_notification_that_may_belong_to_another_open_request_is_not_blamed() -> None:
    waiting = modern(1, "tools/call", {"progressToken": 1})
    del waiting["response"]
    other = modern(2, "tools/call", {}, note("progress", progressToken=1))
    assert status("HTTP-40", "", waiting, other) == "pass"
    other["http"]["server_messages"] = [EVENTS | {"request_id": 2}]
    assert status("HTTP-40", "", waiting, other) == "fail"
    other["http"]["server_messages"] = [EVENTS | {"request_id": 99}]
    assert status("HTTP-40", "", waiting, other) == "not_applicable"


# x-mcp-header


def annotated(*schemas: dict[str, Any], **root: Any) -> Verdict:
    properties = {f"p{number}": schema for number, schema in enumerate(schemas)}
    tool = {"name": "t", "inputSchema": {"properties": properties} | root}
    listed = {"request": request(1, "tools/list"), "response": result(1, {"tools": [tool]})}
    return verdict("HTTP-41", "E", listed)


@each_case(
    ("schema", "verdict"),
    [
        ({"type": "string", "x-mcp-header": "A-b_1"}, "pass"),
        ({"type": ["string", "null"], "x-mcp-header": "A"}, "pass"),
        ({"enum": ["a"], "x-mcp-header": "A"}, "pass"),
        ({"type": "string", "x-mcp-header": "Größe"}, "fail"),
        ({"type": "string", "x-mcp-header": "A\r\nB"}, "fail"),
        ({"type": "string", "x-mcp-header": "A:"}, "fail"),
        ({"type": "string", "x-mcp-header": 5}, "fail"),
        ({"type": "object", "x-mcp-header": "A"}, "fail"),
        ({"type": None, "x-mcp-header": "A"}, "fail"),
        ({"type": [["string"]], "x-mcp-header": "A"}, "fail"),
        ({"anyOf": [{"type": "string", "x-mcp-header": "A"}]}, "fail"),
        ({"type": "string", "default": {"x-mcp-header": ""}}, "not_applicable"),
    ],
)
def test_an_annotation_names_a_header_on_a_simple_property(
    schema: dict[str, Any], verdict: str
) -> None:
    assert annotated(schema).status == verdict


def test_an_annotation_at_the_root_is_on_no_property() -> None:
    assert annotated(**{"type": "string", "x-mcp-header": "A"}).status == "fail"


def test_a_list_without_annotations_is_nothing_to_look_at() -> None:
    for tools in (5, [5, {}, {"inputSchema": 5}, {"inputSchema": {"type": "object"}}]):
        listed = {"request": request(1, "tools/list"), "response": result(1, {"tools": tools})}
        assert status("HTTP-41", "E", listed) == "not_applicable"


def test_two_tools_may_use_the_same_header() -> None:
    tool = {"inputSchema": {"properties": {"a": {"type": "string", "x-mcp-header": "A"}}}}
    listed = {"request": request(1, "tools/list"), "response": result(1, {"tools": [tool, tool]})}
    assert status("HTTP-41", "E", listed) == "pass"


def test_a_thousand_bad_annotations_have_few_sentences() -> None:
    bad = [{"type": "string", "x-mcp-header": ""}] * 1000
    assert annotated(*bad).count == 20
