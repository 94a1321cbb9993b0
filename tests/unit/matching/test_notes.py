from __future__ import annotations

import pytest

from mcptest.matching.expectation import Compiler
from mcptest.matching.hints import find_idle_checks
from mcptest.matching.registry import builtin_registry

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
