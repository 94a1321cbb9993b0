"""Rows of `each`: the CSV they are read from, and the names and values of their tests."""

from __future__ import annotations

import json
from typing import Any

import pytest
from case_tables import each_case
from suite_reading import REGISTRY, load

from mcptest.core.errors import FormatError
from mcptest.formats.conductor import load_conductor
from mcptest.formats.each import MAX_ROWS, CsvError, read_csv

Rows = list[dict[str, Any]] | dict[str, str]


def values(text: str) -> list[list[str]]:
    return [[cell for cell, _ in record] for record in read_csv(text)]


@each_case(
    ("text", "expected"),
    [
        ("", []),
        ("\n\r\n", []),
        ("a,b\n1,2\n", [["a", "b"], ["1", "2"]]),
        ("a,b\r\n1,2", [["a", "b"], ["1", "2"]]),
        ("a\r1\r", [["a"], ["1"]]),
        ("a,b\n\n1,2\n", [["a", "b"], ["1", "2"]]),
        ("a,\n,b\n", [["a", ""], ["", "b"]]),
        ("a,", [["a", ""]]),
        (" a , b ", [[" a ", " b "]]),
        ('"a,b","c\nd"', [["a,b", "c\nd"]]),
        ('"say ""hi""",x', [['say "hi"', "x"]]),
        ('""\n""\n', [[""], [""]]),
        ("é,…\n", [["é", "…"]]),
    ],
)
def test_csv_is_read_as_written(text: str, expected: list[list[str]]) -> None:
    assert values(text) == expected


@each_case(
    ("text", "at", "words"),
    [
        ('a\n"b', 2, "never closed"),
        ('a\n"b"c\n', 5, "after the closing quote"),
        ('a\nb"c\n', 3, "a quote in a cell without quotes"),
        ('"a""', 0, "never closed"),
    ],
)
def test_bad_csv_is_refused_with_its_place(text: str, at: int, words: str) -> None:
    with pytest.raises(CsvError, match=words) as caught:
        values(text)
    assert caught.value.at == at


def conductor(test: dict[str, Any], files: dict[str, str] | None = None) -> tuple[Any, list[str]]:
    """The cases of a test file with this test, and its warnings."""
    test = {"it": "it", "tool": "t", "expect": {"response": {"result": "match:exists"}}, **test}
    text = json.dumps({"description": "d", "tests": [test]}, indent=1)

    def read_beside(name: str) -> str:
        return (files or {})[name]

    suite, warnings = load_conductor(text, "a.test.mcp.yml", REGISTRY, {}, read_beside)
    return suite.cases, [each.message for each in warnings]


def names(rows: Rows, name: str = "it") -> list[str]:
    columns = rows[0] if isinstance(rows, list) else {}
    arguments = {column: f"${{{column}}}" for column in columns}
    cases, _ = conductor({"it": name, "each": rows, "arguments": arguments})
    return [case.name for case in cases]


@each_case(
    ("rows", "expected"),
    [
        ([{"a": 1, "b": 2}], ["it [a=1]"]),
        ([{"a": 1, "b": 2}, {"a": 1, "b": 3}], ["it [a=1, b=2]", "it [a=1, b=3]"]),
        ([{"a": 1}, {"a": "1"}, {"a": 1}], ["it [a=1]", "it [a=1] #2", "it [a=1] #3"]),
        ([{"a": 1, "b": 2}, {"a": 1, "b": 2}], ["it [a=1]", "it [a=1] #2"]),
        ([{"a": ""}, {"a": None}, {"a": True}], ['it [a=""]', "it [a=null]", "it [a=true]"]),
        ([{"a": "x\ny\x1b[31m\u202e"}], ["it [a=x\\ny\\u001b[31m\\u202e]"]),
        ([{"a": "x" * 40}], [f"it [a={'x' * 30}…]"]),
        ([{"a": "x" * 40}, {"a": "x" * 41}], [f"it [a={'x' * 30}…]", f"it [a={'x' * 30}…] #2"]),
        ([{"a": {"b": [1]}}], ['it [a={"b": [1]}]']),
    ],
)
def test_names_are_short_visible_and_unique(rows: Rows, expected: list[str]) -> None:
    assert names(rows) == expected


def test_a_name_with_a_column_is_used_as_it_is() -> None:
    rows: Rows = [{"a": 1}, {"a": 2}, {"a": 1}]
    assert names(rows, "reads ${a} of $${a} and ${b}") == [
        "reads 1 of $${a} and ${b}",
        "reads 2 of $${a} and ${b}",
        "reads 1 of $${a} and ${b} #2",
    ]


def sent(case: Any) -> Any:
    return json.loads(case.steps[0].line)["params"]


