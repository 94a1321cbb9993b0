"""Find the message of a contract that a client sent, or the one that comes nearest to it.

A contract may have thousands of cases with one method, so they are looked up in a dict by
everything in them that is plain. What is found that way is nearly always right, and is still
compared.
"""

from __future__ import annotations

from itertools import chain, islice

from mcptest.core.diagnostics import closest
from mcptest.core.record import ABSENT
from mcptest.core.results import Mismatch
from mcptest.matching.compare import Group, compare, is_met
from mcptest.matching.patterns import Pattern
from mcptest.matching.tags import fill, pull_bound, read_tag
from mcptest.matching.values import json_type
from mcptest.mock.protocol import IN_PART, LISTS, body_of
from mcptest.protocol.dialogue import Ref

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from mcptest.mock.contract import Contract, Incoming
    from mcptest.mock.session import Message, Session
    from mcptest.protocol.jsonrpc import MessageKind

    # Where blanks are: a tree of steps with None at each blank.
    Blanks = dict[str | int, Any]
    Steps = tuple[str | int, ...]

__all__ = ["Index", "find_incoming", "find_mismatches", "find_nearest"]

_ANY = read_tag("any", "")

# Larger containers are only partly a key: a message may have millions of values.
_MAX_MEMBERS = 64

# How many messages are compared to find the nearest, and how many mismatches are counted.
_MAX_COMPARED = 1_000
_MAX_MISMATCHES = 50

# The cost of a mismatch. With as many mismatches, different values are nearer than members
# that are missing or too many.
_VALUE = 100
_MEMBER = 101


def find_incoming(
    contract: Contract, session: Session, kind: MessageKind, message: Message
) -> Incoming | None:
    """The first unused request or notification that fits; else the last used one."""
    body = body_of(message)
    candidates = contract.index.candidates(kind, message["method"], body)
    unused = (number for number in candidates if not session.used[number])
    used = (number for number in reversed(candidates) if session.used[number])
    for number in chain(unused, used):
        incoming = contract.incoming[number]
        expected, unbound = _expected_body(incoming, session, message)
        if unbound:
            continue
        if incoming.leniency:
            fits = next(compare(expected, body, leniency=incoming.leniency), None) is None
        else:
            fits = is_met(expected, body)
        if fits:
            return incoming
    return None


def find_mismatches(incoming: Incoming, session: Session, message: Message) -> Iterator[Mismatch]:
    """Every way in which a message is not what the contract writes."""
    expected, unbound = _expected_body(incoming, session, message)
    for name in unbound:
        sentence = f"nothing has bound the name {name} yet"
        yield Mismatch(path="", expected=f"!!ref {name}", actual=ABSENT, message=sentence)
    yield from compare(expected, body_of(message), leniency=incoming.leniency)


def _expected_body(
    incoming: Incoming, session: Session, message: Message
) -> tuple[object, list[str]]:
    """The body to compare with, names filled in, and the names that nothing has bound."""
    if not incoming.needs and not incoming.own:
        return incoming.body, []
    known = {name: session.names.get((incoming.scope, name), ABSENT) for name in incoming.needs}
    pulled_now = pull_bound(incoming.binds, message) if incoming.own else {}
    own = {name: pulled_now.get(name, ABSENT) for name in incoming.own}
    unbound = [name for values in (known, own) for name in values if values[name] is ABSENT]
    known, own = (
        {name: _ANY if value is ABSENT else value for name, value in values.items()}
        for values in (known, own)
    )
    # A name bound by another message of the same batch is known like earlier ones.
    return fill(incoming.body, known, known | own), unbound


def find_nearest(
    contract: Contract, session: Session, kind: MessageKind, message: Message
) -> tuple[Incoming | None, tuple[Mismatch, ...]]:
    """The message with the fewest mismatches, if any is near, and the mismatches.

    Only messages for the same tool, prompt or resource are near, if there are any.
    """
    method, body, index = message["method"], body_of(message), contract.index
    numbers = index.similar(kind, method, body)[:_MAX_COMPARED]
    if not numbers and method in LISTS:
        params = body["params"]
        cursor = params.get("cursor", ABSENT) if isinstance(params, dict) else params
        sentence = "is not expected: the list has no such page"
        return None, (
            Mismatch(path="params.cursor", expected=ABSENT, actual=cursor, message=sentence),
        )
    if not numbers:
        meant = closest(method, index.methods(kind))
        mismatch = Mismatch(
            path="method", expected=meant or ABSENT, actual=method, message="no case has it"
        )
        nearest = contract.incoming[index.numbers(kind, meant)[0]] if meant else None
        return nearest, (mismatch,)
    best, least = contract.incoming[numbers[0]], _VALUE * _MAX_MISMATCHES
    for incoming in map(contract.incoming.__getitem__, numbers):
        expected, unbound = _expected_body(incoming, session, message)
        cost = _VALUE * len(unbound) + _cost(expected, body, least)
        if cost < least:
            best, least = incoming, cost
    return best, tuple(islice(find_mismatches(best, session, message), _MAX_MISMATCHES))


