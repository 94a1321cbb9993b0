"""Messages with blanks in them: fill in what is known, pull out what is new, make up the rest.

Where a `Ref` stands, a value belongs that an earlier message brought; where a pattern stands
and a message is to be sent, some value that meets it. Pure, and never random: the same message
is always filled in the same way.
"""

from __future__ import annotations

from mcptest.core.dialogue import Ref
from mcptest.core.outcome import ABSENT
from mcptest.core.revisions import DEFAULT_OFFER
from mcptest.matching.field_path import pull
from mcptest.matching.group import AllOf, AnyOf, Each, Group, Partial, Some, written
from mcptest.matching.patterns import Pattern
from mcptest.matching.regex_form import Expression
from mcptest.matching.regex_sample import sample_of
from mcptest.matching.tags import literal_parts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from mcptest.core.dialogue import Bind

__all__ = ["filled", "has_blanks", "made_up", "pulled"]


def filled(
    value: object, values: Mapping[str, object], own: Mapping[str, object] | None = None
) -> object:
    """The value with every `Ref` replaced by what its name stands for, which must be known.

    `own` is what the message itself binds; without it, refs to that are left as they are.
    """
    if isinstance(value, Ref):
        if not value.is_own:
            return values[value.name]
        return value if own is None else own.get(value.name)
    if isinstance(value, dict):
        return {key: filled(inner, values, own) for key, inner in value.items()}
    if isinstance(value, list):
        return [filled(inner, values, own) for inner in value]
    return value


def pulled(binds: Iterable[Bind], message: object) -> dict[str, object]:
    """What a message brings under the names that are bound in it; what is not there is left out."""
    found = {bind.name: pull(message, bind.steps)[0] for bind in binds}
    return {name: value for name, value in found.items() if value is not ABSENT}


def has_blanks(value: object) -> bool:
    """Whether a pattern or a ref stands anywhere in the value."""
    if isinstance(value, dict):
        return any(map(has_blanks, value.values()))
    if isinstance(value, list):
        return any(map(has_blanks, value))
    return isinstance(value, (Pattern, Group, Ref))


def made_up(value: object, key: str = "") -> object:
    """A plain value that meets the compiled one, which stands under `key`.

    ValueError names the pattern for which no value can be made up.
    """
    if isinstance(value, dict):
        return {name: made_up(inner, name) for name, inner in value.items()}
    if isinstance(value, list):
        return [made_up(inner, key) for inner in value]
    if isinstance(value, Pattern):
        return _meeting(value, key)
    return _of_group(value, key) if isinstance(value, Group) else value


def _meeting(pattern: Pattern, key: str) -> object:
    for candidate in _candidates(pattern, key):
        if pattern.is_met(candidate):
            return candidate
    raise ValueError(f"no value that meets {pattern.source} can be made up")


def _candidates(pattern: Pattern, key: str) -> Iterator[object]:
    parameter = pattern.parameter
    if isinstance(parameter, Expression):
        yield from _matching(pattern, parameter)
    if key in _BY_KEY:
        yield _BY_KEY[key]
    if isinstance(parameter, (str, int, float)):
        yield parameter
    yield from _ORDINARY
    yield from pattern.matcher.passes


def _matching(pattern: Pattern, expression: Expression) -> Iterator[str]:
    source = expression.source
    parts = literal_parts(source) if pattern.matcher.name == "ere" else ["", source]
    made = [sample_of(part) if at % 2 else part for at, part in enumerate(parts)]
    if None not in made:
        yield "".join(part or "" for part in made)


def _of_group(group: Group, key: str) -> object:
    """A mapping with directives: what the first of them that says so would be content with."""
    value: object = {}
    for check in group.checks:
        if isinstance(check, Partial):
            value = made_up(check.value, key)
        elif isinstance(check, (Each, Some)):
            value = [made_up(check.value, key)]
        elif isinstance(check, (AllOf, AnyOf)) and check.values:
            value = made_up(check.values[0], key)
        else:
            raise ValueError(f"no value that meets {written(group)} can be made up")
    siblings = made_up(group.siblings or {}, key)
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
