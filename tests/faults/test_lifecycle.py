"""Group F of the fault catalogue: servers that end too soon, too late or not at all."""

from __future__ import annotations

import os
import threading
import time
from typing import TYPE_CHECKING

import pytest
from command import running, write_files
from staging import (
    LONG_S,
    SHORT_GRACE,
    call,
    echo,
    new_guardian,
    open_descriptors,
    perform,
    plan_for,
    spec_for,
    stage,
)

from mcptest.core.plan import ServerSpec
from mcptest.engine.pool import ServerPool
from mcptest.engine.run import RunOptions, run_plan
from mcptest.engine.server import Server
from mcptest.transport import stdio
from mcptest.transport.process.stopping import MARK_VARIABLE, Grace, describe_exit, list_marked

if TYPE_CHECKING:
    from pathlib import Path

    from connect_back import Listener

QUICK_GRACE = Grace(stdin_s=0.2, term_s=0.2, kill_s=5.0)


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        (("exit-on-call", "0"), "exit status 0"),
        (("exit-on-call", "7"), "exit status 7"),
        (("die-on-call", "SIGKILL"), "killed by SIGKILL"),
        (("die-on-call", "SIGSEGV"), "killed by SIGSEGV"),
    ],
)
def test_a_server_that_ends_during_a_call_fails_it_at_once(
    arguments: tuple[str, ...], status: str
) -> None:
    """Row 84."""
    report = perform(spec_for(*arguments))
    assert (report.status, report.statuses) == (1, ["error"])
    assert report.fault["kind"] == "exited_during_call"
    assert report.fault["message"] == (
        f"the server ended ({status}) while tools/call (id 1) was waiting for its answer"
    )
    assert (report.fault["effect"], report.fault["exit_status"]) == ("indefinite", status)
    assert report.members["duration_ms"] < LONG_S * 1000 / 3


def test_the_next_test_has_a_fresh_server_after_one_that_ended() -> None:
    """Row 84."""
    ping = {
        "it": "answers a ping",
        "request": {"jsonrpc": "2.0", "id": 2, "method": "ping"},
        "expect": {"response": {"jsonrpc": "2.0", "id": 2, "result": {}}},
    }
    report = perform(spec_for("exit-on-call", "7", "boom\n"), echo(), ping)
    assert (report.status, report.statuses) == (1, ["error", "passed"])
    assert report.fault["stderr_tail"] == "boom"


def test_a_server_that_ended_between_two_tests_is_replaced_with_a_note() -> None:
    """Row 84. Which of the two meets the end is made certain by waiting for it."""
    with stage() as launcher:
        keeper = ServerPool(launcher)
        spec = spec_for("exit-after-answer")
        (step,) = plan_for(spec).suites[0][0].cases[0].steps
        server, note = keeper.server_for(spec, step)
        assert note == ""
        server.perform(step, LONG_S)
        server._wait_for_exit(time.monotonic() + LONG_S)
        fresh, note = keeper.server_for(spec, step)
        assert fresh is not server
        assert note == "the server had ended; a fresh one was started for this test"
        keeper.retire()


def test_a_crash_loop_is_cut_short_and_the_rest_is_called_not_run() -> None:
    """Row 99, in part."""
    report = perform(spec_for("exit-on-call", "7"), *[echo(id=n) for n in range(6)])
    assert (report.status, report.statuses) == (1, ["error"] * 6)
    messages = [test["error"]["message"] for test in report.tests]
    assert [message.startswith("not run: ") for message in messages] == [False] * 3 + [True] * 3
    assert set(messages[3:]) == {
        "not run: the server failed 3 times in a row, last: the server ended (exit status 7) "
        "while tools/call (id 2) was waiting for its answer"
    }
    assert {test["error"]["effect"] for test in report.tests[3:]} == {"definite"}


def test_an_expected_end_is_not_a_fault() -> None:
    """Row 84, silent."""
    test = {"it": "ends", "request": call(), "expect": {"exitCode": 7}}
    perform(spec_for("exit-on-call", "7"), test).assert_spotless()


def test_a_server_that_ignores_the_end_of_its_stdin_gets_sigterm(listener: Listener) -> None:
    """Row 85. It is noted and changes no verdict."""
    report = perform(spec_for("ignore-eof", listener=listener), grace=QUICK_GRACE)
    assert (report.status, report.statuses) == (0, ["passed"])
    assert list(report.findings) == ["needed_term"]
    assert listener.next_caller().is_dead_within(5)


