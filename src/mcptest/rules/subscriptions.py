"""Rules about subscriptions: SUB. Since 2026-07-28 a client asks to listen to changes."""

from __future__ import annotations

from mcptest.protocol import jsonrpc
from mcptest.rules.http import on_stream
from mcptest.rules.rule import Latest, Rule, Watch, members, meta_of, show, show_member

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from mcptest.rules.facts import Facts
    from mcptest.rules.rule import Entry, Findings

    Members = dict[str, Any]

__all__ = ["LISTENING", "META_SUBSCRIPTION", "RULES", "Listens", "while_listening"]

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

    def add(self, entry: Entry) -> None:
        """The client has asked to listen."""
        if entry.kind == "request":
            self._ids.add(jsonrpc.id_key(entry.message.get("id")))

    def has(self, id: object) -> bool | None:
        """True if this is the id of a request to listen, None if it may have been forgotten."""
        if jsonrpc.id_key(id) in self._ids:
            return True
        return None if self._ids.has_forgotten else False

    def stream_of(self, entry: Entry) -> Any:
        """The id of the request to listen in whose answer this came over HTTP, None when it came
        otherwise."""
        id = entry.http.get("request_id") if on_stream(entry, "post") else None
        return id if id is not None and self.has(id) else None


class _WhileListening(Watch):
    def __init__(self, check: Callable[[Entry, Listens], Findings]) -> None:
        self._check = check
        self._listens = Listens()

    def see(self, entry: Entry, _: Facts) -> Findings:
        if entry.is_client:
            self._listens.add(entry)
            return None
        return self._check(entry, self._listens)


def while_listening(
    check: Callable[[Entry, Listens], Findings],
) -> Callable[[], _WhileListening]:
    """The start of a rule that must know who listens; it subscribes to `LISTENING` as well."""
    return lambda: _WhileListening(check)


def _subscription_id(entry: Entry, listens: Listens) -> Findings:
    if entry.kind == "result":
        meta = members(entry.result.get("_meta"))
        return _compare("result", meta, entry.message.get("id"))
    if not listens:
        return None
    meta = meta_of(entry.message)
    stream = listens.stream_of(entry)
    if stream is not None:
        return _compare("params", meta, stream)
    is_listen = META_SUBSCRIPTION in meta and listens.has(meta[META_SUBSCRIPTION])
    if is_listen is None:
        return None
    if is_listen:
        return ()
    return [
        f"{_place('params')} of {entry.method} must be the id of a request to listen and is "
        f"{show_member(meta, META_SUBSCRIPTION)}"
    ]


def _compare(front: str, meta: dict[str, Any], id: object) -> Findings:
    if META_SUBSCRIPTION in meta and jsonrpc.id_key(meta[META_SUBSCRIPTION]) == jsonrpc.id_key(id):
        return ()
    found = show_member(meta, META_SUBSCRIPTION)
    return [f"{_place(front)} must be {show(id)}, the id of the request to listen, and is {found}"]


def _place(front: str) -> str:
    return f'{front}._meta["{META_SUBSCRIPTION}"]'


def _no_request_scoped(entry: Entry, listens: Listens) -> Findings:
    if not listens:
        return None
    is_marked = META_SUBSCRIPTION in meta_of(entry.message)
    if entry.method not in _REQUEST_SCOPED:
        return () if is_marked else None
    if is_marked or listens.stream_of(entry) is not None:
        return [f"{entry.method} came on the stream of a subscription"]
    return None


def _no_unsolicited(entry: Entry, listens: Listens) -> Findings:
    return () if listens else [f"{entry.method} came, and the client never asked to listen"]


_NO_STREAM = "nothing came on a stream of subscriptions"
_ELSEWHERE = "no streams of subscriptions"

RULES = (
    Rule(
        id="SUB-03",
        name="subscription-id",
        category="subscriptions",
        property="every message of a subscription carries the id of the request to listen",
        since="2026-07-28",
        topics=(LISTENING, *_CHANGES, _ACKNOWLEDGED, "result:subscriptions/listen"),
        watch=while_listening(_subscription_id),
        nothing=_NO_STREAM,
        elsewhere=_ELSEWHERE,
    ),
    Rule(
        id="SUB-05",
        name="no-request-scoped",
        category="subscriptions",
        property="no progress and no log message comes on the stream of a subscription",
        since="2026-07-28",
        topics=(
            LISTENING,
            *_CHANGES,
            _ACKNOWLEDGED,
            *(f"notification:{method}" for method in _REQUEST_SCOPED),
        ),
        watch=while_listening(_no_request_scoped),
        nothing=_NO_STREAM,
        elsewhere=_ELSEWHERE,
    ),
    Rule(
        id="SUB-07",
        name="no-unsolicited",
        category="subscriptions",
        property="the server tells of changes only when the client has asked to listen",
        since="2026-07-28",
        topics=(LISTENING, *_CHANGES),
        watch=while_listening(_no_unsolicited),
        nothing="the server reported no change",
        elsewhere=_ELSEWHERE,
    ),
)
