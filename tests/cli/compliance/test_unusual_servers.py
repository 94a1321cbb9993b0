"""Findings are true: servers that conform in unusual ways get none, one cause is found once."""

from __future__ import annotations

import sys
from pathlib import Path

from active import check_server

SERVER = Path(__file__).parents[2] / "servers" / "unusual_server.py"


def test_a_server_that_conforms_in_unusual_ways_has_no_findings(tmp_path: Path) -> None:
    hints = tmp_path / "hints.yml"
    none = "".join(f"{name}: none\n" for name in ("slow_tool", "progress_tool"))
    hints.write_text(none, encoding="utf-8")
    checked = check_server("--hints", str(hints), "--", sys.executable, str(SERVER))
    found = {each["id"]: each for each in checked.report["checks"]}
    shared = {id for id, each in found.items() if each["shared"]}
    assert checked.ids("failed", "warning") - shared == set()
    # What could not be looked at is neither passed nor held against the server.
    assert found["PROMPT-04"]["verdict"] == "not_applicable"
    assert found["RES-10"]["verdict"] == "not_applicable"
    assert found["TASK-01"]["verdict"] == "not_applicable"
    assert {each["needs"] for id, each in found.items() if each["verdict"] == "could_not_run"} == {
        *("eliciting_tool", "readonly_observer", "sampling_tool"),
    }


def test_a_server_that_ends_at_what_it_cannot_read_is_found_once() -> None:
    words = ("BASE", "STDIO", "LOG", "CANC")
    chosen = [word for family in words for word in ("--only", family)]
    checked = check_server(*chosen, "--", sys.executable, str(SERVER), "fragile")
    assert checked.ids("failed", "warning") == {"BASE-20", "BASE-42"}
    odd = checked.checks()["BASE-42"]
    assert "the id 1.5" in odd["message"]
    assert odd["message"].endswith("with the id 1")
    assert "as BASE-20 reports" in checked.checks()["STDIO-06"]["message"]


def test_without_a_tool_that_may_be_called_the_run_is_incomplete(tmp_path: Path) -> None:
    contract = tmp_path / "offer.yaml"
    contract.write_text("name: offer\ntools: [{name: buy, answer: bought}]\n", encoding="utf-8")
    words = ("--only", "TOOL-16", "--", sys.executable, "-m", "mcptest", "mock", str(contract))
    check = check_server(*words).checks()["TOOL-16"]
    assert (check["verdict"], check["needs"]) == ("could_not_run", "--allow-tool")
