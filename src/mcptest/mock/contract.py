"""A contract made ready to be played: what the client may send, and what is sent in return.

Suites go in, a `Contract` comes out. Messages of the client are looked up in it, and it implies
what no case writes: the capabilities of the server and its lists. Within a case:

* A request or notification of the server is sent after the nearest message of the client
  before it; without one, it opens the case.
* An answer is sent after the request it answers; or, if the server asks the client something
  because of that request, after the last of the client's answers before it.

A contract may have thousands of cases with one method, so messages are looked up in a dict by
everything in them that is plain. What is found that way is nearly always right, and is still
compared.
"""

from __future__ import annotations

import posixpath
import re
from contextlib import nullcontext
from itertools import chain, count, islice

from mcptest import __version__
from mcptest.core.diagnostics import Diagnostic, closest
from mcptest.core.errors import FormatError, PatternTimeoutError
from mcptest.core.results import Mismatch
from mcptest.core.secrets import BLANK
from mcptest.core.strict_json import dump_json
from mcptest.core.value_class import ABSENT, Record
from mcptest.matching.case_tags import (
    bound_name,
    fill,
    has_blanks,
    make_value,
    pull_bound,
    read_tag,
)
from mcptest.matching.compare import Group, compare, is_met
from mcptest.matching.json_values import json_type
from mcptest.matching.patterns import Pattern
from mcptest.mock.session import COMPARED_IN_PART, LISTS, REMOVED, body_of, empty_result
from mcptest.protocol.dialogue import Bind, Ref
from mcptest.protocol.jsonrpc import INTERNAL_ERROR, id_key, message_kind, meta_of, params_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from contextlib import AbstractContextManager
    from typing import Any

    from mcptest.core.plan import Case, Leniency, Suite
    from mcptest.mock.session import Session
    from mcptest.protocol.dialogue import Turn
    from mcptest.protocol.jsonrpc import MessageKind

    Message = dict[str, Any]
    Result = dict[str, object]
    # Where blanks are: a tree of steps with None at each blank.
    Blanks = dict[str | int, Any]
    Steps = tuple[str | int, ...]

__all__ = [
    "RECORDED",
    "Contract",
    "Incoming",
    "Index",
    "Outgoing",
    "build_contract",
    "derive_capabilities",
    "derive_list",
    "describe_server",
    "describe_unplayable_cases",
    "find_incoming",
    "find_mismatches",
    "find_nearest",
    "tool_schemas",
]


# The format of a suite that was recorded: its answers are sent exactly as they are.
RECORDED = "capture"


class Contract(Record):
    """All messages of a contract, numbered in the order of the files. `scope` is the file.

    `revision` is that of all files, "" if they do not say it or differ.
    """

    name: str
    cases: tuple[PlayedCase, ...]
    incoming: tuple[Incoming, ...]
    outgoing: tuple[Outgoing, ...]
    index: Index
    revision: str = ""

    def requests(self, method: str) -> list[Incoming]:
        """The client's requests with this method, in written order."""
        return [self.incoming[number] for number in self.index.numbers("request", method)]

    def answer_to(self, request: Incoming) -> Message:
        """The answer that the contract has for a request, {} if it has none."""
        return {} if request.answer is None else self.outgoing[request.answer].value

    def neighbour(self, case: int, offset: int) -> int | None:
        """The case that comes so much later in the same file; earlier, if negative."""
        other = case + offset
        is_inside = 0 <= other < len(self.cases)
        return other if is_inside and self.cases[other].scope == self.cases[case].scope else None


class PlayedCase(Record):
    """A case: the client's messages in it, and those of the server that open it."""

    name: str
    file: str
    line: int
    scope: int
    incoming: range
    opening: tuple[int, ...]

    def place(self) -> dict[str, object]:
        """Where it is written, as errors and reports have it."""
        return {"case": self.name, "file": self.file, "line": self.line}


