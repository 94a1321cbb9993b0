"""Walk a JSON Schema that comes from a server: it may be wrong, endless or hostile.

References are followed inside the schema only; nothing is fetched. A reference that leads back to
where it came from, and whatever exceeds the limits, is cut. What is not a schema allows anything.
"""

from __future__ import annotations

from itertools import islice

from mcptest.core.value_class import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    Schema = dict[str, Any]

__all__ = ["SchemaNode", "SchemaWalker", "dict_at", "list_at", "required_names"]

# All limits are far above what a schema needs that people can read.
_MAX_NODES = 10_000
_MAX_NESTING = 20
_MAX_PARTS = 50
_MAX_BRANCHES = 50
MAX_MEMBERS = 1_000


class SchemaNode(Record):
    """A schema with its references followed and the parts of `allOf` merged.

    `trail` are the references that led here. `is_cut` means that it could not be resolved,
    because it contains itself or a limit was reached. `external_ref` is a reference that leads
    out of the schema, or nowhere.
    """

    schema: Schema
    trail: frozenset[str] = frozenset()
    is_cut: bool = False
    external_ref: str = ""


class SchemaWalker:
    """Resolves the parts of one schema; all of them together are bounded."""

    def __init__(self, root: object) -> None:
        self._root = root
        self._nodes_left = _MAX_NODES

    def root(self) -> SchemaNode:
        return self.resolve(self._root)

    def resolve(
        self, schema: object, trail: frozenset[str] = frozenset(), nesting: int = 0
    ) -> SchemaNode:
        """The schema without `$ref` and `allOf`; a `trail` cuts references that are on it."""
        self._nodes_left -= 1
        if self._nodes_left < 0 or nesting > _MAX_NESTING:
            return SchemaNode(schema={}, trail=trail, is_cut=True)
        if not isinstance(schema, dict):
            return SchemaNode(schema={}, trail=trail)
        inner = list_at(schema, "allOf")[:_MAX_PARTS]
        parts = [self.resolve(part, trail, nesting + 1) for part in inner]
        reference = schema.get("$ref")
        if isinstance(reference, str):
            target = self._target(reference)
            if reference in trail:
                parts.append(SchemaNode(schema={}, trail=trail, is_cut=True))
            elif not isinstance(target, (dict, bool)):
                parts.append(SchemaNode(schema={}, trail=trail, external_ref=reference))
            else:
                parts.append(self.resolve(target, trail | {reference}, nesting + 1))
        if not parts:
            return SchemaNode(schema=schema, trail=trail)
        own = {key: value for key, value in schema.items() if key not in ("$ref", "allOf")}
        return SchemaNode(
            schema=_merge([*(part.schema for part in parts), own]),
            trail=frozenset.union(*(part.trail for part in parts)),
            is_cut=any(part.is_cut for part in parts),
            external_ref=next((part.external_ref for part in parts if part.external_ref), ""),
        )

    def _target(self, reference: str) -> object:
        """What a local reference points at; None if there is no such place."""
        if not (reference == "#" or reference.startswith("#/")):
            return None
        node: object = self._root
        for step in reference.split("/")[1:]:
            key = step.replace("~1", "/").replace("~0", "~")
            if isinstance(node, list) and key.isdecimal() and len(key) < 6:
                node = node[int(key)] if int(key) < len(node) else None
            else:
                node = node.get(key) if isinstance(node, dict) else None
        return node

    def alternatives(self, node: SchemaNode) -> list[SchemaNode]:
        """The parts of `anyOf` and `oneOf`, resolved; [] if there are none."""
        parts = [*list_at(node.schema, "anyOf"), *list_at(node.schema, "oneOf")]
        return [self.resolve(part, node.trail) for part in parts[:_MAX_BRANCHES]]

    def branches(self, schema: object) -> Iterator[Schema]:
        """Every plain schema that a value may follow.

        Alternatives are resolved to the end, each merged with what is around them; a list of
        types has a branch for each. What contains itself has no branch of its own.
        """
        pending = [self.resolve(schema)]
        count = 0
        while pending and count < _MAX_BRANCHES:
            node = pending.pop(0)
            alternatives = self.alternatives(node)
            types = list_at(node.schema, "type")
            if alternatives:
                around = {k: v for k, v in node.schema.items() if k not in ("anyOf", "oneOf")}
                whole = [each for each in alternatives if not each.is_cut]
                pending += [each.but(schema={**around, **each.schema}) for each in whole]
            elif types:
                kinds = [kind for kind in types if isinstance(kind, str)]
                pending += [node.but(schema={**node.schema, "type": kind}) for kind in kinds]
            else:
                count += 1
                yield node.schema


def dict_at(schema: Schema, key: str) -> dict[str, Any]:
    """The object under a key, bounded; {} if there is none."""
    value = schema.get(key)
    if not isinstance(value, dict):
        return {}
    return value if len(value) <= MAX_MEMBERS else dict(islice(value.items(), MAX_MEMBERS))


def list_at(schema: Schema, key: str) -> list[Any]:
    """The array under a key, bounded; [] if there is none."""
    value = schema.get(key)
    return value[:MAX_MEMBERS] if isinstance(value, list) else []


def required_names(schema: Schema) -> list[str]:
    """The names of the properties that an object must have, each once."""
    names = [name for name in list_at(schema, "required") if isinstance(name, str)]
    return list(dict.fromkeys(names))


def _merge(parts: list[Schema]) -> Schema:
    """One schema of several: properties and required names add up, otherwise the last counts."""
    whole: Schema = {}
    for part in parts:
        properties = {**dict_at(whole, "properties"), **dict_at(part, "properties")}
        required = [*list_at(whole, "required"), *list_at(part, "required")]
        whole = {**whole, **part}
        whole |= {"properties": properties} if properties else {}
        whole |= {"required": required} if required else {}
    return whole
