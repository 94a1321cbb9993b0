"""What a tag makes of the text it stands on.

A tag as the parser names it and a text go in; the value comes out, or a `TagError` that
says what is wrong with the tag and what to write instead. Where the tag stands is the
builder's business.
"""

from __future__ import annotations

from mcptest.core.suggest import closest
from mcptest.core.text import shorten
from mcptest.formats.full_dialect import Tagged
from mcptest.formats.scalars import KNOWN_TAGS, resolve_as

__all__ = ["TagError", "check_collection_tag", "value_of_tag"]

_YAML_TAG = "tag:yaml.org,2002:"
_COLLECTIONS = {"a mapping": "map", "a list": "seq"}
_PLAIN_VALUES = "write plain mappings, lists, text, numbers, true, false or null"


class TagError(ValueError):
    """A tag that cannot stand where it does. `width` is its length in the file, 0 for unknown."""

    def __init__(self, message: str, *, help: str = "", width: int = 0) -> None:
        super().__init__(message)
        self.help = help
        self.width = width


def value_of_tag(tag: str, text: str, ours: tuple[str, ...]) -> object:
    """The value of a scalar with this tag; `ours` are the tags that become `Tagged`."""
    if tag == "!":
        return text
    kind = tag.removeprefix(_YAML_TAG)
    if kind == tag or kind not in (*ours, *KNOWN_TAGS):
        raise _refusal(tag, "a scalar", ours)
    if kind in ours:
        return Tagged(tag=kind, text=text)
    try:
        return resolve_as(kind, text)
    except ValueError as refused:
        raise TagError(f"!!{kind} does not fit: {refused}") from None


def check_collection_tag(tag: str | None, what: str, ours: tuple[str, ...]) -> None:
    """Refuse every tag on `what` ("a mapping", "a list") but the one that says what it is."""
    if tag not in (None, "!", _YAML_TAG + _COLLECTIONS[what]):
        raise _refusal(tag, what, ours)


def _refusal(tag: str, what: str, ours: tuple[str, ...]) -> TagError:
    shown = "!!" + tag.removeprefix(_YAML_TAG) if tag.startswith(_YAML_TAG) else tag
    name = shown.lstrip("!")
    width = len(shown)
    if shown in (f"!!{mine}" for mine in ours):
        return TagError(
            f"{shown} stands on text, not on {what}",
            help=f"write {shown} before a text, and put that in quotes",
            width=width,
        )
    if shown in ("!!map", "!!seq", *(f"!!{kind}" for kind in KNOWN_TAGS)):
        return TagError(f"{shown} does not fit {what}", width=width)
    if name in ours:
        return TagError(
            f"the tag {shown} needs two exclamation marks", help=f"write !!{name}", width=width
        )
    refused = f"the tag {shorten(shown, 60)} is refused"
    if not ours:
        return TagError(f"{refused}: object tags are not allowed", help=_PLAIN_VALUES, width=width)
    meant = closest(name, ours)
    habits = {"regex": "re", "regexp": "re", "var": "ref", "capture": "bind", "string": "type"}
    meant = meant or habits.get(name, "")
    question = f"; did you mean !!{meant}?" if meant else ": object tags are not allowed"
    known = ", ".join(f"!!{mine}" for mine in ours)
    return TagError(
        f"{refused}{question}", help=f"there are: {known}; or {_PLAIN_VALUES}", width=width
    )
