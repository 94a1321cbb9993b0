"""What an HTTP endpoint lets strangers do: SEC-020 to SEC-024.

Every request is one that a stranger could send: without the credentials of the user, except where
sessions are made. Tokens in probes are random. Sessions that are made are ended again.
"""

from __future__ import annotations

import math
import os
import re
import time
from contextlib import nullcontext, suppress
from itertools import pairwise

from mcptest import __version__
from mcptest.core.errors import InterruptedRunError
from mcptest.core.strict_json import NotJsonError, parse_json
from mcptest.core.text import excerpt
from mcptest.core.value_class import Record
from mcptest.protocol import jsonrpc
from mcptest.protocol.framing import encode_line
from mcptest.protocol.http_messages import SseDecoder, SseEvent, message_headers
from mcptest.protocol.revisions import META_CAPABILITIES, META_CLIENT_INFO, VERSION_KEY
from mcptest.security.rules import fingerprint_of, make_finding

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from mcptest.core.security import SecurityFinding, Severity
    from mcptest.protocol.http_address import Address
    from mcptest.transport.http.probe import HttpReply, ProbeClient

__all__ = ["Endpoint", "probe_endpoint"]

_TIMEOUT_S = 5.0
_FOREIGN_HOST = "foreign.mcptest.invalid"
_FOREIGN_ORIGIN = f"http://{_FOREIGN_HOST}"
_SESSION_HEADER = "mcp-session-id"
_SESSIONS = 6
_LEAST_BITS = 64
_ID = "mcptest-probe"


class Endpoint(Record):
    """The endpoint to probe. `headers` are the user's, with credentials; `revision` is agreed."""

    client: ProbeClient
    headers: dict[str, str]
    revision: str
    is_stateless: bool
    allows_remote: bool = False
    # The addresses on which it listens, if that can be seen.
    listens_on: tuple[str, ...] = ()
    # When all probes end, a time of `time.monotonic`.
    deadline: float = math.inf

    @property
    def address(self) -> Address:
        return self.client.address


class _Answer(Record):
    """What came back: the status, and the JSON-RPC answer if there is one."""

    reply: HttpReply
    message: dict[str, Any] | None = None

    @property
    def is_served(self) -> bool:
        return self.reply.status == 200 and self.message is not None and "result" in self.message

    @property
    def session(self) -> str:
        return self.reply.header(_SESSION_HEADER)


def probe_endpoint(
    endpoint: Endpoint, wants: Callable[[str], bool], left_out: dict[str, str]
) -> Iterator[SecurityFinding]:
    """SEC-020 to SEC-024; `left_out` gets the rules that could not be judged, and why."""
    prober = _Prober(endpoint)
    try:
        plain = prober.open()
        status = plain.reply.status
        if not plain.is_served and status not in (401, 403):
            said = plain.reply.error or f"status {status}"
            why = f"the endpoint does not answer a plain first request: {said}"
            left_out |= dict.fromkeys(("SEC-020", "SEC-021", "SEC-022", "SEC-023"), why)
            if not status:
                left_out["SEC-024"] = why
        else:
            if wants("SEC-020"):
                yield from _find_foreign_origin(prober, plain, left_out)
            if wants("SEC-021"):
                yield from _find_open_interface(prober, plain, left_out)
            if wants("SEC-022"):
                yield from _find_weak_tokens(prober, plain, left_out)
            if wants("SEC-023"):
                yield from _find_weak_sessions(prober, left_out)
        if status and wants("SEC-024"):
            yield from _find_traces(prober, plain.session)
    finally:
        prober.end_sessions()


