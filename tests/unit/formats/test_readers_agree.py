"""The quick readers return what the full reader returns, or nothing at all."""

from __future__ import annotations

import json
import random

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from mcptest.core.errors import FormatError
from mcptest.formats import full_yaml
from mcptest.formats.full_yaml import read_fully
from mcptest.formats.quick_yaml import read_quickly
from mcptest.formats.strict_json import NOT_JSON, read_json

SNIPPETS = [
    # nothing, comments, markers
    "", "\n", "   \n \n", "# only a comment", "# one\n\n  # two\n", "---\n", "---", "--- \na: 1\n",
    "---\n---\n", "---\na: 1\n", "# c\n---\n# d\na: 1\n", "--- a\n", "--- {a: 1}\n", "...\n", "a: 1\n...\n",
    "a: 1\n---\nb: 2\n", "---a: 1\n", "%YAML 1.2\n---\na: 1\n", "- a\n--- b\n", "\ufeffa: 1\n", "\ufeff", "a: \ufeffb\n",
    "\ufeff# c\na: 1", "a: 1\n\ufeffb: 2\n",
    # keys
    "a: 1", "a:1", "a:", "a: ", "a :1", "a : 1", "a  : 1\n", "key:value", "a: b: c", "a: b:", "a:: b", "a: :b", ": a", ":a: 1",
    "a:b: c", '"a": 1', '"a":1', "'a': 1", "'a':1", "'it''s': 1", '"a\\"b": 1', '"": 1', "'': 1", '"a" : 1', "1: a", "1.0: a",
    "null: a", "~: a", "true: a", "yes: a", "0x1F: a", "a b: c", "a  b: c", "a-b: c", "a.b: c", "-a: c", "- a: c", "a@b: c", "@a: c",
    "$ref: x", "/path: x", "x/y: z", "(a): b", "a(b): c", "a+b: c", "+a: c", "a,b: c", "a[0]: c", "a{b}: c", "[a]: c", "{a: 1}: c",
    "a#b: c", "a #b: c", "#a: c", "é: 1", "日本: 1", "😀: 1", "a\u0301: 1", "_: 1", "<<: 1", "<<: {a: 1}\nb: 2\n", '"<<": 1', "=: 1",
    "? a\n: b\n", "? a", "?a: b", "!a: b", "&a b: c", "*a : c", "%a: b", "`a: b", "|a: b", ">a: b", "a|b: c", "a: 1\na: 2\n",
    "a: 1\n'a': 2\n", '1: a\n"1": b\n', "a: 1\nb: 2\na: 3\n", "k" * 1000 + ": 1", "k" * 1020 + ": 1", "k" * 1030 + ": 1",
    '"' + "k" * 1030 + '": 1', "a:\n  b: 1\n  b: 2\n", "a\\b: c\n", "a\\: c\n", "a\tb: c", "a:\tb", "a.: b\n", "...: b\n", "-: b\n", "a - b: c\n",
    # plain values
    "a: null", "a: Null", "a: NULL", "a: nULL", "a: ~", "a: ~x", "a: true", "a: True", "a: TRUE", "a: tRUE", "a: false", "a: yes",
    "a: No", "a: on", "a: 0", "a: -0", "a: +1", "a: 007", "a: 0o17", "a: 0o8", "a: 0x1F", "a: 0xg", "a: 1e3", "a: 1E-3", "a: .5", "a: 5.",
    "a: -.5", "a: +.5e+1", "a: .", "a: -", "a: +", "a: ..", "a: 1_000", "a: 1:30", "a: 2020-01-01", "a: 0b11", "a: .inf", "a: -.INF",
    "a: .nan", "a: .Nan", "a: 1e400", "a: -1e400", "a: inf", "a: NaN", "a: " + "9" * 4000, "a: " + "9" * 4001, "a: " + "0" * 4001,
    "a: 0x" + "f" * 4000, "a: b c d", "a: b  c", "a: b ", "a:   b   ", "a: b#c", "a: b #c", "a: b #", "a: b# c", "a: #b", "a: # b",
    "a: http://x.y/z?a=b#c", "a: C:\\dir\\file", "a: c:\\", "a: {b", "a: b}", "a: b{c}", "a: b, c", "a: b]", "a: [b", "a: b[0]",
    "a: it's", "a: say \"hi\"", "a: 'x' y", 'a: "x" y', "a: x 'y'", "a: @b", "a: `b`", "a: %b", "a: !b", "a: ! b", "a: & b", "a: &b",
    "a: &b c", "a: *b", "a: &b c\nd: *b\n", "a: ?", "a: ? b", "a: ?b", "a: -b", "a: - b", "a: --b", "a: ---", "a: ...", "a: :", "a: ::",
    "a: b::c", "a: b :c", "a: b : c", "a: b:c", "a: b: ", "a: |b", "a: >b", "a: <b", "a: =", "a: ,", "a: , b", "a: ]", "a: }", "a: é", "a: 日本 語",
    "a: 😀", "a: \xa0b", "a: b\xa0", "a: \u2003b", "a: \u3000", "a: b\u200bc", "a: ~\n", "a: \\n", "a: $x", "a: ^x$", "a: (x)", "a: <x>", "a: *",
    "a: !!str 1", "a: !!int 1", "a: !!foo 1", "a: !<tag:yaml.org,2002:str> 1", "a: 12 # twelve", "a: true # yes", "a: ~ # nothing",
    # plain values on several lines
    "a: b\n  c", "a: b\n c\n", "a: b\nc\n", "a: b\n\n  c\n", "a: b\n  # c\n  d\n", "a:\n  b\n", "a:\n  b\n  c\n", "a:\nb\n", "a\nb\n",
    "a\n", "12", "true", "- a\n  b\n", "- a\n b\n", "- a\nb\n", "- a: b\n   c\n", "a: b\n c: d\n", "a: b\n  c: d\n", "a: 1\n  b: 2\n",
    # double quotes
    'a: ""', 'a: "b"', 'a: "b c "', 'a: " b"', 'a: "b" # c', 'a: "b"# c', 'a: "b # c"', 'a: "b: c"', 'a: "b', 'a: b"', 'a: "b"c',
    'a: "\\n\\t\\"\\\\\\/\\b\\f\\r"', 'a: "\\u00e9"', 'a: "\\u00E9 # x" # y', 'a: "\\x41"', 'a: "\\e\\0\\a\\v\\_\\N\\L\\P\\ "', 'a: "\\q"',
    'a: "\\u12"', 'a: "\\U0001F600"', 'a: "\\ud83d\\ude00"', 'a: "\\uD83D\\uDE00 x"', 'a: "\\ud83d"', 'a: "\\ude00\\ud83d"', 'a: "\\\\ud83d"',
    "a: '\\ud83d'", "a: \\ud83d", "a: |\n  \\ud83d\n", 'a: "\\u0000"', 'a: "b\n  c"', 'a: "b\\\n  c"', 'a: "b\n\n c"\n', 'a: "é😀"', 'a: "{b}"',
    'a: "\\""', 'a: "\\\\"', 'a: "\\\\" # "', 'a: "b\\"', '"a"', '"a" # b', 'a:\n  "b"\n', 'a: "\t"', 'a: "b"\t# c', 'a: "b" "c"',
    'a: "\\u2028"', 'a: "x\u2028y"', 'a: "x \x85 y"', "a: x\u2029y", "a: |\n  x\u2028y\n", 'a: "\x7f"', 'a: "\x00"', "a: \x01", 'a: "\ud800"',
    # single quotes
    "a: ''", "a: 'b'", "a: 'it''s'", "a: ''''", "a: '''", "a: ''b''", "a: '''b'''", "a: 'b' # c", "a: 'b # c'", "a: 'b: c'", "a: 'b\\n'", "a: 'b",
    "a: 'b'c", "a: 'b'# c", 'a: \'"\'', 'a: "\'"', "a: 'b\n  c'", "'a'", "- 'a'\n- 'b''c'\n",
    # block scalars
    "a: |\n  b\n", "a: |\n  b", "a: |\n  b\n\n", "a: |\n  b\n\n\nc: 1\n", "a: |-\n  b\n\nc: 1\n", "a: |+\n  b\n\nc: 1\n", "a: |+\n  b\n\n", "a: |+\n  b",
    "a: >\n  b\n  c\n", "a: >\n  b\n\n  c\n", "a: >\n  b\n\n\n  c\n\n", "a: >-\n  b\n  c\n\n", "a: >+\n  b\n  c\n\n", "a: >\n  b\n    c\n  d\n",
    "a: >\n    b\n  c\n", "a: |2\n   b\n", "a: |2-\n    b\n", "a: |-2\n    b\n", "a: |0\n b\n", "a: | # c\n  b\n", "a: |# c\n  b\n", "a: |  \n  b\n",
    "a: |\n  # b\n  c\n", "a: |\n# b\n  c\n", "a: |\n  b\n# c\n", "a: |\n  b\n # c\n", "a: |\n  b\n  # c\n", "a: |\n    b\n   # c\n  d\n",
    "a: |\n\n  b\n", "a: |\n  \n  b\n", "a: |\n   \n  b\n", "a: |\n  b\n   \n  c\n", "a: |\n  b\n \n  c\n", "a: |\n  b\n   ", "a: |\n  b\n   \n", "a: |",
    "a: |\n", "a: |\n\n", "a: |+\n\n", "a: |\nb: 1\n", "a: |\n b: 1\nc: 2\n", "a: |\nb\n", "a: |\n  b: c\n  - d\n", "- |\n a\n- |\n  b\n", "- |\na\n",
    "- a: |\n   b\n", "- a: |\n    b\n  c: 1\n", "- a: |\n  b\n", "a:\n- |\n b\n", "a:\n  - |\n   b\n", "a:\n  - |\n  b\n", "a: |\n  ---\n", "a: |\n---\n",
    "a: |\n  b   \n", "a: >\n  b   \n  c\n", "a: |\n  \tb\n", "a: |\n\tb\n", "a: |x\n  b\n", "a: |\n  é\n", "|\n a\n", "--- |\n a\n", "a: |-\n  b\nc: >-\n  d\n  e\nf: g\n",
    "a: >\n\n  b\n", "a: >\n  b\n   \n  c\n", "a: >-\n  b\n\n  # c\n", 'a: |\n  "b"\n', "a: |\n  {\n    b\n  }\nc: 1", "a: >\n  - b\n  - c\n",
    # sequences
    "- a", "-", "- ", "-\n-\n", "- a\n- b\n", "-a", "-  a\n-   b\n", "- a\n-b\n", "- a\n - b\n", " - a\n - b\n", "  - a\n - b\n", "- a\n\n- b\n", "- # c\n", "-# c\n",
    "- # c\n  a\n", "-\n  a: 1\n", "-\n  - a\n", "-\na: 1\n", "- - x", "- - x\n  - y\n- z\n", "- -\n", "- - - x", "- a: 1\n  b: 2\n", "- a: 1\n b: 2\n", "- a: 1\n   b: 2\n",
    "-   a: 1\n    b: 2\n", "- a:\n  b: 1\n", "- a:\n    b: 1\n  c: 2\n", "- a:\n   - b\n", "- a:\n  - b\n  c: 1\n", "- a:\n - b\n", "a:\n- b\n- c\nd: 1\n", "a:\n- b\n  c\n",
    "a:\n-\nb: 1\n", "a:\n- b: 1\n  c: 2\n- d\ne: f\n", "a:\n  - b\n- c\n", "a:\n  - b\n  c: 1\n", "a: 1\n- b\n", "- a\nb: 1\n", "a:\n  b: 1\n- c\n", "a:\n- b\n- c\n-\n", "a:\n  b:\n  - c\n  d: 1\n",
    "a:\n  b:\n  - c\nd: 1\n", "a:\n  b:\n- c\n", "- 'a': 1\n", '- "a": "b"\n', '- "a: b"\n', "- a: b: c\n", "- a:b\n", "- a : b\n", "- http://x\n", "- {}\n- []\n", "- &a x\n- *a\n",
    "- !!str 1\n", "- ? a\n", "- a # b\n- c#d\n", "- |\n  a\n  b\n-\n  c: d\n", "-\t a\n", "- -1\n- -a\n", "- key: |\n    x\n- key: y\n", "- a\n# c\n- b\n  # d\n", "-\n\n  a: 1\n", "-\n # c\n  a: 1\n",
    # nesting and indentation
    "a:\n  b: 1\n", "a:\n b: 1\n  c: 2\n", "a:\n  b: 1\n c: 2\n", "a:\n    b: 1\n  c: 2\n", "a:\n  b:\n    c: 1\n  d: 2\ne: 3\n", "a:\n  b:\n    c: 1\nd: 2\n", "  a: 1\n  b: 2\n", "  a: 1\nb: 2\n",
    "  a: 1\n b: 2\n", " a: 1\n", "a:\n\n\n  b: 1\n", "a:\n# c\n  b: 1\n", "a:\n        # c\n  b: 1\n", "a: # c\n  b: 1\n", "a:\nb:\nc:\n", "a:\n  b:\nc:\n", "a:\n\tb: 1\n", "\ta: 1\n", "a: 1\t\n", "a: 1\n\t\n",
    "a: 1\n\t# c\n", "a: b\tc\n", "a: 1\n  # c\n b: 2\n", "a:\n  - b:\n      - c:\n          - d\n", "a: 1\n\n\n\nb: 2\n\n\n", "a: 1\n   \nb: 2\n", "a: 1 \nb: 2  \n",
    # line breaks
    "a: 1\r\nb: 2\r\n", "a: |\r\n  b\r\n  c\r\n", "a: 1\rb: 2\r", "a: 1\n\rb: 2\n", "a:\r\n  - b\r\n", "a: 'b\r\n  c'\r\n", "a: b\r", "\r\n", "a: 1\r\r\nb: 2\n", "a: 1\x0bb", "a: 1\x0cb", "a: 1\x1cb",
    # flow
    "a: []", "a: {}", "a: [ ]", "a: { }", "a: [b]", "a: [b, c]", "a: [b,c]", "a: [b, c, ]", "a: [b, c,]", "a: [,]", "a: [b,, c]", "a: [, b]", "a: {b: 1}", "a: {b: 1, c: 2}", "a: {b: 1,}", "a: {b: 1,, c: 2}", "a: {,}",
    "a: {b}", "a: {b, c: 1}", "a: {b: }", "a: {b: , c: 1}", "a: {b:}", "a: {b:1}", 'a: {"b":1}', 'a: {"b": 1, "c": [1, 2.5, true, null, "x"]}', "a: {'b':1}", "a: {b : 1}", 'a: {"b" : 1}', "a: {b: 1}}", "a: [b]]", "a: [b", "a: {b: 1",
    "a: [b}", "a: {b: 1]", "a: [b] c", "a: [b] # c", "a: [b]# c", "a: [b]: c", "a: [b # c\n]", "a: [b, # c\n  d]\n", "a: [b,# c\n  d]\n", "a: [# c\n  d]\n", "a: [ # c\n  d]\n", "a: [\n  b,\n  c\n]\n", "a: [\nb,\nc\n]\nd: 1\n",
    "a: {\n  b: 1,\n  c: 2\n}\n", "a: {\n  b: 1,\n  c: 2,\n  }\nd: 1\n", "a: [b\n  c]\n", "a: [b\n, c]\n", "a: [b c, d e]\n", "a: [ b c ,  d ]\n", "a: {b: c d, e: f}\n", "a: {b: c\n  d}\n", "a: {b\n: c}\n", 'a: {"b"\n: c}\n', "a: {b:\n  c}\n", 'a: {"b":\n  c}\n',
    "a: [b: c]", "a: [b: c, d]", "a: [{b: c}, d]", "a: [[b], [c, [d]]]", "a: [[b], {c: [d]}]", "a: {b: {c: {d: []}}}", "a: {b: 1, b: 2}", 'a: {b: 1, "b": 2}', "a: {1: b}", "a: {null: b}", "a: [1, 0x1F, 1e3, -1, +1, .5, -.5]", "a: [~, null, true, yes]",
    "a: [.inf]", "a: [1e999]", "a: [-]", "a: [- b]", "a: [-b]", "a: [--b]", "a: [?]", "a: [? b]", "a: [?b]", "a: [b?]", "a: [b?c, d]", "a: [http://x]", "a: {b: http://x}", "a: [a:b]", "a: [b:]", "a: [:b]", "a: [::]", "a: {b: :c}", "a: {b::c}", "a: ['b''c', \"d\\\"e\"]",
    'a: ["b" "c"]', 'a: ["b"c]', 'a: ["b", c"]', 'a: ["\\ud83d\\ude00"]', 'a: ["\\ud83d"]', 'a: ["\\x41"]', 'a: ["\\u0041"]', "a: ['b\n  c']\n", 'a: ["b]"]', "a: ['[', ']', '{', '}']", "a: [&b c, *b]", "a: [!!str 1]", "a: [@b]", "a: [`b]", "a: [%b]", "a: [b%]", "a: [|]", "a: [>b]", "a: [b|c]",
    "a: [#b]", "a: [b#c]", "a: [b #c]", "a: [b, #c]\n]", "a: [b!]", "a: [a&b]", "a: [a*b]", "a: [<b>]", "a: [b=c]", "a: [$b, $c]", "a: [/b/c]", "a: [./b]", "a: [../b]", "a: [...]", "a: [b...]", "a: [\n...\n]", "a: [\n---\n]", "a: [\n--- b]", "a: [\n- b]\n", "- [a, b]\n- {c: d}\n",
    "- [a, b]\n  c\n", "- [a]: b\n", "- {a: 1}\n  b\n", "- [a\n- b]\n", "- [a,\n- b]\n", "a:\n  [b, c]\n", "a:\n  {b: c}\n", "a:\n- [b,\nc]\n- d\n", "[a, b]", "{a: b}", "[a, b]\n[c]\n", "{a: b}\nc: d\n", "[]", "{}", "[", "{", "]", "[]]", "a: [é, 日本]", "a: {é: 1}", "a: [b\u0301]", "a: [😀]",
    "a: [b\tc]", "a: [\tb]", "a: [\n\tb]\n", "a: [(b)]", "a: [b, c] d: e", "a: {" + "k" * 1030 + ": 1}", 'a: {"' + "k" * 1030 + '": 1}', 'a: {"b"' + " " * 1030 + ": 1}", "a: [" * 70 + "]" * 70, "[" * 70 + "]" * 70, "a: " + "[" * 70 + "]" * 70, "- " * 70 + "x", "a: {b: [c, {d: e}], f: {}}\ng: h\n",
    "a: {b: 1 , c: 2 }", "a: {b: '1', c: \"2\"}", "a: {b: }}", "a: [a, [b, c], d]\n", "a: {? b : c}", "a: {? b}", "a: [? b : c]", "a: { a: 1, 'b': [ ] , \"c\" : { } }", "a: [b]  \nc: d", "a: [1,2,3]\nb: [4,\n5]\nc: 6",
    # JSON
    '{"a": 1}', '{"a":1,"b":[1,2,{"c":null}]}', '{\n\t"a": 1,\n\t"b": [\n\t\t1\n\t]\n}', '{"a": 1, "a": 2}', '{"a": NaN}', '{"a": -Infinity}', '{"a": 1e400}', '{"a": 1E5}', '{"a": -0}', '{"a": 01}', '{"a": "\\ud83d\\ude00"}', '{"a": "\\ud83d"}', '{"a": "b\\/c"}',
    '["a", ]', "[1, 2, 3]", ' [1]', '\n\n{"a": 1}\n\n', '{"a": "\\u0000"}', '{"a": "\n"}', '{"a": "b\tc"}', '{"a": 1} # c', '{"a": 1} {"b": 2}', '{"<<": {"a": 1}, "b": 2}', '{"a": "' + "\\u00e9" * 3 + '"}', '{"a": ' + "9" * 4001 + "}", "[" * 300 + "]" * 300, '{"a": "x\u2028y"}', '{"": 1}', '{"a": "é😀"}',
    '{"' + "k" * 1030 + '": 1}', '{"a": 1.0, "b": 1., "c": .5}', '{"a": True}', "{'a': 1}", '\ufeff{"a": 1}',
]  # fmt: skip


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


