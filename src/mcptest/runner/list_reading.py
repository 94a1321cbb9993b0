"""Read the lists of a server to their ends, and say what is wrong with them."""

from __future__ import annotations

import time

from mcptest.core import jsonrpc
from mcptest.core.lists import ListPages
from mcptest.core.outcome import Mismatch
from mcptest.core.record import ABSENT
from mcptest.core.text import plural, render_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from mcptest.core.lists import ListProblem
    from mcptest.core.offer_kinds import Kind

    # The whole answer to a method with params, which must come within so many seconds.
    Ask = Callable[[str, object, float], dict[str, Any]]

__all__ = ["MAX_PAGES", "ListReader", "refused"]

# A list with more pages than this does not end.
MAX_PAGES = 1_000


class ListReader:
    """Reads the lists of a server to their ends; all together may take as long as one answer."""

    def __init__(self, ask: Ask, limit_s: float, notes: list[str]) -> None:
        self._ask = ask
        self._limit_s = limit_s
        self._deadline = time.monotonic() + limit_s
        self._notes = notes

    def read(self, kind: Kind) -> Iterator[Mismatch]:
        """What is wrong with a list, page by page."""
        pages = ListPages(kind.method, kind.name, max_pages=MAX_PAGES, is_strict=True)
        while (params := pages.next_params(left_s := self._left_s())) is not None:
            answer = self._ask(kind.method, params, left_s)
            entries = pages.add(answer)
            place = f"{kind.method} (page {pages.count})" if pages.count > 1 else kind.method
            yield from _wrong_entries(kind, entries, place)
            if pages.problem and pages.problem.kind in ("refused", "malformed"):
                yield from self._wrong_result(kind, answer, place)
                return
            if pages.problem and pages.problem.kind in ("cursor", "circle"):
                yield _wrong_cursor(pages.problem, f"{place} result.nextCursor")
                return
        if pages.problem:
            is_late = pages.problem.kind == "timeout"
            why = (
                f"it is not at its end after {self._limit_s:g} s" if is_late else "it does not end"
            )
            yield Mismatch(
                path=kind.method,
                expected="a last page, without nextCursor",
                actual={"pages": pages.count},
                message=f"the list must have a last page, and {why} "
                f"({plural(pages.count, 'page')})",
            )

    def _left_s(self) -> float:
        return self._deadline - time.monotonic()

    def _wrong_result(self, kind: Kind, answer: dict[str, Any], place: str) -> Iterator[Mismatch]:
        error, result = answer.get("error"), answer.get("result", ABSENT)
        code = error.get("code") if isinstance(error, dict) else None
        if kind.unit == "resourceTemplate" and code == jsonrpc.METHOD_NOT_FOUND:
            # The capability is that of resources; nothing says that there must be templates.
            self._notes.append(f"the server does not know {kind.method}: it has no templates")
        elif "error" in answer:
            yield refused(answer, kind.method, f"{place} error")
        elif isinstance(result, dict):
            message = f"a list of {kind.noun}s must be an array"
            found = result.get(kind.name, ABSENT)
            yield _typed(f"{place} result.{kind.name}", "array", found, message)
        else:
            yield _typed(f"{place} result", "object", result, "the result must be an object")


def _wrong_cursor(problem: ListProblem, path: str) -> Mismatch:
    if problem.kind == "cursor":
        message = "where there is another page, it must be a string"
        return _typed(path, "string", problem.value, message)
    message = "this cursor has come before: the list goes in a circle"
    return Mismatch(path=path, expected="a new cursor", actual=problem.value, message=message)


def _wrong_entries(kind: Kind, entries: list[Any], place: str) -> Iterator[Mismatch]:
    needed = ("name",) if kind.key == "name" else (kind.key, "name")
    for index, entry in enumerate(entries):
        path = f"{place} {render_path(('result', kind.name, index))}"
        if not isinstance(entry, dict):
            yield _typed(path, "object", entry, f"a {kind.noun} must be an object")
            continue
        for key in needed:
            value = entry.get(key, ABSENT)
            # What it is called by cannot be nothing.
            if not isinstance(value, str) or (key == kind.key and not value):
                message = f"a {kind.noun} needs a {key}: a string that is not empty"
                yield _typed(f"{path}.{key}", "string", value, message)


def _typed(path: str, type_: str, actual: object, message: str) -> Mismatch:
    return Mismatch(path=path, expected=f"match:type:{type_}", actual=actual, message=message)


def refused(answer: dict[str, Any], method: str, path: str) -> Mismatch:
    """That a request was answered with an error."""
    message = f"the server answered {method} with an error"
    return Mismatch(path=path, expected=ABSENT, actual=answer.get("error"), message=message)
