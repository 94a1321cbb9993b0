"""Every matcher: on what it passes, on what it does not, and in which words."""

from __future__ import annotations

import re

import pytest
from case_tables import each_case
from geo_plugin import GeoPlugin
from hypothesis import given, settings
from hypothesis import strategies as st

from mcptest.formats.yaml import read_document
from mcptest.matching.compare import is_met
from mcptest.matching.compiler import Compiler
from mcptest.matching.patterns import Pattern, parse_pattern
from mcptest.matching.registry import Directive, Matcher, TwoOwnersError, builtin_registry

# 2024-06-01, and it stays that day.
REGISTRY = builtin_registry(lambda: 1_717_200_000.0, plugins=GeoPlugin)

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.just(10**400)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text()
    | st.from_regex(r"[-+]?[0-9]{1,20}([.][0-9]{1,20})?(e[-+]?[0-9]{1,3})?", fullmatch=True)
    | st.datetimes().map(lambda moment: moment.isoformat()),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=8,
)

SCHEMA = """{"type": "object", "required": ["degrees"], "properties":
    {"city": {"type": "string"}, "degrees": {"type": "integer"}}}"""


def parsed(source: str) -> Pattern:
    return parse_pattern(source, REGISTRY, lambda _: SCHEMA)


def why_not(source: str, actual: object) -> tuple[str, str] | None:
    mismatch = parsed(source).mismatch(actual, None)
    return (mismatch.message, mismatch.hint) if mismatch else None


@each_case(
    ("source", "actual"),
    [
        ("match:regex:^v[0-9]+$", "v12"),
        ("match:regex:b", "abc"),
        ("match:regex:^12$", 12),
        ("match:regex:^1.5$", 1.5),
        ("match:regex:^true$", True),
        ("match:regex:null", None),
        ('match:regex:"a":1', {"a": 1}),
        ("match:regex:a.b", "xa:by"),
        ("match:File not found", "Error: File not found: x"),
        ("match:contains:sun", "sunny"),
        ("match:contains:2", 123),
        ("match:contains:ru", True),
        ("match:contains:b", ["a", "abc"]),
        ("match:contains:2", [1, 2]),
        ('match:contains:"k"', [{"k": 1}]),
        ("match:startsWith:Err", "Error"),
        ("match:startsWith:1", 12),
        ("match:endsWith:.txt", "a.txt"),
        ("match:endsWith:5", 1.5),
        ("match:type:string", ""),
        ("match:type:number", 1),
        ("match:type:number", 1.5),
        ("match:type:integer", 1),
        ("match:type:integer", 1.0),
        ("match:type:integer", 10**400),
        ("match:type:boolean", False),
        ("match:type:object", {}),
        ("match:type:array", []),
        ("match:type:null", None),
        ("match:type:string|null", None),
        ("match:exists", ""),
        ("match:exists", 0),
        ("match:exists", False),
        ("match:exists", []),
        ("match:length:0", ""),
        ("match:length:2", "é🙂"),
        ("match:length:1", [None]),
        ("match:count:0", {}),
        ("match:count:1", [1]),
        ("match:count:2", {"a": 1, "b": 2}),
        ("match:arrayLength:0", []),
        ("match:arrayLength:2", [1, 1]),
        ("match:arrayContains:a", ["b", "a"]),
        ("match:arrayContains:1", [1]),
        ("match:arrayContains:1", ["1"]),
        ("match:arrayContains:true", [True]),
        ("match:arrayContains:null", [None]),
        ('match:arrayContains:{"a":1}', [{"a": 1}]),
        ("match:arrayContains:name:read_file", [{"name": "read_file"}]),
        ("match:arrayContains:a.b:1", [{"a": {"b": 1}}]),
        ("match:arrayContains:url:http://x", [{"url": "http://x"}]),
        ("match:arrayContains:name:x", ["name:x"]),
        ("match:not:regex:a", "b"),
        ("match:not:contains:a", None),
        ("match:not:type:string", 1),
        ("match:not:exists", None),
        ("match:not:arrayContains:a", []),
    ],
)
def test_a_value_that_meets_the_pattern_passes(source: str, actual: object) -> None:
    assert why_not(source, actual) is None


