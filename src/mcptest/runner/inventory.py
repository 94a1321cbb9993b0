"""Ask a server what it offers, once its tests are done, so that coverage can be told.

Nobody asked the server to answer this, so whatever goes wrong here is nobody's failure: the
coverage of that server stays unknown.
"""

from __future__ import annotations

import time

from mcptest.core.coverage import offers_in
from mcptest.core.errors import ServerError
from mcptest.core.kinds import FINDINGS
from mcptest.core.lists import ListPages
from mcptest.core.offer_kinds import KINDS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcptest.core.coverage import CoveredOffer
    from mcptest.core.offer_kinds import Kind
    from mcptest.runner.server import Server

__all__ = ["EndlessError", "list_pages", "take_inventory"]

# How long all lists together may take, and how much of them is looked at.
_PATIENCE_S = 5.0
_MAX_PAGES = 100
_MAX_OFFERS = 20_000


def take_inventory(server: Server) -> tuple[CoveredOffer, ...] | None:
    """Everything the server offers; None when it could not be found out to the end."""
    offers: dict[tuple[str, str], CoveredOffer] = {}
    declared = server.capabilities
    deadline = time.monotonic() + _PATIENCE_S
    try:
        for kind in KINDS.values():
            if isinstance(declared, dict) and kind.capability in declared:
                for entries in list_pages(server, kind, deadline):
                    # What is listed twice is offered once.
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
    """What the server did wrong meanwhile is told; that it did not answer us is not."""
    if error.fault.kind in FINDINGS:
        server.findings.add(error.fault.kind, error.fault.message)


def list_pages(server: Server, kind: Kind, deadline: float) -> Iterator[list[object]]:
    """The entries of each page of a list; a server that does not know the list has none."""
    pages = ListPages(kind.method, kind.name, max_pages=_MAX_PAGES)
    while (params := pages.next_params(left_s := deadline - time.monotonic())) is not None:
        yield pages.add(server.ask(kind.method, params, left_s))
    if pages.problem and pages.problem.kind in ("circle", "endless", "timeout"):
        raise EndlessError
