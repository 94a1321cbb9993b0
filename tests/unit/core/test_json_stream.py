"""A JSON text that arrives in pieces, however it is cut."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from case_tables import each_case
from hypothesis import given
from hypothesis import strategies as st

from mcptest.core.strict_json import BrokenStreamError, JsonStream


def pieces(text: str, size: int) -> Callable[[], str]:
    parts = [text[at : at + size] for at in range(0, len(text), size)]
    return lambda: parts.pop(0) if parts else ""


def items(text: str, size: int) -> list[object]:
    """The items of an array, one by one."""
    stream = JsonStream(pieces(text, size))
    found = []
    stream.take("[")
    while stream.peek() != "]":
        found.append(stream.value())
        if not stream.takes(","):
            break
    stream.take("]")
    assert stream.peek() == ""
    return found


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@pytest.mark.slow
@given(st.lists(VALUES, max_size=5), st.integers(min_value=1, max_value=20), st.booleans())
def test_values_do_not_depend_on_where_the_text_is_cut(
    values: list[object], size: int, ascii: bool
) -> None:
    text = json.dumps(values, ensure_ascii=ascii, indent=1)
    assert items(text, size) == values


@each_case("size", [1, 3, 100])
@each_case(
    ("text", "line", "column"),
    [
        ("[1, tru]", 1, 5),
        ('[1,\n "a" "b"]', 2, 6),
        ("[1,\n\n 2", 3, 3),
        ("[NaN]", 1, 2),
        ('["abc', 1, 2),
        ("{}", 1, 1),
    ],
)
def test_a_mistake_has_its_place(text: str, line: int, column: int, size: int) -> None:
    with pytest.raises(BrokenStreamError) as broken:
        items(text, size)
    assert (broken.value.line, broken.value.column) == (line, column)


def test_only_what_is_being_read_is_kept() -> None:
    count = 0

    def read() -> str:
        nonlocal count
        count += 1
        return "[" if count == 1 else '{"a": "' + "x" * 1000 + '"},' if count < 2000 else "1]"

    stream = JsonStream(read)
    stream.take("[")
    longest = 0
    while stream.peek() != "]":
        stream.value()
        longest = max(longest, len(stream._text))
        if not stream.takes(","):
            break
    stream.take("]")
    assert longest < 10_000


def test_a_mistake_early_in_a_long_text_does_not_read_all_of_it() -> None:
    reads = 0

    def read() -> str:
        nonlocal reads
        reads += 1
        return '[{"a" 1}' + " " * 1000 if reads == 1 else " " * 1000

    stream = JsonStream(read)
    stream.take("[")
    with pytest.raises(BrokenStreamError, match="expecting ':' delimiter"):
        stream.value()
    assert reads < 5


@pytest.mark.parametrize("number", ["1.5", "-2e-7", "1E+5", "0.25", "12"])
def test_a_number_may_be_cut_anywhere(number: str) -> None:
    for size in range(1, 8):
        assert items(f"[{number}, {number}]", size) == [json.loads(number)] * 2
