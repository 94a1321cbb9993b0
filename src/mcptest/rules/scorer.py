"""Judge a session by rules, entry by entry, in bounded memory; compare it with others."""

from __future__ import annotations

from collections import Counter
from itertools import combinations, islice

from mcptest.core.results import Conflict, SessionScore, Verdict
from mcptest.core.text import join_words, list_names
from mcptest.protocol import jsonrpc
from mcptest.protocol.jsonrpc import is_plain_answer
from mcptest.protocol.revisions import REVISIONS
from mcptest.rules.jsonrpc import ID_RULES
from mcptest.rules.lifecycle import INVARIANTS
from mcptest.rules.rule import Entry, Facts, category_of, kind_of, members, name_entries, objects

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Any

    from mcptest.rules.rule import Findings, Rule

    Http = dict[str, Any] | None
    # What must be equal: what is known so far, the tool, and the shape of the answer.
    Likeness = tuple[int, str, object, int]

__all__ = ["LiveScorer", "Scorer", "SessionNames", "find_conflicts"]

_MAX_ALIKE = 1000
_MAX_KEYS = 1000


class _Tally:
    """How many mistakes were found, and the first of them."""

    __slots__ = ("count", "exchange", "message")

    def __init__(self) -> None:
        self.count = 0
        self.message = ""
        self.exchange: int | None = None

    def add(self, findings: Sequence[str], exchange: int | None) -> None:
        if not self.count:
            self.message, self.exchange = findings[0], exchange
        self.count += len(findings)


class _RuleState:
    """One rule and what it has found so far; `covered` is what rule `covered_by` reports."""

    __slots__ = ("check", "covered", "covered_by", "found", "has_judged", "rule", "session_check")

    def __init__(self, rule: Rule) -> None:
        self.rule = rule
        self.session_check = rule.session_check() if rule.session_check else None
        check = self.session_check.check if self.session_check else rule.check
        assert check, f"{rule.id} has neither check nor session_check"
        self.check = check
        # True once there was something to judge.
        self.has_judged = False
        self.found = _Tally()
        self.covered = _Tally()
        self.covered_by = ""


