"""Hints: where the expected value is instead, why an array differs, checks that prove nothing."""

from __future__ import annotations

import pytest

from mcptest.matching.compare import compare
from mcptest.matching.compiler import Compiler
from mcptest.matching.diff import find_idle_checks
from mcptest.matching.registry import builtin_registry


def hints(expected: object, actual: object) -> list[tuple[str, str]]:
    compiler = Compiler(builtin_registry())
    compiled = compiler.compile(expected, None)
    assert compiler.diagnostics == []
    return [(found.path, found.hint) for found in compare(compiled, actual) if found.hint]


# Elsewhere


@pytest.mark.parametrize(
    ("expected", "actual", "found"),
    [
        # The key, with its expected value, one level deeper.
        ({"name": "read"}, {"data": {"name": "read"}}, [("name", "it is at data.name")]),
        (
            {"name": "match:type:string"},
            {"data": {"name": "read"}},
            [("name", "it is at data.name")],
        ),
        # The key, with something else.
        ({"ok": True}, {"data": {"ok": False}}, [("ok", 'there is a "ok" at data.ok')]),
        # The value, under another key.
        (
            {"title": "Weather"},
            {"label": "Weather"},
            [("title", "the expected value is at label")],
        ),
        (
            {"text": "match:contains:sunny"},
            {"text": "rain", "more": ["a sunny day"]},
            [("text", "the expected value is at more[0]")],
        ),
        (
            {"a": {"b": [1, 2]}},
            {"a": {"b": None, "c": [1, 2]}},
            [("a.b", "the expected value is at a.c")],
        ),
        (
            {"code": 404},
            {"code": 200, "status": 404},
            [("code", "the expected value is at status")],
        ),
        # Several places.
        (
            {"name": "read"},
            {"x": {"name": "read"}, "y": {"name": "read"}, "z": {"name": "read"}},
            [("name", "it is at x.name and 2 other places")],
        ),
        (
            {"match:extractField": "a", "value": "Weather"},
            {"a": "Climate", "b": "Weather"},
            [("a", "the expected value is at b")],
        ),
    ],
)
def test_an_item_at_another_place_is_found_there(
    expected: object, actual: object, found: list[tuple[str, str]]
) -> None:
    assert hints(expected, actual) == found


@pytest.mark.parametrize(
    ("expected", "actual"),
    [
        ({"a": 1}, {"a": 2, "b": 1}),
        ({"a": True}, {"a": False, "b": True}),
        ({"a": None}, {"a": 1, "b": None}),
        ({"a": "x"}, {"a": "y", "b": "x"}),
        ({"a": "match:type:string"}, {"a": 1, "b": "text"}),
        ({"a": "match:not:contains:x"}, {"a": "x", "b": "y"}),
        ({"a": "Weather"}, {"a": "Climate"}),
    ],
)
def test_an_item_similar_to_many_others_gets_no_hint(expected: object, actual: object) -> None:
    assert hints(expected, actual) == []


def test_a_huge_answer_is_looked_through_in_part_and_a_huge_text_not_at_all() -> None:
    answer: dict[str, object] = {"list": [{"n": index} for index in range(100_000)]}
    answer["text"] = "sunny" * 1_000_000
    answer["last"] = {"name": "read"}
    assert hints({"match:partial": {"name": "read"}}, answer) == [("name", "it is at last.name")]
    assert hints({"match:partial": {"weather": "match:contains:sunny"}}, answer) == []


def test_only_the_first_mismatches_are_looked_into() -> None:
    expected = {f"key{index:03}": "Weather" for index in range(100)}
    found = hints({"match:partial": expected}, {"label": "Weather"})
    assert found == [(f"key{index:03}", "the expected value is at label") for index in range(50)]


def test_very_long_strings_get_no_hint() -> None:
    assert hints({"a": "x" * 30_000}, {"a": "X" * 30_000}) == []


# Arrays


@pytest.mark.parametrize(
    ("expected", "actual", "hint"),
    [
        (["a", "b", "c"], ["c", "a", "b"], "list has the same elements in another order"),
        ([{"n": "match:exists"}, 1], [1, {"n": 2}], "list has the same elements in another order"),
        (["a", "b", "c"], ["x", "a", "b", "c"], "it would match without [0]"),
        (["a", "b"], ["a", "x", "y", "b"], "it would match without [1], [2]"),
        (["a", "b", "c"], ["b", "c"], "it has all but the expected [0]"),
        (["a", "b"], ["a", "b", "c"], ""),
        (["a", "b"], ["c", "d"], ""),
        (["a", "b"], ["a"], ""),
        ([1], [2], ""),
        ([], [1], ""),
        ([1, 2, 3, 4] * 20, [2, 1, 3, 4] * 20, ""),
    ],
)
def test_an_array_that_is_nearly_right_says_so_once(
    expected: list[object], actual: list[object], hint: str
) -> None:
    found = [hint for path, hint in hints({"list": expected}, {"list": actual})]
    assert [text for text in found if "the expected value is at" not in text] == (
        [hint] if hint else []
    )


def test_below_partial_elements_in_another_order_are_known_by_what_is_written() -> None:
    expected = {"match:partial": {"list": [{"name": "a"}, {"name": "b"}]}}
    actual = {"list": [{"name": "b", "n": 1}, {"name": "a", "n": 2}]}
    assert hints(expected, actual)[0] == (
        "list[0].name",
        "list has the same elements in another order",
    )


EACH = {"match:arrayElements": {"name": "match:type:string"}}


def notes(expected: object, actual: object) -> list[str]:
    compiler = Compiler(builtin_registry())
    return list(find_idle_checks(compiler.compile(expected, None), actual))


@pytest.mark.parametrize(
    ("expected", "actual", "place"),
    [
        (EACH, [], "the answer"),
        ({"result": {"tools": EACH}}, {"result": {"tools": []}}, "result.tools"),
        ({"match:partial": {"tools": EACH}}, {"tools": [], "more": 1}, "tools"),
        ([1, EACH], [1, []], "[1]"),
        ({"match:arrayElements": {"inner": EACH}}, [{"inner": []}], "[0].inner"),
    ],
)
def test_an_empty_array_is_pointed_out(expected: object, actual: object, place: str) -> None:
    note = f"{place} is an empty array, so match:arrayElements checked nothing there"
    assert notes(expected, actual) == [note]


@pytest.mark.parametrize(
    ("expected", "actual"),
    [
        (EACH, [{"name": "a"}]),
        ({"tools": []}, {"tools": []}),
        ({"tools": EACH}, {}),
        (EACH, "not an array"),
    ],
)
def test_nothing_is_said_where_something_was_checked(expected: object, actual: object) -> None:
    assert notes(expected, actual) == []
