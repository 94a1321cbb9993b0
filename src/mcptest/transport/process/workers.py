"""Forks of this process that do parts of the work, and the pipes to them.

A worker is forked, so it has everything that was loaded; it gets the numbers of its jobs and sends
back values. It is in a process group of its own, so that Ctrl-C reaches only us, and ends when we
do. What the jobs are is not known here.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import select
import signal
import struct
import subprocess
import sys
import time

from mcptest.core.errors import InterruptedRunError, hint_at_limit
from mcptest.transport import wait_ready
from mcptest.transport.process.signals import TERMINATING
from mcptest.transport.process.stopping import follow_parent

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from types import FrameType
    from typing import Any, NoReturn

    Send = Callable[[object], None]
    Work = Callable[[Iterator[int], Send], None]

__all__ = ["Worker", "Workers", "follow", "run_again"]


_LENGTH = struct.Struct("!I")
_READ_BYTES = 1 << 18

# How long a worker may take to stop: longer than stopping its server takes.
_STOP_S = 14.0


class Worker:
    """One worker, seen from our side. `job` is None while it has nothing to do."""

    def __init__(self, pid: int, reader: int, writer: int) -> None:
        self.pid = pid
        self.reader = reader
        self.job: int | None = None
        self.has_ended = False
        self.last_message_at = time.monotonic()
        self._writer = writer
        self._pending = bytearray()

    def give(self, job: int) -> None:
        self.job = job
        self.last_message_at = time.monotonic()
        with contextlib.suppress(BrokenPipeError):
            os.write(self._writer, _LENGTH.pack(job))

    def take(self) -> list[Any]:
        """The values that have arrived; `has_ended` is set at the end of its output."""
        try:
            chunk = os.read(self.reader, _READ_BYTES)
        except BlockingIOError:
            return []
        if not chunk:
            self.has_ended = True
        self.last_message_at = time.monotonic()
        self._pending += chunk
        values = []
        while len(self._pending) >= _LENGTH.size:
            (size,) = _LENGTH.unpack_from(self._pending)
            end = _LENGTH.size + size
            if len(self._pending) < end:
                break
            # Written by a fork of this process only.
            values.append(pickle.loads(bytes(self._pending[_LENGTH.size : end])))
            del self._pending[:end]
        return values

    def interrupt(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGINT)

    def kill(self) -> None:
        """Kill it; its own guardian ends what it has started."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)

    def dismiss(self) -> None:
        """Give it no more jobs: it ends when the current one is done."""
        if self._writer >= 0:
            os.close(self._writer)
            self._writer = -1

    def reap(self, deadline: float) -> int:
        """Wait for its end, and kill it at the deadline; its wait status."""
        self.dismiss()
        os.close(self.reader)
        while time.monotonic() < deadline:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                return status
            time.sleep(0.005)
        self.kill()
        return os.waitpid(self.pid, 0)[1]


class Workers:
    """A few workers that share out jobs."""

    def __init__(self, work: Work, wake_fd: int) -> None:
        self._work = work
        self._wake_fd = wake_fd
        self._is_woken = False
        self.alive: list[Worker] = []

    def start(self) -> Worker:
        """One more worker. Must be called before any thread is started."""
        pipes: list[int] = []
        try:
            pipes += os.pipe()
            pipes += os.pipe()
            pid = os.fork()
        except OSError:
            for fd in pipes:
                os.close(fd)
            raise
        jobs, give, values, send = pipes
        if pid == 0:
            os.close(give)
            os.close(values)
            for other in self.alive:
                os.close(other.reader)
                other.dismiss()
            _run_worker(self._work, jobs, send)
        os.close(jobs)
        os.close(send)
        # Both sides do this: it is a group before either needs it to be.
        with contextlib.suppress(OSError):
            os.setpgid(pid, pid)
        os.set_blocking(values, False)
        worker = Worker(pid, values, give)
        self.alive.append(worker)
        return worker

    def wait(self, timeout_s: float) -> list[tuple[Worker, list[Any]]]:
        """What workers have sent within this time; empty also when a signal came."""
        fds = [worker.reader for worker in self.alive]
        fds += [] if self._is_woken else [self._wake_fd]
        ready = wait_ready(dict.fromkeys(fds, select.POLLIN), timeout_s)
        return [(worker, worker.take()) for worker in self.alive if worker.reader in ready]

    def stop_waking(self) -> None:
        """From here on wait for workers only: the signal has been noticed."""
        self._is_woken = True

    def remove_ended(self, worker: Worker) -> int:
        """Remove a worker that has ended; its wait status."""
        self.alive.remove(worker)
        return worker.reap(time.monotonic() + _STOP_S)

    def stop(self) -> None:
        """Interrupt those that are left, and kill them if that does not end them."""
        for worker in self.alive:
            worker.interrupt()
        deadline = time.monotonic() + _STOP_S
        for worker in self.alive:
            worker.reap(deadline)
        self.alive.clear()

    def kill(self) -> None:
        for worker in self.alive:
            with contextlib.suppress(ProcessLookupError):
                os.kill(worker.pid, signal.SIGTERM)


