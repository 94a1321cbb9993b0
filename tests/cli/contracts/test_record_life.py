"""`mcptest record`: however client, server or recorder end, the others notice it."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from console import ENVIRONMENT, PATIENCE_S
from record_client import GOOD, ask, recording, script

if TYPE_CHECKING:
    from connect_back import Listener

SERVERS = Path(__file__).parents[2] / "servers"
CALLING = f"sys.path.insert(0, {str(SERVERS)!r})\nfrom connect_back import call_home\n"

# A program that ignores the end of its input and SIGTERM.
DEAF = """
signal.signal(signal.SIGTERM, signal.SIG_IGN)
write(b"up\\n")
while True:
    signal.pause()
"""


def calling(text: str) -> list[str]:
    """A server that calls home, so that its death is seen."""
    return script(CALLING + 'home = call_home("server")\n' + text)


def wait_until_no_reader_is_left(fd: int) -> None:
    os.set_blocking(fd, False)
    deadline = time.monotonic() + PATIENCE_S
    with contextlib.suppress(BrokenPipeError):
        while time.monotonic() < deadline:
            with contextlib.suppress(BlockingIOError):
                os.write(fd, b"anybody there?\n")
        raise AssertionError("somebody still reads")


# The server ends


@pytest.mark.parametrize(
    ("text", "status", "message"),
    [
        ("sys.exit(0)", 0, "exit status 0"),
        ("sys.exit(7)", 7, "exit status 7"),
        ("sys.exit(255)", 255, "exit status 255"),
        ("os.kill(os.getpid(), signal.SIGKILL)", 137, "killed by SIGKILL"),
        ("os.kill(os.getpid(), signal.SIGSEGV)", 139, "killed by SIGSEGV"),
    ],
)
def test_the_exit_status_is_the_server_s_own(
    tmp_path: Path, text: str, status: int, message: str
) -> None:
    with recording(tmp_path, command=script('write(b"last words")\n' + text)) as client:
        # The input is still open: it is the server that ends.
        assert client.line() == b"last words"
        assert client.status() == status
        capture = client.capture()
    assert (capture["exit_status"], capture["prologue"]["noise"]) == (message, ["last words"])


def test_everything_a_dead_server_had_said_is_passed_on(tmp_path: Path) -> None:
    command = script('write(b"x" * 60_000 + b"\\n")\nsys.stderr.write("gone\\n")')
    with recording(tmp_path, command=command) as client:
        assert client.error_line() == b"gone\n"
        assert client.line() == b"x" * 60_000 + b"\n"
        assert client.line() == b""
        assert client.status() == 0


FILLING = """
import select
os.set_blocking(1, False)
sent = 0
while select.select([], [1], [], 0.5)[1]:
    sent += os.write(1, b"z" * 4096)
