"""Write values as YAML that reads back as the same values, whatever text is in them.

Dicts, lists, text, numbers, bools and None go in; block YAML comes out. All text is in double
quotes, so no word can be taken for a number, a boolean or a date by any reader. `Remarked`
puts comments above an item or a key, `Lines` writes a text as the lines it consists of.
"""

from __future__ import annotations

import re

from mcptest.core.record import Record
from mcptest.core.strict_json import dump_json
from mcptest.core.text import defuse, defuse_markers, is_visible, visible
from mcptest.formats.scalars import resolve_plain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Lines", "Remarked", "comment_lines", "quoted", "render_yaml"]

_PLAIN_KEY = r"[A-Za-z_][A-Za-z0-9_-]*"
_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"}

_COMMENT_WIDTH = 96
# YAML looks for the colon after a key no further than 1,024 characters.
_MAX_KEY = 1000
# A list straight inside a list is clearer in brackets, as long as it is short.
_MAX_BRACKETS = 80


class Remarked(Record):
    """A value with comments above it."""

    remarks: tuple[str, ...]
    value: object


class Lines(Record):
    """A text to be written line by line, where that is safe: see `can_be_lines`."""

    text: str

    @property
    def can_be_lines(self) -> bool:
        """Whether it would come back the same, also from an editor that trims lines."""
        text = self.text
        is_empty = not text or text.startswith("\n") or text.endswith("\n\n")
        if is_empty or any(line[-1:] in (" ", "\t") for line in text.split("\n") if line):
            return False
        # In quotes a command to a CI system can be escaped.
        if defuse(text) != text:
            return False
        return all(char in "\n\t" or is_visible(char) for char in text)


def render_yaml(value: object) -> str:
    """The text of a document."""
    return "".join(f"{line}\n" for line in _block(value))


def _block(value: object) -> Iterator[str]:
    """The lines of a value that stands below its key or dash."""
    if isinstance(value, Remarked):
        yield from comment_lines(value.remarks)
        yield from _block(value.value)
    elif isinstance(value, dict) and value:
        for key, inner in value.items():
            yield from _entry(key, inner)
    elif isinstance(value, list) and value:
        for index, item in enumerate(value):
            if index and isinstance(item, Remarked):
                yield ""
            yield from _item(item)
    elif isinstance(value, Lines) and value.can_be_lines:
        yield from _lines(value.text)
    else:
        yield _flow(value)


def _entry(key: str, value: object) -> Iterator[str]:
    if isinstance(value, Remarked):
        yield from comment_lines(value.remarks)
        value = value.value
    head = f"{_key(key)}:"
    if len(head) > _MAX_KEY:
        yield f"? {_key(key)}"
        head = ":"
    if isinstance(value, (dict, list)) and value:
        yield head
        lines = _block(value)
    else:
        lines = _block(value)
        yield f"{head} {next(lines)}"
    for line in lines:
        yield f"  {line}" if line else line


def _item(value: object) -> Iterator[str]:
    if isinstance(value, Remarked):
        yield from comment_lines(value.remarks)
        value = value.value
    lines = iter([_flow(value)]) if _is_for_brackets(value) else _block(value)
    yield f"- {next(lines)}"
    for line in lines:
        yield f"  {line}" if line else line


def _lines(text: str) -> Iterator[str]:
    """The head of a block, and its lines; spaces at its beginning must not count as indentation."""
    indentation = "2" if text[0] in " \t" else ""
    yield f"|{indentation}" if text.endswith("\n") else f"|{indentation}-"
    yield from text.removesuffix("\n").split("\n")


def _is_for_brackets(value: object) -> bool:
    """Whether it is a list that fits on a line, by a guess that needs no writing out."""
    if not isinstance(value, list):
        return False
    room = _MAX_BRACKETS
    waiting: list[object] = [value]
    while waiting and room >= 0:
        inner = waiting.pop()
        if isinstance(inner, (Remarked, Lines)):
            return False
        if isinstance(inner, (dict, list)):
            room -= 2 * len(inner) + 2
            waiting += [*inner, *inner.values()] if isinstance(inner, dict) else inner
        else:
            room -= len(inner) + 2 if isinstance(inner, str) else 4
    return room >= 0


def _flow(value: object) -> str:
    """A value on one line."""
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, Lines):
        return quoted(value.text)
    if isinstance(value, Remarked):
        return _flow(value.value)
    if isinstance(value, dict):
        return "{" + ", ".join(f"{quoted(k)}: {_flow(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_flow, value)) + "]"
    return dump_json(value)


def _key(key: str) -> str:
    is_text = re.fullmatch(_PLAIN_KEY, key) and isinstance(resolve_plain(key), str)
    return key if is_text else quoted(key)


def quoted(text: str) -> str:
    """Text in double quotes; what cannot be seen, YAML does not take or CI obeys is escaped."""
    return '"' + defuse_markers("".join(map(_quoted_char, text))) + '"'


def _quoted_char(char: str) -> str:
    if char in _ESCAPES:
        return _ESCAPES[char]
    if is_visible(char):
        return char
    code = ord(char)
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


def comment_lines(remarks: tuple[str, ...]) -> Iterator[str]:
    """Comments that stay comments, whatever their text holds."""
    for remark in remarks:
        for line in remark.split("\n"):
            yield from _wrapped(defuse_markers(visible(line)))


def _wrapped(text: str) -> Iterator[str]:
    line = "#"
    for word in text.split(" "):
        if len(line) + len(word) > _COMMENT_WIDTH and line != "#":
            yield line
            line = "#"
        line += f" {word}" if word else ""
    yield line
