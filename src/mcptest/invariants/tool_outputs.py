"""Rules about structured content: that it is there, and what its tool promised it would be."""

from __future__ import annotations

from mcptest.core.strict_json import NotJsonError, parse_json
from mcptest.core.text import render_path, shorten
from mcptest.invariants.plain_schema import is_affordable, is_plainly_valid
from mcptest.invariants.results import complete_result
from mcptest.invariants.rule import Looking, Rule, at_levels
from mcptest.invariants.sentences import must_be
from mcptest.invariants.wording import shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from mcptest.invariants.facts import Facts
    from mcptest.invariants.rule import Breaches
    from mcptest.invariants.said import Said

    Members = dict[str, Any]

__all__ = ["OUTPUT_RULES"]

# So many validators are kept.
_MAX_VALIDATORS = 100
_MAX_CHARS = 160


def _structured(said: Said, facts: Facts) -> Members | None:
    """A result that has structured content and tells of no error."""
    result = complete_result(said, facts)
    if result is None or "structuredContent" not in result or result.get("isError") is True:
        return None
    return result


def _schema(said: Said, facts: Facts) -> Members | None:
    """The outputSchema of the tool that was called, as a list showed it."""
    name = said.asked.get("name")
    tool = facts.tools.get(name) if isinstance(name, str) else None
    schema = tool.get("outputSchema") if tool else None
    return schema if isinstance(schema, dict) else None


class _OutputConforms(Looking):
    """A result that no bounded amount of work can judge is not judged."""

    def __init__(self) -> None:
        super().__init__(self._look)
        # By name of the tool: its schema when it was last called, and a validator for it.
        self._validators: dict[str, tuple[Members, Any]] = {}

    def _look(self, said: Said, facts: Facts) -> Breaches:
        schema, result = _schema(said, facts), _structured(said, facts)
        if schema is None or result is None:
            return None
        value = result["structuredContent"]
        if is_plainly_valid(schema, value):
            return ()
        return self._validated(said.asked["name"], schema, value)

    def _validated(self, name: str, schema: Members, value: object) -> Breaches:
        if not is_affordable(schema, value):
            return None
        if name not in self._validators or self._validators[name][0] is not schema:
            if len(self._validators) >= _MAX_VALIDATORS:
                self._validators.clear()
            self._validators[name] = (schema, _validator(schema))
        validator = self._validators[name][1]
        if validator is None:
            return None
        try:
            # Stops at the first error: there can be a million.
            validator.validate(value)
        except ValueError as error:
            # Half of a surrogate pair is no character to a validator, and no fault of the value.
            return [_told(name, error)] if hasattr(error, "instance_path") else None
        return ()

    def end(self, _: Facts) -> Breaches:
        return None


def _told(name: str, error: Any) -> str:
    place = render_path(("result", "structuredContent", *error.instance_path))
    return (
        f"{shorten(place, _MAX_CHARS)} does not meet the outputSchema of {shown(name)}: "
        f"{shorten(str(error.message), _MAX_CHARS)}"
    )


def _validator(schema: Members) -> Any:
    """A validator, None for what is no schema. Formats are remarks, and nothing is fetched."""
    # Loading it takes longer than a whole small run, and few results need it.
    import jsonschema_rs  # noqa: PLC0415

    try:
        return jsonschema_rs.validator_for(
            schema,
            validate_formats=False,
            offline=True,
            pattern_options=jsonschema_rs.RegexOptions(size_limit=100_000),
        )
    except ValueError:
        return None


def _structured_present(said: Said, facts: Facts) -> Breaches:
    result = complete_result(said, facts)
    if result is None or result.get("isError") is True or _schema(said, facts) is None:
        return None
    if "structuredContent" in result:
        return ()
    name = shown(said.asked["name"])
    return [f"the tool {name} has an outputSchema, and its result has no structuredContent"]


def _structured_object(said: Said, facts: Facts) -> Breaches:
    result = complete_result(said, facts)
    if result is None or "structuredContent" not in result:
        return None
    value = result["structuredContent"]
    if isinstance(value, dict):
        return ()
    return [must_be("result.structuredContent", "an object", value)]


def _text_copy(said: Said, facts: Facts) -> Breaches:
    result = _structured(said, facts)
    if result is None:
        return None
    value, content = result["structuredContent"], result.get("content")
    blocks = content if isinstance(content, list) else []
    texts = [
        block["text"]
        for block in blocks
        if isinstance(block, dict) and isinstance(block.get("text"), str)
    ]
    if any(_is_copy(text, value) for text in texts) or _is_unwrapped(value, texts, blocks):
        return ()
    return [
        "result.structuredContent should also stand as JSON in a text block of result.content; "
        f"{'none of them has it' if texts else 'there is no text block'}"
    ]


def _is_copy(text: str, value: object) -> bool:
    first = text.lstrip()[:1]
    if (isinstance(value, dict) and first != "{") or (isinstance(value, list) and first != "["):
        return False
    try:
        return parse_json(text) == value
    except NotJsonError:
        return False


def _is_unwrapped(value: object, texts: list[str], blocks: list[object]) -> bool:
    """Many servers put a plain value into an object, as {"result": …}, and the value itself into
    the content: in one text, in one for each item of a list, or as the blocks that it is."""
    if not isinstance(value, dict) or len(value) != 1:
        return False
    [inner] = value.values()
    if inner is None and not blocks:
        return True
    if isinstance(inner, list) and len(inner) == len(texts):
        pairs = zip(texts, inner, strict=True)
        if all(text == item or _is_copy(text, item) for text, item in pairs):
            return True
    return inner == blocks or any(text == inner or _is_copy(text, inner) for text in texts)


OUTPUT_RULES = (
    Rule(
        id="TOOL-07",
        name="output-conforms",
        category="tools",
        property="the structured content of a tool with an outputSchema is valid by it",
        levels=at_levels("CDE"),
        topics=("result:tools/call",),
        start=_OutputConforms,
        nothing="no structured content came from a tool whose outputSchema is known",
        elsewhere="no outputSchema",
    ),
    Rule(
        id="TOOL-08",
        name="structured-present",
        category="tools",
        property="a tool with an outputSchema answers with structured content",
        levels=at_levels("CDE"),
        topics=("result:tools/call",),
        start=lambda: Looking(_structured_present),
        nothing="no result came from a tool that is known to have an outputSchema",
        elsewhere="no outputSchema",
    ),
    Rule(
        id="TOOL-09",
        name="structured-object",
        category="tools",
        property="structured content is an object",
        levels=at_levels("CD"),
        topics=("result:tools/call",),
        start=lambda: Looking(_structured_object),
        nothing="no result has structured content",
    ),
    Rule(
        id="TOOL-11",
        name="structured-text-copy",
        category="tools",
        property="structured content also stands as JSON in a text block",
        levels=at_levels(should="CDE"),
        topics=("result:tools/call",),
        start=lambda: Looking(_text_copy),
        nothing="no result has structured content",
        elsewhere="no structured content",
    ),
)
