"""Which cues a message may be, found without looking at all of them.

A contract may have thousands of cases with one method. Cues with blanks in the same places are
looked up together, by everything that is plain in them; a cue without blanks is found by all of
its params. What is found this way is nearly always right, and is still to be compared.

Sets of cues are numbers with one bit for each cue, so that the first one of a set that is not
in another is found at once.
"""

from __future__ import annotations

from mcptest.core.dialogue import Ref
from mcptest.matching.compare import Group
from mcptest.matching.patterns import Pattern
from mcptest.matching.values import json_type
from mcptest.mock.bodies import IN_PART

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence
    from typing import Any

    from mcptest.core.jsonrpc import MessageKind
    from mcptest.mock.script import Cue

    # Where blanks are: further down under each step, or None at a blank.
    Blanks = dict[str | int, Any]
    Steps = tuple[str | int, ...]

__all__ = ["CueIndex", "bits_of", "falling", "name_in", "rising"]

# Of what is larger only so much is looked at; a message may be millions of values.
_MAX_MEMBERS = 64

_NAMES = ("name", "uri")


class CueIndex:
    """The client's requests and notifications of a script, by what they say."""

    def __init__(self, cues: Sequence[Cue]) -> None:
        self._entries: dict[tuple[str, str], _Entry] = {}
        for cue in cues:
            self._entries.setdefault((cue.kind, cue.method), _Entry()).add(cue)

    def methods(self, kind: MessageKind) -> tuple[str, ...]:
        """The methods that cues of this kind have."""
        return tuple(method for each, method in self._entries if each == kind)

    def numbers(self, kind: MessageKind, method: str) -> Sequence[int]:
        """All cues with a method, in written order."""
        entry = self._entries.get((kind, method))
        return entry.numbers if entry else ()

    def names(self, kind: MessageKind, method: str) -> Collection[str]:
        """The names of what is used with a method: tools, say, or URIs of resources."""
        entry = self._entries.get((kind, method))
        return entry.by_name.keys() if entry else ()

    def named(self, kind: MessageKind, method: str, name: str) -> Sequence[int]:
        """The cues that use this name, in written order, and then those with a blank for it."""
        entry = self._entries.get((kind, method))
        return [*entry.by_name.get(name, ()), *entry.unnamed] if entry else ()

    def sift(self, kind: MessageKind, method: str, body: dict[str, object]) -> int:
        """The set of cues that a message with this body may be."""
        entry = self._entries.get((kind, method))
        if entry is None:
            return 0
        return bits_of(entry.numbers) if method in IN_PART else entry.sift(body)


class _Entry:
    """All cues of one kind with one method."""

    def __init__(self) -> None:
        self.numbers: list[int] = []
        self.by_name: dict[str, list[int]] = {}
        self.unnamed: list[int] = []
        self._sieves: dict[tuple[Steps, ...], _Sieve] = {}

    def add(self, cue: Cue) -> None:
        self.numbers.append(cue.index)
        name = name_in(cue.body)
        (self.by_name.setdefault(name, []) if name else self.unnamed).append(cue.index)
        places = tuple(_places(cue.body))
        sieve = self._sieves.get(places)
        if sieve is None:
            sieve = self._sieves[places] = _Sieve(places)
        sieve.add(cue)

    def sift(self, body: dict[str, object]) -> int:
        found = 0
        for sieve in self._sieves.values():
            found |= sieve.sift(body)
        return found


class _Sieve:
    """Cues that have their blanks in the same places, by what is plain in them."""

    def __init__(self, places: tuple[Steps, ...]) -> None:
        self._blanks = _tree(places)
        # The first cue, and the set of all that are alike counted from it.
        self._sets: dict[object, tuple[int, int]] = {}

    def add(self, cue: Cue) -> None:
        key = _key(cue.body, self._blanks)
        first, bits = self._sets.get(key, (cue.index, 0))
        self._sets[key] = first, bits | 1 << (cue.index - first)

    def sift(self, body: dict[str, object]) -> int:
        first, bits = self._sets.get(_key(body, self._blanks), (0, 0))
        return bits << first


def name_in(body: dict[str, object]) -> str:
    """The name of the tool, prompt or resource in a message, "" without a plain one."""
    params = body.get("params")
    if not isinstance(params, dict):
        return ""
    return next((params[key] for key in _NAMES if isinstance(params.get(key), str)), "")


# Keys


def _places(value: object, steps: Steps = ()) -> Iterator[Steps]:
    """Where the blanks of a value are, in an order that does not depend on how it is written."""
    if isinstance(value, dict):
        for key in sorted(value):
            yield from _places(value[key], (*steps, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _places(item, (*steps, index))
    elif isinstance(value, (Pattern, Group, Ref)):
        yield steps


def _tree(places: tuple[Steps, ...]) -> Blanks:
    root: Blanks = {}
    for *way, last in places:
        here = root
        for step in way:
            here = here.setdefault(step, {})
        here[last] = None
    return root


def _key(value: object, blanks: Blanks | None) -> object:
    """The same for values that are equal, apart from what is in the blanks.

    What stands in a blank, and whether anything does, makes no difference.
    """
    if blanks is None:
        return None
    if isinstance(value, dict):
        names = [name for name in value if blanks.get(name, blanks) is not None]
        if len(names) > _MAX_MEMBERS:
            return "object", frozenset(names)
        members = ((name, _key(value[name], blanks.get(name, _NONE))) for name in names)
        return "object", frozenset(members)
    if isinstance(value, list):
        items = enumerate(value[:_MAX_MEMBERS])
        keys = tuple(_key(item, blanks.get(index, _NONE)) for index, item in items)
        return "array", len(value), keys
    return json_type(value), value


_NONE: Blanks = {}


# Sets


def bits_of(numbers: Iterable[int]) -> int:
    """The set of these numbers."""
    bits = 0
    for number in numbers:
        bits |= 1 << number
    return bits


def rising(bits: int) -> Iterator[int]:
    """The members of a set, the smallest first."""
    while bits:
        lowest = bits & -bits
        yield lowest.bit_length() - 1
        bits ^= lowest


def falling(bits: int) -> Iterator[int]:
    """The members of a set, the largest first."""
    while bits:
        number = bits.bit_length() - 1
        yield number
        bits ^= 1 << number
