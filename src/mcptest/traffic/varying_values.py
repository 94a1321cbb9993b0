"""Values that change from run to run, and the tags that replace them.

A value varies by its look (a UUID, a time, a duration), by its key (`createdAt`, `session_id`),
or because it is bound to a name elsewhere. Regular expressions are kept simple, since the mock
generates strings that match them.
"""

from __future__ import annotations

import re

from mcptest.core.secrets import split_words
from mcptest.formats.yaml.full import Tagged

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Iterator

    # Where a value is in a message.
    Steps = tuple[str | int, ...]
    # Start, end, and a regular expression for what may be there.
    Span = tuple[int, int, str]

__all__ = [
    "ANY",
    "CONSTANT_KEYS",
    "HALF_CHARACTER",
    "SCHEMA_KEYS",
    "STRING",
    "VaryingStrings",
    "drop_overlaps",
    "expression_for",
    "find_varying",
    "has_digit",
    "is_id_key",
    "is_random",
    "tag_for",
    "tag_for_spans",
]

# Values under these keys describe the server and do not change from run to run.
SCHEMA_KEYS = frozenset(["inputSchema", "outputSchema", "requestedSchema"])
CONSTANT_KEYS = frozenset(["description", "instructions", "mimeType", "title", "type"])

# A lone surrogate: JSON can escape it, but a UTF-8 file cannot contain it.
HALF_CHARACTER = re.compile("[\ud800-\udfff]")
# Regular expressions for longer strings take too long to compile.
_MAX_EXPRESSION_CHARS = 20_000
# A shorter string that both sides send need not be the same thing.
_MIN_REPEATED_CHARS = 4


ANY = Tagged(tag="any", text="")
_ANY_NUMBER = Tagged(tag="type", text="number")
STRING = Tagged(tag="type", text="string")


def tag_for(key: str, value: object, known: Container[str] = ()) -> Tagged | None:
    """A tag for a value that is likely to differ in the next run, None for any other.

    Strings in `known` were sent by the client before: the server repeats them.
    """
    if isinstance(value, str):
        return tag_for_spans(value, find_varying(key, value, known))
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return _ANY_NUMBER if is_number and _is_varying_number(key, str(value), known) else None


def tag_for_spans(text: str, spans: Iterable[Span]) -> Tagged | None:
    """A tag for a string of which some parts vary, None if there are none."""
    spans = sorted(spans)
    if not spans:
        return None
    start, end, expression = spans[0]
    if len(spans) == 1 and (start, end) == (0, len(text)):
        return Tagged(tag="re", text=f"^{expression}$")
    if len(text) > _MAX_EXPRESSION_CHARS or HALF_CHARACTER.search(text):
        return STRING
    pieces: list[str] = []
    done = 0
    for start, end, expression in spans:
        pieces += [_literal(text[done:start]), f"/{expression}/"]
        done = end
    return Tagged(tag="ere", text="".join([*pieces, _literal(text[done:], is_last=True)]))


def _literal(text: str, *, is_last: bool = False) -> str:
    r"""A literal part of an !!ere tag.

    A slash is written `\/`, any other backslash is itself. A backslash before a slash would be
    read as the first half of that, so it is written as an expression.
    """
    pieces = text.split("/")
    for index, piece in enumerate(pieces):
        is_before_slash = index < len(pieces) - 1 or not is_last
        kept = piece.rstrip("\\")
        if is_before_slash and kept != piece:
            pieces[index] = f"{kept}/{chr(92) * 2 * (len(piece) - len(kept))}/"
    return "\\/".join(pieces)


def find_varying(key: str, text: str, known: Container[str] = ()) -> list[Span]:
    """The parts of a string that vary by their look or by the key; none overlap."""
    whole = _expression_by_key(key, text)
    if whole and text not in known:
        return [(0, len(text), whole)]
    if not _MAY_VARY.search(text):
        return []
    found = [span for needed, find in _FINDERS if needed in text for span in find(text)]
    # That the client has sent 3 does not mean that "in 3 ms" repeats it.
    return [
        (start, end, expression)
        for start, end, expression in drop_overlaps(found)
        if end - start < _MIN_REPEATED_CHARS or text[start:end] not in known
    ]


