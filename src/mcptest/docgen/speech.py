"""Who says what in the cases of a suite, whatever format they were written in.

A case of MCP Cases is a dialogue already; a test of a conductor file becomes one: its request,
the notifications it waits for and the answer it expects.
"""

from __future__ import annotations

from mcptest.core.dialogue import Dialogue, Turn
from mcptest.core.jsonrpc import id_key
from mcptest.core.outcome import ABSENT
from mcptest.core.strict_json import NotJsonError, parse_json
from mcptest.matching.group import Group, Partial

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from mcptest.core.plan import Case, Step

    Message = dict[str, Any]

__all__ = ["dialogue_of", "messages_of", "plain_dict", "request_behind"]


def dialogue_of(case: Case) -> Dialogue:
    """The dialogue of a case, or one made of its steps."""
    if case.dialogue is not None:
        return case.dialogue
    turns: list[Turn] = []
    for step in case.steps:
        turns += _turns(_as_written(step), case.line, len(turns))
    return Dialogue(turns=tuple(turns))


def _as_written(step: Step) -> Step:
    """The step with the names of captured values in place of what stands for them."""
    if step.template is None:
        return step
    try:
        return step.template.fill({name: f"${{{name}}}" for name in step.template.needs})
    except ValueError:
        # As a number, say, where no text can stand; the sample it was checked with will do.
        return step


def _turns(step: Step, line: int, start: int) -> Iterator[Turn]:
    try:
        request = parse_json(step.line.decode("utf-8"))
    except (NotJsonError, UnicodeDecodeError):
        request = step.line.decode("utf-8", "replace")
    yield Turn(key="in", is_ours=True, value=request, line=line)
    expected = step.expectation
    for notification in expected.notifications:
        yield Turn(key="out", is_ours=False, value=notification, line=line)
    if expected.response is not ABSENT:
        yield Turn(key="out", is_ours=False, value=expected.response, line=line, answers=start)


def plain_dict(value: object) -> Message:
    """The members of a compiled mapping; those of `match:partial` are members as well."""
    if isinstance(value, Group):
        found = dict(value.siblings or {})
        for check in value.checks:
            found |= plain_dict(check.value) if isinstance(check, Partial) else {}
        return found
    return value if isinstance(value, dict) else {}


def messages_of(turn: Turn) -> list[Message]:
    """The messages of a turn: one, or those of a batch."""
    values = turn.value if isinstance(turn.value, list) else [turn.value]
    return [found for found in map(plain_dict, values) if found]


def request_behind(dialogue: Dialogue, turn: Turn) -> Message:
    """The request that a turn answers, {} when it answers none that is known."""
    if turn.answers is None or not 0 <= turn.answers < len(dialogue.turns):
        return {}
    requests = messages_of(dialogue.turns[turn.answers])
    if len(requests) == 1:
        return requests[0]
    id = plain_dict(turn.value).get("id")
    return next((each for each in requests if _is_same_id(each.get("id"), id)), {})


def _is_same_id(one: object, other: object) -> bool:
    """Whether two ids are plain and equal; a pattern is nobody's id."""
    is_plain = isinstance(one, (str, int)) and isinstance(other, (str, int))
    return is_plain and id_key(one) == id_key(other)
