"""`expect`: a match is silent, a mismatch is reported as in a run, nonsense is refused."""

from __future__ import annotations

import json
import threading
from typing import Any

import pytest

import mcptest
from mcptest.sdk.expect import BadExpectationError, Expectations, Verdict, expect, read_verdict
from mcptest.transport.process.signals import CpuLimit

ANSWER = {"content": [{"type": "text", "text": "Hello, world!"}], "isError": False}
HELLO = read_verdict(ANSWER, 1.0)
FAILED = read_verdict({**ANSWER, "isError": True}, 1.0)


def failure_of(act: Any, *words: object) -> str:
    """What an expectation that is not met says."""
    with pytest.raises(AssertionError) as caught:
        act(*words)
    assert not isinstance(caught.value, BadExpectationError)
    return str(caught.value)


def refused(act: Any, *words: object) -> str:
    with pytest.raises(BadExpectationError) as caught:
        act(*words)
    return str(caught.value)


def test_the_package_offers_it() -> None:
    assert mcptest.expect is expect


@pytest.mark.parametrize(
    ("actual", "expected"),
    [
        (HELLO, ANSWER),
        (HELLO, {"match:partial": {"content": [{"text": "match:startsWith:Hello"}]}}),
        (ANSWER, ANSWER),
        ([1, 2], [1, "match:type:number"]),
        ((1, {"a": (2,)}), [1, {"a": [2]}]),
        ([1, 2], (1, 2)),
        ("2026-11-16", "match:regex:^\\d{4}-"),
        (None, None),
        (1.5, "match:between:1:2"),
    ],
)
def test_an_expectation_that_holds_returns_its_value(actual: object, expected: object) -> None:
    expectations = expect(actual)
    assert expectations.to_match(expected) is expectations
    assert isinstance(expectations, Expectations)


def test_a_difference_is_reported_with_both_values_and_the_place() -> None:
    wanted = {**ANSWER, "content": [{"type": "text", "text": "Hello, World!"}]}
    assert failure_of(expect(HELLO).to_match, wanted).split("\n") == [
        "content[0].text: differs",
        '  expected  "Hello, World!"',
        '  actual    "Hello, world!"',
        "                    ^",
        "  hint      differs only in case",
    ]


def test_a_missing_member_is_shown_where_it_should_be() -> None:
    text = failure_of(expect(ANSWER).to_match, {**ANSWER, "structuredContent": {}})
    assert text.startswith("structuredContent: ")
    assert "\x1b" not in text


def test_server_output_cannot_control_a_terminal() -> None:
    assert "\x1b" not in failure_of(expect({"a": "\x1b[2J"}).to_match, {"a": "b"})
    hostile = Verdict(success=False, error="\x1b[2J", text="\x1b[2J")
    assert "\x1b" not in failure_of(expect(hostile).to_succeed)
    assert "\x1b" not in failure_of(expect(Verdict(success=True, text="\x1b[2J")).to_fail)


@pytest.mark.parametrize(
    ("matcher", "value"),
    [
        ({"contains": "sunny"}, "a sunny day"),
        ({"exact": 5}, 5),
        ({"gte": 5, "lt": 6}, 5.5),
        ({"type": "array", "length": 2}, [1, 2]),
        ({"regex": "^a+$"}, "aaa"),
        ({"not": {"contains": "rain"}}, "sunny"),
        ({"one-of": ["a", "b"]}, "b"),
        ({"schema": {"type": "integer"}}, 5),
        ({"partial": {"isError": False}}, ANSWER),
        ({"exists": True}, 0),
        ({"pattern": "startsWith:Hel"}, "Hello"),
    ],
)
def test_a_value_meets_the_words_of_suites(matcher: dict[str, object], value: object) -> None:
    expect(value).to_meet(matcher)


@pytest.mark.parametrize(
    ("matcher", "value", "words"),
    [
        ({"contains": "sunny"}, "rain", 'expected a string that contains "sunny"'),
        ({"gte": 5}, 4, "4"),
        ({"type": "array", "length": 2}, [1], "length"),
        ({"schema": {"type": "integer"}}, "a", "not valid"),
        ({"partial": {"isError": True}}, HELLO, "isError"),
    ],
)
def test_a_value_that_does_not_meet_them_says_why(
    matcher: dict[str, object], value: object, words: str
) -> None:
    assert words in failure_of(expect(value).to_meet, matcher)


