"""One connection to an HTTP server: name lookup, proxy and TLS; and who listens on a port.

Nothing here blocks. An `HttpConnection` connection says which descriptor and events it waits for
(`fd`, `wants`), and `advance` takes it a step further; the caller has the poll and the deadline.
The `kind` of a `HttpConnectionError` names the layer that failed.
"""

from __future__ import annotations

import base64
import contextlib
import errno
import math
import os
import socket
import sys
import time
from ipaddress import ip_address
from urllib.parse import unquote_to_bytes, urlsplit

import h11

from mcptest.core.errors import McptestError, UsageError
from mcptest.core.secrets import LEARNED
from mcptest.core.text import visible
from mcptest.core.value_class import Record
from mcptest.protocol.http_address import BadUrlError, parse_url, proxy_for
from mcptest.transport import READABLE, WRITABLE, Waker, wait_ready
from mcptest.transport.process.stopping import read_command_line, read_mark

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from ssl import SSLContext, SSLSocket
    from typing import Literal
    from urllib.parse import SplitResult

    from mcptest.protocol.http_address import Address

    State = Literal["lookup", "connect", "tunnel", "tls", "open"]
    # A family of addresses, and an address in it as `connect` wants it.
    SocketAddress = tuple[int, tuple[object, ...]]

__all__ = [
    "HttpConnection",
    "HttpConnectionError",
    "NameLookup",
    "Proxy",
    "Trust",
    "Tunnel",
    "find_port_owners",
    "find_proxy",
    "listening_addresses",
    "look_up",
]


_READ_BYTES = 1 << 16
_LARGE_READ_BYTES = 1 << 18

# How long an address may be silent before the next one of the host is tried. That of IPv6 often
# is, where the network does not carry it.
_ADDRESS_PATIENCE_S = 1.0

# What `connect` returns that does not wait; the last on Windows only.
_UNDER_WAY = (0, errno.EINPROGRESS, getattr(errno, "WSAEWOULDBLOCK", 0))

_WAITING = {
    "lookup": "the host of {} is still being looked up",
    "connect": "{} has not accepted the connection",
    "tunnel": "the proxy {} has not said whether it makes the connection",
    "tls": "{} has not completed the TLS handshake",
}


class HttpConnectionError(McptestError):
    """The connection failed; `kind` names the layer."""

    def __init__(self, kind: str, message: str, hint: str = "", *, was_sent: bool = False) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.hint = hint
        # True if the server may have received the request.
        self.was_sent = was_sent


class Trust(Record):
    """Which certificates TLS trusts: additional authorities, or any if verification is skipped.

    `is_strict` means that the option to skip it does not apply to this server.
    """

    ca_file: str = ""
    skips_verification: bool = False
    is_strict: bool = False

    def make_context(self) -> SSLContext:
        # Only https needs it, and importing it takes longer than many runs.
        import ssl  # noqa: PLC0415

        try:
            context = ssl.create_default_context(cafile=self.ca_file or None)
        except (OSError, ssl.SSLError) as error:
            message = f"the file of authorities {visible(self.ca_file)!r} cannot be used: {error}"
            raise HttpConnectionError("tls_failed", message) from None
        if self.skips_verification:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        return context