def _run_worker(work: Work, jobs: int, send: int) -> NoReturn:
    """A worker from start to end. It never returns into the code it was forked from."""
    status = 1
    try:
        # Our parent stops us by SIGINT and SIGTERM, so they work also where it ignores them itself.
        # SIGHUP stays ignored where it is (nohup): only a terminal that is gone sends it.
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            if number != signal.SIGHUP or signal.getsignal(number) != signal.SIG_IGN:
                signal.signal(number, signal.SIG_DFL)
        parent = os.getppid()
        with contextlib.suppress(OSError):
            os.setpgid(0, 0)
        follow_parent()
        if os.getppid() != parent:
            os._exit(1)
        with open(jobs, "rb", buffering=0) as reader, open(send, "wb") as writer:

            def send_value(value: object) -> None:
                raw = pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
                writer.write(_LENGTH.pack(len(raw)) + raw)
                writer.flush()

            orders = iter(lambda: reader.read(4), b"")
            try:
                work((_LENGTH.unpack(order)[0] for order in orders), send_value)
            except (OSError, MemoryError) as error:
                if not hint_at_limit(error):
                    raise
                # A limit of the system, not a fault of ours: our parent reports it.
                send_value(error)
        status = 0
    except BrokenPipeError:
        status = 0
    except BaseException:  # noqa: BLE001  # nothing may reach the code it was forked from
        import traceback  # noqa: PLC0415  # a fault of ours is rare enough to be slow

        traceback.print_exc()
    finally:
        os._exit(status)


# Running this program again as a child that shares our terminal


class _SignalForwarder:
    """Passes signals on to the child, until `restore` is called."""

    def __init__(self) -> None:
        self.last = 0
        self.pid = 0
        # A signal that we were started to ignore (nohup) stays ignored.
        heeded = [each for each in TERMINATING if signal.getsignal(each) != signal.SIG_IGN]
        self._previous = {number: signal.signal(number, self._handle) for number in heeded}

    def _handle(self, number: int, frame: FrameType | None) -> None:
        self.last = number
        self.forward()

    def forward(self) -> None:
        if self.last and self.pid:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, self.last)

    def restore(self) -> None:
        for number, handler in self._previous.items():
            signal.signal(number, handler)


def follow(watcher: str) -> None:
    """From now on, get a SIGTERM when our parent ends, which must have this process id."""
    follow_parent()
    if str(os.getppid()) != watcher:
        raise InterruptedRunError("the watching process has ended")


def run_again(words: Sequence[str], follows: str) -> tuple[int, bool]:
    """Run `mcptest` with these arguments; its exit status, and whether a signal came.

    The environment variable `follows` gives the child our process id.
    The child is in a process group of its own, so that each Ctrl-C reaches it once: by us.
    """
    signals = _SignalForwarder()
    try:
        child = subprocess.Popen(
            [sys.executable, "-m", "mcptest", *words],
            env=os.environ | {follows: str(os.getpid())},
            process_group=0,
        )
        signals.pid = child.pid
        # One may have come before there was a child to forward it to.
        signals.forward()
        status = child.wait()
    finally:
        signals.restore()
    # Only now: a signal that came while the child was ending counts as well.
    return (status if status >= 0 else 128 - status), bool(signals.last)
