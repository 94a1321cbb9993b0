"""Write a contract: cases as YAML documents, with their messages in the style of JSON.

Whatever text is in a message, it stays inside its quotes; no character that cannot be seen is
written as itself, and no command to a CI system.
"""

from __future__ import annotations

import re
from functools import lru_cache

from mcptest.core.record import Record
from mcptest.core.strict_json import dump_json
from mcptest.core.text import defuse_markers, visible
from mcptest.formats.yaml.quick import resolve_plain
from mcptest.traffic.varying import Tag

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

__all__ = ["WrittenCase", "render_cases"]

_WIDTH = 100
_PLAIN = r"[A-Za-z](?:[A-Za-z0-9 _/().-]|:(?=[A-Za-z0-9/]))*"
# YAML takes a longer key only behind a question mark.
_MAX_KEY = 1000


class WrittenCase(Record):
    """One case, ready to be written; `skip` is the reason why it is not run."""

    name: str
    comment: str
    messages: tuple[tuple[str, Any], ...]
    skip: str = ""


def render_cases(heading: str, cases: Iterable[WrittenCase]) -> str:
    """The text of a case file."""
    # A document with only comments is not a case, and its comments belong to none.
    documents = [f"{_comment(heading)}\n"]
    documents += ["\n".join([*_document(case), ""]) for case in cases]
    return "\n---\n".join(documents)


def _document(case: WrittenCase) -> list[str]:
    lines = [_comment(case.comment), f"case: {_scalar_line(case.name)}"]
    if case.skip:
        lines.append(f"_skip: {_scalar_line(case.skip)}")
    for key, message in case.messages:
        _write(lines, f"{key}:", message, "")
    return lines


def _comment(text: str) -> str:
    return f"# {defuse_markers(visible(text))}"


def _scalar_line(text: str) -> str:
    """A text without quotes where it can be taken for nothing else."""
    is_plain = re.fullmatch(_PLAIN, text) and not text.endswith(" ")
    return text if is_plain and resolve_plain(text) == text else _quoted(text)


def _write(lines: list[str], head: str, value: Any, indent: str, tail: str = "") -> None:
    """The lines of a value behind its key: one line if it fits, else one per member."""
    lead = f"{indent}{head} " if head else indent
    if not isinstance(value, (dict, list)) or not value:
        lines.append(f"{lead}{_flow(value)}{tail}".rstrip())
        return
    if _may_fit(value) and len(line := f"{lead}{_flow(value)}{tail}") <= _WIDTH:
        lines.append(line)
        return
    opened, closed = "{}" if isinstance(value, dict) else "[]"
    if not indent:
        # JSON begins below its key, and never in the first column.
        lines.append(head)
        indent = lead = "  "
    lines.append(f"{lead}{opened}")
    last = len(value) - 1
    for index, (name, member) in enumerate(_members(value)):
        _write(lines, name, member, f"{indent}  ", "," if index < last else "")
    lines.append(f"{indent}{closed}{tail}")


def _may_fit(value: Any) -> bool:
    """True if a value may fit on one line; long ones are not examined."""
    room = _WIDTH
    waiting = [value]
    while waiting and room > 0:
        node = waiting.pop()
        if isinstance(node, (dict, list)):
            room -= 2 + len(node)
            waiting += [*node, *node.values()] if isinstance(node, dict) else node
        else:
            room -= len(node) if isinstance(node, str) else 1
    return room > 0


def _members(value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        for key, member in value.items():
            yield _key(key), member
    else:
        for item in value:
            yield "", item


def _flow(value: Any) -> str:
    """A value on one line."""
    if isinstance(value, Tag):
        return _tag(value)
    if isinstance(value, str):
        return _quoted(value)
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_key(key)} {_flow(each)}" for key, each in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_flow, value)) + "]"
    return dump_json(value)


@lru_cache(maxsize=4096)
def _key(key: str) -> str:
    quoted = _quoted(key)
    return f"? {quoted} :" if len(quoted) > _MAX_KEY else f"{quoted}:"


def _tag(tag: Tag) -> str:
    if not tag.text:
        # A comma or a bracket would be taken for a part of its name.
        return f"!!{tag.name} "
    if re.fullmatch("[A-Za-z_][A-Za-z0-9_]*", tag.text):
        return f"!!{tag.name} {tag.text}"
    if "\n" not in tag.text and defuse_markers(visible(tag.text)) == tag.text:
        single = tag.text.replace("'", "''")
        return f"!!{tag.name} '{single}'"
    return f"!!{tag.name} {_quoted(tag.text)}"


def _quoted(text: str) -> str:
    """Text in double quotes, with the escapes that JSON and YAML share."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    # As `visible` would: what has only these in it need not be gone through by character.
    escaped = escaped.replace("\n", "\\n").replace("\t", "\\t")
    return f'"{defuse_markers(visible(escaped))}"'
