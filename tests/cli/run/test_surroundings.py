"""Streams that are closed, files that are pipes, links that lead in circles."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from console import ENVIRONMENT, PATIENCE_S, case, mcptest, write_config, write_suite

if TYPE_CHECKING:
    from pathlib import Path

MCPTEST = f"{shlex.quote(sys.executable)} -m mcptest"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_config(tmp_path / "conductor.config.json")
    write_suite(tmp_path / "a.test.mcp.yml", case("good"))
    return tmp_path


def shell(folder: Path, line: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        ["sh", "-c", line], cwd=folder, env=ENVIRONMENT, capture_output=True, timeout=PATIENCE_S
    )


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_a_run_with_closed_streams_still_has_its_verdict(folder: Path, closed: str) -> None:
    words = "run --reporter junit=out.xml --reporter json=out.json"
    assert shell(folder, f"{MCPTEST} {words} {closed}").returncode == 0
    assert json.loads((folder / "out.json").read_bytes())["summary"]["passed"] == 1


@pytest.mark.parametrize("broken", ["2>&-", "2>/dev/full"])
def test_an_error_that_cannot_be_printed_is_still_in_the_report(folder: Path, broken: str) -> None:
    ended = shell(folder, f"{MCPTEST} run missing.yml --json {broken}")
    assert (ended.returncode, json.loads(ended.stdout)["error"]["kind"]) == (2, "usage")


def test_a_process_that_the_shell_had_started_is_not_ours_to_end(folder: Path) -> None:
    """`exec` makes the shell's children those of the command."""
    line = f"sleep 60 >out 2>&1 & echo $! > pid; exec {MCPTEST} run"
    assert shell(folder, line).returncode == 0
    background = int((folder / "pid").read_text(encoding="ascii"))
    os.kill(background, signal.SIGKILL)  # it is there to be ended


def test_a_pipe_is_not_a_test_file_and_is_not_opened(folder: Path) -> None:
    os.mkfifo(folder / "pipe.test.mcp.yml")
    ended = mcptest(folder, "run")
    assert (ended.code, ended.err) == (
        0,
        "note: skipped pipe.test.mcp.yml: it is not a regular file\n",
    )
    ended = mcptest(folder, "run", "pipe.test.mcp.yml")
    assert (ended.code, "it is not a regular file" in ended.err) == (2, True)


def test_links_that_lead_in_circles_are_not_followed(folder: Path) -> None:
    deep = folder / "deep"
    write_suite(deep / "b.test.mcp.yml", case("deep"))
    (deep / "self").symlink_to(".")
    (deep / "up").symlink_to("..")
    report = mcptest(folder, "run", "**/*.test.mcp.yml", "--json").report()
    assert report["summary"]["total"] == 2


@pytest.mark.parametrize(
    "words",
    [
        ("--junit", "x", "--reporter", "json=x"),
        ("--junit", "x", "--capture", "x"),
        ("--junit", "/dev/stdout", "--json"),
        ("--junit", "a.test.mcp.yml"),
        ("--junit", ""),
        ("--capture", ""),
        ("--junit", "n" * 300),
    ],
)
def test_reports_that_collide_or_cannot_be_written_are_refused(
    folder: Path, words: tuple[str, ...]
) -> None:
    ended = mcptest(folder, "run", *words)
    assert (ended.code, "Traceback" in ended.err) == (2, False)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_before_the_first_test_is_reported(folder: Path, number: signal.Signals) -> None:
    """The handler is there before anything is loaded; here it interrupts the loading."""
    script = (
        "import os, sys, mcptest.engine.loading as loading\n"
        f"loading.load_conductor = lambda *_: os.kill(os.getpid(), {int(number)})\n"
        "from mcptest.cli.main import main\n"
        "sys.exit(main(['run', '--json']))\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", script], cwd=folder, env=ENVIRONMENT, capture_output=True, timeout=60
    )
    kind = json.loads(ended.stdout)["error"]["kind"]
    assert (ended.returncode, kind) == (130, "interrupted")


def test_a_folder_that_is_gone_is_named(folder: Path) -> None:
    line = f"mkdir gone && cd gone && rmdir ../gone && {MCPTEST} run --junit x.xml"
    ended = shell(folder, line)
    assert (ended.returncode, b"does not exist any more" in ended.stderr) == (2, True)


def test_characters_that_act_on_a_terminal_are_escaped_in_captures(folder: Path) -> None:
    name = "\x9b2J\u202e\U000e0041"
    write_suite(folder / "a.test.mcp.yml", case(name))
    ended = mcptest(folder, "run", "--json", "--capture", "capture.json")
    text = (folder / "capture.json").read_text(encoding="utf-8")
    assert ended.out.replace("\n", "").isprintable()
    assert text.replace("\n", "").isprintable()
    assert json.loads(text)["exchanges"][-1]["request"]["params"]["say"] == name


def test_an_answer_that_is_wrong_in_too_many_places_says_what_was_left_out(folder: Path) -> None:
    many = case("many", params={"say": [1] * 3000}, wants={"say": []})
    write_suite(folder / "a.test.mcp.yml", many)
    (test,) = mcptest(folder, "run", "--json").report()["suites"][0]["tests"]
    assert "only the first 1,000 mismatches were looked for" in test["notes"]
