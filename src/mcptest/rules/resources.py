"""Rules about resources, prompts, completion and lists (RES, PROMPT, COMP, PAGE, CACHE)."""

from __future__ import annotations

from mcptest.rules.rule import (
    Latest,
    Rule,
    SessionCheck,
    collect,
    is_number,
    limit,
    members,
    must_be,
    show,
    show_member,
)
from mcptest.rules.shapes import SHAPE_TOPICS, shape_faults
from mcptest.rules.shared import (
    INPUT_METHODS,
    LISTED,
    base64_fault,
    complete_result,
    for_each_block,
    is_iso_date,
    is_media_type,
    listed_objects,
    media_faults,
    result_blocks,
    result_contents,
    template_fault,
    uri_fault,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from mcptest.rules.rule import Entry, Facts, Findings, Members

    # The cursor of the page that a name was first seen on; None for the first page.
    Walk = dict[str, str | None]

__all__ = ["RULES", "ListedOnce", "list_changed_rule"]


# Changes of lists


def list_changed_rule(family: str, section: str) -> Rule:
    """The rule for tools, resources or prompts."""
    method = f"notifications/{family}/list_changed"
    return Rule(
        property=f"a server that sends {method} declared {family}.listChanged",
        until="2025-11-25",
        must_since="2025-06-18",
        topics=(f"notification:{method}", "result:initialize"),
        session_check=lambda: _ListChanged(family),
        reason_if_unused=f"no {method} was sent, or what the server declared is not known",
        reason_if_other_revision="subscriptions instead",
        section=section,
    )


class _ListChanged(SessionCheck):
    """Declared is what the answer to initialize says, or the capture when there is none."""

    def __init__(self, family: str) -> None:
        self._family = family
        self._is_known = False
        self._has_early = False

    def check(self, entry: Entry, facts: Facts) -> Findings:
        if entry.kind == "result":
            self._is_known = True
            return None
        if self._is_known or facts.capabilities:
            return self._judge(facts)
        self._has_early = True
        return None

    def end(self, facts: Facts) -> Findings:
        is_known = self._is_known or isinstance(facts.block, dict)
        return self._judge(facts) if self._has_early and is_known else None

    def _judge(self, facts: Facts) -> Findings:
        if members(facts.capabilities.get(self._family)).get("listChanged") is True:
            return ()
        return [
            f"the server sent notifications/{self._family}/list_changed and did not declare "
            f"{self._family}.listChanged"
        ]


# Repetitions in lists

_MAX_NAMES = 10_000
_MAX_WALKS = 20


class ListedOnce(SessionCheck):
    """No two objects of a list have the same `member`, on one page or over several.

    A list is read from page to page by its cursors, and several reads may be under way. So each
    cursor leads back to the read it belongs to, and a page that is requested again is no
    repetition.
    """

    def __init__(self, member: str) -> None:
        self._member = member
        self._walks: dict[str, Walk] = {}

    def check(self, entry: Entry, facts: Facts) -> Findings:
        cursor = entry.request_params.get("cursor")
        cursor = cursor if isinstance(cursor, str) else None
        walk = self._walk(cursor, entry.result.get("nextCursor"))
        # The first path of each name of this page, and the names that occurred before.
        paths: dict[str, str] = {}
        repeated: list[str] = []
        for path, thing in listed_objects(entry, facts):
            name = thing.get(self._member)
            if not isinstance(name, str):
                continue
            if name in paths or walk.get(name, cursor) != cursor:
                other = paths.get(name, "an earlier page")
                repeated.append(f"{path}.{self._member} is {show(name)}, which {other} has too")
            elif len(walk) < _MAX_NAMES:
                walk[name] = cursor
            paths.setdefault(name, path)
        return limit(repeated) if paths else None

    def _walk(self, cursor: str | None, next_cursor: object) -> Walk:
        walk: Walk = {} if cursor is None else self._walks.get(cursor, {})
        if isinstance(next_cursor, str):
            self._walks.pop(next_cursor, None)
            self._walks[next_cursor] = walk
            if len(self._walks) > _MAX_WALKS:
                del self._walks[next(iter(self._walks))]
        return walk


# Caching


class _OneScope(SessionCheck):
    """Knows the scope of the page that gave each cursor, None when pages disagree about it."""

    def __init__(self) -> None:
        self._scopes = Latest()

    def check(self, entry: Entry, _: Facts) -> Findings:
        scope, cursor = entry.result.get("cacheScope"), entry.request_params.get("cursor")
        if not isinstance(scope, str):
            return None
        before = self._scopes.get((entry.method, cursor)) if isinstance(cursor, str) else None
        key = (entry.method, entry.result.get("nextCursor"))
        if isinstance(key[1], str):
            given = before or scope
            is_new = key not in self._scopes or self._scopes.get(key) == given
            self._scopes.add(key, given if is_new else None)
        if before is None:
            return None
        if before == scope:
            return ()
        return [
            f"result.cacheScope of this page of {entry.method} is {show(scope)}, and that of the "
            f"page before it was {show(before)}"
        ]


def _check_no_hints(entry: Entry, _: Facts) -> Findings:
    if entry.result.get("resultType") != "input_required":
        return None
    return [
        f"result.{hint} is in a result that requires input: {show_member(entry.result, hint)}"
        for hint in ("ttlMs", "cacheScope")
        if hint in entry.result
    ]


_NO_HINTS = "no hints for caching"

_LIST_RULES = {
    "PAGE-01 cursor-string": Rule(
        property="nextCursor is a string",
        reason_if_unused="no list has a next page",
        section="server/utilities/pagination#Response Format",
    ),
    "CACHE-01 hints-present": Rule(
        property="complete results of discovery, lists and resources/read have ttlMs and "
        "cacheScope",
        since="2026-07-28",
        reason_if_unused="nothing that may be cached was answered",
        reason_if_other_revision=_NO_HINTS,
        section="server/utilities/caching#Cacheable Results",
    ),
    "CACHE-02 ttl-non-negative": Rule(
        property="ttlMs is an integer from 0 up",
        since="2026-07-28",
        reason_if_unused="no result has a ttlMs",
        reason_if_other_revision=_NO_HINTS,
        section="server/utilities/caching#Time-to-Live (TTL) Field",
    ),
    "CACHE-03 scope-enum": Rule(
        property="cacheScope is public or private",
        since="2026-07-28",
        reason_if_unused="no result has a cacheScope",
        reason_if_other_revision=_NO_HINTS,
        section="server/utilities/caching#Cache Scope Field",
    ),
    "CACHE-04 one-scope-per-list": Rule(
        property="all pages of one list have the same cacheScope",
        since="2026-07-28",
        topics=tuple(f"result:{method}" for method in LISTED),
        session_check=_OneScope,
        reason_if_unused="of no list were two pages read",
        reason_if_other_revision=_NO_HINTS,
        section="server/utilities/caching#Interaction with Pagination",
    ),
    "CACHE-05 none-on-input-required": Rule(
        property="a result that requires input has no hints for caching",
        since="2026-07-28",
        topics=tuple(f"result:{method}" for method in INPUT_METHODS),
        check=_check_no_hints,
        reason_if_unused="no result says that input is required",
        reason_if_other_revision=_NO_HINTS,
        section="server/utilities/caching#Cacheable Results",
    ),
}


# Resources


class _Uris(SessionCheck):
    """Every uri must be one, and in the list of resources none may occur twice."""

    def __init__(self) -> None:
        self._listed = ListedOnce("uri")

    def check(self, entry: Entry, facts: Facts) -> Findings:
        if faults := shape_faults(entry, facts, "RES-03"):
            return faults
        if entry.method == "resources/list":
            holders = listed_objects(entry, facts)
            repeated = self._listed.check(entry, facts) if holders else None
        else:
            links = result_blocks(entry, facts, "resource_link")
            holders, repeated = [*links, *result_contents(entry, facts)], None
        wrong = (
            f"{path}.uri must be a URI and is {show(uri)}: {reason}"
            for path, holder in holders
            if isinstance(uri := holder.get("uri"), str) and (reason := uri_fault(uri))
        )
        return collect([wrong if holders else None, repeated])


def _check_templates(entry: Entry, facts: Facts) -> Findings:
    listed = listed_objects(entry, facts)
    wrong = (
        f"{path}.uriTemplate must be a URI template and is {show(template)}: {reason}"
        for path, holder in listed
        if isinstance(template := holder.get("uriTemplate"), str)
        and (reason := template_fault(template))
    )
    return limit(wrong) if listed else None


def _check_blobs(entry: Entry, facts: Facts) -> Findings:
    return collect(
        [f"{path}.blob must be base64: {reason}"] if (reason := base64_fault(blob)) else []
        for path, contents in result_contents(entry, facts)
        if isinstance(blob := contents.get("blob"), str)
    )


def _check_annotations(entry: Entry, facts: Facts) -> Findings:
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


_RESOURCE_RULES = {
    "RES-03 uri-valid": Rule(
        property="the uris of resources are URIs, and no two listed resources share one",
        topics=SHAPE_TOPICS,
        session_check=_Uris,
        reason_if_unused="no resource was listed, linked or embedded",
        section="server/resources#Resource",
    ),
    "RES-04 template-valid": Rule(
        property="every uriTemplate is a URI template (RFC 6570)",
        topics=("result:resources/templates/list",),
        check=_check_templates,
        reason_if_unused="no template was listed",
        section="server/resources#Resource Templates",
    ),
    "RES-05 read-shape": Rule(
        property="the contents of a resource have a URI, and either text or a blob",
        reason_if_unused="no resource was read",
        section="server/resources#Reading Resources",
    ),
    "RES-06 blob-base64": Rule(
        property="the blobs of resources are base64",
        check=_check_blobs,
        reason_if_unused="no resource came with a blob",
        section="server/resources#Resource Contents",
    ),
    "RES-12 size-annotations": Rule(
        property="sizes are integers, priorities are from 0 to 1, audiences are user or "
        "assistant, and dates are ISO 8601",
        check=_check_annotations,
        reason_if_unused="nothing came with a size or with annotations",
        section="server/resources#Data Types",
    ),
    "RES-14 list-changed-declared": list_changed_rule("resources", "server/resources#Capabilities"),
}


# Prompts


def _prompt_media_faults(path: str, block: Members) -> Iterator[str]:
    yield from media_faults(path, block)
    kind = block.get("mimeType")
    if isinstance(kind, str) and not is_media_type(kind):
        yield must_be(f"{path}.mimeType", "a media type", kind)


# Completions

_MAX_VALUES = 100
_PATH = "result.completion"


def _check_count(entry: Entry, facts: Facts) -> Findings:
    values = members(complete_result(entry, facts).get("completion")).get("values")
    if not isinstance(values, list):
        return None
    if len(values) <= _MAX_VALUES:
        return ()
    return [f"{_PATH}.values must have at most {_MAX_VALUES} values and has {len(values):,}"]


def _check_has_more(entry: Entry, facts: Facts) -> Findings:
    completion = members(complete_result(entry, facts).get("completion"))
    values = completion.get("values")
    total: Any = completion.get("total")
    if not isinstance(values, list) or not is_number(total):
        return None
    if total <= len(values) or completion.get("hasMore") is True:
        return ()
    return [
        f"{_PATH}.total is {show(total)}, more than the values that came ({len(values):,}), so "
        f"{_PATH}.hasMore should be true and is {show_member(completion, 'hasMore')}"
    ]


_COMPLETIONS = ("result:completion/complete",)

RULES = {
    **_LIST_RULES,
    **_RESOURCE_RULES,
    "PROMPT-03 shape": Rule(
        property="every prompt and every argument of one has a name, and required is a boolean",
        reason_if_unused="no prompt was listed",
        section="server/prompts#Prompt",
    ),
    "PROMPT-04 get-shape": Rule(
        property="the messages of a prompt have a role, user or assistant, and one content block",
        reason_if_unused="no prompt was answered with messages",
        section="server/prompts#Getting a Prompt",
    ),
    "PROMPT-05 image-base64-mime": Rule(
        property="images in prompts are base64 and name a media type",
        topics=("result:prompts/get",),
        check=for_each_block(("image",), _prompt_media_faults),
        reason_if_unused="no prompt has an image",
        section="server/prompts#Image Content",
    ),
    "PROMPT-06 audio-base64-mime": Rule(
        property="audio in prompts is base64 and names a media type",
        since="2025-03-26",
        topics=("result:prompts/get",),
        check=for_each_block(("audio",), _prompt_media_faults),
        reason_if_unused="no prompt has audio",
        reason_if_other_revision="no audio",
        section="server/prompts#Audio Content",
    ),
    "PROMPT-07 embedded-resource-complete": Rule(
        property="a resource in a prompt has a uri, a mimeType, and either a text or a blob",
        reason_if_unused="no prompt has an embedded resource",
        section="server/prompts#Embedded Resources",
    ),
    "PROMPT-11 list-changed-declared": list_changed_rule("prompts", "server/prompts#Capabilities"),
    "COMP-02 max-100": Rule(
        property="a completion has at most 100 values",
        topics=_COMPLETIONS,
        check=_check_count,
        reason_if_unused="no completion was answered with values",
        section="server/utilities/completion#Completion Results",
    ),
    "COMP-03 shape": Rule(
        property="values are strings, total is an integer and hasMore a boolean",
        reason_if_unused="no completion was answered with a result",
        section="server/utilities/completion#Completion Results",
    ),
    "COMP-06 has-more-truth": Rule(
        property="a completion whose total is greater than its values says that there are more",
        level="SHOULD",
        topics=_COMPLETIONS,
        check=_check_has_more,
        reason_if_unused="no completion names a total",
        section="server/utilities/completion#Completion Results",
    ),
}