class _Prober:
    """Sends first requests, and remembers the sessions that they make."""

    def __init__(self, endpoint: Endpoint) -> None:
        self.endpoint = endpoint
        self._sessions: list[tuple[str, dict[str, str]]] = []

    def open(
        self,
        headers: dict[str, str] | None = None,
        *,
        host: str = "",
        query: str = "",
    ) -> _Answer:
        """Send the first request of a session, or `server/discover`, with these headers."""
        endpoint = self.endpoint
        info = {"name": "mcptest", "version": __version__}
        if endpoint.is_stateless:
            meta = {
                VERSION_KEY: endpoint.revision,
                META_CAPABILITIES: {},
                META_CLIENT_INFO: info,
            }
            message = jsonrpc.request(_ID, "server/discover", {"_meta": meta})
        else:
            params = {
                "protocolVersion": endpoint.revision,
                "capabilities": {},
                "clientInfo": info,
            }
            message = jsonrpc.request(_ID, "initialize", params)
        answer = self.send(message, headers or {}, host=host, query=query)
        if answer.session:
            self._sessions.append((answer.session, headers or {}))
        return answer

    def send(
        self,
        message: dict[str, Any],
        headers: dict[str, str],
        *,
        host: str = "",
        query: str = "",
    ) -> _Answer:
        negotiated = self.endpoint.revision if self.endpoint.is_stateless else ""
        standard = {
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
            **message_headers(message, negotiated),
        }
        sent = [*standard.items(), *headers.items()]
        address = self.endpoint.address
        if query:
            mark = "&" if "?" in address.target else "?"
            address = address.but(target=f"{address.target}{mark}{query}")
        probe = self.endpoint.client.start(
            "POST", sent, encode_line(message), address=address, host=host
        )
        # A stream may stay open after the answer.
        deadline = min(time.monotonic() + _TIMEOUT_S, self.endpoint.deadline)
        decoder: SseDecoder | None = None
        found: dict[str, Any] | None = None
        try:
            if probe.read_head(deadline) and probe.reply.is_event_stream:
                decoder = SseDecoder()
            while found is None and time.monotonic() < deadline and (piece := probe.read(deadline)):
                events = decoder.feed(piece) if decoder else ()
                texts = [_decode(each.data) for each in events if isinstance(each, SseEvent)]
                found = next(filter(None, map(_parse_answer, texts)), None)
            reply = probe.reply
            if decoder is None:
                found = _parse_answer(_decode(reply.body))
            return _Answer(reply=reply, message=found)
        finally:
            probe.close()

    def send_bytes(self, method: str, headers: dict[str, str], body: bytes = b"") -> HttpReply:
        timeout_s = max(0.0, min(_TIMEOUT_S, self.endpoint.deadline - time.monotonic()))
        return self.endpoint.client.request(
            method, list(headers.items()), body, timeout_s=timeout_s
        )

    def end_sessions(self) -> None:
        """End them, also after a signal, or when the time of the scan is over."""
        sessions, self._sessions = self._sessions, []
        client = self.endpoint.client
        until = time.monotonic() + _TIMEOUT_S
        respite = (
            client.interrupts.respite(_TIMEOUT_S) if client.interrupts.count else nullcontext()
        )
        with suppress(InterruptedRunError), respite:
            for session, headers in sessions:
                sent = [*headers.items(), ("Mcp-Session-Id", session)]
                client.request("DELETE", sent, timeout_s=max(0.0, until - time.monotonic()))


def _decode(raw: bytes) -> str:
    return raw.decode("utf-8", "replace")


def _parse_answer(text: str) -> dict[str, Any] | None:
    """The JSON-RPC answer to our request in a body or an event, or None."""
    try:
        value = parse_json(text)
    except NotJsonError:
        return None
    return value if isinstance(value, dict) and value.get("id") == _ID else None


def _make_finding(
    id: str, message: str, evidence: str, key: str, severity: Severity | None = None
) -> SecurityFinding:
    return make_finding(
        id, f"http.{key}", message, fingerprint_of([id, key]), evidence=evidence, severity=severity
    )


# SEC-020


def _find_foreign_origin(
    prober: _Prober, plain: _Answer, left_out: dict[str, str]
) -> Iterator[SecurityFinding]:
    endpoint = prober.endpoint
    if not endpoint.address.is_loopback and not endpoint.allows_remote:
        left_out["SEC-020"] = "the server is not on this machine; --remote-probes allows it"
        return
    if not plain.is_served:
        # A page in a browser has no token either.
        return
    foreign = prober.open({"Origin": _FOREIGN_ORIGIN})
    if not foreign.is_served:
        return
    also = []
    if prober.open({"Origin": _FOREIGN_ORIGIN}, host=_FOREIGN_HOST).is_served:
        also.append("also with a foreign Host, as after DNS rebinding")
    allowed = foreign.reply.header("access-control-allow-origin")
    if allowed in ("*", _FOREIGN_ORIGIN):
        also.append(f"it allows every page to read the answer ({allowed!r})")
    message = "a request with a foreign Origin is served without authentication"
    message += f"; {', and '.join(also)}" if also else ""
    evidence = f"Origin: {_FOREIGN_ORIGIN} was answered with status 200 and a result"
    yield _make_finding("SEC-020", message, evidence, "origin")


