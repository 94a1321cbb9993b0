"""What follows upon what in a case, decided so that nobody waits for what never comes.

* A request or notification of the server follows upon the nearest message of the client before
  it; before any of them, it opens the case.
* An answer follows upon the request it answers; or, when the server asks the client something
  because of that request, upon the last of the client's answers before it.
"""

from __future__ import annotations

from mcptest.core.dialogue import Bind, Ref
from mcptest.core.jsonrpc import id_key, message_kind
from mcptest.core.record import Record
from mcptest.matching.tags import bound_name, has_blanks

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from mcptest.core.dialogue import Turn
    from mcptest.core.jsonrpc import MessageKind

    Message = dict[str, Any]

__all__ = ["Links", "Part", "parts_of"]


class Part(Record):
    """One message of a case: a turn, or one of a turn that is a batch.

    `answers` is the index of the part whose request it answers.
    """

    turn: Turn
    value: Message
    binds: tuple[Bind, ...]
    kind: MessageKind
    answers: int | None = None

    @property
    def is_clients(self) -> bool:
        return self.turn.is_ours

    @property
    def method(self) -> str:
        method = self.value.get("method")
        return method if isinstance(method, str) else ""


def parts_of(turns: Sequence[Turn]) -> list[Part]:
    """The messages of a case in written order, each knowing what it answers.

    An answer of the server to nothing is left out: nobody could be sent it.
    """
    parts: list[Part] = []
    places: dict[int, range] = {}
    open_requests: set[int] = set()
    for at, turn in enumerate(turns):
        first = len(parts)
        for part in _split(turn):
            if part.kind == "response":
                within = places.get(-1 if turn.answers is None else turn.answers)
                answers = _asker(part, parts, open_requests, within)
                if answers is None and not part.is_clients:
                    continue
                open_requests.discard(-1 if answers is None else answers)
                part = part.but(answers=answers)
            elif part.kind == "request":
                open_requests.add(len(parts))
            parts.append(part)
        places[at] = range(first, len(parts))
    return parts


def _split(turn: Turn) -> Iterator[Part]:
    if isinstance(turn.value, dict):
        yield Part(turn=turn, value=turn.value, binds=turn.binds, kind=turn.kind)
    elif isinstance(turn.value, list):
        for at, value in enumerate(turn.value):
            mine = [bind for bind in turn.binds if bind.steps[:1] == (at,)]
            binds = tuple(bind.but(steps=bind.steps[1:]) for bind in mine)
            if isinstance(value, dict):
                yield Part(turn=turn, value=value, binds=binds, kind=message_kind(value))


def _asker(
    part: Part, parts: Sequence[Part], open_requests: set[int], within: range | None
) -> int | None:
    """The request that an answer is for: of those in its turn, the one with the same id."""
    askers = [
        index
        for index in sorted(open_requests)
        if parts[index].is_clients != part.is_clients and (within is None or index in within)
    ]
    same = [at for at in askers if _is_same_id(parts[at].value["id"], part.value.get("id"))]
    if within is None:
        return same[0] if same else None
    return next(iter(same or askers), None)


def _is_same_id(one: object, other: object) -> bool:
    if has_blanks(one) or has_blanks(other):
        return bool(_name_of(one)) and _name_of(one) == _name_of(other)
    return id_key(one) == id_key(other)


def _name_of(id: object) -> str:
    return id.name if isinstance(id, Ref) else bound_name(id)


def _causes_of(parts: Sequence[Part]) -> dict[int, int | None]:
    """For each message of the server, the message of the client upon which it follows.

    None where it opens the case.
    """
    causes: dict[int, int | None] = {}
    nearest: int | None = None
    for at, part in enumerate(parts):
        if part.is_clients:
            nearest = at
        elif part.answers is None:
            causes[at] = nearest
        else:
            causes[at] = _last_reply(parts, causes, part.answers, at)
    return causes


def _last_reply(parts: Sequence[Part], causes: dict[int, int | None], asker: int, end: int) -> int:
    for at in range(end - 1, asker, -1):
        if parts[at].is_clients and _is_due_to(at, parts, causes, asker):
            return at
    return asker


def _is_due_to(
    reply: int, parts: Sequence[Part], causes: dict[int, int | None], asker: int
) -> bool:
    """Whether this is an answer to something that was asked because of the request."""
    at: int | None = reply
    while at is not None:
        asked = parts[at].answers
        at = None if asked is None else causes.get(asked)
        if at == asker:
            return True
    return False


class Links:
    """How the messages of one case hang together, by the numbers they get in the script."""

    def __init__(self, parts: Sequence[Part], cue: int, line: int) -> None:
        self._numbers: list[int] = []
        for part in parts:
            self._numbers.append(cue if part.is_clients else line)
            cue, line = cue + part.is_clients, line + (not part.is_clients)
        self._followers: dict[int | None, list[int]] = {}
        for at, cause in _causes_of(parts).items():
            self._followers.setdefault(cause, []).append(self._numbers[at])
        self._answers = {part.answers: at for at, part in enumerate(parts)}

    def number(self, at: int) -> int:
        """The number, among the cues or among the lines, of the message at this place."""
        return self._numbers[at]

    def followers(self, at: int | None) -> tuple[int, ...]:
        """The lines that are said upon a message of the client; with None, at the beginning."""
        return tuple(self._followers.get(at, ()))

    def answer_to(self, at: int) -> int | None:
        """The message that answers the request at this place."""
        answer = self._answers.get(at)
        return None if answer is None else self._numbers[answer]
