"""What may stand in the place of a text that varies, by what the texts there look like.

Expressions that come out of here are simple on purpose: the mock makes up values for them.
"""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["NUMBER_EXPRESSION", "UUID_EXPRESSION", "expression_for", "is_loose"]

_HEX = "[0-9a-fA-F]"
UUID_EXPRESSION = rf"{_HEX}{{8}}(?:-{_HEX}{{4}}){{3}}-{_HEX}{{12}}"
NUMBER_EXPRESSION = r"\d+(?:\.\d+)?"

_DIGITS = ("[0-9a-f]", "[0-9A-F]")
# Shorter ones may be hexadecimal by chance.
_LEAST_HEX = 8
_SIMPLE = (UUID_EXPRESSION, r"\d+", NUMBER_EXPRESSION, f"-?{NUMBER_EXPRESSION}")
_NAME = "[A-Za-z0-9_-]+"
_LOOSE = (".+?", ".*?", r"[\s\S]+?", r"[\s\S]*?")


def expression_for(texts: Sequence[str]) -> str:
    """An expression that all of these texts meet, as narrow as their look allows."""
    if all(texts):
        if len(texts) == 1 and re.fullmatch(f"[0-9]{{{_LEAST_HEX},}}", texts[0]):
            # Hexadecimal digits are decimal ones now and then.
            return "[0-9A-Za-z]+"
        for expression in (*_SIMPLE, *_of_one_length(texts)):
            if all(re.fullmatch(expression, text, re.ASCII) for text in texts):
                return expression
        if all(re.fullmatch(_NAME, text) and _has_digit(text) for text in texts):
            return _NAME
    any_character = r"[\s\S]" if any("\n" in text for text in texts) else "."
    return f"{any_character}{'+' if all(texts) else '*'}?"


def is_loose(expression: str) -> bool:
    """Whether an expression says nothing about what it stands for."""
    return expression in _LOOSE


def _of_one_length(texts: Sequence[str]) -> list[str]:
    length = len(texts[0])
    is_mixed = any(map(_has_digit, texts)) and any(map(_has_letter, texts))
    if length < _LEAST_HEX or not is_mixed:
        return []
    return [f"{digits}{{{length}}}" for digits in _DIGITS]


def _has_digit(text: str) -> bool:
    return re.search("[0-9]", text) is not None


def _has_letter(text: str) -> bool:
    return re.search("[A-Za-z]", text) is not None
