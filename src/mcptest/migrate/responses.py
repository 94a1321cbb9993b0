"""The assertions of a suite about an answer, as what a Conductor file expects of it.

What can be written in its place becomes a tree under `match:partial`; everything else is pulled
out by its path and compared by itself.
"""

from __future__ import annotations

import re

from mcptest.core.record import Record
from mcptest.core.text import EVERY
from mcptest.matching.patterns import PREFIX
from mcptest.migrate.pattern_words import NEGATION
from mcptest.migrate.remarks import LeftBehindError
from mcptest.migrate.shapes import ABSENT_PATTERN, directives_in

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    Steps = tuple[str | int, ...]

__all__ = ["Wish", "expected_value", "field_path"]

_AN_OBJECT = f"{PREFIX}type:object"
_NO_OBJECT = f"{PREFIX}{NEGATION}type:object"
_WORD = r"[^.\[\]*]+"


class Wish(Record):
    """What must stand at the end of a way through an answer, or `may_be_absent`."""

    steps: Steps
    expression: object
    may_be_absent: bool = False


def expected_value(wishes: Sequence[Wish], *, is_object: bool = True) -> object:
    """One value that expects all of this. A whole answer `is_object`; what is in it need not."""
    present = [wish for wish in wishes if not wish.may_be_absent]
    if is_object:
        present.append(Wish(steps=(), expression=_AN_OBJECT))
    in_place = _in_place([wish for wish in wishes if _is_leaf(wish, present)])
    pulled = [
        _optional(wish, is_object) if wish.may_be_absent else _pulled(wish)
        for wish in wishes
        if wish not in in_place
    ]
    return _joined(_tree(in_place), pulled)


def _joined(tree: object, pulled: list[object]) -> object:
    if tree is None and len(pulled) == 1:
        return pulled[0]
    expected: dict[str, object] = {} if tree is None else {"match:partial": tree}
    only = pulled[0] if len(pulled) == 1 else None
    if directives_in(only) and "match:partial" not in only:
        expected.update(only)
    elif pulled:
        expected["match:all"] = pulled
    return expected


# In its place


def _in_place(found: list[Wish]) -> list[Wish]:
    """Those that can stand in one tree: each at a leaf, and no item before it left out."""
    while True:
        ways = {wish.steps for wish in found}
        kept = [
            wish
            for wish in found
            if not any(_is_in_the_way(way, wish.steps) for way in ways)
            and _has_forerunners(wish, ways)
        ]
        if len(kept) == len(found):
            return kept
        found = kept


def _is_leaf(wish: Wish, present: list[Wish]) -> bool:
    if not wish.steps or any(step is EVERY or _is_number(step) for step in wish.steps):
        return False
    if wish.may_be_absent:
        return _may_be_left_out(wish.expression) and _has_parent(wish, present)
    return _is_same_in_tree(wish.expression)


def _may_be_left_out(expression: object) -> bool:
    """Whether a key with this need not be there, wherever it stands."""
    choices = expression.get("match:any") if isinstance(expression, dict) else None
    return expression == ABSENT_PATTERN or (isinstance(choices, list) and ABSENT_PATTERN in choices)


def _has_parent(wish: Wish, present: list[Wish]) -> bool:
    """Whether something else wants the object to be there in which this may be."""
    head, last = wish.steps[:-1], wish.steps[-1]
    return _is_name(last) and any(_wants_object(other, head) for other in present)


def _wants_object(wish: Wish, way: Steps) -> bool:
    if wish.steps == way:
        return wish.expression == _AN_OBJECT
    return _is_below(wish.steps, way) and _is_name(wish.steps[len(way)])


def _is_number(step: str | int) -> bool:
    """A key of digits also finds the items of an array, when it is pulled."""
    return isinstance(step, str) and step.isdecimal()


def _is_name(step: str | int) -> bool:
    """A step that only an object has."""
    return isinstance(step, str) and step is not EVERY and not _is_number(step)


