"""Which cue of the script a message of the client is, and what is nearest when it is none."""

from __future__ import annotations

from itertools import islice

from mcptest.core.outcome import ABSENT, Mismatch
from mcptest.core.record import Record
from mcptest.core.suggest import closest
from mcptest.matching.blanks import filled
from mcptest.matching.compare import compare
from mcptest.matching.shown import shown
from mcptest.matching.tags import read_tag
from mcptest.mock.bodies import LISTS, body_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcptest.core.jsonrpc import MessageKind
    from mcptest.mock.script import Cue, Script
    from mcptest.mock.state import Message, State

__all__ = ["Nearest", "differences", "find_cue", "nearest_cue", "told"]

# What tells one offer from another: a call of another is never near.
_NAMES = ("name", "uri")

_MAX_WEIGHED = 50
_MAX_TRIED = 500

_ANY = read_tag("any", "")


def find_cue(script: Script, state: State, kind: MessageKind, message: Message) -> Cue | None:
    """The cue of a request or a notification: the first that is unused, else the last that fits."""
    body = body_of(message)
    last = None
    for cue in script.cues_for(kind, message["method"]):
        if _is_other(cue.body, body) or next(_compared(cue, state, body), None):
            continue
        if cue.index not in state.used:
            return cue
        last = cue
    return last


def differences(cue: Cue, state: State, message: Message) -> Iterator[Mismatch]:
    """Every way in which a message is not what the cue says."""
    return _compared(cue, state, body_of(message))


def _compared(cue: Cue, state: State, body: dict[str, object]) -> Iterator[Mismatch]:
    known = {name: state.bound.get((cue.scope, name), ABSENT) for name in cue.needs}
    for name, value in known.items():
        if value is ABSENT:
            message = f"nothing has bound the name {name} yet"
            yield Mismatch(path="", expected=f"!!ref {name}", actual=ABSENT, message=message)
            known[name] = _ANY
    yield from compare(filled(cue.body, known), body, leniency=cue.leniency)
    yield from _surplus_cursor(cue, body)


def _surplus_cursor(cue: Cue, body: dict[str, object]) -> Iterator[Mismatch]:
    """A page that the contract does not have is not the first one again."""
    wanted, got = cue.body.get("params"), body.get("params")
    if cue.method not in LISTS or not isinstance(wanted, dict) or not isinstance(got, dict):
        return
    if cue.leniency and "cursor" in got and "cursor" not in wanted:
        yield _no_page(body)


def _no_page(body: dict[str, object]) -> Mismatch:
    params = body["params"]
    cursor = params.get("cursor", ABSENT) if isinstance(params, dict) else params
    message = "is not expected: the list has no such page"
    return Mismatch(path="params.cursor", expected=ABSENT, actual=cursor, message=message)


def _is_other(expected: object, actual: object) -> bool:
    """Whether some plain text in it differs, which is seen before any comparing.

    Most cues for a method are of other arguments, and a contract may have thousands of them.
    """
    if type(expected) is str:
        return expected != actual
    if type(expected) is dict and type(actual) is dict:
        return any(_is_other(inner, actual.get(key)) for key, inner in expected.items())
    return False


def _has_other_name(cue: Cue, body: dict[str, object]) -> bool:
    wanted, got = cue.body.get("params"), body.get("params")
    if not isinstance(wanted, dict) or not isinstance(got, dict):
        return False
    return any(
        isinstance(wanted.get(name), str) and wanted[name] != got.get(name) for name in _NAMES
    )


class Nearest(Record):
    """The cue that comes nearest to a message, None when none does, and what differs."""

    cue: Cue | None
    differences: tuple[Mismatch, ...]


def nearest_cue(script: Script, state: State, kind: MessageKind, message: Message) -> Nearest:
    """What was probably meant by a message that is no cue."""
    method = message["method"]
    cues = script.cues_for(kind, method)
    if not cues and method in LISTS:
        return Nearest(cue=None, differences=(_no_page(body_of(message)),))
    if not cues:
        return _by_method(script, kind, method)
    body = body_of(message)
    best: tuple[tuple[bool, int], Nearest] | None = None
    for cue in cues[:_MAX_TRIED]:
        found = tuple(islice(_compared(cue, state, body), _MAX_WEIGHED))
        weight = (_has_other_name(cue, body), len(found))
        if best is None or weight < best[0]:
            best = weight, Nearest(cue=cue, differences=found)
    assert best is not None
    return best[1]


def _by_method(script: Script, kind: MessageKind, method: str) -> Nearest:
    known = [other for each, other in script.by_method if each == kind]
    meant = closest(method, known)
    difference = Mismatch(
        path="method", expected=meant or ABSENT, actual=method, message="no case has it"
    )
    cue = script.cues_for(kind, meant)[0] if meant else None
    return Nearest(cue=cue, differences=(difference,))


def told(difference: Mismatch) -> str:
    """A difference in words, on one line."""
    where = f"{difference.path}: " if difference.path else ""
    sides = ""
    if difference.message == "differs":
        sides = f", expected {shown(difference.expected)}, got {shown(difference.actual)}"
    hint = f" ({difference.hint})" if difference.hint else ""
    return f"{where}{difference.message}{sides}{hint}"
