"""Read a tool of a manifest: its schema, and its canned answers."""

from __future__ import annotations

from mcptest.core.strict_json import dump_json
from mcptest.core.text import trail_of
from mcptest.matching.matchers.schema import MATCHERS
from mcptest.mock.manifest_item import ENTRY_KEYS
from mcptest.mock.offers import CannedAnswer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from mcptest.formats.fields import Fields
    from mcptest.mock.manifest_item import Body, Check, Item
    from mcptest.mock.offers import Offer

__all__ = ["read_tool"]

_LISTED = (*ENTRY_KEYS, "inputSchema", "outputSchema", "annotations")
_ANSWERS = ("answer", "result", "error")


def read_tool(item: Item) -> Offer:
    """A tool; every mistake has been complained about."""
    name = item.begin("tool", (*_LISTED, *_ANSWERS, "answers"), "name")
    schema = _schema(item.fields)
    item.fields.mapping_at("outputSchema")
    answers = tuple(_answers(item, None if schema is None else _arguments(schema)))
    check = _validator(item.fields, schema) if schema else _anything_goes
    entry = item.entry(_LISTED) | {"inputSchema": schema or _implied_schema(answers)}
    return item.offer("tool", name, entry, answers, check)


def _anything_goes(arguments: Mapping[str, object]) -> str:
    return ""


def _answers(item: Item, known: Sequence[str] | None) -> Iterator[CannedAnswer]:
    found = item.one_of(item.fields, (*_ANSWERS, "answers"), "a tool")
    if found == "answers":
        yield from _choice(item, known)
    elif found:
        yield _answer(item, item.fields, found, known)


# The schema


def _schema(fields: Fields) -> Body | None:
    inner = fields.mapping_at("inputSchema")
    if inner is None:
        return None
    if inner.mapping.get("type") != "object":
        key = "type" if "type" in inner.mapping else ""
        message = "the schema of a tool's arguments has the type object"
        inner.complain(key, "F009", message, 'write "type: object"', on_key=False)
    return inner.mapping


def _implied_schema(answers: Sequence[CannedAnswer]) -> Body:
    """The schema of a tool that has none: the arguments that its answers speak of."""
    used = [answer.arguments for answer in answers]
    names = dict.fromkeys(name for each in used for name in each)
    for answer in answers:
        names |= dict.fromkeys(answer.when if isinstance(answer.when, dict) else ())
    required = [name for name in names if used and all(name in each for each in used)]
    schema: Body = {"type": "object"}
    if names:
        schema["properties"] = {name: {} for name in names}
    return schema | ({"required": required} if required else {})


def _arguments(schema: Body) -> Sequence[str] | None:
    """The arguments that there are, None when there may be others."""
    properties = schema.get("properties")
    if not isinstance(properties, dict) or schema.get("additionalProperties"):
        return None
    return list(properties)


def _validator(fields: Fields, schema: Body) -> Check:
    """What says how the arguments of a call are not valid by the schema."""
    matcher = MATCHERS[0]
    try:
        compiled = matcher.parse("its inputSchema", lambda _: dump_json(schema))
    except (TypeError, ValueError) as error:
        fields.complain("inputSchema", "F019", f"this tool {error}", on_key=False)
        return _anything_goes

    def check(arguments: Mapping[str, object]) -> str:
        miss = matcher.check(compiled, arguments)
        return miss.why.replace("it is", "the arguments are", 1) if miss else ""

    return check


# Answers


def _choice(item: Item, known: Sequence[str] | None) -> Iterator[CannedAnswer]:
    """The answers of a tool that has several, each with what it asks of the arguments."""
    answers = item.fields.mapping["answers"]
    if answers == []:
        item.fields.complain("answers", "F011", '"answers" is empty: nothing is ever answered')
    example = '{when: {who: Bob}, answer: "Hello"}'
    inner = list(item.inner_items(item.fields, "answers", "an answer", example))
    for fields in inner:
        fields.refuse_unknown(("when", *_ANSWERS), (), "an answer")
        found = item.one_of(fields, _ANSWERS, "an answer")
        answer = _answer(item, fields, found, known)
        when = fields.mapping_at("when")
        if when:
            compiled = item.compiler.compile(when.mapping, trail_of(when.steps))
            answer = answer.but(when=compiled)
        elif "when" not in fields.mapping and fields is not inner[-1]:
            message = 'an answer without "when" is always given, and those after it never are'
            fields.complain("", "F011", message, "put it last")
        yield answer


def _answer(item: Item, fields: Fields, key: str, known: Sequence[str] | None) -> CannedAnswer:
    body: Body = {"result": {}}
    if key == "answer":
        body = {"result": {"content": [{"type": "text", "text": fields.text(key)}]}}
    elif key and (inner := fields.mapping_at(key)):
        body = {key: inner.mapping}
        if key == "error":
            _check_error(inner)
        else:
            inner.list_at("content")
            body = {key: {"content": []} | inner.mapping}
    return CannedAnswer(body=body, as_is={}, names=item.names_in(fields, key, known))


def _check_error(fields: Fields) -> None:
    fields.refuse_unknown(("code", "message", "data"), (), "an error")
    fields.require(("code", "message"), "an error")
    if "code" in fields.mapping:
        fields.whole_number("code", -(1 << 31), 1 << 31, 0)
    fields.text("message")
