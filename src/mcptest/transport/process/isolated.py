"""Judge a large answer in a forked child, which can be killed at any moment.

On a large string the engine of `re` checks for signals so seldom that no timer can stop it in time.
A forked child has the answer already, costs a few milliseconds, and can be killed at its deadline
or on Ctrl-C. Windows has no fork: there the answer is sent to another interpreter
(`mcptest.transport.process.spawned`).
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
import time
import warnings
from functools import partial

from mcptest.core.errors import CheckError, EndedError, InterruptedRunError, PatternTimeoutError
from mcptest.core.results import Fault
from mcptest.transport import READABLE, wait_ready

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import NoReturn, TypeVar

    from mcptest.engine.server import Launcher

    T = TypeVar("T")

__all__ = ["judge_in_child", "silence_fork_warnings"]

_GRACE_S = 1.0
_EXIT_S = 0.5

# The exit status of a child in which our own code failed.
_OUR_FAULT = 93


def judge_in_child(
    judge: Callable[[], tuple[T, ...]], limit_s: float, launcher: Launcher
) -> tuple[T, ...]:
    """What `judge` finds within this time; PatternTimeoutError if it takes longer."""
    found: tuple[T, ...] | Fault
    if sys.platform == "win32":
        from mcptest.transport.process.spawned import call_apart  # noqa: PLC0415  # only there

        found = call_apart(partial(_judge_or_fault, judge), limit_s, launcher.interrupts)
    else:
        found = _judge_forked(judge, limit_s, launcher)
    if isinstance(found, Fault):
        raise CheckError(found)
    return found


def _judge_forked(
    judge: Callable[[], tuple[T, ...]], limit_s: float, launcher: Launcher
) -> tuple[T, ...] | Fault:
    assert sys.platform != "win32"
    # Answers of this size are rare; other runs do not pay for the import.
    import pickle  # noqa: PLC0415

    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        _run_child(judge, limit_s, writer)
    os.close(writer)
    # A group of its own, so that the guardian can end it if we are killed. Both sides do this: it
    # is a group before either needs it to be.
    with contextlib.suppress(OSError):
        os.setpgid(child, child)
    launcher.guardian.watch(child)
    try:
        raw = _read_all(reader, limit_s, launcher.interrupts.fd)
        if not raw:
            _wait_for_end(child)
    finally:
        os.close(reader)
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        launcher.guardian.release(child)
    if not raw:
        raise _make_error(status)
    found: tuple[T, ...] | Fault = pickle.loads(raw)
    return found


def _wait_for_end(child: int) -> None:
    """Wait a moment for a child that sent nothing, so that its own status can be reported."""
    assert sys.platform != "win32"
    deadline = time.monotonic() + _EXIT_S
    while hasattr(os, "waitid") and time.monotonic() < deadline:
        if os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT | os.WNOHANG):
            return
        time.sleep(0.001)


def _make_error(status: int) -> Exception:
    """The error of a child that sent nothing: our own failure, or that of the code it ran."""
    code = os.waitstatus_to_exitcode(status)
    if code == _OUR_FAULT:
        return RuntimeError("judging an answer failed; the traceback is above")
    return EndedError(f"exit status {code}" if code >= 0 else f"killed by signal {-code}")


def _run_child(judge: Callable[[], tuple[T, ...]], limit_s: float, writer: int) -> NoReturn:
    """The child from start to end. It never returns into the code it was forked from."""
    import pickle  # noqa: PLC0415  # as above
    import traceback  # noqa: PLC0415  # as above

    assert sys.platform != "win32"
    try:
        os.setpgid(0, 0)
        # The last resort, if no other process can end it: the kernel does, without Python.
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_REAL, limit_s + _GRACE_S)
        # It must not hold the guardian's pipe, or our end would go unnoticed.
        os.dup2(writer, 3)
        os.closerange(4, 65536)
        result = memoryview(pickle.dumps(_judge_or_fault(judge)))
        while result:
            result = result[os.write(3, result) :]
    except BaseException:  # noqa: BLE001  # nothing may reach the code it was forked from
        # A fault of ours: it is shown here, and the status makes the parent fail as well.
        traceback.print_exc()
        os._exit(_OUR_FAULT)
    os._exit(0)


def _judge_or_fault(judge: Callable[[], tuple[T, ...]]) -> tuple[T, ...] | Fault:
    try:
        return judge()
    except CheckError as error:
        return error.fault


def _read_all(reader: int, limit_s: float, interrupt_fd: int) -> bytes:
    deadline = time.monotonic() + limit_s
    parts: list[bytes] = []
    while True:
        wanted = {reader: READABLE, interrupt_fd: READABLE}
        left_s = deadline - time.monotonic()
        ready = wait_ready(wanted, left_s) if left_s > 0 else {}
        if interrupt_fd in ready:
            raise InterruptedRunError
        if not ready:
            raise PatternTimeoutError(limit_s)
        chunk = os.read(reader, 1 << 20)
        if not chunk:
            return b"".join(parts)
        parts.append(chunk)


_FORK_WARNING = r"This process .* is multi-threaded"


@contextlib.contextmanager
def silence_fork_warnings() -> Iterator[None]:
    """Silence Python's warning about forks beside threads.

    Tests may turn warnings into errors, and a worker of pytest-xdist always has threads. Our
    forks end in time and touch no state of other threads.
    """
    if threading.active_count() == 1:
        yield
        return
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", _FORK_WARNING, DeprecationWarning)
        yield
