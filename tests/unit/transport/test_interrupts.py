"""What counts as another signal, and what as the same one."""

from __future__ import annotations

import os
import signal

import pytest

from mcptest.transport.process import signals as module
from mcptest.transport.process.signals import Interrupts

LATER_S = 0.15


class Clock:
    """Advances only on request: on a busy machine one signal must not become two."""

    def __init__(self) -> None:
        self.now = 100.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(module, "time", clock)
    return clock


def counted(clock: Clock, *signals: signal.Signals | float) -> tuple[int, list[str]]:
    """How many signals were counted, and whether the second one was acted on."""
    killed: list[str] = []
    with Interrupts() as interrupts:
        interrupts.on_second = lambda: killed.append("all")
        for each in signals:
            if isinstance(each, signal.Signals):
                os.kill(os.getpid(), each)
            else:
                clock.now += each
        return interrupts.count, killed


def test_the_same_signal_twice_at_once_is_one(clock: Clock) -> None:
    """So `timeout` ends a run: with a signal to it, and the same to its group."""
    assert counted(clock, signal.SIGTERM, signal.SIGTERM) == (1, [])
    assert counted(clock, signal.SIGINT, signal.SIGINT, signal.SIGINT) == (1, [])


def test_the_same_signal_a_moment_later_is_the_second(clock: Clock) -> None:
    assert counted(clock, signal.SIGINT, LATER_S, signal.SIGINT) == (2, ["all"])


def test_a_key_that_is_held_down_counts_again_after_a_moment(clock: Clock) -> None:
    count, killed = counted(clock, *[signal.SIGINT, 0.04] * 4)
    assert (count, killed) == (2, ["all"])


def test_another_signal_is_the_second(clock: Clock) -> None:
    assert counted(clock, signal.SIGINT, signal.SIGTERM) == (2, ["all"])


def test_only_the_first_one_is_reported() -> None:
    message: list[str] = []
    with Interrupts() as interrupts:
        interrupts.on_first = lambda: message.append("stopping")
        os.kill(os.getpid(), signal.SIGINT)
        os.kill(os.getpid(), signal.SIGTERM)
    assert message == ["stopping"]
