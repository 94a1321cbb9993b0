"""Rules about what a server sends unasked: log messages, progress, cancellation, subscriptions
and tasks (LOG, PROG, CANC, SUB, XTASK)."""

from __future__ import annotations

from mcptest.core.value_class import Record
from mcptest.protocol import jsonrpc
from mcptest.protocol.revisions import META_LOG_LEVEL, META_SUBSCRIPTION, META_TASK, TASKS_EXTENSION
from mcptest.rules.client_requests import declared_in, is_declared
from mcptest.rules.http import on_stream
from mcptest.rules.rule import Latest, Rule, SessionCheck, is_number, members, show, show_member
from mcptest.rules.shapes import shape_faults

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from mcptest.rules.rule import Entry, Facts, Findings, Members

    Remember = Callable[[Entry, Latest], None]
    MemoryCheck = Callable[[Entry, Facts, Latest], Findings]

__all__ = ["RULES"]


class _ClientMemory(SessionCheck):
    """Remembers something of the requests of the client, and passes it to `judge`."""

    def __init__(self, remember: Remember, judge: MemoryCheck) -> None:
        self._remember = remember
        self._judge = judge
        self._kept = Latest()

    def check(self, entry: Entry, facts: Facts) -> Findings:
        if not entry.is_client:
            return self._judge(entry, facts, self._kept)
        if entry.kind == "request":
            self._remember(entry, self._kept)
        return None


def _with_memory(remember: Remember, judge: MemoryCheck) -> Callable[[], SessionCheck]:
    """The check of a rule that must know earlier requests of the client; they are topics too."""
    return lambda: _ClientMemory(remember, judge)


# Log messages

_MESSAGE = "notification:notifications/message"
_UNDECLARED = "a log message came, and the server did not declare the capability logging"


class _LoggingDeclared(SessionCheck):
    """Log messages may come before the server has declared its capabilities."""

    def __init__(self) -> None:
        self._is_known = False
        self._is_waiting = False

    def check(self, entry: Entry, facts: Facts) -> Findings:
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
    return jsonrpc.meta_of(message).get(META_LOG_LEVEL) is not None


def _remember_log_level(entry: Entry, kept: Latest) -> None:
    if _asks_for_logs(entry.message):
        kept.add("asked")


def _is_log_level_open(facts: Facts) -> bool:
    return any(_asks_for_logs(request) for request in facts.open.values())


def _check_log_requested(_: Entry, facts: Facts, asked: Latest) -> Findings:
    if _is_log_level_open(facts):
        return ()
    if facts.open:
        return ["a log message came, and no open request set a log level in its _meta"]
    # LOG-07 judges log messages that come too late.
    return None if asked else ["a log message came, and no request ever set a log level"]


def _check_log_stream(entry: Entry, facts: Facts, asked: Latest) -> Findings:
    if not _is_log_level_open(facts):
        is_late = asked and not facts.open
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

_LOG_RULES = {
    "LOG-01 capability": Rule(
        property="a server that sends log messages declared the capability logging",
        topics=(_MESSAGE, "result:initialize", "result:server/discover"),
        session_check=_LoggingDeclared,
        reason_if_unused="the server sent no log message, or never declared what it can do",
        section="server/utilities/logging#Capabilities",
    ),
    "LOG-02 level-enum": Rule(
        property="a log message has one of the eight levels, and data",
        reason_if_unused=_NO_LOGS,
        section="server/utilities/logging#Log Levels",
    ),
    "LOG-06 silent-without-level": Rule(
        property="no log message comes for a request that set no log level",
        since="2026-07-28",
        topics=("client", _MESSAGE),
        session_check=_with_memory(_remember_log_level, _check_log_requested),
        covers=("HTTP-40",),
        reason_if_unused=_NO_LOGS,
        reason_if_other_revision="no log levels in requests",
        section="server/utilities/logging#Per-request log level",
    ),
    "LOG-07 only-own-stream": Rule(
        property="log messages come before the response, and on the stream, of the request that "
        "asked for them",
        since="2026-07-28",
        topics=("client", _MESSAGE),
        session_check=_with_memory(_remember_log_level, _check_log_stream),
        covers=("HTTP-40",),
        reason_if_unused="no log message came for a request that asked for them",
        reason_if_other_revision="no log levels in requests",
        section="server/utilities/logging#Per-request log level",
    ),
}


