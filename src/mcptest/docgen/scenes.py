"""Cases as they are told: each message with its direction, its gist, its notes and its JSON."""

from __future__ import annotations

from mcptest.core.jsonrpc import message_kind
from mcptest.core.paths import render_path
from mcptest.core.visible import shorten
from mcptest.docgen.contents import Code, Said, Scene
from mcptest.docgen.json_lines import is_tag, json_lines, one_line, tag_words
from mcptest.docgen.speech import dialogue_of, plain_dict, request_behind
from mcptest.matching.group import Group
from mcptest.matching.patterns import Pattern
from mcptest.matching.shown import counted
from mcptest.matching.tags import TAGS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

    from mcptest.core.dialogue import Dialogue, Turn
    from mcptest.core.plan import Case
    from mcptest.docgen.contents import Words

    Message = dict[str, Any]

__all__ = ["build_legend", "build_scene"]

MAX_TEXT_CHARS = 20_000
MAX_NAME_CHARS = 300
MAX_GIST_CHARS = 80


def build_scene(case: Case, number: int, offers: tuple[int, ...]) -> Scene:
    """A case as it is told; `offers` are those it uses."""
    dialogue = dialogue_of(case)
    return Scene(
        number=number,
        name=shorten(case.name.strip(), MAX_NAME_CHARS) or f"case {number + 1}",
        said=tuple(_said(dialogue, turn) for turn in dialogue.turns),
        comment=shorten(dialogue.comment, MAX_TEXT_CHARS),
        description=shorten(dialogue.description, MAX_TEXT_CHARS),
        tags=case.tags,
        skip=case.skip,
        is_strict=dialogue.is_strict,
        offers=offers,
    )


def _said(dialogue: Dialogue, turn: Turn) -> Said:
    return Said(
        is_ours=turn.is_ours,
        summary=_summary(dialogue, turn),
        comment=shorten(turn.comment, MAX_TEXT_CHARS),
        notes=tuple(_notes(turn)),
        lines=json_lines(turn.value),
    )


# The gist of a message


def _summary(dialogue: Dialogue, turn: Turn) -> Words:
    if isinstance(turn.value, list):
        return (f"batch of {counted(len(turn.value), 'message')}",)
    message = plain_dict(turn.value)
    kind = message_kind(message)
    if kind in ("request", "notification"):
        return f"{kind} ", *_gist(message)
    behind = request_behind(dialogue, turn)
    about = (" to ", *_gist(behind)) if "method" in behind else ()
    if "error" in message:
        return *_error_gist(plain_dict(message["error"])), *about
    if kind == "response" and "result" in message:
        failed = plain_dict(message["result"]).get("isError") is True
        return "answer", *about, *((", which says that it failed",) if failed else ())
    return ("message",)


def _gist(message: Message) -> Words:
    """The method of a message, and what it is about."""
    method = Code(_flat(message.get("method")))
    params = plain_dict(message.get("params"))
    about = next((params[key] for key in ("name", "uri", "level") if key in params), None)
    return (method,) if about is None else (method, " ", Code(_flat(about)))


def _error_gist(error: Message) -> Words:
    code = (" ", Code(_flat(error["code"]))) if "code" in error else ()
    return "error", *code


def _flat(value: object) -> str:
    """A text as it is, anything else as it is written, on one line."""
    return shorten(value, MAX_GIST_CHARS) if type(value) is str else one_line(value, MAX_GIST_CHARS)


# What the names in a message mean


def _notes(turn: Turn) -> Iterator[Words]:
    for bind in turn.binds:
        path = Code(render_path(bind.steps) or "the whole message")
        yield "The value at ", path, " is kept under the name ", Code(bind.name), "."
    for name in turn.needs:
        yield (
            "Where ",
            Code(f"!!ref {name}"),
            " stands, the value kept as ",
            Code(name),
            " is used.",
        )


# The tags that are used anywhere


def build_legend(cases: Iterable[Case]) -> tuple[Words, ...]:
    """One sentence about each kind of tag and pattern that the messages hold."""
    found: set[str] = set()
    for case in cases:
        for turn in dialogue_of(case).turns:
            found |= set(_tags_in(turn.value))
    return tuple(
        (Code(sign), ": ", *_sentence(summary))
        for name, (sign, summary) in _SIGNS.items()
        if name in found
    )


def _sentence(summary: str) -> Iterator[str]:
    """A sentence of ours, in which code stands between backticks."""
    for number, part in enumerate(summary.split("`")):
        if part:
            yield Code(part) if number % 2 else part


_SIGNS = {
    **{
        name: (" ".join((f"!!{name}", *matcher.parameters)), matcher.summary)
        for name, matcher in TAGS.items()
    },
    "ref": ("!!ref NAME", "The value that an earlier message brought under NAME."),
    "match": ("match:…", "A pattern that the value meets."),
}


def _tags_in(value: object) -> Iterator[str]:
    """The names of the tags in a value; those of patterns in words are one name."""
    if is_tag(value):
        yield tag_words(value)[0]
    elif isinstance(value, dict):
        for inner in value.values():
            yield from _tags_in(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _tags_in(inner)
    elif isinstance(value, (Pattern, Group)):
        yield "match"
