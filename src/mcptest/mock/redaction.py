"""Values as error answers and reports show them: without secrets, as JSON, and not too long.

A client that calls with a password must not find it in a log because the rest of the call was
wrong.
"""

from __future__ import annotations

import re

from mcptest.core.record import ABSENT
from mcptest.core.secrets import is_secret, names_secret
from mcptest.core.strict_json import dump_json
from mcptest.core.text import show_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from mcptest.core.results import Mismatch

__all__ = [
    "HIDDEN",
    "hide_mismatch_secrets",
    "hide_secrets",
    "redact_line",
    "render_mismatch",
    "reportable",
]

HIDDEN = "(hidden)"

_SCHEMES = ("Bearer ", "Basic ")

# Messages that quote no value.
_PLAIN = frozenset(["differs", "is missing", "is not expected"])

_MAX_VALUE_CHARS = 2_000


def hide_secrets(value: Any, key: str = "") -> Any:
    """Replace the secrets in the value of `key`."""
    if _is_secret(key, value):
        return HIDDEN
    if isinstance(value, dict):
        return {name: hide_secrets(inner, name) for name, inner in value.items()}
    if isinstance(value, list):
        return [hide_secrets(inner, key) for inner in value]
    return value


def hide_mismatch_secrets(mismatch: Mismatch) -> Mismatch:
    """Replace secrets on both sides: the expected value may have come from the client too."""
    steps = re.findall(r'[^.\[\]"]+', mismatch.path) or [""]

    def hide(value: object) -> object:
        if any(_is_secret(step, value) for step in steps):
            return HIDDEN
        found = hide_secrets(value)
        return value if found == value else found

    expected, actual = hide(mismatch.expected), hide(mismatch.actual)
    if expected is mismatch.expected and actual is mismatch.actual:
        return mismatch
    message = mismatch.message if mismatch.message in _PLAIN else "differs"
    return mismatch.but(expected=expected, actual=actual, message=message, hint="")


def redact_line(text: str) -> str:
    """A line that is not a message, or HIDDEN if it may contain a secret."""
    is_open = not names_secret(text) and not any(scheme in text for scheme in _SCHEMES)
    return text if is_open and "token" not in text.lower() else HIDDEN


def _is_secret(key: str, value: object) -> bool:
    if isinstance(value, str) and value.startswith(_SCHEMES):
        return True
    return value is not ABSENT and is_secret(key, value)


def render_mismatch(mismatch: Mismatch) -> dict[str, object]:
    """The members of a mismatch in reports and error answers; an absent value is null."""
    mismatch = hide_mismatch_secrets(mismatch)
    return {
        "path": mismatch.path,
        "expected": reportable(mismatch.expected),
        "actual": reportable(mismatch.actual),
        "message": mismatch.message + (f" ({mismatch.hint})" if mismatch.hint else ""),
    }


def reportable(value: object) -> object:
    """The value if it is short JSON, otherwise the beginning of its text; null if absent."""
    if value is ABSENT:
        return None
    try:
        is_short = len(dump_json(value)) <= _MAX_VALUE_CHARS
    except (TypeError, ValueError):
        # YAML has values that JSON does not: .nan, .inf, dates.
        is_short = False
    return value if is_short else show_json(value, _MAX_VALUE_CHARS)
