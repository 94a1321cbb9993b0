"""What a test means does not depend on the tests beside it, alike or not."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest
from case_tables import each_case

from mcptest.core.errors import FormatError
from mcptest.core.plan import Case
from mcptest.formats.conductor import load_conductor
from mcptest.formats.yaml import quick as quick_reader
from mcptest.formats.yaml.full import read_fully
from mcptest.matching.registry import builtin_registry

if TYPE_CHECKING:
    from mcptest.core.diagnostics import Diagnostic

REGISTRY = builtin_registry()
HEAD = "description: d\ntests:\n"
TEST = """\
  - it: "case {n}"
    request:
      jsonrpc: "2.0"
      id: "t-{n}"
      method: "tools/call"
      params:
        name: "echo"
        arguments:
          text: "hello {n}"
    expect:
      response:
        jsonrpc: "2.0"
        id: "t-{n}"
        result:
          content:
            - type: "text"
              text: "hello {n}"
          isError: false
      stderr: "toBeEmpty"
"""
# Replacements for a test: the same number of lines or not, valid or invalid.
OTHERS = [
    ('it: "case', "it: 7 #"),
    ('jsonrpc: "2.0"', "jsonrpc: 2.0"),
    ('id: "t-', 'id: "u-'),
    ('        id: "t-', '        id: "match:regex:t-'),
    ('        id: "t-', '        id: "u-'),
    ('text: "hello', 'text: "match:contains:hello'),
    ('text: "hello', 'text: "match:not:contains:bye'),
    ('text: "hello', 'text: "contains:hello'),
    ('text: "hello', 'text: "match:nothing:hello'),
    ('text: "hello', 'text: "a: b'),
    ('text: "hello', 'text: "\\u006datch:contains:x'),
    ('text: "hello', "text: {} # "),
    ("content:", '"match:arrayElements":'),
    ("content:", "arrayElements:"),
    ("content:", "a:b:"),
    ("content:", "stderr:"),
    ("          isError: false", "          isError:"),
    ("          isError: false", '          isError: "match:type:boolean"'),
    ("      response:", "      respnse:"),
    ("      response:\n", "      response:\n        exitCode: 1\n"),
    ('      stderr: "toBeEmpty"', '    stderr: "toBeEmpty"'),
    ('      stderr: "toBeEmpty"', '      stderr: "toBeEmty"'),
    ('      stderr: "toBeEmpty"', '      stderr: "match:regex:x"'),
    ('      stderr: "toBeEmpty"', "      exitCode: 3"),
    ('      stderr: "toBeEmpty"', "      stderr:"),
    ('      stderr: "toBeEmpty"', '      performance: {maxResponseTime: "1s"}'),
    ('      stderr: "toBeEmpty"', '      notifications: ["a/b"]'),
    ('      stderr: "toBeEmpty"', '    tags: ["x"]'),
    ("    request:\n", "    tool: echo\n    request:\n"),
    ("    request:\n", "    retries: 2\n    request:\n"),
]


def described(diagnostic: Diagnostic, first_line: int) -> object:
    return diagnostic.but(line=diagnostic.line - first_line)


def loaded(tests: list[str], firsts: list[int]) -> tuple[list[Case], list[object]]:
    """The cases and diagnostics of a file, with lines counted from where their test begins."""
    try:
        suite, found = load_conductor(HEAD + "".join(tests), "f", REGISTRY, {})
        cases = list(suite.cases)
    except FormatError as error:
        cases, found = [], tuple(error.diagnostics)

    def first_of(line: int) -> int:
        return max(first for first in firsts if first <= line)

    return (
        [case.but(line=case.line - first_of(case.line)) for case in cases],
        [described(each, first_of(each.line)) for each in found],
    )


def assert_same_alone_and_together(tests: list[str]) -> None:
    firsts, line = [], 3
    for test in tests:
        firsts.append(line)
        line += test.count("\n")
    cases, found = loaded(tests, firsts)
    alone = [loaded([test], [3]) for test in tests]
    assert found == [each for _, diagnostics in alone for each in diagnostics]
    if all(one for one, _ in alone):
        assert cases == [case for one, _ in alone for case in one]
    else:
        assert cases == []


def test_many_tests_of_one_shape_mean_what_each_means_alone() -> None:
    assert_same_alone_and_together([TEST.format(n=n) for n in range(300)])


@pytest.mark.slow
@each_case("other", OTHERS)
def test_a_different_test_changes_nothing_about_the_others(other: tuple[str, str]) -> None:
    usual, unusual = other
    assert usual in TEST
    for at in (1, 12):
        tests = [TEST.format(n=n) for n in range(20)]
        tests[at] = tests[at].replace(usual, unusual)
        assert_same_alone_and_together(tests)
    assert_same_alone_and_together([TEST.format(n=n).replace(*other) for n in range(12)])


@pytest.mark.slow
@each_case("seed", range(20))
def test_tests_of_many_shapes_mean_what_each_means_alone(seed: int) -> None:
    chance = random.Random(seed)
    tests = []
    for n in range(60):
        test = TEST.format(n=n)
        tests.append(test.replace(*chance.choice(OTHERS)) if chance.random() < 0.1 else test)
    assert_same_alone_and_together(tests)


def test_the_full_reader_returns_the_same_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    text = HEAD + "".join(TEST.format(n=n) for n in range(40))
    quick = load_conductor(text, "f", REGISTRY, {})
    with monkeypatch.context() as patch:
        patch.setattr("mcptest.formats.yaml.read_quickly", lambda text: read_fully(text, "f"))
        assert load_conductor(text, "f", REGISTRY, {}) == quick
    monkeypatch.setattr(quick_reader, "_MIN_ITEMS", 10**6)
    assert load_conductor(text, "f", REGISTRY, {}) == quick
