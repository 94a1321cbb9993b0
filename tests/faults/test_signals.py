"""Rows 92 to 94: whatever is done to the run itself, no server outlives it."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest
from command import running, write_files
from processes import ENVIRONMENT
from staging import LONG_S, echo, spec_for

if TYPE_CHECKING:
    from pathlib import Path

    from connect_back import Caller, Listener

FAMILY = ("leader", "child", "own-session", "daemon")


def _leader(family: list[Caller]) -> Caller:
    return next(caller for caller in family if caller.name == "leader")


def test_a_killed_run_takes_the_worst_family_with_it(tmp_path: Path, listener: Listener) -> None:
    """Row 92. Stubborn leader, stubborn child, a child in its own session, a daemon."""
    words = write_files(tmp_path, spec_for("family", listener=listener))
    with running(tmp_path, words) as run:
        family = listener.callers(*FAMILY)
        assert _leader(family).next_word() == "called"
        run.signal(signal.SIGKILL)
        run.status()
        for caller in family:
            assert caller.is_dead_within(2)


def test_a_killed_run_takes_a_child_without_our_mark_with_it(
    tmp_path: Path, listener: Listener
) -> None:
    """Row 92. The process group gives it away."""
    words = write_files(tmp_path, spec_for("unmarked", listener=listener))
    with running(tmp_path, words) as run:
        lodger = listener.next_caller()
        run.signal(signal.SIGKILL)
        assert lodger.is_dead_within(2)


@pytest.mark.long
def test_a_killed_run_takes_a_process_with_it_that_forks_again_and_again(
    tmp_path: Path, listener: Listener
) -> None:
    """Row 92. By the time that one is found its child has taken its place; so it is tried often."""
    words = write_files(tmp_path, spec_for("refork", "silent", listener=listener))
    for _ in range(10):
        with running(tmp_path, words, stdout=subprocess.DEVNULL) as run:
            caller = listener.next_caller()
            time.sleep(0.1)
            run.signal(signal.SIGKILL)
            run.status()
            assert caller.is_dead_within(10)


def test_a_run_killed_in_its_handshake_leaves_no_process(
    tmp_path: Path, listener: Listener
) -> None:
    """Row 92."""
    words = write_files(tmp_path, spec_for("mute", listener=listener))
    with running(tmp_path, words) as run:
        caller = listener.next_caller()
        run.signal(signal.SIGKILL)
        assert caller.is_dead_within(2)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_one_signal_ends_the_run_with_a_report_of_what_was_done(
    number: signal.Signals, tmp_path: Path, listener: Listener
) -> None:
    """Rows 93 and 94."""
    ping = {
        "it": "answers a ping",
        "request": {"jsonrpc": "2.0", "id": 1, "method": "ping"},
        "expect": {"response": {"jsonrpc": "2.0", "id": 1, "result": {}}},
    }
    spec = spec_for("announced-silent", listener=listener)
    words = write_files(tmp_path, spec, ping, echo(id=2), echo(id=3))
    with running(tmp_path, [*words, "--json"]) as run:
        caller = listener.next_caller()
        assert caller.next_word() == "tools/call"
        run.signal(number)
        report = run.finish()
    assert report.status == 130
    assert report.members["interrupted"] is True
    assert report.statuses == ["passed"]
    assert report.members["summary"]["total"] == 1
    assert report.members["findings"] == []
    assert caller.is_dead_within(2)


@pytest.mark.parametrize("options", [(), ("--parallel", "2")], ids=["in sequence", "parallel"])
def test_a_signal_after_the_last_test_counts_while_the_server_is_stopped(
    options: tuple[str, ...], tmp_path: Path, listener: Listener
) -> None:
    words = write_files(tmp_path, spec_for("announced", listener=listener))
    with running(tmp_path, [*words, "--json", *options]) as run:
        caller = listener.next_caller()
        assert "end of stdin" in (caller.next_word() for _ in range(10))
        run.signal(signal.SIGINT)
        # It is sent from another process, so it may take a moment.
        time.sleep(0.2)
        caller.let_go()
        report = run.finish()
    assert report.status == 130
    assert (report.members["interrupted"], report.statuses) == (True, ["passed"])
    assert caller.is_dead_within(2)


@pytest.mark.parametrize("second", [signal.SIGINT, signal.SIGTERM])
def test_a_second_signal_ends_a_server_that_ignores_everything(
    second: signal.Signals, tmp_path: Path, listener: Listener
) -> None:
    """Row 93. Shutdown takes 4 s; the second signal ends it at once."""
    words = write_files(tmp_path, spec_for("family", listener=listener))
    with running(tmp_path, [*words, "--json"]) as run:
        family = listener.callers(*FAMILY)
        leader = _leader(family)
        assert leader.next_word() == "called"
        began = time.monotonic()
        run.signal(signal.SIGINT)
        assert leader.next_word() == "end of stdin"
        # The same signal at once would be merged with the first.
        time.sleep(0.15)
        run.signal(second)
        report = run.finish()
        assert time.monotonic() - began < 3.5
    assert report.status == 130
    assert report.members["interrupted"] is True
    # It did not end of itself, so how it ended says nothing about it.
    assert "unclean_end" not in report.findings
    for caller in family:
        assert caller.is_dead_within(2)


def test_an_interrupt_is_heeded_while_an_exit_is_awaited(
    tmp_path: Path, listener: Listener
) -> None:
    """Row 93. The server has closed its stdout, so only its end is left to wait for."""
    test = {
        "it": "ends",
        "request": {"jsonrpc": "2.0", "method": "notifications/leave"},
        "expect": {"exitCode": 0},
    }
    words = write_files(tmp_path, spec_for("leave-stdout", listener=listener), test)
    with running(tmp_path, [*words, "--json"]) as run:
        caller = listener.next_caller()
        assert caller.next_word() == "closed"
        began = time.monotonic()
        run.signal(signal.SIGINT)
        report = run.finish()
        assert time.monotonic() - began < LONG_S / 3
    assert (report.status, report.members["interrupted"]) == (130, True)
    assert caller.is_dead_within(2)


def test_an_interrupt_is_heeded_while_messages_pour_in(tmp_path: Path) -> None:
    """Row 33: responsive throughout."""
    words = write_files(tmp_path, spec_for("endless-notifications"))
    unbuffered = {**ENVIRONMENT, "PYTHONUNBUFFERED": "1"}
    with running(tmp_path, [*words, "--reporter", "terminal"], env=unbuffered) as run:
        assert run.process.stdout is not None
        began = time.monotonic()
        # The first line is written before the test begins; it is all there is to wait for.
        assert run.process.stdout.readline()
        run.signal(signal.SIGINT)
        assert run.status() == 130
        assert time.monotonic() - began < LONG_S / 3


def test_a_run_that_is_stuck_in_a_step_leaves_when_its_time_is_up() -> None:
    """Row 94. No wait is reached that could handle the signal, and no second one is sent."""
    stuck = (
        "import os, signal\n"
        "from mcptest.transport.process.signals import Interrupts\n"
        "with Interrupts(patience_s=0.1):\n"
        "    os.kill(os.getpid(), signal.SIGTERM)\n"
        "    while True: pass\n"
    )
    assert subprocess.run([sys.executable, "-c", stuck], timeout=LONG_S).returncode == 130


@pytest.mark.cold
@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGINT, signal.SIGTERM])
def test_a_signal_that_was_ignored_from_the_start_stays_ignored(
    number: signal.Signals, tmp_path: Path, listener: Listener
) -> None:
    """Row 94: nohup, and what a shell puts into the background."""
    words = write_files(tmp_path, spec_for("announced", listener=listener))
    previous = signal.signal(number, signal.SIG_IGN)
    try:
        with running(tmp_path, [*words, "--json"]) as run:
            caller = listener.next_caller()
            assert caller.next_word() == "initialize"
            run.signal(number)
            caller.let_go()
            report = run.finish()
    finally:
        signal.signal(number, previous)
    assert (report.status, report.members["interrupted"]) == (0, False)


WORDS = 14


@pytest.mark.parametrize("seed", range(15))
def test_a_signal_at_any_moment_leaves_a_whole_report_and_no_server(
    seed: int, tmp_path: Path, listener: Listener
) -> None:
    """Rows 93 and 94: at the start, during any call, at the end of stdin."""
    chance = random.Random(seed)
    number = chance.choice([signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
    moment = chance.randrange(WORDS)
    tests = [echo(id=n) for n in range(WORDS - 3)]
    words = write_files(tmp_path, spec_for("announced", listener=listener), *tests)
    with running(tmp_path, [*words, "--json"]) as run:
        caller = listener.next_caller()
        for _ in range(moment):
            assert caller.next_word() != ""
        run.signal(number)
        caller.let_go()
        report = run.finish()
    assert report.status in (0, 130)
    assert report.members["interrupted"] == (report.status == 130)
    assert set(report.statuses) <= {"passed"}
    assert report.status == 130 or len(report.tests) == len(tests)
    assert caller.is_dead_within(2)


def test_a_run_that_is_killed_at_any_moment_leaves_no_server(
    tmp_path: Path, listener: Listener
) -> None:
    """Row 92, at moments that a seed has chosen."""
    chance = random.Random(92)
    words = write_files(
        tmp_path, spec_for("announced", listener=listener), *[echo(id=n) for n in range(WORDS)]
    )
    for _ in range(8):
        with running(tmp_path, words, stdout=subprocess.DEVNULL) as run:
            caller = listener.next_caller()
            for _ in range(chance.randrange(WORDS)):
                assert caller.next_word() != ""
            run.signal(signal.SIGKILL)
            assert caller.is_dead_within(2)


@pytest.mark.long
def test_an_unread_report_pipe_does_not_block_an_interrupted_run(tmp_path: Path) -> None:
    """Row 93. A report into a pipe waits for its reader; a signal bounds that wait."""
    words = write_files(tmp_path, spec_for("good"))
    os.mkfifo(tmp_path / "report")
    with running(tmp_path, [*words, "--junit", "report"]) as run:
        assert run.process.stdout is not None
        while b"1 passed" not in run.process.stdout.readline():
            pass
        run.signal(signal.SIGTERM)
        assert run.status() == 130
