"""Checks that no signal to us can end, made one by one in processes that can be ended.

An answer is judged as a whole in a process of its own where that is possible. It is not where
plugins or snapshots are asked as well: a copy of this process could not speak with them.
"""

from __future__ import annotations

from functools import partial

from mcptest.core.errors import EndedError, PatternTimeoutError
from mcptest.engine.server import Launcher
from mcptest.matching.compare import map_patterns
from mcptest.matching.registry import Miss
from mcptest.transport.process.guardian import NoGuardian, NoInterrupts
from mcptest.transport.process.isolated import judge_in_child

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from mcptest.core.plan import Expectation
    from mcptest.matching.patterns import Pattern

__all__ = ["bounded", "tried_alone", "tried_apart"]


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

    found = judge_in_child(told, limit_s, launcher)
    if not found:
        return None
    why, hint = found[0]
    return Miss(why=why, hint=(lambda: hint) if hint else None)


# Read a schema where it harms nobody, before it is read here.
#
# One that refers to itself over and over can take for ever to be read, or more room than there is,
# and no signal to us ends that. It is tried in a process that can be ended.


_LIMIT_S = 1.0
# What somebody wrote for us has a little longer.
_OWN_LIMIT_S = 2.0


def tried_apart(
    launcher: Launcher, work: Callable[[], object], _text: str = "", limit_s: float = _LIMIT_S
) -> str:
    """Why this cannot be done here, "" when it can; what it finds wrong is not looked at."""
    try:
        return "".join(judge_in_child(lambda: _tried(work), limit_s, launcher))
    except PatternTimeoutError:
        return f"takes over {limit_s:g} s to read"
    except EndedError as error:
        return f"ends the program that reads it: {error.how}"


def tried_alone(work: Callable[[], object]) -> str:
    """The same where nothing is run yet."""
    launcher = Launcher(guardian=NoGuardian(), interrupts=NoInterrupts())  # type: ignore[arg-type]  # all that is asked of them here
    return tried_apart(launcher, work, limit_s=_OWN_LIMIT_S)


def _tried(work: Callable[[], object]) -> tuple[str, ...]:
    try:
        work()
    except Exception:  # noqa: BLE001  # what is wrong with it is told when it is read here
        return ()
    except BaseException as error:  # noqa: BLE001  # as above; nobody would be there to tell it
        return (f"ends the program that reads it: {type(error).__name__}",)
    return ()
