"""Judge the sessions of a capture: each by every rule, then all of them together."""

from __future__ import annotations

from mcptest.core.conformance import CaptureScore
from mcptest.core.jsonrpc import id_key
from mcptest.invariants.composition import Member, hazards_of
from mcptest.invariants.facts import Facts
from mcptest.invariants.registry import RULES
from mcptest.invariants.scoring import Scorer
from mcptest.invariants.telling import Teller

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from mcptest.core.conformance import SessionScore
    from mcptest.core.jsonrpc import IdKey
    from mcptest.invariants.rule import Rule

__all__ = ["SessionJudge", "score_capture"]


class SessionJudge:
    """Judges one session, exchange by exchange; its other members may come at any time."""

    def __init__(self, rules: Sequence[Rule] = RULES) -> None:
        facts = Facts()
        self._written_ids: dict[IdKey, object] = {}
        facts.written_ids = self._written_ids
        self._scorer = Scorer(rules, facts)
        self._teller = Teller(self._scorer)
        self.member = Member("", "")

    def note(self, name: str, value: Any) -> None:
        """A member of the session beside its exchanges."""
        facts, member = self._scorer.facts, self.member
        if name == "server_label":
            self._scorer.label = facts.label = member.label = str(value)
        elif name == "server_capabilities":
            facts.note_block(value)
        elif name == "transport":
            facts.transport = member.transport = str(value)
        elif name == "protocol_version":
            facts.note_version(value)
        elif name == "exit_status":
            facts.exit_status = str(value)
        elif name == "stderr_utf8" and isinstance(value, bool):
            facts.is_stderr_utf8 = value
        elif name == "prologue" and isinstance(value, dict):
            self._teller.prologue(value)

    def exchange(self, exchange: dict[str, Any]) -> None:
        """An exchange of the capture; rules are asked about the id under which it was sent."""
        request, response = exchange.get("request"), exchange.get("response")
        if "wire_id" in exchange and isinstance(request, dict) and "id" in request:
            id = {"id": exchange["wire_id"]}
            self._written_ids[id_key(exchange["wire_id"])] = request["id"]
            if isinstance(response, dict) and response.get("id") == request["id"]:
                exchange = {**exchange, "response": response | id}
            exchange = {**exchange, "request": request | id}
        self._teller.exchange(exchange)
        self.member.exchanged(exchange.get("request"), exchange.get("response"))

    def finish(self) -> SessionScore:
        self._teller.finish()
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
                judge.note(name, value)
        for exchange in session["exchanges"]:
            judge.exchange(exchange)
        scores.append(judge.finish())
        members.append(judge.member)
    return CaptureScore(sessions=tuple(scores), hazards=tuple(hazards_of(members)))
