"""How a text that begins with `match:` is read, and which mistakes are caught."""

from __future__ import annotations

import pytest
from case_tables import each_case
from hypothesis import given
from hypothesis import strategies as st

from mcptest.core.results import Mismatch
from mcptest.matching.patterns import (
    HABITS,
    Pattern,
    PatternError,
    find_missing_prefix,
    parse_pattern,
)
from mcptest.matching.registry import builtin_registry

REGISTRY = builtin_registry()


def parsed(source: str) -> Pattern:
    return parse_pattern(source, REGISTRY)


def refused(source: str) -> tuple[str, str]:
    """The code and the message, and the text that is pointed at is part of the source."""
    with pytest.raises(PatternError) as caught:
        parse_pattern(source, REGISTRY)
    diagnostic = caught.value.diagnostic
    assert diagnostic.offset + diagnostic.width <= len(source)
    return diagnostic.code, diagnostic.message


def pointed_at(source: str) -> str:
    with pytest.raises(PatternError) as caught:
        parse_pattern(source, REGISTRY)
    diagnostic = caught.value.diagnostic
    return source[diagnostic.offset : diagnostic.offset + diagnostic.width]


# Reading


@each_case(
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


@each_case(
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
        "mail:5",
        "account:5",
        "orange:red",
        "[a:b]",
        "été:1",
    ],
)
def test_a_string_that_is_not_close_to_a_name_is_a_regular_expression(body: str) -> None:
    pattern = parsed(f"match:{body}")
    assert (pattern.matcher.name, pattern.parameter.source) == ("regex", body)


def test_bare_text_can_be_negated() -> None:
    pattern = parsed("match:not:File not found")
    assert (pattern.matcher.name, pattern.parameter.source, pattern.negated) == (
        "regex",
        "File not found",
        True,
    )


# Near misses


@pytest.mark.slow
@each_case(
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
        ("stringLenght", "stringLength"),
        ("dateAfte", "dateAfter"),
        ("jsonSchem", "jsonSchema"),
        ("greater_than", "greaterThan"),
        ("starts-with", "startsWith"),
        ("array_lenght", "arrayLength"),
        ("GTE", "greaterThanOrEqual"),
        ("ontains", "contains"),
        ("egex", "regex"),
        ("ength", "length"),
        ("ocntains", "contains"),
        ("grater", "greaterThan"),
        ("strng", "type:string"),
        *HABITS.items(),
    ],
)
def test_a_near_miss_or_a_habit_is_an_error_that_names_the_right_one(word: str, meant: str) -> None:
    expected = ("F012", f'unknown matcher "{word}"; did you mean "{meant}"?')
    assert refused(f"match:{word}:x") == expected
    assert refused(f"match:{word}") == expected
    assert refused(f"match:not:{word}:x") == expected
    assert pointed_at(f"match:not:{word}:x") == word


@pytest.mark.parametrize("text", ["error_code:5", "file-name: a", "x_y", "re-try"])
def test_words_with_a_dash_that_are_near_nothing_are_text(text: str) -> None:
    assert parsed(f"match:{text}").matcher.name == "regex"


@pytest.mark.parametrize("word", ["containz", "gte"])
def test_a_near_miss_in_running_text_is_just_text(word: str) -> None:
    assert parsed(f"match:{word} is a word").matcher.name == "regex"


@pytest.mark.parametrize(
    ("source", "instead"),
    [
        ("match:containz:x", "match:contains:containz:x"),
        ("match:not:containz:x", "match:not:contains:containz:x"),
        ("match:not:matchesMySchema:x", "match:not:contains:matchesMySchema:x"),
    ],
)
def test_the_way_to_search_for_a_misspelt_name_keeps_the_negation(
    source: str, instead: str
) -> None:
    with pytest.raises(PatternError) as wrong:
        parsed(source)
    help = wrong.value.diagnostic.help
    assert help.endswith(f"to search for the string itself, write {instead}")


def test_a_word_that_only_a_matcher_could_be_is_an_error_even_far_from_any() -> None:
    assert refused("match:matchesMySchema:x") == ("F012", 'unknown matcher "matchesMySchema"')
    assert parsed("match:matchesMySchema").matcher.name == "regex"


@pytest.mark.parametrize("name", ["partial", "arrayElements", "anyElement", "extractField", "all"])
def test_a_directive_written_as_a_value_is_explained(name: str) -> None:
    message = f'"match:{name}" is a directive: write it as a key, and what it takes below it'
    assert refused(f"match:{name}:x") == ("F014", message)
    assert refused(f"match:{name}") == ("F014", message)


