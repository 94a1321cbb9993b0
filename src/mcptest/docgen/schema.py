"""The schema of a tool as a table: one row per value, nested ones under dotted names.

Depth and number of rows are bounded. Where something is left out, a row or a note says so.
"""

from __future__ import annotations

from mcptest.core.schema_walk import SchemaWalker, dict_at, list_at, required_names
from mcptest.core.text import EVERY, render_path, shorten, show_json
from mcptest.docgen.model import Code, Row, Table
from mcptest.matching.values import json_type

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcptest.core.schema_walk import Schema, SchemaNode
    from mcptest.docgen.model import Inline

    Path = tuple[str, ...]

__all__ = ["schema_table"]

MAX_ROWS = 200
MAX_DEPTH = 5
MAX_TYPE_DEPTH = 4
MAX_DESCRIPTION_CHARS = 1_000
MAX_VALUE_CHARS = 120
MAX_VALUES = 30
MAX_EXAMPLES = 3

_CUT = "…"


def schema_table(title: str, schema: object, nothing: str) -> Table:
    """The table of one schema; `nothing` is the note of one that names no members."""
    if not isinstance(schema, dict):
        value = Code(show_json(schema, MAX_VALUE_CHARS))
        return Table(title=title, notes=(("The schema is not an object: ", value, "."),))
    builder = _TableBuilder(SchemaWalker(schema))
    rows: list[Row] = []
    for row in builder.rows():
        if len(rows) == MAX_ROWS:
            rows.append(Row(name=_CUT, description="There is more than is shown here."))
            break
        rows.append(row)
    return Table(title=title, rows=tuple(rows), notes=builder.notes(rows, nothing))


