"""Clients of the stateless era over HTTP: each POST is judged and answered by itself.

There is nothing by which such clients could be told apart, so they share one state.
"""

from __future__ import annotations

from mcptest.core.framing import encode_line
from mcptest.core.jsonrpc import METHOD_NOT_FOUND, breaches, message_kind
from mcptest.core.outcome import Mismatch
from mcptest.core.record import ABSENT
from mcptest.core.web import Answer
from mcptest.mock.eras import STATELESS, envelope_fault, unsupported
from mcptest.mock.faults import planned
from mcptest.mock.http_headers import header_fault, named_tool
from mcptest.mock.http_rules import JSON, VERSION
from mcptest.mock.http_streams import Speech, Stream
from mcptest.mock.stateless import fault_answer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from mcptest.core.jsonrpc import IdKey
    from mcptest.core.web import Act, WebRequest
    from mcptest.mock.eras import Fault
    from mcptest.mock.faults import Faults
    from mcptest.mock.respond import Player
    from mcptest.mock.state import Message, Sent, State

    Later = list[tuple[float, Act | Speech]]
    Hearing = Callable[[State, object, IdKey | None], tuple[State, tuple[Sent, ...]]]

__all__ = ["StatelessClients"]

# The status of an answer, by the code of its error.
_STATUS = {
    METHOD_NOT_FOUND: 404,
    **dict.fromkeys([-32700, -32600, -32602, -32020, -32021, -32022], 400),
}


class StatelessClients:
    """All of them together; `state` is also blamed for what belongs to no session."""

    def __init__(self, player: Player, faults: Faults, hearing: Hearing) -> None:
        self._player = player
        self._faults = faults
        self._hearing = hearing
        self.state = player.start().but(era="stateless", revision=STATELESS)
        self._streams: dict[int, Stream] = {}

    def blame(self, said: object, sentence: str) -> None:
        found = Mismatch(path="", expected=ABSENT, actual=ABSENT, message=sentence)
        self.state = self.state.blame(said, None, (found,))

    def leave(self, exchange: int) -> None:
        """A connection is gone: so is the subscription that it carried."""
        stream = self._streams.pop(exchange, None)
        if stream:
            stream.exchange = None
            self.state = self.state.stop_listening(_key(exchange))

    def post(self, exchange: int, request: WebRequest, value: object) -> Later:
        """What is done about a message."""
        is_request = message_kind(value) == "request"
        if not isinstance(value, dict) or not is_request or any(breaches(value)):
            return self._without_answer(exchange, request, value)
        fault = envelope_fault(value) or self._header_fault(request, value)
        if fault:
            self.blame(value, fault.sentence)
            return [(0.0, _told(exchange, fault_answer(value["id"], fault)))]
        self.state, sent = self._hearing(self.state, value, _key(exchange))
        stream = self._streams[exchange] = Stream(exchange, exchange)
        return list(self._speeches(stream, sent))

    def _header_fault(self, request: WebRequest, message: Message) -> Fault | None:
        tool = named_tool(message)
        return header_fault(request, message, self._player.input_schema(tool) if tool else None)

    def _without_answer(self, exchange: int, request: WebRequest, value: object) -> Later:
        """A notification is taken; everything else is no message that a client may send."""
        version = request.header(VERSION)
        if version not in (None, STATELESS):
            return [(0.0, _told(exchange, fault_answer(None, unsupported(version))))]
        self.state, sent = self._hearing(self.state, value, None)
        refused = [each for each in sent if each.is_answer]
        if refused:
            return [(0.0, _told(exchange, refused[0], 400))]
        taken = Answer(exchange=exchange, status=202, headers={})
        return [(0.0, taken), *self._speeches(None, sent)]

    def _speeches(self, own: Stream | None, sent: Iterable[Sent]) -> Iterable[tuple[float, Speech]]:
        for wait_s, each, line in planned(self._faults, sent):
            stream = self._listener(each) if each.listen is not ABSENT else own
            if stream:
                data = None if line is None else line.rstrip(b"\n")
                is_last = each.is_answer
                status = _status(each) if is_last else 200
                yield wait_s, Speech(stream=stream, data=data, is_last=is_last, status=status)

    def _listener(self, sent: Sent) -> Stream | None:
        key = sent.listen
        return self._streams.get(key[1]) if isinstance(key, tuple) else None


def _key(exchange: int) -> IdKey:
    return ("exchange", exchange)


def _status(sent: Sent) -> int:
    error = sent.message.get("error") if isinstance(sent.message, dict) else None
    code = error.get("code") if isinstance(error, dict) else None
    return _STATUS.get(code, 200) if isinstance(code, int) else 200


def _told(exchange: int, sent: Sent, status: int | None = None) -> Answer:
    headers = {"Content-Type": JSON}
    body = encode_line(sent.message)
    return Answer(exchange=exchange, status=status or _status(sent), headers=headers, body=body)
