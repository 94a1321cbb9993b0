"""An HTTP server that sends exactly the given bytes, and keeps what it received.

In a test it runs beside it, in threads: `RawHttp(script)`, where the script is called for each
request with a line to answer on. As a program, `raw_http.py PORT [MODE]`, it is a server that a
command starts. A good server handles everything a script leaves out.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import sys
import threading

TYPE_CHECKING = False
if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable, Iterator
    from typing import Any, Self

    Message = dict[str, Any]
    Script = Callable[["Asked", "Line"], None]

_PATIENCE_S = 20.0

# How the first bytes of a TLS connection begin.
TLS = b"\x16\x03"

WELCOME = {
    "protocolVersion": "2025-11-25",
    "capabilities": {"tools": {}, "logging": {}},
    "serverInfo": {"name": "raw_http", "version": "1"},
}


class Asked:
    """One request as it was received; names of headers are in lower case."""

    def __init__(self, head: bytes, body: bytes) -> None:
        first, *lines = head.decode("latin-1").split("\r\n")
        self.method, self.target, _ = first.split(" ", 2)
        pairs = [line.partition(":") for line in lines if line]
        self.headers = {name.strip().lower(): value.strip() for name, _, value in pairs}
        self.body = body

    @property
    def message(self) -> Message:
        return dict(json.loads(self.body)) if self.body and self.is_whole else {}

    @property
    def is_whole(self) -> bool:
        """Whether all of its body was read."""
        return len(self.body) == int(self.headers.get("content-length", "0"))

    @property
    def about(self) -> str:
        """What it is about: the method of its message, or its own."""
        return str(self.message.get("method", "an answer")) if self.body else self.method


class Line:
    """Where a script answers. A client that stops reading is not an error."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection

    def send(self, *parts: bytes) -> None:
        """Send bytes, each part as a piece of its own."""
        for part in parts:
            with contextlib.suppress(OSError):
                self._connection.sendall(part)

    def hold(self) -> None:
        """Hold back what is sent until the connection is closed: both arrive together."""
        if sys.platform == "linux":
            self._connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CORK, 1)

    def flood(self, part: bytes) -> None:
        """Send the same again and again, until the client closes."""
        with contextlib.suppress(OSError):
            while True:
                self._connection.sendall(part)

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._connection.shutdown(socket.SHUT_RDWR)

    def wait_for_the_end(self) -> bool:
        """Say nothing more until the client goes; whether it went."""
        self._connection.settimeout(_PATIENCE_S)
        try:
            while self._connection.recv(65536):
                pass
        except TimeoutError:
            return False
        except OSError:
            pass
        return True


# What to answer with


def answer(
    body: bytes = b"", status: str = "200 OK", kind: str = "application/json", **more: str
) -> bytes:
    """A whole answer. In the names of further headers `_` means `-`."""
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}"]
    lines += [f"Content-Type: {kind}"] if kind else []
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in more.items()]
    return "\r\n".join((*lines, "", "")).encode("latin-1") + body


def refusal(status: str, body: bytes = b"", kind: str = "text/plain", **more: str) -> bytes:
    return answer(body, status, kind, **more)


EVENTS = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"


def event(message: object, *fields: str) -> bytes:
    lines = [*fields, f"data: {json.dumps(message)}", "", ""]
    return "\n".join(lines).encode()


def result_for(asked: Asked) -> Message:
    """What a good server answers."""
    message = asked.message
    found: Message = {"jsonrpc": "2.0", "id": message.get("id")}
    if message["method"] == "initialize":
        return found | {"result": WELCOME}
    if message["method"] == "tools/list":
        return found | {"result": {"tools": [{"name": "echo", "inputSchema": {"type": "object"}}]}}
    if message["method"] == "tools/call":
        text = message["params"]["arguments"]["text"]
        return found | {"result": {"content": [{"type": "text", "text": text}]}}
    if message["method"] == "ping":
        return found | {"result": {}}
    return found | {"error": {"code": -32601, "message": "unknown method"}}


def as_json(message: object, status: str = "200 OK", **more: str) -> bytes:
    return answer(json.dumps(message).encode(), status, **more)


def good(asked: Asked, line: Line) -> None:
    """What a server without a fault does; it has no stream of its own and no sessions."""
    if asked.method != "POST":
        line.send(refusal("405 Method Not Allowed"))
    elif "id" in asked.message and "method" in asked.message:
        line.send(as_json(result_for(asked)))
    else:
        line.send(answer(b"", "202 Accepted", ""))


def on(about: str, script: Script, otherwise: Script = good) -> Script:
    """A server that is good except for one method, of a message or of HTTP."""
    return lambda asked, line: (script if asked.about == about else otherwise)(asked, line)


def says(*parts: bytes) -> Script:
    """A script that sends these bytes, and continues with the next request."""
    return lambda asked, line: line.send(*parts)


def hangs_up_after(*parts: bytes) -> Script:
    def script(asked: Asked, line: Line) -> None:
        line.send(*parts)
        line.close()

    return script


def holds_after(*parts: bytes) -> Script:
    """A script that sends these bytes and then nothing, while the client waits."""

    def script(asked: Asked, line: Line) -> None:
        line.send(*parts)
        line.wait_for_the_end()

    return script


# Serving


@contextlib.contextmanager
def silent_place() -> Iterator[tuple[str, int]]:
    """An address that neither accepts nor refuses a connection, like one that drops all packets."""
    with contextlib.ExitStack() as stack:
        silent = stack.enter_context(socket.socket())
        silent.bind(("127.0.0.1", 0))
        silent.listen(0)
        for _ in range(4):
            # A client that connects when the queue is full gets no answer.
            waiting = stack.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(silent.getsockname())
        yield silent.getsockname()