def drop_overlaps(spans: Iterable[Span]) -> list[Span]:
    """The spans in order; of two that overlap the one that begins first, or is longer."""
    kept: list[Span] = []
    for span in sorted(spans, key=lambda span: (span[0], -span[1])):
        if not kept or span[0] >= kept[-1][1]:
            kept.append(span)
    return kept


# By key

_HEX = "[0-9a-fA-F]"
_UUID = rf"{_HEX}{{8}}(?:-{_HEX}{{4}}){{3}}-{_HEX}{{12}}"
_NUMBER = r"\d+(?:\.\d+)?"
_UNIT = r" ?(?:ns|µs|us|ms|s|secs?|seconds?|milliseconds?)"
_TIME_WORDS = frozenset(
    [
        *("at", "created", "date", "datetime", "epoch", "expires", "expiry", "modified", "now"),
        *("time", "timestamp", "ts", "updated"),
    ]
)
_DURATION_WORDS = frozenset(["duration", "elapsed", "latency", "pid", "runtime", "took", "uptime"])
_ID_WORDS = frozenset(["cursor", "guid", "handle", "id", "ids", "nonce", "session", "ulid", "uuid"])
_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
# Seconds or milliseconds since 1970, between the years 2001 and 2065.
_EPOCHS = (range(10**9, 3 * 10**9), range(10**12, 3 * 10**12))
_MAX_KEYED_CHARS = 500


def is_id_key(key: str) -> bool:
    """True if values under a key are ids that clients send back later."""
    return not _ID_WORDS.isdisjoint(split_words(key)[-1:])


def _expression_by_key(key: str, text: str) -> str:
    """A regular expression for the whole string; "" if the key says nothing about it."""
    words = split_words(key)
    if not words or len(text) > _MAX_KEYED_CHARS:
        return ""
    if words[-1] in _ID_WORDS:
        return _id_expression(text)
    if words[-1] in _TIME_WORDS and _is_epoch(text):
        return _NUMBER
    if not _DURATION_WORDS.isdisjoint(words):
        found = re.fullmatch(rf"{_NUMBER}({_UNIT})?", text, re.ASCII)
        return f"{_NUMBER}{found[1] or ''}" if found else ""
    is_day = ("day" in words or "weekday" in words) and text in _WEEKDAYS
    return "[A-Z][a-z]+day" if is_day else ""


def _id_expression(text: str) -> str:
    """An expression for an id that is long and random; "" for any other."""
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
    if not _DURATION_WORDS.isdisjoint(words):
        return True
    is_time = not _TIME_WORDS.isdisjoint(words[-1:])
    return is_time and _is_epoch(digits) and digits not in known


def _is_epoch(digits: str) -> bool:
    found = re.fullmatch(r"([0-9]{10}|[0-9]{13})(?:\.[0-9]+)?", digits)
    return found is not None and any(int(found[1]) in epoch for epoch in _EPOCHS)


# By look

_DAY = "(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)"
_MONTH = "(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)"
_WORD = "[A-Z][a-z]{2}"
_CLOCK = r"\d{2}:\d{2}:\d{2}"

