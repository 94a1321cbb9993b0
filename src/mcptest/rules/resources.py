"""Rules about resources and annotations: RES."""

from __future__ import annotations

from mcptest.rules.content import (
    LISTED,
    each_contents,
    listed_objects,
    result_blocks,
    result_contents,
)
from mcptest.rules.lists import ListedOnce, list_changed_rule
from mcptest.rules.rule import Rule, Watch, collect, members, must_be, show
from mcptest.rules.shapes import SHAPE_TOPICS, by_shape, shape_faults
from mcptest.rules.syntax import base64_fault, is_iso_date, template_fault, uri_fault

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from mcptest.rules.facts import Facts
    from mcptest.rules.rule import Entry, Findings

    Members = dict[str, Any]

__all__ = ["RULES"]


class _Uris(Watch):
    """Every uri must be one, and in the list of resources none may occur twice."""

    def __init__(self) -> None:
        self._listed = ListedOnce("uri")

    def see(self, entry: Entry, facts: Facts) -> Findings:
        if faults := shape_faults(entry, facts, "RES-03"):
            return faults
        if entry.method == "resources/list":
            holders = listed_objects(entry, facts)
            repeated = self._listed.see(entry, facts) if holders else None
        else:
            links = result_blocks(entry, facts, "resource_link")
            holders, repeated = [*links, *result_contents(entry, facts)], None
        return collect([*(_uri(path, holder) for path, holder in holders), repeated])


def _uri(path: str, holder: Members) -> Iterator[str]:
    uri = holder.get("uri")
    reason = uri_fault(uri) if isinstance(uri, str) else ""
    if reason:
        yield f"{path}.uri must be a URI and is {show(uri)}: {reason}"


def _templates(entry: Entry, facts: Facts) -> Findings:
    return collect(_template(path, holder) for path, holder in listed_objects(entry, facts))


def _template(path: str, holder: Members) -> Iterator[str]:
    template = holder.get("uriTemplate")
    reason = template_fault(template) if isinstance(template, str) else ""
    if reason:
        yield f"{path}.uriTemplate must be a URI template and is {show(template)}: {reason}"


def _blob(path: str, contents: Members) -> list[str] | None:
    blob = contents.get("blob")
    if not isinstance(blob, str):
        return None
    reason = base64_fault(blob)
    return [f"{path}.blob must be base64: {reason}"] if reason else []


def _annotations(entry: Entry, facts: Facts) -> Findings:
    holders = listed_objects if entry.method in LISTED else result_blocks
    has_dates = facts.oldest >= "2025-06-18"
    return collect(
        _annotation_faults(path, holder, has_dates=has_dates)
        for path, holder in holders(entry, facts)
    )


def _annotation_faults(path: str, holder: Members, *, has_dates: bool) -> list[str] | None:
    if "annotations" not in holder and not (
        "size" in holder and holder.get("type") in (None, "resource_link")
    ):
        return None
    faults = []
    annotations = members(holder.get("annotations"))
    priority = annotations.get("priority", 0)
    if not 0 <= priority <= 1:
        faults.append(must_be(f"{path}.annotations.priority", "a number from 0 to 1", priority))
    modified = annotations.get("lastModified")
    if has_dates and isinstance(modified, str) and not is_iso_date(modified):
        faults.append(must_be(f"{path}.annotations.lastModified", "an ISO 8601 date", modified))
    return faults


RULES = (
    Rule(
        id="RES-03",
        name="uri-valid",
        category="resources",
        property="the uris of resources are URIs, and no two listed resources share one",
        topics=SHAPE_TOPICS,
        watch=_Uris,
        nothing="no resource was listed, linked or embedded",
    ),
    Rule(
        id="RES-04",
        name="template-valid",
        category="resources",
        property="every uriTemplate is a URI template (RFC 6570)",
        topics=("result:resources/templates/list",),
        look=by_shape("RES-04", _templates),
        nothing="no template was listed",
    ),
    Rule(
        id="RES-06",
        name="blob-base64",
        category="resources",
        property="the blobs of resources are base64",
        topics=SHAPE_TOPICS,
        look=by_shape("RES-06", each_contents(_blob)),
        nothing="no resource came with a blob",
    ),
    Rule(
        id="RES-12",
        name="size-annotations",
        category="resources",
        property="sizes are integers, priorities are from 0 to 1, audiences are user or "
        "assistant, and dates are ISO 8601",
        topics=SHAPE_TOPICS,
        look=by_shape("RES-12", _annotations),
        nothing="nothing came with a size or with annotations",
    ),
    list_changed_rule("RES-14", "resources"),
)
