"""A post goes to one address, whole, and by its deadline; or it is said what was in the way."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from typing import TYPE_CHECKING, Any

import pytest
from raw_http import RawHttp, silent_place

from mcptest.protocol.http_address import parse_url
from mcptest.transport.http.probe import post

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from raw_http import Asked, Line

PATIENCE_S = 20.0


def posted(url: str, body: bytes = b"{}\n", patience_s: float = PATIENCE_S) -> int:
    return post(parse_url(url), "application/x-ndjson", body, time.monotonic() + patience_s)


@contextlib.contextmanager
def accepting(serve: Callable[[socket.socket], None]) -> Iterator[str]:
    """A server on loopback that does this for every client, with a tiny receive buffer."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)

        def work() -> None:
            caller, _ = listener.accept()
            with caller, contextlib.suppress(OSError):
                serve(caller)

        thread = threading.Thread(target=work)
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/"
        thread.join(PATIENCE_S)


def test_the_request_says_what_it_is_and_that_nothing_follows() -> None:
    def take(asked: Asked, line: Line) -> None:
        line.send(b"HTTP/1.1 204 No Content\r\n\r\n")
        line.close()

    with RawHttp(take) as server:
        assert posted(server.url, b'{"n":1}\n') == 204
    (asked,) = server.asked
    assert (asked.method, asked.body) == ("POST", b'{"n":1}\n')
    assert asked.headers["host"] == parse_url(server.url).authority
    assert asked.headers["content-type"] == "application/x-ndjson"
    assert (asked.headers["content-length"], asked.headers["connection"]) == ("8", "close")


def test_a_proxy_of_the_environment_is_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """The caller names the address that a record may be delivered to."""
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9/")
    asked: list[str] = []

    def look(host: str, *_: object, **__: object) -> list[Any]:
        asked.append(host)
        raise socket.gaierror(-2, "nobody knows")

    monkeypatch.setattr(socket, "getaddrinfo", look)
    with pytest.raises(ConnectionError, match=r"'collector\.example' cannot be looked up"):
        posted("http://collector.example/")
    assert asked == ["collector.example"]


def test_a_place_that_is_silent_leaves_time_for_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    def take(asked: Asked, line: Line) -> None:
        line.send(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n")
        line.close()

    with silent_place() as silent, RawHttp(take) as server:
        places = [silent, ("127.0.0.1", server.port)]
        found = [(socket.AF_INET, socket.SOCK_STREAM, 0, "", place) for place in places]
        monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: found)
        began = time.monotonic()
        assert posted("http://collector.example/", patience_s=2.0) == 200
        assert time.monotonic() - began >= 0.9


def test_a_server_that_reads_very_slowly_times_out() -> None:
    """Each piece alone is taken quickly; all of them together are not."""

    is_over = threading.Event()

    def sip(caller: socket.socket) -> None:
        while not is_over.wait(0.005):
            assert caller.recv(100)

    with accepting(sip) as url:
        with pytest.raises(TimeoutError, match="it did not take everything in time"):
            posted(url, b"x" * 20_000_000, 0.2)
        is_over.set()


def test_a_success_sent_before_everything_was_read_does_not_count() -> None:
    def hurry(caller: socket.socket) -> None:
        caller.recv(10)
        caller.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        time.sleep(0.1)

    with accepting(hurry) as url, pytest.raises(OSError, match=r"take everything|broke"):
        posted(url, b"x" * 20_000_000)


def test_an_early_success_counts_once_everything_was_read() -> None:
    read = bytearray()

    def hurry(caller: socket.socket) -> None:
        caller.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        while chunk := caller.recv(1 << 20):
            read.extend(chunk)

    with accepting(hurry) as url:
        assert posted(url, b"x" * 20_000_000) == 200
    assert read.endswith(b"\r\n\r\n" + b"x" * 20_000_000)


def test_an_early_refusal_ends_the_request() -> None:
    is_over = threading.Event()

    def refuse(caller: socket.socket) -> None:
        caller.recv(10)
        caller.sendall(b"HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\n\r\n")
        is_over.wait(PATIENCE_S)

    with accepting(refuse) as url:
        assert posted(url, b"x" * 20_000_000) == 413
        is_over.set()
