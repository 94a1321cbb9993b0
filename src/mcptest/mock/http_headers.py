"""The headers of the stateless era, which repeat what is in the body.

Whatever stands between client and server may go by them; so a request whose headers say another
thing than its body, or less, is refused.
"""

from __future__ import annotations

import base64
import binascii
import re

from mcptest.core.text import shorten, visible
from mcptest.mock.eras import HEADER_MISMATCH, PROTOCOL_VERSION, Fault, meta_of, params_of
from mcptest.mock.http_rules import VERSION

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcptest.core.web import WebRequest
    from mcptest.mock.state import Message

__all__ = ["header_fault", "named_tool"]

# The member of the params that the header Mcp-Name repeats.
_NAMED = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}

_PARAM = "Mcp-Param-"
_ANNOTATION = "x-mcp-header"
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_ENCODED = re.compile(r"=\?base64\?(.*)\?=")
_DECIMAL = re.compile(r"(-?[0-9]+)(?:\.0+)?")

_MAX_PARAMS = 1_000


def header_fault(request: WebRequest, message: Message, schema: object) -> Fault | None:
    """What is wrong with the headers; `schema` is that of the arguments of a tool."""
    method = message["method"]
    version = meta_of(message).get(PROTOCOL_VERSION)
    sentence = _differs(request, "MCP-Protocol-Version", VERSION, version)
    sentence = sentence or _differs(request, "Mcp-Method", "mcp-method", method)
    if not sentence and method in _NAMED:
        name = params_of(message).get(_NAMED[method])
        sentence = _name_differs(request, name)
    if not sentence and method == "tools/call":
        sentence = _param_differs(request, params_of(message).get("arguments"), schema)
    return Fault(code=HEADER_MISMATCH, sentence=sentence) if sentence else None


def named_tool(message: Message) -> str:
    """The tool that a request calls, "" when it calls none."""
    name = params_of(message).get("name")
    return name if message["method"] == "tools/call" and isinstance(name, str) else ""


def _differs(request: WebRequest, name: str, key: str, wanted: object) -> str:
    values = request.values(key)
    if len(values) != 1:
        return f"the header {name} is missing" if not values else f"the header {name} came twice"
    if values[0] != wanted:
        return f"the header {name} is {_shown(values[0])} and the body says {_shown(wanted)}"
    return ""


def _name_differs(request: WebRequest, name: object) -> str:
    if not isinstance(name, str):
        # The body is wrong, and will be told so.
        return ""
    values = request.values("mcp-name")
    if len(values) != 1:
        return "the header Mcp-Name is missing" if not values else "the header Mcp-Name came twice"
    decoded = _decoded(values[0])
    if decoded is None:
        return f"the header Mcp-Name is not ASCII, or no base64: {_shown(values[0])}"
    if decoded != name:
        return f"the header Mcp-Name is {_shown(decoded)} and the body says {_shown(name)}"
    return ""


def _decoded(value: str) -> str | None:
    """The text of a header, None when it cannot be read."""
    found = _ENCODED.fullmatch(value)
    if not found:
        return value if value.isascii() else None
    try:
        raw = base64.b64decode(found[1], validate=True)
        # Only one way of writing it is right.
        return raw.decode("utf-8") if base64.b64encode(raw).decode() == found[1] else None
    except (binascii.Error, ValueError):
        return None


def _param_differs(request: WebRequest, arguments: object, schema: object) -> str:
    for path, name, kind in _annotated(schema):
        header = f"{_PARAM}{name}"
        values = request.values(header.lower())
        value = _written(_at(arguments, path))
        where = ".".join(path)
        if len(values) > 1:
            return f"the header {header} came twice"
        if value is None and values:
            return f"the header {header} came, and the argument {where} did not"
        if value is None:
            continue
        if not values:
            return f"the header {header} is missing, which repeats the argument {where}"
        decoded = _decoded(values[0])
        if decoded is None:
            return f"the header {header} is not ASCII, or no base64"
        if not _is_same(decoded, value, kind):
            # Neither is quoted: it may be a secret.
            return f"the header {header} is not what the argument {where} is"
    return ""


def _annotated(schema: object) -> Iterator[tuple[tuple[str, ...], str, object]]:
    """The arguments that a header repeats: their paths, the names of the headers, their types."""
    waiting: list[tuple[tuple[str, ...], object]] = [((), schema)]
    for path, each in waiting:
        if not isinstance(each, dict):
            continue
        name = each.get(_ANNOTATION)
        if path and isinstance(name, str) and _TOKEN.fullmatch(name):
            yield path, name, each.get("type")
        inner = each.get("properties")
        if isinstance(inner, dict) and len(waiting) < _MAX_PARAMS:
            waiting += [((*path, key), schema) for key, schema in inner.items()]


def _at(arguments: object, path: tuple[str, ...]) -> object:
    for step in path:
        arguments = arguments.get(step) if isinstance(arguments, dict) else None
    return arguments


def _written(value: object) -> str | None:
    """A value as a header has it, None for what none can have."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, (str, int, float)) else None


def _is_same(header: str, value: str, kind: object) -> bool:
    if header == value:
        return True
    one, other = _DECIMAL.fullmatch(header), _DECIMAL.fullmatch(value)
    return kind == "integer" and bool(one and other and one[1] == other[1])


def _shown(value: object) -> str:
    text = value if isinstance(value, str) else "nothing that is text"
    return f'"{shorten(visible(text), 80)}"'
