"""The channel that drives a server: calls of an SDK, one at a time (docs/coprocess.md).

The server under test is started by the first request, and never replaced.
"""

from __future__ import annotations

import contextlib
import math
import shlex
import time

from mcptest.coprocess.protocol import (
    CONNECTION_METHODS,
    OPTIONAL_METHODS,
    UPSTREAM_ERROR,
    UPSTREAM_GONE,
    RefusedError,
)
from mcptest.coprocess.serve import Session
from mcptest.coprocess.stores import Cassette
from mcptest.coprocess.uploads import BadTargetError, UploadError, Uploads, read_target
from mcptest.core.diagnostics import suggest
from mcptest.core.errors import InterruptedRunError, ServerError
from mcptest.core.plan import Expectation, Step
from mcptest.core.secrets import redact_all, redactor
from mcptest.core.text import excerpt, plural, visible
from mcptest.core.value_class import ABSENT
from mcptest.engine.pool import FATAL_FAULTS, ServerPool
from mcptest.engine.recorder import NotificationLog
from mcptest.protocol import jsonrpc
from mcptest.protocol.framing import encode_line
from mcptest.protocol.jsonrpc import INTERNAL_ERROR, INVALID_PARAMS, tool_failure
from mcptest.protocol.lists import ListPages
from mcptest.transport.process.stopping import signal_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar

    from mcptest.coprocess.protocol import Methods, Request
    from mcptest.coprocess.stores import Cache, Post
    from mcptest.core.plan import ServerSpec
    from mcptest.core.results import Fault, Finding
    from mcptest.engine.server import Launcher, Server
    from mcptest.protocol.framing import Frame, Noise, Overlong

    Params = dict[str, Any]
    Message = dict[str, Any]
    T = TypeVar("T")

__all__ = [
    "ConnectionSession",
    "Upstream",
]


# How long the server may take to list its tools at the end of a session.
_LAST_LIST_S = 2.0


