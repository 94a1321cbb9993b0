"""Say the lines of a script: fill them in, give them their ids, and remember who waits."""

from __future__ import annotations

from mcptest.core.dialogue import Ref
from mcptest.core.jsonrpc import id_key
from mcptest.core.outcome import ABSENT
from mcptest.matching.blanks import filled, pulled
from mcptest.mock.state import Asked, Sent

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from mcptest.mock.script import Cue, Line, Script
    from mcptest.mock.state import Message, Owed, State

__all__ = ["UnboundNameError", "hear", "say", "say_opening"]

_PROGRESS = "notifications/progress"
_ID_TYPES = (str, int)


class UnboundNameError(Exception):
    """A line needs a name that nothing has bound yet."""

    def __init__(self, line: Line, name: str) -> None:
        super().__init__(name)
        self.line = line
        self.name = name


def hear(state: State, cue: Cue, message: Message) -> State:
    """The session after a message that is this cue: names are bound, and it has been used."""
    gone = {(cue.scope, bind.name) for bind in cue.binds}
    bound = {name: value for name, value in state.bound.items() if name not in gone}
    found = pulled(cue.binds, message)
    bound |= {(cue.scope, name): value for name, value in found.items()}
    tokens = dict(state.tokens)
    if cue.token is not ABSENT:
        tokens[cue.act, id_key(cue.token)] = _token_of(message)
    return state.use(cue.index).but(bound=bound, tokens=tokens)


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
        missing = [name for name in line.needs if (line.scope, name) not in state.bound]
        if missing and line.kind == "notification" and line.optional.issuperset(missing):
            # A client that gives no progress token, say, wants to hear of no progress.
            continue
        if missing:
            raise UnboundNameError(line, missing[0])
        known = {name: state.bound[line.scope, name] for name in line.needs}
        message = filled(line.value, known)
        assert isinstance(message, dict)
        state, more = _SAYING[line.kind](script, state, line, message, owed)
        sent += more
    return state, tuple(sent)


def say_opening(script: Script, state: State) -> tuple[State, tuple[Sent, ...]]:
    """The lines that open cases, as far as they have not been said and can be."""
    sent: tuple[Sent, ...] = ()
    for index in state.unsent:
        try:
            state, more = say(script, state, (index,), None)
        except UnboundNameError:
            # Another case must come first.
            continue
        sent += more
        state = state.but(unsent=tuple(each for each in state.unsent if each != index))
    return state, sent


def _answer(
    script: Script, state: State, line: Line, message: Message, owed: Owed | None
) -> tuple[State, list[Sent]]:
    if owed is None or owed.cue != line.answers or not state.is_owed(owed):
        return state, []
    message = message | {"id": owed.id}
    method = script.cues[owed.cue].method
    return _bound(state.settle(owed), line, message), [Sent(message=message, method=method)]


def _request(
    script: Script, state: State, line: Line, message: Message, owed: Owed | None
) -> tuple[State, list[Sent]]:
    id = message["id"] if isinstance(line.id, Ref) else line.id
    while type(id) not in _ID_TYPES or id_key(id) in state.asked:
        state = state.but(minted=state.minted + 1)
        id = f"mock-{state.minted}"
    message = message | {"id": id}
    state = state.ask(id_key(id), Asked(line=line.index, owed=owed))
    return _bound(state, line, message), [Sent(message=message)]


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
    return _bound(state, line, message), [Sent(message=message)]


def _bound(state: State, line: Line, message: Message) -> State:
    if not line.binds:
        return state
    found = pulled(line.binds, message)
    named = {(line.scope, name): value for name, value in found.items()}
    return state.but(bound={**state.bound, **named})


_SAYING = {"response": _answer, "request": _request, "notification": _notification}
