"""The host of one plugin: starts it with the first call, and keeps it until it is closed.

`mcptest.transport.line_program` has the process and its lines; the protocol is here. Calls of
several threads are made one after the other.
"""

from __future__ import annotations

import os
import shlex
import threading
import time
from functools import cached_property

from mcptest.core.errors import CheckError, McptestError, ServerError, UsageError
from mcptest.core.plan import DEFAULT_MAX_LINE_BYTES, Limits, ServerSpec
from mcptest.core.results import Evidence, Fault, Finding
from mcptest.core.text import visible
from mcptest.core.value_class import ABSENT, Record
from mcptest.protocol.framing import Frame, Noise, encode_line
from mcptest.protocol.jsonrpc import id_key
from mcptest.transport.line_program import LinePeer, PeerEndedError, PeerSilentError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any

    from mcptest.core.plan import PluginSpec
    from mcptest.protocol.framing import Overlong
    from mcptest.transport.process.child import Guardian
    from mcptest.transport.process.signals import Interrupts

    Item = Frame | Noise | Overlong

__all__ = [
    "DEFAULT_CALL_TIMEOUT_S",
    "PROTOCOL_VERSION",
    "DeclaredPlugins",
    "HostError",
    "InvalidJson",
    "InvalidResponse",
    "PluginCrashed",
    "PluginError",
    "PluginHost",
    "PluginManager",
    "PluginResponse",
    "SpawnFailed",
    "Timeout",
    "describe_failure",
    "encode_request",
    "index_plugins",
    "read_response",
]


DEFAULT_CALL_TIMEOUT_S = 5.0
MAX_CALL_TIMEOUT_S = 86_400.0


class PluginHost:
    """One plugin. Nothing is started before the first `call`; `close` ends it.

    `command` is a program and its arguments, or one string that is split like a shell would;
    no shell is started. `call_timeout` is in seconds. The first call has the id `first_id`, or a
    random one, so that a line written before the call cannot pass for the answer.
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
        first_id: int | None = None,
        name: str = "",
    ) -> None:
        command = shlex.split(command) if isinstance(command, str) else command
        if not command:
            raise ValueError("the command of a plugin is empty")
        if not 0 < call_timeout <= MAX_CALL_TIMEOUT_S:
            raise ValueError("call_timeout must be more than 0 seconds and at most a day")
        limits = Limits(max_line_bytes=max_line_bytes)
        name = f"the plugin {name or command[0]}"
        self.spec = ServerSpec(name=name, command=tuple(command), cwd=cwd, limits=limits)
        self.call_timeout = call_timeout
        self._peer = LinePeer(self.spec, guardian, interrupts)
        self._lock = threading.Lock()
        # Random, and small enough for the integers of any language.
        random_id = 1 + int.from_bytes(os.urandom(4), "big") // 4
        self._first_id = random_id if first_id is None else first_id
        self._last_id = self._first_id - 1
        # Ids of abandoned calls, whose answers may still come.
        self._given_up: set[Any] = set()
        self._crash: PluginCrashed | None = None
        self._is_closed = False

    def call(self, method: str, params: object = ABSENT) -> PluginResponse:
        """The plugin's answer, which may be an error; a `HostError` if there is none."""
        with self._lock:
            if self._is_closed:
                raise HostError("the host of this plugin is closed")
            if self._crash:
                raise PluginCrashed(f"{self._crash.message} (in an earlier call)")
            id = self._last_id + 1
            # Encoded first: params that are not JSON are a mistake of the caller.
            line = encode_request(id, method, params)
            try:
                self._peer.start()
            except ServerError as error:
                raise SpawnFailed(error.fault.message, error.fault.hint) from None
            except UsageError as error:
                raise SpawnFailed(error.message, error.help) from None
            self._last_id = id
            try:
                self._drop_late_answers()
                self._peer.send(line)
                return self._wait_for_answer(id, method)
            except BaseException:
                self._given_up.add(id_key(id))
                raise

    @property
    def stderr(self) -> str:
        """The end of what the plugin wrote to stderr."""
        with self._lock:
            if self._crash:
                return self._crash.stderr
            return self._peer.stderr

    @property
    def left_behind(self) -> dict[int, str]:
        """The processes that it left behind, which were killed: pid and command."""
        return self._peer.left_behind

    def hang_up(self) -> None:
        """End its input; `close` waits for its end."""
        with self._lock:
            self._is_closed = True
            self._peer.hang_up()

    def close(self, *, at_once: bool = False, waited_s: float = 0.0) -> None:
        """Stop the plugin: end its input, wait up to `call_timeout`, then kill it.

        `waited_s` is the time since its input was ended by `hang_up`.
        """
        with self._lock:
            self._is_closed = True
            self._peer.close(max(0.0, self.call_timeout - waited_s), at_once=at_once)

    def __enter__(self) -> PluginHost:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # One call

    def _drop_late_answers(self) -> None:
        """Discard answers to abandoned calls; any other line before a call is an error."""
        for item in self._peer.waiting_items():
            found = id_key(_read_item(item).id)
            if found not in self._given_up:
                raise InvalidResponse("it was said before anything was asked", _decode(item))
            self._given_up.discard(found)

    def _wait_for_answer(self, id: int, method: str) -> PluginResponse:
        deadline = time.monotonic() + self.call_timeout
        while True:
            try:
                item = self._peer.next_item(deadline)
            except PeerSilentError:
                message = f"no answer to {visible(method)!r} within {self.call_timeout:g} s"
                raise Timeout(message, self.call_timeout) from None
            except PeerEndedError as error:
                message = f"ended before it answered {visible(method)!r}: {error.how}"
                self._crash = PluginCrashed(message, stderr=error.stderr)
                raise self._crash from None
            response = _read_item(item)
            found = id_key(response.id)
            if found == id_key(id):
                return response
            if found not in self._given_up:
                reason = f"its id is not that of the call, {id}"
                if id == self._first_id:
                    reason += ": it answers what was never asked"
                raise InvalidResponse(reason, _decode(item))
            self._given_up.discard(found)


