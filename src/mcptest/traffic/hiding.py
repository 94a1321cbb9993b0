"""Which recorded values are secrets, so that they stand in no contract."""

from __future__ import annotations

from functools import lru_cache
from itertools import pairwise

from mcptest.traffic.looks import SCHEMA_KEYS
from mcptest.traffic.naming import words_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

__all__ = ["REDACTED", "is_secret", "secrets_in"]

REDACTED = "REDACTED"

_SECRET_WORDS = frozenset(
    [
        *("apikey", "authorization", "credential", "credentials", "passphrase", "passwd"),
        *("password", "pwd", "secret"),
    ]
)
_SECRET_PAIRS = frozenset([("api", "key"), ("access", "key"), ("private", "key"), ("auth", "key")])
# Tokens that open nothing: they say how far something has come.
_HARMLESS_TOKENS = frozenset(["continuation", "next", "page", "progress", "sync"])
_SCHEMES = ("Bearer ", "Basic ")
# Shorter ones are hidden under their keys only: any text might hold them.
_LEAST_CHARS = 6


def is_secret(key: str, value: object) -> bool:
    """Whether a value is secret, by its key or because it is an authorization."""
    if isinstance(value, str) and value.startswith(_SCHEMES):
        return True
    if value is None or isinstance(value, bool) or value in ("", REDACTED, [], {}):
        return False
    return _names_secret(key) or (isinstance(value, str) and _names_token(key))


@lru_cache(maxsize=4096)
def _names_secret(key: str) -> bool:
    words = words_of(key)
    pairs = set(pairwise(words))
    return not _SECRET_WORDS.isdisjoint(words) or not _SECRET_PAIRS.isdisjoint(pairs)


@lru_cache(maxsize=4096)
def _names_token(key: str) -> bool:
    words = words_of(key)
    return words[-1:] == ("token",) and _HARMLESS_TOKENS.isdisjoint(words)


def secrets_in(value: Any, key: str = "") -> Iterator[str]:
    """Every secret text in a message that is long enough to be looked for elsewhere."""
    if is_secret(key, value):
        yield from (text for text in _texts(value) if len(text) >= _LEAST_CHARS)
    elif isinstance(value, dict):
        for name, inner in value.items():
            if name not in SCHEMA_KEYS:
                yield from secrets_in(inner, name)
    elif isinstance(value, list):
        for inner in value:
            yield from secrets_in(inner, key)


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from _texts(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _texts(inner)
