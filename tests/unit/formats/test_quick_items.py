"""Items like the one before are read at once, and mean what they mean line by line."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import pytest
from case_tables import each_case
from hypothesis import given, settings
from hypothesis import strategies as st

from mcptest.formats.yaml import quick
from mcptest.formats.yaml.full import read_fully
from mcptest.formats.yaml.quick import read_quickly

if TYPE_CHECKING:
    from collections.abc import Iterator

ITEM = """\
  # case {n}
  - it: "case {n}"
    id: {n}
    note: 'it''s {n}' # "quoted"
    empty:
    flow: {{ text: "a {n}", list: [x, {n}] }}

    expect:
      - type: "text"
        text: "hello {n}"
      -
        - {n}
        - "b {n}"
        - fixed
      - []
    last: true
"""


def suite(*items: str) -> str:
    return "tests:\n" + "".join(items)


def described(value: object, starts: dict[int, list[int]]) -> object:
    """A value with its types, order and the lines of its items."""
    if isinstance(value, dict):
        return [(key, described(item, starts)) for key, item in value.items()]
    if isinstance(value, list):
        return starts[id(value)], [described(item, starts) for item in value]
    return type(value).__name__, value


def assert_agreement(text: str) -> None:
    found = read_quickly(text)
    if found is not None:
        assert described(*found) == described(*read_fully(text, "f.yml")), text


@pytest.fixture
def filled(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The lines where items begin that were not read line by line."""
    lines: list[int] = []
    fill = quick._ItemTemplate.fill

    def noted(self: Any, text: list[str], at: int, count: int, starts: Any) -> list[Any]:
        size = len(self._lines)
        items = fill(self, text, at, count, starts)
        lines.extend(range(at + 1, at + 1 + size * len(items), size))
        return items

    monkeypatch.setattr(quick._ItemTemplate, "fill", noted)
    return lines


def test_items_that_differ_in_values_are_read_at_once(filled: list[int]) -> None:
    text = suite(*(ITEM.format(n=n) for n in range(12)))
    assert_agreement(text)
    # Two show that they repeat, and the last one could still continue.
    assert filled == [3 + 16 * n for n in range(2, 11)]


def test_the_column_decides_what_a_line_after_the_last_item_belongs_to(filled: list[int]) -> None:
    item = '- it: "{n}"\n  expect:\n    a: {n}\n'
    items = "".join(item.format(n=n) for n in range(12))
    for tail in ("    b: 1\n", "  b: 1\n", "b: 1\n", "    - b\n", "   b: 1\n"):
        assert_agreement("tests:\n" + items + tail)
    assert len(filled) == 5 * 9


def test_every_item_has_collections_of_its_own() -> None:
    found = read_quickly(suite(*(ITEM.format(n=0) for _ in range(12))))
    assert found is not None
    items = found[0]["tests"]  # type: ignore[index]  # a mapping, as written above
    for part in ("flow", "expect"):
        assert len({id(item[part]) for item in items}) == 12
    assert len({id(item["expect"][1]) for item in items}) == 12


@each_case(
    ("usual", "other"),
    [
        ("a: 1", "b: 1"),
        ("a: 1", " a: 1"),
        ("a: 1", "a:  1"),
        ("a: 1", "a:"),
        ("a: 1", "a: {}"),
        ("a: 1", "a: |"),
        ("a: 1", "a: &x 1"),
        ("a: 1", "a: b: c"),
        ("a: 1", "a"),
        ("a: 1", "# a: 1"),
        ("a: 1", "..."),
        ("a: {}", "a: {b: 1, b: 2}"),
        ("a: {}", "a: ["),
        ('a: "x"', 'a: "x" # "y"'),
        ('a: "x"', 'a: "x\\ty"'),
        ('a: "x"', 'a: "x" y"'),
        ('a: "x"', "a: x"),
        ('a: "x"', 'a: "x'),
        ('a: "." # "."', 'a: "." # ".."'),
        ('a: x # "x"', 'a: x # "y"'),
        ('"a": "x"', '"a": "y"'),
        ('"a: b": "x"', '"a: b": "y: z"'),
        ('"a: b": "x"', '"a: c": "x"'),
        ("'a\\b': \"x\"", "'a\\b': \"y\""),
        ("- x", "- y: 1"),
        ('- "x"', '- "y: z"'),
        ('- "x"', '- "y": z'),
        ("# x", "# y"),
        ("# x", ""),
    ],
)
def test_one_item_that_is_different_is_never_misread(usual: str, other: str) -> None:
    def item(n: int, line: str) -> str:
        return f'  - it: "{n}"\n    list:\n    {line}\n'

    for at in (2, 6, 11):
        text = suite(*(item(n, other if n == at else usual) for n in range(12)))
        assert_agreement(text)
        assert_agreement(text.replace("    list:\n", "    one: 1\n"))


@pytest.mark.parametrize(
    "item",
    [
        "  - a: |\n      x\n",
        "  - a: >-\n      b: {n}\n",
        "  - a: | # why\n      b: {n}\n",
        "  - a: {\n      b: {n},\n      c: 1}\n",
        "  -\n    a: {n}\n",
        "  - {a: {n}}\n",
        "  - - {n}\n",
        "  - x{n}\n",
        "  - a: 1\n    a: {n}\n",
    ],
)
def test_items_that_cannot_be_copied_are_read_line_by_line(item: str, filled: list[int]) -> None:
    assert_agreement(suite(*(item.replace("{n}", str(n)) for n in range(12))))
    assert filled == []


