"""Assertions of suites: the value at a target, against its matcher; thresholds and budgets."""

from __future__ import annotations

import json
from typing import Any

import pytest
from case_tables import each_case

from mcptest.core.plan import Assertion, Expectation
from mcptest.core.results import Mismatch
from mcptest.core.value_class import ABSENT
from mcptest.engine.judge import (
    count_tokens,
    describe_allowed_mismatches,
    has_unmet_assertion,
    is_plainly_met,
    judge,
    judge_assertions,
)
from mcptest.engine.server import Reply
from mcptest.formats.suite.expect import successful
from mcptest.matching.registry import builtin_registry
from mcptest.matching.suite_matchers import SuiteMatchers, parse_target

REGISTRY = builtin_registry()
NOTED = {"jsonrpc": "2.0", "method": "notifications/message", "params": {"data": "one"}}


def check_of(matcher: dict[str, object]) -> object:
    diagnostics: list[Any] = []
    check = SuiteMatchers(REGISTRY, diagnostics).compile(matcher, None)
    assert diagnostics == []
    return check


def assertion(
    target: str, matcher: dict[str, object], message: str = "", weight: float = 1.0
) -> Assertion:
    return Assertion(
        target=target,
        steps=parse_target(target),
        check=check_of(matcher),
        message=message,
        weight=weight,
    )


def reply(message: object = None, **more: Any) -> Reply:
    whole: dict[str, Any] = {"elapsed_s": 0.25, "stderr": " a warning\n", "notifications": (NOTED,)}
    return Reply(message={"result": {"n": 5}} if message is None else message, **(whole | more))


def judged(*assertions: Assertion, came: Reply | None = None, **more: Any) -> list[Mismatch]:
    expectation = Expectation(assertions=assertions, **more)
    return list(judge_assertions(expectation, came or reply()))


# Targets


@pytest.mark.parametrize(
    ("target", "matcher"),
    [
        ("result", {"exact": {"n": 5}}),
        ("result.n", {"gte": 5}),
        ("stderr", {"exact": "a warning"}),
        ("duration_ms", {"exact": 250}),
        ("notifications", {"length": 1}),
        ("notifications[0].params.data", {"exact": "one"}),
        ("notifications[*].method", {"exact": ["notifications/message"]}),
        ("error", {"exists": False}),
        ("result.m", {"exists": False}),
    ],
)
def test_an_assertion_that_holds_reports_nothing(target: str, matcher: dict[str, object]) -> None:
    assert judged(assertion(target, matcher)) == []


@pytest.mark.parametrize(
    ("target", "matcher", "path", "message"),
    [
        ("result.n", {"exact": 6}, "result.n", "differs"),
        ("result", {"exact": {"n": 6}}, "result.n", "differs"),
        ("result.m", {"exact": 6}, "result.m", 'is missing: no key "m"; there is "n"'),
        (
            "result.n.deep",
            {"exact": 6},
            "result.n.deep",
            'is missing: there is a number where "deep" should be',
        ),
        ("error.code", {"exact": 1}, "error.code", "is missing: the answer has no error"),
        ("stderr", {"exact": ""}, "stderr", "differs"),
        ("duration_ms", {"lt": 250}, "duration_ms", "expected a number less than 250; it is 250"),
        (
            "notifications[1]",
            {"exists": True},
            "notifications[1]",
            "is missing: no element 1 among 1",
        ),
        (
            "notifications",
            {"length": 0},
            "notifications",
            "expected a string or array of length 0; it has 1",
        ),
        (
            "notifications[*].params.data",
            {"exact": ["two"]},
            "notifications[*].params.data[0]",
            "differs",
        ),
    ],
)
def test_an_assertion_that_does_not_hold_is_reported_with_its_path(
    target: str, matcher: dict[str, object], path: str, message: str
) -> None:
    [found] = judged(assertion(target, matcher))
    assert (found.path, found.message) == (path, message)


def test_the_message_of_the_author_is_first() -> None:
    [found] = judged(assertion("result.n", {"exact": 6}, message="the count is echoed"))
    assert found.message == "the count is echoed: differs"
    [found] = judged(assertion("result.m", {"exact": 6}, message="the count is echoed"))
    assert found.message == 'the count is echoed: is missing: no key "m"; there is "n"'
    assert (found.expected, found.actual) == (6, ABSENT)


