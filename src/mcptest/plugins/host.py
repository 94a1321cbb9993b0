"""The host of one plugin: starts it when it is first called, and keeps it until it is closed.

The process, its pipes and its lines are those of a server under test (`mcptest.wire.stdio`);
only what is said over them differs. One call is made at a time: threads queue.
"""

from __future__ import annotations

import os
import shlex
import threading
import time
import weakref
from collections import deque
from contextlib import suppress

from mcptest.core.errors import InterruptedRunError, ServerError
from mcptest.core.framing import DEFAULT_MAX_LINE_BYTES, Frame, LineDecoder, Noise
from mcptest.core.jsonrpc import id_key
from mcptest.core.outcome import ABSENT
from mcptest.core.plan import Limits, ServerSpec
from mcptest.core.visible import visible
from mcptest.plugins.alone import NoInterrupts, own_guardian
from mcptest.plugins.errors import (
    HostError,
    InvalidJson,
    InvalidResponse,
    PluginCrashed,
    SpawnFailed,
    Timeout,
)
from mcptest.plugins.protocol import encode_request, read_response
from mcptest.wire.stdio import StdioServer
from mcptest.wire.stopping import Grace, describe_exit, stop

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import TracebackType
    from typing import Any

    from mcptest.core.framing import Overlong
    from mcptest.plugins.alone import NoGuardian
    from mcptest.plugins.protocol import PluginResponse
    from mcptest.wire.guardian import Guardian
    from mcptest.wire.interrupts import Interrupts

    Item = Frame | Noise | Overlong

__all__ = ["DEFAULT_CALL_TIMEOUT_S", "MAX_CALL_TIMEOUT_S", "PluginHost"]

DEFAULT_CALL_TIMEOUT_S = 5.0
MAX_CALL_TIMEOUT_S = 86_400.0

# Whoever closes stdout is given this long to end as well, so that its status can be told.
_LAST_BREATH_S = 0.5
_STDERR_SHOWN_BYTES = 2000


