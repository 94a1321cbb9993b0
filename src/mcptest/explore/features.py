"""The features of a server: its tools, resources, resource templates and prompts."""

from __future__ import annotations

from mcptest.core.record import Record
from mcptest.protocol.jsonrpc import METHOD_NOT_FOUND
from mcptest.protocol.lists import ListPages

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from mcptest.core.coverage import Kind

    Message = dict[str, Any]
    Ask = Callable[[str, dict[str, object]], Message]

__all__ = ["Listing", "feature_name", "is_declared", "list_features"]

MAX_PAGES = 200
MAX_FEATURES = 10_000


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
        kind.method, kind.name, limit_s=limit_s, max_pages=MAX_PAGES, max_entries=MAX_FEATURES
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
        features=tuple(features[:MAX_FEATURES]),
        first_page_count=first_page_count,
        answers=tuple(answers),
        problem=problem,
        is_unsupported=is_unsupported,
    )
