"""The state of one client session, the messages sent in it, and the errors a mock answers with.

A `Session` is changed in place. Before a message is handled that may have to be abandoned half
way (a pattern takes too long, a name is not bound) a copy is taken, and restored then. Copying
is cheap because the only large part, which messages of the contract were used, is a bytearray.
"""

from __future__ import annotations

from mcptest.core.record import ABSENT, Record
from mcptest.core.results import Mismatch
from mcptest.core.strict_json import dump_json
from mcptest.core.text import show_json
from mcptest.mock.redaction import hide_mismatch_secrets, hide_secrets, render_mismatch, reportable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any, Literal

    from mcptest.protocol.jsonrpc import IdKey

    Message = dict[str, Any]
    Place = dict[str, object]
    Era = Literal["", "handshake", "stateless"]

__all__ = [
    "MAX_WRONG",
    "Asked",
    "Pending",
    "Round",
    "Sent",
    "Session",
    "Subscription",
    "Wrong",
    "error_answer",
    "problem",
]

# Wrong calls kept for the report.
MAX_WRONG = 200

# Requests waiting for an answer, in either direction; the oldest are forgotten.
_MAX_WAITING = 1000

# Mismatches in an error answer or a report entry, and those quoted in the error's message.
_MAX_MISMATCHES = 20
_MAX_IN_WORDS = 3


class Sent(Record):
    """A message for the client; `method` is that of the request it answers, if any.

    A batch also has its answers in `parts`. `request_id` is the id of the client's request that
    caused a message which is not an answer, `subscription` the key of the subscription it is
    for. A request has in `key` the id that the contract writes, which may be taken.
    """

    message: object
    method: str = ""
    parts: tuple[Sent, ...] = ()
    request_id: object = ABSENT
    subscription: object = ABSENT
    key: str = ""

    @property
    def is_answer(self) -> bool:
        return not (isinstance(self.message, dict) and "method" in self.message)


class Pending(Record):
    """A request of the client that is answered later: its number in the contract, and its id."""

    incoming: int
    id: object


class Asked(Record):
    """A request to the client that it has not answered, and the client's request behind it."""

    outgoing: int
    pending: Pending | None


class Round(Record):
    """Questions that a stateless client answers by repeating its request with `token`.

    `questions` are by the keys they were sent under; `request_id` is the id of the original
    request, `method` and `body` what it asked for.
    """

    token: str
    request_id: object
    method: str
    body: object
    questions: Mapping[str, Message]


class Subscription(Record):
    """An open `subscriptions/listen`: the id of its request, and the notifications wanted."""

    key: IdKey
    id: object
    wanted: Mapping[str, object]


class Wrong(Record):
    """A message of the client that the contract does not have, ready for the report."""

    request: object
    nearest: Place | None = None
    differences: tuple[Place, ...] = ()


