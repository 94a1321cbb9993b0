"""The pieces that every schema is made of.

A schema says several things of one value at once: what it says of texts, lists and mappings
does not get in each other's way, so few choices between whole schemas are needed, and an
editor can tell what is wrong in one sentence.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any

    Schema = dict[str, Any]

__all__ = ["DIALECT", "closed", "document", "ref", "said", "words"]

DIALECT = "https://json-schema.org/draft/2020-12/schema"


def document(
    name: str, title: str, description: str, body: Schema, definitions: Mapping[str, Schema]
) -> Schema:
    """The schema of a whole file."""
    head = {
        "$schema": DIALECT,
        "$id": f"urn:mcptest:schema:{name}",
        "title": title,
        "description": description,
    }
    tail = {"$defs": dict(definitions)} if definitions else {}
    return {**head, **body, **tail}


def closed(
    keys: Sequence[str], members: Mapping[str, Schema], required: Sequence[str] = ()
) -> Schema:
    """A mapping with the keys of a loader's table, and no others.

    A key of the table that nobody describes is a mistake of ours, and so is one that no loader
    reads: neither can go unnoticed.
    """
    silent = [key for key in keys if key not in members]
    surplus = [key for key in members if key not in keys]
    if silent or surplus:
        raise LookupError(f"keys without a schema: {silent}; keys without a loader: {surplus}")
    needed = {"required": list(required)} if required else {}
    properties = {key: members[key] for key in keys}
    return {"type": "object", "properties": properties, **needed, "additionalProperties": False}


def said(description: str, schema: Schema, *examples: object) -> Schema:
    """The schema with what an editor shows beside it."""
    shown = {"examples": list(examples)} if examples else {}
    return {"description": description, **schema, **shown}


def ref(name: str) -> Schema:
    """Whatever the definition of this name allows."""
    return {"$ref": f"#/$defs/{name}"}


def words(choices: Iterable[str]) -> Schema:
    """One of these texts."""
    return {"enum": list(choices)}
