"""Matchers that compare two fields of one object."""

from __future__ import annotations

import operator
import re

from mcptest.core.record import ABSENT, Record
from mcptest.core.strict_json import dump_json
from mcptest.core.text import show_json
from mcptest.matching.matchers.dates import epoch_ms, is_date_text
from mcptest.matching.registry import CannotHoldError, Matcher, Miss, ParameterError
from mcptest.matching.values import (
    exact_number,
    is_equal,
    is_less,
    is_same_number,
    parse_exact,
    parse_field_path,
    pull,
    type_name,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mcptest.matching.values import Steps

__all__ = ["MATCHERS", "Relation"]

# The operators in words; the longer ones come first, to be found first.
_OPERATORS = {
    "<=": "at most",
    ">=": "at least",
    "!=": "other than",
    "==": "equal to",
    "<": "less than",
    ">": "greater than",
    "=": "equal to",
}
_ORDERINGS = {"<": operator.lt, ">": operator.gt, "<=": operator.le, ">=": operator.ge}


class Relation(Record):
    """`L op R`: two places in one object, and what must hold between them."""

    source: str
    left: str
    right: str
    left_steps: Steps
    right_steps: Steps
    operator: str


def _a_relation(raw: str) -> Relation:
    found = re.fullmatch(r"\s*([^<>=!]+?)\s*(<=|>=|!=|==|<|>|=)\s*([^<>=!]+?)\s*", raw)
    if found is None:
        raise ParameterError(
            f"needs two fields with one of {' '.join(_OPERATORS)} between, not {dump_json(raw)}"
        )
    left, sign, right = found.groups()
    steps = parse_field_path(left), parse_field_path(right)
    if steps[0] is None or steps[1] is None:
        wrong = left if steps[0] is None else right
        raise ParameterError(f"takes paths such as order.total, not {dump_json(wrong)}")
    if steps[0] == steps[1] and sign in ("<", ">", "!="):
        raise CannotHoldError(f"compares {left} with itself, and nothing is {sign} itself")
    return Relation(
        source=raw.strip(),
        left=left,
        right=right,
        left_steps=steps[0],
        right_steps=steps[1],
        operator=sign,
    )


def _relate(relation: Relation, actual: object) -> Miss | None:
    if not isinstance(actual, (dict, list)):
        why = f"it is {type_name(actual)}"
        return Miss(why=why, nowhere=why)
    left, why = pull(actual, relation.left_steps)
    if left is ABSENT:
        return _nothing_at(relation.left, why)
    right, why = pull(actual, relation.right_steps)
    if right is ABSENT:
        return _nothing_at(relation.right, why)
    if _holds_between(left, right, relation.operator):
        return None
    return Miss(
        why=f"it has {relation.left} {show_json(left, 60)} "
        f"and {relation.right} {show_json(right, 60)}",
        hint=lambda: _mixed_hint(left, right, relation.operator),
    )


def _nothing_at(path: str, why: str) -> Miss:
    is_literal = parse_exact(path) is not None or path[:1] in ("'", '"')
    hint = "both sides are fields; to compare with a value, write a pattern at the field"
    said = f"it has nothing at {path}: {why}"
    return Miss(why=said, hint=(lambda: hint) if is_literal else None, nowhere=said)


def _mixed_hint(left: object, right: object, sign: str) -> str:
    if sign in _ORDERINGS and _ordered(left, right) is None:
        return f"{type_name(left)} and {type_name(right)} have no order"
    return ""


def _holds_between(left: object, right: object, sign: str) -> bool:
    order = _ordered(left, right)
    if sign in _ORDERINGS:
        return order is not None and _ORDERINGS[sign](order, 0)
    is_same = order == 0 if order is not None else is_equal(left, right)
    return is_same != (sign == "!=")


def _ordered(left: object, right: object) -> int | None:
    """Less, equal or more as -1, 0, 1; None when they cannot be put in order."""
    numbers = exact_number(left), exact_number(right)
    if numbers[0] is not None and numbers[1] is not None:
        if is_same_number(numbers[0], numbers[1]):
            return 0
        return -1 if is_less(numbers[0], numbers[1]) else 1
    if is_date_text(left) or is_date_text(right):
        moments = epoch_ms(left), epoch_ms(right)
        if moments[0] is not None and moments[1] is not None:
            return (moments[0] > moments[1]) - (moments[0] < moments[1])
    if isinstance(left, str) and isinstance(right, str):
        return (left > right) - (left < right)
    return None


MATCHERS = (
    Matcher(
        name="crossField",
        family="Objects",
        parameters=("L op R",),
        summary="Two fields of the object, by path, compared as numbers, dates or strings; op is "
        "one of `<` `>` `<=` `>=` `=` `==` `!=`.",
        example="match:crossField:order.start < order.end",
        passes=({"order": {"start": "2023-01-01", "end": "2023-01-02"}},),
        fails=({"order": {"start": 2, "end": 1}}, {"order": {"start": 1}}, None),
        parse=_a_relation,
        wants=lambda relation: f"{relation.left} {_OPERATORS[relation.operator]} {relation.right}",
        check=_relate,
        kinds=("object", "array"),
    ),
)
