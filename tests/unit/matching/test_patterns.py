"""How a text that begins with `match:` is read, and which mistakes are caught."""

from __future__ import annotations

import re

import pytest

from mcptest.core.outcome import Mismatch
from mcptest.matching.builtins import builtin_registry
from mcptest.matching.patterns import HABITS, Pattern, PatternError, parse_pattern
from mcptest.matching.planned import PLANNED_MATCHERS
from mcptest.matching.regex_form import compile_regex, python_regex

REGISTRY = builtin_registry()


def parsed(source: str) -> Pattern:
    return parse_pattern(source, REGISTRY)


def refused(source: str) -> tuple[str, str]:
    """The code and the message, and the text that is pointed at is part of the source."""
    with pytest.raises(PatternError) as caught:
        parse_pattern(source, REGISTRY)
    complaint = caught.value.complaint
    assert complaint.offset + complaint.width <= len(source)
    return complaint.code, complaint.message


def pointed_at(source: str) -> str:
    with pytest.raises(PatternError) as caught:
        parse_pattern(source, REGISTRY)
    complaint = caught.value.complaint
    return source[complaint.offset : complaint.offset + complaint.width]


# Reading


@pytest.mark.parametrize(
    ("source", "name", "parameter", "negated"),
    [
        ("match:contains:sunny", "contains", "sunny", False),
        ("match:not:contains:sunny", "contains", "sunny", True),
        ("match:contains:a:b:c", "contains", "a:b:c", False),
        ("match:startsWith:http://x", "startsWith", "http://x", False),
        ("match:contains: spaced ", "contains", " spaced ", False),
        ("match:contains:not:x", "contains", "not:x", False),
        ("match:arrayContains:name:read:file", "arrayContains", "name:read:file", False),
        ("match:exists", "exists", None, False),
        ("match:not:exists", "exists", None, True),
        ("match:type:string|null", "type", ("string", "null"), False),
        ("match:type: string | null ", "type", ("string", "null"), False),
        ("match:length:0", "length", 0, False),
        ("match:count: 12 ", "count", 12, False),
    ],
)
def test_a_named_pattern_has_its_matcher_and_parameter(
    source: str, name: str, parameter: object, negated: bool
) -> None:
    pattern = parsed(source)
    assert (pattern.matcher.name, pattern.parameter, pattern.negated, pattern.source) == (
        name,
        parameter,
        negated,
        source,
    )


@pytest.mark.parametrize(
    "body",
    [
        "File not found",
        "not found",
        "Error: no such file",
        "Warning: x",
        "text",
        "sunny",
        "ok",
        "counting sheep",
        "^v[0-9]+$",
        "a|b",
        "http://example.com",
        "contains the word",
        "id:5",
        "[a:b]",
        "été:1",
    ],
)
def test_text_that_is_no_near_miss_of_a_name_is_searched_as_an_expression(body: str) -> None:
    pattern = parsed(f"match:{body}")
    assert (pattern.matcher.name, pattern.parameter.pattern) == ("regex", body)


def test_bare_text_can_be_negated() -> None:
    pattern = parsed("match:not:File not found")
    assert (pattern.matcher.name, pattern.parameter.pattern, pattern.negated) == (
        "regex",
        "File not found",
        True,
    )


# Near misses


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("containz", "contains"),
        ("Contains", "contains"),
        ("contian", "contains"),
        ("regx", "regex"),
        ("startWith", "startsWith"),
        ("startswith", "startsWith"),
        ("endswith", "endsWith"),
        ("arrayLenght", "arrayLength"),
        ("arayContains", "arrayContains"),
        ("exist", "exists"),
        ("typ", "type"),
        ("Type", "type"),
        ("lenght", "length"),
        ("counts", "count"),
        ("greaterThn", "greaterThan"),
        *HABITS.items(),
    ],
)
def test_a_near_miss_or_a_habit_is_an_error_that_names_the_right_one(word: str, meant: str) -> None:
    expected = ("F012", f'unknown matcher "{word}"; did you mean "{meant}"?')
    assert refused(f"match:{word}:x") == expected
    assert refused(f"match:{word}") == expected
    assert refused(f"match:not:{word}:x") == expected
    assert pointed_at(f"match:not:{word}:x") == word


@pytest.mark.parametrize("word", ["containz", "gte"])
def test_a_near_miss_in_running_text_is_just_text(word: str) -> None:
    assert parsed(f"match:{word} is a word").matcher.name == "regex"


@pytest.mark.parametrize("habit", sorted(HABITS))
def test_every_habit_leads_to_a_word_of_the_language_and_is_none_itself(habit: str) -> None:
    assert HABITS[habit] in {*REGISTRY.names, *PLANNED_MATCHERS}
    assert habit not in {*REGISTRY.names, *PLANNED_MATCHERS}


