"""Two pipes to an SDK: one request in, one answer out, before the next is looked at.

An SDK that sends several requests before it reads is not refused: what it sends meanwhile is
kept, as the bytes that came. But nothing is done for it before it has taken the answer to what
it asked before.
"""

from __future__ import annotations

import os
import select
import time

from mcptest import __version__
from mcptest.coprocess.cassettes import Cassette
from mcptest.coprocess.protocol import (
    COPROCESS_PROTOCOL_VERSION,
    RefusedError,
    answer,
    mismatch,
    read_request,
    refusal,
)
from mcptest.coprocess.uploads import BadTargetError, UploadError, Uploads, read_target
from mcptest.core.errors import InterruptedRunError, UsageError
from mcptest.core.record import ABSENT
from mcptest.core.text import plural
from mcptest.protocol.framing import LineDecoder
from mcptest.protocol.jsonrpc import INTERNAL_ERROR, INVALID_PARAMS, tool_failure

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from mcptest.coprocess.cache import Cache
    from mcptest.coprocess.protocol import Request
    from mcptest.coprocess.uploads import Post
    from mcptest.coprocess.upstream import Upstream
    from mcptest.protocol.framing import Frame, Noise, Overlong
    from mcptest.transport.process.signals import Interrupts

    Item = Frame | Noise | Overlong
    Params = dict[str, Any]

__all__ = ["Channel", "Session"]


_READ_BYTES = 1 << 16

# A pipe that has room at all has room for this much, so that such a write never blocks. The
# pipes are left blocking: they may be shared with whoever started us.
_WRITE_BYTES = select.PIPE_BUF

# An SDK that sends on and never reads is not listened to when this much waits for it.
_MAX_HELD_BYTES = 128 * 1024 * 1024

# How long an SDK that has ended its input may pause while it still reads.
_LAST_PATIENCE_S = 30.0

_GONE = select.POLLERR | select.POLLHUP | select.POLLNVAL


class Channel:
    """Requests from one descriptor, answers to another.

    InterruptedRunError says that a signal came, or that nobody reads any more; UsageError that
    answers cannot be written.
    """

    def __init__(self, source: int, sink: int, interrupts: Interrupts) -> None:
        self._source = source
        self._sink = sink
        self._interrupts = interrupts
        self._decoder = LineDecoder()
        # A line takes many times its bytes once it is decoded, so that is done when its turn comes.
        self._unread = bytearray()
        self._unsaid = bytearray()
        self._has_ended = False

    def requests(self) -> Iterator[Item]:
        """Every line, each when what was said to the one before has been taken."""
        while True:
            self.finish()
            item = self._next_item()
            if item is not None:
                yield item
            elif self._has_ended:
                return
            else:
                self._move(None)

    def _next_item(self) -> Item | None:
        """What the next line is, as soon as all of it is there."""
        while self._unread:
            if self._interrupts.count:
                raise InterruptedRunError
            end = self._unread.find(b"\n") + 1 or len(self._unread)
            piece = bytes(self._unread[:end])
            del self._unread[:end]
            found = self._decoder.feed(piece)
            if found:
                return found[0]
        return None

    def say(self, line: bytes) -> None:
        """Answer; it goes out before the next request is looked at."""
        self._unsaid += line

    def finish(self) -> None:
        """Wait until everything that was said has been taken."""
        while self._unsaid:
            if not self._move(_LAST_PATIENCE_S if self._has_ended else None):
                raise InterruptedRunError("the SDK does not read any more")

    def heed_leaving(self) -> None:
        """Where nobody reads any more, what the server is busy with need not be awaited.

        That our input has ended does not say so: whoever asks a few things and reads the
        answers may close it at once.
        """
        poll = select.poll()
        poll.register(self._sink, 0)
        _refuse_gone(poll.poll(0), self._sink)

    def _move(self, wait_s: float | None) -> bool:
        """Wait for room or for input, and use it; False when there was none in time."""
        poll = select.poll()
        poll.register(self._interrupts.fd, select.POLLIN)
        # An SDK that is killed may leave somebody behind who holds the other end of our input.
        poll.register(self._sink, select.POLLOUT if self._unsaid else 0)
        if self._is_listening():
            poll.register(self._source, select.POLLIN)
        ready = poll.poll(None if wait_s is None else wait_s * 1000)
        if self._interrupts.count:
            raise InterruptedRunError
        _refuse_gone(ready, self._sink)
        found = {fd for fd, _ in ready}
        if self._sink in found:
            self._write()
        if self._source in found:
            self._read()
        return bool(ready)

    def _is_listening(self) -> bool:
        return not self._has_ended and len(self._unread) <= _MAX_HELD_BYTES

    def _read(self) -> None:
        try:
            chunk = os.read(self._source, _READ_BYTES)
        except BlockingIOError:
            return
        except OSError:
            # A terminal that is gone, a connection that broke: nothing comes from there any more.
            chunk = b""
        self._has_ended = not chunk
        # A last line without an end is a line all the same.
        self._unread += chunk or b"\n"

    def _write(self) -> None:
        while self._unsaid:
            try:
                del self._unsaid[: os.write(self._sink, self._unsaid[:_WRITE_BYTES])]
            except BlockingIOError:
                return
            except ConnectionError:
                raise InterruptedRunError("the SDK has left") from None
            except OSError as error:
                raise UsageError(f"cannot write to standard output: {error.strerror}") from None
            if not self._has_room():
                return

    def _has_room(self) -> bool:
        poll = select.poll()
        poll.register(self._sink, select.POLLOUT)
        return bool(poll.poll(0))


