"""JSON Schema: whether a schema is one, the schemas inside it, and whether a value meets it.

Loading a validator takes longer than a small run, and most schemas and values are plainly valid:
those are recognised here without one. Schemas and values both come from servers. A few lines of
schema can mean more work than there is time, so that is estimated beforehand. Nothing that a
schema refers to is fetched.
"""

from __future__ import annotations

from mcptest.core.strict_json import dump_json
from mcptest.core.text import shorten

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from mcptest.core.text import Trail

    Members = dict[str, Any]
    Steps = list[str | int]

__all__ = [
    "can_surely_be_compiled",
    "describe_schema_error",
    "inner_schemas",
    "is_affordable",
    "is_plainly_valid",
    "make_validator",
]

_DIALECTS = frozenset(
    [
        "https://json-schema.org/draft/2020-12/schema",
        "https://json-schema.org/draft/2019-09/schema",
        "http://json-schema.org/draft-07/schema",
        "http://json-schema.org/draft-06/schema",
        "http://json-schema.org/draft-04/schema",
    ]
)

# The keywords that hold schemas: one, an array of them, an object of them.
_ONE = frozenset(
    {
        *("additionalItems", "additionalProperties", "contains", "contentSchema", "else", "if"),
        *("items", "not", "propertyNames", "then", "unevaluatedItems", "unevaluatedProperties"),
    }
)
_ARRAYS = frozenset(["allOf", "anyOf", "items", "oneOf", "prefixItems"])
_OBJECTS = frozenset(
    {
        *("$defs", "definitions", "dependencies", "dependentSchemas"),
        *("patternProperties", "properties"),
    }
)


# Schemas

# A schema of fewer objects cannot be too deep for a validator.
_MAX_OBJECTS = 200


def describe_schema_error(schema: Members) -> tuple[Steps, str] | tuple[()] | None:
    """Where a schema is not valid in its dialect, and why; () when it is valid, None when the
    dialect is not known or the schema cannot be judged."""
    dialect = schema.get("$schema")
    if isinstance(dialect, str) and dialect.removesuffix("#") not in _DIALECTS:
        return None
    if _is_plain_schema(schema):
        return ()
    # Loading it takes longer than a whole small run, and few schemas need it.
    import jsonschema_rs  # noqa: PLC0415

    try:
        jsonschema_rs.meta.validate(schema)
    except jsonschema_rs.ValidationError as error:
        return list(error.instance_path), shorten(error.message, 160)
    except ValueError:
        # Half of a surrogate pair cannot be passed to the validator.
        return None
    return ()


def can_surely_be_compiled(schema: object) -> bool:
    """True if a validator can be made of a schema beyond doubt: no need to load it to find out.

    It has only common keywords, names a known dialect or none, refers to nothing, has no regular
    expression, and is not deep.
    """
    if type(schema) is not dict or not _is_plain_schema(schema):
        return False
    text = dump_json(schema)
    dialect = schema.get("$schema", "")
    is_known = not dialect or dialect.removesuffix("#") in _DIALECTS
    return (
        is_known
        and text.count('"$schema"') <= 1
        and text.count("{") < _MAX_OBJECTS
        and not ('"$ref"' in text or '"pattern"' in text)
        # Half of a surrogate pair cannot be passed to a validator.
        and not any("\ud800" <= char <= "\udfff" for char in text)
    )


def _is_plain_schema(schema: Members) -> bool:
    """True if a schema has only common keywords, each of them valid in every dialect."""
    waiting: list[Any] = [schema]
    for node in waiting:
        if type(node) is not dict:
            return False
        for keyword, value in node.items():
            if keyword in _ANYTHING or keyword.startswith("x-"):
                continue
            if keyword in ("properties", "$defs", "definitions") and type(value) is dict:
                waiting += value.values()
            elif keyword in ("anyOf", "allOf", "oneOf") and type(value) is list and value:
                waiting += value
            elif keyword == "items" or (
                keyword == "additionalProperties" and type(value) is not bool
            ):
                waiting.append(value)
            elif not _is_plain_keyword(keyword, value):
                return False
    return True


_ANYTHING = frozenset(["const", "default"])
_STRINGS = frozenset(["$comment", "$ref", "$schema", "description", "format", "pattern", "title"])
_COUNTS = frozenset(["maxItems", "maxLength", "minItems", "minLength"])


def _is_plain_keyword(keyword: str, value: Any) -> bool:
    if keyword in _STRINGS:
        return type(value) is str
    if keyword == "type":
        return type(value) is str and value in _TYPES
    if keyword in ("required", "enum"):
        is_strings = type(value) is list and all(type(each) is str for each in value)
        return is_strings and 0 < len(value) == len(set(value))
    if keyword in ("maximum", "minimum"):
        return type(value) in (int, float)
    if keyword in _COUNTS:
        return type(value) is int and value >= 0
    return keyword == "additionalProperties" and type(value) is bool


