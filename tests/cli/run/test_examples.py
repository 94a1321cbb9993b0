"""Every folder under `examples/` does what it says."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from console import mcptest

ROOT = Path(__file__).parents[3]
EXAMPLES = ROOT / "examples"

# Folder, the words that run it, and the exit status it is there to show.
RUNS = {
    "compliance": ((), 0),
    "contract": ((), 0),
    "filesystem": (("--config", "examples/filesystem/conductor.config.json"), 0),
    "failing": ((), 1),
    "http": ((), 0),
    "notes": ((), 0),
    "plugins": (() if shutil.which("node") else ("--skip-tag", "node"), 0),
    "pytest": ((), 0),
    "rows": ((), 0),
    "security": ((), 0),
}
# The servers of the suite are by others: tests/real knows where they are installed, and runs it.
# `./check sdks` runs those of the SDKs.
ELSEWHERE = {"sdks", "suite"}


def without_durations(text: str) -> str:
    return re.sub(r"<?\d+(\.\d+)? m?s\b", "N ms", text)


def test_every_example_is_run_here_or_elsewhere() -> None:
    folders = {path.name for path in EXAMPLES.iterdir() if path.is_dir()}
    assert folders == {*RUNS, *ELSEWHERE}


@pytest.mark.parametrize("name", sorted(RUNS))
def test_an_example_ends_as_it_should(name: str) -> None:
    words, code = RUNS[name]
    ended = mcptest(ROOT, "run", f"examples/{name}", *words)
    assert (ended.code, ended.err) == (code, "")


@pytest.mark.parametrize("revision", ["2025-11-25", "2026-07-28"])
def test_the_example_over_http_passes_in_both_eras(revision: str) -> None:
    ended = mcptest(ROOT, "run", "examples/http", "--spec-version", revision, "--json")
    report = ended.report()
    assert (ended.code, report["summary"]["passed"]) == (0, 3)
    assert {finding["kind"] for finding in report["findings"]} <= {"tool_overlap"}


def test_the_hostile_example_is_found() -> None:
    command = ("python3", "examples/security/notes.py")
    ended = mcptest(ROOT, "security", "--format", "json", "--", *command)
    assert (ended.code, ended.err) == (1, "")
    places = {(each["id"], each["path"]) for each in ended.report()["findings"]}
    assert places == {("SEC-005", "tools[1].description"), ("SEC-007", "tools[1].description")}


def test_the_example_that_passes_also_runs_from_its_own_folder() -> None:
    ended = mcptest(EXAMPLES / "filesystem", "run")
    assert ended.code == 0
    assert "7 tests: 7 passed" in ended.out


def test_the_example_that_fails_says_what_is_recorded_beside_it() -> None:
    recorded = EXAMPLES / "failing" / "expected-output.txt"
    ended = mcptest(ROOT, "run", "examples/failing")
    assert without_durations(ended.out) == recorded.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", sorted(RUNS))
def test_an_example_has_no_mistakes_and_no_warnings(name: str) -> None:
    ended = mcptest(ROOT, "validate", f"examples/{name}")
    assert (ended.code, ended.err) == (0, "")


@pytest.mark.long
def test_the_example_of_compliance_has_the_best_grade() -> None:
    words = ("--hints", "hints.yml", "--min-grade", "A+", "--", "python3", "clock_server.py")
    ended = mcptest(EXAMPLES / "compliance", "compliance", "run", *words)
    assert (ended.code, "conformant, grade A+" in ended.out) == (0, True)
