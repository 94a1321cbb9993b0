"""The notifications that a test waits for, in either format.

A Conductor file names them in their order, and others may come in between. A suite looks at the
list of all that came.
"""

from __future__ import annotations

import re

from mcptest.matching.patterns import PREFIX
from mcptest.migrate.element_schemas import schema_of
from mcptest.migrate.remarks import LeftBehindError
from mcptest.migrate.shapes import directives_in, is_plain
from mcptest.migrate.tag_words import regex_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mcptest.migrate.answers import Assertion
    from mcptest.migrate.pattern_words import Matcher

__all__ = ["notice_assertion", "notice_wishes"]

_METHODS = "notifications[*].method"
_ALL = "notifications"
_CONTAINS = "arrayContains:"
# A method in a list of methods that is written as JSON; nothing in it needs an escape.
_METHOD = r"[A-Za-z0-9_$/.-]+"
_BETWEEN = ".*"


def notice_assertion(wanted: list[object]) -> Assertion:
    """The assertion for the notifications that a Conductor file waits for."""
    methods = [each for each in wanted if isinstance(each, str) and re.fullmatch(_METHOD, each)]
    if methods == wanted and len(methods) == 1:
        return _assertion(_METHODS, {"pattern": f"{_CONTAINS}{methods[0]}"})
    if methods == wanted:
        # The list is searched as JSON, in which each method stands between quotes.
        expression = _BETWEEN.join(f'"{regex_text(method)}"' for method in methods)
        return _assertion(_METHODS, {"regex": expression})
    if len(wanted) > 1:
        reason = "the order of notifications is known to a suite by their methods only"
        raise LeftBehindError(reason)
    return _assertion(_ALL, _of_message(wanted[0]))


def _of_message(wanted: object) -> Matcher:
    if not isinstance(wanted, dict):
        raise LeftBehindError("a method that is a pattern cannot be looked for among notifications")
    whole = wanted if directives_in(wanted) else {"jsonrpc": "2.0", **wanted}
    return {"contains": whole} if is_plain(whole) else _some(schema_of(whole))


def _some(schema: dict[str, object]) -> Matcher:
    return {"schema": {"type": "array", "contains": schema}}


def _assertion(target: str, matcher: Matcher) -> Assertion:
    return {"target": target, "matcher": matcher}


def notice_wishes(target: str, matcher: Matcher) -> list[object]:
    """The notifications to wait for, for an assertion about them."""
    word, value = next(iter(matcher.items()))
    text = value if isinstance(value, str) else ""
    if len(matcher) == 1 and target == _METHODS:
        if word == "pattern" and text.removeprefix(PREFIX).startswith(_CONTAINS):
            method = text.removeprefix(PREFIX).removeprefix(_CONTAINS)
            if re.fullmatch(_METHOD, method):
                return [method]
        if word == "regex" and (methods := _methods_in(text)):
            return methods
    is_message = len(matcher) == 1 and target == _ALL and word == "contains"
    if is_message and isinstance(value, dict) and value.get("jsonrpc") == "2.0":
        return [value]
    raise LeftBehindError("a Conductor file names the notifications that must come, and no more")


def _methods_in(expression: str) -> list[object]:
    """The methods that an expression of ours looks for; none when it is another one."""
    quoted = [part[1:-1].replace("\\", "") for part in expression.split(_BETWEEN)]
    ours = _BETWEEN.join(f'"{regex_text(method)}"' for method in quoted)
    is_ours = ours == expression and all(re.fullmatch(_METHOD, method) for method in quoted)
    return list(quoted) if is_ours else []