class HttpConnection:
    """A connection that is being made, or is open. `fd` changes while it is made."""

    def __init__(self, address: Address, trust: Trust, proxy: Proxy | None) -> None:
        self.address = address
        self.proxy = proxy
        self._trust = trust
        self._peer = proxy.address if proxy else address
        self._socket: socket.socket | SSLSocket | None = None
        self._tunnel: Tunnel | None = None
        self._addresses: list[tuple[int, tuple[object, ...]]] = []
        self._lookup: NameLookup | None = NameLookup(self._peer.host, self._peer.port)
        self.state: State = "lookup"
        self.wants = READABLE
        self._connect_began = 0.0
        self._last_read_bytes = 0

    @property
    def fd(self) -> int:
        if self._lookup:
            return self._lookup.fd
        return self._socket.fileno() if self._socket else -1

    @property
    def is_open(self) -> bool:
        return self.state == "open"

    @property
    def progress(self) -> str:
        """What it waits for while it is being made, for the message of a timeout."""
        return _WAITING.get(self.state, "").format(visible(self._peer.authority))

    @property
    def patience_left_s(self) -> float:
        """How long to wait for this address before the next one is tried; endless for the last."""
        if self.state != "connect" or not self._addresses:
            return math.inf
        return self._connect_began + _ADDRESS_PATIENCE_S - time.monotonic()

    def advance(self) -> None:
        """Go as far as is possible without waiting. HttpConnectionError says which layer failed."""
        before = None
        while not self.is_open and self.state != before:
            before = self.state
            if before == "lookup":
                self._take_addresses()
            elif before == "connect":
                self._finish_connecting()
            elif before == "tunnel":
                self._open_tunnel()
            else:
                self._shake_hands()

    def wait(self, wants: int, wait_s: float, others: Mapping[int, int]) -> None:
        """Wait for these events, or those of other descriptors.

        An address that does not answer leaves the next ones their share of the time.
        """
        left = len(self._addresses) if self.state == "connect" else 0
        share_s = 0.0 if self.has_more() else wait_s / (1 + left)
        if not wait_ready({**others, self.fd: wants}, share_s) and left:
            self._connect_next("it is silent")

    # The layers

    def _take_addresses(self) -> None:
        assert self._lookup
        found = self._lookup.result()
        if found is None:
            return
        self._lookup.close()
        self._lookup = None
        if isinstance(found, str):
            message = f"the host {visible(self._peer.host)!r} cannot be looked up: {found}"
            raise HttpConnectionError("name_lookup", message, self._proxy_hint())
        self._addresses = found
        self._connect_next("it has no address")

    def _connect_next(self, reason: str) -> None:
        """Try the next address; if there is none, fail with the reason of the last one."""
        while self._addresses:
            family, place = self._addresses.pop(0)
            self._drop_socket()
            try:
                # A machine may lack a whole family of addresses.
                self._socket = socket.socket(family, socket.SOCK_STREAM)
                self._socket.setblocking(False)
                self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                code = self._socket.connect_ex(place)
            except OSError as error:
                code = error.errno or errno.EINVAL
            if code in _UNDER_WAY:
                self.state, self.wants = "connect", WRITABLE
                self._connect_began = time.monotonic()
                return
            reason = _describe_error(code)
        raise HttpConnectionError(
            "connect_failed",
            f"cannot connect to {visible(self._peer.authority)}: {reason}",
            self._proxy_hint() or "is the server running, and on this port?",
        )

    def _proxy_hint(self) -> str:
        return f"this is the proxy from {self.proxy.source}" if self.proxy else ""

    def _finish_connecting(self) -> None:
        assert self._socket
        if not wait_ready({self._socket.fileno(): WRITABLE}, 0):
            if self.patience_left_s <= 0:
                self._connect_next("it is silent")
            return
        code = self._socket.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        if code:
            self._connect_next(_describe_error(code))
            return
        is_secure = self.address.scheme == "https"
        if is_secure and self.proxy:
            self._tunnel = Tunnel(self.proxy, self.address)
            self.state, self.wants = "tunnel", WRITABLE
        elif is_secure:
            self._begin_tls()
        else:
            self.state = "open"

    def _open_tunnel(self) -> None:
        assert self._tunnel
        try:
            if self._tunnel.outgoing:
                del self._tunnel.outgoing[: self.write(bytes(self._tunnel.outgoing))]
            self.wants = WRITABLE if self._tunnel.outgoing else READABLE
            if not self._tunnel.outgoing:
                chunk = self._receive(_READ_BYTES)
                if chunk is not None and self._tunnel.receive(chunk):
                    self._begin_tls()
        except (OSError, ValueError) as error:
            reason = _describe_break(error) if isinstance(error, OSError) else str(error)
            raise HttpConnectionError("connect_failed", reason, self._proxy_hint()) from None

    def _begin_tls(self) -> None:
        assert self._socket
        context = self._trust.make_context()
        try:
            self._socket = context.wrap_socket(
                self._socket, server_hostname=self.address.host, do_handshake_on_connect=False
            )
        except (OSError, ValueError) as error:
            raise self._tls_error(error) from None
        self.state = "tls"

    def _shake_hands(self) -> None:
        import ssl  # noqa: PLC0415  # loaded already

        assert isinstance(self._socket, ssl.SSLSocket)
        try:
            self._socket.do_handshake()
        except ssl.SSLWantReadError:
            self.wants = READABLE
        except ssl.SSLWantWriteError:
            self.wants = WRITABLE
        except ssl.SSLCertVerificationError as error:
            authority = visible(self.address.authority)
            message = f"the certificate of {authority} is not valid: {error.verify_message}"
            alone = '; "insecure_tls" ("insecureTls") is for the server under test alone'
            skip = ', or, for a server that you trust as it is, set "insecure_tls" ("insecureTls")'
            hint = (
                'name the authority that signed it with --ca-file, "ca_file" in a suite or '
                '"caFile" in a config' + (alone if self._trust.is_strict else skip)
            )
            raise HttpConnectionError("tls_failed", message, hint) from None
        except (OSError, ValueError) as error:
            raise self._tls_error(error) from None
        else:
            self.state = "open"

    def _tls_error(self, error: Exception) -> HttpConnectionError:
        reason = getattr(error, "reason", "") or _describe_break(error)
        message = f"no secure connection to {visible(self.address.authority)}: {reason}"
        return HttpConnectionError("tls_failed", message, "does it speak TLS on this port?")

    # Bytes

    def read(self) -> bytes | None:
        """The next bytes; b"" at the end, None if there are none yet. May raise OSError."""
        if self._socket and hasattr(socket, "TCP_QUICKACK"):
            # A server that writes head and body separately waits for the acknowledgement of the
            # first, which the system delays by 40 ms unless it is asked not to each time.
            with contextlib.suppress(OSError):
                self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 1)
        is_flowing = self._last_read_bytes >= _READ_BYTES
        chunk = self._receive(_LARGE_READ_BYTES if is_flowing else _READ_BYTES)
        self._last_read_bytes = len(chunk or b"")
        return chunk

    def _receive(self, size: int) -> bytes | None:
        assert self._socket
        try:
            return self._socket.recv(size)
        except OSError as error:
            if _is_only_busy(error):
                return None
            raise

    def write(self, data: bytes) -> int:
        """How many bytes could be written without waiting. May raise OSError."""
        assert self._socket
        try:
            return self._socket.send(data)
        except OSError as error:
            if _is_only_busy(error):
                return 0
            raise

    def has_more(self) -> bool:
        """True if TLS holds bytes that a poll does not see."""
        pending = getattr(self._socket, "pending", None)
        return bool(pending and pending())

    @property
    def is_stale(self) -> bool:
        """True if an idle connection can be read, which can only be its end."""
        return bool(wait_ready({self.fd: READABLE}, 0))

    def close(self) -> None:
        if self._lookup:
            self._lookup.close()
            self._lookup = None
        self._drop_socket()

    def _drop_socket(self) -> None:
        if self._socket:
            with contextlib.suppress(OSError):
                self._socket.close()
            self._socket = None


