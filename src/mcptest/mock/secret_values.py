"""Secrets: never told in an answer or a report, and open where a contract has blanked them out.

Whoever calls with a password must not find it in a log because the rest of the call was wrong.
And a contract that was made of a recording has a word in place of each secret: there, the
client's own is as good.
"""

from __future__ import annotations

import re

from mcptest.core.record import ABSENT
from mcptest.core.secrets import BLANK, is_secret, names_secret
from mcptest.matching.tags import read_tag

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from mcptest.core.outcome import Mismatch

__all__ = ["HIDDEN", "hidden", "hidden_difference", "hidden_line", "with_open_blanks"]

HIDDEN = "(hidden)"

_SCHEMES = ("Bearer ", "Basic ")

# What a difference may say without quoting anything.
_PLAIN = frozenset(["differs", "is missing", "is not expected"])

# What `mcptest cases` and captures have in place of a secret.
_BLANKED = re.compile(f"REDACTED|{re.escape(BLANK)}")
_ANY = read_tag("any", "")

# What a report tells


def hidden(value: Any, key: str = "") -> Any:
    """The value, which stands under `key`, without the secrets in it."""
    if _is_secret(key, value):
        return HIDDEN
    if isinstance(value, dict):
        return {name: hidden(inner, name) for name, inner in value.items()}
    if isinstance(value, list):
        return [hidden(inner, key) for inner in value]
    return value


def hidden_difference(difference: Mismatch) -> Mismatch:
    """The difference without secrets, on either side: what was expected may be the client's."""
    steps = re.findall(r'[^.\[\]"]+', difference.path) or [""]
    expected = _hidden_at(steps, difference.expected)
    actual = _hidden_at(steps, difference.actual)
    if expected is difference.expected and actual is difference.actual:
        return difference
    message = difference.message if difference.message in _PLAIN else "differs"
    return difference.but(expected=expected, actual=actual, message=message, hint="")


def hidden_line(text: str) -> str:
    """A line that is no message, or HIDDEN when a secret may stand in it."""
    is_open = not names_secret(text) and not any(scheme in text for scheme in _SCHEMES)
    return text if is_open and "token" not in text.lower() else HIDDEN


def _hidden_at(steps: list[str], value: object) -> object:
    if any(_is_secret(step, value) for step in steps):
        return HIDDEN
    found = hidden(value)
    return value if found == value else found


def _is_secret(key: str, value: object) -> bool:
    if isinstance(value, str) and value.startswith(_SCHEMES):
        return True
    return value is not ABSENT and is_secret(key, value)


# What a contract leaves open


def with_open_blanks(value: Any) -> Any:
    """The value with a pattern wherever a secret was blanked out: anything may stand there."""
    if isinstance(value, dict):
        return {key: with_open_blanks(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [with_open_blanks(inner) for inner in value]
    if not isinstance(value, str) or not _BLANKED.search(value):
        return value
    around = _BLANKED.split(value)
    if not any(around):
        return _ANY
    return read_tag("re", "^" + r"[\s\S]*".join(map(re.escape, around)) + "$")
