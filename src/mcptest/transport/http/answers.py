"""What one HTTP answer means for an MCP session: the answer to a message, a stream, a token.

These are the handlers that `HttpClient` calls while an answer arrives. They interpret it with an
`AnswerReader` and pass on what it means to the `HttpTransport`.
"""

from __future__ import annotations

from mcptest.core.strict_json import dump_json
from mcptest.core.value_class import ABSENT
from mcptest.protocol.framing import Frame, TransportFault
from mcptest.protocol.http_messages import CANCELLED, AnswerReader, status_fault
from mcptest.protocol.jsonrpc import id_key
from mcptest.protocol.oauth import OAuthError
from mcptest.transport.http.authorization import MAX_DOCUMENT_BYTES, Fetched, fetch_error

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcptest.protocol.http_messages import Item
    from mcptest.transport.http.client import Head, HttpRequest
    from mcptest.transport.http.connection import HttpConnectionError
    from mcptest.transport.http.transport import HttpTransport

__all__ = ["Post", "SessionRequest", "Stream", "TokenFetch"]


_GONE = 404
_NO_STREAM = (404, 405, 501)


class SessionRequest:
    """A request of the session that is under way. It ignores its answer; subclasses use theirs.

    `is_receipt` is true for a message that the server accepts and does not answer.
    """

    def __init__(
        self, transport: HttpTransport, reader: AnswerReader, *, is_receipt: bool = False
    ) -> None:
        self.reader = reader
        self.is_receipt = is_receipt
        self._transport = transport

    def take_head(self, head: Head) -> None: ...
    def take_piece(self, chunk: bytes) -> None: ...
    def take_end(self) -> None:
        self._transport.finish(self)

    def take_failure(self, error: HttpConnectionError) -> None:
        self._transport.finish(self)


class Post(SessionRequest):
    """A message that was sent, and the answer to it."""

    def __init__(
        self, transport: HttpTransport, reader: AnswerReader, method: str, line: bytes
    ) -> None:
        super().__init__(transport, reader, is_receipt=reader.id is ABSENT)
        self.method = method
        self._line = line
        self._is_sent_again = False

    def take_head(self, head: Head) -> None:
        transport = self._transport
        if transport.credentials.take_refusal(head.status, head.headers):
            self._is_sent_again = True
            # With another token.
            transport.send(self._line)
            return
        if 200 <= head.status < 300:
            transport.credentials.take_success()
        if self.method == "initialize" and 200 <= head.status < 300:
            fault = transport.take_session_id(head.headers)
            if fault:
                transport.deliver([fault])
        transport.deliver(self.reader.begin(head.status, head.headers))

    def take_piece(self, chunk: bytes) -> None:
        if not self._is_sent_again:
            self._transport.stdout_tail.add(chunk)
            self._transport.deliver_answer(self.method, self.reader.feed(chunk))

    def take_end(self) -> None:
        transport, reader = self._transport, self.reader
        transport.finish(self)
        if self._is_sent_again:
            return
        items = reader.finish()
        has_message = any(isinstance(item, Frame) for item in items)
        if not has_message and transport.can_fall_back(self.method, reader.status):
            transport.fall_back(self._line, items)
            return
        if transport.session_id and reader.status == _GONE and not _has_answer(items, reader.id):
            items = [_lost_session_fault(items, reader)]
        transport.deliver_answer(self.method, items)
        if reader.is_stream and not reader.is_answered and not self.is_receipt:
            self._request_rest("the server ended its event stream")
        elif self.method == "notifications/initialized" and 200 <= reader.status < 300:
            transport.open_stream()

    def take_failure(self, error: HttpConnectionError) -> None:
        self._transport.finish(self)
        if self._is_sent_again:
            return
        if self.reader.is_stream and not self.is_receipt:
            if not self.reader.is_answered:
                self._request_rest(error.message)
            return
        self._transport.deliver([_connection_fault(error, self.reader)])

    def _request_rest(self, how: str) -> None:
        if not self._transport.resume(self.reader, 0):
            message = f"{how} before it had answered {self.reader.said}"
            self._transport.deliver([_broken_stream_fault(message, self.reader)])


