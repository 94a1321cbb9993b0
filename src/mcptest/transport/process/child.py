"""Start a process with pipes to it, and get its exit status.

Importing `subprocess` takes a twelfth of a run of one test, so a process is started by
`posix_spawn` where that can do what is wanted. It cannot change the folder; ours is changed for a
moment if this process has only one thread.
"""

from __future__ import annotations

import contextlib
import errno
import os
import signal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

__all__ = ["Child", "candidates", "open_null", "spawn", "start"]


# Python ignores these; other programs expect the default.
_DEFAULT_SIGNALS = (signal.SIGPIPE, signal.SIGXFSZ)

_MISSING = (FileNotFoundError, NotADirectoryError)

_OPEN_FILES = "/proc/self/fd"
_THREADS = "/proc/self/task"


class Child:
    """A process: its id, our ends of its pipes, and its exit code once it was waited for."""

    def __init__(self, pid: int, pipes: list[int]) -> None:
        self.pid = pid
        self.stdin, self.stdout = pipes[:2]
        self.stderr = pipes[2] if len(pipes) > 2 else -1
        self._outputs = pipes[1:]
        # Negative: by that signal.
        self.exit_code: int | None = None

    def poll(self) -> int | None:
        """How it ended; None while it runs."""
        return self._collect(os.WNOHANG)

    def wait(self) -> int | None:
        """How it ended. Blocks until it has."""
        return self._collect(0)

    def close_outputs(self) -> None:
        """Close the pipes of its output; a second call is a no-op."""
        while self._outputs:
            os.close(self._outputs.pop())

    def open_handle(self) -> int:
        """A descriptor that is readable once it has ended; -1 where there is none."""
        try:
            return os.pidfd_open(self.pid)
        except (AttributeError, OSError):
            # Not Linux, or SIGCHLD is ignored and the process has ended already.
            return -1

    def _collect(self, options: int) -> int | None:
        if self.exit_code is None:
            try:
                pid, status = os.waitpid(self.pid, options)
            except ChildProcessError:
                # Other code in this process has waited for all children, and took the status.
                self.exit_code = 0
            else:
                self.exit_code = os.waitstatus_to_exitcode(status) if pid else None
        return self.exit_code


def start(
    command: Sequence[str],
    environment: Mapping[str, str],
    cwd: str = "",
    *,
    with_stderr: bool = True,
) -> Child:
    """Start a process in a session of its own; OSError or ValueError if that is impossible.

    It inherits no open file except the pipes, and our stderr if it gets none of its own.
    """
    # Of each pipe their end and our end.
    ends: list[tuple[int, int]] = []
    try:
        its_stdin, stdin = os.pipe()
        ends.append((its_stdin, stdin))
        for _ in range(1 + with_stderr):
            output, its_output = os.pipe()
            ends.append((its_output, output))
        pid = spawn(command, environment, [theirs for theirs, _ in ends], cwd)
    except BaseException:
        for _, ours in ends:
            os.close(ours)
        raise
    finally:
        for theirs, _ in ends:
            os.close(theirs)
    return Child(pid, [ours for _, ours in ends])


def spawn(
    command: Sequence[str], environment: Mapping[str, str], streams: Sequence[int], cwd: str = ""
) -> int:
    """Start a process in a session of its own, which inherits no open file except these; its id.

    They become its stdin, stdout and stderr; those that are missing it shares with us. OSError or
    ValueError if it cannot be started.
    """
    if "" in environment:
        # No program can read it, and `posix_spawn` rejects it.
        environment = {name: value for name, value in environment.items() if name}
    is_here = not cwd or _is_here(cwd)
    inherited = _inherited()
    if _can_spawn(streams, inherited) and (is_here or _is_alone()):
        # Not every system lets `posix_spawn` make a session.
        folder = contextlib.nullcontext() if is_here else _folder(cwd)
        with contextlib.suppress(NotImplementedError), folder:
            return _spawned(command, environment, streams, inherited or ())
    return _spawned_by_library(command, environment, streams, cwd)


def _can_spawn(streams: Sequence[int], inherited: Sequence[int] | None) -> bool:
    """True if `posix_spawn` can give the process these streams, and nothing else."""
    if inherited is None or (inherited and max(inherited) >= os.sysconf("SC_OPEN_MAX")):
        # It refuses to close descriptors above the limit.
        return False
    # With one of the standard three closed, a pipe may be where another is to be put.
    return min(streams) > 2


def _inherited() -> list[int] | None:
    """The open files that a process would inherit; None if they cannot be listed."""
    try:
        names = os.listdir(_OPEN_FILES)
    except OSError:
        return None
    return [fd for fd in map(int, names) if fd > 2 and _is_inheritable(fd)]


def _is_here(path: str) -> bool:
    try:
        return os.path.abspath(path) == os.getcwd()
    except OSError:
        # Our own folder is gone; the other one may still be there.
        return False


def _is_alone() -> bool:
    """True if this process has one thread, so that it can change its folder unnoticed."""
    return len(os.listdir(_THREADS)) == 1


@contextlib.contextmanager
def _folder(path: str) -> Iterator[None]:
    # The current folder may not be readable.
    before = os.open(".", getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY)
    try:
        os.chdir(path)
        yield
    finally:
        os.fchdir(before)
        os.close(before)


def _spawned(
    command: Sequence[str],
    environment: Mapping[str, str],
    streams: Sequence[int],
    inherited: Sequence[int],
) -> int:
    actions: list[tuple[int, ...]] = [(os.POSIX_SPAWN_CLOSE, fd) for fd in inherited]
    actions += [(os.POSIX_SPAWN_DUP2, stream, fd) for fd, stream in enumerate(streams)]
    why_not: OSError = FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
    for program in candidates(command[0], environment):
        try:
            return os.posix_spawn(
                program,
                tuple(command),
                environment,
                file_actions=actions,
                setsid=True,
                setsigdef=_DEFAULT_SIGNALS,
            )
        except OSError as error:
            # Another folder may have one that can be started. If none has, the reason is that of
            # the first that was there.
            why_not = error if isinstance(why_not, _MISSING) else why_not
    raise why_not


def _is_inheritable(fd: int) -> bool:
    try:
        return os.get_inheritable(fd)
    except OSError:
        return False


def candidates(program: str, environment: Mapping[str, str]) -> list[str]:
    """The files that a command may mean, by the PATH of its environment."""
    if os.path.dirname(program):
        return [program]
    found = [os.path.join(folder, program) for folder in os.get_exec_path(environment)]
    # Checking first is cheaper than a failed spawn.
    return [path for path in found if os.path.exists(path)]


def _spawned_by_library(
    command: Sequence[str], environment: Mapping[str, str], streams: Sequence[int], cwd: str
) -> int:
    import subprocess  # noqa: PLC0415  # see above

    stdin, stdout, *stderr = streams
    process = subprocess.Popen(
        command,
        stdin=stdin,
        stdout=stdout,
        stderr=stderr[0] if stderr else None,
        cwd=cwd or None,
        env=environment,
        start_new_session=True,
    )
    # Its exit status is taken here; Popen must not warn that it was not.
    process.returncode = 0
    return process.pid


def open_null() -> int:
    """A descriptor of the null device, also in a container without /dev."""
    try:
        return os.open(os.devnull, os.O_RDWR)
    except (FileNotFoundError, PermissionError):
        if not hasattr(os, "memfd_create"):
            raise
        # An empty file in memory. Very little is ever written to it.
        return os.memfd_create("mcptest-null")
