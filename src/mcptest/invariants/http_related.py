"""Rules about what comes in the answer to a POST when there are no sessions any more."""

from __future__ import annotations

from mcptest.core import jsonrpc
from mcptest.invariants.http_messages import on_stream, possible_requests
from mcptest.invariants.rule import Looking, Rule, at_levels
from mcptest.invariants.wording import shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from mcptest.invariants.facts import Facts
    from mcptest.invariants.rule import Breaches
    from mcptest.invariants.said import Said

__all__ = ["RELATED_RULES"]

_LOG_LEVEL = "io.modelcontextprotocol/logLevel"
# What comes only on the stream of subscriptions/listen.
_SUBSCRIBED = frozenset(
    [
        "notifications/tools/list_changed",
        "notifications/prompts/list_changed",
        "notifications/resources/list_changed",
        "notifications/resources/updated",
        "notifications/subscriptions/acknowledged",
    ]
)


def _no_requests(said: Said, _: Facts) -> Breaches:
    if not said.http:
        return None
    if said.kind != "request":
        return ()
    return [f"the request {shown(said.method)} came over HTTP; the server may not ask anything"]


def _related(said: Said, facts: Facts) -> Breaches:
    if not on_stream(said, "post"):
        return None
    requests = possible_requests(said, facts)
    if not requests:
        return None
    if any(_belongs(said, request) for request in requests):
        return ()
    asked = shown(requests[0].get("method")) if len(requests) == 1 else "every open request"
    return [f"{shown(said.method)} came in the answer to {asked}, which did not ask for it"]


def _belongs(said: Said, request: dict[str, Any]) -> bool:
    """Whether a notification can be about a request."""
    params = request.get("params")
    meta = params.get("_meta") if isinstance(params, dict) else None
    meta = meta if isinstance(meta, dict) else {}
    if said.method == "notifications/progress":
        token = jsonrpc.id_key(said.params.get("progressToken"))
        return "progressToken" in meta and jsonrpc.id_key(meta["progressToken"]) == token
    if said.method == "notifications/message":
        return _LOG_LEVEL in meta
    return said.method not in _SUBSCRIBED or request.get("method") == "subscriptions/listen"


RELATED_RULES = (
    Rule(
        id="HTTP-39",
        name="sse-no-requests",
        category="http",
        property="no request of the server comes over HTTP",
        levels=at_levels("E"),
        topics=("result", "error", "request", "notification"),
        start=lambda: Looking(_no_requests),
        nothing="nothing came over HTTP",
        elsewhere="requests of the server",
    ),
    Rule(
        id="HTTP-40",
        name="sse-only-related",
        category="http",
        property="a notification in the answer to a request belongs to that request",
        levels=at_levels("E"),
        topics=("notification",),
        start=lambda: Looking(_related),
        nothing="no notification came in the answer to a POST",
    ),
)
