"""Which values vary from run to run, by how they look and what key they stand under.

Expressions that come out of here are simple on purpose: the mock makes up values for them.
"""

from __future__ import annotations

import re

from mcptest.core.secrets import split_words
from mcptest.traffic.shapes import NUMBER_EXPRESSION, UUID_EXPRESSION
from mcptest.traffic.tag import NUMBER, described_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Iterator

    from mcptest.traffic.tag import Span, Tag

__all__ = ["CONSTANT_KEYS", "SCHEMA_KEYS", "is_id_key", "look_of", "spans_in", "without_overlaps"]

# What stands under these keys describes the server, and does not change from run to run.
SCHEMA_KEYS = frozenset(["inputSchema", "outputSchema", "requestedSchema"])
CONSTANT_KEYS = frozenset(["description", "instructions", "mimeType", "title", "type"])

_DAY = "(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)"
_MONTH = "(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)"
_WORD = "[A-Z][a-z]{2}"
_UNIT = r" ?(?:ns|µs|us|ms|s|secs?|seconds?|milliseconds?)"

_FIND_UUID = re.compile(rf"(?<![0-9a-zA-Z]){UUID_EXPRESSION}(?![0-9a-zA-Z])")
_FIND_TIME = re.compile(
    r"(?<!\d)\d{4}-\d{2}-\d{2}([T ])\d{2}:\d{2}(:\d{2}(?:[.,]\d{1,9})?)?"
    r"( ?(?:Z|[+-]\d{2}:?\d{2}))?(?!\d)",
    re.ASCII,
)
_FIND_MAIL_DATE = re.compile(
    rf"\b{_DAY}, \d{{1,2}} {_MONTH} \d{{4}} \d{{2}}:\d{{2}}:\d{{2}}( (?:GMT|UTC|[+-]\d{{4}}))?",
    re.ASCII,
)
_FIND_SHELL_DATE = re.compile(
    rf"\b{_DAY} {_MONTH} [ \d]\d \d{{2}}:\d{{2}}:\d{{2}}( [A-Z]{{3,4}})? \d{{4}}\b", re.ASCII
)
_FIND_CLOCK = re.compile(
    r"(?<![\d:.])(\d{1,2}/\d{1,2}/\d{4},? )?\d{1,2}:\d{2}:\d{2}(?:[.,]\d{1,9})?(\s[AP]M)?(?![\d:])"
)
_FIND_DURATION = re.compile(
    rf"\b(?:took|in|after|elapsed|duration|runtime)[ :=]{{1,3}}({NUMBER_EXPRESSION})(?={_UNIT}\b)"
    rf"|\(({NUMBER_EXPRESSION})(?={_UNIT}\))"
    rf"|(?<![\w.])({NUMBER_EXPRESSION})(?={_UNIT} (?:elapsed|passed)\b)",
    re.ASCII,
)
# A member of an object that was made into text.
_FIND_MEMBER = re.compile(r'"([^"\\\n]{1,64})"\s*:\s*(?:"([^"\\\n]{1,500})"|(-?\d+(?:\.\d+)?))')

_TIME_WORDS = frozenset(
    [
        *("at", "created", "date", "datetime", "epoch", "expires", "expiry", "modified", "now"),
        *("time", "timestamp", "ts", "updated"),
    ]
)
_RUN_WORDS = frozenset(["duration", "elapsed", "latency", "pid", "runtime", "took", "uptime"])
_ID_WORDS = frozenset(["cursor", "guid", "handle", "id", "ids", "nonce", "session", "ulid", "uuid"])
_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
# Shorter texts are said by both sides without meaning the same.
_LEAST_KNOWN = 4
# Seconds, or thousandths of them, somewhere between the years 2001 and 2065.
_EPOCHS = (range(10**9, 3 * 10**9), range(10**12, 3 * 10**12))


def look_of(key: str, value: object, known: Container[str] = ()) -> Tag | None:
    """A tag for a value that is likely to be another next time.

    What is `known` was sent by the client before: the server only says it again.
    """
    if isinstance(value, str):
        return described_text(value, spans_in(key, value, known))
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return NUMBER if is_number and _is_varying_number(key, str(value), known) else None


def without_overlaps(spans: Iterable[Span]) -> list[Span]:
    """The spans in order, of two that overlap the one that begins first, or is longer."""
    kept: list[Span] = []
    for span in sorted(spans, key=lambda span: (span[0], -span[1])):
        if not kept or span[0] >= kept[-1][1]:
            kept.append(span)
    return kept


def is_id_key(key: str) -> bool:
    """Whether values under a key are there to be used again."""
    return not _ID_WORDS.isdisjoint(split_words(key)[-1:])


def spans_in(key: str, text: str, known: Container[str] = ()) -> list[Span]:
    """The parts of a text that vary, and what may stand in their place; none overlap."""
    whole = _expression_for(key, text)
    if whole and text not in known:
        return [(0, len(text), whole)]
    if not _MAY_VARY.search(text):
        return []
    found = [span for needed, find in _FINDERS if needed in text for span in find(text)]
    kept = without_overlaps(found) if len(found) > 1 else found
    # That the client has said 3 once does not mean that "in 3 ms" is its own.
    return [
        (start, end, expression)
        for start, end, expression in kept
        if end - start < _LEAST_KNOWN or text[start:end] not in known
    ]


