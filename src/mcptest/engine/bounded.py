"""Work that a timer cannot interrupt, done in a process that can be killed.

Two kinds of work need this: matchers from Python packages (`bound_checks`), and JSON Schemas that
refer to themselves, which may take for ever or all memory to read (`find_read_failure`).
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

__all__ = ["bound_checks", "find_read_failure", "find_read_failure_alone"]


def bound_checks(expectation: Expectation, limit_s: float, launcher: Launcher) -> Expectation:
    """The expectation with each foreign check limited to this time, in a process of its own.

    Used where the answer cannot be judged as a whole in another process, because plugins or
    snapshots take part: a forked copy of this process could not speak with them.
    """

    def change(pattern: Pattern) -> Pattern:
        matcher = pattern.matcher
        if not matcher.is_foreign:
            return pattern
        check = partial(_check_isolated, matcher.check, limit_s, launcher)
        return pattern.but(matcher=matcher.but(check=check))

    return expectation.but(
        response=map_patterns(expectation.response, change),
        stderr=map_patterns(expectation.stderr, change),
        notifications=tuple(map_patterns(each, change) for each in expectation.notifications),
        assertions=tuple(
            each.but(check=map_patterns(each.check, change)) for each in expectation.assertions
        ),
    )


def _check_isolated(
    check: Callable[..., Miss | None],
    limit_s: float,
    launcher: Launcher,
    parameter: Any,
    actual: object,
) -> Miss | None:
    def run_check() -> tuple[tuple[str, str], ...]:
        miss = check(parameter, actual)
        return ((miss.why, miss.hint() if miss.hint else ""),) if miss else ()

    found = judge_in_child(run_check, limit_s, launcher)
    if not found:
        return None
    why, hint = found[0]
    return Miss(why=why, hint=(lambda: hint) if hint else None)


_LIMIT_S = 1.0
# For schemas in test files, which are read before anything runs.
_ALONE_LIMIT_S = 2.0


def find_read_failure(
    launcher: Launcher, work: Callable[[], object], _text: str = "", limit_s: float = _LIMIT_S
) -> str:
    """Why this work cannot be done in this process, "" when it can.

    Exceptions that the work raises are not failures here: they occur again when it is done.
    """
    try:
        return "".join(judge_in_child(lambda: _describe_crash(work), limit_s, launcher))
    except PatternTimeoutError:
        return f"takes over {limit_s:g} s to read"
    except EndedError as error:
        return f"ends the program that reads it: {error.how}"


def find_read_failure_alone(work: Callable[[], object]) -> str:
    """The same before a run has begun."""
    launcher = Launcher(guardian=NoGuardian(), interrupts=NoInterrupts())  # type: ignore[arg-type]  # implement what is used here
    return find_read_failure(launcher, work, limit_s=_ALONE_LIMIT_S)


def _describe_crash(work: Callable[[], object]) -> tuple[str, ...]:
    try:
        work()
    except Exception:  # noqa: BLE001  # it is raised again when the schema is read
        return ()
    except BaseException as error:  # noqa: BLE001  # SystemExit and the like
        return (f"ends the program that reads it: {type(error).__name__}",)
    return ()
