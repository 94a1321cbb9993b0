"""`${name}` in a test: a value that an earlier test of the file captured. Pure.

A text that is nothing but `${name}` becomes the value itself, whatever its type; inside a
longer text the value is put as text. `$${name}` is the text `${name}`.
"""

from __future__ import annotations

import re

from mcptest.core.strict_json import dump_json
from mcptest.matching.expectation import Literal
from mcptest.matching.patterns import PREFIX

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    Steps = tuple[str | int, ...]

__all__ = ["NAME", "alone", "filled", "filled_texts", "misplaced", "references"]

NAME = r"[A-Za-z_][A-Za-z0-9_]*"
_REFERENCE = re.compile(r"(\$?)\$\{([^}]*)\}")


def references(value: object, steps: Steps = ()) -> Iterator[tuple[str, Steps]]:
    """Yield every name that a value refers to, and where."""
    if isinstance(value, str):
        for found in _REFERENCE.finditer(value):
            if not found[1]:
                yield found[2], steps
    elif isinstance(value, dict):
        for key, member in value.items():
            # A reference in a key is reported at the place of the mapping.
            yield from references(key, steps)
            yield from references(member, (*steps, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from references(item, (*steps, index))


def alone(text: str) -> str:
    """Return the name in a string that is exactly one reference, "" for any other string."""
    whole = _REFERENCE.fullmatch(text)
    return whole[2] if whole and not whole[1] else ""


def filled(value: object, values: Mapping[str, object], *, literal: bool = False) -> object:
    """The value with every reference replaced; all names must be known.

    With `literal`, what comes from outside is marked: it is compared as it is, and never read
    as a pattern or a directive, which only the author of the file may write. ValueError when a
    key becomes one that is there already, or a directive.
    """
    if isinstance(value, str):
        return _filled_text(value, values, literal)
    if isinstance(value, dict):
        members: dict[str, object] = {}
        for key, member in value.items():
            members[_filled_key(key, values, members)] = filled(member, values, literal=literal)
        return members
    if isinstance(value, list):
        return [filled(item, values, literal=literal) for item in value]
    return value


def filled_texts(value: object, values: Mapping[str, object]) -> object:
    """Like `filled`, for a mapping of strings that must stay strings."""
    if not isinstance(value, dict):
        return filled(value, values)
    members: dict[str, object] = {}
    for key, member in value.items():
        text = _as_text(member, values) if isinstance(member, str) else filled(member, values)
        members[_filled_key(key, values, members)] = text
    return members


def _filled_text(text: str, values: Mapping[str, object], literal: bool) -> object:
    whole = _REFERENCE.fullmatch(text)
    if whole and not whole[1]:
        value = values[whole[2]]
        return Literal(value=value) if literal else value
    put = _as_text(text, values)
    # A string that was not written as a pattern does not become one by a value.
    is_marked = literal and put != text and not text.startswith(PREFIX)
    return Literal(value=put) if is_marked else put


def _filled_key(key: str, values: Mapping[str, object], others: Mapping[str, object]) -> str:
    put = _as_text(key, values)
    if put in others:
        raise ValueError(f"the key {dump_json(put)} would stand there twice")
    if put != key and put.startswith(PREFIX):
        raise ValueError(f"the key {dump_json(put)} would be a directive")
    return put


def _as_text(text: str, values: Mapping[str, object]) -> str:
    return _REFERENCE.sub(lambda found: _replacement(found, values), text)


def _replacement(found: re.Match[str], values: Mapping[str, object]) -> str:
    if found[1]:
        return found[0][1:]
    value = values[found[2]]
    return value if isinstance(value, str) else dump_json(value)


# References in the name of a matcher, of a file, or of a plugin and its method.
_MISPLACED = re.compile(
    PREFIX + r"(?:not:)?(?:[^:]*(?<!\$)\$\{|jsonSchema:.*(?<!\$)\$\{|plugin:[^:]*(?<!\$)\$\{)",
    re.DOTALL,
)


def misplaced(value: object, steps: Steps = ()) -> Iterator[Steps]:
    """Yield the places where a value from a server would choose what is checked."""
    if isinstance(value, str):
        if _MISPLACED.match(value):
            yield steps
    elif isinstance(value, dict):
        for key, member in value.items():
            yield from misplaced(member, (*steps, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from misplaced(item, (*steps, index))
