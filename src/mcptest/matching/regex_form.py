"""Regular expressions as authors of this format write them, for Python's engine.

Suites come from the JavaScript world, where a named group is ``(?<name>…)`` and
a reference to it ``\\k<name>``.
"""

from __future__ import annotations

import re
import warnings

__all__ = ["compile_regex", "python_regex"]

_ESCAPE_OR_GROUP = r"(?s)\\k<(?P<back>\w+)>|\\.|\(\?<(?P<group>[^\W\d]\w*)>"


def compile_regex(source: str, flags: int = 0) -> re.Pattern[str]:
    """The expression, ready to search with. ValueError says why it is none."""
    with warnings.catch_warnings():
        # Python warns of syntax it may give another meaning one day; the author cannot care.
        warnings.simplefilter("ignore")
        try:
            return re.compile(python_regex(source), flags)
        except (re.error, OverflowError) as error:
            raise ValueError(f"is not a regular expression: {error}") from None
        except RecursionError:
            raise ValueError("is not a regular expression: nested too deeply") from None


def python_regex(source: str) -> str:
    """The same expression in Python's spelling."""

    def respell(found: re.Match[str]) -> str:
        if found["back"]:
            return f"(?P={found['back']})"
        return f"(?P<{found['group']}>" if found["group"] else found[0]

    return re.sub(_ESCAPE_OR_GROUP, respell, source)
