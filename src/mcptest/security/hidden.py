"""What a person does not see in a text, or not as it is: SEC-001 to SEC-004 and SEC-011.

These rules judge characters, never words. What scripts and emoji need is not hidden: the joiners of
Persian and Indic scripts, spaces without width between Thai or Khmer words, the sequences of emoji,
and marks of direction in texts that have letters written from right to left.
"""

from __future__ import annotations

import base64
import binascii
import re
import unicodedata
from functools import lru_cache
from itertools import islice

from mcptest.core.text import visible
from mcptest.security.rules import make_finding

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcptest.core.security import SecurityFinding
    from mcptest.security.rules import Text

__all__ = ["find_control_characters", "find_hidden", "find_smuggled", "find_tags"]


def find_hidden(text: Text) -> Iterator[SecurityFinding]:
    """SEC-001 to SEC-004 for a string of a definition."""
    if text.value.isascii() and text.value.isprintable():
        return
    yield from find_tags(text)
    yield from _find_bidi(text)
    yield from _find_zero_width(text)
    yield from find_control_characters(text)


# SEC-001: tags and variation selectors

_TAGS = re.compile("[\U000e0000-\U000e007f]+")
# The only sequences of tags that are emoji: the flags of England, Scotland and Wales.
_FLAGS = re.compile(
    "\U0001f3f4(?:"
    + "|".join(
        "".join(chr(0xE0000 + ord(char)) for char in region)
        for region in ("gbeng", "gbsct", "gbwls")
    )
    + ")\U000e007f"
)
_SELECTORS = re.compile("[\ufe00-\ufe0f\U000e0100-\U000e01ef]+")
_IDEOGRAPHS = re.compile("[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")


def find_tags(text: Text) -> Iterator[SecurityFinding]:
    """SEC-001: characters that are never shown and carry letters or bytes."""
    value = _FLAGS.sub("", text.value)
    runs: list[str] = _TAGS.findall(value)
    if runs:
        hidden = "".join(chr(ord(char) - 0xE0000) for run in runs for char in run)
        count = sum(map(len, runs))
        yield _make_finding(
            "SEC-001",
            text,
            f"{count:,} Unicode tag characters, which no one sees and models read",
            f"the hidden text is: {_quote(hidden)}",
        )
    smuggling = [found[0] for found in _SELECTORS.finditer(value) if _is_smuggling(found, value)]
    if smuggling:
        joined = "".join(smuggling)
        # The numbers of the selectors: 0 to 15, and 16 to 255 in the supplement.
        codes = map(ord, joined)
        raw = bytes(code - 0xFE00 if code < 0xFE10 else code - 0xE0100 + 16 for code in codes)
        held = f"{len(joined):,} variation selectors that select nothing"
        yield _make_finding("SEC-001", text, held, f"as bytes they are: {_show_bytes(raw)}")


def _is_smuggling(found: re.Match[str], value: str) -> bool:
    """True if selectors follow each other, or follow what has no variants."""
    run = found[0]
    if len(run) > 2 or (len(run) == 2 and not set(run) <= {"\ufe0e", "\ufe0f"}):
        return True
    # The supplement is for ideographs alone. Of the others, letters have none.
    before = value[found.start() - 1] if found.start() else ""
    if run[0] >= "\U000e0100":
        return not _IDEOGRAPHS.match(before)
    return run[0] < "\ufe0e" and before.isascii() and before.isalpha()


def _show_bytes(raw: bytes) -> str:
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError:
        return raw.hex(" ")
    return _quote(text) if any(map(str.isprintable, text)) else raw.hex(" ")


def _quote(text: str) -> str:
    return f'"{visible(text)}"'


# SEC-002: direction

_BIDI = re.compile("[\u202a-\u202e\u2066-\u2069]")
_OVERRIDES = ("\u202d", "\u202e")