@each_case(
    ("value", "written", "expected"),
    [
        (1, "${a}", 1),
        (1, "n ${a}", "n 1"),
        (True, "${a}!", "true!"),
        (None, "${a}", None),
        ({"x": [1]}, "${a}", {"x": [1]}),
        ({"x": 1}, "${a}.", '{"x":1}.'),
        ("1", "${a}", "1"),
        ("k", {"${a}": 1}, {"k": 1}),
        ("x", "$${a}", "${a}"),
        ("$${a}", "${a}", "${a}"),
        ("a", ["${a}", "${a}${a}"], ["a", "aa"]),
    ],
)
def test_a_lone_reference_keeps_the_type_and_others_are_text(
    value: object, written: object, expected: object
) -> None:
    cases, _ = conductor({"each": [{"a": value}], "arguments": {"value": written}})
    assert sent(cases[0])["arguments"] == {"value": expected}
    entry = {"name": "n", "tool": "t", "each": [{"a": value}], "args": {"value": written}}
    suite = {"servers": {"s": {"command": ["x"]}}, "tools": [entry]}
    [loaded], _ = load(json.dumps(suite))
    assert sent(loaded.cases[0])["arguments"] == {"value": expected}


def test_arguments_of_a_prompt_become_strings() -> None:
    test = {"it": "p", "each": [{"n": 3}], "prompt": "p", "arguments": {"n": "${n}"}}
    text = json.dumps(
        {"description": "d", "tests": [{**test, "expect": {"response": "match:exists"}}]}
    )
    suite, _ = load_conductor(text, "a.test.mcp.yml", REGISTRY, {})
    assert sent(suite.cases[0])["arguments"] == {"n": "3"}


@each_case(
    ("each", "files", "expected"),
    [
        ([], {}, '"each" is empty'),
        (5, {}, "must be a list of rows"),
        ([1], {}, "a row must be a mapping and is a number"),
        ([{}], {}, "a row without columns"),
        ([{"a": 1}, {"b": 1}], {}, 'a row has no key "b"'),
        ([{"a": 1, "path": 2}, {"a": 1}], {}, 'a row needs the key "path"'),
        ([{"a": 1}, {"a": 1, "other": None}], {}, 'a row has no key "other"'),
        ([{"a-b": 1}], {}, "is not a name"),
        ({}, {}, 'needs the key "file"'),
        ({"file": "a.xml"}, {}, "files that end in .csv"),
        ({"file": "a.csv"}, {"a.csv": ""}, "there are no rows"),
        ({"file": "a.csv"}, {"a.csv": "a\n"}, "there are no rows"),
        ({"file": "a.csv"}, {"a.csv": "a;b\n1;2\n"}, "'a;b' is not a name"),
        ({"file": "a.csv"}, {"a.csv": "a,a\n1,2\n"}, 'the column "a" is there twice'),
        ({"file": "a.csv"}, {"a.csv": 'a\n"x\n'}, "never closed"),
        ({"file": "a.yaml"}, {"a.yaml": "a: 1\n"}, "must be a list of mappings"),
        ({"file": "a.yaml"}, {"a.yaml": "[]\n"}, "there are no rows"),
        ({"file": "a.yaml"}, {"a.yaml": "- {a: 1, a: 2}\n"}, "twice"),
        ({"file": "a.json"}, {"a.json": "[1]"}, "a row must be a mapping"),
        ([{"a": 1}] * (MAX_ROWS + 1), {}, "more than 10,000 rows"),
        ({"file": "a.csv"}, {"a.csv": "a\n" + "1\n" * (MAX_ROWS + 5)}, "more than 10,000 rows"),
    ],
)
def test_mistakes_in_rows_are_refused(each: Any, files: dict[str, str], expected: str) -> None:
    with pytest.raises(FormatError) as caught:
        conductor({"each": each, "arguments": {"x": "${a}"}}, files)
    messages = [found.message for found in caught.value.diagnostics if found.severity == "error"]
    assert any(expected in message for message in messages), messages
    assert not any("captures" in message for message in messages), "rows decide what is known"


def test_values_that_would_fill_the_memory_are_refused() -> None:
    rows = [{"a": "x" * 1_000_000}]
    with pytest.raises(FormatError, match="1 mistake") as caught:
        conductor({"each": rows, "arguments": {"x": ["${a}"] * 80}})
    assert "has more than 67,108,864 characters" in caught.value.diagnostics[0].message


def test_two_columns_that_become_one_key_are_refused() -> None:
    rows = [{"a": "x", "b": "y"}, {"a": "z", "b": "z"}]
    with pytest.raises(FormatError) as caught:
        conductor({"each": rows, "arguments": {"${a}": 1, "${b}": 2}})
    [mistake] = caught.value.diagnostics
    assert mistake.message == 'the key "z" would be there twice (in the row a=z, b=z)'


def test_columns_that_are_not_used_are_warnings() -> None:
    _, warnings = conductor({"each": [{"a": 1, "b": 2}], "arguments": {"x": "${a}"}})
    assert warnings == ["the test does not use the column 'b'"]
    files = {"a.csv": "a,b\n1,2\n"}
    _, warnings = conductor({"each": {"file": "a.csv"}, "arguments": {"x": "${a}"}}, files)
    assert warnings == []
    _, warnings = conductor({"each": {"file": "a.csv"}}, files)
    assert warnings == ["no column of this file is used, so every row is the same test"]


def test_a_reserved_name_cannot_be_a_column_of_a_suite() -> None:
    entry = {"name": "n", "tool": "t", "each": [{"CONFIG_DIR": 1}]}
    suite = {"servers": {"s": {"command": ["x"]}}, "tools": [entry]}
    with pytest.raises(FormatError) as caught:
        load(json.dumps(suite))
    assert "CONFIG_DIR cannot be set" in caught.value.diagnostics[0].message
