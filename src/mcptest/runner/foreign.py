"""Checks that no signal to us can end, made one by one in processes that can be ended.

An answer is judged as a whole in a process of its own where that is possible. It is not where
plugins or snapshots are asked as well: a copy of this process could not speak with them.
"""

from __future__ import annotations

from functools import partial

from mcptest.matching.compare import map_patterns
from mcptest.matching.registry import Miss
from mcptest.runner.apart import judge_apart

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from mcptest.core.plan import Expectation
    from mcptest.matching.patterns import Pattern
    from mcptest.runner.launcher import Launcher

__all__ = ["bounded"]


def bounded(expectation: Expectation, limit_s: float, launcher: Launcher) -> Expectation:
    """The same expectation, in which each such check has this long and a process of its own."""

    def change(pattern: Pattern) -> Pattern:
        matcher = pattern.matcher
        if not matcher.is_foreign:
            return pattern
        check = partial(_check_apart, matcher.check, limit_s, launcher)
        return pattern.but(matcher=matcher.but(check=check))

    return expectation.but(
        response=map_patterns(expectation.response, change),
        stderr=map_patterns(expectation.stderr, change),
        notifications=tuple(map_patterns(each, change) for each in expectation.notifications),
        assertions=tuple(
            each.but(check=map_patterns(each.check, change)) for each in expectation.assertions
        ),
    )


def _check_apart(
    check: Callable[..., Miss | None],
    limit_s: float,
    launcher: Launcher,
    parameter: Any,
    actual: object,
) -> Miss | None:
    def told() -> tuple[tuple[str, str], ...]:
        miss = check(parameter, actual)
        return ((miss.why, miss.hint() if miss.hint else ""),) if miss else ()

    found = judge_apart(told, limit_s, launcher)
    if not found:
        return None
    why, hint = found[0]
    return Miss(why=why, hint=(lambda: hint) if hint else None)
