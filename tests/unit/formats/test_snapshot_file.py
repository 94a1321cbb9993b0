"""Snapshots become a file that a person can review, and are read back unchanged."""

from __future__ import annotations

import json

import pytest
from case_tables import each_case
from hypothesis import given
from hypothesis import strategies as st

from mcptest.core.errors import FormatError
from mcptest.formats.snapshots import read_snapshots, write_snapshots
from mcptest.formats.yaml import full

# Halves of surrogate pairs included, but no high one before a low one: those are a character.
TEXTS = st.text(
    st.characters(exclude_characters=[chr(c) for c in range(0xDC00, 0xE000)])
) | st.text(st.sampled_from("\n\n  \t\"'\\#:-ab\x00\x1b\udc00é\u2028"), max_size=30)
NAMES = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(10**30), 10**30)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXTS
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=20,
)
HEADER = """\
# Snapshots of mcptest.yaml: what its server answered when they were last accepted.
# mcptest writes this file. Review it and commit it with the suite.
# To accept what the server answers now, run mcptest with --update-snapshots.
version: 1
"""


def same(left: object, right: object) -> bool:
    """Equal, and of the same JSON types."""
    return json.dumps(left, sort_keys=True) == json.dumps(right, sort_keys=True)


def nested(depth: int) -> object:
    value: object = "core"
    for level in range(depth):
        value = [value] if level % 2 else {"a": value}
    return value


def mistakes(text: str) -> list[tuple[str, int, int]]:
    with pytest.raises(FormatError) as caught:
        read_snapshots(text, "a.snap.yaml")
    return [(found.code, found.line, found.column) for found in caught.value.diagnostics]


# There and back


@pytest.mark.slow
@given(st.dictionaries(NAMES, VALUES, max_size=4))
def test_every_value_is_read_back_unchanged(entries: dict[str, object]) -> None:
    assert same(read_snapshots(write_snapshots(entries, "a.yaml"), "a.snap.yaml"), entries)


@pytest.mark.slow
@given(st.dictionaries(NAMES, VALUES, max_size=3))
def test_the_file_can_be_written_in_utf_8_and_shows_no_control_character(
    entries: dict[str, object],
) -> None:
    text = write_snapshots(entries, "a\x1b[31m\u202e.yaml")
    assert text.encode("utf-8").decode("utf-8") == text
    assert text.replace("\n", "").replace("\t", "").isprintable()


@pytest.mark.slow
@given(st.dictionaries(NAMES, VALUES, max_size=3))
def test_the_parser_without_libyaml_reads_the_same(entries: dict[str, object]) -> None:
    text = write_snapshots(entries, "a.yaml")
    with pytest.MonkeyPatch.context() as patch:
        slow = full.read_fully(text, "a.snap.yaml")[0]
        patch.setattr(full, "CParser", None)
        assert same(full.read_fully(text, "a.snap.yaml")[0], slow)


@pytest.mark.parametrize("depth", [1, 38, 39, 40, 41, 64, 150, 199])
def test_a_deep_value_is_read_back_unchanged(depth: int) -> None:
    entries = {"deep": nested(depth)}
    assert same(read_snapshots(write_snapshots(entries, "a.yaml"), "a.snap.yaml"), entries)


def test_a_large_value_is_read_back_unchanged() -> None:
    entries = {"large": {"text": 'line "one"\n' * 20_000, "items": [{"n": n} for n in range(9000)]}}
    assert same(read_snapshots(write_snapshots(entries, "a.yaml"), "a.snap.yaml"), entries)


@pytest.mark.parametrize("length", [1000, 1024, 3000])
def test_a_long_name_and_long_keys_are_read_back_unchanged(length: int) -> None:
    entries = {"n" * length: {"k" * length: [{"é" * length: 1}]}}
    assert same(read_snapshots(write_snapshots(entries, "a.yaml"), "a.snap.yaml"), entries)


# What a reviewer sees


