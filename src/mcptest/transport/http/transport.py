"""MCP over Streamable HTTP: one session, with the older transport of two endpoints as a fallback.

Messages become POSTs; answers and streams become messages again. One poll waits for everything at
once: all connections, what the server's process writes, its end, a signal to us, the time when a
stream is to be resumed. If the server has a command it is started by it and waited for until it
listens; its stdout is then a log like its stderr.

The layers below: `answers` is what one answer means for the session, `client` sends HTTP requests
over reused connections, `connection` is one connection. `mcptest.protocol.http_messages` interprets
the bytes.
"""

from __future__ import annotations

import contextlib
import heapq
import os
import re
import socket
import time

from mcptest import __version__
from mcptest.core.errors import InterruptedRunError, ServerError
from mcptest.core.results import Fault
from mcptest.core.secrets import redact_bytes, redact_part, redactor
from mcptest.core.strict_json import parse_json
from mcptest.core.text import excerpt, visible
from mcptest.core.value_class import ABSENT
from mcptest.protocol.framing import Frame, LineDecoder, Ring, TransportFault
from mcptest.protocol.http_address import BadUrlError, parse_url, redirected, same_origin
from mcptest.protocol.http_messages import (
    NOT_SPOKEN,
    AnswerReader,
    message_headers,
    own_version,
    param_headers,
    with_refused_credentials,
    without_older_transport,
)
from mcptest.protocol.jsonrpc import id_key, is_illegal, meta_of
from mcptest.protocol.revisions import REVISIONS
from mcptest.protocol.session import TRACE_KEY
from mcptest.transport import READABLE, wait_ready
from mcptest.transport.http.answers import Post, SessionRequest, Stream, TokenFetch
from mcptest.transport.http.authorization import credentials_for
from mcptest.transport.http.client import HttpClient, HttpRequest
from mcptest.transport.http.connection import Trust, find_port_owners, look_up
from mcptest.transport.process.stopping import Stopped
from mcptest.transport.stdio import StdioTransport

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from mcptest.core.plan import ServerSpec
    from mcptest.protocol.http_address import Address
    from mcptest.protocol.jsonrpc import IdKey
    from mcptest.protocol.oauth import OAuthError
    from mcptest.transport.http.connection import SocketAddress
    from mcptest.transport.process.child import Guardian
    from mcptest.transport.process.signals import Interrupts
    from mcptest.transport.process.stopping import Grace

    Item = Frame | TransportFault

__all__ = ["HttpTransport"]


_KEPT_BYTES = 4 * 1024

_ACCEPT = "application/json, text/event-stream"

# A session id is visible ASCII; anything else could end the line of its header.
_SESSION_ID = re.compile(r"[\x21-\x7e]{1,4096}")

# How long to wait before a stream that broke off is resumed, at least and at most, and how many
# times in a row nothing may come of it.
_RESUME_S = (0.2, 30.0)
_MAX_RESUMES = 5

# How many requests may wait for the server at a time; each has a connection of its own.
_MAX_RUNNING = 200

# How long a notification may take to be accepted before the next message follows anyway.
_RECEIPT_PATIENCE_S = 5.0

# How often a server that is starting is asked whether it listens.
_KNOCK_S = 0.02

# How long its name may take to be looked up.
_LOOKUP_S = 5.0

# How long a token may take to be fetched.
_TOKEN_S = 10.0

_STDIN_S = 0.05

# How many times the connections of a process that has ended are read.
_LAST_TURNS = 1000

# What breaks when a server ends, and how long its end may come after that.
_OF_A_BROKEN_CONNECTION = ("connect_failed", "event_stream", "http_body")
_END_PATIENCE_S = 0.2

_PORT = "{port}"

_PORT_NOT_PASSED = f'{_PORT} is in the URL and neither in the command nor in "env": the server '
_PORT_NOT_PASSED += "cannot know at which port to listen"


