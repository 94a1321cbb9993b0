"""Rules about how the answers to a POST come over HTTP: type, body, session and headers."""

from __future__ import annotations

from mcptest.invariants.http_messages import (
    EVENT_STREAM,
    JSON,
    header,
    is_refused,
    media_type,
    on_stream,
)
from mcptest.invariants.rule import Looking, Rule, at_levels
from mcptest.invariants.wording import shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mcptest.invariants.facts import Facts
    from mcptest.invariants.rule import Breaches
    from mcptest.invariants.said import Said

__all__ = ["ANSWER_RULES"]


def _content_type(said: Said, _: Facts) -> Breaches:
    if not on_stream(said, "post") or is_refused(said.http):
        return None
    found = media_type(said.http)
    if found is None or found in (JSON, EVENT_STREAM):
        return None if found is None else ()
    seen = f"as {shown(found)}" if found else "without a Content-Type"
    return [
        f"the answer to the POST of {shown(said.method)} came {seen}; it must be {JSON} or "
        f"{EVENT_STREAM}"
    ]


def _json_body(said: Said, facts: Facts) -> Breaches:
    if not said.http or media_type(said.http) != JSON or not on_stream(said, "post"):
        return None
    if is_refused(said.http):
        return None
    if said.kind == "batch":
        if not facts.letters <= {"C", "D", "E"}:
            return ()
        return [f"a JSON answer is an array and must be one object: {shown(said.message)}"]
    if said.kind not in ("result", "error"):
        return [f"a JSON answer to a POST must be a response and is {shown(said.message)}"]
    id = said.message.get("id")
    if said.request is not None or id is None:
        return ()
    return [f"a JSON answer to a POST has the id {shown(id)}, which no open request has"]


def _session_id(said: Said, _: Facts) -> Breaches:
    id = said.http.get("session_id") or header(said.http, "mcp-session-id")
    if not id or not isinstance(id, str):
        return None
    strange = next((char for char in id if not "!" <= char <= "~"), None)
    if strange is None:
        return ()
    return [
        f"the session id {shown(id)} has the character {shown(strange)} in it; only visible "
        "ASCII characters, from ! to ~, may be"
    ]


def _not_buffered(said: Said, _: Facts) -> Breaches:
    if not isinstance(said.http.get("headers"), dict) or media_type(said.http) != EVENT_STREAM:
        return None
    found = header(said.http, "x-accel-buffering")
    if found is not None and found.strip().lower() == "no":
        return ()
    seen = "missing" if found is None else shown(found)
    return [f"X-Accel-Buffering of an event stream is {seen}; with no, proxies do not hold it back"]


ANSWER_RULES = (
    Rule(
        id="HTTP-03",
        name="request-content-type",
        category="http",
        property=f"a request that is POSTed is answered with {JSON} or {EVENT_STREAM}",
        levels=at_levels("BCDE"),
        topics=("result", "error"),
        start=lambda: Looking(_content_type),
        nothing="the capture names no Content-Type of the answer to a POST",
    ),
    Rule(
        id="HTTP-04",
        name="json-single-object",
        category="http",
        property="an answer in JSON is one object, the response to the request",
        levels=at_levels("BCDE"),
        topics=("server",),
        start=lambda: Looking(_json_body),
        nothing="no POST was answered in JSON",
    ),
    Rule(
        id="HTTP-11",
        name="session-id-ascii",
        category="http",
        property="a session id has only visible ASCII characters in it",
        levels=at_levels("BCD"),
        topics=("result:initialize",),
        start=lambda: Looking(_session_id),
        nothing="the server gave no session id",
        elsewhere="no sessions",
    ),
    Rule(
        id="HTTP-54",
        name="x-accel-buffering",
        category="http",
        property="event streams are sent with X-Accel-Buffering: no",
        levels=at_levels(should="E"),
        topics=("result", "error", "notification:notifications/subscriptions/acknowledged"),
        start=lambda: Looking(_not_buffered),
        nothing="the capture has no headers of an event stream",
    ),
)
