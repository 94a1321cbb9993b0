"""Pages as a person writes them, which read back as what was written."""

from __future__ import annotations

from typing import Any

import pytest

from mcptest.formats.document import read_document
from mcptest.matching.compare import is_same
from mcptest.migrate.yaml_page import render_page


def test_entries_stand_apart_and_short_things_on_one_line() -> None:
    expect = [{"target": "result.content[0].text", "matcher": {"contains": "Hello, you"}}]
    entry = {"name": "reads it", "tool": "read_file", "args": {"path": "a.txt"}, "expect": expect}
    servers = {"My server": {"command": ["python3", "../s.py"], "timeout": 5}}
    assert render_page({"name": "Files", "servers": servers, "tools": [entry, entry]}) == (
        "name: Files\n"
        "\n"
        "servers:\n"
        "  My server:\n"
        "    command: [python3, ../s.py]\n"
        "    timeout: 5\n"
        "\n"
        "tools:\n"
        "  - name: reads it\n"
        "    tool: read_file\n"
        "    args: {path: a.txt}\n"
        "    expect:\n"
        '      - {target: "result.content[0].text", matcher: {contains: "Hello, you"}}\n'
        "\n"
        "  - name: reads it\n"
        "    tool: read_file\n"
        "    args: {path: a.txt}\n"
        "    expect:\n"
        '      - {target: "result.content[0].text", matcher: {contains: "Hello, you"}}\n'
    )


@pytest.mark.parametrize(
    "text",
    [
        *("", " ", "a", "a b", " a", "a ", "yes", "No", "null", "~", "true", "1", "1.5", "0x1"),
        *("a: b", "a:b", "a #b", "#a", "- a", "-a", "a,b", "[a]", "{a}", "'a'", "it's", '"', "\\"),
        *("a\nb", "a\n", "\ta", "\x00", "\x85", "\u2028", "\u202e", "é", "☃", "😀", "match:a"),
        *("*a", "&a", "!a", "!!str a", "%a", "@a", "`a", "|", ">", "?", "...", "---", "..", "./a"),
        *("${a}", "<<", "=", "2026-01-01", "12:30", "a" * 200, "a b " * 40, "https://a/b?c=d"),
    ],
)
def test_whatever_text_there_is_comes_back(text: str) -> None:
    value: dict[str, Any] = {"name": text}
    value["tools"] = [{text or "k": text, "list": [text], "in": {"a": [[text]]}}]
    assert is_same(value, read_document(render_page(value), "a.yaml").value)


@pytest.mark.parametrize(
    "value",
    [
        {"a": {}, "b": [], "c": [[]], "d": [{}], "e": [[1, [2]], {"f": None}]},
        {"servers": {}, "tools": [[1], {"a": 1}, "x", {}]},
        {"expect": {"assertions": [{"a": {"b": ["c" * 60, {"d": "e" * 60}]}}]}},
        {"a": [1.0, 1e30, -0.5, True, None, 10**30]},
        {"k" * 2000: {"k" * 2000: ["x" * 2000]}},
        {"match:partial": {"match:not:crossField": "a < b"}, "yes": {"on": [{"n": 1}]}},
    ],
)
def test_whatever_value_there_is_comes_back(value: dict[str, Any]) -> None:
    assert is_same(value, read_document(render_page(value), "a.yaml").value)


def test_no_line_is_longer_than_it_must_be() -> None:
    args = {f"key{number}": "value " * 3 for number in range(20)}
    value: dict[str, Any] = {"tools": [{"name": "n", "args": args}]}
    assert max(map(len, render_page(value).splitlines())) <= 100
