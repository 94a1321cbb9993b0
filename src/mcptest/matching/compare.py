"""Compare an expectation with an actual value, and yield every difference.

Strict by default: an object must have the keys that are written and no others, an array the same
length. Under `match:partial` only what is written is checked. The compiled form of an expectation
is plain dicts, lists and scalars, with a `Pattern` for a string that began with `match:` and a
`Group` for a mapping with directives.
"""

from __future__ import annotations

from functools import partial as bound
from itertools import islice

from mcptest.core.diagnostics import closest
from mcptest.core.errors import CheckError
from mcptest.core.results import Mismatch
from mcptest.core.text import describe_place, render_trail
from mcptest.core.value_class import ABSENT, Record
from mcptest.matching.json_values import (
    common_prefix,
    describe_none,
    is_long,
    json_type,
    pull,
    type_name,
    why_unmatched,
)
from mcptest.matching.patterns import Pattern

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any

    from mcptest.core.plan import Leniency
    from mcptest.core.text import Trail
    from mcptest.matching.diff import Elsewhere
    from mcptest.matching.json_values import Steps

    # A mismatch, the value to look for elsewhere (ABSENT when that would not help), and a function
    # for a hint, called only for mismatches that are shown.
    Difference = tuple[Mismatch, object, Callable[[], str] | None]

__all__ = [
    "AllOf",
    "AnyOf",
    "Each",
    "Extract",
    "Group",
    "Not",
    "Partial",
    "Some",
    "compare",
    "idle_negation",
    "is_met",
    "is_same",
    "map_patterns",
    "source_of",
    "without_negations",
]

# The compiled form of an expectation


class Partial(Record):
    """`match:partial`: only what is written is checked."""

    value: object


class Each(Record):
    """`match:arrayElements`: what every element must be."""

    value: object


class Some(Record):
    """`match:anyElement`: what at least one element must be."""

    value: object


class Extract(Record):
    """`match:extractField`: where to look, and what must be there."""

    path: str
    steps: Steps
    value: object


class AllOf(Record):
    """`match:all`: all of these must hold of one value."""

    values: tuple[object, ...]


class AnyOf(Record):
    """`match:any`: one of these must hold."""

    values: tuple[object, ...]


class Not(Record):
    """`not` of a suite, a negation: this must not hold."""

    value: object


class Group(Record):
    """A mapping with directives; all of them, and the siblings, apply to one value.

    `source` is what the author wrote. A `Pattern` among the checks is a `match:crossField`.
    """

    source: dict[str, object]
    checks: tuple[Partial | Each | Some | Extract | AllOf | AnyOf | Not | Pattern, ...] = ()
    siblings: dict[str, object] | None = None


_WITH_VALUE = (Partial, Each, Some, Extract, Not)


def _patterns_in(compiled: object) -> Iterator[Pattern]:
    """Every pattern of a compiled expectation."""
    if isinstance(compiled, Pattern):
        yield compiled
    elif isinstance(compiled, Group):
        for check in compiled.checks:
            yield from _patterns_in(check)
        yield from _patterns_in(compiled.siblings)
    elif isinstance(compiled, (AllOf, AnyOf)):
        yield from _patterns_in(list(compiled.values))
    elif isinstance(compiled, _WITH_VALUE):
        yield from _patterns_in(compiled.value)
    elif isinstance(compiled, (dict, list)):
        for inner in compiled.values() if isinstance(compiled, dict) else compiled:
            yield from _patterns_in(inner)


def map_patterns(compiled: object, change: Callable[[Pattern], Pattern]) -> Any:
    """The same expectation with every pattern changed."""
    if isinstance(compiled, Pattern):
        return change(compiled)
    if isinstance(compiled, Group):
        checks = tuple(map_patterns(check, change) for check in compiled.checks)
        return compiled.but(checks=checks, siblings=map_patterns(compiled.siblings, change))
    if isinstance(compiled, (AllOf, AnyOf)):
        return compiled.but(values=tuple(map_patterns(list(compiled.values), change)))
    if isinstance(compiled, _WITH_VALUE):
        return compiled.but(value=map_patterns(compiled.value, change))
    if isinstance(compiled, dict):
        return {key: map_patterns(inner, change) for key, inner in compiled.items()}
    if isinstance(compiled, list):
        return [map_patterns(inner, change) for inner in compiled]
    return compiled


