"""A server on the other side of HTTP, with the same face as one on the other side of pipes.

One poll waits for everything at once: all connections, what the server's process writes, its
end, a signal to us, the time when a stream is to be resumed. Where a command is given the server
is started by it and waited for until it listens; its stdout is then a log like its stderr.
"""

from __future__ import annotations

import contextlib
import heapq
import os
import select
import socket
import time

from mcptest.core.errors import InterruptedRunError, ServerError
from mcptest.core.record import ABSENT
from mcptest.core.results import Fault
from mcptest.core.secrets import redact_bytes, redact_part, redactor
from mcptest.core.text import visible
from mcptest.protocol.framing import Frame, LineDecoder, Ring, Trouble
from mcptest.protocol.http_address import parse_url
from mcptest.transport.http.channel import HttpChannel
from mcptest.transport.http.connection import Trust, look_up
from mcptest.transport.http.messages import HttpTalk
from mcptest.transport.http.ports import listeners_on
from mcptest.transport.process.stopping import Stopped
from mcptest.transport.stdio import StdioTransport

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from mcptest.core.plan import ServerSpec
    from mcptest.transport.http.connection import Place
    from mcptest.transport.process.guardian import Guardian
    from mcptest.transport.process.signals import Interrupts
    from mcptest.transport.process.stopping import Grace

    Item = Frame | Trouble

__all__ = ["HttpTransport"]

_KEPT_BYTES = 4 * 1024

# How long a notification may take to be accepted before the next message follows all the same.
_RECEIPT_PATIENCE_S = 5.0

# How often a server that is starting is asked whether it listens.
_KNOCK_S = 0.02

# How long its name may take to be looked up.
_LOOKUP_S = 5.0

_STDIN_S = 0.05

# How often those connections are looked at that a process which is gone has left.
_LAST_TURNS = 1000

# What breaks when a server ends, and how long its end may come after that.
_OF_A_BROKEN_CONNECTION = ("connect_failed", "event_stream", "http_body")
_END_PATIENCE_S = 0.2

_PORT = "{port}"

_LIMIT = '"startup_timeout" (in a config "startupTimeout") is the limit'
_UNTOLD = f'{_PORT} stands in the URL and neither in the command nor in "env": the server is not '
_UNTOLD += "told at which port to listen"


