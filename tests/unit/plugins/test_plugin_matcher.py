"""`match:plugin:NAME.METHOD:ARG`: what is asked, and what becomes of the answer."""

from __future__ import annotations

from typing import Any

import pytest
from case_tables import each_case

from mcptest.core.errors import CheckError
from mcptest.matching.compare import compare
from mcptest.matching.compiler import Compiler
from mcptest.matching.patterns import PatternError, parse_pattern
from mcptest.matching.registry import builtin_registry


class Scripted:
    """A plugin that answers what the test says, and keeps what it was asked."""

    def __init__(self, answer: object = None, *names: str) -> None:
        self.answer = {"pass": True} if answer is None else answer
        self.names = names or ("geo",)
        self.asked: list[tuple[str, str, Any]] = []

    def ask(self, name: str, method: str, params: object) -> object:
        self.asked.append((name, method, params))
        return self.answer

    @property
    def paths(self) -> list[str]:
        return [params["path"] for _, _, params in self.asked]


class Nothing(Scripted):
    """The answer null, which the constructor takes for no answer."""

    def ask(self, name: str, method: str, params: object) -> object:
        return None


def mismatch_of(source: str, actual: object, plugins: Scripted) -> str | None:
    found = parse_pattern(source, builtin_registry(plugins=lambda: plugins)).mismatch(actual, None)
    return found.message if found else None


# What is written


@pytest.mark.parametrize(
    ("source", "method", "expected"),
    [
        ("match:plugin:geo.near", "near", None),
        ("match:plugin:geo.near:", "near", ""),
        ("match:plugin:geo.near:48.85,2.35", "near", "48.85,2.35"),
        ("match:plugin:geo.near:http://a:80/b", "near", "http://a:80/b"),
        ("match:plugin:geo.near: a : b ", "near", " a : b "),
        ("match:plugin:geo.v2.near:x", "v2.near", "x"),
        ("match:not:plugin:geo.near:x", "near", "x"),
    ],
)
def test_name_method_and_argument_are_sent_as_they_are_written(
    source: str, method: str, expected: str | None
) -> None:
    plugins = Scripted()
    mismatch_of(source, {"lat": 1}, plugins)
    params = {"actual": {"lat": 1}, "expected": expected, "path": ""}
    assert plugins.asked == [("geo", method, params)]


@pytest.mark.parametrize(
    ("source", "code", "message"),
    [
        ("match:plugin", "F013", "takes 1 or 2 parameters, and none is given"),
        ("match:plugin:geo", "F013", "takes NAME.METHOD, not 'geo'"),
        ("match:plugin:geo:x", "F013", "takes NAME.METHOD, not 'geo'"),
        ("match:plugin:.near", "F013", "takes NAME.METHOD, not '.near'"),
        ("match:plugin:geo.:x", "F013", "takes NAME.METHOD, not 'geo.'"),
        ("match:plugin:goe.near", "F021", "finds no plugin 'goe'; did you mean 'geo'?"),
        ("match:plugin:weather.near", "F021", "finds no plugin 'weather'; there are: geo, units"),
        ("match:plugin:\x1b[1m.near", "F021", "u001b[1m'; there are: geo, units"),
    ],
)
def test_a_plugin_expectation_that_is_invalid_is_a_mistake_with_its_code(
    source: str, code: str, message: str
) -> None:
    registry = builtin_registry(plugins=lambda: Scripted(None, "geo", "units"))
    with pytest.raises(PatternError) as caught:
        parse_pattern(source, registry)
    assert caught.value.diagnostic.code == code
    assert message in caught.value.diagnostic.message


def test_an_unknown_plugin_is_reported_with_how_to_be_declared() -> None:
    with pytest.raises(PatternError) as caught:
        parse_pattern("match:plugin:units.near", builtin_registry(plugins=lambda: Scripted()))
    help = caught.value.diagnostic.help
    assert "--plugin units=COMMAND" in help
    assert "imports.subprocess_matchers" in help


def test_where_nothing_is_run_no_plugin_can_be_asked() -> None:
    with pytest.raises(PatternError) as caught:
        parse_pattern("match:plugin:geo.near", builtin_registry())
    assert "cannot be used here" in caught.value.diagnostic.message


# What is answered


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ({"pass": False, "message": "1253 km away"}, "it says: 1253 km away"),
        ({"pass": False}, "it says no"),
        ({"pass": False, "message": ""}, "it says no"),
    ],
)
def test_a_value_that_the_plugin_refuses_fails_in_its_words(
    answer: dict[str, object], why: str
) -> None:
    found = mismatch_of('match:plugin:geo.near:"5"', {}, Scripted(answer))
    assert found == f'expected what the plugin geo accepts as near for "\\"5\\""; {why}'
    found = mismatch_of("match:plugin:geo.near", {}, Scripted(answer))
    assert found == f"expected what the plugin geo accepts as near; {why}"


def test_a_long_message_and_a_long_argument_are_cut() -> None:
    answer = {"pass": False, "message": "x" * 100_000}
    found = mismatch_of("match:plugin:geo.near:" + "y" * 100_000, {}, Scripted(answer))
    assert found is not None
    assert len(found) < 1500
    assert found.count("…") == 2


