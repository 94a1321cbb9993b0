"""`tools/list` and its sisters, made from how the cases use what they would list."""

from __future__ import annotations

from mcptest.matching.patterns import Pattern
from mcptest.matching.values import json_type
from mcptest.mock.bodies import LISTS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from mcptest.mock.script import Cue, Script
    from mcptest.mock.state import Message

    Result = dict[str, object]

__all__ = ["listed"]


def listed(script: Script, method: str) -> Result:
    """The answer to a method that lists something, made from how the cases use it."""
    offers = {
        "tools/list": _tools,
        "resources/list": _resources,
        "resources/templates/list": lambda _: iter(()),
        "prompts/list": _prompts,
    }[method]
    return {LISTS[method]: list(offers(script))}


def _uses(script: Script, method: str, key: str) -> dict[str, list[Cue]]:
    """The cues that use something, by its name; what the server refuses is not there."""
    found: dict[str, list[Cue]] = {}
    for cue in script.cues_for("request", method):
        params = cue.body.get("params")
        name = params.get(key) if isinstance(params, dict) else None
        if isinstance(name, str) and "error" not in script.answer_to(cue):
            found.setdefault(name, []).append(cue)
    return found


def _tools(script: Script) -> Iterator[Message]:
    for name, cues in _uses(script, "tools/call", "name").items():
        seen = _seen(cues)
        schema: Message = {"type": "object"}
        if seen:
            schema["properties"] = {name: _schema_of(values) for name, values in seen.items()}
        if required := _in_all(seen, cues):
            schema["required"] = list(required)
        yield {"name": name, "inputSchema": schema}


def _prompts(script: Script) -> Iterator[Message]:
    for name, cues in _uses(script, "prompts/get", "name").items():
        seen = _seen(cues)
        required = _in_all(seen, cues)
        prompt: Message = {"name": name}
        if seen:
            prompt["arguments"] = [
                {"name": argument, "required": argument in required} for argument in seen
            ]
        yield prompt


def _resources(script: Script) -> Iterator[Message]:
    for uri, cues in _uses(script, "resources/read", "uri").items():
        resource = {"uri": uri, "name": uri.rstrip("/").rpartition("/")[2] or uri}
        kind = _mime_type(script.answer_to(cues[0]).get("result"))
        yield resource | ({"mimeType": kind} if kind else {})


def _mime_type(result: object) -> str:
    contents = result.get("contents") if isinstance(result, dict) else None
    first = contents[0] if isinstance(contents, list) and contents else None
    kind = first.get("mimeType") if isinstance(first, dict) else None
    return kind if isinstance(kind, str) else ""


def _arguments(cue: Cue) -> Mapping[str, object]:
    params = cue.body.get("params")
    arguments = params.get("arguments") if isinstance(params, dict) else None
    return arguments if isinstance(arguments, dict) else {}


def _seen(cues: Iterable[Cue]) -> dict[str, list[object]]:
    """The arguments that are given in these cues, with all of their values."""
    seen: dict[str, list[object]] = {}
    for cue in cues:
        for name, value in _arguments(cue).items():
            seen.setdefault(name, []).append(value)
    return seen


def _in_all(seen: Mapping[str, list[object]], cues: Sequence[Cue]) -> dict[str, None]:
    """The arguments that every cue gives."""
    return {name: None for name, values in seen.items() if len(values) == len(cues)}


def _schema_of(values: list[object]) -> Result:
    """The types that an argument was seen with; {} when one of them may be anything."""
    types: dict[str, None] = {}
    for value in values:
        found = _types_of(value)
        if not found:
            return {}
        types.update(dict.fromkeys(found))
    if "number" in types:
        types.pop("integer", None)
    names = list(types)
    return {"type": names[0] if len(names) == 1 else names}


def _types_of(value: object) -> tuple[str, ...]:
    """The JSON Schema types of a value of the contract, () when it is not known."""
    if isinstance(value, Pattern):
        if value.matcher.name == "type" and not value.negated:
            return tuple(value.parameter)
        return ("string",) if value.matcher.kinds == ("string",) and not value.negated else ()
    if type(value) is int:
        return ("integer",)
    try:
        return (json_type(value),)
    except KeyError:
        # A ref: whatever was bound.
        return ()
