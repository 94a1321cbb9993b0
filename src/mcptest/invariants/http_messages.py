"""How messages came over HTTP, as captures tell it, and what rules ask of that.

Beside its messages an exchange may have an object `http`, with the same members: `response` is
one object, `server_messages` and `replies` are arrays. Each object says how one message came,
and `Said.http` is that object. All its members may be missing, when they are not known:

* `stream`: "post" when it came in the answer to a POST, "get" when it came on a stream that was
  opened with GET.
* `request_id`: the id of the request whose POST was answered so. Without it a message may belong
  to any request that is open.
* `resumed`: true when the stream goes on with an earlier one (`Last-Event-ID`).
* `status`: the HTTP status of the answer, an integer.
* `content_type`: the header of that name; "" when there was none.
* `event_id`, `event`: the id and the name of the event of an event stream.
* `headers`: the headers of the answer, an object with their names in lower case.
* `session_id`: the session that the answer gave (`Mcp-Session-Id`).

The old transport of two endpoints is told from the other by the transport of the session, which
begins with "sse" or "http+sse", or by the answer to `initialize`, which comes on a GET stream.
"""

from __future__ import annotations

from mcptest.core import jsonrpc

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from mcptest.invariants.facts import Facts
    from mcptest.invariants.said import Said

    Http = dict[str, Any]

__all__ = [
    "EVENT_STREAM",
    "JSON",
    "OldTransport",
    "header",
    "is_refused",
    "media_type",
    "on_stream",
    "possible_requests",
]

JSON = "application/json"
EVENT_STREAM = "text/event-stream"

_OLD = ("sse", "http+sse")


def on_stream(said: Said, stream: str) -> bool:
    """Whether a message came on a stream of this kind; one that was resumed is not meant."""
    http = said.http
    return http.get("stream") == stream and http.get("resumed") is not True


def media_type(http: Http) -> str | None:
    """The media type of an answer without its parameters; None when it is not known."""
    found = http.get("content_type", header(http, "content-type"))
    return found.partition(";")[0].strip().lower() if isinstance(found, str) else None


def header(http: Http, name: str) -> str | None:
    """A header of an answer; None when it had none or that is not known."""
    headers = http.get("headers")
    found = headers.get(name) if isinstance(headers, dict) else None
    return found if isinstance(found, str) else None


def is_refused(http: Http) -> bool:
    """Whether the status says that the message was not accepted: then the body is free."""
    status = http.get("status")
    return type(status) is int and status >= 400


def possible_requests(said: Said, facts: Facts) -> list[dict[str, Any]]:
    """The open requests of the client whose answer a message may have come in."""
    if "request_id" not in said.http:
        return list(facts.open.values())
    request = facts.open.get(jsonrpc.id_key(said.http["request_id"]))
    return [request] if request else []


class OldTransport:
    """Finds out whether a session goes over the old transport of two endpoints."""

    def __init__(self) -> None:
        self._is_old: bool | None = None

    def is_used(self, said: Said, facts: Facts) -> bool:
        """Whether it is, as far as is known when this is said."""
        if facts.transport.lower().startswith(_OLD):
            return True
        if self._is_old is None and said.kind in ("result", "error") and said.http:
            self._is_old = said.method == "initialize" and on_stream(said, "get")
        return bool(self._is_old)