@pytest.mark.parametrize("text", SNIPPETS)
def test_quick_and_full_reader_agree_on_every_trap(text: str) -> None:
    assert_agreement(text)


@pytest.mark.parametrize("text", SNIPPETS)
def test_both_parsers_of_pyyaml_agree_with_the_quick_reader(
    text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(full_yaml, "CParser", None)
    assert_agreement(text)


@pytest.mark.parametrize("text", SNIPPETS)
def test_json_is_read_as_the_full_reader_reads_it(text: str) -> None:
    value = read_json(text)
    if value is NOT_JSON:
        return
    try:
        expected, _ = read_fully(text, "f.json")
    except FormatError as error:
        # JSON that PyYAML cannot read: a key of more than 1,024 characters.
        assert "k" * 1025 in text
        assert [found.code for found in error.diagnostics] == ["F002"]
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
    if isinstance(value, str) and chance.random() < 0.3 and "\n" in value.strip("\n "):
        if all(line and line.isprintable() and line[0] != " " for line in value.split("\n")[:-1]):
            mark = "|" if value.endswith("\n") else "|-"
            return f" {mark}\n" + "".join(
                f"{pad} {line}\n" for line in value.rstrip("\n").split("\n")
            )
    comment = chance.choice(["", "", " # note", "  "])
    if isinstance(value, str):
        return f" {quoted(value, chance.randrange(3))}{comment}\n"
    return f" {json.dumps(value)}{comment}\n"


def item_text(item: object, indent: int, chance: random.Random) -> str:
    text = block(item, indent + 2, chance)
    is_compact = isinstance(item, dict) and item and chance.random() < 0.8
    return " " + text[1:].lstrip(" ") if is_compact else text


@given(value=BLOCKS, seed=st.integers())
def test_generated_block_files_read_the_same_and_mostly_quickly(
    value: dict[str, object], seed: int
) -> None:
    text = block(value, 0, random.Random(seed))[1:]
    assert_agreement(text)


@given(value=VALUES, indent=st.sampled_from([None, 1, 2, "\t"]), raw=st.booleans())
def test_generated_json_reads_the_same_everywhere(
    value: object, indent: int | str | None, raw: bool
) -> None:
    text = json.dumps({"a": value}, indent=indent, ensure_ascii=not raw)
    assert read_json(text) == {"a": value}
    assert_agreement("a: " + json.dumps(value, indent=indent, ensure_ascii=not raw))


@given(
    value=BLOCKS, flow=st.sampled_from([None, True, False]), width=st.sampled_from([20, 80, 4000])
)
def test_what_pyyaml_writes_reads_the_same(
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


@given(seed=st.integers())
@settings(max_examples=400)
def test_a_damaged_file_is_never_misread(seed: int) -> None:
    chance = random.Random(seed)
    assert_agreement(mutated(WHOLE, chance))
    assert_agreement(mutated(chance.choice([text for text in SNIPPETS if text]), chance))
