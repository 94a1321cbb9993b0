"""The wall-clock limit ends foreign code, and does not disturb other timers."""

from __future__ import annotations

import contextlib
import signal
import threading
from typing import TYPE_CHECKING

import pytest

from mcptest.transport.process.signals import OverdueError, WallLimit

if TYPE_CHECKING:
    from collections.abc import Iterator

LONG_S = 60.0


@pytest.fixture(autouse=True)
def as_it_was() -> Iterator[None]:
    """No timer and no handler is left behind, whatever a test does."""
    before = signal.getsignal(signal.SIGALRM)
    yield
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


def test_a_wait_that_takes_too_long_is_ended() -> None:
    before = signal.getsignal(signal.SIGALRM)
    with pytest.raises(OverdueError), WallLimit(0.02):
        threading.Event().wait(LONG_S)
    assert signal.getsignal(signal.SIGALRM) == before
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


def test_work_that_is_quick_enough_is_not_interrupted() -> None:
    with WallLimit(LONG_S):
        done = True
    assert done
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


@pytest.mark.slow
def test_code_that_swallows_it_once_is_ended_by_the_next() -> None:
    def stubborn() -> None:
        with contextlib.suppress(BaseException):
            threading.Event().wait(LONG_S)
        threading.Event().wait(LONG_S)

    with pytest.raises(OverdueError), WallLimit(0.02):
        stubborn()


def test_another_timer_continues_afterwards() -> None:
    signal.setitimer(signal.ITIMER_REAL, LONG_S)
    with WallLimit(LONG_S):
        pass
    assert 0 < signal.getitimer(signal.ITIMER_REAL)[0] <= LONG_S


def test_another_timer_that_expires_first_fires_first() -> None:
    received: list[int] = []
    signal.signal(signal.SIGALRM, lambda number, frame: received.append(number))
    signal.setitimer(signal.ITIMER_REAL, 0.02)
    with pytest.raises(OverdueError), WallLimit(LONG_S):
        threading.Event().wait(LONG_S)
    assert received == [signal.SIGALRM]


def test_in_another_thread_nothing_is_bounded() -> None:
    done: list[bool] = []

    def work() -> None:
        with WallLimit(0.0):
            done.append(True)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join(LONG_S)
    assert done == [True]
