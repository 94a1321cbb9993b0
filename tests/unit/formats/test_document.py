"""The public face: one call to read, one to find places."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcptest.core.errors import FormatError
from mcptest.formats.yaml import Document, Place, Places, locate, read_document
from mcptest.formats.yaml.quick import MAX_TEXT_BYTES

SUITE = """\
# A suite
description: 'it''s fine'
tests:
  - it: "says hello"
    expect: match:containz:sunny   # typo
  -
    it: "with \\t escape"
    tags: [one, "two"]
    text: |
      a
      b
base: &base {x: 1}
more:
  <<: *base
  again: *base
  empty:
"""


def places_of(text: str) -> Places:
    return locate(read_document(text, "f.yml"))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a: 1\n", {"a": 1}),
        ("a: &x 1\nb: *x\n", {"a": 1, "b": 1}),
        ('{\n\t"a": [1]\n}', {"a": [1]}),
        ("[a, b]", ["a", "b"]),
        ("", None),
        ('\ufeff{"a": 1}', {"a": 1}),
    ],
    ids=["quick", "full", "json", "flow", "empty", "json after a byte order mark"],
)
def test_a_text_is_read_whichever_reader_it_needs(text: str, value: object) -> None:
    document = read_document(text, "f.yml")
    assert (document.file, document.text, document.value) == ("f.yml", text, value)


def test_a_mistake_is_reported_with_the_name_of_the_file() -> None:
    with pytest.raises(FormatError) as caught:
        read_document("a: 1\na: 2\n", "suites/f.yml")
    (found,) = caught.value.diagnostics
    assert (found.code, found.file, found.line) == ("F003", "suites/f.yml", 2)


@pytest.mark.parametrize("char", ["x", "é"])
def test_a_text_over_the_limit_is_refused_unread(char: str) -> None:
    text = char * (MAX_TEXT_BYTES // len(char.encode()) + 1)
    with pytest.raises(FormatError) as caught:
        read_document(text, "f.yml")
    assert [found.code for found in caught.value.diagnostics] == ["F004"]


@pytest.mark.parametrize(
    "text",
    [
        "tests:\n  - a\n\n  - b: 1\n  -\n    c: 2\n",
        "tests: !!seq\n  - a\n\n  - b: 1\n  -\n    c: 2\n",
        '{"tests":\n\t["a",\n\n\t{"b": 1},\n\n\t{"c": 2}]}',
    ],
    ids=["quick", "full", "json"],
)
def test_item_lines_are_known_to_every_reader(text: str) -> None:
    document = read_document(text, "f.yml")
    assert isinstance(document.value, dict)
    tests = document.value["tests"]
    assert [document.item_line(tests, index) for index in range(3)] == [2, 4, 6]


_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text('[{,}]\\"\n:a'),
    lambda items: st.lists(items) | st.dictionaries(st.text('[{,}]\\"a'), items),
)


@pytest.mark.long
@settings(max_examples=25)
@given(
    st.lists(_VALUES) | st.dictionaries(st.text("a[,"), _VALUES), st.sampled_from((None, 1, "\t"))
)
def test_item_lines_of_json_are_those_that_yaml_finds(
    value: object, indent: int | str | None
) -> None:
    # libyaml does not read every JSON with tabs: the lines are the same with spaces.
    document = read_document(json.dumps(value, indent=indent), "f.json")
    places = locate(read_document(json.dumps(value, indent=indent and 1), "f.json"))
    pending: list[tuple[object, tuple[str | int, ...]]] = [(document.value, ())]
    while pending:
        node, steps = pending.pop()
        if isinstance(node, list):
            expected = [places.key((*steps, index)).line for index in range(len(node))]
            assert document.item_lines(node) == expected
            pending += [(item, (*steps, index)) for index, item in enumerate(node)]
        elif isinstance(node, dict):
            pending += [(item, (*steps, key)) for key, item in node.items()]


def test_an_item_that_does_not_exist_is_on_the_first_line() -> None:
    document = read_document("- a\n", "f.yml")
    assert isinstance(document, Document)
    assert document.item_line(["other"], 0) == 1
    assert isinstance(document.value, list)
    assert document.item_line(document.value, 7) == 1


@pytest.mark.parametrize(
    ("steps", "line", "column", "width"),
    [
        (("description",), 2, 1, 11),
        (("tests", 0), 4, 5, 1),
        (("tests", 0, "expect"), 5, 5, 6),
        (("tests", 1, "it"), 7, 5, 2),
        (("tests", -1, "it"), 7, 5, 2),
        (("tests", 1, "tags", 1), 8, 17, 5),
        (("more", "x"), 12, 14, 1),
        (("more", "again"), 15, 3, 5),
        (("more", "again", "x"), 12, 14, 1),
    ],
)
def test_a_key_is_found(steps: tuple[str | int, ...], line: int, column: int, width: int) -> None:
    found = places_of(SUITE).key(steps)
    source = SUITE.split("\n")[line - 1]
    assert found == Place(line=line, column=column, width=width, source=source)


@pytest.mark.parametrize(
    ("steps", "line", "column", "width"),
    [
        (("description",), 2, 14, 12),
        (("tests",), 4, 3, 1),
        (("tests", 0, "it"), 4, 9, 12),
        (("tests", 0, "expect"), 5, 13, 20),
        (("tests", 1, "tags"), 8, 11, 1),
        (("tests", 1, "tags", 0), 8, 12, 3),
        (("tests", 1, "text"), 9, 11, 1),
        (("more", "again"), 15, 10, 5),
        (("more", "empty"), 16, 9, 1),
        ((), 2, 1, 1),
    ],
)
def test_a_value_is_found(steps: tuple[str | int, ...], line: int, column: int, width: int) -> None:
    found = places_of(SUITE).value(steps)
    assert (found.line, found.column, found.width) == (line, column, width)


@pytest.mark.parametrize(
    ("text", "column", "width"),
    [
        ("a: one two", 8, 3),
        ('a: "one two"', 9, 3),
        ("a: 'one two'", 9, 3),
        ("a: 'one''two'", 4, 10),
        ('a: "one\\ttwo"', 4, 10),
        ("a: !!str one two", 4, 13),
        ("a: |\n  one two\n", 4, 1),
        ("a: one two\n  three\n", 4, 7),
        ("a: [one, two]", 4, 1),
    ],
)
def test_part_of_a_text_is_pointed_at_where_that_is_possible(
    text: str, column: int, width: int
) -> None:
    found = places_of(text).value(("a",), offset=4, width=3)
    assert (found.line, found.column, found.width) == (1, column, width)


def test_an_offset_without_width_reaches_to_the_end_of_the_text() -> None:
    found = places_of('a: "one two three"').value(("a",), offset=4)
    assert (found.column, found.width) == (9, 9)


@pytest.mark.parametrize(
    ("steps", "line"),
    [
        (("tests", 0, "missing"), 4),
        (("tests", 9), 3),
        (("tests", 0, "it", "deeper"), 4),
        (("tests", "it"), 3),
        (("missing", 0), 2),
    ],
)
def test_a_path_that_leads_nowhere_is_answered_with_the_nearest_place(
    steps: tuple[str | int, ...], line: int
) -> None:
    places = places_of(SUITE)
    assert places.key(steps).line == line
    assert places.value(steps, offset=3).line == line


def test_places_of_an_empty_text_are_its_start() -> None:
    assert places_of("").value(("a", 0)) == Place(line=1, column=1, width=1, source="")


def test_json_that_pyyaml_cannot_read_is_located_as_far_as_it_goes() -> None:
    places = places_of('{"a": 1,\n"' + "k" * 2000 + '": 2,\n"c": "\x7f"}')
    assert places.key(("a",)).line == 1
    assert places.key(("c",)).line == 1


def test_columns_stay_true_after_tabs_surrogates_and_old_line_breaks() -> None:
    text = '{\n\t"a": "\\ud83d\\ude00 \u2028", "b": 1}'
    found = places_of(text).key(("b",))
    assert (found.line, text.split("\n")[1][found.column - 1 :][: found.width]) == (2, '"b"')