class Incoming(Record):
    """A message of the client as the contract writes it.

    `body` is what of it is compared; `needs` are names in it that earlier messages bind, `own`
    those that it binds itself. `replies` are the messages sent when it is received, `answer` is
    the one that answers it. `token` is its progress token as written.
    """

    index: int
    case: int
    scope: int
    body: dict[str, object]
    kind: MessageKind
    method: str
    leniency: Leniency
    binds: tuple[Bind, ...] = ()
    needs: tuple[str, ...] = ()
    own: tuple[str, ...] = ()
    replies: tuple[int, ...] = ()
    answer: int | None = None
    token: object = ABSENT


class Outgoing(Record):
    """A message of the server in which only refs are left to fill in.

    `answers` is the client's request that it answers, `reply` the client's message that answers
    it. It is not sent if it needs one of the `optional` names and the client did not give it.
    If it `is_partial`, the contract leaves out what the protocol requires.
    """

    index: int
    case: int
    scope: int
    value: Message
    kind: MessageKind
    method: str
    id: object = ABSENT
    binds: tuple[Bind, ...] = ()
    needs: tuple[str, ...] = ()
    answers: int | None = None
    reply: int | None = None
    optional: frozenset[str] = frozenset()
    is_partial: bool = False


def build_contract(
    suites: Sequence[Suite], limit: AbstractContextManager[object] | None = None
) -> Contract:
    """The contract in these suites. FormatError names every message that cannot be played.

    `limit` bounds how long a pattern may compute while a value is made up for it.
    """
    draft = _Draft(limit or nullcontext())
    for scope, suite in enumerate(suites):
        is_narrowed = any(case.only for case in suite.cases)
        for case in suite.cases:
            # As in a run, skipped cases do not count.
            if case.dialogue and case.skip is None and (case.only or not is_narrowed):
                draft.add(case, suite, scope)
    if draft.mistakes:
        raise FormatError(draft.mistakes)
    file = suites[0].file if suites else ""
    revisions = {suite.protocol_version for suite in suites}
    return Contract(
        name=posixpath.basename(file).partition(".")[0] or "mock",
        cases=tuple(draft.cases),
        incoming=tuple(draft.incoming),
        outgoing=tuple(draft.outgoing),
        index=Index([each for each in draft.incoming if each.kind != "response"]),
        revision=revisions.pop() if len(revisions) == 1 else "",
    )


