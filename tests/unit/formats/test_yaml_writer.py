"""Values become YAML and are read back as the same values, whatever text is in them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping

import pytest
from case_tables import each_case
from hypothesis import given
from hypothesis import strategies as st

from mcptest.formats.yaml import read_document
from mcptest.formats.yaml.full import Tagged, read_fully
from mcptest.formats.yaml.stream import read_stream
from mcptest.formats.yaml.writer import Commented, LiteralBlock, quoted, render_compact, render_yaml
from mcptest.matching.case_tags import TAG_NAMES

# Half a surrogate pair cannot be written in UTF-8 at all.
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(10**20), 10**20)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXTS
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=20,
)


# Strings that YAML, or an older version of it, could take for something else.
ODD_TEXTS = (
    *("", " ", "a", "a b", " a", "a ", "yes", "No", "null", "~", "true", "1", "1.5", "0x1"),
    *("a: b", "a:b", "a #b", "#a", "- a", "-a", "a,b", "[a]", "{a}", "'a'", "it's", '"', "\\"),
    *("a\nb", "a\n", "\ta", "\x00", "\x85", "\u2028", "\u202e", "é", "☃", "😀", "match:a"),
    *("*a", "&a", "!a", "!!str a", "%a", "@a", "`a", "|", ">", "?", "...", "---", "..", "./a"),
    *("${a}", "<<", "=", "2026-01-01", "12:30", "a" * 200, "a b " * 40, "https://a/b?c=d"),
)


def same(left: object, right: object) -> bool:
    """Equal, and of the same JSON types."""
    return json.dumps(left, sort_keys=True) == json.dumps(right, sort_keys=True)


@pytest.mark.slow
@pytest.mark.parametrize("render", [render_yaml, render_compact])
@given(VALUES)
def test_both_readers_read_a_value_back_unchanged(
    render: Callable[[Mapping[str, object]], str], value: object
) -> None:
    document = {"a": value, "b": [value], "yes": {"expect": value}}
    text = render(document)
    assert same(read_document(text, "a.yml").value, document)
    assert same(read_fully(text, "a.yml")[0], document)


# What makes writing lines hard: breaks, blanks, signs of YAML, invisible characters.
LINES = st.text(st.sampled_from("\n\n\n  \tab#:-|>'\"\\%&*!?{}[],\x00\x85\u2028é"), max_size=30)


@given(LINES)
def test_a_string_written_over_several_lines_is_read_back_unchanged(text: str) -> None:
    lines = LiteralBlock(text=text)
    written = {"a": lines, "b": [lines, [lines], {"c": lines, "d": 1}], "e": [[[lines]], lines]}
    meant = {"a": text, "b": [text, [text], {"c": text, "d": 1}], "e": [[[text]], text]}
    assert read_document(render_yaml(written), "a.yml").value == meant
    assert read_fully(render_yaml(written), "a.yml")[0] == meant


@given(TEXTS, TEXTS)
def test_a_comment_changes_no_value(remark: str, value: str) -> None:
    item = Commented(comments=(remark,), value={"it": value})
    document = Commented(comments=(remark,), value={"tests": [item, item]})
    read = read_document(render_yaml(document), "a.yml").value
    assert read == {"tests": [{"it": value}, {"it": value}]}


@each_case("render", [render_yaml, render_compact])
@each_case("text", ODD_TEXTS)
def test_an_ambiguous_string_is_read_back_as_a_string(
    render: Callable[[Mapping[str, object]], str], text: str
) -> None:
    value = {"name": text, "list": [{text: text, "list": [text], "in": {"a": [[text]]}}]}
    assert same(read_document(render(value), "a.yml").value, value)


def test_plain_keys_are_unquoted_and_strings_quoted() -> None:
    assert render_yaml({"a": {"b-c": "d", "match:type": 1}, "e": [], "true": {}}) == (
        'a:\n  b-c: "d"\n  "match:type": 1\ne: []\n"true": {}\n'
    )


def test_a_list_in_a_list_is_in_brackets() -> None:
    assert render_yaml([[1, ["a"]], {"b": [2]}]) == '- [1, ["a"]]\n- b:\n    - 2\n'


def test_a_long_list_in_a_list_has_lines_of_its_own() -> None:
    long = ["a" * 40, {"b": "c" * 40}]
    text = render_yaml([[1], long])
    assert text == f'- [1]\n- - "{"a" * 40}"\n  - b: "{"c" * 40}"\n'
    assert read_document(text, "a.yml").value == [[1], long]


@pytest.mark.parametrize("render", [render_yaml, render_compact])
@pytest.mark.parametrize("length", [990, 1000, 1030, 5000])
def test_a_key_of_any_length_is_read_back_unchanged(
    render: Callable[[Mapping[str, object]], str], length: int
) -> None:
    value = {"k" * length: 1, "é" * length: {"a": [{"\x00" * length: "b"}]}}
    assert read_document(render(value), "a.yml").value == value


def test_a_string_of_several_lines_is_written_as_a_block() -> None:
    value = {"a": LiteralBlock(text="one\n  two\n\nthree"), "b": [LiteralBlock(text="four\n")]}
    assert render_yaml(value) == "a: |-\n  one\n    two\n\n  three\nb:\n  - |\n    four\n"


@pytest.mark.parametrize("text", ["", "\n", "a \nb", "a\t\nb", "\na", "a\n\n", "a\x1bb\nc", "a\rb"])
def test_a_text_that_an_editor_or_a_reader_could_change_stays_in_quotes(text: str) -> None:
    assert render_yaml({"a": LiteralBlock(text=text)}) == f"a: {quoted(text)}\n"


def test_remarked_items_are_set_apart_by_a_blank_line() -> None:
    item = Commented(comments=("one\ntwo",), value=1)
    assert render_yaml({"a": [item, item]}) == (
        "a:\n  # one\n  # two\n  - 1\n\n  # one\n  # two\n  - 1\n"
    )


def test_no_character_that_acts_on_a_terminal_is_written() -> None:
    nasty = "\x1b[31m\x07\u202e\u200b\x85\u2028\ufeff\U000e0001"
    text = render_yaml(Commented(comments=(nasty,), value={nasty: nasty}))
    assert all(char == "\n" or char.isprintable() for char in text)


def test_long_comments_are_wrapped_between_words() -> None:
    text = render_yaml(Commented(comments=("word " * 50,), value=1))
    assert max(map(len, text.splitlines())) <= 97
    assert text.count("word") == 50


def test_quoting_is_what_json_would_write_where_it_can_be() -> None:
    assert quoted('a "b" \\ \n') == json.dumps('a "b" \\ \n')


TAGGED = (("any", ""), ("bind", "name"), ("re", "^it's \\d+$"), ("ere", "a\nb"), ("re", "##[x"))


@pytest.mark.parametrize(("tag", "text"), TAGGED)
def test_a_tag_is_read_back_alone_and_inside_brackets(tag: str, text: str) -> None:
    tagged = Tagged(tag=tag, text=text)
    value = {"a": tagged, "b": [tagged, [tagged, {"c": tagged}]]}
    for written in (render_yaml(value), render_compact(value)):
        (document,) = read_stream(
            written, "a.yml", tags=TAG_NAMES, may_repeat=lambda key: False
        ).documents
        assert document.value == value


def test_compact_entries_are_set_apart_and_short_values_are_on_one_line() -> None:
    expect = [{"target": "result.content[0].text", "matcher": {"contains": "Hello, you"}}]
    entry = {"name": "reads it", "tool": "read_file", "args": {"path": "a.txt"}, "expect": expect}
    servers = {"My server": {"command": ["python3", "../s.py"], "timeout": 5}, "bare": {}}
    document = {
        "name": "Files",
        "servers": servers,
        "tools": [entry, Commented(comments=("why",), value=entry)],
    }
    written_entry = (
        "  - name: reads it\n"
        "    tool: read_file\n"
        "    args: {path: a.txt}\n"
        "    expect:\n"
        '      - {target: "result.content[0].text", matcher: {contains: "Hello, you"}}\n'
    )
    assert render_compact(document, blocks=["expect"], entries=["servers", "tools"]) == (
        "name: Files\n"
        "\n"
        "servers:\n"
        "  My server:\n"
        "    command: [python3, ../s.py]\n"
        "    timeout: 5\n"
        "  bare: {}\n"
        "\n"
        f"tools:\n{written_entry}\n  # why\n{written_entry}"
    )


def test_a_compact_line_is_at_most_100_characters_long() -> None:
    args = {f"key{number}": "value " * 3 for number in range(20)}
    text = render_compact({"tools": [{"name": "n", "args": args, "list": [list(args)]}]})
    assert max(map(len, text.splitlines())) <= 100