def _find_bidi(text: Text) -> Iterator[SecurityFinding]:
    value = text.value
    first = _BIDI.search(value)
    if not first:
        return
    chars = dict.fromkeys(_BIDI.findall(value))
    overrides = [char for char in chars if char in _OVERRIDES]
    if not overrides and _has_right_to_left(value):
        return
    names = ", ".join(map(_describe_char, overrides or chars))
    held = f"bidirectional controls ({names}), so that it reads otherwise than it is"
    around = value[max(0, first.start() - 20) : first.end() + 40]
    yield _make_finding("SEC-002", text, held, _quote(around))


def _has_right_to_left(value: str) -> bool:
    return any(unicodedata.bidirectional(char) in ("R", "AL") for char in value)


# SEC-003: no width

_ZERO_WIDTH = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u2060-\u2065\u206a-\u206f\u3164"
    "\ufeff\uffa0\ufff9-\ufffb\U0001d173-\U0001d17a]+"
)
# Longer runs hide text wherever they are; shorter ones are left behind by copying.
_MAX_IDLE_RUN = 3
_JOINERS = frozenset("\u200c\u200d")
_MARKS = frozenset("\u061c\u200e\u200f")
# Scripts that need joiners, and those that have no spaces between words.
_JOINED = frozenset(
    [
        *("ARABIC", "SYRIAC", "NKO", "MANDAIC", "MONGOLIAN", "DEVANAGARI", "BENGALI", "GURMUKHI"),
        *("GUJARATI", "ORIYA", "TAMIL", "TELUGU", "KANNADA", "MALAYALAM", "SINHALA", "TIBETAN"),
        *("BALINESE", "JAVANESE", "KHMER", "MYANMAR", "HANGUL"),
    ]
)
_UNSPACED = frozenset(
    [
        *("THAI", "LAO", "KHMER", "MYANMAR", "TIBETAN", "CJK", "HIRAGANA", "KATAKANA", "HANGUL"),
        "KATAKANA-HIRAGANA",
    ]
)


def _find_zero_width(text: Text) -> Iterator[SecurityFinding]:
    value = text.value
    found = [each for each in _ZERO_WIDTH.finditer(value) if _is_inside_word(each, value)]
    if not found:
        return
    count = sum(len(each[0]) for each in found)
    chars = dict.fromkeys(char for each in found for char in each[0])
    names = ", ".join(_describe_char(char) for char in chars)
    held = f"{count:,} characters without width inside words ({names})"
    around = value[max(0, found[0].start() - 20) : found[0].end() + 20]
    yield _make_finding("SEC-003", text, held, _quote(around))


def _is_inside_word(found: re.Match[str], value: str) -> bool:
    run, start, end = found[0], found.start(), found.end()
    before, after = value[start - 1 : start], value[end : end + 1]
    scripts = {_script(before), _script(after)}
    if set(run) <= _JOINERS and scripts & _JOINED:
        return False
    if set(run) <= {"\u200b", "\u2060", "\ufeff"} and scripts & _UNSPACED:
        return False
    if set(run) <= _MARKS and _has_right_to_left(value):
        return False
    if set(run) <= frozenset("\u115f\u1160\u3164\uffa0") and "HANGUL" in scripts:
        return False
    is_word = all(char.isalnum() for char in (before, after) if char) and before and after
    return bool(is_word) or len(run) > _MAX_IDLE_RUN


@lru_cache(maxsize=512)
def _script(char: str) -> str:
    """The first word of a character's name, which is its script; "" if it has none."""
    return unicodedata.name(char, "").partition(" ")[0] if char else ""


# SEC-004: controls

_CONTROLS = re.compile("[\x00-\x08\x0e-\x1f\x7f-\x9f]")
_ESCAPE = re.compile("[\x1b\x9b]")
_MAX_CONTROLS = 1_000


