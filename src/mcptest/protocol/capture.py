"""Captures: recorded traffic as data, how it is recorded, and how it is read back.

A capture is a session object, or an array of them. A session has a label, the capabilities that
the server declared (null if the handshake was not completed) and the client's exchanges in order.
A notification is an exchange without a response. Everything else is optional.

`SessionRecorder` turns messages into exchanges as they pass, and `render_capture` makes the JSON.
`read_capture` and `walk_capture` yield the sessions of a capture, each as pairs of a name and a
value: one pair for each member, and one pair named "exchange" for each exchange. `MessageOrder`
puts the messages of the exchanges into the order in which they were sent:

    for session in read_capture(read, file):
        order = MessageOrder()
        for name, value in session:
            if name == "exchange":
                for message in order.add(value):
                    ...
        for message in order.finish():
            ...
"""

from __future__ import annotations

import heapq

from mcptest.core.diagnostics import Diagnostic
from mcptest.core.errors import FormatError
from mcptest.core.strict_json import BrokenStreamError, JsonStream
from mcptest.core.value_class import ABSENT, Record
from mcptest.protocol.jsonrpc import id_key, is_illegal, is_log_entry, message_kind, meta_of
from mcptest.protocol.revisions import VERSION_KEY

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Iterator
    from typing import Any

    from mcptest.protocol.jsonrpc import IdKey

    # How a message was received over HTTP: status, content type, stream and so on.
    Http = dict[str, object]
    # An exchange as it is in a capture file.
    JsonExchange = dict[str, Any]
    SessionMembers = Iterator[tuple[str, Any]]

__all__ = [
    "CapturedMessage",
    "Exchange",
    "MessageOrder",
    "Moment",
    "RecordedMessage",
    "SessionCapture",
    "SessionRecorder",
    "is_capture",
    "read_capture",
    "render_capture",
    "render_exchange",
    "walk_capture",
]

# The members of an exchange that are arrays of messages or lines.
_LISTS = ("server_messages", "replies", "noise")


class Moment(Record):
    """When a message was sent: its number in the session, and milliseconds from its start."""

    order: int
    ms: float


class RecordedMessage(Record):
    """A message of the server's own, the client's reply to one, or a line that is not a message.

    `http` says how it was received, if that was over HTTP.
    """

    value: object
    at: Moment
    http: Http | None = None


class Exchange(Record):
    """One message of the client and its response, ABSENT if there was none.

    Other messages and noise belong to the latest exchange at the time they were received.
    `wire_id` is the id under which the request was sent, if that is not its own.
    """

    request: object
    response: object = ABSENT
    sent: Moment | None = None
    answered: Moment | None = None
    server_messages: tuple[RecordedMessage, ...] = ()
    replies: tuple[RecordedMessage, ...] = ()
    noise: tuple[RecordedMessage, ...] = ()
    http: Http | None = None
    wire_id: object = ABSENT


class SessionCapture(Record):
    """Everything that one client and one server process sent to each other.

    `transport` identifies the connection. `ended_by` is what the server ended after: "exited" of
    its own, "stdin" at the end of its input, "term" or "kill". `stderr_utf8` is None if nothing
    was written to stderr. `prologue` is an exchange without a request: what the server sent before
    the client did.
    """

    server_label: str
    server_capabilities: object = None
    exchanges: tuple[Exchange, ...] = ()
    transport: str = ""
    protocol_version: str = ""
    started_at: str = ""
    exit_status: str = ""
    ended_by: str = ""
    stderr_utf8: bool | None = None
    prologue: Exchange | None = None


def render_capture(session: SessionCapture) -> dict[str, object]:
    """The session as the JSON object that capture files hold."""
    rendered: dict[str, object] = {
        "server_label": session.server_label,
        "server_capabilities": session.server_capabilities,
    }
    for member in ("transport", "protocol_version", "started_at", "exit_status", "ended_by"):
        if getattr(session, member):
            rendered[member] = getattr(session, member)
    if session.stderr_utf8 is not None:
        rendered["stderr_utf8"] = session.stderr_utf8
    if session.prologue:
        rendered["prologue"] = render_exchange(session.prologue)
    return rendered | {"exchanges": [render_exchange(each) for each in session.exchanges]}


