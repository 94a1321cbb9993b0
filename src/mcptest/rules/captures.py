"""Read captures and judge them: each session by every rule, then all of them together.

A capture file is judged while it is read. A malformed one is refused with the place.
"""

from __future__ import annotations

import heapq

from mcptest.core.diagnostics import Diagnostic
from mcptest.core.errors import FormatError
from mcptest.core.results import CaptureScore
from mcptest.core.strict_json import BrokenStreamError, JsonStream
from mcptest.matching.values import type_name
from mcptest.protocol.jsonrpc import id_key
from mcptest.rules.composition import Member, find_hazards
from mcptest.rules.facts import Facts
from mcptest.rules.judge import Scorer
from mcptest.rules.registry import RULES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any

    from mcptest.core.results import SessionScore
    from mcptest.protocol.jsonrpc import IdKey
    from mcptest.rules.rule import Rule

    Exchange = dict[str, Any]
    # Its number in the session, a number that keeps the order, the member, the value, the index
    # of the exchange, and how it was received over HTTP.
    Event = tuple[int, int, str, Any, int, dict[str, Any]]

__all__ = ["Replay", "SessionJudge", "score_capture", "score_file"]

_HELP = (
    'a capture is {"server_label": "…", "server_capabilities": {…}, "exchanges": '
    '[{"request": {…}, "response": {…}}]}, or an array of such sessions'
)
# Members that must be of one type when they are there.
_TEXTS = ("server_label", "transport", "protocol_version", "started_at", "exit_status")


def score_file(read: Callable[[], str], file: str) -> CaptureScore:
    """The score of the capture that `read` gives piece by piece; FormatError when it is not one."""
    reader = _Reader(JsonStream(read), file)
    try:
        return reader.capture()
    except BrokenStreamError as error:
        raise FormatError(
            [
                Diagnostic(
                    code="F002",
                    file=file,
                    message=f"not valid JSON: {error.reason}",
                    line=error.line,
                    column=error.column,
                )
            ]
        ) from None


class _Reader:
    """Walks through one capture."""

    def __init__(self, stream: JsonStream, file: str) -> None:
        self._stream = stream
        self._file = file
        self._scores: list[SessionScore] = []
        self._members: list[Member] = []

    def capture(self) -> CaptureScore:
        if self._stream.takes("["):
            if not self._stream.takes("]"):
                self._session("[0]")
                while self._stream.takes(","):
                    self._session(f"[{len(self._scores)}]")
                self._stream.take("]")
        else:
            self._session("")
        if self._stream.peek():
            raise self._stream.error("something follows the end of the capture")
        if not self._scores:
            raise self._refused("F011", "there is no session in this capture: it shows nothing")
        return CaptureScore(
            sessions=tuple(self._scores), hazards=tuple(find_hazards(self._members))
        )

    def _session(self, where: str) -> None:
        if not self._stream.peek() and not where:
            raise self._refused("F005", "the file is empty")
        if self._stream.peek() != "{":
            raise self._refused("F008", f"{where or 'a capture'} must be an object")
        judge, seen = SessionJudge(), set()
        self._stream.take("{")
        while self._stream.peek() != "}":
            name = self._stream.value()
            if not isinstance(name, str):
                raise self._stream.error("expected a key in double quotes")
            self._stream.take(":")
            if name == "exchanges":
                self._exchanges(judge, f"{where}.exchanges".lstrip("."))
            else:
                self._member(judge, name, f"{where}.{name}".lstrip("."))
            if name in seen and name == "exchanges":
                raise self._refused("F003", f'{where or "the session"} has "exchanges" twice')
            seen.add(name)
            if not self._takes_comma("}"):
                break
        for name in ("server_label", "exchanges"):
            if name not in seen:
                raise self._refused("F007", f'{where or "the session"} has no "{name}"')
        self._stream.take("}")
        self._scores.append(judge.finish())
        self._members.append(judge.member)

    def _takes_comma(self, closing: str) -> bool:
        if not self._stream.takes(","):
            return False
        if self._stream.peek() == closing:
            raise self._stream.error("a comma with nothing after it")
        return True

    def _member(self, judge: SessionJudge, name: str, where: str) -> None:
        self._stream.peek()
        place = self._stream.error("")
        value = self._stream.value()
        if name in _TEXTS and not isinstance(value, str):
            raise self._refused(
                "F008", f"{where} must be a string and is {type_name(value)}", place
            )
        if name == "server_capabilities" and not isinstance(value, (dict, type(None))):
            message = f"{where} must be an object or null and is {type_name(value)}"
            raise self._refused("F008", message, place)
        judge.set_member(name, value)

    def _exchanges(self, judge: SessionJudge, where: str) -> None:
        if self._stream.peek() != "[":
            raise self._refused("F008", f"{where} must be an array")
        self._stream.take("[")
        index = 0
        while self._stream.peek() != "]":
            judge.exchange(self._exchange(f"{where}[{index}]"))
            index += 1
            if not self._takes_comma("]"):
                break
        self._stream.take("]")

    def _exchange(self, where: str) -> dict[str, Any]:
        self._stream.peek()
        place = self._stream.error("")
        exchange = self._stream.value()
        if not isinstance(exchange, dict):
            message = f"{where} must be an object and is {type_name(exchange)}"
            raise self._refused("F008", message, place)
        if "request" not in exchange:
            raise self._refused("F007", f'{where} has no "request"', place)
        for member in ("request", "response"):
            value = exchange.get(member, {})
            if not isinstance(value, (dict, list)) and (member == "request" or value is not None):
                message = f"{where}.{member} must be an object and is {type_name(value)}"
                raise self._refused("F008", message, place)
        return exchange

    def _refused(
        self, code: str, message: str, place: BrokenStreamError | None = None
    ) -> FormatError:
        place = place or self._stream.error("")
        return FormatError(
            [
                Diagnostic(
                    code=code,
                    file=self._file,
                    message=message,
                    line=place.line,
                    column=place.column,
                    help=_HELP,
                )
            ]
        )


