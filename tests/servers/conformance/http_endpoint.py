"""The server over HTTP: both eras on /mcp, the older two-endpoint transport on /sse.

With a token, also the metadata documents of authorization.
"""

from __future__ import annotations

import base64
import binascii
import json
import secrets
import select
import socket
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

from conformance.breaks import SETTINGS, broken
from conformance.eras import (
    CONNECTIONS,
    HANDSHAKE,
    HEADER_MISMATCH,
    INVALID_REQUEST,
    Connection,
    Dropped,
    E,
    Reply,
    RpcError,
    end_subscription,
    is_stateless,
    kind_of,
    parse,
    receive,
    receive_batch,
)
from conformance.features import is_blocking

if TYPE_CHECKING:
    from collections.abc import Callable

    from conformance.eras import Call, Message

_LOOPBACK = ("127.0.0.1", "localhost", "::1")
_NAMED = {
    "tools/call": "name",
    "prompts/get": "name",
    "resources/read": "uri",
    "tasks/get": "taskId",
    "tasks/update": "taskId",
    "tasks/cancel": "taskId",
}
_LARGEST_BODY = 8_000_000
_POLL_S = 0.05
_METADATA = "/.well-known/oauth-protected-resource"
_AS_METADATA = "/.well-known/oauth-authorization-server"


def start(host: str, port: int) -> Callable[[], None]:
    """Listen, and write the address to stderr; return what serves."""
    Handler.hosts = (*_LOOPBACK, host)
    server = Server(("0.0.0.0" if broken("HTTP-55") else host, port), Handler)
    sys.stderr.write(f"listening on http://{host}:{server.server_address[1]}/mcp\n")
    sys.stderr.flush()
    return server.serve_forever


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def server_bind(self) -> None:
        """Bind without the lookup of the own name, which may take seconds."""
        socket_address = self.server_address
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind(socket_address)
        self.server_address = self.socket.getsockname()
        self.server_name, self.server_port = str(self.server_address[0]), self.server_address[1]

    def handle_error(self, *_: object) -> None:
        """Clients may leave at any time."""


class Session:
    """A session over HTTP: its connection, and the messages for its GET stream."""

    def __init__(self) -> None:
        self.box: SimpleQueue[Message] = SimpleQueue()
        self.connection = Connection(self.box.put, "http")
        self.connection.era = "handshake"
        self.has_ended = False
        self.lock = threading.Lock()

    def end(self) -> None:
        self.has_ended = True
        if self.connection in CONNECTIONS:
            CONNECTIONS.remove(self.connection)


SESSIONS: dict[str, Session] = {}


def new_session_id() -> str:
    return f"session-{len(SESSIONS) + 1}" if broken("HTTP-12") else secrets.token_urlsafe(24)


