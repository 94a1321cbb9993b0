"""Compare what was expected with what came, and yield every difference.

Strict by default: an object must have the keys that are written and no others, an
array the same length. Below `match:partial` only what is written is checked.
"""

from __future__ import annotations

from mcptest.core.outcome import ABSENT, Mismatch
from mcptest.core.paths import EVERY, render_trail
from mcptest.core.suggest import closest
from mcptest.matching.expectation import Extract, Group, written
from mcptest.matching.patterns import Pattern
from mcptest.matching.values import a_type, json_type, printed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcptest.core.paths import Trail

__all__ = ["compare", "is_same"]

_SCALARS = frozenset([str, int, bool, float])


def compare(
    expected: object, actual: object, trail: Trail = None, *, partial: bool = False
) -> Iterator[Mismatch]:
    """Every way in which `actual` is not what the compiled `expected` asks for."""
    if isinstance(expected, Pattern):
        mismatch = expected.mismatch(actual, trail)
        if mismatch:
            yield mismatch
    elif isinstance(expected, Group):
        yield from _compare_group(expected, actual, trail)
    elif isinstance(expected, dict) and isinstance(actual, dict):
        yield from _compare_objects(expected, actual, trail, partial)
    elif isinstance(expected, list) and isinstance(actual, list):
        yield from _compare_arrays(expected, actual, trail, partial)
    elif json_type(expected) != json_type(actual) or expected != actual:
        yield _difference(expected, actual, trail)


def is_same(expected: object, actual: object) -> bool:
    """Whether a plain expectation is met to the letter; False also means "look closer".

    Most tests of most suites pass, and most expectations are plain data: this sees it in a
    third of the time that looking for differences takes.
    """
    kind = type(expected)
    if kind is not type(actual):
        return False
    if kind is dict:
        return _are_same_objects(expected, actual)  # type: ignore[arg-type]  # both are dicts
    if kind is list:
        return len(expected) == len(actual) and all(map(is_same, expected, actual))  # type: ignore[arg-type,call-overload]  # both are lists
    return (kind in _SCALARS or expected is None) and expected == actual


def _are_same_objects(expected: dict[str, object], actual: dict[str, object]) -> bool:
    if len(expected) != len(actual):
        return False
    for key, wanted in expected.items():
        got = actual.get(key, ABSENT)
        if type(wanted) is str:
            if wanted != got:
                return False
        elif not is_same(wanted, got):
            return False
    return True


def _compare_objects(
    expected: dict[str, object], actual: dict[str, object], trail: Trail, partial: bool
) -> Iterator[Mismatch]:
    for key, wanted in expected.items():
        if key in actual:
            got = actual[key]
            # Most of any answer is equal scalars; they need no trail and no generator.
            if type(wanted) is not type(got) or type(wanted) not in _SCALARS or wanted != got:
                yield from compare(wanted, got, (trail, key), partial=partial)
        elif not _accepts_absence(wanted, partial):
            yield _missing(wanted, (trail, key), actual, expected)
    if not partial and not actual.keys() <= expected.keys():
        for key, surplus in actual.items():
            if key not in expected:
                yield _surplus(surplus, (trail, key))


def _compare_arrays(
    expected: list[object], actual: list[object], trail: Trail, partial: bool
) -> Iterator[Mismatch]:
    for index, wanted in enumerate(expected):
        if index < len(actual):
            yield from compare(wanted, actual[index], (trail, index), partial=partial)
        else:
            yield _missing(wanted, (trail, index))
    if not partial:
        for index in range(len(expected), len(actual)):
            yield _surplus(actual[index], (trail, index))


def _compare_group(group: Group, actual: object, trail: Trail) -> Iterator[Mismatch]:
    if group.has_partial:
        yield from compare(group.partial, actual, trail, partial=True)
    if group.has_elements:
        yield from _compare_elements(group.elements, actual, trail)
    if group.extract:
        yield from _compare_extract(group.extract, actual, trail)
    if group.siblings:
        yield from compare(group.siblings, actual, trail, partial=True)


