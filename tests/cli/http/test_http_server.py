"""The server over HTTP on its sockets: what it tolerates, and which clients it disconnects."""

from __future__ import annotations

import contextlib
import http.client
import queue
import random
import select
import socket
import threading
from typing import TYPE_CHECKING, Any

import pytest
from console import PATIENCE_S
from http_probe import probing

from mcptest.core.errors import UsageError
from mcptest.protocol.http_messages import Answer, Begin, Cut, End, Piece
from mcptest.transport.http.server import Limits, open_listener, serve_http
from mcptest.transport.process.signals import Interrupts

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcptest.protocol.http_messages import Act, WebRequest

BIG = b"x" * (32 << 20)


class Stop(Interrupts):
    """A signal that is sent by hand."""

    def stop(self) -> None:
        self.count = 1
        self._waker.wake()


class Handler:
    """Answers by the path of a request, and remembers who has left."""

    def __init__(self) -> None:
        self.left: queue.Queue[int] = queue.Queue()
        self.heard: queue.Queue[WebRequest] = queue.Queue()

    def check_head(self, exchange: int, request: WebRequest, port: int) -> Answer | None:
        is_refused = request.target == "/no"
        return Answer(exchange=exchange, status=403, headers={}, body=b"no") if is_refused else None

    def handle(self, exchange: int, request: WebRequest, now: float) -> list[tuple[float, Act]]:
        self.heard.put(request)
        whole = Answer(exchange=exchange, status=200, headers={}, body=request.body)
        begin = Begin(exchange=exchange, headers={"X": "y"})
        piece = Piece(exchange=exchange, data=b"piece")
        acts: dict[str, list[tuple[float, Act]]] = {
            "/echo": [(0.0, whole)],
            "/late": [(0.2, whole)],
            "/never": [],
            "/big": [(0.0, whole.but(body=BIG))],
            "/stream": [(0.0, begin), (0.0, piece)],
            "/flood": [(0.0, begin), (0.0, piece.but(data=BIG))],
            "/ends": [(0.0, begin), (0.0, piece), (0.0, End(exchange=exchange))],
            "/cut": [(0.0, begin), (0.0, piece), (0.0, Cut(exchange=exchange))],
            "/empty": [(0.0, Answer(exchange=exchange, status=204, headers={}))],
        }
        return acts.get(request.target, [(0.0, whole)])

    def perform(self, item: Any) -> list[Act]:
        return [item]

    def close_exchange(self, exchange: int) -> None:
        self.left.put(exchange)


class Server:
    """A server in a thread of its own."""

    def __init__(self, limits: Limits) -> None:
        self.handler = Handler()
        self.stop = Stop()
        listener = open_listener(0)
        self.port: int = listener.getsockname()[1]
        self.thread = threading.Thread(
            target=serve_http, args=(listener, self.stop, self.handler, limits), daemon=True
        )
        self.thread.start()

    def echo(self, body: bytes = b"hello") -> bytes:
        """The answer that another client gets meanwhile."""
        client = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_S)
        with contextlib.closing(client):
            client.request("POST", "/echo", body)
            return client.getresponse().read()


@contextlib.contextmanager
def serving(**limits: Any) -> Iterator[Server]:
    server = Server(Limits(**limits))
    try:
        yield server
    finally:
        server.stop.stop()
        server.thread.join(PATIENCE_S)
        assert not server.thread.is_alive()
        server.stop.close()


def is_closed(sock: socket.socket) -> bool:
    """Whether the other side has closed a connection on which it says nothing."""
    try:
        return sock.recv(1) == b""
    except TimeoutError:
        return False
    except ConnectionError:
        return True


# What clients may do


def test_it_listens_on_this_machine_only_and_on_a_port_that_is_free() -> None:
    with contextlib.closing(open_listener(0)) as one, contextlib.closing(open_listener(0)) as two:
        assert one.getsockname()[0] == "127.0.0.1"
        assert one.getsockname() != two.getsockname()
        with pytest.raises(UsageError, match="cannot listen on port"):
            open_listener(one.getsockname()[1])


