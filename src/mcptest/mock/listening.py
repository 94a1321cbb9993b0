"""`subscriptions/listen`: who wants to hear of changes, and what each of them is told."""

from __future__ import annotations

from mcptest.core.jsonrpc import INTERNAL_ERROR, METHOD_NOT_FOUND, notification
from mcptest.core.suggest import closest
from mcptest.mock.eras import SUBSCRIPTION_ID, Fault, params_of
from mcptest.mock.refusal import INVALID_PARAMS
from mcptest.mock.state import Listen, Sent

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from mcptest.core.jsonrpc import IdKey
    from mcptest.mock.state import Message, State

__all__ = ["ACKNOWLEDGED", "CHANGES", "LISTEN", "begin_listening", "told_of", "unknown_wish"]

LISTEN = "subscriptions/listen"
ACKNOWLEDGED = "notifications/subscriptions/acknowledged"

_UPDATED = "notifications/resources/updated"
_URIS = "resourceSubscriptions"

# What a subscription may ask for, and the capability that offers it.
_LISTS = {
    "toolsListChanged": "tools",
    "promptsListChanged": "prompts",
    "resourcesListChanged": "resources",
}

# What is told to nobody but a subscription.
CHANGES = {
    **{f"notifications/{family}/list_changed": wish for wish, family in _LISTS.items()},
    _UPDATED: _URIS,
}

_MAX_LISTENS = 100


def begin_listening(
    state: State, message: Message, key: IdKey, capabilities: Mapping[str, object]
) -> tuple[State, Sent] | Fault:
    """The session with one more subscription, and its acknowledgement; or why there is none."""
    if not any(_offers(capabilities, family, word) for family, word in _OFFERS):
        sentence = f"{LISTEN} is not offered: nothing here declares listChanged or subscribe"
        return Fault(code=METHOD_NOT_FOUND, sentence=sentence)
    wishes = params_of(message).get("notifications")
    if not isinstance(wishes, dict) or not isinstance(wishes.get(_URIS, []), list):
        sentence = f"params.notifications must be an object, for example {{{_EXAMPLE}}}"
        return Fault(code=INVALID_PARAMS, sentence=sentence)
    if len(state.listens) >= _MAX_LISTENS:
        return Fault(code=INTERNAL_ERROR, sentence=f"there are {_MAX_LISTENS} subscriptions")
    wanted = dict(_honoured(wishes, capabilities))
    listen = Listen(key=key, id=message["id"], wanted=wanted)
    meta = {SUBSCRIPTION_ID: listen.id}
    said = notification(ACKNOWLEDGED, {"notifications": wanted, "_meta": meta})
    state = state.stop_listening(key)
    return state.but(listens=(*state.listens, listen)), Sent(message=said, listen=key)


_OFFERS = (*((family, "listChanged") for family in _LISTS.values()), ("resources", "subscribe"))
_EXAMPLE = '"toolsListChanged": true'


def unknown_wish(message: Message) -> str:
    """A sentence about something that no subscription can ask for, "" when there is none."""
    wishes = params_of(message).get("notifications")
    known = (*_LISTS, _URIS)
    for wish in wishes if isinstance(wishes, dict) else ():
        if wish not in known:
            meant = closest(wish, known)
            return f"no subscription has {wish}" + (f"; did you mean {meant}?" if meant else "")
    return ""


def _offers(capabilities: Mapping[str, object], family: str, word: str) -> bool:
    offered = capabilities.get(family)
    return isinstance(offered, dict) and offered.get(word) is True


def _honoured(
    wishes: Mapping[str, object], capabilities: Mapping[str, object]
) -> Iterator[tuple[str, object]]:
    for wish, family in _LISTS.items():
        if wishes.get(wish) is True and _offers(capabilities, family, "listChanged"):
            yield wish, True
    uris = wishes.get(_URIS)
    if isinstance(uris, list) and uris and _offers(capabilities, "resources", "subscribe"):
        yield _URIS, [uri for uri in uris if isinstance(uri, str)]


def told_of(state: State, change: Message) -> Iterator[Sent]:
    """A change for every subscription that wants to hear of it, each with its own id."""
    params = params_of(change)
    meta = params.get("_meta")
    for listen in state.listens:
        if _wants(listen, change):
            own = {SUBSCRIPTION_ID: listen.id}
            marked = {**params, "_meta": {**(meta if isinstance(meta, dict) else {}), **own}}
            yield Sent(message=change | {"params": marked}, listen=listen.key)


def _wants(listen: Listen, change: Message) -> bool:
    wanted = listen.wanted.get(CHANGES[change["method"]])
    if not isinstance(wanted, list):
        return bool(wanted)
    uri = params_of(change).get("uri")
    # Who asks for a folder hears of what is in it.
    return isinstance(uri, str) and any(
        uri == each or uri.startswith(each.rstrip("/") + "/") for each in wanted
    )