class ConnectionSession(Session):
    """Answers the requests of one SDK, and keeps what it has set. `post` sends uploads.

    `stderr_file` is where the SDK reads what the server wrote to stderr during a request.
    """

    methods: Methods = {**CONNECTION_METHODS, **OPTIONAL_METHODS}  # noqa: RUF012  # not changed

    def __init__(self, upstream: Upstream, cache: Cache, post: Post, stderr_file: str = "") -> None:
        super().__init__()
        self._upstream = upstream
        self._stderr_file = stderr_file
        self._reported_stderr = ""
        self._cache = cache
        self._cassette = Cassette(upstream)
        self._uploads = Uploads(post)
        self.limit_bytes = upstream.spec.limits.max_line_bytes
        # Set by the caller once the session has ended normally.
        self.is_complete = False
        # The tools whose calls failed, and those of which one succeeded.
        self._failed: dict[str, None] = {}
        self._succeeded: set[str] = set()

    def answer(self, item: Frame | Noise | Overlong) -> bytes:
        try:
            return super().answer(item)
        finally:
            # The SDK reads this file when an expectation fails.
            stderr = self._upstream.stderr_of_request()
            if self._stderr_file and stderr != self._reported_stderr:
                self._reported_stderr = stderr
                with contextlib.suppress(OSError), open(self._stderr_file, "wb") as file:
                    file.write(stderr.encode("utf-8", "backslashreplace"))

    def perform(self, request: Request) -> object:
        self._upstream.next_id = request.id
        self._upstream.start_request()
        return _METHODS[request.method](self, request.params)

    # Methods

    def _initialize(self, params: Params) -> object:
        return self._cassette.perform("initialize", {}, self._upstream.initialize)

    def _call(self, params: Params) -> object:
        return self._perform_call(params, self._call_tool)["result"]

    def _call_with_progress(self, params: Params) -> object:
        return self._perform_call(params, self._call_tool_with_progress)

    def _perform_call(self, params: Params, perform: Callable[[str, Params], Params]) -> Params:
        """Make a call and note how it ended; `perform` returns its `result`, and maybe more."""
        call = {"tool": params["tool"], "arguments": params.get("arguments", {})}
        # The time the server takes to start is not part of the first call.
        began = time.monotonic() - self._upstream.start_s
        try:
            outcome = perform(call["tool"], call["arguments"])
        except RefusedError as error:
            # With a kind, it is not the server that refused.
            if not (isinstance(error.data, dict) and "kind" in error.data):
                self._failed[params["tool"]] = None
            self._queue(call, began, {"error": {"code": error.code, "message": error.message}})
            raise
        except InterruptedRunError:
            # The server was asked, and the call may have taken effect.
            message = "the wait for the answer was interrupted"
            self._queue(call, began, {"error": {"code": INTERNAL_ERROR, "message": message}})
            raise
        result = outcome["result"]
        self._queue(call, began, {"result": result})
        if tool_failure(result):
            self._failed[params["tool"]] = None
        else:
            self._succeeded.add(params["tool"])
        return outcome

    def _call_tool(self, tool: str, arguments: Params) -> Params:
        # With a cassette the cache is not used: recordings are answers of the server, and answers
        # of a cassette are not cached.
        is_cached = not self._cassette.is_active
        kept = self._cache.find(tool, arguments) if is_cached else ABSENT
        if isinstance(kept, dict):
            return {"result": kept}
        result = self._ask("tools/call", {"name": tool, "arguments": arguments})
        if is_cached and self._cache.stores and self._upstream.redact(result) == result:
            self._cache.keep(tool, arguments, result)
        return {"result": result}

    def _call_tool_with_progress(self, tool: str, arguments: Params) -> Params:
        """The answer to a call with the progress before it; cached results have none."""
        params = {"name": tool, "arguments": arguments}
        return self._cassette.perform(
            "mcp.callWithProgress",
            params,
            lambda: self._upstream.ask_with_progress("tools/call", params),
        )

    def _queue(self, call: Params, began: float, outcome: Params) -> None:
        """Queue a call for the next upload, if uploads are enabled."""
        if not self._uploads.is_enabled:
            return
        duration_s = time.monotonic() - self._upstream.start_s - began
        record = {
            **call,
            "success": not tool_failure(outcome.get("result", {"isError": True})),
            **outcome,
            "duration_ms": round(duration_s * 1000, 3),
        }
        self._uploads.add(self._upstream.redact(record))

    def _list(self, key: str, method: str = "") -> object:
        method = method or f"{key}/list"
        return self._cassette.perform(method, {}, lambda: self._upstream.ask_all(method, key))

    def _call_prompt(self, params: Params) -> object:
        name, arguments = params.get("name", params.get("prompt")), params.get("arguments")
        return self._ask(
            "prompts/get", {"name": name} | ({} if arguments is None else {"arguments": arguments})
        )

    def _ask(self, method: str, params: Params) -> Params:
        """The answer of the server, or of the cassette."""
        return self._cassette.perform(method, params, lambda: self._upstream.ask(method, params))

    def _notifications(self, params: Params) -> object:
        self._cassette.refuse_in_replay("notifications")
        wait_s = params.get("wait_ms", 0) / 1000
        return self._upstream.notifications(
            params.get("after", 0), params.get("method", ""), wait_s
        )

    def _stderr(self, params: Params) -> object:
        self._cassette.refuse_in_replay("stderr")
        if not self._upstream.spec.command:
            message = "mcptest did not start the server, so its stderr is not known"
            raise RefusedError(UPSTREAM_ERROR, message)
        return {"stderr": self._upstream.stderr()}

    def _set_upload(self, params: Params) -> object:
        if "target" in params:
            try:
                target = read_target(params["target"])
            except BadTargetError as error:
                message = f'the param "target" of mcp.reporter.setUpload: {error}'
                raise RefusedError(INVALID_PARAMS, message) from None
            self._uploads.target = target
        self._uploads.is_enabled = params["enabled"]
        return {"enabled": params["enabled"]}

    def _flush(self, params: Params) -> object:
        try:
            return {"flushed": self._uploads.flush()}
        except UploadError as error:
            message = f"{error}; still queued: {plural(len(self._uploads), 'call')}"
            raise RefusedError(INTERNAL_ERROR, message) from None

    def _set_cache(self, params: Params) -> object:
        self._cache.mode = params["mode"]
        return {"mode": params["mode"]}

    def _set_cassette(self, params: Params) -> object:
        self._cassette.set_mode(params["mode"], params.get("path", ""))
        return {"mode": params["mode"]}

    # The end

    def describe_unlisted(self) -> list[str]:
        """A sentence about each tool that failed and that the server does not list.

        Asked when all calls have been made, so that no call is affected.
        """
        failed = [name for name in self._failed if name not in self._succeeded]
        if not failed or self._cassette.is_active or not self._upstream.is_running:
            return []
        try:
            tools = self._upstream.ask_all("tools/list", "tools", _LAST_LIST_S)["tools"]
        except (RefusedError, InterruptedRunError):
            return []
        named = [each.get("name") for each in tools if isinstance(each, dict)]
        names = [visible(name) for name in named if isinstance(name, str)]
        sentences = []
        for name in map(visible, failed):
            if name not in names:
                sentence = f'the server lists no tool "{name}"' + suggest(name, names, '"{}"')
                sentences.append(self._upstream.redact(sentence))
        return sentences

    def save(self) -> None:
        """Save queued uploads to a file, before the end is waited for."""
        self._uploads.save()

    def close(self) -> str:
        """Finish the cassette and deliver queued uploads; one line for each failure."""
        self._cassette.eject(is_complete=self.is_complete)
        found = [*self._cassette.warnings, self._uploads.finish()]
        return "\n".join(filter(None, found))


