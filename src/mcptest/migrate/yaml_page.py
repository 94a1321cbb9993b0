"""YAML as a person writes it: short things on one line, words without quotes.

Whatever is in the values, the text reads back as the same values; where it would not, it is
written in the plain style of `mcptest.formats.yaml_text` instead.
"""

from __future__ import annotations

import re

from mcptest.core.errors import FormatError
from mcptest.core.strict_json import dump_json
from mcptest.formats.document import read_document
from mcptest.formats.scalars import resolve_plain
from mcptest.formats.yaml_text import quoted, render_yaml
from mcptest.matching.compare import is_same

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["render_page"]

_WIDTH = 100
# What is always written below its key, and whose items are as well.
_BLOCKS = frozenset(["servers", "tools", "resources", "prompts", "tests", "steps"])
_LISTS = frozenset(["expect", "assertions", "server", "_server"])

_PLAIN_KEY = r"(?:match:(?:not:)?)?[A-Za-z_][A-Za-z0-9_-]*"
_START = r"(?:[A-Za-z/_]|\.{1,2}/)"
_PLAIN = rf"{_START}(?:[A-Za-z0-9_/().,+'-]| (?=[A-Za-z0-9(]))*"
# In brackets a comma ends a word.
_PLAIN_IN_FLOW = rf"{_START}(?:[A-Za-z0-9_/().+'-]| (?=[A-Za-z0-9(]))*"
# Other versions of YAML take these for booleans.
_SWITCHES = frozenset(["yes", "no", "on", "off", "y", "n"])


def render_page(value: dict[str, object]) -> str:
    """The text of a document."""
    lines: list[str] = []
    for key, inner in value.items():
        block = list(_entry(key, inner, 0, is_top=True))
        if lines and (len(block) > 1 or lines[-1].startswith(" ")):
            lines.append("")
        lines += block
    text = "".join(f"{line}\n" for line in lines)
    return text if _comes_back(text, value) else render_yaml(value)


def _comes_back(text: str, value: object) -> bool:
    try:
        return is_same(value, read_document(text, "").value)
    except FormatError:
        return False


def _entry(key: str, value: object, indent: int, *, is_top: bool = False) -> Iterator[str]:
    head = f"{_key(key)}:"
    is_block = key in _BLOCKS or key in _LISTS
    if not isinstance(value, (dict, list)) or not value:
        yield f"{head} {_scalar(value)}"
        return
    if not is_block and (line := _fitting(head, value, indent)):
        yield line
        return
    yield head
    for line in _block(value, indent + 2, are_entries=key in _BLOCKS):
        yield f"  {line}" if line else line


def _block(value: object, indent: int, *, are_entries: bool) -> Iterator[str]:
    """The lines of a mapping or list that stands below its key."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if are_entries and isinstance(inner, dict):
                # A server is an entry under its name.
                yield f"{_key(key)}:"
                for line in _block(inner, indent + 2, are_entries=False):
                    yield f"  {line}"
            else:
                yield from _entry(key, inner, indent)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            if are_entries and index:
                yield ""
            yield from _item(item, indent, is_entry=are_entries)


def _item(value: object, indent: int, *, is_entry: bool) -> Iterator[str]:
    if not isinstance(value, (dict, list)) or not value:
        yield f"- {_scalar(value)}"
        return
    if not is_entry and (line := _fitting("-", value, indent)):
        yield line
        return
    lines = _block(value, indent + 2, are_entries=False)
    yield f"- {next(lines)}"
    for line in lines:
        yield f"  {line}" if line else line


def _fitting(head: str, value: object, indent: int) -> str:
    """The value behind its head on one line; "" when that is too long."""
    line = f"{head} {_flow(value)}"
    return line if indent + len(line) <= _WIDTH else ""


def _flow(value: object) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_key(key)}: {_flow(each)}" for key, each in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_flow, value)) + "]"
    return _scalar(value, _PLAIN_IN_FLOW)


def _scalar(value: object, plain: str = _PLAIN) -> str:
    if not isinstance(value, str):
        return dump_json(value)
    is_plain = re.fullmatch(plain, value) and value.lower() not in _SWITCHES
    return value if is_plain and resolve_plain(value) == value else quoted(value)


def _key(key: str) -> str:
    is_word = re.fullmatch(_PLAIN_KEY, key) or re.fullmatch(_PLAIN_IN_FLOW, key)
    is_plain = is_word and key.lower() not in _SWITCHES
    return key if is_plain and resolve_plain(key) == key else quoted(key)
