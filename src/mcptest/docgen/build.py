"""Build the documentation of a server from its description and the cases that use it.

What a server lists is read with care: any member may be missing, or of the wrong type.
"""

from __future__ import annotations

import re
from itertools import count

from mcptest.core.coverage import KINDS, matches_template
from mcptest.core.schema_walk import SchemaWalker, dict_at, list_at, required_names
from mcptest.core.text import EVERY, plural, render_path, shorten, show_json
from mcptest.core.value_class import Record
from mcptest.docgen.cases import (
    MAX_NAME_CHARS,
    MAX_TEXT_CHARS,
    MAX_VALUE_CHARS,
    build_case,
    build_legend,
    build_undescribed,
    calls_in,
    dialogue_of,
)
from mcptest.docgen.model import Code, FeatureDoc, FileDoc, Row, ServerDoc, Table
from mcptest.matching.json_values import json_type
from mcptest.protocol.lists import feature_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from mcptest.core.coverage import Kind
    from mcptest.core.plan import Suite
    from mcptest.core.schema_walk import Schema, SchemaNode
    from mcptest.docgen.cases import Call
    from mcptest.docgen.model import Inline, Message, ServerDescription

    Path = tuple[str, ...]

__all__ = ["build_docs", "schema_table"]

MAX_FEATURES = 1_000
_MAX_CAPABILITIES = 50
_MAX_ARGUMENTS = 200
_MAX_TITLE_CHARS = 200


def build_docs(
    description: ServerDescription, suites: Sequence[Suite], title: str = ""
) -> ServerDoc:
    """The documentation; without a `title` it has the name of the server."""
    listed, left_out = _read_features(description)
    cases = [case for suite in suites for case in suite.cases]
    calls = [calls_in(dialogue_of(case)) for case in cases]
    features = _add_undescribed(listed, [call for each in calls for call in each], description)
    finder = _Finder(features)
    numbers = count()
    users: dict[int, list[int]] = {}
    files = []
    for suite in suites:
        docs = []
        for case in suite.cases:
            number = next(numbers)
            used = dict.fromkeys(at for call in calls[number] for at in finder.find(call))
            for at in used:
                users.setdefault(at, []).append(number)
            docs.append(build_case(case, number, tuple(used)))
        name = shorten(suite.name or suite.file, _MAX_TITLE_CHARS)
        files.append(FileDoc(name=name, cases=tuple(docs)))
    return ServerDoc(
        title=shorten(title.strip(), _MAX_TITLE_CHARS) or _title(description, suites),
        description=_string_at(description.info, "description"),
        facts=tuple(_server_facts(description)),
        instructions=shorten(description.instructions.strip(), MAX_TEXT_CHARS),
        capabilities=tuple(_capabilities(description.capabilities)),
        features=tuple(
            feature.but(cases=tuple(users.get(at, ()))) for at, feature in enumerate(features)
        ),
        files=tuple(files),
        legend=build_legend(cases),
        left_out=left_out,
    )


def _title(description: ServerDescription, suites: Sequence[Suite]) -> str:
    name = _string_at(description.info, "title") or _string_at(description.info, "name")
    if not name and len(suites) == 1:
        name = re.sub(r"(_test|\.cases)\.ya?ml$", "", suites[0].name)
    return shorten(name, _MAX_TITLE_CHARS) or "MCP server"


def _server_facts(description: ServerDescription) -> Iterator[Inline]:
    name, version = _string_at(description.info, "name"), _string_at(description.info, "version")
    facts = {
        "Server": f"{name} {version}".strip() if name else "",
        "Protocol revision": description.protocol_version,
        "Website": _string_at(description.info, "websiteUrl"),
    }
    for label, value in facts.items():
        if value:
            yield label, Code(shorten(value, _MAX_TITLE_CHARS))


