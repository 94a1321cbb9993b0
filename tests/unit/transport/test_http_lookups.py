"""Names are looked up without blocking, and addresses not at all."""

from __future__ import annotations

import os
import select
import socket
import threading

import pytest

from mcptest.protocol.http_address import parse_url
from mcptest.transport.http.connection import NameLookup, look_up

# Nothing here waits for so long.
PATIENCE_S = 60.0


def waited_for(lookup: NameLookup) -> None:
    poll = select.poll()
    poll.register(lookup.fd, select.POLLIN)
    assert poll.poll(20_000)


@pytest.mark.parametrize(
    ("host", "places"),
    [
        ("127.0.0.1", [(socket.AF_INET, ("127.0.0.1", 9))]),
        ("::1", [(socket.AF_INET6, ("::1", 9, 0, 0))]),
        (
            "localhost",
            [(socket.AF_INET, ("127.0.0.1", 9)), (socket.AF_INET6, ("::1", 9, 0, 0))],
        ),
    ],
)
def test_a_known_address_needs_no_thread_and_no_descriptor(host: str, places: list[object]) -> None:
    before = threading.active_count()
    lookup = NameLookup(host, 9)
    assert threading.active_count() == before
    assert lookup.result() == places
    assert lookup.fd == -1
    lookup.close()


def test_addresses_that_are_known_are_not_waited_for() -> None:
    with socket.socket() as silent:
        address = parse_url("http://127.0.0.1:9/")
        found = look_up(address, PATIENCE_S, silent.fileno())
    assert found == [(socket.AF_INET, ("127.0.0.1", 9))]


def test_an_unknown_name_returns_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object, **__: object) -> None:
        raise socket.gaierror(-2, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", fails)
    lookup = NameLookup("nobody.invalid", 80)
    waited_for(lookup)
    assert lookup.result() == "Name or service not known"
    lookup.close()


def test_an_invalid_name_returns_a_reason() -> None:
    lookup = NameLookup("a" * 300 + ".invalid", 80)
    waited_for(lookup)
    assert isinstance(lookup.result(), str)
    lookup.close()


def test_an_abandoned_lookup_does_no_harm(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    gate = threading.Event()

    def slow(*_: object, **__: object) -> list[object]:
        assert gate.wait(20)
        return []

    monkeypatch.setattr(socket, "getaddrinfo", slow)
    lookup = NameLookup("slow.example", 80)
    assert lookup.result() is None
    before = set(os.listdir("/dev/fd"))
    lookup.close()
    # Another pipe gets the descriptors that are free now.
    reader, writer = os.pipe()
    assert {str(reader), str(writer)} <= before
    gate.set()
    for thread in threading.enumerate():
        if thread is not threading.current_thread():
            thread.join(20)
    assert select.select([reader], [], [], 0)[0] == []
    os.close(reader)
    os.close(writer)
