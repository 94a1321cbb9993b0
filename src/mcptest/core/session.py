"""The client's side of a conversation, as a state machine that never reads a pipe.

    spawned ──initialize──► initializing ──accept──► operational
       │                         │                        │
       └─────────────────────────┴────────terminate───────┴──► terminated

Values that framing found go in, events that say what they mean come out. Three
rules hold in every state:

* Answers are paired by id, type and value, never by arrival. An error without
  an id belongs to the one request that is open, because JSON-RPC has a server
  that could not read the id send null.
* A request that was given up stays known, so that its late answer is called
  late and is never taken for the answer to something else.
* What breaks the protocol is an event like any other. Nothing is raised and
  nothing is dropped: whoever drives the session decides what it costs.
"""

from __future__ import annotations

from mcptest.core import jsonrpc
from mcptest.core.client_script import ClientScript
from mcptest.core.framing import encode_line
from mcptest.core.outcome import ABSENT
from mcptest.core.plan import ClientSpec
from mcptest.core.record import Record
from mcptest.core.revisions import DEFAULT_OFFER, REVISIONS, VERSION_KEY, Revision
from mcptest.core.strict_json import parse_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any, Literal

    from mcptest.core.input_rounds import InputRounds

    Message = dict[str, Any]
    State = Literal["spawned", "initializing", "operational", "terminated"]
    StrayKind = Literal["unknown_id", "duplicate_response", "late_response"]

__all__ = [
    "Answered",
    "Asked",
    "ClientSession",
    "Continued",
    "Notified",
    "SessionEvent",
    "Strayed",
    "Violated",
]

INITIALIZE_ID = "mcptest-initialize"
DISCOVER_ID = "mcptest-discover"

_CAPABILITIES_KEY = "io.modelcontextprotocol/clientCapabilities"
_CLIENT_KEY = "io.modelcontextprotocol/clientInfo"

# How many settled ids are remembered at least, to tell a second answer from an unknown one.
REMEMBERED_IDS = 4096


class SessionEvent(Record):
    """What one value from the server means to the client."""

    message: Any


class Answered(SessionEvent):
    """The answer to the open request with this id."""

    id: object


class Notified(SessionEvent):
    """A notification; nothing is owed for it."""


class Asked(SessionEvent):
    """A request of the server; `reply` is what we owe it."""

    reply: Message


class Continued(SessionEvent):
    """An answer that wants more input: `request` is the request again, with it."""

    request: Message


class Strayed(SessionEvent):
    """An answer to nothing that is open."""

    kind: StrayKind


class Violated(SessionEvent):
    """A value that is not a legal message. `id` names the open request it was meant for."""

    path: str
    reason: str
    id: object = ABSENT