class _TableBuilder:
    """Rows and notes of one schema."""

    def __init__(self, walker: SchemaWalker) -> None:
        self._walker = walker
        self._root = walker.root()

    def rows(self) -> Iterator[Row]:
        return self._rows(self._root, (), 1)

    def notes(self, rows: list[Row], nothing: str) -> tuple[Inline, ...]:
        """What is said of the value as a whole."""
        kind = self._type(self._root)
        rules = [rule for rule in self._rules(self._root) if rule != ("no other members",)]
        notes: list[Inline] = []
        if not rows and kind in ("object", "any") and not rules:
            notes.append((nothing,))
        elif kind not in ("object", "any"):
            notes.append(("Type: ", kind, "."))
        notes += [("As a whole: ", *rule, ".") for rule in rules]
        if rows and self._root.schema.get("additionalProperties") is False:
            notes.append(("Nothing else is allowed.",))
        return tuple(notes)

    # Rows

    def _rows(self, node: SchemaNode, path: Path, depth: int) -> Iterator[Row]:
        """A row for each member of an object, followed by those of its own members."""
        properties = self._properties(node)
        for name, (schema, is_required, trail) in properties.items():
            inner = self._walker.resolve(schema, trail)
            row = self._row(inner, (*path, name))
            row = row.but(required="yes" if is_required else "no")
            yield row.but(type="nothing") if schema is False else row
            yield from self._inner_rows(inner, (*path, name), depth)
        for name, schema, words in _unnamed_members(node):
            inner = self._walker.resolve(schema, node.trail)
            row = self._row(inner, (*path, name))
            # Without named members, the type of the object says already what they are.
            is_told = path and not properties and not self._properties(inner)
            if not is_told or row.rules or row.description:
                yield row.but(description=row.description or words)
                yield from self._inner_rows(inner, (*path, name), depth)

    def _row(self, node: SchemaNode, path: Path) -> Row:
        return Row(
            name=_render_name(path),
            type=self._type(node),
            required="no",
            rules=self._rules(node),
            description=_description(node.schema, path[-1]),
        )

    def _inner_rows(self, node: SchemaNode, path: Path, depth: int) -> Iterator[Row]:
        """The members of an object, or of the items of an array."""
        for each in (node, *self._walker.alternatives(node)):
            if "items" in each.schema and not isinstance(each.schema["items"], list):
                items = self._walker.resolve(each.schema["items"], each.trail)
                if self._properties(items):
                    yield from self._member_rows(items, (*path, EVERY), depth)
        yield from self._member_rows(node, path, depth)

    def _member_rows(self, node: SchemaNode, path: Path, depth: int) -> Iterator[Row]:
        has_members = bool(self._properties(node)) or any(_unnamed_members(node))
        if node.is_cut or (has_members and depth >= MAX_DEPTH):
            name = f"{_render_name(path)}.{_CUT}"
            yield Row(name=name, type=_CUT, description="It goes on from here.")
        elif has_members:
            yield from self._rows(node, path, depth + 1)

    def _properties(self, node: SchemaNode) -> dict[str, tuple[object, bool, frozenset[str]]]:
        """The members of an object and of its alternatives: schema, if required, and trail.

        What only one of several alternatives requires is not required.
        """
        found: dict[str, tuple[object, bool, frozenset[str]]] = {}
        choices = [
            each
            for each in self._walker.alternatives(node)
            if dict_at(each.schema, "properties") or required_names(each.schema)
        ]
        for each in (node, *choices):
            required = set(required_names(each.schema)) if each is node else set()
            for name, schema in dict_at(each.schema, "properties").items():
                found.setdefault(name, (schema, name in required, each.trail))
            for name in required_names(each.schema):
                # A member may be required without being described.
                found.setdefault(name, ({}, name in required, each.trail))
        wanted = [set(required_names(each.schema)) for each in choices]
        for name in set.intersection(*wanted) if wanted else ():
            found[name] = (found[name][0], True, found[name][2])
        return found

    # Types

    def _type(self, node: SchemaNode, depth: int = 0) -> str:
        """What a value may be: `integer`, `array of string`, `string or null`."""
        if node.is_cut or depth > MAX_TYPE_DEPTH:
            return _CUT
        choices = self._walker.alternatives(node)
        if choices:
            words = [self._type(each, depth + 1) for each in choices]
        else:
            words = [self._type_with_inner(node, kind, depth) for kind in _type_names(node.schema)]
        return shorten(" or ".join(dict.fromkeys(words)), MAX_VALUE_CHARS)

    def _type_with_inner(self, node: SchemaNode, kind: str, depth: int) -> str:
        inner = None
        if kind == "array":
            inner = node.schema.get("items")
        elif kind == "object" and not dict_at(node.schema, "properties"):
            inner = dict_at(node.schema, "additionalProperties") or None
        if inner is None:
            return kind
        words = self._type(self._walker.resolve(inner, node.trail), depth + 1)
        if words == "any":
            return kind
        return f"{kind} of ({words})" if " or " in words else f"{kind} of {words}"

    # Rules

    def _rules(self, node: SchemaNode) -> tuple[Inline, ...]:
        """What must hold of a value besides its type, its default and its examples."""
        rules = list(_own_rules(node))
        choices = self._walker.alternatives(node)
        constants = [each.schema["const"] for each in choices if "const" in each.schema]
        if constants and len(constants) == len(choices):
            rules.append(_one_of(constants))
        else:
            # Null has no rules, so with null and one other the type need not be named.
            others = [each for each in choices if each.schema.get("type") != "null"]
            for each in others:
                lead = (f"{self._type(each)}: ",) if len(others) > 1 else ()
                rules += [(*lead, *rule) for rule in _own_rules(each)]
        if "items" in node.schema:
            items = self._walker.resolve(node.schema["items"], node.trail)
            rules += [("each: ", *rule) for rule in _own_rules(items)]
        return tuple(dict.fromkeys(rules))


def _unnamed_members(node: SchemaNode) -> Iterator[tuple[Code, object, str]]:
    """Members without a name of their own, with a description of their names."""
    for pattern, schema in dict_at(node.schema, "patternProperties").items():
        yield Code(f"/{pattern}/"), schema, "Every name that matches."
    if dict_at(node.schema, "additionalProperties"):
        yield Code("*"), node.schema["additionalProperties"], "Any other name."


