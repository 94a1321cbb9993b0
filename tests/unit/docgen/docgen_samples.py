"""Small contracts and what is made of them, for the tests of docgen."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcptest.core.coverage import KINDS
from mcptest.core.plan import Case, Suite
from mcptest.docgen.build import build_docs
from mcptest.docgen.cases import describe_server
from mcptest.docgen.model import ServerDescription
from mcptest.formats.cases import load_cases
from mcptest.formats.conductor import load_conductor
from mcptest.matching.case_tags import read_tag
from mcptest.matching.registry import builtin_registry
from mcptest.protocol.dialogue import Bind, Dialogue, Ref, Turn

if TYPE_CHECKING:
    from mcptest.docgen.model import ServerDoc

SMALL = """
# Who are you?
case: Hello
in: {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}}
out: {"jsonrpc": "2.0", "id": 1, "result": {
  "protocolVersion": "2025-06-18", "capabilities": {"tools": {"listChanged": true}},
  "serverInfo": {"name": "dice", "version": "1.2"}, "instructions": "Roll fairly."}}
---
case: List tools
in: {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}
out: {"jsonrpc": "2.0", "id": 2, "result": {"tools": [{
  "name": "roll", "title": "Roll a die", "description": "Rolls.\\n\\nIt never cheats.",
  "annotations": {"readOnlyHint": true},
  "inputSchema": {"type": "object", "required": ["sides"], "properties": {
    "sides": {"type": "integer", "minimum": 2, "description": "how many"}}}}]}}
---
case: Roll
_tags: [luck]
_skip: the die is lost
_description: Twice.
# Six sides, please.
in: {"jsonrpc": "2.0", "id": 3, "method": "tools/call",
  "params": {"name": "roll", "arguments": {"sides": 6}}}
out: {"jsonrpc": "2.0", "id": 3, "result": {"content": [
  {"type": "text", "text": !!re "^[1-6]$"}], "id": !!bind throw}}
in_again: {"jsonrpc": "2.0", "id": 4, "method": "tools/call",
  "params": {"name": "undo", "arguments": {"throw": !!ref throw}}}
out_again: {"jsonrpc": "2.0", "id": 4, "error": {"code": -32602, "message": "no"}}
"""


def cases(text: str, file: str = "dice_test.yaml") -> Suite:
    suite, _ = load_cases(text, file, builtin_registry(), {})
    return suite


def conductor(text: str) -> Suite:
    suite, _ = load_conductor(text, "dice.test.mcp.yml", builtin_registry(), {})
    return suite


def docs_of(*suites: Suite, title: str = "") -> ServerDoc:
    return build_docs(describe_server(suites), suites, title)


def server(**features: list[dict[str, Any]]) -> ServerDescription:
    """What a live server says of itself, with these lists."""
    assert features.keys() <= KINDS.keys()
    listed = {name: tuple(found) for name, found in features.items()}
    return ServerDescription(
        source="the server", info={"name": "live"}, capabilities={"tools": {}}, features=listed
    )


def docs_of_tool(**members: Any) -> ServerDoc:
    """A docs to a server with one tool."""
    return build_docs(server(tools=[{"name": "t", **members}]), ())


def schema_of(text: str) -> dict[str, Any]:
    """A schema that says this wherever a schema can say something."""
    part = {
        "type": [text, "string"],
        "title": text,
        "description": text,
        "default": text,
        "pattern": text,
        "format": text,
        "enum": [text, {text: [text]}],
        "examples": [text],
        "$ref": text,
    }
    inner = {"type": "object", "properties": {text: part}, "required": [text]}
    return {
        "type": "object",
        "properties": {text: part, "inner": inner, "list": {"type": "array", "items": inner}},
        "patternProperties": {text: part},
        "additionalProperties": {"type": text},
        "anyOf": [{"const": text}, part],
        "minProperties": text,
    }


def features_of(text: str) -> dict[str, list[dict[str, Any]]]:
    """One feature of each kind, in which every text is this one."""
    about = {"title": text, "audience": [text], "priority": text, "lastModified": text}
    said = {"title": text, "description": text, "annotations": about, "mimeType": text}
    argument = {"name": text, "description": text, "required": True}
    schemas = {"inputSchema": schema_of(text), "outputSchema": schema_of(text)}
    return {
        "tools": [{"name": text, **said, **schemas}],
        "resources": [{"uri": text, "name": text, "size": text, **said}],
        "resourceTemplates": [{"uriTemplate": text, "name": text, **said}],
        "prompts": [{"name": text, "arguments": [argument, {}, text], **said}],
    }


def turns_of(text: str) -> tuple[Turn, ...]:
    params = {"name": text, "uri": text, "arguments": {text: [text, {text: read_tag("re", "x")}]}}
    request = {"jsonrpc": "2.0", "id": text, "method": text, "params": params}
    called = request | {"method": "tools/call"}
    answer = {"jsonrpc": "2.0", "id": text, "result": {text: Ref(name=text), "isError": True}}
    error = {"jsonrpc": "2.0", "id": text, "error": {"code": text, "message": text, "data": [text]}}
    binds = (Bind(name=text, steps=("result", text, 0)),)
    return (
        Turn(key=text, is_ours=True, value=request, line=1, comment=text),
        Turn(key=text, is_ours=True, value=called, line=1, comment=f"a\n{text}\nb"),
        Turn(key=text, is_ours=False, value=answer, line=1, answers=0, needs=(text,)),
        Turn(key=text, is_ours=False, value=error, line=1, answers=1, binds=binds, comment=text),
        Turn(key=text, is_ours=True, value=[request, called], line=1),
        Turn(key=text, is_ours=False, value=text, line=1),
    )


def suite_of(text: str) -> Suite:
    """A suite of two cases, in which every text is this one."""
    dialogue = Dialogue(turns=turns_of(text), comment=text, description=text)
    case = Case(name=text, line=1, dialogue=dialogue, tags=(text, text), skip=text)
    return Suite(name=text, file=text, format="cases", cases=(case, case.but(skip=None)))


def docs_of_texts(text: str, *, is_live: bool = True) -> ServerDoc:
    """A docs in which every text from outside is this one."""
    suites = [suite_of(text), suite_of(text)]
    described = ServerDescription(
        source="the server",
        info=dict.fromkeys(("name", "title", "version", "description", "websiteUrl"), text),
        capabilities={text: {text: True}, "tools": text},
        protocol_version=text,
        instructions=text,
        features={name: tuple(found) for name, found in features_of(text).items()},
    )
    return build_docs(described, suites, text) if is_live else docs_of(*suites)
