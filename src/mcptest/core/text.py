"""Text for people: values and strings from outside made safe, short and readable.

Nothing that a server sends reaches a terminal, a report or the log of a CI job raw. This module
escapes, shortens, quotes and lists strings, shows JSON values on one line, and writes paths into
JSON values (`result.tools[0].name`).
"""

from __future__ import annotations

import json
import re

from mcptest.core.value_class import ABSENT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    Step = str | int
    Trail = tuple["Trail | None", Step] | None

__all__ = [
    "CI_VARIABLES",
    "EVERY",
    "ci_variable",
    "defuse",
    "defuse_markers",
    "describe_place",
    "excerpt",
    "is_pattern",
    "is_visible",
    "join_words",
    "list_names",
    "parse_path",
    "plural",
    "printable_json",
    "quote",
    "quote_bytes",
    "render_path",
    "render_trail",
    "shorten",
    "show_json",
    "steps_of",
    "trail_of",
    "visible",
]

# Characters that cannot be seen

_NAMED_ESCAPES = {"\n": "\\n", "\r": "\\r", "\t": "\\t", "\x08": "\\b", "\x0c": "\\f"}

# Printable according to Unicode, but not seen, or seen only in how their neighbours look:
# joiners, fillers and variation selectors.
_JOINERS_AND_FILLERS = "\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800\u3164\uffa0"
_UNSEEN = frozenset(
    [*map(ord, _JOINERS_AND_FILLERS), *range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0)]
)


def visible(text: str, *, keep_newlines: bool = False) -> str:
    """`text` with every character that cannot be seen written as an escape.

    These are control characters, terminal escapes, bidirectional overrides and invisible marks.
    """
    if text.isprintable() and text.isascii():
        return text
    return "".join(
        char if (keep_newlines and char == "\n") or is_visible(char) else _escape(char)
        for char in text
    )


def is_visible(char: str) -> bool:
    return char == " " or (char.isprintable() and ord(char) not in _UNSEEN)


def _escape(char: str) -> str:
    code = ord(char)
    if char in _NAMED_ESCAPES:
        return _NAMED_ESCAPES[char]
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


def printable_json(text: str) -> str:
    """JSON text in which no character acts on a terminal; the values stay the same.

    JSON itself escapes control characters, but not those above U+007E.
    """
    if text.isprintable():
        return text
    return "".join(
        char if char.isprintable() or char == "\n" else json.dumps(char)[1:-1] for char in text
    )


# Commands to a CI system: GitHub takes `::` after any indentation and `##[` anywhere in a line for
# a command; Azure does so with `##vso[`, TeamCity with `##teamcity[`. Indenting is not enough.

_MARKERS = ("##[", "##vso[", "##teamcity[")
# What may precede `::` in a line: blanks, and sequences that set a colour.
_LEAD = re.compile(r"(?:\s|\x1b\[[0-9;?]*[A-Za-z])*")
# A carriage return ends a line for GitHub as well.
_LINE_END = re.compile(r"([\r\n])")


def defuse(text: str) -> str:
    """`text` in which no line is a command to a CI system."""
    text = defuse_markers(text)
    if "::" not in text:
        return text
    lines = _LINE_END.split(text)
    for number, line in enumerate(lines):
        lead = _LEAD.match(line)
        at = lead.end() if lead else 0
        if line.startswith("::", at):
            lines[number] = f"{line[:at]}\\u003a{line[at + 1 :]}"
    return "".join(lines)


def defuse_markers(text: str) -> str:
    """`text` without the markers that are commands anywhere in a line.

    JSON and YAML know the escape: inside double quotes it changes no value.
    """
    if "##" in text:
        for marker in _MARKERS:
            text = text.replace(marker, f"#\\u0023{marker[2:]}")
    return text


# Shorten, quote, list


def shorten(text: str, limit: int) -> str:
    """`text` cut in the middle to at most `limit` characters, saying how many are left out."""
    if len(text) <= limit:
        return text
    keep = max(limit - len(f" …{len(text):,} more… "), 9)
    head, tail = keep - keep // 3, keep // 3
    return f"{text[:head]} …{len(text) - head - tail:,} more… {text[len(text) - tail :]}"


def excerpt(text: str, limit: int) -> str:
    """Text from outside as part of a sentence: shortened, and every character can be seen."""
    return visible(shorten(text, limit))


def describe_place(text: str, at: int) -> str:
    """The place of a character in a string, in words; its line if there are several."""
    line = text.count("\n", 0, at) + 1
    where = f" (line {line:,})" if "\n" in text else ""
    return f"character {at + 1:,}{where}"


