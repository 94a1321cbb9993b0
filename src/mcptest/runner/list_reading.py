"""Read the lists of a server to their ends, and say what is wrong with them."""

from __future__ import annotations

import time
from hashlib import sha256

from mcptest.core import jsonrpc
from mcptest.core.outcome import Mismatch
from mcptest.core.record import ABSENT
from mcptest.core.text import plural, render_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

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
        params: dict[str, object] = {}
        seen: set[bytes] = set()
        for page in range(1, MAX_PAGES + 1):
            left_s = self._deadline - time.monotonic()
            if left_s <= 0:
                yield _endless(kind, f"it is not at its end after {self._limit_s:g} s", page - 1)
                return
            answer = self._ask(kind.method, params, left_s)
            place = f"{kind.method} (page {page})" if page > 1 else kind.method
            result = answer.get("result")
            if not isinstance(result, dict):
                yield from self._no_result(kind, answer, place)
                return
            yield from _wrong_entries(kind, result, place)
            cursor = result.get("nextCursor", ABSENT)
            if cursor is ABSENT:
                return
            wrong = _wrong_cursor(cursor, seen, place)
            if wrong:
                yield wrong
                return
            params = {"cursor": cursor}
        yield _endless(kind, "it does not end", MAX_PAGES)

    def _no_result(self, kind: Kind, answer: dict[str, Any], place: str) -> Iterator[Mismatch]:
        error = answer.get("error")
        code = error.get("code") if isinstance(error, dict) else None
        if kind.unit == "resourceTemplate" and code == jsonrpc.METHOD_NOT_FOUND:
            # The capability is that of resources; nothing says that there must be templates.
            self._notes.append(f"the server does not know {kind.method}: it has no templates")
        elif "error" in answer:
            yield refused(answer, kind.method, f"{place} error")
        else:
            message, actual = "the result must be an object", answer.get("result", ABSENT)
            yield _typed(f"{place} result", "object", actual, message)


def _endless(kind: Kind, why: str, pages: int) -> Mismatch:
    return Mismatch(
        path=kind.method,
        expected="a last page, without nextCursor",
        actual={"pages": pages},
        message=f"the list must have a last page, and {why} ({plural(pages, 'page')})",
    )


def _wrong_entries(kind: Kind, result: dict[str, Any], place: str) -> Iterator[Mismatch]:
    entries = result.get(kind.name, ABSENT)
    if not isinstance(entries, list):
        path = f"{place} result.{kind.name}"
        yield _typed(path, "array", entries, f"a list of {kind.noun}s must be an array")
        return
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
                message = f"a {kind.noun} needs a {key}: a text that is not empty"
                yield _typed(f"{path}.{key}", "string", value, message)


def _wrong_cursor(cursor: object, seen: set[bytes], place: str) -> Mismatch | None:
    """What is wrong with the way to the next page; a right one is remembered."""
    path = f"{place} result.nextCursor"
    if not isinstance(cursor, str):
        return _typed(path, "string", cursor, "where there is another page, it must be text")
    # They can be of any length.
    digest = sha256(cursor.encode("utf-8", "surrogatepass")).digest()
    if digest in seen:
        message = "this cursor has come before: the list goes in a circle"
        return Mismatch(path=path, expected="a new cursor", actual=cursor, message=message)
    seen.add(digest)
    return None


def _typed(path: str, type_: str, actual: object, message: str) -> Mismatch:
    return Mismatch(path=path, expected=f"match:type:{type_}", actual=actual, message=message)


def refused(answer: dict[str, Any], method: str, path: str) -> Mismatch:
    """That a request was answered with an error."""
    message = f"the server answered {method} with an error"
    return Mismatch(path=path, expected=ABSENT, actual=answer.get("error"), message=message)