def render_exchange(exchange: Exchange) -> JsonExchange:
    """An exchange as capture files hold it, without members that are unknown or empty."""
    rendered: JsonExchange = {}
    for member in ("request", "response", "wire_id"):
        if getattr(exchange, member) is not ABSENT:
            rendered[member] = getattr(exchange, member)
    order: dict[str, object] = {}
    ms: dict[str, object] = {}
    for member, moment in (("request", exchange.sent), ("response", exchange.answered)):
        if moment:
            order[member], ms[member] = moment.order, moment.ms
    http: dict[str, object] = {"response": exchange.http} if exchange.http else {}
    for member in _LISTS:
        messages: tuple[RecordedMessage, ...] = getattr(exchange, member)
        if messages:
            rendered[member] = [each.value for each in messages]
            order[member] = [each.at.order for each in messages]
            ms[member] = [each.at.ms for each in messages]
            if any(each.http for each in messages):
                http[member] = [each.http or {} for each in messages]
    if http:
        rendered["http"] = http
    return rendered | ({"order": order, "ms": ms} if order else {})


# Recording

# An exchange without a response is given up when so many later ones wait behind it.
_MAX_WAITING = 10_000


class _OpenExchange:
    """An exchange to which messages may still be added."""

    __slots__ = ("exchange", "is_owed", "noise", "replies", "server_messages")

    def __init__(self, exchange: Exchange, *, is_owed: bool) -> None:
        self.exchange = exchange
        self.is_owed = is_owed
        self.server_messages: list[RecordedMessage] = []
        self.replies: list[RecordedMessage] = []
        self.noise: list[RecordedMessage] = []

    def close(self) -> Exchange:
        if not (self.server_messages or self.replies or self.noise):
            return self.exchange
        return self.exchange.but(
            server_messages=tuple(self.server_messages),
            replies=tuple(self.replies),
            noise=tuple(self.noise),
        )


class SessionRecorder:
    """Turns the messages of a session into exchanges, in the order of their requests.

    `ms` is the time since the session began. An exchange is ready as soon as nothing can be added
    to it. The first one is the prologue.
    """

    def __init__(self, *, max_waiting: int = _MAX_WAITING) -> None:
        self._max_waiting = max_waiting
        self._order = 0
        self._waiting = [_OpenExchange(Exchange(request=ABSENT), is_owed=False)]
        self._by_id: dict[IdKey, _OpenExchange] = {}
        self._initialize: _OpenExchange | None = None
        self.capabilities: object = None
        self.server_info: object = None
        self.protocol_version = ""

    def client(self, message: object, ms: float) -> None:
        """The client has sent a message, or a batch of them."""
        at = self._next(ms)
        messages: list[Any] = message if isinstance(message, list) else [message]
        for each in messages:
            has_id = isinstance(each, dict) and "id" in each
            if has_id and "method" not in each:
                self._waiting[-1].replies.append(RecordedMessage(value=each, at=at))
                continue
            opened = _OpenExchange(Exchange(request=each, sent=at), is_owed=has_id)
            self._waiting.append(opened)
            if has_id:
                self._by_id[id_key(each["id"])] = opened
                if each["method"] in ("initialize", "server/discover"):
                    self._initialize = opened

    def server(
        self,
        message: object,
        ms: float,
        http: Http | None = None,
        answers: Container[IdKey] | None = None,
    ) -> None:
        """The server has sent a message, or a batch of them.

        `answers` are the ids that a response may have on its stream, None for any.
        """
        at = self._next(ms)
        messages: list[Any] = message if isinstance(message, list) else [message]
        for each in messages:
            opened = self._find_request(each, answers)
            if opened is None:
                recorded = RecordedMessage(value=each, at=at, http=http)
                self._waiting[-1].server_messages.append(recorded)
                continue
            opened.exchange = opened.exchange.but(response=each, answered=at, http=http)
            opened.is_owed = False
            result = each.get("result")
            if opened is self._initialize and isinstance(result, dict):
                declared = result.get("capabilities")
                # Captures have an object there, or null.
                self.capabilities = declared if isinstance(declared, dict) else None
                self.server_info = result.get("serverInfo")
                own_version = meta_of(opened.exchange.request).get(VERSION_KEY)
                version = result.get("protocolVersion", own_version)
                self.protocol_version = version if isinstance(version, str) else ""

    def _find_request(self, message: Any, answers: Container[IdKey] | None) -> _OpenExchange | None:
        if message_kind(message) != "response" or is_log_entry(message):
            return None
        key = id_key(message.get("id"))
        if key not in self._by_id and message.get("id") is None and "error" in message:
            # A server that cannot read the id of a request answers with null.
            illegal = (k for k, each in self._by_id.items() if is_illegal(each.exchange.request))
            key = next(illegal, key)
        elif answers is not None and key not in answers:
            return None
        return self._by_id.pop(key, None)

    def noise(self, line: str, ms: float) -> None:
        """The server has written a line that is not a message."""
        self._waiting[-1].noise.append(RecordedMessage(value=line, at=self._next(ms)))

    def _next(self, ms: float) -> Moment:
        self._order += 1
        return Moment(order=self._order, ms=round(ms, 3))

    @property
    def holds_back(self) -> bool:
        """True if an exchange waits behind one without a response."""
        return len(self._waiting) > 1

    def take_ready(self, *, gives_up: bool = False) -> list[Exchange]:
        """Remove and return the first exchanges, as far as nothing can be added to them.

        With `gives_up`, no response is waited for.
        """
        count, max_waiting = 0, 1 if gives_up else self._max_waiting
        # To the latest one, messages may always be added.
        while len(self._waiting) - count > (max_waiting if self._waiting[count].is_owed else 1):
            count += 1
        return self._take(count)

    def finish(self) -> list[Exchange]:
        """Remove and return all exchanges that are left."""
        return self._take(len(self._waiting))

    def _take(self, count: int) -> list[Exchange]:
        taken, self._waiting = self._waiting[:count], self._waiting[count:]
        for opened in taken:
            if opened.is_owed:
                request: Any = opened.exchange.request
                self._by_id.pop(id_key(request["id"]), None)
        return [opened.close() for opened in taken]