def find_control_characters(text: Text) -> Iterator[SecurityFinding]:
    """SEC-004: characters that act on a terminal or a log."""
    value = text.value
    every = islice(_CONTROLS.finditer(value), _MAX_CONTROLS)
    found = [each for each in every if not _is_misread_byte(each, value)]
    if not found:
        return
    has_escape = any(_ESCAPE.match(each[0]) for each in found)
    what = "terminal escapes" if has_escape else "control characters"
    held = f"{what} ({len(found):,} control characters)"
    at = found[0].start()
    yield _make_finding("SEC-004", text, held, _quote(value[max(0, at - 20) : at + 40]))


def _is_misread_byte(found: re.Match[str], value: str) -> bool:
    """True if a control above U+007F is a byte of UTF-8 that someone has read as Latin-1."""
    if found[0] < "\x80":
        return False
    for start in range(max(0, found.start() - 3), found.start()):
        for end in (found.end(), found.end() + 1, found.end() + 2):
            try:
                decoded = value[start:end].encode("latin-1").decode("utf-8")
            except (UnicodeEncodeError, UnicodeDecodeError):
                continue
            if len(decoded) == 1 and decoded.isprintable():
                return True
    return False


# SEC-011: what a page does not show

_IMAGE = re.compile(
    r"!\[[^\]]{0,300}\]\(\s*<?(https?://[^\s)>]{1,2000}\?[^\s)>]+)"
    r"|<img\b[^>]{0,300}?\bsrc\s*=\s*[\"']?(https?://[^\s\"'>]{1,2000}\?[^\s\"'>]+)",
    re.IGNORECASE,
)
_BASE64 = re.compile(r"(?<![A-Za-z0-9+/_-])[A-Za-z0-9+/_-]{80,}={0,2}")
_DATA_URI = re.compile(r"data:[\w.+/-]*(?:;[\w=.+-]+)*,?\s*$")
_LEAST_LETTERS = 0.8


def find_smuggled(text: Text) -> Iterator[SecurityFinding]:
    """SEC-011: HTML comments, images with a query, and text in base64."""
    value = text.value
    comment = _find_comment(value)
    if comment:
        held = "an HTML comment, which a page does not show"
        yield _make_finding("SEC-011", text, held, _quote(comment))
    image = _IMAGE.search(value)
    if image:
        url = image[1] or image[2]
        held = "an image whose address has a query: showing it sends data"
        yield _make_finding("SEC-011", text, held, _quote(url))
    for found in _BASE64.finditer(value):
        # An icon is not text for a reader, even where it is XML.
        if not _DATA_URI.search(value[max(0, found.start() - 100) : found.start()]):
            decoded = _decode_text(found[0])
            if decoded:
                held = f"{len(found[0]):,} characters of base64 that are text"
                yield _make_finding("SEC-011", text, held, f"it says: {_quote(decoded)}")
                return


def _find_comment(value: str) -> str:
    """The first comment that is not empty, or ""; each character is looked at once."""
    start = value.find("<!--")
    while start >= 0 and (end := value.find("-->", start + 4)) >= 0:
        if comment := value[start + 4 : end].strip():
            return comment
        start = value.find("<!--", end)
    return ""


def _decode_text(word: str) -> str:
    """The text that a word of base64 encodes; "" if it is not text."""
    plain = word.rstrip("=").replace("-", "+").replace("_", "/")
    try:
        raw = base64.b64decode(plain[: len(plain) - len(plain) % 4], validate=True)
        text = raw.decode("utf-8")
    except (binascii.Error, UnicodeDecodeError):
        return ""
    readable = sum(char.isalpha() or char in " \n.,;:'\"!?()-" for char in text)
    is_text = readable >= _LEAST_LETTERS * len(text) and " " in text
    return text if is_text else ""


def _make_finding(id: str, text: Text, held: str, evidence: str) -> SecurityFinding:
    """The finding that a text holds something."""
    what = "a key" if text.is_key else "a string"
    message = f"{text.owner.label}: {what} holds {held}"
    return make_finding(id, text.path, message, text.owner.fingerprint, evidence=evidence)


def _describe_char(char: str) -> str:
    name = unicodedata.name(char, "").lower()
    return f"U+{ord(char):04X} {name}".strip()