def test_items_of_changing_length_are_read_line_by_line(filled: list[int]) -> None:
    items = ("  - a: {n}\n", "  - a: {n}\n    b: 2\n")
    assert_agreement(suite(*(items[n % 2].format(n=n) for n in range(30))))
    assert filled == []


def test_a_quoted_item_is_not_mistaken_for_a_mapping_that_begins_like_it() -> None:
    assert_agreement(suite(*['  - "a: b"\n'] * 3, *['  - "a: c": d\n'] * 9))


def test_a_list_of_few_items_is_read_line_by_line(filled: list[int]) -> None:
    assert_agreement(suite(*(ITEM.format(n=n) for n in range(6))))
    assert filled == []


def test_a_flow_collection_may_not_nest_deeper_in_a_copy_than_elsewhere() -> None:
    def text(depth: int) -> str:
        deep = "[" * depth + "]" * depth
        return suite(*(f"  - a: {deep if n == 6 else []}\n" for n in range(12)))

    read = [read_quickly(text(depth)) is not None for depth in range(quick.MAX_DEPTH + 1)]
    lone = [read_quickly(f"x:\n  - a: {'[' * n}{']' * n}\n") is not None for n in range(len(read))]
    assert read[1:] == lone[1:]
    assert True in read
    assert False in read


def test_long_runs_are_read_to_the_first_item_that_is_different(filled: list[int]) -> None:
    for at in (3, 7, 200, 399):
        items = [f'  - it: "{n}"\n    a: {n}\n    b: [{n}]\n' for n in range(400)]
        items[at] = '  - it: "x"\n    a: 1\n    b: [1]  # "\n    c: 1\n'
        assert_agreement(suite(*items))
        items[at] = '  - it: "x\\ty"\n    a: {}\n    b: []\n'
        assert_agreement(suite(*items))
    assert len(filled) > 8 * 300


def test_repeated_strings_are_kept_once() -> None:
    found = read_quickly(suite(*(f'  - a: "x {n}"\n    b: "x {n}"\n' for n in range(12))))
    assert found is not None
    items = found[0]["tests"]  # type: ignore[index]  # a mapping, as written above
    assert all(item["a"] is item["b"] for item in items[2:-1])


@pytest.mark.parametrize(
    "others",
    [
        ['"x"', '"y'],
        ['"', '"y"'],
        ['"x" y"', '"z'],
        ['"x"', '"y" # "'],
        ['"x\\"', '"y"'],
        ["x", '"y"'],
        ['"x"', ""],
        ["'", '"y"'],
    ],
)
def test_texts_are_only_cut_out_together_where_each_ends_its_own_line(others: list[str]) -> None:
    head = '    a: "'
    lines = [f"    a: {other}" for other in others]
    assert quick._read_quoted(lines, head) == []
    assert quick._read_quoted(['    a: "x"', '    a: ""'], head) == ["x", ""]
    for at in range(3, 9):
        items = [f'  - it: "{n}"\n    a: "{n}"\n' for n in range(12)]
        items[at : at + 2] = [f'  - it: "{at}"\n{line}\n' for line in lines]
        assert_agreement(suite(*items))


VALUES = [
    "1",
    "-2.5",
    "x",
    '"x"',
    '""',
    '"a: b"',
    '"é"',
    '"x" # "y"',
    '"." # "."',
    '"\\n"',
    "'it''s'",
    "{}",
    '{a: 1, "b": [2]}',
    "[]",
    "[x, {y: z}]",
    "",
    "# note",
    "~",
    "|",
    "{",
    '"',
    ": x",
    "x: y",
    "- x",
]
HEADS = [
    "    a: ",
    '    "b": ',
    "    c:\n      - ",
    "    c:\n    - k: ",
    "    d:\n      e: ",
    "    match:f: ",
    "  # ",
    "\n    g: ",
]


@st.composite
def repeated(draw: st.DrawFn) -> str:
    """Items with the same heads, most of them with the same kinds of values."""
    heads = ['  - it: "', *draw(st.lists(st.sampled_from(HEADS), max_size=4, unique=True))]
    usual = [draw(st.sampled_from(VALUES[:8])) for _ in heads]
    chance = random.Random(draw(st.integers()))
    odds = draw(st.sampled_from([0.0, 0.02, 0.1]))
    items = []
    for n in range(draw(st.integers(7, 14))):
        for head, value in zip(heads, usual, strict=True):
            if head.endswith('"'):
                items.append(f'{head}{n}"\n')
                continue
            kinds = VALUES if chance.random() < odds else [value, value.replace("x", f"x{n}")]
            items.append(f"{head}{chance.choice(kinds)}\n")
    return "tests:\n" + "".join(items)


@pytest.fixture(scope="module")
def impatient() -> Iterator[None]:
    """Items are compared again at once after one that was different."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(quick, "_PAUSE", 1)
        patch.setattr(quick, "_MIN_ITEMS", 1)
        yield


@pytest.mark.slow
@pytest.mark.usefixtures("impatient")
@given(text=repeated(), seed=st.integers())
@settings(max_examples=300)
def test_generated_lists_read_the_same(text: str, seed: int) -> None:
    assert_agreement(text)
    chance = random.Random(seed)
    lines = text.splitlines(keepends=True)
    row = chance.randrange(len(lines))
    changes = ["", lines[row] * 2, " " + lines[row], lines[row].lstrip(), lines[row].upper()]
    lines[row] = chance.choice(changes)
    assert_agreement("".join(lines))
