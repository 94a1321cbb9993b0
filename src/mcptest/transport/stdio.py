"""The stdio transport: a server process on three pipes.

One poll waits for everything at once: answers, stderr, room to write, the end of the process, a
signal to us. So reading never depends on writing, stderr is always drained, and every wait has a
deadline. This module knows nothing of sessions, tests or verdicts.
"""

from __future__ import annotations

import contextlib
import os
import select
import sys
import time

from mcptest.core.errors import InterruptedRunError, ServerError, hint_at_limit
from mcptest.core.results import Evidence, Fault
from mcptest.core.secrets import redact_bytes, redact_part, redactor
from mcptest.core.text import visible
from mcptest.protocol.framing import LineDecoder, Ring
from mcptest.transport import wait_ready
from mcptest.transport.process.child import candidates, start
from mcptest.transport.process.stopping import MARK_VARIABLE, ServerProcess, stop

if sys.platform != "win32":
    import fcntl
    import termios

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcptest.core.plan import ServerSpec
    from mcptest.protocol.framing import Frame, Noise, Overlong
    from mcptest.transport.process.child import Child, Guardian
    from mcptest.transport.process.signals import Interrupts
    from mcptest.transport.process.stopping import Grace, Stopped

    Item = Frame | Noise | Overlong

__all__ = ["StdioTransport", "start_server"]


# The memory for a whole read is allocated first, and a megabyte for every short answer costs half
# as much as the answer. Larger reads follow only a full one.
_READ_BYTES = 1 << 16
_LARGE_READ_BYTES = 1 << 20
# Judging all the short lines of one whole read can take seconds, during which time limits are not
# checked. After a read of more lines than this, the next reads are small.
_MANY_LINES = 1000
_SMALL_READ_BYTES = 1 << 12
_STDERR_KEPT_BYTES = 256 * 1024
_STDOUT_KEPT_BYTES = 4 * 1024

# No pipe holds more than this at one moment, unless root has raised the limit.
_PIPE_BYTES = 1 << 20

_UNREAD_PATIENCE_S = 0.05

# The size of the number that FIONREAD gives, and the number 0.
_NUMBER_BYTES = 4
_NOTHING = bytes(_NUMBER_BYTES)

# About 40 µs of busy polling before a wait goes to sleep.
_SPINS = 20

# After the process has ended only what is left in the pipe is read: a grandchild may hold the
# pipe and never stop writing.
_LAST_READ_BYTES = 2 * _PIPE_BYTES

# How many lines that arrive while the server is being stopped are kept, and of how many bytes.
_LAST_ITEMS = 1000
_LAST_ITEMS_BYTES = 16 * 1024 * 1024

# What a server gets when the config says `inheritEnv: false`.
_MINIMAL_ENVIRONMENT = ("PATH", "HOME", "USER", "LOGNAME", "SHELL", "TERM", "LANG", "TMPDIR")