# Reading. Unknown members are passed on unchecked, so that a capture may hold more than mcptest
# writes.

_HELP = (
    'a capture is {"server_label": "…", "server_capabilities": {…}, "exchanges": '
    '[{"request": {…}, "response": {…}}]}, or an array of such sessions'
)
_STRINGS = (
    *("server_label", "transport", "protocol_version", "started_at", "exit_status", "ended_by"),
)
_TYPE_NAMES = {
    str: "a string",
    bool: "a boolean",
    int: "a number",
    float: "a number",
    dict: "an object",
    list: "an array",
    type(None): "null",
}


def is_capture(value: object) -> bool:
    """True if a parsed JSON document is a session or an array that contains one."""
    items = value if isinstance(value, list) else [value]
    return any(isinstance(item, dict) and "exchanges" in item for item in items)


def read_capture(
    read: Callable[[], str], file: str, required: Iterable[str] = ("exchanges",)
) -> Iterator[SessionMembers]:
    """The sessions of the capture that `read` returns piece by piece ("" at its end).

    The pairs of a session come in the order of the file and must be taken before the next
    session; what is left of them is skipped. `required` members must be in every session.
    """
    return _StreamReader(JsonStream(read), file, frozenset(required)).sessions()


def walk_capture(
    value: object, file: str, required: Iterable[str] = ("exchanges",)
) -> Iterator[SessionMembers]:
    """The sessions of a parsed capture; the exchanges of a session follow its other members."""
    for index, session in enumerate(value if isinstance(value, list) else [value]):
        where = f"[{index}]" if isinstance(value, list) else ""
        if not isinstance(session, dict):
            message = f"{where or 'a capture'} must be an object and is {_type_name(session)}"
            raise _error(file, "F008", message)
        if missing := sorted(set(required) - session.keys()):
            raise _error(file, "F007", f'{where or "the session"} has no "{missing[0]}"')
        yield _walk_session(session, where, file)


# The order of messages

# Messages held back for one with a lower number. Beyond this the numbers are wrong.
_MAX_HELD = 20_000


class CapturedMessage(Record):
    """One message and what the capture notes about it.

    `member` is where it is in its exchange: "request", "response", "server_messages", "replies"
    or "noise". `exchange` counts from 0 and is -1 in the prologue. `order` is the message's
    number in the session, None if the capture has none.
    """

    member: str
    value: Any
    exchange: int
    order: int | None
    http: dict[str, Any]

    @property
    def is_from_client(self) -> bool:
        return self.member in ("request", "replies")


