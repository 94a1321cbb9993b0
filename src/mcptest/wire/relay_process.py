"""The server behind a relay: started with our own stderr, known to the guardian.

`mcptest.wire.stdio` takes all three pipes of a server; this one keeps its hands off stderr,
and leaves it to the relay to move the bytes of the other two. It does without `subprocess`,
whose import would take a quarter of the time until the server is started.
"""

from __future__ import annotations

import contextlib
import os
import signal

from mcptest.core.errors import ServerError
from mcptest.core.outcome import Evidence, Fault
from mcptest.core.visible import visible
from mcptest.wire.sweep import MARK_VARIABLE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcptest.wire.guardian import Guardian

__all__ = ["RelayedProcess"]

# Ignored in every Python process, and expected to be as usual in every other.
_AS_USUAL = (signal.SIGPIPE, signal.SIGXFSZ)


class RelayedProcess:
    """One server process, its pipes and its end."""

    def __init__(self, command: Sequence[str], guardian: Guardian) -> None:
        self.guardian = guardian
        self.mark = guardian.next_mark()
        self.has_exited = False
        self._exit_code: int | None = None
        self.pid, self.stdin, self.stdout = _start(command, self.mark)
        guardian.watch(self.pid)
        for fd in (self.stdin, self.stdout):
            os.set_blocking(fd, False)
        # Readable once the process has ended; elsewhere than on Linux it has to be asked.
        self.pidfd = os.pidfd_open(self.pid) if hasattr(os, "pidfd_open") else -1

    def look_for_exit(self) -> None:
        """Where there is no handle to wait on: ask whether it has ended."""
        if not self.has_exited:
            self._collect(os.WNOHANG)

    def reap_adopted(self) -> None:
        """Orphans of the server become our children; those that have ended are let go."""
        if not hasattr(os, "waitid"):
            return
        with contextlib.suppress(ChildProcessError):
            while found := os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT):
                if found.si_pid == self.pid:
                    return
                os.waitpid(found.si_pid, 0)

    def close_stdin(self) -> None:
        """Tell the server that nothing more will come."""
        if self.stdin >= 0:
            os.close(self.stdin)
            self.stdin = -1

    def signal_group(self, number: int) -> None:
        """Signal the whole group. It is led by a process we have not reaped yet."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, number)

    def exit_code(self) -> int | None:
        """How the process ended (negative: by that signal), once it has been reaped."""
        return self._exit_code

    def reap(self) -> None:
        """Take the exit status and let go of every handle."""
        # A process that not even KILL ended (stuck in the kernel) stays the guardian's.
        if self.has_exited:
            self._collect(0)
            self.guardian.release(self.pid)
        self.close_stdin()
        os.close(self.stdout)
        if self.pidfd >= 0:
            os.close(self.pidfd)
            self.pidfd = -1

    def _collect(self, options: int) -> None:
        if self._exit_code is None:
            pid, status = os.waitpid(self.pid, options)
            if pid:
                self.has_exited = True
                self._exit_code = os.waitstatus_to_exitcode(status)


def _start(command: Sequence[str], mark: str) -> tuple[int, int, int]:
    """The server, in a session of its own; its id, and our ends of its stdin and stdout."""
    its_stdin, stdin = os.pipe()
    stdout, its_stdout = os.pipe()
    try:
        pid = os.posix_spawnp(
            command[0],
            tuple(command),
            {**os.environ, MARK_VARIABLE: mark},
            file_actions=[
                (os.POSIX_SPAWN_DUP2, its_stdin, 0),
                (os.POSIX_SPAWN_DUP2, its_stdout, 1),
            ],
            setsid=True,
            setsigdef=_AS_USUAL,
        )
    except (OSError, ValueError) as error:
        raise ServerError(_fault(command, error)) from None
    finally:
        os.close(its_stdin)
        os.close(its_stdout)
    return pid, stdin, stdout


def _fault(command: Sequence[str], error: OSError | ValueError) -> Fault:
    why = error.strerror if isinstance(error, OSError) else str(error)
    return Fault(
        kind="spawn_failed",
        message=f"cannot start {visible(command[0])!r}: {why}",
        hint=_hint(error),
        evidence=Evidence(command=tuple(command)),
    )


def _hint(error: OSError | ValueError) -> str:
    if isinstance(error, FileNotFoundError):
        return "is it installed, and on the PATH that the client gives to its servers?"
    if isinstance(error, PermissionError):
        return "is it a program, and executable? Or name its interpreter first"
    return ""
