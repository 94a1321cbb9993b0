"""What a server offers: tools, resources, resource templates and prompts, page by page.

Asking is a function that is given; answers are looked at with care, because they come from a
server that may be broken. What is wrong with them is told as a sentence, never raised.
"""

from __future__ import annotations

from mcptest.core.jsonrpc import METHOD_NOT_FOUND
from mcptest.core.offer_kinds import KINDS, Kind
from mcptest.core.record import Record
from mcptest.core.strict_json import dump_json
from mcptest.core.text import shorten, visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Message = dict[str, Any]
    Ask = Callable[[str, dict[str, object]], Message]

__all__ = ["KINDS", "Kind", "Listing", "error_sentence", "is_declared", "list_offers", "name_of"]

# A server that never stops giving cursors is not followed for ever.
MAX_PAGES = 200
MAX_OFFERS = 10_000


class Listing(Record):
    """All offers of one kind. `problem` says why there may be more, or none, of them.

    `first` is how many of them came with the first page; `answers` are the pages as sent.
    """

    kind: Kind
    offers: tuple[Message, ...] = ()
    first: int = 0
    answers: tuple[Message, ...] = ()
    problem: str = ""

    def named(self, name: str) -> Message | None:
        """The offer of this name, or None."""
        return next((offer for offer in self.offers if name_of(offer, self.kind) == name), None)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(name_of(offer, self.kind) for offer in self.offers)


def name_of(offer: Message, kind: Kind) -> str:
    """What an offer is known by: its name, or its address."""
    name = offer.get(kind.key)
    return name if isinstance(name, str) else ""


def is_declared(kind: Kind, capabilities: object) -> bool:
    """Did the server say in the handshake that it has this kind?"""
    return isinstance(capabilities, dict) and kind.capability in capabilities


def list_offers(ask: Ask, kind: Kind) -> Listing:
    """Ask for every page of one kind."""
    answers: list[Message] = []
    offers: list[Message] = []
    first = odd = 0
    params: dict[str, object] = {}
    seen: set[str] = set()
    problem = ""
    while not problem:
        answer = ask(kind.method, params)
        answers.append(answer)
        page, problem = _page(answer, kind)
        named = [offer for offer in page if isinstance(offer, dict) and name_of(offer, kind)]
        odd += len(page) - len(named)
        offers += named
        first = first if len(answers) > 1 else len(named)
        cursor = None if problem or "error" in answer else answer["result"].get("nextCursor")
        if cursor is None:
            break
        problem = _reason_to_stop(cursor, seen, len(answers), len(offers))
        seen.add(str(cursor))
        params = {"cursor": cursor}
    if odd and not problem:
        problem = f"{odd} of the {kind.name} have no {kind.key}; they are left out"
    kept = tuple(offers[:MAX_OFFERS])
    return Listing(kind=kind, offers=kept, first=first, answers=tuple(answers), problem=problem)


def _reason_to_stop(cursor: object, seen: set[str], pages: int, offers: int) -> str:
    """Why the next page is not asked for; "" when it is."""
    if not isinstance(cursor, str):
        return f"nextCursor must be text and is {_quoted(cursor)}"
    if cursor in seen:
        return f"the server gave the cursor {_quoted(cursor)} twice; no more was asked for"
    if pages == MAX_PAGES or offers >= MAX_OFFERS:
        return f"there are more than these {min(offers, MAX_OFFERS):,}; no more was asked for"
    return ""


def _page(answer: Message, kind: Kind) -> tuple[list[object], str]:
    """What one answer lists, and what is wrong with it."""
    if "error" in answer:
        # Templates came to MCP with resources, but many servers have only the one.
        is_lacking = answer["error"].get("code") == METHOD_NOT_FOUND
        if is_lacking and kind.name == "resourceTemplates":
            return [], ""
        return [], f"the server refused {kind.method}: {error_sentence(answer['error'])}"
    result = answer.get("result")
    found = result.get(kind.name) if isinstance(result, dict) else None
    if not isinstance(found, list):
        return [], f'the result of {kind.method} has no array "{kind.name}": {_quoted(result)}'
    return found, ""


def error_sentence(error: object) -> str:
    """A JSON-RPC error as it reads in a sentence."""
    if not isinstance(error, dict):
        return _quoted(error)
    said = f"code {error.get('code')}, {_quoted(error.get('message'))}"
    return f"{said}, data {_quoted(error['data'])}" if "data" in error else said


def _quoted(value: object) -> str:
    return visible(shorten(dump_json(value), 300))