class PluginHost:
    """One plugin. Nothing is started before the first `call`; `close` ends it.

    `command` is a program and its arguments, or one text that is split like a shell would;
    no shell is started. `call_timeout` is in seconds.
    """

    def __init__(
        self,
        command: Sequence[str] | str,
        call_timeout: float = DEFAULT_CALL_TIMEOUT_S,
        *,
        cwd: str = "",
        max_line_bytes: int = DEFAULT_MAX_LINE_BYTES,
        guardian: Guardian | None = None,
        interrupts: Interrupts | None = None,
    ) -> None:
        command = shlex.split(command) if isinstance(command, str) else command
        if not command:
            raise ValueError("the command of a plugin is empty")
        if not 0 < call_timeout <= MAX_CALL_TIMEOUT_S:
            raise ValueError("call_timeout must be more than 0 seconds and at most a day")
        limits = Limits(max_line_bytes=max_line_bytes)
        self.spec = ServerSpec(name=command[0], command=tuple(command), cwd=cwd, limits=limits)
        self.call_timeout = call_timeout
        self._guardian: Guardian | NoGuardian | None = guardian
        self._is_alone = guardian is None
        self._interrupts = interrupts or NoInterrupts()
        self._lock = threading.Lock()
        self._process: StdioServer | None = None
        self._pending: deque[Item] = deque()
        self._last_id = 0
        # Calls that nobody waits for any more: their answers may still come.
        self._given_up: set[Any] = set()
        self._crash: PluginCrashed | None = None
        self._is_closed = False

    def call(self, method: str, params: object = ABSENT) -> PluginResponse:
        """The plugin's answer, which may be an error; a `HostError` when there is none."""
        with self._lock:
            if self._is_closed:
                raise HostError("the host of this plugin is closed")
            if self._crash:
                raise PluginCrashed(f"{self._crash.message} (in an earlier call)")
            id = self._last_id + 1
            # What cannot be said in JSON is the caller's mistake, and starts nothing.
            line = encode_request(id, method, params)
            process = self._process or self._start()
            self._last_id = id
            try:
                process.send(line)
                return self._answer(process, id, method)
            except BaseException:
                self._given_up.add(id_key(id))
                raise

    @property
    def stderr(self) -> str:
        """The last of what the plugin wrote to stderr, for whoever looks for a mistake."""
        with self._lock:
            if self._process is None:
                return self._crash.stderr if self._crash else ""
            self._process.drain_stderr()
            return _last_lines(self._process)

    def close(self, *, at_once: bool = False) -> None:
        """End the plugin: end of input, a wait of up to `call_timeout`, then its end by force."""
        with self._lock:
            self._is_closed = True
            if self._process is None:
                return
            try:
                if not at_once:
                    self._say_goodbye(self._process)
            finally:
                # Also when Ctrl-C cut the goodbye short.
                self._end(self._process)

    def __enter__(self) -> PluginHost:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    # Starting and ending

    def _start(self) -> StdioServer:
        if self._guardian is None:
            self._guardian = own_guardian()
        try:
            # What stands for a guardian and for interrupts outside of a run has their methods.
            process = StdioServer(self.spec, self._guardian, self._interrupts)  # type: ignore[arg-type]  # see above
        except ServerError as error:
            if self._is_alone:
                self._guardian.dismiss()
                self._guardian = None
            raise SpawnFailed(error.fault.message, error.fault.hint) from None
        process.decoder = LineDecoder(self.spec.limits.max_line_bytes, keeps_raw=True)
        self._process = process
        # Whoever forgets to close it, or ends, still leaves nobody behind.
        self._finalizer = weakref.finalize(self, _end, process, os.getpid(), self._is_alone)
        return process

    def _say_goodbye(self, process: StdioServer) -> None:
        process.close_stdin()
        # Whoever is told to stop the run has no time for it.
        with suppress(InterruptedRunError):
            process.wait_for_exit(time.monotonic() + self.call_timeout, heed_interrupts=True)

    def _end(self, process: StdioServer) -> int | None:
        """End what is left of it, by force; its exit status."""
        self._process = None
        self._guardian = None if self._is_alone else self._guardian
        self._finalizer()
        return process.exit_code()

    # One call

    def _answer(self, process: StdioServer, id: int, method: str) -> PluginResponse:
        deadline = time.monotonic() + self.call_timeout
        while True:
            item = self._next_item(process, deadline, method)
            response = _read(item)
            found = id_key(response.id)
            if found == id_key(id):
                return response
            if found not in self._given_up:
                raise InvalidResponse(f"its id is not that of the call, {id}", _text(item))
            self._given_up.discard(found)

    def _next_item(self, process: StdioServer, deadline: float, method: str) -> Item:
        while not self._pending:
            self._pending.extend(process.receive(deadline))
            if self._pending:
                break
            if process.is_closed:
                raise self._crashed(process, method)
            if time.monotonic() >= deadline:
                within = f"within {self.call_timeout:g} s"
                message = f"no answer to {visible(method)!r} {within}"
                raise Timeout(message, self.call_timeout)
        return self._pending.popleft()

    def _crashed(self, process: StdioServer, method: str) -> PluginCrashed:
        partial, size = process.decoder.remainder
        has_ended = process.wait_for_exit(time.monotonic() + _LAST_BREATH_S)
        status = self._end(process)
        how = describe_exit(status) if has_ended else "it closed its stdout and stayed"
        if size:
            shown = visible(partial.decode("utf-8", "backslashreplace"))
            how += f", in the middle of a line: {shown}"
        self._crash = PluginCrashed(
            f"ended before it answered {visible(method)!r}: {how}", stderr=_last_lines(process)
        )
        return self._crash


def _read(item: Item) -> PluginResponse:
    line = _text(item)
    if isinstance(item, Frame):
        return read_response(item.value, line)
    if isinstance(item, Noise):
        raise InvalidJson(f"its line is no JSON: {item.reason}", line)
    raise InvalidResponse(f"its line is longer than {item.limit:,} bytes", line)


def _text(item: Item) -> str:
    return item.raw.decode("utf-8", "backslashreplace")


def _last_lines(process: StdioServer) -> str:
    raw = process.cleaned(process.stderr.tail())[-_STDERR_SHOWN_BYTES:]
    return raw.decode("utf-8", "backslashreplace")


def _end(process: StdioServer, owner: int, is_alone: bool) -> None:
    """End a plugin at once, and its guardian if it has one of its own.

    Only the process that started it may: a fork of it has it, too.
    """
    if os.getpid() == owner:
        stop(process, Grace(), at_once=True)
        if is_alone:
            process.guardian.dismiss()
