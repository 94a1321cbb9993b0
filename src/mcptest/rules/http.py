"""Rules about messages received over HTTP (HTTP).

An exchange of a capture may have an object `http` with one object for each message: `response` is
one, `server_messages` and `replies` are arrays of them. Each is `Entry.http` of its message and
says how that was received. Unknown members are missing:

* `stream`: "post" for the response to a POST, "get" for a stream that was opened with GET.
* `request_id`: the id of the request that was POSTed. Without it a message may belong to any open
  request.
* `resumed`: true if the stream resumes an earlier one (`Last-Event-ID`).
* `status`: the HTTP status of the answer, an integer.
* `content_type`: the header of that name; "" when there was none.
* `event_id`, `event`: the id and the name of the event of an event stream.
* `headers`: the headers of the answer, an object with their names in lower case.
* `session_id`: the header `Mcp-Session-Id` of the answer.

The deprecated HTTP+SSE transport of 2024-11-05 is recognised by the transport of the session
("sse…" or "http+sse…"), or by a response to `initialize` on a GET stream.
"""

from __future__ import annotations

from mcptest.core.text import render_trail, shorten
from mcptest.protocol import jsonrpc
from mcptest.protocol.revisions import META_LOG_LEVEL
from mcptest.rules.rule import Rule, SessionCheck, collect, members, show
from mcptest.rules.schemas import inner_schemas

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from mcptest.core.text import Trail
    from mcptest.rules.rule import Entry, Facts, Findings, Members

__all__ = ["RULES", "on_stream"]

_JSON = "application/json"
_EVENT_STREAM = "text/event-stream"


def on_stream(entry: Entry, stream: str) -> bool:
    """True if a message came on a stream of this kind that was not resumed."""
    http = entry.http
    return http.get("stream") == stream and http.get("resumed") is not True


def _media_type(http: Members) -> str | None:
    """The media type of an answer without parameters, None if unknown."""
    found = http.get("content_type", _header(http, "content-type"))
    return found.partition(";")[0].strip().lower() if isinstance(found, str) else None


def _header(http: Members, name: str) -> str | None:
    """A header of an answer, None if missing or unknown."""
    found = members(http.get("headers")).get(name)
    return found if isinstance(found, str) else None


def _is_refused(http: Members) -> bool:
    """True for an error status, with which any body may come."""
    status = http.get("status")
    return type(status) is int and status >= 400


def _possible_requests(entry: Entry, facts: Facts) -> list[Members]:
    """The open requests that a message on a POST stream may belong to."""
    if "request_id" not in entry.http:
        return list(facts.open.values())
    request = facts.open.get(jsonrpc.id_key(entry.http["request_id"]))
    return [request] if request else []


class _SseAware(SessionCheck):
    """Detects the deprecated HTTP+SSE transport."""

    _is_detected: bool | None = None

    def uses_sse(self, entry: Entry, facts: Facts) -> bool:
        if facts.transport.lower().startswith(("sse", "http+sse")):
            return True
        if self._is_detected is None and entry.kind in ("result", "error") and entry.http:
            self._is_detected = entry.method == "initialize" and on_stream(entry, "get")
        return bool(self._is_detected)


def _check_content_type(entry: Entry, _: Facts) -> Findings:
    if not on_stream(entry, "post") or _is_refused(entry.http):
        return None
    found = _media_type(entry.http)
    if found is None or found in (_JSON, _EVENT_STREAM):
        return None if found is None else ()
    seen = f"as {show(found)}" if found else "without a Content-Type"
    return [
        f"the answer to the POST of {show(entry.method)} came {seen}; it must be {_JSON} or "
        f"{_EVENT_STREAM}"
    ]


def _check_json_body(entry: Entry, facts: Facts) -> Findings:
    if not entry.http or _media_type(entry.http) != _JSON or not on_stream(entry, "post"):
        return None
    if _is_refused(entry.http):
        return None
    if entry.kind == "batch":
        if facts.oldest < "2025-06-18":
            return ()
        return [f"a JSON answer is an array and must be one object: {show(entry.message)}"]
    if entry.kind not in ("result", "error"):
        return [f"a JSON answer to a POST must be a response and is {show(entry.message)}"]
    id = entry.message.get("id")
    if entry.request is not None or id is None:
        return ()
    return [f"a JSON answer to a POST has the id {show(id)}, which no open request has"]


def _check_session_id(entry: Entry, _: Facts) -> Findings:
    id = entry.http.get("session_id") or _header(entry.http, "mcp-session-id")
    if not id or not isinstance(id, str):
        return None
    invalid = next((char for char in id if not "!" <= char <= "~"), None)
    if invalid is None:
        return ()
    return [
        f"the session id {show(id)} has the character {show(invalid)} in it; only visible "
        "ASCII characters, from ! to ~, may be"
    ]


