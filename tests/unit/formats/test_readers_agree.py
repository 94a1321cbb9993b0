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


def outcome(text: str) -> object:
    """What the full reader makes of it: a value and lines, or the codes of the mistakes."""
    try:
        value, starts = read_fully(text, "f.yml")
    except FormatError as error:
        return tuple(found.code for found in error.diagnostics)
    return typed(value, starts)


def typed(value: object, starts: dict[int, list[int]]) -> object:
    """The value with its types (1, 1.0 and True are equal in Python) and item lines."""
    if isinstance(value, dict):
        return {key: typed(item, starts) for key, item in value.items()}
    if isinstance(value, list):
        assert len(starts[id(value)]) == len(value)
        return [(at, typed(item, starts)) for at, item in zip(starts[id(value)], value, strict=True)]
    return type(value).__name__, value


def untyped_lines(value: object) -> object:
    return typed(value, AnyLines())
