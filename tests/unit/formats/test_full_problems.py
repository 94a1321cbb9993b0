"""Syntax errors are said in our words, at a place that helps."""

from __future__ import annotations

import pytest
from case_tables import each_case

from mcptest.core.diagnostics import Diagnostic
from mcptest.core.errors import FormatError
from mcptest.formats.yaml import full
from mcptest.formats.yaml.full import read_fully
from mcptest.formats.yaml.pyyaml import split_lines


@pytest.fixture(params=["libyaml", "python"], autouse=True)
def parser(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "python":
        monkeypatch.setattr(full, "CParser", None)


def mistake(text: str) -> Diagnostic:
    with pytest.raises(FormatError) as caught:
        read_fully(text, "f.yml")
    (found,) = caught.value.diagnostics
    return found


@each_case(
    ("text", "message", "line", "column"),
    [
        ("a: b: c", 'an unquoted value contains ": ", which starts a mapping entry', 1, 5),
        ("- a: b: c", 'an unquoted value contains ": ", which starts a mapping entry', 1, 7),
        ("a: b\n c: d", "a mapping entry cannot start here", 2, 3),
        ("a:\n\tb: 1", "a tab is used as indentation", 2, 1),
        ("a:\n  \tb: 1", "a tab is used as indentation", 2, 3),
        ("a: b\n\tc: d", "a tab is used as indentation", 2, 1),
        ("a: |\n\tx", "a tab is used as indentation", 2, 1),
        ('a: 1\nb: "x\nc: 2\n', "this quote is never closed", 2, 4),
        ("a: 'x\n---\n", "this quote is never closed", 1, 4),
        ("a: [1, 2\n\n", 'this "[" is never closed', 1, 4),
        ("a: {b: 1\n", 'this "{" is never closed', 1, 4),
        ("a: [1, 2}", 'expected "," or "]" here', 1, 9),
        ("a: {b: [1] 2}", 'expected "," or "}" here', 1, 12),
        ("a: [b,", "the text ends where a value is expected", 1, 7),
        ("a: ]", 'a value is missing before "]"', 1, 4),
        ("a: @b", 'an unquoted value cannot start with "@"', 1, 4),
        ("a: `b`", 'an unquoted value cannot start with "`"', 1, 4),
        ("- a\nb: c", 'expected "- " here', 2, 1),
        ("a: 1\n- b", "expected a key here", 2, 1),
        ("a: 'it's'", "text follows the quote that ends the value", 1, 8),
        ("a: b\nc\nd: e\n", 'this line is not a "key: value" entry', 2, 1),
        ("a: - b", "a list item cannot start here", 1, 4),
        ("  a: 1\n b: 2", "this does not belong to what came before", 2, 2),
        ("a: *", '"*" starts an anchor or an alias here and needs a name', 1, 4),
        ("a: *b", "the alias *b has no anchor &b before it", 1, 4),
    ],
)
def test_common_mistakes_have_a_message_of_their_own(
    text: str, message: str, line: int, column: int
) -> None:
    found = mistake(text)
    assert (found.code, found.message) == ("F002", message)
    assert (found.line, found.column) == (line, column)
    assert found.source == text.split("\n")[line - 1]


def test_an_unknown_escape_is_explained() -> None:
    found = mistake('a: "C:\\dir"')
    assert found.message == "a double-quoted text contains an escape that YAML does not know"
    assert "single quotes" in found.help


@pytest.mark.parametrize(
    "text", ["a: !<", "a: !e!x 1", "a: |3x\n  b", '"\\Uffffffff"', "%TAG\n---\n"]
)
def test_rare_problems_are_passed_on_with_their_place(text: str) -> None:
    found = mistake(text)
    assert found.code == "F002"
    assert (found.line, found.message != "") == (1, True)


def test_lines_end_as_yaml_1_2_says() -> None:
    assert split_lines("a\nb\r\nc\rd\u2028e\x85f") == ["a", "b", "c", "d\u2028e\x85f"]