# Progress

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


def _remember_token(entry: Entry, given: Latest) -> None:
    token = jsonrpc.meta_of(entry.message).get(_TOKEN)
    if token is not None:
        request = jsonrpc.id_key(entry.message.get("id"))
        given.add(
            jsonrpc.id_key(token), _TokenRequest(request=request, has_task="task" in entry.params)
        )


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
    open_token = jsonrpc.meta_of(facts.open.get(found.request)).get(_TOKEN)
    if open_token is not None and jsonrpc.id_key(open_token) == jsonrpc.id_key(token):
        return ()
    if found.has_task and facts.may_have_tasks:
        # The token of a task is valid until the task ends.
        return None
    return [f"progress with the token {show(token)} came after the response to its request"]


def _forget_progress(entry: Entry, last: Latest) -> None:
    """A token that is given again starts over."""
    last.drop(jsonrpc.id_key(jsonrpc.meta_of(entry.message).get(_TOKEN)))


def _check_increasing(entry: Entry, _: Facts, last: Latest) -> Findings:
    token, value = entry.params.get(_TOKEN), entry.params.get("progress")
    if token is None or not is_number(value):
        return None
    key = jsonrpc.id_key(token)
    before = last.get(key)
    last.add(key, value)
    if before is None:
        return None
    if value > before:
        return ()
    return [
        f"params.progress of the token {show(token)} is {show(value)} after {show(before)}: "
        "it must increase"
    ]


class _ServerTokens(SessionCheck):
    """Keeps the latest request of the server for each of its tokens."""

    def __init__(self) -> None:
        self._given = Latest()

    def check(self, entry: Entry, facts: Facts) -> Findings:
        meta = jsonrpc.meta_of(entry.message)
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

_PROGRESS_RULES = {
    "PROG-01 token-known": Rule(
        property="progress has a token that a request of the client gave, of the same type",
        topics=("client", _PROGRESS),
        session_check=_with_memory(_remember_token, _check_token),
        reason_if_unused=_NO_PROGRESS,
        section="basic/utilities/progress#Behavior Requirements",
        stateless_section="basic/patterns/progress#Behavior Requirements",
    ),
    "PROG-03 increasing": Rule(
        property="the progress of a token increases with each message",
        topics=("client", _PROGRESS),
        session_check=_with_memory(_forget_progress, _check_increasing),
        reason_if_unused="the server sent progress less than twice for any token",
        section="basic/utilities/progress#Progress Flow",
        stateless_section="basic/patterns/progress#Progress Flow",
    ),
    "PROG-04 stops": Rule(
        property="no progress comes after the response to its request",
        topics=("client", _PROGRESS),
        session_check=_with_memory(_remember_token, _check_token_in_use),
        reason_if_unused="the server sent no progress for a request of the client",
        section="basic/utilities/progress#Implementation Notes",
        stateless_section="basic/patterns/progress#Implementation Notes",
    ),
    "PROG-05 numbers": Rule(
        property="progress and total are numbers, and a message is a string",
        reason_if_unused=_NO_PROGRESS,
        section="basic/utilities/progress#Progress Flow",
        stateless_section="basic/patterns/progress#Progress Flow",
    ),
    "PROG-06 peer-token-type": Rule(
        property="tokens in requests of the server are strings or integers, and no two open "
        "requests share one",
        until="2025-11-25",
        topics=("request",),
        session_check=_ServerTokens,
        reason_if_unused="the server asked for no progress",
        reason_if_other_revision="no requests of the server's own",
        section="basic/utilities/progress#Progress Flow",
    ),
}


# Subscriptions: since 2026-07-28 a client asks to listen to changes

