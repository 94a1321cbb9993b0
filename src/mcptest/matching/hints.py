"""Hints for failing tests: where the expected value is instead, and why an array differs.

Also notes on passing tests: checks that held only because there was nothing to check. The work is
bounded, so a server cannot make a report slow.
"""

from __future__ import annotations

from itertools import islice

from mcptest.core.record import ABSENT
from mcptest.core.text import parse_path, render_trail
from mcptest.matching.compare import AllOf, Each, Group, Partial
from mcptest.matching.patterns import Pattern
from mcptest.matching.values import describe_near_match, to_text, type_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from mcptest.core.results import Mismatch
    from mcptest.core.text import Trail

    Meets = Callable[[object, object], bool]

__all__ = ["Elsewhere", "array_hint", "find_idle_checks", "scalar_hint"]

_MAX_PLACES = 2000
# Of one array or object, so that what follows a long list is searched as well.
_MAX_MEMBERS = 100
_MAX_TEXT_CHARS = 10_000
_MAX_ELEMENTS = 50

# Patterns that say enough of a value for it to be known again.
_TELLING = frozenset(
    ["contains", "containsIgnoreCase", "startsWith", "endsWith", "equals", "equalsIgnoreCase"]
)


def scalar_hint(expected: object, actual: object) -> str:
    """How two values that are not equal are nearly so."""
    if isinstance(expected, str) and isinstance(actual, str):
        return describe_near_match(expected, actual, str.__eq__)
    if isinstance(expected, (dict, list)) or isinstance(actual, (dict, list)):
        return ""
    if to_text(expected) == to_text(actual):
        return f"the same, but {type_name(actual)} instead of {type_name(expected)}"
    return ""


class Elsewhere:
    """The places of one answer, looked through when something is not where it should be."""

    def __init__(self, root: object, trail: Trail, meets: Meets) -> None:
        self._meets = meets
        self._places = list(islice(_places(root, trail), _MAX_PLACES))

    def hint(self, mismatch: Mismatch, wanted: object) -> str:
        """Where the expected value is instead, "" when it is nowhere."""
        if mismatch.actual is ABSENT:
            steps = parse_path(mismatch.path)
            key = steps[-1] if steps else 0
            namesakes = [place for place in self._places if place[0] and place[0][1] == key]
            if isinstance(key, str):
                found = self._found(mismatch, wanted, namesakes)
                if found:
                    return f"it is at {found}"
                if namesakes and not _is_telling(wanted):
                    return f'there is a "{key}" at {_listed(namesakes)}'
        if not _is_telling(wanted):
            return ""
        places = self._places
        if isinstance(wanted, Pattern):
            # A string is meant, and not an array that has it somewhere.
            places = [place for place in places if isinstance(place[1], str)]
        found = self._found(mismatch, wanted, places)
        return f"the expected value is at {found}" if found else ""

    def _found(self, mismatch: Mismatch, wanted: object, places: list[tuple[Trail, object]]) -> str:
        """The first place that has it, and how many others do."""
        own = mismatch.path
        met = [
            (trail, value)
            for trail, value in places
            if _is_small(value) and self._meets(wanted, value) and render_trail(trail) != own
        ]
        return _listed(met) if met else ""


def _listed(places: list[tuple[Trail, object]]) -> str:
    first = render_trail(places[0][0]) or "the top of the answer"
    others = len(places) - 1
    if not others:
        return first
    return f"{first} and {others} other place{'s' if others > 1 else ''}"


def _places(root: object, trail: Trail) -> Iterator[tuple[Trail, object]]:
    level: list[tuple[Trail, object]] = [(trail, root)]
    while level:
        yield from level
        level = list(islice(_inside(level), _MAX_PLACES))


def _inside(level: list[tuple[Trail, object]]) -> Iterator[tuple[Trail, object]]:
    for trail, value in level:
        if isinstance(value, dict):
            for key, member in islice(value.items(), _MAX_MEMBERS):
                yield (trail, key), member
        elif isinstance(value, list):
            for index, element in enumerate(value[:_MAX_MEMBERS]):
                yield (trail, index), element


def _is_small(value: object) -> bool:
    return not isinstance(value, str) or len(value) <= _MAX_TEXT_CHARS