def _compare_elements(wanted: object, actual: object, trail: Trail) -> Iterator[Mismatch]:
    if not isinstance(actual, list):
        message = f"expected an array for match:arrayElements, got {a_type(actual)}"
        yield Mismatch(
            path=render_trail(trail), expected=written(wanted), actual=actual, message=message
        )
        return
    for index, element in enumerate(actual):
        yield from compare(wanted, element, (trail, index))


def _compare_extract(extract: Extract, actual: object, trail: Trail) -> Iterator[Mismatch]:
    found, missing_at = _pull(actual, extract.steps)
    inner = trail
    for step in extract.steps:
        inner = (inner, step)
    if found is ABSENT:
        message = f"match:extractField finds nothing at {extract.path}"
        yield Mismatch(
            path=render_trail(inner),
            expected=written(extract.value),
            actual=ABSENT,
            message=f"{message}: {missing_at}",
        )
    else:
        yield from compare(extract.value, found, inner)


def _pull(value: object, steps: tuple[str | int, ...]) -> tuple[object, str]:
    """What stands at the steps, or ABSENT and where the way ended; "*" gives a list."""
    for at, step in enumerate(steps):
        if step is EVERY:
            inner = _members(value)
            if inner is None:
                return ABSENT, f"there is {a_type(value)} where * wants an array"
            pulled = [_pull(element, steps[at + 1 :])[0] for element in inner]
            # An element without the field must not vanish: it stands as null.
            return [None if element is ABSENT else element for element in pulled], ""
        value, why = _step_into(value, step)
        if value is ABSENT:
            return ABSENT, why
    return value, ""


def _members(value: object) -> list[object] | None:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else None


def _step_into(value: object, step: str | int) -> tuple[object, str]:
    if isinstance(value, dict) and isinstance(step, str):
        if step in value:
            return value[step], ""
        near = closest(step, value)
        hint = f'; there is "{near}"' if near else ""
        return ABSENT, f'no key "{step}"{hint}'
    if isinstance(value, list) and str(step).isdecimal():
        index = int(step)
        if index < len(value):
            return value[index], ""
        return ABSENT, f"no element {index} among {len(value)}"
    return ABSENT, f'there is {a_type(value)} where "{step}" should be'


def _accepts_absence(wanted: object, partial: bool) -> bool:
    return isinstance(wanted, Pattern) and (wanted.accepts_absence or (partial and wanted.negated))


def _missing(
    wanted: object,
    trail: Trail,
    actual: dict[str, object] | None = None,
    expected: dict[str, object] | None = None,
) -> Mismatch:
    if isinstance(wanted, Pattern):
        mismatch = wanted.absence(trail)
    else:
        mismatch = Mismatch(
            path=render_trail(trail), expected=written(wanted), actual=ABSENT, message="is missing"
        )
    if actual and expected and trail:
        unclaimed = [key for key in actual if key not in expected]
        near = closest(str(trail[1]), unclaimed)
        if near:
            return mismatch.but(hint=f'there is "{near}"')
    return mismatch


def _surplus(value: object, trail: Trail) -> Mismatch:
    return Mismatch(
        path=render_trail(trail), expected=ABSENT, actual=value, message="is not expected"
    )


def _difference(expected: object, actual: object, trail: Trail) -> Mismatch:
    shown = written(expected)
    message = "differs"
    if json_type(shown) != json_type(actual):
        message = f"expected {a_type(shown)}, got {a_type(actual)}"
    return Mismatch(
        path=render_trail(trail),
        expected=shown,
        actual=actual,
        message=message,
        hint=_hint(shown, actual),
    )


def _hint(expected: object, actual: object) -> str:
    if isinstance(expected, str) and isinstance(actual, str):
        if expected.casefold() == actual.casefold():
            return "differs only in case"
        if expected.split() == actual.split():
            return "differs only in white space"
    elif not _is_container(expected, actual) and printed(expected) == printed(actual):
        return f"the same, but {a_type(actual)} instead of {a_type(expected)}"
    return ""


def _is_container(*values: object) -> bool:
    return any(isinstance(value, (dict, list)) for value in values)
