"""`${name}`: where it is and what it expands to."""

from __future__ import annotations

import pytest

from mcptest.formats.fields import fill_references, references

VALUES = {"n": 5, "s": "text", "o": {"a": [1]}, "z": None}


@pytest.mark.parametrize(
    ("template", "value"),
    [
        ("${n}", 5),
        ("${o}", {"a": [1]}),
        ("${z}", None),
        ("n=${n}, s=${s}", "n=5, s=text"),
        ("${o}!", '{"a":[1]}!'),
        ("$${n}", "${n}"),
        ("$$${n}", "$${n}"),
        ("${n}${n}", "55"),
        ("$n {n} $", "$n {n} $"),
        ({"k${n}": ["${s}", 1, None]}, {"k5": ["text", 1, None]}),
        (7, 7),
    ],
)
def test_a_value_is_filled(template: object, value: object) -> None:
    assert fill_references(template, VALUES) == value


def test_names_are_found_with_their_places() -> None:
    value = {"a": ["x", "${n} and ${s}"], "b": {"c": "$${no}"}, "k${z}": 1}
    assert list(references(value)) == [("n", ("a", 1)), ("s", ("a", 1)), ("z", ())]
