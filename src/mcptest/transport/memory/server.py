"""A server object of the official Python SDK, or of FastMCP, on the SDK's own memory streams.

The object runs in an event loop in a thread of its own; messages go to it and come from it as
its SDK passes them over any transport. Implements the same interface as the stdio transport: one
poll waits for what arrives and for a signal to us, and every wait has a deadline.
"""

from __future__ import annotations

import asyncio
import inspect
import time
from contextlib import nullcontext
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from itertools import count

from mcptest.core.errors import InterruptedRunError, ServerError, UsageError
from mcptest.core.results import Fault
from mcptest.core.secrets import redact_bytes, redact_part, redactor
from mcptest.core.text import excerpt
from mcptest.core.value_class import Record
from mcptest.protocol.framing import LineDecoder, Ring, TransportFault
from mcptest.transport import READABLE, wait_ready
from mcptest.transport.memory.asgi import AsgiHost, AsgiTransport
from mcptest.transport.memory.thread import (
    RAISED,
    LoopThread,
    ThreadQueue,
    describe_exception,
    ending_fault,
    format_traceback,
    raised_fault,
)
from mcptest.transport.process.stopping import Grace, Stopped

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from mcptest.core.plan import ServerSpec
    from mcptest.protocol.framing import Frame, Noise, Overlong
    from mcptest.transport.process.signals import Interrupts

    Item = Frame | Noise | Overlong | TransportFault

__all__ = ["MemoryTarget", "MemoryTransport"]


_KEPT_BYTES = 4 * 1024
_TRACES_KEPT_BYTES = 256 * 1024

# How long the next message waits until the last was taken.
_UNREAD_PATIENCE_S = 0.05

# How long the end of a server may come after that of its stream.
_END_PATIENCE_S = 0.2

_MAX_QUOTED = 200

# How much of what comes while the server is being ended is kept.
_LAST_ITEMS = 1000

_numbers = count(1)


class _Line(Record):
    """A message that the server wrote."""

    raw: bytes


class _Read(Record):
    """So many bytes of what was sent have been taken; `problem` says why they were no message."""

    size: int
    problem: str = ""


class _InputClosed(Record):
    """The server has closed the stream for messages to it."""


class _Raised(Record):
    """A task of the server ended in an exception; the server itself, when it `is_end`."""

    error: BaseException
    is_end: bool


class _Ended(Record):
    """The server has ended, or its stream has."""


