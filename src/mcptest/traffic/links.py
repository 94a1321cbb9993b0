"""Values that the server brought and the client used later: an id, a cursor, a session.

Where such a value first stands it is bound to a name, and from then on the name stands for it,
so that the contract holds when the server brings another one.
"""

from __future__ import annotations

from mcptest.core.jsonrpc import id_key
from mcptest.core.record import Record
from mcptest.core.visible import shorten, visible
from mcptest.traffic.looks import SCHEMA_KEYS, is_id_key, spans_in
from mcptest.traffic.naming import word_of, words_of
from mcptest.traffic.tag import Tag

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from mcptest.core.jsonrpc import IdKey
    from mcptest.traffic.ids import Marks
    from mcptest.traffic.naming import Names
    from mcptest.traffic.recording import Spoken, Steps

    # The same value in all recordings.
    Values = tuple[Any, ...]

__all__ = ["Linker"]

# Of a message, what is not about the message itself.
_CONTENT = ("params", "result", "error")


class _Place(Record):
    marks: Marks
    index: int
    steps: Steps
    key: str


class Linker:
    """Goes through all messages in order, and marks where names are bound and used."""

    def __init__(self, names: Names) -> None:
        self._names = names
        self._brought: dict[tuple[IdKey, ...], _Place] = {}
        self._bound: dict[tuple[IdKey, ...], str] = {}
        self._sent: set[tuple[IdKey, ...]] = set()
        # What varies inside longer texts of the server, and what the client said of its own.
        self._inside: set[str] = set()
        self._own: set[str] = set()
        self.notes: list[str] = []

    def hear(self, index: int, spoken: Spoken, marks: Marks, *, is_source: bool) -> None:
        """What the server says; a source is a message that will come again."""
        for steps, key, values in _scalars(spoken):
            self._inside.update(set(_parts_inside(key, values[0])) - self._own)
            if (index, steps) in marks:
                continue
            value_key = tuple(map(id_key, values))
            name = self._bound.get(value_key)
            if name and _is_handle(key, key, values):
                marks[index, steps] = Tag(name="ref", text=name)
            elif is_source and value_key not in self._sent:
                place = _Place(marks=marks, index=index, steps=steps, key=key)
                self._brought.setdefault(value_key, place)

    def say(self, index: int, spoken: Spoken, marks: Marks, case: str) -> None:
        """What the client says."""
        for steps, key, values in _scalars(spoken):
            if (index, steps) in marks:
                continue
            value_key = tuple(map(id_key, values))
            place = self._brought.get(value_key)
            if place and _is_handle(place.key, key, values):
                name = self._bound.get(value_key) or self._bind(value_key, place, key)
                marks[index, steps] = Tag(name="ref", text=name)
            else:
                self._sent.add(value_key)
                self._keep_own(key, values[0], case)

    def _bind(self, value_key: tuple[IdKey, ...], place: _Place, key: str) -> str:
        # The longer of the two keys says more: noteId rather than id.
        words = max(key, place.key, key=lambda each: each != "id")
        name = self._names.unique(_without_next(words))
        self._bound[value_key] = name
        place.marks[place.index, place.steps] = Tag(name="bind", text=name)
        return name

    def _keep_own(self, key: str, value: object, case: str) -> None:
        """Say so when a value cannot be bound, since it came inside a longer text."""
        if not isinstance(value, str):
            return
        parts = [value, *(value[start:end] for start, end, _ in spans_in(key, value))]
        used = [part for part in parts if part in self._inside]
        self._own.update(parts)
        if used:
            shown = visible(shorten(used[0], 60))
            self.notes.append(
                f"{case}: the client sends {shown}, which the server had brought inside a "
                "longer text; it is sent again as it is"
            )


def _parts_inside(key: str, value: object) -> Iterator[str]:
    if isinstance(value, str):
        for start, end, _ in spans_in(key, value):
            if (start, end) != (0, len(value)):
                yield value[start:end]


def _is_handle(brought_as: str, used_as: str, values: Values) -> bool:
    """Whether a value that came under one key and is used under another is the same thing."""
    if len(set(map(id_key, values))) > 1:
        # Another one in each recording, and used each time: no chance does that.
        return True
    if isinstance(values[0], str) and spans_in(brought_as, values[0]):
        return True
    return _is_handle_key(brought_as) and _is_handle_key(used_as)


def _is_handle_key(key: str) -> bool:
    return is_id_key(key) or words_of(key)[-1:] == ("token",)


def _without_next(key: str) -> str:
    return word_of("_".join(words_of(key)).removeprefix("next_"))


def _scalars(spoken: Spoken) -> Iterator[tuple[Steps, str, Values]]:
    """Every text and integer in a message, with its place, its key and its fellows."""
    messages = (spoken.message, *spoken.others)
    if isinstance(spoken.message, list):
        for index in range(len(spoken.message)):
            yield from _contents(tuple(each[index] for each in messages), (index,))
    else:
        yield from _contents(messages, ())


def _contents(messages: Values, steps: Steps) -> Iterator[tuple[Steps, str, Values]]:
    for name in _CONTENT:
        if all(name in message for message in messages):
            yield from _inner(tuple(each[name] for each in messages), (*steps, name), name)


def _inner(values: Values, steps: Steps, key: str) -> Iterator[tuple[Steps, str, Values]]:
    first = values[0]
    if any(type(value) is not type(first) for value in values):
        return
    if isinstance(first, dict):
        for name in first:
            if name not in SCHEMA_KEYS and all(name in value for value in values):
                yield from _inner(tuple(each[name] for each in values), (*steps, name), name)
    elif isinstance(first, list):
        for index in range(min(map(len, values))):
            yield from _inner(tuple(each[index] for each in values), (*steps, index), key)
    elif first != "" and type(first) in (str, int):
        yield steps, key, values
