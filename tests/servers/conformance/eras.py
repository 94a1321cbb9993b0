"""Messages, connections, and what the two eras of the protocol demand of every request.

The methods are in `features`; they register here, so that this module does not know them.
"""

from __future__ import annotations

import itertools
import json
import os
import threading
import time
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, NamedTuple

from conformance.breaks import SETTINGS, broken

if TYPE_CHECKING:
    from collections.abc import Callable

    Message = dict[str, Any]
    Send = Callable[[Message], None]
    Handler = Callable[["Call"], Message | None]

A, B, C, D, E = "2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"
HANDSHAKE = (A, B, C, D)
INFO = {"name": "conformance", "version": "1.0.0"}
LEVELS = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")
TASKS_EXTENSION = "io.modelcontextprotocol/tasks"

VERSION = "io.modelcontextprotocol/protocolVersion"
CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"
LOG_LEVEL = "io.modelcontextprotocol/logLevel"
SERVER_INFO = "io.modelcontextprotocol/serverInfo"
SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId"

PARSE_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND = -32700, -32600, -32601
INVALID_PARAMS, INTERNAL_ERROR, NOT_FOUND = -32602, -32603, -32002
HEADER_MISMATCH, MISSING_CAPABILITY, UNSUPPORTED_VERSION = -32020, -32021, -32022

_CACHED = (
    "server/discover",
    "tools/list",
    "resources/list",
    "resources/templates/list",
    "resources/read",
    "prompts/list",
)
_ANSWER_PATIENCE_S = 30.0


class RpcError(Exception):
    """The error that answers a request."""

    def __init__(self, code: int, message: str, data: object = None, status: int = 200) -> None:
        super().__init__(message)
        self.code, self.data, self.status = code, data, status

    def answer(self, id: object) -> Reply:
        error: Message = {"code": self.code, "message": str(self)}
        if self.data is not None:
            error["data"] = self.data
        return Reply({"jsonrpc": "2.0", "id": id, "error": error}, self.status)


class Reply(NamedTuple):
    """An answer, and the HTTP status that goes with it."""

    message: Message | list[Message]
    status: int = 200
    # An answer to a notification that is not valid: HTTP has a status for it, stdio is silent.
    only_http: bool = False


class Dropped(Exception):
    """The server crashes, as far as the client can see."""


# Messages


def parse(text: bytes) -> Any:
    def refuse(constant: str) -> object:
        raise ValueError(f"{constant} is not JSON")

    try:
        return json.loads(text.decode("utf-8"), parse_constant=refuse)
    except (ValueError, RecursionError) as error:
        raise RpcError(PARSE_ERROR, f"not JSON: {error}", status=400) from None


def is_id(value: object) -> bool:
    return isinstance(value, str) or (isinstance(value, int) and not isinstance(value, bool))


def id_key(id: object) -> tuple[str, object]:
    """Ids are equal if value and type are: 1 is not "1"."""
    return type(id).__name__, id


def meta_of(message: Message) -> Message:
    params = message.get("params")
    meta = params.get("_meta") if isinstance(params, dict) else None
    return meta if isinstance(meta, dict) else {}


def kind_of(message: object) -> str:
    """Distinguish requests, notifications and responses; raise an error for anything else."""
    if not isinstance(message, dict):
        raise RpcError(INVALID_REQUEST, "a message is an object", status=400)
    if message.get("jsonrpc") != "2.0":
        raise RpcError(INVALID_REQUEST, 'jsonrpc must be "2.0"', status=400)
    if "method" not in message and ("result" in message) != ("error" in message):
        return "response"
    if not isinstance(message.get("method"), str):
        raise RpcError(INVALID_REQUEST, "method must be a string", status=400)
    if "id" not in message or (broken("BASE-42") and not is_id(message["id"])):
        if not isinstance(message.get("params", {}), dict):
            raise RpcError(INVALID_PARAMS, "params must be an object", status=400)
        return "notification"
    if not is_id(message["id"]):
        raise RpcError(INVALID_REQUEST, "id must be a string or an integer", status=400)
    return "request"


def is_stateless(message: object) -> bool:
    """True if a message is meant for the stateless era."""
    if not isinstance(message, dict):
        return False
    meta = meta_of(message)
    return VERSION in meta or CAPABILITIES in meta or message.get("method") == "server/discover"


