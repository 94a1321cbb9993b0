"""Whether a value is plainly valid by a schema, and how much work a real validator would have.

Loading a validator takes longer than a small run, and most results are valid by a simple schema:
for those this answers without one. Schema and value both come from the server. A few lines of
schema can mean more work than there is time, so what it may come to is counted beforehand.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Members = dict[str, Any]

__all__ = ["is_affordable", "is_plainly_valid"]

# So many places of a value are looked at here; so much work is given to a validator.
_MAX_STEPS = 2_000
_MAX_WORK = 20_000_000
_MAX_PARTS = 20_000
_MAX_DEPTH = 60
_ENDLESS = _MAX_PARTS + 1

# What says nothing about which values are valid.
_REMARKS = frozenset(
    {
        *("$comment", "$defs", "$schema", "default", "definitions", "deprecated"),
        *("description", "examples", "format", "readOnly", "title", "writeOnly"),
    }
)
_TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "boolean": (bool,),
    "number": (int, float),
    "integer": (int,),
    "object": (dict,),
    "array": (list,),
    "null": (type(None),),
}
# References that only a validator can follow.
_UNFOLLOWED = frozenset(["$dynamicRef", "$recursiveRef"])
# To know what is left over, a validator goes through everything else once more.
_TWICE = frozenset(["unevaluatedItems", "unevaluatedProperties"])


def is_plainly_valid(schema: Members, value: object) -> bool:
    """Whether a value is valid beyond doubt; False when it is not, or when that is not plain."""
    return _Plain(schema).accepts(schema, value, 0)


class _Plain:
    """Knows the keywords that nearly every schema is made of, and gives up at any other."""

    def __init__(self, root: Members) -> None:
        self._root = root
        self._steps = 0

    def accepts(self, schema: object, value: object, depth: int) -> bool:
        self._steps += 1
        if self._steps > _MAX_STEPS or depth > _MAX_DEPTH:
            return False
        if not isinstance(schema, dict):
            return schema is True
        return all(self._keyword(name, schema, value, depth + 1) for name in schema)

    def _keyword(self, name: str, schema: Members, value: Any, depth: int) -> bool:
        if name in _REMARKS or name.startswith("x-"):
            return True
        wanted = schema[name]
        if name == "type":
            kinds = wanted if isinstance(wanted, list) else [wanted]
            return any(type(value) in _TYPES.get(kind, ()) for kind in kinds if kind in _NAMES)
        if name == "$ref":
            target = _target(self._root, wanted)
            return target is not None and self.accepts(target, value, depth)
        if name in ("anyOf", "allOf"):
            looked = any if name == "anyOf" else all
            return isinstance(wanted, list) and looked(
                self.accepts(each, value, depth) for each in wanted
            )
        if name in ("enum", "const"):
            allowed = wanted if name == "enum" else [wanted]
            return isinstance(value, str) and isinstance(allowed, list) and value in allowed
        return self._inner(name, schema, value, depth)

    def _inner(self, name: str, schema: Members, value: Any, depth: int) -> bool:
        wanted = schema[name]
        if name == "items" and "prefixItems" not in schema:
            return not isinstance(value, list) or all(
                self.accepts(wanted, item, depth) for item in value
            )
        members = value if isinstance(value, dict) else {}
        if name == "required" and isinstance(wanted, list):
            return all(isinstance(each, str) and each in members for each in wanted)
        if name == "properties" and isinstance(wanted, dict):
            return all(
                self.accepts(wanted[each], members[each], depth)
                for each in members
                if each in wanted
            )
        if name == "additionalProperties" and "patternProperties" not in schema:
            named = schema.get("properties", {})
            return isinstance(named, dict) and all(
                self.accepts(wanted, members[each], depth) for each in members if each not in named
            )
        return False


_NAMES = tuple(_TYPES)


def is_affordable(schema: Members, value: object) -> bool:
    """Whether a validator has a bounded amount of work with a value, whatever it contains.

    The work is at most what the schema is with every reference written out, times the value.
    """
    # There, references are relative to any `id`, which is a usual name for a member too.
    if "draft-04" in str(schema.get("$schema")):
        return False
    parts = _Parts(schema).count(schema, 0)
    return parts <= _MAX_PARTS and parts * _size(value) <= _MAX_WORK


class _Parts:
    """How many parts a schema has when each reference stands for what it refers to."""

    def __init__(self, root: Members) -> None:
        self._root = root
        self._referred: dict[str, int] = {}

    def count(self, node: object, depth: int) -> int:
        if depth > 2 * _MAX_DEPTH:
            return _ENDLESS
        if not isinstance(node, (dict, list)):
            return 1 + (len(node) // 10 if isinstance(node, str) else 0)
        inner = node.values() if isinstance(node, dict) else node
        count = 1 + sum(self.count(each, depth + 1) for each in inner)
        if isinstance(node, dict):
            if _UNFOLLOWED.intersection(node) or ("$id" in node and node is not self._root):
                return _ENDLESS
            if "$ref" in node:
                count += self._behind(node["$ref"], depth)
            count *= 2 if _TWICE.intersection(node) else 1
        return min(count, _ENDLESS)

    def _behind(self, reference: object, depth: int) -> int:
        target = _target(self._root, reference)
        if target is None or not isinstance(reference, str):
            return _ENDLESS
        if reference not in self._referred:
            # Until it is counted, it is one that comes back to itself.
            self._referred[reference] = _ENDLESS
            self._referred[reference] = self.count(target, depth + 1)
        return self._referred[reference]


def _size(value: object) -> int:
    count, waiting = 0, [value]
    while waiting and count <= _MAX_WORK:
        node = waiting.pop()
        count += 1
        if isinstance(node, dict):
            waiting += node.values()
        elif isinstance(node, list):
            waiting += node
        elif isinstance(node, str):
            count += len(node) // 10
    return count


def _target(root: Members, reference: object) -> object:
    """What a reference inside a schema refers to, None when that cannot be told here."""
    if not isinstance(reference, str) or not reference.startswith("#/"):
        return root if reference == "#" else None
    node: object = root
    for step in reference[2:].split("/"):
        if not isinstance(node, dict) or "%" in step:
            return None
        node = node.get(step.replace("~1", "/").replace("~0", "~"))
    return node