def inner_schemas(schema: Members, path: Trail) -> Iterator[tuple[str, Trail, Members]]:
    """The objects among the schemas right inside one, each with its keyword and its path; the
    keywords of all dialects count."""
    for keyword, value in schema.items():
        place: Trail = (path, keyword)
        if isinstance(value, dict) and keyword in _ONE:
            yield keyword, place, value
            continue
        inner: Any = ()
        if isinstance(value, dict) and keyword in _OBJECTS:
            inner = value.items()
        elif isinstance(value, list) and keyword in _ARRAYS:
            inner = enumerate(value)
        for step, each in inner:
            if isinstance(each, dict):
                yield keyword, (place, step), each


def make_validator(schema: Members) -> Any:
    """A validator, None for what is not a schema. Formats are not checked."""
    # Slow to load, and few values need it.
    import jsonschema_rs  # noqa: PLC0415

    try:
        return jsonschema_rs.validator_for(
            schema,
            validate_formats=False,
            offline=True,
            pattern_options=jsonschema_rs.RegexOptions(size_limit=100_000),
        )
    except ValueError:
        return None


# Values

# Bounds: places of a value that are looked at here, and the work that is given to a validator.
_MAX_STEPS = 2_000
_MAX_WORK = 20_000_000
_MAX_PARTS = 20_000
_MAX_DEPTH = 60
_ENDLESS = _MAX_PARTS + 1

# Keywords that do not restrict which values are valid.
_NOT_RESTRICTING = frozenset(
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
# For these a validator evaluates everything else once more.
_TWICE = frozenset(["unevaluatedItems", "unevaluatedProperties"])


def is_plainly_valid(schema: Members, value: object) -> bool:
    """True if a value is valid beyond doubt; False if it is not, or if that is not plain."""
    return _PlainValidator(schema).accepts(schema, value, 0)


class _PlainValidator:
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
        return all(self._meets(name, schema, value, depth + 1) for name in schema)

    def _meets(self, name: str, schema: Members, value: Any, depth: int) -> bool:
        if name in _NOT_RESTRICTING or name.startswith("x-"):
            return True
        wanted = schema[name]
        if name == "type":
            kinds = wanted if isinstance(wanted, list) else [wanted]
            return any(
                type(value) in _TYPES.get(kind, ()) for kind in kinds if isinstance(kind, str)
            )
        if name == "$ref":
            target = _resolve_reference(self._root, wanted)
            return target is not None and self.accepts(target, value, depth)
        if name in ("anyOf", "allOf"):
            looked = any if name == "anyOf" else all
            return isinstance(wanted, list) and looked(
                self.accepts(each, value, depth) for each in wanted
            )
        if name in ("enum", "const"):
            allowed = wanted if name == "enum" else [wanted]
            return isinstance(value, str) and isinstance(allowed, list) and value in allowed
        return self._meets_inner(name, schema, value, depth)

    def _meets_inner(self, name: str, schema: Members, value: Any, depth: int) -> bool:
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


def is_affordable(schema: Members, value: object) -> bool:
    """True if a validator has a bounded amount of work with a value, whatever it contains.

    The work is at most what the schema is with every reference written out, times the value.
    """
    # There, references are relative to any `id`, which is a usual name for a member too.
    if "draft-04" in str(schema.get("$schema")):
        return False
    parts = _Parts(schema).count(schema, 0)
    return parts <= _MAX_PARTS and parts * _count_values(value) <= _MAX_WORK


class _Parts:
    """Counts the parts of a schema with each reference replaced by what it refers to."""

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
                count += self._count_target(node["$ref"], depth)
            count *= 2 if _TWICE.intersection(node) else 1
        return min(count, _ENDLESS)

    def _count_target(self, reference: object, depth: int) -> int:
        target = _resolve_reference(self._root, reference)
        if target is None or not isinstance(reference, str):
            return _ENDLESS
        if reference not in self._referred:
            # If it is met again while it is counted, it refers to itself.
            self._referred[reference] = _ENDLESS
            self._referred[reference] = self.count(target, depth + 1)
        return self._referred[reference]


def _count_values(value: object) -> int:
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


def _resolve_reference(root: Members, reference: object) -> object:
    """What a reference inside a schema refers to, None when that is not known here."""
    if not isinstance(reference, str) or not reference.startswith("#/"):
        return root if reference == "#" else None
    node: object = root
    for step in reference[2:].split("/"):
        if not isinstance(node, dict) or "%" in step:
            return None
        node = node.get(step.replace("~1", "/").replace("~0", "~"))
    return node
