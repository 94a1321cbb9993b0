"""However a session ends, all answers arrive, and neither the binary nor a server is left."""

from __future__ import annotations

import json
import os
import shlex
import signal
import socket
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest
from console import ENVIRONMENT, PATIENCE_S
from exec_client import NOBODY, connected, exec_words, fault_server, request

if TYPE_CHECKING:
    from pathlib import Path

    from connect_back import Caller, Listener

CALL = request("mcp.call", {"tool": "echo", "arguments": {"text": "x"}}, 7)
LONG_S = 30.0
# More than a pipe holds.
LARGE = "x" * 300_000


def assert_dead(*callers: Caller) -> None:
    assert [caller.name for caller in callers if not caller.is_dead_within(LONG_S)] == []


# In peace


def test_the_end_of_input_ends_the_server_and_then_the_binary(
    tmp_path: Path, listener: Listener
) -> None:
    with connected(tmp_path, fault_server("announced"), **listener.environment) as sdk:
        sdk.text("echo", text="x")
        server = listener.next_caller()
        sdk.stdin.close()
        words = [server.next_word() for _ in range(4)]
        assert words == ["initialize", "notifications/initialized", "tools/call", "end of stdin"]
        server.let_go()
        assert sdk.process.wait(PATIENCE_S) == 0
        assert_dead(server)


@pytest.mark.long
def test_goodbye_is_answered_and_ends_everything_while_the_input_is_open(
    tmp_path: Path, listener: Listener
) -> None:
    with connected(tmp_path, fault_server("ignore-term"), **listener.environment) as sdk:
        sdk.text("echo", text="x")
        server = listener.next_caller()
        assert sdk.ask("mcp.shutdown") == {}
        assert sdk.line() == b""
        assert sdk.process.wait(PATIENCE_S) == 0
        assert_dead(server)


def test_a_server_with_child_processes_leaves_no_process_behind(
    tmp_path: Path, listener: Listener
) -> None:
    modes = {"fork-hold": "holder", "own-session": "own-session", "daemon": "daemon"}
    for mode, name in modes.items():
        with connected(tmp_path, fault_server(mode), **listener.environment) as sdk:
            sdk.text("echo", text="x")
            (child,) = listener.callers(name)
            assert sdk.ask("mcp.shutdown") == {}
            assert sdk.process.wait(PATIENCE_S) == 0
            assert_dead(child)


def test_an_sdk_that_asks_nothing_costs_nothing(tmp_path: Path) -> None:
    with connected(tmp_path, NOBODY) as sdk:
        ended = sdk.leave()
    assert (ended.code, ended.out, ended.err) == (0, "", "")