_numbers = itertools.count(1)


class Connection:
    """A client: a stdio process, a session over HTTP, or a TCP connection without sessions."""

    def __init__(self, send: Send, transport: str) -> None:
        self.send = send  # for messages that belong to no request
        self.transport = transport
        self.era = "" if SETTINGS.era == "both" else SETTINGS.era
        self.revision = ""
        self.token = ""  # of the user, over HTTP
        self.client: Message = {}
        self.level = "warning"
        self.subscribed: set[str] = set()
        self.running: dict[object, Call] = {}
        self.waiting: dict[object, SimpleQueue[Message]] = {}
        self.tasks: dict[str, Any] = {}
        self.asked = 0
        self.number = next(_numbers)
        # What breaks need to remember of the stateless era.
        self.good_requests = 0
        self.had_bad_version = False

    def notify(self, method: str, params: Message) -> None:
        self.send({"jsonrpc": "2.0", "method": method, "params": params})


# The sessions and processes with a handshake, which get changes without a subscription.
CONNECTIONS: list[Connection] = []


class Call:
    """One request, and everything that its method needs to know."""

    def __init__(
        self,
        connection: Connection,
        message: Message,
        send: Send | None = None,
        headers: Any = None,
        is_gone: Callable[[], bool] = lambda: False,
    ) -> None:
        self.connection = connection
        self.id = message["id"]
        self.method: str = message["method"]
        self.has_params = isinstance(message.get("params", {}), dict)
        self.params: Message = message.get("params", {}) if self.has_params else {}
        self.meta = meta_of(message)
        self.send = send or connection.send
        self.headers = headers  # of HTTP; None on stdio
        self.is_gone = is_gone
        self.cancelled = threading.Event()

    @property
    def is_stateless(self) -> bool:
        return self.connection.era == "stateless"

    @property
    def revision(self) -> str:
        return E if self.is_stateless else self.connection.revision

    @property
    def client(self) -> Message:
        """The capabilities of the client."""
        declared = self.meta.get(CAPABILITIES) if self.is_stateless else self.connection.client
        return declared if isinstance(declared, dict) else {}

    @property
    def has_tasks_extension(self) -> bool:
        extensions = self.client.get("extensions")
        return isinstance(extensions, dict) and TASKS_EXTENSION in extensions

    @property
    def answers_cancelled(self) -> bool:
        return broken("STDIO-09") if self.is_stateless else broken("CANC-02")

    def is_cancelled(self) -> bool:
        if self.is_stateless and self.is_gone() and not broken("CANC-08"):
            self.cancelled.set()
        return self.cancelled.is_set()

    def notify(self, method: str, params: Message) -> None:
        self.send({"jsonrpc": "2.0", "method": method, "params": params})

    def report_progress(self, progress: float, total: float) -> None:
        token = self.meta.get("progressToken", "none" if broken("PROG-02") else None)
        if is_id(token):
            params = {"progressToken": token, "progress": progress, "total": total}
            if self.revision >= B:
                params["message"] = f"{progress} of {total}"
            self.notify("notifications/progress", params)

    def log(self, level: str, data: object) -> None:
        wanted = self.meta.get(LOG_LEVEL) if self.is_stateless else self.connection.level
        if broken("LOG-05"):
            wanted = wanted and "debug"
        if broken("LOG-01"):
            wanted = wanted if self.is_stateless else level
        elif not SETTINGS.has("logging") or (broken("LIFE-13") and not self.is_stateless):
            return
        if wanted in LEVELS and LEVELS.index(level) >= LEVELS.index(wanted):
            params = {"level": level, "logger": "conformance", "data": data}
            self.notify("notifications/message", params)

    def ask(self, method: str, params: Message) -> Message | None:
        """Send a request to the client; return its response, or None if there was none."""
        connection = self.connection
        connection.asked += 1
        id = f"server-{connection.asked}"
        box: SimpleQueue[Message] = SimpleQueue()
        connection.waiting[id] = box
        self.send({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
        deadline = time.monotonic() + _ANSWER_PATIENCE_S
        try:
            while time.monotonic() < deadline and not self.cancelled.is_set():
                try:
                    return box.get(timeout=0.05)
                except Empty:
                    continue
        finally:
            del connection.waiting[id]
        return None


# Methods


class Method(NamedTuple):
    handler: Handler
    capability: str
    since: str
    until: str


METHODS: dict[str, Method] = {}
NOTIFICATIONS = (
    "notifications/initialized",
    "notifications/cancelled",
    "notifications/progress",
    "notifications/roots/list_changed",
    "notifications/tasks/status",
)


def method(
    name: str, capability: str = "", since: str = A, until: str = E
) -> Callable[[Handler], Handler]:
    """Register the handler of a method for these revisions."""

    def register(handler: Handler) -> Handler:
        METHODS[name] = Method(handler, capability, since, until)
        return handler

    return register


def receive(
    connection: Connection,
    message: Any,
    send: Send | None = None,
    headers: Any = None,
    is_gone: Callable[[], bool] = lambda: False,
) -> Reply | None:
    """Handle one message; return the answer if it has one."""
    try:
        kind = kind_of(message)
    except RpcError as error:
        id = message.get("id") if isinstance(message, dict) else None
        is_notification = isinstance(message, dict) and "id" not in message and "method" in message
        reply = error.answer(id if is_id(id) else None)
        return reply._replace(only_http=is_notification and isinstance(message["method"], str))
    if kind == "response":
        box = connection.waiting.get(message["id"]) if is_id(message.get("id")) else None
        if box:
            box.put(message)
        return None
    if kind == "notification":
        return _receive_notification(connection, message)
    bind_era(connection, message)
    return _answer(Call(connection, message, send, headers, is_gone))


def receive_batch(connection: Connection, messages: list[Any]) -> Reply | None:
    """Answer a batch, which only 2025-03-26 has; there it is one array of answers."""
    if connection.revision != B or not messages or broken("BASE-16"):
        return RpcError(INVALID_REQUEST, "batches are not supported", status=400).answer(None)
    if any(isinstance(each, dict) and each.get("method") == "initialize" for each in messages):
        return RpcError(INVALID_REQUEST, "initialize is not in a batch", status=400).answer(None)
    replies = [receive(connection, each) for each in messages]
    answers = [each.message for each in replies if each and not each.only_http]
    return Reply([each for each in answers if isinstance(each, dict)]) if answers else None


def bind_era(connection: Connection, message: Message) -> None:
    """The first request of a connection decides which era it has."""
    if not connection.era and is_stateless(message):
        connection.era = "stateless"
    elif not connection.era and message["method"] == "initialize":
        connection.era = "handshake"


def _receive_notification(connection: Connection, message: Message) -> Reply | None:
    name, params = message["method"], message.get("params", {})
    if name not in NOTIFICATIONS:
        if broken("BASE-15"):
            return RpcError(METHOD_NOT_FOUND, f"there is no {name}").answer(None)
        return None
    if name == "notifications/initialized" and "roots" in connection.client:
        _ask_for_roots(connection)
    if name == "notifications/cancelled":
        id = params.get("requestId")
        call = connection.running.get(id_key(id)) if is_id(id) else None
        if call:
            call.cancelled.set()
            if call.method == "subscriptions/listen":
                end_subscription(call)
        elif broken("CANC-01"):
            return RpcError(INVALID_PARAMS, "no such request is running").answer(None)
    return None


def _ask_for_roots(connection: Connection) -> None:
    """Ask as many servers do; over HTTP there is no stream yet on which to ask."""
    if connection.transport == "stdio" and connection.revision:
        connection.asked += 1
        id = f"server-{connection.asked}"
        connection.send({"jsonrpc": "2.0", "id": id, "method": "roots/list"})


def _answer(call: Call) -> Reply | None:
    id = abs(call.id) if broken("BASE-07") and isinstance(call.id, int) else call.id
    running, key = call.connection.running, id_key(call.id)
    running[key] = call
    result: Message | None = None
    try:
        if not call.has_params:
            raise RpcError(INVALID_PARAMS, "params must be an object")
        result = _dispatch_stateless(call) if call.is_stateless else _dispatch_handshake(call)
    except RpcError as error:
        return None if call.cancelled.is_set() else error.answer(id)
    finally:
        if call.method != "subscriptions/listen" or result is not None:
            running.pop(key, None)
    if result is None or (call.cancelled.is_set() and not call.answers_cancelled):
        return None
    return Reply({"jsonrpc": "2.0", "id": id, "result": result})


def _handler(call: Call) -> Handler:
    """The method of a call, if this revision has it and the capability is offered."""
    found = METHODS.get(call.method)
    if found and found.since <= call.revision <= found.until and SETTINGS.has(found.capability):
        return found.handler
    is_removed = call.method in ("initialize", "ping")
    if broken("BASE-18") and not found and not is_removed:
        return lambda _: {}
    data = {"environment": dict(os.environ)} if broken("LOG-08") else None
    status = 404 if call.is_stateless and not broken("HTTP-36") else 200
    raise RpcError(METHOD_NOT_FOUND, f"method not found: {call.method}", data, status)


def capabilities(revision: str) -> Message:
    """What the server declares in this revision."""
    resources = {"listChanged": True}
    if SETTINGS.has("subscribe") and not (broken("LIFE-14") and revision != E):
        resources["subscribe"] = True
    calls: Message = {"list": {}, "cancel": {}, "requests": {"tools": {"call": {}}}}
    offers: list[tuple[str, str, str, str, object]] = [
        ("tools", "TOOL-01", A, E, {}),
        ("resources", "RES-01", A, E, resources),
        ("prompts", "PROMPT-01", A, E, {}),
        ("completions", "COMP-01", B, E, {}),
        ("logging", "LOG-01", A, E, {}),
        ("tasks", "TASK-01", D, D, calls),
    ]
    declared = {
        name: value
        for name, check, since, until, value in offers
        if SETTINGS.has(name) and since <= revision <= until and not broken(check)
    }
    if broken("LIFE-13") and revision != E:
        declared.pop("logging", None)
    if revision == E and SETTINGS.has("tasks"):
        declared["extensions"] = {TASKS_EXTENSION: {}}
    return declared


# The handshake era


def _dispatch_handshake(call: Call) -> Message | None:
    connection = call.connection
    if call.method == "initialize":
        return _initialize(call)
    if call.method == "ping":
        if broken("LIFE-11") and (connection.transport != "stdio" or not connection.revision):
            raise RpcError(METHOD_NOT_FOUND, "there is no ping now")
        return {}
    if not connection.revision:
        raise RpcError(INVALID_PARAMS, f"initialize first, or send {VERSION} in params._meta")
    if VERSION in call.meta:
        raise RpcError(INVALID_REQUEST, f"this connection uses revision {connection.revision}")
    return _handler(call)(call)


def _initialize(call: Call) -> Message:
    connection, params = call.connection, call.params
    if connection.revision:
        raise RpcError(INVALID_REQUEST, "this connection is initialized")
    offered, client = params.get("protocolVersion"), params.get("capabilities")
    if not isinstance(offered, str) or not isinstance(client, dict):
        raise RpcError(INVALID_PARAMS, "protocolVersion and capabilities are required")
    known = {"experimental", "extensions", "roots", "sampling", "elicitation", "tasks"}
    members = {"protocolVersion", "capabilities", "clientInfo", "_meta"}
    if broken("LIFE-05") and (set(client) - known or set(params) - members):
        raise RpcError(INVALID_PARAMS, "unknown members")
    connection.client = client
    connection.revision = offered if offered in HANDSHAKE else D
    answered = connection.revision
    if broken("LIFE-02"):
        connection.revision = answered = {C: B, B: D}.get(offered, answered)
    if broken("LIFE-04") and offered not in HANDSHAKE:
        connection.revision = answered = A
    if broken("LIFE-03"):
        answered = offered
    CONNECTIONS.append(connection)
    result: Message = {
        "protocolVersion": answered,
        "capabilities": capabilities(connection.revision),
        "serverInfo": INFO,
        "instructions": "A server that keeps every rule, or breaks one on purpose.",
    }
    if broken("LIFE-01"):
        del result["serverInfo"]
    return result


# The stateless era


def _dispatch_stateless(call: Call) -> Message | None:
    connection = call.connection
    if call.method == "initialize" and VERSION not in call.meta:
        if broken("LIFE-23"):
            raise RpcError(METHOD_NOT_FOUND, "method not found: initialize", status=404)
        raise _unsupported(call.params.get("protocolVersion"))
    _check_envelope(call)
    connection.good_requests += 1
    if call.method == "ping" and broken("LIFE-22"):
        result: Message | None = {}
    elif call.method == "server/discover" and not broken("LIFE-15"):
        result = _discover()
    else:
        _check_discovered(call)
        result = _handler(call)(call)
    if result is None:
        return None
    result = {"resultType": "complete", **result}
    if call.method in _CACHED and result["resultType"] == "complete":
        result = {"ttlMs": 60_000, "cacheScope": "public", **result}
    return {**result, "_meta": {SERVER_INFO: INFO, **result.get("_meta", {})}}


_discovered = threading.Event()


def _discover() -> Message:
    _discovered.set()
    supported = [] if broken("LIFE-16") else [E]
    return {"supportedVersions": supported, "capabilities": capabilities(E)}


def _check_discovered(call: Call) -> None:
    if broken("LIFE-21") and call.method == "tools/list" and not _discovered.is_set():
        raise RpcError(INVALID_REQUEST, "server/discover first")


def _unsupported(version: object) -> RpcError:
    requested = version if isinstance(version, str) else ""
    data = {"supported": [E], "requested": requested}
    status = 200 if broken("HTTP-35") else 400
    return RpcError(UNSUPPORTED_VERSION, f"{requested!r} is not supported", data, status)


def missing_capability(required: Message) -> RpcError:
    sentence = f"this needs a client that declares {', '.join(required)}"
    status = 200 if broken("HTTP-38") else 400
    return RpcError(MISSING_CAPABILITY, sentence, {"requiredCapabilities": required}, status)


def _check_envelope(call: Call) -> None:
    """Check what every request says about itself in `_meta`, and in the headers of HTTP."""
    connection, meta = call.connection, call.meta
    may_lack = {VERSION: broken("BASE-33"), CAPABILITIES: broken("BASE-34")}
    if broken("BASE-32") and not meta and connection.good_requests:
        may_lack = dict.fromkeys(may_lack, True)
    for key, type_ in ((VERSION, str), (CAPABILITIES, dict)):
        if key not in meta and may_lack[key]:
            meta[key] = {VERSION: E, CAPABILITIES: {}}[key]
        if not isinstance(meta.get(key), type_):
            status = 200 if broken("HTTP-37") else 400
            sentence = f"params._meta must have {key}, as in every request of revision {E}"
            raise RpcError(INVALID_PARAMS, sentence, status=status)
    if call.headers is not None:
        call.headers.check(call)
    if meta[VERSION] != E:
        is_served = broken("LIFE-19") if connection.good_requests else broken("LIFE-18")
        if not is_served:
            connection.had_bad_version = True
            raise _unsupported(meta[VERSION])
    elif connection.had_bad_version and broken("LIFE-20"):
        connection.had_bad_version = False
        raise RpcError(INVALID_PARAMS, "another version was asked for before", status=400)
    if LOG_LEVEL in meta and meta[LOG_LEVEL] not in LEVELS and not broken("LOG-04"):
        raise RpcError(INVALID_PARAMS, f"{LOG_LEVEL} must be one of {', '.join(LEVELS)}")


# Subscriptions of the stateless era; the calls stay open


class Subscription(NamedTuple):
    call: Call
    wanted: Message

    def notify(self, method: str, params: Message) -> None:
        meta = {SUBSCRIPTION: self.call.id}
        self.call.notify(method, params | {"_meta": meta})


SUBSCRIPTIONS: list[Subscription] = []


def end_subscription(call: Call) -> None:
    """Forget a subscription that the client has cancelled."""
    for each in [each for each in SUBSCRIPTIONS if each.call is call]:
        SUBSCRIPTIONS.remove(each)
        if broken("SUB-09"):
            each.notify("notifications/resources/list_changed", {})
    call.connection.running.pop(id_key(call.id), None)


def end_all_subscriptions() -> None:
    """Answer the subscriptions that are open when the server ends."""
    while SUBSCRIPTIONS:
        call = SUBSCRIPTIONS.pop().call
        result = {"resultType": "complete", "_meta": {SUBSCRIPTION: call.id, SERVER_INFO: INFO}}
        if not broken("SUB-08"):
            call.send({"jsonrpc": "2.0", "id": call.id, "result": result})
