"""Post to a URL and read the status. Nothing of it takes longer than the deadline allows."""

from __future__ import annotations

import contextlib
import re
import socket
import ssl
import threading
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcptest.coprocess.targets import Target

    # A family of addresses, and an address in it as `connect` wants it.
    Place = tuple[int, tuple[object, ...]]

__all__ = ["post"]

_MAX_HEAD_BYTES = 64 * 1024
_SENT_BYTES = 1 << 16


def post(target: Target, body: bytes, deadline: float) -> int:
    """The status that the target answers with; OSError or ValueError when there is none."""
    with _connected(target, deadline) as sock:
        for text in (_head(target, len(body)), body):
            _send(sock, text, deadline)
        return _status(sock, deadline)


def _left_s(deadline: float, waiting_for: str) -> float:
    left_s = deadline - time.monotonic()
    if left_s <= 0:
        raise TimeoutError(f"{waiting_for} in time")
    return left_s


# The connection


@contextlib.contextmanager
def _connected(target: Target, deadline: float) -> Iterator[socket.socket]:
    port = (443 if target.is_secure else 80) if target.port is None else target.port
    with _socket_to(_places(target.host, port, deadline), deadline) as sock:
        if not target.is_secure:
            yield sock
            return
        context = ssl.create_default_context()
        context.set_alpn_protocols(["http/1.1"])
        sock.settimeout(_left_s(deadline, "no secure connection"))
        with context.wrap_socket(sock, server_hostname=target.host) as secured:
            yield secured


def _places(host: str, port: int, deadline: float) -> list[Place]:
    """Where a host is. The system's resolver cannot be told to hurry, but it can be left alone."""
    if host == "localhost":
        # What is sent in clear stays on this machine, whatever somebody calls by this name.
        return [(socket.AF_INET, ("127.0.0.1", port)), (socket.AF_INET6, ("::1", port, 0, 0))]
    found: list[list[Place] | Exception] = []

    def look() -> None:
        try:
            answers = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
            found.append([(family, place) for family, _, _, _, place in answers])
        except (OSError, ValueError) as error:
            found.append(error)

    work = threading.Thread(target=look, daemon=True)
    work.start()
    work.join(_left_s(deadline, "its name was not looked up"))
    if not found:
        raise TimeoutError("its name was not looked up in time")
    if isinstance(found[0], Exception):
        raise found[0]
    return found[0]


def _socket_to(places: list[Place], deadline: float) -> socket.socket:
    """A connection to the first place that takes it."""
    error: OSError = ConnectionError("it has no address")
    for number, (family, place) in enumerate(places):
        # One that is silent leaves the others their share of the time.
        share_s = _left_s(deadline, "no connection") / (len(places) - number)
        try:
            # A machine may lack a whole family of addresses.
            sock = socket.socket(family, socket.SOCK_STREAM)
        except OSError as lacking:
            error = lacking
            continue
        try:
            sock.settimeout(share_s)
            sock.connect(place)
        except OSError as refused:
            sock.close()
            error = refused
        else:
            return sock
    raise error


# What goes there


def _head(target: Target, size: int) -> bytes:
    host = f"[{target.host}]" if ":" in target.host else target.host
    lines = [
        f"POST {target.resource} HTTP/1.1",
        f"Host: {host}" + ("" if target.port is None else f":{target.port}"),
        "Content-Type: application/x-ndjson",
        f"Content-Length: {size}",
        "Connection: close",
    ]
    return "\r\n".join([*lines, "", ""]).encode("ascii")


def _send(sock: socket.socket, text: bytes, deadline: float) -> None:
    view = memoryview(text)
    while view:
        sock.settimeout(_left_s(deadline, "it did not take everything"))
        view = view[sock.send(view[:_SENT_BYTES]) :]


# What comes back


def _status(sock: socket.socket, deadline: float) -> int:
    """The status of the answer, whose head must be there by the deadline."""
    head = b""
    while True:
        line, end, rest = head.partition(b"\r\n\r\n")
        if end:
            status = _status_in(line)
            if status >= 200:
                return status
            # Something for meanwhile; the answer follows.
            head = rest
            continue
        sock.settimeout(_left_s(deadline, "no answer"))
        chunk = sock.recv(4096)
        if not chunk:
            raise ConnectionResetError("it hung up without an answer")
        head += chunk
        if len(head) > _MAX_HEAD_BYTES:
            raise ValueError("the head of its answer never ends")


def _status_in(head: bytes) -> int:
    words = head.split(b"\r\n")[0].split()
    if len(words) < 2 or not words[0].startswith(b"HTTP/") or not words[1].isdigit():
        raise ValueError("its answer is not HTTP")
    if not re.fullmatch(rb"[1-9][0-9]{2}", words[1]):
        raise ValueError("its answer has no status of three digits")
    return int(words[1])
