"""The tags of case files: `!!re`, `!!ere`, `!!any`, `!!type`, `!!bind` and `!!ref`.

A tag and its text go in; a `Pattern` that compares like any other comes out, or a `Ref` that
must be filled first. `!!bind` is a pattern that every value meets: what was there is pulled
out of the message by whoever compares it.
"""

from __future__ import annotations

import re

from mcptest.core.dialogue import Ref
from mcptest.matching.patterns import Pattern
from mcptest.matching.regex_form import compile_expression
from mcptest.matching.registry import BadExpressionError, Matcher, Miss, ParameterError
from mcptest.matching.value_matchers import VALUE_MATCHERS
from mcptest.matching.values import a_type

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mcptest.matching.regex_form import Expression

__all__ = ["TAGS", "TAG_NAMES", "bound_name", "literal_parts", "read_tag"]

_NAME = r"[A-Za-z_][A-Za-z0-9_.-]*"


def read_tag(name: str, text: str) -> Pattern | Ref:
    """What a tag with this text stands for. ParameterError says what is wrong with it."""
    if name == "ref":
        return Ref(name=_name(text))
    matcher = TAGS[name]
    source = f"!!{name} {text}" if text else f"!!{name}"
    return Pattern(source=source, matcher=matcher, parameter=matcher.parse(text), negated=False)


def bound_name(value: object) -> str:
    """The name under which what stands here is kept, "" when it is not."""
    return value.parameter if isinstance(value, Pattern) and value.matcher is _BIND else ""


def literal_parts(text: str) -> list[str]:
    """The pieces of an `!!ere` text: literal, expression, literal, … with `\\/` made a slash."""
    pieces = re.split(r"(?<!\\)((?:\\\\)*)/", text)
    # A pair of backslashes before a slash belongs to the piece that it ends.
    joined = [pieces[at] + "".join(pieces[at + 1 : at + 2]) for at in range(0, len(pieces), 2)]
    return [piece.replace("\\/", "/") for piece in joined]


def _name(text: str) -> str:
    if not text:
        raise ParameterError("needs a name")
    if not re.fullmatch(_NAME, text):
        raise ParameterError("takes a name of letters, digits, _, . and -, not first a digit")
    return text


def _nothing(text: str) -> None:
    if text:
        raise ParameterError("takes nothing: it stands for any value")


def _searched(text: str) -> Expression:
    if not text:
        raise BadExpressionError("needs a regular expression: without one it would always hold")
    return _compiled(text)


def _compiled(text: str) -> Expression:
    try:
        return compile_expression(text)
    except ValueError as error:
        raise BadExpressionError(str(error)) from None


def _whole(text: str) -> Expression:
    parts = literal_parts(text)
    if len(parts) % 2 == 0:
        raise BadExpressionError(
            "has a slash that no other one closes; write \\/ for a slash, in single quotes"
        )
    for expression in parts[1::2]:
        _searched(expression)
    spelt = [f"(?:{each})" if at % 2 else re.escape(each) for at, each in enumerate(parts)]
    return _compiled("^" + "".join(spelt) + "$").but(source=text)


def _found(expression: Expression, actual: object) -> Miss | None:
    if not isinstance(actual, str):
        return Miss(why=f"it is {a_type(actual)}")
    return None if expression.compiled.search(actual) else Miss(why="it does not match")


_TYPE = next(matcher for matcher in VALUE_MATCHERS if matcher.name == "type")

_ANY = Matcher(
    name="any",
    family="Tags",
    summary="Any value, as long as there is one; null is one.",
    example="!!any",
    passes=("", None),
    fails=(),
    parse=_nothing,
    wants=lambda _: "any value",
    check=lambda _, __: None,
)

_BIND = _ANY.but(
    name="bind",
    parameters=("NAME",),
    summary="Any value; it is kept under NAME, for `!!ref` further down in the file.",
    example="!!bind session",
    parse=_name,
)

_RE = Matcher(
    name="re",
    family="Tags",
    parameters=("R",),
    summary="Text in which the regular expression R is found.",
    example=r"!!re '^v\d+'",
    passes=("v12",),
    fails=("12", 12),
    parse=_searched,
    wants=lambda expression: f"text that matches /{expression.source}/",
    check=_found,
    kinds=("string",),
    is_slow=True,
)

_ERE = _RE.but(
    name="ere",
    parameters=("TEXT",),
    summary="The whole text, letter by letter, but for regular expressions between slashes; "
    "`\\/` is a slash.",
    example=r"!!ere 'listening on port /\d+/'",
    passes=("listening on port 80",),
    fails=("listening on port x", "now listening on port 80", 80),
    parse=_whole,
    wants=lambda expression: f"the text {expression.source}, with expressions between slashes",
)

TAGS: dict[str, Matcher] = {
    "re": _RE,
    "ere": _ERE,
    "any": _ANY,
    "type": _TYPE,
    "bind": _BIND,
}

TAG_NAMES = (*TAGS, "ref")
