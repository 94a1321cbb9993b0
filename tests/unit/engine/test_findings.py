"""Findings about a server beside its tests."""

from __future__ import annotations

import pytest

from mcptest.engine.connection import Findings
from mcptest.protocol.framing import LineDecoder, Noise
from mcptest.transport.process.stopping import Stopped


@pytest.mark.parametrize(
    ("exit_code", "message"),
    [
        (5, "the server ended with exit status 5"),
        (-9, "the server was killed by SIGKILL"),
        (-11, "the server was killed by SIGSEGV"),
        (0, "the server ended before it was asked to"),
    ],
)
def test_how_a_server_ended_is_a_sentence(exit_code: int, message: str) -> None:
    findings = Findings("shop")
    stopped = Stopped(ended_by="exited", exit_code=exit_code, took_s=0.0, left_behind={})
    findings.note_ending(stopped, LineDecoder(), is_reported=False)
    assert [(each.kind, each.message) for each in findings] == [("unclean_end", message)]


def test_the_end_of_a_server_that_was_killed_at_once_is_ours() -> None:
    findings = Findings("shop")
    stopped = Stopped(ended_by="at_once", exit_code=-9, took_s=0.0, left_behind={})
    findings.note_ending(stopped, LineDecoder(), is_reported=False)
    assert list(findings) == []


def test_a_banner_on_stdout_gets_the_advice_to_use_stderr() -> None:
    findings = Findings("shop")
    findings.add_noise(Noise(raw=b"hi", size=2, reason="it does not begin like JSON", line=1))
    (found,) = findings
    assert found.message == (
        "the server wrote to stdout something that is not a message; logs belong on stderr"
    )
