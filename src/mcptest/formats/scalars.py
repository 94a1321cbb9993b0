"""What an unquoted word of YAML means: the core schema of YAML 1.2, and nothing else.

The text of a plain scalar goes in; None, a bool, an int, a float or the text itself
comes out. `yes`, `no`, `on`, dates, `1:30` and `1_000` are text, as in YAML 1.2.
Numbers that JSON cannot carry raise ValueError with a sentence that says why. Where
the text stood, and whether it was quoted, is the readers' business.
"""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    Scalar = None | bool | int | float | str

__all__ = ["KNOWN_TAGS", "MAX_DIGITS", "resolve_as", "resolve_plain"]

# Python itself refuses to print or parse longer ones (4,300 digits by default).
MAX_DIGITS = 4300

_WORDS: dict[str, bool | None] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
# Compiled by `re` on first use: most files need few of them, and start-up counts.
_DECIMAL = r"[-+]?[0-9]+"
_OCTAL = r"0o[0-7]+"
_HEXADECIMAL = r"0x[0-9a-fA-F]+"
_FLOAT = r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?"
_NOT_FINITE = r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)"
_NUMBER_STARTS = frozenset("-+.0123456789")


def resolve_plain(text: str) -> Scalar:
    """The value of an unquoted scalar; ValueError when JSON cannot carry it."""
    if text[:1] in _NUMBER_STARTS and text:
        # Most numbers are short and plain, and need no pattern to be compiled.
        if len(text) < 10 and text.isdecimal() and text.isascii():
            return int(text)
        if (number := _int_of(text)) is not None:
            return number
        if (real := _float_of(text)) is not None:
            return real
        return text
    return _WORDS.get(text, text)


def _int_of(text: str) -> int | None:
    if re.fullmatch(_DECIMAL, text):
        if len(text.lstrip("+-")) > MAX_DIGITS:
            raise ValueError(_too_long(text))
        return int(text)
    for pattern, base in ((_OCTAL, 8), (_HEXADECIMAL, 16)):
        if re.fullmatch(pattern, text):
            value = int(text[2:], base)
            # 16 ** 3225 is below 10 ** 4300: only long texts need the exact comparison.
            if len(text) > MAX_DIGITS * 3 // 4 and value >= 10**MAX_DIGITS:
                raise ValueError(_too_long(text))
            return value
    return None


def _float_of(text: str) -> float | None:
    if re.fullmatch(_NOT_FINITE, text):
        raise ValueError(f"{text} is not a number that JSON can carry")
    if not re.fullmatch(_FLOAT, text):
        return None
    if len(text) > MAX_DIGITS:
        raise ValueError(_too_long(text))
    value = float(text)
    if value in (float("inf"), float("-inf")):
        raise ValueError(f"{text[:40]} is too large for a JSON number")
    return value


def _too_long(text: str) -> str:
    return f"the number {text[:12]}… has more than {MAX_DIGITS:,} digits"


def _as_int(text: str) -> int:
    value = _int_of(text)
    if value is None:
        raise ValueError(f'"{text[:40]}" is not an integer')
    return value


def _as_float(text: str) -> float:
    value = _float_of(text)
    if value is None:
        raise ValueError(f'"{text[:40]}" is not a number')
    return value


def _as_bool(text: str) -> bool:
    value = _WORDS.get(text)
    if value is None:
        raise ValueError(f'"{text[:40]}" is neither true nor false')
    return value


def _as_null(text: str) -> None:
    if _WORDS.get(text, text) is not None:
        raise ValueError(f'"{text[:40]}" is not null')


KNOWN_TAGS: dict[str, Callable[[str], Scalar]] = {
    "str": str,
    "int": _as_int,
    "float": _as_float,
    "bool": _as_bool,
    "null": _as_null,
}


def resolve_as(kind: str, text: str) -> Scalar:
    """The value of a scalar tagged `!!kind`; ValueError when the text is not of that kind."""
    return KNOWN_TAGS[kind](text)
