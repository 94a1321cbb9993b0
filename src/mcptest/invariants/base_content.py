"""Where the blocks of content stand in what a server says, by method.

Lists rather than generators: this is asked of every result, and most are short.
"""

from __future__ import annotations

from mcptest.invariants.base_values import members
from mcptest.invariants.wording import shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from mcptest.invariants.said import Said

    # Paths inside the message, each with the object that stands there.
    Placed = list[tuple[str, dict[str, Any]]]

__all__ = ["content_blocks", "input_requests", "objects_in"]

_SAMPLING = "sampling/createMessage"


def objects_in(path: str, listed: object, member: str = "") -> Placed:
    """The objects of an array, or those with a member, each with its path; none of no array."""
    if not isinstance(listed, list):
        return []
    # Most have no such member: their paths are never needed.
    return [
        (f"{path}[{index}]", each)
        for index, each in enumerate(listed)
        if isinstance(each, dict) and (not member or member in each)
    ]


def input_requests(said: Said) -> Placed:
    """What a result asks the client for, each as a request in all but the id."""
    result = said.result
    if result.get("resultType") != "input_required":
        return []
    return [
        (f"result.inputRequests[{shown(key)}]", request)
        for key, request in members(result.get("inputRequests")).items()
        if isinstance(request, dict)
    ]


def content_blocks(said: Said) -> Placed:
    """Every block of content, each with its path; those in the result of a tool included."""
    method = said.method
    if said.kind != "result":
        if method != _SAMPLING:
            return []
        return _in_messages("params.messages", said.params.get("messages"))
    found: Placed = []
    if method in ("tools/call", "tasks/result"):
        found = _blocks("result.content", said.result.get("content"))
    elif method == "prompts/get":
        found = _in_messages("result.messages", said.result.get("messages"))
    for path, request in input_requests(said):
        if request.get("method") == _SAMPLING:
            messages = members(request.get("params")).get("messages")
            found += _in_messages(f"{path}.params.messages", messages)
    return found


def _in_messages(path: str, messages: object) -> Placed:
    return [
        placed
        for place, message in objects_in(path, messages)
        for placed in _blocks(f"{place}.content", message.get("content"))
    ]


def _blocks(path: str, content: object) -> Placed:
    """One block, or an array of them; what a tool gave holds further blocks, no deeper."""
    found = [(path, content)] if isinstance(content, dict) else objects_in(path, content)
    inner: Placed = []
    for place, block in found:
        if block.get("type") == "tool_result":
            inner += objects_in(f"{place}.content", block.get("content"))
    return found + inner if inner else found
