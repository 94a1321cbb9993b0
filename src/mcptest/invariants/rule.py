"""What a rule is, and what watches a session for it."""

from __future__ import annotations

from mcptest.core.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Literal, Protocol

    from mcptest.invariants.facts import Facts
    from mcptest.invariants.said import Said

    Level = Literal["MUST", "SHOULD"]

    # Breaches, in sentences; None when there was nothing to look at.
    Breaches = Sequence[str] | None

    class Watch(Protocol):
        """Is asked about everything a rule subscribes to, in order, and then at the end."""

        def see(self, said: Said, facts: Facts) -> Breaches: ...
        def end(self, facts: Facts) -> Breaches: ...


__all__ = ["Looking", "Rule", "at_levels"]


class Rule(Record):
    """One rule. `levels` has how binding it is, by the letters of the revisions that have it.

    `topics` are what it must be asked about: "client" and "server" for everything one side
    says, "noise"; "request", "notification", "result", "error" and "malformed" for what the
    server says of that kind; "result:tools/list" and the like for one method. `start` makes
    what watches one session. `nothing` is said when there was nothing to look at, `elsewhere` of
    a revision that does not have the rule.
    """

    id: str
    name: str
    category: str
    property: str
    levels: dict[str, Level]
    topics: tuple[str, ...]
    start: Callable[[], Watch]
    nothing: str = "nothing in this session is subject to it"
    elsewhere: str = ""


class Looking:
    """The watch of a rule that looks at one thing at a time and remembers nothing."""

    def __init__(self, look: Callable[[Said, Facts], Breaches]) -> None:
        # The function itself: it is called for every frame, and another call costs as much.
        self.see = look

    def end(self, facts: Facts) -> Breaches:
        return None


def at_levels(must: str = "", should: str = "") -> dict[str, Level]:
    """Levels by letter: `at_levels("CDE", should="AB")`."""
    levels: dict[str, Level] = dict.fromkeys(must, "MUST")
    return levels | dict.fromkeys(should, "SHOULD")