def test_the_file_reads_like_the_answer() -> None:
    answer = {
        "content": [
            {"text": "A-17\n  sent to Oslo\n", "type": "text"},
            {"text": '{"id": "<id-1>", "paid": true}', "type": "text"},
        ],
        "isError": False,
        "rows": [[1, 2], []],
    }
    text = write_snapshots({"tools/finds it": answer, "a name": None}, "mcptest.yaml")
    assert text == HEADER + (
        """\
snapshots:
  "a name": null

  "tools/finds it":
    content:
      - text: |
          A-17
            sent to Oslo
        type: "text"
      - text: |-
          {"id": "<id-1>", "paid": true}
        type: "text"
    isError: false
    rows:
      - [1, 2]
      - []
"""
    )


def test_the_order_in_which_snapshots_were_seen_does_not_show() -> None:
    entries = {"b": 1, "a": "\ud800", "c": [2]}
    backwards = dict(reversed(entries.items()))
    assert write_snapshots(entries, "a.yaml") == write_snapshots(backwards, "a.yaml")


def test_values_that_yaml_cannot_hold_are_written_as_json() -> None:
    text = write_snapshots({"half": {"a": "\ud800"}, "whole": "😀"}, "mcptest.yaml")
    half = 'json:\n  half: |-\n    {"a": "\\ud800"}\n'
    assert text == f'{HEADER}snapshots:\n  whole: "😀"\n{half}'


def test_a_file_without_snapshots_can_be_read() -> None:
    assert read_snapshots(write_snapshots({}, "a.yaml"), "a.snap.yaml") == {}


# Mistakes


@each_case(
    ("text", "wanted"),
    [
        ("", [("F005", 1, 1)]),
        ("- a\n", [("F005", 1, 1)]),
        ("version: 1\n", [("F007", 1, 1)]),
        ("snapshots: {}\n", [("F007", 1, 1)]),
        ("version: 2\nsnapshots: {}\n", [("F010", 1, 10)]),
        ("version: true\nsnapshots: {}\n", [("F010", 1, 10)]),
        ("version: 1\nsnapshots: []\n", [("F008", 2, 12)]),
        ("version: 1\nsnapshot: {a: 1}\n", [("F006", 2, 1)]),
        ("version: 1\nsnapshots: {}\nnotes: b\njson: 3\n", [("F006", 3, 1), ("F008", 4, 7)]),
        ("version: 1\nsnapshots: {a: 1}\njson: {a: '2'}\n", [("F003", 3, 8)]),
        (
            "version: 1\nsnapshots: {}\njson: {a: 2, b: '[1,]'}\n",
            [("F008", 3, 11), ("F002", 3, 17)],
        ),
        ("version: 1\nsnapshots:\n  a: 1\n  a: 2\n", [("F003", 4, 3)]),
        ("version: 1\nsnapshots:\n  a: [1\n", [("F002", 3, 6)]),
    ],
)
def test_every_mistake_is_reported_with_its_place(
    text: str, wanted: list[tuple[str, int, int]]
) -> None:
    assert mistakes(text) == wanted


def test_a_conflict_of_a_merge_is_called_one() -> None:
    text = (
        "version: 1\r\nsnapshots:\r\n<<<<<<< HEAD\r\n  a: 1\r\n=======\r\n  a: 2\r\n>>>>>>> b\r\n"
    )
    with pytest.raises(FormatError) as caught:
        read_snapshots(text, "a.snap.yaml")
    (found,) = caught.value.diagnostics
    assert (found.code, found.line, found.source) == ("F002", 3, "<<<<<<< HEAD")
    assert "merge" in found.message
    assert "--update-snapshots" in found.help


def test_a_snapshot_that_looks_like_a_conflict_is_none() -> None:
    entries = {"a": "<<<<<<< HEAD\nx\n=======\ny\n>>>>>>> b\n"}
    assert read_snapshots(write_snapshots(entries, "a.yaml"), "a.snap.yaml") == entries
