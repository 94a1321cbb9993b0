"""A server that is an ASGI app in this process. Implements the interface of the HTTP client.

Sessions, streams and both eras are handled as over HTTP; requests reach the app without a
connection.
"""

from __future__ import annotations

import asyncio
import math
import time
from urllib.parse import unquote

from mcptest.core.results import Fault
from mcptest.core.text import excerpt
from mcptest.core.value_class import Record
from mcptest.protocol.framing import Ring, TransportFault
from mcptest.transport import READABLE
from mcptest.transport.http.client import HttpClient, parse_head
from mcptest.transport.http.connection import HttpConnectionError, Trust
from mcptest.transport.http.transport import HttpTransport
from mcptest.transport.memory.thread import (
    RAISED,
    InterruptedWork,
    LoopThread,
    ThreadQueue,
    describe_exception,
    ending_fault,
    format_traceback,
    raised_fault,
)
from mcptest.transport.process.child import NoGuardian

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterator
    from typing import Any

    from mcptest.core.plan import ServerSpec
    from mcptest.transport.http.client import AnyExchange, Head, HttpRequest
    from mcptest.transport.memory.thread import Ending, Pump
    from mcptest.transport.process.signals import Interrupts
    from mcptest.transport.process.stopping import Grace, Stopped

    Message = dict[str, Any]
    Report = Callable[[BaseException, HttpRequest], None]

__all__ = ["AsgiHost", "AsgiTransport"]


_TRACES_KEPT_BYTES = 256 * 1024


class AsgiTransport(HttpTransport):
    """One session with an app, which ends with it if the session `owns_app`."""

    def __init__(
        self, spec: ServerSpec, interrupts: Interrupts, host: AsgiHost, *, owns_app: bool
    ) -> None:
        super().__init__(spec, NoGuardian(), interrupts)  # type: ignore[arg-type]  # there is no process to guard
        self.label = f"memory://{spec.name}"
        self._host = host
        self._owns_app = owns_app
        self._events = ThreadQueue()
        self._other_fds = (self._events.fd,)
        host.subscribe(self._events)
        # Instead of output of a process: the tracebacks of what it raised.
        self.stderr = Ring(_TRACES_KEPT_BYTES)
        self._client = _AsgiClient(host, self._take_error)

    def progress(self, id: object) -> str:
        """Why an answer may not come, or how far it has come."""
        place = self._host.blocked_at()
        if place:
            return f"its code does not come back to the event loop: it is at {place}"
        return super().progress(id)

    def open(self, deadline: float) -> Fault | None:
        """Wait until the app has started; the fault if it does not."""
        host = self._host
        while not host.is_started and not host.refusal and host.is_alive:
            wait_s = deadline - time.monotonic()
            if wait_s <= 0:
                place = host.blocked_at()
                limit = f"{self.spec.startup_timeout_s:g} s"
                return Fault(
                    kind="handshake_timeout",
                    message=f"the app has not started after {limit} (lifespan)",
                    hint=f"its code is at {place}" if place else "",
                )
            self._poll(wait_s, heed_interrupts=True)
        if host.refusal:
            self.stderr.add(host.trace)
            hint = _ONCE if "once" in host.refusal else ""
            return Fault(
                kind=RAISED, message=f"the app could not be started: {host.refusal}", hint=hint
            )
        return None

    # One turn of the loop

    def _ready(self, wait_s: float, heed_interrupts: bool) -> set[int]:
        ready = super()._ready(wait_s, heed_interrupts)
        self._take_events()
        return ready

    def _take_events(self) -> None:
        for event in self._events.take():
            if isinstance(event, _AppRaised):
                self.stderr.add(format_traceback(event.error))
                self.deliver([raised_fault(event.error, is_end=event.is_end)])
            if isinstance(event, _AppEnded) or (isinstance(event, _AppRaised) and event.is_over):
                self.is_lost = True

    def _take_error(self, error: BaseException, request: HttpRequest) -> None:
        """Keep what the app raised. For a POST, the answer to its message reports it as well."""
        self.stderr.add(format_traceback(error))
        if request.method != "POST":
            said = describe_exception(error)
            message = f"the app raised when it was asked with {request.method}: {said}"
            self.deliver([TransportFault(kind=RAISED, message=message)])

    # Ending

    def end(self, grace: Grace, *, at_once: bool = False) -> Stopped:
        """End the session, and the app if it is only for this session, or stuck."""
        place = self._host.blocked_at()
        stopped = super().end(grace, at_once=at_once or bool(place))
        is_stuck = bool(self._host.blocked_at())
        how: Ending = ""
        if self._owns_app or is_stuck:
            how = self._host.end(
                grace, lambda wait_s: self._poll(wait_s, heed_interrupts=False), at_once=is_stuck
            )
        self._take_events()
        fault = ending_fault(how, place)
        self.deliver([fault] if fault else [])
        self.last_output += self._items
        self._items = []
        self._host.unsubscribe(self._events)
        self._events.close()
        return stopped


