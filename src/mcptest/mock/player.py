"""Play a contract: answer the client as the cases write it."""

from __future__ import annotations

from functools import cached_property

from mcptest.core.results import Mismatch
from mcptest.core.value_class import ABSENT
from mcptest.matching.case_tags import fill, pull_bound
from mcptest.mock.contract import (
    derive_capabilities,
    derive_list,
    describe_server,
    describe_unplayable_cases,
    find_incoming,
    find_mismatches,
    find_nearest,
    tool_schemas,
)
from mcptest.mock.session import (
    ALWAYS_ALLOWED,
    BEFORE_HANDSHAKE,
    INITIALIZED,
    LISTS,
    NEEDED_CAPABILITIES,
    PROGRESS,
    Asked,
    CaseReport,
    Pending,
    Sent,
    Session,
    describe_unasked,
    discover_result,
    empty_result,
    error_answer,
    initialize_result,
    problem,
)
from mcptest.protocol.dialogue import Ref
from mcptest.protocol.jsonrpc import (
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    id_key,
    meta_of,
    params_of,
    result_response,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from mcptest.mock.contract import Contract, Incoming, Outgoing
    from mcptest.mock.session import Message, MockReport
    from mcptest.protocol.jsonrpc import IdKey

__all__ = ["ContractPlayer"]

_ID_TYPES = (str, int)

# The key of the progress token of the latest request of a case.
_LATEST: IdKey = ("", None)


class _UnboundNameError(Exception):
    """A message to send needs a name that nothing has bound yet."""

    def __init__(self, outgoing: Outgoing, name: str) -> None:
        super().__init__(name)
        self.outgoing = outgoing
        self.name = name


class ContractPlayer:
    """The server's side of a contract. With `is_once`, each message is answered only once.

    Everything that changes is in the `Session`; one player serves any number of them.
    """

    def __init__(self, contract: Contract, *, is_once: bool = False) -> None:
        self._contract = contract
        self._is_once = is_once
        self._capabilities = derive_capabilities(contract)
        self._handshakes = [
            each
            for each in contract.requests("initialize")
            if "error" not in contract.answer_to(each)
        ]
        self._lists: dict[str, dict[str, object]] = {}

    @property
    def revision(self) -> str:
        """The only revision of the protocol that is spoken, "" if the client chooses."""
        return self._contract.revision

    @property
    def methods(self) -> tuple[str, ...]:
        """The methods of requests that can be answered."""
        methods = self._contract.index.methods("request")
        return tuple(dict.fromkeys((*methods, *BEFORE_HANDSHAKE, *LISTS)))

    @cached_property
    def about(self) -> tuple[str, str, dict[str, object]]:
        """The name, the version and the capabilities of the server."""
        return describe_server(self._contract, self._handshakes, self._capabilities)

    def input_schema(self, tool: str) -> object:
        """The schema of a tool's arguments, None if no list has the tool."""
        return self._schemas.get(tool)

    @cached_property
    def _schemas(self) -> dict[str, object]:
        return tool_schemas(self._contract, self._list("tools/list"))

    def start(self) -> Session:
        """A session in which nothing has been sent."""
        opening = (index for case in self._contract.cases for index in case.opening)
        return Session(len(self._contract.incoming), opening)

    def skip_handshake(self, session: Session) -> list[Sent]:
        """Begin without a handshake: it counts as done in every case that begins with it."""
        unplayable = describe_unplayable_cases(self._contract, session.revision)
        if unplayable:
            session.note("unplayable cases", unplayable)
        self._mark_used(session, self._handshakes)
        return self.notification(session, {"jsonrpc": "2.0", "method": INITIALIZED})

    def report(self, session: Session) -> MockReport:
        """What the client did; a case is exercised when all of its messages came."""
        asked = [self._contract.outgoing[each.outgoing] for each in session.asked.values()]
        awaited = {each.case: each.method for each in reversed(asked) if each.reply is not None}
        return session.report(
            CaseReport(
                place=case.place(),
                is_exercised=self._is_exercised(session, number),
                awaited=awaited.get(number, ""),
            )
            for number, case in enumerate(self._contract.cases)
        )

    # Messages of the client

    def request(self, session: Session, message: Message) -> list[Sent]:
        """Answer a request."""
        method = message["method"]
        if method == "initialize":
            sent = self._initialize(session, message)
        else:
            sent = [] if method in BEFORE_HANDSHAKE else self._open_first_cases(session)
            incoming = find_incoming(self._contract, session, "request", message)
            if incoming is None:
                sent.append(self._answer_unwritten(session, message))
            elif self._is_once and session.used[incoming.index]:
                sentence = "every case that answers this has been used, and each is used once"
                place = self._place(incoming.case)
                session.blame(message, place)
                sent.append(error_answer(message["id"], method, INVALID_PARAMS, sentence, place))
            else:
                sent += self._play_request(session, incoming, message)
        return sent + self._open_next_cases(session)

    def notification(self, session: Session, message: Message) -> list[Sent]:
        """Send what follows a notification."""
        if message["method"] == INITIALIZED:
            sent: list[Sent] = []
            # The session is ready: all cases that begin like this continue.
            for number in self._contract.index.numbers("notification", INITIALIZED):
                if not session.used[number]:
                    sent += self._play(session, self._contract.incoming[number], message)
            sent += self._open_first_cases(session)
            return sent + self._open_next_cases(session)
        incoming = find_incoming(self._contract, session, "notification", message)
        if incoming and not (self._is_once and session.used[incoming.index]):
            sent = self._play(session, incoming, message)
            return sent + self._open_next_cases(session)
        if message["method"] not in ALWAYS_ALLOWED:
            nearest, found = find_nearest(self._contract, session, "notification", message)
            session.blame(message, self._place(nearest.case) if nearest else None, found)
        return []

    def response(self, session: Session, message: Message, violations: Sequence[str]) -> list[Sent]:
        """Continue after an answer of the client; `violations` is what JSON-RPC forbids."""
        key = id_key(message.get("id"))
        asked = session.asked.pop(key, None)
        if asked is None:
            found = describe_unasked(message)
            if len(session.asked) != 1:
                session.blame(message, None, (found,))
                return []
            # A single question waits: this is its answer, with the wrong id.
            key, asked = session.asked.popitem()
            found = found.but(expected=key[1], message="differs", hint="an answer repeats the id")
            return self._refuse_answer(session, asked, message, (found,))
        reply = self._contract.outgoing[asked.outgoing].reply
        incoming = None if reply is None else self._contract.incoming[reply]
        wrong = [problem(sentence) for sentence in violations]
        if incoming and not wrong:
            wrong = list(find_mismatches(incoming, session, message))
        if wrong:
            return self._refuse_answer(session, asked, message, wrong)
        if incoming is None:
            return []
        sent = self._play(session, incoming, message, asked.pending)
        return sent + self._open_next_cases(session)

    def _refuse_answer(
        self, session: Session, asked: Asked, message: Message, found: Sequence[Mismatch]
    ) -> list[Sent]:
        """Blame a wrong answer; the request that waits for it gets an error."""
        outgoing = self._contract.outgoing[asked.outgoing]
        place = self._place(outgoing.case)
        session.blame(message, place, found)
        sentence = f"the client's answer to {outgoing.method} is not what the case says"
        return self._fail_pending(session, asked.pending, sentence, place, found)

    def _fail_pending(
        self,
        session: Session,
        pending: Pending | None,
        sentence: str,
        place: dict[str, object],
        found: Sequence[Mismatch],
    ) -> list[Sent]:
        """Answer a waiting request with an error, if it still waits."""
        if pending is None or not session.is_pending(pending):
            return []
        session.settle(pending)
        method = self._contract.incoming[pending.incoming].method
        return [error_answer(pending.id, method, INVALID_PARAMS, sentence, place, found)]

    # Requests

    def _initialize(self, session: Session, message: Message) -> list[Sent]:
        """Who the client is does not matter: if no handshake fits, the first one answers."""
        incoming = find_incoming(self._contract, session, "request", message)
        others = (*self._handshakes, *self._contract.requests("initialize"))
        incoming = incoming or next(iter(others), None)
        is_partial = False
        if incoming is None:
            sent = [_result(message, self._default_result(message))]
        else:
            sent = self._play_request(session, incoming, message)
            if any(each is incoming for each in self._handshakes):
                # A client does this once: it counts for all cases that begin with it.
                self._mark_used(session, self._handshakes)
            if incoming.answer is not None:
                is_partial = self._contract.outgoing[incoming.answer].is_partial
        for at, each in enumerate(sent):
            result = each.members.get("result")
            if each.is_answer and isinstance(result, dict):
                if is_partial:
                    result = self._default_result(message) | result
                    sent[at] = each.but(message=each.members | {"result": result})
                session.revision = str(result.get("protocolVersion", ""))
        return sent

    def _play_request(self, session: Session, incoming: Incoming, message: Message) -> list[Sent]:
        pending = Pending(incoming=incoming.index, id=message["id"])
        session.add_pending(pending)
        sent = self._play(session, incoming, message, pending)
        if incoming.answer is None and session.is_pending(pending):
            session.settle(pending)
            sent.append(_result(message, self._default_result(message)))
        return sent

    def _default_result(self, message: Message) -> dict[str, object]:
        """The result of a request whose case has no answer, or a part of one."""
        method = message["method"]
        if method in LISTS:
            return self._list(method)
        if method == "initialize":
            params = message.get("params")
            if self._contract.revision:
                params = {"protocolVersion": self._contract.revision}
            return initialize_result(self._contract.name, "", self._capabilities, params)
        return empty_result(method)

    def _answer_unwritten(self, session: Session, message: Message) -> Sent:
        """Answer a request that no case has."""
        method = message["method"]
        if method == "ping":
            return _result(message, {})
        if method == "server/discover":
            return _result(message, discover_result(*self.about))
        if method in LISTS and params_of(message).get("cursor") is None:
            return _result(message, self._list(method))
        nearest, found = find_nearest(self._contract, session, "request", message)
        if method in self.methods:
            code, sentence = INVALID_PARAMS, f"no case answers this {method}"
        else:
            meant = f"; did you mean {nearest.method}?" if nearest else ""
            code, sentence = METHOD_NOT_FOUND, f"no case has the method {method}{meant}"
        place = self._place(nearest.case) if nearest else None
        return session.refuse(message, code, sentence, place, found)

    def _list(self, method: str) -> dict[str, object]:
        if method not in self._lists:
            self._lists[method] = derive_list(self._contract, method)
        return self._lists[method]

    def _place(self, case: int) -> dict[str, object]:
        return self._contract.cases[case].place()

    # Cases that the server opens, each after the one before it in the file was exercised

    def _is_exercised(self, session: Session, number: int) -> bool:
        """True if a case was opened, and everything in it was received."""
        case = self._contract.cases[number]
        used = session.used[case.incoming.start : case.incoming.stop]
        return 0 not in used and session.unsent.isdisjoint(case.opening)

    def _open_first_cases(self, session: Session) -> list[Sent]:
        """Open the first case of each file, once."""
        if session.is_ready:
            return []
        session.is_ready = True
        cases = self._contract.cases
        return self._open_cases(session, (at for at, case in enumerate(cases) if case.opening))

    def _open_next_cases(self, session: Session) -> list[Sent]:
        """Open the cases whose turn has come since this was last called."""
        touched, session.touched = session.touched, set()
        has_new_names, session.has_new_names = session.has_new_names, False
        if not session.is_ready or not session.unsent:
            return []
        cases = {self._contract.neighbour(case, 1) for case in touched}
        if has_new_names:
            cases.update(session.held)
        return self._open_cases(session, sorted(case for case in cases if case is not None))

    def _open_cases(self, session: Session, cases: Iterable[int]) -> list[Sent]:
        """Open those whose turn it is, and the next case while nothing has to be waited for."""
        sent: list[Sent] = []
        for first in cases:
            case: int | None = first
            while case is not None and self._is_turn_of(session, case):
                sent += self._open_case(session, case)
                is_done = self._is_exercised(session, case)
                case = self._contract.neighbour(case, 1) if is_done else None
        return sent

    def _is_turn_of(self, session: Session, case: int) -> bool:
        if session.unsent.isdisjoint(self._contract.cases[case].opening):
            return False
        previous = self._contract.neighbour(case, -1)
        return previous is None or self._is_exercised(session, previous)

    def _open_case(self, session: Session, case: int) -> list[Sent]:
        sent: list[Sent] = []
        session.held = [each for each in session.held if each != case]
        for index in self._contract.cases[case].opening:
            if index not in session.unsent:
                continue
            try:
                sent += self._prepare(session, self._contract.outgoing[index], None)
            except _UnboundNameError:
                # Another case must bind the name first.
                if case not in session.held:
                    session.held.append(case)
            else:
                session.unsent.discard(index)
        return sent

    # Receiving and sending single messages

    def _play(
        self, session: Session, incoming: Incoming, message: Message, pending: Pending | None = None
    ) -> list[Sent]:
        """Receive a message, and send what follows it. `pending` is the request behind it.

        If a name is missing, nothing has happened except that the request gets an error.
        """
        before = session.copy()
        self._mark_used(session, (incoming,))
        _bind(session, incoming, pull_bound(incoming.binds, message))
        if incoming.kind == "request":
            token = meta_of(message).get("progressToken", ABSENT)
            written = token if incoming.token is ABSENT else incoming.token
            if written is not ABSENT:
                session.tokens[incoming.case, id_key(written)] = token
            session.tokens[incoming.case, _LATEST] = token
        sent: list[Sent] = []
        try:
            for index in incoming.replies:
                sent += self._prepare(session, self._contract.outgoing[index], pending)
        except _UnboundNameError as error:
            session.restore(before)
            sentence = f"nothing has bound the name {error.name} yet, which the answer needs"
            found = problem(sentence).but(expected=f"!!ref {error.name}")
            place = self._place(error.outgoing.case)
            session.blame(message, place, (found,))
            return self._fail_pending(session, pending, sentence, place, (found,))
        return sent

    def _mark_used(self, session: Session, messages: Iterable[Incoming]) -> None:
        for each in messages:
            if not session.used[each.index]:
                session.used[each.index] = 1
                session.touched.add(each.case)

    def _prepare(self, session: Session, outgoing: Outgoing, pending: Pending | None) -> list[Sent]:
        """The message to send, if it is to be sent. _UnboundNameError if a name is missing."""
        names = {name: session.names.get((outgoing.scope, name), ABSENT) for name in outgoing.needs}
        missing = [name for name, value in names.items() if value is ABSENT]
        if missing and outgoing.kind == "notification" and outgoing.optional.issuperset(missing):
            # For example progress, and the client gave no progress token.
            return []
        if missing:
            raise _UnboundNameError(outgoing, missing[0])
        message = fill(outgoing.value, names)
        assert isinstance(message, dict)
        method = key = ""
        is_answer = outgoing.kind == "response"
        if is_answer:
            if pending is None or pending.incoming != outgoing.answers:
                return []
            if not session.is_pending(pending):
                return []
            session.settle(pending)
            message["id"] = pending.id
            method = self._contract.incoming[pending.incoming].method
        elif outgoing.kind == "request":
            key = self._assign_id(session, outgoing, message, pending)
        elif outgoing.method == PROGRESS and isinstance(message.get("params"), dict):
            written = message["params"].get("progressToken")
            # Without a request that writes this token, it belongs to the latest one.
            latest = session.tokens.get((outgoing.case, _LATEST), ABSENT)
            token = session.tokens.get((outgoing.case, id_key(written)), latest)
            if token is ABSENT:
                return []
            message["params"] = message["params"] | {"progressToken": token}
        if outgoing.binds:
            # Last, because a message may refer to its own id.
            found = pull_bound(outgoing.binds, message)
            whole = fill(message, {}, found)
            assert isinstance(whole, dict)
            message = whole
            _bind(session, outgoing, found)
        request_id = ABSENT if pending is None or is_answer else pending.id
        return [Sent(message=message, method=method, request_id=request_id, key=key)]

    def _assign_id(
        self, session: Session, outgoing: Outgoing, message: Message, pending: Pending | None
    ) -> str:
        """Give a request to the client a free id; return the one that the contract writes."""
        id = outgoing.id
        if isinstance(id, Ref):
            id = fill(message["id"], {}, pull_bound(outgoing.binds, message))
        key = str(id) if type(id) in _ID_TYPES else ""
        while type(id) not in _ID_TYPES or id_key(id) in session.asked:
            session.ids_made += 1
            id = f"mock-{session.ids_made}"
        message["id"] = id
        session.ask(id_key(id), Asked(outgoing=outgoing.index, pending=pending))
        needed = NEEDED_CAPABILITIES.get(outgoing.method)
        if needed and needed not in (session.declared or ()):
            sentence = f"{outgoing.method} was sent to a client that did not declare {needed}"
            session.note(outgoing.method, sentence)
        return key or str(id)


def _bind(session: Session, message: Incoming | Outgoing, found: Mapping[str, object]) -> None:
    """Bind the names of a message to what was found in it; a name without a value is unbound."""
    for bind in message.binds:
        session.has_new_names = True
        if bind.name in found:
            session.names[message.scope, bind.name] = found[bind.name]
        else:
            session.names.pop((message.scope, bind.name), None)


def _result(message: Message, result: dict[str, object]) -> Sent:
    return Sent(message=result_response(message["id"], result), method=message["method"])
