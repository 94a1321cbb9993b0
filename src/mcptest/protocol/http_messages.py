"""HTTP messages of MCP: read answers and streams, make headers, explain refusals.

Status, headers and pieces of the body of an answer become frames as over stdio, and everything
else a `TransportFault` that names the layer. A refusal whose body is a JSON-RPC message is an
answer like any other.

The body of a stream is server-sent events. Their lines end with LF, CR LF or CR alone, and a stream
may be cut anywhere, also between the two bytes of one line end or within a character. The data of
an event stays bytes: the reader of messages checks that it is UTF-8 and JSON, and reports what is
not.
"""

from __future__ import annotations

import base64
import re

from mcptest.core.plan import DEFAULT_MAX_LINE_BYTES
from mcptest.core.strict_json import dump_json
from mcptest.core.text import excerpt, quote_bytes
from mcptest.core.value_class import ABSENT, Record
from mcptest.protocol import jsonrpc
from mcptest.protocol.framing import Frame, TransportFault, read_message
from mcptest.protocol.revisions import REVISIONS, VERSION_KEY

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any, Literal

    Item = Frame | TransportFault
    Mode = Literal["", "events", "body"]

__all__ = [
    "CANCELLED",
    "EVENT_STREAM",
    "HEADER_TOKEN",
    "JSON",
    "NOT_SPOKEN",
    "Act",
    "Answer",
    "AnswerReader",
    "Begin",
    "Cut",
    "End",
    "OverlongEvent",
    "Piece",
    "SseDecoder",
    "SseEvent",
    "WebRequest",
    "encoded_value",
    "header_annotation_fault",
    "media_type",
    "message_headers",
    "own_version",
    "param_headers",
    "render_event",
    "status_fault",
    "with_refused_credentials",
    "without_older_transport",
]


_BOM = b"\xef\xbb\xbf"

# Longer names and ids are cut.
_MAX_FIELD = 4096


class SseEvent(Record):
    """One event. `id` is None if it has none; `name` defaults to "message"."""

    data: bytes
    name: str = "message"
    id: str | None = None


class OverlongEvent(Record):
    """An event over the limit; the rest of the stream is not read."""

    limit: int


class SseDecoder:
    """Turns chunks into events, keeping what is unfinished between calls.

    `last_id` is that of the last complete event, after which a resumed stream begins;
    `retry_s` is how long the server wants a client to wait before it connects again.
    """

    def __init__(self, max_event_bytes: int = DEFAULT_MAX_LINE_BYTES) -> None:
        self._limit = max_event_bytes
        self._parts: list[bytes] = []
        self._size = 0
        self._skips_lf = False
        self._is_first = True
        self._is_spent = False
        self._data: list[bytes] = []
        self._name = ""
        self._id: str | None = None
        self.last_id = ""
        self.retry_s: float | None = None

    @property
    def pending_bytes(self) -> int:
        """The size of an event that is not complete."""
        return self._size

    def feed(self, chunk: bytes) -> list[SseEvent | OverlongEvent]:
        """The events that this chunk completes."""
        out: list[SseEvent | OverlongEvent] = []
        if self._is_spent or not chunk:
            return out
        if self._skips_lf:
            self._skips_lf = False
            chunk = chunk.removeprefix(b"\n")
        if not (self._parts or self._data or self._name or self._is_first) and self._id is None:
            # Empty lines between events mean nothing, however many there are.
            chunk = chunk.lstrip(b"\n")
        for line in chunk.splitlines(keepends=True):
            self._parts.append(line)
            # Without the line ends, or it would matter where the stream was cut.
            self._size += len(line.rstrip(b"\r\n"))
            if self._size > self._limit:
                self._start_over()
                self._is_spent = True
                return [*out, OverlongEvent(limit=self._limit)]
            if line.endswith((b"\n", b"\r")):
                self._skips_lf = line.endswith(b"\r")
                self._finish_line(out)
        # Only the end of a chunk can be in the middle of a line end.
        self._skips_lf = self._skips_lf and chunk.endswith(b"\r")
        return out

    def _start_over(self) -> None:
        self._parts, self._data, self._size = [], [], 0
        self._name, self._id = "", None

    def _finish_line(self, out: list[SseEvent | OverlongEvent]) -> None:
        line = self._parts[0] if len(self._parts) == 1 else b"".join(self._parts)
        self._parts = []
        line = line.rstrip(b"\r\n")
        size = len(line)
        if self._is_first:
            self._is_first = False
            line = line.removeprefix(_BOM)
        if line:
            if not self._take_field(line):
                # Comments are not kept, so endless ones cost no memory.
                self._size -= size
            return
        if self._id is not None:
            self.last_id = self._id
        if self._data:
            data = b"\n".join(self._data)
            out.append(SseEvent(data=data, name=self._name or "message", id=self._id))
        self._start_over()

    def _take_field(self, line: bytes) -> bool:
        """Take a line of an event; True if it is part of its data."""
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if name == b"data":
            self._data.append(value)
            return True
        text = value[:_MAX_FIELD].decode("utf-8", "replace")
        if name == b"event":
            self._name = text
        elif name == b"id" and "\0" not in text:
            self._id = text
        elif name == b"retry" and value.isdigit():
            self.retry_s = int(value[:9]) / 1000
        return False