class RawHttp:
    """A server in threads of this process, and all that it was asked."""

    def __init__(
        self,
        script: Script = good,
        tls: ssl.SSLContext | None = None,
        *,
        max_body: int = 1 << 30,
        is_serial: bool = False,
    ) -> None:
        self._script = script
        # Held as long as a connection is open, if only one is served at a time.
        self._turn = threading.Lock() if is_serial else contextlib.nullcontext()
        self._tls = tls
        # Longer bodies are not read: the script is called with the part that was read.
        self._max_body = max_body
        self.asked: list[Asked] = []
        self.connections = 0
        # For scripts that wait for something else to be asked.
        self.heard = threading.Event()
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._socket.getsockname()[1])
        self._open: list[socket.socket] = []
        self._threads = [threading.Thread(target=self._accept, daemon=True)]
        self._threads[0].start()

    @property
    def url(self) -> str:
        return f"{'https' if self._tls else 'http'}://127.0.0.1:{self.port}/mcp"

    def about(self, what: str) -> list[Asked]:
        """The requests about one method, of a message or of HTTP."""
        return [asked for asked in self.asked if asked.about == what]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        for connection in list(self._open):
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join(_PATIENCE_S)
            assert not thread.is_alive()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            self.connections += 1
            thread = threading.Thread(target=self._serve, args=(connection,), daemon=True)
            self._threads.append(thread)
            thread.start()

    def _serve(self, connection: socket.socket) -> None:
        self._open.append(connection)
        with self._turn:
            self._serve_requests(connection)

    def _serve_requests(self, connection: socket.socket) -> None:
        try:
            if self._tls:
                connection = self._tls.wrap_socket(connection, server_side=True)
                self._open.append(connection)
            while (asked := _read_request(connection, self._max_body)) is not None:
                self.asked.append(asked)
                self._script(asked, Line(connection))
        except OSError:
            pass
        finally:
            connection.close()


def _read_request(connection: socket.socket, max_body: int = 1 << 30) -> Asked | None:
    raw = b""
    while b"\r\n\r\n" not in raw:
        chunk = connection.recv(65536)
        if not chunk:
            return None
        raw += chunk
        if raw.startswith(TLS):
            # As servers answer input that is not HTTP.
            connection.sendall(refusal("400 Bad Request"))
            return None
    head, _, body = raw.partition(b"\r\n\r\n")
    length = int(Asked(head, b"").headers.get("content-length", "0"))
    while len(body) < length <= max_body:
        body += connection.recv(65536)
    return Asked(head, body)


# The program


def _streams(asked: Asked, line: Line) -> None:
    line.send(EVENTS, event(result_for(asked), "id: 1"))
    line.close()


def _exits(asked: Asked, line: Line) -> None:
    sys.stderr.write("out of memory\n")
    sys.stderr.flush()
    os._exit(3)


def _betrays(asked: Asked, line: Line) -> None:
    sys.stderr.write(f"I was told {asked.headers.get('authorization')}\n")
    sys.stderr.flush()
    line.send(as_json({"jsonrpc": "2.0", "id": asked.message["id"], "result": {"content": []}}))


def _answers_and_exits(asked: Asked, line: Line) -> None:
    line.send(as_json(result_for(asked)))
    os._exit(0)


def _floods(asked: Asked, line: Line) -> None:
    line.send(EVENTS)
    line.flood(event({"jsonrpc": "2.0", "method": "notifications/progress", "params": {}}) * 100)


def _names_events_oddly(asked: Asked, line: Line) -> None:
    odd = event({"jsonrpc": "2.0", "method": "notifications/progress"}, "event: progress")
    line.send(EVENTS, odd * 2000, event(result_for(asked)))
    line.close()


def _mishears(asked: Asked, line: Line) -> None:
    content = [{"type": "text", "text": "something else"}]
    line.send(as_json(result_for(asked) | {"result": {"content": content}}))


def _takes_time_for_a_stream(asked: Asked, line: Line) -> None:
    threading.Event().wait(0.3)
    good(asked, line)


MODES: dict[str, Script] = {
    "good": good,
    "answers-and-exits": on("tools/call", _answers_and_exits),
    "betrays": on("tools/call", _betrays),
    "exits": on("tools/call", _exits),
    "floods": on("tools/call", _floods),
    "oddly-named": on("tools/call", _names_events_oddly),
    "mishears": on("tools/call", _mishears),
    "hangs": on("tools/call", holds_after()),
    "streams": on("tools/call", _streams),
    # It serves one connection at a time, and logs all the while.
    "serial": on("GET", _takes_time_for_a_stream),
}


def main(port: str, mode: str = "good") -> None:
    """Serve until a signal ends it."""
    home = socket.create_server(("127.0.0.1", int(port)))
    if mode == "serial":
        threading.Thread(target=_log_for_ever, daemon=True).start()
    while True:
        connection, _ = home.accept()
        if mode == "serial":
            _serve_alone(connection, mode)
        else:
            threading.Thread(target=_serve_alone, args=(connection, mode), daemon=True).start()


def _log_for_ever() -> None:
    while True:
        threading.Event().wait(0.1)
        sys.stderr.write("alive\n")
        sys.stderr.flush()


def _serve_alone(connection: socket.socket, mode: str) -> None:
    with contextlib.suppress(OSError), connection:
        while (asked := _read_request(connection)) is not None:
            MODES[mode](asked, Line(connection))


if __name__ == "__main__":
    main(*sys.argv[1:])