class _Draft:
    """The contract so far; each case adds to it."""

    def __init__(self, limit: AbstractContextManager[object]) -> None:
        self._limit = limit
        self.cases: list[PlayedCase] = []
        self.incoming: list[Incoming] = []
        self.outgoing: list[Outgoing] = []
        self.mistakes: list[Diagnostic] = []

    def add(self, case: Case, suite: Suite, scope: int) -> None:
        assert case.dialogue is not None
        is_exact = case.dialogue.is_exact
        is_partial = not is_exact and suite.format != RECORDED
        parts = _read_parts(case.dialogue.turns)
        first = len(self.incoming)
        incoming, outgoing = count(first), count(len(self.outgoing))
        numbers = [next(incoming if part.is_clients else outgoing) for part in parts]
        # Where each message is answered, and what is sent after it (None: at the beginning).
        answered = {part.answers: numbers[at] for at, part in enumerate(parts)}
        sent_after: dict[int | None, tuple[int, ...]] = {}
        for at, cause in _find_causes(parts).items():
            sent_after[cause] = (*sent_after.get(cause, ()), numbers[at])
        # A client may give these with a request, and need not.
        optional = frozenset(
            bind.name
            for part in parts
            for bind in part.binds
            if part.is_clients and bind.steps[:2] == ("params", "_meta")
        )
        for at, part in enumerate(parts):
            if part.is_clients:
                replies, answer = sent_after.get(at, ()), answered.get(at)
                self._add_incoming(part, suite.file, scope, replies, answer, is_exact=is_exact)
                continue
            value = self._make_sendable(part.turn, suite.file)
            if is_partial and part.answers is not None:
                value = _complete(value, parts[part.answers])
            self.outgoing.append(
                Outgoing(
                    index=numbers[at],
                    case=len(self.cases),
                    scope=scope,
                    value=value,
                    kind=part.kind,
                    method=part.method,
                    id=part.turn.id,
                    binds=part.binds,
                    needs=part.turn.needs,
                    answers=None if part.answers is None else numbers[part.answers],
                    reply=answered.get(at),
                    optional=optional,
                    is_partial=is_partial,
                )
            )
        self.cases.append(
            PlayedCase(
                name=case.name,
                file=suite.file,
                line=case.line,
                scope=scope,
                incoming=range(first, len(self.incoming)),
                opening=sent_after.get(None, ()),
            )
        )

    def _add_incoming(
        self,
        part: _Part,
        file: str,
        scope: int,
        replies: tuple[int, ...],
        answer: int | None,
        *,
        is_exact: bool,
    ) -> None:
        if has_blanks(part.value.get("method")):
            message = f'the method in "{part.turn.key}" is a tag, and a mock could not look it up'
            self._report(part.turn, file, message, "write a case for each method")
        leniency: Leniency = "objects" if part.method in COMPARED_IN_PART else ""
        if part.kind == "response":
            # An answer may have more members than are written.
            leniency = "" if is_exact else "objects"
        body = _match_redacted(body_of(part.value))
        bound = {bind.name for bind in part.binds}
        own: dict[str, None] = {}
        needs: dict[str, None] = {}
        for ref in _refs_in(body):
            (own if ref.is_own and ref.name in bound else needs)[ref.name] = None
        token = meta_of(part.value).get("progressToken", ABSENT)
        self.incoming.append(
            Incoming(
                index=len(self.incoming),
                case=len(self.cases),
                scope=scope,
                body=body,
                kind=part.kind,
                method=part.method,
                leniency=leniency,
                binds=part.binds,
                needs=tuple(needs),
                own=tuple(own),
                replies=replies,
                answer=answer,
                token=ABSENT if has_blanks(token) else token,
            )
        )

    def _make_sendable(self, turn: Turn, file: str) -> Message:
        """The message with a value made up for each tag; a mistake if that is impossible."""
        try:
            with self._limit:
                value = make_value(turn.value)
            dump_json(fill(value, dict.fromkeys(turn.needs), {}))
        except (TypeError, ValueError, PatternTimeoutError) as error:
            message = f'"{turn.key}" is to be sent, and {error}'
            self._report(turn, file, message, "write a value, or a simpler pattern")
            return {}
        assert isinstance(value, dict)
        return {"jsonrpc": "2.0"} | value

    def _report(self, turn: Turn, file: str, message: str, help: str) -> None:
        self.mistakes.append(
            Diagnostic(code="F013", file=file, message=message, help=help, line=turn.line, column=1)
        )


def _refs_in(value: object) -> Iterator[Ref]:
    if isinstance(value, Ref):
        yield value
    elif isinstance(value, (dict, list)):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _refs_in(inner)


# `mcptest cases` and captures write these instead of a secret.
_REDACTED = re.compile(f"REDACTED|{re.escape(BLANK)}")


