"""Frames that differ in nothing a rule could look at, but in their id and in free text.

Most calls of most runs are answered with a few blocks of text. A rule that remembers nothing
and was content with one such answer is content with all of them, so it is asked once.
"""

from __future__ import annotations

from mcptest.core.plain_answer import is_plain_answer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mcptest.invariants.facts import Facts
    from mcptest.invariants.said import Said

    # What must be the same: what is known so far, the tool, and the shape of the answer.
    Likeness = tuple[int, str, object, int]

__all__ = ["likeness_of"]

_IDS = (int, str)
_PARAMS = frozenset(["name", "arguments"])
_MAX_BLOCKS = 20


def likeness_of(said: Said, facts: Facts) -> Likeness | None:
    """A key that is equal for answers which are alike; None for whatever is not that plain."""
    if said.method != "tools/call" or said.is_client or said.kind != "result" or said.http:
        return None
    message, request = said.message, said.request
    if request is None or not is_plain_answer(message) or type(message["id"]) not in _IDS:
        return None
    params, result = request.get("params"), said.result
    if type(params) is not dict or not params.keys() <= _PARAMS:
        return None
    name, content = params.get("name"), result["content"]
    if type(name) is not str or len(content) > _MAX_BLOCKS:
        return None
    return facts.epoch, name, result.get("isError", False), len(content)