class MemoryTransport:
    """One session with a server object: its `run`, from the first message to the end."""

    # It has no pipes and no process.
    is_pipe = False
    has_closed_stdin = False
    has_no_reader = False
    has_exited = False
    foreign_listener = ""
    unread_bytes = sent_bytes = begun_line = 0
    has_read_all = has_news = True
    repeats_trace = False

    def __init__(self, spec: ServerSpec, interrupts: Interrupts, target: Any) -> None:
        self.spec = spec
        self.label = f"memory://{spec.name}"
        self.interrupts = interrupts
        self.redact = redactor(spec.secrets) if spec.secrets else None
        self.decoder = LineDecoder(spec.limits.max_line_bytes)
        self.stdout_tail = Ring(_KEPT_BYTES)
        self.stdout_mark = 0
        # Instead of output of a process: the tracebacks of what it raised.
        self.stderr = Ring(_TRACES_KEPT_BYTES)
        self.unsent_bytes = 0
        self.last_output: list[Item] = []
        self.transport = f"memory:{next(_numbers)}"
        self._server = _find_lowlevel_server(target)
        # FastMCP enters its lifespan around the low-level server, which does not know it.
        self._lifespan: Any = getattr(target, "_lifespan_manager", nullcontext)
        self._items: list[Item] = []
        self._is_over = False
        self._problem = ""
        self._incoming: asyncio.Queue[bytes] = asyncio.Queue()
        self._events = ThreadQueue()
        self._thread = LoopThread(self._serve, self)
        self._thread.start()

    @property
    def is_closed(self) -> bool:
        """True once nothing more can arrive."""
        return self._is_over and not self._items

    def open(self, deadline: float) -> None:
        """No-op: a server in memory accepts messages at once."""

    def mark_stdout(self) -> int:
        """Start the evidence of a fault with what arrives from now on."""
        self.stdout_mark = self.stdout_tail.total
        return self.stdout_mark

    def redact_output(self, raw: bytes) -> bytes:
        """Part of the server's output without the secrets it was given."""
        redact = self.redact
        return redact_bytes(raw, lambda text: redact_part(text, redact)) if redact else raw

    def progress(self, id: object) -> str:
        """Why an answer may not come."""
        place = self._thread.blocked_at()
        if place:
            return f"its code does not come back to the event loop: it is at {place}"
        return self._problem

    def give_up(self, id: object) -> bool:
        """No-op: all answers come on one stream."""
        return False

    # Sending and receiving

    def send(self, line: bytes) -> None:
        """Send a message without ever waiting for the server to take it."""
        if self._thread.call(self._incoming.put_nowait, line):
            self.unsent_bytes += len(line)

    def wait_until_read(self) -> None:
        """Wait a moment until the server has taken what was sent."""
        deadline = time.monotonic() + _UNREAD_PATIENCE_S
        while self.unsent_bytes and not self._is_over:
            wait_s = deadline - time.monotonic()
            if wait_s <= 0:
                return
            self._poll(wait_s, heed_interrupts=True)

    def receive(self, deadline: float, *, heed_interrupts: bool = True) -> list[Item]:
        """What arrived by the deadline; empty at the deadline and at the end."""
        while not self._items and not self._is_over:
            wait_s = deadline - time.monotonic()
            # Polled at least once, so that what has already arrived is never missed.
            self._poll(max(0.0, wait_s), heed_interrupts=heed_interrupts)
            if wait_s <= 0:
                break
        items, self._items = self._items, []
        return items

    def _poll(self, wait_s: float, *, heed_interrupts: bool) -> None:
        wanted = {self._events.fd: READABLE}
        if heed_interrupts:
            wanted[self.interrupts.fd] = READABLE
        wait_ready(wanted, wait_s)
        for event in self._events.take():
            if isinstance(event, _Line):
                self.stdout_tail.add(event.raw)
                self._items += self.decoder.feed(event.raw)
            elif isinstance(event, _Read):
                self.unsent_bytes -= event.size
                self._problem = event.problem or self._problem
            elif isinstance(event, _InputClosed):
                self._problem = "it has closed the stream that messages go to"
            elif isinstance(event, _Raised):
                self.stderr.add(format_traceback(event.error))
                self._items.append(self._redacted(raised_fault(event.error, is_end=event.is_end)))
                self._is_over = self._is_over or event.is_end
            elif isinstance(event, _Ended):
                self._is_over = True
        if heed_interrupts and self.interrupts.count:
            raise InterruptedRunError

    def _redacted(self, fault: TransportFault) -> TransportFault:
        if self.redact is None:
            return fault
        return fault.but(message=self.redact(fault.message), hint=self.redact(fault.hint))

    # There is no process

    def drain_stderr(self) -> None:
        """No-op: tracebacks arrive with everything else."""

    def wait_for_stderr(self, deadline: float) -> bool:
        """False: there is no stderr to wait for."""
        return False

    def wait_for_exit(self, deadline: float, *, heed_interrupts: bool = False) -> bool:
        """False: there is no process."""
        return False

    # Ending

    def end(self, grace: Grace, *, at_once: bool = False) -> Stopped:
        """Close the stream, wait for the server, and end its thread."""
        began = time.monotonic()
        place = self._thread.blocked_at()
        how = self._thread.end(grace, self._pump, at_once=at_once)
        self._pump(0.0)
        self.last_output, self._items = self._items, []
        fault = ending_fault(how, place or self._thread.blocked_at())
        self.last_output += [self._redacted(fault)] if fault else []
        self._is_over = True
        self._events.close()
        took_s = time.monotonic() - began
        return Stopped(ended_by="closed", exit_code=None, took_s=took_s, left_behind={})

    def _pump(self, wait_s: float) -> None:
        self._poll(wait_s, heed_interrupts=False)
        del self._items[_LAST_ITEMS:]

    # Inside the thread

    async def _serve(self, stopping: asyncio.Event) -> None:
        make_streams = import_module("mcp.shared.memory").create_client_server_memory_streams
        async with self._lifespan(), make_streams() as ((incoming, outgoing), theirs):
            options = self._server.create_initialization_options()
            running = asyncio.ensure_future(self._server.run(*theirs, options))
            reading = asyncio.create_task(self._read_stream(incoming, running))
            feeding = asyncio.create_task(self._feed(outgoing))
            feeding.add_done_callback(self._note_closed_input)
            asked = asyncio.create_task(stopping.wait())
            await asyncio.wait({running, asked}, return_when=asyncio.FIRST_COMPLETED)
            feeding.cancel()
            await outgoing.aclose()
            await asyncio.wait({running})
            # What it wrote last is received, even if it has left its stream open.
            await theirs[1].aclose()
            await asyncio.wait({reading})
            running.result()

    async def _read_stream(self, incoming: Any, running: asyncio.Future[None]) -> None:
        async for item in incoming:
            raw = _encode_item(item)
            await self._events.put(_Line(raw=raw), len(raw))
        # Its end is reported elsewhere; a server that goes on has only closed its stream.
        await asyncio.wait({running}, timeout=_END_PATIENCE_S)
        if not running.done():
            self._events.post(_Ended())

    async def _feed(self, outgoing: Any) -> None:
        parse = _make_message_parser()
        wrapped = import_module("mcp.shared.message").SessionMessage
        while True:
            line, problem = await self._incoming.get(), ""
            try:
                message = wrapped(parse(line))
            except ValueError as error:
                # As its SDK does it over pipes: the server gets the error instead of a message.
                message = error
                problem = f"its SDK could not read the message: {describe_exception(error)}"
            await outgoing.send(message)
            self._events.post(_Read(size=len(line), problem=problem))

    def _note_closed_input(self, feeding: asyncio.Task[None]) -> None:
        if not feeding.cancelled() and feeding.exception():
            self._events.post(_InputClosed())

    # Called by the thread

    def work_ended(self, error: BaseException | None) -> None:
        """The server has ended."""
        if error:
            self._events.post(_Raised(error=error, is_end=True))
        self._events.post(_Ended())

    def task_raised(self, error: BaseException) -> None:
        """A task beside the server has raised, and no code handled it."""
        self._events.post(_Raised(error=error, is_end=False))

    def thread_ended(self) -> None:
        self._events.post(_Ended())


