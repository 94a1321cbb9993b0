"""However a host ends, no plugin outlives it."""

from __future__ import annotations

import contextlib
import gc
import signal
import subprocess
import sys
import threading
from typing import TYPE_CHECKING

import pytest
from plugin_stage import LONG_S, SHORT_S, children, command_for, hosting, left_clean

from mcptest.plugins import HostError, PluginHost, Timeout

if TYPE_CHECKING:
    from collections.abc import Iterator

    from connect_back import Caller, Listener


@pytest.fixture(autouse=True)
def _at_home(listener: Listener, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in listener.environment.items():
        monkeypatch.setenv(name, value)


# Closing


def test_a_plugin_that_ignores_the_end_of_its_input_is_killed_with_its_child(
    listener: Listener,
) -> None:
    with hosting("stubborn") as host:
        host.call("echo", 1)
        family = listener.callers("plugin", "child")
        host.call_timeout = SHORT_S
    leader = next(caller for caller in family if caller.name == "plugin")
    assert leader.next_word() == "end of stdin"
    _all_dead(family)


def test_a_child_that_left_the_group_does_not_outlive_its_plugin(listener: Listener) -> None:
    with hosting("orphan-child") as host:
        host.call("echo", 1)
        child = listener.next_caller()
    assert child.is_dead_within(LONG_S)


def test_at_once_means_without_a_goodbye(listener: Listener) -> None:
    with hosting("stubborn") as host:
        host.call("echo", 1)
        family = listener.callers("plugin", "child")
        host.close(at_once=True)
        _all_dead(family)


def test_closing_again_changes_nothing_and_calling_then_is_refused() -> None:
    with left_clean():
        host = PluginHost(command_for(), LONG_S)
        host.call("echo", 1)
        host.close()
        host.close()
        host.close(at_once=True)
        with pytest.raises(HostError, match="the host of this plugin is closed"):
            host.call("echo", 1)
        assert host.stderr == ""


def test_a_host_that_was_never_called_can_be_closed_and_stays_so() -> None:
    with left_clean():
        host = PluginHost(command_for())
        host.close()
        with pytest.raises(HostError, match="closed"):
            host.call("echo", 1)
        assert children() == []


def test_an_exception_in_the_block_ends_the_plugin(listener: Listener) -> None:
    with left_clean(), contextlib.suppress(KeyError), PluginHost(command_for("at-home")) as host:
        host.call("echo", 1)
        raise KeyError
    assert listener.next_caller().is_dead_within(LONG_S)


def test_closing_waits_for_the_call_of_another_thread(listener: Listener) -> None:
    with hosting("at-home") as host:
        host.call("echo", 1)
        home = listener.next_caller()
        host.call_timeout = SHORT_S
        errors: list[Exception] = []

        def ask() -> None:
            try:
                host.call("announced")
            except HostError as error:
                errors.append(error)

        thread = threading.Thread(target=ask)
        thread.start()
        assert home.next_word() == "asked"
        host.close()
        thread.join(LONG_S)
        assert [type(error) for error in errors] == [Timeout]
    assert home.is_dead_within(LONG_S)


def test_a_forgotten_host_takes_its_plugin_with_it(listener: Listener) -> None:
    with left_clean():
        host = PluginHost(command_for("stubborn"), LONG_S)
        host.call("echo", 1)
        family = listener.callers("plugin", "child")
        del host
        gc.collect()
        _all_dead(family)


# Programs that end


SETUP = """
import signal, sys, threading
from mcptest.plugins import PluginHost
host = PluginHost(sys.argv[1:], 30.0)
"""


@contextlib.contextmanager
def program(mode: str, text: str) -> Iterator[subprocess.Popen[bytes]]:
    """A separate program that uses a host."""
    words = [sys.executable, "-c", SETUP + text, *command_for(mode)]
    with subprocess.Popen(words, stderr=subprocess.PIPE) as process:
        try:
            yield process
        finally:
            process.kill()


def _all_dead(family: list[Caller]) -> None:
    assert [caller.name for caller in family if not caller.is_dead_within(LONG_S)] == []


def test_a_program_that_is_killed_leaves_neither_plugin_nor_its_child(
    listener: Listener,
) -> None:
    with program("stubborn", "host.call('echo', 1)\nsignal.pause()") as process:
        family = listener.callers("plugin", "child")
        process.kill()
        _all_dead(family)


def test_a_program_that_is_killed_during_a_call_leaves_no_process(listener: Listener) -> None:
    with program("stubborn", "host.call('announced')") as process:
        family = listener.callers("plugin", "child")
        leader = next(caller for caller in family if caller.name == "plugin")
        assert leader.next_word() == "asked"
        process.kill()
        _all_dead(family)


def test_a_program_with_threads_that_is_killed_ends_the_input_of_its_plugin(
    listener: Listener,
) -> None:
    """With threads there is no fork, so there is no guardian that could do more than that."""
    text = """
threading.Thread(target=signal.pause, daemon=True).start()
host.call('announced')
"""
    with program("at-home", text) as process:
        caller = listener.next_caller()
        assert caller.next_word() == "asked"
        process.kill()
        assert caller.next_word() == "end of stdin"
        assert caller.is_dead_within(LONG_S)


@pytest.mark.parametrize("is_threaded", [False, True])
def test_a_guardian_is_forked_only_without_threads(is_threaded: bool) -> None:
    """Python does not know all threads; `_thread` simulates those of libraries."""
    text = """
import _thread, signal, sys
from mcptest.transport.process.child import make_guardian
if sys.argv[1:]:
    _thread.start_new_thread(signal.pause, ())
guardian = make_guardian()
guardian.dismiss()
print(type(guardian).__name__)
"""
    words = [sys.executable, "-c", text, *(["threaded"] if is_threaded else [])]
    message = subprocess.run(words, capture_output=True, timeout=LONG_S, check=True).stdout
    assert message == (b"NoGuardian\n" if is_threaded else b"Guardian\n")


def test_a_program_that_ends_without_closing_leaves_no_process(listener: Listener) -> None:
    with program("stubborn", "host.call('echo', 1)") as process:
        family = listener.callers("plugin", "child")
        assert process.wait(LONG_S) == 0
        assert process.stderr is not None
        assert process.stderr.read() == b""
        _all_dead(family)


def test_a_fork_of_the_program_does_not_end_the_plugin_of_the_original(
    listener: Listener,
) -> None:
    text = """
import os
host.call('echo', 1)
if os.fork() == 0:
    sys.exit(0)
os.wait()
assert host.call('echo', 2).result == 2
"""
    with program("at-home", text) as process:
        caller = listener.next_caller()
        assert process.wait(LONG_S) == 0
        assert caller.is_dead_within(LONG_S)


@pytest.mark.parametrize("moment", ["the call", "the goodbye"])
def test_ctrl_c_ends_the_program_and_its_plugin(moment: str, listener: Listener) -> None:
    text = f"""
try:
    with host:
        host.call({"'announced'" if moment == "the call" else "'echo', 1"})
except KeyboardInterrupt:
    host.close()
    sys.exit(7)
"""
    with program("stubborn", text) as process:
        family = listener.callers("plugin", "child")
        leader = next(caller for caller in family if caller.name == "plugin")
        assert leader.next_word() == ("asked" if moment == "the call" else "end of stdin")
        process.send_signal(signal.SIGINT)
        if moment == "the call":
            assert leader.next_word() == "end of stdin"
            process.send_signal(signal.SIGINT)
        assert process.wait(LONG_S) == 7
        _all_dead(family)