class MessageOrder:
    """Puts the messages of one session into the order in which they were sent.

    Exchanges are in the order of their requests, and every other message of an exchange comes
    after its request. So messages with lower numbers than the latest request are complete. A
    message without a number follows the one before it in its exchange: the request, what the
    server sent on its own, the client's replies to that, noise, the response. With
    `pairs_replies` each reply follows the request of the server that it answers.
    """

    def __init__(self, *, pairs_replies: bool = False) -> None:
        self._pairs_replies = pairs_replies
        self._held: list[tuple[int, int, CapturedMessage]] = []
        self._count = 0
        self._exchanges = 0
        self._last_order = 0
        self._latest_request = 1

    def add(
        self, exchange: JsonExchange, *, is_prologue: bool = False
    ) -> Iterator[CapturedMessage]:
        """Take an exchange; the messages before which no other can come."""
        index = -1 if is_prologue else self._exchanges
        self._exchanges += not is_prologue
        for message in self._messages(exchange, index):
            if message.order is not None:
                self._last_order = message.order
                if message.member == "request":
                    self._latest_request = max(self._latest_request, message.order)
            self._count += 1
            heapq.heappush(self._held, (self._last_order, self._count, message))
        while self._held and (
            self._held[0][0] < self._latest_request or len(self._held) > _MAX_HELD
        ):
            yield heapq.heappop(self._held)[2]

    def finish(self) -> Iterator[CapturedMessage]:
        """The remaining messages, when there are no more exchanges."""
        while self._held:
            yield heapq.heappop(self._held)[2]

    def _messages(self, exchange: JsonExchange, index: int) -> Iterator[CapturedMessage]:
        if "request" in exchange:
            yield _make_message(exchange, index, "request", exchange["request"])
        from_server, replies, noise = (
            [
                _make_message(exchange, index, member, value, at)
                for at, value in enumerate(exchange.get(member) or ())
            ]
            for member in _LISTS
        )
        yield from (
            _pair_replies(from_server, replies) if self._pairs_replies else from_server + replies
        )
        yield from noise
        if exchange.get("response") is not None:
            yield _make_message(exchange, index, "response", exchange["response"])


def _pair_replies(
    from_server: list[CapturedMessage], replies: list[CapturedMessage]
) -> Iterator[CapturedMessage]:
    waiting: dict[IdKey, list[CapturedMessage]] = {}
    for reply in replies:
        id = reply.value.get("id") if isinstance(reply.value, dict) else None
        waiting.setdefault(id_key(id), []).append(reply)
    for message in from_server:
        yield message
        if message_kind(message.value) == "request":
            answers = waiting.get(id_key(message.value["id"]))
            if answers:
                yield answers.pop(0)
    for unpaired in waiting.values():
        yield from unpaired


def _make_message(
    exchange: JsonExchange, index: int, member: str, value: Any, at: int | None = None
) -> CapturedMessage:
    """A message with its entries in the tables "order" and "http" of the exchange."""
    entries = []
    for table in ("order", "http"):
        rows = exchange.get(table)
        entry = rows.get(member) if isinstance(rows, dict) else None
        if at is not None:
            entry = entry[at] if isinstance(entry, list) and at < len(entry) else None
        entries.append(entry)
    order, http = entries
    return CapturedMessage(
        member=member,
        value=value,
        exchange=index,
        order=order if type(order) is int else None,
        http=http if isinstance(http, dict) else {},
    )


# Parsed documents


def _walk_session(session: dict[str, Any], where: str, file: str) -> SessionMembers:
    for name, value in session.items():
        if name != "exchanges":
            if problem := _member_problem(name, value, _path(where, name)):
                raise _error(file, *problem)
            yield name, value
    exchanges = session["exchanges"]
    if not isinstance(exchanges, list):
        message = f"{_path(where, 'exchanges')} must be an array and is {_type_name(exchanges)}"
        raise _error(file, "F008", message)
    for index, exchange in enumerate(exchanges):
        if problem := _exchange_problem(exchange, _path(where, f"exchanges[{index}]")):
            raise _error(file, *problem)
        yield "exchange", exchange


# Streams


