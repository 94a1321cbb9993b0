"""Rules about pages and hints for caching: PAGE and CACHE."""

from __future__ import annotations

from mcptest.invariants.asking import INPUT_METHODS
from mcptest.invariants.memory import Latest
from mcptest.invariants.rule import Looking, Rule, at_levels
from mcptest.invariants.sentences import has_kind
from mcptest.invariants.wording import seen, shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mcptest.invariants.facts import Facts
    from mcptest.invariants.rule import Breaches
    from mcptest.invariants.said import Said

__all__ = ["CACHING_RULES"]

_LISTS = tuple(
    f"result:{method}"
    for method in ("tools/list", "prompts/list", "resources/list", "resources/templates/list")
)
_CACHEABLE = ("result:server/discover", *_LISTS, "result:resources/read")
_HINTS = ("ttlMs", "cacheScope")
_SCOPES = ("public", "private")


def _cursor(said: Said, _: Facts) -> Breaches:
    if "nextCursor" not in said.result:
        return None
    if isinstance(said.result["nextCursor"], str):
        return ()
    return [f"result.nextCursor must be text and is {shown(said.result['nextCursor'])}"]


def _hints_present(said: Said, _: Facts) -> Breaches:
    # Without a type a result is a complete one.
    is_complete = said.result.get("resultType", "complete") == "complete"
    if not is_complete or not isinstance(said.message["result"], dict):
        return None
    return [
        f"result.{hint} is missing in the answer to {said.method}"
        for hint in _HINTS
        if hint not in said.result
    ]


def _ttl(said: Said, _: Facts) -> Breaches:
    if "ttlMs" not in said.result:
        return None
    ttl = said.result["ttlMs"]
    if has_kind(ttl, "an integer") and ttl >= 0:
        return ()
    return [f"result.ttlMs must be an integer from 0 up and is {shown(ttl)}"]


def _scope(said: Said, _: Facts) -> Breaches:
    if "cacheScope" not in said.result:
        return None
    if said.result["cacheScope"] in _SCOPES:
        return ()
    scope = shown(said.result["cacheScope"])
    return [f'result.cacheScope must be "public" or "private" and is {scope}']


class _OneScope:
    """Knows the scope of the page that gave each cursor, None when pages disagree about it."""

    def __init__(self) -> None:
        self._scopes = Latest()

    def see(self, said: Said, _: Facts) -> Breaches:
        scope, cursor = said.result.get("cacheScope"), said.asked.get("cursor")
        if not isinstance(scope, str):
            return None
        before = self._scopes.get((said.method, cursor)) if isinstance(cursor, str) else None
        self._give(said, before or scope)
        if before is None:
            return None
        if before == scope:
            return ()
        return [
            f"result.cacheScope of this page of {said.method} is {shown(scope)}, and that of the "
            f"page before it was {shown(before)}"
        ]

    def _give(self, said: Said, scope: str) -> None:
        key = (said.method, said.result.get("nextCursor"))
        if isinstance(key[1], str):
            is_new = key not in self._scopes or self._scopes.get(key) == scope
            self._scopes.note(key, scope if is_new else None)

    def end(self, _: Facts) -> Breaches:
        return None


def _no_hints(said: Said, _: Facts) -> Breaches:
    if said.result.get("resultType") != "input_required":
        return None
    return [
        f"result.{hint} stands in a result that requires input: {seen(said.result, hint)}"
        for hint in _HINTS
        if hint in said.result
    ]


_ELSEWHERE = "no hints for caching"

CACHING_RULES = (
    Rule(
        id="PAGE-01",
        name="cursor-string",
        category="pagination",
        property="nextCursor is text",
        levels=at_levels("ABCDE"),
        topics=(*_LISTS, "result:tasks/list"),
        start=lambda: Looking(_cursor),
        nothing="no list has a next page",
    ),
    Rule(
        id="CACHE-01",
        name="hints-present",
        category="caching",
        property="complete results of discovery, lists and resources/read have ttlMs and "
        "cacheScope",
        levels=at_levels("E"),
        topics=_CACHEABLE,
        start=lambda: Looking(_hints_present),
        nothing="nothing that may be cached was answered",
        elsewhere=_ELSEWHERE,
    ),
    Rule(
        id="CACHE-02",
        name="ttl-non-negative",
        category="caching",
        property="ttlMs is an integer from 0 up",
        levels=at_levels("E"),
        topics=_CACHEABLE,
        start=lambda: Looking(_ttl),
        nothing="no result has a ttlMs",
        elsewhere=_ELSEWHERE,
    ),
    Rule(
        id="CACHE-03",
        name="scope-enum",
        category="caching",
        property="cacheScope is public or private",
        levels=at_levels("E"),
        topics=_CACHEABLE,
        start=lambda: Looking(_scope),
        nothing="no result has a cacheScope",
        elsewhere=_ELSEWHERE,
    ),
    Rule(
        id="CACHE-04",
        name="one-scope-per-list",
        category="caching",
        property="all pages of one list have the same cacheScope",
        levels=at_levels("E"),
        topics=_LISTS,
        start=_OneScope,
        nothing="of no list were two pages read",
        elsewhere=_ELSEWHERE,
    ),
    Rule(
        id="CACHE-05",
        name="none-on-input-required",
        category="caching",
        property="a result that requires input has no hints for caching",
        levels=at_levels("E"),
        topics=tuple(f"result:{method}" for method in INPUT_METHODS),
        start=lambda: Looking(_no_hints),
        nothing="no result says that input is required",
        elsewhere=_ELSEWHERE,
    ),
)
