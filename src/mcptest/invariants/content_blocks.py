"""Content: the blocks that tools and prompts answer with, and the resources in them."""

from __future__ import annotations

from mcptest.invariants.results import complete_result
from mcptest.invariants.rule import Looking
from mcptest.invariants.sentences import gathered, member_faults

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from mcptest.invariants.facts import Facts
    from mcptest.invariants.rule import Breaches, Watch
    from mcptest.invariants.said import Said
    from mcptest.invariants.sentences import Faults

    Members = dict[str, Any]
    Judge = Callable[[str, Members], Faults]

__all__ = [
    "BLOCKS",
    "blocks_of",
    "contents_of",
    "text_or_blob",
    "watching_blocks",
    "watching_contents",
]

# Each type of block: the revisions that have it, and the members it must have.
BLOCKS: dict[str, tuple[str, dict[str, str]]] = {
    "text": ("ABCDE", {"text": "text"}),
    "image": ("ABCDE", {"data": "text", "mimeType": "text"}),
    "audio": ("BCDE", {"data": "text", "mimeType": "text"}),
    "resource": ("ABCDE", {"resource": "an object"}),
    "resource_link": ("CDE", {"uri": "text", "name": "text"}),
}


def blocks_of(said: Said, facts: Facts, *types: str) -> list[tuple[str, Any]]:
    """The blocks of a result of tools/call or prompts/get, with their paths; all, or those of
    some types."""
    result = complete_result(said, facts)
    is_prompt = said.method == "prompts/get"
    things = result.get("messages" if is_prompt else "content") if result else None
    found: list[tuple[str, Any]] = []
    for index, thing in enumerate(things if isinstance(things, list) else ()):
        block, path = thing, "result.content[{}]"
        if is_prompt:
            block = thing.get("content") if isinstance(thing, dict) else None
            path = "result.messages[{}].content"
        if not types or (isinstance(block, dict) and block.get("type") in types):
            found.append((path.format(index), block))
    return found


def contents_of(said: Said, facts: Facts) -> list[tuple[str, Members]]:
    """The resources that a result brings: those that were read, or those that blocks embed."""
    if said.method != "resources/read":
        embedding = blocks_of(said, facts, "resource")
        placed = [(f"{path}.resource", block.get("resource")) for path, block in embedding]
    else:
        things = (complete_result(said, facts) or {}).get("contents")
        listed = things if isinstance(things, list) else ()
        placed = [(f"result.contents[{index}]", thing) for index, thing in enumerate(listed)]
    return [(path, resource) for path, resource in placed if isinstance(resource, dict)]


def watching_blocks(types: tuple[str, ...], judge: Judge) -> Callable[[], Watch]:
    """What starts a watch that judges every block of these types on its own."""

    def look(said: Said, facts: Facts) -> Breaches:
        return gathered(judge(path, block) for path, block in blocks_of(said, facts, *types))

    return lambda: Looking(look)


def watching_contents(judge: Judge) -> Callable[[], Watch]:
    """What starts a watch that judges every resource in a result on its own."""

    def look(said: Said, facts: Facts) -> Breaches:
        return gathered(judge(path, contents) for path, contents in contents_of(said, facts))

    return lambda: Looking(look)


def text_or_blob(path: str, contents: Members, needed: dict[str, str]) -> Iterator[str]:
    """What is wrong with a resource that must have some members, and a text or a blob."""
    yield from member_faults(contents, path, needed)
    found = [member for member in ("text", "blob") if isinstance(contents.get(member), str)]
    if len(found) != 1:
        yield f"{path} must have a text or a blob and has {'both' if found else 'neither'}"
