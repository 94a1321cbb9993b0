"""Captured values are put into a step in bounded time, whatever a server sent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from mcptest.core.plan import Expectation, Step, Template
from mcptest.engine import case
from mcptest.engine.case import Performer, UnsentError
from mcptest.transport.process.signals import CpuLimit

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

PLAIN = Step(line=b"{}\n", method="ping", expectation=Expectation())


def filled(fill: Callable[[Mapping[str, object]], Step]) -> Step:
    nobody: Any = None
    performer = Performer(nobody)
    return performer._fill(PLAIN.but(template=Template(needs=(), fill=fill)))


def test_a_request_that_takes_too_long_to_fill_is_not_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(case, "_FILL_LIMIT", CpuLimit(0.01))

    def fill(values: Mapping[str, object]) -> Step:
        while True:
            values.get("x")

    with pytest.raises(UnsentError) as caught:
        filled(fill)
    assert caught.value.fault.kind == "unusable_capture"
    assert "took more than 0.01 s" in caught.value.fault.message


def test_a_request_that_can_be_filled_is_sent() -> None:
    assert filled(lambda values: PLAIN) is PLAIN
