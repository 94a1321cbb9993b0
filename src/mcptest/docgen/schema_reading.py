"""Open a JSON Schema step by step, and never more often than is good.

Schemas come from servers: they may be wrong, endless or hostile. References are followed
inside the schema only; nothing is fetched. One that leads back to where it came from, and
whatever lies beyond the limits, is cut, and the reader is told.
"""

from __future__ import annotations

from itertools import islice

from mcptest.core.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Schema = dict[str, Any]

__all__ = ["Opened", "SchemaReader", "listed", "members"]

MAX_LOOKS = 10_000
MAX_HOPS = 20
MAX_BRANCHES = 12
MAX_PARTS = 50
# More members of one object than anybody will be shown.
MAX_MEMBERS = 500


class Opened(Record):
    """A schema with its references followed and the parts of `allOf` laid over each other.

    `trail` are the references that led here. `is_cut` says that it could not be opened for
    being its own part, or too much; `elsewhere` is a reference that leads out of the schema.
    """

    schema: Schema
    trail: frozenset[str] = frozenset()
    is_cut: bool = False
    elsewhere: str = ""


class SchemaReader:
    """Reads the parts of one schema, as long as the looks last."""

    def __init__(self, root: object) -> None:
        self._root = root
        self._looks_left = MAX_LOOKS

    def open(self, schema: object, trail: frozenset[str] = frozenset(), hops: int = 0) -> Opened:
        """The schema itself; what is none is one that allows anything."""
        self._looks_left -= 1
        if self._looks_left < 0 or hops > MAX_HOPS:
            return Opened(schema={}, trail=trail, is_cut=True)
        if not isinstance(schema, dict):
            return Opened(schema={}, trail=trail)
        parts = [self.open(part, trail, hops + 1) for part in listed(schema, "allOf")[:MAX_PARTS]]
        if isinstance(schema.get("$ref"), str):
            parts.append(self._follow(schema["$ref"], trail, hops))
        if not parts:
            return Opened(schema=schema, trail=trail)
        own = {key: value for key, value in schema.items() if key not in ("$ref", "allOf")}
        return Opened(
            schema=_laid_over([*(part.schema for part in parts), own]),
            trail=frozenset.union(*(part.trail for part in parts)),
            is_cut=any(part.is_cut for part in parts),
            elsewhere=next((part.elsewhere for part in parts if part.elsewhere), ""),
        )

    def _follow(self, reference: str, trail: frozenset[str], hops: int) -> Opened:
        if reference in trail:
            return Opened(schema={}, trail=trail, is_cut=True)
        target = self._target(reference)
        if not isinstance(target, (dict, bool)):
            return Opened(schema={}, trail=trail, elsewhere=reference)
        return self.open(target, trail | {reference}, hops + 1)

    def _target(self, reference: str) -> object:
        """What a local reference points at; None when there is no such place."""
        if not (reference == "#" or reference.startswith("#/")):
            return None
        node: object = self._root
        for word in reference.split("/")[1:]:
            key = word.replace("~1", "/").replace("~0", "~")
            if isinstance(node, list) and key.isdecimal() and len(key) < 6:
                node = node[int(key)] if int(key) < len(node) else None
            else:
                node = node.get(key) if isinstance(node, dict) else None
        return node

    def branches(self, opened: Opened) -> list[Opened]:
        """The schemas of which a value follows one, or any; none when there is no choice."""
        parts = [*listed(opened.schema, "anyOf"), *listed(opened.schema, "oneOf")]
        return [self.open(part, opened.trail) for part in parts[:MAX_BRANCHES]]


def _laid_over(parts: list[Schema]) -> Schema:
    """One schema of several: properties and requirements add up, for the rest the last counts."""
    whole: Schema = {}
    for part in parts:
        properties = {**members(whole, "properties"), **members(part, "properties")}
        required = [*listed(whole, "required"), *listed(part, "required")]
        whole = {**whole, **part}
        whole |= {"properties": properties} if properties else {}
        whole |= {"required": required} if required else {}
    return whole


def listed(schema: Schema, key: str) -> list[Any]:
    """The list under a key, no longer than anybody will look; empty when there is none."""
    value = schema.get(key)
    return value[:MAX_MEMBERS] if isinstance(value, list) else []


def members(schema: Schema, key: str) -> dict[str, Any]:
    """The mapping under a key, no larger than anybody will look; empty when there is none."""
    value = schema.get(key)
    if not isinstance(value, dict):
        return {}
    return value if len(value) <= MAX_MEMBERS else dict(islice(value.items(), MAX_MEMBERS))