class Stream(SessionRequest):
    """A stream requested with GET: the server's own, the rest of another, or the older transport's.

    `refusal` is how initialize was refused, if this looks for the older transport.
    """

    def __init__(
        self,
        transport: HttpTransport,
        reader: AnswerReader,
        tries: int,
        refusal: Sequence[Item] | None = None,
    ) -> None:
        super().__init__(transport, reader)
        self._tries = tries
        self._refusal = refusal
        self._has_endpoint = False
        self._is_refused = False

    def take_head(self, head: Head) -> None:
        transport = self._transport
        if transport.is_old and transport.credentials.take_refusal(head.status, head.headers):
            # The messages that wait for the stream open it again, with another token.
            transport.cancel(self)
            transport.obtain_token()
            return
        items = self.reader.begin(head.status, head.headers)
        if self.reader.is_stream:
            transport.deliver(items)
            return
        self._is_refused = True
        if self._refusal is not None:
            transport.give_up_old(self._refusal)
        elif transport.is_old:
            transport.lose(self._missing_stream_fault())
        elif self.reader.id is not ABSENT or head.status not in _NO_STREAM:
            transport.deliver([*items, self._missing_stream_fault()])

    def _missing_stream_fault(self) -> TransportFault:
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
        self._end(
            how, TransportFault(kind="event_stream", message=f"{how} before it named an endpoint")
        )

    def take_failure(self, error: HttpConnectionError) -> None:
        self._end(error.message, _connection_fault(error, self.reader))

    def _end(self, how: str, fault: TransportFault) -> None:
        transport, reader = self._transport, self.reader
        transport.finish(self)
        if self._is_refused or reader.is_answered:
            return
        if self._refusal is not None and not self._has_endpoint:
            transport.give_up_old(self._refusal)
            return
        if transport.is_old:
            transport.lose(fault)
            return
        tries = 0 if reader.events else self._tries
        if not transport.resume(reader, tries) and reader.id is not ABSENT:
            message = f"{how} before it had answered {reader.said}, and again when it was resumed"
            transport.deliver([_broken_stream_fault(message, reader)])


class TokenFetch(SessionRequest):
    """The requests by which a token is obtained, one after the other: for metadata, then for it."""

    def __init__(self, transport: HttpTransport) -> None:
        super().__init__(transport, AnswerReader("the request for a token", stream="post"))
        # The one that is under way.
        self.request: HttpRequest | None = None
        self._steps = transport.credentials.obtain()
        self._status = 0
        self._raw = b""

    def advance(self, answer: Fetched | None) -> None:
        """Take the answer to a request, None before the first one, and send the next."""
        self.request = None
        try:
            self.request = next(self._steps) if answer is None else self._steps.send(answer)
        except StopIteration:
            self._transport.end_token_fetch(None)
        except OAuthError as error:
            self._transport.end_token_fetch(error)
        else:
            self._status, self._raw = 0, b""
            self._transport.start(self.request, self)

    def give_up(self, problem: str) -> None:
        """Break off the request that is under way."""
        assert self.request
        self._steps.close()
        self._transport.cancel(self)
        hint = self._transport.credentials.hint
        self._transport.end_token_fetch(fetch_error(self.request, problem, hint))

    def take_head(self, head: Head) -> None:
        self._status = head.status

    def take_piece(self, chunk: bytes) -> None:
        self._raw += chunk
        if len(self._raw) > MAX_DOCUMENT_BYTES:
            self._transport.cancel(self)
            problem = f"the answer is larger than {MAX_DOCUMENT_BYTES:,} bytes"
            self.advance(Fetched(problem=problem))

    def take_end(self) -> None:
        self._transport.finish(self)
        self.advance(Fetched(status=self._status, body=self._raw))

    def take_failure(self, error: HttpConnectionError) -> None:
        self._transport.finish(self)
        self.advance(Fetched(problem=error.message))


def _connection_fault(error: HttpConnectionError, reader: AnswerReader) -> TransportFault:
    return TransportFault(
        kind=error.kind,
        message=error.message,
        hint=error.hint,
        id=reader.id,
        effect="indefinite" if error.was_sent else "definite",
        is_refusal=reader.id is ABSENT and reader.said != CANCELLED,
    )


def _broken_stream_fault(message: str, reader: AnswerReader) -> TransportFault:
    return TransportFault(kind="event_stream", message=message, hint=reader.problem, id=reader.id)


def _has_answer(items: Sequence[Item], id: object) -> bool:
    """True if the server has answered under the id that it was sent."""
    for item in items:
        value = item.value if isinstance(item, Frame) else None
        if isinstance(value, dict) and id_key(value.get("id")) == id_key(id):
            return True
    return False


def _lost_session_fault(items: Sequence[Item], reader: AnswerReader) -> TransportFault:
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
