"""What a tool, a resource or a prompt brought, for a person: text as text, the rest in a line.

Everything comes from a server, so every character that could act on a terminal is shown as an
escape, and no bytes of an image or a sound are printed.
"""

from __future__ import annotations

import json

from mcptest.core.text import show_json, visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcptest.explore.features import Message
    from mcptest.reporters.style import Paint

__all__ = ["render_messages", "render_resource", "render_tool_result"]

_MAX_JSON_CHARS = 20_000


def render_tool_result(result: Message, paint: Paint) -> list[str]:
    """The content of a tool's result, and its structured content below."""
    lines = [line for item in _listed(result, "content") for line in _content(item, paint)]
    if "structuredContent" in result:
        lines.append(paint.dim("structuredContent:"))
        lines += _json(result["structuredContent"])
    if "content" not in result and "structuredContent" not in result:
        lines += _json(result)
    return lines


def render_resource(result: Message, paint: Paint) -> list[str]:
    """What a resource holds."""
    contents = _listed(result, "contents")
    lines: list[str] = []
    for each in contents:
        if len(contents) > 1 and isinstance(each, dict):
            lines.append(paint.bold(visible(str(each.get("uri")))))
        lines += _resource(each, paint)
    return lines


def render_messages(result: Message, paint: Paint) -> list[str]:
    """The messages of a prompt, each under the role that says it."""
    lines: list[str] = []
    for message in _listed(result, "messages"):
        if not isinstance(message, dict):
            lines += _json(message)
            continue
        lines.append(paint.bold(visible(str(message.get("role")))))
        content = message.get("content")
        for item in content if isinstance(content, list) else [content]:
            lines += [f"  {line}" for line in _content(item, paint)]
    return lines


def _listed(result: Message, key: str) -> list[object]:
    value = result.get(key)
    return value if isinstance(value, list) else []


def _content(item: object, paint: Paint) -> Iterator[str]:
    if not isinstance(item, dict):
        yield from _json(item)
        return
    kind = item.get("type")
    if kind == "text" and isinstance(item.get("text"), str):
        yield from _text_lines(item["text"])
    elif kind in ("image", "audio"):
        yield paint.dim(f"[{kind} {_media(item)}, {_size(item.get('data'))}]")
    elif kind == "resource":
        yield from _resource(item.get("resource"), paint)
    elif kind == "resource_link":
        named = f"{item.get('name', '')} {item.get('uri', '')}".strip()
        yield paint.dim(f"[link {visible(named)}, {_media(item)}]")
    else:
        yield from _json(item)


def _resource(resource: object, paint: Paint) -> Iterator[str]:
    if not isinstance(resource, dict):
        yield from _json(resource)
    elif isinstance(resource.get("text"), str):
        yield from _text_lines(resource["text"])
    elif "blob" in resource:
        uri = visible(str(resource.get("uri", "")))
        yield paint.dim(f"[blob {uri}, {_media(resource)}, {_size(resource['blob'])}]")
    else:
        yield from _json(resource)


def _text_lines(text: str) -> list[str]:
    return visible(text, keep_newlines=True).removesuffix("\n").split("\n")


def _media(item: Message) -> str:
    return visible(str(item.get("mimeType", "of an unnamed type")))


def _size(data: object) -> str:
    """How many bytes a base64 text stands for."""
    if not isinstance(data, str):
        return "without data"
    count = len(data.rstrip("=")) * 3 // 4
    return f"{count:,} byte{'s' if count != 1 else ''}"


def _json(value: object) -> list[str]:
    text = json.dumps(value, ensure_ascii=False, indent=2)
    if len(text) > _MAX_JSON_CHARS:
        return [show_json(value, _MAX_JSON_CHARS)]
    return visible(text, keep_newlines=True).split("\n")
