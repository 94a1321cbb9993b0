"""Rules about event streams: which messages come on which, and how their events are told apart."""

from __future__ import annotations

from mcptest.core import jsonrpc
from mcptest.invariants.http_messages import (
    EVENT_STREAM,
    OldTransport,
    media_type,
    on_stream,
    possible_requests,
)
from mcptest.invariants.rule import Rule, at_levels
from mcptest.invariants.wording import shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from mcptest.invariants.facts import Facts
    from mcptest.invariants.rule import Breaches
    from mcptest.invariants.said import Said

__all__ = ["STREAM_RULES"]

# So many streams that wait for their response, and ids of events, are remembered.
_MAX_STREAMS = 1000
_MAX_IDS = 50_000
_MAX_ID_CHARS = 1000

_MESSAGES = ("result", "error", "request", "notification")


class _NoResponsesOnGet:
    def __init__(self) -> None:
        self._old = OldTransport()

    def see(self, said: Said, facts: Facts) -> Breaches:
        if not said.http or self._old.is_used(said, facts) or not on_stream(said, "get"):
            return None
        if said.kind not in ("result", "error"):
            return ()
        id = facts.name_id(said.message.get("id"))
        return [f"the response to id {id} came on a GET stream; only a resumed one may bring it"]

    def end(self, _: Facts) -> Breaches:
        return None


class _ResponseOnPost:
    """Event streams that answer a POST: each brings the response and then ends."""

    def __init__(self) -> None:
        self._old = OldTransport()
        self._requests = 0
        # The streams without a response yet, by the id of their request, and how many requests
        # there had been when they were first seen.
        self._open: dict[jsonrpc.IdKey, int] = {}

    def see(self, said: Said, facts: Facts) -> Breaches:
        if said.is_client:
            self._hear_client(said)
            return None
        if not said.http or self._old.is_used(said, facts):
            return None
        if said.kind in ("result", "error"):
            return self._answered(said, facts)
        if not on_stream(said, "post") or media_type(said.http) != EVENT_STREAM:
            return None
        return self._began(said, facts)

    def _hear_client(self, said: Said) -> None:
        if said.kind == "request":
            self._requests += 1
        elif said.method == "notifications/cancelled":
            self._open.pop(jsonrpc.id_key(said.params.get("requestId")), None)

    def _began(self, said: Said, facts: Facts) -> Breaches:
        requests = possible_requests(said, facts)
        if len(requests) == 1 and len(self._open) < _MAX_STREAMS:
            self._open.setdefault(jsonrpc.id_key(requests[0].get("id")), self._requests)
        elif "request_id" in said.http and not requests:
            id = facts.name_id(said.http["request_id"])
            return [f"{shown(said.method)} came on the stream of id {id} after its response"]
        return None

    def _answered(self, said: Said, facts: Facts) -> Breaches:
        was_open = self._open.pop(jsonrpc.id_key(said.message.get("id")), None) is not None
        if on_stream(said, "post") and media_type(said.http) == EVENT_STREAM:
            return ()
        if not was_open or not on_stream(said, "get"):
            return None
        id = facts.name_id(said.message.get("id"))
        return [f"the stream that answers id {id} did not bring its response: a GET stream did"]

    def end(self, facts: Facts) -> Breaches:
        left = [
            facts.open[key]
            for key, requests in self._open.items()
            if requests < self._requests and key in facts.open
        ]
        if not left:
            return None
        return [
            f"the stream that answers {shown(request.get('method'))} never brought its response"
            for request in left
        ]


class _EventIds:
    def __init__(self) -> None:
        self._seen: set[str] = set()
        self._last: dict[str, Any] | None = None

    def see(self, said: Said, _: Facts) -> Breaches:
        id = said.http.get("event_id")
        # The messages of a batch came in one event.
        if not id or not isinstance(id, str) or said.http is self._last:
            return None
        self._last = said.http
        if said.http.get("resumed") is True or len(id) > _MAX_ID_CHARS:
            return None
        if id in self._seen:
            return [f"two events have the id {shown(id)}; ids are unique in a session"]
        if len(self._seen) < _MAX_IDS:
            self._seen.add(id)
        return ()

    def end(self, _: Facts) -> Breaches:
        return None


class _OldEvents:
    def __init__(self) -> None:
        self._old = OldTransport()

    def see(self, said: Said, facts: Facts) -> Breaches:
        if not said.http or not self._old.is_used(said, facts):
            return None
        if said.http.get("stream") == "post":
            return [
                f"a message came in the answer to a POST and not as an event: {shown(said.message)}"
            ]
        name = said.http.get("event") or "message"
        if name == "message":
            return ()
        return [f"a message came as the event {shown(name)}; it must be a message event"]

    def end(self, _: Facts) -> Breaches:
        return None


STREAM_RULES = (
    Rule(
        id="HTTP-08",
        name="get-no-responses",
        category="http",
        property="no response comes on a GET stream that resumes no other",
        levels=at_levels("BCD"),
        topics=_MESSAGES,
        start=_NoResponsesOnGet,
        nothing="nothing came on a GET stream",
        elsewhere="no GET streams",
    ),
    Rule(
        id="HTTP-10",
        name="sse-contains-response",
        category="http",
        property="an event stream that answers a POST brings the response and then ends",
        levels=at_levels(should="BCD"),
        topics=("client", *_MESSAGES),
        start=_ResponseOnPost,
        nothing="no POST was answered with an event stream",
    ),
    Rule(
        id="HTTP-23",
        name="event-id-unique",
        category="http",
        property="the ids of events are unique over all streams of a session",
        levels=at_levels("BCD"),
        topics=("server",),
        start=_EventIds,
        nothing="no event has an id",
        elsewhere="no ids of events",
    ),
    Rule(
        id="HTTP-57",
        name="old-sse-message-events",
        category="http",
        property="over the transport of two endpoints every message comes as a message event",
        levels=at_levels("A"),
        topics=_MESSAGES,
        start=_OldEvents,
        nothing="nothing came over the transport of two endpoints",
        elsewhere="another transport over HTTP",
    ),
)