_METHODS: dict[str, Callable[[ConnectionSession, Params], object]] = {
    "mcp.initialize": ConnectionSession._initialize,
    "mcp.call": ConnectionSession._call,
    "mcp.listTools": lambda session, _: session._list("tools"),
    "mcp.listResources": lambda session, _: session._list("resources"),
    "mcp.readResource": lambda session, params: session._ask("resources/read", params),
    "mcp.callPrompt": ConnectionSession._call_prompt,
    "mcp.reporter.setUpload": ConnectionSession._set_upload,
    "mcp.reporter.flush": ConnectionSession._flush,
    "mcp.cache.set_mode": ConnectionSession._set_cache,
    "mcp.cassette.set_mode": ConnectionSession._set_cassette,
    "mcp.listPrompts": lambda session, _: session._list("prompts"),
    "mcp.listResourceTemplates": lambda session, _: session._list(
        "resourceTemplates", "resources/templates/list"
    ),
    "mcp.callWithProgress": ConnectionSession._call_with_progress,
    "mcp.complete": lambda session, params: session._ask("completion/complete", params),
    "mcp.ping": lambda session, params: session._ask("ping", params),
    "mcp.subscribeResource": lambda session, params: session._ask("resources/subscribe", params),
    "mcp.unsubscribeResource": lambda session, params: session._ask(
        "resources/unsubscribe", params
    ),
    "mcp.notifications": ConnectionSession._notifications,
    "mcp.stderr": ConnectionSession._stderr,
}


# The server that is driven

_MAX_COMMAND_CHARS = 200
_MAX_STDERR_CHARS = 4000

_ENVELOPE = frozenset(["jsonrpc", "id", "result", "error"])


