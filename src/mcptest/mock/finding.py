"""Which cue of the script a message of the client is, and in what it differs from one."""

from __future__ import annotations

from itertools import chain

from mcptest.core.outcome import Mismatch
from mcptest.core.record import ABSENT
from mcptest.matching.compare import compare, is_met
from mcptest.matching.tags import fill, pull_bound, read_tag
from mcptest.mock.bodies import body_of
from mcptest.mock.cue_index import falling, rising

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcptest.core.jsonrpc import MessageKind
    from mcptest.mock.script import Cue, Script
    from mcptest.mock.state import Message, State

__all__ = ["differences", "expected_of", "find_cue"]

_ANY = read_tag("any", "")


def find_cue(script: Script, state: State, kind: MessageKind, message: Message) -> Cue | None:
    """The cue of a request or a notification: the first that is unused, else the last that fits."""
    body = body_of(message)
    possible = script.index.sift(kind, message["method"], body)
    for number in chain(rising(possible & ~state.used), falling(possible & state.used)):
        if _fits(script.cues[number], state, message, body):
            return script.cues[number]
    return None


def differences(cue: Cue, state: State, message: Message) -> Iterator[Mismatch]:
    """Every way in which a message is not what the cue says."""
    expected, unbound = expected_of(cue, state, message)
    for name in unbound:
        sentence = f"nothing has bound the name {name} yet"
        yield Mismatch(path="", expected=f"!!ref {name}", actual=ABSENT, message=sentence)
    yield from compare(expected, body_of(message), leniency=cue.leniency)


def expected_of(cue: Cue, state: State, message: Message) -> tuple[object, list[str]]:
    """What the cue asks for in this message, and the names in it that nothing has bound."""
    if not cue.needs and not cue.own:
        return cue.body, []
    known = {name: state.bound.get((cue.scope, name), ABSENT) for name in cue.needs}
    brought = pull_bound(cue.binds, message) if cue.own else {}
    own = {name: brought.get(name, ABSENT) for name in cue.own}
    unbound = [name for values in (known, own) for name in values if values[name] is ABSENT]
    known, own = _or_any(known), _or_any(own)
    # What another message of the same batch binds is known like all that came before.
    return fill(cue.body, known, known | own), unbound


def _or_any(values: dict[str, object]) -> dict[str, object]:
    return {name: _ANY if value is ABSENT else value for name, value in values.items()}


def _fits(cue: Cue, state: State, message: Message, body: dict[str, object]) -> bool:
    expected, unbound = expected_of(cue, state, message)
    if unbound:
        return False
    if cue.leniency:
        return next(compare(expected, body, leniency=cue.leniency), None) is None
    return is_met(expected, body)
