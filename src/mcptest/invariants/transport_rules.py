"""Rules about what carries the messages: stdio and HTTP, the beginning of a session."""

from __future__ import annotations

from mcptest.invariants.http_answers import ANSWER_RULES
from mcptest.invariants.http_param_headers import PARAM_HEADER_RULES
from mcptest.invariants.http_related import RELATED_RULES
from mcptest.invariants.http_streams import STREAM_RULES
from mcptest.invariants.rule import Looking, Rule, at_levels
from mcptest.invariants.stdio_lines import STDIO_RULES
from mcptest.invariants.wording import seen, shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mcptest.invariants.facts import Facts
    from mcptest.invariants.rule import Breaches
    from mcptest.invariants.said import Said

__all__ = ["TRANSPORT_RULES"]

# What a server may send before it knows that the client is ready: a ping, log messages, and what
# belongs to a request that is open.
_EARLY = frozenset(
    ["ping", "notifications/message", "notifications/progress", "notifications/cancelled"]
)
_SERVER_INFO = "io.modelcontextprotocol/serverInfo"


class _NothingEarly:
    def __init__(self) -> None:
        self._is_answered = False
        # A client that goes on without saying that it is ready is not the server's fault.
        self._went_on = False

    def see(self, said: Said, facts: Facts) -> Breaches:
        if said.is_client:
            return self._hear_client(said)
        if said.kind == "result":
            self._is_answered = True
            return None
        if facts.is_initialised or self._went_on:
            return None
        if said.method in _EARLY:
            return ()
        return [f"{shown(said.method)} came before the client sent notifications/initialized"]

    def _hear_client(self, said: Said) -> Breaches:
        if said.method == "notifications/initialized":
            return () if self._is_answered and not self._went_on else None
        self._went_on |= said.kind == "request" and said.method not in ("initialize", "ping")
        return None

    def end(self, _: Facts) -> Breaches:
        return None


def _server_info(said: Said, _: Facts) -> Breaches:
    if not isinstance(said.message["result"], dict):
        return None
    meta = said.result.get("_meta")
    info = meta.get(_SERVER_INFO) if isinstance(meta, dict) else None
    if info is None:
        return [f"the result of {shown(said.method)} has no {_SERVER_INFO} in its _meta"]
    if not isinstance(info, dict):
        return [f"{_SERVER_INFO} must be an object and is {shown(info)}"]
    return [
        f"{_SERVER_INFO}.{name} must be text and is {seen(info, name)}"
        for name in ("name", "version")
        if not isinstance(info.get(name), str)
    ]


_LIFE_RULES = (
    Rule(
        id="LIFE-10",
        name="no-early-server-requests",
        category="lifecycle",
        property="before notifications/initialized the server sends only pings and log messages",
        levels=at_levels(should="ABCD"),
        topics=("client", "request", "notification", "result:initialize"),
        start=_NothingEarly,
        nothing="there was no handshake, or the client went on without finishing it",
        elsewhere="no handshake",
    ),
    Rule(
        id="LIFE-17",
        name="discover-serverinfo",
        category="lifecycle",
        property="every result names the server in its _meta, with name and version",
        levels=at_levels(should="E"),
        topics=("result",),
        start=lambda: Looking(_server_info),
        nothing="nothing was answered with a result",
        elsewhere="serverInfo in the result of initialize",
    ),
)

TRANSPORT_RULES = (
    *_LIFE_RULES,
    *STDIO_RULES,
    *ANSWER_RULES,
    *STREAM_RULES,
    *RELATED_RULES,
    *PARAM_HEADER_RULES,
)
