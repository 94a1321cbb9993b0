"""Ask every rule about a session while it passes, in bounded memory."""

from __future__ import annotations

from mcptest.core import jsonrpc
from mcptest.core.conformance import SessionScore, Verdict
from mcptest.invariants.facts import Facts
from mcptest.invariants.likeness import likeness_of
from mcptest.invariants.rule import Looking
from mcptest.invariants.said import Said, kind_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from mcptest.invariants.likeness import Likeness
    from mcptest.invariants.rule import Breaches, Rule, Watch

    Http = dict[str, Any] | None
    Interested = list[tuple["_Asked", Callable[[Said, Facts], Breaches]]]

__all__ = ["Scorer"]

_MAX_ALIKE = 1000
_MAX_KEYS = 1000


class _Asked:
    """One rule and what it has said so far."""

    __slots__ = ("count", "exchange", "has_looked", "message", "rule", "watch")

    def __init__(self, rule: Rule) -> None:
        self.rule = rule
        self.watch: Watch = rule.start()
        self.has_looked = False
        self.count = 0
        self.message = ""
        self.exchange: int | None = None

    def note(self, breaches: Sequence[str], exchange: int | None) -> None:
        self.has_looked = True
        if breaches and not self.count:
            self.message, self.exchange = breaches[0], exchange
        self.count += len(breaches)


class Scorer:
    """Judges one session; things are told to it in the order in which they were said.

    `look_closer` is asked of each before it is judged, until it says that it has widened what
    is looked at.
    """

    def __init__(
        self,
        rules: Sequence[Rule],
        facts: Facts,
        label: str = "",
        look_closer: Callable[[Said, Facts], bool] | None = None,
    ) -> None:
        self.facts = facts
        self._look_closer = look_closer
        self.label = label
        self._asked = [_Asked(rule) for rule in rules]
        self._by_key: dict[object, tuple[Interested, Interested]] = {}
        # What rules that remember nothing have been content with; see `likeness`.
        self._contented: set[Likeness] = set()

    def widen(self, rules: Sequence[Rule]) -> None:
        """Ask these rules from now on; those that were asked before go on with what they know."""
        known = {asked.rule.id: asked for asked in self._asked}
        self._asked = [known.get(rule.id) or _Asked(rule) for rule in rules]
        self._by_key.clear()
        self._contented.clear()

    # What was said

    def client(
        self, message: object, exchange: int = -1, ms: float | None = None, http: Http = None
    ) -> None:
        """The client sent this; a batch counts as its messages."""
        for each in message if isinstance(message, list) else (message,):
            self._judge(self.said(each, exchange, ms, http, is_client=True))

    def server(
        self, message: object, exchange: int = -1, ms: float | None = None, http: Http = None
    ) -> None:
        """The server sent this. A batch is judged as one, and then as its messages."""
        if isinstance(message, list):
            self._judge(
                Said(message, is_client=False, kind="batch", exchange=exchange, ms=ms, http=http)
            )
        for each in message if isinstance(message, list) else (message,):
            self._judge(self.said(each, exchange, ms, http, is_client=False))

    def noise(self, line: str, exchange: int = -1, ms: float | None = None) -> None:
        """The server wrote a line that is no message."""
        self._judge(Said(line, is_client=False, kind="noise", exchange=exchange, ms=ms))

    def said(
        self,
        message: Any,
        exchange: int = -1,
        ms: float | None = None,
        http: Http = None,
        *,
        is_client: bool,
    ) -> Said:
        """A message with what must be known to judge it."""
        kind = kind_of(message)
        method, request = "", None
        if isinstance(message, dict):
            if "method" in message:
                method = message["method"] if isinstance(message["method"], str) else ""
            else:
                request = self._request_of(message, is_client=is_client)
                method = str(request.get("method", "")) if request else ""
        return Said(
            message,
            is_client=is_client,
            kind=kind,
            method=method,
            request=request,
            exchange=exchange,
            ms=ms,
            http=http,
        )

    def _request_of(self, answer: dict[str, Any], *, is_client: bool) -> dict[str, Any] | None:
        held = self.facts.server_open if is_client else self.facts.open
        found = held.get(jsonrpc.id_key(answer.get("id")))
        if found is None and answer.get("id") is None and "error" in answer and len(held) == 1:
            # The id could not be read: it is for the one request that is open.
            return next(iter(held.values()))
        return found

    # Judging

    def _judge(self, said: Said) -> None:
        facts = self.facts
        facts.take(said)
        if self._look_closer and self._look_closer(said, facts):
            self._look_closer = None
        every, remembering = self._interested(said)
        likeness = likeness_of(said, facts)
        is_known = likeness in self._contented
        has_breach = False
        for asked, see in remembering if is_known else every:
            breaches = see(said, facts)
            if breaches is not None:
                asked.note(breaches, said.exchange)
                has_breach = has_breach or bool(breaches)
        if likeness and not is_known and not has_breach and len(self._contented) < _MAX_ALIKE:
            self._contented.add(likeness)
        facts.forget(said)

    def _interested(self, said: Said) -> tuple[Interested, Interested]:
        """The rules that speak of such a thing in the revisions that this session can be: all
        of them, and those that remember something."""
        letters, is_stdio = self.facts.letters, self.facts.is_stdio
        key = (said.is_client, said.kind, said.method, letters, is_stdio)
        known = self._by_key.get(key)
        if known:
            return known
        wanted = set(_topics(said))
        every: Interested = [
            (asked, asked.watch.see)
            for asked in self._asked
            if wanted.intersection(asked.rule.topics)
            and asked.rule.levels.keys() >= letters
            and not (is_stdio and asked.rule.category == "http")
        ]
        found = every, [each for each in every if not isinstance(each[0].watch, Looking)]
        # Methods come from servers: only so many different ones are remembered.
        if len(self._by_key) < _MAX_KEYS:
            self._by_key[key] = found
        return found

    def finish(self) -> SessionScore:
        """The session is over: what every rule says of it."""
        verdicts = []
        for asked in self._asked:
            if asked.rule.levels.keys() >= self.facts.letters:
                breaches = asked.watch.end(self.facts)
                if breaches is not None:
                    asked.note(breaches, None)
            verdicts.append(self._verdict(asked))
        return SessionScore(server_label=self.label, verdicts=tuple(verdicts))

    def _verdict(self, asked: _Asked) -> Verdict:
        rule, letters = asked.rule, self.facts.letters
        verdict = Verdict(
            id=rule.id, category=rule.category, status="not_applicable", message=rule.nothing
        )
        if not rule.levels.keys() >= letters:
            revision = f"revision {self.facts.version}" if self.facts.version else "this revision"
            return verdict.but(message=f"{revision} has {rule.elsewhere or 'no such rule'}")
        if not asked.has_looked:
            return verdict
        if not asked.count:
            return verdict.but(status="pass", message=rule.property)
        is_must = all(rule.levels[letter] == "MUST" for letter in letters)
        return verdict.but(
            status="fail" if is_must else "warning",
            message=asked.message,
            exchange=asked.exchange,
            count=asked.count,
        )


def _topics(said: Said) -> tuple[str, ...]:
    if said.kind == "noise":
        return ("noise",)
    if said.is_client:
        return ("client", f"client:{said.method}")
    return ("server", said.kind, f"{said.kind}:{said.method}")