def _capabilities(capabilities: Message) -> Iterator[Inline]:
    """Each capability with its parts."""
    for name, details in list(capabilities.items())[:_MAX_CAPABILITIES]:
        parts = details.items() if isinstance(details, dict) else ()
        words: list[str] = [Code(shorten(name, _MAX_TITLE_CHARS))]
        for part in [key for key, value in parts if value is not False][:_MAX_CAPABILITIES]:
            between = ", " if len(words) > 1 else ": "
            words += [between, Code(shorten(part, _MAX_TITLE_CHARS))]
        yield tuple(words)
    if len(capabilities) > _MAX_CAPABILITIES:
        yield (f"… {len(capabilities) - _MAX_CAPABILITIES:,} more",)


def _read_features(
    description: ServerDescription,
) -> tuple[list[FeatureDoc], tuple[Inline, ...]]:
    """The features that are described, and how many of each kind are left out."""
    features: list[FeatureDoc] = []
    left_out: list[Inline] = []
    for kind in KINDS.values():
        named: dict[str, Message] = {}
        for each in description.features.get(kind.name, ()):
            named.setdefault(feature_name(each, kind), each)
        named.pop("", None)
        features += [_build_feature(kind, each) for each in list(named.values())[:MAX_FEATURES]]
        if len(named) > MAX_FEATURES:
            left_out.append((f"… {plural(len(named) - MAX_FEATURES, f'more {kind.noun}')}",))
    return features, tuple(left_out)


def _add_undescribed(
    listed: list[FeatureDoc], calls: Iterable[Call], description: ServerDescription
) -> list[FeatureDoc]:
    """The features, and after each kind those that are used and not described."""
    finder = _Finder(listed)
    unknown: dict[tuple[str, str], list[Call]] = {}
    for call in calls:
        if not finder.find(call):
            unknown.setdefault(call.use[:2], []).append(call)
    by_unit: dict[str, Kind] = {kind.unit: kind for kind in KINDS.values()}
    features = list(listed)
    for (unit, name), uses in list(unknown.items())[:MAX_FEATURES]:
        kind = by_unit[unit]
        known = f"what is known of this {kind.noun} is how it is used."
        note = f"Not described by {description.source}: {known}"
        features.append(build_undescribed(kind, name, uses, note))
    order = list(KINDS)
    return sorted(features, key=lambda feature: order.index(feature.kind.name))


class _Finder:
    """Finds the features that a call uses."""

    def __init__(self, features: list[FeatureDoc]) -> None:
        self._by_name = {(each.kind.unit, each.name): at for at, each in enumerate(features)}

    def find(self, call: Call) -> list[int]:
        """The position of the feature of this name, else those of the templates that fit."""
        unit, name, _ = call.use
        if (unit, name) in self._by_name:
            return [self._by_name[unit, name]]
        return [
            at
            for (other, template), at in self._by_name.items()
            if unit == "resource"
            and other == "resourceTemplate"
            and matches_template(name, template)
        ]


# One feature

# What each hint of a tool means if it is true, and if it is false.
_HINTS = {
    "readOnlyHint": ("read-only", "not read-only"),
    "destructiveHint": ("destructive", "not destructive"),
    "idempotentHint": ("idempotent", "not idempotent"),
    "openWorldHint": ("open world", "closed world"),
}
_FACTS = {"mimeType": "Type: ", "size": "Size in bytes: "}
_ANNOTATIONS = {
    "audience": "Meant for: ",
    "priority": "Priority: ",
    "lastModified": "Last changed: ",
}
_NO_ARGUMENTS = "none are named"