def _cost(expected: object, actual: object, limit: int) -> int:
    """The cost of all mismatches that comparing would find; at the limit counting stops."""
    if isinstance(expected, dict) and isinstance(actual, dict):
        cost = _MEMBER * len(actual.keys() - expected.keys())
        pairs = [(wanted, actual.get(key, ABSENT)) for key, wanted in expected.items()]
    elif isinstance(expected, list) and isinstance(actual, list):
        cost = _MEMBER * abs(len(expected) - len(actual))
        pairs = list(zip(expected, actual, strict=False))
    else:
        return 0 if is_met(expected, actual) else _VALUE
    for wanted, got in pairs:
        if cost >= limit:
            return cost
        cost += _MEMBER if got is ABSENT else _cost(wanted, got, limit - cost)
    return cost


class Index:
    """The client's requests and notifications of a contract, one dict for each method."""

    def __init__(self, messages: Sequence[Incoming]) -> None:
        self._methods: dict[tuple[str, str], _Method] = {}
        for each in messages:
            self._methods.setdefault((each.kind, each.method), _Method()).add(each)

    def methods(self, kind: MessageKind) -> tuple[str, ...]:
        return tuple(method for each, method in self._methods if each == kind)

    def numbers(self, kind: MessageKind, method: str) -> Sequence[int]:
        """All messages with a method, in written order."""
        found = self._methods.get((kind, method))
        return found.numbers if found else ()

    def candidates(self, kind: MessageKind, method: str, body: dict[str, object]) -> Sequence[int]:
        """The messages that one with this body may be, in written order."""
        found = self._methods.get((kind, method))
        if found is None:
            return ()
        if method in IN_PART:
            return found.numbers
        keys = ((places, _key(body, blanks)) for places, blanks in found.blanks.items())
        lists = [found.by_key[key] for key in keys if key in found.by_key]
        return lists[0] if len(lists) == 1 else sorted(chain(*lists))

    def similar(self, kind: MessageKind, method: str, body: dict[str, object]) -> Sequence[int]:
        """The messages for the same or a similarly spelt name, else all with the method."""
        found = self._methods.get((kind, method))
        if found is None:
            return ()
        name = _name_in(body)
        meant = name if name in found.by_name else closest(name, found.by_name.keys())
        return [*found.by_name[meant], *found.unnamed] if meant else found.numbers


class _Method:
    """The messages of one kind with one method.

    `by_key` is keyed by where a message has blanks, and by everything else in it.
    """

    def __init__(self) -> None:
        self.numbers: list[int] = []
        self.by_name: dict[str, list[int]] = {}
        self.unnamed: list[int] = []
        self.by_key: dict[object, list[int]] = {}
        self.blanks: dict[tuple[Steps, ...], Blanks] = {}

    def add(self, message: Incoming) -> None:
        self.numbers.append(message.index)
        name = _name_in(message.body)
        (self.by_name.setdefault(name, []) if name else self.unnamed).append(message.index)
        places = tuple(_blank_places(message.body))
        if places not in self.blanks:
            root: Blanks = {}
            for *way, last in places:
                here = root
                for step in way:
                    here = here.setdefault(step, {})
                here[last] = None
            self.blanks[places] = root
        key = places, _key(message.body, self.blanks[places])
        self.by_key.setdefault(key, []).append(message.index)


def _name_in(body: dict[str, object]) -> str:
    """The plain name of the tool, prompt or resource in a message, "" if there is none."""
    params = body.get("params")
    if not isinstance(params, dict):
        return ""
    return next((params[key] for key in ("name", "uri") if isinstance(params.get(key), str)), "")


def _blank_places(value: object, steps: Steps = ()) -> Iterator[Steps]:
    """Where the blanks of a value are; the order of its members does not matter."""
    if isinstance(value, dict):
        for key in sorted(value):
            yield from _blank_places(value[key], (*steps, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _blank_places(item, (*steps, index))
    elif isinstance(value, (Pattern, Group, Ref)):
        yield steps


def _key(value: object, blanks: Blanks | None) -> object:
    """A dictionary key, equal for values that are equal outside these blanks; None for a blank."""
    if blanks is None:
        return None
    if isinstance(value, dict):
        names = [name for name in value if blanks.get(name, blanks) is not None]
        if len(names) > _MAX_MEMBERS:
            return "object", frozenset(names)
        return "object", frozenset(
            (name, _key(value[name], blanks.get(name, {}))) for name in names
        )
    if isinstance(value, list):
        items = enumerate(value[:_MAX_MEMBERS])
        return "array", len(value), tuple(_key(item, blanks.get(at, {})) for at, item in items)
    return json_type(value), value