# The topic under which a client asks to listen.
_LISTENING = "client:subscriptions/listen"

_CHANGES = (
    "notification:notifications/prompts/list_changed",
    "notification:notifications/resources/list_changed",
    "notification:notifications/resources/updated",
    "notification:notifications/tasks",
    "notification:notifications/tools/list_changed",
)
_ACKNOWLEDGED = "notification:notifications/subscriptions/acknowledged"
_REQUEST_SCOPED = ("notifications/progress", "notifications/message")


def _remember_listen(entry: Entry, listens: Latest) -> None:
    listens.add(jsonrpc.id_key(entry.message.get("id")))


def _is_listen(id: object, listens: Latest) -> bool | None:
    """True if this is the id of a request to listen, None if it may have been forgotten."""
    if jsonrpc.id_key(id) in listens:
        return True
    return None if listens.has_forgotten else False


def _stream_of(entry: Entry, listens: Latest) -> Any:
    """The id of the request to listen in whose answer this came over HTTP, None when it came
    otherwise."""
    id = entry.http.get("request_id") if on_stream(entry, "post") else None
    return id if id is not None and _is_listen(id, listens) else None


def _check_subscription_id(entry: Entry, _: Facts, listens: Latest) -> Findings:
    if entry.kind == "result":
        meta = members(entry.result.get("_meta"))
        return _check_listen_id("result", meta, entry.message.get("id"))
    if not listens:
        return None
    meta = jsonrpc.meta_of(entry.message)
    stream = _stream_of(entry, listens)
    if stream is not None:
        return _check_listen_id("params", meta, stream)
    is_listen = META_SUBSCRIPTION in meta and _is_listen(meta[META_SUBSCRIPTION], listens)
    if is_listen is None:
        return None
    if is_listen:
        return ()
    return [
        f"{_place('params')} of {entry.method} must be the id of a request to listen and is "
        f"{show_member(meta, META_SUBSCRIPTION)}"
    ]


def _check_listen_id(front: str, meta: Members, id: object) -> Findings:
    if META_SUBSCRIPTION in meta and jsonrpc.id_key(meta[META_SUBSCRIPTION]) == jsonrpc.id_key(id):
        return ()
    found = show_member(meta, META_SUBSCRIPTION)
    return [f"{_place(front)} must be {show(id)}, the id of the request to listen, and is {found}"]


def _place(front: str) -> str:
    return f'{front}._meta["{META_SUBSCRIPTION}"]'


def _check_not_request_scoped(entry: Entry, _: Facts, listens: Latest) -> Findings:
    if not listens:
        return None
    is_marked = META_SUBSCRIPTION in jsonrpc.meta_of(entry.message)
    if entry.method not in _REQUEST_SCOPED:
        return () if is_marked else None
    if is_marked or _stream_of(entry, listens) is not None:
        return [f"{entry.method} came on the stream of a subscription"]
    return None


def _check_solicited(entry: Entry, _: Facts, listens: Latest) -> Findings:
    return () if listens else [f"{entry.method} came, and the client never asked to listen"]


_NO_STREAM = "nothing came on a stream of subscriptions"
_ELSEWHERE = "no streams of subscriptions"

_SUBSCRIPTION_RULES = {
    "SUB-03 subscription-id": Rule(
        property="every message of a subscription carries the id of the request to listen",
        since="2026-07-28",
        topics=(_LISTENING, *_CHANGES, _ACKNOWLEDGED, "result:subscriptions/listen"),
        session_check=_with_memory(_remember_listen, _check_subscription_id),
        reason_if_unused=_NO_STREAM,
        reason_if_other_revision=_ELSEWHERE,
        section="basic/patterns/subscriptions#Receiving Notifications",
    ),
    "SUB-05 no-request-scoped": Rule(
        property="no progress and no log message comes on the stream of a subscription",
        since="2026-07-28",
        topics=(
            _LISTENING,
            *_CHANGES,
            _ACKNOWLEDGED,
            *(f"notification:{method}" for method in _REQUEST_SCOPED),
        ),
        session_check=_with_memory(_remember_listen, _check_not_request_scoped),
        covers=("HTTP-40", "LOG-06", "LOG-07"),
        reason_if_unused=_NO_STREAM,
        reason_if_other_revision=_ELSEWHERE,
        section="basic/patterns/subscriptions#Receiving Notifications",
    ),
    "SUB-07 no-unsolicited": Rule(
        property="the server sends notifications of changes only after the client asked to listen",
        since="2026-07-28",
        topics=(_LISTENING, *_CHANGES),
        session_check=_with_memory(_remember_listen, _check_solicited),
        covers=("HTTP-40",),
        reason_if_unused="the server reported no change",
        reason_if_other_revision=_ELSEWHERE,
        section="basic/patterns/subscriptions#Opening a Stream",
    ),
}


