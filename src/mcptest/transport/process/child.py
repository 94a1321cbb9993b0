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
import sys
import time

from mcptest.core.text import visible
from mcptest.transport import IS_WINDOWS, URL_INSTEAD, refuse_windows
from mcptest.transport.process.stopping import (
    MARK_VARIABLE,
    STARTING_S,
    adopt_orphans,
    kill_marked,
    kill_orphans,
    list_unknown_children,
    wait_until_gone,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import NoReturn

__all__ = [
    "Child",
    "Guardian",
    "NoGuardian",
    "NoInterrupts",
    "candidates",
    "make_guardian",
    "open_null",
    "start",
]


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
    refuse_windows(f"starting {visible(os.path.basename(command[0]))}", URL_INSTEAD)
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
    is_here = not cwd
    # Our own folder may be gone, and the other one still be there.
    with contextlib.suppress(OSError):
        is_here = is_here or os.path.abspath(cwd) == os.getcwd()
    inherited = _list_inherited()
    if _can_spawn(streams, inherited) and (is_here or len(os.listdir(_THREADS)) == 1):
        # With one thread, this process can change its folder unnoticed.
        # Not every system lets `posix_spawn` make a session.
        folder = contextlib.nullcontext() if is_here else _change_folder(cwd)
        with contextlib.suppress(NotImplementedError), folder:
            return _spawn_with_posix(command, environment, streams, inherited or ())
    return _spawn_with_subprocess(command, environment, streams, cwd)


def _can_spawn(streams: Sequence[int], inherited: Sequence[int] | None) -> bool:
    """True if `posix_spawn` can give the process these streams, and nothing else."""
    if inherited is None or (inherited and max(inherited) >= os.sysconf("SC_OPEN_MAX")):
        # It refuses to close descriptors above the limit.
        return False
    # With one of the standard three closed, a pipe may be where another is to be put.
    return min(streams) > 2


def _list_inherited() -> list[int] | None:
    """The open files that a process would inherit; None if they cannot be listed."""
    try:
        names = os.listdir(_OPEN_FILES)
    except OSError:
        return None
    found = []
    for fd in map(int, names):
        # The one that lists them is closed by now.
        with contextlib.suppress(OSError):
            if fd > 2 and os.get_inheritable(fd):
                found.append(fd)
    return found


@contextlib.contextmanager
def _change_folder(path: str) -> Iterator[None]:
    # The current folder may not be readable.
    before = os.open(".", getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY)
    try:
        os.chdir(path)
        yield
    finally:
        os.fchdir(before)
        os.close(before)


def _spawn_with_posix(
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
                # Python ignores these; other programs expect the default.
                setsigdef=(signal.SIGPIPE, signal.SIGXFSZ),
            )
        except OSError as error:
            # Another folder may have one that can be started. If none has, the reason is that of
            # the first that was there.
            why_not = error if isinstance(why_not, _MISSING) else why_not
    raise why_not


def candidates(program: str, environment: Mapping[str, str]) -> list[str]:
    """The files that a command may mean, by the PATH of its environment."""
    if os.path.dirname(program):
        return [program]
    found = [os.path.join(folder, program) for folder in os.get_exec_path(environment)]
    # Checking first is cheaper than a failed spawn.
    return [path for path in found if os.path.exists(path)]


def _spawn_with_subprocess(
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


# One small process per run that kills the servers if this process is killed.
#
# When this process is killed with -9 it cannot end the servers it started. The guardian can: it
# reads from a pipe which process groups start and end, and when the pipe closes before the run has
# said that all is cleaned up, it kills what is left.
#
# The guardian is a shell, which costs a millisecond. A fork of this process would cost six, because
# each page of memory is then copied before it is changed; it is used where there is no shell.

_SHELL = "/bin/sh"

# Reads `+12` when group 12 starts, `-12` when it has ended, and `.` when all is cleaned up. Without
# the last it kills the groups that are left, and executes the command that finds marked processes.
_GUARD = r"""
trap '' INT TERM HUP PIPE
groups=' '
while read -r word; do
    group=${word#[-+]}
    case $word in
        .) exit 0 ;;
        +*) groups="$groups$group " ;;
        -*) groups="${groups%% $group *} ${groups#* $group }" ;;
    esac
done
for group in $groups; do kill -s KILL -- "-$group"; done
exec "$@"
"""
_SWEEP = """
import sys
sys.path.insert(0, sys.argv[1])
from mcptest.transport.process.stopping import STARTING_S, kill_marked
kill_marked(sys.argv[2], pause_s=STARTING_S)
"""
_PACKAGES = os.path.abspath(__file__).rsplit(os.sep, 4)[0]

_ALL_CLEAN = b".\n"

# How long the guardian may take to kill what is left.
_END_S = 5.0


class Guardian:
    """The guardian of a run, and the process groups it knows to be alive."""

    def __init__(self, *, adopts_orphans: bool = False) -> None:
        self.mark = _make_mark()
        self.groups: set[int] = set()
        # True if all of them were killed, so that their exit status says nothing about them.
        self.has_killed_all = False
        # Names of other programs that were started: an orphan without our mark may be of any of
        # them, or of a server.
        self.suspects: set[str] = set()
        self._servers = 0
        # Only if all our children are known: a shell that became us by `exec` may have left us
        # its own.
        self._may_adopt = adopts_orphans and not list_unknown_children(set())
        # True if orphaned descendants are re-parented to this process, so /proc need not be
        # searched.
        self.adopts_orphans = False
        reader, self._writer = os.pipe()
        self._pid = _start_guard(reader, self.mark)
        os.close(reader)

    def next_mark(self) -> str:
        """The mark for the environment of the next server."""
        self._servers += 1
        if self._may_adopt and self._servers == 1:
            # Before it is started: it may leave a process behind at once.
            self.adopts_orphans = adopt_orphans()
        return f"{self.mark}{self._servers}/"

    def watch(self, group: int) -> None:
        self.groups.add(group)
        self._send(f"+{group}\n".encode())

    def list_orphans(self) -> list[int]:
        """Orphans of servers that became our children."""
        return list_unknown_children({self._pid, *self.groups}) if self.adopts_orphans else []

    def kill_orphans(self, but: set[int]) -> dict[int, str]:
        return kill_orphans({self._pid, *self.groups, *but}) if self.adopts_orphans else {}

    def release(self, group: int) -> None:
        self.groups.discard(group)
        self._send(f"-{group}\n".encode())

    def let_go(self) -> None:
        """In a fork of this process: close the pipe, so that the guardian sees the original end."""
        os.close(self._writer)

    def kill_all(self) -> None:
        """Kill every group at once."""
        self.has_killed_all = True
        for group in tuple(self.groups):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(group, signal.SIGKILL)

    def dismiss(self) -> None:
        """End the guardian: all is cleaned up."""
        self._send(_ALL_CLEAN if not self.groups else b"")
        os.close(self._writer)
        wait_until_gone([self._pid], time.monotonic() + _END_S)
        with contextlib.suppress(ChildProcessError, ProcessLookupError):
            # Not reaped yet, so this can hit only the guardian, should it be stuck.
            os.kill(self._pid, signal.SIGKILL)
            os.waitpid(self._pid, 0)

    def _send(self, words: bytes) -> None:
        # A guardian that was killed must not end the run.
        with contextlib.suppress(BrokenPipeError):
            os.write(self._writer, words)


def _make_mark() -> str:
    # A run inside a server of another run is found by the other run's mark as well.
    above = os.environ.get(MARK_VARIABLE, "")
    return f"{above}{os.getpid()}-{os.urandom(8).hex()}/"


def _start_guard(reader: int, mark: str) -> int:
    """Start the guardian, which reads from the pipe; its process id."""
    sweep = (sys.executable or "", "-P", "-S", "-c", _SWEEP, _PACKAGES, mark)
    null = open_null()
    try:
        command = (_SHELL, "-c", _GUARD, "mcptest-guardian", *sweep)
        return spawn(command, os.environ, (reader, null, null))
    except OSError:
        # There is no shell. A fork is safe: no thread has been started yet.
        pid = os.fork()
        if pid == 0:
            _guard(reader, mark)
        return pid
    finally:
        os.close(null)


def _guard(reader: int, mark: str) -> NoReturn:
    """The forked guardian from start to end. It never returns into the code it was forked from."""
    try:
        os.setsid()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE):
            signal.signal(number, signal.SIG_IGN)
        # The readers of our output must see its end when we end, not when the guardian does.
        null = open_null()
        for standard in (0, 1, 2):
            os.dup2(null, standard)
        os.closerange(3, reader)
        os.closerange(reader + 1, 65536)
        groups: set[int] = set()
        line = b""
        with open(reader, "rb") as lines:
            for line in lines:
                if line != _ALL_CLEAN:
                    (groups.add if line[:1] == b"+" else groups.discard)(int(line[1:]))
        if line != _ALL_CLEAN:
            for group in groups:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.killpg(group, signal.SIGKILL)
            kill_marked(mark, but=os.getpid(), pause_s=STARTING_S)
    finally:
        os._exit(0)


# Stand-ins for programs other than a run, such as one that uses the SDK: it handles signals itself,
# and may have threads, beside which it must not be forked.


class NoInterrupts:
    """No signals are counted: they raise where the program waits."""

    fd = -1
    count = 0
    stopped_s = 0.0


class NoGuardian:
    """No process outlives us; a server sees the end of its input when we end in any way."""

    adopts_orphans = False
    has_killed_all = False

    def __init__(self) -> None:
        self.mark = _make_mark()
        self.suspects: set[str] = set()

    def next_mark(self) -> str:
        return f"{self.mark}1/"

    def watch(self, group: int) -> None:
        """No-op: there is no guardian to notify."""

    def release(self, group: int) -> None:
        """No-op: there is no guardian to notify."""

    def list_orphans(self) -> list[int]:
        return []

    def kill_orphans(self, but: set[int]) -> dict[int, str]:
        return {}

    def dismiss(self) -> None:
        """No-op: there is no guardian to end."""


def make_guardian() -> Guardian | NoGuardian:
    """A guardian for this process, unless it has threads and must not be forked.

    On Windows no server is started, so there is nothing to guard.
    """
    return NoGuardian() if IS_WINDOWS or _has_threads() else Guardian()


def _has_threads() -> bool:
    try:
        # Threads of libraries, which Python does not know, count as well.
        return len(os.listdir("/proc/self/task")) > 1
    except OSError:
        import threading  # noqa: PLC0415  # a plain run never asks

        return threading.active_count() > 1
