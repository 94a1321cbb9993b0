"""Judge what is said to and by a server, in the time that is spent waiting for it anyway.

What passes is only noted. The rules are asked when the next answer is waited for; while the
server thinks there is nothing better to do. Loading them takes as long as a server takes to
start, and happens meanwhile.
"""

from __future__ import annotations

from mcptest.core.framing import Frame
from mcptest.core.strict_json import parse_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from mcptest.core.conformance import SessionScore
    from mcptest.core.framing import Noise, Overlong
    from mcptest.invariants.composition import Member
    from mcptest.invariants.live import LiveJudge

    Item = Frame | Noise | Overlong

__all__ = ["RuleWatch"]

# So much may wait to be judged; what floods us is judged as it comes.
_MAX_WAITING = 500


class RuleWatch:
    """Watches one session for the rules."""

    def __init__(self, label: str, transport: str) -> None:
        self._label = label
        self._transport = transport
        self._waiting: list[bytes | Item] = []
        self._judge: LiveJudge | None = None

    def sent(self, line: bytes) -> None:
        self._waiting.append(line)

    def received(self, items: Iterable[Item]) -> None:
        self._waiting += items
        if len(self._waiting) > _MAX_WAITING:
            self.work()

    def work(self) -> None:
        """Judge all that waits."""
        if not self._waiting:
            return
        judge = self._judge or self._made()
        waiting, self._waiting = self._waiting, []
        for each in waiting:
            if isinstance(each, bytes):
                judge.client(parse_json(each.decode("utf-8")), 0.0)
            elif isinstance(each, Frame):
                judge.server(each.value, 0.0)
            else:
                judge.noise(each.raw.decode("utf-8", "backslashreplace"), 0.0)

    def _made(self) -> LiveJudge:
        # See above: this is when there is time for it.
        from mcptest.invariants.live import LiveJudge  # noqa: PLC0415

        self._judge = LiveJudge(self._label, self._transport)
        return self._judge

    def finish(self, exit_status: str) -> tuple[SessionScore, Member]:
        """The session is over: what the rules say, and what other sessions are compared with."""
        self.work()
        judge = self._judge or self._made()
        return judge.finish(exit_status), judge.member
