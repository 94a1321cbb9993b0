"""Find secrets in texts, and blank them: as they are, encoded, escaped, and cut. Pure.

Most texts hold none, so what comes first is a quick look. A text that is escaped in some way is
read in every way that it can be meant (`mcptest.core.disguises`).
"""

from __future__ import annotations

import re
from bisect import bisect_right
from functools import lru_cache

from mcptest.core.disguises import disguises_of, parts_of, readings_of
from mcptest.core.weak_secrets import BLANK, CUT, LEAST_CHARS, why_not_blanked

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from mcptest.core.disguises import Place

__all__ = ["Redactor"]

_BLANK = BLANK.encode()

# What marks a place where a text was cut, and how far from it the rest of a secret may stand:
# quotes, brackets and half an escape come in between. Less of it than this says nothing.
_CUT_MARK = CUT.encode()
_NEAR = 8 + len(_CUT_MARK)
_LEAST_PIECE = 6

# In a text without any of these nothing is escaped, broken or cut.
_UNPLAIN = re.compile(rb"[\\%&+\n]|" + _CUT_MARK)

# A text with more secrets than this in disguise is one as a whole.
_MAX_PLACES = 10_000


class Redactor:
    """Blanks secrets in one text after the other."""

    def __init__(self, secrets: Iterable[str]) -> None:
        known = [secret for secret in secrets if not why_not_blanked(secret)]
        self._needles = sorted(_needles_of(known), key=len) if known else []
        self._sizes = [len(needle) for needle in self._needles]
        self._has_blanks = any(" " in secret for secret in known)
        # What was looked at last: the name of a test is told when it begins and when it ends.
        self._plain = ""

    def __call__(self, text: str) -> str:
        """The text without secrets."""
        if text is self._plain:
            return text
        raw = text.encode("utf-8", "surrogatepass")
        if not self._may_hold(raw):
            self._plain = text
            return text
        blanked = self._blanked(raw)
        return text if blanked is raw else _text(blanked)

    def places(self, text: str) -> list[Place]:
        """From where to where secrets stand in a text; none overlap."""
        raw = text.encode("utf-8", "surrogatepass")
        if not self._may_hold(raw):
            return []
        found = _merged([*self._found_in(raw), *self._hidden(raw)])
        if text.isascii():
            return found
        return [(len(_text(raw[:start])), len(_text(raw[:end]))) for start, end in found]

    def _may_hold(self, raw: bytes) -> bool:
        """Whether a text must be looked at closely. Most need not, so this is quick."""
        for needle in self._needles[: bisect_right(self._sizes, len(raw))]:
            if needle in raw:
                return True
        return _UNPLAIN.search(raw) is not None

    def _blanked(self, raw: bytes) -> bytes:
        for needle in reversed(self._needles):
            if needle in raw:
                raw = raw.replace(needle, _BLANK)
        found: list[Place] = []
        for place in self._hidden(raw):
            found.append(place)
            if len(found) > _MAX_PLACES:
                return _BLANK
        return _without(raw, _merged(found)) if found else raw

    def _found_in(self, raw: bytes) -> Iterator[Place]:
        """Where secrets stand in plain sight."""
        for needle in self._needles:
            if needle in raw:
                yield from ((at, at + len(needle)) for at in _all(needle, raw))

    def _hidden(self, raw: bytes) -> Iterator[Place]:
        """Where they stand escaped, or cut."""
        yield from self._pieces_in(raw)
        if not self._sizes or len(raw) < self._sizes[0]:
            return
        for reading in readings_of(raw, has_blanks=self._has_blanks):
            found = [*self._found_in(reading.raw), *self._pieces_in(reading.raw)]
            if found:
                yield from reading.trace(found)

    def _pieces_in(self, raw: bytes) -> Iterator[Place]:
        if _CUT_MARK in raw:
            for needle in self._needles:
                yield from _pieces(needle, raw)


def _without(raw: bytes, places: Iterable[Place]) -> bytes:
    pieces: list[bytes] = []
    done = 0
    for start, end in places:
        pieces += (raw[done:start], _BLANK)
        done = end
    return b"".join([*pieces, raw[done:]])


def _needles_of(secrets: Iterable[str]) -> set[bytes]:
    return {needle for secret in secrets for needle in _needles_of_one(secret)}


# With each secret that is learned, those of the ones before it are wanted again.
@lru_cache(maxsize=4096)
def _needles_of_one(secret: str) -> frozenset[bytes]:
    parts = [part for part in parts_of(secret) if not why_not_blanked(part)]
    forms = (form for part in parts for form in disguises_of(part))
    return frozenset(form for form in forms if len(form) >= LEAST_CHARS and form not in _BLANK)


def _all(needle: bytes, raw: bytes) -> Iterator[int]:
    at = raw.find(needle)
    while at >= 0:
        yield at
        at = raw.find(needle, at + len(needle))


def _pieces(needle: bytes, raw: bytes) -> Iterator[Place]:
    """Where the head of a secret stands before a cut, or its tail behind one."""
    least = max(LEAST_CHARS, min(_LEAST_PIECE, len(needle) // 2))
    for start in _all(needle[:least], raw):
        length = least
        while length < len(needle) and raw.startswith(needle[: length + 1], start):
            length += 1
        end = start + length
        if _CUT_MARK in raw[end : end + _NEAR]:
            yield start, end
    for at in _all(needle[-least:], raw):
        start, end = at, at + least
        while start and needle[start - end - 1 :] == raw[start - 1 : end]:
            start -= 1
        if _CUT_MARK in raw[max(0, start - _NEAR) : start]:
            yield start, end


def _merged(places: Iterable[Place]) -> list[Place]:
    """The places in order; those that overlap are one."""
    kept: list[Place] = []
    for start, end in sorted(places):
        if kept and start < kept[-1][1]:
            kept[-1] = (kept[-1][0], max(end, kept[-1][1]))
        else:
            kept.append((start, end))
    return kept


def _text(raw: bytes) -> str:
    try:
        return raw.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        # A secret that is not UTF-8 has taken half of a character with it.
        return raw.decode("utf-8", "replace")