_ONCE = "some apps can be started once only: give a function that makes one, instead of the app"


# The app: its lifespan and its requests, in a thread of their own

ASGI = {"version": "3.0", "spec_version": "2.3"}

_MAX_SAID = 300

# How long an exception may come after the app has said that it could not start, or end.
_CAUSE_PATIENCE_S = 1.0


class _AppRaised(Record):
    """An exception that no request caused; `is_over` if nothing runs any more."""

    error: BaseException
    is_end: bool = False
    is_over: bool = False


class _AppEnded(Record):
    """Nothing runs any more."""


class AsgiHost:
    """Runs one app. `is_started` once requests can be made, `refusal` when they never can."""

    def __init__(self, app: Any) -> None:
        self.app = app
        self.is_started = False
        self.is_ended = False
        self.refusal = ""
        self.trace = b""
        # What it raised at its start: most apps that raise there do not support lifespans.
        self.lifespan_error = ""
        self.state: Message = {}
        # What was raised without a session to report it to.
        self.unreported: list[BaseException] = []
        self._queues: list[ThreadQueue] = []
        self._requests: set[asyncio.Task[None]] = set()
        self._to_app: asyncio.Queue[Message] = asyncio.Queue()
        self._from_app: asyncio.Queue[Message] = asyncio.Queue()
        self._thread = LoopThread(self._run_app, self)
        self.blocked_at = self._thread.blocked_at
        self._thread.start()

    # From outside

    @property
    def is_alive(self) -> bool:
        return self._thread.is_alive

    def subscribe(self, queue: ThreadQueue) -> None:
        """Post what happens beside requests to this queue, from now on."""
        self._queues.append(queue)

    def unsubscribe(self, queue: ThreadQueue) -> None:
        self._queues.remove(queue)

    def begin(self, work: Callable[[], Coroutine[Any, Any, None]]) -> bool:
        """Start the answer to a request; False if nothing runs any more."""
        return self._thread.call(self._begin, work)

    def call(self, action: Callable[[], object]) -> None:
        self._thread.call(action)

    def end(self, grace: Grace, pump: Pump | None, *, at_once: bool = False) -> Ending:
        """Shut the app down, and end its thread."""
        self.is_ended = True
        return self._thread.end(grace, pump, at_once=at_once)

    # Inside the thread

    def _begin(self, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        task = asyncio.create_task(work())
        self._requests.add(task)
        task.add_done_callback(self._requests.discard)

    async def _run_app(self, stopping: asyncio.Event) -> None:
        lifespan = asyncio.create_task(self._call_lifespan())
        await self._start(lifespan)
        # Wakes a session that waits for it.
        self._post(None)
        if not lifespan.done():
            lifespan.add_done_callback(self._report_end)
        await stopping.wait()
        requests = set(self._requests)
        for task in requests:
            task.cancel()
        if requests:
            await asyncio.wait(requests)
        if not lifespan.done():
            self._to_app.put_nowait({"type": "lifespan.shutdown"})
            said = await self._read_phase(lifespan, "shutdown")
            await asyncio.wait({lifespan})
            if said and said["type"] == "lifespan.shutdown.failed" and not lifespan.exception():
                raise RuntimeError(f"lifespan.shutdown.failed: {_reason_of(said)}")

    def _report_end(self, lifespan: asyncio.Task[None]) -> None:
        """Report what an app raises when it ends, or long before."""
        error = None if lifespan.cancelled() else lifespan.exception()
        if error:
            self._report_error(error, is_end=True)

    async def _call_lifespan(self) -> None:
        scope = {"type": "lifespan", "asgi": ASGI, "state": self.state}
        await self.app(scope, self._to_app.get, self._from_app.put)

    async def _start(self, lifespan: asyncio.Task[None]) -> None:
        """Wait until the app has started, or has shown that it does not support lifespans."""
        self._to_app.put_nowait({"type": "lifespan.startup"})
        said = await self._read_phase(lifespan, "startup")
        if said is None:
            error = lifespan.exception()
            self.lifespan_error = describe_exception(error) if error else ""
        elif said["type"] == "lifespan.startup.failed":
            await asyncio.wait({lifespan}, timeout=_CAUSE_PATIENCE_S)
            error = lifespan.exception() if lifespan.done() else None
            self.refusal = describe_exception(error) if error else _reason_of(said)
            self.trace = format_traceback(error) if error else b""
            return
        self.is_started = True

    async def _read_phase(self, lifespan: asyncio.Task[None], moment: str) -> Message | None:
        """The message of the app about this phase; None if its lifespan ends before."""
        while True:
            said = asyncio.create_task(self._from_app.get())
            await asyncio.wait({said, lifespan}, return_when=asyncio.FIRST_COMPLETED)
            if not said.done():
                said.cancel()
                return None
            message = said.result()
            if str(message.get("type")).startswith(f"lifespan.{moment}."):
                return message

    # Called by the thread

    def _post(self, event: object) -> None:
        for queue in list(self._queues):
            queue.post(event)

    def work_ended(self, error: BaseException | None) -> None:
        """The app has ended."""
        if error:
            self._report_error(error, is_end=True, is_over=True)
        self._post(_AppEnded())

    def task_raised(self, error: BaseException) -> None:
        """A task has raised, and no code handled it."""
        if not isinstance(error, InterruptedWork):
            self._report_error(error, is_end=False)

    def _report_error(self, error: BaseException, *, is_end: bool, is_over: bool = False) -> None:
        if self._queues:
            self._post(_AppRaised(error=error, is_end=is_end, is_over=is_over))
        else:
            self.unreported.append(error)

    def thread_ended(self) -> None:
        self._post(_AppEnded())


def _reason_of(said: Message) -> str:
    return excerpt(str(said.get("message") or "it gave no reason"), _MAX_SAID)


# One request to the app and its answer, without a connection. The thread of the app posts it
# to a queue, which the client reads like a connection.

_START, _BODY = "http.response.start", "http.response.body"

# With such a status a framework answers for the app, whose exception follows.
_BROKEN_STATUS = 500


class _AsgiClient(HttpClient):
    """All requests to one app. `report` is given what the app raises, and for which request."""

    def __init__(self, host: AsgiHost, report: Report) -> None:
        super().__init__(Trust(), {})
        self._host = host
        self._report = report

    def exchange_for(self, request: HttpRequest) -> AnyExchange:
        return _Exchange(request, self._host, self._report)


class _Exchange:
    """A request under way. It stands in for its own connection: a queue has the answer."""

    progress = ""
    wants = READABLE
    reusable_connection = None
    # Nothing waits for a connection here.
    has_head = True
    patience_left_s = math.inf

    def __init__(self, request: HttpRequest, host: AsgiHost, report: Report) -> None:
        self.request = request
        self.is_over = False
        self._host = host
        self._report = report
        self._events = ThreadQueue()
        self._answering = _Answering(request, host, self._events)
        if not host.begin(self._answering.run):
            self._events.post(HttpConnectionError("connect_failed", "the app has ended"))

    def advance(self) -> Iterator[Head | bytes]:
        """What the app has sent; HttpConnectionError says what broke."""
        for piece in self._events.take():
            if isinstance(piece, HttpConnectionError):
                if piece.__cause__:
                    self._report(piece.__cause__, self.request)
                raise piece
            if piece is None:
                self.is_over = True
                return
            yield piece

    # The connection

    @property
    def connection(self) -> _Exchange:
        return self

    @property
    def fd(self) -> int:
        return self._events.fd

    def has_more(self) -> bool:
        return False

    def close(self) -> None:
        if self._events.fd < 0:
            return
        for piece in self._events.close():
            # The answer is not wanted any more; what was raised is still reported.
            if isinstance(piece, HttpConnectionError) and piece.__cause__:
                self._host.task_raised(piece.__cause__)
        self._host.call(self._answering.gone.set)


class _Answering:
    """The app's side of a request, inside its thread."""

    def __init__(self, request: HttpRequest, host: AsgiHost, events: ThreadQueue) -> None:
        self._request = request
        self._host = host
        self._events = events
        # Set when the answer is not wanted any more.
        self.gone = asyncio.Event()
        self._has_body = False
        # 0 before the app has sent one.
        self._status = 0
        # True once the app has sent all of its answer.
        self._is_complete = False
        # True once the end of the answer, or its failure, was posted.
        self._is_posted = False
        # What was raised in the app because of what it sent.
        self._refusal: RuntimeError | None = None

    async def run(self) -> None:
        """Call the app, and post its answer or what went wrong."""
        task = asyncio.create_task(self._call_app())
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError:
            task.cancel()
            await asyncio.wait({task})
            raise
        error = None if task.cancelled() else task.exception()
        if error is not None and self._is_posted:
            # Too late for the answer; it is still reported.
            if error is not self._refusal:
                self._host.task_raised(error)
        elif error is not None:
            problem = self._host.lifespan_error
            hint = f"at its start (lifespan) it raised {problem}" if problem else ""
            self._fail(RAISED, f"the app raised {describe_exception(error)}", hint, error)
        elif self._is_complete:
            self._post_end(None)
        else:
            what = "before its answer was complete" if self._status else "without an answer"
            self._fail("http_body", f"the app returned {what}")

    async def _call_app(self) -> None:
        request, address = self._request, self._request.address
        path, _, query = address.target.partition("?")
        headers = [
            (name.lower().encode(), value.encode("latin-1")) for name, value in request.all_headers
        ]
        scope = {
            "type": "http",
            "asgi": ASGI,
            "http_version": "1.1",
            "method": request.method,
            "scheme": address.scheme,
            "path": unquote(path),
            "raw_path": path.encode(),
            "query_string": query.encode(),
            "root_path": "",
            "headers": headers,
            "client": ("127.0.0.1", 1),
            "server": (address.host, address.port),
            "state": dict(self._host.state),
        }
        await self._host.app(scope, self._receive, self._send)

    async def _receive(self) -> Message:
        if not self._has_body:
            self._has_body = True
            return {"type": "http.request", "body": self._request.body, "more_body": False}
        await self.gone.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: Message) -> None:
        problem = self._find_problem(message)
        if problem:
            self._fail("http_body", f"the app sent {problem}")
            self._refusal = RuntimeError(f"not ASGI: {problem}")
            raise self._refusal
        if message["type"] == _START:
            self._status = int(message["status"])
            await self._events.put(parse_head(self._status, message.get("headers", ())), 0)
            return
        body = bytes(message.get("body", b""))
        if body:
            await self._events.put(body, len(body))
        if not message.get("more_body", False):
            self._is_complete = True
            self.gone.set()
            if self._status < _BROKEN_STATUS:
                self._post_end(None)

    def _find_problem(self, message: Any) -> str:
        """What is wrong with a message of the app; "" if it is valid ASGI."""
        kind = message.get("type") if isinstance(message, dict) else None
        due = _BODY if self._status else _START
        if kind not in (_START, _BODY):
            return f"{_shown(kind)}, where {due} was due"
        if kind != due or self._is_complete:
            return f"{kind}, where {'nothing' if self._is_complete else due} was due"
        if kind == _BODY:
            is_bytes = isinstance(message.get("body", b""), (bytes, bytearray, memoryview))
            return "" if is_bytes else "a body that is not bytes"
        status = message.get("status")
        if not isinstance(status, int) or not 200 <= status <= 599:
            return f"the status {_shown(status)}"
        return "" if _are_headers(message.get("headers", ())) else "headers that are not bytes"

    def _fail(
        self, kind: str, message: str, hint: str = "", cause: BaseException | None = None
    ) -> None:
        failure = HttpConnectionError(kind, message, hint, was_sent=True)
        failure.__cause__ = cause
        self._post_end(failure)

    def _post_end(self, failure: HttpConnectionError | None) -> None:
        """Post that the answer has ended, or failed, unless that was done."""
        if self._is_posted:
            return
        self._is_posted = True
        is_posted = self._events.post(failure)
        if failure and failure.__cause__ and not is_posted:
            self._host.task_raised(failure.__cause__)


def _shown(value: object) -> str:
    return excerpt(repr(value), 80)


def _are_headers(headers: object) -> bool:
    return isinstance(headers, (list, tuple)) and all(
        isinstance(pair, (list, tuple))
        and len(pair) == 2
        and all(isinstance(word, bytes) for word in pair)
        for pair in headers
    )
