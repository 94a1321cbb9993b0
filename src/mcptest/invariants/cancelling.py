"""Rules about what a server cancels: CANC."""

from __future__ import annotations

from mcptest.core import jsonrpc
from mcptest.invariants.listening import LISTENING, while_listening
from mcptest.invariants.memory import Latest
from mcptest.invariants.rule import Rule, at_levels
from mcptest.invariants.wording import seen

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mcptest.invariants.facts import Facts
    from mcptest.invariants.listening import Listens
    from mcptest.invariants.rule import Breaches
    from mcptest.invariants.said import Said

__all__ = ["CANCELLING_RULES"]

_CANCELLED = "notification:notifications/cancelled"


class _OwnOnly:
    """Knows what the server has asked. An answer may cross its cancelling, so answered requests
    count as well."""

    def __init__(self) -> None:
        self._asked = Latest()

    def see(self, said: Said, _: Facts) -> Breaches:
        if said.kind == "request":
            self._asked.note(jsonrpc.id_key(said.message.get("id")))
            return None
        id = said.params.get("requestId")
        if id is not None and jsonrpc.id_key(id) in self._asked:
            return ()
        if self._asked.has_forgotten:
            return None
        found = seen(said.params, "requestId")
        return [f"params.requestId must be the id of a request of the server and is {found}"]

    def end(self, _: Facts) -> Breaches:
        return None


def _listens_only(said: Said, listens: Listens) -> Breaches:
    id = said.params.get("requestId")
    is_listen = id is not None and listens.has(id)
    if is_listen is None:
        return None
    if is_listen:
        return ()
    found = seen(said.params, "requestId")
    return [f"params.requestId must be the id of a request to listen and is {found}"]


_NOTHING = "the server cancelled nothing"

CANCELLING_RULES = (
    Rule(
        id="CANC-04",
        name="server-cancels-own-only",
        category="cancellation",
        property="the server cancels only requests of its own",
        levels=at_levels("ABCD"),
        topics=("request", _CANCELLED),
        start=_OwnOnly,
        nothing=_NOTHING,
        elsewhere="no requests of the server's own",
    ),
    Rule(
        id="CANC-05",
        name="server-cancels-listen-only",
        category="cancellation",
        property="the server cancels only requests to listen",
        levels=at_levels("E"),
        topics=(LISTENING, _CANCELLED),
        start=while_listening(_listens_only),
        nothing=_NOTHING,
        elsewhere="no requests to listen",
    ),
)
