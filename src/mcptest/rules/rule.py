"""What a rule is, what it judges, and the helpers that rules of several families share."""

from __future__ import annotations

from collections import OrderedDict
from itertools import chain, islice

from mcptest.core.record import Record
from mcptest.core.strict_json import dump_json
from mcptest.core.text import shorten
from mcptest.protocol import jsonrpc

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Sequence
    from typing import Any, Literal

    from mcptest.rules.facts import Facts

    Level = Literal["MUST", "SHOULD"]
    Kind = Literal["request", "notification", "result", "error", "malformed", "noise", "batch"]
    Members = dict[str, Any]

    # Sentences about what is wrong; None when there was nothing to judge.
    Findings = Sequence[str] | None
    Look = Callable[["Entry", Facts], Findings]

__all__ = [
    "Entry",
    "Latest",
    "Rule",
    "Watch",
    "collect",
    "has_kind",
    "kind_of",
    "limit",
    "members",
    "meta_of",
    "must_be",
    "show",
    "show_member",
]

# No message gets more sentences: a hostile one could have a million mistakes.
MAX_SENTENCES = 20
_MAX_KEPT = 10_000


class Rule(Record):
    """One rule.

    `topics` are the entries of a session it subscribes to: "client" and "server" for everything
    one side sends, "client:METHOD", "noise"; "request", "notification", "result", "error" and
    "malformed" for what the server sends of that kind, "result:tools/list" for one method.

    A rule that judges each entry on its own has a function `look`. One that remembers something
    has `watch`, which makes a `Watch` for each session.

    The rule holds from the revision `since` to the revision `until`. With `must_since` it is only
    a SHOULD before that revision. `nothing` is reported when there was nothing to judge,
    `elsewhere` for a revision that does not have the rule.
    """

    id: str
    name: str
    category: str
    property: str
    topics: tuple[str, ...]
    look: Look | None = None
    watch: Callable[[], Watch] | None = None
    since: str = ""
    until: str = ""
    level: Level = "MUST"
    must_since: str = ""
    nothing: str = "nothing in this session is subject to it"
    elsewhere: str = ""

    def applies(self, oldest: str, newest: str) -> bool:
        """True if all revisions from the oldest to the newest one have the rule."""
        return self.since <= oldest and not (self.until and newest > self.until)

    def level_at(self, version: str) -> Level:
        return "SHOULD" if version < self.must_since else self.level


class Watch:
    """Judges one session by one rule: gets each entry it subscribes to, and then the end."""

    def see(self, entry: Entry, facts: Facts) -> Findings:
        raise NotImplementedError

    def end(self, facts: Facts) -> Findings:
        return None


class Entry:
    """A message, or a line of noise, in the order of the session.

    `message` is the value as it was received (a string for noise). `method` is its own, or, for
    an answer, that of the request it answers. `request` is that request, None when none is open
    under its id. `exchange` is the index of the exchange it belongs to, -1 before the first.
    `http` says how it was received over HTTP, as captures have it, and is empty elsewhere.
    """

    __slots__ = ("exchange", "http", "is_client", "kind", "message", "method", "request", "shape")

    def __init__(
        self,
        message: Any,
        *,
        is_client: bool,
        kind: Kind,
        method: str = "",
        request: Members | None = None,
        exchange: int = -1,
        http: Members | None = None,
    ) -> None:
        self.message = message
        self.is_client = is_client
        self.kind = kind
        self.method = method
        self.request = request
        self.exchange = exchange
        self.http = http or {}
        # What `shapes` found in this message, by rule; None until it has been checked.
        self.shape: dict[str, list[str]] | None = None

    @property
    def params(self) -> Members:
        """The params of a request or notification, {} when there are none."""
        return members(members(self.message).get("params"))

    @property
    def result(self) -> Members:
        """The result of an answer, {} when it has none or it is not an object."""
        return members(members(self.message).get("result"))

    @property
    def error(self) -> Members:
        """The error of an answer, {} when it has none or it is not an object."""
        return members(members(self.message).get("error"))

    @property
    def error_code(self) -> int | None:
        """The code of an error, None when it is not an integer."""
        code = self.error.get("code")
        return code if type(code) is int else None

    @property
    def request_params(self) -> Members:
        """The params of the request that this answers, {} when there are none."""
        return members(self.request.get("params")) if self.request else {}


def kind_of(message: object) -> Kind:
    """What a value is meant to be; an answer with both members counts as an error."""
    if isinstance(message, list):
        return "batch"
    kind = jsonrpc.message_kind(message)
    if kind == "response":
        assert isinstance(message, dict)
        if "error" in message:
            return "error"
        return "result" if "result" in message else "malformed"
    return kind


class Latest:
    """Values by key, the latest 10,000; `has_forgotten` is True when older ones were dropped."""

    __slots__ = ("_kept", "_limit", "has_forgotten")

    def __init__(self, limit: int = _MAX_KEPT) -> None:
        self._kept: OrderedDict[Hashable, Any] = OrderedDict()
        self._limit = limit
        self.has_forgotten = False

    def __len__(self) -> int:
        return len(self._kept)

    def __contains__(self, key: Hashable) -> bool:
        return key in self._kept

    def get(self, key: Hashable) -> Any:
        return self._kept.get(key)

    def add(self, key: Hashable, value: object = True) -> None:
        """Remember this as the latest of all."""
        self._kept[key] = value
        self._kept.move_to_end(key)
        if len(self._kept) > self._limit:
            self._kept.popitem(last=False)
            self.has_forgotten = True

    def drop(self, key: Hashable) -> None:
        self._kept.pop(key, None)


# Values


def members(value: object) -> Members:
    """The value, {} when it is not an object."""
    return value if isinstance(value, dict) else {}


def meta_of(message: object) -> Members:
    """The `_meta` in the params of a request or notification, {} when there is none."""
    return members(members(members(message).get("params")).get("_meta"))


def has_kind(value: object, kind: str) -> bool:
    """True if a value is a number or an integer. An integer may be written 3 or 3.0."""
    if kind == "an integer":
        return type(value) is int or (type(value) is float and value.is_integer())
    return type(value) in (int, float)


# Sentences


def show(value: object) -> str:
    """A value as JSON, shortened."""
    return shorten(dump_json(value), 80)


def show_member(holder: Members, name: str) -> str:
    """The value of a member as JSON, or "missing"."""
    return show(holder[name]) if name in holder else "missing"


def must_be(path: str, wanted: str, value: object) -> str:
    """The sentence about a value that is not what it must be."""
    return f"{path} must be {wanted} and is {show(value)}"


def limit(sentences: Iterable[str]) -> list[str]:
    """The first of the sentences about one message."""
    return list(islice(sentences, MAX_SENTENCES))


def collect(parts: Iterable[Iterable[str] | None]) -> Findings:
    """The sentences about many parts of a message, each None when there is nothing to judge."""
    judged = [sentences for sentences in parts if sentences is not None]
    return limit(chain.from_iterable(judged)) if judged else None