class StdioTransport(ServerProcess):
    """One server process, from its start to the end of its group."""

    is_pipe = True
    foreign_listener = ""
    repeats_trace = False

    def __init__(self, spec: ServerSpec, guardian: Guardian, interrupts: Interrupts) -> None:
        mark = guardian.next_mark()
        super().__init__(start_server(spec, mark), mark, guardian)
        self.spec = spec
        self.label, self.transport = f"stdio://{spec.name}", f"stdio:{self.pid}"
        self.interrupts = interrupts
        self.redact = redactor(spec.secrets) if spec.secrets else None
        self.decoder = LineDecoder(spec.limits.max_line_bytes)
        self.stderr = Ring(_STDERR_KEPT_BYTES)
        self.stdout_tail = Ring(_STDOUT_KEPT_BYTES)
        self.stdout_mark = 0
        self.is_closed = False
        self.has_closed_stdin = False
        self.last_output: list[Item] = []
        # How many bytes in the pipe to the server were not read when last asked. A buffer to write
        # into: otherwise asking costs twice as much.
        self._unread = bytearray(_NUMBER_BYTES)
        # How much had arrived on stdout when stdin was closed.
        self._stdin_closed_at = 0
        # True if enough has come while the server is being stopped: the rest is not decoded.
        self._has_enough = False
        # How many bytes it was sent in all, including those that wait to be written.
        self.sent_bytes = 0
        # How many of them were left when it stopped reading.
        self._lost_bytes = 0
        self._backlog = bytearray()
        self._read_bytes = _READ_BYTES
        # A larger pipe takes a third off the time of a big answer; it may be refused.
        if hasattr(fcntl, "F_SETPIPE_SZ"):
            with contextlib.suppress(OSError):
                fcntl.fcntl(self._stdout, fcntl.F_SETPIPE_SZ, _LARGE_READ_BYTES)
        self._poll = select.poll()
        # stdout before stderr: poll checks them in this order, so whatever was on
        # stderr before an answer is seen no later than the answer.
        for fd in (self._stdout, self._stderr, self._pidfd, self.interrupts.fd):
            if fd >= 0:
                self._poll.register(fd, select.POLLIN)

    def handles(self) -> list[int]:
        """The descriptors that another poll has to watch; its owner then calls `pump`."""
        watched = [] if self.is_closed else [self._stdout]
        watched += [self._stderr] if self._stderr >= 0 else []
        return watched + ([] if self.has_exited or self._pidfd < 0 else [self._pidfd])

    def pump(self) -> None:
        """Read stdout and stderr of a server whose messages come over HTTP."""
        self._look(0.0, False)

    def open(self, deadline: float) -> None:
        """No-op: a server on pipes accepts messages at once."""

    def progress(self, id: object) -> str:
        return ""

    def give_up(self, id: object) -> bool:
        """There is nothing to close: all answers come on one pipe."""
        return False

    def mark_stdout(self) -> int:
        """Start the evidence of a fault with what arrives on stdout from now on."""
        self.stdout_mark = self.stdout_tail.total
        return self.stdout_mark

    def redact_output(self, raw: bytes) -> bytes:
        """Part of the server's output without the secrets it was given."""
        redact = self.redact
        return redact_bytes(raw, lambda text: redact_part(text, redact)) if redact else raw

    @property
    def unsent_bytes(self) -> int:
        return len(self._backlog)

    @property
    def begun_line(self) -> int:
        """The number of the line that has arrived in part; 0 if there is none."""
        return self.decoder.begun_line

    @property
    def has_news(self) -> bool:
        """True if something has arrived or happened that was not received yet."""
        return bool(self._poll.poll(0))

    @property
    def has_read_all(self) -> bool:
        """True if the server has read all that it was sent."""
        if self._backlog or self._stdin < 0:
            return False
        fcntl.ioctl(self._stdin, termios.FIONREAD, self._unread)
        return self._unread == _NOTHING

    @property
    def unread_bytes(self) -> int:
        """How many of the bytes sent the server has not read, as far as can be seen."""
        if self._stdin < 0:
            return self._lost_bytes
        fcntl.ioctl(self._stdin, termios.FIONREAD, self._unread)
        return len(self._backlog) + int.from_bytes(self._unread, sys.byteorder)

    def send(self, line: bytes) -> None:
        """Write a line without ever blocking; what does not fit goes out while waiting."""
        self.sent_bytes += len(line)
        if not self._backlog:
            line = line[self._write(line) :]
            if not line:
                return
        self._backlog += line
        self._watch_stdin()

    @property
    def has_no_reader(self) -> bool:
        """True if no process has the other end of stdin open, even if the last bytes fitted."""
        if self.has_closed_stdin or self._stdin < 0:
            return self.has_closed_stdin
        return bool(wait_ready({self._stdin: 0}, 0).get(self._stdin, 0) & select.POLLERR)

    def wait_until_read(self) -> None:
        """Wait a moment until the server has taken what was sent.

        A notification has no answer, so the next message would follow at once, and a server
        that takes each read for one message would fail on both.
        """
        deadline = time.monotonic() + _UNREAD_PATIENCE_S
        while self._stdin >= 0 and time.monotonic() < deadline:
            if self.has_read_all:
                return
            time.sleep(0.0001)

    def receive(self, deadline: float, *, heed_interrupts: bool = True) -> list[Item]:
        """What arrived on stdout by the deadline; empty at the deadline and at the end."""
        while not self.is_closed:
            if self.has_exited:
                return self._read_rest()
            # A deadline of 0 means not to wait, and saves a look at the clock.
            wait_s = deadline - time.monotonic() if deadline else 0.0
            # Polled at least once, so that what has already arrived is never missed.
            items = self._look(wait_s, heed_interrupts)
            if items or wait_s <= 0:
                return items
        return []

    def drain_stderr(self) -> None:
        """Read what is on stderr now, and no more: it may never end."""
        enough = self.stderr.total + _PIPE_BYTES
        while self._stderr >= 0 and self.stderr.total < enough and self._read_stderr():
            pass

    def wait_for_stderr(self, deadline: float) -> bool:
        """Wait until something arrives on stderr; False at the deadline or at its end."""
        before = self.stderr.total
        while self._stderr >= 0 and self.stderr.total == before:
            wanted = dict.fromkeys((self._stderr, self.interrupts.fd), select.POLLIN)
            if not wait_ready(wanted, deadline - time.monotonic()):
                return False
            if self.interrupts.count:
                raise InterruptedRunError
            self._read_stderr()
        return self.stderr.total > before

    def peek_exit_code(self) -> int | None:
        """The exit status of a process that has ended, without reaping it."""
        if not hasattr(os, "waitid"):
            return self._process.poll()
        found = os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOWAIT | os.WNOHANG)
        if found is None:
            return None
        return found.si_status if found.si_code == os.CLD_EXITED else -found.si_status

    # One turn of the loop

    def _look(self, wait_s: float, heed_interrupts: bool) -> list[Item]:
        items: list[Item] = []
        ready = self._poll.poll(0)
        if not ready and wait_s > 0:
            # Waking a core that has gone to sleep takes longer than a quick server takes to answer,
            # so the first moments are spent polling, and yielding this core to the server.
            for _ in range(_SPINS):
                os.sched_yield()
                if ready := self._poll.poll(0):
                    break
            else:
                ready = self._poll.poll(wait_s * 1000)
        for fd, _ in ready:
            if fd == self._stdout:
                items = self._read_stdout()
            elif fd == self._stderr:
                self._read_stderr()
            elif fd == self._stdin:
                del self._backlog[: self._write(self._backlog)]
                self._watch_stdin()
            elif fd == self._pidfd:
                self.has_exited = True
                self._poll.unregister(self._pidfd)
        if self.interrupts.count:
            if heed_interrupts:
                raise InterruptedRunError
            # Noticed already: while cleaning up it must not wake the poll at every turn.
            with contextlib.suppress(KeyError):
                self._poll.unregister(self.interrupts.fd)
        if self._pidfd < 0 and not self.has_exited:
            self.has_exited = self._process.poll() is not None
        return items

    def _read_stdout(self) -> list[Item]:
        chunk = _read(self._stdout, self._read_bytes)
        if chunk is None:
            return []
        if not chunk:
            self.is_closed = True
            self._poll.unregister(self._stdout)
            return []
        self.stdout_tail.add(chunk)
        if self._has_enough:
            return []
        items = self.decoder.feed(chunk)
        if len(items) > _MANY_LINES:
            self._read_bytes = _SMALL_READ_BYTES
        else:
            is_long = len(chunk) >= _READ_BYTES and not items
            self._read_bytes = _LARGE_READ_BYTES if is_long else _READ_BYTES
        return items

    def _read_stderr(self) -> bool:
        chunk = _read(self._stderr)
        if chunk:
            self.stderr.add(chunk)
        elif chunk is not None:
            self._poll.unregister(self._stderr)
            self._stderr = -1
        return bool(chunk)

    def _read_rest(self) -> list[Item]:
        """What a process that has ended left in the pipe."""
        items: list[Item] = []
        read = 0
        while read < _LAST_READ_BYTES and (chunk := _read(self._stdout)):
            read += len(chunk)
            self.stdout_tail.add(chunk)
            if not self._has_enough:
                items += self.decoder.feed(chunk)
        self.is_closed = True
        self.drain_stderr()
        return items

    def _write(self, data: bytes | bytearray) -> int:
        if self._stdin < 0:
            return len(data)
        try:
            return os.write(self._stdin, data)
        except BlockingIOError:
            return 0
        except BrokenPipeError:
            # The server stopped reading. Its output or its end will show why.
            self.has_closed_stdin = True
            self._lost_bytes = self.unread_bytes + (0 if self._backlog else len(data))
            self.close_stdin()
            return len(data)

    def _watch_stdin(self) -> None:
        if self._stdin < 0:
            return
        if self._backlog:
            self._poll.register(self._stdin, select.POLLOUT)
        else:
            with contextlib.suppress(KeyError):
                self._poll.unregister(self._stdin)

    # Ending

    def end(self, grace: Grace, *, at_once: bool = False) -> Stopped:
        return stop(self, grace, at_once=at_once)

    def close_stdin(self) -> None:
        if self._stdin >= 0:
            self._stdin_closed_at = self.stdout_tail.total
            self._backlog.clear()
            with contextlib.suppress(KeyError):
                self._poll.unregister(self._stdin)
            super().close_stdin()

    def wait_for_exit(self, deadline: float, *, heed_interrupts: bool = False) -> bool:
        """Read both pipes until the process has ended or the deadline has come."""
        while not self.has_exited:
            wait_s = deadline - time.monotonic()
            if wait_s <= 0:
                return False
            # Without a process handle the end is noticed by asking now and then.
            wait_s = wait_s if self._pidfd >= 0 else min(wait_s, 0.01)
            self._keep(self._look(wait_s, heed_interrupts))
        return True

    def _keep(self, items: list[Item]) -> None:
        if self.stdout_tail.total - self._stdin_closed_at <= _LAST_ITEMS_BYTES:
            self.last_output += items[: _LAST_ITEMS - len(self.last_output)]
            self._has_enough |= len(self.last_output) >= _LAST_ITEMS
        else:
            self._has_enough = True

    def reap(self) -> None:
        if not self.is_closed:
            self._keep(self._read_rest())
        super().reap()
        self.is_closed = True


