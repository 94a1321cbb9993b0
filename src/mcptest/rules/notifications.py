"""Rules about log messages, progress and cancellation (LOG, PROG, CANC)."""

from __future__ import annotations

from mcptest.core.record import Record
from mcptest.protocol import jsonrpc
from mcptest.rules.client_requests import is_declared
from mcptest.rules.http import on_stream
from mcptest.rules.rule import Latest, Rule, Watch, has_kind, meta_of, show, show_member
from mcptest.rules.shapes import SHAPE_TOPICS, by_shape, shape_faults
from mcptest.rules.subscriptions import LISTENING, Listens

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from mcptest.rules.facts import Facts
    from mcptest.rules.rule import Entry, Findings

    Members = dict[str, Any]

__all__ = ["RULES"]

_MESSAGE = "notification:notifications/message"
_META_LEVEL = "io.modelcontextprotocol/logLevel"
_UNDECLARED = "a log message came, and the server did not declare the capability logging"


class _LoggingDeclared(Watch):
    """Log messages may come before the server has declared its capabilities."""

    def __init__(self) -> None:
        self._is_known = False
        self._is_waiting = False

    def see(self, entry: Entry, facts: Facts) -> Findings:
        if entry.kind == "result":
            self._is_known = True
            return None
        if is_declared(facts.capabilities, "logging"):
            return ()
        if self._is_known:
            return [_UNDECLARED]
        self._is_waiting = True
        return None

    def end(self, facts: Facts) -> Findings:
        if not self._is_waiting or not (self._is_known or isinstance(facts.block, dict)):
            return None
        return () if is_declared(facts.capabilities, "logging") else [_UNDECLARED]


def _asks_for_logs(message: object) -> bool:
    return meta_of(message).get(_META_LEVEL) is not None


class _WithLogRequests(Watch):
    """Passes `check` True if any request so far has asked for log messages."""

    def __init__(self, check: Callable[[Entry, Facts, bool], Findings]) -> None:
        self._check = check
        self._was_asked = False

    def see(self, entry: Entry, facts: Facts) -> Findings:
        if not entry.is_client:
            return self._check(entry, facts, self._was_asked)
        if not self._was_asked and entry.kind == "request":
            self._was_asked = _asks_for_logs(entry.message)
        return None


def _is_log_level_open(facts: Facts) -> bool:
    return any(_asks_for_logs(request) for request in facts.open.values())


def _check_log_requested(_: Entry, facts: Facts, was_asked: bool) -> Findings:
    if _is_log_level_open(facts):
        return ()
    if facts.open:
        return ["a log message came, and no open request set a log level in its _meta"]
    # LOG-07 judges log messages that come too late.
    return None if was_asked else ["a log message came, and no request ever set a log level"]


def _check_log_stream(entry: Entry, facts: Facts, was_asked: bool) -> Findings:
    if not _is_log_level_open(facts):
        is_late = was_asked and not facts.open
        return ["a log message came when no request was open any more"] if is_late else None
    if not on_stream(entry, "post") or "request_id" not in entry.http:
        return ()
    request = facts.open.get(jsonrpc.id_key(entry.http["request_id"]))
    if _asks_for_logs(request):
        return ()
    return [
        "a log message came in the answer to "
        f"id {show(entry.http['request_id'])}, and that request did not ask for any"
    ]


_NO_LOGS = "the server sent no log message"

_LOG_RULES = (
    Rule(
        id="LOG-01",
        name="capability",
        category="logging",
        property="a server that sends log messages declared the capability logging",
        topics=(_MESSAGE, "result:initialize", "result:server/discover"),
        watch=_LoggingDeclared,
        nothing="the server sent no log message, or never declared what it can do",
    ),
    Rule(
        id="LOG-02",
        name="level-enum",
        category="logging",
        property="a log message has one of the eight levels, and data",
        topics=SHAPE_TOPICS,
        look=by_shape("LOG-02"),
        nothing=_NO_LOGS,
    ),
    Rule(
        id="LOG-06",
        name="silent-without-level",
        category="logging",
        property="no log message comes for a request that set no log level",
        since="2026-07-28",
        topics=("client", _MESSAGE),
        watch=lambda: _WithLogRequests(_check_log_requested),
        nothing=_NO_LOGS,
        elsewhere="no log levels in requests",
    ),
    Rule(
        id="LOG-07",
        name="only-own-stream",
        category="logging",
        property="log messages come before the response, and on the stream, of the request that "
        "asked for them",
        since="2026-07-28",
        topics=("client", _MESSAGE),
        watch=lambda: _WithLogRequests(_check_log_stream),
        nothing="no log message came for a request that asked for them",
        elsewhere="no log levels in requests",
    ),
)


