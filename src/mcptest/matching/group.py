"""What a mapping with directives is compiled to, and how it was written.

The compiled form of an expectation is plain dicts, lists and scalars, with a `Pattern`
where a text began with `match:` and a `Group` where a mapping holds directives.
"""

from __future__ import annotations

from mcptest.core.dialogue import Ref
from mcptest.core.record import Record
from mcptest.matching.patterns import Pattern

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from mcptest.matching.field_path import Steps


__all__ = [
    "AllOf",
    "AnyOf",
    "Each",
    "Extract",
    "Group",
    "Not",
    "Partial",
    "Some",
    "patterns_in",
    "with_patterns",
    "without_denials",
    "written",
]


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
    """`not` of a suite: this must not hold."""

    value: object


class Group(Record):
    """A mapping with directives; all of them, and the siblings, speak of one value.

    `source` is what the author wrote. A `Pattern` among the checks is a `match:crossField`.
    """

    source: dict[str, object]
    checks: tuple[Partial | Each | Some | Extract | AllOf | AnyOf | Not | Pattern, ...] = ()
    siblings: dict[str, object] | None = None


_WITH_VALUE = (Partial, Each, Some, Extract, Not)


def patterns_in(compiled: object) -> Iterator[Pattern]:
    """Every pattern of a compiled expectation."""
    if isinstance(compiled, Pattern):
        yield compiled
    elif isinstance(compiled, Group):
        for check in compiled.checks:
            yield from patterns_in(check)
        yield from patterns_in(compiled.siblings)
    elif isinstance(compiled, (AllOf, AnyOf)):
        yield from patterns_in(list(compiled.values))
    elif isinstance(compiled, _WITH_VALUE):
        yield from patterns_in(compiled.value)
    elif isinstance(compiled, (dict, list)):
        for inner in compiled.values() if isinstance(compiled, dict) else compiled:
            yield from patterns_in(inner)


def with_patterns(compiled: object, change: Callable[[Pattern], Pattern]) -> Any:
    """The same expectation with every pattern changed."""
    if isinstance(compiled, Pattern):
        return change(compiled)
    if isinstance(compiled, Group):
        checks = tuple(with_patterns(check, change) for check in compiled.checks)
        return compiled.but(checks=checks, siblings=with_patterns(compiled.siblings, change))
    if isinstance(compiled, (AllOf, AnyOf)):
        return compiled.but(values=tuple(with_patterns(list(compiled.values), change)))
    if isinstance(compiled, _WITH_VALUE):
        return compiled.but(value=with_patterns(compiled.value, change))
    if isinstance(compiled, dict):
        return {key: with_patterns(inner, change) for key, inner in compiled.items()}
    if isinstance(compiled, list):
        return [with_patterns(inner, change) for inner in compiled]
    return compiled


def without_denials(compiled: object) -> Any:
    """The same expectation in which no negation is ever met, except `match:not:exists`."""
    if isinstance(compiled, Pattern):
        is_denial = compiled.negated and not compiled.accepts_absence
        return Group(source={}, checks=(_NEVER,)) if is_denial else compiled
    if isinstance(compiled, Not):
        inner = compiled.value
        is_existence = isinstance(inner, Pattern) and inner.matcher.name == "exists"
        return compiled if is_existence else _NEVER
    if isinstance(compiled, Group):
        # A pattern among the checks has paths of its own, and sees itself where they lead.
        checks = compiled.checks
        return compiled.but(
            checks=tuple(
                each if isinstance(each, Pattern) else without_denials(each) for each in checks
            )
        )
    if isinstance(compiled, (AllOf, AnyOf)):
        return compiled.but(values=tuple(map(without_denials, compiled.values)))
    if isinstance(compiled, _WITH_VALUE):
        return compiled.but(value=without_denials(compiled.value))
    return compiled


# What no value meets.
_NEVER = AnyOf(values=())


def written(compiled: object) -> object:
    """What the author wrote, from the compiled form."""
    if isinstance(compiled, (Pattern, Group)):
        return compiled.source
    if isinstance(compiled, Ref):
        return f"!!ref {compiled.name}"
    if isinstance(compiled, dict):
        return {key: written(value) for key, value in compiled.items()}
    if isinstance(compiled, list):
        return [written(value) for value in compiled]
    return compiled