class Scorer:
    """Judges one session; it gets the entries in the order in which they were sent.

    `before_each` is called with each entry before it is judged.
    """

    def __init__(
        self,
        rules: Sequence[Rule],
        facts: Facts,
        before_each: Callable[[Entry], None] | None = None,
    ) -> None:
        self.facts = facts
        self._before_each = before_each
        self._states = list(map(_RuleState, rules))
        # For each sort of entry, the rules that judge it: all, and those with a memory.
        self._states_by_key: dict[object, tuple[list[_RuleState], list[_RuleState]]] = {}
        # Kinds of answers in which rules without a memory found nothing; see `_likeness_of`.
        self._clean: set[Likeness] = set()

    def use_rules(self, rules: Sequence[Rule]) -> None:
        """Judge by these rules from now on; those in use keep what they have found."""
        known = {state.rule.id: state for state in self._states}
        self._states = [known.get(rule.id) or _RuleState(rule) for rule in rules]
        self._states_by_key.clear()
        self._clean.clear()

    # Entries

    def client(self, message: object, exchange: int = -1, http: Http = None) -> None:
        """The client sent this; a batch counts as its messages."""
        for each in message if isinstance(message, list) else (message,):
            self._judge(self.make_entry(each, exchange, http, is_client=True))

    def server(self, message: object, exchange: int = -1, http: Http = None) -> None:
        """The server sent this. A batch is judged as one, and then as its messages."""
        if isinstance(message, list):
            self._judge(Entry(message, is_client=False, kind="batch", exchange=exchange, http=http))
        for each in message if isinstance(message, list) else (message,):
            self._judge(self.make_entry(each, exchange, http, is_client=False))

    def noise(self, line: str, exchange: int = -1) -> None:
        """The server wrote a line that is not a message."""
        self._judge(Entry(line, is_client=False, kind="noise", exchange=exchange))

    def make_entry(
        self, message: Any, exchange: int = -1, http: Http = None, *, is_client: bool
    ) -> Entry:
        """A message with what is needed to judge it."""
        method, request = "", None
        if isinstance(message, dict):
            if "method" in message:
                method = message["method"] if isinstance(message["method"], str) else ""
            else:
                requests = self.facts.server_open if is_client else self.facts.open
                request = requests.get(jsonrpc.id_key(message.get("id")))
                is_error_without_id = "error" in message and message.get("id") is None
                if request is None and is_error_without_id and len(requests) == 1:
                    # The id could not be read: it is for the one request that is open.
                    request = next(iter(requests.values()))
                method = str(request.get("method", "")) if request else ""
        return Entry(
            message,
            is_client=is_client,
            kind=kind_of(message),
            method=method,
            request=request,
            exchange=exchange,
            http=http,
        )

    # Judging

    def _judge(self, entry: Entry) -> None:
        facts = self.facts
        if self._before_each:
            self._before_each(entry)
        facts.update(entry)
        states, with_memory = self._states_for(entry)
        likeness = _likeness_of(entry, facts.epoch)
        is_clean = likeness in self._clean
        found = [
            (state, state.check(entry, facts)) for state in (with_memory if is_clean else states)
        ]
        has_mistake = _record(found, entry.exchange)
        if likeness and not (has_mistake or is_clean) and len(self._clean) < _MAX_ALIKE:
            self._clean.add(likeness)
        facts.close(entry)

    def _states_for(self, entry: Entry) -> tuple[list[_RuleState], list[_RuleState]]:
        """The rules for such an entry in the revisions of this session."""
        facts = self.facts
        oldest, newest, is_stdio = facts.oldest, facts.newest, facts.is_stdio
        key = (entry.is_client, entry.kind, entry.method, oldest, newest, is_stdio)
        if key in self._states_by_key:
            return self._states_by_key[key]
        if entry.kind == "noise":
            topics = {"noise"}
        elif entry.is_client:
            topics = {"client", f"client:{entry.method}"}
        else:
            topics = {"server", entry.kind, f"{entry.kind}:{entry.method}"}
        states = [
            state
            for state in self._states
            if topics.intersection(state.rule.topics)
            and state.rule.applies(oldest, newest)
            and not (is_stdio and category_of(state.rule) == "http")
        ]
        both = states, [state for state in states if state.session_check]
        # Servers choose the methods, so the number of entries is limited.
        if len(self._states_by_key) < _MAX_KEYS:
            self._states_by_key[key] = both
        return both

    def finish(self) -> SessionScore:
        """The session is over: the verdicts of all rules."""
        facts = self.facts
        found = [
            (state, state.session_check.end(facts))
            for state in self._states
            if state.session_check and state.rule.applies(facts.oldest, facts.newest)
        ]
        _record(found, None)
        verdicts = tuple(map(self._verdict, self._states))
        return SessionScore(server_label=facts.label, verdicts=verdicts)

    def _verdict(self, state: _RuleState) -> Verdict:
        rule, facts = state.rule, self.facts
        verdict = Verdict(
            id=rule.id,
            category=category_of(rule),
            status="not_applicable",
            message=rule.reason_if_unused,
        )
        if not rule.applies(facts.oldest, facts.newest):
            revision = f"revision {facts.version}" if facts.version else "this revision"
            return verdict.but(
                message=f"{revision} has {rule.reason_if_other_revision or 'no such rule'}"
            )
        if not state.has_judged:
            return verdict
        if state.found.count:
            tally = state.found
            is_must = rule.level_at(facts.oldest) == "MUST"
            return verdict.but(
                status="fail" if is_must else "warning",
                message=tally.message,
                exchange=tally.exchange,
                count=tally.count,
            )
        if state.covered_by:
            tally = state.covered
            return verdict.but(
                message=f"{tally.message} (reported as {state.covered_by})",
                exchange=tally.exchange,
                count=tally.count,
                reported_by=state.covered_by,
            )
        return verdict.but(status="pass", message=rule.property)


def _record(found: Sequence[tuple[_RuleState, Findings]], exchange: int | None) -> bool:
    """Record what rules found in one message, None if there was nothing to judge.

    True if there was a mistake. A rule that another one covers reports nothing.
    """
    mistakes: list[tuple[_RuleState, Sequence[str]]] = []
    for state, findings in found:
        if findings is not None:
            state.has_judged = True
            if findings:
                mistakes.append((state, findings))
    covered = {id: state.rule.id for state, _ in mistakes for id in state.rule.covers}
    for state, findings in mistakes:
        by = state.rule.id
        while by in covered:
            # The rule that covers this one may be covered itself.
            by = covered[by]
        if by == state.rule.id:
            state.found.add(findings, exchange)
        else:
            state.covered_by = by
            state.covered.add(findings, exchange)
    return bool(mistakes)


# Most calls of most runs get plain answers that differ only in their id and text. Rules without
# a memory judge only the first of each kind.

_IDS = (int, str)
_PARAMS = frozenset(["name", "arguments"])
_MAX_BLOCKS = 20


def _likeness_of(entry: Entry, epoch: int) -> Likeness | None:
    """A key that is equal for answers that rules cannot tell apart; None if it is not plain.

    `epoch` is that of the facts: what is known of the session may change a verdict.
    """
    if entry.method != "tools/call" or entry.is_client or entry.kind != "result" or entry.http:
        return None
    message, request = entry.message, entry.request
    if request is None or not is_plain_answer(message) or type(message["id"]) not in _IDS:
        return None
    params, result = request.get("params"), entry.result
    if type(params) is not dict or not params.keys() <= _PARAMS:
        return None
    name, content = params.get("name"), result["content"]
    if type(name) is not str or len(content) > _MAX_BLOCKS:
        return None
    return epoch, name, result.get("isError", False), len(content)