def test_every_assertion_is_checked() -> None:
    found = judged(
        assertion("result.n", {"exact": 6}),
        assertion("stderr", {"contains": "warn"}),
        assertion("error", {"exists": True}),
    )
    assert [each.path for each in found] == ["result.n", "error"]


@pytest.mark.parametrize("message", [ABSENT, [], "text", 5])
def test_an_answer_that_is_not_an_object_has_nothing_in_it(message: object) -> None:
    outcome = reply().but(message=message)
    [found] = judged(assertion("result", {"exists": True}), came=outcome)
    assert found.message == "is missing: the answer has no result"


# What is not there


@each_case(
    ("matcher", "holds"),
    [
        ({"exists": False}, True),
        ({"exists": True}, False),
        ({"not": {"exists": True}}, True),
        ({"not": {"exists": False}}, False),
        ({"not": {"not": {"exists": False}}}, True),
        ({"any": [{"exists": False}, {"exact": 1}]}, True),
        ({"any": [{"exact": 1}, {"exact": 2}]}, False),
        ({"all": [{"exists": False}, {"not": {"exists": True}}]}, True),
        ({"all": [{"exists": False}, {"exact": 1}]}, False),
        ({"exists": False, "exact": 1}, False),
        # A matcher about a value needs one, also in its negated form.
        ({"not": {"exact": 1}}, False),
        ({"not": {"contains": "x"}}, False),
        ({"not": {"all": [{"exists": False}, {"exact": 1}]}}, False),
        ({"not": {"any": [{"exists": True}, {"exact": 1}]}}, False),
        ({"not": {"all": [{"exists": True}, {"exact": 1}]}}, True),
        ({"exact": None}, False),
        ({"type": "null"}, False),
        ({"one-of": [None]}, False),
        ({"partial": {"a": 1}}, False),
        ({"pattern": "not:exists"}, True),
        ({"pattern": "not:contains:a"}, False),
    ],
)
def test_only_those_who_say_so_hold_of_what_is_not_there(
    matcher: dict[str, object], holds: bool
) -> None:
    assert (judged(assertion("result.nowhere", matcher)) == []) == holds


# Thresholds


@each_case(
    ("weights", "held", "threshold", "is_enough"),
    [
        ([1, 1], 1, 0.5, True),
        ([1, 1], 1, 0.51, False),
        ([1, 1], 1, 1.0, False),
        ([3, 1], 1, 0.75, True),
        ([3, 1], 1, 0.7500001, False),
        ([1, 3], 1, 0.75, False),
        # In floating point 0.55 of 20 is a little more than 11, and 0.7 of 0.3 less than 0.21.
        ([1] * 20, 11, 0.55, True),
        ([1] * 20, 10, 0.55, False),
        ([0.1] * 3, 2, 2 / 3, True),
        ([0.1, 0.2, 0.3], 2, 0.5, True),
        ([1e-6, 1e6], 1, 0.5, False),
        ([1, 2, 3], 3, 1.0, True),
    ],
)
def test_so_much_must_hold_by_weight_and_no_less(
    weights: list[float], held: int, threshold: float, is_enough: bool
) -> None:
    assertions = [
        assertion("result.n", {"exact": 5 if index < held else 6}, weight=weight)
        for index, weight in enumerate(weights)
    ]
    found = judged(*assertions, threshold=threshold)
    assert (found == []) == is_enough
    # Below the threshold, everything that does not hold is reported, and how much does.
    message = [mismatch for mismatch in found if mismatch.path != "threshold"]
    assert len(message) in (0, len(weights) - held)
    assert (len(found) > len(message)) == (not is_enough and threshold < 1)


def test_an_assertion_that_may_fail_is_still_reported() -> None:
    expectation = Expectation(
        assertions=(
            assertion("result.n", {"exact": 5}),
            assertion("result.n", {"exact": 6}, message="six"),
        ),
        threshold=0.5,
    )
    assert list(judge_assertions(expectation, reply())) == []
    assert list(describe_allowed_mismatches(expectation, reply())) == [
        "allowed by the threshold: result.n: six: differs"
    ]
    all_right = expectation.but(assertions=expectation.assertions[:1])
    assert list(describe_allowed_mismatches(all_right, reply())) == []


