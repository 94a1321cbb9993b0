"""The quick readers return what the full reader returns, or nothing at all."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
import yaml
from case_tables import each_case
from hypothesis import given, settings
from hypothesis import strategies as st

from mcptest.core.errors import FormatError
from mcptest.formats.yaml import NOT_JSON, full, read_json
from mcptest.formats.yaml.full import read_fully
from mcptest.formats.yaml.quick import read_quickly

# One JSON string per line: every trap we could think of, right and wrong.
SNIPPETS: list[str] = [
    json.loads(line)
    for line in Path(__file__).with_name("yaml_snippets.jsonl").read_text("utf-8").splitlines()
]
LONG_SNIPPETS = [
    "k" * 1000 + ": 1",
    "k" * 1020 + ": 1",
    "k" * 1030 + ": 1",
    '"' + "k" * 1030 + '": 1',
    "a: {" + "k" * 1030 + ": 1}",
    'a: {"' + "k" * 1030 + '": 1}',
    'a: {"b"' + " " * 1030 + ": 1}",
    '{"' + "k" * 1030 + '": 1}',
    "a: " + "9" * 4300,
    "a: " + "9" * 4301,
    "a: " + "0" * 4301,
    "a: 0x" + "f" * 4000,
    '{"a": ' + "9" * 4301 + "}",
    "a: [" * 70 + "]" * 70,
    "a: " + "[" * 70 + "]" * 70,
    "[" * 70 + "]" * 70,
    "[" * 300 + "]" * 300,
    "- " * 70 + "x",
]
SNIPPETS += LONG_SNIPPETS


def described(value: object, starts: dict[int, list[int]] | None) -> object:
    """A value with its types (1, 1.0 and True are equal in Python), order and item lines."""
    if isinstance(value, dict):
        return "map", [(key, described(item, starts)) for key, item in value.items()]
    if isinstance(value, list):
        lines = [] if starts is None else starts[id(value)]
        assert starts is None or len(lines) == len(value)
        return "list", lines, [described(item, starts) for item in value]
    return type(value).__name__, value


def assert_agreement(text: str) -> bool:
    """Whether the quick reader had an answer; it must be the one of the full reader."""
    found = read_quickly(text)
    if found is None:
        return False
    # A FormatError here is a failure too: the quick reader accepted what is wrong.
    assert described(*found) == described(*read_fully(text, "f.yml")), text
    return True


@each_case("text", SNIPPETS)
def test_quick_and_full_reader_agree_on_every_trap(text: str) -> None:
    assert_agreement(text)


@each_case("text", SNIPPETS)
def test_both_parsers_of_pyyaml_agree_with_the_quick_reader(
    text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(full, "CParser", None)
    assert_agreement(text)


@each_case("text", SNIPPETS)
def test_json_is_read_as_the_full_reader_reads_it(text: str) -> None:
    value = read_json(text)
    if value is NOT_JSON:
        return
    try:
        expected, _ = read_fully(text, "f.json")
    except FormatError:
        assert "k" * 1025 in text, "only keys of more than 1,024 characters are beyond PyYAML"
    else:
        assert described(value, None) == described(expected, None)


def test_the_snippets_exercise_both_outcomes() -> None:
    answers = [read_quickly(text) is not None for text in SNIPPETS]
    assert len(SNIPPETS) > 600
    assert answers.count(True) > 200
    assert answers.count(False) > 200


PIECES = st.sampled_from(
    [
        "a",
        "é",
        " ",
        ":",
        "#",
        "- ",
        "'",
        '"',
        "\\",
        "{",
        "]",
        ",",
        "\n",
        "1",
        ".",
        "~",
        "|",
        "😀",
        "\t",
        "&",
        "\u2028",
    ]
)
TEXTS = st.lists(PIECES, max_size=8).map("".join) | st.text(max_size=8)
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXTS
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=20,
)
BLOCKS = st.dictionaries(TEXTS, VALUES, min_size=1, max_size=5)


def quoted(text: str, style: int) -> str:
    single_line = text.isprintable()
    if style == 0 and single_line:
        return "'" + text.replace("'", "''") + "'"
    if style == 1 and text.isascii() and text.isalnum() and not text[0].isdigit():
        return text
    return json.dumps(text, ensure_ascii=style == 2)


def block(value: object, indent: int, chance: random.Random) -> str:
    """The value as an author might write it, starting after a key's colon or a dash."""
    pad = " " * indent
    if isinstance(value, dict) and value:
        step = chance.choice([1, 2, 4])
        return "\n" + "".join(
            f"{pad}{quoted(key, chance.randrange(3))}:{block(item, indent + step, chance)}"
            for key, item in value.items()
        )
    if isinstance(value, list) and value:
        return "\n" + "".join(f"{pad}-{item_text(item, indent, chance)}" for item in value)
    if isinstance(value, str) and chance.random() < 0.3 and is_literal(value):
        mark = "|" if value.endswith("\n") else "|-"
        body = value.removesuffix("\n").split("\n")
        return f" {mark}\n" + "".join(f"{pad} {line}\n" for line in body)
    comment = chance.choice(["", "", " # note", "  "])
    if isinstance(value, str):
        return f" {quoted(value, chance.randrange(3))}{comment}\n"
    return f" {json.dumps(value)}{comment}\n"


