"""A tag of a case file in the place of a value, and how text with tags in it is put together."""

from __future__ import annotations

import re

from mcptest.core.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    # From, to, and the regular expression for what may stand there.
    Span = tuple[int, int, str]

__all__ = ["ANY", "HALF_CHARACTER", "MAX_DESCRIBED", "NUMBER", "TEXT", "Tag", "described_text"]

# Of a pair that JSON can name and no file can hold.
HALF_CHARACTER = re.compile("[\ud800-\udfff]")
# A longer text would make an expression that takes too long to compile.
MAX_DESCRIBED = 20_000


class Tag(Record):
    """`!!name text`."""

    name: str
    text: str = ""


ANY = Tag(name="any")
NUMBER = Tag(name="type", text="number")
TEXT = Tag(name="type", text="string")


def described_text(text: str, spans: Iterable[Span]) -> Tag | None:
    """A tag for a text of which some parts vary; None when none does."""
    spans = sorted(spans)
    if not spans:
        return None
    start, end, expression = spans[0]
    if len(spans) == 1 and (start, end) == (0, len(text)):
        return Tag(name="re", text=f"^{expression}$")
    if len(text) > MAX_DESCRIBED or HALF_CHARACTER.search(text):
        return TEXT
    pieces: list[str] = []
    done = 0
    for start, end, expression in spans:
        pieces += [_literal(text[done:start]), f"/{expression}/"]
        done = end
    return Tag(name="ere", text="".join([*pieces, _literal(text[done:], is_last=True)]))


def _literal(text: str, *, is_last: bool = False) -> str:
    """Text as it stands between expressions.

    There `\\/` is a slash, and any other backslash is one. One that comes before a slash would
    be taken for the first half of that, and is written as an expression.
    """
    before, *rest = text.split("/")
    written = _without_last_backslashes(before) if rest or not is_last else before
    for index, piece in enumerate(rest, 1):
        ends = index == len(rest) and is_last
        written += "\\/" + (piece if ends else _without_last_backslashes(piece))
    return written


def _without_last_backslashes(text: str) -> str:
    kept = text.rstrip("\\")
    count = len(text) - len(kept)
    return f"{kept}/{chr(92) * 2 * count}/" if count else text
