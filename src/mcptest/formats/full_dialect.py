"""What a kind of file allows beyond plain YAML, and the one value that YAML does not have."""

from __future__ import annotations

from mcptest.core.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["PLAIN", "Dialect", "Tagged"]


class Tagged(Record):
    """A scalar with a tag that its reader asked for: `!!re "a+"` has the tag "re"."""

    tag: str
    text: str


class Dialect(Record):
    """Which tags become `Tagged`, and which keys of the root may be written again."""

    tags: tuple[str, ...] = ()
    may_repeat: Callable[[str], bool] | None = None


PLAIN = Dialect()