@each_case(
    ("source", "actual", "message", "hint"),
    [
        (
            "match:regex:^v$",
            "V",
            "a string that matches /^v$/; it does not match",
            "it matches when case is ignored",
        ),
        ("match:regex:^v$", "w", "a string that matches /^v$/; it does not match", ""),
        ("match:File", "Folder", "a string that matches /File/; it does not match", ""),
        ("match:contains:sun", "rain", 'a string that contains "sun"; it does not', ""),
        (
            "match:contains:SUN",
            "sunny",
            'a string that contains "SUN"; it does not',
            "differs only in case",
        ),
        ("match:contains:a", None, 'a string that contains "a"; it is null', ""),
        ("match:contains:a", {"a": 1}, 'a string that contains "a"; it is an object', ""),
        (
            "match:contains:x",
            ["a", "b"],
            'a string that contains "x"; it has 2 elements and none contains it',
            "",
        ),
        (
            "match:contains:x",
            ["a"],
            'a string that contains "x"; it has 1 element and none contains it',
            "",
        ),
        ("match:contains:x", [], 'a string that contains "x"; it is empty', ""),
        (
            "match:startsWith:e",
            "Error",
            'a string that starts with "e"; it does not',
            "differs only in case",
        ),
        ("match:startsWith:a", ["a"], 'a string that starts with "a"; it is an array', ""),
        ("match:endsWith:a", "ab", 'a string that ends with "a"; it does not', ""),
        ("match:endsWith:a", None, 'a string that ends with "a"; it is null', ""),
        ("match:type:string", 1, "a value of type string; it is a number", ""),
        ("match:type:number", True, "a value of type number; it is a boolean", ""),
        (
            "match:type:number",
            "1",
            "a value of type number; it is a string",
            "it is a number written as a string",
        ),
        (
            "match:type:integer",
            "-1",
            "a value of type integer; it is a string",
            "it is a number written as a string",
        ),
        ("match:type:integer", 1.5, "a value of type integer; it is a number with a fraction", ""),
        ("match:type:object", None, "a value of type object; it is null", ""),
        ("match:type:object", [], "a value of type object; it is an array", ""),
        ("match:type:string|null", 1, "a value of type string or null; it is a number", ""),
        ("match:exists", None, "a value; it is null", ""),
        ("match:length:3", "ab", "a string or array of length 3; it has 2", ""),
        ("match:length:1", {"a": 1}, "a string or array of length 1; it is an object", ""),
        ("match:length:1", 1, "a string or array of length 1; it is a number", ""),
        ("match:count:1", {}, "an array of 1 elements or an object of 1 keys; it has 0", ""),
        ("match:count:1", "a", "an array of 1 elements or an object of 1 keys; it is a string", ""),
        ("match:arrayLength:1", [], "an array of 1 element; it has 0", ""),
        ("match:arrayLength:1", "a", "an array of 1 element; it is a string", ""),
        (
            "match:arrayContains:a",
            ["A"],
            'an array that holds "a"; it has 1 element and none is it',
            "one differs only in case",
        ),
        (
            "match:arrayContains:a",
            ["ab", 1],
            'an array that holds "a"; it has 2 elements and none is it',
            "one holds it as a part; match:contains: looks inside the elements",
        ),
        ("match:arrayContains:a", [], 'an array that holds "a"; it is empty', ""),
        ("match:arrayContains:a", "a", 'an array that holds "a"; it is a string', ""),
        (
            "match:arrayContains:n:x",
            [{"n": "y"}, {}, 1],
            'an array that holds "n:x"; it has 3 elements and none is it',
            "",
        ),
        ("match:not:regex:a", "a", "anything but a string that matches /a/; it is just that", ""),
        ("match:not:type:null", None, "anything but a value of type null; it is just that", ""),
        ("match:not:exists", 0, "nothing, or null; it is there", ""),
    ],
)
def test_a_value_that_does_not_meet_the_pattern_says_why(
    source: str, actual: object, message: str, hint: str
) -> None:
    assert why_not(source, actual) == (f"expected {message}", hint)


@pytest.mark.parametrize(
    ("source", "actual", "why"),
    [
        ("match:not:arrayContains:nmae:a", [{"name": "a"}], 'no element has "nmae"'),
        ("match:not:arrayContains:a.b:1", [{"a": 1}, 2], 'no element has "a.b"'),
        ("match:not:crossField:a < b", {"a": 1}, 'it has nothing at b: no key "b"; there is "a"'),
        ("match:not:crossField:a < b", "text", "it is a string"),
    ],
)
def test_a_path_of_a_matcher_that_leads_nowhere_is_pointed_out(
    source: str, actual: object, why: str
) -> None:
    """It holds, as suites by others have it, and says that it checked nothing."""
    assert parsed(source).is_met(actual)
    assert parsed(source).idle_reason(actual) == why


@pytest.mark.parametrize(
    ("source", "actual"),
    [
        ("match:not:arrayContains:name:a", [{"name": "b"}, {}]),
        ("match:not:arrayContains:name:a", []),
        ("match:not:arrayContains:name:a", ["name:b"]),
        ("match:not:arrayContains:a", [{"name": "b"}]),
        ("match:not:crossField:a < b", {"a": 2, "b": 1}),
    ],
)
def test_a_path_that_leads_somewhere_is_negated(source: str, actual: object) -> None:
    assert parsed(source).is_met(actual)
    assert parsed(source).idle_reason(actual) == ""