# A carriage return ends a line, too.
_LINE_END = re.compile(rb"\r\n|\r|\n")


def render_event(data: bytes, id: str = "", event: str = "") -> bytes:
    """The bytes of one event; data of several lines has a field for each."""
    lines = [f"event: {event}".encode()] if event else []
    if id:
        lines.append(f"id: {id}".encode())
    lines += [b"data: " + line for line in _LINE_END.split(data)]
    return b"\n".join(lines) + b"\n\n"


# Its acceptance does not matter: the request that it cancels is over.
CANCELLED = "notifications/cancelled"

JSON = "application/json"
EVENT_STREAM = "text/event-stream"

# Headers that captures keep: those that rules need, and nothing that may be a credential.
_KEPT_HEADERS = ("allow", "cache-control", "content-type", "retry-after", "x-accel-buffering")


# Ids of events that are remembered.
_MAX_SEEN = 10_000


class AnswerReader:
    """Reads one answer. `id` is that of the request, ABSENT for a notification, a reply, a GET.

    `said` names what was sent, for sentences. `is_answered` becomes true with the response to
    the request; `last_id` is where a stream that broke off may be resumed.
    """

    def __init__(
        self,
        said: str,
        id: object = ABSENT,
        *,
        stream: str,
        limit: int = DEFAULT_MAX_LINE_BYTES,
        is_old: bool = False,
        ids: frozenset[jsonrpc.IdKey] | None = None,
        is_illegal: bool = False,
    ) -> None:
        self.said = said
        self.id = id
        # The ids that responses may have here: those of the POST.
        self.ids = frozenset([jsonrpc.id_key(id)]) if ids is None and id is not ABSENT else ids
        self._owed = set(self.ids or ())
        # Whether the id of what was sent may not have been readable, so that an error without
        # one answers it.
        self._is_illegal = is_illegal
        self._limit = limit
        # The older transport: answers come on the stream, whose first event names the endpoint.
        self._is_old = is_old
        self.endpoint = ""
        # How the answer was received, as the frames of it have it.
        self.facts: dict[str, object] = {"stream": stream}
        if id is not ABSENT:
            self.facts["request_id"] = id
        self._mode: Mode = ""
        self._body = bytearray()
        self._events = SseDecoder(limit)
        self.status = 0
        self.headers: Mapping[str, str] = {}
        self.is_answered = False
        # The number of events received, including those without data.
        self.events = 0
        # The ids of the events of a session; a caller that reads several of its streams sets it.
        self.seen: dict[str, None] = {}
        # How the body is encoded, if that cannot be read.
        self._packed = ""
        # What was received that is not a message; reported if the answer is never received.
        self._odd = ""

    @property
    def is_stream(self) -> bool:
        return self._mode == "events"

    @property
    def begun_event(self) -> int:
        """The number of an unfinished event, 0 if there is none."""
        return self.events + 1 if self._events.pending_bytes else 0

    @property
    def last_id(self) -> str:
        return self._events.last_id

    @property
    def retry_s(self) -> float | None:
        return self._events.retry_s

    @property
    def progress(self) -> str:
        """How much of the answer was received, for the message of a timeout."""
        if not self.status:
            return ""
        came = f"status {self.status} came"
        pending = len(self._body) or self._events.pending_bytes
        if pending:
            return f"{came} and {pending:,} bytes of a message that is not complete"
        return f"{came} and no message that answers it" if self.is_stream else f"{came}, no body"

    @property
    def problem(self) -> str:
        """A likely reason why a stream ended without the answer."""
        pending = self._events.pending_bytes
        if pending:
            return f"{pending:,} bytes came of an event without the empty line that ends it"
        return self._odd

    def resume(self, broken: AnswerReader) -> None:
        """This answer continues a stream that was interrupted."""
        self.ids, self._owed, self._is_illegal = broken.ids, broken._owed, broken._is_illegal
        self.facts["resumed"] = True
        self._events.last_id = broken.last_id
        self._events.retry_s = broken.retry_s

    # Input

    def begin(self, status: int, headers: Mapping[str, str]) -> list[Item]:
        """Status and headers were received."""
        self.status, self.headers = status, headers
        content_type = headers.get("content-type", "")
        self.facts |= {"status": status, "content_type": content_type}
        self.facts["headers"] = {name: headers[name] for name in _KEPT_HEADERS if name in headers}
        if session := headers.get("mcp-session-id"):
            self.facts["session_id"] = session
        is_good = 200 <= status < 300
        coding = headers.get("content-encoding", "identity").strip().lower()
        if coding not in ("", "identity"):
            self._packed = f"a body packed as {excerpt(coding, 40)!r}"
            if is_good:
                hint = "mcptest asks for plain answers (Accept-Encoding: identity) and unpacks none"
                return [self._fault("http_body", f"{self._answered_with()} {self._packed}", hint)]
        self._mode = "events" if is_good and media_type(content_type) == EVENT_STREAM else "body"
        return []

    def feed(self, chunk: bytes) -> list[Item]:
        """A piece of the body was received."""
        if self._mode == "events":
            out: list[Item] = []
            for event in self._events.feed(chunk):
                if isinstance(event, OverlongEvent):
                    self._mode = ""
                    message = f"{self._answered_with()} an event of more than {event.limit:,} bytes"
                    return [*out, self._fault("line_too_long", message, _LIMIT_HINT)]
                self.events += 1
                out += self._take_event(event)
            return out
        if self._mode != "body" or self._packed:
            return []
        self._body += chunk
        if len(self._body) <= self._limit:
            return []
        head = quote_bytes(bytes(self._body[:60]))
        self._mode, self._body = "", bytearray()
        message = f"{self._answered_with()} more than {self._limit:,} bytes; it begins {head} …"
        return [self._fault("line_too_long", message, _LIMIT_HINT)]

    def finish(self) -> list[Item]:
        """The body is complete. A stream may end without a response."""
        if self._mode != "body":
            return []
        raw, self._body, self._mode = bytes(self._body), bytearray(), ""
        if self.id is ABSENT or self._is_old:
            return self._judge_receipt(raw)
        kind = media_type(self.headers.get("content-type", ""))
        is_good = 200 <= self.status < 300
        if not raw.strip() or (kind != JSON and not is_good):
            return [self._make_refusal(raw)]
        if kind != JSON:
            shown = excerpt(kind, 60) or "no type at all"
            message = (
                f"{self._answered_with()} {shown}, neither {JSON} nor {EVENT_STREAM}: {_quote(raw)}"
            )
            return [self._fault("content_type", message, _PAGE_HINT if b"<" in raw[:20] else "")]
        return self._take_body(raw, is_good=is_good)

    # Bodies

    def _take_body(self, raw: bytes, *, is_good: bool) -> list[Item]:
        found = read_message(raw)
        if not isinstance(found, Frame) and not is_good:
            return [self._make_refusal(raw)]
        if not isinstance(found, Frame):
            at = f" at column {found.column}" if found.column else ""
            reason = f"{found.reason}: {_quote(found.raw, found.size)}"
            message = f"the answer to {self.said} is not JSON{at}: {reason}"
            return [self._fault("malformed_json", message)]
        value = found.value
        if not is_good and not (
            isinstance(value, dict) and "jsonrpc" in value and "error" in value
        ):
            # A result that is refused is none: the two contradict each other.
            return [self._make_refusal(raw)]
        frame = self._frame(value)
        if self.is_answered:
            return [frame]
        if not is_good:
            return [frame, self._make_refusal(raw)]
        # The body is complete, so waiting longer would not help.
        message = f"{self._answered_with()} a message that is not a response to it: {_quote(raw)}"
        return [frame, self._fault("http_body", message)]

    def _judge_receipt(self, raw: bytes) -> list[Item]:
        """The message needs no response, but it must be accepted."""
        if not 200 <= self.status < 300:
            return [self._make_refusal(raw).but(is_refusal=self.said != CANCELLED)]
        if self._is_old or (self.status == 202 and not raw.strip()):
            return []
        body = f" and {_quote(raw)}" if raw.strip() else " and no body"
        message = f"the server answered {self.said} with status {self.status}{body}; it is to be"
        return [
            TransportFault(
                kind="http_status", message=f"{message} 202 and no body", effect="definite"
            )
        ]

    def _make_refusal(self, raw: bytes) -> TransportFault:
        """A body without a message: the status decides."""
        if 200 <= self.status < 300:
            return self._fault(
                "http_body", f"{self._answered_with()} status {self.status} and no body"
            )
        fault = status_fault(self.said, self.id, self.status, self.headers, raw)
        if self._packed:
            # The status alone says what was refused, and why.
            message = fault.message.removesuffix(" and an empty body")
            return fault.but(message=f"{message} and {self._packed}")
        return fault

    # Streams

    def _take_event(self, event: SseEvent) -> list[Item]:
        if not event.data.strip():
            # It only names an id to resume from.
            return []
        if event.name == "endpoint" and self._is_old:
            self.endpoint = event.data.decode("utf-8", "replace")
            return []
        if event.name != "message":
            name = excerpt(event.name, 60)
            self._odd = f"the server sent an event named {name!r}; messages are in those "
            self._odd += "named message"
            return [TransportFault(kind="event_stream", message=self._odd)]
        if event.id:
            is_again = "resumed" in self.facts and event.id in self.seen
            self.seen[event.id] = None
            if len(self.seen) > _MAX_SEEN:
                del self.seen[next(iter(self.seen))]
            if is_again:
                message = "a stream that was resumed has brought an event again; it is passed over"
                return [TransportFault(kind="event_stream", message=message)]
        found = read_message(event.data)
        if isinstance(found, Frame):
            value = found.value
            is_response = isinstance(value, dict) and "method" not in value and "id" in value
            if self.is_answered and is_response:
                message = "the server answered one request twice; the first answer counts"
                return [TransportFault(kind="duplicate_response", message=message)]
            named: dict[str, object] = {"event_id": event.id} if event.id is not None else {}
            return [self._frame(value, named)]
        reason = f"{found.reason}: {_quote(found.raw, found.size)}"
        self._odd = f"the server sent an event that is not JSON: {reason}"
        return [TransportFault(kind="malformed_json", message=self._odd)]

    def _frame(self, value: object, more: dict[str, object] | None = None) -> Frame:
        if self.id is not ABSENT:
            for each in value if isinstance(value, list) else [value]:
                if not isinstance(each, dict) or "method" in each:
                    continue
                if each.get("id") is None and "error" in each and self._is_illegal:
                    self._owed.clear()
                self._owed.discard(jsonrpc.id_key(each.get("id")))
                self.is_answered = not self._owed
        # The older transport has one stream for all answers.
        answers = None if self._is_old else self.ids or frozenset()
        http, line = self.facts | (more or {}), self.events if self._is_old else 0
        return Frame(value=value, line=line, http=http, answers=answers)

    def _answered_with(self) -> str:
        return f"the server answered {self.said} with"

    def _fault(self, kind: str, message: str, hint: str = "") -> TransportFault:
        return TransportFault(kind=kind, message=message, hint=hint, id=self.id)