def _read(fd: int, size: int = _READ_BYTES) -> bytes | None:
    """The next bytes; b"" at the end, None if there are none yet."""
    try:
        return os.read(fd, size)
    except BlockingIOError:
        return None


def start_server(spec: ServerSpec, mark: str, *, with_stderr: bool = True) -> Child:
    """Start the server in a session of its own, with its mark in its environment.

    Without a pipe for stderr it writes to ours. ServerError says why it cannot be started.
    """
    inherited: Mapping[str, str] = os.environ
    if not spec.inherit_env:
        inherited = {key: os.environ[key] for key in _MINIMAL_ENVIRONMENT if key in os.environ}
    environment = {**inherited, **(spec.env or {}), MARK_VARIABLE: mark}
    try:
        return start(spec.command, environment, spec.cwd, with_stderr=with_stderr)
    except (OSError, ValueError) as error:
        cwd = spec.cwd or os.getcwd()
        why = error.strerror if isinstance(error, OSError) else str(error)
        fault = Fault(
            kind="spawn_failed",
            message=f"cannot start {visible(spec.command[0])!r} in {visible(cwd)!r}: {why}",
            hint=hint_at_limit(error)
            or _folder_hint(cwd)
            or _spawn_hint(spec, environment, error, cwd),
            evidence=Evidence(command=spec.command, cwd=cwd),
        )
        raise ServerError(fault) from None


