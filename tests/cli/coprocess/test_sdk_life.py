"""The life of a coprocess: when it starts, who may use it, and that no process is left behind."""

from __future__ import annotations

import contextlib
import gc
import os
import shlex
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from connect_back import PORT_VARIABLE, Caller, Listener
from processes import has_ended
from scripted_binary import SILENCE, hello, scripted

from mcptest.sdk.arguments import ServerArguments
from mcptest.sdk.coprocess import Coprocess
from mcptest.sdk.errors import BinaryError, CoprocessError, OverdueError
from mcptest.transport.line_program import LinePeer
from mcptest.transport.process.stopping import list_unknown_children

SERVERS = Path(__file__).parents[2] / "servers"
SERVER = [sys.executable, "-S", "-E", str(SERVERS / "sdk_server.py")]
PATIENCE_S = 30.0


# Child processes that tests of other modules keep for later tests.
_KEPT_CHILDREN: set[int] = set()


def children() -> list[int]:
    return list_unknown_children(_KEPT_CHILDREN)


@pytest.fixture(autouse=True)
def left_clean() -> Iterator[None]:
    """What was started in a test has ended after it, and no pipe is open any more."""
    _KEPT_CHILDREN.update(list_unknown_children(set()))
    before = _descriptors()
    yield
    gc.collect()
    assert children() == []
    assert _descriptors() == before


def _descriptors() -> int:
    count = 0
    for fd in os.listdir("/proc/self/fd"):
        with contextlib.suppress(FileNotFoundError):
            count += not os.readlink(f"/proc/self/fd/{fd}").startswith("socket:")
    return count


def call(tool: str, **arguments: Any) -> dict[str, Any]:
    return {"tool": tool, "arguments": arguments}


def text_of(result: dict[str, Any]) -> str:
    return str(result["content"][0]["text"])


def binary_of(caller: Caller) -> int:
    """The process that started this server."""
    return int(caller.name.removeprefix("server of "))


@pytest.fixture
def home(listener: Listener, monkeypatch: pytest.MonkeyPatch) -> Listener:
    monkeypatch.setenv(PORT_VARIABLE, listener.environment[PORT_VARIABLE])
    return listener


# Starting


def test_nothing_starts_before_the_first_request() -> None:
    with Coprocess(SERVER):
        assert children() == []


def test_the_binary_can_be_started_ahead_of_it() -> None:
    with Coprocess(SERVER) as coprocess:
        coprocess.start()
        assert coprocess.binary_version
        assert children()


def test_a_server_is_given_a_folder_and_variables_on_top_of_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OURS", "seen")
    with Coprocess(SERVER, cwd=str(tmp_path), env={"THEIRS": "${OURS}"}) as coprocess:
        ask = coprocess.request
        assert text_of(ask("mcp.call", call("cwd"))) == str(tmp_path)
        assert text_of(ask("mcp.call", call("env", name="OURS"))) == "seen"
        assert text_of(ask("mcp.call", call("env", name="THEIRS"))) == "${OURS}"


def test_variables_for_the_server_do_not_affect_the_binary(monkeypatch: pytest.MonkeyPatch) -> None:
    """A PYTHONHOME that only the server can live with would end the binary."""
    monkeypatch.delenv("PYTHONHOME", raising=False)
    command = ["sh", "-c", "unset PYTHONHOME; exec " + shlex.join(SERVER)]
    with Coprocess(command, env={"PYTHONHOME": "/nowhere"}) as coprocess:
        assert coprocess.request("mcp.initialize")["serverInfo"]["name"] == "sdk"