_FIND_UUID = re.compile(rf"(?<![0-9a-zA-Z]){_UUID}(?![0-9a-zA-Z])")
_FIND_TIME = re.compile(
    r"(?<!\d)\d{4}-\d{2}-\d{2}([T ])\d{2}:\d{2}(:\d{2}(?:[.,]\d{1,9})?)?"
    r"( ?(?:Z|[+-]\d{2}:?\d{2}))?(?!\d)",
    re.ASCII,
)
_FIND_MAIL_DATE = re.compile(
    rf"\b{_DAY}, \d{{1,2}} {_MONTH} \d{{4}} {_CLOCK}( (?:GMT|UTC|[+-]\d{{4}}))?", re.ASCII
)
_FIND_SHELL_DATE = re.compile(
    rf"\b{_DAY} {_MONTH} [ \d]\d {_CLOCK}( [A-Z]{{3,4}})? \d{{4}}\b", re.ASCII
)
_FIND_CLOCK = re.compile(
    r"(?<![\d:.])(\d{1,2}/\d{1,2}/\d{4},? )?\d{1,2}:\d{2}:\d{2}(?:[.,]\d{1,9})?(\s[AP]M)?(?![\d:])"
)
_FIND_DURATION = re.compile(
    rf"\b(?:took|in|after|elapsed|duration|runtime)[ :=]{{1,3}}({_NUMBER})(?={_UNIT}\b)"
    rf"|\(({_NUMBER})(?={_UNIT}\))"
    rf"|(?<![\w.])({_NUMBER})(?={_UNIT} (?:elapsed|passed)\b)",
    re.ASCII,
)
# A member of a JSON object inside a string.
_FIND_MEMBER = re.compile(r'"([^"\\\n]{1,64})"\s*:\s*(?:"([^"\\\n]{1,500})"|(-?\d+(?:\.\d+)?))')


def _uuids(text: str) -> Iterator[Span]:
    for found in _FIND_UUID.finditer(text):
        yield (*found.span(), _UUID)


def _times(text: str) -> Iterator[Span]:
    for found in _FIND_TIME.finditer(text):
        seconds = r":\d{2}(?:[.,]\d+)?" if found[2] else ""
        zone = r"(?:Z|[+-]\d{2}:?\d{2})" if found[3] else ""
        zone = f" {zone}" if found[3] and found[3].startswith(" ") else zone
        yield (*found.span(), rf"\d{{4}}-\d{{2}}-\d{{2}}{found[1]}\d{{2}}:\d{{2}}{seconds}{zone}")


def _long_dates(text: str) -> Iterator[Span]:
    for found in _FIND_MAIL_DATE.finditer(text):
        zone = r" (?:GMT|UTC|[+-]\d{4})" if found[1] else ""
        yield (*found.span(), rf"{_WORD}, \d{{1,2}} {_WORD} \d{{4}} {_CLOCK}{zone}")
    for found in _FIND_SHELL_DATE.finditer(text):
        zone = r" [A-Z]{3,4}" if found[1] else ""
        yield (*found.span(), rf"{_WORD} {_WORD} [ \d]\d {_CLOCK}{zone} \d{{4}}")


def _clocks(text: str) -> Iterator[Span]:
    for found in _FIND_CLOCK.finditer(text):
        # A slash would end the expression, so any character may be there.
        day = r"\d{1,2}.\d{1,2}.\d{4},? " if found[1] else ""
        half = r"\s[AP]M" if found[2] else ""
        yield (*found.span(), rf"{day}\d{{1,2}}:\d{{2}}:\d{{2}}(?:[.,]\d+)?{half}")


def _durations(text: str) -> Iterator[Span]:
    for found in _FIND_DURATION.finditer(text):
        yield (*found.span(found.lastindex or 0), _NUMBER)


def _members(text: str) -> Iterator[Span]:
    for found in _FIND_MEMBER.finditer(text):
        key, inner, digits = found.groups()
        expression = _expression_by_key(key, inner) if inner is not None else ""
        if expression:
            yield (*found.span(2), expression)
        elif digits is not None and _is_varying_number(key, digits):
            yield (*found.span(3), rf"-?{_NUMBER}")


# Every varying part has one of these characters; most strings have none and are not searched.
_MAY_VARY = re.compile('[0-9"]')
# Each finder with a character without which it finds nothing.
_FINDERS: tuple[tuple[str, Callable[[str], Iterator[Span]]], ...] = (
    ("-", _uuids),
    ("-", _times),
    (":", _long_dates),
    (":", _clocks),
    ("", _durations),
    ('"', _members),
)


# Known values inside longer strings

# Shorter strings could be a part of anything; those that were not used again even more so.
_MIN_BOUND_CHARS = 4
_MIN_SEEN_CHARS = 8
_FIND_WORD = re.compile(r"[^\W_]+")


