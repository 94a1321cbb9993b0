"""Text that is shown: escaped so that it is safe, shortened, quoted, listed; and paths into JSON values."""

from __future__ import annotations

import json
import re

from mcptest.core.record import ABSENT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    Step = str | int
    Trail = tuple["Trail | None", Step] | None


__all__ = [
    "EVERY",
    "counted",
    "defused",
    "defused_markers",
    "is_pattern",
    "parse_path",
    "printable_json",
    "quoted",
    "quoted_bytes",
    "render_path",
    "render_trail",
    "shorten",
    "shown",
    "steps_of",
    "trail_of",
    "visible",
]

# Text from outside


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


# Paths into JSON values


class _Every(str):
    """The step to every element at once, which no key can be mistaken for."""

    __slots__ = ()


EVERY = _Every("*")


def render_trail(trail: Trail) -> str:
    """The text of a chain of steps."""
    return render_path(steps_of(trail))


def steps_of(trail: Trail) -> tuple[Step, ...]:
    """The steps of a chain, outermost first."""
    steps: list[Step] = []
    while trail is not None:
        trail, step = trail
        steps.append(step)
    return tuple(reversed(steps))


def trail_of(steps: Iterable[Step]) -> Trail:
    trail: Trail = None
    for step in steps:
        trail = (trail, step)
    return trail


def render_path(steps: Iterable[Step]) -> str:
    """The text of a path. Keys that are not plain words are written `["like this"]`."""
    text = ""
    for step in steps:
        if isinstance(step, int):
            text += f"[{step}]"
        elif step is EVERY:
            text += "[*]"
        elif re.fullmatch(_PLAIN_WORD, step):
            text += f".{step}" if text else step
        else:
            escaped = step.replace("\\", "\\\\").replace('"', '\\"')
            text += f'["{escaped}"]'
    return text


# Strings, compiled by `re` on first use: a run without failures needs neither.
_PLAIN_WORD = r"[^\W\d][\w$#-]*"
_PATH_STEP = (
    r"""(?x)\[(?P<index>\d+)\] | \["(?P<quoted>(?:[^"\\]|\\.)*)"\] | (?:^|\.)(?P<word>[^.\[\]]+)"""
)


def parse_path(text: str) -> tuple[Step, ...] | None:
    """The steps of a path as `render_path` writes it, or None when it is not one place."""
    steps: list[Step] = []
    at = 0
    while at < len(text):
        match = re.compile(_PATH_STEP).match(text, at)
        if match is None:
            return None
        at = match.end()
        if match["index"] is not None:
            steps.append(int(match["index"]))
        elif match["quoted"] is not None:
            steps.append(re.sub(r"\\(.)", r"\1", match["quoted"], flags=re.DOTALL))
        else:
            steps.append(match["word"])
    return tuple(steps)


# JSON values


SHOWN_CHARS = 200


def shown(value: object, limit: int = SHOWN_CHARS) -> str:
    """`value` as JSON, a pattern as its text, cut to about `limit` characters."""
    if value is ABSENT:
        return "(nothing)"
    if isinstance(value, str):
        return _shown_text(value, limit)
    text = ""
    for piece in _json_pieces(value, limit):
        text += visible(piece)
        if len(text) > limit:
            return f"{text[:limit]} (… {_size(value)} in all)"
    return text


def quoted(text: str) -> str:
    """Text as a JSON string in which every character can be seen."""
    return visible(json.dumps(text, ensure_ascii=False))


def is_pattern(value: object) -> bool:
    """Whether an expectation is written as a pattern: `match:…`, or a YAML tag of MCP Cases."""
    return isinstance(value, str) and value.startswith(("match:", "!!"))


def counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def _shown_text(text: str, limit: int) -> str:
    rest = len(text) - limit
    tail = f" (… {counted(rest, 'more character')})" if rest > 0 else ""
    return (visible if is_pattern(text) else quoted)(text[:limit]) + tail


def _json_pieces(value: object, limit: int) -> Iterator[str]:
    if isinstance(value, dict):
        lead = "{"
        for key, member in value.items():
            yield f"{lead}{json.dumps(str(key)[: limit + 1], ensure_ascii=False)}: "
            yield from _json_pieces(member, limit)
            lead = ", "
        yield "}" if value else "{}"
    elif isinstance(value, list | tuple):
        lead = "["
        for item in value:
            yield lead
            yield from _json_pieces(item, limit)
            lead = ", "
        yield "]" if value else "[]"
    elif isinstance(value, str):
        yield json.dumps(value[: limit + 1], ensure_ascii=False)
    else:
        # A file may hold what JSON has no word for, a date for example.
        yield json.dumps(value, default=str)


def _size(value: object) -> str:
    if isinstance(value, dict):
        return counted(len(value), "key")
    return counted(len(value), "item") if isinstance(value, list | tuple) else "1 value"
