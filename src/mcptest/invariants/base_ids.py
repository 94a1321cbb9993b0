"""Ids: those of the server's own requests, and those of its answers."""

from __future__ import annotations

from mcptest.core import jsonrpc
from mcptest.core.strict_json import dump_json
from mcptest.invariants.base_values import error_code, is_over_http
from mcptest.invariants.rule import Looking, Rule, at_levels
from mcptest.invariants.wording import shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mcptest.invariants.facts import Facts
    from mcptest.invariants.rule import Breaches
    from mcptest.invariants.said import Said

__all__ = ["ID_RULES"]

# So many ids are remembered, and so long ones as they are.
_MAX_IDS = 10_000
_MAX_ID_CHARS = 100

# An error with one of these may have no id: what it answers could not be read.
_UNREADABLE = (-32700, -32600)


def _is_request(said: Said) -> bool:
    """Whether a frame with a method and an id is no notification that has one by mistake."""
    return not said.method.startswith("notifications/")


def _request_id_type(said: Said, _: Facts) -> Breaches:
    id = said.message["id"]
    if id is None or not _is_request(said):
        return None
    if type(id) in (str, int):
        return ()
    return [f"the id of {shown(said.method)} must be text or an integer and is {shown(id)}"]


def _request_id_not_null(said: Said, _: Facts) -> Breaches:
    if not _is_request(said):
        return None
    if said.message["id"] is not None:
        return ()
    return [f"the id of {shown(said.method)} must be text or an integer and is null"]


class _Remembered:
    """The last so many ids, told apart by JSON type and value."""

    def __init__(self) -> None:
        self._keys: dict[object, None] = {}

    def __contains__(self, key: object) -> bool:
        return key in self._keys

    def add(self, key: object) -> None:
        self._keys[key] = None
        if len(self._keys) > _MAX_IDS:
            del self._keys[next(iter(self._keys))]

    def drop(self, key: object) -> None:
        self._keys.pop(key, None)


def _key(id: object) -> object:
    """A key under which ids are equal when JSON says so; short, however long the id is."""
    # A server that reads 1.0 as a number and writes it as 1 has answered it.
    if type(id) is float and id.is_integer():
        id = int(id)
    if type(id) is int or (type(id) is str and len(id) <= _MAX_ID_CHARS):
        return id
    text = dump_json(id)
    return ("json", text) if len(text) <= _MAX_ID_CHARS else (len(text), hash(text))


class _RequestIdsUnique:
    def __init__(self) -> None:
        self._used = _Remembered()

    def see(self, said: Said, _: Facts) -> Breaches:
        id = said.message["id"]
        if id is None or not _is_request(said):
            return None
        key = _key(id)
        if key in self._used:
            return [f"the id {shown(id)} of {shown(said.method)} was that of an earlier request"]
        self._used.add(key)
        return ()

    def end(self, _: Facts) -> Breaches:
        return None


class _OneResponse:
    def __init__(self) -> None:
        # How many answers each id is owed: a client may use one twice.
        self._owed: dict[object, int] = {}
        self._answered = _Remembered()

    def see(self, said: Said, facts: Facts) -> Breaches:
        message = said.message
        if not said.is_client:
            return self._answer(said, facts)
        if isinstance(message, dict) and "id" in message and said.kind in ("request", "malformed"):
            key = _key(message["id"])
            self._owed[key] = self._owed.get(key, 0) + 1
            self._answered.drop(key)
        return None

    def _answer(self, said: Said, facts: Facts) -> Breaches:
        id = said.message.get("id")
        key = _key(id)
        owed = self._owed.pop(key, 0)
        if owed > 1:
            self._owed[key] = owed - 1
        if owed:
            self._answered.add(key)
            return ()
        if id is None and said.kind == "error":
            # What it answers could not be read, or should have been named: another rule's.
            return None
        is_second = key in self._answered or jsonrpc.id_key(id) in facts.skipped
        return [_stray(said, facts, is_second=is_second)]

    def end(self, _: Facts) -> Breaches:
        return None


def _stray(said: Said, facts: Facts, *, is_second: bool) -> str:
    id = said.message.get("id")
    if is_second:
        return f"the request with the id {facts.name_id(id)} was answered more than once"
    if id is None:
        return "a result must have the id of its request and has none"
    return f"a response has the id {shown(id)}, and no request had it"


def _error_id(said: Said, facts: Facts) -> Breaches:
    message = said.message
    if message.get("id") is not None:
        # One that is not known is no answer at all, which is another rule's.
        return () if said.request else None
    if is_over_http(said, facts):
        # A body that goes with an error status may be an error without an id.
        return None
    if "id" not in message and not facts.letters <= _MAY_BE_ABSENT:
        return ["an error must have an id, null if that of the request could not be read"]
    if error_code(said) in _UNREADABLE:
        return ()
    ids = [request.get("id") for request in facts.open.values()]
    if not ids or any(type(id) not in (str, int) for id in ids):
        return None
    named = ",".join(map(facts.name_id, ids[:5]))
    wanted = named if len(ids) == 1 else f"one of [{named}]"
    absent = "null" if "id" in message else "missing"
    return [f"the id of an error must be that of its request ({wanted}) and is {absent}"]


_MAY_BE_ABSENT = frozenset("DE")
_NO_REQUEST = "the server sent no request"
_NO_ERROR = "no request was answered with an error"
_ALL = at_levels("ABCDE")

ID_RULES = (
    Rule(
        id="BASE-03",
        name="request-id-type",
        category="base",
        property="the id of every request of the server is text or an integer",
        levels=_ALL,
        topics=("request",),
        start=lambda: Looking(_request_id_type),
        nothing=_NO_REQUEST,
    ),
    Rule(
        id="BASE-04",
        name="request-id-not-null",
        category="base",
        property="the id of no request of the server is null",
        levels=_ALL,
        topics=("request",),
        start=lambda: Looking(_request_id_not_null),
        nothing=_NO_REQUEST,
    ),
    Rule(
        id="BASE-05",
        name="request-id-unique-session",
        category="base",
        property="the server uses no id for two requests of a session",
        levels=at_levels("ABCD"),
        topics=("request",),
        start=_RequestIdsUnique,
        nothing=_NO_REQUEST,
        elsewhere="no requests from servers",
    ),
    Rule(
        id="BASE-08",
        name="one-response",
        category="base",
        property="no request is answered twice, and nothing is answered that was not asked",
        levels=_ALL,
        topics=("client", "result", "error"),
        start=_OneResponse,
        nothing="the server answered nothing",
    ),
    Rule(
        id="BASE-12",
        name="error-id",
        category="base",
        property="every error has the id of its request, null if it could not be read",
        levels=at_levels("ABC"),
        topics=("error",),
        start=lambda: Looking(_error_id),
        nothing=_NO_ERROR,
        elsewhere="another rule for it (BASE-13)",
    ),
    Rule(
        id="BASE-13",
        name="error-id-optional",
        category="base",
        property="every error has the id of its request, none if it could not be read",
        levels=at_levels("DE"),
        topics=("error",),
        start=lambda: Looking(_error_id),
        nothing=_NO_ERROR,
        elsewhere="another rule for it (BASE-12)",
    ),
)
