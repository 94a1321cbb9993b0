"""Processes that end when they should not, and others that do not when they should."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time

from connect_back import PORT_VARIABLE, call_home
from good_server import mode, on, serve, write

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from good_server import Message


@mode
def exit_(status: str, words: str = "") -> None:
    """Ends at once with this status, after some words on stderr."""
    write(words.encode(), 2)
    os._exit(int(status))


@mode
def die(name: str, words: str = "") -> None:
    """Ends at once by this signal."""
    write(words.encode(), 2)
    _die(name)


@on("initialize")
def exit_on_initialize(request: Message, line: bytes, words: str) -> None:
    write(words.encode(), 2)
    os._exit(3)


@on("tools/call")
def exit_on_call(request: Message, line: bytes, status: str, words: str = "") -> None:
    write(words.encode(), 2)
    os._exit(int(status))


@on("tools/call")
def die_on_call(request: Message, line: bytes, name: str) -> None:
    _die(name)


@on("tools/call")
def exit_after_answer(request: Message, line: bytes) -> None:
    write(line)
    os._exit(0)


@mode
def ignore_eof() -> None:
    """Keeps running when its stdin has ended; SIGTERM ends it."""
    home = call_home("ignore-eof")
    serve()
    _live_on()
    home.close()


@mode
def ignore_term() -> None:
    """Keeps running when its stdin has ended, and ignores SIGTERM."""
    _be_stubborn()
    home = call_home("ignore-term")
    serve()
    _live_on()
    home.close()


@mode
def fork_hold() -> None:
    """Leaves a child behind that holds all its pipes."""
    _fork(lambda: None, "holder")
    serve()


@on("tools/call")
def fork_hold_exit(request: Message, line: bytes) -> None:
    """Ends during a call while a child of it holds the pipes."""
    _fork(lambda: None, "holder")
    os._exit(0)


@mode
def own_session() -> None:
    """Leaves a child behind that has made a session of its own."""
    _fork(os.setsid, "own-session")
    serve()


@mode
def unmarked() -> None:
    """Leaves a child behind whose environment is empty; only its process group gives it away."""
    words = (sys.executable, "-S", "-E", sys.argv[0], "lodger", os.environ[PORT_VARIABLE])
    if os.fork() == 0:
        os.execve(words[0], words, {})
    serve({"tools/call": lambda _: None})


@mode
def lodger(port: str) -> None:
    """Calls this port and lives until it is killed."""
    home = call_home("lodger", port)
    _live_on()
    home.close()


@mode
def daemon() -> None:
    """Leaves a daemon behind: two forks and a session away from us."""
    _daemonise("daemon")
    serve()


@mode
def refork(call: str = "answered") -> None:
    """Leaves a process behind that is replaced by its own child every millisecond.

    All of them share one connection, so its end proves that the last of them has ended.
    """
    home = call_home("refork")
    if os.fork() == 0:
        for standard in (0, 1, 2):
            os.close(standard)
        # Not forever: each generation may stay a zombie until it is reaped.
        for _ in range(3000):
            if os.fork():
                os._exit(0)
            os.setsid()
            time.sleep(0.001)
        signal.alarm(30)
        _live_on()
    home.close()
    serve({"tools/call": lambda _: None} if call == "silent" else None)


@mode
def launcher() -> None:
    """Ends at once when its stdin ends; its child notices that and takes a moment to end."""
    reader, writer = os.pipe()
    if os.fork() == 0:
        os.close(writer)
        home = call_home("child")
        os.read(reader, 1)
        threading.Event().wait(0.05)
        home.close()
        os._exit(0)
    os.close(reader)
    serve()


@mode
def family() -> None:
    """The worst of all: stubborn and silent, with three kinds of offspring."""
    _be_stubborn()
    _fork(_be_stubborn, "child")
    _fork(os.setsid, "own-session")
    _daemonise("daemon")
    home = call_home("leader")
    serve({"tools/call": lambda _: home.sendall(b"called\n")})
    home.sendall(b"end of stdin\n")
    _live_on()


def _daemonise(name: str) -> None:
    if os.fork() == 0:
        os.setsid()
        _fork(lambda: None, name)
        os._exit(0)
    os.wait()


def _fork(prepare: Callable[[], object], name: str) -> None:
    """A child that prepares itself, calls home and lives until it is killed."""
    ready_reader, ready_writer = os.pipe()
    if os.fork() == 0:
        prepare()
        home = call_home(name)
        os.write(ready_writer, b"!")
        _live_on()
        home.close()
    # The process to be left behind must exist before the server answers.
    os.read(ready_reader, 1)
    os.close(ready_reader)
    os.close(ready_writer)


def _be_stubborn() -> None:
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)


def _live_on() -> None:
    while True:
        signal.pause()


def _die(name: str) -> None:
    os.kill(os.getpid(), signal.Signals[name])


@on("notifications/farewell")
def die_on_notification(request: Message, line: bytes, status: str) -> None:
    os._exit(int(status))


@on("tools/call")
def answer_and_exit(request: Message, line: bytes, status: str) -> None:
    write(line)
    os._exit(int(status))


_TRACELESS = """
import signal, socket, sys
home = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
home.sendall(b"traceless\\n")
signal.pause()
"""


@on("tools/call")
def leave_no_trace(request: Message, line: bytes) -> None:
    """Leaves a daemon in a session of its own, whose environment is empty."""
    words = [sys.executable, "-S", "-E", "-c", _TRACELESS, os.environ[PORT_VARIABLE]]
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            # It must not hold the pipes of the server either.
            null = os.open(os.devnull, os.O_RDWR)
            for standard in (0, 1, 2):
                os.dup2(null, standard)
            os.execve(sys.executable, words, {})
        os._exit(0)
    os.wait()
    write(line)
