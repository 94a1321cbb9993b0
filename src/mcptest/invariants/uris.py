"""Whether a text is a URI (RFC 3986) or a URI template (RFC 6570).

Both come from servers: looking takes no longer than they are long.
"""

from __future__ import annotations

import re

from mcptest.invariants.wording import shown

__all__ = ["template_fault", "uri_fault"]

_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
_DIGITS = "0123456789"
_SCHEME = frozenset(_LETTERS + _DIGITS + "+-.")
_IN_URIS = frozenset(_LETTERS + _DIGITS + "-._~:/?#[]@!$&'()*+,;=%")
_IN_NAMES = frozenset(_LETTERS + _DIGITS + "_.%")
_NOT_IN_TEMPLATES = frozenset(map(chr, range(0x20))) | frozenset(' "<>\\^`|\x7f}')
# A user, a host or an address in brackets, a port.
_AUTHORITY = r"(?:[^@\[\]]*@)?(?:\[[^@\[\]]*\]|[^:@\[\]]*)(?::[0-9]*)?"
_OPERATORS = tuple("+#./;?&=,!@|")


def uri_fault(text: str) -> str:
    """Why a text is no URI with a scheme, "" when it is one. It may have a fragment."""
    scheme, colon, rest = text.partition(":")
    if not colon or scheme[:1] not in _LETTERS or not scheme or not _SCHEME.issuperset(scheme):
        return "it does not begin with a scheme, such as file:"
    odd = set(rest) - _IN_URIS
    if odd:
        return f"{shown(min(odd))} must be written with %"
    if rest.count("#") > 1:
        return "it has more than one #"
    return _percent_fault(rest) or _authority_fault(rest)


def _percent_fault(text: str) -> str:
    bad = re.search("%(?![0-9A-Fa-f]{2})", text)
    if bad is None:
        return ""
    return f"two hexadecimal digits must follow %, not {shown(text[bad.end() : bad.end() + 2])}"


def _authority_fault(rest: str) -> str:
    authority = ""
    if rest.startswith("//"):
        authority = re.split("[/?#]", rest[2:], maxsplit=1)[0]
        rest = rest[2 + len(authority) :]
    if "[" in rest or "]" in rest:
        return "[ and ] must be written with %"
    return "" if re.fullmatch(_AUTHORITY, authority) else f"{shown(authority)} is no host"


def template_fault(text: str) -> str:
    """Why a text is no URI template, "" when it is one."""
    at = 0
    while at < len(text):
        start = text.find("{", at)
        literal = text[at:] if start < 0 else text[at:start]
        odd = _NOT_IN_TEMPLATES.intersection(literal)
        if odd:
            return f"{shown(min(odd))} stands outside of an expression"
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
            return f"{shown(name)} is no name of a variable"
        is_length = length.isdecimal() and length[0] != "0" and len(length) <= 4
        if colon and (not is_length or not length.isascii() or variable[-1] == "*"):
            return f"{shown(variable)} must end in a length of 1 to 9999"
    return ""