# Nearly every session is a handshake without anything optional, plain calls of tools and plain
# answers. Only rules with a memory can find anything in these; the others are loaded when
# something else is sent.

_FRAME = frozenset(["jsonrpc", "id", "result"])
_CALL = frozenset(["jsonrpc", "id", "method", "params"])
_HANDSHAKE = dict.fromkeys(["protocolVersion", "capabilities", "serverInfo"])
_INFO = frozenset(["name", "version"])
_CAPABILITIES = frozenset(["tools", "resources", "prompts"])


def _is_ordinary(entry: Entry) -> bool:
    """True for the most common messages in their plainest form."""
    message = entry.message
    if entry.is_client:
        if entry.method in ("initialize", "notifications/initialized", "ping"):
            return entry.kind in ("request", "notification")
        if entry.method != "tools/call" or message.keys() != _CALL:
            return False
        params = message["params"]
        return type(params) is dict and params.keys() <= _PARAMS
    if entry.kind != "result" or entry.http or type(message) is not dict:
        return False
    if entry.method == "tools/call":
        return _likeness_of(entry, 0) is not None
    if message.keys() != _FRAME or message["jsonrpc"] != "2.0" or entry.request is None:
        return False
    if entry.method == "ping":
        return bool(message["result"] == {})
    return entry.method == "initialize" and _is_plain_handshake(message["result"])


def _is_plain_handshake(result: object) -> bool:
    if type(result) is not dict or result.keys() != _HANDSHAKE.keys():
        return False
    version, capabilities, info = (result[name] for name in _HANDSHAKE)
    return (
        type(version) is str
        and version in REVISIONS
        and type(capabilities) is dict
        and capabilities.keys() <= _CAPABILITIES
        and all(each == {} for each in capabilities.values())
        and type(info) is dict
        and info.keys() == _INFO
        and all(type(each) is str for each in info.values())
    )


# Running sessions


class LiveScorer:
    """Judges a session while it is running.

    It starts with the rules that have a memory, and loads the others at the first entry that is
    not ordinary.
    """

    def __init__(
        self,
        label: str,
        transport: str,
        written_ids: Mapping[jsonrpc.IdKey, object] | None = None,
    ) -> None:
        facts = Facts(label, transport)
        if written_ids is not None:
            facts.written_ids = written_ids
        first_rules = name_entries(INVARIANTS | ID_RULES)
        self._scorer = Scorer(first_rules, facts, self._load_if_needed)
        self.names = SessionNames(label, transport)
        self._exchange = -1
        # True once all rules are in use.
        self.has_all_rules = False
        self._exchange_of: dict[jsonrpc.IdKey, int] = {}

    def _load_if_needed(self, entry: Entry) -> None:
        if not self.has_all_rules and not _is_ordinary(entry):
            self._load_all()

    def _load_all(self) -> None:
        # Loading takes longer than many runs of one test.
        from mcptest.rules.all_rules import RULES  # noqa: PLC0415

        self._scorer.use_rules(RULES)
        self.has_all_rules = True

    def is_ordinary(self, message: Any, *, is_client: bool) -> bool:
        """True if the rules that are loaded from the start are all that this needs."""
        return _is_ordinary(self._scorer.make_entry(message, is_client=is_client))

    @property
    def state(self) -> tuple[int, bool]:
        """Changes whenever something becomes known that a verdict may depend on."""
        return self._scorer.facts.epoch, self.has_all_rules

    @property
    def may_skip(self) -> bool:
        """True if plain answers can be skipped: no tool has an outputSchema or is a task."""
        tools = self._scorer.facts.tools
        return not any("outputSchema" in tool or "execution" in tool for tool in tools.values())

    def skip(self, ids: Sequence[object]) -> None:
        """Plain calls with these ids were made and answered, and need not be judged."""
        self._exchange += len(ids)
        self._scorer.facts.skip(ids)

    def client(self, message: Any) -> None:
        """The client has sent a message."""
        for each in message if isinstance(message, list) else (message,):
            if isinstance(each, dict) and "method" in each:
                self._exchange += 1
                if "id" in each:
                    self._exchange_of[jsonrpc.id_key(each["id"])] = self._exchange
        self._scorer.client(message, self._exchange)

    def server(self, message: Any, http: dict[str, Any] | None = None) -> None:
        """The server has sent a message; `http` is `Entry.http`."""
        if http and not self.has_all_rules:
            self._load_all()
        place = self._exchange
        if isinstance(message, dict) and "method" not in message:
            key = jsonrpc.id_key(message.get("id"))
            request = self._scorer.facts.open.get(key)
            place = self._exchange_of.pop(key, place)
            method = request.get("method") if request else None
            if method in ("tools/list", "initialize"):
                self.names.add_exchange({"method": method}, message)
        self._scorer.server(message, place, http)

    def noise(self, line: str) -> None:
        """The server has written a line that is not a message."""
        self._scorer.noise(line, self._exchange)

    def finish(
        self,
        exit_status: str,
        *,
        ended_by: str = "",
        is_stderr_utf8: bool | None = None,
        expected_errors: Mapping[str, int] | None = None,
    ) -> SessionScore:
        """The session is over; `expected_errors` counts them by method."""
        facts = self._scorer.facts
        facts.expected_errors = expected_errors or {}
        facts.is_stderr_utf8 = is_stderr_utf8
        if is_stderr_utf8 is False or ended_by in ("term", "kill"):
            self._load_all()
        facts.exit_status, facts.ended_by = exit_status, ended_by
        has_declared = facts.capabilities or (facts.version and not facts.is_stateless)
        facts.block = facts.capabilities if has_declared else None
        return self._scorer.finish()