# What is known by the key it stands under


def _expression_for(key: str, text: str) -> str:
    """What a text under this key may be as a whole; "" when the key says nothing."""
    words = split_words(key)
    if not words or len(text) > 500:
        return ""
    if words[-1] in _ID_WORDS:
        return _id_expression(text)
    if words[-1] in _TIME_WORDS and _is_epoch(text):
        return NUMBER_EXPRESSION
    if not _RUN_WORDS.isdisjoint(words):
        found = re.fullmatch(rf"{NUMBER_EXPRESSION}({_UNIT})?", text, re.ASCII)
        return f"{NUMBER_EXPRESSION}{found[1] or ''}" if found else ""
    is_day = ("day" in words or "weekday" in words) and text in _WEEKDAYS
    return "[A-Z][a-z]+day" if is_day else ""


def _id_expression(text: str) -> str:
    """What a random id that is neither short nor a word may be."""
    if re.fullmatch("(?=.*[0-9])(?:[0-9a-f]{16,}|[0-9A-F]{16,})", text):
        digits = "[0-9a-f]" if text == text.lower() else "[0-9A-F]"
        return f"{digits}{{{len(text)}}}"
    if re.fullmatch("[0-9A-HJKMNP-TV-Z]{26}", text):
        return "[0-9A-Z]{26}"
    is_mixed = all(re.search(kind, text) for kind in ("[a-z]", "[A-Z]", "[0-9=]"))
    if is_mixed and re.fullmatch("[A-Za-z0-9+/_.-]{16,}={0,2}", text):
        return "[A-Za-z0-9_-]+" if re.fullmatch("[A-Za-z0-9_-]+", text) else r"\S+"
    return ""


def _is_varying_number(key: str, digits: str, known: Container[str] = ()) -> bool:
    words = split_words(key)
    if not _RUN_WORDS.isdisjoint(words):
        return True
    is_time = not _TIME_WORDS.isdisjoint(words[-1:])
    return is_time and _is_epoch(digits) and digits not in known


def _is_epoch(digits: str) -> bool:
    found = re.fullmatch(r"([0-9]{10}|[0-9]{13})(?:\.[0-9]+)?", digits)
    return found is not None and any(int(found[1]) in epoch for epoch in _EPOCHS)


# What is found anywhere in a text


def _uuids(text: str) -> Iterator[Span]:
    for found in _FIND_UUID.finditer(text):
        yield (*found.span(), UUID_EXPRESSION)


def _times(text: str) -> Iterator[Span]:
    for found in _FIND_TIME.finditer(text):
        seconds = r":\d{2}(?:[.,]\d+)?" if found[2] else ""
        zone = r"(?:Z|[+-]\d{2}:?\d{2})" if found[3] else ""
        zone = f" {zone}" if found[3] and found[3].startswith(" ") else zone
        yield (*found.span(), rf"\d{{4}}-\d{{2}}-\d{{2}}{found[1]}\d{{2}}:\d{{2}}{seconds}{zone}")


def _long_dates(text: str) -> Iterator[Span]:
    clock = r"\d{2}:\d{2}:\d{2}"
    for found in _FIND_MAIL_DATE.finditer(text):
        zone = r" (?:GMT|UTC|[+-]\d{4})" if found[1] else ""
        yield (*found.span(), rf"{_WORD}, \d{{1,2}} {_WORD} \d{{4}} {clock}{zone}")
    for found in _FIND_SHELL_DATE.finditer(text):
        zone = r" [A-Z]{3,4}" if found[1] else ""
        yield (*found.span(), rf"{_WORD} {_WORD} [ \d]\d {clock}{zone} \d{{4}}")


def _clocks(text: str) -> Iterator[Span]:
    for found in _FIND_CLOCK.finditer(text):
        # A slash would end the expression, so any character may stand there.
        day = r"\d{1,2}.\d{1,2}.\d{4},? " if found[1] else ""
        half = r"\s[AP]M" if found[2] else ""
        yield (*found.span(), rf"{day}\d{{1,2}}:\d{{2}}:\d{{2}}(?:[.,]\d+)?{half}")


def _durations(text: str) -> Iterator[Span]:
    for found in _FIND_DURATION.finditer(text):
        yield (*found.span(found.lastindex or 0), NUMBER_EXPRESSION)


def _members(text: str) -> Iterator[Span]:
    for found in _FIND_MEMBER.finditer(text):
        key, inner, digits = found.groups()
        expression = _expression_for(key, inner) if inner is not None else ""
        if expression:
            yield (*found.span(2), expression)
        elif digits is not None and _is_varying_number(key, digits):
            yield (*found.span(3), rf"-?{NUMBER_EXPRESSION}")


# Whatever varies has one of these; most texts have none, and are not looked through.
_MAY_VARY = re.compile('[0-9"]')
# Each with a character without which it finds nothing.
_FINDERS: tuple[tuple[str, Callable[[str], Iterator[Span]]], ...] = (
    ("-", _uuids),
    ("-", _times),
    (":", _long_dates),
    (":", _clocks),
    ("", _durations),
    ('"', _members),
)
