"""Suites against servers that list, answer and wait in odd ways, and runs that are interrupted."""

from __future__ import annotations

import signal
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from console import mcptest, write_suite
from plugin_runs import running
from suite_runs import mismatches, results_of, run_suite, text_is, write

if TYPE_CHECKING:
    from connect_back import Listener
    from console import Ended

RESTLESS = Path(__file__).parents[2] / "servers" / "restless_server.py"


def command(mode: str) -> list[str]:
    return [sys.executable, "-S", "-E", str(RESTLESS), mode]


def restless(mode: str, *tools: dict[str, Any], **keys: Any) -> dict[str, Any]:
    """A suite whose server behaves like this."""
    return {"servers": {"s": {"command": command(mode)}}, "tools": list(tools), **keys}


def add(name: str = "adds") -> dict[str, Any]:
    """A test that looks at nothing; what the tool says is wrong by its own schema."""
    expect = [{"target": "result", "matcher": {"type": "object"}}]
    return {"name": name, "tool": "add", "expect": expect}


def findings(ended: Ended) -> list[tuple[str, str, int]]:
    found = ended.report()["findings"]
    return [(each["kind"], each["server"], each["count"]) for each in found]


# Lists


def test_outputs_that_could_not_be_checked_are_reported(tmp_path: Path) -> None:
    ended = run_suite(tmp_path, restless("list-error", add(), add("adds more")))
    assert (ended.code, findings(ended)) == (0, [("unchecked_output", "s", 2)])
    said = ended.report()["findings"][0]["message"]
    assert said.startswith("answers of tools are not held against their outputSchema: ")
    assert "tools/list" in said
    assert '"not today"' in said


def test_in_a_strict_run_outputs_that_could_not_be_checked_are_a_failure(tmp_path: Path) -> None:
    ended = run_suite(tmp_path, restless("list-error", add()), "--strict-invariants")
    assert (ended.code, ended.report()["broken_rules"]) == (1, ["unchecked_output"])


def test_without_a_call_nothing_is_left_unchecked(tmp_path: Path) -> None:
    note = {"name": "notes", "tool": "note", "args": {"text": "a"}}
    ended = run_suite(tmp_path, restless("list-twice", note), "--strict-invariants", "--json")
    assert [each[0] for each in findings(ended)] == ["listed_twice"]
    ended = run_suite(tmp_path, restless("plain", note), "--strict-invariants")
    assert (ended.code, findings(ended)) == (0, [])


@pytest.mark.parametrize("mode", ["plain", "list-twice", "list-changed"])
def test_an_output_is_checked_however_often_its_tool_is_listed(mode: str, tmp_path: Path) -> None:
    ended = run_suite(tmp_path, restless(mode, add()))
    assert ended.code == 1
    assert [path for path, _ in mismatches(ended)] == ["result.structuredContent"]


# Retries


def again(**keys: Any) -> dict[str, Any]:
    return {"name": "again", "tool": "again", "expect": text_is("right"), **keys}


def test_a_second_answer_to_one_try_is_not_mistaken_for_the_next(tmp_path: Path) -> None:
    ended = run_suite(tmp_path, restless("plain", again(retries=2)))
    assert (ended.code, results_of(ended)[0]["attempts"]) == (1, 3)
    assert findings(ended) == [("duplicate_response", "s", 2)]
    quote = ended.report()["findings"][0]["quote"]
    assert '"id":"mcptest.yaml#tools-1","result"' in quote


@pytest.mark.parametrize(
    ("id", "kinds"), [(1, ["duplicate_response"]), (1.5, ["protocol_violation"])]
)
def test_so_it_is_with_the_ids_of_a_test_file(id: object, kinds: list[str], tmp_path: Path) -> None:
    params = {"name": "again", "arguments": {}}
    right = {"content": [{"type": "text", "text": "right"}]}
    test = {
        "it": "again",
        "request": {"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params},
        "expect": {"response": {"jsonrpc": "2.0", "id": id, "result": right}},
    }
    write_suite(tmp_path / "a.test.mcp.yml", test)
    words = ("--json", "--retries", "1", "--", *command("plain"))
    ended = mcptest(tmp_path, "run", "a.test.mcp.yml", *words)
    assert ended.code == 1
    # The id does not matter: only the text differs.
    assert [path for path, _ in mismatches(ended)] == ["result.content[0].text"]
    assert [kind for kind, _, _ in findings(ended) if not kind.startswith("BASE")] == kinds


# Interrupts


def waiting(mode: str, *teardown: dict[str, Any]) -> dict[str, Any]:
    wait: dict[str, Any] = {"name": "waits", "tool": "wait"}
    if teardown:
        wait["teardown"] = list(teardown)
    return restless(mode, wait, {"name": "never", "tool": "note", "args": {"text": "never"}})


NOTE = {"tool": "note", "args": {"text": "torn down"}}
OTHER = {"tool": "note", "args": {"text": "twice"}}


def interrupted(folder: Path, listener: Listener, times: int = 1) -> dict[str, Any]:
    """The report of a run that is interrupted, so often, while its first call waits."""
    with running(folder, **listener.environment) as run:
        # Each time the server is asked to wait it calls.
        for _ in range(times):
            listener.next_caller()
            # The same signal at once would be merged with the one before.
            time.sleep(0.15)
            run.signal(signal.SIGINT)
        ended = run.finish()
    assert ended.code == 130
    return ended.report()


def notes(folder: Path) -> list[str]:
    path = folder / "notes.txt"
    return path.read_text(encoding="utf-8").splitlines() if path.exists() else []


def test_an_interrupted_test_is_torn_down(tmp_path: Path, listener: Listener) -> None:
    write(tmp_path, waiting("hang", NOTE, OTHER))
    report = interrupted(tmp_path, listener)
    assert (report["interrupted"], report["interrupted_in"]) == (True, "waits")
    assert notes(tmp_path) == ["torn down", "twice"]
    assert report["findings"] == []


def test_a_call_that_was_cancelled_by_an_interrupt_may_be_answered_late(
    tmp_path: Path, listener: Listener
) -> None:
    write(tmp_path, waiting("answer-late", NOTE))
    report = interrupted(tmp_path, listener)
    assert (notes(tmp_path), report["findings"]) == (["torn down"], [])


def test_a_test_without_teardown_is_just_interrupted(tmp_path: Path, listener: Listener) -> None:
    write(tmp_path, waiting("hang"))
    report = interrupted(tmp_path, listener)
    assert (report["interrupted"], notes(tmp_path), report["findings"]) == (True, [], [])


def test_a_teardown_that_fails_then_is_reported(tmp_path: Path, listener: Listener) -> None:
    write(tmp_path, waiting("hang", NOTE, {"tool": "again", "expect": text_is("right")}))
    report = interrupted(tmp_path, listener)
    assert notes(tmp_path) == ["torn down"]
    [found] = report["findings"]
    assert (found["kind"], found["server"]) == ("teardown_failed", "s")
    message = "the teardown of waits was not done when it was interrupted: failed at result"
    assert found["message"].startswith(message)


def test_a_second_interrupt_ends_the_teardown(tmp_path: Path, listener: Listener) -> None:
    write(tmp_path, waiting("hang", {"tool": "wait"}, NOTE))
    report = interrupted(tmp_path, listener, times=2)
    assert notes(tmp_path) == []
    message = [each["message"] for each in report["findings"] if each["kind"] == "teardown_failed"]
    why = "was not done when it was interrupted: it was interrupted again"
    assert message == [f"the teardown of waits {why}"]