class Headers:
    """The headers that repeat what is in the body of a stateless request."""

    def __init__(self, pairs: list[tuple[str, str]]) -> None:
        if broken("HTTP-33"):
            mcp = [(name, value) for name, value in pairs if name.lower().startswith("mcp-")]
            odd = {name for name, _ in mcp if name not in (name.title(), name.lower())}
            pairs = [pair for pair in pairs if pair[0] not in odd or pair[0][:4] == "MCP-"]
        self.values = {name.lower(): value.strip(" \t") for name, value in pairs}

    def check(self, call: Call) -> None:
        """Compare the standard headers with the body."""
        self._compare(
            "MCP-Protocol-Version",
            call.meta["io.modelcontextprotocol/protocolVersion"],
            may_lack=broken("HTTP-27"),
            may_differ=broken("HTTP-26"),
        )
        # Another case and another method are two checks.
        is_other_case = self.values.get("mcp-method", "").lower() == call.method.lower()
        self._compare(
            "Mcp-Method",
            call.method,
            may_lack=broken("HTTP-28"),
            may_differ=broken("HTTP-34" if is_other_case else "HTTP-29"),
        )
        wanted = call.params.get(_NAMED.get(call.method, ""))
        if isinstance(wanted, str):
            check = "XTASK-12" if call.method.startswith("tasks/") else "HTTP-31"
            is_encoded = self.values.get("mcp-name", "").startswith("=?")
            if is_encoded and broken("HTTP-32"):
                raise RpcError(HEADER_MISMATCH, "Mcp-Name is not the one in the body", status=400)
            self._compare(
                "Mcp-Name",
                wanted,
                may_lack=broken("HTTP-30"),
                may_differ=broken(check) and not is_encoded,
            )

    def check_notification(self, message: Message) -> None:
        self._compare("MCP-Protocol-Version", E, may_lack=False, may_differ=False)
        self._compare("Mcp-Method", message["method"], may_lack=False, may_differ=False)

    def check_params(self, properties: Message, arguments: Message) -> None:
        """Compare the headers of arguments (`x-mcp-header`) with the body."""
        for name, schema in properties.items():
            if "x-mcp-header" not in schema:
                continue
            header = f"Mcp-Param-{schema['x-mcp-header']}"
            value = arguments.get(name)
            if isinstance(value, bool):
                value = str(value).lower()
            elif isinstance(value, int):
                value = str(value)
            if isinstance(value, str):
                given = self.values.get(header.lower(), "")
                if given.startswith("=?") and broken("HTTP-46"):
                    raise RpcError(HEADER_MISMATCH, f"{header} differs", status=400)
                if broken("HTTP-45") and not is_decodable(given):
                    continue
                self._compare(
                    header, value, may_lack=broken("HTTP-43"), may_differ=broken("HTTP-42")
                )
            elif header.lower() in self.values or broken("HTTP-44"):
                sentence = f"{header} must be present exactly if the argument is"
                raise RpcError(HEADER_MISMATCH, sentence, status=400)

    def _compare(self, header: str, wanted: str, *, may_lack: bool, may_differ: bool) -> None:
        given = self.values.get(header.lower())
        if given is None:
            if not may_lack:
                raise RpcError(HEADER_MISMATCH, f"the header {header} is missing", status=400)
        elif decode_header(header, given) != wanted and not may_differ:
            raise RpcError(HEADER_MISMATCH, f"{header} is not the one in the body", status=400)


def decode_header(header: str, value: str) -> str:
    """The string that a header encodes."""
    if value.startswith("=?base64?") and value.endswith("?="):
        try:
            return base64.b64decode(value[9:-2], validate=True).decode("utf-8")
        except (binascii.Error, UnicodeDecodeError):
            raise RpcError(HEADER_MISMATCH, f"{header} is not Base64", status=400) from None
    if not value.isascii() or not value.isprintable():
        raise RpcError(HEADER_MISMATCH, f"{header} has invalid characters", status=400)
    return value


