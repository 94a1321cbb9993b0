"""The words that a key is made of, however it is written."""

from __future__ import annotations

import re
from functools import lru_cache

__all__ = ["words_of"]


@lru_cache(maxsize=4096)
def words_of(key: str) -> tuple[str, ...]:
    """The words of a key, in small letters: createdAt and created_at have two."""
    found = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+", key[:200])
    return tuple(word.lower() for word in found)
