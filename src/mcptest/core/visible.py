"""Make text from outside safe to show: nothing a server sends reaches a terminal raw.

Control characters, escapes, bidirectional overrides and other invisible marks
are written as the escapes a JSON author knows; printable text stays as it is. So are the
commands that a CI system looks for in the log of a job.
"""

from __future__ import annotations

import re

__all__ = [
    "defused",
    "defused_markers",
    "printable_json",
    "quoted_bytes",
    "shorten",
    "visible",
]

_NAMED = {"\n": "\\n", "\r": "\\r", "\t": "\\t", "\x08": "\\b", "\x0c": "\\f"}

# Printable by Unicode's account, but nothing is seen of them, or only in how their
# neighbours look: joiners, fillers and variation selectors.
_JOINERS_AND_FILLERS = "\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800\u3164\uffa0"
_STEALTHY = frozenset(
    [*map(ord, _JOINERS_AND_FILLERS), *range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0)]
)


def visible(text: str, *, keep_newlines: bool = False) -> str:
    """`text` with every character that cannot be seen written as an escape."""
    if text.isprintable() and text.isascii():
        return text
    return "".join(
        char if (keep_newlines and char == "\n") or is_plain(char) else escaped(char)
        for char in text
    )


def printable_json(text: str) -> str:
    """JSON in which no character acts on a terminal; the values stay the same.

    JSON escapes control characters itself, but not those above U+007E.
    """
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() or char == "\n" else _pair(char) for char in text)


def _pair(char: str) -> str:
    """A character as JSON escapes it: those outside the first plane take two escapes."""
    units = char.encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))


def is_plain(char: str) -> bool:
    return char == " " or (char.isprintable() and ord(char) not in _STEALTHY)


def escaped(char: str) -> str:
    code = ord(char)
    if char in _NAMED:
        return _NAMED[char]
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


# GitHub takes `::` after any indentation and `##[` anywhere in a line for a command;
# Azure does so with `##vso[`, TeamCity with `##teamcity[`. Indenting is not enough.
_MARKERS = ("##[", "##vso[", "##teamcity[")
# What is in front of `::` and does not count as text: blanks, and sequences that set a colour.
_LEAD = re.compile(r"(?:\s|\x1b\[[0-9;?]*[A-Za-z])*")
# A carriage return ends a line for GitHub as well.
_LINE_END = re.compile(r"([\r\n])")


def defused(text: str) -> str:
    """`text` in which no line can be taken for a command to a CI system."""
    text = defused_markers(text)
    if "::" in text:
        text = "".join(map(_defused_start, _LINE_END.split(text)))
    return text


def defused_markers(text: str) -> str:
    """`text` without the markers that work anywhere in a line.

    The escape is one that JSON and YAML know: inside double quotes it changes no value.
    """
    if "##" in text:
        for marker in _MARKERS:
            text = text.replace(marker, f"#\\u0023{marker[2:]}")
    return text


def _defused_start(line: str) -> str:
    lead = _LEAD.match(line)
    at = lead.end() if lead else 0
    if not line.startswith("::", at):
        return line
    return f"{line[:at]}\\u003a{line[at + 1 :]}"


def quoted_bytes(raw: bytes, limit: int = 200) -> str:
    """Bytes from outside as one quoted, escaped line, cut to `limit` bytes.

    Valid UTF-8 is shown as text; every other byte as ``\\xNN``.
    """
    shown = raw[:limit].decode("utf-8", "backslashreplace")
    rest = len(raw) - limit
    tail = f" … ({rest:,} more bytes)" if rest > 0 else ""
    return f'"{visible(shown)}"{tail}'


def shorten(text: str, limit: int) -> str:
    """`text` cut in the middle to at most `limit` characters, saying how much is gone."""
    if len(text) <= limit:
        return text
    # Room is left for the longest mark there could be.
    keep = max(limit - len(f" …{len(text):,} more… "), 9)
    head, tail = keep - keep // 3, keep // 3
    return f"{text[:head]} …{len(text) - head - tail:,} more… {text[len(text) - tail :]}"
