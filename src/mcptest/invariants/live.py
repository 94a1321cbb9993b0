"""Judge a session that is still going on."""

from __future__ import annotations

from mcptest.core import jsonrpc
from mcptest.invariants.composition import Member
from mcptest.invariants.facts import Facts
from mcptest.invariants.registry import RULES
from mcptest.invariants.scoring import Scorer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from mcptest.core.conformance import SessionScore

__all__ = ["LiveJudge"]


_OWN_IDS = "mcptest-"


class LiveJudge:
    """Is told everything that is said, in order, and says at the end what the rules make of it."""

    def __init__(self, label: str, transport: str) -> None:
        facts = Facts()
        facts.label, facts.transport = label, transport
        self._scorer = Scorer(RULES, facts, label)
        self.member = Member(label, transport)
        self._exchange = -1
        self._asked: dict[jsonrpc.IdKey, int] = {}

    def client(self, message: Any, ms: float) -> None:
        """The client has sent a message."""
        for each in message if isinstance(message, list) else (message,):
            if isinstance(each, dict) and "method" in each:
                self._exchange += 1
                if "id" in each:
                    self._asked[jsonrpc.id_key(each["id"])] = self._exchange
        self._scorer.client(message, self._exchange, ms)

    def server(self, message: Any, ms: float) -> None:
        """The server has sent a message."""
        place = self._exchange
        if isinstance(message, dict) and "method" not in message:
            key = jsonrpc.id_key(message.get("id"))
            request = self._scorer.facts.open.get(key)
            if request is None and str(message.get("id")).startswith(_OWN_IDS):
                # A question of our own that was given up; nobody else asked it.
                return
            place = self._asked.pop(key, place)
            if request and request.get("method") == "tools/list":
                self.member.exchanged({"method": "tools/list"}, message)
        self._scorer.server(message, place, ms)

    def noise(self, line: str, ms: float) -> None:
        """The server has written a line that is no message."""
        self._scorer.noise(line, self._exchange, ms)

    def finish(self, exit_status: str) -> SessionScore:
        """The session is over."""
        facts = self._scorer.facts
        facts.exit_status = exit_status
        facts.block = facts.capabilities if facts.version or facts.capabilities else None
        return self._scorer.finish()
