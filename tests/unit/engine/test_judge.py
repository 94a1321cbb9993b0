"""The outcome of a step, judged against its expectation."""

from __future__ import annotations

import pytest

from mcptest.core.plan import Assertion, Expectation, Performance
from mcptest.core.results import Mismatch
from mcptest.core.value_class import ABSENT
from mcptest.engine.judge import can_more_stderr_help, is_plainly_met, judge, quote_server_errors
from mcptest.engine.server import Reply
from mcptest.matching.patterns import parse_pattern
from mcptest.matching.registry import builtin_registry

REGISTRY = builtin_registry()


def wanted(stderr: str) -> Expectation:
    is_pattern = stderr.startswith("match:")
    return Expectation(stderr=parse_pattern(stderr, REGISTRY) if is_pattern else stderr)


def reply(
    message: object = ABSENT, stderr: str = "", elapsed_s: float = 0.1, exit_code: int | None = None
) -> Reply:
    return Reply(message=message, stderr=stderr, elapsed_s=elapsed_s, exit_code=exit_code)


def judged(expectation: Expectation, outcome: Reply) -> list[Mismatch]:
    return list(judge(expectation, outcome))


def test_nothing_is_wrong_when_nothing_was_asked_for() -> None:
    outcome = reply({"id": 1}, stderr="noise", elapsed_s=99.0, exit_code=1)
    assert judged(Expectation(), outcome) == []


def test_every_expectation_is_checked_even_when_the_first_failed() -> None:
    expectation = Expectation(
        response={"id": 1},
        stderr="",
        exit_code=0,
        performance=Performance(max_response_s=0.05, min_response_s=0.2),
    )
    outcome = reply({"id": 2}, stderr=" oops\n", elapsed_s=0.1, exit_code=3)
    assert judged(expectation, outcome) == [
        Mismatch(path="id", expected=1, actual=2, message="differs"),
        Mismatch(path="stderr", expected="", actual="oops", message="expected nothing on stderr"),
        Mismatch(path="exitCode", expected=0, actual=3, message="differs"),
        Mismatch(
            path="performance.maxResponseTime",
            expected=50.0,
            actual=100.0,
            message="the answer took 100 ms; at most 50 ms are allowed",
        ),
        Mismatch(
            path="performance.minResponseTime",
            expected=200.0,
            actual=100.0,
            message="the answer took 100 ms; at least 200 ms are wanted",
        ),
    ]


def test_an_expectation_that_holds_reports_nothing() -> None:
    expectation = Expectation(
        response={"id": 1},
        stderr="ready",
        exit_code=3,
        performance=Performance(max_response_s=0.1, min_response_s=0.1),
    )
    assert judged(expectation, reply({"id": 1}, "\nready \n", 0.1, 3)) == []


def test_a_server_that_did_not_exit_has_no_exit_code() -> None:
    assert judged(Expectation(exit_code=0), reply()) == [
        Mismatch(
            path="exitCode",
            expected=0,
            actual=ABSENT,
            message="the server was still running when the time was up",
        )
    ]


@pytest.mark.parametrize(
    ("stderr", "outcome", "passes"),
    [
        ("", "", True),
        ("", " \n", True),
        ("", "x", False),
        ("two\nlines", "two\nlines\n", True),
        ("two lines", "two\nlines\n", False),
        ("match:contains:b", "abc\n", True),
        ("match:contains:x", "abc\n", False),
        ("match:endsWith:done", "all done\n", True),
        ("match:not:endsWith:done", "all done\n", False),
        ("match:length:4", "\ndone\n", True),
        ("match:not:contains:error", "", True),
    ],
)
def test_stderr_is_compared_without_the_space_around_it(
    stderr: str, outcome: str, passes: bool
) -> None:
    assert (judged(wanted(stderr), reply(stderr=outcome)) == []) is passes


@pytest.mark.parametrize(
    ("stderr", "outcome", "may"),
    [
        ("", "", False),
        ("", "oops", False),
        ("ready", "", True),
        ("ready", "rea", True),
        ("ready", "\n rea", True),
        ("ready", "ready\n", False),
        ("ready", "steady", False),
        ("match:contains:b", "a", True),
        ("match:contains:b", "ab", False),
        ("match:not:contains:b", "b", False),
        ("match:not:contains:b", "", False),
    ],
)
def test_waiting_helps_only_where_it_could_turn_a_failure_into_a_pass(
    stderr: str, outcome: str, may: bool
) -> None:
    assert can_more_stderr_help(wanted(stderr), outcome) is may