def _check_buffering(entry: Entry, _: Facts) -> Findings:
    if not isinstance(entry.http.get("headers"), dict) or _media_type(entry.http) != _EVENT_STREAM:
        return None
    found = _header(entry.http, "x-accel-buffering")
    if found is not None and found.strip().lower() == "no":
        return ()
    seen = "missing" if found is None else show(found)
    return [f"X-Accel-Buffering of an event stream is {seen}; with no, proxies do not hold it back"]


_ANSWER_RULES = {
    "HTTP-03 request-content-type": Rule(
        property=f"a request that is POSTed is answered with {_JSON} or {_EVENT_STREAM}",
        since="2025-03-26",
        topics=("result", "error"),
        check=_check_content_type,
        reason_if_unused="the capture names no Content-Type of the answer to a POST",
        section="basic/transports#Sending Messages to the Server",
        stateless_section="basic/transports/streamable-http#Sending Messages",
    ),
    "HTTP-04 json-single-object": Rule(
        property="an answer in JSON is one object, the response to the request",
        since="2025-03-26",
        topics=("server",),
        check=_check_json_body,
        covers=("BASE-08", "BASE-17"),
        reason_if_unused="no POST was answered in JSON",
        section="basic/transports#Sending Messages to the Server",
        stateless_section="basic/transports/streamable-http#Sending Messages",
    ),
    "HTTP-11 session-id-ascii": Rule(
        property="a session id has only visible ASCII characters in it",
        since="2025-03-26",
        until="2025-11-25",
        topics=("result:initialize",),
        check=_check_session_id,
        reason_if_unused="the server gave no session id",
        reason_if_other_revision="no sessions",
        section="basic/transports#Session Management",
    ),
    "HTTP-54 x-accel-buffering": Rule(
        property="event streams are sent with X-Accel-Buffering: no",
        since="2026-07-28",
        level="SHOULD",
        topics=("result", "error", "notification:notifications/subscriptions/acknowledged"),
        check=_check_buffering,
        reason_if_unused="the capture has no headers of an event stream",
        section="basic/transports/streamable-http#Receiving Messages",
    ),
}


# Limits on what is remembered: streams without a response, and ids of events.
_MAX_STREAMS = 1000
_MAX_IDS = 50_000
_MAX_ID_CHARS = 1000

_MESSAGES = ("result", "error", "request", "notification")


class _NoResponsesOnGet(_SseAware):
    def check(self, entry: Entry, facts: Facts) -> Findings:
        if not entry.http or self.uses_sse(entry, facts) or not on_stream(entry, "get"):
            return None
        if entry.kind not in ("result", "error"):
            return ()
        id = facts.name_id(entry.message.get("id"))
        return [f"the response to id {id} came on a GET stream; only a resumed one may have it"]


class _ResponseOnPost(_SseAware):
    """An event stream that answers a POST delivers the response and then ends."""

    def __init__(self) -> None:
        self._requests = 0
        # Streams without a response, by the id of their request, with the number of requests
        # that had been sent when the stream was first seen.
        self._open: dict[jsonrpc.IdKey, int] = {}
        # Requests that the client has cancelled: what was on its way may still come.
        self._cancelled: set[jsonrpc.IdKey] = set()

    def check(self, entry: Entry, facts: Facts) -> Findings:
        if entry.is_client:
            if entry.kind == "request":
                self._requests += 1
            elif entry.method == "notifications/cancelled":
                key = jsonrpc.id_key(entry.params.get("requestId"))
                self._open.pop(key, None)
                if len(self._cancelled) < _MAX_STREAMS:
                    self._cancelled.add(key)
            return None
        if not entry.http or self.uses_sse(entry, facts):
            return None
        is_on_post = on_stream(entry, "post") and _media_type(entry.http) == _EVENT_STREAM
        if entry.kind in ("result", "error"):
            was_open = self._open.pop(jsonrpc.id_key(entry.message.get("id")), None) is not None
            if is_on_post:
                return ()
            if not was_open or not on_stream(entry, "get"):
                return None
            id = facts.name_id(entry.message.get("id"))
            return [f"the stream that answers id {id} did not have its response: a GET stream did"]
        if not is_on_post:
            return None
        requests = _possible_requests(entry, facts)
        if len(requests) == 1 and len(self._open) < _MAX_STREAMS:
            key = jsonrpc.id_key(requests[0].get("id"))
            if key not in self._cancelled:
                self._open.setdefault(key, self._requests)
        elif "request_id" in entry.http and not requests:
            id = facts.name_id(entry.http["request_id"])
            return [f"{show(entry.method)} came on the stream of id {id} after its response"]
        return None

    def end(self, facts: Facts) -> Findings:
        unanswered = (
            facts.open[key]
            for key, requests in self._open.items()
            if requests < self._requests and key in facts.open
        )
        return [
            f"the stream that answers {show(request.get('method'))} never had its response"
            for request in unanswered
        ] or None


