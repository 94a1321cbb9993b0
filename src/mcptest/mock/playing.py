"""Say the lines of a script: fill them in, give them their ids, and remember who waits."""

from __future__ import annotations

from mcptest.core.dialogue import Ref
from mcptest.core.jsonrpc import id_key
from mcptest.core.record import ABSENT
from mcptest.matching.tags import fill, pull_bound
from mcptest.mock.state import Asked, Sent

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from mcptest.mock.script import Cue, Line, Script
    from mcptest.mock.state import Message, Owed, State

__all__ = ["NEEDED", "UnboundNameError", "hear", "say"]

_PROGRESS = "notifications/progress"

# What a client must declare to be asked this.
NEEDED = {
    "sampling/createMessage": "sampling",
    "elicitation/create": "elicitation",
    "roots/list": "roots",
}
_ID_TYPES = (str, int)


class UnboundNameError(Exception):
    """A line needs a name that nothing has bound yet."""

    def __init__(self, line: Line, name: str) -> None:
        super().__init__(name)
        self.line = line
        self.name = name


def hear(state: State, cue: Cue, message: Message) -> State:
    """The session after a message that is this cue: names are bound, and it has been used."""
    state = _bound(state.use(cue.index), cue, pull_bound(cue.binds, message))
    if cue.token is ABSENT:
        return state
    key = (cue.act, id_key(cue.token))
    return state.but(tokens=state.tokens.put(key, _token_of(message)))


def _token_of(message: Message) -> object:
    params = message.get("params")
    meta = params.get("_meta") if isinstance(params, dict) else None
    return meta.get("progressToken", ABSENT) if isinstance(meta, dict) else ABSENT


def say(
    script: Script, state: State, lines: Iterable[int], owed: Owed | None
) -> tuple[State, tuple[Sent, ...]]:
    """The messages of these lines. `owed` is the request because of which they are said.

    UnboundNameError when a line cannot be filled in.
    """
    sent: list[Sent] = []
    for index in lines:
        line = script.lines[index]
        known = {name: state.bound.get((line.scope, name), ABSENT) for name in line.needs}
        missing = [name for name, value in known.items() if value is ABSENT]
        if missing and line.kind == "notification" and line.optional.issuperset(missing):
            # A client that gives no progress token, say, wants to hear of no progress.
            continue
        if missing:
            raise UnboundNameError(line, missing[0])
        message = fill(line.value, known)
        assert isinstance(message, dict)
        state, more = _SAYING[line.kind](script, state, line, message, owed)
        sent += more
    return state, tuple(sent)


def _answer(
    script: Script, state: State, line: Line, message: Message, owed: Owed | None
) -> tuple[State, list[Sent]]:
    if owed is None or owed.cue != line.answers or not state.is_owed(owed):
        return state, []
    message = message | {"id": owed.id}
    method = script.cues[owed.cue].method
    state, message = _finished(state.settle(owed), line, message)
    return state, [Sent(message=message, method=method)]


def _request(
    script: Script, state: State, line: Line, message: Message, owed: Owed | None
) -> tuple[State, list[Sent]]:
    id = line.id
    if isinstance(id, Ref):
        id = fill(message["id"], {}, pull_bound(line.binds, message))
    key = str(id) if type(id) in _ID_TYPES else ""
    while type(id) not in _ID_TYPES or id_key(id) in state.asked:
        state = state.but(minted=state.minted + 1)
        id = f"mock-{state.minted}"
    message = message | {"id": id}
    state = state.ask(id_key(id), Asked(line=line.index, owed=owed))
    state, message = _finished(_noted(state, line.method), line, message)
    return state, [Sent(message=message, owed=_id_of(owed), key=key or str(id))]


def _noted(state: State, method: str) -> State:
    """The contract has its way, and whoever wrote it hears that a client may refuse this."""
    needed = NEEDED.get(method)
    if needed is None or needed in (state.declared or ()):
        return state
    return state.note(method, f"{method} was sent to a client that did not declare {needed}")


def _notification(
    script: Script, state: State, line: Line, message: Message, owed: Owed | None
) -> tuple[State, list[Sent]]:
    params = message.get("params")
    if line.method == _PROGRESS and isinstance(params, dict):
        written = params.get("progressToken")
        token = state.tokens.get((line.act, id_key(written)), written)
        if token is ABSENT:
            return state, []
        message = message | {"params": params | {"progressToken": token}}
    state, message = _finished(state, line, message)
    return state, [Sent(message=message, owed=_id_of(owed))]


def _id_of(owed: Owed | None) -> object:
    return ABSENT if owed is None else owed.id


def _finished(state: State, line: Line, message: Message) -> tuple[State, Message]:
    """The message with what it uses of itself, once all that it binds is there."""
    if not line.binds:
        return state, message
    found = pull_bound(line.binds, message)
    whole = fill(message, {}, found)
    assert isinstance(whole, dict)
    return _bound(state, line, found), whole


def _bound(state: State, said: Cue | Line, found: Mapping[str, object]) -> State:
    """The session with the names that a message binds; what is not in it has none."""
    if not said.binds:
        return state
    bound = state.bound
    for name in dict.fromkeys(bind.name for bind in said.binds):
        key = (said.scope, name)
        bound = bound.put(key, found[name]) if name in found else bound.drop(key)
    return state.but(bound=bound)


_SAYING = {"response": _answer, "request": _request, "notification": _notification}
