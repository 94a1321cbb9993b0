"""What counts as another signal, and what as the same one."""

from __future__ import annotations

import os
import signal
import time

from mcptest.wire.interrupts import Interrupts

LATER_S = 0.15


def heard(*signals: signal.Signals | float) -> tuple[int, list[str]]:
    """How many signals were counted, and whether the second one was acted on."""
    killed: list[str] = []
    with Interrupts() as interrupts:
        interrupts.on_second = lambda: killed.append("all")
        for each in signals:
            if isinstance(each, signal.Signals):
                os.kill(os.getpid(), each)
            else:
                time.sleep(each)
        return interrupts.count, killed


def test_the_same_signal_twice_at_once_is_one() -> None:
    """So `timeout` ends a run: with a signal to it, and the same to its group."""
    assert heard(signal.SIGTERM, signal.SIGTERM) == (1, [])
    assert heard(signal.SIGINT, signal.SIGINT, signal.SIGINT) == (1, [])


def test_the_same_signal_a_moment_later_is_the_second() -> None:
    assert heard(signal.SIGINT, LATER_S, signal.SIGINT) == (2, ["all"])


def test_a_key_that_is_held_down_counts_again_after_a_moment() -> None:
    count, killed = heard(*[signal.SIGINT, 0.04] * 4)
    assert (count, killed) == (2, ["all"])


def test_another_signal_is_the_second() -> None:
    assert heard(signal.SIGINT, signal.SIGTERM) == (2, ["all"])


def test_the_first_one_is_told_and_no_other() -> None:
    told: list[str] = []
    with Interrupts() as interrupts:
        interrupts.on_first = lambda: told.append("stopping")
        os.kill(os.getpid(), signal.SIGINT)
        os.kill(os.getpid(), signal.SIGTERM)
    assert told == ["stopping"]