def is_literal(text: str) -> bool:
    lines = text.removesuffix("\n").split("\n")
    return all(line.isprintable() and line.strip() and line[0] != " " for line in lines)


def item_text(item: object, indent: int, chance: random.Random) -> str:
    text = block(item, indent + 2, chance)
    is_compact = isinstance(item, dict) and item and chance.random() < 0.8
    return " " + text[1:].lstrip(" ") if is_compact else text


@pytest.mark.long
@pytest.mark.slow
@given(value=BLOCKS, seed=st.integers())
def test_generated_block_files_read_the_same(value: dict[str, object], seed: int) -> None:
    text = block(value, 0, random.Random(seed))[1:]
    assert_agreement(text)


@pytest.mark.slow
@given(value=VALUES, indent=st.sampled_from([None, 1, 2, "\t"]), raw=st.booleans())
def test_generated_json_reads_the_same_everywhere(
    value: object, indent: int | str | None, raw: bool
) -> None:
    text = json.dumps({"a": value}, indent=indent, ensure_ascii=not raw)
    assert read_json(text) == {"a": value}
    assert_agreement("a: " + json.dumps(value, indent=indent, ensure_ascii=not raw))


@pytest.mark.long
@pytest.mark.slow
@given(
    value=BLOCKS, flow=st.sampled_from([None, True, False]), width=st.sampled_from([20, 80, 4000])
)
def test_output_of_pyyaml_is_read_the_same(
    value: dict[str, object], flow: bool | None, width: int
) -> None:
    text = yaml.safe_dump(value, default_flow_style=flow, width=width, allow_unicode=True)
    assert_agreement(text)


WHOLE = """\
# A suite
description: "Echo: it's fine" # really
defaults: {timeout: 5, tags: [a, "b", 'c''d'], nested: {x: [1, 2]}}
tests:
  - it: "case 17 echoes"
    request:
      jsonrpc: "2.0"
      id: t-17
      params: {"name":"echo", "arguments": {}}
    expect:
      text: |
        one
          two

        three
      folded: >-
        four
        five
      match:partial:
        match:extractField: "a.*"
      empty:
      url: http://localhost:80/#top
      list:
      - 1
      - -2.5e3
      - ~
      -
        deep: yes
      flow: [
        a b, "c", # why
        {d: e}
      ]
  - it: 'second'
    skip: true
"""
INSERTED = " \n:#-\"'{}[],|>&*!%@`?\\\t~0a.\r\u2028é<="


def mutated(text: str, chance: random.Random) -> str:
    for _ in range(chance.choice([1, 1, 1, 2, 3])):
        at = chance.randrange(len(text) or 1)
        match chance.randrange(5 if text else 3):
            case 0:
                text = text[:at] + text[at + 1 :]
            case 1:
                text = text[:at] + text[at : at + 1] + text[at:]
            case 2:
                text = text[:at] + chance.choice(INSERTED) + text[at:]
            case 3:
                text = text[:at] + chance.choice(INSERTED) + text[at + 1 :]
            case _:
                lines = text.splitlines(keepends=True)
                row = chance.randrange(len(lines))
                lines[row] = chance.choice(
                    ["", lines[row] * 2, " " + lines[row], lines[row].lstrip()]
                )
                text = "".join(lines) or "\n"
    return text


def test_the_whole_example_is_read_quickly() -> None:
    assert assert_agreement(WHOLE)


@pytest.mark.slow
@given(seed=st.integers())
@settings(max_examples=400)
def test_a_damaged_file_is_never_misread(seed: int) -> None:
    chance = random.Random(seed)
    assert_agreement(mutated(WHOLE, chance))
    assert_agreement(mutated(chance.choice([text for text in SNIPPETS if text]), chance))
