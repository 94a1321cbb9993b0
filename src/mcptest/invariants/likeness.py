"""Frames that differ in nothing a rule could look at, but in their id and in free text.

Most calls of most runs are answered with a few blocks of text. A rule that remembers nothing
and was content with one such answer is content with all of them, so it is asked once.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mcptest.invariants.facts import Facts
    from mcptest.invariants.said import Said

    # What must be the same: what is known so far, the tool, and the shape of the answer.
    Likeness = tuple[int, str, object, int]

__all__ = ["likeness_of"]

_FRAME = frozenset(["jsonrpc", "id", "result"])
_RESULTS = (frozenset(["content", "isError"]), frozenset(["content"]))
_BLOCK = frozenset(["type", "text"])
_PARAMS = frozenset(["name", "arguments"])
_MAX_BLOCKS = 20


def likeness_of(said: Said, facts: Facts) -> Likeness | None:
    """A key that is equal for answers which are alike; None for whatever is not that plain."""
    if said.method != "tools/call" or said.is_client or said.kind != "result" or said.http:
        return None
    message, request = said.message, said.request
    if message.keys() != _FRAME or message["jsonrpc"] != "2.0" or request is None:
        return None
    result, params = message["result"], request.get("params")
    if type(result) is not dict or result.keys() not in _RESULTS or type(params) is not dict:
        return None
    name, is_error = params.get("name"), result.get("isError", False)
    if not params.keys() <= _PARAMS or type(name) is not str or type(is_error) is not bool:
        return None
    if not _is_plain_text(result["content"]) or type(message["id"]) not in _IDS:
        return None
    return facts.epoch, name, is_error, len(result["content"])


_IDS = (int, str)


def _is_plain_text(content: object) -> bool:
    if type(content) is not list or not 0 < len(content) <= _MAX_BLOCKS:
        return False
    for block in content:
        if type(block) is not dict or block.keys() != _BLOCK:
            return False
        if block["type"] != "text" or type(block["text"]) is not str:
            return False
    return True