class _UniqueEventIds(SessionCheck):
    def __init__(self) -> None:
        self._seen: set[str] = set()
        self._last: Members | None = None

    def check(self, entry: Entry, _: Facts) -> Findings:
        id = entry.http.get("event_id")
        # The messages of a batch came in one event.
        if not id or not isinstance(id, str) or entry.http is self._last:
            return None
        self._last = entry.http
        if entry.http.get("resumed") is True or len(id) > _MAX_ID_CHARS:
            return None
        if id in self._seen:
            return [f"two events have the id {show(id)}; ids are unique in a session"]
        if len(self._seen) < _MAX_IDS:
            self._seen.add(id)
        return ()


class _SseMessageEvents(_SseAware):
    def check(self, entry: Entry, facts: Facts) -> Findings:
        if not entry.http or not self.uses_sse(entry, facts):
            return None
        if entry.http.get("stream") == "post":
            return [
                f"a message came in the answer to a POST and not as an event: {show(entry.message)}"
            ]
        name = entry.http.get("event") or "message"
        if name == "message":
            return ()
        return [f"a message came as the event {show(name)}; it must be a message event"]


_STREAM_RULES = {
    "HTTP-08 get-no-responses": Rule(
        property="no response comes on a GET stream that resumes no other",
        since="2025-03-26",
        until="2025-11-25",
        topics=_MESSAGES,
        session_check=_NoResponsesOnGet,
        covers=("HTTP-10",),
        reason_if_unused="nothing came on a GET stream",
        reason_if_other_revision="no GET streams",
        section="basic/transports#Listening for Messages from the Server",
    ),
    "HTTP-10 sse-contains-response": Rule(
        property="an event stream that answers a POST has the response and then ends",
        since="2025-03-26",
        until="2025-11-25",
        level="SHOULD",
        topics=("client", *_MESSAGES),
        session_check=_ResponseOnPost,
        reason_if_unused="no POST was answered with an event stream",
        section="basic/transports#Sending Messages to the Server",
    ),
    "HTTP-23 event-id-unique": Rule(
        property="the ids of events are unique over all streams of a session",
        since="2025-03-26",
        until="2025-11-25",
        topics=("server",),
        session_check=_UniqueEventIds,
        reason_if_unused="no event has an id",
        reason_if_other_revision="no ids of events",
        section="basic/transports#Resumability and Redelivery",
    ),
    "HTTP-57 old-sse-message-events": Rule(
        property="over the transport of two endpoints every message comes as a message event",
        until="2024-11-05",
        topics=_MESSAGES,
        session_check=_SseMessageEvents,
        reason_if_unused="nothing came over the transport of two endpoints",
        reason_if_other_revision="another transport over HTTP",
        section="basic/transports#HTTP with SSE",
    ),
}


# Sent only on the stream of subscriptions/listen.
_SUBSCRIBED = frozenset(
    [
        "notifications/tools/list_changed",
        "notifications/prompts/list_changed",
        "notifications/resources/list_changed",
        "notifications/resources/updated",
        "notifications/subscriptions/acknowledged",
    ]
)


def _check_no_request(entry: Entry, _: Facts) -> Findings:
    if not entry.http:
        return None
    if entry.kind != "request":
        return ()
    return [f"the request {show(entry.method)} came over HTTP; the server may not ask anything"]


def _check_related(entry: Entry, facts: Facts) -> Findings:
    if not on_stream(entry, "post"):
        return None
    requests = _possible_requests(entry, facts)
    if not requests:
        return None
    if any(_is_about(entry, request) for request in requests):
        return ()
    asked = show(requests[0].get("method")) if len(requests) == 1 else "every open request"
    return [f"{show(entry.method)} came in the answer to {asked}, which did not ask for it"]


def _is_about(entry: Entry, request: Members) -> bool:
    """True if a notification can be about a request."""
    meta = jsonrpc.meta_of(request)
    if entry.method == "notifications/progress":
        token = jsonrpc.id_key(entry.params.get("progressToken"))
        return "progressToken" in meta and jsonrpc.id_key(meta["progressToken"]) == token
    if entry.method == "notifications/message":
        return META_LOG_LEVEL in meta
    return entry.method not in _SUBSCRIBED or request.get("method") == "subscriptions/listen"


