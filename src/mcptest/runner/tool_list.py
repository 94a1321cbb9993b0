"""Read the list of a server's tools, as any client does, as far as it can be read.

Read for a test it is part of the session: captures have it, rules are asked about it, and what
several servers offer can be compared. Where it ends too soon, the reason is kept: who relies on
the list must be able to say what was not looked at.
"""

from __future__ import annotations

import contextlib
import time
from functools import partial
from itertools import count

from mcptest.core import jsonrpc
from mcptest.core.errors import ServerError
from mcptest.core.framing import encode_line
from mcptest.core.kinds import FINDINGS
from mcptest.core.lists import ListPages
from mcptest.core.offer_kinds import KINDS
from mcptest.core.plan import Expectation, Step
from mcptest.core.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from mcptest.runner.server import Server

    # The answer to a request for a page with these params, within so many seconds.
    AskTools = Callable[[dict[str, object], float], Any]

__all__ = ["MAX_PAGES", "ToolList", "learn_tools", "read_tools"]

# All pages together may take this long, and there may be so many.
_PATIENCE_S = 5.0
MAX_PAGES = 100

# So many pages are asked for where nobody has asked for the list.
_MAX_LEARNED_PAGES = 20

_KIND = KINDS["tools"]

# A list may be read again: each request of a session has an id of its own.
_numbers = count(1)


class ToolList(Record):
    """The tools that were read; `gap` says why there may be more, "" when there are not."""

    entries: tuple[dict[str, Any], ...] = ()
    gap: str = ""


def read_tools(server: Server) -> ToolList:
    """Every tool that the server lists; it is not asked when it does not say that it has any."""
    if not _declares_tools(server.capabilities):
        return ToolList(gap=f"the server does not declare {_KIND.capability}")
    entries: list[dict[str, Any]] = []
    try:
        gap = _read_pages(partial(_asked, server), entries, _PATIENCE_S, MAX_PAGES)
    except ServerError as error:
        gap = error.fault.message
        kind = error.fault.kind if server.is_usable else "unclean_end"
        if kind in FINDINGS:
            server.findings.add(kind, gap)
    return ToolList(entries=tuple(entries), gap=gap)


def learn_tools(server: Server, deadline: float) -> None:
    """Have the tools listed: over HTTP, what their schemas say goes into headers of later calls.

    All pages together belong to the opening, and have no more time than it has.
    """
    if _declares_tools(server.capabilities):
        # Whoever needs the tools will meet the same trouble, and tell it.
        with contextlib.suppress(ServerError):
            ask = partial(server.ask, _KIND.method)
            _read_pages(ask, [], deadline - time.monotonic(), _MAX_LEARNED_PAGES)


def _declares_tools(capabilities: object) -> bool:
    return isinstance(capabilities, dict) and _KIND.capability in capabilities


def _read_pages(
    ask: AskTools, entries: list[dict[str, Any]], patience_s: float, max_pages: int
) -> str:
    """Fill in what the pages hold; why that is not all of it, "" when it is."""
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
