"""Read the lists of a server: for coverage, for compliance checks, and its tools for suites.

For coverage, the lists are read once the tests are done (`take_inventory`). No test asked for them,
so a fault there fails no test: the coverage of that server stays unknown.
"""

from __future__ import annotations

import contextlib
import time
from functools import partial
from itertools import count

from mcptest.core.coverage import KINDS, offers_in
from mcptest.core.errors import ServerError
from mcptest.core.plan import Expectation, Step
from mcptest.core.record import ABSENT, Record
from mcptest.core.results import FINDINGS, Mismatch
from mcptest.core.text import plural, render_path
from mcptest.protocol import jsonrpc
from mcptest.protocol.framing import encode_line
from mcptest.protocol.lists import ListPages

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from mcptest.core.coverage import CoveredOffer, Kind
    from mcptest.engine.server import Server
    from mcptest.protocol.lists import ListProblem

    # Method, params, time limit in seconds → the whole answer.
    Ask = Callable[[str, object, float], dict[str, Any]]
    # Params of a page, time limit in seconds → the answer.
    AskTools = Callable[[dict[str, object], float], Any]

__all__ = [
    "MAX_PAGES",
    "MAX_TOOL_PAGES",
    "EndlessError",
    "ListReader",
    "learn_tools",
    "list_pages",
    "read_tools",
    "refusal_mismatch",
    "take_inventory",
]


# How long all lists together may take, and how much of them is read.
_PATIENCE_S = 5.0
_MAX_PAGES = 100
_MAX_OFFERS = 20_000


def take_inventory(server: Server) -> tuple[CoveredOffer, ...] | None:
    """Everything the server offers; None when not all of it could be listed."""
    offers: dict[tuple[str, str], CoveredOffer] = {}
    declared = server.capabilities
    deadline = time.monotonic() + _PATIENCE_S
    try:
        for kind in KINDS.values():
            if isinstance(declared, dict) and kind.capability in declared:
                for entries in list_pages(server, kind, deadline):
                    offers |= {
                        (kind.unit, each.name): each for each in offers_in(kind.unit, entries)
                    }
                    if len(offers) > _MAX_OFFERS:
                        return None
    except ServerError as error:
        _remember(server, error)
        return None
    except EndlessError:
        return None
    return tuple(offers.values())


class EndlessError(Exception):
    """A list that does not end in time."""


def _remember(server: Server, error: ServerError) -> None:
    """Report what the server did wrong meanwhile, but not that it did not answer us."""
    if error.fault.kind in FINDINGS:
        server.findings.add(error.fault.kind, error.fault.message)


def list_pages(server: Server, kind: Kind, deadline: float) -> Iterator[list[object]]:
    """The entries of each page of a list; none if the server does not know the method."""
    pages = ListPages(kind.method, kind.name, max_pages=_MAX_PAGES)
    while (params := pages.next_params(left_s := deadline - time.monotonic())) is not None:
        yield pages.add(server.ask(kind.method, params, left_s))
    if pages.problem and pages.problem.kind in ("circle", "endless", "timeout"):
        raise EndlessError


# Judging lists

# A list with more pages than this is considered endless.
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
            yield from _judge_entries(kind, entries, place)
            if pages.problem and pages.problem.kind in ("refused", "malformed"):
                yield from self._judge_result(kind, answer, place)
                return
            if pages.problem and pages.problem.kind in ("cursor", "circle"):
                yield _judge_cursor(pages.problem, f"{place} result.nextCursor")
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

    def _judge_result(self, kind: Kind, answer: dict[str, Any], place: str) -> Iterator[Mismatch]:
        error, result = answer.get("error"), answer.get("result", ABSENT)
        code = error.get("code") if isinstance(error, dict) else None
        if kind.unit == "resourceTemplate" and code == jsonrpc.METHOD_NOT_FOUND:
            # Templates belong to the capability of resources, and are optional.
            self._notes.append(f"the server does not know {kind.method}: it has no templates")
        elif "error" in answer:
            yield refusal_mismatch(answer, kind.method, f"{place} error")
        elif isinstance(result, dict):
            message = f"a list of {kind.noun}s must be an array"
            found = result.get(kind.name, ABSENT)
            yield _typed(f"{place} result.{kind.name}", "array", found, message)
        else:
            yield _typed(f"{place} result", "object", result, "the result must be an object")


