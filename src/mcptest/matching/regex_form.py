"""Regular expressions as authors of this format write them, for Python's engine.

Suites come from the JavaScript world, where a named group is ``(?<name>…)`` and
a reference to it ``\\k<name>``.
"""

from __future__ import annotations

import re

__all__ = ["python_regex"]

_ESCAPE_OR_GROUP = re.compile(r"\\k<(?P<back>\w+)>|\\.|\(\?<(?P<group>[^\W\d]\w*)>", re.DOTALL)


def python_regex(source: str) -> str:
    """The same expression in Python's spelling."""

    def respell(found: re.Match[str]) -> str:
        if found["back"]:
            return f"(?P={found['back']})"
        return f"(?P<{found['group']}>" if found["group"] else found[0]

    return _ESCAPE_OR_GROUP.sub(respell, source)