@pytest.mark.parametrize(
    ("expected", "words"),
    [
        ("match:containz:a", 'unknown matcher "containz"; did you mean "contains"?'),
        ("match:regex:(", "regex"),
        ("match:plugin:geo.near:1", "cannot be used here"),
        ({"a": {1, 2}}, "what is expected is not a JSON value: it contains <class 'set'>"),
        ({1: 2}, "a dict with keys that are not strings"),
    ],
)
def test_a_bad_expectation_is_not_a_failure_of_the_value(expected: object, words: str) -> None:
    assert words in refused(expect("a").to_match, expected)


@pytest.mark.parametrize(
    ("matcher", "words"),
    [
        ({"containz": "a"}, 'unknown matcher "containz"; did you mean "contains"?'),
        ({}, "the matcher is empty: every value meets it"),
        ("sunny", "a matcher is a mapping"),
        ({"length": "two"}, 'the matcher "length"'),
        ({"snapshot": "a"}, "cannot be used here"),
        ({"plugin": {"name": "a", "method": "b"}}, "cannot be used here"),
    ],
)
def test_a_matcher_that_makes_no_sense_is_refused(matcher: Any, words: str) -> None:
    assert words in refused(expect("a").to_meet, matcher)


def test_all_mistakes_of_an_expectation_are_reported_at_once() -> None:
    text = refused(expect({}).to_match, {"a": "match:containz:a", "b": "match:typ:b"})
    assert "containz" in text
    assert "typ" in text


def test_a_value_that_is_not_json_is_refused() -> None:
    with pytest.raises(BadExpectationError, match="the value is not a JSON value"):
        expect(object())


def test_success_and_failure_are_asserted_of_verdicts() -> None:
    expect(HELLO).to_succeed().to_match(ANSWER)
    expect(FAILED).to_fail()
    assert failure_of(expect(FAILED).to_succeed) == "the tool reported an error: Hello, world!"
    words = "the tool was expected to report an error, and did not; it said: Hello, world!"
    assert failure_of(expect(HELLO).to_fail) == words


def test_success_is_not_asserted_of_anything_else() -> None:
    """A dict that is not checked must not pass."""
    for name in ("to_succeed", "to_fail"):
        words = f"{name}() is about what call_tool() returned, and this is another value"
        assert refused(getattr(expect(ANSWER), name)) == words


@pytest.fixture
def brief(monkeypatch: pytest.MonkeyPatch) -> None:
    """Patterns may take a tenth of a second."""
    monkeypatch.setattr("mcptest.sdk.expect._PATTERN_LIMIT", CpuLimit(0.1))


@pytest.mark.usefixtures("brief")
def test_a_pattern_that_never_ends_is_stopped() -> None:
    with pytest.raises(BadExpectationError, match="what it says of the value is not known"):
        expect("a" * 40 + "b").to_match("match:regex:^(a+)+$")


def test_patterns_can_be_used_in_any_thread() -> None:
    seen: list[str] = []

    def look() -> None:
        expect("aaa").to_match("match:regex:^a+$")
        seen.append(failure_of(expect("b").to_match, "match:regex:^a+$"))

    thread = threading.Thread(target=look)
    thread.start()
    thread.join(30)
    assert "regex" in seen[0]


@pytest.mark.usefixtures("brief")
def test_a_pattern_that_never_ends_is_stopped_in_any_thread() -> None:
    seen: list[str] = []

    def look() -> None:
        seen.append(refused(expect("a" * 60 + "b").to_match, "match:regex:^(a|aa)+$"))

    thread = threading.Thread(target=look, daemon=True)
    thread.start()
    thread.join(30)
    words = "the pattern match:regex:^(a|aa)+$ took more than 0.1 s"
    assert seen == [f"{words}; what it says of the value is not known"]


def test_a_verdict_can_be_inspected_like_any_record() -> None:
    assert json.loads(json.dumps(HELLO.raw)) == ANSWER
    assert (HELLO.text, HELLO.data, HELLO.success) == ("Hello, world!", None, True)