def _build_feature(kind: Kind, listed: Message) -> FeatureDoc:
    name, found = feature_name(listed, kind), listed.get("annotations")
    annotations: Message = found if isinstance(found, dict) else {}
    titles = [_string_at(listed, "title"), _string_at(annotations, "title")]
    titles += [_string_at(listed, "name")] if kind.key != "name" else []
    hints = []
    for key, (yes, no) in _HINTS.items():
        # What only reads cannot be destructive, so that it is not needs no word.
        is_implied = key == "destructiveHint" and annotations.get("readOnlyHint") is True
        if annotations.get(key) is True:
            hints.append(yes)
        elif annotations.get(key) is False and not is_implied:
            hints.append(no)
    return FeatureDoc(
        kind=kind,
        name=name,
        title=shorten(
            next((each for each in titles if each not in ("", name)), ""), MAX_NAME_CHARS
        ),
        description=_string_at(listed, "description"),
        hints=tuple(hints),
        facts=tuple(_facts(listed, annotations)) if kind.capability == "resources" else (),
        tables=tuple(_tables(kind, listed)),
    )


def _string_at(members: Message, key: str) -> str:
    """The string under a key, shortened if it is very long; "" if there is none."""
    value = members.get(key)
    return shorten(value.strip(), MAX_TEXT_CHARS) if isinstance(value, str) else ""


def _facts(listed: Message, annotations: Message) -> Iterator[Inline]:
    for members, labels in ((listed, _FACTS), (annotations, _ANNOTATIONS)):
        for key, label in labels.items():
            if key in members:
                value = members[key]
                text = value if isinstance(value, str) else show_json(value, MAX_VALUE_CHARS)
                yield label, Code(shorten(text, MAX_VALUE_CHARS))


def _tables(kind: Kind, listed: Message) -> Iterator[Table]:
    if kind.unit == "tool":
        if "inputSchema" in listed:
            yield schema_table("Arguments", listed["inputSchema"], _NO_ARGUMENTS)
        else:
            yield Table(title="Arguments", notes=(("no schema describes them",),))
        if "outputSchema" in listed:
            yield schema_table("Result", listed["outputSchema"], _NO_ARGUMENTS)
    if kind.unit != "prompt":
        return
    # The arguments of a prompt have no schema.
    arguments = listed.get("arguments", [])
    if not isinstance(arguments, list):
        value = Code(show_json(arguments, MAX_VALUE_CHARS))
        yield Table(title="Arguments", notes=(("The arguments are not a list: ", value, "."),))
        return
    rows = [
        Row(
            name=_string_at(each, "name") or "(no name)",
            required="yes" if each.get("required") is True else "no",
            description=_string_at(each, "description") or _string_at(each, "title"),
        )
        for each in arguments[:_MAX_ARGUMENTS]
        if isinstance(each, dict)
    ]
    if len(arguments) > _MAX_ARGUMENTS:
        rows.append(Row(name="…", description="There is more than is shown here."))
    notes = () if rows else ((_NO_ARGUMENTS,),)
    yield Table(title="Arguments", rows=tuple(rows), notes=notes)


# The schema of a tool as a table: one row per value, nested ones under dotted names. Depth and
# number of rows are bounded. Where something is left out, a row or a note says so.

MAX_ROWS = 200
_MAX_DEPTH = 5
_MAX_TYPE_DEPTH = 4
_MAX_DESCRIPTION_CHARS = 1_000
_MAX_VALUES = 30
_MAX_EXAMPLES = 3

_CUT = "…"


def schema_table(title: str, schema: object, nothing: str) -> Table:
    """The table of one schema; `nothing` is the note of one that names no members."""
    if not isinstance(schema, dict):
        value = Code(show_json(schema, MAX_VALUE_CHARS))
        return Table(title=title, notes=(("The schema is not an object: ", value, "."),))
    builder = _TableBuilder(SchemaWalker(schema))
    rows: list[Row] = []
    for row in builder.rows(builder.root, (), 1):
        if len(rows) == MAX_ROWS:
            rows.append(Row(name=_CUT, description="There is more than is shown here."))
            break
        rows.append(row)
    return Table(title=title, rows=tuple(rows), notes=builder.notes(rows, nothing))


class _Member(Record):
    """A member of an object: its schema, and the trail that the walker needs to resolve that."""

    schema: object
    trail: frozenset[str]
    is_required: bool


