"""Read recorded traffic from a capture or a log.

Captures and logs are distinguished by their contents. A log has one JSON value per line: a
message, a message in an object that names its direction, or either after words or an arrow.
"""

from __future__ import annotations

import re
from itertools import zip_longest

from mcptest.core.diagnostics import Diagnostic
from mcptest.core.errors import FormatError
from mcptest.core.strict_json import MAX_DEPTH, NotJsonError, parse_json
from mcptest.core.text import list_names, plural
from mcptest.core.value_class import Record
from mcptest.protocol.capture import MessageOrder, is_capture, walk_capture
from mcptest.protocol.jsonrpc import (
    id_key,
    is_message,
    is_message_or_batch,
    message_kind,
    meta_of,
    params_of,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any, Literal

    from mcptest.protocol.capture import CapturedMessage
    from mcptest.protocol.jsonrpc import IdKey

    # As in case files: "in" goes from the client to the server, "out" comes back.
    Direction = Literal["in", "out"]
    Message = dict[str, Any]
    # A message of a log, and its direction if the log has one.
    Entry = tuple[Direction | None, Any]

__all__ = [
    "Session",
    "Traffic",
    "TrafficMessage",
    "error",
    "is_traffic",
    "messages_in",
    "method_of",
    "opposite",
    "progress_token",
    "read_traffic",
]

_KINDS = (
    "recorded traffic is a capture (mcptest run … --capture FILE), or a log with one JSON-RPC "
    "message per line, bare or with its direction"
)
# A case file holds a message one level down, and its reader has the same limit.
_MAX_MESSAGE_DEPTH = MAX_DEPTH - 2
_MAX_NAMED = 8
# The kind of a file is decided by this many lines.
_MAX_KIND_LINES = 1_000

_CASE_LINE = re.compile(r"(?m)^(?:---\s*$|case\s*:|(?:in|out)\w*\s*:\s*(?:[|>{\[]\s*)?$)")
_TURN = re.compile(r"(?:in|out)\w*\s*:")


class TrafficMessage(Record):
    """One message and its direction; a list if the client sent a batch."""

    direction: Direction
    message: Any


class Session(Record):
    """The messages between one client and one server, from beginning to end."""

    messages: tuple[TrafficMessage, ...]
    label: str = ""


class Traffic(Record):
    """What was found in one file; `notes` are sentences about what was left out."""

    file: str
    sessions: tuple[Session, ...]
    notes: tuple[str, ...] = ()


def is_traffic(text: str) -> bool:
    """True if a text is a capture or a log. A case file is neither, though it has messages."""
    text = text.removeprefix("\ufeff")
    if re.match(r"\s*[\[{]", text):
        try:
            value = parse_json(text, _MAX_MESSAGE_DEPTH)
        except NotJsonError:
            pass
        else:
            return is_capture(value) or (not _is_case(value) and bool(_entries_of_document(value)))
    lines = [line for line in text.split("\n", _MAX_KIND_LINES)[:_MAX_KIND_LINES] if line.strip()]
    for line, following in zip_longest(lines, lines[1:], fillvalue="---"):
        if re.match(r"case\s*:", line) or _TURN.match(line):
            return False
        if not line[0].isspace() and _entries_of_line(line):
            # An object with both directions may be a case, which is then a YAML document.
            return not (following.startswith("---") and _is_case(_parse_or_none(line.strip())))
    return False


def _is_case(value: object) -> bool:
    """True if an object is a case written in JSON."""
    if not isinstance(value, dict) or is_message(value):
        return False
    return any(key == "case" or _TURN.match(f"{key}:") for key in value)


def read_traffic(text: str, file: str) -> Traffic:
    """The traffic in a file. A new session begins wherever the client initializes."""
    text = text.removeprefix("\ufeff")
    try:
        value = parse_json(text, _MAX_MESSAGE_DEPTH)
    except NotJsonError as not_json:
        sessions, notes = _read_log(text, file, not_json)
    else:
        if is_capture(value):
            sessions, notes = _read_capture(value, file)
        elif entries := _entries_of_document(value):
            sessions, notes = _read_entries(entries, file)
        else:
            raise error("F005", file, "there is no MCP message in this file", _KINDS)
    pieces = [piece for session in sessions for piece in _split_session(session)]
    if not pieces:
        raise error("F005", file, "there is no message in this file", _KINDS)
    labels = sorted({session.label for session in pieces if session.label})
    if len(labels) > 1:
        named = ", ".join(labels[:_MAX_NAMED])
        notes.append(f"{file}: sessions of {len(labels)} servers are in one contract: {named}")
    return Traffic(file=file, sessions=tuple(pieces), notes=tuple(notes))


def _split_session(session: Session) -> Iterator[Session]:
    messages: list[TrafficMessage] = []
    for each in session.messages:
        first = messages_in(each.message)[0]
        is_request = each.direction == "in" and "id" in first
        if messages and is_request and method_of(first) == "initialize":
            yield session.but(messages=tuple(messages))
            messages = []
        messages.append(each)
    if messages:
        yield session.but(messages=tuple(messages))


def error(code: str, file: str, message: str, help: str = "", **place: Any) -> FormatError:
    """A FormatError with one diagnostic."""
    return FormatError([Diagnostic(code=code, file=file, message=message, help=help, **place)])


# Messages


def messages_in(message: Any) -> list[Message]:
    """The messages of a batch, or the one message."""
    return message if isinstance(message, list) else [message]


def method_of(message: Message) -> str:
    """The method of a message, "" if it has none."""
    method = message.get("method")
    return method if isinstance(method, str) else ""


def progress_token(message: Message) -> object:
    """The progress token of a request; None if there is none."""
    return meta_of(message).get("progressToken")


def opposite(direction: Direction) -> Direction:
    return "out" if direction == "in" else "in"


# Captures


def _read_capture(document: object, file: str) -> tuple[list[Session], list[str]]:
    sessions: list[Session] = []
    notes: list[str] = []
    skipped = 0
    for members in walk_capture(document, file):
        label, order = "", MessageOrder(pairs_replies=True)
        captured: list[CapturedMessage] = []
        for name, value in members:
            if name == "server_label":
                label = value
            elif name in ("exchange", "prologue") and value is not None:
                captured += order.add(value, is_prologue=name == "prologue")
                client_noise, left_out = value.get("client_noise"), value.get("left_out")
                skipped += len(client_noise) if isinstance(client_noise, list) else 0
                sentences = left_out if isinstance(left_out, list) else []
                notes += [f"{file}: {each}" for each in sentences if isinstance(each, str)]
        messages, malformed = _read_captured([*captured, *order.finish()])
        skipped += malformed
        sessions.append(Session(messages=tuple(messages), label=label))
    if skipped:
        are = "is not a message and was" if skipped == 1 else "are not messages and were"
        notes.append(f"{file}: {plural(skipped, 'line')} {are} left out")
    return sessions, notes


def _read_captured(captured: list[CapturedMessage]) -> tuple[list[TrafficMessage], int]:
    """The messages of a session with the client's batches whole, and how many were malformed."""
    messages: list[TrafficMessage] = []
    malformed = 0
    batch_number: int | None = None
    for each in captured:
        parts = messages_in(each.value) or [each.value]
        valid = [part for part in parts if message_kind(part) != "malformed"]
        malformed += len(parts) - len(valid)
        if not valid:
            continue
        is_call = each.member == "request" and all("method" in part for part in valid)
        if is_call and each.order is not None and each.order == batch_number:
            # The calls of a batch are exchanges of their own, with one number.
            batch = [*messages_in(messages[-1].message), *valid]
            messages[-1] = TrafficMessage(direction="in", message=batch)
        elif each.is_from_client and isinstance(each.value, list):
            messages.append(TrafficMessage(direction="in", message=valid))
        else:
            direction: Direction = "in" if each.is_from_client else "out"
            messages += [TrafficMessage(direction=direction, message=part) for part in valid]
        batch_number = each.order if is_call else None
    return messages, malformed


# Logs

_DIRECTION_KEYS = ("direction", "dir", "from", "type", "source", "stream", "sender", "origin")
_MESSAGE_KEYS = ("message", "data", "payload", "body", "raw", "line", "json", "msg", "content")
# A message under such a key has the direction that the message itself implies.
_KIND_KEYS = ("request", "response", "notification")
_DIRECTIONS: dict[str, Direction] = {
    **dict.fromkeys(("in", "client", "host", "send", "sent", "stdin", "c2s"), "in"),
    **dict.fromkeys((">", ">>", "toserver", "clienttoserver", "client>server"), "in"),
    **dict.fromkeys(("out", "server", "recv", "received", "receive", "stdout", "s2c"), "out"),
    **dict.fromkeys(("<", "<<", "toclient", "servertoclient", "server>client"), "out"),
}
# Words and arrows before a message.
_HEAD_WORD = re.compile(
    r"(?:client|server) *(?:[-=]+>|→) *(?:client|server)|to[ _-](?:client|server)"
    r"|<[-=]*|[-=]*>+|[→←]|[a-z][a-z0-9_-]*"
)
_MAX_HEAD_CHARS = 300
_SERVER_METHODS = frozenset(
    [
        "sampling/createMessage",
        "elicitation/create",
        "roots/list",
        "notifications/message",
        "notifications/tools/list_changed",
        "notifications/resources/list_changed",
        "notifications/prompts/list_changed",
        "notifications/resources/updated",
        "notifications/elicitation/complete",
        "notifications/tasks/status",
    ]
)
# Servers send no requests of these families.
_CLIENT_FAMILIES = ("tools", "resources", "prompts", "completion", "logging", "initialize")


def _read_log(text: str, file: str, not_json: NotJsonError) -> tuple[list[Session], list[str]]:
    entries: list[Entry] = []
    skipped: list[int] = []
    is_log = False
    for number, line in enumerate(text.split("\n"), 1):
        found = _entries_of_line(line)
        entries += found
        # A case file may have messages on indented lines below their keys.
        is_log = is_log or (bool(found) and not line[0].isspace() and not _TURN.match(line))
        if not found and line.strip():
            skipped.append(number)
    if not is_log and _CASE_LINE.search(text):
        message = "this is a case file already and needs no conversion"
        raise error("F005", file, message, "run it as it is: mcptest run FILE")
    if not entries:
        if not text.strip():
            raise error("F005", file, "the file is empty", _KINDS)
        if text.lstrip()[0] not in "{[":
            raise error("F005", file, "there is no MCP message in this file", _KINDS)
        before = text[: max(0, not_json.column - 1)]
        row = before.count("\n") + 1
        column = len(before) - before.rfind("\n")
        source = text.split("\n")[row - 1].rstrip("\r")
        place = {"line": row, "column": column, "source": source} if not_json.column else {}
        raise error("F002", file, f"not JSON: {not_json.reason}", _KINDS, **place)
    sessions, notes = _read_entries(entries, file)
    if skipped:
        named = list_names([*map(str, skipped)], _MAX_NAMED)
        have = "has no message and was" if len(skipped) == 1 else "have no message and were"
        which = "line" if len(skipped) == 1 else "lines"
        count = plural(len(skipped), "line")
        notes.insert(0, f"{file}: {count} {have} left out: {which} {named}")
    return sessions, notes


def _entries_of_document(value: object) -> list[Entry]:
    values = value if isinstance(value, list) else [value]
    return [entry for each in values for entry in _entries_of_value(each)]


def _entries_of_line(line: str) -> list[Entry]:
    line = line.strip()
    if line[:1] in ("{", "[") and (entries := _entries_of_value(_parse_or_none(line))):
        return entries
    start = re.search(r"\{\s*\"|\[\s*\{", line[:_MAX_HEAD_CHARS])
    if not start or not start.start():
        return []
    head, rest = line[: start.start()], line[start.start() :]
    words = map(_direction_of, _HEAD_WORD.findall(head.lower()))
    nearest = next((each for each in reversed(list(words)) if each), None)
    return [
        (direction or nearest, message)
        for direction, message in _entries_of_value(_parse_or_none(rest))
    ]


def _entries_of_value(value: Any) -> list[Entry]:
    """The messages in one value of a log: a message, a batch, or an object around either."""
    if is_message_or_batch(value):
        return [(None, value)]
    if not isinstance(value, dict):
        return []
    for key in _MESSAGE_KEYS:
        message = _unpack(value.get(key))
        if is_message_or_batch(message):
            words = (value.get(name) for name in _DIRECTION_KEYS)
            found = (_direction_of(word) for word in words if isinstance(word, str))
            return [(next((each for each in found if each), None), message)]
    sides = ((_direction_of(key), key, inner) for key, inner in value.items())
    return [
        (direction, message)
        for direction, key, inner in sides
        if (direction or key in _KIND_KEYS) and is_message_or_batch(message := _unpack(inner))
    ]


def _unpack(value: Any) -> Any:
    """A message that is in the log as a string of JSON."""
    return _parse_or_none(value) if isinstance(value, str) else value


def _parse_or_none(text: str) -> Any:
    try:
        return parse_json(text, _MAX_MESSAGE_DEPTH)
    except NotJsonError as not_json:
        # Some logs have words after the message as well.
        if not_json.reason.startswith("something follows") and text[not_json.column - 1 :]:
            return _parse_or_none(text[: not_json.column - 1])
        return None


def _direction_of(word: str) -> Direction | None:
    # client-to-server, client_to_server and clientToServer are the same; so are all arrows.
    word = word.lower().replace("→", ">").replace("←", "<")
    return _DIRECTIONS.get(re.sub("[-_ =]", "", word))


def _read_entries(entries: list[Entry], file: str) -> tuple[list[Session], list[str]]:
    """The one session of a log, with directions the right way round and none missing."""
    client_requests = [
        direction
        for direction, message in entries
        if message_kind(first := messages_in(message)[0]) == "request"
        and method_of(first).partition("/")[0] in _CLIENT_FAMILIES
    ]
    notes: list[str] = []
    if client_requests.count("out") > client_requests.count("in"):
        entries = [(direction and opposite(direction), message) for direction, message in entries]
        notes.append(f"{file}: the directions are those of the server's side and were reversed")
    guess = _DirectionGuess()
    messages: list[TrafficMessage] = []
    for direction, message in entries:
        parts = messages_in(message)
        side = direction or guess.direction(parts[0])
        for part in parts:
            guess.note(side, part)
        is_batch = side == "in" and all("method" in part for part in parts)
        messages += [
            TrafficMessage(direction=side, message=each)
            for each in ([message] if is_batch else parts)
        ]
    return [Session(messages=tuple(messages))], notes


class _DirectionGuess:
    """The direction of messages that a log gives none for.

    Some methods only servers send, a response goes the way back of its request, and progress and
    cancellations belong to a request. Everything else is from the client.
    """

    def __init__(self) -> None:
        self._waiting: dict[IdKey, list[Direction]] = {}
        self._requests: dict[IdKey, Direction] = {}
        self._tokens: dict[IdKey, Direction] = {}

    def note(self, direction: Direction, message: Message) -> None:
        kind = message_kind(message)
        key = id_key(message.get("id"))
        if kind == "request":
            self._waiting.setdefault(key, []).append(direction)
            self._requests[key] = direction
            if (token := progress_token(message)) is not None:
                self._tokens[id_key(token)] = direction
        elif kind == "response" and opposite(direction) in self._waiting.get(key, []):
            waiting = self._waiting[key]
            del waiting[len(waiting) - 1 - waiting[::-1].index(opposite(direction))]

    def direction(self, message: Message) -> Direction:
        if message_kind(message) == "response":
            waiting = self._waiting.get(id_key(message.get("id")))
            # If both sides wait under one id, the inner request is answered first.
            return opposite(waiting[-1]) if waiting else "out"
        method, params = message["method"], params_of(message)
        if method == "notifications/progress":
            return opposite(self._tokens.get(id_key(params.get("progressToken")), "in"))
        if method == "notifications/cancelled":
            return self._requests.get(id_key(params.get("requestId")), "in")
        return "out" if method in _SERVER_METHODS else "in"