_LIMIT_HINT = '"maxLineBytes" in a config, "max_line_bytes" in a suite, is the limit'
_PAGE_HINT = "this is a page for people: is the URL that of the MCP endpoint?"


def _quote(raw: bytes, size: int = 0) -> str:
    """The beginning of `raw`, which may itself be the beginning of `size` bytes.

    A cut is marked, because only then half a secret is recognised.
    """
    size = size or len(raw)
    return quote_bytes(raw[:200]) + (f" … ({size:,} bytes)" if size > min(200, len(raw)) else "")


# Headers of a message

_VERSION_HEADER = "MCP-Protocol-Version"

# The member of `params` that the header Mcp-Name repeats.
# The methods of tasks are those of the extension.
_NAMED_BY = {
    "tools/call": "name",
    "prompts/get": "name",
    "resources/read": "uri",
    "tasks/get": "taskId",
    "tasks/update": "taskId",
    "tasks/cancel": "taskId",
}

# A value that needs no encoding: visible ASCII, with single spaces and tabs inside.
_PLAIN = re.compile(r"[\x21-\x7e](?:[\x20-\x7e\t]*[\x21-\x7e])?")
_ENCODED = re.compile(r"=\?base64\?.*\?=", re.DOTALL)

# The characters that the name of a header may have.
HEADER_TOKEN = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")

