"""The session with an SDK: requests from one pipe, one answer each to another.

An SDK may send several requests before it reads. They are kept as bytes; each is handled when the
answer to the one before it has been read.
"""

from __future__ import annotations

import contextlib
import os
import select
import time

from mcptest import __version__
from mcptest.coprocess.protocol import (
    COPROCESS_PROTOCOL_VERSION,
    RefusedError,
    describe_version_mismatch,
    encode_error,
    encode_result,
    read_request,
)
from mcptest.coprocess.stores import Cassette
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

    from mcptest.coprocess.protocol import Request
    from mcptest.coprocess.stores import Cache
    from mcptest.coprocess.uploads import Post
    from mcptest.coprocess.upstream import Upstream
    from mcptest.protocol.framing import Frame, Noise, Overlong
    from mcptest.transport.process.signals import Interrupts

    Item = Frame | Noise | Overlong
    Params = dict[str, Any]

__all__ = ["Channel", "Session"]


_READ_BYTES = 1 << 16

# A pipe that poll reports as writable takes this much without blocking. The pipes are left in
# blocking mode, because the parent process may share them.
_WRITE_BYTES = getattr(select, "PIPE_BUF", 512)

# Stop reading when this many bytes of requests wait behind an answer that the SDK does not read.
_MAX_HELD_BYTES = 16 * 1024 * 1024

# How long an SDK that has closed our input may take to read the rest.
_LAST_READ_S = 30.0

# How long the server may take for each answer once our input has ended. An SDK that was killed
# looks the same as one that has sent everything and still reads.
_LAST_ANSWER_S = 5.0


class Channel:
    """Requests from one descriptor, answers to another.

    Raises InterruptedRunError after a signal or when the SDK has stopped reading, and UsageError
    when answers cannot be written.
    """

    def __init__(self, source: int, sink: int, interrupts: Interrupts) -> None:
        self._source = source
        self._sink = sink
        self._interrupts = interrupts
        self._decoder = LineDecoder()
        # Decoded lines take many times the memory, so each is decoded when its turn comes.
        self._unread = bytearray()
        self._unsent = bytearray()
        self._has_ended = False
        self._ended_at = 0.0
        # Why the last request was not answered, if its answer was not waited for.
        self.problem = ""

    def requests(self) -> Iterator[Item]:
        """Every line, each after the answer to the one before it has been read."""
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
        """The next line, None until all of it is here."""
        while self._unread:
            if self._interrupts.count:
                raise InterruptedRunError
            # In small pieces: a long line is not copied whole.
            end = self._unread.find(b"\n", 0, _READ_BYTES) + 1 or _READ_BYTES
            piece = bytes(self._unread[:end])
            del self._unread[:end]
            found = self._decoder.feed(piece)
            if found:
                return found[0]
        return None

    def send(self, line: bytes) -> None:
        """Queue an answer; it is written before the next request is handled."""
        self._unsent += line

    def finish(self) -> None:
        """Wait until all answers have been read."""
        while self._unsent:
            if not self._move(_LAST_READ_S if self._has_ended else None):
                raise InterruptedRunError("the SDK does not read any more")

    def check_client(self, asked_at: float) -> None:
        """Raise if the answer to what the server was asked at this time need not be waited for.

        The SDK has stopped reading, or it closed our input a while ago.
        """
        poll = select.poll()
        poll.register(self._sink, 0)
        _refuse_gone(poll.poll(0), self._sink)
        poll = select.poll()
        poll.register(self._source, select.POLLIN)
        while not self._has_ended and len(self._unread) <= _MAX_HELD_BYTES and poll.poll(0):
            self._read()
        waited_s = time.monotonic() - max(asked_at, self._ended_at)
        if self._has_ended and waited_s > _LAST_ANSWER_S:
            self.problem = (
                "standard input has ended, and the server did not answer within "
                f"{_LAST_ANSWER_S:g} s: it is stopped, and the call may have taken effect"
            )
            raise InterruptedRunError(self.problem)

    def _move(self, wait_s: float | None) -> bool:
        """Wait for room or for input, and use it; False when there was none in time."""
        poll = select.poll()
        poll.register(self._interrupts.fd, select.POLLIN)
        # Always watched: when an SDK is killed, a child of it may still hold our input open.
        poll.register(self._sink, select.POLLOUT if self._unsent else 0)
        if not self._has_ended and len(self._unread) <= _MAX_HELD_BYTES:
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

    def _read(self) -> None:
        try:
            chunk = os.read(self._source, _READ_BYTES)
        except BlockingIOError:
            return
        except OSError:
            # A terminal or a connection that is gone.
            chunk = b""
        if not chunk:
            self._has_ended, self._ended_at = True, time.monotonic()
        # The last line may lack its newline.
        self._unread += chunk or b"\n"

    def _write(self) -> None:
        poll = select.poll()
        poll.register(self._sink, select.POLLOUT)
        while self._unsent:
            try:
                del self._unsent[: os.write(self._sink, self._unsent[:_WRITE_BYTES])]
            except BlockingIOError:
                return
            except ConnectionError:
                raise InterruptedRunError("the SDK has left") from None
            except OSError as error:
                raise UsageError(f"cannot write to standard output: {error.strerror}") from None
            if not poll.poll(0):
                return