def quote(text: str) -> str:
    """`text` as a JSON string in which every character can be seen."""
    return visible(json.dumps(text, ensure_ascii=False))


def quote_bytes(raw: bytes, limit: int = 200) -> str:
    """Bytes as one quoted, escaped line, cut to `limit` bytes.

    Valid UTF-8 is shown as text; every other byte as ``\\xNN``.
    """
    shown = raw[:limit].decode("utf-8", "backslashreplace")
    rest = len(raw) - limit
    tail = f" … ({rest:,} more bytes)" if rest > 0 else ""
    return f'"{visible(shown)}"{tail}'


def plural(count: int, noun: str) -> str:
    """A count with its noun: "1 line", "2,000 lines"."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def list_names(names: Sequence[str], limit: int) -> str:
    """The first `limit` names, and how many more there are: "a, b and 3 more"."""
    more = f" and {len(names) - limit:,} more" if len(names) > limit else ""
    return ", ".join(names[:limit]) + more


def join_words(words: Sequence[str], conjunction: str = "and") -> str:
    """All the words, as in a sentence: "a, b and c"."""
    *first, last = words
    return f"{', '.join(first)} {conjunction} {last}" if first else last


# JSON values on one line


def show_json(value: object, limit: int = 200, *, is_described: bool = False) -> str:
    """`value` as JSON, a pattern or a description as it is, cut to about `limit` characters.

    The work is bounded by the limit, not by the size of the value.
    """
    if value is ABSENT:
        return "(nothing)"
    if isinstance(value, str):
        rest = len(value) - limit
        tail = f" (… {plural(rest, 'more character')})" if rest > 0 else ""
        return (visible if is_described or is_pattern(value) else quote)(value[:limit]) + tail
    text = ""
    for piece in _json_pieces(value, limit):
        text += visible(piece)
        if len(text) > limit:
            break
    else:
        return text
    size = "1 value"
    if isinstance(value, dict):
        size = plural(len(value), "key")
    elif isinstance(value, list | tuple):
        size = plural(len(value), "item")
    return f"{text[:limit]} (… {size} in all)"


def is_pattern(value: object) -> bool:
    """Whether an expectation is written as a pattern: `match:…`, or a YAML tag of MCP Cases."""
    return isinstance(value, str) and value.startswith(("match:", "!!"))


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
        # A file may hold values that JSON does not have, a date for example.
        yield json.dumps(value, default=str)


# Paths into JSON values. While comparing, a path is a trail, a chain of pairs with the innermost
# step last: ((None, "result"), "tools"). Going one level down costs one tuple, and the text is
# made only for the few paths that are reported.


class _Every(str):
    """The step to every element at once; by identity, it differs from the key "*"."""

    __slots__ = ()


EVERY = _Every("*")


def steps_of(trail: Trail) -> tuple[Step, ...]:
    """The steps of a trail, outermost first."""
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


def render_trail(trail: Trail) -> str:
    return render_path(steps_of(trail))


# Strings, compiled by `re` on first use: a run without failures needs neither.
_PLAIN_WORD = r"[^\W\d][\w$#-]*"
_PATH_STEP = (
    r"""(?x)\[(?P<index>\d+)\] | \["(?P<quoted>(?:[^"\\]|\\.)*)"\] | (?:^|\.)(?P<word>[^.\[\]]+)"""
)


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


# Continuous integration, where no one reviews what a run accepts

# Most systems set CI; those that do not, and those whose users unset it, are known by their own.
CI_VARIABLES = (
    "CI",
    "CONTINUOUS_INTEGRATION",
    "APPVEYOR",
    "BITBUCKET_BUILD_NUMBER",
    "BUILDKITE",
    "CIRCLECI",
    "CIRRUS_CI",
    "CODEBUILD_BUILD_ID",
    "DRONE",
    "GITHUB_ACTIONS",
    "GITLAB_CI",
    "GO_PIPELINE_NAME",
    "JENKINS_URL",
    "PROW_JOB_ID",
    "SEMAPHORE",
    "TEAMCITY_VERSION",
    "TF_BUILD",
    "TRAVIS",
    "bamboo_buildKey",
)

# Values that people write to say that a variable is not set.
_UNSET = frozenset(["", "0", "false", "no", "off"])


def ci_variable(environment: Mapping[str, str]) -> str:
    """The variable by which this environment is recognised as CI, or ""."""
    for name in CI_VARIABLES:
        if environment.get(name, "").strip().lower() not in _UNSET:
            return name
    return ""
