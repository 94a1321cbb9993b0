"""Ask a server what it offers, once its tests are done, so that coverage can be told.

Nobody asked the server to answer this, so whatever goes wrong here is nobody's failure: the
coverage of that server stays unknown.
"""

from __future__ import annotations

from mcptest.core.coverage import offers_in
from mcptest.core.errors import ServerError
from mcptest.core.kinds import FINDINGS
from mcptest.core.offer_kinds import KINDS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mcptest.core.coverage import CoveredOffer
    from mcptest.core.offer_kinds import Kind
    from mcptest.runner.server import Server

__all__ = ["take_inventory"]

# How long one list may take, and how many pages of it are asked for.
_PATIENCE_S = 2.0
_MAX_PAGES = 100


def take_inventory(server: Server) -> tuple[CoveredOffer, ...] | None:
    """Everything the server offers; None when it could not be found out."""
    offers: list[CoveredOffer] = []
    declared = server.capabilities
    try:
        for kind in KINDS.values():
            if isinstance(declared, dict) and kind.capability in declared:
                for entries in _pages(server, kind, _PATIENCE_S):
                    offers += offers_in(kind.unit, entries)
    except ServerError as error:
        _remember(server, error)
        return None
    return tuple(offers)


def _remember(server: Server, error: ServerError) -> None:
    """What the server did wrong meanwhile is told; that it did not answer us is not."""
    if error.fault.kind in FINDINGS:
        server.findings.add(error.fault.kind, error.fault.message)


def _pages(server: Server, kind: Kind, timeout_s: float) -> list[object]:
    """What each page of a list holds. A server that does not know the list has none."""
    pages: list[object] = []
    params: dict[str, object] = {}
    seen = set()
    while len(pages) < _MAX_PAGES:
        answer = server.ask(kind.method, params, timeout_s)
        result = answer.get("result")
        if not isinstance(result, dict):
            break
        pages.append(result.get(kind.name))
        cursor = result.get("nextCursor")
        if not isinstance(cursor, str) or cursor in seen:
            break
        seen.add(cursor)
        params = {"cursor": cursor}
    return pages