def _refuse_gone(ready: list[tuple[int, int]], sink: int) -> None:
    gone = select.POLLERR | select.POLLHUP | select.POLLNVAL
    if any(fd == sink and event & gone for fd, event in ready):
        raise InterruptedRunError("the SDK has left")


class Session:
    """Answers the requests of one SDK, and keeps what it has set. `post` sends uploads.

    `stderr_file` is where the SDK reads what the server wrote to stderr during a request.
    """

    def __init__(self, upstream: Upstream, cache: Cache, post: Post, stderr_file: str = "") -> None:
        self._upstream = upstream
        self._stderr_file = stderr_file
        self._reported_stderr = ""
        self._cache = cache
        self._cassette = Cassette(upstream)
        self._uploads = Uploads(post)
        self._mismatch = ""
        self._limit = upstream.spec.limits.max_line_bytes
        self.is_over = False
        # Set by the caller once the session has ended normally.
        self.is_complete = False

    def answer(self, item: Frame | Noise | Overlong) -> bytes:
        """The line that answers a line. After `mcp.shutdown` the session `is_over`."""
        try:
            request = read_request(item)
        except RefusedError as error:
            return encode_error(error)
        try:
            return encode_result(request.id, self._result(request), self._limit)
        except RefusedError as error:
            error.id = request.id
            return encode_error(error, self._limit)
        finally:
            self._report_stderr(self._upstream.stderr_of_request())

    def _report_stderr(self, stderr: str) -> None:
        """Replace the content of the file that the SDK reads when an expectation fails."""
        if not self._stderr_file or stderr == self._reported_stderr:
            return
        self._reported_stderr = stderr
        with contextlib.suppress(OSError), open(self._stderr_file, "wb") as file:
            file.write(stderr.encode("utf-8", "backslashreplace"))

    def _result(self, request: Request) -> object:
        if self._mismatch and request.method not in ("mcp.shutdown", "coprocess/handshake"):
            raise RefusedError(INVALID_PARAMS, self._mismatch)
        self._upstream.next_id = request.id
        self._upstream.start_request()
        return _METHODS[request.method](self, request.params)

    # Methods

    def _handshake(self, params: Params) -> object:
        self._mismatch = describe_version_mismatch(params)
        if self._mismatch:
            raise RefusedError(INVALID_PARAMS, self._mismatch)
        return {"protocol_version": COPROCESS_PROTOCOL_VERSION, "binary_version": __version__}

    def _initialize(self, params: Params) -> object:
        return self._cassette.perform("initialize", {}, self._upstream.initialize)

    def _call(self, params: Params) -> object:
        call = {"tool": params["tool"], "arguments": params.get("arguments", {})}
        # The time the server takes to start is not part of the first call.
        began = time.monotonic() - self._upstream.start_s
        try:
            result = self._call_tool(**call)
        except RefusedError as error:
            self._queue(call, began, {"error": {"code": error.code, "message": error.message}})
            raise
        except InterruptedRunError:
            # The server was asked, and the call may have taken effect.
            message = "the wait for the answer was interrupted"
            self._queue(call, began, {"error": {"code": INTERNAL_ERROR, "message": message}})
            raise
        self._queue(call, began, {"result": result})
        return result

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

    def _list(self, key: str) -> object:
        method = f"{key}/list"
        return self._cassette.perform(method, {}, lambda: self._upstream.ask_all(method, key))

    def _call_prompt(self, params: Params) -> object:
        name, arguments = params.get("name", params.get("prompt")), params.get("arguments")
        return self._ask(
            "prompts/get", {"name": name} | ({} if arguments is None else {"arguments": arguments})
        )

    def _ask(self, method: str, params: Params) -> Any:
        """The answer of the server, or of the cassette."""
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
        """Save queued uploads to a file, before the end is waited for."""
        self._uploads.save()

    def close(self) -> str:
        """Finish the cassette and deliver queued uploads; one line for each failure."""
        self._cassette.eject(is_complete=self.is_complete)
        found = [*self._cassette.warnings, self._uploads.finish()]
        return "\n".join(filter(None, found))


_METHODS: dict[str, Callable[[Session, Params], object]] = {
    "coprocess/handshake": Session._handshake,
    "mcp.initialize": Session._initialize,
    "mcp.call": Session._call,
    "mcp.listTools": lambda session, _: session._list("tools"),
    "mcp.listResources": lambda session, _: session._list("resources"),
    "mcp.readResource": lambda session, params: session._ask("resources/read", params),
    "mcp.callPrompt": Session._call_prompt,
    "mcp.reporter.setUpload": Session._set_upload,
    "mcp.reporter.flush": Session._flush,
    "mcp.cache.set_mode": Session._set_cache,
    "mcp.cassette.set_mode": Session._set_cassette,
    "mcp.shutdown": Session._shutdown,
}