# Several servers behind one client

# Ids, and names of tools, that are kept of one session.
_MAX_KEPT = 100_000
_SHOWN = 5

# Many sessions that all begin with id 1 collide in a great number of pairs.
_MAX_COLLISIONS = 100


class SessionNames:
    """The names and ids of one session that must not clash with those of the others."""

    def __init__(self, label: str, transport: str) -> None:
        self.label = label
        self.transport = transport
        self.ids: dict[jsonrpc.IdKey, object] = {}
        self.tools: dict[str, None] = {}
        # The name in serverInfo: several servers may share a label.
        self.own_name = ""

    def add_exchange(self, request: Any, response: Any) -> None:
        """An exchange of the session; a batch is several of them."""
        if isinstance(request, list):
            for part in request:
                self.add_exchange(members(part), None)
            return
        if not isinstance(request, dict) or "method" not in request:
            return
        if "id" in request and len(self.ids) < _MAX_KEPT:
            self.ids[jsonrpc.id_key(request["id"])] = request["id"]
        if not isinstance(response, dict):
            return
        result = members(response.get("result"))
        if request["method"] == "initialize":
            name = members(result.get("serverInfo")).get("name")
            self.own_name = name if isinstance(name, str) else ""
        elif request["method"] == "tools/list":
            for tool in objects(result.get("tools")):
                if isinstance(tool.get("name"), str) and len(self.tools) < _MAX_KEPT:
                    self.tools[tool["name"]] = None

    @property
    def identity(self) -> tuple[str, str]:
        """Sessions of the same server have the same identity."""
        return self.label, self.own_name

    @property
    def name(self) -> str:
        """The server's name in its label: what follows `stdio://` and the like."""
        return self.label.partition("://")[2] or self.label


def find_conflicts(sessions: list[SessionNames]) -> list[Conflict]:
    """Every clash between two or more of the sessions, names first."""
    return [*_find_shared_tools(sessions), *islice(_find_shared_ids(sessions), _MAX_COLLISIONS)]


def _find_shared_tools(sessions: list[SessionNames]) -> Iterator[Conflict]:
    owners: dict[str, dict[tuple[str, str], None]] = {}
    for session in sessions:
        prefixes = (f"{session.name}__", f"{session.own_name or session.name}__")
        for tool in session.tools:
            if not tool.startswith(prefixes):
                owners.setdefault(tool, {})[session.identity] = None
    for tool, servers in owners.items():
        if len(servers) > 1:
            # Servers that share a label are shown with their own names.
            counts = Counter(label for label, _ in servers)
            labels = [
                label if counts[label] == 1 else f"{label} ({name})" for label, name in servers
            ]
            yield Conflict(
                kind="tool_overlap",
                message=f"the tool {tool} is offered by {join_words(labels)}: a client that does "
                "not name the server with it cannot tell whose it is",
                servers=tuple(labels),
                what=(tool,),
            )


def _find_shared_ids(sessions: list[SessionNames]) -> Iterator[Conflict]:
    for one, other in combinations(sessions, 2):
        if one.transport and other.transport and one.transport != other.transport:
            continue
        shared = [id for key, id in one.ids.items() if key in other.ids]
        if shared:
            shown = list_names([jsonrpc.describe_id(id) for id in shared], _SHOWN)
            yield Conflict(
                kind="id_collision",
                message=f"{one.label} and {other.label} both got requests with {shown}: on "
                "one shared transport their answers could not be told apart",
                servers=(one.label, other.label),
                what=tuple(shared[:_SHOWN]),
            )
