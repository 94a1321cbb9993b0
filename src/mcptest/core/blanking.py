"""Find secrets in texts, and blank them: in each of their forms, and where they were cut. Pure.

Most texts hold none, so what comes first is a quick look. Then a text is read in each form
(`mcptest.core.secret_forms`), and what that says once more in each form.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from functools import lru_cache

from mcptest.core.secret_forms import (
    EncodedRuns,
    Reading,
    encodings_of,
    parts_of,
    stretches,
    undone,
    unquoted,
    unwrapped,
)
from mcptest.core.weak_secrets import BLANK, CUT, LEAST_CHARS, why_not_blanked

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from mcptest.core.secret_forms import Place

__all__ = ["Redactor"]

_BLANK = BLANK.encode()

# What marks a place where a text was cut, and how far from it the rest of a secret may stand:
# quotes, brackets and half an escape come in between. Less of it than this says nothing.
_CUT_MARK = CUT.encode()
_NEAR = 8 + len(_CUT_MARK)
_LEAST_PIECE = 6

# Shorter needles are found by chance where the end of one line meets the beginning of the next.
_LEAST_UNWRAPPED = 8

# In a text without any of these nothing is escaped, broken or cut.
_UNPLAIN = re.compile(rb"[\\%&+\n]|" + _CUT_MARK)

# A larger text is read in each form, but not in one form inside another: a server must not be
# able to make a report slow.
_MAX_NESTED_BYTES = 256 * 1024

# A text with more secrets than this that are not plain is one as a whole.
_MAX_PLACES = 10_000


class Redactor:
    """Blanks secrets in one text after the other."""

    def __init__(self, secrets: Iterable[str]) -> None:
        known = [secret for secret in secrets if not why_not_blanked(secret)]
        needles = list(map(_needles_of, known))
        self._plain = _sorted(plain for plain, _ in needles)
        self._needles = _sorted(each for both in needles for each in both)
        # What is also looked for across line breaks.
        self._plain_long = [each for each in self._plain if len(each) >= _LEAST_UNWRAPPED]
        self._long = [each for each in self._needles if len(each) >= _LEAST_UNWRAPPED]
        self._sizes = [len(needle) for needle in self._needles]
        self._runs = EncodedRuns(len(self._plain[0])) if known else None
        self._has_blanks = any(" " in secret for secret in known)
        # What was looked at last: the name of a test is told when it begins and when it ends.
        self._unchanged = ""

    def __call__(self, text: str) -> str:
        """The text without secrets."""
        if text is self._unchanged:
            return text
        raw = text.encode("utf-8", "surrogatepass")
        if not self._may_hold(raw):
            self._unchanged = text
            return text
        blanked = self._blanked(raw)
        return text if blanked is raw else _text(blanked)

    def places(self, text: str) -> list[Place]:
        """From where to where secrets stand in a text; none overlap."""
        raw = text.encode("utf-8", "surrogatepass")
        if not self._may_hold(raw):
            return []
        found = _merged([*_found_in(raw, self._needles), *self._hidden(raw)])
        if text.isascii():
            return found
        return [(len(_text(raw[:start])), len(_text(raw[:end]))) for start, end in found]

    def _may_hold(self, raw: bytes) -> bool:
        """Whether a text must be looked at closely. Most need not, so this is quick."""
        for needle in self._needles[: bisect_right(self._sizes, len(raw))]:
            if needle in raw:
                return True
        if _UNPLAIN.search(raw):
            return True
        return self._runs is not None and self._runs.are_in(raw)

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

    def _hidden(self, raw: bytes) -> Iterator[Place]:
        """Where they stand in another form, in one form inside another, or cut."""
        if self._runs is None:
            return
        is_nested = len(raw) <= _MAX_NESTED_BYTES
        seen: set[bytes] = set()
        for outer in _ways_to_read(raw, is_nested=is_nested):
            yield from self._in(outer)
            if is_nested:
                places = self._runs.places(outer.raw, self._holds_nested)
            else:
                # In base64 they are found as they are.
                places = self._runs.hex_places(outer.raw, self._holds)
            yield from _traced(outer, places)
            with_json = outer.is_unquoted or not is_nested
            for undone_once in undone(outer, has_blanks=self._has_blanks, with_json=with_json):
                readings = list(unwrapped(undone_once))
                # Without its line breaks a text rarely says anything else.
                if readings[-1].raw in seen:
                    continue
                seen.add(readings[-1].raw)
                for inner in readings:
                    yield from self._in(inner)
                    if is_nested:
                        yield from self._nested_in(inner, self._runs)

    def _nested_in(self, outer: Reading, runs: EncodedRuns) -> Iterator[Place]:
        """Where they stand in a text that has been read in one form, in another."""
        yield from _traced(outer, runs.hex_places(outer.raw, self._holds))
        for undone_twice in undone(outer, has_blanks=self._has_blanks):
            for inner in unwrapped(undone_twice):
                yield from _traced(inner, _found_in(inner.raw, self._plain_in(inner)))

    def _in(self, reading: Reading) -> Iterator[Place]:
        needles = self._long if reading.is_unwrapped else self._needles
        found = list(_pieces_in(reading.raw, needles))
        if not reading.is_original:
            found += _found_in(reading.raw, needles)
        yield from _traced(reading, found)

    def _plain_in(self, reading: Reading) -> Sequence[bytes]:
        return self._plain_long if reading.is_unwrapped else self._plain

    def _holds(self, decoded: bytes) -> bool:
        """Whether a secret is in what was decoded."""
        return any(needle in decoded for needle in self._plain)

    def _holds_nested(self, decoded: bytes) -> bool:
        """The same, also in another form."""
        if self._holds(decoded):
            return True
        assert self._runs is not None, "there are secrets"
        for text in _texts_in(decoded, self._plain):
            for outer in unwrapped(Reading(text)):
                needles = self._long if outer.is_unwrapped else self._needles
                if any(needle in outer.raw for needle in needles):
                    return True
                for inner in undone(outer, has_blanks=self._has_blanks):
                    if any(needle in inner.raw for needle in self._plain_in(inner)):
                        return True
            if any(self._runs.hex_places(text, self._holds)):
                return True
        return False


def _ways_to_read(raw: bytes, *, is_nested: bool) -> Iterator[Reading]:
    """The text; without line breaks, which may be anywhere; as the text of a JSON string.

    Each is read when its turn comes: what was found before is not there any more.
    """
    for reading in unwrapped(Reading(raw)):
        yield reading
        if is_nested:
            yield from unquoted(reading)


def _texts_in(decoded: bytes, needles: Sequence[bytes]) -> Iterator[bytes]:
    """What in decoded bytes is long enough a text to hold one of these in another form."""
    table = _ASCII if all(needle.isascii() for needle in needles) else _UNICODE
    least = len(needles[0])

    def long_enough(text: bytes) -> bytes:
        return b"\0".join(text[start:end] for start, end in stretches(text, table, least))

    yield long_enough(decoded)
    if _UTF_16.search(decoded):
        for start in range(2):
            for name in ("utf-16-le", "utf-16-be"):
                text = decoded[start:].decode(name, "ignore")
                yield long_enough(text.encode("utf-8", "ignore"))


_UTF_16 = re.compile(rb"\0[\x20-\x7e]\0[\x20-\x7e]\0[\x20-\x7e]")
_ASCII = bytes(120 if 32 <= byte < 127 or byte in b"\t\r\n" else 0 for byte in range(256))
_UNICODE = bytes(120 if byte >= 32 or byte in b"\t\r\n" else 0 for byte in range(256))


def _traced(reading: Reading, places: Iterable[Place]) -> Iterator[Place]:
    found = list(places)
    if found:
        yield from reading.trace(found)


def _without(raw: bytes, places: Iterable[Place]) -> bytes:
    pieces: list[bytes] = []
    done = 0
    for start, end in places:
        pieces += (raw[done:start], _BLANK)
        done = end
    return b"".join([*pieces, raw[done:]])


def _sorted(groups: Iterable[frozenset[bytes]]) -> list[bytes]:
    """The needles, shortest first."""
    return sorted(frozenset[bytes]().union(*groups), key=len)


# With each secret that is learned, those of the ones before it are wanted again.
@lru_cache(maxsize=4096)
def _needles_of(secret: str) -> tuple[frozenset[bytes], frozenset[bytes]]:
    """What is searched for: the secret and its parts as they are, and encoded."""
    parts = [part for part in parts_of(secret) if not why_not_blanked(part)]
    plain = (raw for part in parts for raw in _raw_forms(part))
    encoded = (form for part in parts for form in encodings_of(part))
    return _usable(plain), _usable(encoded)


def _raw_forms(part: str) -> Iterator[bytes]:
    raw = part.encode("utf-8", "surrogateescape")
    yield raw
    # In a text, a byte that is not UTF-8 is a character of its own.
    yield raw.decode("utf-8", "surrogateescape").encode("utf-8", "surrogatepass")


def _usable(forms: Iterable[bytes]) -> frozenset[bytes]:
    return frozenset(form for form in forms if len(form) >= LEAST_CHARS and form not in _BLANK)


def _found_in(raw: bytes, needles: Iterable[bytes]) -> Iterator[Place]:
    for needle in needles:
        if needle in raw:
            yield from ((at, at + len(needle)) for at in _all(needle, raw))


def _all(needle: bytes, raw: bytes) -> Iterator[int]:
    at = raw.find(needle)
    while at >= 0:
        yield at
        at = raw.find(needle, at + len(needle))


def _pieces_in(raw: bytes, needles: Sequence[bytes]) -> Iterator[Place]:
    """What is left of them beside a cut; further away nothing is looked for."""
    if not needles or _CUT_MARK not in raw:
        return
    reach = len(needles[-1]) + _NEAR
    for low, high in _merged((at - reach, at + reach) for at in _all(_CUT_MARK, raw)):
        low = max(0, low)
        near = raw[low:high]
        for needle in needles:
            yield from ((low + start, low + end) for start, end in _pieces(needle, near))


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
