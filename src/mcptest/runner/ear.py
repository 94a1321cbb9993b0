"""What a server has said during a dialogue, and what of it the dialogue has spoken of. Pure.

Answers are kept by id. Notifications and requests are kept in the order in which they came;
the dialogue claims them in that order, and what it passes over has been recorded, not lost.
"""

from __future__ import annotations

from collections import Counter

from mcptest.core import jsonrpc
from mcptest.core.session import Answered, Asked, Notified, Strayed
from mcptest.core.text import shorten, visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    from mcptest.core.dialogue import Turn
    from mcptest.core.session import Message, SessionEvent

__all__ = ["Ear", "Heard", "asked_in"]

_SHOWN_METHODS = 5

# Whatever a server says on its own beyond this is not kept: nobody could look at it.
_MAX_HEARD = 100_000
_MAX_STRAYS = 100


class Heard:
    """A request or notification of the server. `reply` is what it is still owed for it."""

    __slots__ = ("is_claimed", "message", "reply")

    def __init__(self, message: Message, reply: Message | None = None) -> None:
        self.message = message
        self.reply = reply
        self.is_claimed = False


def asked_in(turns: Iterable[Turn]) -> Counter[str]:
    """How often the server asks each method in these turns."""
    return Counter(turn.method for turn in turns if not turn.is_ours and turn.kind == "request")


class Ear:
    """Listens to one server during one dialogue.

    `wanted` are the methods that it speaks of at all. A request is left for the dialogue to
    answer while it is awaited; every other one is answered by the client's script.
    """

    def __init__(self, wanted: frozenset[str], carried: Sequence[Heard] = ()) -> None:
        self.answers: dict[jsonrpc.IdKey, Any] = {}
        self.strays: list[Message] = []
        self.repeats: list[Message] = []
        self.heard = list(carried)
        self._asks: Counter[str] = Counter()
        self._wanted = wanted
        self._next = 0
        self._dropped = 0

    def listen(self, event: SessionEvent) -> bool:
        """Take what concerns the dialogue; False leaves it to whoever else cares."""
        if isinstance(event, Answered):
            self.answers[jsonrpc.id_key(event.id)] = event.message
            return True
        if isinstance(event, Notified):
            self._keep(Heard(event.message))
            return True
        if isinstance(event, Asked):
            return self._take_request(event)
        if isinstance(event, Strayed):
            kept = {"unknown_id": self.strays, "duplicate_response": self.repeats}.get(event.kind)
            if kept is not None and len(kept) < _MAX_STRAYS:
                kept.append(event.message)
        return False

    def await_asks(self, turns: Iterable[Turn]) -> None:
        """From now on the server is expected to ask what these turns say, and nothing else."""
        held = Counter(each.message["method"] for each in self.left_over if each.reply)
        self._asks = asked_in(turns) - held

    def pass_over(self) -> None:
        """What has come so far is not what comes next."""
        self._next = len(self.heard)

    def _take_request(self, event: Asked) -> bool:
        method = event.message["method"]
        # A method that is only described is "" in the turns.
        awaited = next((name for name in (method, "") if self._asks[name] > 0), None)
        self._keep(Heard(event.message, None if awaited is None else event.reply))
        if awaited is not None:
            self._asks[awaited] -= 1
        return awaited is not None

    def _keep(self, heard: Heard) -> None:
        is_wanted = heard.message["method"] in self._wanted or "" in self._wanted
        if len(self.heard) < _MAX_HEARD or is_wanted:
            self.heard.append(heard)
        else:
            self._dropped += 1

    def claim(self, method: str) -> Heard | None:
        """The next message with this method, any with ""; None when it has not come yet."""
        for at in range(self._next, len(self.heard)):
            heard = self.heard[at]
            if method in ("", heard.message["method"]):
                heard.is_claimed = True
                self._next = at + 1
                return heard
        return None

    @property
    def unclaimed(self) -> list[Heard]:
        """What the dialogue did not speak of."""
        return [each for each in self.heard if not each.is_claimed]

    @property
    def left_over(self) -> list[Heard]:
        """What came after the last message that was claimed."""
        return self.heard[self._next :]

    def arrivals(self) -> str:
        """What did arrive that nobody has claimed, in words; "" when nothing did."""
        parts = [f"answers to {_listed(self._answered())}"] if self.answers else []
        methods = Counter(visible(each.message["method"]) for each in self.unclaimed)
        if methods:
            named = [
                name if count == 1 else f"{name} ({count:,})" for name, count in methods.items()
            ]
            parts.append(_listed(named))
        if self._dropped:
            parts.append(f"{self._dropped:,} more")
        return f"what did arrive: {' and '.join(parts)}" if parts else "nothing else arrived"

    def _answered(self) -> list[str]:
        return [
            visible(jsonrpc.describe_id(message.get("id"))) for message in self.answers.values()
        ]


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(shorten(name, 60) for name in names[:_SHOWN_METHODS])
    return f"{shown}, …" if len(names) > _SHOWN_METHODS else shown
