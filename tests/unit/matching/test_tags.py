"""Tags of case files: what each matches, and what it does not."""

from __future__ import annotations

import pytest

from mcptest.matching.case_tags import (
    TAG_NAMES,
    TAGS,
    bound_name,
    fill,
    has_blanks,
    literal_parts,
    make_value,
    pull_bound,
    read_tag,
)
from mcptest.matching.compare import compare
from mcptest.matching.patterns import Pattern
from mcptest.matching.registry import ParameterError
from mcptest.protocol.dialogue import Bind, Ref


def tag(name: str, text: str = "") -> Pattern:
    found = read_tag(name, text)
    assert isinstance(found, Pattern)
    return found


@pytest.mark.parametrize("name", [name for name in TAGS if name != "type"])
def test_the_examples_of_a_tag_are_true(name: str) -> None:
    matcher = TAGS[name]
    _, _, written = matcher.example.partition(" ")
    pattern = tag(name, written.strip("'\""))
    assert matcher.passes
    assert all(pattern.is_met(value) for value in matcher.passes)
    assert not any(pattern.is_met(value) for value in matcher.fails)


def test_every_tag_can_be_read() -> None:
    assert TAG_NAMES == ("re", "ere", "any", "type", "bind", "ref")


@pytest.mark.parametrize(
    ("text", "passes", "fails"),
    [
        (r"took /\d+/ ms", "took 12 ms", "took x ms"),
        (r"a\/b", "a/b", r"a\/b"),
        (r"/a\/b/", "a/b", "ab"),
        ("a.b", "a.b", "axb"),
        (r"/a|b/c", "bc", "a"),
        ("/x*/", "", "y"),
    ],
)
def test_an_ere_is_literal_but_between_slashes(text: str, passes: str, fails: str) -> None:
    pattern = tag("ere", text)
    assert pattern.is_met(passes)
    assert not pattern.is_met(fails)
    assert not pattern.is_met(passes + "\n")


def test_the_parts_of_an_ere_alternate() -> None:
    assert literal_parts(r"a/b/c\/d") == ["a", "b", "c/d"]
    assert literal_parts("") == [""]


def test_a_regular_expression_matches_only_strings() -> None:
    [mismatch] = compare({"a": tag("re", "1")}, {"a": 1})
    assert (mismatch.path, mismatch.expected, mismatch.actual) == ("a", "!!re 1", 1)
    assert mismatch.message == "expected a string that matches /1/; it is a number"


def test_any_value_is_any_value_that_is_there() -> None:
    assert list(compare({"a": tag("any")}, {"a": None})) == []
    [mismatch] = compare({"a": tag("any")}, {})
    assert mismatch.message == "is missing; expected any value"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("re", "("),
        ("re", ""),
        ("ere", "a/b"),
        ("any", "x"),
        ("type", "text"),
        ("bind", ""),
        ("ref", "a b"),
    ],
)
def test_a_tag_that_makes_no_sense_is_refused(name: str, text: str) -> None:
    with pytest.raises(ParameterError):
        read_tag(name, text)


def test_a_bind_knows_its_name_and_nothing_else_has_one() -> None:
    assert bound_name(tag("bind", "x")) == "x"
    assert [bound_name(each) for each in (tag("any"), "x", None)] == ["", "", ""]


# Blanks


def test_refs_are_filled_wherever_they_occur() -> None:
    value = {"a": [Ref(name="x"), {"b": Ref(name="y")}], "c": 1}
    assert fill(value, {"x": 1, "y": [2]}) == {"a": [1, {"b": [2]}], "c": 1}


def test_bound_values_are_extracted_and_missing_ones_left_out() -> None:
    binds = (Bind(name="x", steps=("a", 0)), Bind(name="y", steps=("b",)))
    assert pull_bound(binds, {"a": [None]}) == {"x": None}
    assert pull_bound(binds, {"a": [], "b": 0}) == {"y": 0}


def test_blanks_are_seen_wherever_they_occur() -> None:
    assert has_blanks({"a": [tag("any")]})
    assert has_blanks([Ref(name="x")])
    assert not has_blanks({"a": [1, "!!any", None]})


@pytest.mark.parametrize(
    ("pattern", "key", "value"),
    [
        (tag("any"), "tools", []),
        (tag("any"), "isError", False),
        (tag("any"), "whatever", "text"),
        (tag("type", "integer"), "whatever", 1),
        (tag("type", "object"), "inputSchema", {"type": "object"}),
        (tag("type", "array"), "whatever", []),
        (tag("type", "null"), "whatever", None),
        (tag("re", r"^v\d{2}\.x$"), "version", "v11.x"),
        (tag("ere", r"port /\d+/ of 9"), "text", "port 1 of 9"),
        (tag("bind", "x"), "uri", "https://example.com/"),
    ],
)
def test_a_value_is_generated_that_meets_the_tag(pattern: Pattern, key: str, value: object) -> None:
    assert make_value({key: pattern}) == {key: value}
    assert pattern.is_met(value)


def test_a_value_that_cannot_be_generated_is_reported() -> None:
    with pytest.raises(ValueError, match=r"^no value that meets !!re \^\(\?=a\)b can be made up$"):
        make_value({"a": tag("re", "^(?=a)b")})
