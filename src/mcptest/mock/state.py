"""What a mock remembers of one session. Pure values: hearing something makes a new one.

So whoever serves can give up a message half way (a pattern that takes too long) and go on
with the state from before it, and can keep one state for each of several clients.
"""

from __future__ import annotations

from mcptest.core.record import ABSENT, Record
from mcptest.core.strict_json import dump_json
from mcptest.core.text import show_json
from mcptest.mock.secret_values import hidden, hidden_difference
from mcptest.mock.shelf import Shelf

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any, Literal

    from mcptest.core.jsonrpc import IdKey
    from mcptest.core.outcome import Mismatch

    Message = dict[str, Any]
    Era = Literal["", "handshake", "stateless"]

__all__ = [
    "MAX_WRONG",
    "Asked",
    "Listen",
    "Owed",
    "Round",
    "Sent",
    "State",
    "Wrong",
    "fresh_state",
]

# A client that is wrong more often than this is not told more by the rest of it.
MAX_WRONG = 200

# Requests that wait for an answer, ours and the client's; older ones are forgotten.
_MAX_WAITING = 1000

_MAX_VALUE_CHARS = 2_000
_MAX_DIFFERENCES = 20


class Sent(Record):
    """A message for the client; `method` is that of the request it answers, if any.

    A batch has its answers in `parts` as well. `owed` is the id of the request because of which
    it is said, when it answers none; `listen` is the subscription it is for. A question has the
    id that the contract writes, which may be taken, in `key`.
    """

    message: object
    method: str = ""
    parts: tuple[Sent, ...] = ()
    owed: object = ABSENT
    listen: object = ABSENT
    key: str = ""

    @property
    def is_answer(self) -> bool:
        return not (isinstance(self.message, dict) and "method" in self.message)


class Owed(Record):
    """A request of the client that is answered later: the cue it was for, and its id."""

    cue: int
    id: object


class Asked(Record):
    """A request of ours that the client has not answered: its line, and who waits for it."""

    line: int
    owed: Owed | None


class Round(Record):
    """Questions that a client without handshake answers by asking again, with `token`.

    `questions` are by the keys under which they were sent; `owed` is the id of the request that
    waits, of which `method` and `body` are what it asked for.
    """

    token: str
    owed: object
    method: str
    body: object
    questions: Mapping[str, Message]


class Listen(Record):
    """A subscription: the id of the request that opened it, and what it is to hear."""

    key: IdKey
    id: object
    wanted: Mapping[str, object]


class Wrong(Record):
    """Something the client said that the contract does not have, ready for a report."""

    request: object
    nearest: dict[str, object] | None = None
    differences: tuple[dict[str, object], ...] = ()


class State(Record):
    """One session so far.

    `used` are the cues that came, a bit for each; `bound` are the values of names by file,
    `tokens` the client's progress tokens by case and by how the contract writes them, `unsent`
    the lines that open a case and have not been said, a bit for each. `held` are the cases whose
    turn it is and that cannot be opened, because a name is not bound. `declared` are the
    capabilities that the client named in its handshake, None before it. `notes` are told at the
    end, one for each subject. `era` is "handshake" or "stateless", "" before the client has
    shown which; only in the latter there are `rounds` and `listens`, and it `is_entered` once
    the player knows of it.
    """

    used: int
    bound: Shelf
    tokens: Shelf
    owed: tuple[Owed, ...]
    asked: Mapping[IdKey, Asked]
    unsent: int
    notes: Mapping[str, str]
    held: tuple[int, ...] = ()
    is_ready: bool = False
    minted: int = 0
    revision: str = ""
    declared: frozenset[str] | None = None
    era: Era = ""
    is_entered: bool = False
    rounds: tuple[Round, ...] = ()
    listens: tuple[Listen, ...] = ()
    wrong: tuple[Wrong, ...] = ()
    more_wrong: int = 0

    def use(self, *cues: int) -> State:
        used = self.used
        for cue in cues:
            used |= 1 << cue
        return self if used == self.used else self.but(used=used)

    def has_used(self, cue: int) -> bool:
        return bool(self.used >> cue & 1)

    def has_used_all(self, cues: range) -> bool:
        every = (1 << len(cues)) - 1
        return self.used >> cues.start & every == every

    def is_unsent(self, line: int) -> bool:
        return bool(self.unsent >> line & 1)

    def owe(self, owed: Owed) -> State:
        return self.but(owed=(*self.owed, owed)[-_MAX_WAITING:])

    def settle(self, owed: Owed) -> State:
        return self.but(owed=tuple(each for each in self.owed if each is not owed))

    def is_owed(self, owed: Owed) -> bool:
        return any(each is owed for each in self.owed)

    def ask(self, key: IdKey, asked: Asked) -> State:
        kept = {**self.asked, key: asked}
        if len(kept) > _MAX_WAITING:
            del kept[next(iter(kept))]
        return self.but(asked=kept)

    def hear_answer(self, key: IdKey) -> State:
        return self.but(asked={each: asked for each, asked in self.asked.items() if each != key})

    def open_round(self, round: Round) -> State:
        return self.but(rounds=(*self.rounds, round)[-_MAX_WAITING:], minted=self.minted + 1)

    def close_round(self, token: str) -> State:
        return self.but(rounds=tuple(each for each in self.rounds if each.token != token))

    def stop_listening(self, key: IdKey) -> State:
        """The session without a subscription, which need not be there."""
        rest = tuple(each for each in self.listens if each.key != key)
        return self if len(rest) == len(self.listens) else self.but(listens=rest)

    def note(self, subject: str, sentence: str) -> State:
        """The session with something to be told that is not wrong, once for each subject."""
        if subject in self.notes:
            return self
        return self.but(notes={**self.notes, subject: sentence})

    def blame(
        self,
        request: object,
        nearest: dict[str, object] | None = None,
        differences: Iterable[Mismatch] = (),
    ) -> State:
        """The session with one more thing that was wrong; only so many are kept."""
        if len(self.wrong) >= MAX_WRONG:
            return self.but(more_wrong=self.more_wrong + 1)
        told = tuple(map(difference_members, differences))[:_MAX_DIFFERENCES]
        wrong = Wrong(request=reported(hidden(request)), nearest=nearest, differences=told)
        return self.but(wrong=(*self.wrong, wrong))


def fresh_state(unsent: int = 0) -> State:
    """A session in which nothing has been said."""
    return State(used=0, bound=Shelf(), tokens=Shelf(), owed=(), asked={}, unsent=unsent, notes={})


def difference_members(difference: Mismatch) -> dict[str, object]:
    """A difference as reports and error answers have it; what is not there is null."""
    difference = hidden_difference(difference)
    return {
        "path": difference.path,
        "expected": reported(difference.expected),
        "actual": reported(difference.actual),
        "message": difference.message + (f" ({difference.hint})" if difference.hint else ""),
    }


def reported(value: object) -> object:
    """A value as JSON can hold it: absence as null, what is too long as the start of its text."""
    if value is ABSENT:
        return None
    try:
        is_short = len(dump_json(value)) <= _MAX_VALUE_CHARS
    except (TypeError, ValueError):
        # A file may hold what JSON has no word for: .nan, .inf, a date.
        is_short = False
    return value if is_short else show_json(value, _MAX_VALUE_CHARS)
