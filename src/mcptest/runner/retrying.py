"""Another try of a request: sent under an id of its own, judged as if it had the written one.

A late or second answer to an earlier try must never be taken for the answer to this one. Pure.
"""

from __future__ import annotations

from mcptest.core import jsonrpc
from mcptest.core.framing import encode_line
from mcptest.core.outcome import ABSENT
from mcptest.core.strict_json import parse_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from mcptest.core.plan import Case, Step
    from mcptest.runner.launcher import Reply

__all__ = ["answered_as", "as_try", "reason_to_start_afresh"]

# The ids of each try begin at a multiple of this; those that people write are smaller.
_APART = 1_000_000


def as_try(step: Step, attempt: int) -> Step:
    """The step as it is sent in this try, the first of which sends what is written."""
    if attempt == 1 or step.id is ABSENT or not _has_others(step.id):
        return step
    id = f"{step.id}~{attempt}" if isinstance(step.id, str) else _number(step.id, attempt)
    message: Any = parse_json(step.line.decode("utf-8"))
    return step.but(id=id, line=encode_line({**message, "id": id}))


def answered_as(reply: Reply, sent: Step, written: Step) -> Reply:
    """The answer with the id that the file speaks of, where it has that of what was sent."""
    message = reply.message
    if sent is written or not isinstance(message, dict) or "id" not in message:
        return reply
    if jsonrpc.id_key(message["id"]) != jsonrpc.id_key(sent.id):
        return reply
    return reply.but(message={**message, "id": written.id})


def reason_to_start_afresh(case: Case, kind: str) -> str:
    """Why another try needs a fresh server, "" when it does not; `kind` is how the last broke."""
    if kind == "timeout":
        return "the try before was never answered"
    steps = (*case.steps, *case.teardown)
    if case.dialogue or any(step.id is not ABSENT and not _has_others(step.id) for step in steps):
        return "the test is tried again, and its ids may be used once in a session"
    return ""


def _has_others(id: object) -> bool:
    """Whether another id is as good as this one; an odd one is what the test is about."""
    if isinstance(id, str):
        return True
    return isinstance(id, int) and not isinstance(id, bool) and 0 <= id < _APART


def _number(id: object, attempt: int) -> int:
    assert isinstance(id, int), "an id is text or a number"
    return id + (attempt - 1) * _APART