def test_a_connection_carries_many_requests() -> None:
    with serving() as server:
        client = http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE_S)
        with contextlib.closing(client):
            for number in range(20):
                client.request("POST", "/echo", f"{number}".encode())
                assert client.getresponse().read() == f"{number}".encode()
            client.request("GET", "/no")
            answer = client.getresponse()
            assert (answer.status, answer.read()) == (403, b"no")
            client.request("DELETE", "/empty")
            answer = client.getresponse()
            assert (answer.status, answer.read()) == (204, b"")
            client.request("GET", "/ends")
            answer = client.getresponse()
            assert (answer.getheader("X"), answer.read()) == ("y", b"piece")
            client.request("POST", "/echo", b"still here")
            assert client.getresponse().read() == b"still here"


def test_requests_that_are_sent_ahead_are_answered_in_order() -> None:
    with serving() as server, probing(server.port) as probe:
        probe.ask("POST", "/late", b"one")
        probe.ask("POST", "/echo", b"two")
        probe.ask("GET", "/no")
        assert [probe.answer() for _ in range(3)] == [(200, b"one"), (200, b"two"), (403, b"no")]


def test_a_body_may_arrive_in_chunks_and_byte_by_byte() -> None:
    with serving() as server, probing(server.port) as probe:
        head = f"POST /echo HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n"
        whole = f"{head}Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2;x=y\r\nde\r\n0\r\n\r\n"
        for byte in whole.encode():
            probe.send(bytes([byte]))
        assert probe.answer() == (200, b"abcde")


def test_a_client_that_expects_100_continue_gets_it() -> None:
    with serving() as server, probing(server.port) as probe:
        probe.ask("POST", "/echo", Content_Length="5", Expect="100-continue")
        assert probe.until(b"\r\n\r\n").startswith(b"HTTP/1.1 100 ")
        probe.send(b"hello")
        assert probe.answer() == (200, b"hello")


def test_a_client_that_expects_100_continue_gets_a_refusal_at_once() -> None:
    with serving() as server, probing(server.port) as probe:
        probe.ask("POST", "/no", Content_Length="5", Expect="100-continue")
        assert probe.answer() == (403, b"no")
        assert probe.rest() == b""


def test_the_body_of_a_request_that_was_refused_is_discarded() -> None:
    with serving() as server, probing(server.port) as probe:
        probe.ask("POST", "/no", b"x" * 100_000)
        probe.ask("POST", "/echo", b"next")
        assert [probe.answer() for _ in range(2)] == [(403, b"no"), (200, b"next")]


def test_a_large_body_of_a_request_that_was_refused_is_not_read() -> None:
    with serving() as server, probing(server.port) as probe:
        probe.ask("POST", "/no", Content_Length=str(1 << 40))
        assert probe.answer() == (403, b"no")
        assert probe.rest() == b""


def test_the_answer_to_head_has_no_body() -> None:
    with serving() as server, probing(server.port) as probe:
        probe.ask("HEAD", "/no")
        assert b"Content-Length: 2\r\n" in probe.until(b"\r\n\r\n")
        probe.ask("POST", "/echo", b"next")
        assert probe.answer() == (200, b"next")


def test_input_that_is_not_http_after_head_is_refused_as_such() -> None:
    with serving() as server, probing(server.port) as probe:
        probe.ask("HEAD", "/no")
        probe.until(b"\r\n\r\n")
        probe.send(b"hello\r\n\r\n")
        status, message = probe.answer()
        assert (status, bool(message)) == (400, True)
        assert server.echo() == b"hello"


def test_an_old_client_receives_a_stream_to_its_end() -> None:
    with serving() as server, probing(server.port) as probe:
        probe.send(f"GET /ends HTTP/1.0\r\nHost: 127.0.0.1:{server.port}\r\n\r\n".encode())
        assert probe.rest().endswith(b"\r\n\r\npiece")


