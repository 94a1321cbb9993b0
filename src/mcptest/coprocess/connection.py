"""The channel that drives a server: calls of an SDK, one at a time (docs/coprocess.md)."""

from __future__ import annotations

import contextlib
import time

from mcptest.coprocess.protocol import (
    CONNECTION_METHODS,
    OPTIONAL_METHODS,
    UPSTREAM_ERROR,
    RefusedError,
)
from mcptest.coprocess.serve import Session
from mcptest.coprocess.stores import Cassette
from mcptest.coprocess.uploads import BadTargetError, UploadError, Uploads, read_target
from mcptest.core.diagnostics import suggest
from mcptest.core.errors import InterruptedRunError
from mcptest.core.record import ABSENT
from mcptest.core.text import plural, visible
from mcptest.protocol.jsonrpc import INTERNAL_ERROR, INVALID_PARAMS, tool_failure

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from mcptest.coprocess.protocol import Methods, Request
    from mcptest.coprocess.stores import Cache
    from mcptest.coprocess.uploads import Post
    from mcptest.coprocess.upstream import Upstream
    from mcptest.protocol.framing import Frame, Noise, Overlong

    Params = dict[str, Any]

__all__ = ["ConnectionSession"]


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

    def _call(self, params: Params, *, with_progress: bool = False) -> object:
        call = {"tool": params["tool"], "arguments": params.get("arguments", {})}
        # The time the server takes to start is not part of the first call.
        began = time.monotonic() - self._upstream.start_s
        try:
            outcome = self._call_tool(**call) if not with_progress else self._progress_of(**call)
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
        result = outcome["result"] if with_progress else outcome
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
            return kept
        result: Params = self._ask("tools/call", {"name": tool, "arguments": arguments})
        if is_cached and self._cache.stores and self._upstream.cleaned(result) == result:
            self._cache.keep(tool, arguments, result)
        return result

    def _progress_of(self, tool: str, arguments: Params) -> Params:
        """The answer to a call with the progress before it; cached results have none."""
        params = {"name": tool, "arguments": arguments}
        outcome: Params = self._cassette.perform(
            "mcp.callWithProgress",
            params,
            lambda: self._upstream.ask_with_progress("tools/call", params),
        )
        return outcome

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
        self._uploads.add(self._upstream.cleaned(record))

    def _list(self, key: str, method: str = "") -> object:
        method = method or f"{key}/list"
        return self._cassette.perform(method, {}, lambda: self._upstream.ask_all(method, key))

    def _call_prompt(self, params: Params) -> object:
        name, arguments = params.get("name", params.get("prompt")), params.get("arguments")
        return self._ask(
            "prompts/get", {"name": name} | ({} if arguments is None else {"arguments": arguments})
        )

    def _ask(self, method: str, params: Params) -> Any:
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
        unlisted = [name for name in map(visible, failed) if name not in names]
        sentences = []
        for name in unlisted:
            question = suggest(name, names, '"{}"')
            sentences.append(f'the server lists no tool "{name}"{question}')
        return [self._upstream.cleaned(sentence) for sentence in sentences]

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
    "mcp.callWithProgress": lambda session, params: session._call(params, with_progress=True),
    "mcp.complete": lambda session, params: session._ask("completion/complete", params),
    "mcp.ping": lambda session, params: session._ask("ping", params),
    "mcp.subscribeResource": lambda session, params: session._ask("resources/subscribe", params),
    "mcp.unsubscribeResource": lambda session, params: session._ask(
        "resources/unsubscribe", params
    ),
    "mcp.notifications": ConnectionSession._notifications,
    "mcp.stderr": ConnectionSession._stderr,
}
