"""Time limits on our own work: by what is computed, and by the clock."""

from __future__ import annotations

import threading

import pytest

from mcptest.core.errors import PatternTimeoutError
from mcptest.wire.cpu_limit import CpuLimit


def compute() -> None:
    with CpuLimit(0.05):
        while True:
            pass


def wait_at_most(seconds: float) -> None:
    limit = CpuLimit(60.0)
    with limit:
        limit.expire_in(seconds)
        threading.Event().wait()


def test_computing_for_too_long_is_ended() -> None:
    with pytest.raises(PatternTimeoutError):
        compute()


def test_waiting_is_ended_by_the_clock_only_where_that_was_asked_for() -> None:
    with pytest.raises(PatternTimeoutError):
        wait_at_most(0.05)


def test_a_cancelled_clock_ends_nothing() -> None:
    limit = CpuLimit(60.0)
    with limit:
        timer = limit.expire_in(60.0)
        timer.cancel()
        timer.join(10.0)
    assert not timer.is_alive()