@pytest.mark.long
@pytest.mark.slow
@given(actual=JSON)
@settings(max_examples=60)
def test_any_value_is_judged_and_the_negation_is_the_opposite(actual: object) -> None:
    for matcher in REGISTRY:
        plain = parsed(matcher.example)
        negated = parsed(matcher.example.replace("match:", "match:not:", 1))
        miss = plain.miss(actual)
        assert negated.is_met(actual) == bool(miss), matcher.name
        for pattern in (plain, negated):
            mismatch = pattern.mismatch(actual, None)
            assert (mismatch is None) == pattern.is_met(actual), matcher.name
            if mismatch:
                assert re.match(r"expected (.|\n)+; it (is|has|does|says)", mismatch.message)


@each_case("matcher", list(REGISTRY))
def test_half_a_surrogate_pair_is_judged_like_any_text(matcher: Matcher) -> None:
    for actual in ("\ud800", ["\ud800"], {"\ud800": "\udfff"}):
        assert isinstance(parsed(matcher.example).is_met(actual), bool)


@given(st.text(min_size=1), st.text(), st.text())
def test_text_holds_what_was_put_in(needle: str, before: str, after: str) -> None:
    text = before + needle + after
    assert why_not(f"match:contains:{needle}", text) is None
    assert why_not(f"match:startsWith:{needle}", needle + after) is None
    assert why_not(f"match:endsWith:{needle}", before + needle) is None
    assert why_not(f"match:length:{len(text)}", text) is None


# The registry


def test_every_word_of_the_language_is_there() -> None:
    lengths = ("", "GreaterThan", "GreaterThanOrEqual", "LessThan", "LessThanOrEqual", "Between")
    words = """
        type exists equals notEquals oneOf
        regex contains containsIgnoreCase startsWith endsWith equalsIgnoreCase
        stringEmpty stringNotEmpty length count empty notEmpty arrayContains unique sorted
        greaterThan greaterThanOrEqual lessThan lessThanOrEqual between range approximately
        multipleOf divisibleBy decimalPlaces positive negative integer
        dateValid dateAfter dateBefore dateBetween dateEquals dateFormat dateAge
        uuid email url hostname ipv4 ipv6 json base64 semver jwt crossField jsonSchema plugin
    """.split()  # noqa: SIM905  # sixty quoted words are harder to read
    counted = [f"{kind}Length{which}" for kind in ("string", "array") for which in lengths]
    assert sorted(REGISTRY.names) == sorted([*words, *counted])
    assert tuple(REGISTRY.directives) == (
        "partial",
        "arrayElements",
        "anyElement",
        "extractField",
        "crossField",
        "not:crossField",
        "all",
        "any",
    )


def test_the_names_that_are_known_before_loading_are_those_that_are_loaded() -> None:
    fresh = builtin_registry()
    names = fresh.names
    assert [matcher.name for matcher in fresh] == list(names)
    assert fresh.names == names


@each_case("matcher", list(REGISTRY))
def test_every_entry_has_a_summary_and_an_example_that_is_one_of_it(matcher: Matcher) -> None:
    assert matcher.summary.endswith(".")
    assert parsed(matcher.example).matcher == matcher


@each_case("matcher", list(REGISTRY))
def test_every_entry_has_values_that_pass_and_values_that_fail(matcher: Matcher) -> None:
    pattern = parsed(matcher.example)
    assert matcher.passes
    assert matcher.fails
    assert [value for value in matcher.passes if not pattern.is_met(value)] == []
    assert [value for value in matcher.fails if pattern.is_met(value)] == []


@pytest.mark.parametrize(
    "directive", REGISTRY.directives.values(), ids=lambda directive: directive.name
)
def test_every_directive_has_an_example_with_values_that_pass_and_fail(
    directive: Directive,
) -> None:
    assert directive.summary.endswith(".")
    assert directive.passes
    assert directive.fails
    compiler = Compiler(REGISTRY)
    example = read_document(directive.example, "example").value
    assert isinstance(example, dict)
    assert f"match:{directive.name}" in example
    expected = compiler.compile(example, None)
    assert compiler.diagnostics == []
    assert [value for value in directive.passes if not is_met(expected, value)] == []
    assert [value for value in directive.fails if is_met(expected, value)] == []


def test_without_a_clock_an_age_can_be_parsed_but_not_checked() -> None:
    pattern = parse_pattern("match:dateAge:1d", builtin_registry())
    assert pattern.mismatch("no date", None) is not None
    with pytest.raises(RuntimeError, match="needs a clock"):
        pattern.mismatch("2024-01-01", None)


def test_a_matcher_that_is_named_like_one_still_waiting_or_like_a_directive_is_refused() -> None:
    registry = builtin_registry()
    regex = REGISTRY.get("regex")
    assert regex is not None
    for name in ("uuid", "partial"):
        with pytest.raises(TwoOwnersError, match=f"'{name}' has two owners: mcptest itself and me"):
            registry.add(regex.but(name=name, owner="me"))
    registry.add(regex.but(name="mine", owner="me"))
    assert registry.names[-1] == "mine"