def _folder_hint(cwd: str) -> str:
    if not os.path.lexists(cwd):
        return f"the folder {visible(cwd)} does not exist; set cwd in the config"
    if not os.path.isdir(cwd):
        return f"{visible(cwd)} is not a folder; set cwd in the config"
    if not os.access(cwd, os.X_OK):
        return f"the folder {visible(cwd)} may not be entered; set cwd in the config"
    return ""


def _spawn_hint(
    spec: ServerSpec, environment: Mapping[str, str], error: OSError | ValueError, cwd: str
) -> str:
    command = spec.command[0]
    there = [os.path.join(cwd, path) for path in candidates(command, environment)]
    if isinstance(error, FileNotFoundError):
        if any(map(os.path.exists, there)):
            return "the file is there, but the interpreter its first line names is not"
        if any(mark in command for mark in " =;&|"):
            # The command line, and SDKs, have no such keys.
            keys = 'its arguments go to "args", variables to "env", a folder to "cwd"'
            advice = keys if spec.is_named else "give each argument as a word of its own"
            shell = 'or write sh -c "…"'
            return f"the command is one program, started without a shell: {advice}; {shell}"
        if os.path.isabs(command):
            return "there is no such file: check the path, and whether it is installed"
        if os.path.dirname(command):
            # The command line has no setting for the folder.
            other = "set cwd" if spec.is_named else "run mcptest from another folder"
            return f"it was looked for in {visible(cwd)}: {other}, or give the whole path"
        return "is it installed, and on the PATH of this shell?"
    if isinstance(error, PermissionError):
        if all(map(os.path.isdir, there)):
            return "it is a folder"
        return "it is not executable: chmod +x, or name its interpreter as the command"
    if isinstance(error, OSError) and error.errno == 8:
        return "its first line does not name an interpreter (#!/usr/bin/env …)"
    return ""