def is_decodable(value: str) -> bool:
    try:
        decode_header("", value)
    except RpcError:
        return False
    return True


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    hosts: tuple[str, ...] = ()

    def setup(self) -> None:
        super().setup()
        self.had_token = False
        # Without sessions, breaks remember earlier requests on the TCP connection.
        self.stateless = Connection(lambda _: None, "http")
        self.stateless.era = "stateless"

    def log_message(self, *_: object) -> None:
        pass

    # What every request must pass

    def do_POST(self) -> None:
        length = self.headers.get("Content-Length", "0")
        size = int(length) if length.isdigit() else _LARGEST_BODY + 1
        if size > _LARGEST_BODY or "Transfer-Encoding" in self.headers:
            self.close_connection = True
            self.refuse(413, "the body is too large, or its length is not known")
            return
        body = self.rfile.read(size)
        if not self.is_allowed():
            return
        if self.headers.get_content_type() != "application/json":
            self.refuse(415, "Content-Type must be application/json")
        elif self.route == "/messages":
            self.post_old_message(body)
        elif not (self.accepts("application/json") or self.accepts("text/event-stream")):
            self.refuse(406, "Accept must have application/json and text/event-stream")
        else:
            try:
                self.post_message(body)
            except Dropped:
                self.close_connection = True

    def do_GET(self) -> None:
        if self.route.startswith("/.well-known/"):
            self.get_metadata()
        elif not self.is_allowed():
            return
        elif self.route == "/sse":
            self.get_old_stream()
        elif self.is_stateless_era():
            self.refuse(404 if broken("HTTP-47") else 405, "there are no GET streams")
        elif broken("HTTP-01"):
            self.refuse(404, "not found")
        elif broken("HTTP-07"):
            self.respond(200, b"{}")
        elif not self.accepts("text/event-stream"):
            self.refuse(406, "Accept must have text/event-stream")
        elif session := self.session():
            self.get_stream(session)

    def do_DELETE(self) -> None:
        if not self.is_allowed():
            return
        if self.is_stateless_era():
            self.refuse(404 if broken("HTTP-47") else 405, "there are no sessions")
        elif session := self.session():
            if not broken("HTTP-13"):
                session.end()
            self.respond(204)

    def do_PUT(self) -> None:
        self.close_connection = True
        if self.is_allowed():
            self.refuse(405, "there are POST, GET and DELETE")

    do_PATCH = do_OPTIONS = do_HEAD = do_PUT

    @property
    def route(self) -> str:
        return self.path.partition("?")[0]

    def is_allowed(self) -> bool:
        """Check the path, the Origin, the Host and the token; refuse what is not allowed."""
        if self.route not in ("/mcp", "/sse", "/messages") or (
            self.route != "/mcp" and not SETTINGS.has_handshake
        ):
            self.refuse(404, "not found")
            return False
        origin, host = self.headers.get("Origin"), self.headers.get("Host", "")
        is_same = origin is not None and urlsplit(origin).netloc == host
        if broken("AUTH-21") and is_same:
            pass
        elif origin is not None and not self.is_own(origin) and not broken("HTTP-02"):
            self.refuse(403, "this Origin is not allowed")
            return False
        elif not self.is_own(f"http://{host}"):
            self.refuse(403, "this Host is not allowed")
            return False
        return not SETTINGS.tokens or self.has_token()

    def is_own(self, origin: str) -> bool:
        try:
            parts = urlsplit(origin)
            return parts.scheme in ("http", "https") and parts.hostname in self.hosts
        except ValueError:
            return False

    def has_token(self) -> bool:
        given = self.headers.get("Authorization")
        scheme, _, token = (given or "").partition(" ")
        is_good = scheme.lower() == "bearer" and token.strip() in SETTINGS.tokens
        self.stateless.token = token.strip()
        query = parse_qs(self.path.partition("?")[2]).get("access_token", [""])[0]
        self.had_token |= is_good
        is_known = self.had_token or "Mcp-Session-Id" in self.headers
        is_good |= broken("AUTH-01") and given is None and not query and not is_known
        is_good |= broken("AUTH-05") and given is not None
        is_good |= broken("AUTH-07") and given is None and is_known
        is_good |= broken("AUTH-08") and bool(query)
        if is_good:
            return True
        challenge = "Bearer"
        if not broken("AUTH-02"):
            challenge = f'Bearer resource_metadata="{self.base}{_METADATA}/mcp"'
        error = {"error": "invalid_token"}
        if broken("AUTH-22"):
            error["error_description"] = f"{given or query} is not valid"
        body = json.dumps(error).encode()
        self.respond(401, body, headers={"WWW-Authenticate": challenge})
        return False

    def is_stateless_era(self) -> bool:
        version = self.headers.get("MCP-Protocol-Version")
        return SETTINGS.has_stateless and (not SETTINGS.has_handshake or version == E)

    def accepts(self, type_: str) -> bool:
        accepted = self.headers.get("Accept", "*/*")
        types = [each.partition(";")[0].strip().lower() for each in accepted.split(",")]
        return type_ in types or f"{type_.partition('/')[0]}/*" in types or "*/*" in types

    # POST

    def post_message(self, body: bytes) -> None:
        try:
            message = parse(body)
        except RpcError as error:
            if broken("BASE-20"):
                self.send_reply(Reply({"jsonrpc": "2.0", "id": None, "result": {}}))
            else:
                self.send_reply(error.answer(None))
            return
        # A header of the newer era alone is enough: then the body must be of it, too.
        is_modern = is_stateless(message) or "Mcp-Method" in self.headers
        if SETTINGS.has_stateless and (is_modern or self.is_stateless_era()):
            headers = Headers(self.headers.items())
            try:
                if isinstance(message, dict) and kind_of(message) == "notification":
                    headers.check_notification(message)
            except RpcError as error:
                if error.code == HEADER_MISMATCH:
                    self.send_reply(error.answer(None))
                    return
            self.answer(self.stateless, message, headers)
        elif isinstance(message, dict) and message.get("method") == "initialize":
            self.initialize(message)
        elif session := self.session():
            self.answer(session.connection, message, None)

    def initialize(self, message: Message) -> None:
        session = Session()
        reply = receive(session.connection, message)
        if reply is None or not session.connection.revision:
            self.send_reply(reply)
            return
        id = new_session_id()
        session.connection.token = self.stateless.token
        SESSIONS[id] = session
        self.send_reply(reply, {"Mcp-Session-Id": id})

    def session(self) -> Session | None:
        """The session of this request; refuse the request if it has none."""
        version, id = self.headers.get("MCP-Protocol-Version"), self.headers.get("Mcp-Session-Id")
        if id is None:
            self.refuse(400, "the header Mcp-Session-Id is missing")
            return None
        session = SESSIONS.get(id)
        if session is None and broken("HTTP-14"):
            session = next((each for each in SESSIONS.values() if not each.has_ended), None)
        is_foreign = session is not None and session.connection.token != self.stateless.token
        if broken("AUTH-05") or broken("AUTH-07") or broken("AUTH-20"):
            is_foreign = False
        if session is None or session.has_ended or is_foreign:
            self.refuse(404, "there is no such session")
            return None
        if version is None and broken("HTTP-18"):
            self.refuse(400, "the header MCP-Protocol-Version is missing")
            return None
        if version is not None and version not in HANDSHAKE and not broken("HTTP-17"):
            self.refuse(400, f"revision {version!r} is not supported")
            return None
        return session

    def answer(self, connection: Connection, message: Any, headers: Headers | None) -> None:
        if isinstance(message, list):
            reply = receive_batch(connection, message)
            self.send_reply(reply)
            return
        is_request = isinstance(message, dict) and "id" in message and "method" in message
        exchange = Exchange(self)
        if is_request and is_blocking(message) and connection.era == "handshake":
            # So that a cancelled call has a stream that can end without an answer.
            exchange.open()
        reply = receive(connection, message, exchange.send, headers, exchange.is_gone)
        if is_request and reply is None and message["method"] == "subscriptions/listen":
            self.wait_for_end(connection, message, exchange)
        if reply and isinstance(reply.message, dict) and exchange.is_open:
            exchange.send(reply.message)
        if exchange.is_open:
            exchange.close()
        elif is_request and reply is None and not broken("BASE-42"):
            cancelled = RpcError(INVALID_REQUEST, "the request was cancelled")
            self.send_reply(cancelled.answer(message["id"]))
        else:
            self.send_reply(reply)

    def wait_for_end(self, connection: Connection, message: Message, exchange: Exchange) -> None:
        """Keep a subscription open until the client closes the stream."""
        call = next(
            (each for each in connection.running.values() if each.id == message["id"]), None
        )
        while call and not exchange.is_gone(_POLL_S):
            pass
        if call:
            end_subscription(call)

    # GET

    def get_stream(self, session: Session) -> None:
        """Send what belongs to no request; each message goes to one stream only."""
        exchange = Exchange(self)
        exchange.open()
        while not exchange.is_gone(_POLL_S) and not session.has_ended:
            try:
                exchange.send(session.box.get_nowait())
            except Empty:
                continue
        exchange.close()

    # The older transport: a stream for what the server sends, and another address for the client

    def get_old_stream(self) -> None:
        if not SETTINGS.has_handshake or not self.accepts("text/event-stream"):
            self.refuse(405, "there is no stream")
            return
        session, id = Session(), new_session_id()
        SESSIONS[f"old {id}"] = session
        exchange = Exchange(self)
        exchange.open()
        name = "message" if broken("HTTP-56") else "endpoint"
        exchange.write_event(f"event: {name}\ndata: /messages?session={id}\n\n")
        while not exchange.is_gone(_POLL_S):
            try:
                message = session.box.get_nowait()
            except Empty:
                continue
            exchange.write_event(f"event: message\ndata: {json.dumps(message)}\n\n")
        session.end()

    def post_old_message(self, body: bytes) -> None:
        id = parse_qs(self.path.partition("?")[2]).get("session", [""])[0]
        session = SESSIONS.get(f"old {id}")
        if session is None or session.has_ended:
            self.refuse(404, "there is no such session")
            return
        self.respond(202)
        try:
            message = parse(body)
        except RpcError as error:
            session.connection.send(error.answer(None).message)  # type: ignore[arg-type]  # an object
            return

        def work() -> None:
            reply = receive(session.connection, message)
            if reply and isinstance(reply.message, dict) and not reply.only_http:
                session.connection.send(reply.message)

        threading.Thread(target=work, daemon=True).start()

    # Authorization

    @property
    def base(self) -> str:
        return f"http://{self.headers.get('Host')}"

    def get_metadata(self) -> None:
        issuer = f"{self.base}/mcp" if broken("AUTH-12") else self.base
        at_issuer = f"{_AS_METADATA}/mcp" if broken("AUTH-12") else _AS_METADATA
        document: Message | None = None
        if self.route in (_METADATA, f"{_METADATA}/mcp") and not broken("AUTH-03"):
            document = {
                "resource": f"{self.base}/mcp",
                "authorization_servers": [] if broken("AUTH-04") else [issuer],
                "bearer_methods_supported": ["header"],
            }
        elif self.route == at_issuer:
            address = "http://auth.example" if broken("AUTH-11") else self.base
            document = {
                "issuer": f"{issuer}/other" if broken("AUTH-10") else issuer,
                "authorization_endpoint": f"{address}/authorize",
                "token_endpoint": f"{address}/token",
                "response_types_supported": ["code"],
                "grant_types_supported": ["authorization_code"],
                "code_challenge_methods_supported": ["S256"],
            }
        if document is None or not SETTINGS.tokens:
            self.refuse(404, "not found")
        else:
            self.respond(200, json.dumps(document).encode())

    # Answers

    def send_reply(self, reply: Reply | None, headers: dict[str, str] | None = None) -> None:
        if reply is None:
            self.respond(200 if broken("HTTP-05") else 202)
            return
        status = 200 if reply.only_http and broken("HTTP-06") else reply.status
        if self.accepts("application/json") or status != 200:
            self.respond(status, json.dumps(reply.message).encode(), headers=headers)
            return
        exchange = Exchange(self)
        exchange.open(headers)
        exchange.send(reply.message)
        exchange.close()

    def refuse(self, status: int, sentence: str) -> None:
        error = RpcError(INVALID_REQUEST, sentence).answer(None).message
        allow = {"Allow": "POST" if self.is_stateless_era() else "GET, POST, DELETE"}
        body = b"" if self.command == "HEAD" else json.dumps(error).encode()
        self.respond(status, body, headers=allow if status == 405 else None)

    def respond(
        self, status: int, body: bytes = b"", headers: dict[str, str] | None = None
    ) -> None:
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        if body:
            self.send_header("Content-Type", "application/json")
        if status != 204:
            self.send_header("Content-Length", str(len(body)))
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(body)


