"""The server behind a relay: started with our own stderr, known to the guardian.

`mcptest.wire.stdio` takes all three pipes of a server; this one keeps its hands off stderr,
and leaves it to the relay to move the bytes of the other two.
"""

from __future__ import annotations

import contextlib
import os

from mcptest.core.errors import ServerError
from mcptest.core.outcome import Evidence, Fault
from mcptest.core.text import visible
from mcptest.wire.child import start
from mcptest.wire.sweep import MARK_VARIABLE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcptest.wire.child import Child
    from mcptest.wire.guardian import Guardian

__all__ = ["RelayedProcess"]


class RelayedProcess:
    """One server process, its pipes and its end."""

    def __init__(self, command: Sequence[str], guardian: Guardian) -> None:
        self.guardian = guardian
        self.mark = guardian.next_mark()
        self.has_exited = False
        self._process = _started(command, self.mark)
        self.pid = self._process.pid
        self.stdin, self.stdout = self._process.stdin, self._process.stdout
        guardian.watch(self.pid)
        for fd in (self.stdin, self.stdout):
            os.set_blocking(fd, False)
        # Readable once the process has ended; elsewhere than on Linux it has to be asked.
        self.pidfd = self._process.open_handle()

    def look_for_exit(self) -> None:
        """Where there is no handle to wait on: ask whether it has ended."""
        if not self.has_exited:
            self.has_exited = self._process.poll() is not None

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
            # Forgotten first, as in `mcptest.wire.stdio`.
            stdin, self.stdin = self.stdin, -1
            os.close(stdin)

    def signal_group(self, number: int) -> None:
        """Signal the whole group. It is led by a process we have not reaped yet."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, number)

    def exit_code(self) -> int | None:
        """How the process ended (negative: by that signal), once it has been reaped."""
        return self._process.exit_code

    def reap(self) -> None:
        """Take the exit status and let go of every handle."""
        # A process that not even KILL ended (stuck in the kernel) stays the guardian's.
        if self.has_exited:
            self._process.wait()
            self.guardian.release(self.pid)
        self.close_stdin()
        self._process.close_outputs()
        if self.pidfd >= 0:
            os.close(self.pidfd)
            self.pidfd = -1


def _started(command: Sequence[str], mark: str) -> Child:
    try:
        return start(command, {**os.environ, MARK_VARIABLE: mark}, with_stderr=False)
    except (OSError, ValueError) as error:
        raise ServerError(_fault(command, error)) from None


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