# Budgets


@pytest.mark.parametrize(
    ("body", "tokens"),
    [
        ({"result": ""}, 1),
        ({"result": "ab"}, 1),
        ({"result": "abc"}, 2),
        ({"result": {"text": "x" * 387}}, 100),
        ({"result": {"text": "x" * 388}}, 100),
        ({"result": {"text": "x" * 390}}, 101),
        ({"error": {"code": 1}}, 3),
        ({"result": "ü€😀"}, 3),
        ({"result": "\ud800"}, 2),
    ],
)
def test_tokens_are_a_quarter_of_the_bytes_of_the_result_rounded_up(
    body: dict[str, object], tokens: int
) -> None:
    size = len(
        json.dumps(next(iter(body.values())), ensure_ascii=False, separators=(",", ":")).encode(
            "utf-8", "backslashreplace"
        )
    )
    assert count_tokens({"id": "ignored", **body}) == tokens == -(-size // 4)


def test_a_budget_of_tokens_is_kept_to_the_last_and_missed_by_one_more() -> None:
    outcome = reply({"result": {"text": "x" * 388}})
    assert judged(came=outcome, max_tokens=100) == []
    assert judged(came=outcome, max_tokens=99) == [
        Mismatch(
            path="max_response_tokens",
            expected=99,
            actual=100,
            message="the answer has about 100 tokens; at most 99 are allowed",
        )
    ]


def test_a_threshold_is_about_assertions_and_no_budget_can_be_bought_with_it() -> None:
    wrong = assertion("result.n", {"exact": 6})
    found = judged(wrong, assertion("result.n", {"exact": 5}), threshold=0.5, max_tokens=1)
    assert [each.path for each in found] == ["max_response_tokens"]


# A call of which nothing is expected


@pytest.mark.parametrize(
    ("method", "message", "said"),
    [
        ("tools/call", {"result": {}}, None),
        ("tools/call", {"result": {"isError": False}}, None),
        (
            "tools/call",
            {"result": {"isError": "yes"}},
            'expected a call that succeeds; isError must be true or false and is "yes"',
        ),
        (
            "tools/call",
            {"result": {"isError": True}},
            "expected a call that succeeds; the tool reports an error",
        ),
        ("tools/call", {"result": []}, "expected a call that succeeds; it is an array"),
        ("tools/call", {"error": {"code": 1}}, "is missing: the answer has no result"),
        ("resources/read", {"result": {"isError": True}}, None),
        ("prompts/get", {"error": {}}, "is missing: the answer has no result"),
    ],
)
def test_a_call_of_which_nothing_is_expected_must_succeed(
    method: str, message: dict[str, object], said: str | None
) -> None:
    found = judged(*successful(method), came=reply(message))
    assert [(each.path, each.message, each.expected) for each in found] == (
        [("result", said, "a call that succeeds")] if said else []
    )


# Waiting, and being asked at all


def test_waiting_could_help_where_an_assertion_about_that_does_not_hold_yet() -> None:
    expectation = Expectation(
        assertions=(
            assertion("notifications", {"length": 2}),
            assertion("stderr", {"contains": "warn"}),
            assertion("result.n", {"exact": 6}),
        )
    )
    assert has_unmet_assertion(expectation, reply(), "notifications")
    assert not has_unmet_assertion(
        expectation, reply(notifications=(NOTED, NOTED)), "notifications"
    )
    assert not has_unmet_assertion(expectation, reply(), "stderr")
    assert has_unmet_assertion(expectation, reply(stderr=""), "stderr")


def test_assertions_and_budgets_are_part_of_the_judgement_of_every_step() -> None:
    expectation = Expectation(assertions=(assertion("result.n", {"exact": 6}),), max_tokens=1)
    assert not is_plainly_met(expectation, reply())
    assert [each.path for each in judge(expectation, reply())] == [
        "result.n",
        "max_response_tokens",
    ]
    assert list(judge(Expectation(max_tokens=5), reply())) == []
