"""Where a value that a server sent would choose what is checked, instead of being checked with.

Only the author of a file writes targets, matchers, and the names of plugins and schemas.
"""

from __future__ import annotations

from mcptest.formats.templates import misplaced, references
from mcptest.matching.patterns import PREFIX

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    Steps = tuple[str | int, ...]
    Names = Collection[str]

__all__ = ["choosing"]

# Words whose parameter is a choice itself, as a whole or in these of its members.
_CHOICES = ("snapshot",)
_CHOOSING_KEYS = {"plugin": ("name", "method")}


def choosing(expect: object, names: Names) -> Iterator[Steps]:
    """The places under `expect` at which one of the names must not stand."""
    if isinstance(expect, dict):
        yield from _in_assertions(expect.get("assertions"), names, ("assertions",))
    else:
        yield from _in_assertions(expect, names, ())


def _in_assertions(value: object, names: Names, steps: Steps) -> Iterator[Steps]:
    if not isinstance(value, list):
        yield from _anywhere(value, names, steps)
        return
    for index, item in enumerate(value):
        here = (*steps, index)
        if not isinstance(item, dict):
            yield from _anywhere(item, names, here)
            continue
        yield from _anywhere(item.get("target"), names, (*here, "target"))
        if "matcher" in item:
            yield from _in_matcher(item["matcher"], names, (*here, "matcher"))


def _in_matcher(value: object, names: Names, steps: Steps) -> Iterator[Steps]:
    if not isinstance(value, dict):
        yield from _anywhere(value, names, steps)
        return
    for word, inner in value.items():
        here = (*steps, word)
        yield from _anywhere(word, names, steps)
        if word == "not":
            yield from _in_matcher(inner, names, here)
        elif word in ("all", "any"):
            yield from _in_matchers(inner, names, here)
        else:
            yield from _in_parameter(word, inner, names, here)


def _in_matchers(value: object, names: Names, steps: Steps) -> Iterator[Steps]:
    if not isinstance(value, list):
        yield from _anywhere(value, names, steps)
        return
    for index, each in enumerate(value):
        yield from _in_matcher(each, names, (*steps, index))


def _in_parameter(word: str, value: object, names: Names, steps: Steps) -> Iterator[Steps]:
    # A text under `schema` is the name of a file; what stands in a schema is a parameter.
    if word in _CHOICES or (word == "schema" and isinstance(value, str)):
        yield from _anywhere(value, names, steps)
    elif word == "pattern" and isinstance(value, str):
        if any(True for _ in _anywhere(value, names, steps)):
            yield from misplaced(PREFIX + value.removeprefix(PREFIX), steps)
    elif word in _CHOOSING_KEYS:
        members = value if isinstance(value, dict) else {"": value}
        for key, member in members.items():
            if key in ("", *_CHOOSING_KEYS[word]):
                yield from _anywhere(member, names, (*steps, key) if key else steps)


def _anywhere(value: object, names: Names, steps: Steps) -> Iterator[Steps]:
    for name, inner in references(value):
        if name in names:
            yield (*steps, *inner)
