"""A program on a system that has what Windows has, and nothing else.

`windows.py WORDS…` is `mcptest WORDS…`, `windows.py pytest WORDS…` is `pytest WORDS…`, and
`windows.py python FILE` runs a file.

* Modules and attributes that Windows lacks are missing, and `sys.platform` says "win32".
* `select.select` takes sockets only, at least one and at most 512 of each kind, reports failed
  connections as the third kind of event, and signals wait until it returns.
* `signal.signal` accepts the few signals of Windows; Ctrl-Break is SIGQUIT here.
* `socket.socketpair` is a connection over TCP; there are no Unix sockets.
* Files that are open, here or in the process that started this one, cannot be renamed, replaced or
  removed.
* `time.monotonic` advances in steps of 1/64 s.
* `msvcrt` exists, and of kernel32 the timers and the mode of a console, which notes in the
  terminal that it begins to interpret escape sequences.

Paths are still those of this system.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib
import io
import os
import runpy
import select
import selectors
import signal
import socket
import stat
import subprocess
import sys
import sysconfig
import time
import types
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

# The standard library itself decides by the platform what it imports: that is done before.
EARLY = (
    "asyncio concurrent.futures ctypes fcntl glob http.client multiprocessing pathlib shutil "
    "socket ssl subprocess tempfile urllib.request uuid webbrowser"
)
MODULES = "fcntl grp posix pty pwd readline resource termios tty"
OF_OS = (
    "O_CLOEXEC O_DIRECTORY O_NOFOLLOW O_NONBLOCK O_PATH P_ALL P_PID WEXITED WEXITSTATUS WIFEXITED "
    "WIFSIGNALED WNOHANG WNOWAIT WTERMSIG fchdir fork forkpty getegid geteuid getgid getpgid "
    "getpgrp getuid killpg memfd_create mkfifo openpty pidfd_open pipe2 posix_spawn posix_spawnp "
    "register_at_fork sched_getaffinity sched_yield set_blocking setpgid setsid sysconf uname wait "
    "wait3 wait4 waitid"
)
OF_SELECT = "PIPE_BUF POLLERR POLLHUP POLLIN POLLNVAL POLLOUT epoll kqueue poll"
OF_SIGNAL = (
    "ITIMER_REAL ITIMER_VIRTUAL SIGALRM SIGCHLD SIGCONT SIGHUP SIGKILL SIGPIPE SIGQUIT SIGSTOP "
    "SIGTSTP SIGUSR1 SIGUSR2 SIGVTALRM SIGXFSZ alarm getitimer pthread_kill pthread_sigmask "
    "setitimer siginterrupt sigwait"
)
OF_SOCKET = "AF_UNIX SO_REUSEPORT TCP_QUICKACK recv_fds send_fds"

CTRL_BREAK = signal.SIGQUIT
SIGNALS = {"SIGABRT", "SIGFPE", "SIGILL", "SIGINT", "SIGSEGV", "SIGTERM", "SIGQUIT"}

WSAEINVAL, WSAENOTSOCK = 10022, 10038
FD_SETSIZE = 512
CLOCK_HZ = 64
CONSOLE_MODE, VIRTUAL_TERMINAL = 3, 4
ESCAPES_NOTE = b"(escape sequences from here on)"


def leave_posix() -> None:
    """Remove what Windows does not have, and add what it has instead."""
    for name in EARLY.split():
        importlib.import_module(name)
    sysconfig.get_config_vars()
    # What the additions need is taken before it is removed.
    additions: list[tuple[Any, str, Any]] = [
        (select, "select", windows_select()),
        (signal, "signal", windows_signal()),
        (signal, "SIGBREAK", CTRL_BREAK),
        (socket, "socketpair", windows_socketpair),
        (socket, "SO_EXCLUSIVEADDRUSE", socket.SO_REUSEADDR),
        (selectors, "DefaultSelector", selectors.SelectSelector),
        *((os, name, refusing_open_files(getattr(os, name))) for name in FILE_FUNCTIONS),
        (os, "O_BINARY", 0),
        (os, "O_NOINHERIT", 0),
        (subprocess.Popen, "kill", windows_kill(signal.SIGKILL)),
        (time, "monotonic", coarse(time.monotonic)),
        (ctypes, "WinDLL", windows_library()),
        (ctypes, "get_last_error", lambda: 0),
        (ctypes, "WinError", OSError),
        # For pytest.
        (io, "_WindowsConsoleIO", type("_WindowsConsoleIO", (), {})),
    ]
    msvcrt = windows_msvcrt()
    for name in MODULES.split():
        sys.modules[name] = None  # type: ignore[assignment]  # importing it is an ImportError
    sys.modules["msvcrt"] = msvcrt
    removed = ((os, OF_OS), (select, OF_SELECT), (signal, OF_SIGNAL), (socket, OF_SOCKET))
    for module, names in removed:
        for name in names.split():
            if hasattr(module, name):
                delattr(module, name)
    for owner, name, value in additions:
        setattr(owner, name, value)
    sys.platform = "win32"


def windows_select() -> Callable[..., Any]:
    usual, make_poll, mask = select.select, select.poll, signal.pthread_sigmask
    failure = select.POLLERR
    waiting = {getattr(signal, name) for name in SIGNALS}

    def number(of: Any) -> int:
        return of if isinstance(of, int) else of.fileno()

    def has_failed(of: Any) -> bool:
        poll = make_poll()
        poll.register(number(of), 0)
        return any(events & failure for _, events in poll.poll(0))

    def select_sockets(
        readers: Iterable[Any], writers: Iterable[Any], failed: Iterable[Any], wait_s: Any = None
    ) -> tuple[list[Any], list[Any], list[Any]]:
        kinds = [list(readers), list(writers), list(failed)]
        if not any(kinds):
            raise OSError(WSAEINVAL, "An invalid argument was supplied")
        for kind in kinds:
            if len(kind) > FD_SETSIZE:
                raise ValueError("too many file descriptors in select()")
            if not all(stat.S_ISSOCK(os.fstat(number(each)).st_mode) for each in kind):
                raise OSError(WSAENOTSOCK, "Something is not a socket")
        before = mask(signal.SIG_BLOCK, waiting)
        try:
            can_read, can_write, _ = usual(kinds[0], [*kinds[1], *kinds[2]], [], wait_s)
            broken = [each for each in kinds[2] if each in can_write and has_failed(each)]
            able = [each for each in kinds[1] if each in can_write and each not in broken]
            return can_read, able, broken
        finally:
            mask(signal.SIG_SETMASK, before)

    return select_sockets


def windows_signal() -> Callable[..., Any]:
    usual = signal.signal
    accepted = {getattr(signal, name) for name in SIGNALS}

    def set_handler(number: int, handler: Any) -> Any:
        if number not in accepted:
            raise ValueError("signal number out of range")
        return usual(number, handler)

    return set_handler


def windows_socketpair(*_: object) -> tuple[socket.socket, socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        first = socket.create_connection(listener.getsockname())
        second, _address = listener.accept()
    return first, second


def windows_kill(number: int) -> Callable[[Any], None]:
    def kill(process: subprocess.Popen[Any]) -> None:
        if process.poll() is None:
            os.kill(process.pid, number)

    return kill


FILE_FUNCTIONS = ("remove", "rename", "replace", "unlink")


def refusing_open_files(usual: Callable[..., None]) -> Callable[..., None]:
    def change(path: Any, *others: Any, **options: Any) -> None:
        for each in (path, *others):
            if is_open(each):
                raise PermissionError(13, "Permission denied", str(path))
        usual(path, *others, **options)

    return change


def is_open(path: Any) -> bool:
    """Whether this process or its parent has a file open; where that cannot be seen, False."""
    try:
        wanted = os.lstat(path)
    except OSError:
        return False
    for pid in (os.getpid(), os.getppid()):
        folder = f"/proc/{pid}/fd"
        for number in os.listdir(folder) if os.path.isdir(folder) else ():
            with contextlib.suppress(OSError):
                if os.path.samestat(os.stat(f"{folder}/{number}"), wanted):
                    return True
    return False


def coarse(clock: Callable[[], float]) -> Callable[[], float]:
    return lambda: int(clock() * CLOCK_HZ) / CLOCK_HZ


def windows_msvcrt() -> types.ModuleType:
    import fcntl  # noqa: PLC0415  # it cannot be imported later

    usual, exclusive = fcntl.lockf, fcntl.LOCK_EX | fcntl.LOCK_NB

    def locking(fd: int, mode: int, count: int) -> None:
        assert (mode, count) == (module.LK_NBLCK, 1)
        try:
            usual(fd, exclusive, count)
        except BlockingIOError:
            raise PermissionError(13, "Permission denied") from None

    module: Any = types.ModuleType("msvcrt")
    module.LK_NBLCK, module.locking = 2, locking
    module.get_osfhandle = lambda fd: fd
    return module  # type: ignore[no-any-return]  # it has attributes of its own


def get_console_mode(handle: Any, mode: Any) -> int:
    ctypes.cast(mode, ctypes.POINTER(ctypes.c_uint32))[0] = CONSOLE_MODE
    return int(os.isatty(handle.value))


def set_console_mode(handle: Any, mode: Any) -> int:
    assert mode.value == CONSOLE_MODE | VIRTUAL_TERMINAL
    os.write(handle.value, ESCAPES_NOTE)
    return 1


def windows_library() -> Callable[..., Any]:
    """The timers of kernel32, by a timer of this system.

    On Windows a thread of the system calls the function, also while no thread of Python can run.
    Here the handler of a signal does, which is called while `re` searches just as well.
    """
    timers: set[int] = set()
    set_timer, which = signal.setitimer, signal.ITIMER_REAL
    interrupt = ctypes.pythonapi.PyErr_SetInterruptEx
    signals: dict[int, int] = {}

    def fire(_number: int, _frame: object) -> None:
        for each in set(signals.values()):
            interrupt(each)

    signal.signal(signal.SIGALRM, fire)

    class Function:
        """A function of a library, whose types are declared."""

        def __init__(self, call: Callable[..., int]) -> None:
            self.argtypes: tuple[Any, ...] = ()
            self._call = call

        def __call__(self, *given: Any) -> int:
            assert len(given) == len(self.argtypes)
            return self._call(*given)

    def create(
        timer: Any, queue: None, call: Any, value: Any, due_ms: int, period_ms: int, flags: int
    ) -> int:
        assert (queue, flags) == (None, 0)
        assert call.value == ctypes.cast(interrupt, ctypes.c_void_p).value
        number = max(timers, default=0) + 1
        timers.add(number)
        signals[number] = value.value
        ctypes.cast(timer, ctypes.POINTER(ctypes.c_void_p))[0] = number
        set_timer(which, due_ms / 1000, period_ms / 1000)
        return 1

    def delete(queue: None, timer: Any, _event: Any) -> int:
        assert queue is None
        timers.remove(timer.value)
        del signals[timer.value]
        if not timers:
            set_timer(which, 0)
        return 1

    class Library:
        def __init__(self, name: str, *, use_last_error: bool) -> None:
            assert name == "kernel32"
            self.CreateTimerQueueTimer = Function(create)
            self.DeleteTimerQueueTimer = Function(delete)
            self.GetConsoleMode, self.SetConsoleMode = get_console_mode, set_console_mode

    return Library


if __name__ == "__main__":
    if sys.argv[1:2] == ["pytest"]:
        import pytest

        leave_posix()
        sys.exit(pytest.main(sys.argv[2:]))
    leave_posix()
    if sys.argv[1:2] == ["python"]:
        runpy.run_path(sys.argv[2], run_name="__main__")
        sys.exit()

    from mcptest.cli.start import mcptest_command

    mcptest_command()