# Cancellation

_CANCELLED = "notification:notifications/cancelled"


class _CancelsOwnRequests(SessionCheck):
    """Keeps the requests of the server, answered ones too: an answer may cross the cancellation."""

    def __init__(self) -> None:
        self._asked = Latest()

    def check(self, entry: Entry, facts: Facts) -> Findings:
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


def _check_listen_cancelled(entry: Entry, facts: Facts, listens: Latest) -> Findings:
    if faults := shape_faults(entry, facts, "CANC-05"):
        return faults
    is_listen = _is_listen(entry.params.get("requestId"), listens)
    if is_listen is not False:
        return () if is_listen else None
    found = show_member(entry.params, "requestId")
    return [f"params.requestId must be the id of a request to listen and is {found}"]


class _StopsAfterCancellation(SessionCheck):
    """Knows the requests that the client cancelled, and which of them the server knows of.

    Messages may cross. The server has read a cancellation for certain when it has answered a
    request that was sent after it.
    """

    def __init__(self) -> None:
        # By progress token, the cancelled request that gave it, and when it was cancelled.
        self._cancelled = Latest()
        # By id, when a request was sent; and when the newest answered one was.
        self._sent = Latest()
        self._answered = 0
        self._now = 0

    def check(self, entry: Entry, facts: Facts) -> Findings:
        self._now += 1
        if entry.is_client:
            if entry.kind == "request":
                self._sent.add(jsonrpc.id_key(entry.message.get("id")), self._now)
            elif entry.method == "notifications/cancelled":
                id = jsonrpc.id_key(entry.params.get("requestId"))
                request = facts.open.get(id)
                token = jsonrpc.meta_of(request).get(_TOKEN)
                # A task is cancelled by a request.
                if token is not None and "task" not in jsonrpc.params_of(request):
                    self._cancelled.add(jsonrpc.id_key(token), (id, self._now))
            return None
        if entry.kind in ("result", "error"):
            self._answered = max(
                self._answered, self._sent.get(jsonrpc.id_key(entry.message.get("id"))) or 0
            )
            return None
        return self._check_progress(entry, facts)

    def _check_progress(self, entry: Entry, facts: Facts) -> Findings:
        token = entry.params.get(_TOKEN)
        found = None if token is None else self._cancelled.get(jsonrpc.id_key(token))
        # Messages on different streams have no order.
        if found is None or entry.http.get("stream") == "get":
            return None
        id, cancelled = found
        key = jsonrpc.id_key(token)
        others = (request for other, request in facts.open.items() if other != id)
        is_shared = any(jsonrpc.id_key(jsonrpc.meta_of(each).get(_TOKEN)) == key for each in others)
        # PROG-04 reports progress after the response to its request.
        if id not in facts.open or is_shared:
            return None
        if self._answered < cancelled:
            return ()
        return [
            f"progress with the token {show(token)} came after its request was cancelled, and "
            "after the answer to a later one"
        ]


_NOTHING = "the server cancelled nothing"

