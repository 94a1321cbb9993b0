"""Rules about lists: changes, repetitions, pages and hints for caching (PAGE and CACHE)."""

from __future__ import annotations

from mcptest.rules.client_requests import INPUT_METHODS
from mcptest.rules.content import LISTED, listed_objects
from mcptest.rules.rule import Latest, Rule, Watch, limit, show, show_member
from mcptest.rules.shapes import SHAPE_TOPICS, by_shape

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mcptest.rules.facts import Facts
    from mcptest.rules.rule import Entry, Findings

    # The cursor of the page that a name was first seen on; None for the first page.
    Walk = dict[str, str | None]

__all__ = ["RULES", "ListedOnce", "list_changed_rule"]


# Changes


def list_changed_rule(id: str, family: str) -> Rule:
    """The rule for tools, resources or prompts."""
    method = f"notifications/{family}/list_changed"
    return Rule(
        id=id,
        name="list-changed-declared",
        category=family,
        property=f"a server that sends {method} declared {family}.listChanged",
        until="2025-11-25",
        must_since="2025-06-18",
        topics=(f"notification:{method}", "result:initialize"),
        watch=lambda: _ListChanged(family),
        nothing=f"no {method} was sent, or what the server declared is not known",
        elsewhere="subscriptions instead",
    )


class _ListChanged(Watch):
    """Declared is what the answer to initialize says, or the capture when there is none."""

    def __init__(self, family: str) -> None:
        self._family = family
        self._is_known = False
        self._has_early = False

    def see(self, entry: Entry, facts: Facts) -> Findings:
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
        declared = facts.capabilities.get(self._family)
        if isinstance(declared, dict) and declared.get("listChanged") is True:
            return ()
        return [
            f"the server sent notifications/{self._family}/list_changed and did not declare "
            f"{self._family}.listChanged"
        ]


# Repetitions

_MAX_NAMES = 10_000
_MAX_WALKS = 20


class ListedOnce(Watch):
    """No two objects of a list have the same `member`, on one page or over several.

    A list is read from page to page by its cursors, and several reads may be under way. So each
    cursor leads back to the read it belongs to, and a page that is requested again is no
    repetition.
    """

    def __init__(self, member: str) -> None:
        self._member = member
        self._walks: dict[str, Walk] = {}

    def see(self, entry: Entry, facts: Facts) -> Findings:
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


class _OneScope(Watch):
    """Knows the scope of the page that gave each cursor, None when pages disagree about it."""

    def __init__(self) -> None:
        self._scopes = Latest()

    def see(self, entry: Entry, _: Facts) -> Findings:
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


def _no_hints(entry: Entry, _: Facts) -> Findings:
    if entry.result.get("resultType") != "input_required":
        return None
    return [
        f"result.{hint} is in a result that requires input: {show_member(entry.result, hint)}"
        for hint in ("ttlMs", "cacheScope")
        if hint in entry.result
    ]


_NO_HINTS = "no hints for caching"

RULES = (
    Rule(
        id="PAGE-01",
        name="cursor-string",
        category="pagination",
        property="nextCursor is a string",
        topics=SHAPE_TOPICS,
        look=by_shape("PAGE-01"),
        nothing="no list has a next page",
    ),
    Rule(
        id="CACHE-01",
        name="hints-present",
        category="caching",
        property="complete results of discovery, lists and resources/read have ttlMs and "
        "cacheScope",
        since="2026-07-28",
        topics=SHAPE_TOPICS,
        look=by_shape("CACHE-01"),
        nothing="nothing that may be cached was answered",
        elsewhere=_NO_HINTS,
    ),
    Rule(
        id="CACHE-02",
        name="ttl-non-negative",
        category="caching",
        property="ttlMs is an integer from 0 up",
        since="2026-07-28",
        topics=SHAPE_TOPICS,
        look=by_shape("CACHE-02"),
        nothing="no result has a ttlMs",
        elsewhere=_NO_HINTS,
    ),
    Rule(
        id="CACHE-03",
        name="scope-enum",
        category="caching",
        property="cacheScope is public or private",
        since="2026-07-28",
        topics=SHAPE_TOPICS,
        look=by_shape("CACHE-03"),
        nothing="no result has a cacheScope",
        elsewhere=_NO_HINTS,
    ),
    Rule(
        id="CACHE-04",
        name="one-scope-per-list",
        category="caching",
        property="all pages of one list have the same cacheScope",
        since="2026-07-28",
        topics=tuple(f"result:{method}" for method in LISTED),
        watch=_OneScope,
        nothing="of no list were two pages read",
        elsewhere=_NO_HINTS,
    ),
    Rule(
        id="CACHE-05",
        name="none-on-input-required",
        category="caching",
        property="a result that requires input has no hints for caching",
        since="2026-07-28",
        topics=tuple(f"result:{method}" for method in INPUT_METHODS),
        look=_no_hints,
        nothing="no result says that input is required",
        elsewhere=_NO_HINTS,
    ),
)