def _judge_cursor(problem: ListProblem, path: str) -> Mismatch:
    if problem.kind == "cursor":
        message = "where there is another page, it must be a string"
        return _typed(path, "string", problem.value, message)
    message = "this cursor has come before: the list goes in a circle"
    return Mismatch(path=path, expected="a new cursor", actual=problem.value, message=message)


def _judge_entries(kind: Kind, entries: list[Any], place: str) -> Iterator[Mismatch]:
    needed = ("name",) if kind.key == "name" else (kind.key, "name")
    for index, entry in enumerate(entries):
        path = f"{place} {render_path(('result', kind.name, index))}"
        if not isinstance(entry, dict):
            yield _typed(path, "object", entry, f"a {kind.noun} must be an object")
            continue
        for key in needed:
            value = entry.get(key, ABSENT)
            # The key that identifies it must not be empty.
            if not isinstance(value, str) or (key == kind.key and not value):
                message = f"a {kind.noun} needs a {key}: a string that is not empty"
                yield _typed(f"{path}.{key}", "string", value, message)


def _typed(path: str, type_: str, actual: object, message: str) -> Mismatch:
    return Mismatch(path=path, expected=f"match:type:{type_}", actual=actual, message=message)


def refusal_mismatch(answer: dict[str, Any], method: str, path: str) -> Mismatch:
    """The mismatch of a request that was answered with an error."""
    message = f"the server answered {method} with an error"
    return Mismatch(path=path, expected=ABSENT, actual=answer.get("error"), message=message)


# The list of tools, read for a test: it is part of the session, of captures and of what rules see.

MAX_TOOL_PAGES = 100

# The limit where no test asked for the list.
_MAX_LEARNED_PAGES = 20

_KIND = KINDS["tools"]

# A list may be read again, and each request of a session needs an id of its own.
_numbers = count(1)


class ToolList(Record):
    """The tools that were read; `gap` says why there may be more, "" when there are not."""

    entries: tuple[dict[str, Any], ...] = ()
    gap: str = ""


def read_tools(server: Server) -> ToolList:
    """Every tool that the server lists; not asked for if the server does not declare tools."""
    if not _declares_tools(server.capabilities):
        return ToolList(gap=f"the server does not declare {_KIND.capability}")
    entries: list[dict[str, Any]] = []
    try:
        gap = _read_pages(partial(_asked, server), entries, _PATIENCE_S, MAX_TOOL_PAGES)
    except ServerError as error:
        gap = error.fault.message
        kind = error.fault.kind if server.is_usable else "unclean_end"
        if kind in FINDINGS:
            server.findings.add(kind, gap)
    return ToolList(entries=tuple(entries), gap=gap)


def learn_tools(server: Server, deadline: float) -> None:
    """List the tools: over HTTP, their schemas decide which headers later calls have.

    The list is part of opening the session, and shares its deadline.
    """
    if _declares_tools(server.capabilities):
        # A test that needs the tools runs into the same fault and reports it.
        with contextlib.suppress(ServerError):
            ask = partial(server.ask, _KIND.method)
            _read_pages(ask, [], deadline - time.monotonic(), _MAX_LEARNED_PAGES)


def _declares_tools(capabilities: object) -> bool:
    return isinstance(capabilities, dict) and _KIND.capability in capabilities


def _read_pages(
    ask: AskTools, entries: list[dict[str, Any]], patience_s: float, max_pages: int
) -> str:
    """Add the entries of all pages; why some are missing, "" when none are."""
    deadline = time.monotonic() + patience_s
    pages = ListPages(_KIND.method, _KIND.name, limit_s=patience_s, max_pages=max_pages)
    while (params := pages.next_params(left_s := deadline - time.monotonic())) is not None:
        entries += [each for each in pages.add(ask(params, left_s)) if isinstance(each, dict)]
    return pages.problem.message if pages.problem else ""


def _asked(server: Server, params: dict[str, object], limit_s: float) -> Any:
    id = f"mcptest-tools-{next(_numbers)}"
    line = encode_line(jsonrpc.request(id, _KIND.method, params))
    step = Step(line=line, method=_KIND.method, expectation=Expectation(), id=id)
    return server.perform(step, limit_s).message
