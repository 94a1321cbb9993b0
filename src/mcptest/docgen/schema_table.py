"""The schema of a tool as a table: one row per value, nested ones under dotted names.

Depth and number of rows are bounded. Where something is left out, a row or a note says so.
"""

from __future__ import annotations

from mcptest.core.paths import EVERY, render_path
from mcptest.core.visible import shorten
from mcptest.docgen.contents import Code, Row, Table
from mcptest.docgen.schema_reading import SchemaReader, listed, members
from mcptest.docgen.schema_words import CUT, rules_of, type_of
from mcptest.matching.shown import shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcptest.docgen.contents import Words
    from mcptest.docgen.schema_reading import Opened

    Steps = tuple[str, ...]
    # The schemas of one name, as several choices may describe it, and whether it is required.
    Property = tuple[object, bool, frozenset[str]]

__all__ = ["schema_table"]

MAX_ROWS = 200
MAX_DEPTH = 5
MAX_DESCRIPTION_CHARS = 1_000
MAX_VALUE_CHARS = 120
MAX_CHOICES = 5


def schema_table(title: str, schema: object, nothing: str) -> Table:
    """The table of one schema; `nothing` is said of one that names no members."""
    if not isinstance(schema, dict):
        seen = Code(shown(schema, MAX_VALUE_CHARS))
        return Table(title=title, notes=(("The schema is not an object: ", seen, "."),))
    reader = SchemaReader(schema)
    opened = reader.open(schema)
    rows: list[Row] = []
    for row in _rows(reader, opened, (), 1):
        if len(rows) == MAX_ROWS:
            rows.append(Row(name=CUT, description="There is more than is shown here."))
            break
        rows.append(row)
    return Table(title=title, rows=tuple(rows), notes=_notes(reader, opened, rows, nothing))


def _notes(
    reader: SchemaReader, opened: Opened, rows: list[Row], nothing: str
) -> tuple[Words, ...]:
    kind = type_of(reader, opened)
    rules = [rule for rule in rules_of(reader, opened) if rule != ("no other members",)]
    notes: list[Words] = []
    if not rows and kind in ("object", "any") and not rules:
        notes.append((nothing,))
    elif kind not in ("object", "any"):
        notes.append(("Type: ", kind, "."))
    notes += [("As a whole: ", *rule, ".") for rule in rules]
    if rows and opened.schema.get("additionalProperties") is False:
        notes.append(("Nothing else is allowed.",))
    return tuple(notes)


def _rows(reader: SchemaReader, opened: Opened, steps: Steps, depth: int) -> Iterator[Row]:
    """A row for each member of an object, followed by those of its own members."""
    named = _properties(reader, opened)
    for name, (schema, is_required, trail) in named.items():
        inner = reader.open(schema, trail)
        row = _row(reader, inner, (*steps, name)).but(required="yes" if is_required else "no")
        yield row.but(type="nothing") if schema is False else row
        yield from _inner_rows(reader, inner, (*steps, name), depth)
    for name, schema, words in _open_names(opened):
        inner = reader.open(schema, opened.trail)
        row = _row(reader, inner, (*steps, name))
        # The type of an object without names says what all of its members are.
        if named or not steps or row.rules or row.description or _properties(reader, inner):
            yield row.but(description=row.description or words)
            yield from _inner_rows(reader, inner, (*steps, name), depth)


def _row(reader: SchemaReader, opened: Opened, steps: Steps) -> Row:
    return Row(
        name=_shown(steps),
        type=type_of(reader, opened),
        required="no",
        rules=rules_of(reader, opened),
        description=_description(opened, steps[-1]),
    )


def _inner_rows(reader: SchemaReader, opened: Opened, steps: Steps, depth: int) -> Iterator[Row]:
    """The members of what stands at a place: of an object, or of the items of an array."""
    for each in (opened, *reader.branches(opened)):
        if "items" in each.schema and not isinstance(each.schema["items"], list):
            items = reader.open(each.schema["items"], each.trail)
            if _properties(reader, items):
                yield from _deeper(reader, items, (*steps, EVERY), depth)
    yield from _deeper(reader, opened, steps, depth)


def _deeper(reader: SchemaReader, opened: Opened, steps: Steps, depth: int) -> Iterator[Row]:
    has_members = bool(_properties(reader, opened)) or any(_open_names(opened))
    if opened.is_cut or (has_members and depth >= MAX_DEPTH):
        yield Row(name=f"{_shown(steps)}.{CUT}", type=CUT, description="It goes on from here.")
    elif has_members:
        yield from _rows(reader, opened, steps, depth + 1)


def _properties(reader: SchemaReader, opened: Opened) -> dict[str, Property]:
    """What an object may hold: its own members, and those of the choices it has.

    What only one of several choices requires is not required.
    """
    found: dict[str, Property] = {}
    choices = [each for each in reader.branches(opened)[:MAX_CHOICES] if _has_members(each)]
    wanted = [_required(choice) for choice in choices]
    for each, is_choice in ((opened, False), *((choice, True) for choice in choices)):
        required = _required(each)
        for name, schema in members(each.schema, "properties").items():
            if name not in found:
                found[name] = (schema, name in required and not is_choice, each.trail)
        for name in required:
            # It may be required and not described any further.
            found.setdefault(name, ({}, not is_choice, each.trail))
    for name, (schema, _, trail) in list(found.items()):
        if wanted and all(name in required for required in wanted):
            found[name] = (schema, True, trail)
    return found


def _has_members(opened: Opened) -> bool:
    return bool(members(opened.schema, "properties") or _required(opened))


def _required(opened: Opened) -> dict[str, None]:
    """The names that are required, each once, in their order."""
    names = listed(opened.schema, "required")
    return {name: None for name in names if isinstance(name, str)}


def _open_names(opened: Opened) -> Iterator[tuple[Code, object, str]]:
    """Members that have no name of their own, with what can be said of their names."""
    for pattern, schema in members(opened.schema, "patternProperties").items():
        yield Code(f"/{pattern}/"), schema, "Every name that matches."
    if members(opened.schema, "additionalProperties"):
        yield Code("*"), opened.schema["additionalProperties"], "Any other name."


def _shown(steps: Steps) -> str:
    """A name as it is; of what lies deeper, the path to it."""
    first, *others = steps
    # What stands for many names is no name, and is not quoted like an odd one.
    parts = [f".{step}" if isinstance(step, Code) else _step(step) for step in others]
    return "".join([first, *parts])


def _step(step: str) -> str:
    text = render_path((step,))
    return text if text.startswith("[") else f".{text}"


def _description(opened: Opened, name: str) -> str:
    """What is said about a value; a title that only repeats the name says nothing."""
    said, title = opened.schema.get("description"), opened.schema.get("title")
    if isinstance(said, str) and said.strip():
        return shorten(said, MAX_DESCRIPTION_CHARS)
    if isinstance(title, str) and _letters(title) != _letters(name):
        return shorten(title, MAX_DESCRIPTION_CHARS)
    return ""


def _letters(text: str) -> str:
    return "".join(char for char in text.casefold() if char.isalnum())
