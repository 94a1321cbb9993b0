"""Rules about what calling a tool brings: content of known kinds, well made."""

from __future__ import annotations

from mcptest.invariants.content_blocks import (
    BLOCKS,
    blocks_of,
    text_or_blob,
    watching_blocks,
    watching_contents,
)
from mcptest.invariants.encoded import base64_fault
from mcptest.invariants.results import complete_result
from mcptest.invariants.rule import Looking, Rule, at_levels
from mcptest.invariants.sentences import gathered, member_faults, must_be
from mcptest.invariants.wording import seen

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

    from mcptest.invariants.facts import Facts
    from mcptest.invariants.rule import Breaches
    from mcptest.invariants.said import Said

    Members = dict[str, Any]

__all__ = ["RESULT_RULES", "media_faults"]


def _content_array(said: Said, facts: Facts) -> Breaches:
    result = complete_result(said, facts)
    return None if result is None else [*member_faults(result, "result", {"content": "an array"})]


def _is_error_boolean(said: Said, facts: Facts) -> Breaches:
    result = complete_result(said, facts)
    if result is None or "isError" not in result:
        return None
    return [*member_faults(result, "result", {"isError": "a boolean"})]


def _content_types(said: Said, facts: Facts) -> Breaches:
    return gathered(_block(path, block, facts) for path, block in blocks_of(said, facts))


def _block(path: str, block: object, facts: Facts) -> Iterable[str]:
    if not isinstance(block, dict):
        return [must_be(path, "an object", block)]
    kind = block.get("type")
    letters, needed = BLOCKS.get(kind, ("", {})) if isinstance(kind, str) else ("", {})
    if facts.letters.isdisjoint(letters):
        known = [name for name in BLOCKS if not facts.letters.isdisjoint(BLOCKS[name][0])]
        wanted = f"one of {', '.join(known)}"
        return [f"{path}.type must be {wanted} and is {seen(block, 'type')}"]
    return member_faults(block, path, needed)


def media_faults(path: str, block: Members) -> Iterator[str]:
    """What is wrong with the bytes of an image or of audio, and whether their type is missing."""
    yield from member_faults(block, path, {"data": "text", "mimeType": "text"})
    data = block.get("data")
    reason = base64_fault(data) if isinstance(data, str) else ""
    if reason:
        yield f"{path}.data must be base64: {reason}"


def _embedded(path: str, contents: Members) -> Iterable[str]:
    return text_or_blob(path, contents, {"uri": "text"})


_ALL = at_levels("ABCDE")
_CALLS = ("result:tools/call",)

RESULT_RULES = (
    Rule(
        id="TOOL-12",
        name="content-array",
        category="tools",
        property="every result of a tool has a content array",
        levels=_ALL,
        topics=_CALLS,
        start=lambda: Looking(_content_array),
        nothing="no tools/call was answered with a complete result",
    ),
    Rule(
        id="TOOL-13",
        name="content-types",
        category="tools",
        property="every content block is of a type that the revision has, with its members",
        levels=_ALL,
        topics=_CALLS,
        start=lambda: Looking(_content_types),
        nothing="no result of a tool has a content block",
    ),
    Rule(
        id="TOOL-14",
        name="base64-media",
        category="tools",
        property="images and audio from tools are base64 and name their media type",
        levels=_ALL,
        topics=_CALLS,
        start=watching_blocks(("image", "audio"), media_faults),
        nothing="no tool answered with an image or with audio",
    ),
    Rule(
        id="TOOL-15",
        name="is-error-boolean",
        category="tools",
        property="isError is a boolean",
        levels=_ALL,
        topics=_CALLS,
        start=lambda: Looking(_is_error_boolean),
        nothing="no result of a tool has isError",
    ),
    Rule(
        id="TOOL-23",
        name="embedded-resource-shape",
        category="tools",
        property="a resource in the content of a tool has a uri, and either a text or a blob",
        levels=_ALL,
        topics=_CALLS,
        start=watching_contents(_embedded),
        nothing="no tool answered with an embedded resource",
    ),
)
