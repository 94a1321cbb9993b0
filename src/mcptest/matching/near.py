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
            return hint
    return ""


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
