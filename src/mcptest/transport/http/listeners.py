"""What becomes of one HTTP request: a message and its answer, a stream, or a token.

`HttpChannel` calls these listeners while the answer arrives; they interpret it with an
`AnswerReader` and pass on what it means to the transport.
"""

from __future__ import annotations

from mcptest.core.strict_json import dump_json
from mcptest.core.value_class import ABSENT
from mcptest.protocol.framing import Frame, TransportFault
from mcptest.protocol.http_messages import CANCELLED, AnswerReader, status_fault
from mcptest.protocol.jsonrpc import id_key
from mcptest.transport.http.authorization import MAX_DOCUMENT_BYTES, Fetched

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcptest.protocol.http_messages import Item
    from mcptest.transport.http.channel import Head
    from mcptest.transport.http.client import HttpTransport
    from mcptest.transport.http.connection import HttpConnectionError

__all__ = ["Fetch", "Post", "Stream"]


_GONE = 404
_NO_STREAM = (404, 405, 501)


class Post:
    """A message that was sent, and the answer to it."""

    def __init__(
        self, transport: HttpTransport, reader: AnswerReader, method: str, line: bytes
    ) -> None:
        self.reader = reader
        self.method = method
        self._transport = transport
        self._line = line
        self._is_dropped = False

    @property
    def is_receipt(self) -> bool:
        """True if no answer is expected, only that it is accepted."""
        return self.reader.id is ABSENT

    def take_head(self, head: Head) -> None:
        transport = self._transport
        if transport.credentials.can_answer(head.status, head.headers):
            # It is sent again with another token.
            self._is_dropped = True
            transport.send(self._line)
            return
        if 200 <= head.status < 300:
            transport.credentials.accepted()
        if self.method == "initialize" and 200 <= head.status < 300:
            fault = transport.take_session_id(head.headers)
            if fault:
                transport.deliver([fault])
        transport.deliver(self.reader.begin(head.status, head.headers))

    def take_piece(self, chunk: bytes) -> None:
        if not self._is_dropped:
            self._transport.stdout_tail.add(chunk)
            self._take(self.reader.feed(chunk))

    def _take(self, items: Sequence[Item]) -> None:
        self._transport.learn_from(self.method, items)
        self._transport.deliver(items)

    def take_end(self) -> None:
        transport, reader = self._transport, self.reader
        transport.finished(self)
        if self._is_dropped:
            return
        items = reader.finish()
        has_message = any(isinstance(item, Frame) for item in items)
        if not has_message and transport.may_fall_back(self.method, reader.status):
            transport.fall_back(self._line, items)
            return
        if transport.session_id and reader.status == _GONE and not _has_answer(items, reader.id):
            items = [_session_lost(items, reader)]
        self._take(items)
        if reader.is_stream and not reader.is_answered and not self.is_receipt:
            self._rest_is_missing("the server ended its event stream")
        elif self.method == "notifications/initialized" and 200 <= reader.status < 300:
            transport.open_stream()

    def take_failure(self, error: HttpConnectionError) -> None:
        self._transport.finished(self)
        if self._is_dropped:
            return
        if self.reader.is_stream and not self.is_receipt:
            if not self.reader.is_answered:
                self._rest_is_missing(error.message)
            return
        self._transport.deliver([_failure(error, self.reader)])

    def _rest_is_missing(self, how: str) -> None:
        if not self._transport.resume(self.reader, 0):
            message = f"{how} before it had answered {self.reader.said}"
            self._transport.deliver([_broken_off(message, self.reader)])


