"""Write values as YAML that reads back as the same values, whatever text is in them.

Dicts, lists, text, numbers, bools and None go in; block YAML comes out. All text is in double
quotes, so no word can be taken for a number, a boolean or a date by any reader. `Remarked`
puts comments above an item or a key.
"""

from __future__ import annotations

import re

from mcptest.core.record import Record
from mcptest.core.strict_json import dump_json
from mcptest.core.visible import is_plain, visible
from mcptest.formats.scalars import resolve_plain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Remarked", "comment_lines", "quoted", "render_yaml"]

_PLAIN_KEY = r"[A-Za-z_][A-Za-z0-9_-]*"
_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"}

_COMMENT_WIDTH = 96


class Remarked(Record):
    """A value with comments above it."""

    remarks: tuple[str, ...]
    value: object


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
            yield from _entry(f"{_key(key)}:", inner)
    elif isinstance(value, list) and value:
        for index, item in enumerate(value):
            if index and isinstance(item, Remarked):
                yield ""
            yield from _item(item)
    else:
        yield _flow(value)


def _entry(head: str, value: object) -> Iterator[str]:
    if isinstance(value, Remarked):
        yield from comment_lines(value.remarks)
        value = value.value
    if isinstance(value, (dict, list)) and value:
        yield head
        for line in _block(value):
            yield f"  {line}" if line else line
    else:
        yield f"{head} {_flow(value)}"


def _item(value: object) -> Iterator[str]:
    if isinstance(value, Remarked):
        yield from comment_lines(value.remarks)
        value = value.value
    # A list straight inside a list is clearer in brackets.
    lines = _block(value) if isinstance(value, dict) and value else iter([_flow(value)])
    yield f"- {next(lines)}"
    for line in lines:
        yield f"  {line}" if line else line


def _flow(value: object) -> str:
    """A value on one line."""
    if isinstance(value, str):
        return quoted(value)
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
    """Text in double quotes; what cannot be seen, or YAML does not take, is escaped."""
    return '"' + "".join(map(_quoted_char, text)) + '"'


def _quoted_char(char: str) -> str:
    if char in _ESCAPES:
        return _ESCAPES[char]
    if is_plain(char):
        return char
    code = ord(char)
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


def comment_lines(remarks: tuple[str, ...]) -> Iterator[str]:
    """Comments that stay comments, whatever their text holds."""
    for remark in remarks:
        for line in remark.split("\n"):
            yield from _wrapped(visible(line))


def _wrapped(text: str) -> Iterator[str]:
    line = "#"
    for word in text.split(" "):
        if len(line) + len(word) > _COMMENT_WIDTH and line != "#":
            yield line
            line = "#"
        line += f" {word}" if word else ""
    yield line