def _is_only_busy(error: OSError) -> bool:
    """True if the system, or TLS, only asks to wait."""
    is_tls_busy = type(error).__name__ in ("SSLWantReadError", "SSLWantWriteError")
    return is_tls_busy or isinstance(error, BlockingIOError)


def _describe_error(code: int) -> str:
    """The system's words for an error of a socket; Windows has them in another table."""
    known: dict[int, str] = getattr(socket, "errorTab", {})
    return known.get(code, "").rstrip(".") or os.strerror(code)


def _describe_break(error: Exception) -> str:
    text = getattr(error, "strerror", None) or str(error)
    return f"the connection broke: {text}"


# Proxies


class Proxy(Record):
    """A proxy, the credentials it wants, and where it is configured."""

    address: Address
    authorization: str = ""
    source: str = "the environment"


class Tunnel:
    """A CONNECT request to a proxy, for a connection of which it sees only bytes."""

    def __init__(self, proxy: Proxy, address: Address) -> None:
        self._http = h11.Connection(h11.CLIENT)
        host = f"[{address.host}]" if ":" in address.host else address.host
        place = f"{host}:{address.port}"
        headers = [("Host", place)]
        if proxy.authorization:
            headers.append(("Proxy-Authorization", proxy.authorization))
        request = h11.Request(method="CONNECT", target=place, headers=headers)
        self.outgoing = bytearray(self._http.send(request) or b"")
        self.outgoing += self._http.send(h11.EndOfMessage()) or b""

    def receive(self, chunk: bytes) -> bool:
        """Take what the proxy sends: True once it has agreed, ValueError if it refuses."""
        try:
            self._http.receive_data(chunk)
            event = self._http.next_event()
        except h11.RemoteProtocolError as error:
            raise ValueError(f"the proxy does not speak HTTP: {error}") from None
        if event is h11.NEED_DATA:
            return False
        if isinstance(event, h11.Response) and 200 <= event.status_code < 300:
            return True
        status = getattr(event, "status_code", "no status")
        raise ValueError(f"the proxy refused the connection (status {status})")


