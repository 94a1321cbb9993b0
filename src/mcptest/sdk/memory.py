"""`mcptest.connect_memory`: a server object or an ASGI app, asked without a process or a socket."""

from __future__ import annotations

import os
import re
import threading
import time

from mcptest.core.errors import InterruptedRunError, ServerError
from mcptest.core.lists import ListPages
from mcptest.core.revisions import REVISIONS
from mcptest.core.text import shorten, visible
from mcptest.runner.launcher import Launcher
from mcptest.runner.memory import client_of, memory_spec
from mcptest.runner.server import Server
from mcptest.sdk.arguments import choice_of, mapping_of, seconds_of, text_of
from mcptest.sdk.client import Connection
from mcptest.sdk.errors import RefusedError, UpstreamError, UpstreamGoneError
from mcptest.sdk.farewell import pass_on
from mcptest.wire.alone import NoGuardian
from mcptest.wire.memory_target import MemoryTarget

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from mcptest.core.outcome import Fault
    from mcptest.core.plan import ServerSpec

    Message = dict[str, Any]

__all__ = ["Bell", "connect_memory", "memory_launcher"]

# Whoever reads a traceback in a test of their own has no use for what is in here.
__tracebackhide__ = True

_METHOD_NOT_FOUND, _UPSTREAM_ERROR, _UPSTREAM_GONE = -32601, -32000, -32001
_LISTS = {
    "mcp.listTools": ("tools/list", "tools"),
    "mcp.listResources": ("resources/list", "resources"),
}

# After these nothing that the server says can be trusted.
_SPENT = frozenset(["line_too_long", "output_budget"])

# The ids of our own requests mean nothing to anybody.
_OWN_ID = r' \(id "mcptest-\d+"\)'


def connect_memory(
    target: Any,
    *,
    path: str = "/mcp",
    headers: dict[str, str] | None = None,
    spec_version: str = "",
    timeout: float = 30.0,
    client: dict[str, Any] | None = None,
) -> Connection:
    """A connection to an object in this process; `timeout` is for one answer, in seconds.

    `target` is a server of the official SDK, an ASGI app, or a function that makes one. An app
    is asked at `path`, with these `headers`. Enter the connection with `with` for a `Client`,
    with `async with` for an `AsyncClient`.
    """
    if client is not None and not isinstance(client, dict):
        raise TypeError(f"client is a dict, not {type(client).__name__}")
    limit_s = seconds_of("timeout", timeout)
    told = MemoryTarget(target)
    spec = memory_spec(told, path=text_of("path", path), headers=mapping_of("headers", headers))
    spec = spec.but(
        spec_version=choice_of("spec_version", spec_version, ("", *REVISIONS)),
        startup_timeout_s=limit_s,
        timeout_s=limit_s,
        client=client_of(client),
    )
    return Connection(_MemoryLine(spec, told))  # type: ignore[arg-type]  # it has what is asked of one


class Bell:
    """What ends a wait from another thread; signals are the program's own business."""

    stopped_s = 0.0

    def __init__(self) -> None:
        self.count = 0
        self.fd, self._writer = os.pipe()

    def ring(self) -> None:
        """Whoever waits is told that it is over."""
        self.count += 1
        os.write(self._writer, b"!")

    def close(self) -> None:
        os.close(self.fd)
        os.close(self._writer)


def memory_launcher(target: MemoryTarget, bell: Bell, *, judges: bool = False) -> Launcher:
    """What servers in memory are started with."""
    return Launcher(
        guardian=NoGuardian(),  # type: ignore[arg-type]  # there is nobody to guard
        interrupts=bell,  # type: ignore[arg-type]  # it has what is asked of one
        judges=judges,
        memory=target,
    )