class Stream:
    """A stream requested with GET: the server's own, the rest of another, or the older transport's.

    `refusal` is how initialize was refused, if this looks for the older transport.
    """

    is_receipt = False

    def __init__(
        self,
        transport: HttpTransport,
        reader: AnswerReader,
        tries: int,
        refusal: Sequence[Item] | None = None,
    ) -> None:
        self.reader = reader
        self._transport = transport
        self._tries = tries
        self._refusal = refusal
        self._has_endpoint = False
        self._is_refused = False

    def take_head(self, head: Head) -> None:
        transport = self._transport
        if transport.is_old and transport.credentials.can_answer(head.status, head.headers):
            # The messages that wait for the stream open it again, with another token.
            transport.cancel(self)
            transport.obtain_token()
            return
        items = self.reader.begin(head.status, head.headers)
        if self.reader.is_stream:
            self._transport.deliver(items)
            return
        self._is_refused = True
        if self._refusal is not None:
            self._transport.give_up_old(self._refusal)
        elif self._transport.is_old:
            self._transport.fail_waiting(self._no_stream())
            self._transport.is_lost = True
        elif self.reader.id is not ABSENT or head.status not in _NO_STREAM:
            self._transport.deliver([*items, self._no_stream()])

    def _no_stream(self) -> TransportFault:
        reader = self.reader
        rest = "the GET for the rest of its answer to " if reader.id is not ABSENT else ""
        message = f"the server answered {rest}{reader.said} with status {reader.status} and no "
        hint = ""
        if self._transport.http.transport == "sse" and not self._has_endpoint:
            hint = '"transport: sse" asks for the older transport alone: leave out "transport"'
        return TransportFault(
            kind="event_stream", message=f"{message}event stream", hint=hint, id=reader.id
        )

    def take_piece(self, chunk: bytes) -> None:
        if self._is_refused:
            return
        self._transport.stdout_tail.add(chunk)
        items = self.reader.feed(chunk)
        if self.reader.endpoint and not self._has_endpoint:
            self._has_endpoint = True
            self._transport.take_endpoint(self.reader.endpoint)
        self._transport.deliver(items)

    def take_end(self) -> None:
        how = "the server ended its event stream"
        self._over(
            how, TransportFault(kind="event_stream", message=f"{how} before it named an endpoint")
        )

    def take_failure(self, error: HttpConnectionError) -> None:
        self._over(error.message, _failure(error, self.reader))

    def _over(self, how: str, fault: TransportFault) -> None:
        transport, reader = self._transport, self.reader
        transport.finished(self)
        if self._is_refused or reader.is_answered:
            return
        if self._refusal is not None and not self._has_endpoint:
            transport.give_up_old(self._refusal)
            return
        if transport.is_old:
            transport.fail_waiting(fault)
            transport.is_lost = True
            return
        tries = 0 if reader.events else self._tries
        if not transport.resume(reader, tries) and reader.id is not ABSENT:
            message = f"{how} before it had answered {reader.said}, and again when it was resumed"
            transport.deliver([_broken_off(message, reader)])


class Fetch:
    """A request that is not a message: for a token or metadata, or the end of a session."""

    is_receipt = False

    def __init__(self, transport: HttpTransport, reader: AnswerReader | None = None) -> None:
        self._transport = transport
        # The answer to the end of a session is ignored.
        self._is_for_token = reader is None
        self.reader = reader or AnswerReader("the request for a token", stream="post")
        self._status = 0
        self._raw = b""

    def take_head(self, head: Head) -> None:
        self._status = head.status

    def take_piece(self, chunk: bytes) -> None:
        self._raw += chunk
        if len(self._raw) > MAX_DOCUMENT_BYTES:
            self.give_up(f"the answer is larger than {MAX_DOCUMENT_BYTES:,} bytes")

    def take_end(self) -> None:
        self._transport.finished(self)
        self._over(Fetched(status=self._status, body=self._raw))

    def take_failure(self, error: HttpConnectionError) -> None:
        self._transport.finished(self)
        self._over(Fetched(problem=error.message))

    def give_up(self, problem: str) -> None:
        """Break it off."""
        self._transport.cancel(self)
        self._over(Fetched(problem=problem))

    def _over(self, answer: Fetched) -> None:
        if self._is_for_token:
            self._transport.take_fetched(answer)


def _failure(error: HttpConnectionError, reader: AnswerReader) -> TransportFault:
    return TransportFault(
        kind=error.kind,
        message=error.message,
        hint=error.hint,
        id=reader.id,
        effect="indefinite" if error.was_sent else "definite",
        is_refusal=reader.id is ABSENT and reader.said != CANCELLED,
    )


def _broken_off(message: str, reader: AnswerReader) -> TransportFault:
    return TransportFault(kind="event_stream", message=message, hint=reader.problem, id=reader.id)


def _has_answer(items: Sequence[Item], id: object) -> bool:
    """True if the server has answered under the id that it was sent."""
    for item in items:
        value = item.value if isinstance(item, Frame) else None
        if isinstance(value, dict) and id_key(value.get("id")) == id_key(id):
            return True
    return False


def _session_lost(items: Sequence[Item], reader: AnswerReader) -> TransportFault:
    """The fault of a lost session. Most servers report it in a message without an id."""
    said = [dump_json(item.value).encode() for item in items if isinstance(item, Frame)]
    faults = [item for item in items if isinstance(item, TransportFault)]
    fault = (
        faults[0]
        if faults
        else status_fault(reader.said, reader.id, reader.status, {}, said[0] if said else b"")
    )
    hint = "the session has ended on the server's side; the next test begins a new one"
    return fault.but(kind="session_lost", hint=hint)