# SEC-021


def _find_open_interface(
    prober: _Prober, plain: _Answer, left_out: dict[str, str]
) -> Iterator[SecurityFinding]:
    endpoint = prober.endpoint
    if not endpoint.address.is_loopback:
        left_out["SEC-021"] = "the server is not on this machine"
    elif not endpoint.listens_on:
        left_out["SEC-021"] = "it cannot be seen on which interfaces the server listens"
    elif plain.is_served and not {"0.0.0.0", "::"}.isdisjoint(endpoint.listens_on):
        message = "the server listens on all interfaces, and serves without authentication: "
        message += "everyone on the network can use it"
        evidence = f"port {endpoint.address.port} is bound to all addresses of this machine"
        yield _make_finding("SEC-021", message, evidence, "interfaces")


# SEC-022


def _find_weak_tokens(
    prober: _Prober, plain: _Answer, left_out: dict[str, str]
) -> Iterator[SecurityFinding]:
    if plain.is_served:
        left_out["SEC-022"] = "the server needs no token"
        return
    word = f"mcptest-{os.urandom(16).hex()}"
    if prober.open({"Authorization": f"Bearer {word}"}).is_served:
        message = "any bearer token is accepted: a random one was"
        evidence = "without a token refused, with a random token served"
        yield _make_finding("SEC-022", message, evidence, "token")
    for name in ("access_token", "token", "api_key"):
        if prober.open(query=f"{name}={word}").is_served:
            message = f"a random token in the query is accepted (?{name}=…)"
            evidence = "without a token refused, with a random one in the query served"
            yield _make_finding("SEC-022", message, evidence, "query")
            break
    if plain.reply.status == 401 and not plain.reply.header("www-authenticate"):
        message = "401 comes without WWW-Authenticate, so that clients cannot learn how to get a "
        message += "token"
        yield _make_finding("SEC-022", message, "status 401", "www-authenticate", "medium")


# SEC-023


def _find_weak_sessions(prober: _Prober, left_out: dict[str, str]) -> Iterator[SecurityFinding]:
    endpoint = prober.endpoint
    if endpoint.is_stateless:
        left_out["SEC-023"] = f"there are no sessions in {endpoint.revision}"
        return
    ids = [prober.open(endpoint.headers).session for _ in range(_SESSIONS)]
    ids = [each for each in ids if each]
    if len(ids) < 2:
        left_out["SEC-023"] = "the server gave no session ids"
        return
    shown = ", ".join(excerpt(each, 60) for each in ids[:3])
    if len(set(ids)) < len(ids):
        yield _make_finding("SEC-023", "session ids repeat", shown, "sessions")
    elif _is_counting(ids):
        yield _make_finding(
            "SEC-023", "session ids count up, so that others guess them", shown, "sessions"
        )
    elif (bits := _count_random_bits(ids)) < _LEAST_BITS:
        message = f"session ids have about {bits:.0f} random bits; {_LEAST_BITS} are the least"
        yield _make_finding("SEC-023", message, shown, "sessions")
    credentials = {name for name in endpoint.headers if name.casefold() not in _PUBLIC_HEADERS}
    if credentials and not prober.open().is_served:
        ping = jsonrpc.request(_ID, "ping")
        answer = prober.send(ping, {"Mcp-Session-Id": ids[-1]})
        if answer.is_served:
            message = "a session can be used without the token that opened it"
            yield _make_finding(
                "SEC-023", message, "ping was answered with a result", "session-token"
            )


_PUBLIC_HEADERS = frozenset(["accept", "user-agent", "accept-language"])