class _MemoryLine:
    """Answers to the words of a `Client` where others have a coprocess."""

    def __init__(self, spec: ServerSpec, target: MemoryTarget) -> None:
        self._spec = spec
        self._target = target
        # Calls of several threads queue.
        self._lock = threading.Lock()
        self._bell: Bell | None = None
        self._server: Server | None = None
        self._lost: UpstreamGoneError | None = None
        self._is_closed = False

    def request(self, method: str, params: Message | None = None) -> Message:
        """The result of a request; a refusal, or that the server is gone, is raised."""
        with self._lock:
            try:
                return self._result(method, params or {})
            except InterruptedRunError:
                raise self._over() from None

    def _result(self, method: str, params: Message) -> Message:
        server = self._ready()
        if method == "mcp.initialize":
            return server.handshake
        if method in _LISTS:
            return self._listed(server, *_LISTS[method])
        if method == "mcp.call":
            words = {"name": params["tool"], "arguments": params["arguments"]}
            return self._asked(server, "tools/call", words)
        if method == "mcp.readResource":
            return self._asked(server, "resources/read", params)
        if method == "mcp.callPrompt":
            return self._asked(server, "prompts/get", params)
        message = f"{method} is not there in memory: caches, tapes and uploads are for connect()"
        raise RefusedError(_METHOD_NOT_FOUND, message)

    def _over(self) -> UpstreamGoneError:
        return UpstreamGoneError(_UPSTREAM_GONE, "the connection has been closed")

    def _ready(self) -> Server:
        if self._is_closed:
            raise self._over()
        if self._lost:
            raise self._lost.with_traceback(None)
        if self._server is None:
            self._bell = Bell()
            launcher = memory_launcher(self._target, self._bell)
            try:
                self._server = Server(self._spec, launcher)
                self._server.open()
            except ServerError as error:
                raise self._gone(error.fault.but(effect="definite")) from None
        return self._server

    def _asked(
        self, server: Server, method: str, params: Message, limit_s: float | None = None
    ) -> Message:
        try:
            answer = server.ask(method, params, limit_s or self._spec.timeout_s)
        except ServerError as error:
            if error.fault.kind in _SPENT or not server.is_usable:
                raise self._gone(error.fault) from None
            words, data = _words(error.fault), _evidence(error.fault)
            raise UpstreamError(_UPSTREAM_ERROR, words, data) from None
        if "error" in answer:
            said = answer["error"]
            words = visible(shorten(str(said.get("message")), 1000))
            raise UpstreamError(_UPSTREAM_ERROR, f"the server refused {method}: {words}", said)
        result = answer.get("result")
        if not isinstance(result, dict):
            raise _useless(f"its answer to {method} has no result that is an object")
        return result

    def _listed(self, server: Server, method: str, key: str) -> Message:
        """Every page of a list, in one; all together may take as long as one answer."""
        deadline = time.monotonic() + self._spec.timeout_s
        entries: list[object] = []
        pages = ListPages(method, key, limit_s=self._spec.timeout_s)
        while (params := pages.next_params(left_s := deadline - time.monotonic())) is not None:
            entries += pages.add({"result": self._asked(server, method, params, left_s)})
        if pages.problem:
            raise _useless(pages.problem.reason)
        return {key: entries}

    def _gone(self, fault: Fault) -> UpstreamGoneError:
        self._lost = UpstreamGoneError(_UPSTREAM_GONE, _words(fault), _evidence(fault))
        return self._lost

    def close(self) -> None:
        """End the server; a call that is under way is told that it is over."""
        if self._is_closed:
            return
        self._is_closed = True
        if self._bell:
            self._bell.ring()
        with self._lock:
            if self._server:
                self._server.close()
            troubles = self._target.close()
            if self._bell:
                self._bell.close()
        findings = self._server.findings if self._server else ()
        told = [(finding.kind, finding.message) for finding in findings]
        told += [(trouble.kind, trouble.message) for trouble in troubles]
        pass_on(f"{kind}: {message}" for kind, message in told)


def _words(fault: Fault) -> str:
    return re.sub(_OWN_ID, "", fault.message)


def _evidence(fault: Fault) -> Message:
    data = {"kind": fault.kind, "effect": fault.effect, "stderr": fault.evidence.stderr_tail}
    hint = re.sub(_OWN_ID, "", fault.hint)
    return data | ({"hint": hint} if hint else {})


def _useless(why: str) -> UpstreamError:
    return UpstreamError(_UPSTREAM_ERROR, f"the server cannot be used like this: {why}")
