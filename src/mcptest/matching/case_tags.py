"""The tags of case files (`!!re`, `!!ere`, `!!any`, `!!type`, `!!bind`, `!!ref`), and messages
with tags in them.

A tag and its text become a `Pattern`, or a `Ref` to a value of an earlier message. `!!bind` is a
pattern that every value meets; the value is pulled out of the message afterwards. Before a message
is sent, refs are filled in and patterns get a value that meets them, always the same one.
"""

from __future__ import annotations

import re

from mcptest.core.text import shorten
from mcptest.core.value_class import ABSENT
from mcptest.matching.compare import AllOf, AnyOf, Each, Group, Partial, Some, source_of
from mcptest.matching.json_values import pull, type_name
from mcptest.matching.matchers.values import MATCHERS as VALUES
from mcptest.matching.patterns import Pattern
from mcptest.matching.regex import Expression, compile_expression, sample_match
from mcptest.matching.registry import BadExpressionError, Matcher, Miss, ParameterError
from mcptest.protocol.dialogue import Ref
from mcptest.protocol.revisions import DEFAULT_OFFER

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from mcptest.matching.regex import Expression
    from mcptest.protocol.dialogue import Bind

__all__ = [
    "TAGS",
    "TAG_NAMES",
    "bound_name",
    "fill",
    "has_blanks",
    "literal_parts",
    "make_value",
    "pull_bound",
    "read_tag",
]

_NAME = r"[A-Za-z_][A-Za-z0-9_.-]*"


def read_tag(name: str, text: str) -> Pattern | Ref:
    """The pattern or ref for a tag with this text. ParameterError says what is wrong with it."""
    if name == "ref":
        return Ref(name=_parse_name(text))
    matcher = TAGS[name]
    source = f"!!{name} {text}" if text else f"!!{name}"
    return Pattern(source=source, matcher=matcher, parameter=matcher.parse(text), negated=False)


def bound_name(value: object) -> str:
    """The name that a `!!bind` gives to the value here; "" for anything else."""
    return value.parameter if isinstance(value, Pattern) and value.matcher is _BIND else ""


def literal_parts(text: str) -> list[str]:
    """The pieces of an `!!ere` text: literal, expression, literal, … with `\\/` made a slash."""
    pieces = re.split(r"(?<!\\)((?:\\\\)*)/", text)
    # A pair of backslashes before a slash belongs to the piece that it ends.
    joined = [pieces[at] + "".join(pieces[at + 1 : at + 2]) for at in range(0, len(pieces), 2)]
    return [piece.replace("\\/", "/") for piece in joined]


def _parse_name(text: str) -> str:
    if not text:
        raise ParameterError("needs a name")
    if not re.fullmatch(_NAME, text):
        raise ParameterError("takes a name of letters, digits, _, . and -, not first a digit")
    return text


def _parse_nothing(text: str) -> None:
    if text:
        raise ParameterError("takes no parameter: it matches any value")


def _parse_re(text: str) -> Expression:
    if not text:
        raise BadExpressionError("needs a regular expression: without one it would always hold")
    return _compile(text)


def _compile(text: str) -> Expression:
    try:
        return compile_expression(text, from_go=True)
    except ValueError as error:
        raise BadExpressionError(str(error)) from None


def _parse_ere(text: str) -> Expression:
    parts = literal_parts(text)
    if len(parts) % 2 == 0:
        raise BadExpressionError(
            "has a slash that no other one closes; write \\/ for a slash, in single quotes"
        )
    for expression in parts[1::2]:
        _parse_re(expression)
    spelt = [f"(?:{each})" if at % 2 else re.escape(each) for at, each in enumerate(parts)]
    return _compile("^" + "".join(spelt) + "$").but(source=text)


def _check_re(expression: Expression, actual: object) -> Miss | None:
    if not isinstance(actual, str):
        return Miss(why=f"it is {type_name(actual)}")
    return None if expression.compiled.search(actual) else Miss(why="it does not match")


def _check_ere(expression: Expression, actual: object) -> Miss | None:
    miss = _check_re(expression, actual)
    if miss is None or not isinstance(actual, str):
        return miss
    if len(expression.source) > _MAX_PLACED_CHARS:
        return miss
    return miss.but(find_place=lambda: _find_place(expression.source, actual))


