"""Blank secrets out of everything that is written, whatever shape they took on the way."""

from __future__ import annotations

import re
from bisect import bisect_right
from functools import lru_cache

from mcptest.core.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Any

    from mcptest.core.disguises import Place

    Redact = Callable[[str], str]

__all__ = [
    "BLANK",
    "Redactor",
    "redact_all",
    "redact_bytes",
    "redact_cut",
    "redactor",
    "why_not_blanked",
]

BLANK = "[secret]"
_BLANK = BLANK.encode()

# Shorter values ("1", "on") are no secrets, and blanking them would shred the report.
_LEAST_CHARS = 4

# Longer ones that are settings and not secrets, or stand in every answer and every report.
_COMMON = frozenset(
    [
        *("true", "false", "null", "none", "undefined", "auto", "default", "enabled", "disabled"),
        *("test", "tests", "testing", "prod", "production", "stage", "staging", "develop"),
        *("development", "local", "localhost", "demo", "example", "debug", "info", "warn"),
        *("warning", "error", "trace", "verbose", "quiet", "silent", "http", "https", "stdio"),
        *("utf-8", "utf8", "json", "text", "name", "type", "result", "content", "method"),
        *("params", "jsonrpc", "tool", "tools", "server", "client", "string", "object"),
        *("secret", "secrets"),
    ]
)

# What marks a place where a text was cut, and how far from it the rest of a secret may stand:
# quotes, brackets and half an escape come in between.
_CUT = "…"
_CUT_MARK = _CUT.encode()
_NEAR = 8 + len(_CUT_MARK)
_LONGEST_LEAST = 8

# In a text without any of these nothing is escaped, broken or cut.
_UNPLAIN = re.compile(rb"[\\%&+\n]|" + _CUT_MARK)

# A text with more secrets than this in disguise is one as a whole.
_MAX_PLACES = 10_000

# Fields of our records that hold a word with a fixed meaning, never one from outside.
_OUR_WORDS = frozenset(
    ["code", "direction", "effect", "format", "kind", "severity", "started_at", "status"]
)

# Fields that hold a JSON value from a file or a server; other numbers are counts of ours.
_PAYLOADS = frozenset(["actual", "expected", "request", "response"])
_NUMBERS = (int, float, bool)


def why_not_blanked(secret: str) -> str:
    """Why a value is left as it is wherever it stands, as half a sentence; "" when it is not."""
    value = secret.strip()
    if len(value) < _LEAST_CHARS:
        return f"has fewer than {_LEAST_CHARS} characters"
    is_common = value.lower() in _COMMON or value in BLANK
    return "is a common word" if is_common else ""


def redactor(secrets: Iterable[str]) -> Redactor:
    """A function that blanks these values, also encoded, escaped, and cut."""
    return _redactor(tuple(sorted(set(secrets))))


@lru_cache(maxsize=16)
def _redactor(secrets: tuple[str, ...]) -> Redactor:
    return Redactor(secrets)


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
        return text if blanked is raw else blanked.decode("utf-8", "surrogatepass")

    def places(self, text: str) -> list[Place]:
        """From where to where secrets stand in a text; none overlap."""
        raw = text.encode("utf-8", "surrogatepass")
        found = _merged([*self._found_in(raw), *self._hidden(raw)])
        if text.isascii():
            return found
        return [(_characters(raw[:start]), _characters(raw[:end])) for start, end in found]

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
        # Only runs that have secrets pay for this import.
        from mcptest.core.disguises import readings_of  # noqa: PLC0415

        for reading in readings_of(raw, has_blanks=self._has_blanks):
            for start, end in (*self._found_in(reading.raw), *self._pieces_in(reading.raw)):
                yield reading.place(start, end)

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
    from mcptest.core.disguises import disguises_of, parts_of  # noqa: PLC0415  # as above

    parts = {part for secret in secrets for part in parts_of(secret)}
    found = {form for part in parts if not why_not_blanked(part) for form in disguises_of(part)}
    return {form for form in found if len(form) >= _LEAST_CHARS and form not in _BLANK}


def _all(needle: bytes, raw: bytes) -> Iterator[int]:
    at = raw.find(needle)
    while at >= 0:
        yield at
        at = raw.find(needle, at + len(needle))


def _pieces(needle: bytes, raw: bytes) -> Iterator[Place]:
    """Where the head of a secret stands before a cut, or its tail behind one."""
    least = max(_LEAST_CHARS, min(_LONGEST_LEAST, len(needle) // 2))
    for start in _all(needle[:least], raw):
        length = least
        while needle[: length + 1] == raw[start : start + length + 1]:
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


def _characters(raw: bytes) -> int:
    return len(raw.decode("utf-8", "surrogatepass"))


# Whatever holds texts


def redact_all(value: Any, redact: Redact) -> Any:
    """The same value with every text in it redacted.

    This has to happen before anything is rendered: half a secret is not recognised any
    more, and one that is also a number or a word of ours ("8080", "error") would take the
    syntax of the report with it.
    """
    if isinstance(value, str):
        return redact(value)
    # Most values have no secret in them: all of their texts are looked through in one go.
    texts: list[str] = []
    _gather(value, texts)
    text = "\0".join(texts)
    return value if redact(text) == text else _redacted(value, redact)


def redact_bytes(raw: bytes, redact: Redact) -> bytes:
    """Bytes from a server with every secret in them blanked."""
    text = raw.decode("utf-8", "surrogateescape")
    return redact(text).encode("utf-8", "surrogateescape")


def redact_cut(raw: bytes, redact: Redact, *, at_start: bool = False, at_end: bool = False) -> bytes:
    """The same for bytes of which only a part was kept: half a secret may stand at its ends."""
    before, after = (_CUT_MARK if at_start else b""), (_CUT_MARK if at_end else b"")
    blanked = redact_bytes(before + raw + after, redact)
    return blanked.removeprefix(before).removesuffix(after)


def _gather(value: Any, texts: list[str]) -> None:
    """Every text that `_redacted` looks at. This is asked of all that is told, so it is quick."""
    kind = type(value)
    if kind is str:
        texts.append(value)
    elif kind is dict:
        texts += value
        for inner in value.values():
            _gather(inner, texts)
    elif kind is tuple or kind is list:
        for inner in value:
            _gather(inner, texts)
    elif isinstance(value, Record):
        for name, inner in vars(value).items():
            if type(inner) is str and name not in _OUR_WORDS:
                texts.append(inner)
            elif inner and _is_from_outside(name, inner):
                _gather(inner, texts)
    elif kind is int or kind is float:
        texts.append(str(value))
    elif kind is bytes:
        texts.append(value.decode("utf-8", "surrogateescape"))


def _redacted(value: Any, redact: Redact) -> Any:
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, bytes):
        return redact_bytes(value, redact)
    if isinstance(value, (list, tuple)):
        return type(value)(_redacted(inner, redact) for inner in value)
    if isinstance(value, dict):
        return {redact(key): _redacted(inner, redact) for key, inner in value.items()}
    if isinstance(value, Record):
        outer = {
            name: _redacted(inner, redact)
            for name, inner in vars(value).items()
            if _is_from_outside(name, inner)
        }
        return value.but(**outer)
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return value if redact(str(value)) == str(value) else BLANK
    return value


def _is_from_outside(name: str, value: object) -> bool:
    """Whether a field of ours may hold a secret."""
    return name not in _OUR_WORDS and (type(value) not in _NUMBERS or name in _PAYLOADS)
