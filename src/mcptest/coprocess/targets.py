"""Where calls may be uploaded to: a file, this machine over HTTP, any other over HTTPS. Pure."""

from __future__ import annotations

from urllib.parse import unquote_to_bytes, urlsplit

from mcptest.core.http_address import Address
from mcptest.core.record import Record
from mcptest.core.text import shorten, visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from urllib.parse import SplitResult

__all__ = ["BadTargetError", "Target", "read_target"]


class BadTargetError(ValueError):
    """A target to which nothing may be sent."""


class Target(Record):
    """One target, understood: the path of a file, or the address that a URL stands for."""

    text: str
    file: bytes = b""
    address: Address | None = None


def read_target(text: str) -> Target:
    """The target that a text names; BadTargetError says why it is none."""
    shown = visible(shorten(text, 200))
    if not text.isprintable():
        raise BadTargetError(f'"{shown}" holds characters that cannot be seen')
    try:
        parts = urlsplit(text)
        if parts.scheme == "file":
            return Target(text=text, file=_file(parts, text))
        if parts.scheme in ("http", "https"):
            return _url(parts, text)
    except BadTargetError:
        raise
    except ValueError as error:
        # Brackets without an address, a port that is none, half a surrogate pair.
        raise BadTargetError(f'"{shown}" cannot be read: {visible(str(error))}') from None
    ways = "a file: target, an https: URL, or an http: URL on this machine"
    raise BadTargetError(f'"{shown}" is none of them: {ways}')


def _file(parts: SplitResult, text: str) -> bytes:
    if parts.netloc not in ("", "localhost"):
        advice = f"file://{parts.netloc}{parts.path} names a host; a path begins with a third slash"
        raise BadTargetError(visible(shorten(advice, 200)))
    if "?" in text or "#" in text:
        raise BadTargetError("a file: target has no ? and no #: write %3F and %23 for them")
    path = unquote_to_bytes(parts.path)
    if not path or b"\0" in path or path.endswith(b"/"):
        raise BadTargetError("a file: target names a file, such as file:///tmp/calls.ndjson")
    return path


def _url(parts: SplitResult, text: str) -> Target:
    shown = visible(shorten(text, 200))
    if not text.isascii() or " " in text:
        raise BadTargetError(f'"{shown}" is no URL: spaces and letters beyond ASCII are encoded')
    if "@" in parts.netloc or "#" in text:
        raise BadTargetError("a URL to upload to holds no user, no password and no #")
    host = parts.hostname or ""
    if not host:
        raise BadTargetError(f'"{shown}" names no host')
    if "%" in host:
        raise BadTargetError(f'"{shown}" names a host with a %: zones and escapes are not for URLs')
    if "[" in parts.netloc and ":" not in host:
        raise BadTargetError(f'"{shown}" has brackets around something that is no IPv6 address')
    if parts.scheme != "https" and not _is_this_machine(host):
        message = f'"{shown}" would send what tools answer in clear over the network; use https:'
        raise BadTargetError(message)
    return Target(text=text, address=_address(parts, host))


def _address(parts: SplitResult, host: str) -> Address:
    is_secure = parts.scheme == "https"
    usual_port = 443 if is_secure else 80
    return Address(
        scheme="https" if is_secure else "http",
        host=host,
        port=usual_port if parts.port is None else parts.port,
        target=(parts.path or "/") + (f"?{parts.query}" if parts.query else ""),
    )


def _is_this_machine(host: str) -> bool:
    numbers = host.split(".")
    # 127.999.1.1 would be looked up like a name.
    is_address = all(len(word) < 4 and word.isdigit() and int(word) < 256 for word in numbers)
    is_loopback = len(numbers) == 4 and numbers[0] == "127" and is_address
    return is_loopback or host in ("localhost", "::1")