def find_proxy(address: Address, environment: Mapping[str, str]) -> Proxy | None:
    """The proxy for an address; UsageError if it cannot be used."""
    text = proxy_for(address, environment)
    if not text:
        return None
    try:
        parts = _split_proxy_url(text)
        plain = parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()
        proxy = parse_url(plain)
    except BadUrlError as error:
        raise UsageError(f"the proxy in the environment cannot be used: {error}") from None
    if proxy.scheme != "http":
        raise UsageError("a proxy must be an http:// one; mcptest speaks to no other")
    return Proxy(address=proxy, authorization=_read_credentials(parts))


def _split_proxy_url(text: str) -> SplitResult:
    """The parts of a proxy's URL. Errors quote none of it: it may hold a password."""
    try:
        parts = urlsplit(text if "://" in text else f"http://{text}")
    except ValueError:
        raise BadUrlError("its host is not the name or number of a machine") from None
    if "@" in parts.path + parts.query + parts.fragment:
        # What is before it would be taken for the host, and shown as such.
        raise BadUrlError('in its user name or password "/", "?" and "#" are %2F, %3F and %23')
    return parts


def _read_credentials(parts: SplitResult) -> str:
    """The credentials for the proxy; from here on they are blanked wherever they appear."""
    if parts.username is None:
        return ""
    # The environment may hold any bytes.
    written = (parts.username, parts.password or "")
    user, password = (unquote_to_bytes(part.encode("utf-8", "surrogateescape")) for part in written)
    basic = base64.b64encode(user + b":" + password).decode("ascii")
    LEARNED.add(basic, *written)
    LEARNED.add(*(part.decode("utf-8", "surrogateescape") for part in (user, password)))
    return f"Basic {basic}"


# Name lookups: the system's resolver has no time limit, so it runs in a thread


class NameLookup:
    """A lookup under way; `fd` is readable when it is done, and -1 if it need not be waited for."""

    def __init__(self, host: str, port: int) -> None:
        self._found: list[SocketAddress] | str | None = _resolve_locally(host, port)
        self.fd = -1
        if self._found is not None:
            return
        # Most servers under test are on this machine and need no lookup.
        import threading  # noqa: PLC0415

        self._waker = Waker()
        self.fd = self._waker.fd
        self._lock = threading.Lock()
        threading.Thread(target=self._run, args=(host, port), daemon=True).start()

    def _run(self, host: str, port: int) -> None:
        try:
            answers = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
            self._found = [(family, place) for family, _, _, _, place in answers]
        except (OSError, UnicodeError) as error:
            self._found = str(getattr(error, "strerror", "") or error)
        with self._lock:
            # Once it is closed, others may have its descriptors.
            if self.fd >= 0:
                self._waker.wake()

    def result(self) -> list[SocketAddress] | str | None:
        """The addresses found, or why there are none; None while it runs."""
        return self._found

    def close(self) -> None:
        """Forget it; its result is ignored."""
        if self.fd < 0:
            return
        with self._lock:
            self.fd = -1
            self._waker.close()


