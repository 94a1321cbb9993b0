"""What a guide holds, as values: offers, dialogues and the words about them.

Nothing here is escaped yet: all of it is text from files and servers. Whoever renders a guide
makes it harmless.
"""

from __future__ import annotations

from mcptest.core.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from mcptest.core.offer_kinds import Kind
    from mcptest.docgen.json_lines import Line

    Message = dict[str, Any]
    # A sentence, or a part of one: plain text, with `Code` in between.
    Words = tuple[str, ...]

__all__ = ["Chapter", "Code", "Described", "Guide", "Offer", "Row", "Said", "Scene", "Table"]


class Code(str):
    """Text that is shown as it stands in a message or a file."""

    __slots__ = ()


class Described(Record):
    """What is known of a server before any of it is put into words.

    `offers` has a tuple of them for each name of a kind. `source` is who described it, as it
    stands in a sentence.
    """

    source: str
    info: Message
    capabilities: Message
    protocol_version: str = ""
    instructions: str = ""
    offers: dict[str, tuple[Message, ...]]


class Row(Record):
    """One argument, or one member of a result. `required` is "yes", "no" or "" for unknown."""

    name: str
    type: str = ""
    required: str = ""
    rules: tuple[Words, ...] = ()
    description: str = ""


class Table(Record):
    """What goes into an offer, or comes out; `notes` are what no row can say."""

    title: str
    rows: tuple[Row, ...] = ()
    notes: tuple[Words, ...] = ()


class Offer(Record):
    """One tool, resource, resource template or prompt.

    `marks` are what it says of itself in a word or two. `note` says that, and why, the offer is
    not described. `scenes` are the numbers of the dialogues that use it.
    """

    kind: Kind
    name: str
    title: str = ""
    description: str = ""
    marks: tuple[str, ...] = ()
    facts: tuple[Words, ...] = ()
    tables: tuple[Table, ...] = ()
    note: str = ""
    scenes: tuple[int, ...] = ()


class Said(Record):
    """One message of a dialogue, with what there is to say about it."""

    is_ours: bool
    summary: Words
    comment: str = ""
    notes: tuple[Words, ...] = ()
    lines: tuple[Line, ...] = ()

    @property
    def direction(self) -> str:
        return "client → server" if self.is_ours else "server → client"

    @property
    def is_tagged(self) -> bool:
        """Whether tags make it something else than JSON."""
        return any(
            kind == "tag" and text.startswith("!!")
            for _, pieces in self.lines
            for kind, text in pieces
        )


class Scene(Record):
    """One case as it is told. `offers` are the places of those it uses in `Guide.offers`."""

    number: int
    name: str
    said: tuple[Said, ...]
    comment: str = ""
    description: str = ""
    tags: tuple[str, ...] = ()
    skip: str | None = None
    is_strict: bool = False
    offers: tuple[int, ...] = ()


class Chapter(Record):
    """The dialogues of one file."""

    name: str
    scenes: tuple[Scene, ...]


class Guide(Record):
    """Everything that is on the page, in its order; `legend` explains the tags that are used."""

    title: str
    description: str = ""
    facts: tuple[Words, ...] = ()
    instructions: str = ""
    capabilities: tuple[Words, ...] = ()
    offers: tuple[Offer, ...] = ()
    chapters: tuple[Chapter, ...] = ()
    legend: tuple[Words, ...] = ()
    left_out: tuple[Words, ...] = ()

    @property
    def scenes(self) -> tuple[Scene, ...]:
        """All dialogues; `Scene.number` counts them from 0."""
        return tuple(scene for chapter in self.chapters for scene in chapter.scenes)

    @property
    def has_chapters(self) -> bool:
        """Whether the dialogues come from several files, which are then named."""
        return len(self.chapters) > 1
