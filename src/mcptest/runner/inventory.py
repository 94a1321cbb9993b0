"""Ask a server what it offers, once its tests are done, so that coverage can be told.

Nobody asked the server to answer this, so whatever goes wrong here is nobody's failure: the
coverage of that server stays unknown.
"""

from __future__ import annotations

from mcptest.core.coverage import LISTS, offers_in
from mcptest.core.errors import ServerError
from mcptest.core.kinds import FINDINGS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mcptest.core.coverage import CoveredOffer
    from mcptest.runner.server import Server

__all__ = ["list_pages", "take_inventory"]

# How long one list may take, and how many pages of it are asked for.
_PATIENCE_S = 2.0
_MAX_PAGES = 100


def take_inventory(server: Server) -> tuple[CoveredOffer, ...] | None:
    """Everything the server offers; None when it could not be found out."""
    offers: list[CoveredOffer] = []
    declared = server.capabilities
    try:
        for kind, capability, method, member in LISTS:
            if isinstance(declared, dict) and capability in declared:
                for entries in list_pages(server, method, member, _PATIENCE_S):
                    offers += offers_in(kind, entries)
    except ServerError as error:
        _remember(server, error)
        return None
    return tuple(offers)


def _remember(server: Server, error: ServerError) -> None:
    """What the server did wrong meanwhile is told; that it did not answer us is not."""
    if error.fault.kind in FINDINGS:
        server.findings.add(error.fault.kind, error.fault.message)


def list_pages(server: Server, method: str, member: str, timeout_s: float) -> list[object]:
    """What each page of a list holds. A server that does not know the list has none."""
    pages: list[object] = []
    params: dict[str, object] = {}
    seen = set()
    while len(pages) < _MAX_PAGES:
        answer = server.ask(method, params, timeout_s)
        result = answer.get("result")
        if not isinstance(result, dict):
            break
        pages.append(result.get(member))
        cursor = result.get("nextCursor")
        if not isinstance(cursor, str) or cursor in seen:
            break
        seen.add(cursor)
        params = {"cursor": cursor}
    return pages
