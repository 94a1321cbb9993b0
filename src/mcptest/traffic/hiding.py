"""Every secret of a recording, so that it is hidden wherever else it stands."""

from __future__ import annotations

from mcptest.core.secrets import is_secret, members_of
from mcptest.core.strict_json import dump_json
from mcptest.traffic.json_text import unescaped
from mcptest.traffic.looks import CONSTANT_KEYS, SCHEMA_KEYS
from mcptest.traffic.secret_texts import secret_places, without_scheme

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

__all__ = ["is_secret", "secrets_in"]

# Shorter ones are hidden in their places only: any text might hold them.
_LEAST_CHARS = 6


def secrets_in(value: Any) -> Iterator[str]:
    """Every secret in a message that is long enough to be looked for elsewhere."""
    for secret in _found_in(value, "", is_schema=False):
        for text in (secret, without_scheme(secret)):
            yield from (form for form in _forms(text) if len(form) >= _LEAST_CHARS)


def _forms(text: str) -> Iterator[str]:
    """A secret as it was found, as it stands inside JSON, and as it is meant if it stood there."""
    yield text
    if not (text.isascii() and text.isalnum()):
        yield dump_json(text)[1:-1]
    while "\\" in text:
        text, before = unescaped(text)[0], text
        if text == before:
            break
        yield text


def _found_in(value: Any, key: str, *, is_schema: bool) -> Iterator[str]:
    if not is_schema and is_secret(key, value):
        yield from _texts(value)
    elif isinstance(value, str):
        is_prose = is_schema or key in CONSTANT_KEYS
        for start, end in secret_places(value, is_prose=is_prose):
            yield value[start:end]
    elif isinstance(value, (dict, list)):
        for step, name, inner in members_of(value, key):
            yield from _found_in(inner, name, is_schema=is_schema or step in SCHEMA_KEYS)


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from _texts(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _texts(inner)
    elif value is not None and not isinstance(value, bool):
        yield str(value)
