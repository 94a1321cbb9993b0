"""Typed JSON: what is accepted, and which problem is reported at which path."""

from __future__ import annotations

import pytest

from mcptest.core.typed_json import JsonObject, Key, TypedJsonError, check_object, check_value

KEYS = {
    "name": Key(type=str),
    "mode": Key(type=str, required=False, choices=("on", "off")),
    "limit": Key(type=float, required=False, minimum=0),
}


@pytest.mark.parametrize(
    ("value", "key"),
    [
        ("", Key(type=str)),
        (0, Key(type=int, minimum=0)),
        (1, Key(type=float)),
        (1.5, Key(type=float)),
        (False, Key(type=bool)),
        ({}, Key(type=dict)),
        ([], Key(type=list)),
        ("on", KEYS["mode"]),
    ],
)
def test_a_value_of_the_declared_type_is_accepted(value: object, key: Key) -> None:
    check_value(value, key, "at")


@pytest.mark.parametrize(
    ("value", "key", "problem", "expected"),
    [
        (None, Key(type=str), "type", "a string"),
        (True, Key(type=int), "type", "an integer"),
        (1.0, Key(type=int), "type", "an integer"),
        (-1, Key(type=int, minimum=0), "type", "an integer"),
        (True, Key(type=float), "type", "a number"),
        (10**400, Key(type=float), "type", "a number"),
        (0, Key(type=bool), "type", "true or false"),
        ([], Key(type=dict, words="a dict"), "type", "a dict"),
        ("of", KEYS["mode"], "choice", "on, off"),
    ],
)
def test_any_other_value_is_an_error_with_its_path(
    value: object, key: Key, problem: str, expected: str
) -> None:
    with pytest.raises(TypedJsonError) as caught:
        check_value(value, key, "at")
    error = caught.value
    assert (error.problem, error.path, error.expected) == (problem, "at", expected)
    assert error.actual == value


@pytest.mark.parametrize(
    ("value", "problem", "path", "name"),
    [
        ([], "type", "top", ""),
        ({"name": "", "nam": 1}, "unknown", "top", "nam"),
        ({}, "missing", "top", "name"),
        ({"name": 1}, "type", "top.name", ""),
        ({"name": "", "limit": -0.5}, "type", "top.limit", ""),
    ],
)
def test_an_object_has_its_declared_keys_and_no_others(
    value: object, problem: str, path: str, name: str
) -> None:
    with pytest.raises(TypedJsonError) as caught:
        check_object(value, KEYS, "top")
    error = caught.value
    assert (error.problem, error.path, error.name) == (problem, path, name)
    assert check_object({"name": "x", "limit": 2}, KEYS) == {"name": "x", "limit": 2}


def test_an_object_is_read_key_by_key_with_the_path_of_each_part() -> None:
    top = JsonObject({"list": [{"n": 1}, {"n": -1}], "null": None, "other": object()})
    assert (top.has("null"), top.has("nowhere"), top.string("nowhere", "x")) == (False, False, "x")
    assert top.objects("nowhere", lambda each: each) == ()
    with pytest.raises(TypedJsonError) as caught:
        top.objects("list", lambda each: each.count("n"))
    assert caught.value.path == "list[1].n"
    with pytest.raises(TypedJsonError) as caught:
        top.objects("list", lambda each: each.string("text"), required=True)
    assert (caught.value.problem, caught.value.path, caught.value.name) == (
        "missing",
        "list[0]",
        "text",
    )
