"""A test that says nothing of the answer fails when the answer is an error."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from format_runs import run_case, run_conductor, run_suite_entry, scripted, verdict

if TYPE_CHECKING:
    from pathlib import Path

ERROR = {"code": -32602, "message": "no such tool"}
REFUSING = scripted({"error": ERROR}, stderr="ready\n")
ANSWERING = scripted({"result": {"content": []}}, stderr="ready\n")
SAID = "the server answered with error -32602, and the test does not expect one"

CONDUCTOR: list[dict[str, Any]] = [
    {"performance": {"maxResponseTime": "20s"}},
    {"stderr": "toBeEmpty"},
    {"stderr": "match:not:contains:panic"},
    {"performance": {"maxResponseTime": "20s"}, "stderr": "toBeEmpty"},
]
SUITE: list[dict[str, Any]] = [
    {"target": "duration_ms", "matcher": {"lt": 20_000}},
    {"target": "stderr", "matcher": {"not": {"contains": "panic"}}},
    {"target": "notifications", "matcher": {"length": 0}},
    {"target": "notifications[*].method", "matcher": {"not": {"contains": "notifications/gone"}}},
]


@pytest.mark.parametrize("wished", CONDUCTOR)
def test_a_refusal_fails_a_test_file_that_expects_nothing_of_the_answer(
    tmp_path: Path, wished: dict[str, Any]
) -> None:
    assert verdict(run_conductor(tmp_path, REFUSING, wished)) == ("failed", [("error", SAID)])
    assert verdict(run_conductor(tmp_path, ANSWERING, wished)) == ("passed", [])


@pytest.mark.long
def test_a_refusal_fails_a_test_file_that_expects_only_notifications(tmp_path: Path) -> None:
    status, found = verdict(run_conductor(tmp_path, REFUSING, {"notifications": ["a"]}))
    assert (status, ("error", SAID) in found) == ("failed", True)


def test_a_refusal_passes_in_a_test_file_that_expects_it(tmp_path: Path) -> None:
    wished = {**CONDUCTOR[0], "response": {"jsonrpc": "2.0", "id": 1, "error": ERROR}}
    assert verdict(run_conductor(tmp_path, REFUSING, wished)) == ("passed", [])


@pytest.mark.parametrize("wished", SUITE)
def test_a_refusal_fails_a_suite_that_expects_nothing_of_the_answer(
    tmp_path: Path, wished: dict[str, Any]
) -> None:
    ended = run_suite_entry(tmp_path, REFUSING, expect=[wished])
    assert verdict(ended) == ("failed", [("error", SAID)])
    assert verdict(run_suite_entry(tmp_path, ANSWERING, expect=[wished])) == ("passed", [])


def test_a_refusal_passes_in_a_suite_that_expects_it(tmp_path: Path) -> None:
    code = {"target": "error.code", "matcher": {"exact": -32602}}
    ended = run_suite_entry(tmp_path, REFUSING, expect=[*SUITE, code])
    assert verdict(ended) == ("passed", [])


def test_no_threshold_excuses_it(tmp_path: Path) -> None:
    wished = {"assertions": SUITE[:2], "threshold": 0.1}
    ended = run_suite_entry(tmp_path, REFUSING, expect=wished)
    assert verdict(ended) == ("failed", [("error", SAID)])


def test_a_refusal_fails_an_entry_with_only_a_budget(tmp_path: Path) -> None:
    assert verdict(run_suite_entry(tmp_path, REFUSING, max_duration_ms=20_000))[0] == "failed"
    assert verdict(run_suite_entry(tmp_path, ANSWERING, max_duration_ms=20_000))[0] == "passed"


def test_a_refusal_fails_a_contract_that_expects_nothing_of_the_answer(tmp_path: Path) -> None:
    found = [("answer to in: error", SAID)]
    assert verdict(run_case(tmp_path, REFUSING)) == ("failed", found)
    assert verdict(run_case(tmp_path, REFUSING, _strict=True)) == ("failed", found)
    assert verdict(run_case(tmp_path, ANSWERING)) == ("passed", [])


def test_a_refusal_fails_a_contract_that_describes_another_answer(tmp_path: Path) -> None:
    ping = {"in_again": {"jsonrpc": "2.0", "id": 2, "method": "ping"}}
    out = {"jsonrpc": "2.0", "id": 2, "result": {}}
    ended = run_case(tmp_path, REFUSING, **ping, out=out)
    assert verdict(ended) == ("failed", [("answer to in: error", SAID)])


def test_a_refusal_passes_in_a_contract_that_expects_it(tmp_path: Path) -> None:
    out = {"jsonrpc": "2.0", "id": 1, "error": {"code": -32602}}
    assert verdict(run_case(tmp_path, REFUSING, out=out)) == ("passed", [])
