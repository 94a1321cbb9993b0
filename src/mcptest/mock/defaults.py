"""What a contract implies without writing it: the server's identity, capabilities and lists."""

from __future__ import annotations

from mcptest import __version__
from mcptest.matching.patterns import Pattern
from mcptest.matching.tags import has_blanks
from mcptest.matching.values import json_type
from mcptest.mock.protocol import LISTS, REMOVED, STATELESS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from mcptest.mock.contract import Contract, Incoming
    from mcptest.mock.session import Message

    Result = dict[str, object]

__all__ = [
    "derive_capabilities",
    "derive_list",
    "describe_server",
    "describe_unplayable_cases",
    "tool_schemas",
]


def derive_capabilities(contract: Contract) -> Result:
    """What the server must declare for the messages of the contract to be allowed."""
    methods = {each.method for each in contract.incoming}
    methods |= {each.method for each in contract.outgoing}
    families = {method.removeprefix("notifications/").partition("/")[0] for method in methods}
    found: dict[str, dict[str, object]] = {}
    for family in ("tools", "resources", "prompts"):
        if family in families:
            changed = f"notifications/{family}/list_changed" in methods
            found[family] = {"listChanged": True} if changed else {}
    if methods & {"resources/subscribe", "notifications/resources/updated"}:
        found["resources"] = {"subscribe": True, **found.get("resources", {})}
    if methods & {"logging/setLevel", "notifications/message"}:
        found["logging"] = {}
    if "completion/complete" in methods:
        found["completions"] = {}
    return {**found}


def describe_server(
    contract: Contract, handshakes: Iterable[Incoming], capabilities: Result
) -> tuple[str, str, Result]:
    """The server's name, version and capabilities, from the first of these handshakes."""
    result = next((contract.answer_to(each).get("result") for each in handshakes), None)
    members = result if isinstance(result, dict) else {}
    info = members.get("serverInfo")
    info = info if isinstance(info, dict) else {}
    name, version = info.get("name"), info.get("version")
    declared = members.get("capabilities")
    if isinstance(declared, dict) and not has_blanks(declared):
        capabilities = declared
    return (
        name if isinstance(name, str) else contract.name,
        version if isinstance(version, str) else __version__,
        capabilities,
    )


def tool_schemas(contract: Contract, derived: Result) -> dict[str, object]:
    """The input schemas of tools by name: from the lists in the contract, else `derived`."""
    answers = map(contract.answer_to, contract.requests("tools/list"))
    found: dict[str, object] = {}
    for result in (derived, *(answer.get("result") for answer in answers)):
        tools = result.get("tools") if isinstance(result, dict) else None
        for tool in tools if isinstance(tools, list) else ():
            name = tool.get("name") if isinstance(tool, dict) else None
            if isinstance(name, str):
                found[name] = tool.get("inputSchema")
    return found


def describe_unplayable_cases(contract: Contract) -> str:
    """A sentence about the cases that a stateless client can never exercise, "" if none."""
    methods = REMOVED - {"initialize"}
    count = sum(
        any(contract.incoming[index].method in methods for index in case.incoming)
        for case in contract.cases
    )
    if not count:
        return ""
    cases = "1 case asks" if count == 1 else f"{count} cases ask"
    return f"{cases} for what revision {STATELESS} does not have, and cannot be exercised in it"


def derive_list(contract: Contract, method: str) -> Result:
    """The result of a list method, derived from how the cases use what it would list."""
    items: Iterable[Message] = ()
    if method == "tools/list":
        items = _tools(contract)
    elif method == "resources/list":
        items = _resources(contract)
    elif method == "prompts/list":
        items = _prompts(contract)
    return {LISTS[method]: list(items)}


def _uses(contract: Contract, method: str, key: str) -> dict[str, list[Incoming]]:
    """The requests for a tool, prompt or resource by its name, except those refused."""
    found: dict[str, list[Incoming]] = {}
    for each in contract.requests(method):
        params = each.body.get("params")
        name = params.get(key) if isinstance(params, dict) else None
        if isinstance(name, str) and "error" not in contract.answer_to(each):
            found.setdefault(name, []).append(each)
    return found


def _tools(contract: Contract) -> Iterator[Message]:
    for name, uses in _uses(contract, "tools/call", "name").items():
        arguments = _arguments(uses)
        schema: Message = {"type": "object"}
        if arguments:
            schema["properties"] = {key: _schema_of(values) for key, values in arguments.items()}
        required = [key for key, values in arguments.items() if len(values) == len(uses)]
        if required:
            schema["required"] = required
        yield {"name": name, "inputSchema": schema}


def _prompts(contract: Contract) -> Iterator[Message]:
    for name, uses in _uses(contract, "prompts/get", "name").items():
        arguments = [
            {"name": key, "required": len(values) == len(uses)}
            for key, values in _arguments(uses).items()
        ]
        yield {"name": name, "arguments": arguments} if arguments else {"name": name}


def _resources(contract: Contract) -> Iterator[Message]:
    for uri, uses in _uses(contract, "resources/read", "uri").items():
        resource = {"uri": uri, "name": uri.rstrip("/").rpartition("/")[2] or uri}
        result = contract.answer_to(uses[0]).get("result")
        contents = result.get("contents") if isinstance(result, dict) else None
        first = contents[0] if isinstance(contents, list) and contents else None
        mime_type = first.get("mimeType") if isinstance(first, dict) else None
        if mime_type and isinstance(mime_type, str):
            resource["mimeType"] = mime_type
        yield resource


def _arguments(uses: Iterable[Incoming]) -> dict[str, list[object]]:
    """The arguments given in these requests, with all of their values."""
    found: dict[str, list[object]] = {}
    for each in uses:
        params = each.body.get("params")
        arguments = params.get("arguments") if isinstance(params, dict) else None
        for name, value in arguments.items() if isinstance(arguments, dict) else ():
            found.setdefault(name, []).append(value)
    return found


def _schema_of(values: list[object]) -> Result:
    """A schema with the types of these values; {} if the type of one is not known."""
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
    if isinstance(value, Pattern):
        if value.matcher.name == "type" and not value.negated:
            return tuple(value.parameter)
        return ("string",) if value.matcher.kinds == ("string",) and not value.negated else ()
    if type(value) is int:
        return ("integer",)
    try:
        return (json_type(value),)
    except KeyError:
        # A ref: its type is that of whatever was bound.
        return ()