class ClientSession:
    """Says what each value from the server means, and what to send to open a session."""

    def __init__(
        self, offer: str = "", client_version: str = "0", client: ClientSpec | None = None
    ) -> None:
        self.state: State = "spawned"
        self.revision: Revision = REVISIONS[offer or DEFAULT_OFFER]
        self.capabilities: object = None
        self._client_version = client_version
        self._client = client or ClientSpec()
        self.script = ClientScript(self._client)
        # None while results that want more input are left to whoever waits for them.
        self.rounds: InputRounds | None = None
        self._open: dict[jsonrpc.IdKey, object] = {}
        self._settled: dict[jsonrpc.IdKey, StrayKind] = {}

    # Opening

    def initialize(self, wanted: Message | None = None) -> Message:
        """The first request of a session in the handshake era; `wanted` replaces its params."""
        self._expect_state("spawned")
        self.state = "initializing"
        self.opened(INITIALIZE_ID)
        params = {
            "protocolVersion": self.revision.version,
            "capabilities": self._client.capabilities or {},
            "clientInfo": self._client_info,
        }
        return jsonrpc.request(INITIALIZE_ID, "initialize", params | (wanted or {}))

    def accept(self, result: Message) -> Message:
        """Take the server's answer; the notification that completes the handshake."""
        self._expect_state("initializing")
        self.state = "operational"
        version = result.get("protocolVersion")
        self.revision = REVISIONS.get(version if isinstance(version, str) else "", self.revision)
        self.capabilities = result.get("capabilities")
        return jsonrpc.notification("notifications/initialized")

    @property
    def is_stateless(self) -> bool:
        """Whether each request says for itself what a handshake would have settled."""
        return not self.revision.has_handshake

    def discover(self) -> Message:
        """The first request in the stateless era: what does the server offer?"""
        self._expect_state("spawned")
        self.state = "initializing"
        self.opened(DISCOVER_ID)
        return jsonrpc.request(DISCOVER_ID, "server/discover", {})

    def accept_discovery(self, result: Message) -> None:
        """Take the server's answer to that."""
        self._expect_state("initializing")
        self.state = "operational"
        self.capabilities = result.get("capabilities")

    def dressed(self, line: bytes) -> bytes:
        """A message as it must be sent in the stateless era; what it says itself stands."""
        message: Any = parse_json(line.decode("utf-8"))
        if not isinstance(message, dict) or "method" not in message or "id" not in message:
            return line
        params = message.get("params", {})
        meta = params.get("_meta", {}) if isinstance(params, dict) else None
        if not isinstance(meta, dict) or message["method"] == "initialize":
            return line
        own = {
            VERSION_KEY: self.revision.version,
            _CAPABILITIES_KEY: self._client.capabilities or {},
            _CLIENT_KEY: self._client_info,
        }
        message["params"] = params | {"_meta": own | meta}
        if self.rounds and jsonrpc.id_key(message["id"]) in self._open:
            self.rounds.sent(message)
        return encode_line(message)

    @property
    def _client_info(self) -> Message:
        return {"name": "mcptest", "version": self._client_version}

    def adopt(self, result: Message) -> None:
        """A handshake that was done without us has brought this result."""
        self.state = "initializing"
        self.accept(result)

    def terminate(self) -> None:
        self.state = "terminated"
        self._open.clear()

    def _expect_state(self, wanted: State) -> None:
        if self.state != wanted:
            raise RuntimeError(f"the session is {self.state}, not {wanted}")

    # Requests

    def opened(self, id: object) -> None:
        """A request with this id has been sent."""
        key = jsonrpc.id_key(id)
        self._settled.pop(key, None)
        self._open[key] = id

    def abandon(self, id: object) -> None:
        """The request was given up; its answer, should it come, is late."""
        id = self.newest_id(id)
        key = jsonrpc.id_key(id)
        if self._open.pop(key, ABSENT) is not ABSENT:
            self._settle(key, "late_response")

    def spoiled(self, id: object) -> None:
        """The answer came and could not be read; another one would be the second."""
        self._settle_open(jsonrpc.id_key(id))

    def first_id(self, id: object) -> object:
        """The id under which somebody waits; a request may have been sent again since."""
        return self.rounds.first_id(id) if self.rounds else id

    def newest_id(self, first: object) -> object:
        """The id of the request that is open for whoever waits under this one."""
        return self.rounds.newest_id(first) if self.rounds else first

    def unfinished(self, id: object) -> str:
        """Why the answer to this request is not the end of it; "" when it is."""
        return self.rounds.unfinished(id) if self.rounds else ""

    def is_owed(self, id: object) -> bool:
        """Was a request with this id given up, and has its answer still not come?"""
        return self._settled.get(jsonrpc.id_key(id)) == "late_response"

    def _settle_open(self, key: jsonrpc.IdKey) -> object:
        """The id of the open request with this key, which has its answer now; else ABSENT."""
        id = self._open.pop(key, ABSENT)
        if id is not ABSENT:
            self._settle(key, "duplicate_response")
        return id

    def _settle(self, key: jsonrpc.IdKey, later: StrayKind) -> None:
        self._settled[key] = later
        if len(self._settled) > 2 * REMEMBERED_IDS:
            # Half at once: taking one from the front each time makes a dict slow.
            for old in list(self._settled)[:REMEMBERED_IDS]:
                del self._settled[old]

    # Receiving

    def receive(self, value: object) -> Iterable[SessionEvent]:
        """What a value from the server means; a batch means several things."""
        return (
            self._receive_batch(value) if isinstance(value, list) else (self._receive_one(value),)
        )

    def _receive_batch(self, values: list[object]) -> Iterator[SessionEvent]:
        if not values:
            yield Violated(message=values, path="", reason="an empty batch is never legal")
        elif not self.revision.has_batches:
            version = self.revision.version
            for value in values:
                yield self._violated(value, "", f"revision {version} has no batches")
        else:
            for value in values:
                yield self._receive_one(value)

    def take_answer(self, value: object) -> object:
        """The id of the open request that a value answers, and nothing else can be said of it.

        So it is with nearly all values. ABSENT only means that `receive` has to look closer.
        """
        if self.rounds or not jsonrpc.is_plain_result(value):
            return ABSENT
        return self._settle_open(jsonrpc.id_key(value["id"]))

    def _receive_one(self, value: object) -> SessionEvent:
        id = self.take_answer(value)
        if id is not ABSENT:
            return Answered(message=value, id=id)
        kind = jsonrpc.message_kind(value)
        if kind == "malformed" or not isinstance(value, dict):
            reason = "it is neither a request, a notification nor a response"
            return Violated(message=value, path="", reason=reason)
        for path, reason in jsonrpc.breaches(value):
            # An odd id that was sent by us comes back as it must.
            if path != "id" or jsonrpc.id_key(value.get("id")) not in self._open:
                return self._violated(value, path, reason)
        if kind == "response":
            return self._receive_response(value)
        if kind == "notification":
            return Notified(message=value)
        if not self.revision.server_may_ask:
            version = self.revision.version
            return self._violated(value, "method", f"revision {version} has no server requests")
        return Asked(message=value, reply=self.script.reply_to(value))

    def _receive_response(self, message: Message) -> SessionEvent:
        key = self._key_of(message)
        id = self._settle_open(key)
        if id is not ABSENT:
            if self.rounds and self.is_stateless:
                return self._last(message, id, self.rounds)
            return Answered(message=message, id=id)
        kind = self._settled.get(key, "unknown_id")
        if kind == "late_response":
            self._settle(key, "duplicate_response")
        return Strayed(message=message, kind=kind)

    def _last(self, message: Message, id: object, rounds: InputRounds) -> SessionEvent:
        """The answer, unless the server wants to know more first."""
        again = rounds.next_round(id, message)
        if again:
            self.opened(again["id"])
            return Continued(message=message, request=again)
        first = rounds.first_id(id)
        rounds.over(id)
        return Answered(message=message if first == id else message | {"id": first}, id=first)

    def _violated(self, value: object, path: str, reason: str) -> Violated:
        id: object = ABSENT
        if isinstance(value, dict) and "method" not in value:
            id = self._settle_open(self._key_of(value))
        return Violated(message=value, path=path, reason=reason, id=id)

    def _key_of(self, message: Message) -> jsonrpc.IdKey:
        """The id an answer is for; an error with none is for the one open request."""
        key = jsonrpc.id_key(message.get("id"))
        has_no_id = message.get("id") is None and key not in self._open
        if has_no_id and "error" in message and len(self._open) == 1:
            return next(iter(self._open))
        return key
