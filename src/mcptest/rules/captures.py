"""Judge captures: each session by every rule, then all of them together.

A capture file is judged while it is read; the reader refuses a malformed one with the place.
"""

from __future__ import annotations

from mcptest.core.results import CaptureScore
from mcptest.protocol.capture import MessageOrder, read_capture
from mcptest.protocol.jsonrpc import id_key, is_log_entry
from mcptest.rules.all_rules import RULES
from mcptest.rules.rule import Facts
from mcptest.rules.scorer import Scorer, SessionNames, find_conflicts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any

    from mcptest.core.results import SessionScore
    from mcptest.protocol.capture import CapturedMessage, SessionMembers
    from mcptest.protocol.jsonrpc import IdKey
    from mcptest.rules.rule import Rule

__all__ = ["CaptureScorer", "score_capture", "score_file"]


def score_file(read: Callable[[], str], file: str, rules: Sequence[Rule] = RULES) -> CaptureScore:
    """The score of the capture that `read` returns piece by piece; FormatError if malformed."""
    return _score(read_capture(read, file, required=("server_label", "exchanges")), rules)


def score_capture(
    sessions: Sequence[dict[str, Any]], rules: Sequence[Rule] = RULES
) -> CaptureScore:
    """The score of sessions that are in memory."""
    return _score(map(_members_of, sessions), rules)


def _members_of(session: dict[str, Any]) -> SessionMembers:
    yield from ((name, value) for name, value in session.items() if name != "exchanges")
    yield from (("exchange", exchange) for exchange in session["exchanges"])


def _score(sessions: Iterable[SessionMembers], rules: Sequence[Rule]) -> CaptureScore:
    scores, names = [], []
    for session in sessions:
        scorer = CaptureScorer(rules)
        for name, value in session:
            if name == "exchange":
                scorer.add_exchange(value)
            else:
                scorer.set_member(name, value)
        scores.append(scorer.finish())
        names.append(scorer.names)
    return CaptureScore(sessions=tuple(scores), conflicts=tuple(find_conflicts(names)))


class CaptureScorer:
    """Judges one session, exchange by exchange; its other members may come at any time."""

    def __init__(self, rules: Sequence[Rule] = RULES) -> None:
        facts = Facts()
        self._written_ids: dict[IdKey, object] = {}
        facts.written_ids = self._written_ids
        self._scorer = Scorer(rules, facts)
        self._order = MessageOrder()
        self.names = SessionNames("", "")

    def set_member(self, name: str, value: Any) -> None:
        """A member of the session beside its exchanges."""
        facts, names = self._scorer.facts, self.names
        if name == "server_label":
            facts.label = names.label = str(value)
        elif name == "server_capabilities":
            facts.set_block(value)
        elif name == "transport":
            facts.transport = names.transport = str(value)
        elif name == "protocol_version":
            facts.set_version(value)
        elif name == "exit_status":
            facts.exit_status = str(value)
        elif name == "ended_by":
            facts.ended_by = str(value)
        elif name == "stderr_utf8" and isinstance(value, bool):
            facts.is_stderr_utf8 = value
        elif name == "prologue" and isinstance(value, dict):
            self._judge(self._order.add(value, is_prologue=True))

    def add_exchange(self, exchange: dict[str, Any]) -> None:
        """Judge an exchange of the capture, with the id under which it was sent."""
        request, response = exchange.get("request"), exchange.get("response")
        if "wire_id" in exchange and isinstance(request, dict) and "id" in request:
            id = {"id": exchange["wire_id"]}
            self._written_ids[id_key(exchange["wire_id"])] = request["id"]
            if isinstance(response, dict) and response.get("id") == request["id"]:
                exchange = {**exchange, "response": response | id}
            exchange = {**exchange, "request": request | id}
            request, response = exchange["request"], exchange.get("response")
        if (
            isinstance(request, dict)
            and request.get("method") == "initialize"
            and isinstance(response, dict)
            and (is_log_entry(response) or "id" not in response)
        ):
            # The recorder took another line for the answer.
            self._scorer.facts.is_handshake_misplaced = True
        self._judge(self._order.add(exchange))
        self.names.add_exchange(exchange.get("request"), exchange.get("response"))

    def finish(self) -> SessionScore:
        """The verdicts, when there are no more exchanges."""
        self._judge(self._order.finish())
        return self._scorer.finish()

    def _judge(self, messages: Iterable[CapturedMessage]) -> None:
        for message in messages:
            if message.is_from_client:
                self._scorer.client(message.value, message.exchange, message.http)
            elif message.member == "noise":
                self._scorer.noise(str(message.value), message.exchange)
            else:
                self._scorer.server(message.value, message.exchange, message.http)
