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
    from mcptest.matching.field_path import Steps


__all__ = ["AllOf", "AnyOf", "Each", "Extract", "Group", "Not", "Partial", "Some", "written"]


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
