"""Read a capture: its sessions, their members and exchanges, and the messages in order of time.

A capture is a session object, or an array of them. A session is read as pairs of a name and a
value: one pair for each member, and one pair named "exchange" for each of its exchanges.

    for session in read_capture(read, file):
        order = MessageOrder()
        for name, value in session:
            if name == "exchange":
                for message in order.add(value):
                    ...
        for message in order.finish():
            ...

`read_capture` parses a stream and keeps one exchange in memory; `walk_capture` takes a document
that has been parsed. Both raise FormatError with the place of the mistake. Members that are not
known are passed on unchecked, so that a capture may hold more than mcptest writes.
"""

from __future__ import annotations

import heapq

from mcptest.core.diagnostics import Diagnostic
from mcptest.core.errors import FormatError
from mcptest.core.record import Record
from mcptest.core.strict_json import BrokenStreamError, JsonStream
from mcptest.protocol.jsonrpc import id_key, message_kind

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Any

    from mcptest.protocol.jsonrpc import IdKey

    Exchange = dict[str, Any]
    Session = Iterator[tuple[str, Any]]

__all__ = ["CapturedMessage", "MessageOrder", "is_capture", "read_capture", "walk_capture"]

_HELP = (
    'a capture is {"server_label": "…", "server_capabilities": {…}, "exchanges": '
    '[{"request": {…}, "response": {…}}]}, or an array of such sessions'
)
_STRINGS = ("server_label", "transport", "protocol_version", "started_at", "exit_status")
_LISTS = ("server_messages", "replies", "noise")
_TYPE_NAMES = {
    str: "a string",
    bool: "a boolean",
    int: "a number",
    float: "a number",
    dict: "an object",
    list: "an array",
    type(None): "null",
}

# Messages held back for one with a lower number. Beyond this the numbers are wrong.
_MAX_HELD = 20_000
# Larger numbers under "ms" are not times: they would be 30,000 years.
_MAX_MS = 1e15


def is_capture(value: object) -> bool:
    """True if a parsed JSON document is a session or an array that contains one."""
    items = value if isinstance(value, list) else [value]
    return any(isinstance(item, dict) and "exchanges" in item for item in items)


def read_capture(
    read: Callable[[], str], file: str, required: Iterable[str] = ("exchanges",)
) -> Iterator[Session]:
    """The sessions of the capture that `read` returns piece by piece ("" at its end).

    The pairs of a session come in the order of the file and must be taken before the next
    session; what is left of them is skipped. `required` members must be in every session.
    """
    return _StreamReader(JsonStream(read), file, frozenset(required)).sessions()


def walk_capture(
    value: object, file: str, required: Iterable[str] = ("exchanges",)
) -> Iterator[Session]:
    """The sessions of a parsed capture; the exchanges of a session follow its other members."""
    for index, session in enumerate(value if isinstance(value, list) else [value]):
        where = f"[{index}]" if isinstance(value, list) else ""
        if problem := _session_problem(session, where, frozenset(required)):
            raise _error(file, *problem)
        yield _walk_session(session, where, file)


class CapturedMessage(Record):
    """One message and what the capture notes about it.

    `member` is where it is in its exchange: "request", "response", "server_messages", "replies"
    or "noise". `exchange` counts from 0 and is -1 in the prologue. `order` is the message's
    number in the session, None if the capture has none; `ms` the milliseconds from its start.
    """

    member: str
    value: Any
    exchange: int
    order: int | None
    ms: float | None
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

    def add(self, exchange: Exchange, *, is_prologue: bool = False) -> Iterator[CapturedMessage]:
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

    def _messages(self, exchange: Exchange, index: int) -> Iterator[CapturedMessage]:
        if "request" in exchange:
            yield _message(exchange, index, "request", exchange["request"])
        from_server, replies, noise = (
            [
                _message(exchange, index, member, value, at)
                for at, value in enumerate(exchange.get(member) or ())
            ]
            for member in _LISTS
        )
        yield from _paired(from_server, replies) if self._pairs_replies else from_server + replies
        yield from noise
        if exchange.get("response") is not None:
            yield _message(exchange, index, "response", exchange["response"])


def _paired(
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


def _message(
    exchange: Exchange, index: int, member: str, value: Any, at: int | None = None
) -> CapturedMessage:
    """A message with what the tables "order", "ms" and "http" of its exchange note about it."""
    noted = {}
    for table in ("order", "ms", "http"):
        rows = exchange.get(table)
        found = rows.get(member) if isinstance(rows, dict) else None
        if at is not None:
            found = found[at] if isinstance(found, list) and at < len(found) else None
        noted[table] = found
    order, ms, http = noted["order"], noted["ms"], noted["http"]
    return CapturedMessage(
        member=member,
        value=value,
        exchange=index,
        order=order if type(order) is int else None,
        ms=float(ms) if isinstance(ms, (int, float)) and abs(ms) < _MAX_MS else None,
        http=http if isinstance(http, dict) else {},
    )


# Parsed documents


def _walk_session(session: dict[str, Any], where: str, file: str) -> Session:
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

    def sessions(self) -> Iterator[Session]:
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

    def _session(self, where: str) -> Session:
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

    def _exchanges(self, where: str) -> Session:
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


def _session_problem(
    session: object, where: str, required: frozenset[str]
) -> tuple[str, str] | None:
    if not isinstance(session, dict):
        return "F008", f"{where or 'a capture'} must be an object and is {_type_name(session)}"
    if missing := sorted(required - session.keys()):
        return "F007", f'{where or "the session"} has no "{missing[0]}"'
    return None


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


def _list_problem(exchange: Exchange, where: str) -> tuple[str, str] | None:
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