@pytest.mark.parametrize("word", sorted(PLANNED_MATCHERS))
def test_a_word_of_the_language_that_is_not_there_yet_says_so(word: str) -> None:
    message = f'the matcher "{word}" is not supported by this version of mcptest'
    assert refused(f"match:{word}:1") == ("F010", message)
    assert refused(f"match:{word}") == ("F010", message)


def test_no_word_is_both_there_and_planned() -> None:
    assert PLANNED_MATCHERS.isdisjoint(REGISTRY.names)


# Parameters


@pytest.mark.parametrize(
    ("source", "code", "message", "at"),
    [
        ("match:", "F013", "a pattern needs something after match:", "match:"),
        ("match:not:", "F013", "a pattern needs something after match:", "match:not:"),
        ("match:not:not:x", "F013", "a pattern can be negated once", "not:"),
        (
            "match:contains",
            "F013",
            'the matcher "contains" takes 1 parameter, and none is given',
            "contains",
        ),
        ("match:contains:", "F013", 'the matcher "contains" needs a text after the colon', ""),
        ("match:regex:", "F013", 'the matcher "regex" needs a text after the colon', ""),
        (
            "match:exists:yes",
            "F013",
            'the matcher "exists" takes no parameter, and 1 is given',
            "exists",
        ),
        (
            "match:length:many",
            "F013",
            'the matcher "length" needs a whole number, not "many"',
            "many",
        ),
        ("match:length:-1", "F013", 'the matcher "length" needs a whole number, not "-1"', "-1"),
        ("match:count:1.5", "F013", 'the matcher "count" needs a whole number, not "1.5"', "1.5"),
        (
            "match:type:text",
            "F013",
            'the matcher "type" knows string, number, integer, boolean, object, array, null, '
            'not "text"',
            "text",
        ),
        (
            "match:type:regular expression",
            "F013",
            'the matcher "type" knows string, number, integer, boolean, object, array, null, '
            'not "regular expression"',
            "regular expression",
        ),
        (
            "match:type:string|",
            "F013",
            'the matcher "type" knows string, number, integer, boolean, object, array, null, '
            'not ""',
            "string|",
        ),
        (
            "match:regex:(a",
            "F015",
            'the matcher "regex" is not a regular expression: missing ), unterminated '
            "subpattern at position 0",
            "(a",
        ),
        (
            "match:[a",
            "F015",
            "the pattern is not a regular expression: unterminated character set at position 0",
            "[a",
        ),
    ],
)
def test_a_pattern_that_makes_no_sense_says_why_and_where(
    source: str, code: str, message: str, at: str
) -> None:
    assert refused(source) == (code, message)
    assert pointed_at(source) == at


@pytest.mark.parametrize("body", ["(" * 5000, "a{99999999999999}"])
def test_an_expression_that_is_too_much_for_the_engine_is_an_error_and_no_crash(
    body: str,
) -> None:
    assert refused(f"match:regex:{body}")[0] == "F015"


# Expressions of the JavaScript world


@pytest.mark.parametrize(
    ("source", "python"),
    [
        (r"(?<year>\d{4})-\k<year>", r"(?P<year>\d{4})-(?P=year)"),
        (r"(?<=a)b(?<!c)d", r"(?<=a)b(?<!c)d"),
        (r"\(?<year>", r"\(?<year>"),
        (r"(?:a)(?=b)", r"(?:a)(?=b)"),
        (r"(?P<n>a)", r"(?P<n>a)"),
        (r"\\(?<n>a)", r"\\(?P<n>a)"),
    ],
)
def test_named_groups_of_javascript_are_respelt(source: str, python: str) -> None:
    assert python_regex(source) == python


def test_a_named_group_of_javascript_works_in_a_pattern() -> None:
    pattern = parsed(r"match:regex:^(?<a>.)\k<a>$")
    assert pattern.mismatch("xx", None) is None
    assert pattern.mismatch("xy", None) is not None


def test_an_odd_character_class_is_compiled_without_a_word_from_python() -> None:
    assert compile_regex("[[a]").search("a")
    assert parsed("match:regex:[[a]").mismatch("B", None) is not None


def test_an_expression_can_be_compiled_to_ignore_case() -> None:
    assert compile_regex("a", re.IGNORECASE).search("A")


# Messages


def test_a_mismatch_says_what_was_wanted_what_came_and_gives_a_hint() -> None:
    assert parsed("match:contains:Sunny").mismatch("sunny", ((None, "result"), "text")) == Mismatch(
        path="result.text",
        expected="match:contains:Sunny",
        actual="sunny",
        message='expected text that contains "Sunny"; it does not',
        hint="differs only in case",
    )


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("match:exists", "is missing; expected a value"),
        ("match:not:contains:x", 'is missing; expected anything but text that contains "x"'),
        ("match:x y", "is missing; expected text that matches /x y/"),
    ],
)
def test_a_key_that_is_not_there_says_what_was_wanted(source: str, message: str) -> None:
    assert parsed(source).absence((None, "a")).message == message
