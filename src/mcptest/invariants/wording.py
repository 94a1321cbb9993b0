"""The words of a breach: values cut short, and never more sentences than anybody reads."""

from __future__ import annotations

from itertools import islice

from mcptest.core.strict_json import dump_json
from mcptest.core.text import shorten

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["few", "seen", "shown"]

# So many sentences about one message: a hostile one could have a million mistakes.
_MAX_SENTENCES = 20


def shown(value: object) -> str:
    """A value as JSON, short."""
    return shorten(dump_json(value), 80)


def seen(members: dict[str, object], name: str) -> str:
    """The value of a member as JSON, or that there is none."""
    return shown(members[name]) if name in members else "missing"


def few(sentences: Iterable[str]) -> list[str]:
    """The first of the sentences about one message."""
    return list(islice(sentences, _MAX_SENTENCES))
