"""Sentences about many things alike: members of a kind, one object after another."""

from __future__ import annotations

from itertools import chain

from mcptest.invariants.wording import few, seen, shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

    from mcptest.invariants.rule import Breaches

    Members = dict[str, Any]
    # What one thing has wrong; None when there was nothing to look at in it.
    Faults = Iterable[str] | None

__all__ = ["gathered", "has_kind", "member_faults", "must_be"]

# What a member can be asked to be, and the types that are it.
_KINDS: dict[str, tuple[type, ...]] = {
    "text": (str,),
    "an object": (dict,),
    "an array": (list,),
    "a boolean": (bool,),
    "a number": (int, float),
}
_NONE: Members = {}


def must_be(path: str, wanted: str, value: object) -> str:
    """The sentence about a value that is not what it must be."""
    return f"{path} must be {wanted} and is {shown(value)}"


def has_kind(value: object, kind: str) -> bool:
    """Whether a value is of a kind. A whole number may be written 3 or 3.0."""
    if kind == "an integer":
        return type(value) is int or (type(value) is float and value.is_integer())
    return type(value) in _KINDS[kind]


def member_faults(
    holder: Members, path: str, needed: dict[str, str], optional: dict[str, str] = _NONE
) -> Iterator[str]:
    """What is wrong with the members of an object; both tables have a kind for each name."""
    for member, kind in needed.items():
        if not has_kind(holder.get(member), kind):
            yield f"{path}.{member} must be {kind} and is {seen(holder, member)}"
    for member, kind in optional.items():
        if member in holder and not has_kind(holder[member], kind):
            yield must_be(f"{path}.{member}", kind, holder[member])


def gathered(looks: Iterable[Faults]) -> Breaches:
    """What looks at many things come to: None when there was nothing to look at in any."""
    present = [faults for faults in looks if faults is not None]
    return few(chain.from_iterable(present)) if present else None
