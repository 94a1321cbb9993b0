"""Start a process with pipes to it, and learn how it ended.

What `subprocess` would do for us is little, and importing it takes a twelfth of a run of one
test. So a process is started by `posix_spawn`, wherever that can do what is wanted; it cannot
change the folder, and our own may be changed for a moment only while nobody else looks.
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


# Ignored in every Python process, and expected to be as usual in every other.
_AS_USUAL = (signal.SIGPIPE, signal.SIGXFSZ)

_MISSING = (FileNotFoundError, NotADirectoryError)

_OPEN_FILES = "/proc/self/fd"
_THREADS = "/proc/self/task"


class Child:
    """A process of ours: its id, our ends of its pipes, and its end once it was waited for."""

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
        """How it ended, which has to be certain to come."""
        return self._collect(0)

    def close_outputs(self) -> None:
        """Close the pipes on which it speaks; doing so twice does no harm."""
        while self._outputs:
            os.close(self._outputs.pop())

    def open_handle(self) -> int:
        """What becomes readable when it has ended; -1 where it has to be asked instead."""
        try:
            return os.pidfd_open(self.pid)
        except (AttributeError, OSError):
            # Elsewhere than on Linux; or whoever ignores the ends of children has none by now.
            return -1

    def _collect(self, options: int) -> int | None:
        if self.exit_code is None:
            try:
                pid, status = os.waitpid(self.pid, options)
            except ChildProcessError:
                # Somebody has waited for all children there are, and knows what we never will.
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
    """The process, in a session of its own; OSError or ValueError when it cannot be started.

    It has no open file of ours but the pipes, and our stderr if it gets none of its own.
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
    """The id of a process in a session of its own, which has no open file of ours but these.

    They become its stdin, stdout and stderr; whatever there are fewer than three it shares with
    us. OSError or ValueError when it cannot be started.
    """
    if "" in environment:
        # Nobody can ask for it, and `posix_spawn` takes it for a mistake.
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
    """Whether `posix_spawn` can give the process these streams, and nothing else."""
    if inherited is None or (inherited and max(inherited) >= os.sysconf("SC_OPEN_MAX")):
        # It refuses to close what could not be opened any more.
        return False
    # With one of the standard three closed, a pipe may be where another is to be put.
    return min(streams) > 2


def _inherited() -> list[int] | None:
    """The open files that every process of ours would get; None when nobody knows them."""
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
    """Whether this process has one thread, so that nobody sees it change its folder."""
    return len(os.listdir(_THREADS)) == 1


@contextlib.contextmanager
def _folder(path: str) -> Iterator[None]:
    # One may be in a folder that one may not read.
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
                setsigdef=_AS_USUAL,
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
    """The files that a command may mean, by the PATH of whoever is to run it."""
    if os.path.dirname(program):
        return [program]
    found = [os.path.join(folder, program) for folder in os.get_exec_path(environment)]
    # Asking first is cheaper than a process that finds nothing to become.
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
    # It is waited for here, and must not complain that it was not.
    process.returncode = 0
    return process.pid


# The null device, also where there is none: in a bare chroot or container without /dev.


def open_null() -> int:
    """A descriptor that can be read from, where there is nothing, and written to."""
    try:
        return os.open(os.devnull, os.O_RDWR)
    except (FileNotFoundError, PermissionError):
        if not hasattr(os, "memfd_create"):
            raise
        # An empty file in memory. Very little is ever written to it.
        return os.memfd_create("mcptest-null")
