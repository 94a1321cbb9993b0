"""What a test sends: a raw `request`, or one of the short forms.

    tool: read_file            resource: file:///a.txt
    arguments: {path: a.txt}   prompt: greet
    list: tools                arguments: {name: Ada}

A raw request goes out as it is written. A short form gets its envelope and its id from us.
"""

from __future__ import annotations

from mcptest.core.offer_kinds import KINDS
from mcptest.formats.fields import kind_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mcptest.core.coverage import Use
    from mcptest.formats.fields import Fields

    Message = dict[str, object]

__all__ = ["FORMS", "read_request", "use_of"]

# The keys of which a test has exactly one.
FORMS = ("request", "tool", "resource", "prompt", "list")


def read_request(fields: Fields, id: str) -> Message | None:
    """The request of a test, None when it has mistakes; `id` is for the short forms."""
    forms = [form for form in FORMS if form in fields.mapping]
    if len(forms) > 1:
        message = f"a test sends one thing, and this one says {' and '.join(forms)}"
        fields.complain(forms[1], "F003", message, f'keep "{forms[0]}", or make two tests of it')
        return None
    if not forms:
        return {}
    if "arguments" in fields.mapping and forms[0] not in ("tool", "prompt"):
        message = f'"arguments" goes with "tool" or "prompt", not with "{forms[0]}"'
        fields.complain("arguments", "F006", message)
    if forms[0] == "request":
        return _raw(fields)
    method, params = _short(fields, forms[0])
    envelope: Message = {"jsonrpc": "2.0", "id": id, "method": method}
    return envelope | ({"params": params} if params else {})


def _raw(fields: Fields) -> Message | None:
    request = fields.mapping["request"]
    if isinstance(request, dict):
        return request
    message = f'"request" must be a JSON-RPC object and is {kind_of(request)}'
    fields.complain("request", "F008", message, on_key=False)
    return None


def _short(fields: Fields, form: str) -> tuple[str, Message]:
    if form == "list":
        return KINDS[fields.choice("list", tuple(KINDS), "tools")].method, {}
    name = fields.text(form)
    if not name and fields.mapping[form] == "":
        fields.complain(form, "F009", f'"{form}" is empty', on_key=False)
    if form == "resource":
        return "resources/read", {"uri": name}
    inner = fields.mapping_at("arguments")
    arguments = inner.mapping if inner else {}
    if form == "tool":
        return "tools/call", {"name": name, "arguments": arguments}
    for key in arguments:
        assert inner is not None
        inner.text(key)
    return "prompts/get", {"name": name} | ({"arguments": arguments} if arguments else {})


def use_of(request: Message) -> Use | None:
    """What a request exercises, for coverage; None when it is not about one offer."""
    params = request.get("params")
    if not isinstance(params, dict):
        return None
    method = request.get("method")
    if method == "tools/call" or method == "prompts/get":
        name, arguments = params.get("name"), params.get("arguments")
        if not isinstance(name, str):
            return None
        given = tuple(arguments) if isinstance(arguments, dict) else ()
        return ("tool" if method == "tools/call" else "prompt"), name, given
    uri = params.get("uri")
    if method == "resources/read" and isinstance(uri, str):
        return "resource", uri, ()
    return None
