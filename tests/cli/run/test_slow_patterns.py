"""A pattern that would never finish is stopped and named, and affects nothing else."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from console import case, mcptest, write_config, write_suite

ENDLESS = "match:regex:^(a+)+$"


@pytest.mark.long
def test_an_endless_pattern_is_an_error_and_the_run_continues(tmp_path: Path) -> None:
    """Row 118: a hostile regular expression is bounded, and the message names it."""
    endless = case("endless", params={"say": "a" * 40 + "!"}, wants={"say": ENDLESS})
    write_suite(tmp_path / "slow.test.mcp.yml", endless, case("next"))
    write_config(tmp_path / "conductor.config.json")
    ended = mcptest(tmp_path, "run", "--json")
    first, second = ended.report()["suites"][0]["tests"]
    assert (ended.code, second["status"]) == (1, "passed")
    assert (first["status"], first["error"]["kind"]) == ("error", "pattern_too_slow")
    assert ENDLESS in first["error"]["message"]


@pytest.mark.long
def test_a_large_answer_is_judged_within_bounds(tmp_path: Path) -> None:
    """On such a text the engine hardly ever looks for signals."""
    text = "x" * 3_000_000
    slow = case("slow", params={"say": text}, wants={"say": "match:regex:[a-z]+@example"})
    fine = case("fine", params={"say": text}, wants={"say": "match:regex:x$"})
    wrong = case("wrong", params={"say": text}, wants={"say": "match:startsWith:y"})
    write_suite(tmp_path / "large.test.mcp.yml", slow, fine, wrong)
    write_config(tmp_path / "conductor.config.json")
    report = mcptest(tmp_path, "run", "--json").report()
    slow_one, fine_one, wrong_one = report["suites"][0]["tests"]
    assert slow_one["error"]["kind"] == "pattern_too_slow"
    assert fine_one["status"] == "passed"
    assert [each["path"] for each in wrong_one["mismatches"]] == ["result.say"]


def test_a_pattern_that_only_looks_dangerous_is_matched(tmp_path: Path) -> None:
    harmless = case("harmless", params={"say": "a" * 40}, wants={"say": ENDLESS})
    write_suite(tmp_path / "fast.test.mcp.yml", harmless)
    write_config(tmp_path / "conductor.config.json")
    ended = mcptest(tmp_path, "run", "--json")
    assert (ended.code, ended.report()["summary"]["passed"]) == (0, 1)


@pytest.mark.long
def test_an_endless_ready_pattern_ends_the_run(tmp_path: Path) -> None:
    noisy = "import sys; sys.stderr.write('a' * 40 + '!'); sys.stderr.flush(); sys.stdin.read()"
    config = {"name": "x", "command": "python3", "args": ["-c", noisy], "readyPattern": "^(a+)+$"}
    (tmp_path / "conductor.config.json").write_text(json.dumps(config), encoding="utf-8")
    write_suite(tmp_path / "slow.test.mcp.yml", case("never runs"))
    ended = mcptest(tmp_path, "run", "--json")
    assert (ended.code, ended.report()["error"]["kind"]) == (3, "pattern_too_slow")