def _is_same_in_tree(expression: object) -> bool:
    """Whether it means the same below `match:partial`, and wants something to be there."""
    if isinstance(expression, str):
        return not expression.startswith(PREFIX + NEGATION)
    if isinstance(expression, list):
        return False
    if not isinstance(expression, dict):
        return True
    if list(expression) == ["match:partial"]:
        return True
    members = expression.get("match:all", expression.get("match:any"))
    return len(expression) == 1 and isinstance(members, list) and all(map(_is_solid, members))


def _is_solid(member: object) -> bool:
    return not isinstance(member, (dict, list)) and _is_same_in_tree(member)


def _is_below(way: Steps, other: Steps) -> bool:
    return len(way) > len(other) and way[: len(other)] == other


def _is_in_the_way(way: Steps, other: Steps) -> bool:
    """Whether there is a leaf for one where the other goes on, or an array and an object."""
    return _is_below(way, other) or any(
        isinstance(one, int) != isinstance(another, int) and way[:at] == other[:at]
        for at, (one, another) in enumerate(zip(way, other, strict=False))
    )


def _has_forerunners(wish: Wish, ways: set[Steps]) -> bool:
    """Whether all items are there that stand before those on the way."""
    for at, step in enumerate(wish.steps):
        if not isinstance(step, int):
            continue
        head = wish.steps[:at]
        if not all(any(way[: at + 1] == (*head, item) for way in ways) for item in range(step)):
            return False
    return True


def _tree(wishes: list[Wish]) -> object:
    """Nested mappings and lists with the expressions at their leaves; None without any."""
    if not wishes:
        return None
    if not wishes[0].steps:
        expressions = [wish.expression for wish in wishes]
        return _grafted(expressions[0]) if len(wishes) == 1 else {"match:all": expressions}
    branches: dict[str | int, list[Wish]] = {}
    for wish in wishes:
        inner = Wish(steps=wish.steps[1:], expression=wish.expression)
        branches.setdefault(wish.steps[0], []).append(inner)
    grown = {step: _tree(inner) for step, inner in branches.items()}
    if all(isinstance(step, int) for step in grown):
        return [grown[step] for step in sorted(grown, key=int)]
    return grown


def _grafted(expression: object) -> object:
    """Below `match:partial` another one says nothing new."""
    if directives_in(expression) and list(expression) == ["match:partial"]:
        return expression["match:partial"]
    return expression


# Pulled out


def _pulled(wish: Wish) -> object:
    if not wish.steps:
        return wish.expression
    return {"match:extractField": field_path(wish.steps), "value": wish.expression}


def field_path(steps: Steps) -> str:
    """A path as `match:extractField` and `capture` take it, which has no quotes."""
    return "".join(_pieces(steps))


def _pieces(steps: Steps) -> Iterator[str]:
    for at, step in enumerate(steps):
        if step is EVERY:
            yield "[*]"
        elif isinstance(step, int):
            yield f"[{step}]"
        elif re.fullmatch(_WORD, step):
            yield f".{step}" if at else step
        else:
            raise LeftBehindError(f'the key "{step}" cannot stand in a path')


# What need not be there


def _optional(wish: Wish, is_object: bool) -> object:
    """It is as it must be, or not there, or there is no object on the way to it."""
    if not all(map(_is_name, wish.steps)):
        raise LeftBehindError("an item that need not be there has no counterpart among patterns")
    choices: list[object] = [] if wish.expression == ABSENT_PATTERN else [_pulled(wish)]
    choices.append(_leaf(wish.steps, ABSENT_PATTERN))
    for length in range(len(wish.steps) - 1, 0, -1):
        nothing = {"match:any": [ABSENT_PATTERN, _NO_OBJECT]}
        choices.append(_leaf(wish.steps[:length], nothing))
    if not is_object:
        choices.append(_NO_OBJECT)
    return choices[0] if len(choices) == 1 else {"match:any": choices}


def _leaf(steps: Steps, expression: object) -> object:
    return {"match:partial": _tree([Wish(steps=steps, expression=expression)])}
