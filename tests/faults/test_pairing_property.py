"""A test passes only if the server answered it: its id, after its request, as expected.

See `pairing` for who decides what may pass.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import hypothesis
import pytest
from hypothesis import strategies as st
from pairing import (
    ERROR,
    LONG_S,
    PAUSE,
    SHORT_S,
    Case,
    Scenario,
    explain,
    may_pass,
    passed_in,
    random_scenario,
    run,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

# The same examples each time: a run that fails must fail again.
STABLE = hypothesis.settings(
    derandomize=True,
    database=None,
    deadline=None,
    report_multiple_bugs=False,
    # A scenario is small as it is, and to try smaller ones takes minutes.
    phases=(hypothesis.Phase.explicit, hypothesis.Phase.generate),
    suppress_health_check=list(hypothesis.HealthCheck),
)
HOSTILE = hypothesis.settings(STABLE, max_examples=25)
KIND = hypothesis.settings(STABLE, max_examples=8)


def assert_sound(folder: Path, scenario: Scenario) -> None:
    """Nothing passed that the server did not answer."""
    report, log = run(folder, scenario, SHORT_S)
    wrongly = passed_in(report) - may_pass(scenario, log, SHORT_S)
    assert not wrongly, f"{sorted(wrongly)} passed\n{explain(scenario, report, log)}"


def chooser(data: st.DataObject) -> Any:
    return lambda options: data.draw(st.sampled_from(list(options)))


@pytest.mark.long
@HOSTILE
@hypothesis.given(st.data())
def test_whatever_a_server_does_only_its_answers_pass(data: st.DataObject) -> None:
    scenario = random_scenario(chooser(data), is_hostile=True)
    with tempfile.TemporaryDirectory() as folder:
        assert_sound(Path(folder), scenario)


@KIND
@hypothesis.given(st.data())
def test_every_test_passes_against_a_server_that_behaves(data: st.DataObject) -> None:
    scenario = random_scenario(chooser(data), is_hostile=False)
    with tempfile.TemporaryDirectory() as folder:
        report, log = run(Path(folder), scenario, LONG_S)
    names = {test.tag for test in scenario.tests}
    assert may_pass(scenario, log, SHORT_S) == names, explain(scenario, report, log)
    assert passed_in(report) == names, explain(scenario, report, log)


# Those that are worth a name


def made(*calls: Sequence[dict[str, Any]], ids: Sequence[object], **keys: Any) -> tuple[Case, ...]:
    """Tests of one file, with one list of what to write for each."""
    file, expects = keys.get("file", "a.test.mcp.yml"), keys.get("expects", "partial")
    return tuple(
        Case(f"t{at}", file, id, keys.get("nonce") or f"t{at}", expects, {"write": list(ops)})
        for at, (ops, id) in enumerate(zip(calls, ids, strict=True))
    )


def result(text: str, id: object = "wire", **more: Any) -> dict[str, Any]:
    return {"id": id, "result": {"content": [{"type": "text", "text": text}]}, **more}


FILES = ("a.test.mcp.yml", "c.cases.yaml")
NAMED: dict[str, tuple[list[list[dict[str, Any]]], list[object], str]] = {
    "twice, and then nothing": ([[result("same"), result("same")], []], [1, 1], "partial"),
    "twice, with a pause": ([[result("same"), PAUSE, result("same")], []], [1, 1], "partial"),
    "twice, of the time": ([[result("same"), PAUSE, result("same")], []], [1, 1], "time"),
    "early, and then nothing": ([[result("t1", [1]), result("t0")], []], [1, 1], "partial"),
    "early for another id": ([[result("t1", [2]), result("t0")], []], [1, 2], "partial"),
    "early after the answer": ([[result("t0"), result("t1", [2])], []], [1, 2], "partial"),
    "early, and never right": ([[result("t1", [2])], []], [1, 2], "partial"),
    "early with a guessed id": ([[result("same", "next"), result("same")], []], [1, 1], "partial"),
    "late for the same id": ([[result("same", hold=True)], []], [1, 1], "partial"),
    "the answer of the last one": ([[result("same")], [result("same", "last")]], [1, 1], "partial"),
    "the same id as text": ([[result("t0", ["1"])]], [1], "partial"),
    "an error without an id": ([[{"id": [None], "error": ERROR}]], [1], "error"),
    "an echo": ([[{"echo": True}]], [1], "any"),
    "an echo, of the time": ([[{"echo": True}]], [1], "time"),
}


@pytest.mark.parametrize("file", FILES)
@pytest.mark.parametrize("name", NAMED)
def test_wrong_servers_fail(tmp_path: Path, name: str, file: str) -> None:
    calls, ids, expects = NAMED[name]
    if file.endswith(".yaml") and expects in ("any", "time"):
        expects = "partial"
    nonce = "same" if "same" in str(calls) else ""
    assert_sound(tmp_path, Scenario(made(*calls, ids=ids, expects=expects, nonce=nonce, file=file)))


def test_output_before_the_first_read_request_answers_nothing(tmp_path: Path) -> None:
    tests = made([], ids=[1])
    start = ({"jsonrpc": "2.0", "id": 1, **tests[0].right},)
    assert_sound(tmp_path, Scenario(tests, start))


def test_a_peer_that_only_echoes_passes_nothing(tmp_path: Path) -> None:
    tests = made([], [], [], ids=[1, "a", 1], expects="any")
    report, _ = run(tmp_path, Scenario(tests), SHORT_S, server=("cat",))
    assert passed_in(report) == set()


@pytest.mark.parametrize("file", FILES)
def test_an_answer_counts_when_the_server_ends_right_after_it(tmp_path: Path, file: str) -> None:
    tests = made([result("t0")], [result("t1")], ids=[1, 2], file=file)
    tests = (tests[0]._replace(call={**tests[0].call, "exit": True}), tests[1])
    scenario = Scenario(tests)
    report, log = run(tmp_path, scenario, LONG_S)
    assert "t0" in passed_in(report) & may_pass(scenario, log, SHORT_S), explain(
        scenario, report, log
    )
