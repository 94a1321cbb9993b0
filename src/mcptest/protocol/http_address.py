"""URLs of HTTP servers: parse, compare and resolve them, and choose a proxy."""

from __future__ import annotations

import re
from ipaddress import ip_address
from urllib.parse import urljoin, urlsplit

from mcptest.core.value_class import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from ipaddress import IPv4Address, IPv6Address
    from typing import Literal

    Scheme = Literal["http", "https"]

__all__ = ["Address", "BadUrlError", "parse_url", "proxy_for", "redirected", "same_origin"]

_PORTS = {"http": 80, "https": 443}

# Forbidden in host, path and query: they would end the line of the request.
_CONTROLS = re.compile(r"[\x00-\x20\x7f]")


class BadUrlError(ValueError):
    """A string that is not a URL of an HTTP server; the message says why."""


class Address(Record):
    """A URL of an HTTP server. `target` is the path and the query."""

    scheme: Scheme
    host: str
    port: int
    target: str

    @property
    def origin(self) -> str:
        """Scheme, host and port."""
        return f"{self.scheme}://{self.authority}"

    @property
    def authority(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def url(self) -> str:
        return self.origin + self.target

    @property
    def is_loopback(self) -> bool:
        """True if the host is this machine by its name alone."""
        host = self.host.removesuffix(".")
        if host == "localhost" or host.endswith(".localhost"):
            return True
        found = self._number
        # Connecting to the unspecified address connects to this machine.
        return found is not None and (found.is_loopback or found.is_unspecified)

    @property
    def is_internal(self) -> bool:
        """True if the host is this machine, or an address that only its network can reach."""
        found = self._number
        return self.is_loopback or (found is not None and not found.is_global)

    @property
    def _number(self) -> IPv4Address | IPv6Address | None:
        """The address, if the host is one."""
        host = self.host.removesuffix(".")
        number = _inet_number(host)
        try:
            found = ip_address(host if number is None else number)
        except ValueError:
            return None
        return getattr(found, "ipv4_mapped", None) or found


def _inet_number(host: str) -> int | None:
    """The IPv4 address of one to four numbers, each decimal, octal or hexadecimal.

    The last fills all bytes that are left, as in 127.1: resolvers read it so.
    """
    words = host.split(".")
    if len(words) > 4 or not all(_NUMBER.fullmatch(word) for word in words):
        return None
    *heads, last = (_value(word) for word in words)
    if any(head > 255 for head in heads) or last >= 256 ** (4 - len(heads)):
        return None
    return sum(head << (24 - 8 * at) for at, head in enumerate(heads)) + last


_NUMBER = re.compile(r"0[xX][0-9a-fA-F]{1,8}|0[0-7]{0,16}|[1-9][0-9]{0,9}")


def _value(word: str) -> int:
    if word[:2] in ("0x", "0X"):
        return int(word, 16)
    return int(word, 8 if word.startswith("0") else 10)


def parse_url(text: str) -> Address:
    """Parse a URL; BadUrlError says what is wrong with it."""
    if _CONTROLS.search(text):
        raise BadUrlError("it holds a space or a control character")
    # Error messages quote no part of the URL: it may contain a secret.
    try:
        parts = urlsplit(text)
    except ValueError:
        raise BadUrlError("its host is not the name or number of a machine") from None
    try:
        port = parts.port
    except ValueError:
        raise BadUrlError("its port is not a number from 0 to 65535") from None
    if parts.scheme not in ("http", "https"):
        raise BadUrlError("it must begin with http:// or https://")
    if not parts.hostname:
        raise BadUrlError("it names no host")
    if parts.username is not None or parts.password is not None:
        raise BadUrlError("it holds a user name or a password; credentials belong in headers")
    try:
        host = parts.hostname
        host = host if host.isascii() else host.encode("idna").decode("ascii")
    except UnicodeError:
        raise BadUrlError("its host is not a name that can be looked up") from None
    target = (_percent_encode(parts.path) or "/") + (
        f"?{_percent_encode(parts.query)}" if parts.query else ""
    )
    scheme: Scheme = "https" if parts.scheme == "https" else "http"
    port = _PORTS[scheme] if port is None else port
    return Address(scheme=scheme, host=host, port=port, target=target)


def _percent_encode(text: str) -> str:
    """Percent-encode characters that are not ASCII."""
    if text.isascii():
        return text
    encoded = text.encode("utf-8", "surrogatepass")
    return "".join(chr(byte) if byte < 128 else f"%{byte:02X}" for byte in encoded)


def same_origin(one: Address, other: Address) -> bool:
    return one.origin == other.origin


def redirected(address: Address, location: str) -> Address:
    """Resolve a redirect or another reference of the server. May raise BadUrlError."""
    try:
        joined = urljoin(address.url, location)
    except ValueError:
        raise BadUrlError("its host is not the name or number of a machine") from None
    return parse_url(joined.partition("#")[0])


def proxy_for(address: Address, environment: Mapping[str, str]) -> str:
    """The proxy that the environment names, or ""; never one for loopback."""
    if address.is_loopback:
        return ""
    excluded = environment.get("no_proxy") or environment.get("NO_PROXY") or ""
    for each in excluded.lower().split(","):
        name = each.strip().lstrip(".")
        if name == "*" or (name and f".{address.host}".endswith(f".{name}")):
            return ""
    names = [f"{address.scheme}_proxy", f"{address.scheme.upper()}_PROXY", "all_proxy", "ALL_PROXY"]
    if address.scheme == "http" and environment.get("REQUEST_METHOD"):
        # In a CGI program the upper-case name is a header of the caller.
        names.remove("HTTP_PROXY")
    return next((environment[name] for name in names if environment.get(name)), "")
