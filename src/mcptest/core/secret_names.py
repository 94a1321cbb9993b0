"""Which keys stand for secrets: by their own words, by a name beside them, by an option before."""

from __future__ import annotations

from functools import lru_cache
from itertools import pairwise

from mcptest.core.key_words import words_of
from mcptest.core.redaction import BLANK

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

__all__ = ["REDACTED", "is_secret", "members_of", "names_secret"]

REDACTED = "REDACTED"

# Secret wherever they stand in a key.
_SECRET_WORDS = frozenset(
    [
        *("apikey", "apikeys", "authorization", "credential", "credentials", "passphrase"),
        *("passcode", "passwd", "password", "passwords", "pwd", "secret", "secrets", "bearer"),
    ]
)
# Secret at the end of a key, also when it is written as one word.
_SECRET_ENDS = (
    *("accesskey", "accesskeys", "apikey", "apikeys", "authkey", "encryptionkey", "passcode"),
    *("passphrase", "passwd", "password", "passwords", "privatekey", "privatekeys", "secret"),
    *("secretkey", "secrets", "sessionkey", "signingkey", "connectionstring"),
)
_LAST_WORDS = frozenset(
    ["auth", "cookie", "cookies", "csrf", "jwt", "jwts", "otp", "pin", "pincode", "totp", "xsrf"]
)
_SECRET_PAIRS = frozenset(
    (first, second)
    for first in ("access", "api", "auth", "encryption", "private", "secret", "session", "signing")
    for second in ("key", "keys")
)
# A key that ends so tells something about a secret, and not the secret.
_ABOUT = frozenset(
    [
        *("at", "budget", "count", "counts", "enabled", "endpoint", "expiration", "expires"),
        *("expiry", "format", "in", "length", "limit", "limits", "max", "min", "name", "policy"),
        *("required", "size", "status", "strength", "ttl", "type", "types", "uri", "url", "usage"),
    ]
)
# Tokens that open nothing: they say how far something has come, or are pieces of a text.
_HARMLESS_TOKENS = frozenset(
    [
        *("cached", "completion", "continuation", "design", "estimated", "input", "max", "min"),
        *("next", "num", "output", "page", "progress", "prompt", "reasoning", "remaining"),
        *("sync", "total", "used"),
    ]
)
_TOKENS = ("token", "tokens")
# Fewer digits under "tokens" are a count of them.
_LEAST_TOKEN_DIGITS = 6
# {"name": "X-Api-Key", "value": "…"} is a member of its own.
_NAME_KEYS = frozenset(["field", "header", "key", "name"])
_MAX_NAME = 100


def is_secret(key: str, value: object) -> bool:
    """Whether a value is secret by the key it stands under."""
    if value is None or isinstance(value, bool) or value in ("", REDACTED, BLANK, [], {}):
        return False
    if isinstance(value, (int, float)):
        return names_secret(key) and not _is_count(key, value)
    return names_secret(key) or (isinstance(value, str) and _words(key)[-1:] == ("pass",))


def _is_count(key: str, value: float) -> bool:
    is_plural = _words(key)[-1:] == ("tokens",)
    return is_plural and len(str(value)) < _LEAST_TOKEN_DIGITS


@lru_cache(maxsize=4096)
def names_secret(key: str) -> bool:
    """Whether a key says that what stands under it is secret."""
    words = _words(key)
    if not words or words[-1] in _ABOUT:
        return False
    if words[-1] in _LAST_WORDS or "".join(words).endswith(_SECRET_ENDS):
        return True
    if not _SECRET_WORDS.isdisjoint(words) or not _SECRET_PAIRS.isdisjoint(pairwise(words)):
        return True
    return _names_token(words)


def _names_token(words: tuple[str, ...]) -> bool:
    if words[-1:] == ("value",) or words[-1:] == ("string",):
        words = words[:-1]
    if not words or not words[-1].endswith(_TOKENS):
        return False
    *before, last = words
    joined = last.removesuffix("s").removesuffix("token")
    return _HARMLESS_TOKENS.isdisjoint([*before, joined])


def _words(key: str) -> tuple[str, ...]:
    """The words of a key, without numbers: password2 is a password."""
    return tuple(word for word in words_of(key) if not word.isdigit())


def members_of(value: Any, key: str) -> Iterator[tuple[str | int, str, Any]]:
    """The members of an object or a list: the step to each, the key it stands under, and itself.

    A value beside the name of a secret stands under that name, and one behind an option such
    as --password under the option.
    """
    if isinstance(value, dict):
        named = _named(value)
        for name, inner in value.items():
            yield name, named if named and name.lower() in ("value", "values") else name, inner
        return
    option = ""
    for index, inner in enumerate(value):
        yield index, option or key, inner
        option = inner if isinstance(inner, str) and not option and _is_option(inner) else ""


def _named(value: dict[str, Any]) -> str:
    """The name of a secret that an object has a value for; "" when there is none."""
    for name, inner in value.items():
        is_name = isinstance(inner, str) and len(inner) <= _MAX_NAME and name.lower() in _NAME_KEYS
        if is_name and names_secret(inner):
            return str(inner)
    return ""


def _is_option(text: str) -> bool:
    return text.startswith("-") and len(text) <= _MAX_NAME and names_secret(text)