def _is_telling(wanted: object) -> bool:
    """True if a value is distinctive enough to be found elsewhere."""
    if isinstance(wanted, Pattern):
        return not wanted.negated and wanted.matcher.name in _TELLING
    if isinstance(wanted, bool) or wanted is None:
        return False
    if isinstance(wanted, (int, float)):
        return abs(wanted) >= 10
    if isinstance(wanted, dict):
        # {"type": "string"} is everywhere and says nothing.
        return len(wanted) > 1
    return isinstance(wanted, (str, list)) and len(wanted) > (2 if isinstance(wanted, str) else 0)


def array_hint(expected: list[object], actual: list[object], trail: Trail, meets: Meets) -> str:
    """Why two arrays that differ are nearly the same, "" when they are not."""
    if max(len(expected), len(actual)) > _MAX_ELEMENTS:
        return ""
    place = render_trail(trail) or "the array"
    if len(expected) == len(actual):
        is_shuffled = _is_shuffled(expected, actual, meets)
        return f"{place} has the same elements in another order" if is_shuffled else ""
    if not expected or not actual:
        return ""
    if len(actual) > len(expected):
        extra = _left_over(actual, expected, lambda got, wanted: meets(wanted, got))
        return _without(extra, "would match without") if extra else ""
    missing = _left_over(expected, actual, meets)
    return _without(missing, "has all but the expected") if missing else ""


def _without(indexes: list[int], words: str) -> str:
    return f"it {words} {', '.join(f'[{index}]' for index in indexes)}"


def _is_shuffled(expected: list[object], actual: list[object], meets: Meets) -> bool:
    waiting = list(actual)
    for wanted in expected:
        for index, got in enumerate(waiting):
            if meets(wanted, got):
                del waiting[index]
                break
        else:
            return False
    return len(expected) > 1


def _left_over(longer: list[object], shorter: list[object], meets: Meets) -> list[int]:
    """Which elements of the longer array must go for the rest to be the shorter one."""
    left: list[int] = []
    at = 0
    for index, element in enumerate(longer):
        if at < len(shorter) and meets(element, shorter[at]):
            at += 1
        else:
            left.append(index)
    # Only a surplus at the end is seen without a word.
    is_at_end = left == list(range(len(shorter), len(longer)))
    return left if at == len(shorter) and not is_at_end else []


def find_idle_checks(expected: object, actual: object, trail: Trail = None) -> Iterator[str]:
    """Where an expectation was met only because there was nothing to look at.

    An empty array has no element that could be wrong, and where there is no field, no relation
    between fields can hold that `match:not:` forbids.
    """
    if isinstance(expected, Group):
        yield from _idle_in_group(expected, actual, trail)
    elif isinstance(expected, Pattern):
        if why := expected.idle_reason(actual):
            place = render_trail(trail) or "the answer"
            yield f"{expected.source} checked nothing at {place}: {why}"
    elif isinstance(expected, dict) and isinstance(actual, dict):
        for key, wanted in expected.items():
            if key in actual:
                yield from find_idle_checks(wanted, actual[key], (trail, key))
    elif isinstance(expected, list) and isinstance(actual, list):
        for index, (wanted, got) in enumerate(zip(expected, actual, strict=False)):
            yield from find_idle_checks(wanted, got, (trail, index))


def _idle_in_group(group: Group, actual: object, trail: Trail) -> Iterator[str]:
    for check in group.checks:
        if isinstance(check, Each):
            yield from _idle_in_elements(check, actual, trail)
        elif isinstance(check, (Partial, Pattern)):
            inner = check.value if isinstance(check, Partial) else check
            yield from find_idle_checks(inner, actual, trail)
        elif isinstance(check, AllOf):
            for wanted in check.values:
                yield from find_idle_checks(wanted, actual, trail)
    yield from find_idle_checks(group.siblings, actual, trail)


def _idle_in_elements(check: Each, actual: object, trail: Trail) -> Iterator[str]:
    if actual == []:
        place = render_trail(trail) or "the answer"
        yield f"{place} is an empty array, so match:arrayElements checked nothing there"
    elif isinstance(actual, list):
        for index, element in enumerate(actual):
            yield from find_idle_checks(check.value, element, (trail, index))