# The keyword by which an argument of a tool is repeated in a header, and the types it may be on.
_ANNOTATION = "x-mcp-header"
_HEADER_TYPES = ("string", "integer", "boolean")
# Keywords whose values are schemas by name, and those whose values are data.
_NAMED_SCHEMAS = ("properties", "patternProperties", "dependentSchemas", "$defs", "definitions")
_NO_SCHEMAS = ("const", "default", "enum", "examples")


def message_headers(message: object, negotiated: str) -> dict[str, str]:
    """The headers of a message.

    One that names its revision itself, as in the stateless era, repeats in headers what it is
    about; others name the revision that a handshake has agreed on.
    """
    revision = REVISIONS.get(negotiated)
    if isinstance(message, dict) and "method" in message:
        is_stateless = revision is not None and revision.is_stateless
        version = own_version(message) or (negotiated if is_stateless else "")
        if version:
            headers = {_VERSION_HEADER: encoded_value(version)}
            if isinstance(method := message["method"], str):
                headers["Mcp-Method"] = encoded_value(method)
                name = jsonrpc.params_of(message).get(_NAMED_BY.get(method, ""))
                if isinstance(name, str):
                    headers["Mcp-Name"] = encoded_value(name)
            return headers
    return {_VERSION_HEADER: negotiated} if revision and revision.has_version_header else {}