def test_a_client_that_wants_to_close_is_closed() -> None:
    with serving() as server, probing(server.port) as probe:
        probe.ask("POST", "/echo", b"last", Connection="close")
        assert probe.answer() == (200, b"last")
        assert probe.rest() == b""


def test_a_connection_that_is_cut_ends_without_an_end() -> None:
    with serving() as server:
        client = http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE_S)
        with contextlib.closing(client):
            client.request("GET", "/cut")
            with pytest.raises(http.client.IncompleteRead):
                client.getresponse().read()
        assert server.echo() == b"hello"


def test_a_client_that_has_left_is_noticed() -> None:
    with serving() as server:
        with probing(server.port) as probe:
            probe.ask("GET", "/stream")
            probe.until(b"piece")
        assert server.handler.left.get(timeout=PATIENCE_S) == 1
        with probing(server.port) as probe:
            probe.ask("GET", "/never")
            server.handler.heard.get(timeout=PATIENCE_S)
            server.handler.heard.get(timeout=PATIENCE_S)
        assert server.handler.left.get(timeout=PATIENCE_S) == 2


# Clients that do not behave


def test_input_that_is_not_http_gets_400_and_ends_the_connection() -> None:
    with serving() as server, probing(server.port) as probe:
        probe.send(b"\x16\x03\x01 hello\r\n\r\n")
        assert probe.answer()[0] == 400
        assert probe.rest() == b""
        assert server.echo() == b"hello"


PIECES = (
    b"POST /echo HTTP/1.1\r\n",
    b"GET /stream HTTP/1.1\r\n",
    b"HEAD /no HTTP/1.1\r\n",
    b"CONNECT x:1 HTTP/1.1\r\n",
    b"DELETE /no HTTP/1.0\r\n",
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    b"Host: x\r\n",
    b"Content-Length: 5\r\n",
    b"Content-Length: 99999999999\r\n",
    b"Transfer-Encoding: chunked\r\n",
    b"Expect: 100-continue\r\n",
    b"Connection: Upgrade\r\nUpgrade: websocket\r\n",
    b"Connection: close\r\n",
    b"\r\n",
    b"\r\n",
    b"hello",
    b"5\r\nhello\r\n",
    b"0\r\n\r\n",
    b"\x00\xff",
)


def test_pieces_of_requests_in_any_order_are_not_the_end_of_it() -> None:
    chance = random.Random(7)
    with serving() as server:
        for _ in range(500):
            with probing(server.port) as probe, contextlib.suppress(ConnectionError):
                for _ in range(chance.randrange(1, 14)):
                    probe.send(chance.choice(PIECES))
        assert server.echo() == b"hello"


def test_a_request_without_a_host_is_400() -> None:
    with serving() as server, probing(server.port) as probe:
        probe.send(b"GET /echo HTTP/1.1\r\n\r\n")
        assert probe.answer()[0] == 400


def test_two_lengths_of_one_body_are_400() -> None:
    with serving() as server, probing(server.port) as probe:
        head = f"POST /echo HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n"
        probe.send(f"{head}Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello".encode())
        assert probe.answer()[0] == 400


def test_a_head_that_is_too_long_is_431() -> None:
    with serving() as server, probing(server.port) as probe:
        with contextlib.suppress(ConnectionError):
            probe.send(b"GET /echo HTTP/1.1\r\nX: " + b"x" * (1 << 20))
        assert probe.answer()[0] in (431, 0)
        assert server.echo() == b"hello"


@pytest.mark.parametrize("is_chunked", [False, True])
def test_a_body_that_is_too_long_is_413(is_chunked: bool) -> None:
    with serving(body_bytes=1000) as server, probing(server.port) as probe:
        if is_chunked:
            probe.ask("POST", "/echo", Transfer_Encoding="chunked")
            probe.send(b"400\r\n" + b"x" * 0x400 + b"\r\n")
        else:
            probe.ask("POST", "/echo", b"x" * 1001)
        status, message = probe.answer()
        assert (status, message) == (413, b"a message may have 1,000 bytes\n")
        assert probe.rest() == b""
        assert server.echo(b"x" * 1000) == b"x" * 1000