_RELATED_RULES = {
    "HTTP-39 sse-no-requests": Rule(
        property="no request of the server comes over HTTP",
        since="2026-07-28",
        topics=("result", "error", "request", "notification"),
        check=_check_no_request,
        covers=("BASE-36", "ELIC-01", "ELIC-02", "ROOT-01", "SAMP-01"),
        reason_if_unused="nothing came over HTTP",
        reason_if_other_revision="requests of the server",
        section="basic/transports/streamable-http#Receiving Messages",
    ),
    "HTTP-40 sse-only-related": Rule(
        property="a notification in the answer to a request belongs to that request",
        since="2026-07-28",
        topics=("notification",),
        check=_check_related,
        reason_if_unused="no notification came in the answer to a POST",
        section="basic/transports/streamable-http#Receiving Messages",
    ),
}


_ANNOTATION = "x-mcp-header"
_TYPES = frozenset(["string", "integer", "boolean"])
# Characters of header names besides letters and digits.
_MARKS = frozenset("!#$%&'*+-.^_`|~")


def _check_annotations(entry: Entry, _: Facts) -> Findings:
    tools = entry.result.get("tools")
    return collect(
        _check_tool(index, schema)
        for index, tool in enumerate(tools if isinstance(tools, list) else ())
        if isinstance(schema := members(tool).get("inputSchema"), dict)
    )


def _check_tool(index: int, schema: Members) -> Findings:
    names: dict[str, str] = {}
    findings: list[str] | None = None
    root: Trail = (((None, "result"), "tools"), index), "inputSchema"
    for path, annotated, is_reachable in _annotated_schemas(schema, root):
        place = shorten(render_trail(path), 120)
        faults = _annotation_faults(annotated, is_reachable)
        name = annotated[_ANNOTATION]
        if isinstance(name, str):
            other = names.setdefault(name.lower(), place)
            if other != place:
                faults.append(f"is {show(name)}, which {other} has too")
        findings = [] if findings is None else findings
        findings += [f"{place}.{_ANNOTATION} {fault}" for fault in faults]
    return findings


def _annotated_schemas(schema: Members, path: Trail) -> Iterator[tuple[Trail, Members, bool]]:
    """The annotated schemas, each with True if only `properties` lead to it."""
    queue: list[tuple[Trail, Any, bool, bool]] = [(path, schema, True, True)]
    for place, each, is_reachable, is_root in queue:
        if isinstance(each, dict):
            if _ANNOTATION in each:
                yield place, each, is_reachable and not is_root
            for keyword, inner_place, inner in inner_schemas(each, place):
                is_property = is_reachable and keyword == "properties"
                queue.append((inner_place, inner, is_property, False))


def _annotation_faults(annotated: Members, is_reachable: bool) -> list[str]:
    name, faults = annotated[_ANNOTATION], []
    if not isinstance(name, str) or not name:
        faults.append(f"must be a string that is not empty and is {show(name)}")
    elif not all(char in _MARKS or (char.isascii() and char.isalnum()) for char in name):
        faults.append(f"must be fit for the name of a header and is {show(name)}")
    if not is_reachable:
        faults.append("is not reached from the root of the schema through properties alone")
    elif not _has_simple_type(annotated):
        kind = show(annotated["type"])
        faults.append(f"is on the type {kind}; it may only be on string, integer and boolean")
    return faults


def _has_simple_type(schema: Members) -> bool:
    """True if the type fits in a header, or is not given."""
    kinds = schema.get("type")
    if kinds is None:
        return "type" not in schema
    if isinstance(kinds, list):
        return all(isinstance(kind, str) and kind in _TYPES | {"null"} for kind in kinds)
    return isinstance(kinds, str) and kinds in _TYPES


_PARAM_HEADER_RULES = {
    "HTTP-41 x-mcp-header-valid": Rule(
        property="every x-mcp-header names a header, once in its tool, on a string, an integer "
        "or a boolean to which only properties lead",
        since="2026-07-28",
        topics=("result:tools/list",),
        check=_check_annotations,
        reason_if_unused="no tool has an x-mcp-header",
        reason_if_other_revision="no x-mcp-header",
        section="basic/transports/streamable-http#Schema Extension",
    ),
}

RULES = {**_ANSWER_RULES, **_STREAM_RULES, **_RELATED_RULES, **_PARAM_HEADER_RULES}