class HttpTransport:
    """One session with a server over HTTP, and its process if we start it."""

    is_pipe = False
    has_closed_stdin = False
    has_no_reader = False
    unsent_bytes = unread_bytes = sent_bytes = 0
    has_read_all = has_news = True

    def __init__(self, spec: ServerSpec, guardian: Guardian, interrupts: Interrupts) -> None:
        self._is_port_untold = _keeps_port(spec)
        self.spec = spec = _with_port(spec)
        assert spec.http
        _refuse_no_authorities(spec.http.ca_file)
        self.interrupts = interrupts
        self.decoder = LineDecoder()
        self.stdout_tail = Ring(_KEPT_BYTES)
        self.stdout_mark = 0
        self.last_output: list[Item] = []
        self._is_over = False
        self._is_heard_out = False
        self._items: list[Item] = []
        self._timers: list[tuple[float, int, Callable[[], None]]] = []
        self._timer_count = 0
        self._places: list[Place] | None = None
        self._is_taken = False
        # Who listens in the place of the server that we started, as far as can be seen.
        self.foreign_listener = ""
        trust = Trust(ca_file=spec.http.ca_file, skips_verification=spec.http.insecure_tls)
        self._channel = HttpChannel(trust, os.environ, parse_url(spec.http.url))
        limit = spec.limits.max_line_bytes
        self.talk = HttpTalk(
            spec.http, self._channel, limit, self._take, self._later, self.stdout_tail.add
        )
        # Before the server would be blamed for not answering what could not be sent.
        self.talk.token_s = min(self.talk.token_s, 0.9 * spec.startup_timeout_s)
        self.process: StdioTransport | None = None
        if spec.command:
            self._refuse_stranger()
            self.process = StdioTransport(spec, guardian, interrupts)
        self.stderr = self.process.stderr if self.process else Ring(1)
        # It knows of tokens and of the credentials of a proxy as soon as they are learned.
        self.redact = redactor(spec.secrets)

    # The face

    @property
    def label(self) -> str:
        return f"http://{self.spec.name}"

    @property
    def transport(self) -> str:
        kind = "sse" if self.talk.is_old else "http"
        return f"{kind}:{self.talk.address.url}"

    @property
    def has_exited(self) -> bool:
        return self.process is not None and self.process.has_exited

    @property
    def is_closed(self) -> bool:
        """Whether nothing can come any more."""
        is_gone = self.has_exited and self._is_heard_out
        return self._is_over or ((self.talk.is_lost or is_gone) and not self._items)

    def mark_stdout(self) -> int:
        """Remember how much has come; evidence begins here."""
        self.stdout_mark = self.stdout_tail.total
        return self.stdout_mark

    def cleaned(self, raw: bytes) -> bytes:
        """A part of what the server sent, without the secrets it was given."""
        return redact_bytes(raw, lambda text: redact_part(text, self.redact))

    @property
    def begun_line(self) -> int:
        """The number of the event that is arriving on the one stream of the older transport."""
        return self.talk.begun_event

    def progress(self, id: object) -> str:
        """How far the answer to a request has come."""
        return self.talk.progress(id)

    def give_up(self, id: object) -> bool:
        """Close the answer that is not waited for any more; False when there is none."""
        return self.talk.give_up(id)

    # Starting

    def _refuse_stranger(self) -> None:
        if self._listens():
            message = f"something listens at {self.talk.address.authority} already"
            hint = "it would be tested in the place of the server that the command starts; write "
            hint += f'{_PORT} for the port in "url" and in the command to have a free one chosen'
            raise ServerError(Fault(kind="spawn_failed", message=message, hint=hint))

    def _listens(self) -> bool:
        """Whether a connection can be made; a name is looked up once, and not waited for long."""
        if self._places is None:
            self._places = look_up(self.talk.address, _LOOKUP_S, self.interrupts.fd)
        for family, place in self._places:
            with contextlib.suppress(OSError), socket.socket(family, socket.SOCK_STREAM) as probe:
                probe.settimeout(1.0)
                probe.connect(place)
                return True
        return False

    def open(self, deadline: float) -> Fault | None:
        """Wait until the server that we started listens; what is wrong when it never does."""
        while self.process and not self.has_exited and not self._is_ours_listening():
            if self._is_taken and time.monotonic() >= deadline:
                return self._taken()
            if time.monotonic() >= deadline:
                return Fault(
                    kind="handshake_timeout",
                    message=f"the server does not listen at {self.talk.address.authority} after "
                    f"{self.spec.startup_timeout_s:g} s",
                    hint=_UNTOLD if self._is_port_untold else _LIMIT,
                )
            self._look(_KNOCK_S, heed_interrupts=True)
        return None

    def _is_ours_listening(self) -> bool:
        """Whether the server that we started can be reached, and not another of our servers."""
        assert self.process
        if not self._listens():
            return False
        found = listeners_on(self.talk.address.port, self.process.mark)
        self._is_taken = bool(found.others) and not found.has_ours
        if found.strangers and not found.has_ours:
            # In a container, perhaps; or somebody who was quicker.
            self.foreign_listener = found.strangers_told()
        return not self._is_taken

    def _taken(self) -> Fault:
        return Fault(
            kind="spawn_failed",
            message=f"another server that mcptest has started listens at "
            f"{self.talk.address.authority}",
            hint=f'write {_PORT} for the port in "url" and in the command: each gets its own',
        )

    # Sending and receiving

    def send(self, line: bytes) -> None:
        """Send a message; what comes of it is received."""
        self.talk.send(line)

    def wait_until_read(self) -> None:
        """Wait until what needs no answer has been accepted: the next message may rely on it."""
        deadline = time.monotonic() + _RECEIPT_PATIENCE_S
        while self._awaits_receipt() and not self.is_closed:
            wait_s = deadline - time.monotonic()
            if wait_s <= 0:
                return
            self._look(wait_s, heed_interrupts=True)

    def _awaits_receipt(self) -> bool:
        return any(each.is_receipt for each in self.talk.running)

    def receive(self, deadline: float, *, heed_interrupts: bool = True) -> list[Item]:
        """What has come by the deadline; empty when nothing has, or can."""
        while not self._items and not self.is_closed:
            wait_s = deadline - time.monotonic()
            # At least one look, so that what has already arrived is never missed.
            self._look(max(0.0, wait_s), heed_interrupts=heed_interrupts)
            if wait_s <= 0:
                break
        items, self._items = self._items, []
        return items

    def _take(self, items: Sequence[Item]) -> None:
        for item in items:
            if isinstance(item, Trouble) and self._is_explained_by_its_end(item):
                continue
            if isinstance(item, Trouble):
                item = item.but(message=self.redact(item.message), hint=self.redact(item.hint))
            # Messages are compared as they came; whoever tells of them blanks what is in them.
            self._items.append(item)

    def _is_explained_by_its_end(self, trouble: Trouble) -> bool:
        """Whether a connection broke because the process that we started has ended."""
        if self.process is None or trouble.kind not in _OF_A_BROKEN_CONNECTION:
            return False
        if trouble.id is ABSENT and not trouble.is_refusal:
            # It is told of a stream that goes on.
            return False
        return self.process.wait_for_exit(time.monotonic() + _END_PATIENCE_S)

    def _later(self, delay_s: float, action: Callable[[], None]) -> None:
        self._timer_count += 1
        heapq.heappush(self._timers, (time.monotonic() + delay_s, self._timer_count, action))

    # One turn of the loop

    def _look(self, wait_s: float, *, heed_interrupts: bool) -> None:
        ready = self._ready(self._pause(wait_s), heed_interrupts)
        self._channel.move(ready)
        if self.process and ready & set(self.process.handles()):
            self.process.pump()
        if self.has_exited and not self._is_heard_out:
            self._hear_out()
        while self._timers and self._timers[0][0] <= time.monotonic():
            heapq.heappop(self._timers)[2]()
        if heed_interrupts and self.interrupts.count:
            raise InterruptedRunError

    def _hear_out(self) -> None:
        """Take what a process that is gone had still sent, and no more: others may talk on."""
        self._is_heard_out = True
        for _ in range(_LAST_TURNS):
            ready = self._ready(0.0, heed_interrupts=False)
            if not ready & {fd for fd, _ in self._channel.handles()}:
                return
            self._channel.move(ready)

    def _pause(self, wait_s: float) -> float:
        if self._channel.has_more:
            return 0.0
        if self._timers:
            wait_s = min(wait_s, max(0.0, self._timers[0][0] - time.monotonic()))
        return wait_s

    def _ready(self, wait_s: float, heed_interrupts: bool) -> set[int]:
        poll = select.poll()
        for fd, wants in self._channel.handles():
            poll.register(fd, wants)
        if self.process:
            for fd in self.process.handles():
                poll.register(fd, select.POLLIN)
        if heed_interrupts:
            poll.register(self.interrupts.fd, select.POLLIN)
        return {fd for fd, _ in poll.poll(_milliseconds(wait_s))}

    # Its process

    def drain_stderr(self) -> None:
        if self.process:
            self.process.drain_stderr()

    def wait_for_stderr(self, deadline: float) -> bool:
        """Wait until stderr brings something; False when there is none of ours to read."""
        return self.process.wait_for_stderr(deadline) if self.process else False

    def wait_for_exit(self, deadline: float, *, heed_interrupts: bool = False) -> bool:
        """Wait for the end of the process; a server that we did not start never ends for us."""
        while self.process and not self.has_exited:
            wait_s = deadline - time.monotonic()
            if wait_s <= 0:
                return False
            self._look(wait_s, heed_interrupts=heed_interrupts)
        return self.has_exited

    # Ending

    def end(self, grace: Grace, *, at_once: bool = False) -> Stopped:
        """End the session, close every connection, and stop the process if it is ours."""
        began = time.monotonic()
        if not at_once and not self.is_closed and self.talk.end_session():
            deadline = began + grace.stdin_s
            while self.talk.running and (wait_s := deadline - time.monotonic()) > 0:
                self._look(wait_s, heed_interrupts=False)
        self._channel.close()
        self._timers.clear()
        self.last_output, self._items = self._items, []
        self._is_over = True
        if self.process:
            # Its stdin means nothing to it, so that a signal is how it is asked to end.
            ended = self.process.end(grace.but(stdin_s=_STDIN_S), at_once=at_once)
            return ended.but(ended_by="closed") if ended.ended_by == "term" else ended
        took_s = time.monotonic() - began
        return Stopped(ended_by="closed", exit_code=None, took_s=took_s, left_behind={})


