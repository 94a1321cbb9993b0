"""Open the cases that begin with something the server says, each when its turn has come.

That of the first case of a file has come when the session is ready; that of another one when
all of the case before it has come to pass. So whoever goes through a file in order hears each
opening where it is written.
"""

from __future__ import annotations

from mcptest.mock.cue_index import rising
from mcptest.mock.playing import UnboundNameError, say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from mcptest.mock.script import Script
    from mcptest.mock.state import Sent, State

    Outcome = tuple[State, tuple[Sent, ...]]

__all__ = ["is_exercised", "open_first", "open_next"]


def is_exercised(script: Script, state: State, act: int) -> bool:
    """Whether all of a case has come to pass: it was opened, and everything in it was heard."""
    opening, cues = script.acts[act].opening, script.acts[act].cues
    return not any(map(state.is_unsent, opening)) and state.has_used_all(cues)


def open_first(script: Script, state: State) -> Outcome:
    """What is said when the session is ready."""
    acts = (number for number, act in enumerate(script.acts) if act.opening)
    return _open_all(script, state, acts)


def open_next(script: Script, before: State, state: State) -> Outcome:
    """What is said because of what has been heard since `before`."""
    if not (state.is_ready and state.unsent):
        return state, ()
    used = {script.cues[cue].act for cue in rising(state.used & ~before.used)}
    acts = {script.act_after(act) for act in used}
    if state.bound is not before.bound:
        acts.update(state.held)
    return _open_all(script, state, sorted(act for act in acts if act is not None))


def _open_all(script: Script, state: State, acts: Iterable[int]) -> Outcome:
    """Open these cases as far as it is their turn, and what follows upon a case thereby."""
    sent: list[Sent] = []
    for act in acts:
        number: int | None = act
        while number is not None and _is_turn_of(script, state, number):
            state, more = _open(script, state, number)
            sent += more
            number = script.act_after(number) if is_exercised(script, state, number) else None
    return state, tuple(sent)


def _is_turn_of(script: Script, state: State, act: int) -> bool:
    if not any(map(state.is_unsent, script.acts[act].opening)):
        return False
    before = script.act_before(act)
    return before is None or is_exercised(script, state, before)


def _open(script: Script, state: State, act: int) -> tuple[State, list[Sent]]:
    sent: list[Sent] = []
    held = [each for each in state.held if each != act]
    for index in filter(state.is_unsent, script.acts[act].opening):
        try:
            state, more = say(script, state, (index,), None)
        except UnboundNameError:
            # Another case must come first.
            held = [each for each in held if each != act] + [act]
        else:
            state = state.but(unsent=state.unsent & ~(1 << index))
            sent += more
    return state.but(held=tuple(held)), sent