def test_nothing_is_waited_for_when_stderr_does_not_matter() -> None:
    assert not can_more_stderr_help(Expectation(response={}), "")


DIFFERS = (Mismatch(path="result", expected={}, actual=ABSENT, message="is missing"),)


@pytest.mark.parametrize(
    ("message", "words"),
    [
        (
            {"error": {"code": -32601, "message": "no such method"}},
            ['the server answered with an error: code -32601, "no such method"'],
        ),
        (
            {"result": {"isError": True, "content": [{"type": "text", "text": "broken"}, 1]}},
            ['the tool reported an error: "broken"'],
        ),
        ({"result": {"isError": False, "content": [{"text": "fine"}]}}, []),
        ({"result": {}}, []),
        ([], []),
    ],
)
def test_the_error_message_of_the_server_is_included(message: object, words: list[str]) -> None:
    assert list(quote_server_errors(message, DIFFERS)) == words
    assert list(quote_server_errors(message, ())) == []


def test_details_shown_by_a_mismatch_are_not_repeated() -> None:
    shown = Mismatch(path="error.code", expected=1, actual=2, message="differs")
    assert list(quote_server_errors({"error": {"code": 2, "message": "m"}}, (shown,))) == []
    text = Mismatch(path="result.content[0].text", expected="a", actual="b", message="differs")
    answer = {"result": {"isError": True, "content": [{"text": "b"}]}}
    assert list(quote_server_errors(answer, (text,))) == []


PLAIN = Expectation(response={"id": 1, "ok": True}, stderr="")


@pytest.mark.parametrize(
    ("expectation", "outcome", "is_plain"),
    [
        (PLAIN, reply({"id": 1, "ok": True}), True),
        (PLAIN.but(stderr=ABSENT), reply({"id": 1, "ok": True}, stderr="noise"), True),
        (PLAIN, reply({"id": 1, "ok": 1}), False),
        (PLAIN, reply({"id": 1, "ok": True}, stderr="noise"), False),
        (PLAIN, reply({"id": 1, "ok": True}, stderr="\n"), False),
        (PLAIN.but(stderr="log"), reply({"id": 1, "ok": True}, stderr="log"), False),
        (PLAIN.but(exit_code=0), reply({"id": 1, "ok": True}, exit_code=1), False),
        (PLAIN.but(notifications=("x",)), reply({"id": 1, "ok": True}), False),
        (
            PLAIN.but(performance=Performance(max_response_s=0.01)),
            reply({"id": 1, "ok": True}),
            False,
        ),
        (Expectation(stderr=""), reply({"id": 1}), False),
    ],
)
def test_an_exact_match_needs_no_full_comparison(
    expectation: Expectation, outcome: Reply, is_plain: bool
) -> None:
    assert is_plainly_met(expectation, outcome) is is_plain
    assert not (is_plain and judged(expectation, outcome))


# For each field that a reply can fail to meet, a value that it does not meet.
UNMET = {
    "response": {"id": 2},
    "stderr": "ready",
    "exit_code": 0,
    "performance": Performance(max_response_s=0.01),
    "notifications": ("x",),
    "assertions": (Assertion(target="result.n", steps=("result", "n"), check=5),),
    "max_tokens": 1,
}
# The fields that say how the others are judged.
MODES = {
    *("has_regex", "has_foreign_check", "has_remote_check", "may_check_nothing"),
    *("leniency", "threshold"),
}


def test_the_quick_path_ignores_no_field_of_an_expectation() -> None:
    assert {name for name, _ in PLAIN.fields()} == UNMET.keys() | MODES
    answer = {"id": 1, "result": {"n": 6}}
    plain, outcome = Expectation(response=answer), reply(answer)
    assert is_plainly_met(plain, outcome)
    for name, value in UNMET.items():
        expectation = plain.but(**{name: value})
        assert judged(expectation, outcome), name
        assert not is_plainly_met(expectation, outcome), name