class HttpTransport:
    """One session with a server over HTTP, and its process if we start it."""

    is_pipe = False
    has_closed_stdin = False
    has_no_reader = False
    unsent_bytes = unread_bytes = sent_bytes = 0
    has_read_all = has_news = True
    repeats_trace = False
    # What a poll waits for besides connections and the process.
    _other_fds: tuple[int, ...] = ()

    def __init__(self, spec: ServerSpec, guardian: Guardian, interrupts: Interrupts) -> None:
        words = (*spec.command, *(spec.env or {}).values())
        self._is_port_not_passed = not any(_PORT in word for word in words)
        self._is_port_not_passed &= spec.http is not None and _PORT in spec.http.url
        self.spec = spec = _with_port(spec)
        self.label = f"http://{spec.name}"
        assert spec.http
        self.http = spec.http
        ca_file = self.http.ca_file
        if ca_file and not os.path.isfile(ca_file):
            message = f'"ca_file" (in a config "caFile") names {visible(ca_file)!r}, and there is '
            hint = "it is taken from the folder of the file that names it"
            raise ServerError(Fault(kind="tls_failed", message=f"{message}no such file", hint=hint))
        self.interrupts = interrupts
        self.address = parse_url(self.http.url)
        self.decoder = LineDecoder()
        self._limit = spec.limits.max_line_bytes
        self.stdout_tail = Ring(_KEPT_BYTES)
        self.stdout_mark = 0
        self.last_output: list[Item] = []
        # What has arrived and was not received yet.
        self._items: list[Item] = []
        self._timers: list[tuple[float, int, Callable[[], None]]] = []
        self._timer_count = 0
        trust = Trust(ca_file=ca_file, skips_verification=self.http.insecure_tls)
        self._client = HttpClient(trust, os.environ, self.address)
        self.running: list[SessionRequest] = []
        self.credentials = credentials_for(self.http, self.address, interrupts)
        # A token that is being obtained.
        self._token_fetch: TokenFetch | None = None
        # Messages that wait for a token, or for the endpoint of the older transport.
        self._unsent: list[bytes] = []
        # The session
        self.session_id = ""
        self.version = ""
        self.is_old = self.http.transport == "sse"
        # True once the one stream that carries all answers has ended.
        self.is_lost = False
        self._endpoint: Address | None = None
        self._tools: dict[str, object] = {}
        self._resumed: dict[IdKey, int] = {}
        self._seen: dict[str, None] = {}
        # The server's process
        self._is_over = False
        self._has_read_rest = False
        self._addresses: list[SocketAddress] | None = None
        self.foreign_listener = ""
        self.process: StdioTransport | None = None
        if spec.command:
            if self._can_connect():
                message = f"something listens at {self.address.authority} already"
                hint = "it would be tested instead of the server that the command starts; "
                hint += f'write {_PORT} for the port in "url" and in the command to have a free '
                hint += "one chosen"
                raise ServerError(Fault(kind="spawn_failed", message=message, hint=hint))
            self.process = StdioTransport(spec, guardian, interrupts)
        self.stderr = self.process.stderr if self.process else Ring(1)
        # It knows of tokens and of the credentials of a proxy as soon as they are learned.
        self.redact = redactor(spec.secrets)

    @property
    def transport(self) -> str:
        kind = "sse" if self.is_old else "http"
        return f"{kind}:{self.address.url}"

    @property
    def has_exited(self) -> bool:
        return self.process is not None and self.process.has_exited

    @property
    def is_closed(self) -> bool:
        """True once nothing more can arrive."""
        is_gone = self.has_exited and self._has_read_rest
        return self._is_over or ((self.is_lost or is_gone) and not self._items)

    @property
    def begun_line(self) -> int:
        """The number of the event that has arrived in part on the stream of the older transport."""
        readers = [each.reader for each in self.running if self.is_old and isinstance(each, Stream)]
        return readers[0].begun_event if readers else 0

    def mark_stdout(self) -> int:
        """Start the evidence of a fault with what arrives from now on."""
        self.stdout_mark = self.stdout_tail.total
        return self.stdout_mark

    def redact_output(self, raw: bytes) -> bytes:
        """Part of the server's output without the secrets it was given."""
        return redact_bytes(raw, lambda text: redact_part(text, self.redact))

    def progress(self, id: object) -> str:
        """How far the answer to a request has come."""
        if self._token_fetch and self._token_fetch.request:
            place = self._token_fetch.request.address.authority
            return f"a token for it is being obtained, and {place} has not answered"
        if self.is_old and self._endpoint is None:
            return "its event stream has not named the endpoint for messages"
        if count := self._resumed.get(id_key(id), 0):
            return f"its event stream broke off and was asked for again, {count} times"
        for each in self._running_for(id):
            if progress := each.reader.progress or self._client.progress(each):
                return progress
        return ""

    def give_up(self, id: object) -> bool:
        """Close the answer to a request; False if it has no stream of its own."""
        for each in self._running_for(id):
            if isinstance(each, Post):
                self.cancel(each)
                return True
        return False

    def _running_for(self, id: object) -> list[SessionRequest]:
        key = id_key(id)
        return [each for each in self.running if id_key(each.reader.id) == key]

    def cancel(self, handler: SessionRequest) -> None:
        """Break off a request; nothing more is reported of it."""
        self._client.cancel(handler)
        self.finish(handler)

    # Starting

    def _can_connect(self) -> bool:
        """True if a connection can be made; the name is looked up once, with a short limit."""
        if self._addresses is None:
            self._addresses = look_up(self.address, _LOOKUP_S, self.interrupts.fd)
        for family, address in self._addresses:
            with contextlib.suppress(OSError), socket.socket(family, socket.SOCK_STREAM) as probe:
                probe.settimeout(1.0)
                probe.connect(address)
                return True
        return False

    def open(self, deadline: float) -> Fault | None:
        """Wait until the server that we started listens; the fault if it does not."""
        is_taken = False
        while self.process and not self.has_exited:
            if self._can_connect():
                owners = find_port_owners(self.address.port, self.process.mark)
                if owners.unmarked and not owners.has_ours:
                    # Perhaps the server in a container, perhaps another program that was quicker.
                    self.foreign_listener = owners.describe_unmarked()
                is_taken = bool(owners.others) and not owners.has_ours
                if not is_taken:
                    return None
            if is_taken and time.monotonic() >= deadline:
                return Fault(
                    kind="spawn_failed",
                    message="another server that mcptest has started listens at "
                    f"{self.address.authority}",
                    hint=f'write {_PORT} for the port in "url" and in the command: each gets its '
                    "own",
                )
            if time.monotonic() >= deadline:
                return Fault(
                    kind="handshake_timeout",
                    message=f"the server does not listen at {self.address.authority} after "
                    f"{self.spec.startup_timeout_s:g} s",
                    hint=_PORT_NOT_PASSED if self._is_port_not_passed else self.spec.start_limit,
                )
            self._poll(_KNOCK_S, heed_interrupts=True)
        return None

    # Sending

    def send(self, line: bytes) -> None:
        """Send a message, as soon as that is possible."""
        if not self.credentials.is_ready:
            self._unsent.append(line)
            self.obtain_token()
        elif self.is_old and self._endpoint is None:
            self._unsent.append(line)
            if not any(isinstance(each, Stream) for each in self.running):
                said = "the GET for an event stream"
                reader = AnswerReader(said, stream="get", limit=self._limit, is_old=True)
                self._request_stream(reader)
        else:
            self._post(line)

    def _send_waiting(self) -> None:
        waiting, self._unsent = self._unsent, []
        for line in waiting:
            self.send(line)

    def _post(self, line: bytes) -> None:
        message: Any = parse_json(line.decode("utf-8"))
        # Of a batch, its first request.
        each_message = message if isinstance(message, list) else [message]
        requests = [
            each
            for each in each_message
            if isinstance(each, dict) and {"id", "method"} <= set(each)
        ]
        first: Any = (requests or each_message or [message])[0]
        method = first.get("method") if isinstance(first, dict) else None
        is_request = isinstance(method, str) and "id" in first
        said = excerpt(method, 80) if isinstance(method, str) else "an answer"
        reader = AnswerReader(
            said,
            first["id"] if is_request else ABSENT,
            stream="post",
            limit=self._limit,
            is_old=self.is_old,
            ids=frozenset(id_key(each["id"]) for each in requests),
            is_illegal=is_illegal(first),
        )
        reader.seen = self._seen
        named = REVISIONS.get(own_version(message))
        if not self.version and named and named.is_stateless:
            # Without a handshake each request names it; other messages have only this.
            self.version = named.version
        headers = {
            "Content-Type": "application/json",
            "Accept": _ACCEPT,
            **message_headers(message, self.version),
            **self._argument_headers(first),
            **self._trace_header(first),
        }
        request = self._request("POST", headers, line.rstrip(b"\n"))
        self.start(request, Post(self, reader, str(method or ""), line))

    def _trace_header(self, message: Any) -> dict[str, str]:
        """The trace context of a request, which HTTP servers read from a header."""
        context = meta_of(message).get(TRACE_KEY) if self.repeats_trace else None
        if not isinstance(context, str) or not (context.isascii() and context.isprintable()):
            return {}
        is_configured = any(name.lower() == TRACE_KEY for name in self.credentials.headers())
        return {} if is_configured else {TRACE_KEY: context}

    def _argument_headers(self, message: Any) -> dict[str, str]:
        """The arguments of a tool that its schema wants repeated in headers."""
        params = message.get("params") if isinstance(message, dict) else None
        name = params.get("name") if isinstance(params, dict) else None
        if params is None or not isinstance(name, str) or name not in self._tools:
            return {}
        return param_headers(self._tools[name], params.get("arguments"))

    def _request(self, method: str, headers: dict[str, str], body: bytes = b"") -> HttpRequest:
        every = {
            "User-Agent": f"mcptest/{__version__}",
            "Accept-Encoding": "identity",
            **headers,
            **self.credentials.headers(),
        }
        if self.session_id:
            every["Mcp-Session-Id"] = self.session_id
        address = self._endpoint if self._endpoint and method == "POST" else self.address
        return HttpRequest(method=method, address=address, headers=tuple(every.items()), body=body)

    def start(self, request: HttpRequest, handler: SessionRequest) -> None:
        """Send a request; the handler takes the answer to it."""
        posts = [each for each in self.running if isinstance(each, Post)]
        if len(self.running) >= _MAX_RUNNING and posts:
            # The number of connections is limited. A request whose answer is awaited is given up
            # last: a server that asks without end must not make us give up our own request.
            oldest = next((each for each in posts if each.is_receipt), posts[0])
            self.cancel(oldest)
            said, id = oldest.reader.said, oldest.reader.id
            message = f"{said} was given up: {_MAX_RUNNING} requests wait for the server"
            self.deliver([TransportFault(kind="http_body", message=message, id=id)])
        self.running.append(handler)
        self._client.start(request, handler)

    def wait_until_read(self) -> None:
        """Wait until what needs no answer has been accepted: the next message may rely on it."""
        deadline = time.monotonic() + _RECEIPT_PATIENCE_S
        while any(each.is_receipt for each in self.running) and not self.is_closed:
            wait_s = deadline - time.monotonic()
            if wait_s <= 0:
                return
            self._poll(wait_s, heed_interrupts=True)

    # Tokens

    def obtain_token(self) -> None:
        """Obtain a token, unless that is under way."""
        if self._token_fetch:
            return
        self._token_fetch = fetch = TokenFetch(self)
        # Less than the startup limit: the server must not be blamed for a token that is late.
        limit_s = min(_TOKEN_S, 0.9 * self.spec.startup_timeout_s)

        def give_up() -> None:
            if self._token_fetch is fetch and fetch.request:
                fetch.give_up(f"no answer within {limit_s:g} s")

        self._schedule(limit_s, give_up)
        fetch.advance(None)

    def end_token_fetch(self, error: OAuthError | None) -> None:
        """Send what waits for a token or, without one, report why it is not sent."""
        self._token_fetch = None
        if error is None:
            self._send_waiting()
        else:
            self.fail_waiting(
                TransportFault(kind="auth_failed", message=error.message, hint=error.hint)
            )

    def fail_waiting(self, fault: TransportFault) -> None:
        """Report for each message that waits to be sent why it is not."""
        waiting, self._unsent = self._unsent, []
        for line in waiting:
            message: Any = parse_json(line.decode("utf-8"))
            id = message.get("id", ABSENT) if isinstance(message, dict) else ABSENT
            self.deliver([fault.but(id=id, is_refusal=id is ABSENT, effect="definite")])

    # Receiving

    def receive(self, deadline: float, *, heed_interrupts: bool = True) -> list[Item]:
        """What arrived by the deadline; empty at the deadline and at the end."""
        while not self._items and not self.is_closed:
            wait_s = deadline - time.monotonic()
            # Polled at least once, so that what has already arrived is never missed.
            self._poll(max(0.0, wait_s), heed_interrupts=heed_interrupts)
            if wait_s <= 0:
                break
        items, self._items = self._items, []
        return items

    def deliver(self, items: Sequence[Item]) -> None:
        """Keep what has arrived until it is received."""
        for item in items:
            if isinstance(item, TransportFault):
                if self._is_explained_by_exit(item):
                    continue
                if self.credentials.has_secrets:
                    item = with_refused_credentials(item, self.credentials.describe())
                item = item.but(message=self.redact(item.message), hint=self.redact(item.hint))
            # Messages are compared as they came; secrets in them are blanked when they are shown.
            self._items.append(item)

    def _is_explained_by_exit(self, fault: TransportFault) -> bool:
        """True if a connection broke because the process that we started has ended."""
        if self.process is None or fault.kind not in _OF_A_BROKEN_CONNECTION:
            return False
        if fault.id is ABSENT and not fault.is_refusal:
            # It is about a stream that goes on.
            return False
        return self.process.wait_for_exit(time.monotonic() + _END_PATIENCE_S)

    def finish(self, handler: SessionRequest) -> None:
        """Note that nothing more comes of a request."""
        if handler in self.running:
            self.running.remove(handler)

    def take_session_id(self, headers: dict[str, str]) -> TransportFault | None:
        """Begin the session that the answer to initialize names, if its id can be used."""
        given = headers.get("mcp-session-id", "")
        if not given:
            return None
        if _SESSION_ID.fullmatch(given):
            self.session_id = given
            return None
        message = "the server gave a session id that is not visible ASCII, or is endless: "
        return TransportFault(kind="protocol_violation", message=message + excerpt(given, 80))

    def deliver_answer(self, method: str, items: Sequence[Item]) -> None:
        """Deliver what was answered to a method; keep what later requests must carry."""
        for item in items:
            value: Any = item.value if isinstance(item, Frame) else None
            result = value.get("result") if isinstance(value, dict) else None
            if not isinstance(result, dict):
                continue
            if method == "initialize" and isinstance(result.get("protocolVersion"), str):
                self.version = result["protocolVersion"]
            elif method == "tools/list" and isinstance(result.get("tools"), list):
                for tool in result["tools"]:
                    if isinstance(tool, dict) and isinstance(tool.get("name"), str):
                        self._tools[tool["name"]] = tool.get("inputSchema")
        self.deliver(items)

    # Streams

    def open_stream(self) -> None:
        """Open the stream for the server's own messages, if the revision has one."""
        revision = REVISIONS.get(self.version)
        if revision and revision.has_get_stream and not self.is_old:
            said = "the GET for its own messages"
            self._request_stream(AnswerReader(said, stream="get", limit=self._limit))

    def _request_stream(self, reader: AnswerReader, last_id: str = "", tries: int = 0) -> None:
        headers = {"Accept": "text/event-stream", **message_headers(None, self.version)}
        if last_id:
            headers["Last-Event-ID"] = last_id
        self.start(self._request("GET", headers), Stream(self, reader, tries))

    def resume(self, reader: AnswerReader, tries: int) -> bool:
        """Request the rest of a stream that broke off; False if that is impossible."""
        revision = REVISIONS.get(self.version)
        is_stateless = revision is not None and revision.is_stateless
        if not reader.last_id or tries >= _MAX_RESUMES or self.is_old or is_stateless:
            return False
        if not _SESSION_ID.fullmatch(reader.last_id.replace(" ", "_")):
            # No header can hold it.
            return False
        least, most = _RESUME_S
        # Each try in vain doubles the wait; the server can only ask for more.
        delay = min(most, max(least * 2**tries, reader.retry_s or 0.0))
        rest = AnswerReader(reader.said, reader.id, stream="get", limit=self._limit)
        rest.resume(reader)
        rest.seen = self._seen
        key = id_key(reader.id)
        self._resumed[key] = self._resumed.get(key, 0) + 1
        self._schedule(delay, lambda: self._request_stream(rest, reader.last_id, tries + 1))
        return True

    # The older transport

    def can_fall_back(self, method: str, status: int) -> bool:
        """True if a refused initialize may mean a server of the older transport."""
        is_open = self.http.transport == "auto" and not self.is_old
        return is_open and method == "initialize" and status in NOT_SPOKEN

    def fall_back(self, line: bytes, refusal: Sequence[Item]) -> None:
        """Try the older transport with what was refused."""
        self.is_old = True
        self._unsent.append(line)
        reader = AnswerReader("the GET", stream="get", limit=self._limit, is_old=True)
        headers = {"Accept": "text/event-stream"}
        self.start(self._request("GET", headers), Stream(self, reader, 0, refusal))

    def give_up_old(self, refusal: Sequence[Item]) -> None:
        """Deliver the refusal: there is no older transport either."""
        self.is_old = False
        self._unsent.clear()
        target = self.address.target
        self.deliver(
            [
                without_older_transport(item, target) if isinstance(item, TransportFault) else item
                for item in refusal
            ]
        )

    def take_endpoint(self, text: str) -> None:
        """Send messages to the endpoint that the server names, if it is its own."""
        named = f"the server names the endpoint {excerpt(text, 200)}, which is"
        try:
            goal = redirected(self.address, text)
        except BadUrlError as error:
            message = f"{named} not a URL: {error}"
            self.lose(TransportFault(kind="event_stream", message=message))
            return
        if not same_origin(goal, self.address):
            message = f"{named} another server; nothing is sent there"
            self.lose(TransportFault(kind="redirect_refused", message=message))
            return
        self._endpoint = goal
        self._send_waiting()

    def lose(self, fault: TransportFault) -> None:
        """Note that the one stream that carries all answers has ended."""
        self.fail_waiting(fault)
        self.is_lost = True

    # One turn of the loop

    def _poll(self, wait_s: float, *, heed_interrupts: bool) -> None:
        """Wait for the next event, and handle all that is ready."""
        if self._timers:
            wait_s = min(wait_s, max(0.0, self._timers[0][0] - time.monotonic()))
        # A process may have been seen to end while a request was sent; no poll reports that again.
        has_ended = self.has_exited and not self._has_read_rest
        wait_s = 0.0 if self._client.has_more or has_ended else self._client.limit_wait(wait_s)
        ready = self._ready(wait_s, heed_interrupts)
        self._client.move(ready)
        if self.process and ready & set(self.process.handles()):
            self.process.pump()
        if self.has_exited and not self._has_read_rest:
            # Read what it had sent, and no more: others may go on sending.
            self._has_read_rest = True
            for _ in range(_LAST_TURNS):
                ready = self._ready(0.0, heed_interrupts=False)
                if not ready & {fd for fd, _ in self._client.handles()}:
                    break
                self._client.move(ready)
        while self._timers and self._timers[0][0] <= time.monotonic():
            heapq.heappop(self._timers)[2]()
        if heed_interrupts and self.interrupts.count:
            raise InterruptedRunError

    def _ready(self, wait_s: float, heed_interrupts: bool) -> set[int]:
        """Wait; the descriptors that are ready, of connections and of the process."""
        wanted = dict(self._client.handles())
        process_fds = self.process.handles() if self.process else ()
        wanted |= dict.fromkeys((*process_fds, *self._other_fds), READABLE)
        if heed_interrupts:
            wanted[self.interrupts.fd] = READABLE
        return set(wait_ready(wanted, wait_s))

    def _schedule(self, delay_s: float, action: Callable[[], None]) -> None:
        self._timer_count += 1
        heapq.heappush(self._timers, (time.monotonic() + delay_s, self._timer_count, action))

    # Its process

    def drain_stderr(self) -> None:
        if self.process:
            self.process.drain_stderr()

    def wait_for_stderr(self, deadline: float) -> bool:
        """Wait until something arrives on stderr; False at the deadline, or without a process."""
        return self.process.wait_for_stderr(deadline) if self.process else False

    def wait_for_exit(self, deadline: float, *, heed_interrupts: bool = False) -> bool:
        """Wait for the end of the process; False at the deadline, or without a process."""
        while self.process and not self.has_exited:
            wait_s = deadline - time.monotonic()
            if wait_s <= 0:
                return False
            self._poll(wait_s, heed_interrupts=heed_interrupts)
        return self.has_exited

    # Ending

    def end(self, grace: Grace, *, at_once: bool = False) -> Stopped:
        """End the session, close every connection, and stop the process if it is ours."""
        began = time.monotonic()
        for each in list(self.running):
            self.cancel(each)
        if self.session_id and not (self.is_old or at_once or self.is_closed):
            request = self._request("DELETE", message_headers(None, self.version))
            self.start(request, SessionRequest(self, AnswerReader("DELETE", stream="post")))
            deadline = began + grace.stdin_s
            while self.running and (wait_s := deadline - time.monotonic()) > 0:
                self._poll(wait_s, heed_interrupts=False)
        self._client.close()
        self._timers.clear()
        self.last_output, self._items = self._items, []
        self._is_over = True
        if self.process:
            # Closing stdin means nothing to it: it is a signal that asks it to end.
            ended = self.process.end(grace.but(stdin_s=_STDIN_S), at_once=at_once)
            return ended.but(ended_by="closed") if ended.ended_by == "term" else ended
        took_s = time.monotonic() - began
        return Stopped(ended_by="closed", exit_code=None, took_s=took_s, left_behind={})


def _with_port(spec: ServerSpec) -> ServerSpec:
    """The server with a free port for `{port}`."""
    http = spec.http
    if http is None or _PORT not in http.url:
        return spec
    is_v6 = ":" in parse_url(http.url.replace(_PORT, "65535")).host
    family = socket.AF_INET6 if is_v6 else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.bind(("::1" if is_v6 else "127.0.0.1", 0))
        port = str(probe.getsockname()[1])
    return spec.but(
        http=http.but(url=http.url.replace(_PORT, port)),
        command=tuple(word.replace(_PORT, port) for word in spec.command),
        env={name: value.replace(_PORT, port) for name, value in (spec.env or {}).items()},
    )
