"""What passed without proving much, and should be said."""

from __future__ import annotations

from mcptest.core.paths import render_trail
from mcptest.matching.expectation import Group

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcptest.core.paths import Trail

__all__ = ["empty_arrays"]


def empty_arrays(expected: object, actual: object, trail: Trail = None) -> Iterator[str]:
    """Where `match:arrayElements` had no element to look at."""
    if isinstance(expected, Group):
        if expected.has_elements and actual == []:
            place = render_trail(trail) or "the answer"
            yield f"{place} is an empty array, so match:arrayElements checked nothing there"
        elif expected.has_elements and isinstance(actual, list):
            for index, element in enumerate(actual):
                yield from empty_arrays(expected.elements, element, (trail, index))
        for inner in (expected.partial, expected.siblings):
            yield from empty_arrays(inner, actual, trail)
    elif isinstance(expected, dict) and isinstance(actual, dict):
        for key in expected.keys() & actual.keys():
            yield from empty_arrays(expected[key], actual[key], (trail, key))
    elif isinstance(expected, list) and isinstance(actual, list):
        for index, (wanted, got) in enumerate(zip(expected, actual, strict=False)):
            yield from empty_arrays(wanted, got, (trail, index))
