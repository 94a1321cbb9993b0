"""Rules about log messages: LOG."""

from __future__ import annotations

from mcptest.core import jsonrpc
from mcptest.invariants.asking import is_declared, meta_of
from mcptest.invariants.http_messages import on_stream
from mcptest.invariants.rule import Looking, Rule, at_levels
from mcptest.invariants.wording import seen, shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from mcptest.invariants.facts import Facts
    from mcptest.invariants.rule import Breaches
    from mcptest.invariants.said import Said

__all__ = ["LOG_RULES"]

_MESSAGE = "notification:notifications/message"
_META_LEVEL = "io.modelcontextprotocol/logLevel"
_LEVELS = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")
_UNDECLARED = "a log message came, and the server did not declare the capability logging"


class _Declared:
    """Waits with its judgement until the server has told what it can do."""

    def __init__(self) -> None:
        self._is_told = False
        self._is_waiting = False

    def see(self, said: Said, facts: Facts) -> Breaches:
        if said.kind == "result":
            self._is_told = True
            return None
        if is_declared(facts.capabilities, "logging"):
            return ()
        if self._is_told:
            return [_UNDECLARED]
        self._is_waiting = True
        return None

    def end(self, facts: Facts) -> Breaches:
        if not self._is_waiting or not (self._is_told or isinstance(facts.block, dict)):
            return None
        return () if is_declared(facts.capabilities, "logging") else [_UNDECLARED]


def _shape(said: Said, _: Facts) -> Breaches:
    breaches = []
    if said.params.get("level") not in _LEVELS:
        found = seen(said.params, "level")
        breaches.append(f"params.level must be one of {', '.join(_LEVELS)} and is {found}")
    if "data" not in said.params:
        breaches.append("params.data is missing: a log message must have something to say")
    return breaches


def _asks_for_logs(message: object) -> bool:
    return meta_of(message).get(_META_LEVEL) is not None


class _WhileAsked:
    """Knows whether any request has asked for log messages so far."""

    def __init__(self, check: Callable[[Said, Facts, bool], Breaches]) -> None:
        self._check = check
        self._was_asked = False

    def see(self, said: Said, facts: Facts) -> Breaches:
        if not said.is_client:
            return self._check(said, facts, self._was_asked)
        if not self._was_asked and said.kind == "request":
            self._was_asked = _asks_for_logs(said.message)
        return None

    def end(self, _: Facts) -> Breaches:
        return None


def _is_asked(facts: Facts) -> bool:
    return any(_asks_for_logs(request) for request in facts.open.values())


def _silent(_: Said, facts: Facts, was_asked: bool) -> Breaches:
    if _is_asked(facts):
        return ()
    if facts.open:
        return ["a log message came, and no open request set a log level in its _meta"]
    # What comes late is no matter of this rule.
    return None if was_asked else ["a log message came, and no request ever set a log level"]


def _own_stream(said: Said, facts: Facts, was_asked: bool) -> Breaches:
    if not _is_asked(facts):
        is_late = was_asked and not facts.open
        return ["a log message came when no request was open any more"] if is_late else None
    if not on_stream(said, "post") or "request_id" not in said.http:
        return ()
    request = facts.open.get(jsonrpc.id_key(said.http["request_id"]))
    if _asks_for_logs(request):
        return ()
    return [
        "a log message came in the answer to "
        f"id {shown(said.http['request_id'])}, and that request did not ask for any"
    ]


_NO_LOGS = "the server sent no log message"

LOG_RULES = (
    Rule(
        id="LOG-01",
        name="capability",
        category="logging",
        property="a server that sends log messages declared the capability logging",
        levels=at_levels("ABCDE"),
        topics=(_MESSAGE, "result:initialize", "result:server/discover"),
        start=_Declared,
        nothing="the server sent no log message, or never told what it can do",
    ),
    Rule(
        id="LOG-02",
        name="level-enum",
        category="logging",
        property="a log message has one of the eight levels, and data",
        levels=at_levels("ABCDE"),
        topics=(_MESSAGE,),
        start=lambda: Looking(_shape),
        nothing=_NO_LOGS,
    ),
    Rule(
        id="LOG-06",
        name="silent-without-level",
        category="logging",
        property="no log message comes for a request that set no log level",
        levels=at_levels("E"),
        topics=("client", _MESSAGE),
        start=lambda: _WhileAsked(_silent),
        nothing=_NO_LOGS,
        elsewhere="no log levels in requests",
    ),
    Rule(
        id="LOG-07",
        name="only-own-stream",
        category="logging",
        property="log messages come before the response, and on the stream, of the request that "
        "asked for them",
        levels=at_levels("E"),
        topics=("client", _MESSAGE),
        start=lambda: _WhileAsked(_own_stream),
        nothing="no log message came for a request that asked for them",
        elsewhere="no log levels in requests",
    ),
)
