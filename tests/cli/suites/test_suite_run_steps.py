"""Steps, setup, teardown, captures, retries, time limits and budgets of suites, as they are run."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import pytest
from suite_runs import call, journal, mismatches, outcomes, results_of, run_suite, server, text_is

if TYPE_CHECKING:
    from pathlib import Path

    from console import Ended

    Keys = dict[str, Any]

CREATE = {
    "tool": "create",
    "args": {"text": "milk"},
    "capture": {"id": "result.structuredContent.id", "size": "result.structuredContent.size"},
}
READ = {"tool": "read", "args": {"id": "${id}"}, "expect": text_is("milk")}
DELETE = {"tool": "delete", "args": {"id": "${id}"}}


def notes_of(ended: Ended) -> list[str]:
    return [note for test in results_of(ended) for note in test["notes"]]


def events(folder: Path) -> list[str]:
    """The calls in the journal, by name alone."""
    return [line.split()[0] for line in journal(folder)[1:-1]]


def entry(**keys: Any) -> Keys:
    return {"tools": [{"name": "n", **keys}]}


# Order


def test_setup_steps_and_teardown_run_in_that_order_with_what_was_captured(tmp_path: Path) -> None:
    suite = entry(
        setup=[{"tool": "echo"}, CREATE],
        steps=[READ, READ],
        teardown=[DELETE, {"tool": "slow", "args": {"ms": 1}}],
    )
    ended = run_suite(tmp_path, suite)
    assert (ended.code, outcomes(ended)) == (0, {"n": "passed"})
    assert journal(tmp_path)[1:-1] == [
        "echo {}",
        'create {"text": "milk"}',
        'read {"id": "note-1"}',
        'read {"id": "note-1"}',
        'delete {"id": "note-1"}',
        'slow {"ms": 1}',
    ]


def test_defaults_set_up_and_tear_down_every_entry(tmp_path: Path) -> None:
    suite = {
        "defaults": {"setup": [CREATE], "teardown": [DELETE]},
        "tools": [
            {"name": "reads", **READ},
            call("adds", "add", args={"a": 1, "b": 2}),
        ],
    }
    assert run_suite(tmp_path, suite).code == 0
    assert events(tmp_path) == ["create", "read", "delete", "create", "add", "delete"]


def test_values_captured_keep_their_type_and_may_be_compared_with(tmp_path: Path) -> None:
    check = {
        "tool": "add",
        "args": {"a": "${size}", "b": 1},
        "expect": [
            {"target": "result.structuredContent.sum", "matcher": {"exact": 5}},
            {"target": "result.content[0].text", "matcher": {"not": {"contains": "${id}"}}},
        ],
    }
    assert run_suite(tmp_path, entry(steps=[CREATE, check])).code == 0
    assert journal(tmp_path)[2] == 'add {"a": 4, "b": 1}'


# Failures


def test_a_step_that_fails_ends_the_steps_and_says_which_it_was(tmp_path: Path) -> None:
    wrong = {**READ, "name": "reads it back", "expect": text_is("bread")}
    ended = run_suite(tmp_path, entry(steps=[CREATE, wrong, {"tool": "echo"}], teardown=[DELETE]))
    assert (ended.code, outcomes(ended)) == (1, {"n": "failed"})
    assert events(tmp_path) == ["create", "read", "delete"]
    assert mismatches(ended) == [("result.content[0].text", "differs")]
    assert "in step 2: reads it back" in notes_of(ended)


def test_when_setup_fails_the_steps_are_not_run_and_teardown_is(tmp_path: Path) -> None:
    suite = entry(
        setup=[{"tool": "failing"}],
        steps=[{"tool": "echo"}],
        teardown=[{"tool": "slow", "args": {"ms": 0}}],
    )
    ended = run_suite(tmp_path, suite)
    assert (ended.code, outcomes(ended)) == (1, {"n": "failed"})
    assert events(tmp_path) == ["failing", "slow"]
    assert notes_of(ended)[0] == "in setup 1: tool failing"


def test_a_teardown_that_fails_fails_a_test_that_passed(tmp_path: Path) -> None:
    ended = run_suite(tmp_path, entry(tool="echo", teardown=[{"tool": "failing"}]))
    assert (ended.code, outcomes(ended)) == (1, {"n": "failed"})
    assert notes_of(ended)[0] == "it passed, but its teardown did not"
    assert "in teardown 1: tool failing" in notes_of(ended)


def test_a_teardown_that_fails_is_a_note_where_the_test_failed_already(tmp_path: Path) -> None:
    suite = entry(tool="echo", expect=text_is("x"), teardown=[{"tool": "failing"}])
    ended = run_suite(tmp_path, suite)
    assert mismatches(ended) == [("result.content[0].text", "differs")]
    said = "its teardown did not pass either: failed at result, expected a call that succeeds; "
    assert said + "the tool reports an error" in notes_of(ended)


def test_a_teardown_that_needs_what_was_never_captured_is_not_sent(tmp_path: Path) -> None:
    failing = {"tool": "failing", "capture": {"id": "result.structuredContent.id"}}
    ended = run_suite(tmp_path, entry(steps=[failing], teardown=[DELETE]))
    assert events(tmp_path) == ["failing"]
    [note] = [each for each in notes_of(ended) if each.startswith("its teardown")]
    assert note.startswith("its teardown did not pass either: missing_capture, not sent: ")


def test_a_capture_that_finds_nothing_fails_its_step(tmp_path: Path) -> None:
    step = {"tool": "echo", "capture": {"id": "result.structuredContent.id"}}
    ended = run_suite(tmp_path, entry(steps=[step, DELETE]))
    assert mismatches(ended) == [
        (
            "result.structuredContent.id",
            "nothing to capture as 'id' at result.structuredContent.id: "
            'no key "structuredContent"',
        )
    ]
    assert events(tmp_path) == ["echo"]


def test_a_captured_value_with_which_the_next_step_makes_no_sense_is_an_error(
    tmp_path: Path,
) -> None:
    step = {"tool": "echo", "expect": [{"target": "result", "matcher": {"gt": "${id}"}}]}
    ended = run_suite(tmp_path, entry(steps=[CREATE, step]))
    assert results_of(ended)[0]["error"]["kind"] == "unusable_capture"
    assert events(tmp_path) == ["create"]


def test_a_server_that_ends_in_a_step_is_an_error_and_the_next_test_gets_a_fresh_one(
    tmp_path: Path,
) -> None:
    suite = {"tools": [{"name": "1", "steps": [{"tool": "echo"}, {"tool": "die"}]}, call("2")]}
    ended = run_suite(tmp_path, suite)
    assert (ended.code, outcomes(ended)) == (1, {"1": "error", "2": "passed"})
    assert results_of(ended)[0]["error"]["kind"] == "exited_during_call"
    assert journal(tmp_path).count("starts") == 2


def test_a_call_that_is_refused_fails_with_the_message_of_the_server(tmp_path: Path) -> None:
    ended = run_suite(tmp_path, entry(tool="refuse"))
    assert mismatches(ended) == [("result", "is missing: the answer has no result")]
    said = 'the server answered with an error: code -32602, "I would rather not"'
    assert said in notes_of(ended)


def test_an_error_may_be_expected(tmp_path: Path) -> None:
    expect = [
        {"target": "error.code", "matcher": {"exact": -32602}},
        {"target": "result", "matcher": {"exists": False}},
    ]
    assert run_suite(tmp_path, entry(tool="refuse", expect=expect)).code == 0


# Retries and time limits


def test_a_test_is_tried_again_as_a_whole(tmp_path: Path) -> None:
    suite = entry(
        retries=2,
        setup=[CREATE],
        steps=[{"tool": "flaky", "args": {"until": 2}, "expect": text_is("ok")}],
        teardown=[DELETE],
    )
    ended = run_suite(tmp_path, suite)
    assert (ended.code, results_of(ended)[0]["attempts"]) == (0, 2)
    assert events(tmp_path) == ["create", "flaky", "delete"] * 2
    assert "attempt 1: failed at result.content[0].text, differs" in notes_of(ended)


@pytest.mark.parametrize(
    ("options", "words", "code"),
    [
        ({"run_options": {"retries": 2}}, (), 0),
        ({"defaults": {"retries": 2}}, (), 0),
        ({}, ("--retries", "2"), 0),
        ({"run_options": {"retries": 0}}, ("--retries", "2"), 1),
        ({}, (), 1),
    ],
)
def test_how_often_a_test_is_tried_may_be_said_for_all(
    options: Keys, words: tuple[str, ...], code: int, tmp_path: Path
) -> None:
    suite = entry(tool="flaky", args={"until": 3}, expect=text_is("ok"))
    assert run_suite(tmp_path, {**suite, **options}, *words).code == code


@pytest.mark.long
@pytest.mark.parametrize(
    "keys",
    [
        {"tools": [call("n", "hang", timeout="200ms"), call("after")]},
        {"defaults": {"timeout": 200}, "tools": [call("n", "hang"), call("after", timeout="20s")]},
        {"servers": {"a": server(timeout="200ms")}, "tools": [call("n", "hang")]},
    ],
)
def test_a_call_that_takes_too_long_is_an_error(keys: Keys, tmp_path: Path) -> None:
    ended = run_suite(tmp_path, keys, "-k", "n")
    assert (ended.code, outcomes(ended)) == (1, {"n": "error"})
    assert results_of(ended)[0]["error"]["kind"] == "timeout"


# Budgets and thresholds


def test_a_call_within_its_budgets_passes_and_one_beyond_fails(tmp_path: Path) -> None:
    # With five letters the result is 60 bytes long, which are 15 tokens; the sixth is too many.
    budgets = {"max_duration_ms": 20_000, "max_response_tokens": 15}
    tests = [
        call("beside", args={"text": "xxxxx"}, **budgets),
        call("below", args={"text": "xxxx"}, expect=budgets),
        call("more", args={"text": "xxxxxx"}, max_response_tokens=15),
        call("slow", "slow", args={"ms": 30}, max_duration_ms=5),
    ]
    ended = run_suite(tmp_path, {"tools": tests})
    assert outcomes(ended) == {
        "beside": "passed",
        "below": "passed",
        "more": "failed",
        "slow": "failed",
    }
    tokens, time = mismatches(ended)
    said = "the answer has about 16 tokens; at most 15 are allowed"
    assert tokens == ("max_response_tokens", said)
    assert time[1].endswith("; at most 5 ms are allowed")


def test_budgets_alone_do_not_make_an_error_a_success(tmp_path: Path) -> None:
    ended = run_suite(tmp_path, entry(tool="failing", expect={"max_duration_ms": 20_000}))
    assert outcomes(ended) == {"n": "failed"}


def test_a_threshold_lets_some_assertions_fail_and_says_which(tmp_path: Path) -> None:
    heavy = {"target": "result.isError", "matcher": {"exact": False}, "weight": 3}
    light = {"target": "result.content[0].text", "matcher": {"exact": "x"}, "message": "echoed"}

    def test(name: str, threshold: float) -> Keys:
        expect = {"threshold": threshold, "assertions": [heavy, light]}
        return call(name, args={"text": "y"}, expect=expect)

    ended = run_suite(tmp_path, {"tools": [test("enough", 0.75), test("too little", 0.76)]})
    assert outcomes(ended) == {"enough": "passed", "too little": "failed"}
    first, second = results_of(ended)
    said = "allowed by the threshold: result.content[0].text: echoed: differs"
    assert first["notes"] == [said]
    assert second["mismatches"][0]["message"] == "echoed: differs"


# What a server says beside its answers


def test_notifications_and_stderr_may_be_asserted_and_are_waited_for(tmp_path: Path) -> None:
    tests = [
        call(
            "notifies",
            "notify",
            args={"words": ["one", "two"]},
            expect=[
                {"target": "notifications[*].params.data", "matcher": {"exact": ["one", "two"]}},
                {"target": "notifications[0].method", "matcher": {"ends-with": "/message"}},
            ],
        ),
        call("is quiet", expect=[{"target": "notifications", "matcher": {"length": 0}}]),
        call(
            "shouts",
            "shout",
            args={"words": "mind the gap"},
            expect=[{"target": "stderr", "matcher": {"exact": "mind the gap"}}],
        ),
        call("whispers", expect=[{"target": "stderr", "matcher": {"exact": ""}}]),
        call("is timed", expect=[{"target": "duration_ms", "matcher": {"between": [0, 20000]}}]),
    ]
    ended = run_suite(tmp_path, {"tools": tests})
    assert set(outcomes(ended).values()) == {"passed"}, mismatches(ended)


LATE_SERVER = """
import json, sys, time
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    result = {"content": [{"type": "text", "text": "hi"}]}
    if message["method"] == "initialize":
        version = message["params"]["protocolVersion"]
        result = {"protocolVersion": version, "capabilities": {"tools": {}, "logging": {}}}
        result["serverInfo"] = {"name": "late", "version": "1"}
    elif message["method"] == "tools/list":
        result = {"tools": [{"name": "t", "inputSchema": {"type": "object"}}]}
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
    if message["method"] == "tools/call":
        time.sleep(0.2)
        note = {"method": "notifications/message", "params": {"level": "info", "data": "late"}}
        print(json.dumps({"jsonrpc": "2.0", **note}), flush=True)
"""


def test_notifications_are_waited_for_beside_a_schema(tmp_path: Path) -> None:
    (tmp_path / "late.py").write_text(LATE_SERVER, encoding="utf-8")
    (tmp_path / "object.json").write_text('{"type": "object"}', encoding="utf-8")
    expect = [
        {"target": "result", "matcher": {"pattern": "match:jsonSchema:object.json"}},
        {"target": "notifications[*].params.data", "matcher": {"contains": "late"}},
    ]
    suite = {
        "servers": {"late": {"command": [sys.executable, "late.py"], "cwd": "."}},
        "tools": [call("n", "t", expect=expect)],
    }
    ended = run_suite(tmp_path, suite)
    assert outcomes(ended) == {"n": "passed"}, mismatches(ended)


@pytest.mark.long
def test_a_notification_that_never_arrives_fails_in_the_end(tmp_path: Path) -> None:
    expect = [{"target": "notifications[0].params.data", "matcher": {"exact": "one"}}]
    ended = run_suite(tmp_path, {"tools": [call("n", expect=expect)]})
    assert mismatches(ended) == [
        ("notifications[0].params.data", "is missing: no element 0 among 0")
    ]
