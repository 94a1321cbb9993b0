"""Read a resource or a prompt of a manifest: what it is, and what it holds."""

from __future__ import annotations

import base64
import binascii

from mcptest.core.strict_json import dump_json
from mcptest.mock.manifest_item import ENTRY_KEYS
from mcptest.mock.manifest_texts import unescaped
from mcptest.mock.offers import CannedAnswer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from mcptest.formats.fields import Fields
    from mcptest.mock.manifest_item import Body, Item
    from mcptest.mock.offers import Offer

__all__ = ["read_prompt", "read_resource"]

_RESOURCE_KEYS = ("uri", *ENTRY_KEYS, "mimeType", "size", "annotations")
_CONTENTS = ("text", "blob", "json")
_PROMPT_KEYS = (*ENTRY_KEYS, "arguments")
_PROMPTS = ("messages", "text")
_ARGUMENT_KEYS = ("name", "title", "description", "required")
_ROLES = ("user", "assistant")


def read_resource(item: Item) -> Offer:
    """A resource; every mistake has been complained about."""
    uri = item.begin("resource", (*_RESOURCE_KEYS, *_CONTENTS), "uri")
    found = item.one_of(item.fields, _CONTENTS, "a resource")
    kind: Body = {"mimeType": "application/json"} if found == "json" else {}
    entry = {"uri": uri, "name": uri} | kind | item.entry(_RESOURCE_KEYS)
    about: Body = {key: entry[key] for key in ("uri", "mimeType") if key in entry}
    item.refuse_arguments(item.fields, found, "a resource")
    contents: Body = {**about, **_contents(item.fields, found)}
    answer = CannedAnswer(body={"result": {}}, as_is={"contents": [contents]})
    return item.offer("resource", uri, entry, (answer,), lambda _: "")


def _contents(fields: Fields, key: str) -> Body:
    if key == "json":
        try:
            return {"text": unescaped(dump_json(fields.mapping[key]))}
        except (TypeError, ValueError):
            fields.complain(key, "F009", '"json" holds what JSON has no word for', on_key=False)
            return {}
    text = fields.text(key) if key else ""
    if key == "blob" and not _is_base64(text):
        fields.complain(key, "F009", '"blob" must be base64', on_key=False)
    return {key: unescaped(text)}


def _is_base64(text: str) -> bool:
    try:
        base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return False
    return True


def read_prompt(item: Item) -> Offer:
    """A prompt; every mistake has been complained about."""
    fields = item.fields
    name = item.begin("prompt", (*_PROMPT_KEYS, *_PROMPTS), "name")
    found = item.one_of(fields, _PROMPTS, "a prompt")
    arguments = dict(_arguments(item))
    known = list(arguments) if "arguments" in fields.mapping else None
    answer = CannedAnswer(
        body={"result": {"messages": list(_messages(item, found))}},
        # The list has it too, where there are no arguments.
        as_is=item.entry(["description"]),
        names=item.names_in(fields, found, known),
    )

    def check(given: Mapping[str, object]) -> str:
        missing = [name for name, required in arguments.items() if required and name not in given]
        return f"the argument {missing[0]} is missing" if missing else ""

    entry = item.entry(_PROMPT_KEYS)
    if known is None and answer.arguments:
        entry["arguments"] = [{"name": each, "required": True} for each in answer.arguments]
    return item.offer("prompt", name, entry, (answer,), check)


def _arguments(item: Item) -> Iterator[tuple[str, bool]]:
    for fields in item.inner_items(item.fields, "arguments", "an argument", "{name: city}"):
        fields.refuse_unknown(_ARGUMENT_KEYS, (), "an argument of a prompt")
        fields.require(("name",), "an argument of a prompt")
        yield fields.text("name"), fields.flag("required", False)


def _messages(item: Item, key: str) -> Iterator[Body]:
    if key == "text":
        yield {"role": "user", "content": {"type": "text", "text": item.fields.text(key)}}
    if key != "messages":
        return
    example = "{role: user, content: Hello}"
    for fields in item.inner_items(item.fields, "messages", "a message", example):
        fields.refuse_unknown(("role", "content"), (), "a message")
        fields.require(("role", "content"), "a message")
        content = fields.mapping.get("content")
        if isinstance(content, str):
            content = {"type": "text", "text": content}
        elif "content" in fields.mapping:
            fields.mapping_at("content")
        yield {"role": fields.choice("role", _ROLES, "user"), "content": content}