class Session:
    """One client session. `size` is how many messages or offers can be used.

    `used[n]` is 1 once message n of the contract was received; `unsent` are the messages that
    open a case and have not been sent. `names` are bound values by file and name, `tokens` the
    client's progress tokens by case and by how the contract writes them. `held` are the cases
    that would be opened if a name were bound. `touched` are the cases that made progress, and
    `has_new_names` is true if a name was bound, since cases were last opened.

    `declared` are the client's capabilities, None before the handshake. `era` is "" until the
    first request shows it; only a stateless session has `rounds` and `subscriptions`, and it
    `is_entered` once the player has begun it. `notes` are printed at the end, one for each
    subject.
    """

    def __init__(self, size: int, unsent: Iterable[int] = ()) -> None:
        self.used = bytearray(size)
        self.unsent = set(unsent)
        self.names: dict[tuple[int, str], object] = {}
        self.tokens: dict[tuple[int, IdKey], object] = {}
        self.held: list[int] = []
        self.touched: set[int] = set()
        self.has_new_names = False
        self.pending: list[Pending] = []
        self.asked: dict[IdKey, Asked] = {}
        self.ids_made = 0
        self.is_ready = False
        self.revision = ""
        self.declared: frozenset[str] | None = None
        self.era: Era = ""
        self.is_entered = False
        self.rounds: list[Round] = []
        self.subscriptions: list[Subscription] = []
        self.notes: dict[str, str] = {}
        self.wrong: list[Wrong] = []
        self.more_wrong = 0

    def copy(self) -> Session:
        """A copy that later changes to this session do not reach."""
        twin = Session(0)
        for name, value in vars(self).items():
            is_container = isinstance(value, (bytearray, dict, list, set))
            setattr(twin, name, value.copy() if is_container else value)
        return twin

    def restore(self, copy: Session) -> None:
        """Undo everything that happened since the copy was taken."""
        vars(self).update(vars(copy))

    def add_pending(self, pending: Pending) -> None:
        self.pending = [*self.pending, pending][-_MAX_WAITING:]

    def is_pending(self, pending: Pending) -> bool:
        return any(each is pending for each in self.pending)

    def settle(self, pending: Pending) -> None:
        self.pending = [each for each in self.pending if each is not pending]

    def ask(self, key: IdKey, asked: Asked) -> None:
        self.asked[key] = asked
        if len(self.asked) > _MAX_WAITING:
            del self.asked[next(iter(self.asked))]

    def open_round(self, round: Round) -> None:
        self.rounds = [*self.rounds, round][-_MAX_WAITING:]
        self.ids_made += 1

    def close_round(self, token: str) -> None:
        self.rounds = [each for each in self.rounds if each.token != token]

    def unsubscribe(self, key: IdKey) -> None:
        self.subscriptions = [each for each in self.subscriptions if each.key != key]

    # For the report

    def note(self, subject: str, sentence: str) -> None:
        """Add a remark about something that is not wrong, once for each subject."""
        self.notes.setdefault(subject, sentence)

    def blame(
        self, request: object, nearest: Place | None = None, mismatches: Iterable[Mismatch] = ()
    ) -> None:
        """Record something wrong that the client sent."""
        if len(self.wrong) >= MAX_WRONG:
            self.more_wrong += 1
            return
        differences = tuple(map(render_mismatch, mismatches))[:_MAX_MISMATCHES]
        request = reportable(hide_secrets(request))
        self.wrong.append(Wrong(request=request, nearest=nearest, differences=differences))

    def refuse(
        self,
        request: Message,
        code: int,
        sentence: str,
        nearest: Place | None = None,
        mismatches: Sequence[Mismatch] = (),
    ) -> Sent:
        """Record a wrong request; return the error that answers it."""
        self.blame(request, nearest, mismatches or (problem(sentence),))
        return error_answer(request["id"], request["method"], code, sentence, nearest, mismatches)


def problem(sentence: str, path: str = "") -> Mismatch:
    """A mismatch that is only a sentence."""
    return Mismatch(path=path, expected=ABSENT, actual=ABSENT, message=sentence)


def error_answer(
    id: object,
    method: str,
    code: int,
    sentence: str,
    nearest: Place | None = None,
    mismatches: Sequence[Mismatch] = (),
) -> Sent:
    """An error with the nearest case and what differs from it; `method` is the request's."""
    mismatches = [hide_mismatch_secrets(each) for each in mismatches]
    message = f"mcptest mock: {sentence}"
    if nearest:
        place = f"{nearest['file']}:{nearest['line']}"
        message += f"; the nearest is {dump_json(nearest['case'])} ({place})"
    # The sentence already mentions an unknown method.
    if mismatches and mismatches[0].path != "method" and mismatches[0].message not in sentence:
        words = [_in_words(each) for each in mismatches[:_MAX_IN_WORDS]]
        if len(mismatches) > _MAX_IN_WORDS:
            words.append(f"and {len(mismatches) - _MAX_IN_WORDS} more")
        message += f": {'; '.join(words)}"
    differences = [render_mismatch(each) for each in mismatches[:_MAX_MISMATCHES]]
    data = {"nearest": nearest, "differences": differences}
    error = {"code": code, "message": message, "data": data}
    return Sent(message={"jsonrpc": "2.0", "id": id, "error": error}, method=method)


def _in_words(mismatch: Mismatch) -> str:
    where = f"{mismatch.path}: " if mismatch.path else ""
    sides = ""
    if mismatch.message in ("differs", "is missing"):
        sides += f", expected {show_json(mismatch.expected)}"
    if mismatch.message in ("differs", "is not expected"):
        sides += f", got {show_json(mismatch.actual)}"
    hint = f" ({mismatch.hint})" if mismatch.hint else ""
    return f"{where}{mismatch.message}{sides}{hint}"