# Sessions


class SessionJudge:
    """Judges one session, exchange by exchange; its other members may come at any time."""

    def __init__(self, rules: Sequence[Rule] = RULES) -> None:
        facts = Facts()
        self._written_ids: dict[IdKey, object] = {}
        facts.written_ids = self._written_ids
        self._scorer = Scorer(rules, facts)
        self._replay = Replay(self._scorer)
        self.member = Member("", "")

    def set_member(self, name: str, value: Any) -> None:
        """A member of the session beside its exchanges."""
        facts, member = self._scorer.facts, self.member
        if name == "server_label":
            self._scorer.label = facts.label = member.label = str(value)
        elif name == "server_capabilities":
            facts.set_block(value)
        elif name == "transport":
            facts.transport = member.transport = str(value)
        elif name == "protocol_version":
            facts.set_version(value)
        elif name == "exit_status":
            facts.exit_status = str(value)
        elif name == "stderr_utf8" and isinstance(value, bool):
            facts.is_stderr_utf8 = value
        elif name == "prologue" and isinstance(value, dict):
            self._replay.prologue(value)

    def exchange(self, exchange: dict[str, Any]) -> None:
        """An exchange of the capture; it is judged with the id under which it was sent."""
        request, response = exchange.get("request"), exchange.get("response")
        if "wire_id" in exchange and isinstance(request, dict) and "id" in request:
            id = {"id": exchange["wire_id"]}
            self._written_ids[id_key(exchange["wire_id"])] = request["id"]
            if isinstance(response, dict) and response.get("id") == request["id"]:
                exchange = {**exchange, "response": response | id}
            exchange = {**exchange, "request": request | id}
        self._replay.exchange(exchange)
        self.member.add_exchange(exchange.get("request"), exchange.get("response"))

    def finish(self) -> SessionScore:
        self._replay.finish()
        return self._scorer.finish()


def score_capture(
    sessions: Sequence[dict[str, Any]], rules: Sequence[Rule] = RULES
) -> CaptureScore:
    """The score of sessions that are in memory."""
    scores, members = [], []
    for session in sessions:
        judge = SessionJudge(rules)
        for name, value in session.items():
            if name != "exchanges":
                judge.set_member(name, value)
        for exchange in session["exchanges"]:
            judge.exchange(exchange)
        scores.append(judge.finish())
        members.append(judge.member)
    return CaptureScore(sessions=tuple(scores), hazards=tuple(find_hazards(members)))


# The order of events

_LISTS = ("server_messages", "replies", "noise")

# Events that are held back for one with a lower number; later ones were numbered wrongly.
_MAX_HELD = 20_000


class Replay:
    """Passes the events of one session to a scorer in the order in which they happened.

    Events with an `order` wait for all lower numbers; others are passed on as they are in the
    exchange: request, messages of the server, replies, noise, response.
    """

    def __init__(self, scorer: Scorer) -> None:
        self._scorer = scorer
        self._held: list[Event] = []
        self._count = 0
        self._next = 1
        self._exchanges = 0

    def prologue(self, exchange: Exchange) -> None:
        """What the server sent before the client sent anything."""
        self._take(exchange, -1)

    def exchange(self, exchange: Exchange) -> None:
        self._take(exchange, self._exchanges)
        self._exchanges += 1

    def finish(self) -> None:
        """There are no more exchanges: pass on what was held back."""
        while self._held:
            self._pass_on(heapq.heappop(self._held))

    def _take(self, exchange: Exchange, place: int) -> None:
        for event in self._events(exchange, place):
            if event[0]:
                heapq.heappush(self._held, event)
            else:
                self._pass_on(event)
        while self._held and (self._held[0][0] <= self._next or len(self._held) > _MAX_HELD):
            self._pass_on(heapq.heappop(self._held))

    def _events(self, exchange: Exchange, place: int) -> Iterator[Event]:
        for member, index in _members(exchange):
            self._count += 1
            value = exchange[member] if index is None else exchange[member][index]
            order = _beside(exchange, "order", member, index)
            http = _beside(exchange, "http", member, index)
            yield (
                order if type(order) is int else 0,
                self._count,
                member,
                value,
                place,
                http if isinstance(http, dict) else {},
            )

    def _pass_on(self, event: Event) -> None:
        order, _, member, value, place, http = event
        self._next = max(self._next, order + 1)
        if member in ("request", "replies"):
            self._scorer.client(value, place, http)
        elif member == "noise":
            self._scorer.noise(str(value), place)
        else:
            self._scorer.server(value, place, http)


def _members(exchange: Exchange) -> Iterator[tuple[str, int | None]]:
    if "request" in exchange:
        yield "request", None
    for member in _LISTS:
        listed = exchange.get(member)
        for index in range(len(listed) if isinstance(listed, list) else 0):
            yield member, index
    if exchange.get("response") is not None:
        yield "response", None


def _beside(exchange: Exchange, table: str, member: str, index: int | None) -> object:
    """What a table of the capture, such as `http`, has for one message; None when nothing."""
    found = exchange.get(table)
    noted = found.get(member) if isinstance(found, dict) else None
    if index is None:
        return noted
    return noted[index] if isinstance(noted, list) and index < len(noted) else None
