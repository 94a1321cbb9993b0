"""Results, what is listed in them, and blocks of content: where rules of several families look."""

from __future__ import annotations

from mcptest.rules.rule import collect, members, show

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    from mcptest.rules.facts import Facts
    from mcptest.rules.rule import Entry, Findings, Look

    Members = dict[str, Any]
    # Objects inside a message, each with its path.
    Placed = list[tuple[str, Members]]

__all__ = [
    "LISTED",
    "all_blocks",
    "complete_result",
    "each_block",
    "each_contents",
    "input_requests",
    "listed_objects",
    "objects_in",
    "result_blocks",
    "result_contents",
]

# The member under which the result of each method lists its objects.
LISTED = {
    "tools/list": "tools",
    "resources/list": "resources",
    "resources/templates/list": "resourceTemplates",
    "prompts/list": "prompts",
}
_SAMPLING = "sampling/createMessage"


def objects_in(path: str, listed: object, member: str = "") -> Placed:
    """The objects of an array, or those with a member, each with its path; [] for no array."""
    if not isinstance(listed, list):
        return []
    # Most have no such member: their paths are never needed.
    return [
        (f"{path}[{index}]", each)
        for index, each in enumerate(listed)
        if isinstance(each, dict) and (not member or member in each)
    ]


def complete_result(entry: Entry, facts: Facts) -> Members:
    """The result, {} when it is not an object, asks for input, or says that a task began."""
    result = entry.result
    if facts.is_stateless:
        return result if result.get("resultType", "complete") == "complete" else {}
    is_task = "task" in entry.request_params and isinstance(result.get("task"), dict)
    return {} if is_task else result


def listed_objects(entry: Entry, facts: Facts) -> Placed:
    """The objects that the result of a list has, with their paths."""
    member = LISTED.get(entry.method, "")
    return objects_in(f"result.{member}", complete_result(entry, facts).get(member))


# What tools, prompts and resources answer with


def result_blocks(entry: Entry, facts: Facts, *types: str) -> Placed:
    """The blocks of a result of tools/call or prompts/get, with their paths: all, or those of
    some types."""
    result = complete_result(entry, facts)
    if entry.method == "prompts/get":
        placed = [
            (f"{path}.content", message.get("content"))
            for path, message in objects_in("result.messages", result.get("messages"))
        ]
    else:
        placed = [*objects_in("result.content", result.get("content"))]
    return [
        (path, block)
        for path, block in placed
        if isinstance(block, dict) and (not types or block.get("type") in types)
    ]


def result_contents(entry: Entry, facts: Facts) -> Placed:
    """The resources of a result: those that were read, or those that blocks embed."""
    if entry.method == "resources/read":
        return objects_in("result.contents", complete_result(entry, facts).get("contents"))
    return [
        (f"{path}.resource", resource)
        for path, block in result_blocks(entry, facts, "resource")
        if isinstance(resource := block.get("resource"), dict)
    ]


def each_block(
    types: tuple[str, ...], judge: Callable[[str, Members], Iterable[str] | None]
) -> Look:
    """A check that judges every block of these types on its own."""

    def look(entry: Entry, facts: Facts) -> Findings:
        return collect(judge(path, block) for path, block in result_blocks(entry, facts, *types))

    return look


def each_contents(judge: Callable[[str, Members], Iterable[str] | None]) -> Look:
    """A check that judges every resource in a result on its own."""

    def look(entry: Entry, facts: Facts) -> Findings:
        return collect(judge(path, contents) for path, contents in result_contents(entry, facts))

    return look


# Blocks anywhere in a message


def input_requests(entry: Entry) -> Placed:
    """What a result asks the client for, each as a request in all but the id."""
    result = entry.result
    if result.get("resultType") != "input_required":
        return []
    return [
        (f"result.inputRequests[{show(key)}]", request)
        for key, request in members(result.get("inputRequests")).items()
        if isinstance(request, dict)
    ]


def all_blocks(entry: Entry) -> Placed:
    """Every block of content with its path; those in the results of tools in sampling too."""
    if entry.kind != "result":
        if entry.method != _SAMPLING:
            return []
        return _message_blocks("params.messages", entry.params.get("messages"))
    found: Placed = []
    if entry.method in ("tools/call", "tasks/result"):
        found = _with_inner("result.content", entry.result.get("content"))
    elif entry.method == "prompts/get":
        found = _message_blocks("result.messages", entry.result.get("messages"))
    for path, request in input_requests(entry):
        if request.get("method") == _SAMPLING:
            messages = members(request.get("params")).get("messages")
            found += _message_blocks(f"{path}.params.messages", messages)
    return found


def _message_blocks(path: str, messages: object) -> Placed:
    return [
        placed
        for place, message in objects_in(path, messages)
        for placed in _with_inner(f"{place}.content", message.get("content"))
    ]


def _with_inner(path: str, content: object) -> Placed:
    """One block, or an array of them; a tool_result has further blocks, one level deep."""
    found = [(path, content)] if isinstance(content, dict) else objects_in(path, content)
    inner: Placed = []
    for place, block in found:
        if block.get("type") == "tool_result":
            inner += objects_in(f"{place}.content", block.get("content"))
    return found + inner if inner else found
