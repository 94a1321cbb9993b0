"""Values that the server brought and the client used later: an id, a cursor, a session.

Where such a value first stands it is bound to a name, and from then on the name stands for it,
so that the contract holds when the server brings another one.
"""

from __future__ import annotations

import re
from functools import lru_cache

from mcptest.core.jsonrpc import id_key
from mcptest.core.secrets import split_words
from mcptest.core.text import visible
from mcptest.traffic.looks import CONSTANT_KEYS, SCHEMA_KEYS, is_id_key, look_of, spans_in
from mcptest.traffic.naming import word_of
from mcptest.traffic.tag import Tag
from mcptest.traffic.varying import Varying, has_digit, is_random

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from mcptest.core.jsonrpc import IdKey
    from mcptest.traffic.ids import Marks
    from mcptest.traffic.naming import Names
    from mcptest.traffic.recording import Spoken, Steps

    # The same value in all recordings.
    Values = tuple[Any, ...]
    Scalar = tuple[Steps, str, Values]
    # Where a value stands: the marks of its passage, its place there, and its key.
    Place = tuple[Marks, tuple[int, Steps], str]

__all__ = ["Linker"]

# Of a message, what is not about the message itself.
_CONTENT = ("params", "result", "error")
_NAME = re.compile(r"[\w-]+")
_LEAST_NAME = 4
_MAX_SHOWN = 60


class Linker:
    """Goes through all messages in order, and marks where names are bound and used."""

    def __init__(self, names: Names) -> None:
        self._names = names
        self._brought: dict[tuple[IdKey, ...], Place] = {}
        self._bound: dict[tuple[IdKey, ...], str] = {}
        self._sent: set[tuple[IdKey, ...]] = set()
        # What varies inside longer texts of the server, and whatever else might be a name there;
        # what it brought under a key that says that it is to be used again; what the client
        # said of its own.
        self._inside: set[str] = set()
        self._names_inside: set[str] = set()
        self._handles: set[str] = set()
        self._own: set[str] = set()
        # What varies by its look, to be found where no key says so.
        self.varying = Varying()
        self.notes: list[str] = []

    def hear(self, index: int, spoken: Spoken, marks: Marks, *, is_source: bool) -> None:
        """What the server says; a source is a message that will come again."""
        for steps, key, values in _scalars(spoken):
            self._look_at(key, values)
            if (index, steps) in marks:
                continue
            value_key = tuple(map(id_key, values))
            name = self._bound.get(value_key)
            if name and (_is_handle(key, key, values) or _is_unmistakable(values[0])):
                marks[index, steps] = Tag(name="ref", text=name)
            elif is_source and value_key not in self._sent:
                self._bring(value_key, (marks, (index, steps), key))

    def _bring(self, value_key: tuple[IdKey, ...], place: Place) -> None:
        """Keep where a value first stands, but for a place whose key says what it is."""
        before = self._brought.setdefault(value_key, place)
        if before is not place and _is_handle_key(place[2]) and not _is_handle_key(before[2]):
            self._brought[value_key] = place

    def _look_at(self, key: str, values: Values) -> None:
        """Keep what varies in a value of the server, and what the client may take out of it."""
        for value in values:
            if not isinstance(value, str):
                if look_of(key, value):
                    self.varying.add_seen(str(value), r"\d+")
                continue
            for start, end, expression in spans_in(key, value):
                part = value[start:end]
                if part not in self._own and not spans_in("", part):
                    self.varying.add_seen(part, expression)
                if part != value and part not in self._own:
                    self._inside.add(part)
            if _is_handle_key(key):
                self._handles.update({value} - self._own)
            elif key not in CONSTANT_KEYS and has_digit(value):
                self._names_inside.update(set(_names_in(value)) - self._own - {value})

    def say(self, index: int, spoken: Spoken, marks: Marks, case: str) -> None:
        """What the client says."""
        for steps, key, values in _scalars(spoken):
            if (index, steps) in marks:
                continue
            value_key = tuple(map(id_key, values))
            place = self._brought.get(value_key)
            if place and self._is_used(value_key, place, key, values):
                name = self._bound.get(value_key) or self._bind(value_key, place, key)
                marks[index, steps] = Tag(name="ref", text=name)
            else:
                self._sent.add(value_key)
                self._keep_own(key, values[0], case)

    def _is_used(
        self, value_key: tuple[IdKey, ...], place: Place, key: str, values: Values
    ) -> bool:
        """Whether the client says what the server had brought, and not by chance."""
        if value_key in self._bound and _is_unmistakable(values[0]):
            return True
        return _is_handle(place[2], key, values)

    def _bind(self, value_key: tuple[IdKey, ...], place: Place, key: str) -> str:
        # The longer of the two keys says more: noteId rather than id.
        words = max(key, place[2], key=lambda each: each != "id")
        name = self._names.unique(_without_next(words))
        self._bound[value_key] = name
        marks, at, _ = place
        marks[at] = Tag(name="bind", text=name)
        return name

    def _keep_own(self, key: str, value: object, case: str) -> None:
        """Say so when a value cannot be bound or used, since it stands inside a longer text."""
        if not isinstance(value, str):
            return
        parts = [value, *(value[start:end] for start, end, _ in spans_in(key, value))]
        used = [part for part in parts if part in self._inside]
        if _is_handle_key(key) and value in self._names_inside:
            used.append(value)
        put_in = [each for each in _names_in(value) if each in self._handles and each != value]
        self._own.update(parts)
        if used:
            self.notes.append(
                f"{case}: the client sends {_shown(used[0])}, which the server had brought inside "
                "a longer text; it is sent again as it is"
            )
        elif put_in:
            self.notes.append(
                f"{case}: the client sends {_shown(put_in[0])}, which the server had brought, "
                "inside a longer text; it is sent again as it is"
            )


