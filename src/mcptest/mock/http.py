"""A mock over Streamable HTTP: what to do about each request, with and without a handshake.

Requests and the time go in, acts come out; sockets are handled elsewhere. A request with the
envelope of a stateless revision is answered by itself, every other one belongs to a session,
which begins with `initialize`. A web page may send requests to any address of this machine, so
requests with another host name, or from a page of another origin, are refused before anything else
is looked at.

A stream is the answer to one POST, or what the server sends by itself, which a GET receives.
The connection that carries it may come and go: events are kept for a while, with ids by which
a client can continue where it left.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections import deque

from mcptest.core.strict_json import NotJsonError, parse_json
from mcptest.core.text import shorten, visible
from mcptest.core.value_class import ABSENT, Record
from mcptest.mock.faults import plan_deliveries
from mcptest.mock.respond import (
    Rejection,
    check_envelope,
    has_envelope,
    rejection_answer,
    respond,
    unsupported_version,
)
from mcptest.mock.session import join_reports, problem
from mcptest.protocol.framing import encode_line
from mcptest.protocol.http_messages import (
    EVENT_STREAM,
    HEADER_TOKEN,
    JSON,
    Act,
    Answer,
    Begin,
    Cut,
    End,
    Piece,
    render_event,
)
from mcptest.protocol.jsonrpc import (
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    PARSE_ERROR,
    find_violations,
    id_key,
    message_kind,
    meta_of,
    params_of,
)
from mcptest.protocol.revisions import (
    HANDSHAKE_REVISIONS,
    HEADER_MISMATCH,
    MISSING_CAPABILITY,
    NEWEST_STATELESS,
    REVISIONS,
    STATELESS_REVISIONS,
    UNSUPPORTED_VERSION,
    VERSION_KEY,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from contextlib import AbstractContextManager
    from typing import Any

    from mcptest.mock.faults import Faults
    from mcptest.mock.respond import Player
    from mcptest.mock.session import Message, MockReport, Sent, Session
    from mcptest.protocol.http_messages import Act, WebRequest
    from mcptest.protocol.jsonrpc import IdKey

    Later = list[tuple[float, "Act | _Delivery"]]

__all__ = [
    "ENDPOINT",
    "HttpMock",
    "check_head",
    "check_headers",
]


ENDPOINT = "/mcp"

_SESSION_ID = "mcp-session-id"
_VERSION = "mcp-protocol-version"

# The HTTP status of an answer without a handshake, by the code of its error.
_STATUS = {
    METHOD_NOT_FOUND: 404,
    PARSE_ERROR: 400,
    INVALID_REQUEST: 400,
    INVALID_PARAMS: 400,
    HEADER_MISMATCH: 400,
    MISSING_CAPABILITY: 400,
    UNSUPPORTED_VERSION: 400,
}


class HttpMock:
    """A mock with all of its clients. `make_id` makes ids that cannot be guessed.

    Clients without a handshake cannot be distinguished, so they share one session, which is also
    blamed for what belongs to no session. `limit` bounds the time of comparing one message.
    """

    def __init__(
        self,
        player: Player,
        faults: Faults,
        make_id: Callable[[], str],
        limit: AbstractContextManager[object] | None = None,
    ) -> None:
        self._player = player
        self._faults = faults
        self._limit = limit
        self._sessions = _HttpSessions(make_id, self._keep_report)
        self._shared = player.start()
        self._shared.era, self._shared.revision = "stateless", NEWEST_STATELESS
        self._shared_streams: dict[int, _Stream] = {}
        self._ended: MockReport | None = None

    def check_head(self, exchange: int, request: WebRequest, port: int) -> Answer | None:
        """The answer to a request that is refused by its head, None if it is not."""
        refusal = check_head(request, port)
        return self._refuse(exchange, request, refusal) if refusal else None

    def handle(self, exchange: int, request: WebRequest, now: float) -> Later:
        """What to do about a request, and after how many seconds."""
        if request.method == "POST":
            return self._post(exchange, request, now)
        found = self._find_session(request, now)
        if isinstance(found, _Refusal):
            return _at_once(self._refuse(exchange, request, found))
        if request.method == "DELETE":
            self._sessions.end(found)
            gone = Answer(exchange=exchange, status=204, headers={})
            return _at_once(*found.end(), gone)
        acts = found.attach(exchange, request.header("last-event-id"))
        if isinstance(acts, _Refusal):
            return _at_once(self._refuse(exchange, request, acts))
        return _at_once(*acts)

    def perform(self, item: Act | _Delivery) -> list[Act]:
        """What to do about something whose time has come."""
        if isinstance(item, Act):
            return [item]
        if item.data is None:
            return item.stream.cut()
        return item.stream.send(item.data, is_last=item.is_last, status=item.status)

    def close_exchange(self, exchange: int) -> None:
        """Handle a connection that is gone, or complete."""
        for each in self._sessions.all():
            each.drop_connection(exchange)
        stream = self._shared_streams.pop(exchange, None)
        if stream:
            stream.exchange = None
            self._shared.unsubscribe(_subscription_key(exchange))

    def report(self) -> MockReport:
        """What all clients together did."""
        found = self._player.report(self._shared)
        if self._ended:
            found = join_reports(found, self._ended)
        for each in self._sessions.all():
            found = join_reports(found, self._player.report(each.session))
        return found

    def _keep_report(self, ended: _HttpSession) -> None:
        report = self._player.report(ended.session)
        self._ended = join_reports(self._ended, report) if self._ended else report

    def _refuse(self, exchange: int, request: WebRequest, refusal: _Refusal) -> Answer:
        if refusal.is_wrong:
            # The query may hold a secret.
            head = {"http": f"{request.method} {request.target.partition('?')[0]}"}
            self._shared.blame(head, None, (problem(refusal.sentence),))
        else:
            subject = f"{refusal.status} {request.method}"
            sentence = f"{request.method} was answered with {refusal.status}: {refusal.sentence}"
            self._shared.note(subject, sentence)
        rejection = Rejection(code=refusal.code, sentence=refusal.sentence)
        answer = _http_answer(exchange, rejection_answer(None, rejection), refusal.status)
        return answer.but(headers={**answer.headers, **(refusal.headers or {})})

    def _post(self, exchange: int, request: WebRequest, now: float) -> Later:
        try:
            value = parse_json(request.body.decode("utf-8"))
        except (UnicodeDecodeError, NotJsonError) as error:
            sentence = f"the body is not JSON: {error}"
            refusal = _Refusal(status=400, code=PARSE_ERROR, sentence=sentence)
            return _at_once(self._refuse(exchange, request, refusal))
        method = value.get("method") if isinstance(value, dict) else None
        has_session = request.header(_SESSION_ID) is not None
        if (
            request.header(_VERSION) in STATELESS_REVISIONS
            or (isinstance(value, dict) and has_envelope(value))
            or (method == "server/discover" and not has_session)
        ):
            return self._post_stateless(exchange, request, value)
        is_first = method == "initialize" and not has_session
        found: _HttpSession | _Refusal
        if is_first:
            found = self._sessions.add(self._player.start(), now) or _TOO_MANY_SESSIONS
        else:
            found = self._find_session(request, now)
        if isinstance(found, _Refusal):
            return _at_once(self._refuse(exchange, request, found))
        if not is_first:
            _note_header(found, request)
        return self._post_to(found, exchange, value, is_first=is_first)

    # Clients with a handshake

    def _find_session(self, request: WebRequest, now: float) -> _HttpSession | _Refusal:
        version = request.header(_VERSION)
        if version is not None and version not in HANDSHAKE_REVISIONS:
            known = ", ".join(HANDSHAKE_REVISIONS)
            sentence = f"the header MCP-Protocol-Version must be one of {known}"
            return _Refusal(status=400, sentence=sentence)
        id = request.header(_SESSION_ID)
        if id is None:
            return _WITHOUT_SESSION
        return self._sessions.get(id, now) or _UNKNOWN_SESSION

    def _post_to(
        self, client: _HttpSession, exchange: int, value: object, *, is_first: bool
    ) -> Later:
        sent = respond(self._player, client.session, value, self._limit)
        messages: list[Any] = value if isinstance(value, list) else [value]
        waiting = [id_key(each["id"]) for each in messages if message_kind(each) == "request"]
        stream = client.open(exchange, waiting) if waiting else None
        planned = list(plan_deliveries(self._faults, sent))
        # An answer to something that is not a request is the answer to the POST.
        later: Later = [
            (wait_s, client.route(each, line) or _http_answer(exchange, each, 400))
            for wait_s, each, line in planned
        ]
        if stream is None and not any(isinstance(item, Answer) for _, item in later):
            later.insert(0, (0.0, Answer(exchange=exchange, status=202, headers={})))
        if isinstance(value, dict) and value.get("method") == "notifications/cancelled":
            later += [(0.0, act) for act in client.cancel(params_of(value).get("requestId"))]
        is_welcome = any(
            each.method == "initialize" and "result" in each.members for _, each, _ in planned
        )
        if stream and is_first and is_welcome:
            stream.headers = {"Mcp-Session-Id": client.id}
        elif is_first:
            self._sessions.end(client)
        return later

    # Clients without a handshake

    def _post_stateless(self, exchange: int, request: WebRequest, value: object) -> Later:
        is_request = message_kind(value) == "request"
        if not isinstance(value, dict) or not is_request or any(find_violations(value)):
            return self._take_notification(exchange, request, value)
        rejection = check_envelope(value) or check_headers(
            request, value, self._player.input_schema
        )
        if rejection:
            self._shared.blame(value, None, (problem(rejection.sentence),))
            return [(0.0, _http_answer(exchange, rejection_answer(value["id"], rejection)))]
        key = _subscription_key(exchange)
        sent = respond(self._player, self._shared, value, self._limit, key)
        stream = self._shared_streams[exchange] = _Stream(exchange, exchange)
        return list(self._deliveries(stream, sent))

    def _take_notification(self, exchange: int, request: WebRequest, value: object) -> Later:
        """Accept a notification, and refuse everything else that is not a request."""
        version = request.header(_VERSION)
        if version not in (None, *STATELESS_REVISIONS):
            answer = rejection_answer(None, unsupported_version(version))
            return [(0.0, _http_answer(exchange, answer))]
        sent = respond(self._player, self._shared, value, self._limit)
        refused = [each for each in sent if each.is_answer]
        if refused:
            return [(0.0, _http_answer(exchange, refused[0], 400))]
        taken = Answer(exchange=exchange, status=202, headers={})
        return [(0.0, taken), *self._deliveries(None, sent)]

    def _deliveries(
        self, own: _Stream | None, sent: Iterable[Sent]
    ) -> Iterable[tuple[float, _Delivery]]:
        for wait_s, each, line in plan_deliveries(self._faults, sent):
            stream, key = own, each.subscription
            if key is not ABSENT:
                stream = self._shared_streams.get(key[1]) if isinstance(key, tuple) else None
            if stream:
                data = None if line is None else line.rstrip(b"\n")
                is_last = each.is_answer
                status = _status_of(each) if is_last else 200
                yield wait_s, _Delivery(stream=stream, data=data, is_last=is_last, status=status)


def _at_once(*acts: Act) -> Later:
    return [(0.0, act) for act in acts]


def _note_header(client: _HttpSession, request: WebRequest) -> None:
    """Note a client that does not repeat the negotiated revision."""
    agreed, given = client.session.revision, request.header(_VERSION)
    revision = REVISIONS.get(agreed)
    if revision is None or not revision.has_version_header or given == agreed:
        return
    seen = "without MCP-Protocol-Version" if given is None else f"with MCP-Protocol-Version {given}"
    sentence = f"a {request.method} came {seen}; {agreed} was agreed on"
    client.session.note("version header", sentence)


def _subscription_key(exchange: int) -> IdKey:
    return ("exchange", exchange)


def _status_of(sent: Sent) -> int:
    error = sent.members.get("error")
    code = error.get("code") if isinstance(error, dict) else None
    return _STATUS.get(code, 200) if isinstance(code, int) else 200


def _http_answer(exchange: int, sent: Sent, status: int | None = None) -> Answer:
    return Answer(
        exchange=exchange,
        status=status or _status_of(sent),
        headers={"Content-Type": JSON},
        body=encode_line(sent.message),
    )


# Sessions and their streams

_MAX_SESSIONS = 256
_IDLE_S = 3600.0

# The streams of one session that a client may come back to.
_MAX_STREAMS = 512

# The events of one session that are kept for a client that comes back.
_MAX_EVENTS = 1_000
_MAX_BYTES = 4 * 1024 * 1024

_EVENT_ID = re.compile(r"([0-9]{1,9})-([0-9]{1,9})")

_STREAM_HEADERS = {
    "Content-Type": EVENT_STREAM,
    "Cache-Control": "no-cache, no-transform",
    "X-Accel-Buffering": "no",
}


class _HttpSessions:
    """All sessions that have not ended; `on_end` is called with each that ends."""

    def __init__(self, make_id: Callable[[], str], on_end: Callable[[_HttpSession], None]) -> None:
        self._make_id = make_id
        self._on_end = on_end
        self._sessions: dict[str, _HttpSession] = {}

    def all(self) -> tuple[_HttpSession, ...]:
        return tuple(self._sessions.values())

    def get(self, id: str, now: float) -> _HttpSession | None:
        """A session, which counts as used now; None if it has ended, or never was."""
        found = self._sessions.get(id)
        if found is None or self._is_stale(found, now):
            return None
        found.last_used = now
        return found

    def add(self, session: Session, now: float) -> _HttpSession | None:
        """A new session; if there are too many, it replaces an idle one, if there is one."""
        for stale in [each for each in self._sessions.values() if self._is_stale(each, now)]:
            self.end(stale)
        if len(self._sessions) >= _MAX_SESSIONS:
            idle = [each for each in self._sessions.values() if not each.is_busy]
            if not idle:
                return None
            self.end(min(idle, key=lambda each: each.last_used))
        added = _HttpSession(self._make_id(), session, now)
        self._sessions[added.id] = added
        return added

    def end(self, session: _HttpSession) -> None:
        del self._sessions[session.id]
        self._on_end(session)

    def _is_stale(self, session: _HttpSession, now: float) -> bool:
        return now - session.last_used > _IDLE_S and not session.is_busy


class _HttpSession:
    """One client: the state of its session, and its streams."""

    def __init__(self, id: str, session: Session, now: float) -> None:
        self.id = id
        self.session = session
        self.last_used = now
        self._journal = _Journal()
        # Stream 0 is for what the server sends by itself.
        self._own = _Stream(0, None, journal=self._journal)
        self._streams = {0: self._own}
        self._count = 0

    @property
    def is_busy(self) -> bool:
        """True if a connection is open."""
        return any(stream.exchange is not None for stream in self._streams.values())

    def open(self, exchange: int, waiting: Iterable[IdKey]) -> _Stream:
        """A stream for the answers to a POST."""
        self._count += 1
        revision = REVISIONS.get(self.session.revision)
        is_primed = revision is not None and revision.has_primed_streams
        stream = _Stream(self._count, exchange, waiting, self._journal, is_primed=is_primed)
        self._streams[self._count] = stream
        if len(self._streams) > _MAX_STREAMS:
            left = [key for key, each in self._streams.items() if key and each.exchange is None]
            for key in left[:1]:
                del self._streams[key]
        return stream

    def route(self, sent: Sent, line: bytes | None) -> _Delivery | None:
        """A message with its stream; None for an answer to no request that waits."""
        data = None if line is None else line.rstrip(b"\n")
        answered: set[IdKey] = set()
        if sent.is_answer:
            answered = {id_key(each.members.get("id")) for each in sent.parts or (sent,)}
        about = answered or ({id_key(sent.request_id)} if sent.request_id is not ABSENT else set())
        for stream in reversed(self._streams.values()):
            if stream.waiting & about:
                stream.waiting -= answered
                return _Delivery(stream=stream, data=data, is_last=not stream.waiting)
        if answered:
            return None
        return _Delivery(stream=self._own, data=data, is_last=False)

    def attach(self, exchange: int, last_event_id: str | None) -> list[Act] | _Refusal:
        """Continue a stream on the connection of a GET."""
        if last_event_id is None:
            if self._own.exchange is not None:
                sentence = "this session has a GET stream already"
                return _Refusal(status=409, sentence=sentence)
            return self._own.attach(exchange, None)
        found = _EVENT_ID.fullmatch(last_event_id)
        stream = self._streams.get(int(found[1])) if found else None
        if found is None or stream is None:
            sentence = "Last-Event-ID is not of an event of this session"
            return _Refusal(status=400, sentence=sentence)
        # The client is back before its former connection was found broken.
        left = [] if stream.exchange is None else stream.detach()
        return [*left, *stream.attach(exchange, int(found[2]))]

    def drop_connection(self, exchange: int) -> None:
        """Handle a connection that is gone."""
        for stream in self._streams.values():
            if stream.exchange == exchange:
                stream.exchange = None

    def cancel(self, id: object) -> list[Act]:
        """Stop waiting for the answer to a request; end its stream if it waits for no other."""
        key = id_key(id)
        for stream in self._streams.values():
            if key in stream.waiting:
                stream.waiting.discard(key)
                return [] if stream.waiting else stream.end()
        return []

    def end(self) -> list[Act]:
        """End all streams."""
        return [act for stream in self._streams.values() for act in stream.end()]


class _Journal:
    """The last events of a session: stream, number and data of each."""

    def __init__(self) -> None:
        self._events: deque[tuple[int, int, bytes]] = deque()
        self._bytes = 0

    def add(self, stream: int, number: int, data: bytes) -> None:
        self._events.append((stream, number, data))
        self._bytes += len(data)
        while len(self._events) > _MAX_EVENTS or self._bytes > _MAX_BYTES:
            self._bytes -= len(self._events.popleft()[2])

    def after(self, stream: int, number: int) -> list[tuple[int, bytes]]:
        """The events of a stream after this one."""
        return [(each, data) for key, each, data in self._events if key == stream and each > number]


class _Stream:
    """One stream of messages; `exchange` is the connection that carries it now, if any.

    `waiting` are the ids of the requests that it is to answer. With a journal its events have
    ids; with `is_primed` it begins with an event that has only an id.
    """

    def __init__(
        self,
        key: int,
        exchange: int | None,
        waiting: Iterable[IdKey] = (),
        journal: _Journal | None = None,
        *,
        is_primed: bool = False,
    ) -> None:
        self.exchange = exchange
        self.waiting = set(waiting)
        self.headers: Mapping[str, str] = {}
        self._key = key
        self._journal = journal
        self._is_primed = is_primed
        # True once nothing more is sent, and once the present connection has had its head.
        self._is_over = False
        self._has_begun = False
        # How many messages were sent, and the latest of them that a connection has carried.
        self._count = 0
        self._carried = 0

    def send(self, data: bytes, *, is_last: bool, status: int = 200) -> list[Act]:
        """Send a message; if it is the only one, it is the whole answer, as JSON."""
        self._count += 1
        if self._journal:
            self._journal.add(self._key, self._count, data)
        self._is_over = self._is_over or is_last
        exchange = self.exchange
        if exchange is None:
            return []
        if is_last and not self._has_begun:
            self.exchange = None
            headers = {"Content-Type": JSON, **self.headers}
            return [Answer(exchange=exchange, status=status, headers=headers, body=data)]
        acts = [*self._begin(exchange), self._event(exchange, self._count, data)]
        return [*acts, *self.detach()] if is_last else acts

    def cut(self) -> list[Act]:
        """Break the connection, and send no more."""
        exchange, self.exchange, self._is_over = self.exchange, None, True
        return [] if exchange is None else [Cut(exchange=exchange)]

    def attach(self, exchange: int, after: int | None) -> list[Act]:
        """Continue on another connection, after an event (default: the last one carried)."""
        self.exchange = exchange
        self._has_begun = False
        acts = self._begin(exchange)
        begin = self._carried if after is None else after
        for number, data in self._journal.after(self._key, begin) if self._journal else ():
            acts.append(self._event(exchange, number, data))
        return [*acts, *self.detach()] if self._is_over else acts

    def detach(self) -> list[Act]:
        """End the answer on the present connection; the stream may continue on another."""
        exchange = self.exchange
        if exchange is None:
            return []
        acts = [*self._begin(exchange), End(exchange=exchange)]
        self.exchange = None
        return acts

    def end(self) -> list[Act]:
        """Send no more."""
        self._is_over = True
        return self.detach()

    def _begin(self, exchange: int) -> list[Act]:
        if self._has_begun:
            return []
        self._has_begun = True
        acts: list[Act] = [Begin(exchange=exchange, headers={**_STREAM_HEADERS, **self.headers})]
        if self._is_primed and self._journal:
            # Once only: no two events have the same id.
            self._is_primed = False
            primer = render_event(b"", id=f"{self._key}-0")
            acts.append(Piece(exchange=exchange, data=primer))
        return acts

    def _event(self, exchange: int, number: int, data: bytes) -> Act:
        self._carried = max(self._carried, number)
        id = f"{self._key}-{number}" if self._journal else ""
        return Piece(exchange=exchange, data=render_event(data, id=id, event="message"))


class _Delivery(Record):
    """A message to be sent on a stream when its time has come; without data, it is cut."""

    stream: _Stream
    data: bytes | None
    is_last: bool
    status: int = 200


# The head of a request, checked before its body is read

_LOOPBACK = frozenset(["localhost", "127.0.0.1", "[::1]"])
_ORIGIN = re.compile(r"https?://(\[[^\]]*\]|[^:/?#]*)(?::\d+)?", re.IGNORECASE)


class _Refusal(Record):
    """An HTTP error. If it `is_wrong`, the report blames the client for it."""

    status: int
    sentence: str
    code: int = INVALID_REQUEST
    headers: Mapping[str, str] | None = None
    is_wrong: bool = True


_WITHOUT_SESSION = _Refusal(
    status=400,
    sentence="the header Mcp-Session-Id is missing: begin with initialize, or send the "
    f"params._meta of revision {NEWEST_STATELESS}, which needs no handshake",
)
_UNKNOWN_SESSION = _Refusal(
    status=404,
    sentence="there is no such session, or it has ended: begin with initialize",
    is_wrong=False,
)
_TOO_MANY_SESSIONS = _Refusal(
    status=503,
    sentence="there are too many sessions, and all of them are in use",
    headers={"Retry-After": "1"},
    is_wrong=False,
)


def check_head(request: WebRequest, port: int) -> _Refusal | None:
    """Why a request is refused by its head alone, if it is."""
    host = request.header("host") or ""
    name, _, number = host.rpartition(":")
    if name.lower() not in _LOOPBACK or number != str(port):
        sentence = f"the Host header must be 127.0.0.1:{port} or localhost:{port}, not "
        return _Refusal(status=403, sentence=sentence + _quote(host), is_wrong=False)
    origin = request.header("origin")
    found = None if origin is None else _ORIGIN.fullmatch(origin)
    if origin is not None and (found is None or found[1].lower() not in _LOOPBACK):
        sentence = f"the Origin header must be of this machine, not {_quote(origin)}"
        return _Refusal(status=403, sentence=sentence, is_wrong=False)
    path = request.target.partition("?")[0]
    if path != ENDPOINT:
        sentence = f"there is nothing at {_quote(path)}; the endpoint is {ENDPOINT}"
        return _Refusal(status=404, sentence=sentence, is_wrong=False)
    if request.method == "POST":
        return _check_post(request)
    if request.method not in ("GET", "DELETE"):
        sentence = f"{_quote(request.method)} is not a method of {ENDPOINT}"
        return _Refusal(status=405, sentence=sentence, headers={"Allow": "POST, GET, DELETE"})
    if request.header(_SESSION_ID) is None or request.header(_VERSION) in STATELESS_REVISIONS:
        # Not wrong: a client may try whether there is such a stream.
        needed = "needs the Mcp-Session-Id of a session that began with initialize"
        sentence = f"{request.method} {needed}"
        return _Refusal(status=405, sentence=sentence, headers={"Allow": "POST"}, is_wrong=False)
    if request.method == "GET" and not _is_accepted(request, EVENT_STREAM):
        sentence = f"the Accept header of a GET must have {EVENT_STREAM}"
        return _Refusal(status=406, sentence=sentence)
    return None


def _check_post(request: WebRequest) -> _Refusal | None:
    kind = request.header("content-type") or ""
    if kind.partition(";")[0].strip().lower() != JSON:
        sentence = f"the Content-Type of a message must be {JSON}, not {_quote(kind)}"
        return _Refusal(status=415, sentence=sentence)
    missing = [each for each in (JSON, EVENT_STREAM) if not _is_accepted(request, each)]
    if missing:
        sentence = f"the Accept header must have {JSON} and {EVENT_STREAM}; it lacks "
        return _Refusal(status=406, sentence=sentence + " and ".join(missing))
    return None


def _is_accepted(request: WebRequest, kind: str) -> bool:
    family = kind.partition("/")[0]
    for each in (request.header("accept") or "").split(","):
        name, _, rest = each.partition(";")
        is_refused = re.search(r"(?:^|;)\s*q=0(?:\.0*)?\s*(?:;|$)", rest)
        if name.strip().lower() in (kind, f"{family}/*", "*/*") and not is_refused:
            return True
    return False


def _quote(value: object) -> str:
    text = value if isinstance(value, str) else "nothing that is a string"
    return f'"{shorten(visible(text), 80)}"'


# Headers of stateless revisions, which repeat what is in the body

# The member of the params that the header Mcp-Name repeats.
_NAMED = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}

_ENCODED = re.compile(r"=\?base64\?(.*)\?=")
_DECIMAL = re.compile(r"(-?[0-9]+)(?:\.0+)?")

_MAX_PARAMS = 1_000


def check_headers(
    request: WebRequest, message: Message, schema_of: Callable[[str], object]
) -> Rejection | None:
    """How the headers differ from the body; `schema_of` is the input schema of a tool."""
    sentence = next(filter(None, _compare_headers(request, message, schema_of)), "")
    return Rejection(code=HEADER_MISMATCH, sentence=sentence) if sentence else None


def _compare_headers(
    request: WebRequest, message: Message, schema_of: Callable[[str], object]
) -> Iterator[str]:
    """For each header how it differs from the body, "" if it does not."""
    method, params = message["method"], params_of(message)
    yield _compare_header(request, "MCP-Protocol-Version", meta_of(message).get(VERSION_KEY))
    yield _compare_header(request, "Mcp-Method", method)
    name = params.get(_NAMED[method]) if method in _NAMED else None
    # If it is not a string, the body is refused later.
    if isinstance(name, str):
        yield _compare_header(request, "Mcp-Name", name, is_encoded=True)
        if method == "tools/call":
            yield _compare_params(request, params.get("arguments"), schema_of(name))


def _compare_header(
    request: WebRequest, name: str, wanted: object, *, is_encoded: bool = False
) -> str:
    """How a header differs from what the body says, "" if it does not."""
    values = request.values(name.lower())
    if len(values) != 1:
        return f"the header {name} is missing" if not values else f"the header {name} came twice"
    value = _decode(values[0]) if is_encoded else values[0]
    if value is None:
        return f"the header {name} is not ASCII, or not base64: {_quote(values[0])}"
    if value != wanted:
        return f"the header {name} is {_quote(value)} and the body says {_quote(wanted)}"
    return ""


def _decode(value: str) -> str | None:
    """The text of a header that may be in base64, None if it cannot be read."""
    found = _ENCODED.fullmatch(value)
    if not found:
        return value if value.isascii() else None
    try:
        raw = base64.b64decode(found[1], validate=True)
        # Only the canonical encoding is right.
        return raw.decode("utf-8") if base64.b64encode(raw).decode() == found[1] else None
    except (binascii.Error, ValueError):
        return None


def _compare_params(request: WebRequest, arguments: object, schema: object) -> str:
    """How the `Mcp-Param-…` headers differ from the arguments; values may be secrets."""
    for path, name, kind in _annotated_arguments(schema):
        header, where = f"Mcp-Param-{name}", ".".join(path)
        values = request.values(header.lower())
        value = arguments
        for step in path:
            value = value.get(step) if isinstance(value, dict) else None
        if isinstance(value, bool):
            value = "true" if value else "false"
        if len(values) > 1:
            return f"the header {header} came twice"
        if not isinstance(value, (str, int, float)):
            if values:
                return f"the header {header} came, and the argument {where} did not"
            continue
        if not values:
            return f"the header {header} is missing, which repeats the argument {where}"
        decoded = _decode(values[0])
        if decoded is None:
            return f"the header {header} is not ASCII, or not base64"
        if not _is_same(decoded, str(value), kind):
            return f"the header {header} is not what the argument {where} is"
    return ""


def _annotated_arguments(schema: object) -> Iterator[tuple[tuple[str, ...], str, object]]:
    """The arguments that a header repeats: their paths, the names of the headers, their types."""
    waiting: list[tuple[tuple[str, ...], object]] = [((), schema)]
    for path, each in waiting:
        if not isinstance(each, dict):
            continue
        name = each.get("x-mcp-header")
        if path and isinstance(name, str) and HEADER_TOKEN.fullmatch(name):
            yield path, name, each.get("type")
        inner = each.get("properties")
        if isinstance(inner, dict) and len(waiting) < _MAX_PARAMS:
            waiting += [((*path, key), schema) for key, schema in inner.items()]


def _is_same(header: str, value: str, kind: object) -> bool:
    if header == value:
        return True
    one, other = _DECIMAL.fullmatch(header), _DECIMAL.fullmatch(value)
    return kind == "integer" and bool(one and other and one[1] == other[1])