_PROGRESS = "notification:notifications/progress"
_TOKEN = "progressToken"
# Longer strings are not counters.
_MAX_DIGITS = 20


def _other_type(token: object) -> object:
    """The token as the other type: a string of digits for an integer, and vice versa."""
    if type(token) is int:
        return str(token)
    is_digits = isinstance(token, str) and token.isdecimal() and len(token) < _MAX_DIGITS
    return int(token) if isinstance(token, str) and is_digits else None


class _TokenRequest(Record):
    """The latest request of the client that gave a token."""

    request: jsonrpc.IdKey
    has_task: bool


class _WithTokens(Watch):
    """Passes `check` the progress tokens that the client has given so far."""

    def __init__(self, check: Callable[[Entry, Facts, Latest], Findings]) -> None:
        self._check = check
        self._given = Latest()

    def see(self, entry: Entry, facts: Facts) -> Findings:
        if not entry.is_client:
            return self._check(entry, facts, self._given)
        token = meta_of(entry.message).get(_TOKEN) if entry.kind == "request" else None
        if token is not None:
            request = jsonrpc.id_key(entry.message.get("id"))
            given = _TokenRequest(request=request, has_task="task" in entry.params)
            self._given.add(jsonrpc.id_key(token), given)
        return None


def _check_token(entry: Entry, facts: Facts, given: Latest) -> Findings:
    if faults := shape_faults(entry, facts, "PROG-01"):
        return faults
    token = entry.params.get(_TOKEN)
    if jsonrpc.id_key(token) in given:
        return ()
    if given.has_forgotten:
        return None
    other = _other_type(token)
    if other is not None and jsonrpc.id_key(other) in given:
        return [f"params.{_TOKEN} is {show(token)}, and the request gave {show(other)}"]
    return [f"params.{_TOKEN} is {show(token)}, and no request gave it"]


def _check_token_in_use(entry: Entry, facts: Facts, given: Latest) -> Findings:
    token = entry.params.get(_TOKEN)
    found = None if token is None else given.get(jsonrpc.id_key(token))
    # Messages on different streams have no order.
    if found is None or entry.http.get("stream") == "get":
        return None
    open_token = meta_of(facts.open.get(found.request)).get(_TOKEN)
    if open_token is not None and jsonrpc.id_key(open_token) == jsonrpc.id_key(token):
        return ()
    if found.has_task and facts.may_have_tasks:
        # The token of a task is valid until the task ends.
        return None
    return [f"progress with the token {show(token)} came after the response to its request"]


class _IncreasingProgress(Watch):
    """Keeps the last progress of each token; a token that is given again starts over."""

    def __init__(self) -> None:
        self._last = Latest()

    def see(self, entry: Entry, _: Facts) -> Findings:
        if not entry.is_client:
            return self._check(entry.params.get(_TOKEN), entry.params.get("progress"))
        token = meta_of(entry.message).get(_TOKEN) if entry.kind == "request" else None
        if token is not None:
            self._last.drop(jsonrpc.id_key(token))
        return None

    def _check(self, token: object, value: Any) -> Findings:
        if token is None or not has_kind(value, "a number"):
            return None
        key = jsonrpc.id_key(token)
        before = self._last.get(key)
        self._last.add(key, value)
        if before is None:
            return None
        if value > before:
            return ()
        return [
            f"params.progress of the token {show(token)} is {show(value)} after {show(before)}: "
            "it must increase"
        ]


