"""A program on a system without what POSIX has and Windows has not.

`windows.py WORDS…` is `mcptest WORDS…`, `windows.py pytest WORDS…` is `pytest WORDS…`, and
`windows.py python FILE` runs a file.

Modules are missing, attributes of modules are missing, and `sys.platform` says "win32". Paths are
still those of this system.
"""

from __future__ import annotations

import importlib
import io
import os
import runpy
import select
import signal
import sys
import sysconfig

# The standard library itself decides by the platform what it imports: that is done before.
EARLY = (
    "asyncio concurrent.futures ctypes glob http.client multiprocessing pathlib shutil "
    "socket ssl subprocess tempfile urllib.request uuid webbrowser"
)
MODULES = "fcntl grp posix pty pwd readline resource termios tty"
OF_OS = (
    "O_CLOEXEC O_DIRECTORY O_NOFOLLOW O_NONBLOCK O_PATH P_ALL P_PID WEXITED WEXITSTATUS WIFEXITED "
    "WIFSIGNALED WNOHANG WNOWAIT WTERMSIG fork forkpty getegid geteuid getgid getpgid getpgrp "
    "getuid killpg memfd_create mkfifo openpty pidfd_open pipe2 posix_spawn posix_spawnp "
    "register_at_fork sched_getaffinity sched_yield setpgid setsid sysconf uname wait wait3 wait4 "
    "waitid"
)
OF_SELECT = "PIPE_BUF POLLERR POLLHUP POLLIN POLLNVAL POLLOUT epoll poll"
OF_SIGNAL = (
    "ITIMER_REAL ITIMER_VIRTUAL SIGALRM SIGCHLD SIGCONT SIGHUP SIGKILL SIGPIPE SIGQUIT SIGSTOP "
    "SIGTSTP SIGUSR1 SIGUSR2 SIGVTALRM SIGXFSZ alarm getitimer pthread_sigmask setitimer sigwait"
)


def leave_posix() -> None:
    """Remove what Windows does not have."""
    for name in EARLY.split():
        importlib.import_module(name)
    sysconfig.get_config_vars()
    for name in MODULES.split():
        sys.modules[name] = None  # type: ignore[assignment]  # importing it is an ImportError
    for module, names in ((os, OF_OS), (select, OF_SELECT), (signal, OF_SIGNAL)):
        for name in names.split():
            if hasattr(module, name):
                delattr(module, name)
    # For pytest.
    io._WindowsConsoleIO = type("_WindowsConsoleIO", (), {})  # type: ignore[attr-defined]
    sys.platform = "win32"


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