def look_up(address: Address, limit_s: float, interrupt: int) -> list[SocketAddress]:
    """The addresses of a host; none if its name is unknown, or not found in time."""
    lookup = NameLookup(address.host, address.port)
    try:
        if lookup.result() is None:
            wait_ready({lookup.fd: READABLE, interrupt: READABLE}, limit_s)
        found = lookup.result()
    finally:
        lookup.close()
    return found if isinstance(found, list) else []


def _resolve_locally(host: str, port: int) -> list[SocketAddress] | None:
    """The result that needs no lookup: of an address, or of the name of this machine."""
    if host == "localhost":
        # The server may listen on either of them.
        return [
            (socket.AF_INET, ("127.0.0.1", port)),
            (socket.AF_INET6, ("::1", port, 0, 0)),
        ]
    try:
        version = ip_address(host).version
    except ValueError:
        return None
    if version == 4:
        return [(socket.AF_INET, (host, port))]
    return [(socket.AF_INET6, (host, port, 0, 0))]


# Which processes listen on a port of this machine. Linux only: elsewhere none is found.

_LISTENING = "0A"


class PortOwners:
    """The processes that listen on a port; the mark that our servers carry identifies ours."""

    def __init__(self, pids: set[int], mark: str) -> None:
        marks = {pid: read_mark(pid) for pid in pids}
        self.has_ours = any(found.startswith(mark) for found in marks.values())
        # A server that this or another run of mcptest has started for other tests.
        self.others = [pid for pid, found in marks.items() if found and not found.startswith(mark)]
        self.unmarked = [pid for pid, found in marks.items() if not found]

    def describe_unmarked(self) -> str:
        return ", ".join(f"{pid}: {read_command_line(pid)}" for pid in self.unmarked)


def find_port_owners(port: int, mark: str) -> PortOwners:
    """The processes that listen on a port, as far as that can be seen."""
    wanted = {f"socket:[{inode}]" for _, inode in _find_sockets(port)}
    names = os.listdir("/proc") if wanted else []
    pids = (int(name) for name in names if name.isdigit())
    return PortOwners({pid for pid in pids if _has_open(pid, wanted)}, mark)


def listening_addresses(port: int) -> list[str]:
    """The addresses of this machine on which something listens at a port, if that can be seen."""
    found = []
    for address, _ in _find_sockets(port):
        # In words of four bytes, each in the order of the processor.
        words = [bytes.fromhex(address[at : at + 8]) for at in range(0, len(address), 8)]
        raw = b"".join(word[::-1] if sys.byteorder == "little" else word for word in words)
        found.append(str(ip_address(raw)))
    return sorted(set(found))


def _find_sockets(port: int) -> Iterator[tuple[str, str]]:
    """The address, in hexadecimal, and the number of each socket that listens on a port."""
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        try:
            with open(table, encoding="ascii", errors="replace") as file:
                lines = file.read().splitlines()
        except OSError:
            continue
        for line in lines[1:]:
            fields = line.split()
            is_listening = len(fields) > 9 and fields[3] == _LISTENING
            if is_listening and int(fields[1].rpartition(":")[2], 16) == port:
                yield fields[1].rpartition(":")[0], fields[9]


def _has_open(pid: int, wanted: set[str]) -> bool:
    # Processes end while we look, and those of other users cannot be read.
    folder = f"/proc/{pid}/fd"
    try:
        handles = os.listdir(folder)
    except OSError:
        return False
    for handle in handles:
        try:
            if os.readlink(f"{folder}/{handle}") in wanted:
                return True
        except OSError:
            continue
    return False