class _ServerTokens(Watch):
    """Keeps the latest request of the server for each of its tokens."""

    def __init__(self) -> None:
        self._given = Latest()

    def see(self, entry: Entry, facts: Facts) -> Findings:
        meta = meta_of(entry.message)
        if _TOKEN not in meta:
            return None
        token = meta[_TOKEN]
        if faults := shape_faults(entry, facts, "PROG-06"):
            return faults
        key, own = jsonrpc.id_key(token), jsonrpc.id_key(entry.message.get("id"))
        other = self._given.get(key)
        self._given.add(key, own)
        if other is None or other == own or other not in facts.server_open:
            return ()
        return [f"params._meta.{_TOKEN} is {show(token)}, which another open request has"]


_NO_PROGRESS = "the server sent no progress"

_PROGRESS_RULES = (
    Rule(
        id="PROG-01",
        name="token-known",
        category="progress",
        property="progress has a token that a request of the client gave, of the same type",
        topics=("client", _PROGRESS),
        watch=lambda: _WithTokens(_check_token),
        nothing=_NO_PROGRESS,
    ),
    Rule(
        id="PROG-03",
        name="increasing",
        category="progress",
        property="the progress of a token increases with each message",
        topics=("client", _PROGRESS),
        watch=_IncreasingProgress,
        nothing="the server sent progress less than twice for any token",
    ),
    Rule(
        id="PROG-04",
        name="stops",
        category="progress",
        property="no progress comes after the response to its request",
        topics=("client", _PROGRESS),
        watch=lambda: _WithTokens(_check_token_in_use),
        nothing="the server sent no progress for a request of the client",
    ),
    Rule(
        id="PROG-05",
        name="numbers",
        category="progress",
        property="progress and total are numbers, and a message is a string",
        topics=SHAPE_TOPICS,
        look=by_shape("PROG-05"),
        nothing=_NO_PROGRESS,
    ),
    Rule(
        id="PROG-06",
        name="peer-token-type",
        category="progress",
        property="tokens in requests of the server are strings or integers, and no two open "
        "requests share one",
        until="2025-11-25",
        topics=("request",),
        watch=_ServerTokens,
        nothing="the server asked for no progress",
        elsewhere="no requests of the server's own",
    ),
)


_CANCELLED = "notification:notifications/cancelled"


class _CancelsOwnRequests(Watch):
    """Keeps the requests of the server, answered ones too: an answer may cross the cancellation."""

    def __init__(self) -> None:
        self._asked = Latest()

    def see(self, entry: Entry, facts: Facts) -> Findings:
        if entry.kind == "request":
            self._asked.add(jsonrpc.id_key(entry.message.get("id")))
            return None
        if faults := shape_faults(entry, facts, "CANC-04"):
            return faults
        id = entry.params.get("requestId")
        if id is not None and jsonrpc.id_key(id) in self._asked:
            return ()
        if self._asked.has_forgotten:
            return None
        found = show_member(entry.params, "requestId")
        return [f"params.requestId must be the id of a request of the server and is {found}"]


class _CancelsListenRequests(Watch):
    def __init__(self) -> None:
        self._listens = Listens()

    def see(self, entry: Entry, facts: Facts) -> Findings:
        if entry.is_client:
            self._listens.add(entry)
            return None
        if faults := shape_faults(entry, facts, "CANC-05"):
            return faults
        is_listen = self._listens.has(entry.params.get("requestId"))
        if is_listen is not False:
            return () if is_listen else None
        found = show_member(entry.params, "requestId")
        return [f"params.requestId must be the id of a request to listen and is {found}"]


_NOTHING = "the server cancelled nothing"

_CANCELLATION_RULES = (
    Rule(
        id="CANC-04",
        name="server-cancels-own-only",
        category="cancellation",
        property="the server cancels only requests of its own",
        until="2025-11-25",
        topics=("request", _CANCELLED),
        watch=_CancelsOwnRequests,
        nothing=_NOTHING,
        elsewhere="no requests of the server's own",
    ),
    Rule(
        id="CANC-05",
        name="server-cancels-listen-only",
        category="cancellation",
        property="the server cancels only requests to listen",
        since="2026-07-28",
        topics=(LISTENING, _CANCELLED),
        watch=_CancelsListenRequests,
        nothing=_NOTHING,
        elsewhere="no requests to listen",
    ),
)

RULES = (*_LOG_RULES, *_PROGRESS_RULES, *_CANCELLATION_RULES)
