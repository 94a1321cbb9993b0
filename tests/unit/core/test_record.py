"""Frozen values: what they are made of, when they are equal, and that they stay."""

from __future__ import annotations

import pickle

import pytest

from mcptest.core.record import ABSENT, Record
from mcptest.core.results import Mismatch


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
    with pytest.raises(TypeError, match="needs 'x'"):
        Point.made_of({"y": 2})
    with pytest.raises(TypeError, match="has no field 'w'"):
        Point.made_of({"x": 1, "y": 2, "w": 3})