def _refuse_gone(ready: list[tuple[int, int]], sink: int) -> None:
    if any(fd == sink and event & _GONE for fd, event in ready):
        raise InterruptedRunError("the SDK has left")


# One SDK on the other side: its requests in, one answer each.


class Session:
    """Knows what the SDK has set, and asks the server for the rest. Uploads go out by `post`."""

    def __init__(self, upstream: Upstream, cache: Cache, post: Post) -> None:
        self._upstream = upstream
        self._cache = cache
        self._cassette = Cassette(upstream)
        self._uploads = Uploads(post)
        self._mismatch = ""
        self._limit = upstream.spec.limits.max_line_bytes
        self.is_over = False
        # Whether it has come to its end as it should; whoever drives it says so.
        self.is_whole = False

    def hear(self, item: Frame | Noise | Overlong) -> bytes:
        """The answer to a line. After that to `mcp.shutdown` the session `is_over`."""
        try:
            request = read_request(item)
        except RefusedError as error:
            return refusal(error)
        try:
            return answer(request.id, self._result(request), self._limit)
        except RefusedError as error:
            error.id = request.id
            return refusal(error, self._limit)

    def _result(self, request: Request) -> object:
        if self._mismatch and request.method not in ("mcp.shutdown", "coprocess/handshake"):
            raise RefusedError(INVALID_PARAMS, self._mismatch)
        self._upstream.next_id = request.id
        return _METHODS[request.method](self, request.params)

    # Methods

    def _handshake(self, params: Params) -> object:
        self._mismatch = mismatch(params)
        if self._mismatch:
            raise RefusedError(INVALID_PARAMS, self._mismatch)
        return {"protocol_version": COPROCESS_PROTOCOL_VERSION, "binary_version": __version__}

    def _initialize(self, params: Params) -> object:
        return self._cassette.perform("initialize", {}, self._upstream.initialize)

    def _call(self, params: Params) -> object:
        asked = {"tool": params["tool"], "arguments": params.get("arguments", {})}
        # How long the server takes to start is no part of the first call.
        began = time.monotonic() - self._upstream.start_s
        try:
            result = self._called(**asked)
        except RefusedError as error:
            self._note(asked, began, {"error": {"code": error.code, "message": error.message}})
            raise
        except InterruptedRunError:
            # It was asked all the same, and may have had its effect.
            message = "nobody waited for the answer"
            self._note(asked, began, {"error": {"code": INTERNAL_ERROR, "message": message}})
            raise
        self._note(asked, began, {"result": result})
        return result

    def _called(self, tool: str, arguments: Params) -> Params:
        # While a tape is in, the cache is left alone: what is recorded was said by the server,
        # and what is kept is not from a tape.
        is_cached = not self._cassette.is_in
        kept = self._cache.find(tool, arguments) if is_cached else ABSENT
        if isinstance(kept, dict):
            return kept
        result: Params = self._asked("tools/call", {"name": tool, "arguments": arguments})
        if is_cached and self._cache.stores and self._upstream.cleaned(result) == result:
            self._cache.keep(tool, arguments, result)
        return result

    def _note(self, asked: Params, began: float, outcome: Params) -> None:
        """Queue a call for the next upload, when they are wanted."""
        result = outcome.get("result", {"isError": True})
        took_s = time.monotonic() - self._upstream.start_s - began
        took_ms = round(took_s * 1000, 3)
        record = {"success": not tool_failure(result), **outcome, "duration_ms": took_ms}
        if self._uploads.is_enabled:
            self._uploads.add(self._upstream.cleaned({**asked, **record}))

    def _list_tools(self, params: Params) -> object:
        return self._listed("tools")

    def _list_resources(self, params: Params) -> object:
        return self._listed("resources")

    def _listed(self, key: str) -> object:
        method = f"{key}/list"
        return self._cassette.perform(method, {}, lambda: self._upstream.ask_all(method, key))

    def _read_resource(self, params: Params) -> object:
        return self._asked("resources/read", params)

    def _call_prompt(self, params: Params) -> object:
        name, arguments = params.get("name", params.get("prompt")), params.get("arguments")
        asked = {"name": name} | ({} if arguments is None else {"arguments": arguments})
        return self._asked("prompts/get", asked)

    def _asked(self, method: str, params: Params) -> Any:
        """What the server, or the tape, answers to one request."""
        return self._cassette.perform(method, params, lambda: self._upstream.ask(method, params))

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

    def _shutdown(self, params: Params) -> object:
        self.is_over = True
        return {}

    # The end

    def save(self) -> None:
        """Before anything is waited for at the end: nothing that was queued can be lost now."""
        self._uploads.save()

    def close(self) -> str:
        """Deliver what is left; a line for each thing that was impossible."""
        self._cassette.eject(is_whole=self.is_whole)
        found = [*self._cassette.troubles, self._uploads.finish()]
        return "\n".join(filter(None, found))


_METHODS: dict[str, Callable[[Session, Params], object]] = {
    "coprocess/handshake": Session._handshake,
    "mcp.initialize": Session._initialize,
    "mcp.call": Session._call,
    "mcp.listTools": Session._list_tools,
    "mcp.listResources": Session._list_resources,
    "mcp.readResource": Session._read_resource,
    "mcp.callPrompt": Session._call_prompt,
    "mcp.reporter.setUpload": Session._set_upload,
    "mcp.reporter.flush": Session._flush,
    "mcp.cache.set_mode": Session._set_cache,
    "mcp.cassette.set_mode": Session._set_cassette,
    "mcp.shutdown": Session._shutdown,
}
