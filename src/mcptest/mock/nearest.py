"""What was probably meant by a message that no case has: the cue that differs least from it."""

from __future__ import annotations

from itertools import islice

from mcptest.core.outcome import Mismatch
from mcptest.core.record import ABSENT, Record
from mcptest.core.suggest import closest
from mcptest.matching.compare import is_met
from mcptest.mock.bodies import LISTS, body_of
from mcptest.mock.cue_index import name_in
from mcptest.mock.finding import differences, expected_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcptest.core.jsonrpc import MessageKind
    from mcptest.mock.script import Cue, Script
    from mcptest.mock.state import Message, State

__all__ = ["Nearest", "nearest_cue"]

# So many cues are weighed, and so many differences counted and told.
_MAX_TRIED = 1_000
_MAX_DIFFERENCES = 50

# What a difference weighs. Of as many differences, those in values alone are nearer than one in
# what is there at all.
_VALUE = 100
_MEMBER = 101


class Nearest(Record):
    """The cue that comes nearest to a message, None when none does, and what differs."""

    cue: Cue | None
    differences: tuple[Mismatch, ...]


def nearest_cue(script: Script, state: State, kind: MessageKind, message: Message) -> Nearest:
    """The cue with the fewest differences, of those for the same tool, prompt or resource."""
    method = message["method"]
    body = body_of(message)
    cues = [script.cues[number] for number in _candidates(script, kind, method, body)]
    if not cues and method in LISTS:
        return Nearest(cue=None, differences=(_no_page(body),))
    if not cues:
        return _by_method(script, kind, method)
    best, least = cues[0], _VALUE * _MAX_DIFFERENCES
    for cue in cues:
        weight = _weight(expected_of(cue, state, message), body, least)
        if weight < least:
            best, least = cue, weight
    found = tuple(islice(differences(best, state, message), _MAX_DIFFERENCES))
    return Nearest(cue=best, differences=found)


def _candidates(
    script: Script, kind: MessageKind, method: str, body: dict[str, object]
) -> Sequence[int]:
    """The cues that are weighed: a call of another tool is never near, whatever it differs in."""
    name, index = name_in(body), script.index
    known = index.names(kind, method)
    meant = name if name in known else closest(name, known)
    numbers = index.named(kind, method, meant) if meant else index.numbers(kind, method)
    return numbers[:_MAX_TRIED]


def _weight(asked: tuple[object, list[str]], body: dict[str, object], limit: int) -> int:
    """What it weighs that a cue asks for something, and for names that nothing has bound."""
    expected, unbound = asked
    return _VALUE * len(unbound) + _distance(expected, body, limit)


def _distance(expected: object, actual: object, limit: int) -> int:
    """What the differences weigh that comparing would tell; beyond the limit, not all of them."""
    if isinstance(expected, dict) and isinstance(actual, dict):
        found = _MEMBER * len(actual.keys() - expected.keys())
        pairs = [(wanted, actual.get(key, ABSENT)) for key, wanted in expected.items()]
    elif isinstance(expected, list) and isinstance(actual, list):
        found = _MEMBER * abs(len(expected) - len(actual))
        pairs = list(zip(expected, actual, strict=False))
    else:
        return 0 if is_met(expected, actual) else _VALUE
    for wanted, got in pairs:
        if found >= limit:
            return found
        found += _MEMBER if got is ABSENT else _distance(wanted, got, limit - found)
    return found


def _no_page(body: dict[str, object]) -> Mismatch:
    params = body["params"]
    cursor = params.get("cursor", ABSENT) if isinstance(params, dict) else params
    message = "is not expected: the list has no such page"
    return Mismatch(path="params.cursor", expected=ABSENT, actual=cursor, message=message)


def _by_method(script: Script, kind: MessageKind, method: str) -> Nearest:
    meant = closest(method, script.index.methods(kind))
    difference = Mismatch(
        path="method", expected=meant or ABSENT, actual=method, message="no case has it"
    )
    cue = script.cues[script.index.numbers(kind, meant)[0]] if meant else None
    return Nearest(cue=cue, differences=(difference,))