_SHOWN_CHARS = 120

# In longer ones the place is not searched for: it would take longer than the comparison.
_MAX_PLACED_CHARS = 20_000


def _find_place(source: str, actual: str) -> tuple[int, int]:
    """Where an `!!ere` text stops to match: the index in it, and the index in the value.

    That is the end of the longest beginning of the text that matches a beginning of the value.
    A beginning matches wherever a longer one does, so it is found by halving.
    """
    parts = literal_parts(source)
    spelt = [f"(?:{part})" if at % 2 else re.escape(part) for at, part in enumerate(parts)]
    # As written: with the slashes around an expression, and each slash in it as \/.
    widths = [len(part.replace("/", "\\/")) + 2 * (at % 2) for at, part in enumerate(parts)]

    count, end = _longest(len(parts), lambda n: _end_of_match("".join(spelt[:n]), actual))
    offset = sum(widths[:count])
    if count == len(parts) or count % 2:
        # All of it matches, and more follows; or an expression does not match.
        return offset, end
    begun, part = "".join(spelt[:count]), parts[count]
    size, end = _longest(len(part), lambda n: _end_of_match(begun + re.escape(part[:n]), actual))
    return offset + len(part[:size].replace("/", "\\/")), end


def _longest(most: int, end_of: Callable[[int], int]) -> tuple[int, int]:
    """The largest number up to `most` for which there is an end, and that end."""
    low, high, end = 0, most, 0
    while low < high:
        middle = (low + high + 1) // 2
        found = end_of(middle)
        if found >= 0:
            low, end = middle, found
        else:
            high = middle - 1
    return low, end if low else max(end_of(0), 0)


def _end_of_match(expression: str, actual: str) -> int:
    """Where a match at the beginning of the value ends; -1 if there is none."""
    try:
        match = compile_expression(f"^{expression}", from_go=True).compiled.search(actual)
    except ValueError:
        # A part of an expression need not be one.
        return -1
    return match.end() if match else -1


_TYPE = next(matcher for matcher in VALUES if matcher.name == "type")

_ANY = Matcher(
    name="any",
    family="Tags",
    summary="Any value, as long as there is one; null is one.",
    example="!!any",
    passes=("", None),
    fails=(),
    parse=_parse_nothing,
    wants=lambda _: "any value",
    check=lambda _, __: None,
)

_BIND = _ANY.but(
    name="bind",
    parameters=("NAME",),
    summary="Any value; it is kept under NAME, for `!!ref` further down in the file.",
    example="!!bind session",
    parse=_parse_name,
)

_RE = Matcher(
    name="re",
    family="Tags",
    parameters=("R",),
    summary="A string in which the regular expression R is found.",
    example=r"!!re '^v\d+'",
    passes=("v12",),
    fails=("12", 12),
    parse=_parse_re,
    wants=lambda expression: f"a string that matches /{expression.source}/",
    check=_check_re,
    kinds=("string",),
    is_slow=True,
)

_ERE = _RE.but(
    name="ere",
    parameters=("TEXT",),
    summary="The whole string, character by character, except regular expressions between slashes; "
    "`\\/` is a slash.",
    example=r"!!ere 'listening on port /\d+/'",
    passes=("listening on port 80",),
    fails=("listening on port x", "now listening on port 80", 80),
    parse=_parse_ere,
    wants=lambda expression: (
        f"the string {shorten(expression.source, _SHOWN_CHARS)}, with expressions between slashes"
    ),
    check=_check_ere,
)

TAGS: dict[str, Matcher] = {
    "re": _RE,
    "ere": _ERE,
    "any": _ANY,
    "type": _TYPE,
    "bind": _BIND,
}

TAG_NAMES = (*TAGS, "ref")