def own_version(message: object) -> str:
    """The revision that a message names, or ""."""
    version = jsonrpc.meta_of(message).get(VERSION_KEY)
    return version if isinstance(version, str) else ""


def encoded_value(text: str) -> str:
    """A string as the value of a header, in base64 if necessary."""
    if _PLAIN.fullmatch(text) and not _ENCODED.fullmatch(text):
        return text
    raw = base64.b64encode(text.encode("utf-8", "surrogatepass")).decode("ascii")
    return f"=?base64?{raw}?="


def param_headers(schema: object, arguments: object) -> dict[str, str]:
    """The headers that repeat arguments of a tool, by `x-mcp-header` in its schema."""
    if not isinstance(arguments, dict):
        return {}
    headers: dict[str, str] = {}
    for name, value in _find_mirrored(schema, arguments):
        if isinstance(value, bool):
            headers[f"Mcp-Param-{name}"] = "true" if value else "false"
        elif isinstance(value, (int, str)):
            headers[f"Mcp-Param-{name}"] = encoded_value(str(value))
    return headers


def _find_mirrored(schema: object, arguments: Mapping[str, Any]) -> Iterator[tuple[str, object]]:
    properties = schema.get("properties") if isinstance(schema, dict) else None
    for key, inner in properties.items() if isinstance(properties, dict) else ():
        if not isinstance(inner, dict) or key not in arguments:
            continue
        name = inner.get(_ANNOTATION)
        if isinstance(name, str) and HEADER_TOKEN.fullmatch(name):
            yield name, arguments[key]
        elif isinstance(arguments[key], dict):
            yield from _find_mirrored(inner, arguments[key])