class _StreamReader:
    """Reads one capture from a stream."""

    def __init__(self, stream: JsonStream, file: str, required: frozenset[str]) -> None:
        self._stream = stream
        self._file = file
        self._required = required

    def sessions(self) -> Iterator[SessionMembers]:
        try:
            if not self._stream.peek():
                raise self._error("F005", "the file is empty")
            is_array = self._stream.takes("[")
            count = 0
            while not (is_array and not count and self._stream.peek() == "]"):
                session = self._session(f"[{count}]" if is_array else "")
                yield session
                for _ in session:
                    pass
                count += 1
                if not is_array or not self._stream.takes(","):
                    break
            if is_array:
                self._stream.take("]")
            if self._stream.peek():
                raise self._stream.error("something follows the end of the capture")
            if not count:
                raise self._error("F011", "there is no session in this capture: it shows nothing")
        except BrokenStreamError as error:
            raise self._not_json(error) from None

    def _session(self, where: str) -> SessionMembers:
        try:
            if self._stream.peek() != "{":
                raise self._error("F008", f"{where or 'a capture'} must be an object")
            self._stream.take("{")
            seen: set[str] = set()
            while self._stream.peek() != "}":
                name = self._stream.value()
                if not isinstance(name, str):
                    raise self._stream.error("expected a key in double quotes")
                self._stream.take(":")
                if name == "exchanges":
                    yield from self._exchanges(_path(where, name))
                else:
                    place = self._place()
                    value = self._stream.value()
                    if problem := _member_problem(name, value, _path(where, name)):
                        raise self._error(*problem, place)
                    yield name, value
                if name == "exchanges" and name in seen:
                    raise self._error("F003", f'{where or "the session"} has "exchanges" twice')
                seen.add(name)
                if not self._takes_comma("}"):
                    break
            if missing := sorted(self._required - seen):
                raise self._error("F007", f'{where or "the session"} has no "{missing[0]}"')
            self._stream.take("}")
        except BrokenStreamError as error:
            raise self._not_json(error) from None

    def _exchanges(self, where: str) -> SessionMembers:
        if self._stream.peek() != "[":
            raise self._error("F008", f"{where} must be an array")
        self._stream.take("[")
        index = 0
        while self._stream.peek() != "]":
            place = self._place()
            exchange = self._stream.value()
            if problem := _exchange_problem(exchange, f"{where}[{index}]"):
                raise self._error(*problem, place)
            yield "exchange", exchange
            index += 1
            if not self._takes_comma("]"):
                break
        self._stream.take("]")

    def _place(self) -> BrokenStreamError:
        """Where the next value begins."""
        self._stream.peek()
        return self._stream.error("")

    def _takes_comma(self, closing: str) -> bool:
        if not self._stream.takes(","):
            return False
        if self._stream.peek() == closing:
            raise self._stream.error("a comma with nothing after it")
        return True

    def _error(
        self, code: str, message: str, place: BrokenStreamError | None = None
    ) -> FormatError:
        place = place or self._place()
        return _error(self._file, code, message, line=place.line, column=place.column)

    def _not_json(self, error: BrokenStreamError) -> FormatError:
        message = f"not valid JSON: {error.reason}"
        return _error(self._file, "F002", message, "", line=error.line, column=error.column)


# What may be wrong: a diagnostic code and a sentence


def _member_problem(name: str, value: Any, where: str) -> tuple[str, str] | None:
    if name in _STRINGS and not isinstance(value, str):
        return "F008", f"{where} must be a string and is {_type_name(value)}"
    if name == "server_capabilities" and not isinstance(value, (dict, type(None))):
        return "F008", f"{where} must be an object or null and is {_type_name(value)}"
    if name == "prologue" and value is not None:
        if not isinstance(value, dict):
            return "F008", f"{where} must be an object and is {_type_name(value)}"
        return _list_problem(value, where)
    return None


def _exchange_problem(exchange: Any, where: str) -> tuple[str, str] | None:
    if not isinstance(exchange, dict):
        return "F008", f"{where} must be an object and is {_type_name(exchange)}"
    if "request" not in exchange:
        return "F007", f'{where} has no "request"'
    for member in ("request", "response"):
        value = exchange.get(member, {})
        if not isinstance(value, (dict, list)) and (member == "request" or value is not None):
            return "F008", f"{where}.{member} must be an object and is {_type_name(value)}"
    return _list_problem(exchange, where)


def _list_problem(exchange: JsonExchange, where: str) -> tuple[str, str] | None:
    for member in _LISTS:
        value = exchange.get(member)
        if not isinstance(value, (list, type(None))):
            return "F008", f"{where}.{member} must be an array and is {_type_name(value)}"
    return None


def _type_name(value: object) -> str:
    return _TYPE_NAMES[type(value)]


def _path(where: str, member: str) -> str:
    return f"{where}.{member}" if where else member


def _error(
    file: str, code: str, message: str, help: str = _HELP, *, line: int = 0, column: int = 0
) -> FormatError:
    diagnostic = Diagnostic(
        code=code, file=file, message=message, help=help, line=line, column=column
    )
    return FormatError([diagnostic])