class _TableBuilder:
    """Rows and notes of one schema."""

    def __init__(self, walker: SchemaWalker) -> None:
        self._walker = walker
        self.root = walker.root()

    def notes(self, rows: list[Row], nothing: str) -> tuple[Inline, ...]:
        """Sentences about the value as a whole."""
        kind = self._type(self.root)
        rules = [rule for rule in self._rules(self.root) if rule != ("no other members",)]
        notes: list[Inline] = []
        if not rows and kind in ("object", "any") and not rules:
            notes.append((nothing,))
        elif kind not in ("object", "any"):
            notes.append(("Type: ", kind, "."))
        notes += [("As a whole: ", *rule, ".") for rule in rules]
        if rows and self.root.schema.get("additionalProperties") is False:
            notes.append(("Nothing else is allowed.",))
        return tuple(notes)

    # Rows

    def rows(self, node: SchemaNode, path: Path, depth: int) -> Iterator[Row]:
        """A row for each member of an object, followed by those of its own members."""
        properties = self._properties(node)
        for name, member in properties.items():
            inner = self._walker.resolve(member.schema, member.trail)
            row = self._row(inner, (*path, name))
            row = row.but(required="yes" if member.is_required else "no")
            yield row.but(type="nothing") if member.schema is False else row
            yield from self._inner_rows(inner, (*path, name), depth)
        for name, schema, words in _unnamed_members(node):
            inner = self._walker.resolve(schema, node.trail)
            row = self._row(inner, (*path, name))
            # Without named members, the type of the object says already what they are.
            is_known = path and not properties and not self._properties(inner)
            if not is_known or row.rules or row.description:
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
        if node.is_cut or (has_members and depth >= _MAX_DEPTH):
            name = f"{_render_name(path)}.{_CUT}"
            yield Row(name=name, type=_CUT, description="It goes on from here.")
        elif has_members:
            yield from self.rows(node, path, depth + 1)

    def _properties(self, node: SchemaNode) -> dict[str, _Member]:
        """The members of an object and of its alternatives, by name.

        What only one of several alternatives requires is not required.
        """
        choices = [
            each
            for each in self._walker.alternatives(node)
            if dict_at(each.schema, "properties") or required_names(each.schema)
        ]
        required = set(required_names(node.schema))
        if choices:
            required |= set.intersection(*(set(required_names(each.schema)) for each in choices))
        members: dict[str, _Member] = {}
        for each in (node, *choices):
            # A member may be required without being described.
            undescribed: Schema = {name: {} for name in required_names(each.schema)}
            properties = dict_at(each.schema, "properties")
            for name, schema in (*properties.items(), *undescribed.items()):
                is_required = name in required
                member = _Member(schema=schema, trail=each.trail, is_required=is_required)
                members.setdefault(name, member)
        return members

    # Types

    def _type(self, node: SchemaNode, depth: int = 0) -> str:
        """What a value may be: `integer`, `array of string`, `string or null`."""
        if node.is_cut or depth > _MAX_TYPE_DEPTH:
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
        return shorten(description, _MAX_DESCRIPTION_CHARS)
    if isinstance(title, str) and _letters(title) != _letters(name):
        return shorten(title, _MAX_DESCRIPTION_CHARS)
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
        kinds = [json_type(value) for value in list_at(schema, "enum")[:_MAX_VALUES]]
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
    examples = list_at(schema, "examples")[:_MAX_EXAMPLES]
    if examples:
        yield ("for example ", *_enumerate_values(examples))


def _one_of(values: list[object]) -> Inline:
    more = (", …",) if len(values) > _MAX_VALUES else ()
    return ("one of ", *_enumerate_values(values[:_MAX_VALUES]), *more)


def _enumerate_values(values: list[object]) -> Iterator[str]:
    for number, value in enumerate(values):
        if number:
            yield ", "
        yield Code(show_json(value, MAX_VALUE_CHARS))