def fill(
    value: object, values: Mapping[str, object], own: Mapping[str, object] | None = None
) -> object:
    """The value with every `Ref` replaced by the value of its name, which must be known.

    `own` is what the message itself binds; without it, refs to that are left as they are.
    """
    if isinstance(value, Ref):
        if not value.is_own:
            return values[value.name]
        return value if own is None else own.get(value.name)
    if isinstance(value, dict):
        return {key: fill(inner, values, own) for key, inner in value.items()}
    if isinstance(value, list):
        return [fill(inner, values, own) for inner in value]
    return value


def pull_bound(binds: Iterable[Bind], message: object) -> dict[str, object]:
    """The values of the names that are bound in a message; absent ones are left out."""
    found = {bind.name: pull(message, bind.steps)[0] for bind in binds}
    return {name: value for name, value in found.items() if value is not ABSENT}


def has_blanks(value: object) -> bool:
    """True if the value contains a pattern or a ref."""
    if isinstance(value, dict):
        return any(map(has_blanks, value.values()))
    if isinstance(value, list):
        return any(map(has_blanks, value))
    return isinstance(value, (Pattern, Group, Ref))


def make_value(value: object, key: str = "") -> object:
    """A plain value that meets the compiled one, which is the member `key`.

    ValueError names the pattern for which no value can be made up.
    """
    if isinstance(value, dict):
        return {name: make_value(inner, name) for name, inner in value.items()}
    if isinstance(value, list):
        return [make_value(inner, key) for inner in value]
    if isinstance(value, Pattern):
        for candidate in _candidates(value, key):
            if value.is_met(candidate):
                return candidate
        raise ValueError(f"no value that meets {value.source} can be made up")
    return _make_group_value(value, key) if isinstance(value, Group) else value


def _candidates(pattern: Pattern, key: str) -> Iterator[object]:
    parameter = pattern.parameter
    if isinstance(parameter, Expression):
        source = parameter.source
        parts = literal_parts(source) if pattern.matcher.name == "ere" else ["", source]
        made = [sample_match(part) if at % 2 else part for at, part in enumerate(parts)]
        if None not in made:
            yield "".join(part or "" for part in made)
    if key in _BY_KEY:
        yield _BY_KEY[key]
    if isinstance(parameter, (str, int, float)):
        yield parameter
    yield from _ORDINARY
    yield from pattern.matcher.passes


def _make_group_value(group: Group, key: str) -> object:
    """A mapping with directives: what the first of them that says so would be content with."""
    value: object = {}
    for check in group.checks:
        if isinstance(check, Partial):
            value = make_value(check.value, key)
        elif isinstance(check, (Each, Some)):
            value = [make_value(check.value, key)]
        elif isinstance(check, (AllOf, AnyOf)) and check.values:
            value = make_value(check.values[0], key)
        else:
            raise ValueError(f"no value that meets {source_of(group)} can be made up")
    siblings = make_value(group.siblings or {}, key)
    if isinstance(value, dict) and isinstance(siblings, dict):
        return value | siblings
    return value


_SCHEMA = {"type": "object"}

# What the members of MCP's messages usually are, so that clients can read what is made up.
_BY_KEY: dict[str, object] = {
    "inputSchema": _SCHEMA,
    "outputSchema": _SCHEMA,
    "tools": [],
    "resources": [],
    "resourceTemplates": [],
    "prompts": [],
    "content": [],
    "contents": [],
    "messages": [],
    "arguments": {},
    "capabilities": {},
    "structuredContent": {},
    "_meta": {},
    "annotations": {},
    "params": {},
    "result": {},
    "isError": False,
    "protocolVersion": DEFAULT_OFFER,
    "role": "user",
    "type": "text",
    "uri": "https://example.com/",
    "mimeType": "text/plain",
    "blob": "",
    "code": -32603,
    "level": "info",
    "progress": 1,
    "total": 1,
    "hasMore": False,
}

# Tried in turn where nothing better is known.
_ORDINARY: tuple[object, ...] = (
    "text",
    "1",
    "2025-01-01T12:00:00Z",
    "2025-01-01",
    "00000000-0000-4000-8000-000000000000",
    "someone@example.com",
    "https://example.com/",
    "/tmp/file.txt",
    1,
    0,
    -1,
    0.5,
    100,
    True,
    False,
    [],
    {},
    ["text"],
    {"text": "text"},
    None,
)
