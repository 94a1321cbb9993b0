"""Whatever a suite contains: no crash, and for every mistake a diagnostic with a place."""

from __future__ import annotations

import copy
import json
from typing import TYPE_CHECKING, Any

import pytest
from case_tables import each_case
from suite_reading import FILE, SERVER, case_of, context, entry, load, mistakes, refusals

from mcptest.core.diagnostics import CODES
from mcptest.core.errors import FormatError
from mcptest.formats.suite.expect import ASSERTION_KEYS, BUDGETS, EXPECT_KEYS
from mcptest.formats.suite.loader import FILE_KEYS, load_suite
from mcptest.formats.suite.servers import SERVER_KEYS
from mcptest.formats.suite.tests import DEFAULT_KEYS, ENTRY_KEYS, STEP_KEYS
from mcptest.matching.suite_matchers import EXAMPLES

if TYPE_CHECKING:
    from collections.abc import Iterator

    Path = tuple[str | int, ...]

# Every key there is, each with a value that is right.
ASSERTION = {"target": "result", "matcher": {"contains": "x"}, "message": "m", "weight": 2}
EXPECT = {
    "assertions": [ASSERTION],
    "threshold": 0.5,
    "max_duration_ms": 5,
    "max_response_tokens": 10,
}
STEP = {
    "name": "q",
    "tool": "t",
    "args": {"x": 1},
    "capture": {"c": "result.a"},
    "expect": EXPECT,
}
FULL: dict[str, Any] = {
    "name": "n",
    "description": "d",
    "$schema": "x",
    "servers": {
        "a": {
            "command": ["x", "y"],
            "env": {"A": "1", "B": {"from_env": "E", "default": "d"}},
            "inherit_env": True,
            "cwd": ".",
            "startup_timeout": "5s",
            "ready_pattern": "up",
            "timeout": 100,
            "protocol_version": "2025-06-18",
            "isolation": "run",
            "max_line_bytes": 1000,
            "client": {"roots": ["file:///x"], "sampling": "s", "elicitation": "decline"},
            "url": "http://x",
            "headers": {"A": "1", "B": {"from_env": "E", "default": "d"}},
            "auth": {"bearer_token_env": "S"},
            "ca_file": "a.pem",
            "insecure_tls": False,
            "transport": "auto",
        }
    },
    "variables": {
        "v": "1",
        "w": {"from_env": "E", "default": "d"},
        "s": {"secret_env": "S"},
    },
    "imports": {
        "suites": ["other.yaml"],
        "subprocess_matchers": {"geo": {"command": ["g"], "call_timeout": "1s"}},
    },
    "defaults": {
        "server": "a",
        "tags": ["t"],
        "timeout": "1s",
        "retries": 1,
        "setup": [STEP],
        "teardown": [{"tool": "t"}],
        "threshold": 0.5,
        "max_duration_ms": 5,
        "max_response_tokens": 9,
    },
    "tools": [
        {
            "name": "n",
            "server": "a",
            "tags": ["x"],
            "skip": "why",
            "only": False,
            "unlisted": False,
            "timeout": "1s",
            "retries": 2,
            "tool": "t",
            "args": {"x": 1},
            "capture": {"c": "result.a"},
            "expect": EXPECT,
        },
        {
            "name": "s",
            "setup": [STEP],
            "steps": [STEP, {"tool": "u", "expect": [{**ASSERTION, "matcher": {"exact": "${c}"}}]}],
            "teardown": [{"uri": "x:y"}, {"prompt": "p", "args": {"a": "b"}}],
        },
        {"name": "e", "each": [{"q": 1}, {"q": "b"}], "tool": "t", "args": {"x": "${q}"}},
        {"name": "f", "each": {"file": "rows.csv"}, "tool": "t", "args": {"x": "${q}"}},
    ],
    "resources": [{"name": "r", "uri": "x:y", "max_duration_ms": 3}],
    "prompts": [{"name": "p", "prompt": "g", "args": {"a": "b"}, "max_response_tokens": 3}],
    "agents": [
        {
            "name": "ag",
            "servers": ["a"],
            "model": "m",
            "models": ["m"],
            "system_prompt": "s",
            "prompt": "p",
            "max_turns": 3,
            "runs": 2,
            "expect": [{"target": "tool_names", "matcher": {"contains": "x"}}],
            "tags": ["t"],
        }
    ],
    "evals": [
        {
            "name": "e",
            "server": "a",
            "model": "m",
            "prompt": "p",
            "rubric": {
                "criteria": [{"name": "c", "description": "d", "weight": 1}],
                "threshold": 0.5,
            },
            "threshold": 0.5,
        }
    ],
    "compliance": {"spec_version": "2025-06-18", "tests": ["ping"], "server": "a"},
    "security": {"scan": True, "fail_on": "high"},
    "coverage": {"tools": 50, "resources": 1, "prompts": 2, "total": 3},
    "performance": {
        "p50_ms": 5,
        "p90_ms": 5,
        "p95_ms": 5,
        "p99_ms": 5,
        "mean_ms": 5,
        "max_ms": 5,
    },
    "run_options": {"parallel": 2, "isolation": "file", "retries": 1, "strict": True},
}
FILES = {"other.yaml": "variables: {z: 1}\n", "rows.csv": "q\n1\n2\n"}
ENVIRONMENT = {"S": "secret-123"}

