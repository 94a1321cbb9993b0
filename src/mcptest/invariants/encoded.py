"""Whether bytes in a text are base64, and whether a media type is one."""

from __future__ import annotations

import binascii

from mcptest.invariants.wording import shown

__all__ = ["base64_fault", "is_media_type"]

_LETTERS = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
_ALPHABET = frozenset(_LETTERS + "+/")
_TOKEN = frozenset(_LETTERS + "!#$%&'*+-.^_`|~")


def base64_fault(text: str) -> str:
    """Why a text is not base64 (RFC 4648, section 4), "" when it is. Nothing at all is base64."""
    # Not every version of Python minds padding that is not needed.
    if len(text) % 4 or text.endswith("==="):
        return _explained(text)
    try:
        binascii.a2b_base64(text, strict_mode=True)
    except ValueError:
        return _explained(text)
    return ""


def _explained(text: str) -> str:
    if text.startswith("data:"):
        return "it is a data: address, of which only the part after the comma is wanted"
    body = text.rstrip("=")
    odd = set(body) - _ALPHABET
    if odd:
        least = min(odd)
        hint = "; that is the alphabet for URLs" if least in "-_" else ""
        return f"{shown(least)} stands in it{hint}"
    padding, wanted = len(text) - len(body), -len(body) % 4
    if wanted == 3:
        return "its last character stands for nothing"
    return f"it must end in {wanted} of the padding (=) and ends in {padding}"


def is_media_type(text: str) -> bool:
    """Whether a text is a media type such as `image/png`, with or without parameters."""
    kind, slash, subtype = text.partition(";")[0].strip().partition("/")
    return bool(slash and kind and subtype) and _TOKEN.issuperset(kind + subtype)