sys.stderr.write(f"{sent}\\n")
"""


def test_everything_is_passed_on_to_a_client_that_reads_when_its_server_is_dead(
    tmp_path: Path,
) -> None:
    with recording(tmp_path, command=script(FILLING)) as client:
        sent = int(client.error_line())
        wait_until_no_reader_is_left(client.stdin.fileno())
        assert client.line() == b"z" * sent
        assert client.status() == 0


def test_a_child_that_keeps_the_pipe_of_a_dead_server_open_holds_nothing_up(
    tmp_path: Path, listener: Listener
) -> None:
    text = 'if os.fork() == 0:\n    home = call_home("child")\n    signal.pause()\nsys.exit(3)'
    with recording(tmp_path, command=script(CALLING + text), env=listener.environment) as client:
        child = listener.next_caller()
        assert client.line() == b""
        assert client.status() == 3
        assert child.is_dead_within(PATIENCE_S)


def test_a_server_that_closes_its_output_and_lives_on_still_gets_its_input(tmp_path: Path) -> None:
    command = script("os.close(1)\nsys.exit(len(sys.stdin.buffer.read()))")
    with recording(tmp_path, command=command) as client:
        assert client.line() == b""
        client.send(b"x" * 9)
        assert client.leave() == 9


def test_a_server_that_closes_its_input_is_written_to_no_more(tmp_path: Path) -> None:
    command = script('os.close(0)\nwrite(b"closed\\n")\nsignal.pause()')
    with recording(tmp_path, command=command) as client:
        assert client.line() == b"closed\n"
        wait_until_no_reader_is_left(client.stdin.fileno())
        client.process.terminate()
        assert client.status() == 143


# The client leaves


def test_the_end_of_the_input_is_passed_on_after_everything_else(tmp_path: Path) -> None:
    command = script('data = sys.stdin.buffer.read()\nwrite(b"%d" % len(data))\nsys.exit(5)')
    with recording(tmp_path, command=command) as client:
        assert client.converse(b"x" * 3_000_000) == b"3000000"
        assert client.status() == 5


@pytest.mark.long
def test_a_client_that_has_stopped_asking_still_gets_its_answer(tmp_path: Path) -> None:
    command = script("def answer(request):\n    time.sleep(3)\n    return {}\nserve(answer)")
    with recording(tmp_path, command=command) as client:
        client.send(ask(1))
        client.stdin.close()
        assert json.loads(client.line())["id"] == 1
        assert client.status() == 0


@pytest.mark.long
def test_a_server_that_ignores_the_end_of_its_input_is_terminated(tmp_path: Path) -> None:
    command = script("serve()\nsignal.pause()")
    with recording(tmp_path, command=command) as client:
        client.ask()
        assert client.leave() == 143
        assert client.errors() == ""
        assert client.capture()["exit_status"] == "killed by SIGTERM"


@pytest.mark.long
def test_a_server_that_ignores_everything_is_killed(tmp_path: Path, listener: Listener) -> None:
    with recording(tmp_path, command=calling(DEAF), env=listener.environment) as client:
        server = listener.next_caller()
        assert client.line() == b"up\n"
        assert client.leave() == 137
        assert server.is_dead_within(PATIENCE_S)
        assert client.capture()["exit_status"] == "killed by SIGKILL"


@pytest.mark.long
def test_a_client_that_reads_no_more_is_gone(tmp_path: Path) -> None:
    command = script("while True: write(b'spam\\n' * 1000)")
    with recording(tmp_path, command=command) as client:
        assert client.line() == b"spam\n"
        client.stdout.close()
        # The server does not know: its output is read as before, until it is terminated.
        assert client.status() == 143
        assert client.capture()["prologue"]["noise"][:2] == ["spam", "spam"]


CLIENT = """
import signal, subprocess, sys
server = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
server.stdin.write(b'{"jsonrpc":"2.0","id":1,"method":"ping"}\\n')
server.stdout.readline()
server.stdin.write(b'{"jsonrpc":"2.0","id":2,"method":"last"}\\n')
sys.stdout.write("answered\\n")
sys.stdout.flush()
signal.pause()
"""
HANGING = 'serve(lambda request: signal.pause() if request["method"] == "last" else {})'


@pytest.mark.long
@pytest.mark.parametrize(
    ("text", "answered"),
    [("serve()", 2), ("serve()\nsignal.pause()", 2), (HANGING, 1)],
)
def test_a_client_that_is_killed_leaves_a_capture_and_no_server(
    tmp_path: Path, listener: Listener, text: str, answered: int
) -> None:
    words = [sys.executable, "-m", "mcptest", "record", "-o", "s.json", "--", *calling(text)]
    client = subprocess.Popen(
        [sys.executable, "-c", CLIENT, *words],
        cwd=tmp_path,
        env=ENVIRONMENT | listener.environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert client.stdout
    assert client.stdout.readline() == b"answered\n"
    server = listener.next_caller()
    client.kill()
    # Standard error ends when no process is left that could write to it.
    _, errors = client.communicate(timeout=PATIENCE_S)
    assert server.is_dead_within(PATIENCE_S)
    assert errors == b""
    exchanges = json.loads((tmp_path / "s.json").read_bytes())["exchanges"]
    assert [each["request"]["id"] for each in exchanges] == [1, 2]
    assert sum("response" in each for each in exchanges) == answered


# Signals

REPORTING = """
def end(number, frame):
    say({"jsonrpc": "2.0", "method": "notifications/message", "params": {"got": number}})
    sys.exit(40 + number)
for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
    signal.signal(number, end)
serve()
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_reaches_the_server_as_it_is(tmp_path: Path, number: signal.Signals) -> None:
    with recording(tmp_path, command=script(REPORTING)) as client:
        client.ask()
        client.process.send_signal(number)
        assert json.loads(client.line())["params"] == {"got": number}
        assert client.status() == 40 + number
        (exchange,) = client.capture()["exchanges"]
    assert exchange["server_messages"][0]["params"] == {"got": number}


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_server_that_a_signal_ends_ends_us_like_that(
    tmp_path: Path, number: signal.Signals
) -> None:
    plain = script(f"signal.signal({int(number)}, signal.SIG_DFL)\nserve()")
    with recording(tmp_path, command=plain) as client:
        client.ask()
        client.process.send_signal(number)
        assert client.status() == 128 + number
        assert client.capture()["exit_status"] == f"killed by {number.name}"


@pytest.mark.long
def test_a_signal_ends_a_server_that_ignores_everything_before_a_client_loses_patience(
    tmp_path: Path, listener: Listener
) -> None:
    with recording(tmp_path, command=calling(DEAF), env=listener.environment) as client:
        server = listener.next_caller()
        assert client.line() == b"up\n"
        client.process.terminate()
        assert client.status() == 137
        assert server.is_dead_within(PATIENCE_S)
        assert client.capture()["exit_status"] == "killed by SIGKILL"


# Systems without process handles

ELSEWHERE = "import os, sys; del os.pidfd_open, os.waitid; from mcptest.cli.main import main; "