class Upstream:
    """One server. Errors of the server and its absence are both raised as `RefusedError`."""

    def __init__(self, spec: ServerSpec, launcher: Launcher) -> None:
        self.spec = spec
        self._notifications = NotificationLog()
        self._pool = ServerPool(launcher.but(on_notification=self._notifications.add))
        self._server: Server | None = None
        self._redactor = redactor(spec.secrets)
        # Once it is gone: the message about that, and the data with it.
        self._lost: tuple[str, Message] | None = None
        self.handshake: Message = {}
        self.findings: tuple[Finding, ...] = ()
        # The id of the next request to the server: that of the SDK's own request, so that a
        # server which does not return ids unchanged is noticed.
        self.next_id: object = ABSENT
        self._asked = 0
        # When the last request was sent; infinite while the server starts, which has a time limit
        # of its own.
        self.asked_at = math.inf
        # How long it took to start, which is not part of any call.
        self.start_s = 0.0

    @property
    def is_lost(self) -> bool:
        """True if it could not be started, or is gone."""
        return self._lost is not None

    @property
    def is_running(self) -> bool:
        return self._pool.is_running and not self.is_lost

    def redact(self, value: T) -> T:
        """The value without the secrets that a config gave to the server."""
        redacted: T = redact_all(value, self._redactor)
        return redacted

    def start_request(self) -> None:
        """What the server writes to stderr from here on belongs to the next request."""
        self._pool.start_test()

    def stderr_of_request(self) -> str:
        """The end of what the server has written to stderr since the request began."""
        return self.redact(self._pool.stderr_of_test())[-_MAX_STDERR_CHARS:]

    def initialize(self) -> Message:
        """What the server answered to `initialize`, which is sent only once."""
        if not self._pool.is_running:
            self._get_server("initialize", None)
        return self.handshake

    def ask(self, method: str, params: Message, limit_s: float | None = None) -> Message:
        """The result of a request, as it came."""
        id, self.next_id = self.next_id, ABSENT
        self._asked += 1
        id = id if type(id) in (int, str) else f"mcptest-{self._asked}"
        line = encode_line(jsonrpc.request(id, method, params))
        step = Step(line=line, method=method, expectation=Expectation(), id=id)
        server = self._get_server(method, step)
        self.asked_at = time.monotonic()
        try:
            answer = server.perform(step, limit_s or self.spec.timeout_s).message
        except ServerError as error:
            raise self._refusal(server, _without_id(error.fault, step.id)) from None
        _refuse_unusual(answer, step)
        if "error" in answer:
            said = answer["error"]
            words = excerpt(self.redact(said["message"]), 1000)
            raise RefusedError(UPSTREAM_ERROR, f"the server refused {method}: {words}", said)
        result: Message = answer["result"]
        return result

    def ask_with_progress(self, method: str, params: Message) -> Message:
        """The result of a request, and the progress that the server reported before it."""
        since, token = self._notifications.count, f"mcptest-progress-{self._asked + 1}"
        result = self.ask(method, {**params, "_meta": {"progressToken": token}})
        return {"result": result, "progress": self._notifications.progress(token, since)}

    def notifications(self, after: int, method: str, wait_s: float) -> Message:
        """The notifications after the one with this number, waited for if there is none."""

        def find() -> list[Message]:
            return self._notifications.since(after, method)

        if not self._lost:
            server = self._server or self._get_server("notifications", None)
            self.asked_at = time.monotonic()
            try:
                server.listen(self.asked_at + wait_s, find)
            except ServerError as error:
                raise self._refusal(server, error.fault) from None
            if wait_s and not find() and not server.is_usable:
                raise self._lose(server.exit_fault("while a notification was awaited"))
        elif wait_s and not find():
            self._get_server("notifications", None)
        return {"received": self._notifications.count, "notifications": find()}

    def stderr(self) -> str:
        """What was kept of the server's stderr so far."""
        if self._server is None:
            return ""
        connection = self._server.connection
        if not self._lost:
            connection.wire.drain_stderr()
        return self.redact(connection.stderr_since(0))

    def _refusal(self, server: Server, fault: Fault) -> RefusedError:
        """The error for a fault of the server, which is stopped if it cannot be used any more."""
        if fault.kind in FATAL_FAULTS or not server.is_usable:
            return self._lose(fault)
        return RefusedError(UPSTREAM_ERROR, self.redact(fault.message), self._evidence(fault))

    def ask_all(self, method: str, key: str, limit_s: float | None = None) -> Message:
        """Every page of a list, in one; all together may take as long as one answer."""
        limit_s = limit_s or self.spec.timeout_s
        if not self._pool.is_running:
            # Starting is not part of the time for the list.
            self._get_server(method, None)
        deadline = time.monotonic() + limit_s
        left_bytes = self.spec.limits.max_line_bytes
        entries: list[object] = []
        pages = ListPages(method, key, limit_s=limit_s)
        while (params := pages.next_params(left_s := deadline - time.monotonic())) is not None:
            result = self.ask(method, params, left_s)
            left_bytes -= len(encode_line(result))
            if left_bytes < 0:
                most = f"{self.spec.limits.max_line_bytes:,} bytes"
                raise self._unusable_error(f"the pages of {method} have more than {most} in all")
            entries += pages.add({"result": result})
        if pages.problem:
            raise self._unusable_error(pages.problem.reason)
        return {key: entries}

    def _unusable_error(self, why: str) -> RefusedError:
        return RefusedError(UPSTREAM_ERROR, f"the server cannot be used like this: {why}")

    def close(self) -> None:
        """Stop the server, if it runs."""
        self._pool.retire()
        self.findings = tuple(self.redact(self._pool.findings))

    def _get_server(self, method: str, step: Step | None) -> Server:
        """The server, started if this is the first request; RefusedError once it is gone."""
        if self._lost:
            message, data = self._lost
            words = f"{method} was not sent, because of what came before: {message}"
            raise RefusedError(UPSTREAM_GONE, words, {**data, "effect": "definite"})
        is_running = self._pool.is_running
        began = time.monotonic()
        try:
            server, _ = self._pool.server_for(self.spec, step)
        except ServerError as error:
            fault = error.fault
            if is_running:
                raise self._lose(_without_id(fault, step.id if step else ABSENT)) from None
            http = self.spec.http
            way = f"url: {http.url}" if http else f"command: {shlex.join(self.spec.command)}"
            shown = excerpt(way, _MAX_COMMAND_CHARS)
            raise self._lose(fault.but(message=f"{fault.message} ({shown})")) from None
        finally:
            self.start_s += 0.0 if is_running else time.monotonic() - began
        self.handshake, self._server = server.handshake, server
        return server

    def _lose(self, fault: Fault) -> RefusedError:
        """Stop the server for good, because of this fault."""
        self.close()
        http = self.spec.http
        where: Message = {"url": http.url} if http else {}
        if self.spec.command:
            code = fault.evidence.exit_code
            is_killed = code is not None and code < 0
            where |= {
                "command": list(self.spec.command),
                # How the process ended: in words, and for programs (null if that is not known).
                "exit_status": fault.evidence.exit_status,
                "exit_code": None if is_killed else code,
                "signal": signal_name(-code) if code is not None and is_killed else None,
            }
        data = self._evidence(fault) | self.redact(where)
        self._lost = self.redact(fault.message), data
        return RefusedError(UPSTREAM_GONE, *self._lost)

    def _evidence(self, fault: Fault) -> Message:
        found: Message = {
            "kind": fault.kind,
            "effect": fault.effect,
            "stderr": fault.evidence.stderr_tail,
        }
        return self.redact(found | ({"hint": fault.hint} if fault.hint else {}))


def _without_id(fault: Fault, id: object) -> Fault:
    """The fault without the id of the request, which means nothing to the author of the call."""
    shown = f" ({visible(jsonrpc.describe_id(id))})"
    return fault.but(message=fault.message.replace(shown, ""), hint=fault.hint.replace(shown, ""))


def _refuse_unusual(answer: Any, step: Step) -> None:
    """Refuse an answer that the SDK's channel cannot carry whole; it is in `data`."""
    extra = [key for key in answer if key not in _ENVELOPE]
    if extra:
        name = excerpt(extra[0], 40)
        why = f'its answer to {step.method} has a member "{name}" beside the result'
    elif jsonrpc.id_key(answer.get("id")) != jsonrpc.id_key(step.id):
        why = f"its answer to {step.method} has not the id of the request"
    elif "result" in answer and not isinstance(answer["result"], dict):
        why = f"its answer to {step.method} has no result that is an object"
    else:
        return
    data = {"kind": "protocol_violation", "effect": "indefinite", "answer": answer}
    raise RefusedError(UPSTREAM_ERROR, f"the server cannot be used like this: {why}", data)
