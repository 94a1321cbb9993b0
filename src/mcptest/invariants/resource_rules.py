"""Rules about resources; those about prompts and completions stand beside this module."""

from __future__ import annotations

from mcptest.invariants.annotations import annotation_breaches
from mcptest.invariants.completion_rules import COMPLETION_RULES
from mcptest.invariants.content_blocks import blocks_of, contents_of, watching_contents
from mcptest.invariants.encoded import base64_fault
from mcptest.invariants.list_changed import list_changed_rule
from mcptest.invariants.listed_once import ListedOnce
from mcptest.invariants.prompt_rules import PROMPT_RULES
from mcptest.invariants.results import objects_in
from mcptest.invariants.rule import Looking, Rule, at_levels
from mcptest.invariants.sentences import gathered, member_faults
from mcptest.invariants.uris import template_fault, uri_fault
from mcptest.invariants.wording import shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from mcptest.invariants.facts import Facts
    from mcptest.invariants.rule import Breaches
    from mcptest.invariants.said import Said
    from mcptest.invariants.sentences import Faults

    Members = dict[str, Any]

__all__ = ["RESOURCE_RULES"]


class _Uris:
    """Every address must be one, and in the list of resources none may stand twice."""

    def __init__(self) -> None:
        self._listed = ListedOnce("uri")

    def see(self, said: Said, facts: Facts) -> Breaches:
        is_list = said.method == "resources/list"
        holders = [*objects_in(said, facts)] if is_list else _linked(said, facts)
        if not holders:
            return None
        twice = self._listed.see(said, facts) if is_list else None
        return gathered([*(_uri(path, holder) for path, holder in holders), twice])

    def end(self, _: Facts) -> Breaches:
        return None


def _linked(said: Said, facts: Facts) -> list[tuple[str, Members]]:
    return [*blocks_of(said, facts, "resource_link"), *contents_of(said, facts)]


def _uri(path: str, holder: Members) -> Iterator[str]:
    yield from member_faults(holder, path, {"uri": "text"})
    uri = holder.get("uri")
    reason = uri_fault(uri) if isinstance(uri, str) else ""
    if reason:
        yield f"{path}.uri must be a URI and is {shown(uri)}: {reason}"


def _templates(said: Said, facts: Facts) -> Breaches:
    return gathered(_template(path, holder) for path, holder in objects_in(said, facts))


def _template(path: str, holder: Members) -> Iterator[str]:
    yield from member_faults(holder, path, {"uriTemplate": "text"})
    template = holder.get("uriTemplate")
    reason = template_fault(template) if isinstance(template, str) else ""
    if reason:
        yield f"{path}.uriTemplate must be a URI template and is {shown(template)}: {reason}"


def _blob(path: str, contents: Members) -> Faults:
    if "blob" not in contents:
        return None
    blob = contents["blob"]
    if not isinstance(blob, str):
        return member_faults(contents, path, {"blob": "text"})
    reason = base64_fault(blob)
    return [f"{path}.blob must be base64: {reason}"] if reason else ()


_ALL = at_levels("ABCDE")
_BLOCKS = ("result:tools/call", "result:prompts/get")

RESOURCE_RULES: tuple[Rule, ...] = (
    Rule(
        id="RES-03",
        name="uri-valid",
        category="resources",
        property="the addresses of resources are URIs, and no two listed resources share one",
        levels=_ALL,
        topics=("result:resources/list", *_BLOCKS),
        start=_Uris,
        nothing="no resource was listed, linked or embedded",
    ),
    Rule(
        id="RES-04",
        name="template-valid",
        category="resources",
        property="every uriTemplate is a URI template (RFC 6570)",
        levels=_ALL,
        topics=("result:resources/templates/list",),
        start=lambda: Looking(_templates),
        nothing="no template was listed",
    ),
    Rule(
        id="RES-06",
        name="blob-base64",
        category="resources",
        property="the blobs of resources are base64",
        levels=_ALL,
        topics=("result:resources/read", *_BLOCKS),
        start=watching_contents(_blob),
        nothing="no resource came with a blob",
    ),
    Rule(
        id="RES-12",
        name="size-annotations",
        category="resources",
        property="sizes are integers, priorities are from 0 to 1, audiences are user or "
        "assistant, and dates are ISO 8601",
        levels=_ALL,
        topics=("result:resources/list", "result:resources/templates/list", *_BLOCKS),
        start=lambda: Looking(annotation_breaches),
        nothing="nothing came with a size or with annotations",
    ),
    list_changed_rule("RES-14", "resources"),
    *PROMPT_RULES,
    *COMPLETION_RULES,
)
