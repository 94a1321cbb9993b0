"""The server that notices being asked."""

from __future__ import annotations

import socket
import time

import pytest

from mcptest.transport.http import probe
from mcptest.transport.http.probe import CanaryServer


def test_a_connection_that_sends_nothing_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probe, "_REQUEST_S", 0.2)
    with CanaryServer() as server, socket.create_connection(("127.0.0.1", server.port), 5):
        deadline = time.monotonic() + 5
        while not server.targets and time.monotonic() < deadline:
            time.sleep(0.01)
        assert server.targets == [""]
