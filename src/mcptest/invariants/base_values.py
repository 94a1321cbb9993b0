"""What many rules about frames have in common."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from mcptest.invariants.facts import Facts
    from mcptest.invariants.rule import Breaches
    from mcptest.invariants.said import Said

__all__ = ["error_code", "gathered", "is_over_http", "members"]

# One message can be wrong in millions of places; nobody needs to know more than this.
_MAX_BREACHES = 1000


def gathered(looks: Iterable[str]) -> Breaches:
    """What was found wrong in many places; "" says of a place that it was looked at."""
    breaches: list[str] | None = None
    for sentence in looks:
        if breaches is None:
            breaches = []
        if sentence:
            breaches.append(sentence)
            if len(breaches) == _MAX_BREACHES:
                break
    return breaches


def members(value: object) -> dict[str, object]:
    """The value, {} when it is no object."""
    return value if isinstance(value, dict) else {}


def error_code(said: Said) -> int | None:
    """The code of an error, None when it is no integer."""
    code = said.error.get("code")
    return code if type(code) is int else None


def is_over_http(said: Said, facts: Facts) -> bool:
    """Whether a frame came over HTTP, as far as the capture tells."""
    return bool(said.http) or facts.transport.startswith(("http", "sse"))
