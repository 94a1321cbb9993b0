"""Temporary files of a killed run are removed by the next one that writes the same file."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import processes
import pytest
from console import ENVIRONMENT, PATIENCE_S, case, mcptest, write_config, write_suite

if TYPE_CHECKING:
    from collections.abc import Iterator

REPORT = ("--reporter", "ndjson=out.ndjson")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_config(tmp_path / "conductor.config.json")
    write_suite(tmp_path / "quick.test.mcp.yml", case("good"))
    write_suite(tmp_path / "stuck.test.mcp.yml", case("waits", "sleep"))
    return tmp_path


def temporaries(folder: Path) -> list[str]:
    return sorted(each.name for each in folder.iterdir() if each.name.endswith(".tmp"))


@contextmanager
def stuck_run(folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A run that has begun to write its report, and waits for its server."""
    before = temporaries(folder)
    run = processes.start(
        [sys.executable, "-m", "mcptest", "run", "stuck.test.mcp.yml", *REPORT],
        cwd=folder,
        env=ENVIRONMENT,
        stdout=subprocess.DEVNULL,
    )
    try:
        deadline = time.monotonic() + PATIENCE_S
        while temporaries(folder) == before:
            assert time.monotonic() < deadline
            time.sleep(0.02)
        yield run
    finally:
        run.kill()
        run.wait(PATIENCE_S)


def test_leftover_files_of_a_killed_run_are_removed(folder: Path) -> None:
    with stuck_run(folder) as run:
        run.send_signal(signal.SIGKILL)
        run.wait(PATIENCE_S)
        (left,) = temporaries(folder)
        assert re.fullmatch(rf"out\.ndjson\.mcptest-{run.pid}\.tmp", left)
    # A server that it was just starting has the lock, too, until it has become another program.
    for _ in range(20):
        assert mcptest(folder, "run", "quick.test.mcp.yml", *REPORT).code == 0
        if not temporaries(folder):
            break
    assert temporaries(folder) == []


def test_leftover_files_of_a_killed_run_are_removed_when_the_file_is_written_at_once(
    folder: Path,
) -> None:
    left = folder / "out.json.mcptest-999999999-2.tmp"
    left.write_text("half", encoding="utf-8")
    assert mcptest(folder, "run", "quick.test.mcp.yml", "--reporter", "json=out.json").code == 0
    assert temporaries(folder) == []


def test_files_that_a_run_is_still_writing_are_kept(folder: Path) -> None:
    with stuck_run(folder):
        (mine,) = temporaries(folder)
        assert mcptest(folder, "run", "quick.test.mcp.yml", *REPORT).code == 0
        assert temporaries(folder) == [mine]


def test_files_that_only_look_similar_are_left_alone(folder: Path) -> None:
    names = [
        "out.ndjson.123.tmp",
        "out.ndjson.mcptest-mine.tmp",
        "out.ndjson.mcptest-1.tmp.tmp",
        "other.ndjson.mcptest-123.tmp",
        "xout.ndjson.mcptest-123.tmp",
    ]
    for name in names:
        (folder / name).write_text("mine", encoding="utf-8")
    (folder / "out.ndjson.mcptest-1.tmp").symlink_to(names[0])
    (folder / "out.ndjson.mcptest-2.tmp").mkdir()
    os.mkfifo(folder / "out.ndjson.mcptest-3.tmp")
    before = temporaries(folder)
    assert mcptest(folder, "run", "quick.test.mcp.yml", *REPORT).code == 0
    assert temporaries(folder) == before
    assert {(folder / name).read_text(encoding="utf-8") for name in names} == {"mine"}
