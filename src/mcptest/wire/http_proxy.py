"""Reach a server through an HTTP proxy, as the environment asks."""

from __future__ import annotations

import base64
from urllib.parse import unquote_to_bytes, urlsplit

import h11

from mcptest.core.errors import UsageError
from mcptest.core.http_address import BadUrlError, parse_url, proxy_for
from mcptest.core.record import Record
from mcptest.core.secrets import LEARNED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from urllib.parse import SplitResult

    from mcptest.core.http_address import Address

__all__ = ["Proxy", "Tunnel", "find_proxy"]


class Proxy(Record):
    """A proxy, what it wants to be told of us, and where we know it from."""

    address: Address
    authorization: str = ""
    source: str = "the environment"

    def tunnel(self, address: Address) -> Tunnel:
        return Tunnel(self, address)


class Tunnel:
    """The proxy is asked for a connection to the server, of which it sees only bytes."""

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

    def is_dug(self, chunk: bytes) -> bool:
        """Whether the proxy has agreed. ValueError says that it has not."""
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
    """The proxy for an address; UsageError when it is one that cannot be used."""
    text = proxy_for(address, environment)
    if not text:
        return None
    try:
        parts = _taken_apart(text)
        plain = parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()
        proxy = parse_url(plain)
    except BadUrlError as error:
        raise UsageError(f"the proxy in the environment cannot be used: {error}") from None
    if proxy.scheme != "http":
        raise UsageError("a proxy must be an http:// one; mcptest speaks to no other")
    return Proxy(address=proxy, authorization=_authorization(parts))


def _taken_apart(text: str) -> SplitResult:
    """The parts of a proxy's URL. No reason that it cannot be read for quotes any of it."""
    try:
        parts = urlsplit(text if "://" in text else f"http://{text}")
    except ValueError:
        raise BadUrlError("its host is no name or number of a machine") from None
    if "@" in parts.path + parts.query + parts.fragment:
        # What stands before it would be taken for the host, and shown as such.
        raise BadUrlError('in its user name or password "/", "?" and "#" are %2F, %3F and %23')
    return parts


def _authorization(parts: SplitResult) -> str:
    """What the proxy is told of us; from here on neither it nor its parts are shown."""
    if parts.username is None:
        return ""
    # The environment may hold any bytes.
    written = (parts.username, parts.password or "")
    user, password = (unquote_to_bytes(part.encode("utf-8", "surrogateescape")) for part in written)
    basic = base64.b64encode(user + b":" + password).decode("ascii")
    LEARNED.add(basic, *written)
    LEARNED.add(*(part.decode("utf-8", "surrogateescape") for part in (user, password)))
    return f"Basic {basic}"
