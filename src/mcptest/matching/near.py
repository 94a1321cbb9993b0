"""Texts that are nearly what was wanted, and in what they differ."""

from __future__ import annotations

from mcptest.core.visible import is_plain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["nearly"]

# Looking at every character of a text that is longer than this helps nobody.
_MAX_CHARS = 20_000


def nearly(wanted: str, text: str, test: Callable[[str, str], bool]) -> str:
    """How `test(text, wanted)` could hold after all: a hint, or ""."""
    if max(len(wanted), len(text)) > _MAX_CHARS:
        return ""
    for even, hint in _WAYS:
        evened = even(wanted)
        # Where nothing is left to look for, everything holds.
        if (evened or not wanted) and test(even(text), evened):
            return hint + (_apart(wanted, text) if even is _seen else "")
    return ""


# So many characters may be written in another way at one place.
_MAX_APART = 8


def _apart(wanted: str, text: str) -> str:
    """The first code points in which two texts differ that look the same."""
    if _seen(wanted) != _seen(text):
        # One of them is only a part of the other, and nobody knows which part.
        return ""
    pairs = enumerate(zip(wanted, text, strict=False))
    start = next((at for at, (one, other) in pairs if one != other), min(len(wanted), len(text)))
    left, right = wanted[start:], text[start:]
    sizes = ((size - more, more) for size in range(1, 2 * _MAX_APART) for more in range(size + 1))
    for mine, other in sizes:
        is_same_after = left[mine : mine + 1] == right[other : other + 1]
        if is_same_after and _seen(left[:mine]) == _seen(right[:other]):
            return f": {_code_points(left[:mine])} against {_code_points(right[:other])}"
    return f": {_code_points(left[:1])} against {_code_points(right[:1])}"


def _code_points(chars: str) -> str:
    return " ".join(f"U+{ord(char):04X}" for char in chars) or "nothing"


def _spaced(text: str) -> str:
    return " ".join(text.split())


def _seen(text: str) -> str:
    """Only what is seen of a text, in one spelling of it."""
    if text.isascii() and text.isprintable():
        return text
    # Only a failing test needs these tables.
    import unicodedata  # noqa: PLC0415

    plain = "".join(char if is_plain(char) or char in "\n\t" else "" for char in text)
    return unicodedata.normalize("NFC", plain)


def _straight(text: str) -> str:
    return text.translate(_TYPEWRITTEN)


_TYPEWRITTEN = str.maketrans("‘’‚“”„‐‑–—−", "''‚\"\"„-----")

_WAYS: tuple[tuple[Callable[[str], str], str], ...] = (
    (str.casefold, "differs only in case"),
    (_spaced, "differs only in white space"),
    (lambda text: "".join(text.split()), "differs only in white space"),
    (_seen, "differs only in characters that cannot be seen"),
    (_straight, "differs only in the kind of quotes or dashes"),
    (lambda text: _spaced(_seen(text).casefold()), "differs only in case and white space"),
)
