"""Rules about prompts: how they are listed, and what getting one brings."""

from __future__ import annotations

from mcptest.invariants.content_blocks import text_or_blob, watching_blocks, watching_contents
from mcptest.invariants.encoded import is_media_type
from mcptest.invariants.list_changed import list_changed_rule
from mcptest.invariants.results import complete_result, listed_in
from mcptest.invariants.rule import Looking, Rule, at_levels
from mcptest.invariants.sentences import gathered, member_faults, must_be
from mcptest.invariants.tool_results import media_faults

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from mcptest.invariants.facts import Facts
    from mcptest.invariants.rule import Breaches
    from mcptest.invariants.said import Said

    Members = dict[str, Any]

__all__ = ["PROMPT_RULES"]


def _shape(said: Said, facts: Facts) -> Breaches:
    result = complete_result(said, facts)
    if result is None:
        return None
    if not isinstance(result.get("prompts"), list):
        return [*member_faults(result, "result", {"prompts": "an array"})]
    return gathered(_prompt(path, prompt) for path, prompt in listed_in(said, facts))


def _prompt(path: str, prompt: object) -> Iterator[str]:
    if not isinstance(prompt, dict):
        yield must_be(path, "an object", prompt)
        return
    yield from member_faults(prompt, path, {"name": "text"}, {"arguments": "an array"})
    arguments = prompt.get("arguments")
    for index, argument in enumerate(arguments if isinstance(arguments, list) else ()):
        place = f"{path}.arguments[{index}]"
        if isinstance(argument, dict):
            yield from member_faults(argument, place, {"name": "text"}, {"required": "a boolean"})
        else:
            yield must_be(place, "an object", argument)


def _media(path: str, block: Members) -> Iterator[str]:
    yield from media_faults(path, block)
    kind = block.get("mimeType")
    if isinstance(kind, str) and not is_media_type(kind):
        yield must_be(f"{path}.mimeType", "a media type", kind)


def _embedded(path: str, contents: Members) -> Iterator[str]:
    return text_or_blob(path, contents, {"uri": "text", "mimeType": "text"})


_ALL = at_levels("ABCDE")
_GOT = ("result:prompts/get",)

PROMPT_RULES = (
    Rule(
        id="PROMPT-03",
        name="shape",
        category="prompts",
        property="every prompt and every argument of one has a name, and required is a boolean",
        levels=_ALL,
        topics=("result:prompts/list",),
        start=lambda: Looking(_shape),
        nothing="no prompt was listed",
    ),
    Rule(
        id="PROMPT-05",
        name="image-base64-mime",
        category="prompts",
        property="images in prompts are base64 and name a media type",
        levels=_ALL,
        topics=_GOT,
        start=watching_blocks(("image",), _media),
        nothing="no prompt has an image",
    ),
    Rule(
        id="PROMPT-06",
        name="audio-base64-mime",
        category="prompts",
        property="audio in prompts is base64 and names a media type",
        levels=at_levels("BCDE"),
        topics=_GOT,
        start=watching_blocks(("audio",), _media),
        nothing="no prompt has audio",
        elsewhere="no audio",
    ),
    Rule(
        id="PROMPT-07",
        name="embedded-resource-complete",
        category="prompts",
        property="a resource in a prompt has a uri, a mimeType, and either a text or a blob",
        levels=_ALL,
        topics=_GOT,
        start=watching_contents(_embedded),
        nothing="no prompt has an embedded resource",
    ),
    list_changed_rule("PROMPT-11", "prompts"),
)
