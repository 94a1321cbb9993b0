"""Read the JSON Schema of a tool's input just far enough to help a person call it.

Schemas come from servers: they may be wrong, endless or hostile. References are followed
inside the schema only and a bounded number of times; nothing is fetched. What cannot be
understood means "anything".
"""

from __future__ import annotations

from mcptest.core.strict_json import dump_json
from mcptest.core.text import shorten, visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    Schema = dict[str, Any]

__all__ = ["allows_extra", "branches", "properties_of", "required_of", "resolved", "type_words"]

_MAX_HOPS = 20
_MAX_BRANCHES = 50
_MAX_LOOKED = 1000
_MAX_WORDS = 60


def resolved(schema: object, root: Schema) -> Schema:
    """The schema itself: references followed, the parts of an `allOf` laid over each other."""
    found: Schema = schema if isinstance(schema, dict) else {}
    for _ in range(_MAX_HOPS):
        if "$ref" in found:
            target = _target(found["$ref"], root)
            found = {**target, **{key: found[key] for key in found if key != "$ref"}}
        elif isinstance(found.get("allOf"), list):
            parts = [part for part in found["allOf"] if isinstance(part, dict)]
            rest = {key: found[key] for key in found if key != "allOf"}
            found = _laid_over([*parts[:_MAX_BRANCHES], rest])
        else:
            return found
    return {}


def _target(reference: object, root: Schema) -> Schema:
    node: object = root
    if not isinstance(reference, str) or not reference.startswith("#"):
        return {}
    for word in reference[1:].split("/")[1:]:
        key = word.replace("~1", "/").replace("~0", "~")
        node = node.get(key) if isinstance(node, dict) else None
    return node if isinstance(node, dict) else {}


def _laid_over(parts: list[Schema]) -> Schema:
    whole: Schema = {}
    for part in parts:
        merged = {**whole, **part}
        for key, kind in (("properties", dict), ("required", list)):
            if isinstance(whole.get(key), kind) and isinstance(part.get(key), kind):
                both = (whole[key], part[key])
                merged[key] = {**both[0], **both[1]} if kind is dict else both[0] + both[1]
        whole = merged
    return whole


def branches(schema: object, root: Schema) -> Iterator[Schema]:
    """Every plain schema that a value may follow: those of `anyOf`, `oneOf`, a list of types."""
    pending = [(resolved(schema, root), 0)]
    count = looked = 0
    # A schema that refers to itself twice has more branches than anybody can count.
    while pending and count < _MAX_BRANCHES and looked < _MAX_LOOKED:
        found, depth = pending.pop(0)
        looked += 1
        inner = [*_listed(found, "anyOf"), *_listed(found, "oneOf")]
        if inner and depth < _MAX_HOPS:
            outer = {key: found[key] for key in found if key not in ("anyOf", "oneOf")}
            pending += [({**outer, **resolved(part, root)}, depth + 1) for part in inner]
        elif isinstance(found.get("type"), list):
            kinds = [kind for kind in found["type"] if isinstance(kind, str)]
            pending += [({**found, "type": kind}, depth) for kind in kinds]
        else:
            count += 1
            yield found


def _listed(schema: Schema, key: str) -> list[object]:
    value = schema.get(key)
    return value[:_MAX_BRANCHES] if isinstance(value, list) else []


def properties_of(schema: Schema) -> dict[str, object]:
    value = schema.get("properties")
    return value if isinstance(value, dict) else {}


def required_of(schema: Schema) -> list[str]:
    return [name for name in _listed_all(schema, "required") if isinstance(name, str)]


def _listed_all(schema: Schema, key: str) -> list[object]:
    value = schema.get(key)
    return value if isinstance(value, list) else []


def allows_extra(schema: Schema) -> bool:
    """May an object have properties that the schema does not name?

    JSON Schema allows them unless it says otherwise. But one that names properties and says
    nothing means those, and a name beside them is a slip far more often than not.
    """
    if "patternProperties" in schema:
        return True
    extra = schema.get("additionalProperties")
    if extra is None:
        return not properties_of(schema)
    return extra is not False


def type_words(schema: object, root: Schema) -> str:
    """What a value may be, in a few words: `integer`, `"a" | "b"`, `array of string`."""
    words = [_branch_words(branch, root) for branch in branches(schema, root)]
    return shorten(visible(" | ".join(dict.fromkeys(word for word in words if word))), _MAX_WORDS)


def _branch_words(branch: Schema, root: Schema) -> str:
    if isinstance(branch.get("enum"), list):
        return " | ".join(dump_json(value) for value in branch["enum"][:_MAX_BRANCHES])
    if "const" in branch:
        return dump_json(branch["const"])
    kind = branch.get("type")
    if not isinstance(kind, str):
        return "object" if properties_of(branch) else "any"
    if kind == "array":
        inner = resolved(branch.get("items"), root).get("type")
        return f"array of {inner}" if isinstance(inner, str) else "array"
    return kind