@pytest.mark.parametrize("has_memory", [True, False])
def test_no_file_is_left_where_a_config_was_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, has_memory: bool
) -> None:
    if not has_memory:
        monkeypatch.delattr("os.memfd_create", raising=False)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    with Coprocess(SERVER, env={"A": "b"}) as coprocess:
        coprocess.start()
        assert list(tmp_path.iterdir()) == []
    monkeypatch.setenv("MCPTEST_BIN", "false")
    with Coprocess(SERVER, env={"A": "b"}) as coprocess, pytest.raises(BinaryError):
        coprocess.start()
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_takes_no_file_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    # Where memory has no path.
    monkeypatch.delattr("os.memfd_create", raising=False)
    monkeypatch.setenv("TMPDIR", "/nowhere")
    words = "cannot be written to /nowhere: No such file or directory; set TMPDIR"
    server = ServerArguments(command=tuple(SERVER), client={"roots": []})
    with Coprocess(server=server) as coprocess, pytest.raises(BinaryError, match=words):
        coprocess.start()


# Sharing


def test_threads_that_share_it_queue() -> None:
    answers: dict[int, str] = {}

    def ask(number: int) -> None:
        for turn in range(5):
            said = f"{number} {turn}"
            answer = coprocess.request("mcp.call", call("echo", text=said))
            answers[number] = "wrong" if text_of(answer) != said else answers.get(number, "right")

    with Coprocess(SERVER) as coprocess:
        threads = [threading.Thread(target=ask, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(PATIENCE_S)
    assert answers == dict.fromkeys(range(8), "right")


def test_a_forked_process_must_open_a_coprocess_of_its_own() -> None:
    with Coprocess(SERVER) as coprocess:
        coprocess.start()
        reader, writer = os.pipe()
        pid = os.fork()
        if pid == 0:
            try:
                coprocess.request("mcp.initialize")
            except CoprocessError as error:
                os.write(writer, str(error).encode())
            coprocess.close()
            os._exit(0)
        os.close(writer)
        os.waitpid(pid, 0)
        with open(reader, encoding="utf-8") as words:
            message = words.read()
        assert message.startswith("this connection belongs to the process that opened it")
        # The parent is not affected.
        assert coprocess.request("mcp.initialize")["serverInfo"]["name"] == "sdk"


# Ending


def test_closing_ends_the_server_and_the_binary(home: Listener) -> None:
    coprocess = Coprocess(SERVER)
    coprocess.request("mcp.initialize")
    server = home.next_caller()
    coprocess.close()
    assert server.is_dead_within(PATIENCE_S)
    assert children() == []


def test_closing_twice_is_closing_once() -> None:
    coprocess = Coprocess(SERVER)
    coprocess.close()
    coprocess = Coprocess(SERVER)
    coprocess.request("mcp.initialize")
    coprocess.close()
    coprocess.close()
    with pytest.raises(CoprocessError, match="this connection has been left"):
        coprocess.request("mcp.initialize")


def test_a_waiting_call_raises_when_another_thread_closes_the_coprocess(home: Listener) -> None:
    message: list[BaseException] = []
    coprocess = Coprocess(SERVER)

    def hang() -> None:
        try:
            coprocess.request("mcp.call", call("hang"))
        except CoprocessError as error:
            message.append(error)

    thread = threading.Thread(target=hang)
    thread.start()
    server = home.next_caller()
    assert server.next_word() == "hangs"
    coprocess.close()
    thread.join(PATIENCE_S)
    assert [str(error) for error in message] == ["closed before mcp.call was answered"]
    assert server.is_dead_within(PATIENCE_S)


def test_a_coprocess_that_is_never_closed_leaves_no_process_behind(home: Listener) -> None:
    coprocess: Coprocess | None = Coprocess(SERVER)
    assert coprocess is not None
    coprocess.request("mcp.initialize")
    server = home.next_caller()
    binary = binary_of(server)
    coprocess = None
    gc.collect()
    assert server.is_dead_within(PATIENCE_S)
    assert has_ended(binary)


def test_an_answer_that_does_not_arrive_ends_the_channel(home: Listener) -> None:
    with Coprocess(SERVER) as coprocess:
        coprocess.request("mcp.initialize")
        server = home.next_caller()
        for _ in range(2):
            with pytest.raises(OverdueError) as caught:
                coprocess.request("mcp.call", call("hang"), timeout=0.2)
        words = "the mcptest binary did not answer mcp.call within 0.2 s; it may have "
        words += "taken effect anyway"
        assert str(caught.value) == words
        assert server.is_dead_within(PATIENCE_S)


def test_ctrl_c_ends_the_call_and_the_server_at_once(home: Listener) -> None:
    coprocess = Coprocess(SERVER)
    coprocess.request("mcp.initialize")
    server = home.next_caller()

    def press() -> None:
        if server.next_word() == "hangs":
            os.kill(os.getpid(), signal.SIGINT)

    finger = threading.Thread(target=press)
    finger.start()
    with pytest.raises(KeyboardInterrupt):
        coprocess.request("mcp.call", call("hang"))
    finger.join(PATIENCE_S)
    assert server.is_dead_within(PATIENCE_S)
    with pytest.raises(CoprocessError, match=r"mcp\.call was given up \(KeyboardInterrupt\)"):
        coprocess.request("mcp.initialize")
    coprocess.close()


def test_ctrl_c_the_moment_a_request_is_sent_ends_the_server_as_well(
    home: Listener, monkeypatch: pytest.MonkeyPatch
) -> None:
    coprocess = Coprocess(SERVER)
    coprocess.request("mcp.initialize")
    server = home.next_caller()
    send = LinePeer.send

    def interrupted(peer: LinePeer, line: bytes) -> None:
        send(peer, line)
        raise KeyboardInterrupt

    monkeypatch.setattr(LinePeer, "send", interrupted)
    with pytest.raises(KeyboardInterrupt):
        coprocess.request("mcp.call", call("hang"))
    assert server.is_dead_within(PATIENCE_S)
    with pytest.raises(CoprocessError, match=r"mcp\.call was given up \(KeyboardInterrupt\)"):
        coprocess.request("mcp.initialize")
    coprocess.close()


def test_a_request_that_cannot_be_sent_leaves_the_channel_usable(home: Listener) -> None:
    with Coprocess(SERVER) as coprocess:
        coprocess.request("mcp.initialize")
        with pytest.raises(TypeError):
            coprocess.request("mcp.call", {"tool": "count", "arguments": {"n": object()}})
        assert coprocess.request("mcp.call", call("count"))


PROGRAM = """
import sys
from mcptest.sdk.coprocess import Coprocess
coprocess = Coprocess(sys.argv[1:])
coprocess.request("mcp.call", {"tool": "hang", "arguments": {}})
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_program_that_is_killed_leaves_no_process_behind(
    home: Listener, number: signal.Signals
) -> None:
    program = subprocess.Popen([sys.executable, "-c", PROGRAM, *SERVER])
    server = home.next_caller()
    binary = binary_of(server)
    assert server.next_word() == "hangs"
    program.send_signal(number)
    program.wait(PATIENCE_S)
    assert server.is_dead_within(PATIENCE_S)
    assert has_ended(binary)


def test_a_program_that_just_ends_leaves_no_process_behind(home: Listener) -> None:
    quick = PROGRAM.replace('"hang"', '"count"')
    program = subprocess.Popen([sys.executable, "-c", quick, *SERVER], stderr=subprocess.PIPE)
    server = home.next_caller()
    _, stderr = program.communicate(timeout=PATIENCE_S)
    assert (program.returncode, stderr) == (0, b"")
    assert server.is_dead_within(PATIENCE_S)


def test_a_binary_that_stays_is_ended_by_force(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in scripted(tmp_path, hello(2), SILENCE).items():
        monkeypatch.setenv(name, value)
    coprocess = Coprocess(SERVER)
    coprocess.start()
    with pytest.raises(OverdueError):
        coprocess.request("mcp.initialize", timeout=0.2)
    coprocess.close()
    assert children() == []