def without_negations(compiled: object) -> Any:
    """The same expectation with every negation replaced by one that no value meets.

    If a check holds only with its negations, it may hold because there is no value at all.
    `match:not:exists` is kept: it is about exactly that.
    """
    if isinstance(compiled, Pattern):
        is_negation = compiled.negated and not compiled.accepts_absence
        return Group(source={}, checks=(_NEVER,)) if is_negation else compiled
    if isinstance(compiled, Not):
        inner = compiled.value
        is_existence = isinstance(inner, Pattern) and inner.matcher.name == "exists"
        return compiled if is_existence else _NEVER
    if isinstance(compiled, Group):
        # A pattern among the checks has paths of its own and checks them itself.
        checks = compiled.checks
        return compiled.but(
            checks=tuple(
                each if isinstance(each, Pattern) else without_negations(each) for each in checks
            )
        )
    if isinstance(compiled, (AllOf, AnyOf)):
        return compiled.but(values=tuple(map(without_negations, compiled.values)))
    if isinstance(compiled, _WITH_VALUE):
        return compiled.but(value=without_negations(compiled.value))
    return compiled


# An expectation that no value meets.
_NEVER = AnyOf(values=())


def source_of(compiled: object) -> object:
    """What the author wrote, from the compiled form."""
    if isinstance(compiled, dict):
        return {key: source_of(value) for key, value in compiled.items()}
    if isinstance(compiled, list):
        return [source_of(value) for value in compiled]
    # Patterns, groups and refs have a source; everything else is as it was written.
    return getattr(compiled, "source", compiled)


_SCALARS = frozenset([str, int, bool, float])

# How many mismatches get a hint.
_MAX_HINTED = 50
# How many elements or choices are tried to find the one that is nearest.
_MAX_TRIED = 100
# How many differences of each of them are counted.
_MAX_COUNTED = 50


def compare(
    expected: object, actual: object, trail: Trail = None, *, leniency: Leniency = ""
) -> Iterator[Mismatch]:
    """Every difference between `actual` and the compiled `expected`, with hints."""
    elsewhere: Elsewhere | None = None
    found = _differences(expected, actual, trail, leniency)
    for mismatch, wanted, find_hint in islice(found, _MAX_HINTED):
        try:
            hint = mismatch.hint or (find_hint() if find_hint else "")
            if not hint and wanted is not ABSENT and not _is_remote(wanted):
                if elsewhere is None:
                    # Only a failing test needs hints.
                    from mcptest.matching.diff import Elsewhere  # noqa: PLC0415

                    elsewhere = Elsewhere(actual, trail, is_met)
                hint = elsewhere.hint(mismatch, wanted)
        except CheckError:
            hint = ""  # a check that fails elsewhere must not change the verdict
        yield mismatch.but(hint=hint) if hint else mismatch
    for mismatch, _, _ in found:
        yield mismatch


def _is_remote(expected: object) -> bool:
    """True if another process is asked, which is done once for a verdict and never for a hint."""
    return any(pattern.matcher.is_remote for pattern in _patterns_in(expected))


def is_met(expected: object, actual: object, trail: Trail = None) -> bool:
    """True if `actual`, which is at `trail`, meets the compiled `expected`."""
    return next(_differences(expected, actual, trail, leniency=""), None) is None


def is_same(expected: Any, actual: Any) -> bool:
    """True if a plain expectation is literally equal to `actual`; if False, `compare` must decide.

    That knows patterns, and that 1 equals 1.0. Most tests pass and most expectations are plain
    data: this takes a third of its time.
    """
    kind = type(expected)
    if kind is not type(actual):
        return False
    if kind is dict:
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
    if kind is list:
        return len(expected) == len(actual) and all(map(is_same, expected, actual))
    return (kind in _SCALARS or expected is None) and expected == actual


def _differences(
    expected: object, actual: object, trail: Trail, leniency: Leniency
) -> Iterator[Difference]:
    if isinstance(expected, Pattern):
        miss = expected.miss(actual, trail)
        if miss:
            yield expected.describe(miss, actual, trail), expected, miss.hint
    elif isinstance(expected, Group):
        yield from _compare_group(expected, actual, trail)
    elif isinstance(expected, dict) and isinstance(actual, dict):
        yield from _compare_objects(expected, actual, trail, leniency)
    elif isinstance(expected, list) and isinstance(actual, list):
        yield from _compare_arrays(expected, actual, trail, leniency)
    elif json_type(expected) != json_type(actual) or expected != actual:
        yield _difference(expected, actual, trail)


# Objects and arrays


