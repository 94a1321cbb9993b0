"""Read a schema where it harms nobody, before it is read here.

One that refers to itself over and over can take for ever to be read, or more room than there is,
and no signal to us ends that. It is tried in a process that can be ended.
"""

from __future__ import annotations

from mcptest.core.errors import EndedError, PatternTimeoutError
from mcptest.runner.apart import judge_apart
from mcptest.runner.launcher import Launcher
from mcptest.wire.alone import NoGuardian, NoInterrupts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["tried_alone", "tried_apart"]

_LIMIT_S = 1.0
# What somebody wrote for us has a little longer.
_OWN_LIMIT_S = 2.0


def tried_apart(
    launcher: Launcher, work: Callable[[], object], _text: str = "", limit_s: float = _LIMIT_S
) -> str:
    """Why this cannot be done here, "" when it can; what it finds wrong is not looked at."""
    try:
        return "".join(judge_apart(lambda: _tried(work), limit_s, launcher))
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
