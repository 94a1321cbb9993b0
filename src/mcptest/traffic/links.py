"""Values that the server sends and the client uses later: an id, a cursor, a session.

Such a value is bound to a name where it first appears, and replaced by the name later, so
that the contract holds when the server sends another value.
"""

from __future__ import annotations

import re
from functools import lru_cache, reduce
from operator import getitem

from mcptest.core.secrets import split_words
from mcptest.core.text import visible
from mcptest.formats.yaml.full import Tagged
from mcptest.protocol.jsonrpc import id_key
from mcptest.traffic.cases import identifier
from mcptest.traffic.reading import messages_in
from mcptest.traffic.varying import (
    CONSTANT_KEYS,
    SCHEMA_KEYS,
    VaryingStrings,
    find_varying,
    has_digit,
    is_id_key,
    is_random,
    tag_for,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from mcptest.protocol.jsonrpc import IdKey
    from mcptest.traffic.cases import Marks, Names, RecordedCase
    from mcptest.traffic.varying import Steps

    # Where a value is: the marks of its case, its place there, and its key.
    Place = tuple[Marks, tuple[int, Steps], str]

__all__ = ["Linker"]

_FIND_NAME = re.compile(r"[\w-]{4,}")
_MAX_SHOWN = 60


class Linker:
    """Goes through all cases in order and marks where names are bound and used.

    `varying` collects the strings that vary, `notes` what cannot be bound or used.
    """

    def __init__(self, names: Names) -> None:
        self._names = names
        self._received: dict[IdKey, Place] = {}
        self._bound: dict[IdKey, str] = {}
        self._sent: set[IdKey] = set()
        # Strings of the server: what varies inside longer ones, other possible names inside
        # longer ones, and values of keys like "id". What the client sent first is in neither.
        self._varying_inside: set[str] = set()
        self._names_inside: set[str] = set()
        self._ids: set[str] = set()
        self._from_client: set[str] = set()
        self.varying = VaryingStrings()
        self.notes: list[str] = []

    def link(self, case: RecordedCase, marks: Marks, name: str) -> None:
        """Mark the messages of a case; the ids of the server's requests are marked already."""
        for (index, steps), tag in marks.items():
            if tag is not None and tag.tag == "bind":
                self.varying.add_bound(reduce(getitem, steps, case.messages[index].message))
        for index, each in enumerate(case.messages):
            for steps, key, value in _scalars_of(each.message):
                place = (marks, (index, steps), key)
                if each.direction == "out":
                    self._remember(key, value)
                if (index, steps) in marks:
                    continue
                if each.direction == "in":
                    self._send(value, place, name)
                else:
                    self._receive(value, place, is_source=not case.is_unanswered)

    def _receive(self, value: Any, place: Place, *, is_source: bool) -> None:
        """A value that the server sends; a source is in a case that is run."""
        marks, at, key = place
        value_key = id_key(value)
        name = self._bound.get(value_key)
        if name and (_is_same_thing(key, key, value) or _is_unmistakable(value)):
            marks[at] = Tagged(tag="ref", text=name)
        elif is_source and value_key not in self._sent:
            first = self._received.setdefault(value_key, place)
            # A place whose key says that it is an id is preferred to the first.
            if _is_handle_key(key) and not _is_handle_key(first[2]):
                self._received[value_key] = place

    def _remember(self, key: str, value: object) -> None:
        """Note what varies in a value of the server, and what the client may take out of it."""
        if not isinstance(value, str):
            if tag_for(key, value):
                self.varying.add_seen(str(value), r"\d+")
            return
        for start, end, expression in find_varying(key, value):
            part = value[start:end]
            if part not in self._from_client:
                if not find_varying("", part):
                    self.varying.add_seen(part, expression)
                if part != value:
                    self._varying_inside.add(part)
        if _is_handle_key(key):
            self._ids.update({value} - self._from_client)
        elif key not in CONSTANT_KEYS and has_digit(value):
            self._names_inside.update(set(_names_in(value)) - self._from_client - {value})

    def _send(self, value: Any, place: Place, case_name: str) -> None:
        """A value that the client sends: one of the server, or one of its own."""
        marks, at, key = place
        value_key = id_key(value)
        source = self._received.get(value_key)
        is_bound = value_key in self._bound and _is_unmistakable(value)
        if not source or not (is_bound or _is_same_thing(source[2], key, value)):
            self._sent.add(value_key)
            if isinstance(value, str):
                self._note_unlinked(key, value, case_name)
            return
        if value_key not in self._bound:
            source_marks, source_at, source_key = source
            # The longer of the two keys says more: noteId rather than id.
            words = split_words(source_key if key == "id" else key)
            name = self._names.unique(identifier("_".join(words).removeprefix("next_")))
            self._bound[value_key] = name
            source_marks[source_at] = Tagged(tag="bind", text=name)
            self.varying.add_bound(value)
        marks[at] = Tagged(tag="ref", text=self._bound[value_key])

    def _note_unlinked(self, key: str, value: str, case_name: str) -> None:
        """Report a value of the server that cannot be replaced, as it is inside a longer string."""
        parts = [value, *(value[start:end] for start, end, _ in find_varying(key, value))]
        taken_out = [part for part in parts if part in self._varying_inside]
        if _is_handle_key(key) and value in self._names_inside:
            taken_out.append(value)
        put_in = [name for name in _names_in(value) if name in self._ids and name != value]
        self._from_client.update(parts)
        if taken_out:
            self.notes.append(
                f"{case_name}: the client sends {_shown(taken_out[0])}, which the server sent "
                "inside a longer string; it is sent again as it is"
            )
        elif put_in:
            self.notes.append(
                f"{case_name}: the client sends {_shown(put_in[0])}, which the server sent, "
                "inside a longer string; it is sent again as it is"
            )


def _shown(text: str) -> str:
    # Part of a secret could not be recognized as one, so nothing is cut.
    return visible(text) if len(text) <= _MAX_SHOWN else "a long string"


def _names_in(text: str) -> list[str]:
    """The words of a string that may be names: of four characters and with a digit."""
    return [each for each in _FIND_NAME.findall(text) if has_digit(each)]


def _is_same_thing(received_as: str, sent_as: str, value: object) -> bool:
    """True if a value that came under one key and is sent under another is the same thing."""
    if isinstance(value, str) and find_varying(received_as, value):
        return True
    are_handles = [_is_handle_key(received_as), _is_handle_key(sent_as)]
    if _is_unmistakable(value) and (any(are_handles) or received_as == "uri"):
        return True
    return all(are_handles)


def _is_unmistakable(value: object) -> bool:
    """True if a value is so random that it is the same thing under any key."""
    return isinstance(value, str) and any(map(is_random, _names_in(value)))


@lru_cache(maxsize=4096)
def _is_handle_key(key: str) -> bool:
    return is_id_key(key) or split_words(key)[-1:] == ("token",)


def _scalars_of(message: Any) -> Iterator[tuple[Steps, str, Any]]:
    """Every string and integer in the contents of a message, with its path and its key."""
    for part, each in enumerate(messages_in(message)):
        lead = (part,) if isinstance(message, list) else ()
        for name in ("params", "result", "error"):
            if name in each:
                yield from _scalars_in(each[name], (*lead, name), name)


def _scalars_in(value: Any, steps: Steps, key: str) -> Iterator[tuple[Steps, str, Any]]:
    if isinstance(value, dict):
        for name, inner in value.items():
            if name not in SCHEMA_KEYS:
                yield from _scalars_in(inner, (*steps, name), name)
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _scalars_in(inner, (*steps, index), key)
    elif value != "" and type(value) in (str, int):
        yield steps, key, value
