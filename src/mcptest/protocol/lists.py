"""Read the lists of MCP page by page: tools, resources, resource templates and prompts. Pure.

`ListPages` gives the params of the next request and takes the answer to it. A server that repeats
a cursor, never stops giving cursors or answers with something else than a page ends the list
with a `ListProblem`; nothing is raised. `list_features` reads all features of one kind.
"""

from __future__ import annotations

from mcptest.core.strict_json import dump_json
from mcptest.core.text import excerpt
from mcptest.core.value_class import ABSENT, Record
from mcptest.protocol.jsonrpc import METHOD_NOT_FOUND

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Literal

    from mcptest.core.coverage import Kind

    ProblemKind = Literal["refused", "malformed", "cursor", "circle", "endless", "timeout"]
    Message = dict[str, Any]
    Ask = Callable[[str, dict[str, object]], Message]

__all__ = [
    "ListPages",
    "ListProblem",
    "Listing",
    "describe_error",
    "feature_name",
    "is_declared",
    "list_features",
]


_MAX_QUOTED_CHARS = 300


class ListProblem(Record):
    """Why a list was not read to its end.

    `reason` holds nothing that the server sent; `value` is what it sent instead of a page, or
    instead of a cursor.
    """

    kind: ProblemKind
    reason: str
    value: object = ABSENT

    @property
    def message(self) -> str:
        """The reason and the value, which is shortened and holds nothing invisible."""
        if self.value is ABSENT:
            return self.reason
        shown = describe_error(self.value) if self.kind == "refused" else _quote(self.value)
        return f"{self.reason}: {shown}"


class ListPages:
    """The pages of one list, in the order in which they are requested.

        while (params := pages.next_params(left_s := deadline - time.monotonic())) is not None:
            entries = pages.add(ask(method, params, left_s))

    `key` is the member of the result that holds the entries; `limit_s` is how long all pages
    together may take, which the caller measures. With `is_strict` a `nextCursor` of
    null is a problem; otherwise it means the last page, as many servers intend it.
    """

    def __init__(
        self,
        method: str,
        key: str,
        *,
        limit_s: float = 0.0,
        max_pages: int = 1_000,
        max_entries: int = 1_000_000,
        is_strict: bool = False,
    ) -> None:
        self._method = method
        self._key = key
        self._limit_s = limit_s
        self._max_pages = max_pages
        self._max_entries = max_entries
        self._is_strict = is_strict
        self._params: dict[str, object] | None = {}
        # Cursors may be of any length, so only their hashes are kept.
        self._seen: set[int] = set()
        self._entries = 0
        self.count = 0
        self.problem: ListProblem | None = None

    def next_params(self, left_s: float = 1.0) -> dict[str, object] | None:
        """The params of the next request; None if there is none, or no time left for it."""
        if self._params is not None and left_s <= 0:
            self._stop("timeout", f"{self._method} is not at its end after {self._limit_s:g} s")
        return self._params

    def add(self, answer: dict[str, Any]) -> list[Any]:
        """Take the answer to the last request; the entries of its page, [] if it has none."""
        self._params = None
        self.count += 1
        if "error" in answer:
            self._stop("refused", f"the server refused {self._method}", answer["error"])
            return []
        result = answer.get("result")
        entries = result.get(self._key) if isinstance(result, dict) else None
        if not isinstance(result, dict) or not isinstance(entries, list):
            reason = f'the result of {self._method} has no array "{self._key}"'
            self._stop("malformed", reason, result)
            return []
        self._entries += len(entries)
        cursor = result.get("nextCursor")
        if "nextCursor" not in result or (cursor is None and not self._is_strict):
            return entries
        if not isinstance(cursor, str):
            self._stop("cursor", f"the nextCursor of {self._method} is not a string", cursor)
        elif hash(cursor) in self._seen:
            self._stop("circle", f"{self._method} goes in a circle: a cursor came twice", cursor)
        elif self.count >= self._max_pages or self._entries >= self._max_entries:
            read = f"pages read: {self.count:,}, entries: {self._entries:,}"
            self._stop("endless", f"{self._method} does not end ({read})")
        else:
            self._seen.add(hash(cursor))
            self._params = {"cursor": cursor}
        return entries

    def _stop(self, kind: ProblemKind, reason: str, value: object = ABSENT) -> None:
        self._params = None
        self.problem = ListProblem(kind=kind, reason=reason, value=value)


def describe_error(error: object) -> str:
    """A JSON-RPC error as part of a sentence."""
    if not isinstance(error, dict):
        return _quote(error)
    words = f"code {error.get('code')}, {_quote(error.get('message'))}"
    return f"{words}, data {_quote(error['data'])}" if "data" in error else words


def _quote(value: object) -> str:
    return excerpt(dump_json(value), _MAX_QUOTED_CHARS)


# All features of one kind

MAX_PAGES = 200
_MAX_FEATURES = 10_000


class Listing(Record):
    """All features of one kind. `problem` says why there may be more of them, or none.

    `first_page_count` is how many came with the first page; `answers` are the pages as received.
    `is_unsupported` is true if the server lacks a kind that it need not have.
    """

    kind: Kind
    features: tuple[Message, ...] = ()
    first_page_count: int = 0
    answers: tuple[Message, ...] = ()
    problem: str = ""
    is_unsupported: bool = False

    def find(self, name: str) -> Message | None:
        """The feature of this name, or None."""
        return next((each for each in self.features if feature_name(each, self.kind) == name), None)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(feature_name(each, self.kind) for each in self.features)


def feature_name(feature: Message, kind: Kind) -> str:
    """What identifies a feature: its name or its URI; "" if it has none."""
    name = feature.get(kind.key)
    return name if isinstance(name, str) else ""


def is_declared(kind: Kind, capabilities: object) -> bool:
    """True if the server declares this kind in its capabilities."""
    return isinstance(capabilities, dict) and kind.capability in capabilities


def list_features(
    ask: Ask, kind: Kind, left_s: Callable[[], float] | None = None, limit_s: float = 0.0
) -> Listing:
    """Request every page of one kind; `ask` sends a request and returns the answer.

    `left_s` says how much of the time for all requests, `limit_s`, is left; None is no limit.
    """
    pages = ListPages(
        kind.method, kind.name, limit_s=limit_s, max_pages=MAX_PAGES, max_entries=_MAX_FEATURES
    )
    answers: list[Message] = []
    features: list[Message] = []
    first_page_count = nameless = 0
    while (params := pages.next_params(left_s() if left_s else 1.0)) is not None:
        answers.append(ask(kind.method, params))
        entries = pages.add(answers[-1])
        named = [each for each in entries if isinstance(each, dict) and feature_name(each, kind)]
        nameless += len(entries) - len(named)
        features += named
        first_page_count = first_page_count if pages.count > 1 else len(named)
    problem = pages.problem.message if pages.problem else ""
    error = answers[-1].get("error") if answers else None
    is_unknown = isinstance(error, dict) and error.get("code") == METHOD_NOT_FOUND
    # Templates share the capability of resources, and many servers have only resources.
    is_unsupported = kind.name == "resourceTemplates" and is_unknown
    if is_unsupported:
        problem = ""
    if nameless and not problem:
        problem = f"{nameless} of the {kind.name} have no {kind.key}; they are left out"
    return Listing(
        kind=kind,
        features=tuple(features[:_MAX_FEATURES]),
        first_page_count=first_page_count,
        answers=tuple(answers),
        problem=problem,
        is_unsupported=is_unsupported,
    )
