"""Messages as JSON for people: short things on one line, tags as they are written."""

from __future__ import annotations

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mcptest.docgen.model import MAX_LINES, WIDTH, json_lines, line_text, one_line
from mcptest.matching.case_tags import read_tag
from mcptest.matching.compiler import Compiler
from mcptest.matching.registry import builtin_registry
from mcptest.protocol.dialogue import Ref


def text_of(value: object) -> str:
    return "\n".join(map(line_text, json_lines(value)))


def test_a_short_value_stays_on_one_line() -> None:
    assert text_of({"a": [1, 2], "b": {"c": None}}) == '{ "a": [1, 2], "b": { "c": null } }'
    assert text_of({}) == "{}"
    assert text_of([]) == "[]"
    assert text_of({"a": {}, "b": []}) == '{ "a": {}, "b": [] }'


def test_a_long_value_has_a_line_for_each_member() -> None:
    value = {"first": "x" * 40, "second": ["y" * 40, {"z": 1}]}
    assert text_of(value).splitlines() == [
        "{",
        f'  "first": "{"x" * 40}",',
        f'  "second": ["{"y" * 40}", {{ "z": 1 }}]',
        "}",
    ]


def test_the_key_counts_for_the_length_of_a_line() -> None:
    lines = text_of({"k" * 60: {"a": 1, "b": 2}, "x": 1}).splitlines()
    assert max(map(len, lines)) <= WIDTH
    assert lines[1] == f'  "{"k" * 60}": {{'


@pytest.mark.parametrize(
    ("name", "text", "shown"),
    [
        ("re", "^v", '!!re "^v"'),
        ("re", 'a"b', '!!re "a\\"b"'),
        ("ere", "port /\\d+/", "!!ere 'port /\\d+/'"),
        ("re", "'\\d", '!!re "\'\\\\d"'),
        ("re", "\\d\u202e", '!!re "\\\\d\\u202e"'),
        ("any", "", "!!any"),
        ("type", "string", "!!type string"),
        ("bind", "session", "!!bind session"),
        ("ref", "session", "!!ref session"),
    ],
)
def test_a_tag_is_written_as_in_a_case_file(name: str, text: str, shown: str) -> None:
    value = {"a": read_tag(name, text)}
    assert text_of(value) == f'{{ "a": {shown} }}'
    kinds = {kind for _, pieces in json_lines(value) for kind, _ in pieces}
    assert kinds == {"", "key", "tag"}


def test_a_text_that_looks_like_a_tag_is_a_text() -> None:
    assert text_of({"a": "!!re ^v"}) == '{ "a": "!!re ^v" }'
    kinds = [kind for _, pieces in json_lines({"a": "!!re ^v"}) for kind, _ in pieces]
    assert "tag" not in kinds


def test_patterns_and_directives_are_shown_as_they_were_written() -> None:
    written = {"a": "match:contains:x", "b": {"match:partial": {"c": 1}}}
    compiled = Compiler(builtin_registry()).compile(written, None)
    assert compiled != written
    assert json.loads(text_of(compiled)) == written
    tags = [text for _, pieces in json_lines(compiled) for kind, text in pieces if kind == "tag"]
    assert tags == ['"match:contains:x"', '"match:partial"']


def test_a_long_text_is_cut_and_says_by_how_much() -> None:
    assert text_of("x" * 1_500) == '"' + "x" * 1_000 + ' … 500 more characters"'


def test_a_long_message_is_cut_and_says_by_how_much() -> None:
    lines = json_lines(["x" * 60] * (MAX_LINES + 8))
    assert len(lines) == MAX_LINES + 1
    assert line_text(lines[-1]) == "… 10 more lines"


def test_a_line_has_no_invisible_characters() -> None:
    value = {"\u202e": "\x00\n\u200b\ud800\U000e0041\ufe0f\U000e0100", "n": Ref(name="a")}
    assert text_of(value) == (
        '{ "\\u202e": "\\u0000\\n\\u200b\\ud800\\udb40\\udc41\\ufe0f\\udb40\\udd00", "n": !!ref a }'
    )


def test_one_line_is_one_line_and_bounded() -> None:
    assert one_line({"a": ["x" * 40] * 3}, 20).startswith('{ "a"')
    assert "\n" not in one_line({"a": ["x" * 40] * 3}, 500)
    assert len(one_line(["x" * 40] * 300, 60)) <= 60


def test_a_deeply_nested_value_is_shortened() -> None:
    value: object = 1
    for _ in range(400):
        value = [value]
    assert "…" in text_of(value)


@pytest.mark.slow
@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
        lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(), inner, max_size=5),
    )
)
def test_plain_values_are_json_that_means_the_same(value: object) -> None:
    assert json.loads(text_of(value)) == value