def _render_name(path: Path) -> str:
    """A name as it is; of a nested value, the path to it."""
    name = path[0]
    for step in path[1:]:
        # A placeholder for many names is not quoted like an unusual name.
        text = step if isinstance(step, Code) else render_path((step,))
        name += text if text.startswith("[") and not isinstance(step, Code) else f".{text}"
    return name


def _description(schema: Schema, name: str) -> str:
    """The description of a value, or a title that does not just repeat its name."""
    description, title = schema.get("description"), schema.get("title")
    if isinstance(description, str) and description.strip():
        return shorten(description, MAX_DESCRIPTION_CHARS)
    if isinstance(title, str) and _letters(title) != _letters(name):
        return shorten(title, MAX_DESCRIPTION_CHARS)
    return ""


def _letters(text: str) -> str:
    return "".join(char for char in text.casefold() if char.isalnum())


def _type_names(schema: Schema) -> list[str]:
    kind = schema.get("type")
    if isinstance(kind, str):
        return [kind]
    kinds = [each for each in list_at(schema, "type") if isinstance(each, str)]
    if not kinds and "const" in schema:
        kinds = [json_type(schema["const"])]
    if not kinds:
        kinds = [json_type(value) for value in list_at(schema, "enum")[:MAX_VALUES]]
    if not kinds and dict_at(schema, "properties"):
        kinds = ["object"]
    return kinds or ["any"]


_RULES = {
    "const": "always ",
    "default": "default ",
    "format": "format ",
    "pattern": "matches ",
    "minimum": "at least ",
    "exclusiveMinimum": "more than ",
    "maximum": "at most ",
    "exclusiveMaximum": "less than ",
    "multipleOf": "a multiple of ",
    "minLength": "length at least ",
    "maxLength": "length at most ",
    "minItems": "number of items at least ",
    "maxItems": "number of items at most ",
    "minProperties": "number of members at least ",
    "maxProperties": "number of members at most ",
    "contentEncoding": "encoded as ",
    "contentMediaType": "holds ",
}
# Strings that are shown without quotes.
_UNQUOTED = frozenset(["format", "pattern", "contentEncoding", "contentMediaType"])
_FLAGS = {
    "uniqueItems": "no item twice",
    "readOnly": "read-only",
    "writeOnly": "write-only",
    "deprecated": "deprecated",
}


def _own_rules(node: SchemaNode) -> Iterator[Inline]:
    schema = node.schema
    if node.external_ref:
        yield "as described in ", Code(shorten(node.external_ref, MAX_VALUE_CHARS))
    if list_at(schema, "enum"):
        yield _one_of(schema["enum"])
    for key, words in _RULES.items():
        # In old drafts the exclusive bounds are flags beside the others.
        if key in schema and not (key.startswith("exclusive") and isinstance(schema[key], bool)):
            value = schema[key]
            is_bare = key in _UNQUOTED and isinstance(value, str)
            text = shorten(value, MAX_VALUE_CHARS) if is_bare else show_json(value, MAX_VALUE_CHARS)
            yield words, Code(text)
    for key, words in _FLAGS.items():
        if schema.get(key) is True:
            yield (words,)
    if schema.get("additionalProperties") is False and dict_at(schema, "properties"):
        yield ("no other members",)
    examples = list_at(schema, "examples")[:MAX_EXAMPLES]
    if examples:
        yield ("for example ", *_enumerate_values(examples))


def _one_of(values: list[object]) -> Inline:
    more = (", …",) if len(values) > MAX_VALUES else ()
    return ("one of ", *_enumerate_values(values[:MAX_VALUES]), *more)


def _enumerate_values(values: list[object]) -> Iterator[str]:
    for number, value in enumerate(values):
        if number:
            yield ", "
        yield Code(show_json(value, MAX_VALUE_CHARS))