def _compare_objects(
    expected: dict[str, object], actual: dict[str, object], trail: Trail, leniency: Leniency
) -> Iterator[Difference]:
    for key, wanted in expected.items():
        if key in actual:
            got = actual[key]
            # Most values are equal scalars; they need no trail and no generator. `is_same` would
            # compare large values again on every level above a difference.
            if type(wanted) is not type(got) or type(wanted) not in _SCALARS or wanted != got:
                yield from _differences(wanted, got, (trail, key), leniency)
        elif not _accepts_absence(wanted):
            find_hint = bound(_missing_key_hint, key, wanted, actual, expected)
            yield _missing(wanted, (trail, key)), wanted, find_hint
    if not leniency and not actual.keys() <= expected.keys():
        for key, surplus in actual.items():
            if key not in expected:
                yield _surplus(surplus, (trail, key)), ABSENT, None


def _compare_arrays(
    expected: list[object], actual: list[object], trail: Trail, leniency: Leniency
) -> Iterator[Difference]:
    found = _compare_elements(expected, actual, trail, leniency)
    first = next(found, None)
    if first:
        mismatch, wanted, find_hint = first

        # A hint about the whole array is given once, with its first difference.
        def find_array_hint() -> str:
            from mcptest.matching.diff import array_hint  # noqa: PLC0415  # as above

            def meets(wanted: object, got: object) -> bool:
                return next(_differences(wanted, got, None, leniency), None) is None

            hint = "" if _is_remote(expected) else array_hint(expected, actual, trail, meets)
            return hint or (find_hint() if find_hint else "")

        yield mismatch, wanted, find_array_hint
        yield from found


def _compare_elements(
    expected: list[object], actual: list[object], trail: Trail, leniency: Leniency
) -> Iterator[Difference]:
    for index, wanted in enumerate(expected):
        if index < len(actual):
            yield from _differences(wanted, actual[index], (trail, index), leniency)
        else:
            yield _missing(wanted, (trail, index)), ABSENT, None
    if leniency != "all":
        for index in range(len(expected), len(actual)):
            yield _surplus(actual[index], (trail, index)), ABSENT, None


# Directives


def _compare_group(group: Group, actual: object, trail: Trail) -> Iterator[Difference]:
    for check in group.checks:
        if isinstance(check, Pattern):
            if miss := check.miss(actual, trail):
                yield check.describe(miss, actual, trail), ABSENT, miss.hint
        elif isinstance(check, Partial):
            yield from _differences(check.value, actual, trail, leniency="all")
        elif isinstance(check, AllOf):
            for wanted in check.values:
                yield from _differences(wanted, actual, trail, leniency="")
        elif isinstance(check, AnyOf):
            yield from _compare_any_of(check, actual, trail)
        elif isinstance(check, Not):
            if is_met(check.value, actual, trail):
                message, unwanted = "it is exactly what it must not be", {"not": check.value}
                yield _mismatch(message, unwanted, actual, trail), ABSENT, None
        elif isinstance(check, Extract):
            yield from _compare_extract(check, actual, trail)
        elif not isinstance(actual, list):
            # The two that are left, Each and Some, are about arrays.
            directive = "match:arrayElements" if isinstance(check, Each) else "match:anyElement"
            message = f"expected an array for {directive}, got {type_name(actual)}"
            yield _mismatch(message, check.value, actual, trail), ABSENT, None
        elif isinstance(check, Each):
            for index, element in enumerate(actual):
                yield from _differences(check.value, element, (trail, index), leniency="")
        else:
            yield from _compare_some(check.value, actual, trail)
    if group.siblings:
        yield from _differences(group.siblings, actual, trail, leniency="all")


def _compare_some(wanted: object, elements: list[object], trail: Trail) -> Iterator[Difference]:
    if not any(is_met(wanted, each, (trail, index)) for index, each in enumerate(elements)):
        pairs = [(wanted, element) for element in elements[:_MAX_TRIED]]
        message = f"expected an element that matches; {describe_none(elements, 'does')}"
        found = _mismatch(message, wanted, elements, trail)
        yield found, ABSENT, lambda: _nearest(pairs, lambda index: f"[{index}]")


def _compare_any_of(choice: AnyOf, actual: object, trail: Trail) -> Iterator[Difference]:
    if any(is_met(wanted, actual, trail) for wanted in choice.values):
        return
    pairs = [(wanted, actual) for wanted in choice.values[:_MAX_TRIED]]
    count = len(choice.values)
    message = f"expected one of {count} to hold; none does" if count > 1 else "does not hold"
    found = _mismatch(message, list(choice.values), actual, trail)
    yield found, ABSENT, lambda: _nearest(pairs, lambda index: f"number {index + 1}")


