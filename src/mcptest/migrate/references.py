"""`${name}` in texts that move from one format to another.

In a suite it is always a reference. In a Conductor file it is one only where the file captures
something, and in a case file never; there the very text is meant.
"""

from __future__ import annotations

import re

from mcptest.formats.templates import references

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["escaped", "names_in", "unescaped", "with_texts"]

_REFERENCE = re.compile(r"\$\{[^}]*\}")
_ESCAPED = re.compile(r"\$(\$\{[^}]*\})")


def with_texts(value: object, change: Callable[[str], str]) -> object:
    """The value with every text and every key in it changed."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, dict):
        return {change(key): with_texts(member, change) for key, member in value.items()}
    if isinstance(value, list):
        return [with_texts(item, change) for item in value]
    return value


def escaped(value: object) -> object:
    """The value with nothing in it that is taken for a reference."""
    return with_texts(value, lambda text: _REFERENCE.sub(lambda found: f"${found[0]}", text))


def unescaped(value: object) -> object:
    """The value as it is meant where there are no references."""
    return with_texts(value, lambda text: _ESCAPED.sub(r"\1", text))


def names_in(value: object) -> tuple[str, ...]:
    """The names that a value refers to, once each."""
    return tuple(dict.fromkeys(name for name, _ in references(value)))
