"""Rules about progress: PROG."""

from __future__ import annotations

from mcptest.core import jsonrpc
from mcptest.core.record import Record
from mcptest.invariants.asking import meta_of
from mcptest.invariants.memory import Latest
from mcptest.invariants.rule import Looking, Rule, at_levels
from mcptest.invariants.sentences import has_kind
from mcptest.invariants.wording import seen, shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from mcptest.invariants.facts import Facts
    from mcptest.invariants.rule import Breaches
    from mcptest.invariants.said import Said

__all__ = ["PROGRESS_RULES"]

_PROGRESS = "notification:notifications/progress"
_TOKEN = "progressToken"
# Longer texts are no numbers that anybody counted up.
_MAX_DIGITS = 20


def _is_number(value: object) -> bool:
    return has_kind(value, "a number")


def _twin(token: object) -> object:
    """The same token as the other type: a text of digits for a number, and back."""
    if type(token) is int:
        return str(token)
    is_digits = isinstance(token, str) and token.isdecimal() and len(token) < _MAX_DIGITS
    return int(token) if isinstance(token, str) and is_digits else None


class _Given(Record):
    """The latest request of the client that gave a token."""

    request: jsonrpc.IdKey
    has_task: bool


class _WithTokens:
    """Sees the tokens that the client gives with its requests, and then what uses them."""

    def __init__(self, check: Callable[[Said, Facts, Latest], Breaches]) -> None:
        self._check = check
        self._given = Latest()

    def see(self, said: Said, facts: Facts) -> Breaches:
        if not said.is_client:
            return self._check(said, facts, self._given)
        token = meta_of(said.message).get(_TOKEN) if said.kind == "request" else None
        if token is not None:
            request = jsonrpc.id_key(said.message.get("id"))
            given = _Given(request=request, has_task="task" in said.params)
            self._given.note(jsonrpc.id_key(token), given)
        return None

    def end(self, _: Facts) -> Breaches:
        return None


def _known(said: Said, _: Facts, given: Latest) -> Breaches:
    token = said.params.get(_TOKEN)
    if token is None:
        return [f"params.{_TOKEN} is {seen(said.params, _TOKEN)}"]
    if jsonrpc.id_key(token) in given:
        return ()
    if given.has_forgotten:
        return None
    twin = _twin(token)
    if twin is not None and jsonrpc.id_key(twin) in given:
        return [f"params.{_TOKEN} is {shown(token)}, and the request gave {shown(twin)}"]
    return [f"params.{_TOKEN} is {shown(token)}, and no request gave it"]


def _stops(said: Said, facts: Facts, given: Latest) -> Breaches:
    token = said.params.get(_TOKEN)
    found = None if token is None else given.get(jsonrpc.id_key(token))
    # What comes on two streams has no order.
    if found is None or said.http.get("stream") == "get":
        return None
    open_token = meta_of(facts.open.get(found.request)).get(_TOKEN)
    if open_token is not None and jsonrpc.id_key(open_token) == jsonrpc.id_key(token):
        return ()
    if found.has_task and "D" in facts.letters:
        # The token of a task lives until the task ends.
        return None
    return [f"progress with the token {shown(token)} came after the response to its request"]


class _Increases:
    """Knows the last progress of each token; a token that is given again begins anew."""

    def __init__(self) -> None:
        self._last = Latest()

    def see(self, said: Said, _: Facts) -> Breaches:
        if not said.is_client:
            return self._check(said.params.get(_TOKEN), said.params.get("progress"))
        token = meta_of(said.message).get(_TOKEN) if said.kind == "request" else None
        if token is not None:
            self._last.drop(jsonrpc.id_key(token))
        return None

    def _check(self, token: object, value: Any) -> Breaches:
        if token is None or not _is_number(value):
            return None
        key = jsonrpc.id_key(token)
        before = self._last.get(key)
        self._last.note(key, value)
        if before is None:
            return None
        if value > before:
            return ()
        return [
            f"params.progress of the token {shown(token)} is {shown(value)} after {shown(before)}: "
            "it must increase"
        ]

    def end(self, _: Facts) -> Breaches:
        return None


def _numbers(said: Said, facts: Facts) -> Breaches:
    params = said.params
    breaches = []
    if not _is_number(params.get("progress")):
        breaches.append(f"params.progress must be a number and is {seen(params, 'progress')}")
    if "total" in params and not _is_number(params["total"]):
        breaches.append(f"params.total must be a number and is {shown(params['total'])}")
    has_message = "message" in params and "A" not in facts.letters
    if has_message and not isinstance(params["message"], str):
        breaches.append(f"params.message must be text and is {shown(params['message'])}")
    return breaches


class _PeerTokens:
    """Knows which request of the server gave each of its tokens last."""

    def __init__(self) -> None:
        self._given = Latest()

    def see(self, said: Said, facts: Facts) -> Breaches:
        meta = meta_of(said.message)
        if _TOKEN not in meta:
            return None
        token = meta[_TOKEN]
        if type(token) not in (str, int):
            return [f"params._meta.{_TOKEN} must be text or an integer and is {shown(token)}"]
        key, own = jsonrpc.id_key(token), jsonrpc.id_key(said.message.get("id"))
        other = self._given.get(key)
        self._given.note(key, own)
        if other is None or other == own or other not in facts.server_open:
            return ()
        return [f"params._meta.{_TOKEN} is {shown(token)}, which another open request has"]

    def end(self, _: Facts) -> Breaches:
        return None


_NO_PROGRESS = "the server sent no progress"

PROGRESS_RULES = (
    Rule(
        id="PROG-01",
        name="token-known",
        category="progress",
        property="progress has a token that a request of the client gave, of the same type",
        levels=at_levels("ABCDE"),
        topics=("client", _PROGRESS),
        start=lambda: _WithTokens(_known),
        nothing=_NO_PROGRESS,
    ),
    Rule(
        id="PROG-03",
        name="increasing",
        category="progress",
        property="the progress of a token increases with each message",
        levels=at_levels("ABCDE"),
        topics=("client", _PROGRESS),
        start=_Increases,
        nothing="the server sent progress less than twice for any token",
    ),
    Rule(
        id="PROG-04",
        name="stops",
        category="progress",
        property="no progress comes after the response to its request",
        levels=at_levels("ABCDE"),
        topics=("client", _PROGRESS),
        start=lambda: _WithTokens(_stops),
        nothing="the server sent no progress for a request of the client",
    ),
    Rule(
        id="PROG-05",
        name="numbers",
        category="progress",
        property="progress and total are numbers, and a message is text",
        levels=at_levels("ABCDE"),
        topics=(_PROGRESS,),
        start=lambda: Looking(_numbers),
        nothing=_NO_PROGRESS,
    ),
    Rule(
        id="PROG-06",
        name="peer-token-type",
        category="progress",
        property="tokens in requests of the server are text or integers, and no two open requests "
        "share one",
        levels=at_levels("ABCD"),
        topics=("request",),
        start=_PeerTokens,
        nothing="the server asked for no progress",
        elsewhere="no requests of the server's own",
    ),
)