_CANCELLATION_RULES = {
    "CANC-03 stops-work": Rule(
        property="no progress comes for a request after the client has cancelled it",
        level="SHOULD",
        topics=("client", "result", "error", _PROGRESS),
        session_check=_StopsAfterCancellation,
        reason_if_unused="no progress came for a request that the client cancelled",
        section="basic/utilities/cancellation#Behavior Requirements",
        stateless_section="basic/patterns/cancellation#Behavior Requirements",
    ),
    "CANC-04 server-cancels-own-only": Rule(
        property="the server cancels only requests of its own",
        until="2025-11-25",
        topics=("request", _CANCELLED),
        session_check=_CancelsOwnRequests,
        reason_if_unused=_NOTHING,
        reason_if_other_revision="no requests of the server's own",
        section="basic/utilities/cancellation#Behavior Requirements",
    ),
    "CANC-05 server-cancels-listen-only": Rule(
        property="the server cancels only requests to listen",
        since="2026-07-28",
        topics=(_LISTENING, _CANCELLED),
        session_check=_with_memory(_remember_listen, _check_listen_cancelled),
        reason_if_unused=_NOTHING,
        reason_if_other_revision="no requests to listen",
        section="basic/patterns/cancellation#Behavior Requirements",
    ),
}


# The extension for tasks


def _check_task_declared(entry: Entry, _: Facts) -> Findings:
    if entry.result.get("resultType") != "task" or entry.request is None:
        return None
    if is_declared(declared_in(entry.request), "extensions", TASKS_EXTENSION):
        return ()
    return [
        f'result.resultType is "task" in the answer to {show(entry.method)}, and the request did '
        f"not declare the extension {TASKS_EXTENSION}"
    ]


class _QuietTasks(SessionCheck):
    """Knows the progress tokens of requests that became tasks, and who listens to tasks."""

    def __init__(self) -> None:
        self._tokens = Latest()
        self._listens = Latest()

    def check(self, entry: Entry, facts: Facts) -> Findings:
        if entry.is_client:
            if entry.kind == "request" and members(entry.params.get("notifications")).get(
                "taskIds"
            ):
                self._listens.add(jsonrpc.id_key(entry.message.get("id")))
            return None
        if entry.kind == "result":
            if entry.result.get("resultType") != "task":
                return None
            token = jsonrpc.meta_of(entry.request).get(_TOKEN)
            if token is not None:
                self._tokens.add(jsonrpc.id_key(token))
            return ()
        meta = jsonrpc.meta_of(entry.message)
        if META_TASK in meta:
            return [f"{entry.method} came for a task: {show(meta[META_TASK])}"]
        stream = meta.get(META_SUBSCRIPTION)
        if stream is not None and jsonrpc.id_key(stream) in self._listens:
            return [f"{entry.method} came on the stream {show(stream)}, which listens to tasks"]
        token = entry.params.get(_TOKEN)
        key = jsonrpc.id_key(token)
        given = (jsonrpc.meta_of(request).get(_TOKEN) for request in facts.open.values())
        # An open request may have given the token again.
        if token is None or key not in self._tokens or key in map(jsonrpc.id_key, given):
            return None
        return [f"progress with the token {show(token)} came for a request that became a task"]


RULES = {
    **_LOG_RULES,
    **_PROGRESS_RULES,
    **_SUBSCRIPTION_RULES,
    **_CANCELLATION_RULES,
    "XTASK-01 only-to-declaring": Rule(
        property="only a request that declared the extension for tasks is answered with one",
        since="2026-07-28",
        topics=("result",),
        check=_check_task_declared,
        covers=("BASE-22",),
        reason_if_unused="no request was answered with a task",
        reason_if_other_revision="no extension for tasks",
        section="extensions/tasks/overview#Overview",
    ),
    "XTASK-13 no-progress-no-log": Rule(
        property="no progress and no log message comes for a task",
        since="2026-07-28",
        topics=(
            _LISTENING,
            "result:tools/call",
            _PROGRESS,
            _MESSAGE,
        ),
        session_check=_QuietTasks,
        covers=("LOG-06", "PROG-04", "SUB-05"),
        reason_if_unused="no request was answered with a task",
        reason_if_other_revision="no extension for tasks",
        section="extensions/tasks/overview#Overview",
    ),
}
