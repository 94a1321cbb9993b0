"""The time to load and apply the rules about sessions does not count as time of the server."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from staging import echo, plan_for, spec_for, stage

from mcptest.core.events import CaseFinished
from mcptest.engine import connection
from mcptest.engine.run import RunOptions, run_plan
from mcptest.rules.scorer import LiveScorer

if TYPE_CHECKING:
    from typing import Any

    from mcptest.core.results import CaseResult

SERVERS = Path(__file__).parent.parent / "servers"

# Says no more of itself than it must: the rules there are from the beginning suffice for that.
MODEST = f"""
import sys; sys.path.insert(0, {str(SERVERS)!r})
import good_server
good_server.INITIALIZE_RESULT["capabilities"] = {{"tools": {{}}}}
good_server.serve()
"""

# Far longer than a server in Python takes for an answer, also on a busy machine.
SLOW_S = 1.0
TIMED = {"performance": {"maxResponseTime": f"{SLOW_S:g}s"}}


def lists(id: int, **expect: Any) -> dict[str, Any]:
    """Something that not every session has, so that all rules are asked about it."""
    request = {"jsonrpc": "2.0", "id": id, "method": "tools/list"}
    return {"it": f"lists {id}", "request": request, "expect": {"response": ANYTHING, **expect}}


ANYTHING = "match:type:object"


def judged(results: list[CaseResult], *tests: dict[str, Any]) -> None:
    def hear(event: object) -> None:
        if isinstance(event, CaseFinished):
            results.append(event.result)

    with stage() as launcher:
        command = (sys.executable, "-S", "-E", "-c", MODEST)
        plan = plan_for(spec_for("modest", command=command), *tests)
        run_plan(plan, RunOptions(started_at=""), launcher.but(judges=True), hear)


@pytest.mark.parametrize(
    ("tests", "after"),
    [
        ([lists(1), echo(id=2), echo(id=3)], 1),
        ([lists(1, **TIMED), lists(2, **TIMED)], 1),
        ([echo(id=1), lists(2, **TIMED), echo(id=3)], 2),
        ([echo(id=1), lists(2), lists(3, **TIMED), echo(id=4)], 2),
    ],
    ids=["unusual", "timed", "timed later", "both"],
)
def test_loading_the_rules_is_in_nobodys_time(
    monkeypatch: pytest.MonkeyPatch, tests: list[dict[str, Any]], after: int
) -> None:
    """It is done between two tests: the first that needs it, and the next."""
    results: list[CaseResult] = []
    loaded_after: list[int] = []
    load_all = LiveScorer._load_all

    def slowly(judge: LiveScorer) -> None:
        loaded_after.append(len(results))
        time.sleep(SLOW_S)
        load_all(judge)

    monkeypatch.setattr(LiveScorer, "_load_all", slowly)
    judged(results, *tests)
    assert [result.status for result in results] == ["passed"] * len(tests)
    assert loaded_after == [after]
    assert max(result.duration_s for result in results) < SLOW_S


def test_neither_is_judging_a_large_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    judge_server = LiveScorer.server

    def slowly(judge: LiveScorer, *given: Any) -> None:
        if len(str(given[0])) > 1000:
            time.sleep(SLOW_S)
        judge_server(judge, *given)

    monkeypatch.setattr(connection, "_LARGE_BYTES", 1000)
    monkeypatch.setattr(LiveScorer, "server", slowly)
    results: list[CaseResult] = []
    judged(results, echo(id=1), echo("x" * 2000, id=2), echo(id=3), lists(4, **TIMED))
    assert [result.status for result in results] == ["passed"] * 4
    assert max(result.duration_s for result in results) < SLOW_S