def _shown(text: str) -> str:
    # Of a secret that is cut, nobody would know what is left.
    return visible(text) if len(text) <= _MAX_SHOWN else "a long text"


def _names_in(text: str) -> list[str]:
    """The words of a text that may be names of something: neither short nor without a digit."""
    return [each for each in _NAME.findall(text) if len(each) >= _LEAST_NAME and has_digit(each)]


def _is_handle(brought_as: str, used_as: str, values: Values) -> bool:
    """Whether a value that came under one key and is used under another is the same thing."""
    if len(set(map(id_key, values))) > 1:
        # Another one in each recording, and used each time: no chance does that.
        return True
    if isinstance(values[0], str) and spans_in(brought_as, values[0]):
        return True
    are_handles = [_is_handle_key(brought_as), _is_handle_key(used_as)]
    if _is_unmistakable(values[0]) and (any(are_handles) or brought_as == "uri"):
        return True
    return all(are_handles)


def _is_unmistakable(value: object) -> bool:
    """Whether a value is so random that it is the same thing under any key."""
    return isinstance(value, str) and any(map(is_random, _names_in(value)))


@lru_cache(maxsize=4096)
def _is_handle_key(key: str) -> bool:
    return is_id_key(key) or split_words(key)[-1:] == ("token",)


def _without_next(key: str) -> str:
    return word_of("_".join(split_words(key)).removeprefix("next_"))


def _scalars(spoken: Spoken) -> list[Scalar]:
    """Every text and integer in a message, with its place, its key and its fellows."""
    messages = (spoken.message, *spoken.others)
    found: list[Scalar] = []
    if isinstance(spoken.message, list):
        for index in range(len(spoken.message)):
            _take_contents(tuple(each[index] for each in messages), (index,), found)
    else:
        _take_contents(messages, (), found)
    return found


def _take_contents(messages: Values, steps: Steps, found: list[Scalar]) -> None:
    for name in _CONTENT:
        if all(name in message for message in messages):
            _take(tuple(each[name] for each in messages), (*steps, name), name, found)


def _take(values: Values, steps: Steps, key: str, found: list[Scalar]) -> None:
    first = values[0]
    if len(values) > 1 and any(type(value) is not type(first) for value in values):
        return
    if isinstance(first, dict):
        for name in first:
            if name not in SCHEMA_KEYS and all(name in value for value in values):
                _take(tuple([each[name] for each in values]), (*steps, name), name, found)
    elif isinstance(first, list):
        for index in range(min(map(len, values))):
            _take(tuple([each[index] for each in values]), (*steps, index), key, found)
    elif first != "" and type(first) in (str, int):
        found.append((steps, key, values))