@pytest.mark.parametrize("redirection", ["< /dev/null", "<&-"])
def test_an_input_that_is_empty_or_closed_is_at_its_end(tmp_path: Path, redirection: str) -> None:
    command = f'exec "$@" {redirection}'
    done = subprocess.run(
        ["sh", "-c", command, "sh", *exec_words(NOBODY)],
        cwd=tmp_path,
        env=ENVIRONMENT,
        capture_output=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_an_sdk_that_has_closed_its_input_still_gets_all_answers(tmp_path: Path) -> None:
    with connected(tmp_path, fault_server("good")) as sdk:
        call = request("mcp.call", {"tool": "echo", "arguments": {"text": LARGE}})
        lines = [json.dumps(call | {"id": number}).encode() + b"\n" for number in range(5)]
        sdk.send(b"".join(lines))
        sdk.stdin.close()
        answers = [sdk.answer() for _ in lines]
        assert [answer["id"] for answer in answers] == list(range(5))
        assert all(answer["result"]["content"][0]["text"] == LARGE for answer in answers)
        assert sdk.line() == b""
        assert sdk.process.wait(PATIENCE_S) == 0


def test_a_call_that_is_under_way_is_finished_for_an_sdk_that_has_closed_its_input(
    tmp_path: Path, listener: Listener
) -> None:
    """The input ends while the server has not answered yet."""
    with connected(
        tmp_path, fault_server("silent"), "--timeout", "500ms", **listener.environment
    ) as sdk:
        sdk.send(CALL, request("mcp.listTools", None, 8))
        listener.next_caller()
        sdk.stdin.close()
        assert sdk.answer()["error"]["data"]["kind"] == "timeout"
        assert sdk.answer()["result"]["tools"][0]["name"] == "echo"
        assert sdk.process.wait(PATIENCE_S) == 0


@pytest.mark.long
def test_a_server_that_never_answers_is_stopped_after_the_input_has_ended(
    tmp_path: Path, listener: Listener
) -> None:
    """The SDK may still read: it was not answered, and is not left without an end."""
    server = f"sleep 1000 & echo $! > pid; exec {fault_server('announced-silent')}"
    command = shlex.join(["sh", "-c", server])
    with connected(tmp_path, command, **listener.environment) as sdk:
        sdk.send(CALL, request("mcp.listTools", None, 8))
        process = listener.next_caller()
        assert process.next_word() == "tools/call"
        sdk.stdin.close()
        began = time.monotonic()
        assert sdk.line() == b""
        assert sdk.process.wait(PATIENCE_S) == 0
        # The time for the answer, and that for the server to end.
        assert time.monotonic() - began < 5.0 + 9.0
        assert sdk.process.stderr
        assert b"did not answer within 5 s" in sdk.process.stderr.read()
        assert_dead(process)
        child = int((tmp_path / "pid").read_text(encoding="ascii"))
        with pytest.raises(ProcessLookupError):
            os.kill(child, 0)


# SDKs that leave


def test_an_sdk_that_leaves_in_the_middle_of_a_call_is_not_waited_for(
    tmp_path: Path, listener: Listener
) -> None:
    with connected(tmp_path, fault_server("announced-silent"), **listener.environment) as sdk:
        sdk.send(CALL)
        server = listener.next_caller()
        assert server.next_word() == "tools/call"
        sdk.stdin.close()
        sdk.stdout.close()
        assert sdk.process.wait(PATIENCE_S) == 0
        assert_dead(server)


def test_an_sdk_that_leaves_through_a_socket_is_not_waited_for_either(
    tmp_path: Path, listener: Listener
) -> None:
    """Some languages give their children sockets for pipes, which end in another way."""
    (ours_in, its_in), (ours_out, its_out) = socket.socketpair(), socket.socketpair()
    with subprocess.Popen(
        exec_words(fault_server("announced-silent")),
        cwd=tmp_path,
        env=ENVIRONMENT | listener.environment,
        stdin=its_in.fileno(),
        stdout=its_out.fileno(),
    ) as process:
        its_in.close()
        its_out.close()
        try:
            ours_in.sendall(json.dumps(CALL).encode() + b"\n")
            server = listener.next_caller()
            assert server.next_word() == "tools/call"
            ours_in.close()
            ours_out.close()
            assert process.wait(PATIENCE_S) == 0
            assert_dead(server)
        finally:
            process.kill()


def test_an_sdk_that_stops_reading_and_leaves_is_noticed(
    tmp_path: Path, listener: Listener
) -> None:
    with connected(tmp_path, fault_server("announced"), **listener.environment) as sdk:
        call = request("mcp.call", {"tool": "echo", "arguments": {"text": LARGE}})
        sdk.send(call, call)
        server = listener.next_caller()
        words = [server.next_word() for _ in range(3)]
        assert words[-1] == "tools/call", "the second waits until the first answer is taken"
        server.let_go()
        sdk.stdin.close()
        sdk.stdout.close()
        assert sdk.process.wait(PATIENCE_S) == 0
        assert_dead(server)


PROGRAM = """
import subprocess, sys, time
process = subprocess.Popen(sys.argv[2:], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
process.stdin.write(sys.argv[1].encode() + b"\\n")
process.stdin.flush()
print(process.stdout.readline() if "mcp.listTools" in sys.argv[1] else "", flush=True)
time.sleep(600)
"""


@pytest.mark.parametrize("method", ["mcp.listTools", "mcp.call"])
def test_an_sdk_that_is_killed_leaves_neither_the_binary_nor_the_server(
    tmp_path: Path, listener: Listener, method: str
) -> None:
    """At rest, and in the middle of a call."""
    line = json.dumps(CALL if method == "mcp.call" else request(method))
    words = [sys.executable, "-c", PROGRAM, line, *exec_words(fault_server("announced-silent"))]
    with subprocess.Popen(
        words,
        cwd=tmp_path,
        env=ENVIRONMENT | listener.environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as program:
        try:
            server = listener.next_caller()
            assert program.stdout
            program.stdout.readline()
            if method == "mcp.call":
                assert server.next_word() == "tools/call"
        finally:
            program.kill()
        assert_dead(server)
        # The binary holds the other end of this pipe, which closes when the binary ends.
        program.communicate(timeout=PATIENCE_S)


# Signals


@pytest.mark.long
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("mode", ["announced-silent", "ignore-eof"])
def test_a_signal_ends_the_server_and_then_the_binary(
    tmp_path: Path, listener: Listener, number: signal.Signals, mode: str
) -> None:
    with connected(tmp_path, fault_server(mode), **listener.environment) as sdk:
        if mode == "announced-silent":
            sdk.send(CALL)
            server = listener.next_caller()
            assert server.next_word() == "tools/call"
        else:
            sdk.text("echo", text="x")
            server = listener.next_caller()
        ended = sdk.signal(number)
        assert (ended.code, ended.out, "Traceback" in ended.err) == (130, "", False)
        assert_dead(server)


def test_a_signal_without_a_server_ends_the_binary(tmp_path: Path) -> None:
    with connected(tmp_path, NOBODY) as sdk:
        assert sdk.ask("mcp.reporter.flush") == {"flushed": 0}
        ended = sdk.signal(signal.SIGTERM)
        assert (ended.code, ended.out, ended.err) == (130, "", "")


def test_a_binary_that_is_killed_takes_the_server_with_it(
    tmp_path: Path, listener: Listener
) -> None:
    with connected(tmp_path, fault_server("ignore-term"), **listener.environment) as sdk:
        sdk.text("echo", text="x")
        server = listener.next_caller()
        assert sdk.signal(signal.SIGKILL).code == -signal.SIGKILL
        assert_dead(server)


# What a server inherits


def test_a_server_has_no_end_of_the_channel(tmp_path: Path) -> None:
    """The server would not notice that the SDK has left, and might write into the frames."""
    with connected(tmp_path, fault_server("descriptors")) as sdk:
        sdk.text("echo", text="x")
        pipe_of_ours = os.fstat(sdk.stdout.fileno()).st_ino
        children = [
            int(name)
            for name in os.listdir("/proc")
            if name.isdigit() and _parent(int(name)) == sdk.process.pid
        ]
        assert children
        for child in children:
            inodes = {
                os.stat(f"/proc/{child}/fd/{fd}").st_ino for fd in os.listdir(f"/proc/{child}/fd")
            }
            assert pipe_of_ours not in inodes


def _parent(pid: int) -> int:
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
            return int(file.read().rpartition(")")[2].split()[1])
    except OSError:
        return 0
