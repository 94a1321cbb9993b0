"""What a rule is, what it judges, what is known of a session, and helpers of several families.

The facts of a session are updated before the rules judge an entry: a rule that judges the answer
to `initialize` knows the version that was agreed on in it.
"""

from __future__ import annotations

from collections import OrderedDict
from itertools import chain, islice

from mcptest.core.strict_json import dump_json
from mcptest.core.text import shorten
from mcptest.core.value_class import Record
from mcptest.protocol import jsonrpc
from mcptest.protocol.revisions import (
    HANDSHAKE_REVISIONS,
    META_CAPABILITIES,
    REVISIONS,
    VERSION_KEY,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
    from typing import Any, Literal, TypeVar

    Level = Literal["MUST", "SHOULD"]
    Kind = Literal["request", "notification", "result", "error", "malformed", "noise", "batch"]
    Members = dict[str, Any]

    # Sentences about what is wrong; None when there was nothing to judge.
    Findings = Sequence[str] | None
    EntryCheck = Callable[["Entry", "Facts"], Findings]
    Listed = TypeVar("Listed", bound="Requirement")

__all__ = [
    "CATEGORIES",
    "Entry",
    "Facts",
    "Latest",
    "Requirement",
    "Rule",
    "SessionCheck",
    "category_of",
    "collect",
    "error_faults",
    "family_of",
    "is_number",
    "kind_of",
    "limit",
    "members",
    "must_be",
    "name_entries",
    "objects",
    "show",
    "show_member",
]

# No message gets more sentences: a hostile one could have a million mistakes.
MAX_SENTENCES = 20
# Bounds of memory: further tools, and the oldest of other things, are not remembered.
_MAX_KEPT = 10_000

# The category of each family of rules, in the order in which reports show them. The invariants
# have a category each.
CATEGORIES = {
    "INV-001": "lifecycle",
    "INV-002": "lifecycle",
    "INV-003": "capability",
    "INV-004": "capability",
    "INV-005": "result-shape",
    "INV-006": "error-envelope",
    "INV-007": "error-envelope",
    "BASE": "base",
    "LIFE": "lifecycle",
    "STDIO": "stdio",
    "HTTP": "http",
    "TOOL": "tools",
    "RES": "resources",
    "PROMPT": "prompts",
    "COMP": "completion",
    "SUB": "subscriptions",
    "LOG": "logging",
    "PAGE": "pagination",
    "CACHE": "caching",
    "PROG": "progress",
    "CANC": "cancellation",
    "SAMP": "sampling",
    "ROOT": "roots",
    "ELIC": "elicitation",
    "MRTR": "input-rounds",
    "TASK": "tasks",
    "XTASK": "tasks",
}


class Requirement(Record):
    """What a rule and an active check of `mcptest.compliance` have in common.

    It is listed in the table of its family under its id and name: `ID name`. `property` is the
    sentence that holds if it is met. It applies from the revision `since` to the revision `until`.
    With `must_since` it is only a SHOULD before that revision.

    `section` is where the specification has it: `page#section`. Revisions without a handshake may
    have it in `stateless_section`, and single older ones in one of `older_sections`.
    """

    id: str = ""
    name: str = ""
    property: str
    since: str = ""
    until: str = ""
    level: Level = "MUST"
    must_since: str = ""
    section: str = ""
    stateless_section: str = ""
    older_sections: Mapping[str, str] = {}  # nothing of a record changes

    def applies(self, oldest: str, newest: str) -> bool:
        """True if all revisions from the oldest to the newest one have it."""
        return self.since <= oldest and not (self.until and newest > self.until)

    def level_at(self, version: str) -> Level:
        return "SHOULD" if version < self.must_since else self.level


def name_entries(table: Mapping[str, Listed]) -> list[Listed]:
    """The rules or checks of a table whose keys are `ID name`."""
    titles = ((key.partition(" "), entry) for key, entry in table.items())
    return [entry.but(id=id, name=name) for (id, _, name), entry in titles]


def family_of(id: str) -> str:
    """The family of a rule or check, such as BASE."""
    return id.partition("-")[0]


class Rule(Requirement):
    """One rule.

    `topics` are the entries of a session it subscribes to: "client" and "server" for everything
    one side sends, "client:METHOD", "noise"; "request", "notification", "result", "error" and
    "malformed" for what the server sends of that kind, "result:tools/list" for one method.

    A rule that judges each entry on its own has a function `check`. One that remembers something
    has `session_check`, which makes a `SessionCheck` for each session. A rule that the table in
    `shapes` names judges the shape of a message first, and calls `check`, if it has one, only when
    the shape is right; without topics of its own it gets all messages in the table.

    `covers` are more general rules that break in the same message for the same reason. What they
    find in a message in which this rule finds something is not reported again. It must be a
    mistake of at least the level of theirs. (The table in `shapes` needs no such list: each
    mistake has one rule there.)

    `reason_if_unused` is reported when there was nothing to judge, `reason_if_other_revision` for
    a revision that does not have the rule.
    """

    topics: tuple[str, ...] = ()
    check: EntryCheck | None = None
    session_check: Callable[[], SessionCheck] | None = None
    covers: tuple[str, ...] = ()
    reason_if_unused: str = "nothing in this session is subject to it"
    reason_if_other_revision: str = ""


def category_of(rule: Rule) -> str:
    return CATEGORIES.get(rule.id) or CATEGORIES[family_of(rule.id)]


class SessionCheck:
    """Judges one session by one rule: gets each entry it subscribes to, and then the end."""

    def check(self, entry: Entry, facts: Facts) -> Findings:
        return None

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
        return jsonrpc.params_of(self.message)

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
        return jsonrpc.params_of(self.request)


def kind_of(message: object) -> Kind:
    """What a value is meant to be; an answer with both result and error counts as an error."""
    if isinstance(message, list):
        return "batch"
    if jsonrpc.is_log_entry(message):
        return "malformed"
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


def objects(value: object) -> list[Members]:
    """The objects in an array; [] for anything else."""
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def is_number(value: object) -> bool:
    """True for a JSON number, which a boolean is not."""
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


def error_faults(error: object, name: str, code: str, message: str) -> list[str]:
    """What is wrong with the shape of an error; its parts are called by these names."""
    if not isinstance(error, dict):
        return [must_be(name, "an object", error)]
    faults = []
    if type(error.get("code")) is not int:
        faults.append(f"{code} must be an integer and is {show_member(error, 'code')}")
    if not isinstance(error.get("message"), str):
        faults.append(f"{message} must be a string and is {show_member(error, 'message')}")
    return faults


def limit(sentences: Iterable[str]) -> list[str]:
    """The first of the sentences about one message."""
    return list(islice(sentences, MAX_SENTENCES))


def collect(parts: Iterable[Iterable[str] | None]) -> Findings:
    """The sentences about many parts of a message, each None when there is nothing to judge."""
    judged = [sentences for sentences in parts if sentences is not None]
    return limit(chain.from_iterable(judged)) if judged else None


# The session


class Facts:
    """One session, as far as it is known.

    It can be of any revision from `oldest` to `newest`: both are `version` once that is known,
    and all revisions with a handshake before. `capabilities` is what the server declared; `block`
    is what the capture has for it, None when the session never completed a handshake.
    """

    def __init__(self, label: str = "", transport: str = "") -> None:
        self.version = ""
        self.oldest, self.newest = HANDSHAKE_REVISIONS[0], HANDSHAKE_REVISIONS[-1]
        self.block: object = None
        self.label = label
        self.transport = transport
        self.exit_status = ""
        self.ended_by = ""
        self.is_stderr_utf8: bool | None = None
        # True if the capture has something else as the response to initialize: a line of a log.
        self.is_handshake_misplaced = False
        self.client_capabilities: Members = {}
        self.capabilities: Members = {}
        self.is_initialised = False
        # Grows whenever something becomes known that a verdict may depend on.
        self.epoch = 0
        # Requests without an answer yet, by id: those of the client and those of the server.
        self.open: dict[jsonrpc.IdKey, Members] = {}
        self.server_open: dict[jsonrpc.IdKey, Members] = {}
        # The latest plain calls with plain answers that were counted and not judged.
        self.skipped: OrderedDict[jsonrpc.IdKey, None] = OrderedDict()
        # The ids that a test file has for its requests, by those under which they were sent.
        self.written_ids: Mapping[jsonrpc.IdKey, object] = {}
        # How many errors the tests of a run expected, by the method of the call.
        self.expected_errors: Mapping[str, int] = {}
        # Every tool that a list has shown, by name.
        self.tools: dict[str, Members] = {}

    @property
    def is_stdio(self) -> bool:
        return (self.transport or self.label).startswith("stdio")

    @property
    def is_stateless(self) -> bool:
        """True if the session is of a revision without a handshake."""
        return REVISIONS[self.newest].is_stateless

    @property
    def may_have_tasks(self) -> bool:
        """True if tasks may be a part of the protocol itself in this session."""
        return any(
            revision.has_tasks
            for version, revision in REVISIONS.items()
            if self.oldest <= version <= self.newest
        )

    def name_id(self, id: object) -> str:
        """The id of a request of the client, as the author of the test knows it."""
        key = jsonrpc.id_key(id)
        written = self.written_ids.get(key, id)
        is_same = jsonrpc.id_key(written) == key
        return show(id) if is_same else f"{show(written)} (sent as {show(id)})"

    def skip(self, ids: Iterable[object]) -> None:
        """Calls with these ids were made and answered."""
        self.skipped |= dict.fromkeys(map(jsonrpc.id_key, ids))
        while len(self.skipped) > _MAX_KEPT:
            self.skipped.popitem(last=False)

    def set_block(self, block: object) -> None:
        """The capabilities that the capture has for the whole session."""
        self.block = block
        self.epoch += 1
        if isinstance(block, dict) and not self.capabilities:
            self.capabilities = block

    def set_version(self, version: object) -> None:
        """The revision that the capture has for the whole session, unless a message names it."""
        if not self.version:
            self._agree_on(version)

    def update(self, entry: Entry) -> None:
        """Learn from an entry, before it is judged."""
        if not isinstance(entry.message, dict):
            return
        if entry.is_client:
            self._update_from_client(entry)
        elif entry.kind in ("result", "error"):
            self._update_from_answer(entry)
        elif entry.kind == "request":
            self.server_open[jsonrpc.id_key(entry.message.get("id"))] = entry.message

    def _update_from_client(self, entry: Entry) -> None:
        if entry.kind == "notification":
            self.is_initialised |= entry.method == "notifications/initialized"
        elif entry.kind == "request":
            self.open[jsonrpc.id_key(entry.message.get("id"))] = entry.message
            meta = entry.params.get("_meta")
            if entry.method == "initialize":
                # Also after a request of a stateless revision: from here on there is a handshake.
                self.version = ""
                self.oldest, self.newest = HANDSHAKE_REVISIONS[0], HANDSHAKE_REVISIONS[-1]
                self._declare(entry.params.get("capabilities"))
            elif isinstance(meta, dict) and VERSION_KEY in meta:
                self._agree_on(meta[VERSION_KEY])
                self._declare(meta.get(META_CAPABILITIES))

    def _update_from_answer(self, entry: Entry) -> None:
        if entry.method in ("initialize", "server/discover") and entry.kind == "result":
            self._agree_on(entry.result.get("protocolVersion"))
            self.epoch += 1
            self.capabilities = members(entry.result.get("capabilities"))
        elif entry.method == "tools/list":
            self.epoch += 1
            for tool in objects(entry.result.get("tools")):
                name = tool.get("name")
                if isinstance(name, str) and (len(self.tools) < _MAX_KEPT or name in self.tools):
                    self.tools[name] = tool

    def close(self, entry: Entry) -> None:
        """Close the request that this answers, after it has been judged."""
        if entry.kind in ("result", "error") and isinstance(entry.message, dict):
            requests = self.server_open if entry.is_client else self.open
            key = jsonrpc.id_key(entry.message.get("id"))
            if key not in requests and entry.message.get("id") is None and len(requests) == 1:
                # The same request as in `Scorer.make_entry`.
                key = next(iter(requests))
            requests.pop(key, None)

    def _agree_on(self, version: object) -> None:
        if isinstance(version, str) and version in REVISIONS and version != self.version:
            self.epoch += 1
            self.version = self.oldest = self.newest = version

    def _declare(self, capabilities: object) -> None:
        self.epoch += 1
        self.client_capabilities = members(capabilities)
