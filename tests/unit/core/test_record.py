"""Frozen values: what they are made of, when they are equal, and that they stay."""

from __future__ import annotations

import ast
import importlib
import pickle
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import mcptest
from mcptest.core.results import Mismatch
from mcptest.core.value_class import ABSENT, Record

if TYPE_CHECKING:
    from collections.abc import Iterator

SOURCE = Path(mcptest.__file__).parent


class Point(Record):
    x: int
    y: int = 0


class Spot(Point):
    label: str = ""


class Twin(Record):
    x: int
    y: int = 0


def test_fields_that_are_not_given_have_their_defaults() -> None:
    assert (Point(x=1).x, Point(x=1).y) == (1, 0)


def test_an_heir_has_the_fields_of_its_parent_first() -> None:
    spot = Spot(x=1, label="home")
    assert spot.fields() == [("x", 1), ("y", 0), ("label", "home")]


def test_a_field_without_default_must_be_given() -> None:
    with pytest.raises(TypeError, match=r"^Point needs 'x'$"):
        Point(y=1)  # type: ignore[call-arg]  # the mistake under test


def test_a_field_that_is_not_there_is_refused_by_name() -> None:
    with pytest.raises(TypeError, match=r"^Point has no field 'z'$"):
        Point(x=1, z=2)  # type: ignore[call-arg]  # the mistake under test


def test_fields_are_given_by_name_only() -> None:
    with pytest.raises(TypeError):
        Point(1)  # type: ignore[call-arg]  # the mistake under test


def test_a_field_cannot_be_set_afterwards() -> None:
    with pytest.raises(AttributeError, match=r"^Point is frozen; 'x' cannot be set$"):
        Point(x=1).x = 2  # type: ignore[misc]  # the mistake under test


def test_a_field_cannot_be_deleted() -> None:
    point = Point(x=1)
    with pytest.raises(AttributeError, match=r"^Point is frozen; 'x' cannot be deleted$"):
        del point.x
    assert point == Point(x=1)


def test_an_attribute_cannot_be_added() -> None:
    with pytest.raises(AttributeError, match="is frozen"):
        Point(x=1).z = 2


def test_records_are_equal_when_type_and_fields_are() -> None:
    assert Point(x=1) == Point(x=1, y=0)
    assert hash(Point(x=1)) == hash(Point(x=1, y=0))


@pytest.mark.parametrize(
    "other", [Point(x=2), Twin(x=1), Spot(x=1), (1, 0), {"x": 1, "y": 0}, None]
)
def test_records_of_another_type_or_content_differ(other: object) -> None:
    assert Point(x=1) != other


def test_but_changes_a_copy_and_leaves_the_original() -> None:
    spot = Spot(x=1)
    assert spot.but(y=5, label="home") == Spot(x=1, y=5, label="home")
    assert spot == Spot(x=1)


def test_but_refuses_a_field_that_is_not_there() -> None:
    with pytest.raises(TypeError, match=r"^Point has no field 'z'$"):
        Point(x=1).but(z=1)


def test_a_record_shows_what_it_was_made_of() -> None:
    assert repr(Spot(x=1, label="a")) == "Spot(x=1, y=0, label='a')"


def test_a_value_survives_a_journey_between_processes() -> None:
    """Large answers are judged in a process of their own."""
    mismatch = Mismatch(path="a", expected={"b": [1]}, actual=ABSENT, message="is missing")
    travelled = pickle.loads(pickle.dumps(mismatch))
    assert travelled == mismatch
    assert travelled.actual is ABSENT


def test_a_record_made_of_a_dict_is_the_one_that_a_call_makes() -> None:
    assert Point.made_of({"x": 1, "y": 2}) == Point(x=1, y=2)
    assert Point.made_of({"x": 1, "y": 2}).but(y=3) == Point(x=1, y=3)


def calls_of_made_of() -> Iterator[tuple[str, str, set[str]]]:
    """Where a record is made of a dict: the place, the name of the class and those of its fields.

    They are written in the call, or assigned to a dict in the same function.
    """
    for path in sorted(SOURCE.rglob("*.py")):
        for function in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(function, ast.FunctionDef):
                continue
            assigned = {
                (ast.unparse(each.value), ast.literal_eval(each.slice))
                for each in ast.walk(function)
                if isinstance(each, ast.Subscript) and isinstance(each.ctx, ast.Store)
                if isinstance(each.slice, ast.Constant)
            }
            for call in ast.walk(function):
                if isinstance(call, ast.Call) and ast.unparse(call.func).endswith(".made_of"):
                    (given,) = call.args
                    names = {key for name, key in assigned if name == ast.unparse(given)}
                    if isinstance(given, ast.Dict):
                        names = {ast.literal_eval(key) for key in given.keys if key}
                    place = f"{path.relative_to(SOURCE)}:{call.lineno}"
                    yield place, ast.unparse(call.func).removesuffix(".made_of"), names


@pytest.mark.parametrize(("place", "name", "given"), list(calls_of_made_of()))
def test_every_call_of_made_of_gives_the_right_fields(
    place: str, name: str, given: set[str]
) -> None:
    module = importlib.import_module("mcptest." + place.partition(".py")[0].replace("/", "."))
    record = getattr(module, name)
    required = {field for field in record._fields if not hasattr(record, field)}
    assert given, "the names cannot be read from the call"
    assert given <= set(record._fields), f"{place}: no such field"
    assert given >= required, f"{place}: a field is missing"
