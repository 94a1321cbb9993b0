"""Cut a session into passages, each of which becomes one case.

A passage goes from a request to its answer, with everything in between; requests that overlap
stay together. What speaks of a request (its progress, its cancellation) is kept with it, and
what the server says on its own with whatever came before.

What cannot stand in a contract is left out with a note: an answer to nothing. A request that
nobody answered is a passage of its own, since to wait for its answer again would be in vain.
"""

from __future__ import annotations

from mcptest.core.jsonrpc import id_key, message_kind
from mcptest.core.record import Record
from mcptest.core.strict_json import dump_json
from mcptest.core.text import shorten
from mcptest.traffic.directions import token_of
from mcptest.traffic.recording import opposite, parts_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from mcptest.core.jsonrpc import IdKey
    from mcptest.traffic.recording import Direction, Message, Session, Spoken

__all__ = ["Passage", "passages_of"]


class Passage(Record):
    """Messages that belong together.

    `pairs` has, for each request with an answer, the index of the message, the index within it
    when it is a batch (else 0), and the index of the answer.
    """

    messages: tuple[Spoken, ...]
    pairs: tuple[tuple[int, int, int], ...] = ()
    is_unanswered: bool = False


def passages_of(session: Session) -> tuple[list[Passage], list[str]]:
    """The passages of a session in order, and what had to be left out."""
    answers = _Answers(session.messages)
    cutter = _Cutter(session.messages, answers)
    for index in range(len(session.messages)):
        cutter.add(index)
    found = [_passage(session.messages, group, answers) for group in cutter.groups]
    return found, list(_told(cutter.orphans))


def _told(orphans: Iterable[Message]) -> Iterator[str]:
    for orphan in orphans:
        id = shorten(dump_json(orphan.get("id")), 60)
        yield f"an answer with id {id} answers no request, and is left out"


def _passage(messages: tuple[Spoken, ...], group: list[int], answers: _Answers) -> Passage:
    place = {index: at for at, index in enumerate(group)}
    pairs = [
        (place[asked], part, place[answers.of[asked, part]])
        for asked in group
        for part in answers.requests.get(asked, ())
        if (asked, part) in answers.of
    ]
    return Passage(
        messages=tuple(messages[index] for index in group),
        pairs=tuple(pairs),
        is_unanswered=any(
            messages[index].direction == "in" and answers.lacks_some(index) for index in group
        ),
    )


class _Answers:
    """Which message answers which request: `of` leads from (message, part) to the answer."""

    def __init__(self, messages: tuple[Spoken, ...]) -> None:
        self._messages = messages
        self._waiting: dict[Direction, dict[IdKey, list[tuple[int, int]]]] = {"in": {}, "out": {}}
        self.requests: dict[int, list[int]] = {}
        self.of: dict[tuple[int, int], int] = {}
        self.asked: dict[int, int] = {}
        for index, spoken in enumerate(messages):
            for part, message in enumerate(parts_of(spoken.message)):
                self._hear(index, part, spoken.direction, message)

    def _hear(self, index: int, part: int, direction: Direction, message: Message) -> None:
        kind = message_kind(message)
        if kind == "request":
            self._waiting[direction].setdefault(id_key(message["id"]), []).append((index, part))
            self.requests.setdefault(index, []).append(part)
        elif kind == "response" and ("result" in message or "error" in message):
            self._pair(index, direction, message.get("id"))

    def _pair(self, index: int, direction: Direction, id: object) -> None:
        waiting = self._waiting[opposite(direction)]
        key = id_key(id)
        if id is None and key not in waiting and len(waiting) == 1:
            # A server that could not read the id says null; that is clear if one only waits.
            (key,) = waiting
        if key in waiting:
            asked, part = waiting[key].pop(0)
            if not waiting[key]:
                del waiting[key]
            self.of[asked, part] = index
            self.asked[index] = asked

    def lacks_some(self, index: int) -> bool:
        """Whether a request of this message is never answered."""
        return any((index, part) not in self.of for part in self.requests.get(index, ()))

    def awaited(self, index: int) -> int:
        """How many answers this message will get."""
        return sum((index, part) in self.of for part in self.requests.get(index, ()))


class _Cutter:
    """Puts each message into a group, one after the other; `orphans` have found no place."""

    def __init__(self, messages: tuple[Spoken, ...], answers: _Answers) -> None:
        self._messages = messages
        self._answers = answers
        self._current: list[int] = []
        self._awaited = 0
        self._group_of: dict[int, list[int]] = {}
        self._by_id: dict[tuple[Direction, IdKey], int] = {}
        self._by_token: dict[tuple[Direction, IdKey], int] = {}
        self.groups: list[list[int]] = []
        self.orphans: list[Message] = []

    def add(self, index: int) -> None:
        spoken = self._messages[index]
        first = parts_of(spoken.message)[0]
        kind = message_kind(first)
        if kind == "response":
            self._add_answer(index, first)
            return
        self._remember(index, spoken)
        related = self._related(spoken.direction, first)
        if related is not None:
            self._put(index, self._group_of[related])
        elif self._awaited and spoken.direction == "in" and self._answers.lacks_some(index):
            self._put(index, self._begun())
        else:
            if not self._continues(spoken, first):
                self._current = self._begun()
            self._put(index, self._current)
            self._awaited += self._answers.awaited(index)

    def _add_answer(self, index: int, message: Message) -> None:
        asked = self._answers.asked.get(index)
        if asked is None:
            self.orphans.append(message)
            return
        group = self._group_of[asked]
        self._put(index, group)
        if group is self._current:
            self._awaited -= 1

    def _begun(self) -> list[int]:
        self.groups.append([])
        return self.groups[-1]

    def _put(self, index: int, group: list[int]) -> None:
        group.append(index)
        self._group_of[index] = group

    def _continues(self, spoken: Spoken, message: Message) -> bool:
        """Whether a message belongs to the passage at hand."""
        if not self._current:
            return False
        if self._awaited or spoken.direction == "out":
            return True
        opening = parts_of(self._messages[self._current[0]].message)[0]
        is_last_of_handshake = message.get("method") == "notifications/initialized"
        return is_last_of_handshake and opening.get("method") == "initialize"

    def _remember(self, index: int, spoken: Spoken) -> None:
        for message in parts_of(spoken.message):
            if message_kind(message) == "request":
                self._by_id[spoken.direction, id_key(message["id"])] = index
                if (token := token_of(message)) is not None:
                    self._by_token[spoken.direction, id_key(token)] = index

    def _related(self, direction: Direction, message: Message) -> int | None:
        """The request that a notification speaks of, if it is known."""
        params = message.get("params")
        if "id" in message or not isinstance(params, dict):
            return None
        if message["method"] == "notifications/progress":
            token = params.get("progressToken")
            return self._by_token.get((opposite(direction), id_key(token)))
        if message["method"] == "notifications/cancelled":
            return self._by_id.get((direction, id_key(params.get("requestId"))))
        return None