def _nearest(pairs: Sequence[tuple[object, object]], named: Callable[[int], str]) -> str:
    """Which pair differs least, with its first difference; "" when there is none."""
    from mcptest.matching.diff import describe_first, find_place  # noqa: PLC0415  # as above

    best: tuple[int, int] | None = None
    text = ""
    for index, (wanted, got) in enumerate(pairs):
        if _is_remote(wanted):
            continue
        found = list(islice(_differences(wanted, got, None, leniency=""), _MAX_COUNTED))
        first = found[0][0]
        # A value of another type has only one difference, but is not near. Of two strings, the one
        # that is the same for longer is nearer; one that differs from the start is not near at all.
        place = find_place(first)
        if place == (0, 0) and not first.path:
            continue
        weight = len(found) if first.path else _MAX_COUNTED, -place[1] if place else 1
        if best is None or weight < best:
            best = weight
            text = f"{named(index)} is nearest: {describe_first(first)}"
    return text


def _compare_extract(extract: Extract, actual: object, trail: Trail) -> Iterator[Difference]:
    found, missing_at = pull(actual, extract.steps)
    inner = trail
    for step in extract.steps:
        inner = (inner, step)
    if found is ABSENT:
        message = f"match:extractField finds nothing at {extract.path}: {missing_at}"
        yield _mismatch(message, extract.value, ABSENT, inner), ABSENT, None
        return
    has_met = True
    for difference in _differences(extract.value, found, inner, leniency=""):
        has_met = False
        yield difference
    why = has_met and idle_negation(extract.value, found, actual, extract.steps)
    if why:
        yield _mismatch(f"no such path: {why}", extract.value, ABSENT, inner), ABSENT, None


def idle_negation(check: object, found: object, actual: object, steps: Steps) -> str:
    """Why a check that holds proves nothing, "" if it proves something.

    A path with `*` that matches nothing gives no values, and any negation holds for no values.
    """
    why = why_unmatched(actual, steps)
    return why if why and not is_met(without_negations(check), found) else ""


def _mismatch(message: str, wanted: object, actual: object, trail: Trail) -> Mismatch:
    return Mismatch(
        path=render_trail(trail),
        expected=source_of(wanted),
        actual=actual,
        message=message,
        is_described=isinstance(wanted, Pattern) and wanted.is_description,
    )


# Single values


def _accepts_absence(wanted: object) -> bool:
    """True if the key may be absent."""
    if isinstance(wanted, Pattern):
        return wanted.accepts_absence
    if isinstance(wanted, AnyOf):
        return any(map(_accepts_absence, wanted.values))
    if isinstance(wanted, AllOf):
        return all(map(_accepts_absence, wanted.values))
    if not isinstance(wanted, Group) or wanted.siblings or not wanted.checks:
        return False
    # `match:crossField` and the other directives need a value.
    return all(
        isinstance(check, (AnyOf, AllOf)) and _accepts_absence(check) for check in wanted.checks
    )


def _missing(wanted: object, trail: Trail) -> Mismatch:
    if isinstance(wanted, Pattern):
        return wanted.absence(trail)
    return _mismatch("is missing", wanted, ABSENT, trail)


def _missing_key_hint(
    key: str, wanted: object, actual: dict[str, object], expected: dict[str, object]
) -> str:
    near = closest(key, (each for each in actual if each not in expected))
    if near:
        return f'there is "{near}"'
    if isinstance(wanted, Pattern) and wanted.negated:
        return f'to allow an absent key, write match:any: ["match:not:exists", "{wanted.source}"]'
    return ""


def _surplus(value: object, trail: Trail) -> Mismatch:
    return Mismatch(
        path=render_trail(trail), expected=ABSENT, actual=value, message="is not expected"
    )


def _difference(expected: object, actual: object, trail: Trail) -> Difference:
    shown = source_of(expected)
    message = "differs"
    if json_type(shown) != json_type(actual):
        message = f"expected {type_name(shown)}, got {type_name(actual)}"
    elif isinstance(shown, str) and isinstance(actual, str) and is_long(shown, actual):
        message += f" at {describe_place(actual, common_prefix(shown, actual))}"

    def find_hint() -> str:
        from mcptest.matching.diff import scalar_hint  # noqa: PLC0415  # as above

        return scalar_hint(shown, actual)

    return _mismatch(message, expected, actual, trail), expected, find_hint