class VaryingStrings:
    """Strings that vary, to be found inside longer ones.

    An id is bound where it is a value of its own; "Added caf2bc7d" must not require the old one.
    """

    def __init__(self) -> None:
        self._expressions: dict[str, str] = {}
        # By one of its words with the offset of that, so that a string is searched only once.
        self._by_word: dict[str, list[tuple[str, int]]] = {}

    def add_bound(self, value: object) -> None:
        """A value that is bound to a name."""
        text = str(value)
        if type(value) in (str, int) and len(text) >= _MIN_BOUND_CHARS:
            self._add(text, expression_for(text))

    def add_seen(self, text: str, expression: str) -> None:
        """A string that varies by its look or its key."""
        if len(text) >= _MIN_SEEN_CHARS and has_digit(text):
            self._add(text, expression)

    def _add(self, text: str, expression: str) -> None:
        words = list(_FIND_WORD.finditer(text))
        if text in self._expressions or not words:
            return
        self._expressions[text] = expression
        # The longest word with a digit is the one that the fewest others share.
        word = max(words, key=lambda found: (has_digit(found[0]), len(found[0])))
        listed = self._by_word.setdefault(word[0], [])
        listed.append((text, word.start()))
        listed.sort(key=lambda each: len(each[0]), reverse=True)

    def __contains__(self, text: str) -> bool:
        """True if this very string varies and is not just a word."""
        return text in self._expressions and has_digit(text)

    def spans_in(
        self, text: str, known: Container[str] = (), *, skips_words: bool = False
    ) -> Iterator[Span]:
        """Where these strings are in a longer one."""
        if not self._by_word or self._by_word.keys().isdisjoint(_FIND_WORD.findall(text)):
            return
        done = 0
        for word in _FIND_WORD.finditer(text):
            for value, offset in self._by_word.get(word[0], ()):
                start = word.start() - offset
                is_kept = value in known or (skips_words and not has_digit(value))
                if start >= done and not is_kept and _is_whole_word(value, text, start):
                    done = start + len(value)
                    yield start, done, self._expressions[value]
                    break


def expression_for(text: str) -> str:
    """An expression for other strings like this one, as narrow as its look allows."""
    if re.fullmatch("[0-9]{8,}", text):
        # Hexadecimal digits may happen to be decimal ones.
        return "[0-9A-Za-z]+"
    # Eight hexadecimal digits are not a coincidence; fewer may be.
    is_mixed = len(text) >= 8 and has_digit(text) and re.search("[A-Za-z]", text)
    digits = [f"{kind}{{{len(text)}}}" for kind in ("[0-9a-f]", "[0-9A-F]")] if is_mixed else []
    for expression in (_UUID, r"\d+", _NUMBER, f"-?{_NUMBER}", *digits):
        if re.fullmatch(expression, text, re.ASCII):
            return expression
    if has_digit(text) and re.fullmatch("[A-Za-z0-9_-]+", text):
        return "[A-Za-z0-9_-]+"
    return r"[\s\S]+?" if "\n" in text else ".+?"


def has_digit(text: str) -> bool:
    """True if there is a digit in a string: words have none."""
    return re.search("[0-9]", text) is not None


def is_random(text: str) -> bool:
    """True if a string looks like random hexadecimal digits."""
    is_hex = re.fullmatch("[0-9a-f]{8,}|[0-9A-F]{8,}", text) is not None
    return is_hex and has_digit(text) and not text.isdigit()


def _is_whole_word(value: str, text: str, start: int) -> bool:
    """True if a value is at this place of a string and is not a part of a longer word there."""
    end = start + len(value)
    if not text.startswith(value, start):
        return False
    if value.isdigit() and (
        re.search(r"[0-9][.,]$", text[max(0, start - 2) : start])
        or re.match(r"[.,][0-9]", text[end : end + 2])
    ):
        return False
    before, after = text[start - 1 : start] if start else "", text[end : end + 1]
    for left, right in ((before, value[0]), (value[-1], after)):
        is_joined = all(each.isalnum() or each == "_" for each in (left, right))
        # An id may come before or after an underscore.
        if is_joined and not (has_digit(value) and "_" in (left, right)):
            return False
    return True
