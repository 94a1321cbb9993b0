"""Rules about prompts and completions: PROMPT and COMP."""

from __future__ import annotations

from mcptest.rules.content import complete_result, each_block
from mcptest.rules.lists import list_changed_rule
from mcptest.rules.rule import Rule, has_kind, members, must_be, show, show_member
from mcptest.rules.shapes import SHAPE_TOPICS, by_shape
from mcptest.rules.syntax import is_media_type
from mcptest.rules.tools import media_faults

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from mcptest.rules.facts import Facts
    from mcptest.rules.rule import Entry, Findings

    Members = dict[str, Any]

__all__ = ["RULES"]


def _media(path: str, block: Members) -> Iterator[str]:
    yield from media_faults(path, block)
    kind = block.get("mimeType")
    if isinstance(kind, str) and not is_media_type(kind):
        yield must_be(f"{path}.mimeType", "a media type", kind)


# Completions

_MAX_VALUES = 100
_PATH = "result.completion"


def _completion(entry: Entry, facts: Facts) -> tuple[Members, list[object]] | None:
    """A completion and its values, None when one of them is missing."""
    completion = members(complete_result(entry, facts).get("completion"))
    values = completion.get("values")
    return (completion, values) if isinstance(values, list) else None


def _max_values(entry: Entry, facts: Facts) -> Findings:
    found = _completion(entry, facts)
    if found is None:
        return None
    count = len(found[1])
    if count <= _MAX_VALUES:
        return ()
    return [f"{_PATH}.values must have at most {_MAX_VALUES} values and has {count:,}"]


def _has_more(entry: Entry, facts: Facts) -> Findings:
    found = _completion(entry, facts)
    if found is None:
        return None
    completion, values = found
    total: Any = completion.get("total")
    if not has_kind(total, "a number"):
        return None
    if total <= len(values) or completion.get("hasMore") is True:
        return ()
    return [
        f"{_PATH}.total is {show(total)}, more than the values that came ({len(values):,}), so "
        f"{_PATH}.hasMore should be true and is {show_member(completion, 'hasMore')}"
    ]


_COMPLETIONS = ("result:completion/complete",)

RULES = (
    Rule(
        id="PROMPT-03",
        name="shape",
        category="prompts",
        property="every prompt and every argument of one has a name, and required is a boolean",
        topics=SHAPE_TOPICS,
        look=by_shape("PROMPT-03"),
        nothing="no prompt was listed",
    ),
    Rule(
        id="PROMPT-05",
        name="image-base64-mime",
        category="prompts",
        property="images in prompts are base64 and name a media type",
        topics=("result:prompts/get",),
        look=by_shape("PROMPT-05", each_block(("image",), _media)),
        nothing="no prompt has an image",
    ),
    Rule(
        id="PROMPT-06",
        name="audio-base64-mime",
        category="prompts",
        property="audio in prompts is base64 and names a media type",
        since="2025-03-26",
        topics=("result:prompts/get",),
        look=by_shape("PROMPT-06", each_block(("audio",), _media)),
        nothing="no prompt has audio",
        elsewhere="no audio",
    ),
    Rule(
        id="PROMPT-07",
        name="embedded-resource-complete",
        category="prompts",
        property="a resource in a prompt has a uri, a mimeType, and either a text or a blob",
        topics=SHAPE_TOPICS,
        look=by_shape("PROMPT-07"),
        nothing="no prompt has an embedded resource",
    ),
    list_changed_rule("PROMPT-11", "prompts"),
    Rule(
        id="COMP-02",
        name="max-100",
        category="completion",
        property="a completion has at most 100 values",
        topics=_COMPLETIONS,
        look=_max_values,
        nothing="no completion was answered with values",
    ),
    Rule(
        id="COMP-03",
        name="shape",
        category="completion",
        property="values are strings, total is an integer and hasMore a boolean",
        topics=SHAPE_TOPICS,
        look=by_shape("COMP-03"),
        nothing="no completion was answered with a result",
    ),
    Rule(
        id="COMP-06",
        name="has-more-truth",
        category="completion",
        property="a completion whose total is greater than its values says that there are more",
        level="SHOULD",
        topics=_COMPLETIONS,
        look=_has_more,
        nothing="no completion names a total",
    ),
)