def header_annotation_fault(schema: object) -> str:
    """Why no client may call the tool with this schema over HTTP; "" if its annotations are valid.

    A tool is called over HTTP only if each `x-mcp-header` in its schema names a header, once, on a
    string, an integer or a boolean that is reached through `properties` alone.
    """
    seen: dict[str, str] = {}
    for path, annotated, is_property in _find_annotated(schema):
        place = excerpt(".".join(path), 120) or "the schema"
        name, kind = annotated[_ANNOTATION], annotated.get("type", "string")
        kinds = kind if isinstance(kind, list) and kind else [kind]
        what = f"{_ANNOTATION} of {place}"
        if not isinstance(name, str) or not HEADER_TOKEN.fullmatch(name):
            return f"{what} is {excerpt(dump_json(name), 80)}, which is not the name of a header"
        if not is_property:
            return f"{what} is not reached through properties alone"
        if kinds == ["null"] or not all(each in (*_HEADER_TYPES, "null") for each in kinds):
            shown = excerpt(dump_json(kind), 80)
            return f"{what} is on the type {shown}, not on string, integer or boolean"
        if name.lower() in seen:
            return f"{what} is {name}, as that of {seen[name.lower()]} is"
        seen[name.lower()] = place
    return ""


def _find_annotated(schema: object) -> Iterator[tuple[tuple[str, ...], dict[str, Any], bool]]:
    """The annotated schemas: the path of each, and whether only `properties` lead to it."""
    waiting: list[tuple[tuple[str, ...], object, bool]] = [((), schema, False)]
    for path, each, is_property in waiting:
        if isinstance(each, list):
            waiting += [((*path, str(at)), inner, False) for at, inner in enumerate(each)]
        if not isinstance(each, dict):
            continue
        if _ANNOTATION in each:
            yield path, each, is_property
        for key, inner in each.items():
            if key in _NAMED_SCHEMAS and isinstance(inner, dict):
                is_reached = key == "properties" and (is_property or not path)
                waiting += [((*path, key, name), part, is_reached) for name, part in inner.items()]
            elif key not in _NO_SCHEMAS:
                waiting.append(((*path, key), inner, False))


def media_type(content_type: str) -> str:
    """The media type without its parameters."""
    return content_type.partition(";")[0].strip().lower()


# Refusals by status

# How a server answers initialize if it has no Streamable HTTP at this URL.
NOT_SPOKEN = (400, 404, 405)

_HINTS = {
    301: "the server has moved: give the new URL",
    400: "the server does not take the message as it is",
    403: "the credentials are not enough, or the server does not take requests from here",
    404: "is the path of the URL right? Many servers answer at /mcp",
    405: "is this the MCP endpoint? An older server may have one for GET and another for POST",
    406: "the server offers neither JSON nor an event stream",
    413: "the message is larger than the server takes",
    415: "the server takes another type of content than application/json",
    429: "the server wants fewer requests",
    500: "the server failed inside; its own log says why",
    502: "something before the server could not reach it",
    503: "the server, or something before it, is not ready",
    504: "something before the server gave up waiting for it",
}
_UNAUTHORIZED, _FORBIDDEN = 401, 403
_WANTED = 'the server wants credentials: give "auth" or "headers", or --bearer-env or --header-env'
_LOGIN = ', or log in: mcptest login URL (a file then has "login: true" in its "auth")'
_REFUSED = 'the server refused the credentials it was given: look at "auth" and "headers", or at '
_REFUSED += "what --bearer-env and --header-env name"