# Every type that JSON has, and values of each that are seldom thought of.
VALUES: list[Any] = [
    None,
    True,
    False,
    0,
    -1,
    3,
    1.5,
    10**40,
    "",
    "x",
    "${",
    "${nobody}",
    "\0",
    "\ud800",
    [],
    [1],
    [[]],
    [None],
    ["x"],
    {},
    {"x": 1},
    {"": {}},
]
# Places where any value is one that may be meant.
FREE = {("variables", "v"), ("variables", "w"), ("variables", "s")}
FREE_KEYS = {"args", "contains", "exact", "env", "headers", "sampling", "q"}


def places(value: Any, path: Path = ()) -> Iterator[Path]:
    yield path
    if isinstance(value, dict):
        for key, member in value.items():
            yield from places(member, (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from places(item, (*path, index))


def value_at(path: Path) -> Any:
    value: Any = FULL
    for step in path:
        value = value[step]
    return value


def part(path: Path) -> tuple[dict[str, Any], Path]:
    """A suite with what the path leads through and little else, and the path in it."""
    key, *rest = path
    section = value_at((key,))
    if isinstance(section, list) and rest:
        section, rest = [value_at(path[:2])], [0, *rest[1:]]
    small: dict[str, Any] = {
        "servers": {"a": {"command": ["x"]}},
        "tools": [{"name": "n", "tool": "t", "server": "a"}],
        str(key): section,
    }
    return copy.deepcopy(small), (key, *rest)


def changed(path: Path, value: Any) -> Any:
    if not path:
        return value
    whole, path = part(path)
    inner: Any = whole
    for step in path[:-1]:
        inner = inner[step]
    inner[path[-1]] = value
    return whole


def kind(value: Any) -> str:
    if isinstance(value, bool) or value is None:
        return str(type(value))
    return "number" if isinstance(value, (int, float)) else str(type(value))


def read(value: Any) -> bool:
    """True if it is read without an error; every diagnostic has a code and a place."""
    try:
        suites, _ = load_suite(json.dumps(value), FILE, context(FILES, ENVIRONMENT))
    except FormatError as error:
        for each in error.diagnostics:
            assert each.code in CODES
            assert each.line >= 1
            assert each.column >= 1
            assert each.message
        return False
    # What is read is never left out: every test does something, or says why it does not.
    for case in (case for suite in suites for case in suite.cases):
        assert case.steps or case.check or case.not_run or case.skip is not None
    return True


def test_the_full_suite_has_every_key_and_nothing_wrong() -> None:
    assert read(FULL)
    assert set(FILE_KEYS) == set(FULL)
    # A server with "from" has neither a command nor a URL.
    assert set(SERVER_KEYS) - {"from"} == set(FULL["servers"]["a"])
    assert set(DEFAULT_KEYS) == set(FULL["defaults"])
    entries = {key for one in FULL["tools"] for key in one}
    budgets = set(BUDGETS)
    assert set(ENTRY_KEYS["tools"]) == entries | budgets
    assert set(STEP_KEYS) == {*STEP, "uri", "prompt", *budgets}
    assert (set(EXPECT_KEYS), set(ASSERTION_KEYS)) == (set(EXPECT), set(ASSERTION))


PLACES = sorted(places(FULL), key=str)


@pytest.mark.long
@pytest.mark.slow
@each_case("path", PLACES)
def test_every_value_at_every_place_is_read_or_refused_and_wrong_types_are_refused(
    path: Path,
) -> None:
    right = value_at(path)
    assert read(changed(path, right))
    is_free = path in FREE or FREE_KEYS & set(path)
    for value in VALUES:
        is_read = read(changed(path, value))
        # What may be a text or a list of them, a time, a reason, or a source, has two types.
        two = {"tags", "timeout", "startup_timeout", "call_timeout", "skip", "rubric", "expect"}
        two |= {"imports", "compliance", "elicitation", "roots"}
        if is_read and kind(value) != kind(right) and not is_free:
            assert path[-1] in two or path[-2:-1] == ("roots",), value


@each_case("path", PLACES)
def test_an_unknown_key_anywhere_is_refused_unless_keys_are_free_there(path: Path) -> None:
    right = value_at(path)
    if not isinstance(right, dict):
        return
    is_read = read(changed(path, {**right, "unheard_of": "x"}))
    # These are names that the author gives.
    own = path[-1:] in (("variables",), ("env",), ("args",), ("headers",))
    assert is_read == own


@pytest.mark.slow
@each_case("word", EXAMPLES)
def test_every_value_under_every_word_is_compiled_or_refused(word: str) -> None:
    for value in VALUES:
        assertion = {"target": "result", "matcher": {word: value}}
        suite = {"servers": FULL["servers"], "tools": [{**STEP, "expect": [assertion]}]}
        read(suite)
    assert word in EXAMPLES


# Text that is made to hurt


def test_an_alias_bomb_is_refused_before_it_goes_off() -> None:
    bomb = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
        f"{new}: &{new} [{', '.join(['*' + old] * 9)}]\n"
        for old, new in zip("abcdefgh", "bcdefghi", strict=True)
    )
    codes = {each.code for each in refusals(bomb + SERVER)}
    assert codes == {"F004"}


def test_nesting_without_end_is_refused() -> None:
    deep = "{not: " * 5000 + "{exact: 1}" + "}" * 5000
    text = entry(f"name: n, tool: t, expect: [{{target: result, matcher: {deep}}}]")
    assert {each.code for each in refusals(text)} == {"F004"}


def test_nesting_as_deep_as_may_be_is_read() -> None:
    deep = "{not: " * 180 + "{exact: 1}" + "}" * 180
    case = case_of(entry(f"name: n, tool: t, expect: [{{target: result, matcher: {deep}}}]"))
    assert case.steps


@pytest.mark.parametrize(
    "value", ["!!python/object:os.system {}", "!!binary aGk=", "!own x", "!!set {a}"]
)
def test_object_tags_are_refused(value: str) -> None:
    codes = {each.code for each in refusals(entry(f"name: n, tool: t, args: {{a: {value}}}"))}
    assert codes <= {"F004", "F002"}
    assert codes


@pytest.mark.long
@pytest.mark.slow
def test_a_file_with_very_many_tests_is_read_and_one_with_very_many_mistakes_as_well() -> None:
    lines = "".join(f"  - {{name: n{n}, tool: t}}\n" for n in range(5000))
    [suite], _ = load(f"{SERVER}tools:\n{lines}")
    assert (len(suite.cases), suite.cases[-1].line) == (5000, 5002)
    found = mistakes(f"{SERVER}tools:\n{lines.replace('tool: t', 'tol: t')}")
    assert [line for _, line, _, _ in found] == list(range(3, 103))


def test_names_of_any_kind_are_only_names() -> None:
    names = ["\u202e", "a\nb", "\x1b[31m", "x" * 10_000, "${nope}", "../../etc"]
    suite = {"servers": FULL["servers"], "tools": [{"name": each, "tool": "t"} for each in names]}
    [found], _ = load(json.dumps(suite))
    assert [case.name for case in found.cases] == names


def test_keys_that_are_not_strings_are_refused() -> None:
    assert refusals(f"{SERVER}tools: [{{name: n, tool: t, args: {{? [1] : 2}}}}]\n")


def test_bytes_that_are_not_yaml_text_are_refused() -> None:
    assert {each.code for each in refusals(SERVER + "tools: \x00\n")} == {"F002"}