def test_a_server_that_ignores_sigterm_is_killed(listener: Listener) -> None:
    """Row 86. It is noted and changes no verdict."""
    report = perform(spec_for("ignore-term", listener=listener), grace=QUICK_GRACE)
    assert (report.status, report.statuses) == (0, ["passed"])
    assert list(report.findings) == ["needed_kill"]
    assert listener.next_caller().is_dead_within(5)


@pytest.mark.long
def test_all_default_shutdown_steps_together_are_bounded(listener: Listener) -> None:
    """Row 86, with the times that users get: 2 s, 2 s, and KILL."""
    with stage(Grace()) as launcher:
        server = Server(spec_for("ignore-term", listener=listener), launcher)
        server.open()
        stopped = server.close()
    assert (stopped.ended_by, describe_exit(stopped.exit_code)) == ("kill", "killed by SIGKILL")
    assert 4.0 <= stopped.took_s < 8.0
    assert listener.next_caller().is_dead_within(5)


@pytest.mark.parametrize("mode", ["fork-hold", "own-session", "daemon"])
def test_processes_that_a_server_leaves_behind_are_killed_and_named(
    mode: str, listener: Listener
) -> None:
    """Rows 87 and 88: a child with our pipes, one in its own session, a daemon."""
    report = perform(spec_for(mode, listener=listener))
    assert (report.status, report.statuses) == (0, ["passed"])
    assert list(report.findings) == ["left_behind"]
    finding = report.findings["left_behind"]
    assert finding["message"] == "the server left processes behind; they were killed"
    pid, command = finding["quote"].split(": ", 1)
    assert pid.isdigit()
    assert f"fault_server.py {mode}" in command
    assert listener.next_caller().is_dead_within(5)
    assert report.members["duration_ms"] < LONG_S * 1000 / 3


def test_a_process_that_forks_again_and_again_is_killed_and_named(listener: Listener) -> None:
    """Row 88. Without orphans of our own to look at, where only the mark leads to it."""
    for _ in range(10):
        report = perform(spec_for("refork", listener=listener))
        assert (report.status, report.statuses) == (0, ["passed"])
        assert list(report.findings) == ["left_behind"]
        assert listener.next_caller().is_dead_within(5)


def test_the_command_kills_a_process_that_forks_again_and_again(
    tmp_path: Path, listener: Listener
) -> None:
    """Row 88. Each of them becomes a child of the command."""
    words = write_files(tmp_path, spec_for("refork", listener=listener))
    for _ in range(5):
        with running(tmp_path, [*words, "--json"]) as run:
            report = run.finish()
        assert (report.status, list(report.findings)) == (0, ["left_behind"])
        assert listener.next_caller().is_dead_within(5)


def test_a_server_that_ends_while_its_child_holds_the_pipes_is_noticed_at_once(
    listener: Listener,
) -> None:
    """Row 87. Stdout never ends."""
    report = perform(spec_for("fork-hold-exit", listener=listener))
    assert (report.status, report.fault["kind"]) == (1, "exited_during_call")
    assert list(report.findings) == ["left_behind"]
    assert listener.next_caller().is_dead_within(5)
    assert report.members["duration_ms"] < LONG_S * 1000 / 3


def test_a_child_that_ends_a_moment_after_its_launcher_is_not_left_behind(
    listener: Listener,
) -> None:
    """Row 88, silent: so do the children of npx and uvx."""
    perform(spec_for("launcher", listener=listener)).assert_spotless()
    assert listener.next_caller().is_dead_within(5)


def test_a_child_without_our_mark_is_killed_with_the_group(listener: Listener) -> None:
    """Row 87. It cannot be named, since nothing distinguishes it from any other process."""
    with stage(QUICK_GRACE) as launcher:
        server = Server(spec_for("unmarked", listener=listener), launcher)
        server.open()
        lodger = listener.next_caller()
        assert server.close().ended_by == "stdin"
        assert lodger.is_dead_within(5)
        lodger.close()


def test_the_worst_family_is_gone_when_the_run_is(listener: Listener) -> None:
    """Rows 86 to 88 at once."""
    report = perform(spec_for("family", listener=listener, timeout_s=0.2), grace=QUICK_GRACE)
    assert report.status == 1
    assert set(report.findings) == {"needed_kill", "left_behind"}
    for caller in listener.callers("leader", "child", "own-session", "daemon"):
        assert caller.is_dead_within(5)