class Exchange:
    """The answer to one request as a stream of events; it opens with the first message."""

    def __init__(self, handler: Handler) -> None:
        self.handler = handler
        self.is_open = self.is_lost = False
        self.lock = threading.Lock()

    def open(self, headers: dict[str, str] | None = None) -> None:
        if self.is_open or not self.handler.accepts("text/event-stream"):
            return
        self.is_open = True
        handler = self.handler
        handler.send_response(200)
        for name, value in (headers or {}).items():
            handler.send_header(name, value)
        handler.send_header("Content-Type", "text/event-stream")
        handler.send_header("Cache-Control", "no-cache")
        handler.send_header("X-Accel-Buffering", "no")
        handler.send_header("Transfer-Encoding", "chunked")
        handler.end_headers()

    def send(self, message: Message | list[Message]) -> None:
        """Send a message; a client that does not take streams gets only the answer."""
        self.write_event(f"data: {json.dumps(message)}\n\n")

    def write_event(self, text: str) -> None:
        data = text.encode("utf-8")
        with self.lock:
            self.open()
            if self.is_open:
                self._write(b"%x\r\n%b\r\n" % (len(data), data))

    def close(self) -> None:
        with self.lock:
            if self.is_open:
                self._write(b"0\r\n\r\n")

    def _write(self, data: bytes) -> None:
        try:
            self.handler.wfile.write(data)
        except OSError:
            self.is_lost = True
            self.handler.close_connection = True

    def is_gone(self, wait_s: float = 0.0) -> bool:
        """True if the client has closed the connection, now or in this time."""
        if self.is_lost:
            return True
        connection = self.handler.connection
        try:
            readable = select.select([connection], [], [], wait_s)[0]
            if readable and not connection.recv(1, socket.MSG_PEEK):
                self.is_lost = self.handler.close_connection = True
        except (OSError, ValueError):
            self.is_lost = self.handler.close_connection = True
        return self.is_lost