def _find_varying_parts(ids: list[str]) -> list[str]:
    """The ids without what is the same in all of them."""
    plain = [each.replace("-", "") for each in ids]
    if len(set(map(len, plain))) == 1:
        # A UUID may be made of the time and the machine, with few random digits in between.
        columns = [column for column in zip(*plain, strict=True) if len(set(column)) > 1]
        return ["".join(row) for row in zip(*columns, strict=True)] or [""]
    head = _count_common_chars(plain)
    plain = [each[head:] for each in plain]
    tail = _count_common_chars([each[::-1] for each in plain])
    return [each[: len(each) - tail] for each in plain]


def _count_common_chars(words: list[str]) -> int:
    """How many characters all words begin with."""
    columns = zip(*words, strict=False)
    return next((at for at, column in enumerate(columns) if len(set(column)) > 1), 0)


def _is_counting(ids: list[str]) -> bool:
    numbers = []
    for each in ids:
        found = re.findall(r"\d+", each)
        if not found or len(found[-1]) > 15:
            return False
        numbers.append(int(found[-1]))
    others = {re.sub(r"\d+$", "", each) for each in ids}
    return len(others) == 1 and all(0 < after - before <= 16 for before, after in pairwise(numbers))


_ALPHABETS = ((r"\d*", 10), (r"[\da-f]*", 16), (r"[\dA-F]*", 16), (r"[\da-z]*", 36))


def _count_random_bits(ids: list[str]) -> float:
    """How many bits of an id can be random at most, judged by what differs."""
    parts = _find_varying_parts(ids)
    joined = "".join(parts)
    size = next((size for shape, size in _ALPHABETS if re.fullmatch(shape, joined)), 64)
    return min(map(len, parts)) * math.log2(size)


# SEC-024

# Every repetition is bounded: the answer may be written to make a search take forever.
_TRACES = (
    (
        "a Python stack trace",
        r"Traceback \(most recent call last\)|File \"[^\"]{1,500}\", line \d",
    ),
    (
        "a JavaScript stack trace",
        r"\sat (?:[\w.<>$ ]{1,200} )?\(?(?:file://|node:|/|[A-Z]:\\)[^\s)]{1,500}:\d+",
    ),
    ("a Java stack trace", r"\bat [\w.$]{1,300}\([\w$]{1,200}\.(?:java|kt|scala):\d+\)"),
    ("a Go stack trace", r"goroutine \d+ \[running\]"),
    ("a Rust panic", r"thread '[^']{1,200}' panicked at"),
    ("a .NET stack trace", r"\bat [\w.<>`]{1,300}\([^)]{0,500}\) in [^\s]{1,500}:line \d+"),
    (
        "an absolute path",
        r"(?<![\w:/.])/(?:home|root|usr|opt|var|srv|app|Users|tmp)/[\w.@-]{1,200}/[\w./@-]{1,300}"
        r"|\b[A-Z]:\\(?:Users|Program Files|inetpub)\\[^\s\"<]{1,300}",
    ),
)


def _find_traces(prober: _Prober, session: str) -> Iterator[SecurityFinding]:
    posted = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
    text = {**posted, "Content-Type": "text/plain"}
    unknown = {**posted, "Mcp-Session-Id": f"mcptest-{os.urandom(8).hex()}"}
    known = {**posted, "Mcp-Session-Id": session} if session else posted
    ping = encode_line(jsonrpc.request(_ID, "ping"))
    # It names no tool, so none is called.
    call = encode_line(jsonrpc.request(_ID, "tools/call"))
    requests = (
        ("a body that is not JSON", "POST", posted, b"{"),
        (
            "a body that is not a message",
            "POST",
            posted,
            b'{"jsonrpc": "2.0", "method": 5, "id": {}}',
        ),
        ("a body of another type", "POST", text, b"mcptest"),
        ("an unknown session", "POST", unknown, ping),
        ("a call of no tool", "POST", known, call),
        ("another method", "PUT", posted, ping),
    )
    for what, method, headers, body in requests:
        reply = prober.send_bytes(method, headers, body)
        said = reply.body[:100_000].decode("utf-8", "replace")
        # Escaped line ends of JSON count as line ends.
        said = said.replace("\\n", "\n").replace('\\"', '"')
        for kind, shape in _TRACES:
            found = re.search(shape, said)
            if found:
                message = f"the answer to {what} holds {kind}"
                evidence = said[max(0, found.start() - 40) : found.end() + 120]
                yield _make_finding("SEC-024", message, evidence, "errors")
                return
