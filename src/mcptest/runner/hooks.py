"""Run the commands that a case wants before and after itself.

A hook is a process like a server: in a group of its own, known to the guardian, bounded in
time. What it leaves running belongs to the case, and ends with it.
"""

from __future__ import annotations

import time

from mcptest.core.errors import ServerError
from mcptest.core.outcome import Fault
from mcptest.core.plan import ServerSpec
from mcptest.core.text import visible
from mcptest.runner import faults
from mcptest.wire.stdio import StdioServer
from mcptest.wire.stopping import describe_exit, stop

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mcptest.core.dialogue import Hook
    from mcptest.runner.launcher import Launcher

__all__ = ["Hooks"]

# How long the last hook of an interrupted run may take.
_LAST_S = 3.0


class Hooks:
    """The hooks of one case; `close` ends whatever they left running.

    They have the environment of the run, and with it the secrets of the server.
    """

    def __init__(
        self, launcher: Launcher, cwd: str, limit_s: float, secrets: tuple[str, ...] = ()
    ) -> None:
        self._launcher = launcher
        self._cwd = cwd
        self._limit_s = limit_s
        self._secrets = secrets
        self._started: list[StdioServer] = []

    def run_last(self, hook: Hook) -> None:
        """Run a hook although the run has been told to stop; it must be quick then."""
        self._limit_s = min(self._limit_s, _LAST_S)
        self.run(hook, heed_interrupts=False)

    def run(self, hook: Hook, *, heed_interrupts: bool = True) -> Fault | None:
        """Run a hook to its end; what went wrong, if anything did."""
        spec = ServerSpec(name=hook.key, command=hook.command, cwd=self._cwd, secrets=self._secrets)
        try:
            process = StdioServer(spec, self._launcher.guardian, self._launcher.interrupts)
        except ServerError as error:
            return error.fault.but(kind="hook_failed", message=f"{hook.key}: {error.fault.message}")
        self._started.append(process)
        process.close_stdin()
        deadline = time.monotonic() + self._limit_s
        has_ended = process.wait_for_exit(deadline, heed_interrupts=heed_interrupts)
        if not has_ended:
            return self._overdue(hook, process)
        code = process.peek_exit_code()
        return None if code == 0 else self._failed(hook, process, describe_exit(code))

    def _overdue(self, hook: Hook, process: StdioServer) -> Fault:
        fault = Fault(
            kind="hook_failed",
            message=f"{hook.key} ({visible(hook.command[0])}) did not end within "
            f"{faults.seconds(self._limit_s)}",
            hint="what must keep running has to go to the background; it ends with the case",
        )
        return faults.with_evidence(fault, process)

    def _failed(self, hook: Hook, process: StdioServer, how: str) -> Fault:
        message = f"{hook.key} ({visible(hook.command[0])}) failed: {how}"
        return faults.with_evidence(Fault(kind="hook_failed", message=message), process, how)

    def close(self) -> None:
        """End what the hooks left running."""
        for process in reversed(self._started):
            stop(process, self._launcher.grace, at_once=True)
        self._started = []