def _read_item(item: Item) -> PluginResponse:
    line = _decode(item)
    if isinstance(item, Frame):
        return read_response(item.value, line)
    if isinstance(item, Noise):
        raise InvalidJson(f"its line is not JSON: {item.reason}", line)
    raise InvalidResponse(f"its line is longer than {item.limit:,} bytes", line)


def _decode(item: Item) -> str:
    return item.raw.decode("utf-8", "backslashreplace")


# The plugin protocol, version 1: one JSON object per line in each direction. Pure.
#
#     host to plugin   {"method": "near", "params": …, "id": 1}
#     plugin to host   {"id": 1, "result": …}
#                      {"id": 1, "error": {"code": -32601, "message": "…", "data": …}}
#
# docs/plugins.md is the whole contract; golden frames are under protocol/plugin/v1.


PROTOCOL_VERSION = 1


class PluginError(Record):
    """An error that a plugin answered with; `data` is None if it sent none."""

    code: int
    message: str
    data: object = None


class PluginResponse(Record):
    """The answer of a plugin: a result or an error."""

    id: int | str
    result: object = None
    error: PluginError | None = None


def encode_request(id: int | str, method: str, params: object = ABSENT) -> bytes:
    """A request as the line that is sent."""
    given = {} if params is ABSENT else {"params": params}
    return encode_line({"method": method, **given, "id": id})


def read_response(value: object, line: str) -> PluginResponse:
    """The response on a line; `InvalidResponse` if it is not one.

    Unknown members are ignored: version 1 may gain some.
    """
    if not isinstance(value, dict):
        raise InvalidResponse("it is not an object", line)
    id = _whole(value.get("id", ABSENT))
    if isinstance(id, bool) or not isinstance(id, (int, str)):
        raise InvalidResponse('its "id" must be the one of the request', line)
    if ("result" in value) == ("error" in value):
        said = "both" if "result" in value else "neither"
        raise InvalidResponse(f'it has {said} of "result" and "error"', line)
    if "result" in value:
        return PluginResponse(id=id, result=value["result"])
    return PluginResponse(id=id, error=_read_error(value["error"], line))


def _read_error(value: object, line: str) -> PluginError:
    if not isinstance(value, dict):
        raise InvalidResponse('its "error" is not an object', line)
    code, message = _whole(value.get("code")), value.get("message")
    if not isinstance(code, int) or isinstance(code, bool):
        raise InvalidResponse('its error has no integer "code"', line)
    if not isinstance(message, str):
        raise InvalidResponse('its error has no "message" that is a string', line)
    return PluginError(code=code, message=message, data=value.get("data"))


def _whole(value: object) -> object:
    # Some languages write the number 1 as 1.0.
    return int(value) if isinstance(value, float) and value.is_integer() else value


# Errors of a call without an answer; an answer with an `error` is an answer. The names are those
# of docs/plugins.md, which has no suffix.

_MAX_QUOTED = 200