def test_everyday_words_that_are_directives_may_begin_a_text() -> None:
    assert parsed("match:all: 3 tests passed").matcher.name == "regex"
    assert parsed("match:any: yes").matcher.name == "regex"


@each_case("habit", sorted(HABITS))
def test_every_habit_leads_to_a_word_of_the_language_and_is_none_itself(habit: str) -> None:
    assert HABITS[habit].partition(":")[0] in REGISTRY.names
    assert habit not in REGISTRY.names


# Parameters


@each_case(
    ("source", "code", "message", "at"),
    [
        ("match:", "F013", "a pattern needs something after match:", "match:"),
        ("match:not:", "F013", "a pattern needs something after match:", "match:not:"),
        ("match:not:not:x", "F013", "a pattern can be negated once", "not:"),
        (
            "match:not:match:contains:x",
            "F012",
            '"match:" is written once, in front of "not:"',
            "match:",
        ),
        ("match:not: Match:x", "F012", '"match:" is written once, in front of "not:"', " Match:"),
        (
            "match:NOT:contains:x",
            "F012",
            '"match:not:" is written in small letters, and a pattern follows it',
            "NOT",
        ),
        ("match: contains:x", "F012", 'there is a space before the matcher "contains"', " "),
        (
            "match:contains",
            "F013",
            'the matcher "contains" takes 1 parameter, and none is given',
            "contains",
        ),
        *(
            (
                f"match:{name}:",
                "F013",
                f'the matcher "{name}" needs a string after the colon: without one it would '
                "always hold",
                "",
            )
            for name in ("contains", "regex", "startsWith", "endsWith", "containsIgnoreCase")
        ),
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
        *(
            (
                f"match:{name}:-1",
                "F017",
                f'the matcher "{name}" counts from 0, and nothing is -1 long',
                "-1",
            )
            for name in ("length", "stringLength", "arrayLengthGreaterThan", "count")
        ),
        *(
            (
                f"match:{name}:0",
                "F017",
                f'the matcher "{name}" counts from 0, and nothing has less than that',
                "0",
            )
            for name in ("stringLengthLessThan", "arrayLengthLessThan")
        ),
        *(
            (
                f"match:{name}:9:3",
                "F017",
                f'the matcher "{name}" goes from 9 down to 3, where nothing lies; write 3:9',
                "9:3",
            )
            for name in ("between", "range", "stringLengthBetween", "arrayLengthBetween")
        ),
        (
            "match:between:1",
            "F013",
            'the matcher "between" takes 2 parameters, and 1 is given',
            "between",
        ),
        (
            "match:between:1:2:3",
            "F013",
            'the matcher "between" needs a number, not "2:3"',
            "1:2:3",
        ),
        (
            "match:greaterThan:ten",
            "F013",
            'the matcher "greaterThan" needs a number, not "ten"',
            "ten",
        ),
        ("match:multipleOf:0", "F017", 'the matcher "multipleOf" cannot divide by 0', "0"),
        (
            "match:approximately:5:-1",
            "F017",
            'the matcher "approximately" needs a tolerance of 0 or more, not -1',
            "5:-1",
        ),
        ("match:oneOf:", "F013", 'the matcher "oneOf" needs what it may be, with | between', ""),
        (
            "match:dateAfter:soon",
            "F013",
            'the matcher "dateAfter" needs a date such as 2024-01-31, not "soon"',
            "soon",
        ),
        (
            "match:dateBetween:2024-01-01",
            "F013",
            'the matcher "dateBetween" needs two dates with a colon between, not "2024-01-01"',
            "2024-01-01",
        ),
        (
            "match:dateBetween:2024-01-01T00:00:00Z:2023-01-01",
            "F017",
            'the matcher "dateBetween" goes from 2024-01-01T00:00:00Z back to 2023-01-01; '
            "write 2023-01-01:2024-01-01T00:00:00Z",
            "2024-01-01T00:00:00Z:2023-01-01",
        ),
        (
            "match:dateAge:5x",
            "F013",
            'the matcher "dateAge" needs a number with ms, s, m, h or d behind it, not "5x"',
            "5x",
        ),
        (
            "match:dateFormat:isodate",
            "F013",
            'the matcher "dateFormat" knows iso, iso-date, iso-time, us-date, eu-date, timestamp, '
            'not "isodate"; did you mean "iso-date"?',
            "isodate",
        ),
        (
            "match:crossField:a b",
            "F013",
            'the matcher "crossField" needs two fields with one of <= >= != == < > = between, '
            'not "a b"',
            "a b",
        ),
        (
            "match:crossField:a. < b",
            "F013",
            'the matcher "crossField" takes paths such as order.total, not "a."',
            "a. < b",
        ),
        (
            "match:crossField:a < a",
            "F017",
            'the matcher "crossField" compares a with itself, and nothing is < itself',
            "a < a",
        ),
        (
            "match:jsonSchema:",
            "F019",
            'the matcher "jsonSchema" needs the name of a file, relative to the test file',
            "",
        ),
        (
            "match:jsonSchema:a.json",
            "F019",
            'the matcher "jsonSchema" can only be used in a file: there is nothing to look beside',
            "a.json",
        ),
        (
            "match:type:undefined",
            "F013",
            'the matcher "type" knows string, number, integer, boolean, object, array, null, '
            'not "undefined"; a key that must not be there is match:not:exists',
            "undefined",
        ),
        (
            "match:type:strng",
            "F013",
            'the matcher "type" knows string, number, integer, boolean, object, array, null, '
            'not "strng"; did you mean "string"?',
            "strng",
        ),
        ("match:count:1.5", "F013", 'the matcher "count" needs a whole number, not "1.5"', "1.5"),
        (
            "match:type:text",
            "F013",
            'the matcher "type" knows string, number, integer, boolean, object, array, null, '
            'not "text"; did you mean "string"?',
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
            "the pattern is not a regular expression: a character class lacks its ]",
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


# Patterns without `match:`


def unprefixed(text: str) -> tuple[str, str] | None:
    mistake = find_missing_prefix(text, REGISTRY)
    if mistake is None:
        return None
    diagnostic = mistake.diagnostic
    assert (diagnostic.code, diagnostic.offset) == ("F018", 0)
    return text[: diagnostic.width], diagnostic.help


@each_case(
    ("text", "name"),
    [
        ("contains:sunny", "contains"),
        ("startsWith:abc", "startsWith"),
        ("type:string", "type"),
        ("type:string|null", "type"),
        ("not:contains:x", "not:contains"),
        ("regex:^v[0-9]+$", "regex"),
        ("arrayLength:3", "arrayLength"),
        ("between:1:5", "between"),
        ("dateAfter:2023-01-01", "dateAfter"),
        ("crossField:a < b", "crossField"),
        ("jsonSchema:weather.json", "jsonSchema"),
        ("equals:5", "equals"),
    ],
)
def test_a_pattern_without_its_prefix_is_pointed_out(text: str, name: str) -> None:
    help = f"write match:{text}, or match:equals:{text} when exactly that string is meant"
    assert unprefixed(text) == (name, help)


@each_case(
    "text",
    [
        "contains: 3 items",
        "type: string",
        "type:text/plain",
        "count:many",
        "length:",
        "between:1",
        "range:a:b",
        "regex:(",
        "Error: contains:x",
        "note:contains:x",
        "email:me@example.org",
        "exists:x",
        "contains:a\nb",
        "http://example.org",
        "",
        ":",
    ],
)
def test_prose_and_other_texts_with_a_colon_are_left_alone(text: str) -> None:
    assert unprefixed(text) is None


@given(st.text(), st.text())
def test_the_very_text_can_be_meant_with_equals(left: str, right: str) -> None:
    text = f"{left}:{right}"
    assert parsed(f"match:equals:{text}").mismatch(text, None) is None


# Messages


def test_a_mismatch_says_what_was_expected_what_was_found_and_gives_a_hint() -> None:
    assert parsed("match:contains:Sunny").mismatch("sunny", ((None, "result"), "text")) == Mismatch(
        path="result.text",
        expected="match:contains:Sunny",
        actual="sunny",
        message='expected a string that contains "Sunny"; it does not',
        hint="differs only in case",
    )


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("match:exists", "is missing; expected a value"),
        ("match:not:contains:x", 'no such path; expected anything but a string that contains "x"'),
        ("match:x y", "is missing; expected a string that matches /x y/"),
    ],
)
def test_a_key_that_is_not_there_says_what_was_wanted(source: str, message: str) -> None:
    assert parsed(source).absence((None, "a")).message == message
