"""Matchers and reporters of Python packages that are installed beside us, by entry points.

A package names a function under `mcptest.matchers` in its metadata; it is called with
`register` and gives it `Matcher`s. Under `mcptest.reporters` it names a class of a reporter.
Looking for entry points is slow, so nobody does it before a name is met that is none of ours.
"""

from __future__ import annotations

from functools import partial
from importlib.metadata import entry_points

from mcptest.core.errors import CheckError, McptestError, UsageError
from mcptest.core.outcome import Fault
from mcptest.core.visible import visible
from mcptest.matching.registry import Matcher, Miss, ParameterError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from importlib.metadata import EntryPoint
    from typing import Any

__all__ = ["MATCHERS", "REPORTERS", "installed_matchers", "installed_reporters", "owner_of"]

MATCHERS, REPORTERS = "mcptest.matchers", "mcptest.reporters"


def installed_matchers() -> list[Matcher]:
    """Every matcher that an installed package registers, made safe to use."""
    found: list[Matcher] = []
    for point in entry_points(group=MATCHERS):
        owner = owner_of(point)
        try:
            point.load()(partial(_take, found, owner))
        except McptestError:
            raise
        except Exception as error:
            raise _unusable(owner, error) from error
    return found


def installed_reporters() -> dict[str, EntryPoint]:
    """The reporters that installed packages bring, by name; one owner each."""
    found: dict[str, EntryPoint] = {}
    for point in entry_points(group=REPORTERS):
        other = found.setdefault(point.name, point)
        if other is not point:
            owners = f"{owner_of(other)} and {owner_of(point)}"
            message = f"the reporter {visible(point.name)!r} has two owners: {owners}"
            raise UsageError(message, "uninstall one of them")
    return found


def owner_of(point: EntryPoint) -> str:
    """Who brings an entry point, in words."""
    package = f"{point.dist.name} {point.dist.version}" if point.dist else "an unknown package"
    return f"the package {visible(package)} ({visible(point.value)})"


def _unusable(owner: str, error: Exception) -> UsageError:
    why = visible(f"{type(error).__name__}: {error}")
    return UsageError(f"{owner} cannot be used: {why}", "update it, or uninstall it")


def _take(found: list[Matcher], owner: str, matcher: Matcher) -> None:
    if not isinstance(matcher, Matcher):
        raise UsageError(f"{owner} registers {visible(repr(matcher))}, which is no Matcher")
    found.append(
        matcher.but(
            owner=owner,
            parse=partial(_parse, matcher),
            check=partial(_check, matcher, owner),
            # Nobody knows what it does, so it is bounded in time like everything from outside.
            is_slow=True,
            is_foreign=True,
        )
    )


def _parse(matcher: Matcher, *texts: Any) -> Any:
    try:
        return matcher.parse(*texts)
    except ParameterError:
        raise
    except Exception as error:  # noqa: BLE001  # whatever somebody else's code raises
        raise ParameterError(f"cannot read its parameters: {visible(str(error))}") from None


def _check(matcher: Matcher, owner: str, parameter: Any, actual: object) -> Miss | None:
    found: Any
    try:
        found = matcher.check(parameter, actual)
    except Exception as error:  # noqa: BLE001  # whatever somebody else's code raises
        why = f"raised {type(error).__name__}: {error}"
    else:
        if found is None or isinstance(found, Miss):
            return found
        if isinstance(found, str):
            return Miss(why=found)
        why = f"returned {found!r}; it returns None when the value is right, else why not, as text"
    message = f"the matcher {matcher.name!r} of {owner} {visible(why)}"
    raise CheckError(Fault(kind="plugin_failed", message=message))