class HostError(McptestError):
    """A call without an answer; `hint` says what to do about it, if that is known."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class SpawnFailed(HostError):
    """The program is missing, is not executable, or does not start."""


class PluginCrashed(HostError):
    """The program ended, or closed its stdout, before it answered. Later calls fail as well."""

    def __init__(self, message: str, hint: str = "", stderr: str = "") -> None:
        super().__init__(message, hint)
        self.stderr = stderr


class Timeout(HostError):
    """No answer in time. The program is left running."""

    def __init__(self, message: str, seconds: float) -> None:
        super().__init__(message, "a call should take less than 50 ms; stdout must be flushed")
        self.seconds = seconds


class _BadLine(HostError):
    """A line that is not an answer; the program is left running."""

    def __init__(self, reason: str, line: str) -> None:
        cut = line if len(line) <= _MAX_QUOTED else f"{line[:_MAX_QUOTED]}…"
        super().__init__(f"{reason}: {visible(cut)}")
        self.reason = reason
        self.line = line


class InvalidJson(_BadLine):
    """A line that is not JSON."""


class InvalidResponse(_BadLine):
    """A line of JSON that is not an answer to the call."""


# The plugins of a run: starting, asking and stopping them.


class PluginManager:
    """Starts each plugin with the first call to it, and stops all of them with the run."""

    def __init__(self) -> None:
        self._hosts: dict[PluginSpec, PluginHost] = {}
        self._guardian: Guardian | None = None
        self._interrupts: Interrupts | None = None
        # Processes that plugins left behind.
        self.findings: list[Finding] = []

    def open(self, guardian: Guardian, interrupts: Interrupts) -> None:
        """Set what plugins are started with; a forked process calls it again."""
        self._guardian, self._interrupts = guardian, interrupts

    def ask(self, spec: PluginSpec, method: str, params: object) -> object:
        """The result of a call; a `CheckError` if there is none."""
        host = self._hosts.get(spec)
        if host is None:
            host = self._hosts[spec] = PluginHost(
                spec.command,
                spec.call_timeout_s,
                cwd=spec.cwd,
                guardian=self._guardian,
                interrupts=self._interrupts,
                name=spec.name,
            )
        try:
            response = host.call(method, params)
        except HostError as error:
            raise CheckError(describe_failure(spec, error)) from None
        if response.error:
            error_ = response.error
            message = (
                f"the plugin {spec.name!r} answered {visible(method)!r} with an error: "
                f"code {error_.code}, {visible(error_.message)}"
            )
            raise CheckError(Fault(kind="plugin_failed", message=message))
        return response.result

    def close(self) -> None:
        """Stop all plugins; without waiting for them if the run was interrupted."""
        at_once = bool(self._interrupts and self._interrupts.count)
        hosts, self._hosts = self._hosts, {}
        # First end the input of all of them, so that they end at the same time.
        for host in hosts.values():
            host.hang_up()
        began = time.monotonic()
        for spec, host in hosts.items():
            host.close(at_once=at_once, waited_s=time.monotonic() - began)
            message = f"the plugin {spec.name!r} left processes behind; they were killed"
            for pid, command in host.left_behind.items():
                quote = f"{pid}: {visible(command)}"
                self.findings.append(
                    Finding(kind="left_behind", server="", message=message, quote=quote)
                )


class DeclaredPlugins:
    """The plugins that one file may ask; `specs` is called with the first use of one."""

    def __init__(self, manager: PluginManager, specs: Callable[[], Iterable[PluginSpec]]) -> None:
        self._manager = manager
        self._find = specs

    @cached_property
    def _specs(self) -> dict[str, PluginSpec]:
        return index_plugins(self._find())

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._specs)

    def ask(self, name: str, method: str, params: object) -> object:
        return self._manager.ask(self._specs[name], method, params)


def index_plugins(specs: Iterable[PluginSpec]) -> dict[str, PluginSpec]:
    """The plugins by name; a `UsageError` if two are declared under one name."""
    found: dict[str, PluginSpec] = {}
    for spec in specs:
        other = found.setdefault(spec.name, spec)
        if other is not spec:
            owners = f"{visible(other.owner)} and {visible(spec.owner)}"
            message = f"the plugin {spec.name!r} has two owners: {owners}"
            raise UsageError(message, "give one of them another name")
    return found


def describe_failure(spec: PluginSpec, error: HostError) -> Fault:
    """The fault of a call without an answer."""
    stderr = error.stderr if isinstance(error, PluginCrashed) else ""
    return Fault(
        kind="plugin_failed",
        message=f"the plugin {spec.name!r} failed ({type(error).__name__}): {error.message}",
        hint=error.hint,
        evidence=Evidence(command=spec.command, cwd=spec.cwd, stderr_tail=stderr),
    )
