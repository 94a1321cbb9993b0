"""Schemas that are tried in a process of their own before they are read."""

from __future__ import annotations

import os
import signal
import time
from typing import TYPE_CHECKING, NoReturn

import pytest

from mcptest.engine import judge
from mcptest.engine.judge import find_read_failure_alone

if TYPE_CHECKING:
    from collections.abc import Callable


def crash() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def leave() -> NoReturn:
    os._exit(3)


def wrong() -> NoReturn:
    raise ValueError("no schema")


def panic() -> NoReturn:
    raise KeyboardInterrupt


def hang() -> None:
    time.sleep(60)


@pytest.mark.parametrize("work", [lambda: "a validator", wrong])
def test_small_values_are_read_in_this_process(work: Callable[[], object]) -> None:
    assert find_read_failure_alone(work) == ""


@pytest.mark.parametrize(
    ("work", "why"),
    [
        (crash, "ends the program that reads it: killed by signal 9"),
        (leave, "ends the program that reads it: exit status 3"),
        (panic, "ends the program that reads it: KeyboardInterrupt"),
    ],
)
def test_a_computation_that_would_crash_us_is_reported(
    work: Callable[[], object], why: str
) -> None:
    assert find_read_failure_alone(work) == why


def test_a_computation_that_takes_forever_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judge, "_ALONE_LIMIT_S", 0.2)
    assert find_read_failure_alone(hang) == "takes over 0.2 s to read"
