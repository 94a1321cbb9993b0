"""The client's side of an MCP session, as a state machine without input or output.

    spawned ──initialize──► initializing ──accept──► operational
       │                         │                        │
       └─────────────────────────┴────────terminate───────┴──► terminated

Values from the framing go in, and events that say what they mean come out. In every state:

* Responses are paired by id (JSON type and value), never by arrival.
* No id is used twice on the wire. The first request with an id is sent as it is written; a later
  one gets a fresh id of the same JSON type. Callers use the written id throughout; the "wire id"
  is the one that was sent.
* An error with the id null answers only a request that is not legal JSON-RPC, whose id the server
  may not have been able to read.
* A message of the client that is received back is an echo, never a response.
* A request that was abandoned is remembered, so that a late response is not taken for the response
  to another request.
* A protocol violation is an event like any other. Nothing is raised and nothing is dropped: the
  caller decides what it means for the test.
"""

from __future__ import annotations

from mcptest.core.plan import ACCEPT_DEFAULTS, ClientSpec
from mcptest.core.strict_json import dump_json, parse_json
from mcptest.core.text import excerpt
from mcptest.core.value_class import ABSENT, Record
from mcptest.protocol import jsonrpc
from mcptest.protocol.framing import encode_line
from mcptest.protocol.revisions import (
    DEFAULT_OFFER,
    META_CAPABILITIES,
    META_CLIENT_INFO,
    REVISIONS,
    VERSION_KEY,
    Revision,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container, Iterable
    from typing import Any, Literal

    Message = dict[str, Any]
    State = Literal["spawned", "initializing", "operational", "terminated"]
    UnexpectedKind = Literal[
        "unknown_id",
        "duplicate_response",
        "late_response",
        "misplaced_response",
        "unattributed_error",
    ]

__all__ = [
    "DISCOVER_ID",
    "INITIALIZE_ID",
    "MAX_INPUTS",
    "MAX_ROUNDS",
    "REMEMBERED_IDS",
    "TRACE_KEY",
    "ClientScript",
    "ClientSession",
    "EchoReceived",
    "InputRequested",
    "InputRounds",
    "MessageRefused",
    "NotificationReceived",
    "ProtocolViolated",
    "RequestIds",
    "RequestReceived",
    "ResponseReceived",
    "SessionEvent",
    "UnexpectedResponse",
]


# The trace context of the W3C, in the metadata of a request.
TRACE_KEY = "traceparent"

INITIALIZE_ID = "mcptest-initialize"
DISCOVER_ID = "mcptest-discover"


# Settled ids that are remembered at least, to tell a second response from an unknown one.
REMEMBERED_IDS = 4096

# Fresh ids that are numbers count up from here: few tests use ids this large, and they still fit
# into 32 bits.
_FIRST_FRESH_NUMBER = 1_000_001
_LARGE_NUMBER = 2**31


class SessionEvent(Record):
    """What one value from the server means."""

    message: Any


class ResponseReceived(SessionEvent):
    """The response to the open request with this written id."""

    id: object


class NotificationReceived(SessionEvent):
    """A notification of the server."""


class RequestReceived(SessionEvent):
    """A request of the server, and the reply to send."""

    reply: Message


class InputRequested(SessionEvent):
    """A result that asks for input; `request` is the next round, with the input."""

    request: Message


class UnexpectedResponse(SessionEvent):
    """A response to none of the open requests."""

    kind: UnexpectedKind


class EchoReceived(SessionEvent):
    """A message of the client that the server sent back."""


class MessageRefused(SessionEvent):
    """An error with the id null, for a message without an id that was not legal JSON-RPC."""


class ProtocolViolated(SessionEvent):
    """A value that is not a legal message; `id` is that of the open request it is meant for."""

    path: str
    reason: str
    id: object = ABSENT


class ClientSession:
    """The state of one session."""

    def __init__(
        self, offer: str = "", client_version: str = "0", client: ClientSpec | None = None
    ) -> None:
        self.state: State = "spawned"
        self.revision: Revision = REVISIONS[offer or DEFAULT_OFFER]
        self.capabilities: object = None
        self.server_info: object = None
        self._client_version = client_version
        self._client = client or ClientSpec()
        self.script = ClientScript(self._client)
        # None if results that ask for input are left to the caller.
        self.rounds: InputRounds | None = None
        # By wire id: the line of each open request; and of each other request, what a further
        # response to it is.
        self._open: dict[jsonrpc.IdKey, bytes] = {}
        self._settled: dict[jsonrpc.IdKey, UnexpectedKind] = {}
        # The latest replies to requests of the server, by their ids.
        self._replies: dict[jsonrpc.IdKey, Message] = {}
        self.ids = RequestIds(self._replies)
        # Messages that were sent, are not legal JSON-RPC and may be refused without an id, oldest
        # first: the wire ids of requests, numbers for messages without one.
        self._illegal: dict[jsonrpc.IdKey | int, None] = {}
        self._notes = 0
        # False if an open message has no method: its echo would look like a response.
        self._has_methods = True

    # Opening

    def initialize(self, wanted: Message | None = None) -> Message:
        """The first request of a session in the handshake era; `wanted` replaces its params."""
        self._expect_state("spawned")
        self.state = "initializing"
        params = {
            "protocolVersion": self.revision.version,
            "capabilities": self._client.capabilities or {},
            "clientInfo": self._client_info,
        }
        return jsonrpc.request(INITIALIZE_ID, "initialize", params | (wanted or {}))

    def accept(self, result: Message) -> Message:
        """Take the result of `initialize`; the notification that completes the handshake."""
        self._expect_state("initializing")
        self.state = "operational"
        version = result.get("protocolVersion")
        self.revision = REVISIONS.get(version if isinstance(version, str) else "", self.revision)
        self.capabilities = result.get("capabilities")
        self.server_info = result.get("serverInfo")
        return jsonrpc.notification("notifications/initialized")

    def discover(self) -> Message:
        """The first request in the stateless era."""
        self._expect_state("spawned")
        self.state = "initializing"
        return jsonrpc.request(DISCOVER_ID, "server/discover", {})

    def accept_discovery(self, result: Message, version: str) -> None:
        """Take the result of `server/discover`, and use this revision."""
        self._expect_state("initializing")
        self.state = "operational"
        self.revision = REVISIONS[version]
        self.capabilities = result.get("capabilities")

    def add_metadata(self, line: bytes) -> bytes:
        """A request with the metadata of the stateless era; its own metadata takes precedence."""
        message = _parse(line)
        meta = _request_meta(message)
        if meta is None or message["method"] == "initialize":
            return line
        own = {
            VERSION_KEY: self.revision.version,
            META_CAPABILITIES: self._client.capabilities or {},
            META_CLIENT_INFO: self._client_info,
        }
        message["params"] = message.get("params", {}) | {"_meta": own | meta}
        if self.rounds and jsonrpc.id_key(message["id"]) in self._open:
            self.rounds.sent(message)
        return self._reopen(message)

    def add_trace(self, line: bytes, traceparent: str) -> tuple[bytes, str]:
        """A request with this trace context in its metadata, and the context that it has now.

        Its own takes precedence. Other messages have none.
        """
        message = _parse(line)
        meta = _request_meta(message)
        if meta is None:
            return line, ""
        if TRACE_KEY in meta:
            own = meta[TRACE_KEY]
            return line, own if isinstance(own, str) else ""
        message["params"] = message.get("params", {}) | {"_meta": {**meta, TRACE_KEY: traceparent}}
        return self._reopen(message), traceparent

    def _reopen(self, message: Message) -> bytes:
        """The line of a request that was opened, with more metadata."""
        line = encode_line(message)
        key = jsonrpc.id_key(message["id"])
        if key in self._open:
            self._open[key] = line
        return line

    @property
    def _client_info(self) -> Message:
        return {"name": self._client.name, "version": self._client_version}

    def adopt(self, result: Message) -> None:
        """Take the result of a handshake that was done elsewhere."""
        self.state = "initializing"
        self.accept(result)

    def terminate(self) -> None:
        self.state = "terminated"
        self._open.clear()

    def _expect_state(self, wanted: State) -> None:
        if self.state != wanted:
            raise RuntimeError(f"the session is {self.state}, not {wanted}")

    # Requests

    def open_request(self, id: object, line: bytes = b"", *, keeps_id: bool = False) -> bytes:
        """Open a request; returns the line to send, with the wire id.

        With `keeps_id` the id is sent as written, even if it was used before.
        """
        key, line = self.ids.assign(id, line, keeps_id=keeps_id)
        self._settled.pop(key, None)
        is_plain = (
            _PLAIN_PART in line and line.startswith(_PLAIN_HEAD) and key[0] in _PLAIN_ID_TYPES
        )
        if line and not is_plain and jsonrpc.is_illegal(_parse(line)):
            self._illegal[key] = None
            self._has_methods = self._has_methods and _METHOD in line
        self._open[key] = line
        return line

    def prepare_notification(self, line: bytes) -> bytes:
        """The line to send for a message without an id.

        If it cancels a request, the wire id is put in. If it is not legal, the server may refuse
        it with an error without an id.
        """
        if jsonrpc.is_illegal(_parse(line)):
            self._notes += 1
            self._illegal[self._notes] = None
        if not self.ids.has_fresh or _CANCELLED not in line:
            return line
        message = _parse(line)
        params = jsonrpc.params_of(message)
        if "requestId" not in params:
            return line
        wire_id = self.wire_id(params["requestId"])
        return encode_line({**message, "params": {**params, "requestId": wire_id}})

    def record_reply(self, reply: Message) -> None:
        """Remember the reply to a request of the server."""
        key = jsonrpc.id_key(reply.get("id"))
        self._replies[key] = reply
        if len(self._replies) > REMEMBERED_IDS:
            del self._replies[next(iter(self._replies))]

    def abandon(self, id: object) -> None:
        """Give up a request; its response, if any, is late."""
        key = jsonrpc.id_key(self.wire_id(id))
        if self._open.pop(key, None) is not None:
            self._settle(key, "late_response")

    def mark_unreadable(self, wire_id: object) -> None:
        """The response was received and cannot be read; another one is a duplicate."""
        self._settle_open(jsonrpc.id_key(wire_id))

    def awaited_id(self, wire_id: object) -> object:
        """The written id under which the caller waits for the response to this wire id."""
        return self.ids.written_id(self.rounds.first_id(wire_id) if self.rounds else wire_id)

    def wire_id(self, id: object) -> object:
        """The wire id of the newest request with this written id, in its newest round."""
        first = self.ids.wire_id(id)
        return self.rounds.newest_id(first) if self.rounds else first

    def unfinished(self, id: object) -> str:
        """Why the response to this request is not final; "" if it is."""
        if not self.rounds:
            return ""
        return self.rounds.unfinished(self.ids.wire_id(id))

    @property
    def may_be_refused(self) -> bool:
        """True if an error without an id may still arrive for a message that was sent."""
        return bool(self._illegal)

    def is_owed(self, id: object) -> bool:
        """True if a request with this wire id was abandoned and its response is still due."""
        return self._settled.get(jsonrpc.id_key(id)) == "late_response"

    def _settle_open(self, key: jsonrpc.IdKey) -> object:
        """Close the open request with this wire id; its written id, or ABSENT."""
        if self._open.pop(key, None) is None:
            return ABSENT
        if self._illegal:
            self._illegal.pop(key, None)
        self._settle(key, "duplicate_response")
        return self.ids.written[key]

    def _settle(self, key: jsonrpc.IdKey, later: UnexpectedKind) -> None:
        self._settled[key] = later
        if len(self._settled) > 2 * REMEMBERED_IDS:
            # Half at once: removing one from the front each time makes a dict slow.
            for old in list(self._settled)[:REMEMBERED_IDS]:
                del self._settled[old]

    # Receiving

    def receive(
        self, value: object, answers: Container[jsonrpc.IdKey] | None = None
    ) -> Iterable[SessionEvent]:
        """The events in a value from the server; a batch has several.

        `answers` are the wire ids that a response may have on its stream, None for any.
        """
        # Nearly all values are plain responses to open requests, which need no further checks.
        if (
            jsonrpc.is_plain_result(value)
            and answers is None
            and self._has_methods
            and not self.rounds
        ):
            key = jsonrpc.id_key(value["id"])
            id = ABSENT if key in self._replies else self._settle_open(key)
            if id is not ABSENT:
                message = self.ids.as_written(value)
                return (ResponseReceived.made_of({"message": message, "id": id}),)
        if not isinstance(value, list):
            return (self._receive_one(value, answers),)
        if not value:
            reason = "an empty batch is never legal"
            return (ProtocolViolated(message=value, path="", reason=reason),)
        if not self.revision.has_batches:
            reason = f"revision {self.revision.version} has no batches"
            return (self._violated(each, "", reason) for each in value)
        return (self._receive_one(each, answers) for each in value)

    def _receive_one(self, value: object, answers: Container[jsonrpc.IdKey] | None) -> SessionEvent:
        kind = jsonrpc.message_kind(value)
        is_log_entry = jsonrpc.is_log_entry(value)
        if kind == "malformed" or not isinstance(value, dict) or is_log_entry:
            reason = "it is neither a request, a notification nor a response"
            if is_log_entry:
                reason += "; logs belong on stderr"
            return ProtocolViolated(message=value, path="", reason=reason)
        if kind != "notification" and self._is_echo(value):
            self._settle_open(jsonrpc.id_key(value["id"]))
            return EchoReceived(message=value)
        for path, reason in jsonrpc.find_violations(value):
            # An illegal id that was sent is rightly used in the response.
            if path != "id" or jsonrpc.id_key(value.get("id")) not in self._open:
                return self._violated(value, path, reason)
        if kind == "response":
            return self._receive_response(value, answers)
        if kind == "notification":
            return NotificationReceived(message=value)
        if not self.revision.server_may_ask:
            version = self.revision.version
            return self._violated(value, "method", f"revision {version} has no server requests")
        reply = self.script.reply_to(value)
        self.record_reply(reply)
        return RequestReceived(message=value, reply=reply)

    def _is_echo(self, message: Message) -> bool:
        """True if this is a message that was sent, under the id of an open request."""
        key = jsonrpc.id_key(message.get("id"))
        if key not in self._open:
            return False
        # An empty result may also answer a request with the id of the ping of the server.
        if "method" not in message and self._replies.get(key) == message:
            return message.get("result") != {}
        line = self._open[key]
        return bool(line) and _parse(line) == message

    def _receive_response(
        self, message: Message, answers: Container[jsonrpc.IdKey] | None
    ) -> SessionEvent:
        key = jsonrpc.id_key(message.get("id"))
        if message.get("id") is None and key not in self._open and answers != frozenset():
            return self._receive_error_without_id(message)
        if answers is not None and key not in answers and key in self.ids.written:
            return UnexpectedResponse(message=message, kind="misplaced_response")
        id = self._settle_open(key)
        if id is not ABSENT:
            if self.rounds and self.revision.is_stateless:
                return self._receive_round(message, self.rounds)
            return ResponseReceived(message=self.ids.as_written(message), id=id)
        self.ids.note_early(key)
        kind = self._settled.get(key, "unknown_id")
        if kind == "late_response":
            self._settle(key, "duplicate_response")
        return UnexpectedResponse(message=message, kind=kind)

    def _receive_error_without_id(self, message: Message) -> SessionEvent:
        """An error with the id null, for the oldest illegal message, preferably an open one."""
        waiting = [key for key in self._illegal if key in self._open]
        key = next(iter(waiting or self._illegal), None)
        if key is None:
            return UnexpectedResponse(message=message, kind="unattributed_error")
        del self._illegal[key]
        if isinstance(key, int):
            return MessageRefused(message=message)
        id = self._settle_open(key)
        if id is ABSENT:
            # It was abandoned, and this is its late response.
            return UnexpectedResponse(message=message, kind="late_response")
        return ResponseReceived(message=message, id=id)

    def _receive_round(self, message: Message, rounds: InputRounds) -> SessionEvent:
        """The response, unless it asks for input that can be given."""
        id = message["id"]
        again = rounds.next_round(id, message)
        if again:
            self.open_request(again["id"], keeps_id=True)
            return InputRequested(message=message, request=again)
        first = self.awaited_id(id)
        rounds.over(id)
        return ResponseReceived(
            message=message if first == id else message | {"id": first}, id=first
        )

    def _violated(self, value: object, path: str, reason: str) -> ProtocolViolated:
        id: object = ABSENT
        is_log_entry = jsonrpc.is_log_entry(value)
        if isinstance(value, dict) and "method" not in value and not is_log_entry:
            id = self._settle_open(jsonrpc.id_key(value.get("id")))
        return ProtocolViolated(message=value, path=path, reason=reason, id=id)


_METHOD = b'"method":'
_CANCELLED = b'"notifications/cancelled"'
# Nearly all requests look like this: a string before the params, which are an object.
_PLAIN_HEAD = b'{"jsonrpc":"2.0","id":'
_PLAIN_PART = b'","params":{'
_PLAIN_ID_TYPES = ("str", "int")


def _parse(line: bytes) -> Any:
    return parse_json(line.decode("utf-8"))


def _request_meta(message: Any) -> Message | None:
    """The metadata of a request, {} if it has none; None if it is no request or cannot have any."""
    if not isinstance(message, dict) or "method" not in message or "id" not in message:
        return None
    params = message.get("params", {})
    meta = params.get("_meta", {}) if isinstance(params, dict) else None
    return meta if isinstance(meta, dict) else None


class RequestIds:
    """The written id and the wire id of each request of the client.

    They differ if either side has used the written id before. The keys of `replies` are the ids of
    the server's own requests.
    """

    def __init__(self, replies: Container[jsonrpc.IdKey]) -> None:
        self._replies = replies
        # The written id of each request, by its wire id.
        self.written: dict[jsonrpc.IdKey, object] = {}
        # The wire id of the newest request with a written id, where the two differ.
        self._wire: dict[jsonrpc.IdKey, object] = {}
        # Ids of responses that were received before any request with that id was sent.
        self._early: set[jsonrpc.IdKey] = set()
        self._fresh_number = _FIRST_FRESH_NUMBER
        # True if any request was sent under another id than its own.
        self.has_fresh = False

    def assign(self, id: object, line: bytes, *, keeps_id: bool) -> tuple[jsonrpc.IdKey, bytes]:
        """Give a new request its wire id: the key of this id, and the line with it."""
        key = jsonrpc.id_key(id)
        if self.has_seen(key):
            if keeps_id or not jsonrpc.can_replace_id(id):
                self._wire.pop(key, None)
            else:
                fresh = self._wire[key] = self._fresh_id(id)
                key = jsonrpc.id_key(fresh)
                line = jsonrpc.replace_id(line, id, fresh) if line else line
                self.has_fresh = True
        self.written[key] = id
        return key, line

    def _fresh_id(self, id: object) -> object:
        """An id of the same JSON type that neither side has used in this session."""
        while True:
            number = self._fresh_number
            self._fresh_number += 1
            fresh: object
            if isinstance(id, str):
                fresh = f"{id}~{number - _FIRST_FRESH_NUMBER + 2}"
            elif isinstance(id, float):
                fresh = number + 0.5
            else:
                assert isinstance(id, int)
                # Large numbers stay large, with no more digits than can be written.
                fresh = number if id >= 0 else -number
                if abs(id) >= _LARGE_NUMBER:
                    fresh = id - fresh
            if not self.has_seen(jsonrpc.id_key(fresh)):
                return fresh

    def has_seen(self, key: jsonrpc.IdKey) -> bool:
        """True if this id was used in the session, by either side."""
        return key in self.written or key in self._early or key in self._replies

    def note_early(self, key: jsonrpc.IdKey) -> None:
        """Remember the id of a response for which no request was open, if none ever had it."""
        if key not in self.written and len(self._early) < REMEMBERED_IDS:
            self._early.add(key)

    def take_early(self, id: object) -> bool:
        """True, once, if a response with this id was received before any request with it."""
        if not self._early or (key := jsonrpc.id_key(id)) not in self._early:
            return False
        self._early.remove(key)
        self.written[key] = id
        return True

    def written_id(self, wire_id: object) -> object:
        """The written id of the request with this wire id."""
        return self.written.get(jsonrpc.id_key(wire_id), wire_id)

    def wire_id(self, id: object) -> object:
        """The wire id of the newest request with this written id."""
        return self._wire.get(jsonrpc.id_key(id), id) if self._wire else id

    def as_written(self, message: Any) -> Any:
        """A message of the server; a response with the written id instead of the wire id."""
        if not self.has_fresh or not isinstance(message, dict):
            return message
        if "method" in message or "id" not in message:
            return message
        written = self.written_id(message["id"])
        return message if written is message["id"] else {**message, "id": written}

    def line_as_written(self, line: bytes) -> bytes:
        """A line that was sent, with written ids instead of wire ids."""
        if not self.has_fresh:
            return line
        message = _parse(line)
        if not isinstance(message, dict) or "method" not in message:
            return line
        params = jsonrpc.params_of(message)
        if message["method"] == "notifications/cancelled" and "requestId" in params:
            written = self.written_id(params["requestId"])
            return encode_line({**message, "params": {**params, "requestId": written}})
        if "id" not in message:
            return line
        return encode_line({**message, "id": self.written_id(message["id"])})


# Requests of the server


class ClientScript:
    """Answers to requests of the server (roots, sampling, elicitation) in one session.

    When the answers to a method are used up, the reply is an error.
    """

    def __init__(self, spec: ClientSpec) -> None:
        self._answers = spec.answers or {}
        self._used: dict[str, int] = {}

    def reply_to(self, request: Message) -> Message:
        """The response to a request of the server."""
        method, id = request["method"], request["id"]
        if method == "ping":
            return jsonrpc.result_response(id, {})
        if method not in self._answers:
            message = f"the client does not offer {method}"
            return jsonrpc.error_response(id, jsonrpc.METHOD_NOT_FOUND, message)
        body = self.answer_to(method, jsonrpc.params_of(request))
        if body is None:
            message = f"the client's script has no further answer to {method}"
            return jsonrpc.error_response(id, jsonrpc.INTERNAL_ERROR, message)
        return {"jsonrpc": "2.0", "id": id} | body

    def has_answer_to(self, method: object) -> bool:
        """True if the script has answers to a method, even if they are used up."""
        return isinstance(method, str) and method in self._answers

    def answer_to(self, method: str, params: Message) -> Message | None:
        """The next answer to a method, a result or an error; None if there are no more."""
        script: Any = self._answers[method]
        if isinstance(script, list):
            at = self._used.get(method, 0)
            self._used[method] = at + 1
            script = script[at] if at < len(script) else None
        return _accept_defaults(params) if script == ACCEPT_DEFAULTS else script


def _accept_defaults(params: Message) -> Message:
    """Accept a form with the defaults of its fields; an error if it cannot be done."""

    def refused(why: str) -> Message:
        message = f"the client accepts forms with their defaults, and {why}"
        return {"error": {"code": jsonrpc.INVALID_PARAMS, "message": message}}

    if params.get("mode", "form") != "form":
        return refused(f"this is not a form: mode is {excerpt(dump_json(params['mode']), 80)}")
    schema = params.get("requestedSchema")
    fields = schema.get("properties") if isinstance(schema, dict) else None
    if not isinstance(schema, dict) or not isinstance(fields, dict):
        return refused("requestedSchema has no properties")
    content = {
        name: field["default"]
        for name, field in fields.items()
        if isinstance(field, dict) and "default" in field
    }
    required = schema.get("required")
    for name in required if isinstance(required, list) else ():
        if isinstance(name, str) and name not in content:
            return refused(f"the required field {excerpt(dump_json(name), 80)} has no default")
    return {"result": {"action": "accept", "content": content}}


# Results that ask for input. In the stateless era a server cannot send requests. It answers a
# request with what it wants to know, and the client sends the request again, under a new id, with
# the input and with the server's state unchanged. The caller sees only the last response, under
# the first id. A call is complete if its result says so or has no type.

MAX_ROUNDS = 10
MAX_INPUTS = 100

_COMPLETE = "complete"
_INPUT_REQUIRED = "input_required"
_TASK = "task"


class _UnansweredError(Exception):
    """Why the input that a server asks for is not sent."""


class _Call:
    """A request as it was first sent, its first and newest ids, and the number of rounds."""

    __slots__ = ("first", "newest", "request", "rounds")

    def __init__(self, request: Message, first: object, newest: object, rounds: int) -> None:
        self.request = request
        self.first = first
        self.newest = newest
        self.rounds = rounds


class InputRounds:
    """The calls that may need another round, by the id of their newest one."""

    def __init__(self, script: ClientScript, salt: str = "") -> None:
        self._script = script
        # Makes the ids of rounds unpredictable for the server.
        self._salt = salt
        self._calls: dict[jsonrpc.IdKey, _Call] = {}
        self._reasons: dict[jsonrpc.IdKey, str] = {}
        self._count = 0

    def sent(self, request: Message) -> None:
        """A request is sent for the first time."""
        id = request["id"]
        known = self._calls.get(jsonrpc.id_key(id))
        if known is None or known.rounds == 1:
            self._calls[jsonrpc.id_key(id)] = _Call(request, id, id, 1)

    def first_id(self, id: object) -> object:
        """The id of the first round of a call."""
        call = self._calls.get(jsonrpc.id_key(id))
        return call.first if call else id

    def newest_id(self, first: object) -> object:
        """The id of the newest round of a call."""
        key = jsonrpc.id_key(first)
        for call in self._calls.values():
            if call.rounds > 1 and jsonrpc.id_key(call.first) == key:
                return call.newest
        return first

    def over(self, id: object) -> None:
        """There is no further round."""
        self._calls.pop(jsonrpc.id_key(id), None)

    def next_round(self, id: object, answer: Message) -> Message | None:
        """The request again with the input; None if the call is complete or input is missing."""
        key = jsonrpc.id_key(id)
        result = answer.get("result")
        if key not in self._calls or not isinstance(result, dict):
            return None
        call = self._calls[key]
        try:
            added = self._next(call, result)
        except _UnansweredError as error:
            self._reasons[jsonrpc.id_key(call.first)] = str(error)
            return None
        if added is None:
            return None
        del self._calls[key]
        self._count += 1
        newest = f"mcptest-round-{self._count}{self._salt}"
        params = call.request.get("params") or {}
        self._calls[jsonrpc.id_key(newest)] = _Call(
            call.request, call.first, newest, call.rounds + 1
        )
        return call.request | {"id": newest, "params": params | added}

    def unfinished(self, first: object) -> str:
        """Why a call ended incomplete, returned once; "" if it is complete."""
        return self._reasons.pop(jsonrpc.id_key(first), "")

    def _next(self, call: _Call, result: Message) -> Message | None:
        """The params that the next round adds; None if the call is complete."""
        kind = result.get("resultType", _COMPLETE)
        if kind == _COMPLETE:
            return None
        if kind == _TASK:
            raise _UnansweredError("it goes on as a task, and tasks are not followed")
        if kind != _INPUT_REQUIRED:
            shown = excerpt(dump_json(kind), 80)
            raise _UnansweredError(f"resultType is {shown}, which means nothing")
        if call.rounds >= MAX_ROUNDS:
            raise _UnansweredError(f"the server still asks for input after {MAX_ROUNDS} rounds")
        wanted = result.get("inputRequests")
        wanted = {} if wanted is None else wanted
        if not isinstance(wanted, dict):
            raise _UnansweredError("inputRequests must be an object and is something else")
        if not (wanted or "requestState" in result):
            raise _UnansweredError("the server asks for input and does not say for which")
        if len(wanted) > MAX_INPUTS:
            many = f"{len(wanted):,} inputs at once"
            raise _UnansweredError(f"the server asks for {many}; up to {MAX_INPUTS} are answered")
        # All of them before the first answer: an answer of a list is used up when it is given.
        methods = {key: self._method(key, each) for key, each in wanted.items()}
        added: Message = {}
        if wanted:
            added["inputResponses"] = {
                key: self._answer(method, jsonrpc.params_of(wanted[key]))
                for key, method in methods.items()
            }
        if "requestState" in result:
            added["requestState"] = result["requestState"]
        return added

    def _method(self, key: str, wanted: object) -> str:
        method = wanted.get("method") if isinstance(wanted, dict) else None
        if not isinstance(method, str):
            raise _UnansweredError(
                f"inputRequests has no method under {excerpt(dump_json(key), 80)}"
            )
        if not self._script.has_answer_to(method):
            raise _UnansweredError(f"no stub answers {excerpt(method, 80)}")
        return method

    def _answer(self, method: str, params: Message) -> object:
        answer = self._script.answer_to(method, params)
        if answer and "error" in answer:
            # A response has no place for an error.
            said = excerpt(str(answer["error"].get("message", "")), 200)
            raise _UnansweredError(
                f"the stub of {excerpt(method, 80)} answers with an error: {said}"
            )
        if answer is None:
            raise _UnansweredError(f"the stubs have no further result for {excerpt(method, 80)}")
        return answer["result"]
