"""What stands under `snapshot` in a suite: true, a name, or a mapping of options."""

from __future__ import annotations

import re

from mcptest.core.paths import EVERY
from mcptest.core.suggest import closest
from mcptest.core.visible import visible
from mcptest.matching.normalising import Replacement, Rules
from mcptest.matching.regex_form import compile_expression
from mcptest.matching.registry import BadExpressionError, ParameterError
from mcptest.matching.values import a_type

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcptest.matching.normalising import Steps

__all__ = ["read_options"]

_KEYS = ("name", "ignore", "normalize")
_REPLACEMENT_KEYS = ("pattern", "as")
_EXAMPLE = 'for example snapshot: {ignore: ["meta.took"], normalize: [{pattern: "v\\d+", as: v}]}'


def read_options(options: object) -> tuple[str, Rules]:
    """The name, "" when none is given, and the rules. ParameterError says what is wrong."""
    if options is True:
        return "", Rules()
    if isinstance(options, str):
        return _a_name(options), Rules()
    if options is False:
        raise ParameterError("is never false", "leave it out, or write snapshot: true")
    if not isinstance(options, dict):
        takes = "takes true, the name of a snapshot or a mapping"
        raise ParameterError(f"{takes}, not {a_type(options)}", _EXAMPLE)
    _refuse_unknown(options, _KEYS, "has no option")
    name = _a_name(options["name"]) if "name" in options else ""
    ignored = tuple(map(_a_path, _a_list(options, "ignore")))
    replaced = tuple(map(_a_replacement, _a_list(options, "normalize")))
    return name, Rules(ignored=ignored, replaced=replaced)


def _refuse_unknown(mapping: dict[str, object], known: Sequence[str], message: str) -> None:
    for key in mapping:
        if key not in known:
            meant = closest(key, known)
            question = f"; did you mean {meant!r}?" if meant else ""
            help = f"there are: {', '.join(known)}"
            raise ParameterError(f"{message} {visible(key)!r}{question}", help)


def _a_name(name: object) -> str:
    if not isinstance(name, str) or not name.strip():
        shown = "an empty text" if isinstance(name, str) else a_type(name)
        raise ParameterError(f"needs a text as the name of the snapshot, not {shown}", _EXAMPLE)
    return name


def _a_list(options: dict[str, object], key: str) -> list[object]:
    value = options.get(key, [])
    if not isinstance(value, list):
        raise ParameterError(f'takes a list under "{key}", not {a_type(value)}', _EXAMPLE)
    return value


# Dots, numbers and stars in brackets, and keys in quotes, as in a target.
_STEP = re.compile(
    r"""\[(?P<index>\d{1,9})\]|(?P<every>\[\*\]|(?:^|\.)\*(?=[.\[]|$))"""
    r"""|\[(?P<quote>["'])(?P<quoted>(?:[^"'\\]|\\.|(?!(?P=quote))["'])*+)(?P=quote)\]"""
    r"""|(?:^|\.)(?P<word>[^.\[\]]++)"""
)


def _a_path(path: object) -> Steps:
    if not isinstance(path, str) or not path:
        shown = "an empty text" if path == "" else a_type(path)
        raise ParameterError(f'takes paths under "ignore", not {shown}', _EXAMPLE)
    steps: list[str | int] = []
    at = 0
    while at < len(path):
        found = _STEP.match(path, at)
        if found is None:
            message = f'cannot read the path {visible(path)!r} under "ignore"'
            raise ParameterError(message, 'write it like result.items[*].id or meta["a key"]')
        at = found.end()
        if found["every"]:
            steps.append(EVERY)
        elif found["index"]:
            steps.append(int(found["index"]))
        elif found["quoted"] is not None:
            steps.append(re.sub(r"\\(.)", r"\1", found["quoted"], flags=re.DOTALL))
        else:
            steps.append(found["word"])
    return tuple(steps)


def _a_replacement(entry: object) -> Replacement:
    if not isinstance(entry, dict):
        message = f'takes mappings under "normalize", not {a_type(entry)}'
        raise ParameterError(message, _EXAMPLE)
    _refuse_unknown(entry, _REPLACEMENT_KEYS, 'takes "pattern" and "as" under "normalize", not')
    for key in _REPLACEMENT_KEYS:
        if not isinstance(entry.get(key), str):
            seen = f"it is {a_type(entry[key])}" if key in entry else "it is missing"
            raise ParameterError(f'needs a text as "{key}" under "normalize"; {seen}', _EXAMPLE)
    source = entry["pattern"]
    try:
        expression = compile_expression(source)
    except ValueError as error:
        raise BadExpressionError(f"has a pattern {visible(source)!r} that {error}") from None
    if expression.compiled.search(""):
        help = "let it match at least one character"
        raise ParameterError(f"has a pattern {visible(source)!r} that matches nothing at all", help)
    return Replacement(expression=expression, text=entry["as"])
