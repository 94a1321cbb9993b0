"""Offers as a server lists them, put into words: titles, marks, facts and tables.

What a list says is looked at with care: any member may be missing, or not what it should be.
"""

from __future__ import annotations

from mcptest.core.visible import shorten
from mcptest.docgen.contents import Code, Offer, Row, Table
from mcptest.docgen.schema_table import schema_table
from mcptest.explore.features import feature_name
from mcptest.matching.shown import shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcptest.core.offer_kinds import Kind
    from mcptest.docgen.contents import Message, Words

__all__ = ["MAX_TEXT_CHARS", "build_offer", "text_at"]

MAX_TEXT_CHARS = 20_000
MAX_NAME_CHARS = 300
MAX_VALUE_CHARS = 120
MAX_ARGUMENTS = 200

NOTHING = "none are named"

# What each hint of a tool means when it says yes, and when it says no.
_HINTS = (
    ("readOnlyHint", "read-only", "not read-only"),
    ("destructiveHint", "destructive", "not destructive"),
    ("idempotentHint", "idempotent", "not idempotent"),
    ("openWorldHint", "open world", "closed world"),
)
_FACTS = (("mimeType", "Type: "), ("size", "Size in bytes: "))
_ABOUT = (
    ("audience", "Meant for: "),
    ("priority", "Priority: "),
    ("lastModified", "Last changed: "),
)


def build_offer(kind: Kind, listed: Message) -> Offer:
    """One entry of a list in words."""
    name = feature_name(listed, kind)
    return Offer(
        kind=kind,
        name=name,
        title=_title(kind, listed, name),
        description=text_at(listed, "description"),
        marks=tuple(_marks(listed)),
        facts=tuple(_facts(kind, listed)),
        tables=tuple(_tables(kind, listed)),
    )


def text_at(members: Message, key: str) -> str:
    """The text under a key, cut when it is very long; "" when there is none."""
    value = members.get(key)
    return shorten(value.strip(), MAX_TEXT_CHARS) if isinstance(value, str) else ""


def _title(kind: Kind, listed: Message, name: str) -> str:
    """A name for people, where there is one beside the name for programs."""
    annotations = listed.get("annotations")
    titles = [text_at(listed, "title")]
    if isinstance(annotations, dict):
        titles.append(text_at(annotations, "title"))
    if kind.key != "name":
        titles.append(text_at(listed, "name"))
    found = next((title for title in titles if title and title != name), "")
    return shorten(found, MAX_NAME_CHARS)


def _marks(listed: Message) -> Iterator[str]:
    annotations = listed.get("annotations")
    hints = annotations if isinstance(annotations, dict) else {}
    for key, yes, no in _HINTS:
        says_nothing = key == "destructiveHint" and hints.get("readOnlyHint") is True
        if hints.get(key) is True:
            yield yes
        elif hints.get(key) is False and not says_nothing:
            yield no


def _facts(kind: Kind, listed: Message) -> Iterator[Words]:
    if kind.capability != "resources":
        return
    about = listed.get("annotations")
    for members, table in ((listed, _FACTS), (about if isinstance(about, dict) else {}, _ABOUT)):
        for key, words in table:
            if key in members:
                value = members[key]
                said = value if isinstance(value, str) else shown(value, MAX_VALUE_CHARS)
                yield words, Code(shorten(said, MAX_VALUE_CHARS))


def _tables(kind: Kind, listed: Message) -> Iterator[Table]:
    if kind.unit == "tool":
        if "inputSchema" in listed:
            yield schema_table("Arguments", listed["inputSchema"], NOTHING)
        else:
            yield Table(title="Arguments", notes=(("no schema describes them",),))
        if "outputSchema" in listed:
            yield schema_table("Result", listed["outputSchema"], NOTHING)
    elif kind.unit == "prompt":
        yield _argument_table(listed.get("arguments", []))


def _argument_table(arguments: object) -> Table:
    """The arguments of a prompt, which have no schema."""
    if not isinstance(arguments, list):
        seen = Code(shown(arguments, MAX_VALUE_CHARS))
        return Table(title="Arguments", notes=(("The arguments are not a list: ", seen, "."),))
    rows = [
        Row(
            name=text_at(each, "name") or "(no name)",
            required="yes" if each.get("required") is True else "no",
            description=text_at(each, "description") or text_at(each, "title"),
        )
        for each in arguments[:MAX_ARGUMENTS]
        if isinstance(each, dict)
    ]
    if len(arguments) > MAX_ARGUMENTS:
        rows.append(Row(name="…", description="There is more than is shown here."))
    notes = () if rows else ((NOTHING,),)
    return Table(title="Arguments", rows=tuple(rows), notes=notes)