def _milliseconds(wait_s: float) -> int:
    # Rounded up, or the last millisecond would be spent asking.
    return int(wait_s * 1000) + (wait_s > 0)


def _keeps_port(spec: ServerSpec) -> bool:
    """Whether the server is not told which port has been chosen for it."""
    told = (*spec.command, *(spec.env or {}).values())
    is_chosen = spec.http is not None and _PORT in spec.http.url
    return is_chosen and not any(_PORT in text for text in told)


def _refuse_no_authorities(ca_file: str) -> None:
    if ca_file and not os.path.isfile(ca_file):
        message = f'"ca_file" (in a config "caFile") names {visible(ca_file)!r}, and there is no '
        hint = "it is taken from the folder of the file that names it"
        raise ServerError(Fault(kind="tls_failed", message=f"{message}such file", hint=hint))


def _with_port(spec: ServerSpec) -> ServerSpec:
    """The server with a free port where its author leaves the choice to us."""
    http = spec.http
    if http is None or _PORT not in http.url:
        return spec
    port = str(_free_port(parse_url(http.url.replace(_PORT, "65535")).host))
    return spec.but(
        http=http.but(url=http.url.replace(_PORT, port)),
        command=tuple(word.replace(_PORT, port) for word in spec.command),
        env={name: value.replace(_PORT, port) for name, value in (spec.env or {}).items()},
    )


def _free_port(host: str) -> int:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.bind(("::1" if ":" in host else "127.0.0.1", 0))
        port = probe.getsockname()[1]
    assert isinstance(port, int)
    return port