def test_bodies_that_are_too_much_together_are_503() -> None:
    part = b"x" * (3 << 20)
    with serving(all_bodies_bytes=4 << 20) as server, contextlib.ExitStack() as stack:
        probes = [stack.enter_context(probing(server.port)) for _ in range(2)]
        for probe in probes:
            probe.ask("POST", "/echo", Content_Length=str(len(part) + 1))
            with contextlib.suppress(ConnectionError):
                probe.send(part)
        # Whose bytes are read last is not ours to say.
        (message, *_), _, _ = select.select([probe.socket for probe in probes], [], [], PATIENCE_S)
        refused, other = sorted(probes, key=lambda probe: probe.socket is not message)
        assert refused.answer()[0] in (503, 0)
        other.send(b"x")
        assert other.answer() == (200, part + b"x")


@pytest.mark.parametrize(
    "begun", [b"", b"POST /ec", b"POST /echo HTTP/1.1\r\nContent-Length: 9\r\n"]
)
def test_a_client_that_takes_too_long_to_ask_is_disconnected(begun: bytes) -> None:
    with serving(request_s=0.1, idle_s=0.1) as server, probing(server.port) as probe:
        probe.send(begun)
        assert server.echo() == b"hello"
        assert probe.rest() == b""


def test_a_client_that_sends_byte_by_byte_gets_no_more_time() -> None:
    with serving(request_s=0.2) as server, probing(server.port) as probe:
        # Without an end of its own: it ends when the connection does.
        probe.socket.settimeout(0.01)
        while not is_closed(probe.socket):
            with contextlib.suppress(ConnectionError):
                probe.send(b"x")
        assert server.echo() == b"hello"


def test_an_idle_connection_is_closed_for_a_new_one() -> None:
    with serving(connections=3) as server, contextlib.ExitStack() as stack:
        probes = [stack.enter_context(probing(server.port)) for _ in range(12)]
        for probe in probes:
            probe.send(b"POST /echo HTTP/1.1\r\n")
        assert server.echo() == b"hello"
        assert probes[0].rest() == b""


def test_when_all_are_being_answered_the_next_one_is_503() -> None:
    with serving(connections=2) as server, contextlib.ExitStack() as stack:
        for _ in range(2):
            stack.enter_context(probing(server.port)).ask("GET", "/never")
            server.handler.heard.get(timeout=PATIENCE_S)
        late = stack.enter_context(probing(server.port))
        assert late.answer()[0] == 503


def test_a_client_that_never_reads_delays_no_other_and_is_disconnected() -> None:
    with serving(write_s=0.2) as server, probing(server.port) as probe:
        probe.ask("GET", "/flood")
        server.handler.heard.get(timeout=PATIENCE_S)
        assert server.echo() == b"hello"
        assert sorted(server.handler.left.get(timeout=PATIENCE_S) for _ in range(2)) == [1, 2]
        # What was in the pipes is read, and not all that there was to say.
        assert len(probe.rest()) < len(BIG)


def test_a_client_that_reads_slowly_gets_everything() -> None:
    with serving(write_s=PATIENCE_S) as server, probing(server.port) as probe:
        probe.ask("GET", "/big")
        assert probe.answer() == (200, BIG)


def test_a_client_with_too_much_unsent_data_is_disconnected() -> None:
    with serving(waiting_bytes=1 << 20) as server, probing(server.port) as probe:
        probe.ask("GET", "/big")
        assert len(probe.rest()) < len(BIG)
        assert server.echo() == b"hello"


def test_it_ends_while_clients_are_connected() -> None:
    with serving() as server, probing(server.port) as probe:
        probe.ask("GET", "/stream")
        probe.until(b"piece")
        server.stop.stop()
        assert probe.rest() is not None