@pytest.mark.parametrize("number", [0, signal.SIGTERM])
def test_without_process_handles_the_end_is_still_noticed(tmp_path: Path, number: int) -> None:
    program = [sys.executable, "-c", ELSEWHERE + "sys.exit(main())"]
    command = script("serve(lambda request: sys.exit(6) if request['method'] == 'end' else {})")
    with recording(tmp_path, program=program, command=command) as client:
        client.ask()
        if number:
            client.process.send_signal(number)
        else:
            client.send(ask(2, "end"))
        assert client.line() == b""
        assert client.status() == (128 + number if number else 6)
        assert len(client.capture()["exchanges"]) == (1 if number else 2)


# We are killed


def test_a_killed_recorder_leaves_no_server_and_the_old_file(
    tmp_path: Path, listener: Listener
) -> None:
    (tmp_path / "s.json").write_text("old", encoding="utf-8")
    with recording(
        tmp_path, command=calling("serve()\n" + DEAF), env=listener.environment
    ) as client:
        server = listener.next_caller()
        for number in range(3):
            client.ask(number)
        (part,) = [name for name in client.names() if name != "s.json"]
        # A finished exchange is written down a moment later.
        deadline = time.monotonic() + PATIENCE_S
        while b'"id":1' not in (tmp_path / part).read_bytes():
            assert time.monotonic() < deadline
            time.sleep(0.005)
        client.process.kill()
        assert client.status() == -signal.SIGKILL
        assert server.is_dead_within(PATIENCE_S)
        assert client.names() == ["s.json", part]
    assert (part.startswith("s.json."), part.endswith(".part")) == (True, True)
    assert (tmp_path / "s.json").read_text(encoding="utf-8") == "old"
    saved = json.loads((tmp_path / part).read_text(encoding="utf-8") + "]}")
    assert [each["response"]["id"] for each in saved["exchanges"][:2]] == [0, 1]
    assert saved["server_label"].startswith("stdio://")


# Processes that a server leaves behind

FORKING = (
    CALLING
    + """
def answer(request):
    if request["method"] == "fork" and os.fork() == 0:
        if os.fork():
            os._exit(0)
        os.setsid()
        home = call_home("orphan")
        home.recv(1)
        os._exit(0)
    return {}
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
serve(answer)
"""
)


def children(pid: int) -> int:
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
        return len(file.read().split())


def test_orphans_of_the_server_end_with_it(tmp_path: Path, listener: Listener) -> None:
    with recording(tmp_path, command=script(FORKING), env=listener.environment) as client:
        client.ask(1, "fork")
        orphan = listener.next_caller()
        assert client.leave() == 0
        assert orphan.is_dead_within(PATIENCE_S)


def test_orphans_that_end_earlier_are_not_kept(tmp_path: Path, listener: Listener) -> None:
    with recording(tmp_path, command=script(FORKING), env=listener.environment) as client:
        client.ask(0)
        usual = children(client.process.pid)
        client.ask(1, "fork")
        orphan = listener.next_caller()
        orphan.let_go()
        assert orphan.is_dead_within(PATIENCE_S)
        client.ask(2)
        deadline = time.monotonic() + PATIENCE_S
        while children(client.process.pid) != usual:
            assert time.monotonic() < deadline
            time.sleep(0.005)
        assert client.leave() == 0


def test_a_recorder_whose_standard_error_is_closed_still_works(tmp_path: Path) -> None:
    words = [sys.executable, "-m", "mcptest", "record", "-o", "s.json", "--", *GOOD]
    ended = subprocess.run(
        ["sh", "-c", 'exec "$0" "$@" 2>&-', *words],
        cwd=tmp_path,
        env=ENVIRONMENT,
        input=json.dumps(ask(1)).encode() + b"\n",
        stdout=subprocess.PIPE,
        timeout=PATIENCE_S,
    )
    assert ended.returncode == 0
    assert json.loads(ended.stdout)["id"] == 1
    assert len(json.loads((tmp_path / "s.json").read_bytes())["exchanges"]) == 1


def test_a_client_on_sockets_is_served_like_one_on_pipes(tmp_path: Path) -> None:
    """Some clients give their servers sockets for standard input and output."""
    ours, theirs = socket.socketpair()
    words = [sys.executable, "-m", "mcptest", "record", "-o", "s.json", "--", *GOOD]
    process = subprocess.Popen(
        words, cwd=tmp_path, env=ENVIRONMENT, stdin=theirs.fileno(), stdout=theirs.fileno()
    )
    theirs.close()
    ours.settimeout(PATIENCE_S)
    with ours, ours.makefile("rb") as reader:
        ours.sendall(json.dumps(ask(1, text="x" * 1_000_000)).encode() + b"\n")
        assert json.loads(reader.readline())["id"] == 1
        ours.shutdown(socket.SHUT_WR)
        assert reader.read() == b""
    assert process.wait(PATIENCE_S) == 0
    assert (tmp_path / "s.json").exists()
