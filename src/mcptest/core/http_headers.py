"""The headers that a message travels with over HTTP, by the revision of the protocol. Pure."""

from __future__ import annotations

import base64
import re

from mcptest.core.revisions import REVISIONS, STATELESS, VERSION_KEY

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

__all__ = [
    "VERSION_HEADER",
    "encoded_value",
    "media_type",
    "message_headers",
    "own_version",
    "param_headers",
]

VERSION_HEADER = "MCP-Protocol-Version"

# The member of `params` by which each of these methods names what it is about.
_NAMED_BY = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}

# What may stand in a header as it is: visible ASCII, with single spaces and tabs inside.
_PLAIN = re.compile(r"[\x21-\x7e](?:[\x20-\x7e\t]*[\x21-\x7e])?")
_ENCODED = re.compile(r"=\?base64\?.*\?=", re.DOTALL)
_TOKEN = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")


def message_headers(message: object, negotiated: str) -> dict[str, str]:
    """The headers that go with a message.

    One that names its revision itself, as in the stateless era, repeats in headers what it is
    about; others name the revision that a handshake has agreed on.
    """
    if isinstance(message, dict) and "method" in message:
        version = own_version(message) or (negotiated if negotiated == STATELESS else "")
        if version:
            return {VERSION_HEADER: encoded_value(version)} | _repeated(message)
    revision = REVISIONS.get(negotiated)
    return {VERSION_HEADER: negotiated} if revision and revision.has_version_header else {}


def own_version(message: object) -> str:
    """The revision that a message names itself; "" when it names none."""
    params = message.get("params") if isinstance(message, dict) else None
    meta = params.get("_meta") if isinstance(params, dict) else None
    version = meta.get(VERSION_KEY) if isinstance(meta, dict) else None
    return version if isinstance(version, str) else ""


def _repeated(message: dict[str, Any]) -> dict[str, str]:
    method, params = message["method"], message.get("params")
    if not isinstance(method, str):
        return {}
    headers = {"Mcp-Method": encoded_value(method)}
    name = params.get(_NAMED_BY.get(method, "")) if isinstance(params, dict) else None
    if isinstance(name, str):
        headers["Mcp-Name"] = encoded_value(name)
    return headers


def encoded_value(text: str) -> str:
    """A text as the value of a header; what cannot stand there as it is goes as base64."""
    if _PLAIN.fullmatch(text) and not _ENCODED.fullmatch(text):
        return text
    raw = base64.b64encode(text.encode("utf-8", "surrogatepass")).decode("ascii")
    return f"=?base64?{raw}?="


def param_headers(schema: object, arguments: object) -> dict[str, str]:
    """The headers that mirror arguments of a tool, as `x-mcp-header` in its schema asks."""
    if not isinstance(arguments, dict):
        return {}
    return {
        f"Mcp-Param-{name}": encoded_value(text)
        for name, value in _mirrored(schema, arguments)
        if (text := _as_text(value)) is not None
    }


def _mirrored(schema: object, arguments: Mapping[str, Any]) -> Iterator[tuple[str, object]]:
    properties = schema.get("properties") if isinstance(schema, dict) else None
    for key, inner in properties.items() if isinstance(properties, dict) else ():
        if not isinstance(inner, dict) or key not in arguments:
            continue
        name = inner.get("x-mcp-header")
        if isinstance(name, str) and _TOKEN.fullmatch(name):
            yield name, arguments[key]
        elif isinstance(arguments[key], dict):
            yield from _mirrored(inner, arguments[key])


def _as_text(value: object) -> str | None:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    return value if isinstance(value, str) else None


def media_type(content_type: str) -> str:
    """The media type without its parameters."""
    return content_type.partition(";")[0].strip().lower()