def _make_message_parser() -> Callable[[bytes], Any]:
    """A function that makes a message of a line, as the SDK does it over pipes."""
    if _is_first_sdk():
        parse: Callable[[bytes], Any] = import_module(
            "mcp.types"
        ).JSONRPCMessage.model_validate_json
        return parse
    shapes = import_module("mcp_types").jsonrpc_message_adapter
    return lambda line: shapes.validate_json(line, by_name=False)


@cache
def _is_first_sdk() -> bool:
    """True for version 1 of the official SDK, which has its types in a module of its own."""
    return find_spec("mcp_types") is None


def _encode_item(item: Any) -> bytes:
    """What the server put into its stream, as the line that its SDK makes of it."""
    dump = getattr(getattr(item, "message", None), "model_dump_json", None)
    if dump is None:
        return f"{excerpt(repr(item), _MAX_QUOTED)}\n".encode()
    leaves_out = "exclude_none" if _is_first_sdk() else "exclude_unset"
    try:
        text: str = dump(by_alias=True, **{leaves_out: True})
    except ValueError as error:
        return f"a message that cannot be written as JSON: {describe_exception(error)}\n".encode()
    return text.encode("utf-8", "backslashreplace") + b"\n"


# The object under test: a server, an ASGI app, or a function that makes either

_WANTED = (
    "give a server of the official SDK (MCPServer, the FastMCP of its version 1, or the low-level "
    "Server), one of the package fastmcp (FastMCP), an ASGI app, or a function without parameters "
    "that makes one"
)


class MemoryTarget:
    """Makes a transport to the object under test, each time a run starts its server.

    An object is the same one each time; what a function makes is made afresh. An app is started
    once, however many sessions it gets, and ended by `close`.
    """

    def __init__(self, target: Any) -> None:
        is_maker = _find_lowlevel_server(target) is None and _can_be_called_with(target, 0)
        self._make: Callable[[], Any] | None = target if is_maker else None
        # The first one shows which transport it needs; the first session uses it.
        self._next: Any = _call_maker(self._make) if self._make else target
        self.is_app = _find_lowlevel_server(self._next) is None
        if self.is_app and not _can_be_called_with(self._next, 3):
            shown = excerpt(repr(self._next), 80)
            raise UsageError(f"{shown} cannot be tested in memory", _WANTED)
        name = getattr(self._next, "name", None) or getattr(self._next, "__name__", None)
        self.name = name if isinstance(name, str) else type(self._next).__name__
        self._host: AsgiHost | None = None

    def wire(self, spec: ServerSpec, interrupts: Interrupts) -> MemoryTransport | AsgiTransport:
        """Begin a session with the object under test."""
        target = self._next
        if self._make:
            self._next = None
            target = _call_maker(self._make) if target is None else target
        if not self.is_app:
            return MemoryTransport(spec, interrupts, target)
        if self._make:
            return AsgiTransport(spec, interrupts, AsgiHost(target), owns_app=True)
        if self._host is None or self._host.is_ended or not self._host.is_alive:
            self._host = AsgiHost(target)
        return AsgiTransport(spec, interrupts, self._host, owns_app=False)

    def close(self) -> list[TransportFault]:
        """End the app that sessions shared, if there is one; faults not reported yet."""
        host, self._host = self._host, None
        if host is None or host.is_ended:
            return []
        ending = ending_fault(host.end(Grace(), None), host.blocked_at())
        raised = [raised_fault(error, is_end=True) for error in host.unreported]
        return raised + ([ending] if ending else [])


def _find_lowlevel_server(target: Any) -> Any:
    """The low-level server of a server object; None if it is not a server object."""
    # None of them has a public name for it; their own memory transports do the same.
    inner = (getattr(target, name, None) for name in ("_lowlevel_server", "_mcp_server"))
    for each in (target, *inner):
        options = getattr(each, "create_initialization_options", None)
        is_object = not isinstance(each, type)
        if is_object and callable(options) and callable(getattr(each, "run", None)):
            return each
    return None


def _call_maker(make: Callable[[], Any]) -> Any:
    try:
        return make()
    except Exception as error:  # whatever the user's function raises
        message = f"the function that makes the server raised {describe_exception(error)}"
        raise ServerError(Fault(kind=RAISED, message=message)) from error


def _can_be_called_with(target: Any, count: int) -> bool:
    """True if it can be called with this many arguments."""
    try:
        inspect.signature(target).bind(*range(count))
    except (TypeError, ValueError):
        return False
    return True