NO_VERDICTS: list[object] = [
    True,
    "yes",
    [],
    {},
    {"pass": "true"},
    {"pass": 1},
    {"pass": None, "message": "x"},
    {"pass": True, "message": 5},
]


@each_case("negation", ["", "not:"])
@each_case("answer", NO_VERDICTS)
def test_anything_but_a_verdict_is_a_failure_of_the_plugin(answer: object, negation: str) -> None:
    with pytest.raises(CheckError) as caught:
        mismatch_of(f"match:{negation}plugin:geo.near", 1, Scripted(answer))
    fault = caught.value.fault
    assert fault.kind == "plugin_failed"
    assert fault.message.startswith("the plugin 'geo' answered 'near' with ")
    assert fault.message.endswith(", which is not a verdict")
    assert fault.hint == 'a verdict is {"pass": true} or {"pass": false, "message": "why"}'


@each_case("negation", ["", "not:"])
def test_a_verdict_with_an_undeclared_member_is_refused_by_its_name(negation: str) -> None:
    pattern = f"match:{negation}plugin:geo.near"
    for answer in ({"pass": True, "score": 1}, {"score": 1}, {"score": None, "pass": "yes"}):
        with pytest.raises(CheckError, match=', and a verdict has no member "score"') as caught:
            mismatch_of(pattern, 1, Scripted(answer))
        assert caught.value.fault.kind == "plugin_failed"


def test_null_is_not_a_verdict_and_what_is_shown_is_short_and_visible() -> None:
    with pytest.raises(CheckError, match="with null, which is not a verdict"):
        mismatch_of("match:plugin:geo.near", 1, Nothing())
    with pytest.raises(CheckError) as caught:
        mismatch_of("match:plugin:geo.near", 1, Scripted(["\u202e" + "x" * 9000]))
    assert "\\u202e" in caught.value.fault.message
    assert len(caught.value.fault.message) < 400


# Where the value is


@pytest.mark.parametrize(
    ("expected", "actual", "paths"),
    [
        ("match:plugin:geo.near", 1, [""]),
        ({"a": "match:plugin:geo.near"}, {"a": 1}, ["a"]),
        ({"a": [{"b c": "match:plugin:geo.near"}]}, {"a": [{"b c": 1}]}, ['a[0]["b c"]']),
        ({"match:any": [1, "match:plugin:geo.near"]}, 2, [""]),
        ({"x": {"match:any": ["match:plugin:geo.near", 5]}}, {"x": 2}, ["x"]),
        ({"x": {"match:all": ["match:plugin:geo.near", 2]}}, {"x": 2}, ["x"]),
        ({"x": {"match:arrayElements": "match:plugin:geo.near"}}, {"x": [1, 2]}, ["x[0]", "x[1]"]),
        (
            {"x": {"match:anyElement": {"y": "match:plugin:geo.near"}}},
            {"x": [{"y": 1}]},
            ["x[0].y"],
        ),
        (
            {"x": {"match:partial": {"y": "match:plugin:geo.near"}}},
            {"x": {"y": 1, "z": 2}},
            ["x.y"],
        ),
        ({"match:extractField": "a.b", "value": "match:plugin:geo.near"}, {"a": {"b": 1}}, ["a.b"]),
        ({"a": "match:plugin:geo.near", "b": 1}, {"b": 1}, []),
    ],
)
def test_the_plugin_gets_the_path_of_the_value_and_is_asked_once(
    expected: object, actual: object, paths: list[str]
) -> None:
    plugins = Scripted({"pass": True})
    compiled = compile_with(plugins, expected)
    list(compare(compiled, actual))
    assert plugins.paths == paths


def test_a_value_that_is_refused_is_asked_about_once() -> None:
    plugins = Scripted({"pass": False})
    compiled = compile_with(plugins, {"a": "match:plugin:geo.near", "b": [1, 2]})
    found = list(compare(compiled, {"a": 1, "b": [2, 1]}))
    assert [mismatch.path for mismatch in found] == ["a", "b[0]", "b[1]"]
    assert plugins.paths == ["a"]


def compile_with(plugins: Scripted, expected: object) -> object:
    compiler = Compiler(builtin_registry(plugins=lambda: plugins))
    compiled = compiler.compile(expected, None)
    assert compiler.diagnostics == []
    return compiled


# Hints


@pytest.mark.parametrize(
    ("expected", "actual", "asked"),
    [
        (["match:plugin:geo.near"], [1, 2], 1),
        ({"match:anyElement": "match:plugin:geo.near"}, [1, 2, 3], 3),
        ({"match:any": ["match:plugin:geo.near", 5]}, 4, 1),
        ({"a": "match:plugin:geo.near"}, {"a": 1, "b": {"c": 2}}, 1),
    ],
)
def test_a_plugin_is_asked_for_the_verdict_and_never_for_a_hint(
    expected: object, actual: object, asked: int
) -> None:
    plugins = Scripted({"pass": False})
    compiled = Compiler(builtin_registry(plugins=lambda: plugins)).compile(expected, None)
    assert list(compare(compiled, actual))
    assert len(plugins.asked) == asked
