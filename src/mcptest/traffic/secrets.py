"""Secrets in recorded traffic: those of all messages, hidden wherever else they are.

How a secret is known is in `core.secrets` and `core.secret_texts`.
"""

from __future__ import annotations

import re

from mcptest.core.blanking import Redactor
from mcptest.core.secret_texts import (
    AUTH_SCHEMES,
    LEAST_FOUND_CHARS,
    replace_places,
    secret_places,
    unescape_json,
)
from mcptest.core.secrets import BLANK, is_secret, members_of, merge_places
from mcptest.core.strict_json import dump_json
from mcptest.traffic.varying import CONSTANT_KEYS, SCHEMA_KEYS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

    from mcptest.core.secrets import Place

__all__ = ["Secrets"]

# So many secrets are searched for in other strings, and so many of these in encoded form.
_MAX_SECRETS = 1_000
_MAX_ENCODED = 20


class Secrets:
    """The secrets of some messages, to be hidden wherever else they are."""

    def __init__(self, messages: Iterable[Any]) -> None:
        found = dict.fromkeys(each for message in messages for each in _secrets_in(message))
        longest_first = sorted(found, key=len, reverse=True)[:_MAX_SECRETS]
        self._known = re.compile("|".join(map(re.escape, [*longest_first, BLANK])))
        self._encoded = Redactor(longest_first[:_MAX_ENCODED])

    def find(self, text: str, *, is_prose: bool = False) -> list[Place]:
        """Where secrets are in a recorded string; none overlap."""
        places = secret_places(text, is_prose=is_prose)
        known = self._find_known(text)
        return merge_places([*places, *known]) if places else known

    def _find_known(self, text: str) -> list[Place]:
        known = [found.span() for found in self._known.finditer(text)]
        encoded = self._encoded.places(text)
        return merge_places([*known, *encoded]) if encoded else known

    def covers(self, text: str, *, is_prose: bool = False) -> bool:
        """True if a recorded string is a secret as a whole."""
        return self.find(text, is_prose=is_prose) == [(0, len(text))]

    def redact(self, text: str, *, is_prose: bool = False) -> str:
        """A recorded string with REDACTED in place of each secret."""
        return replace_places(text, self.find(text, is_prose=is_prose))

    def redact_known(self, text: str) -> str:
        """A string written by mcptest, without the secrets of the messages."""
        return replace_places(text, self._find_known(text))


def _secrets_in(message: Any) -> Iterator[str]:
    """Every secret in a message, in each of its spellings, that is long enough to search for."""
    for secret in _found_in(message, "", is_schema=False):
        scheme = re.match(AUTH_SCHEMES, secret, re.IGNORECASE)
        for text in (secret, secret[scheme.end() :] if scheme else secret):
            yield from (form for form in _spellings(text) if len(form) >= LEAST_FOUND_CHARS)


def _spellings(text: str) -> Iterator[str]:
    """A secret as it was found, escaped as in JSON, and unescaped if it was found in JSON."""
    yield text
    if not (text.isascii() and text.isalnum()):
        yield dump_json(text)[1:-1]
    while "\\" in text:
        text, before = unescape_json(text)[0], text
        if text == before:
            break
        yield text


def _found_in(value: Any, key: str, *, is_schema: bool) -> Iterator[str]:
    if not is_schema and is_secret(key, value):
        yield from _scalars(value)
    elif isinstance(value, str):
        for start, end in secret_places(value, is_prose=is_schema or key in CONSTANT_KEYS):
            yield value[start:end]
    elif isinstance(value, (dict, list)):
        for step, name, inner in members_of(value, key):
            yield from _found_in(inner, name, is_schema=is_schema or step in SCHEMA_KEYS)


def _scalars(value: Any) -> Iterator[str]:
    if isinstance(value, (dict, list)):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _scalars(inner)
    elif value is not None and not isinstance(value, bool):
        yield str(value)