def test_a_run_inside_a_server_of_another_run_carries_both_marks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Row 88: cleaning up after the outer run finds the servers of the inner one."""
    monkeypatch.setenv(MARK_VARIABLE, "outer/1/")
    guardian = new_guardian()
    try:
        assert guardian.mark.startswith("outer/1/")
        assert guardian.next_mark().startswith(guardian.mark)
    finally:
        guardian.dismiss()


def test_draining_stderr_takes_no_more_than_a_pipe_holds(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Row 72: however fast it is filled again."""
    with stage() as launcher:
        server = Server(spec_for("good"), launcher)
        server.open()
        with monkeypatch.context() as patch:
            patch.setattr(stdio, "_read", lambda fd: b"e" * 65536)
            server._wire.drain_stderr()
        assert server._wire.stderr.total == 1 << 20
        server.close()


@pytest.mark.long
def test_two_hundred_servers_one_after_the_other_leave_nothing() -> None:
    """Rows 91 and 97. The long version is tests/soak/spawns.py."""
    spec = ServerSpec(name="short", command=("/bin/true",))
    plan = plan_for(spec)
    with stage() as launcher:
        before = (open_descriptors(), threading.active_count())
        for _ in range(200):
            finished, _ = run_plan(plan, RunOptions(started_at=""), launcher, lambda _: None)
            assert finished.fault is not None
            assert finished.fault.kind == "exited_early"
        assert (open_descriptors(), threading.active_count()) == before
        assert list_marked(launcher.guardian.mark) == {}
        assert launcher.guardian.groups == set()


@pytest.mark.long
def test_fifty_good_servers_one_after_the_other_leave_nothing() -> None:
    """Rows 91 and 97, with whole sessions."""
    plan = plan_for(spec_for("good", isolation="test"), *[echo(id=n) for n in range(50)])
    with stage() as launcher:
        before = open_descriptors()
        finished, _ = run_plan(plan, RunOptions(started_at=""), launcher, lambda _: None)
        assert finished.summary.passed == 50
        assert finished.findings == ()
        assert open_descriptors() == before


def test_spawns_that_fail_leave_nothing() -> None:
    """Rows 1 and 97."""
    spec = ServerSpec(name="none", command=("/no/such/command",))
    with stage() as launcher:
        before = open_descriptors()
        for _ in range(200):
            finished, _ = run_plan(
                plan_for(spec), RunOptions(started_at=""), launcher, lambda _: None
            )
            assert finished.fault is not None
        assert open_descriptors() == before


def test_a_guardian_that_was_killed_does_not_take_the_run_with_it() -> None:
    """Row 95, for the one process of ours that could be missing."""
    with stage() as launcher:
        os.kill(launcher.guardian._pid, 9)
        os.waitpid(launcher.guardian._pid, 0)
        plan = plan_for(spec_for("good"))
        finished, _ = run_plan(plan, RunOptions(started_at=""), launcher, lambda _: None)
        assert finished.summary.passed == 1


def test_a_server_is_stopped_once_however_often_it_is_closed() -> None:
    """Row 98, in part: a process that was reaped is never signalled again."""
    with stage() as launcher:
        server = Server(spec_for("good"), launcher)
        server.open()
        assert server.close() is server.close(at_once=True)
        assert server.stopped is not None
        assert (server.stopped.ended_by, server.stopped.exit_code) == ("stdin", 0)


def test_a_server_that_is_stopped_at_once_is_not_accused_of_ignoring_anything(
    listener: Listener,
) -> None:
    """Row 86, silent."""
    with stage(SHORT_GRACE) as launcher:
        server = Server(spec_for("ignore-term", listener=listener), launcher)
        server.open()
        assert server.close(at_once=True).ended_by == "at_once"
        assert list(server.findings) == []
    assert listener.next_caller().is_dead_within(5)


FAREWELL = {
    "it": "says farewell",
    "request": {"jsonrpc": "2.0", "method": "notifications/farewell"},
    "expect": {"stderr": "toBeEmpty"},
}


def test_a_server_that_dies_of_a_notification_does_not_pass() -> None:
    """Nothing answers a notification, so its end is the only sign there is."""
    report = perform(spec_for("die-on-notification", "7"), FAREWELL, FAREWELL, FAREWELL)
    assert report.status == 1
    assert "error" in report.statuses
    ends = [test["error"] for test in report.tests if test["status"] == "error"]
    assert ends[0]["kind"] in ("exited_during_call", "stdin_blocked")


def test_a_server_that_takes_a_notification_passes() -> None:
    report = perform(spec_for("good"), FAREWELL)
    assert (report.status, report.statuses, report.members["findings"]) == (0, ["passed"], [])


def test_a_server_that_ends_after_its_last_answer_is_reported() -> None:
    report = perform(spec_for("answer-and-exit", "5"))
    assert report.statuses == ["passed"]
    message = "the server ended with exit status 5"
    assert report.findings["unclean_end"]["message"] == message
