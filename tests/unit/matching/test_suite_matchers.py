"""The matchers of suites, and the targets of their assertions."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from case_tables import each_case

from mcptest.core.text import EVERY, render_path
from mcptest.core.value_class import ABSENT
from mcptest.formats.yaml import read_document
from mcptest.matching.compare import Group, compare
from mcptest.matching.json_values import pull
from mcptest.matching.patterns import Pattern
from mcptest.matching.registry import builtin_registry
from mcptest.matching.suite_matchers import EXAMPLES, ROOTS, SuiteMatchers, parse_target

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcptest.core.diagnostics import PathDiagnostic


SCHEMA = {"type": "object", "required": ["city"]}


class Geo:
    """Plugins that find a value right when it is what they are given."""

    names: Sequence[str] = ("geo",)

    def __init__(self) -> None:
        self.asked: list[tuple[str, str, object]] = []

    def ask(self, name: str, method: str, params: object) -> object:
        self.asked.append((name, method, params))
        assert isinstance(params, dict)
        is_right = params["actual"] == params["expected"]
        return {"pass": is_right} if is_right else {"pass": False, "message": "too far"}


def read_beside(name: str) -> str:
    if name != "city.json":
        raise ValueError("cannot read it: No such file or directory")
    return json.dumps(SCHEMA)


def compiled(matcher: object, geo: Geo | None = None) -> tuple[object, list[PathDiagnostic]]:
    diagnostics: list[PathDiagnostic] = []
    registry = builtin_registry(plugins=lambda: geo or Geo())
    words = SuiteMatchers(registry, diagnostics, read_beside)
    return words.compile(matcher, (None, "matcher")), diagnostics


def misses(matcher: object, value: object) -> list[tuple[str, str]]:
    """Path and words of every way in which a value does not meet a matcher."""
    check, diagnostics = compiled(matcher)
    assert diagnostics == []
    return [(each.path, each.message) for each in compare(check, value)]


def refused(matcher: object) -> list[tuple[str, str, tuple[object, ...]]]:
    check, diagnostics = compiled(matcher)
    assert diagnostics
    assert check is ABSENT or isinstance(check, (Group, Pattern))
    return [(each.code, each.message, each.steps[1:]) for each in diagnostics]


# For each word: what is written under it, values that meet it, and others with what is said.
CASES: dict[str, list[tuple[object, list[object], dict[str, object]]]] = {
    "exact": [
        (False, [False], {"differs": True, "expected a boolean, got null": None}),
        ("match:contains:x", ["match:contains:x"], {"differs": "x"}),
        (
            {"a": [1, {"b": None}]},
            [{"a": [1.0, {"b": None}]}],
            {"is not expected": {"a": [1, {"b": None}], "c": 1}, "is missing": {}},
        ),
        (1, [1, 1.0], {"expected a number, got a boolean": True}),
        (None, [None], {"expected null, got a string": ""}),
    ],
    "equals": [("a", ["a"], {"differs": "A"})],
    "contains": [
        (
            "sun",
            ["sunny", ["a", "sun"]],
            {'expected a string that contains "sun"; it does not': "rain"},
        ),
        (5, ["a5", [5], [5.0]], {"expected something that contains 5; it is a number": 55}),
        (
            {"a": 1},
            [[0, {"a": 1}]],
            {
                'expected something that contains {"a":1}; it has 1 element and none is it': [
                    {"a": 2}
                ]
            },
        ),
        (
            None,
            ["null and void", [None]],
            {"expected something that contains null; it does not": ""},
        ),
    ],
    "icontains": [
        (
            "SUN",
            ["sunny"],
            {'expected a string that contains, in any case, "SUN"; it does not': "no"},
        )
    ],
    "contains-all": [
        (
            ["a", 5],
            ["5 a", ["a", 5]],
            {'expected a string that contains "a"; it does not': "5"},
        )
    ],
    "contains-any": [(["a", 5], ["a", [5]], {"expected one of 2 to hold; none does": "b"})],
    "starts-with": [
        ("De", ["Dear"], {'expected a string that starts with "De"; it does not': "My Dear"})
    ],
    "ends-with": [("!", ["oh!"], {'expected a string that ends with "!"; it does not': "! oh"})],
    "regex": [
        (
            "^v[0-9]+$",
            ["v12"],
            {"expected a string that matches /^v[0-9]+$/; it does not match": "v"},
        )
    ],
    "schema": [
        (
            SCHEMA,
            [{"city": 1}],
            {
                "expected a value that is valid by the schema; it is not valid: "
                '"city" is a required property': {}
            },
        ),
        (
            "city.json",
            [{"city": 1}],
            {
                "expected a value that is valid by city.json; it is not valid: "
                '"city" is a required property': {}
            },
        ),
    ],
    "type": [
        ("string", ["", "a"], {"expected a value of type string; it is a number": 1}),
        ("integer", [1, 1.0], {"expected a value of type integer; it is a boolean": True}),
        ("null", [None], {"expected a value of type null; it is an array": []}),
    ],
    "length": [
        (2, ["ab", [1, 2]], {"expected a string or array of length 2; it has 1": "a"}),
        (0, ["", []], {"expected a string or array of length 0; it is null": None}),
    ],
    "gt": [(5, [5.1, "6"], {"expected a number greater than 5; it is 5": 5})],
    "gte": [(5, [5], {"expected a number of at least 5; it is 4.9": 4.9})],
    "lt": [(5, [4.9], {"expected a number less than 5; it is 5": 5})],
    "lte": [(5, [5], {"expected a number of at most 5; it is a string that is not a number": "x"})],
    "between": [([1, 3], [1, 2.5, 3], {"expected a number from 1 to 3; it is 4": 4})],
    "one-of": [
        ([1, "a", None], [1, "a", None], {"expected one of 3 to hold; none does": "1"}),
        (["a"], ["a"], {"does not hold": "b"}),
        (["match:contains:x"], ["match:contains:x"], {"does not hold": "x"}),
    ],
    "exists": [
        (True, [0, "", False, []], {"expected a value; it is null": None}),
        (False, [None], {"expected nothing, or null; it is there": 0}),
    ],
    "not": [
        ({"contains": "x"}, ["y", 5], {"it is exactly what it must not be": "x"}),
        ({"not": {"exact": 1}}, [1], {"it is exactly what it must not be": 2}),
        ({"contains": "a", "length": 2}, ["a", "bb"], {"it is exactly what it must not be": "ab"}),
    ],
    "all": [
        (
            [{"contains": "a"}, {"length": 2}],
            ["ab"],
            {'expected a string that contains "a"; it does not': "bb"},
        )
    ],
    "any": [
        (
            [{"exact": 1}, {"all": [{"type": "string"}, {"not": {"exact": ""}}]}],
            [1, "x"],
            {"expected one of 2 to hold; none does": ""},
        )
    ],
    "partial": [
        (
            {"a": {"b": 1}, "c": [{"d": 2}]},
            [{"a": {"b": 1, "x": 0}, "c": [{"d": 2, "e": 3}, 5], "f": 0}],
            {"is missing": {"a": {}, "c": [{"d": 2}]}, "expected an object, got an array": []},
        ),
        (5, [5], {"differs": 6}),
    ],
    "plugin": [
        (
            {"name": "geo", "method": "near", "params": [1, 2]},
            [[1, 2]],
            {"expected what the plugin geo accepts as near for [1,2]; it says: too far": [1, 3]},
        ),
        (
            {"name": "geo", "method": "near"},
            [None],
            {"expected what the plugin geo accepts as near; it says: too far": 0},
        ),
    ],
    "pattern": [
        (
            "dateValid",
            ["2024-05-01"],
            {"expected a date; it is a string that is not a date": "soon"},
        ),
        ("match:contains:a", ["a"], {'expected a string that contains "a"; it does not': "b"}),
        (
            "not:contains:a",
            ["b"],
            {'expected anything but a string that contains "a"; it is just that': "a"},
        ),
        ("^v", ["v1"], {"expected a string that matches /^v/; it does not match": "w"}),
    ],
}


def test_every_word_is_tested_here_or_with_snapshots() -> None:
    assert set(EXAMPLES) == {*CASES, "snapshot"}
    assert list(EXAMPLES) == list(EXAMPLES)


@each_case(
    ("word", "parameter", "values"),
    [(word, parameter, values) for word, rows in CASES.items() for parameter, values, _ in rows],
)
def test_values_that_meet_a_word_pass(word: str, parameter: object, values: list[object]) -> None:
    for value in values:
        assert misses({word: parameter}, value) == []


@each_case(
    ("word", "parameter", "value", "message"),
    [
        (word, parameter, value, message)
        for word, rows in CASES.items()
        for parameter, _, fails in rows
        for message, value in fails.items()
    ],
)
def test_a_value_that_does_not_match_is_reported_with_the_reason(
    word: str, parameter: object, value: object, message: str
) -> None:
    found = [said for _, said in misses({word: parameter}, value)]
    assert message in found


@each_case("word", [word for word in EXAMPLES if word != "snapshot"])
def test_the_example_of_each_word_is_yaml_that_can_be_used(word: str) -> None:
    value = read_document(f"{{{word}: {EXAMPLES[word]}}}", "a.yaml").value
    check, diagnostics = compiled(value)
    assert diagnostics == []
    assert check is not ABSENT


# Nesting


def test_several_words_in_one_matcher_must_all_hold() -> None:
    matcher = {"contains": "a", "length": 2, "not": {"ends-with": "!"}}
    assert misses(matcher, "ab") == []
    assert len(misses(matcher, "b!!")) == 3


def test_groups_may_be_nested() -> None:
    matcher = {
        "any": [
            {"exists": False},
            {"all": [{"type": "string"}, {"not": {"any": [{"exact": ""}, {"contains": "?"}]}}]},
        ]
    }
    assert [bool(misses(matcher, value)) for value in (None, "a", "", "a?", 5)] == [
        False,
        False,
        True,
        True,
        True,
    ]


def test_a_difference_inside_a_value_is_reported_with_its_path() -> None:
    assert misses({"exact": {"a": [{"b": 1}]}}, {"a": [{"b": 2}]}) == [("a[0].b", "differs")]
    assert misses({"all": [{"partial": {"a": {"b": 1}}}]}, {"a": {}}) == [("a.b", "is missing")]


def test_the_nearest_of_several_is_a_hint() -> None:
    check, _ = compiled({"any": [{"exact": {"a": 1, "b": 1}}, {"exact": {"a": 1, "b": 2}}]})
    [found] = compare(check, {"a": 1, "b": 3})
    assert found.hint == "number 1 is nearest: b: differs"


def test_a_plugin_is_asked_with_the_value_its_parameters_and_the_place() -> None:
    geo = Geo()
    check, _ = compiled({"plugin": {"name": "geo", "method": "near", "params": {"km": 5}}}, geo)
    assert len(list(compare(check, 7, ((None, "result"), "at")))) == 1
    params = {"actual": 7, "expected": {"km": 5}, "path": "result.at"}
    assert geo.asked == [("geo", "near", params)]


def test_slow_foreign_and_remote_matchers_are_flagged_on_the_expectation() -> None:
    registry = builtin_registry(plugins=Geo)
    words = SuiteMatchers(registry, [], read_beside)

    words.compile({"exact": 1}, None)
    assert words.flags.take() == {}
    words.compile({"not": {"all": [{"regex": "a"}]}}, None)
    assert words.flags.take() == {"has_regex": True}
    words.compile({"regex": "a"}, None)
    words.compile({"schema": SCHEMA}, None)
    assert words.flags.take() == {"has_regex": True, "has_foreign_check": True}
    words.compile({"any": [{"plugin": {"name": "geo", "method": "m"}}]}, None)
    assert words.flags.take() == {"has_remote_check": True}
    assert words.flags.take() == {}


# Values that are not matchers


@pytest.mark.parametrize(
    ("matcher", "code", "message", "help"),
    [
        ("sunny", "F008", "a string", 'to compare with this very value, write {exact: "sunny"}'),
        ("match:contains:a", "F008", "a string", 'write {pattern: "match:contains:a"}'),
        (5, "F008", "a number", "to compare with this very value, write {exact: 5}"),
        (None, "F008", "null", "to compare with this very value, write {exact: null}"),
        ([{"exact": 1}], "F008", "an array", ""),
    ],
)
def test_a_matcher_is_a_mapping(matcher: object, code: str, message: str, help: str) -> None:
    _, [diagnostic] = compiled(matcher)
    whole = f"a matcher is a mapping such as {{contains: sunny}}, and this is {message}"
    assert (diagnostic.code, diagnostic.message, diagnostic.help) == (code, whole, help)


@each_case(
    ("word", "meant"),
    [
        ("containz", "contains"),
        ("Contains", "contains"),
        ("contains_all", "contains-all"),
        ("startsWith", "starts-with"),
        ("oneOf", "one-of"),
        ("eq", "equals"),
        ("is", "equals"),
        ("matches", "regex"),
        ("includes", "contains"),
        ("greaterThan", "gt"),
        ("atMost", "lte"),
        ("jsonSchema", "schema"),
        ("arrayLength", "length"),
        ("len", "length"),
    ],
)
def test_a_misspelt_or_foreign_word_gets_a_suggestion(word: str, meant: str) -> None:
    _, [diagnostic] = compiled({word: 1})
    assert diagnostic.code == "F012"
    assert diagnostic.message == f'unknown matcher "{word}"; did you mean "{meant}"?'
    assert diagnostic.help == f"there are: {', '.join(EXAMPLES)}"
    assert (diagnostic.steps, diagnostic.on_key) == (("matcher", word), True)


@pytest.mark.parametrize("word", ["", "-", "x", "unheard of", "\ud800", "a" * 1000])
def test_an_unknown_word_is_refused(word: str) -> None:
    _, [diagnostic] = compiled({word: 1})
    assert (diagnostic.code, diagnostic.message) == ("F012", f'unknown matcher "{word}"')


def test_a_matcher_of_other_formats_is_shown_as_a_pattern() -> None:
    _, [diagnostic] = compiled({"dateValid": True})
    assert diagnostic.help == 'write it as a pattern: {pattern: "dateValid"}'


@each_case(
    ("matcher", "code", "message", "steps"),
    [
        ({}, "F011", "the matcher is empty: every value meets it", ()),
        (
            {"contains": ""},
            "F013",
            "needs a string: without one it would always hold",
            ("contains",),
        ),
        ({"icontains": 5}, "F013", "takes a string, not a number", ("icontains",)),
        ({"starts-with": None}, "F013", "takes a string, not null", ("starts-with",)),
        ({"contains-all": "a"}, "F013", "takes a list, not a string", ("contains-all",)),
        ({"contains-any": []}, "F013", "is empty", ("contains-any",)),
        (
            {"regex": "("},
            "F015",
            "is not a regular expression: missing ), unterminated subpattern at position 0",
            ("regex",),
        ),
        ({"schema": True}, "F019", "holds a schema which every value meets", ("schema",)),
        ({"schema": {}}, "F019", "holds a schema which every value meets", ("schema",)),
        (
            {"schema": "nope.json"},
            "F019",
            "cannot read nope.json: no such file or directory",
            ("schema",),
        ),
        (
            {"schema": {"$ref": "http://x/y"}},
            "F019",
            "holds a schema which refers to http://x/y; nothing is fetched, so put what it "
            "needs under $defs",
            ("schema",),
        ),
        ({"type": 5}, "F013", "takes the name of a type, not a number", ("type",)),
        (
            {"type": "text"},
            "F013",
            'knows string, number, integer, boolean, object, array, null, not "text"; '
            'did you mean "string"?',
            ("type",),
        ),
        ({"length": 1.5}, "F013", "takes a whole number, not a number", ("length",)),
        ({"length": True}, "F013", "takes a whole number, not a boolean", ("length",)),
        ({"length": -1}, "F017", "counts from 0, and nothing is -1 long", ("length",)),
        ({"gt": "5"}, "F013", "takes a number, not a string", ("gt",)),
        ({"lte": False}, "F013", "takes a number, not a boolean", ("lte",)),
        ({"between": [1]}, "F013", "takes a list of two numbers, not an array", ("between",)),
        ({"between": [1, "b"]}, "F013", "takes a number, not a string", ("between",)),
        ({"between": [3, 1]}, "F017", "goes from 3 down to 1, where nothing lies", ("between",)),
        ({"one-of": []}, "F013", "is empty", ("one-of",)),
        ({"exists": 1}, "F013", "takes true or false, not a number", ("exists",)),
        ({"all": {}}, "F013", "takes a list, not an object", ("all",)),
        ({"any": []}, "F013", "is empty", ("any",)),
        ({"partial": {}}, "F013", "is empty: every value meets it", ("partial",)),
        ({"plugin": "geo"}, "F013", "takes a mapping, not a string", ("plugin",)),
        (
            {"plugin": {"name": "geo"}},
            "F013",
            "needs a name and a method, both strings",
            ("plugin",),
        ),
        (
            {"plugin": {"name": "geo", "method": "m", "arg": 1}},
            "F013",
            'has no key "arg"; there are: name, method, params',
            ("plugin",),
        ),
        (
            {"plugin": {"name": "goe", "method": "m"}},
            "F021",
            "finds no plugin 'goe'; did you mean 'geo'?",
            ("plugin",),
        ),
        ({"pattern": 5}, "F013", "takes a string, not a number", ("pattern",)),
        (
            {"pattern": "containz:a"},
            "F012",
            'is wrong: unknown matcher "containz"; did you mean "contains"?',
            ("pattern",),
        ),
        ({"snapshot": True}, "F013", "cannot be used here", ("snapshot",)),
    ],
)
def test_a_parameter_that_makes_no_sense_is_refused_at_its_place(
    matcher: dict[str, object], code: str, message: str, steps: tuple[object, ...]
) -> None:
    word = next(iter(matcher), "")
    whole = f'the matcher "{word}" {message}' if word else message
    assert refused(matcher) == [(code, whole, steps)]


def test_every_mistake_in_a_nested_matcher_is_reported() -> None:
    matcher = {"all": [{"not": {"gt": "a"}}, {"any": [5, {"containz": 1}]}], "length": "x"}
    assert [(code, steps) for code, _, steps in refused(matcher)] == [
        ("F013", ("all", 0, "not", "gt")),
        ("F008", ("all", 1, "any", 0)),
        ("F012", ("all", 1, "any", 1, "containz")),
        ("F013", ("length",)),
    ]


def test_help_is_an_example_or_what_to_write() -> None:
    for matcher, help in (
        ({"gt": "a"}, "for example {gt: 0}"),
        ({"between": [3, 1]}, "write [1, 3]"),
        ({"snapshot": True}, "only what is run has snapshots"),
    ):
        _, [diagnostic] = compiled(matcher)
        assert diagnostic.help == help


VALUE = {
    "content": [{"type": "text", "text": "one"}, {"type": "image"}],
    "a.b": {"c d": 1, "": 2},
    "nested": [[1, 2], [3]],
    "by name": {"x": {"n": 1}, "y": {"n": 2}},
    "0": "zero",
}


@each_case(
    ("text", "steps"),
    [
        ("result", ("result",)),
        ("error.code", ("error", "code")),
        ("stderr", ("stderr",)),
        ("duration_ms", ("duration_ms",)),
        ("notifications[0].method", ("notifications", 0, "method")),
        ("result.content[12].text", ("result", "content", 12, "text")),
        ("result.content[*].text", ("result", "content", EVERY, "text")),
        ("result.content.*.text", ("result", "content", EVERY, "text")),
        ("result[0][1]", ("result", 0, 1)),
        ('result["a.b"]', ("result", "a.b")),
        ("result['a.b']", ("result", "a.b")),
        ('result."a.b".c', ("result", "a.b", "c")),
        ("result.'a.b'.c", ("result", "a.b", "c")),
        (r'result["say \"hi\" \u00e9"]', ("result", 'say "hi" é')),
        ('result["*"]', ("result", "*")),
        ('result[""]', ("result", "")),
        ("result['']", ("result", "")),
        ('result["0"]', ("result", "0")),
        ("result.größe.$ref", ("result", "größe", "$ref")),
        ("result.a b-c", ("result", "a b-c")),
        ("result.content.0.text", ("result", "content", "0", "text")),
    ],
)
def test_a_target_is_a_path_of_keys_and_numbers(text: str, steps: tuple[object, ...]) -> None:
    found = parse_target(text)
    assert found == steps
    # A key that is a star is not the star that means everything.
    assert [step is EVERY for step in found] == [step is EVERY for step in steps]


@each_case(
    ("text", "message"),
    [
        ("", f"is empty; it begins with one of {', '.join(ROOTS)}"),
        ("result.", "is not a path: 'result.' ends too soon"),
        (".result", "is not a path: '.result' goes wrong at character 1"),
        ("result..a", "is not a path: 'result..a' goes wrong at character 8"),
        ("result[", "is not a path: 'result[' goes wrong at character 7"),
        ("result[]", "is not a path: 'result[]' goes wrong at character 7"),
        ("result[-1]", "is not a path: 'result[-1]' goes wrong at character 7"),
        ("result[1.5]", "is not a path: 'result[1.5]' goes wrong at character 7"),
        ("result[a]", "is not a path: 'result[a]' goes wrong at character 7"),
        ("result[0", "is not a path: 'result[0' goes wrong at character 7"),
        ("result[0]text", "is not a path: 'result[0]text' goes wrong at character 10"),
        ("result.[0]", "is not a path: 'result.[0]' goes wrong at character 8"),
        ('result"a"', "is not a path: 'result\"a\"' goes wrong at character 7"),
        ('result["a]', "is not a path: 'result[\"a]' goes wrong at character 7"),
        (
            r'result["\x"]',
            r"""is not a path: 'result["\\x"]' goes wrong in the quotes at character 7""",
        ),
        ("result[1234567890]", "is not a path: 'result[1234567890]' goes wrong at character 7"),
        (
            "reslt",
            f"is 'reslt'; it begins with one of {', '.join(ROOTS)}; did you mean 'result'?",
        ),
        ("$.result", f"is '$.result'; it begins with one of {', '.join(ROOTS)}"),
        ("[0]", f"is '[0]'; it begins with one of {', '.join(ROOTS)}"),
        ("*", f"is '*'; it begins with one of {', '.join(ROOTS)}"),
        ("stderr.text", "goes on after 'stderr', which has nothing in it"),
        ("duration_ms[0]", "goes on after 'duration_ms', which has nothing in it"),
    ],
)
def test_an_invalid_target_is_refused_with_the_reason(text: str, message: str) -> None:
    with pytest.raises(ValueError) as caught:  # noqa: PT011  # the whole sentence is compared
        parse_target(text)
    assert str(caught.value) == message


def test_other_roots_may_be_asked_for() -> None:
    assert parse_target("tool_names[0]", ("tool_names",)) == ("tool_names", 0)
    with pytest.raises(ValueError, match=r"^is 'result'; it .* tool_names$"):
        parse_target("result", ("tool_names",))


def test_a_long_text_is_refused_at_once() -> None:
    with pytest.raises(ValueError, match="is not a path"):
        parse_target("result" + "." * 100_000)
    assert len(parse_target("result" + ".a" * 10_000)) == 10_001


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("result.content[0].text", "one"),
        ("result.content.1.type", "image"),
        ("result.content[*].type", ["text", "image"]),
        # An item without such a member counts as null, so that positions stay the same.
        ("result.content[*].text", ["one", None]),
        ("result.nested[*][0]", [1, 3]),
        ("result.nested[*][*]", [[1, 2], [3]]),
        ("result['by name'][*].n", [1, 2]),
        ('result["a.b"]["c d"]', 1),
        ('result["a.b"][""]', 2),
        ('result["0"]', "zero"),
        ("result.content[*].none[*]", [None, None]),
    ],
)
def test_the_value_at_a_target_is_extracted(text: str, value: object) -> None:
    assert pull(VALUE, parse_target(text)[1:]) == (value, "")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("result.contnt", 'no key "contnt"; there is "content"'),
        ("result.content[2]", "no element 2 among 2"),
        ("result.content.text", 'there is an array where "text" should be'),
        ("result[0]", 'there is an object where "0" should be'),
        ("result.content[0].text[*]", "there is a string where * wants an array"),
    ],
)
def test_a_target_that_leads_nowhere_says_where_the_way_ends(text: str, why: str) -> None:
    found, reason = pull(VALUE, parse_target(text)[1:])
    assert (repr(found), reason) == ("ABSENT", why)


@pytest.mark.parametrize(
    "text", ["result.a[0]", "result[*]", 'result["a.b"]', 'result["*"]', "result.x.y[3].z"]
)
def test_a_target_is_shown_as_it_can_be_written(text: str) -> None:
    assert parse_target(render_path(parse_target(text))) == parse_target(text)
