"""The syntax of URIs, URI templates, URLs, base64, media types and dates.

The strings come from servers: each check takes time in proportion to their length.
"""

from __future__ import annotations

import binascii
import re

from mcptest.rules.rule import show

__all__ = [
    "base64_fault",
    "is_iso_date",
    "is_media_type",
    "is_url",
    "template_fault",
    "uri_fault",
]

_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
_DIGITS = "0123456789"

# base64, media types and dates

_ALPHABET = frozenset(_LETTERS + _DIGITS + "+/")
_TOKEN = frozenset(_LETTERS + _DIGITS + "!#$%&'*+-.^_`|~")


def base64_fault(text: str) -> str:
    """Why a string is not base64 (RFC 4648, section 4), "" when it is. The empty string is."""
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
        return "it is a data: URL, of which only the part after the comma is wanted"
    body = text.rstrip("=")
    odd = set(body) - _ALPHABET
    if odd:
        least = min(odd)
        hint = "; that is the alphabet for URLs" if least in "-_" else ""
        return f"it has the character {show(least)}{hint}"
    padding, wanted = len(text) - len(body), -len(body) % 4
    if wanted == 3:
        return "its last character has no meaning"
    return f"it must end in {wanted} of the padding (=) and ends in {padding}"


def is_media_type(text: str) -> bool:
    """True if a string is a media type such as `image/png`, with or without parameters."""
    kind, slash, subtype = text.partition(";")[0].strip().partition("/")
    return bool(slash and kind and subtype) and _TOKEN.issuperset(kind + subtype)


_DAY = r"-?(0[1-9]|1[0-2])(-?(0[1-9]|[12]\d|3[01]))?|-?W[0-5]\d(-?[1-7])?|-?[0-3]\d\d"
_CLOCK = r"([01]\d|2[0-4])(:?[0-5]\d(:?([0-5]\d|60))?)?([.,]\d{1,20})?"
_ISO_DATE = rf"\d{{4}}({_DAY})?([T ]{_CLOCK}(Z|[+-]\d\d(:?\d\d)?)?)?"


def is_iso_date(text: str) -> bool:
    """True if a string is a date, or a date and a time, by ISO 8601."""
    return re.fullmatch(_ISO_DATE, text, re.ASCII | re.IGNORECASE) is not None


# URIs and URI templates

_SCHEME = frozenset(_LETTERS + _DIGITS + "+-.")
_IN_URIS = frozenset(_LETTERS + _DIGITS + "-._~:/?#[]@!$&'()*+,;=%")
_IN_NAMES = frozenset(_LETTERS + _DIGITS + "_.%")
_NOT_IN_TEMPLATES = frozenset(map(chr, range(0x20))) | frozenset(' "<>\\^`|\x7f}')
# A user, a host or an address in brackets, a port.
_AUTHORITY = r"(?:[^@\[\]]*@)?(?:\[[^@\[\]]*\]|[^:@\[\]]*)(?::[0-9]*)?"
_OPERATORS = tuple("+#./;?&=,!@|")


def uri_fault(text: str) -> str:
    """Why a string is not a URI with a scheme, "" when it is. It may have a fragment."""
    scheme, colon, rest = text.partition(":")
    if not colon or scheme[:1] not in _LETTERS or not scheme or not _SCHEME.issuperset(scheme):
        return "it does not begin with a scheme, such as file:"
    odd = set(rest) - _IN_URIS
    if odd:
        return f"{show(min(odd))} must be written with %"
    if rest.count("#") > 1:
        return "it has more than one #"
    return _percent_fault(rest) or _authority_fault(rest)


def _percent_fault(text: str) -> str:
    bad = re.search("%(?![0-9A-Fa-f]{2})", text)
    if bad is None:
        return ""
    return f"two hexadecimal digits must follow %, not {show(text[bad.end() : bad.end() + 2])}"


def _authority_fault(rest: str) -> str:
    authority = ""
    if rest.startswith("//"):
        authority = re.split("[/?#]", rest[2:], maxsplit=1)[0]
        rest = rest[2 + len(authority) :]
    if "[" in rest or "]" in rest:
        return "[ and ] must be written with %"
    return "" if re.fullmatch(_AUTHORITY, authority) else f"{show(authority)} is not a host"


def template_fault(text: str) -> str:
    """Why a string is not a URI template (RFC 6570), "" when it is."""
    at = 0
    while at < len(text):
        start = text.find("{", at)
        literal = text[at:] if start < 0 else text[at:start]
        odd = _NOT_IN_TEMPLATES.intersection(literal)
        if odd:
            return f"{show(min(odd))} is not allowed outside of an expression"
        fault = _percent_fault(literal)
        if fault or start < 0:
            return fault
        end = text.find("}", start)
        if end < 0:
            return f"the {{ at character {start + 1} is never closed"
        fault = _expression_fault(text[start + 1 : end])
        if fault:
            return fault
        at = end + 1
    return ""


def _expression_fault(expression: str) -> str:
    names = expression[1:] if expression.startswith(_OPERATORS) else expression
    for variable in names.split(","):
        name, colon, length = variable.removesuffix("*").partition(":")
        parts = name.split(".")
        if not all(parts) or not _IN_NAMES.issuperset(name) or _percent_fault(name):
            return f"{show(name)} is not the name of a variable"
        is_length = length.isdecimal() and length[0] != "0" and len(length) <= 4
        if colon and (not is_length or not length.isascii() or variable[-1] == "*"):
            return f"{show(variable)} must end in a length of 1 to 9999"
    return ""


# URLs


def is_url(text: str) -> bool:
    """True if a string has a scheme and something after it, and only characters of URLs."""
    scheme, colon, rest = text.partition("#")[0].partition("?")[0].partition(":")
    scheme = scheme.lower()
    if not colon or not scheme[:1].isalpha() or not scheme.isascii():
        return False
    if not all(char.isalnum() or char in "+-." for char in scheme):
        return False
    if any(char.isspace() or not char.isprintable() for char in text):
        return False
    if scheme in ("http", "https"):
        authority = rest[2:].partition("/")[0] if rest.startswith("//") else ""
        host = authority.rpartition("@")[2]
        return bool(host) and not host.startswith(":")
    return rest not in ("", "//")
