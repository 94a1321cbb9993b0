"""The guardian of a run ends the processes a killed run leaves behind, and no others."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from mcptest.transport.process.stopping import list_marked, read_command_line

RUN = """
import os, sys, time
from mcptest.transport.process import child as guarding
from mcptest.transport.process.child import start
from mcptest.transport.process.stopping import MARK_VARIABLE

guarding._SHELL = sys.argv[1]
guardian = guarding.Guardian()
marked = {**os.environ, MARK_VARIABLE: guardian.next_mark()}
servers = [
    start(["sleep", "60"], os.environ),
    start(["sh", "-c", "setsid sleep 61 & exec sleep 62"], marked),
    start(["sleep", "63"], os.environ),
]
for server in servers:
    guardian.watch(server.pid)
guardian.release(servers[0].pid)
print(guardian.mark, guardian._pid, *(server.pid for server in servers), flush=True)
if sys.argv[2] == "goodbye":
    guardian.groups.clear()
    guardian.dismiss()
    print("dismissed", flush=True)
time.sleep(60)
"""
MARKED = ["sleep 61", "sleep 62"]
GONE_S = 20


@pytest.fixture(params=["/bin/sh", "/nowhere/sh"])
def shell(request: pytest.FixtureRequest) -> str:
    return str(request.param)


class Stage:
    """A run with three servers: one was released, one leaves its group, one stays."""

    def __init__(self, shell: str, end: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", RUN, shell, end],
            stdout=subprocess.PIPE,
            text=True,
            encoding="utf-8",
        )
        self.mark, *pids = self.line().split()
        self.guardian, *self.servers = map(int, pids)
        wait_until(lambda: sorted(list_marked(self.mark).values()) == MARKED)

    def line(self) -> str:
        assert self.process.stdout
        return self.process.stdout.readline().strip()

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def commands(self) -> list[str]:
        """What still runs: the servers by number, and whatever has their mark."""
        found = {pid: read_command_line(pid) for pid in self.servers} | list_marked(self.mark)
        return sorted(filter(None, found.values()))

    def clear(self) -> None:
        self.kill()
        assert self.process.stdout
        self.process.stdout.close()
        for pid in {*self.servers, *list_marked(self.mark)}:
            if read_command_line(pid).startswith("sleep"):
                os.kill(pid, signal.SIGKILL)


@pytest.fixture
def stage(shell: str, request: pytest.FixtureRequest) -> Iterator[Stage]:
    stage = Stage(shell, getattr(request, "param", "killed"))
    yield stage
    stage.clear()


def wait_until(is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + GONE_S
    while not is_so() and time.monotonic() < deadline:
        time.sleep(0.02)
    assert is_so()


def test_a_run_that_is_killed_leaves_no_process_behind(shell: str, stage: Stage) -> None:
    """Except a released one, whose id may belong to another process by now."""
    assert ("mcptest-guardian" in read_command_line(stage.guardian)) == (shell == "/bin/sh")
    stage.kill()
    wait_until(lambda: not read_command_line(stage.guardian))
    wait_until(lambda: stage.commands() == ["sleep 60"])


@pytest.mark.parametrize("stage", ["goodbye"], indirect=True)
def test_after_a_goodbye_nothing_is_touched(stage: Stage) -> None:
    assert stage.line() == "dismissed"
    assert not Path(f"/proc/{stage.guardian}").exists()
    stage.kill()
    time.sleep(0.3)
    assert stage.commands() == ["sleep 60", *MARKED, "sleep 63"]


def test_no_signal_that_ends_a_run_ends_the_guardian(stage: Stage) -> None:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        os.kill(stage.guardian, number)
    stage.kill()
    wait_until(lambda: stage.commands() == ["sleep 60"])