_NO_OLDER = "nor does it have the older transport of two endpoints (GET brings no event stream)"

# With these, the request had no effect.
_OPENING = ("initialize", "server/discover")


def status_fault(
    said: str, id: object, status: int, headers: Mapping[str, str], raw: bytes
) -> TransportFault:
    """The fault for a refused message, with the body of the refusal."""
    # A cut is marked, because only then half a secret is recognised.
    body = f": {quote_bytes(raw)}" if raw.strip() else " and an empty body"
    hint = _HINTS.get(status, "")
    wants = headers.get("www-authenticate", "")
    if status in (_UNAUTHORIZED, _FORBIDDEN):
        if status == _UNAUTHORIZED:
            hint = _WANTED + (_LOGIN if "bearer" in wants.lower() else "")
        hint += f"; it asks for {excerpt(wants, 200)}" if wants else ""
    elif said == "server/discover" and status in NOT_SPOKEN:
        hint = "a server with a handshake may do so: leave out --spec-version"
    elif later := headers.get("retry-after", ""):
        hint += f"; it says to come back after {excerpt(later, 40)}"
    return TransportFault(
        kind="auth_failed" if status == _UNAUTHORIZED else "http_status",
        message=f"the server refused {said} with status {status}{body}",
        hint=hint.lstrip("; "),
        id=id,
        effect="definite" if 400 <= status < 500 or said in _OPENING else "indefinite",
        code=status,
    )


def with_refused_credentials(fault: TransportFault, token: str = "") -> TransportFault:
    """The same fault if credentials were sent and not accepted; `token` describes a fetched one."""
    hint = fault.hint.replace(_LOGIN, "").replace(_WANTED, token or _REFUSED)
    if fault.code == _FORBIDDEN and token:
        hint += f"; {token}"
    return fault.but(hint=hint)


def without_older_transport(fault: TransportFault, target: str) -> TransportFault:
    """The same fault if the older transport was tried as well, at the same path."""
    if fault.code != 404:
        return fault.but(hint=f"{fault.hint}; {_NO_OLDER}".lstrip("; "))
    others = {
        "/mcp": "many servers answer at /mcp",
        "/sse": "those of the older transport of two endpoints at /sse",
    }
    path = target.partition("?")[0].rstrip("/")
    places = ", ".join(text for place, text in others.items() if not path.endswith(place))
    return fault.but(hint=f"is the path of the URL right? There is nothing here; {places}")


# The server's side, as values. Each request has a number, its *exchange*, and every act of the
# server is for one exchange, so that deciding what to answer is separate from the connections.


class WebRequest(Record):
    """A request; names of headers are in lower case, in their order."""

    method: str
    target: str
    headers: tuple[tuple[str, str], ...]
    body: bytes = b""

    def header(self, name: str) -> str | None:
        """The value of a header; several values are joined with commas."""
        found = self.values(name)
        return ", ".join(found) if found else None

    def values(self, name: str) -> tuple[str, ...]:
        """All values of a header."""
        return tuple(value for each, value in self.headers if each == name)


class Act(Record):
    """An act of the server in an exchange."""

    exchange: int


class Answer(Act):
    """A whole answer."""

    status: int
    headers: Mapping[str, str]
    body: bytes = b""


class Begin(Act):
    """The head of an answer that is sent in pieces."""

    headers: Mapping[str, str]


class Piece(Act):
    """A piece of an answer."""

    data: bytes


class End(Act):
    """The end of an answer."""


class Cut(Act):
    """The connection is closed at once."""
