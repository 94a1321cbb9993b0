"""What passed without proving much, and should be said."""

from __future__ import annotations

from mcptest.core.paths import render_trail
from mcptest.matching.group import AllOf, Each, Group, Partial
from mcptest.matching.patterns import Pattern

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcptest.core.paths import Trail

__all__ = ["checked_nothing"]


def checked_nothing(expected: object, actual: object, trail: Trail = None) -> Iterator[str]:
    """Where an expectation was met only because there was nothing to look at.

    An empty array has no element that could be wrong, and where there is no field, no relation
    between fields can hold that `match:not:` forbids.
    """
    if isinstance(expected, Group):
        yield from _in_group(expected, actual, trail)
    elif isinstance(expected, Pattern):
        if why := expected.idle_reason(actual):
            place = render_trail(trail) or "the answer"
            yield f"{expected.source} checked nothing at {place}: {why}"
    elif isinstance(expected, dict) and isinstance(actual, dict):
        for key, wanted in expected.items():
            if key in actual:
                yield from checked_nothing(wanted, actual[key], (trail, key))
    elif isinstance(expected, list) and isinstance(actual, list):
        for index, (wanted, got) in enumerate(zip(expected, actual, strict=False)):
            yield from checked_nothing(wanted, got, (trail, index))


def _in_group(group: Group, actual: object, trail: Trail) -> Iterator[str]:
    for check in group.checks:
        if isinstance(check, Each):
            yield from _in_elements(check, actual, trail)
        elif isinstance(check, (Partial, Pattern)):
            inner = check.value if isinstance(check, Partial) else check
            yield from checked_nothing(inner, actual, trail)
        elif isinstance(check, AllOf):
            for wanted in check.values:
                yield from checked_nothing(wanted, actual, trail)
    yield from checked_nothing(group.siblings, actual, trail)


def _in_elements(check: Each, actual: object, trail: Trail) -> Iterator[str]:
    if actual == []:
        place = render_trail(trail) or "the answer"
        yield f"{place} is an empty array, so match:arrayElements checked nothing there"
    elif isinstance(actual, list):
        for index, element in enumerate(actual):
            yield from checked_nothing(check.value, element, (trail, index))
