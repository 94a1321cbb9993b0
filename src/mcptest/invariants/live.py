"""Judge a session that is still going on."""

from __future__ import annotations

from mcptest.core import jsonrpc
from mcptest.invariants.base_ids import ID_RULES
from mcptest.invariants.composition import Member
from mcptest.invariants.facts import Facts
from mcptest.invariants.ordinary import is_ordinary
from mcptest.invariants.scoring import Scorer
from mcptest.invariants.session_rules import SESSION_RULES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from mcptest.core.conformance import SessionScore
    from mcptest.invariants.said import Said

__all__ = ["LiveJudge"]


class LiveJudge:
    """Is told everything that is said, in order, and says at the end what the rules make of it.

    It begins with the rules that count and remember, and loads the others when something is said
    that they could have anything to say of.
    """

    def __init__(
        self,
        label: str,
        transport: str,
        written_ids: Mapping[jsonrpc.IdKey, object] | None = None,
    ) -> None:
        facts = Facts()
        if written_ids is not None:
            facts.written_ids = written_ids
        facts.label, facts.transport = label, transport
        self._scorer = Scorer((*SESSION_RULES, *ID_RULES), facts, label, self._look_closer)
        self.member = Member(label, transport)
        self._exchange = -1
        # Whether all rules are asked.
        self.is_wide = False
        self._asked: dict[jsonrpc.IdKey, int] = {}

    def _look_closer(self, said: Said, facts: Facts) -> bool:
        """Load all rules, if this is something that most sessions do not have."""
        if is_ordinary(said, facts):
            return False
        self._load_all()
        return True

    def _load_all(self) -> None:
        # Loading takes longer than many runs of one test.
        from mcptest.invariants.registry import RULES  # noqa: PLC0415

        self._scorer.widen(RULES)
        self.is_wide = True

    def is_ordinary(self, message: Any, *, is_client: bool) -> bool:
        """Whether the rules there are from the beginning are all that this needs."""
        said = self._scorer.said(message, is_client=is_client)
        return is_ordinary(said, self._scorer.facts)

    @property
    def state(self) -> int:
        """Another number whenever something has become known that rules may go by."""
        return 2 * self._scorer.facts.epoch + self.is_wide

    @property
    def may_skip(self) -> bool:
        """Whether plain answers can only be what they have been: no tool promises more."""
        tools = self._scorer.facts.tools
        return not any("outputSchema" in tool for tool in tools.values())

    def skip(self, ids: Sequence[object]) -> None:
        """Plain calls with these ids were made and answered, and need not be looked at."""
        self._exchange += len(ids)
        self._scorer.facts.skip(ids)

    def client(self, message: Any, ms: float) -> None:
        """The client has sent a message."""
        for each in message if isinstance(message, list) else (message,):
            if isinstance(each, dict) and "method" in each:
                self._exchange += 1
                if "id" in each:
                    self._asked[jsonrpc.id_key(each["id"])] = self._exchange
        self._scorer.client(message, self._exchange, ms)

    def server(self, message: Any, ms: float, http: dict[str, Any] | None = None) -> None:
        """The server has sent a message; `http` is how it came there."""
        if http and not self.is_wide:
            self._load_all()
        place = self._exchange
        if isinstance(message, dict) and "method" not in message:
            key = jsonrpc.id_key(message.get("id"))
            request = self._scorer.facts.open.get(key)
            place = self._asked.pop(key, place)
            method = request.get("method") if request else None
            if method in ("tools/list", "initialize"):
                self.member.exchanged({"method": method}, message)
        self._scorer.server(message, place, ms, http)

    def noise(self, line: str, ms: float) -> None:
        """The server has written a line that is no message."""
        self._scorer.noise(line, self._exchange, ms)

    def finish(self, exit_status: str, *, is_stderr_utf8: bool | None = None) -> SessionScore:
        """The session is over."""
        facts = self._scorer.facts
        facts.is_stderr_utf8 = is_stderr_utf8
        if is_stderr_utf8 is False:
            self._load_all()
        facts.exit_status = exit_status
        has_declared = facts.capabilities or (facts.version and not facts.is_stateless)
        facts.block = facts.capabilities if has_declared else None
        return self._scorer.finish()
