"""Raw bytes over a socket to a server on this machine, for clients as rude as a test needs."""

from __future__ import annotations

import contextlib
import socket
from typing import TYPE_CHECKING

from console import PATIENCE_S

if TYPE_CHECKING:
    from collections.abc import Iterator


class Probe:
    """One connection."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_S)
        self._pending = b""

    def send(self, data: bytes) -> None:
        self.socket.sendall(data)

    def ask(self, method: str, target: str, body: bytes | None = None, **headers: str) -> None:
        """Send a whole request."""
        known = {"Host": f"127.0.0.1:{self.port}"}
        if body is not None:
            known["Content-Length"] = str(len(body))
        known |= {name.replace("_", "-"): value for name, value in headers.items()}
        lines = "".join(f"{name}: {value}\r\n" for name, value in known.items())
        self.send(f"{method} {target} HTTP/1.1\r\n{lines}\r\n".encode() + (body or b""))

    def until(self, end: bytes) -> bytes:
        """The data up to some bytes, or up to the end."""
        while end not in self._pending:
            chunk = self._chunk()
            if not chunk:
                found, self._pending = self._pending, b""
                return found
            self._pending += chunk
        found, _, self._pending = self._pending.partition(end)
        return found + end

    def _chunk(self) -> bytes:
        try:
            return self.socket.recv(1 << 16)
        except ConnectionResetError:
            return b""

    def rest(self) -> bytes:
        """All data until the server closes the connection."""
        chunks, self._pending = [self._pending], b""
        while chunk := self._chunk():
            chunks.append(chunk)
        return b"".join(chunks)

    def answer(self) -> tuple[int, bytes]:
        """The status and the body of an answer with a Content-Length."""
        head = self.until(b"\r\n\r\n")
        if not head:
            return 0, b""
        lines = head.decode("latin-1").split("\r\n")
        fields = dict(line.lower().split(": ", 1) for line in lines[1:] if line)
        size = int(fields.get("content-length", 0))
        found = bytearray(self._pending)
        while len(found) < size:
            chunk = self._chunk()
            assert chunk, "the body breaks off"
            found += chunk
        self._pending = bytes(found[size:])
        return int(lines[0].split()[1]), bytes(found[:size])


@contextlib.contextmanager
def probing(port: int) -> Iterator[Probe]:
    probe = Probe(port)
    try:
        yield probe
    finally:
        probe.socket.close()