def _match_redacted(value: Any) -> Any:
    """The value with a pattern instead of each redacted secret: the client's own fits there."""
    if isinstance(value, dict):
        return {key: _match_redacted(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_match_redacted(inner) for inner in value]
    if not isinstance(value, str) or not _REDACTED.search(value):
        return value
    around = _REDACTED.split(value)
    if not any(around):
        return read_tag("any", "")
    return read_tag("re", "^" + r"[\s\S]*".join(map(re.escape, around)) + "$")


# The messages of a case, and what causes them


class _Part(Record):
    """One message of a case: a turn, or one message of a batch.

    `answers` is the index of the part whose request it answers.
    """

    turn: Turn
    value: Message
    binds: tuple[Bind, ...]
    kind: MessageKind
    answers: int | None = None

    @property
    def is_clients(self) -> bool:
        return self.turn.is_ours

    @property
    def method(self) -> str:
        method = self.value.get("method")
        return method if isinstance(method, str) else ""


def _read_parts(turns: Sequence[Turn]) -> list[_Part]:
    """The messages of a case in written order, without answers of the server to nothing."""
    parts: list[_Part] = []
    places: dict[int | None, range] = {}
    open_requests: set[int] = set()
    for at, turn in enumerate(turns):
        first = len(parts)
        for part in _split_batch(turn):
            if part.kind == "response":
                answers = _find_request(part, parts, open_requests, places.get(turn.answers))
                if answers is not None:
                    open_requests.discard(answers)
                    part = part.but(answers=answers)
                elif not part.is_clients:
                    continue
            elif part.kind == "request":
                open_requests.add(len(parts))
            parts.append(part)
        places[at] = range(first, len(parts))
    return parts


def _split_batch(turn: Turn) -> Iterator[_Part]:
    if isinstance(turn.value, dict):
        yield _Part(turn=turn, value=turn.value, binds=turn.binds, kind=turn.kind)
    elif isinstance(turn.value, list):
        for at, value in enumerate(turn.value):
            mine = [bind for bind in turn.binds if bind.steps[:1] == (at,)]
            binds = tuple(bind.but(steps=bind.steps[1:]) for bind in mine)
            if isinstance(value, dict):
                yield _Part(turn=turn, value=value, binds=binds, kind=message_kind(value))


def _find_request(
    part: _Part, parts: Sequence[_Part], open_requests: set[int], within: range | None
) -> int | None:
    """The open request that an answer is for: the one with the same id.

    `within` are the messages of the turn that it answers, if that is known: then it answers
    the first of them if none has its id.
    """
    requests = [
        index
        for index in sorted(open_requests)
        if parts[index].is_clients != part.is_clients and (within is None or index in within)
    ]
    same = [at for at in requests if _is_same_id(parts[at].value["id"], part.value.get("id"))]
    candidates = same if same or within is None else requests
    return candidates[0] if candidates else None


def _is_same_id(one: object, other: object) -> bool:
    if has_blanks(one) or has_blanks(other):
        names = [id.name if isinstance(id, Ref) else bound_name(id) for id in (one, other)]
        return bool(names[0]) and names[0] == names[1]
    return id_key(one) == id_key(other)


def _find_causes(parts: Sequence[_Part]) -> dict[int, int | None]:
    """For each message of the server, the client's message after which it is sent.

    None if it opens the case.
    """
    causes: dict[int, int | None] = {}

    def is_due_to(reply: int, request: int) -> bool:
        """True if this answers something that was asked because of the request."""
        at: int | None = reply
        while at is not None:
            asked = parts[at].answers
            at = None if asked is None else causes.get(asked)
            if at == request:
                return True
        return False

    nearest: int | None = None
    for at, part in enumerate(parts):
        request = part.answers
        if part.is_clients:
            nearest = at
        elif request is None:
            causes[at] = nearest
        else:
            between = range(at - 1, request, -1)
            replies = (i for i in between if parts[i].is_clients and is_due_to(i, request))
            causes[at] = next(replies, request)
    return causes


# What the protocol requires of an answer and a case may leave out

_TEXT: Message = {"type": "text", "text": ""}
_ITEMS: dict[str, tuple[str, Message]] = {
    "tools/list": ("tools", {"inputSchema": {"type": "object"}}),
    "tools/call": ("content", _TEXT),
    "resources/read": ("contents", {"uri": "", "text": ""}),
    "prompts/get": ("messages", {"role": "user", "content": _TEXT}),
}


def _complete(answer: Message, request: _Part) -> Message:
    """The answer with what the protocol requires; what is written stays."""
    error, result = answer.get("error"), answer.get("result")
    if isinstance(error, dict):
        required = {"code": INTERNAL_ERROR, "message": "error"}
        return answer | {"error": _add_missing(error, required)}
    if not isinstance(result, dict):
        return answer
    whole = _add_missing(result, empty_result(request.method))
    member, required = _ITEMS.get(request.method, ("", {}))
    if request.method == "resources/read":
        uri = params_of(request.value).get("uri")
        required = required | {"uri": uri if isinstance(uri, str) else ""}
    items = whole.get(member)
    if isinstance(items, list):
        whole[member] = [_complete_item(each, required) for each in items]
    return answer | {"result": whole}


def _complete_item(item: object, required: Message) -> object:
    if not isinstance(item, dict):
        return item
    if item.get("type", "text") != "text" or "blob" in item:
        # Another kind of content, which has no text.
        required = {key: value for key, value in required.items() if key != "text"}
    return _add_missing(item, required)


def _add_missing(members: Message, required: Message) -> Message:
    """The members as written, then those of the required ones that are missing."""
    return members | {key: value for key, value in required.items() if key not in members}


# Looking up messages of the client

_ANY = read_tag("any", "")

# Larger containers are only partly a key: a message may have millions of values.
_MAX_MEMBERS = 64

# How many messages are compared to find the nearest, and how many mismatches are counted.
_MAX_COMPARED = 1_000
_MAX_MISMATCHES = 50

# The cost of a mismatch. With as many mismatches, different values are nearer than members
# that are missing or too many.
_VALUE = 100
_MEMBER = 101


def find_incoming(
    contract: Contract, session: Session, kind: MessageKind, message: Message
) -> Incoming | None:
    """The first unused request or notification that fits; else the last used one."""
    body = body_of(message)
    candidates = contract.index.candidates(kind, message["method"], body)
    unused = (number for number in candidates if not session.used[number])
    used = (number for number in reversed(candidates) if session.used[number])
    for number in chain(unused, used):
        incoming = contract.incoming[number]
        expected, unbound = _expected_body(incoming, session, message)
        if unbound:
            continue
        if incoming.leniency:
            fits = next(compare(expected, body, leniency=incoming.leniency), None) is None
        else:
            fits = is_met(expected, body)
        if fits:
            return incoming
    return None


def find_mismatches(incoming: Incoming, session: Session, message: Message) -> Iterator[Mismatch]:
    """Every way in which a message is not what the contract writes."""
    expected, unbound = _expected_body(incoming, session, message)
    for name in unbound:
        sentence = f"nothing has bound the name {name} yet"
        yield Mismatch(path="", expected=f"!!ref {name}", actual=ABSENT, message=sentence)
    yield from compare(expected, body_of(message), leniency=incoming.leniency)


def _expected_body(
    incoming: Incoming, session: Session, message: Message
) -> tuple[object, list[str]]:
    """The body to compare with, names filled in, and the names that nothing has bound."""
    if not incoming.needs and not incoming.own:
        return incoming.body, []
    pulled = pull_bound(incoming.binds, message) if incoming.own else {}
    known = {name: session.names.get((incoming.scope, name), _ANY) for name in incoming.needs}
    own = {name: pulled.get(name, _ANY) for name in incoming.own}
    unbound = [name for name, value in (*known.items(), *own.items()) if value is _ANY]
    # A name bound by another message of the same batch is known like earlier ones.
    return fill(incoming.body, known, known | own), unbound


def find_nearest(
    contract: Contract, session: Session, kind: MessageKind, message: Message
) -> tuple[Incoming | None, tuple[Mismatch, ...]]:
    """The message with the fewest mismatches, if any is near, and the mismatches.

    Only messages for the same tool, prompt or resource are near, if there are any.
    """
    method, body, index = message["method"], body_of(message), contract.index
    numbers = index.similar(kind, method, body)[:_MAX_COMPARED]
    if not numbers and method in LISTS:
        params = body["params"]
        cursor = params.get("cursor", ABSENT) if isinstance(params, dict) else params
        sentence = "is not expected: the list has no such page"
        return None, (
            Mismatch(path="params.cursor", expected=ABSENT, actual=cursor, message=sentence),
        )
    if not numbers:
        meant = closest(method, index.methods(kind))
        mismatch = Mismatch(
            path="method", expected=meant or ABSENT, actual=method, message="no case has it"
        )
        nearest = contract.incoming[index.numbers(kind, meant)[0]] if meant else None
        return nearest, (mismatch,)
    best, least = contract.incoming[numbers[0]], _VALUE * _MAX_MISMATCHES
    for incoming in map(contract.incoming.__getitem__, numbers):
        expected, unbound = _expected_body(incoming, session, message)
        cost = _VALUE * len(unbound) + _cost(expected, body, least)
        if cost < least:
            best, least = incoming, cost
    return best, tuple(islice(find_mismatches(best, session, message), _MAX_MISMATCHES))


def _cost(expected: object, actual: object, limit: int) -> int:
    """The cost of all mismatches that comparing would find; at the limit counting stops."""
    if isinstance(expected, dict) and isinstance(actual, dict):
        cost = _MEMBER * len(actual.keys() - expected.keys())
        pairs = [(wanted, actual.get(key, ABSENT)) for key, wanted in expected.items()]
    elif isinstance(expected, list) and isinstance(actual, list):
        cost = _MEMBER * abs(len(expected) - len(actual))
        pairs = list(zip(expected, actual, strict=False))
    else:
        return 0 if is_met(expected, actual) else _VALUE
    for wanted, got in pairs:
        if cost >= limit:
            return cost
        cost += _MEMBER if got is ABSENT else _cost(wanted, got, limit - cost)
    return cost


class Index:
    """The client's requests and notifications of a contract, one dict for each method."""

    def __init__(self, messages: Sequence[Incoming]) -> None:
        self._methods: dict[tuple[str, str], _Method] = {}
        for each in messages:
            self._methods.setdefault((each.kind, each.method), _Method()).add(each)

    def methods(self, kind: MessageKind) -> tuple[str, ...]:
        return tuple(method for each, method in self._methods if each == kind)

    def numbers(self, kind: MessageKind, method: str) -> Sequence[int]:
        """All messages with a method, in written order."""
        found = self._methods.get((kind, method))
        return found.numbers if found else ()

    def candidates(self, kind: MessageKind, method: str, body: dict[str, object]) -> Sequence[int]:
        """The messages that one with this body may be, in written order."""
        found = self._methods.get((kind, method))
        if found is None:
            return ()
        if method in COMPARED_IN_PART:
            return found.numbers
        keys = ((places, _key(body, blanks)) for places, blanks in found.blanks.items())
        lists = [found.by_key[key] for key in keys if key in found.by_key]
        return lists[0] if len(lists) == 1 else sorted(chain(*lists))

    def similar(self, kind: MessageKind, method: str, body: dict[str, object]) -> Sequence[int]:
        """The messages for the same or a similarly spelt name, else all with the method."""
        found = self._methods.get((kind, method))
        if found is None:
            return ()
        name = _name_in(body)
        meant = name if name in found.by_name else closest(name, found.by_name.keys())
        return [*found.by_name[meant], *found.unnamed] if meant else found.numbers


class _Method:
    """The messages of one kind with one method.

    `by_key` is keyed by where a message has blanks, and by everything else in it.
    """

    def __init__(self) -> None:
        self.numbers: list[int] = []
        self.by_name: dict[str, list[int]] = {}
        self.unnamed: list[int] = []
        self.by_key: dict[object, list[int]] = {}
        self.blanks: dict[tuple[Steps, ...], Blanks] = {}

    def add(self, message: Incoming) -> None:
        self.numbers.append(message.index)
        name = _name_in(message.body)
        (self.by_name.setdefault(name, []) if name else self.unnamed).append(message.index)
        places = tuple(_blank_places(message.body))
        if places not in self.blanks:
            root: Blanks = {}
            for *way, last in places:
                here = root
                for step in way:
                    here = here.setdefault(step, {})
                here[last] = None
            self.blanks[places] = root
        key = places, _key(message.body, self.blanks[places])
        self.by_key.setdefault(key, []).append(message.index)


def _name_in(body: dict[str, object]) -> str:
    """The plain name of the tool, prompt or resource in a message, "" if there is none."""
    params = body.get("params")
    if not isinstance(params, dict):
        return ""
    return next((params[key] for key in ("name", "uri") if isinstance(params.get(key), str)), "")


def _blank_places(value: object, steps: Steps = ()) -> Iterator[Steps]:
    """Where the blanks of a value are; the order of its members does not matter."""
    if isinstance(value, dict):
        for key in sorted(value):
            yield from _blank_places(value[key], (*steps, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _blank_places(item, (*steps, index))
    elif isinstance(value, (Pattern, Group, Ref)):
        yield steps


def _key(value: object, blanks: Blanks | None) -> object:
    """A dictionary key, equal for values that are equal outside these blanks; None for a blank."""
    if blanks is None:
        return None
    if isinstance(value, dict):
        names = [name for name in value if blanks.get(name, blanks) is not None]
        if len(names) > _MAX_MEMBERS:
            return "object", frozenset(names)
        return "object", frozenset(
            (name, _key(value[name], blanks.get(name, {}))) for name in names
        )
    if isinstance(value, list):
        items = enumerate(value[:_MAX_MEMBERS])
        return "array", len(value), tuple(_key(item, blanks.get(at, {})) for at, item in items)
    return json_type(value), value


# What a contract implies without writing it: the server's identity, capabilities and lists


def derive_capabilities(contract: Contract) -> Result:
    """What the server must declare for the messages of the contract to be allowed."""
    methods = {each.method for each in contract.incoming}
    methods |= {each.method for each in contract.outgoing}
    families = {method.removeprefix("notifications/").partition("/")[0] for method in methods}
    found: dict[str, dict[str, object]] = {}
    for family in ("tools", "resources", "prompts"):
        if family in families:
            changed = f"notifications/{family}/list_changed" in methods
            found[family] = {"listChanged": True} if changed else {}
    if methods & {"resources/subscribe", "notifications/resources/updated"}:
        found["resources"] = {"subscribe": True, **found.get("resources", {})}
    if methods & {"logging/setLevel", "notifications/message"}:
        found["logging"] = {}
    if "completion/complete" in methods:
        found["completions"] = {}
    return {**found}


def describe_server(
    contract: Contract, handshakes: Iterable[Incoming], capabilities: Result
) -> tuple[str, str, Result]:
    """The server's name, version and capabilities, from the first of these handshakes."""
    result = next((contract.answer_to(each).get("result") for each in handshakes), None)
    members = result if isinstance(result, dict) else {}
    info = members.get("serverInfo")
    info = info if isinstance(info, dict) else {}
    name, version = info.get("name"), info.get("version")
    declared = members.get("capabilities")
    if isinstance(declared, dict) and not has_blanks(declared):
        capabilities = declared
    return (
        name if isinstance(name, str) else contract.name,
        version if isinstance(version, str) else __version__,
        capabilities,
    )


def tool_schemas(contract: Contract, derived: Result) -> dict[str, object]:
    """The input schemas of tools by name: from the lists in the contract, else `derived`."""
    answers = map(contract.answer_to, contract.requests("tools/list"))
    found: dict[str, object] = {}
    for result in (derived, *(answer.get("result") for answer in answers)):
        tools = result.get("tools") if isinstance(result, dict) else None
        for tool in tools if isinstance(tools, list) else ():
            name = tool.get("name") if isinstance(tool, dict) else None
            if isinstance(name, str):
                found[name] = tool.get("inputSchema")
    return found


def describe_unplayable_cases(contract: Contract, revision: str) -> str:
    """A sentence about the cases that a client of a stateless revision can never exercise."""
    methods = REMOVED - {"initialize"}
    number = sum(
        any(contract.incoming[index].method in methods for index in case.incoming)
        for case in contract.cases
    )
    if not number:
        return ""
    cases = "1 case asks" if number == 1 else f"{number} cases ask"
    return f"{cases} for what revision {revision} does not have, and cannot be exercised in it"


def derive_list(contract: Contract, method: str) -> Result:
    """The result of a list method, derived from how the cases use what it would list."""
    readers = {"tools/list": _tools, "resources/list": _resources, "prompts/list": _prompts}
    return {LISTS[method]: list(readers[method](contract)) if method in readers else []}


def _uses(contract: Contract, method: str, key: str) -> dict[str, list[Incoming]]:
    """The requests for a tool, prompt or resource by its name, except those refused."""
    found: dict[str, list[Incoming]] = {}
    for each in contract.requests(method):
        name = params_of(each.body).get(key)
        if isinstance(name, str) and "error" not in contract.answer_to(each):
            found.setdefault(name, []).append(each)
    return found


def _tools(contract: Contract) -> Iterator[Message]:
    for name, uses in _uses(contract, "tools/call", "name").items():
        arguments = _arguments(uses)
        schema: Message = {"type": "object"}
        if arguments:
            schema["properties"] = {key: _schema_of(values) for key, values in arguments.items()}
        required = [key for key, values in arguments.items() if len(values) == len(uses)]
        if required:
            schema["required"] = required
        yield {"name": name, "inputSchema": schema}


def _prompts(contract: Contract) -> Iterator[Message]:
    for name, uses in _uses(contract, "prompts/get", "name").items():
        arguments = [
            {"name": key, "required": len(values) == len(uses)}
            for key, values in _arguments(uses).items()
        ]
        yield {"name": name, "arguments": arguments} if arguments else {"name": name}


def _resources(contract: Contract) -> Iterator[Message]:
    for uri, uses in _uses(contract, "resources/read", "uri").items():
        resource = {"uri": uri, "name": uri.rstrip("/").rpartition("/")[2] or uri}
        result = contract.answer_to(uses[0]).get("result")
        contents = result.get("contents") if isinstance(result, dict) else None
        first = contents[0] if isinstance(contents, list) and contents else None
        mime_type = first.get("mimeType") if isinstance(first, dict) else None
        if mime_type and isinstance(mime_type, str):
            resource["mimeType"] = mime_type
        yield resource


def _arguments(uses: Iterable[Incoming]) -> dict[str, list[object]]:
    """The arguments given in these requests, with all of their values."""
    found: dict[str, list[object]] = {}
    for each in uses:
        arguments = params_of(each.body).get("arguments")
        for name, value in arguments.items() if isinstance(arguments, dict) else ():
            found.setdefault(name, []).append(value)
    return found


def _schema_of(values: list[object]) -> Result:
    """A schema with the types of these values; {} if the type of one is not known."""
    types: dict[str, None] = {}
    for value in values:
        found = _types_of(value)
        if not found:
            return {}
        types.update(dict.fromkeys(found))
    if "number" in types:
        types.pop("integer", None)
    names = list(types)
    return {"type": names[0] if len(names) == 1 else names}


def _types_of(value: object) -> tuple[str, ...]:
    if isinstance(value, Pattern):
        if value.matcher.name == "type" and not value.negated:
            return tuple(value.parameter)
        return ("string",) if value.matcher.kinds == ("string",) and not value.negated else ()
    if type(value) is int:
        return ("integer",)
    try:
        return (json_type(value),)
    except KeyError:
        # A ref: its type is that of whatever was bound.
        return ()
