"""`${args.…}` in the texts of a manifest, where it cannot be filled in: slips to be told."""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    Steps = tuple[str | int, ...]

__all__ = ["argument_references", "unclosed_references", "unescaped"]

_ARGS = r"\$\{args(?![A-Za-z0-9_])"
_REFERENCE = re.compile(rf"(?<!\$){_ARGS}[^\s{{}}]*\}}?")
_ESCAPED = re.compile(rf"\$({_ARGS})")

# The text ends, or another brace opens, before one closes.
_UNCLOSED = re.compile(rf"(?<!\$){_ARGS}(?:[^{{}}$]|\$(?!\{{))*(?:\$?\{{|\Z)")
_BEGINNING = re.compile(r"\$\{[^\s{}$]*")


def unclosed_references(value: object) -> Iterator[tuple[Steps, str]]:
    """Where a reference to an argument begins and does not end, and how it begins."""
    for steps, text in _texts(value):
        for found in _UNCLOSED.finditer(text):
            beginning = _BEGINNING.match(found[0])
            assert beginning
            yield steps, beginning[0]


def argument_references(value: object) -> Iterator[tuple[Steps, str]]:
    """Where arguments are referred to, and how the reference is written."""
    for steps, text in _texts(value):
        for found in _REFERENCE.finditer(text):
            yield steps, found[0]


def unescaped(text: str) -> str:
    """A text in which nothing is filled in: `$${args.name}` stands for the text itself."""
    return _ESCAPED.sub(r"\1", text)


def _texts(value: object, steps: Steps = ()) -> Iterator[tuple[Steps, str]]:
    """The texts in a value; a key stands where its mapping does."""
    if isinstance(value, str):
        yield steps, value
    elif isinstance(value, dict):
        for key, member in value.items():
            yield from _texts(key, steps)
            yield from _texts(member, (*steps, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _texts(item, (*steps, index))
