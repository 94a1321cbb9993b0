"""What the quick reader reads, and what it leaves to the full one.

That its answers are right is the business of test_readers_agree.
"""

from __future__ import annotations

import pytest
from case_tables import each_case

from mcptest.formats.yaml import quick
from mcptest.formats.yaml.quick import _MAX_QUICK_DEPTH, read_quickly


def value_of(text: str) -> object:
    found = read_quickly(text)
    assert found is not None, "the quick reader gave up"
    return found[0]


@each_case(
    ("text", "value"),
    [
        ("", None),
        ("# only a comment\n", None),
        ("---\na: 1\n", {"a": 1}),
        ("a: 1 # one\nb: no\n", {"a": 1, "b": "no"}),
        ("a:\n  b:\n    c: ~\n  d: 0x1F\n", {"a": {"b": {"c": None}, "d": 31}}),
        ("a:\n- 1\n- 2\nb:\n  - 3\n", {"a": [1, 2], "b": [3]}),
        ("- a: 1\n  b: 2\n-\n  c: 3\n-\n", [{"a": 1, "b": 2}, {"c": 3}, None]),
        ("a: \"x # y: z\"\nb: 'it''s'\n", {"a": "x # y: z", "b": "it's"}),
        ('a: "\\u00e9\\n"\n', {"a": "é\n"}),
        ("a: http://x.y/#z\nb: C:\\dir\n", {"a": "http://x.y/#z", "b": "C:\\dir"}),
        ("a: |\n  x\n   y\n\nb: >-\n  p\n  q\n\n  r\n", {"a": "x\n y\n", "b": "p q\nr"}),
        ("a: {b: [1, 'x'], \"c\":{}}\n", {"a": {"b": [1, "x"], "c": {}}}),
        ("d: [\n  1, # one\n  2,\n]\n", {"d": [1, 2]}),
        ("\ufeffa: 1\r\nb: 2\r\n", {"a": 1, "b": 2}),
        ("1: a\ntrue: b\n", {"1": "a", "true": "b"}),
        ('match:partial:\n  match:type: "x: y"\n', {"match:partial": {"match:type": "x: y"}}),
        ("a: b\nc:\n  a: d\n  e: 7\n", {"a": "b", "c": {"a": "d", "e": 7}}),
    ],
)
def test_the_common_subset_is_read(text: str, value: object) -> None:
    assert value_of(text) == value


def test_item_lines_are_those_of_the_items_content() -> None:
    found = read_quickly("a:\n  - x\n\n  -\n    k: v\n  - [\n      p,\n      q]\n")
    assert found is not None
    value, starts = found
    assert value == {"a": ["x", {"k": "v"}, ["p", "q"]]}
    assert sorted(starts.values()) == [[2, 5, 6], [7, 8]]


@each_case(
    "text",
    [
        "a: &x 1\n",
        "a: *x\n",
        "a: !!str 1\n",
        "%YAML 1.2\n---\na: 1\n",
        "a: 1\n---\n",
        "a: 1\n...\n",
        "? a\n: b\n",
        "a: b\n  c\n",
        'a: "b\n  c"\n',
        "a: 1\na: 2\n",
        "<<: {a: 1}\n",
        "a:\n\tb: 1\n",
        'a: "\\ud83d\\ude00"\n',
        "a:\n   b: 1\n  c: 2\n",
        "- - x\n",
        "a: b: c\n",
        "a: .inf\n",
        "a: |2\n   b\n",
        "a: {b}\n",
        "a: [b: c]\n",
        "a: [b\n",
        "just text\n",
        "a: 1\na\n",
        "a::b: 1\n",
        "a: -\n",
        "a: x\u2028y\n",
        "a: \x00\n",
        "a: 1\rb: 2\n",
        "a: |\n  x",
        "a: {b: 1, b: 2}\n",
        "a: [b,, c]\n",
        "a: [1e999]\n",
        "k" * 1001 + ": 1\n",
    ],
)
def test_anything_else_is_left_to_the_full_reader(text: str) -> None:
    assert read_quickly(text) is None


def test_nesting_is_followed_to_its_own_limit_only() -> None:
    def nested(depth: int) -> str:
        return "".join(" " * level + "a:\n" for level in range(depth))

    assert value_of(nested(_MAX_QUICK_DEPTH)) is not None
    assert read_quickly(nested(_MAX_QUICK_DEPTH + 2)) is None
    assert read_quickly("a: " + "[" * _MAX_QUICK_DEPTH + "]" * _MAX_QUICK_DEPTH) is None
    assert read_quickly("a: " + "[" * 20 + "]" * 20) is not None


def test_a_file_with_too_many_nodes_is_left_to_the_full_reader(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(quick, "MAX_NODES", 100)
    monkeypatch.setattr(quick, "MAX_NODES", 100)
    assert read_quickly("a: [" + "1," * 97 + "]") is not None
    assert read_quickly("a: [" + "1," * 98 + "]") is None
