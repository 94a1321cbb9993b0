"""Whether an address could have been made from a URI template.

Both come from outside, so no regular expression is made of them: looking takes no longer than
the two are long.
"""

from __future__ import annotations

import re

__all__ = ["is_made_from"]

# A variable that begins or ends like this may stand for several pieces of a path.
_WIDE = frozenset("+#/?&*")


def is_made_from(uri: str, template: str) -> bool:
    """Roughly: a plain variable is one piece of a path, and literal text stands as it is."""
    literals = re.split(r"\{[^{}]*\}", template)
    variables = re.findall(r"\{([^{}]*)\}", template)
    if not variables:
        return uri == template
    if not uri.startswith(literals[0]):
        return False
    at = len(literals[0])
    for number, (variable, literal) in enumerate(zip(variables, literals[1:], strict=True), 1):
        is_last = number == len(variables)
        found = len(uri) - len(literal) if is_last else uri.find(literal, at)
        if found < at or not uri.startswith(literal, found):
            return False
        is_wide = variable[:1] in _WIDE or variable.endswith("*")
        if "/" in uri[at:found] and not is_wide:
            return False
        at = found + len(literal)
    return at == len(uri)
