"""Rules about subscriptions: SUB. From 2026-07-28 on a client asks to listen to changes."""

from __future__ import annotations

from mcptest.core import jsonrpc
from mcptest.invariants.asking import meta_of
from mcptest.invariants.http_messages import on_stream
from mcptest.invariants.memory import Latest
from mcptest.invariants.rule import Rule, at_levels
from mcptest.invariants.wording import seen, shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from mcptest.invariants.facts import Facts
    from mcptest.invariants.rule import Breaches
    from mcptest.invariants.said import Said

__all__ = ["LISTENING", "LISTENING_RULES", "META_SUBSCRIPTION", "Listens", "while_listening"]

META_SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId"

# The topic under which a client asks to listen.
LISTENING = "client:subscriptions/listen"

_CHANGES = (
    "notification:notifications/prompts/list_changed",
    "notification:notifications/resources/list_changed",
    "notification:notifications/resources/updated",
    "notification:notifications/tasks",
    "notification:notifications/tools/list_changed",
)
_ACKNOWLEDGED = "notification:notifications/subscriptions/acknowledged"
_REQUEST_SCOPED = ("notifications/progress", "notifications/message")


class Listens:
    """The ids of the requests to listen."""

    def __init__(self) -> None:
        self._ids = Latest()

    def __len__(self) -> int:
        return len(self._ids)

    def note(self, said: Said) -> None:
        """The client has asked to listen."""
        if said.kind == "request":
            self._ids.note(jsonrpc.id_key(said.message.get("id")))

    def has(self, id: object) -> bool | None:
        """Whether the id is that of a request to listen; None when that is forgotten."""
        if jsonrpc.id_key(id) in self._ids:
            return True
        return None if self._ids.has_forgotten else False

    def stream_of(self, said: Said) -> Any:
        """The id of the request to listen in whose answer this came over HTTP, None when it came
        otherwise."""
        id = said.http.get("request_id") if on_stream(said, "post") else None
        return id if id is not None and self.has(id) else None


class _WhileListening:
    def __init__(self, check: Callable[[Said, Listens], Breaches]) -> None:
        self._check = check
        self._listens = Listens()

    def see(self, said: Said, _: Facts) -> Breaches:
        if said.is_client:
            self._listens.note(said)
            return None
        return self._check(said, self._listens)

    def end(self, _: Facts) -> Breaches:
        return None


def while_listening(
    check: Callable[[Said, Listens], Breaches],
) -> Callable[[], _WhileListening]:
    """The start of a rule that must know who listens; it subscribes to `LISTENING` as well."""
    return lambda: _WhileListening(check)


def _subscription_id(said: Said, listens: Listens) -> Breaches:
    if said.kind == "result":
        meta = said.result.get("_meta")
        return _compared("result", meta if isinstance(meta, dict) else {}, said.message.get("id"))
    if not listens:
        return None
    meta = meta_of(said.message)
    stream = listens.stream_of(said)
    if stream is not None:
        return _compared("params", meta, stream)
    is_listen = META_SUBSCRIPTION in meta and listens.has(meta[META_SUBSCRIPTION])
    if is_listen is None:
        return None
    if is_listen:
        return ()
    return [
        f"{_place('params')} of {said.method} must be the id of a request to listen and is "
        f"{seen(meta, META_SUBSCRIPTION)}"
    ]


def _compared(front: str, meta: dict[str, Any], id: object) -> Breaches:
    if META_SUBSCRIPTION in meta and jsonrpc.id_key(meta[META_SUBSCRIPTION]) == jsonrpc.id_key(id):
        return ()
    found = seen(meta, META_SUBSCRIPTION)
    return [f"{_place(front)} must be {shown(id)}, the id of the request to listen, and is {found}"]


def _place(front: str) -> str:
    return f'{front}._meta["{META_SUBSCRIPTION}"]'


def _no_request_scoped(said: Said, listens: Listens) -> Breaches:
    if not listens:
        return None
    is_marked = META_SUBSCRIPTION in meta_of(said.message)
    if said.method not in _REQUEST_SCOPED:
        return () if is_marked else None
    if is_marked or listens.stream_of(said) is not None:
        return [f"{said.method} came on the stream of a subscription"]
    return None


def _no_unsolicited(said: Said, listens: Listens) -> Breaches:
    return () if listens else [f"{said.method} came, and the client never asked to listen"]


_NO_STREAM = "nothing came on a stream of subscriptions"
_ELSEWHERE = "no streams of subscriptions"

LISTENING_RULES = (
    Rule(
        id="SUB-03",
        name="subscription-id",
        category="subscriptions",
        property="every message of a subscription carries the id of the request to listen",
        levels=at_levels("E"),
        topics=(LISTENING, *_CHANGES, _ACKNOWLEDGED, "result:subscriptions/listen"),
        start=while_listening(_subscription_id),
        nothing=_NO_STREAM,
        elsewhere=_ELSEWHERE,
    ),
    Rule(
        id="SUB-05",
        name="no-request-scoped",
        category="subscriptions",
        property="no progress and no log message comes on the stream of a subscription",
        levels=at_levels("E"),
        topics=(
            LISTENING,
            *_CHANGES,
            _ACKNOWLEDGED,
            *(f"notification:{method}" for method in _REQUEST_SCOPED),
        ),
        start=while_listening(_no_request_scoped),
        nothing=_NO_STREAM,
        elsewhere=_ELSEWHERE,
    ),
    Rule(
        id="SUB-07",
        name="no-unsolicited",
        category="subscriptions",
        property="the server tells of changes only when the client has asked to listen",
        levels=at_levels("E"),
        topics=(LISTENING, *_CHANGES),
        start=while_listening(_no_unsolicited),
        nothing="the server told of no change",
        elsewhere=_ELSEWHERE,
    ),
)
