"""`${name}` in a test: a value that an earlier test of the file captured. Pure.

A text that is nothing but `${name}` becomes the value itself, whatever its type; inside a
longer text the value is put as text. `$${name}` is the text `${name}`.
"""

from __future__ import annotations

import re

from mcptest.core.strict_json import dump_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    Steps = tuple[str | int, ...]

__all__ = ["NAME", "filled", "filled_texts", "references"]

NAME = r"[A-Za-z_][A-Za-z0-9_]*"
_REFERENCE = re.compile(r"(\$?)\$\{([^}]*)\}")


def references(value: object, steps: Steps = ()) -> Iterator[tuple[str, Steps]]:
    """Every name that a value refers to, and where."""
    if isinstance(value, str):
        for found in _REFERENCE.finditer(value):
            if not found[1]:
                yield found[2], steps
    elif isinstance(value, dict):
        for key, member in value.items():
            # In a key it stands where no place can be shown but the mapping's own.
            yield from references(key, steps)
            yield from references(member, (*steps, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from references(item, (*steps, index))


def filled(value: object, values: Mapping[str, object]) -> object:
    """The value with every reference replaced; all names must be known."""
    if isinstance(value, str):
        return _filled_text(value, values)
    if isinstance(value, dict):
        return {_as_text(key, values): filled(value[key], values) for key in value}
    if isinstance(value, list):
        return [filled(item, values) for item in value]
    return value


def filled_texts(value: object, values: Mapping[str, object]) -> object:
    """As `filled`, for a mapping of texts that are to stay texts."""
    if not isinstance(value, dict):
        return filled(value, values)
    return {
        _as_text(key, values): _as_text(member, values)
        if isinstance(member, str)
        else filled(member, values)
        for key, member in value.items()
    }


def _filled_text(text: str, values: Mapping[str, object]) -> object:
    whole = _REFERENCE.fullmatch(text)
    if whole and not whole[1]:
        return values[whole[2]]
    return _as_text(text, values)


def _as_text(text: str, values: Mapping[str, object]) -> str:
    return _REFERENCE.sub(lambda found: _replacement(found, values), text)


def _replacement(found: re.Match[str], values: Mapping[str, object]) -> str:
    if found[1]:
        return found[0][1:]
    value = values[found[2]]
    return value if isinstance(value, str) else dump_json(value)
