"""Names are looked up without anybody waiting, and addresses not at all."""

from __future__ import annotations

import os
import select
import socket
import threading

import pytest

from mcptest.transport.http.connection import NameLookup


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
def test_what_is_known_needs_no_thread(host: str, places: list[object]) -> None:
    before = threading.active_count()
    lookup = NameLookup(host, 9)
    assert threading.active_count() == before
    assert lookup.result() == places
    waited_for(lookup)
    lookup.close()


def test_a_name_that_nobody_knows_brings_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object, **__: object) -> None:
        raise socket.gaierror(-2, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", fails)
    lookup = NameLookup("nobody.invalid", 80)
    waited_for(lookup)
    assert lookup.result() == "Name or service not known"
    lookup.close()


def test_a_name_that_is_none_brings_a_reason() -> None:
    lookup = NameLookup("a" * 300 + ".invalid", 80)
    waited_for(lookup)
    assert isinstance(lookup.result(), str)
    lookup.close()


def test_a_lookup_that_nobody_waits_for_any_more_hurts_nobody(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    gate, done = threading.Event(), threading.Event()

    def slow(*_: object, **__: object) -> list[object]:
        assert gate.wait(20)
        return []

    close = os.close

    def closes(fd: int) -> None:
        close(fd)
        if threading.current_thread() is not threading.main_thread():
            done.set()

    monkeypatch.setattr(socket, "getaddrinfo", slow)
    monkeypatch.setattr(os, "close", closes)
    lookup = NameLookup("slow.example", 80)
    assert lookup.result() is None
    lookup.close()
    gate.set()
    assert done.wait(20)
