"""Play a contract: answer what the client says as the cases write it."""

from __future__ import annotations

from mcptest.core.jsonrpc import METHOD_NOT_FOUND, id_key, result_response
from mcptest.core.outcome import Mismatch
from mcptest.core.record import ABSENT
from mcptest.mock.bodies import LISTS
from mcptest.mock.cue_index import bits_of
from mcptest.mock.derived import listed
from mcptest.mock.finding import differences, find_cue
from mcptest.mock.identity import about_server, input_schemas, unplayable_cases
from mcptest.mock.implied import (
    ALWAYS_FINE,
    BEFORE_HANDSHAKE,
    INITIALIZED,
    capabilities_of,
    discover_result,
    empty_result,
    initialize_result,
)
from mcptest.mock.nearest import nearest_cue
from mcptest.mock.openings import is_exercised, open_first, open_next
from mcptest.mock.playing import UnboundNameError, hear, say
from mcptest.mock.refusal import INVALID_PARAMS, refusal
from mcptest.mock.report import MockReport
from mcptest.mock.state import Owed, Sent, fresh_state

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcptest.mock.script import Cue, Script
    from mcptest.mock.state import Asked, Message, State

    Outcome = tuple[State, tuple[Sent, ...]]

__all__ = ["ContractPlayer"]


class ContractPlayer:
    """The server's part of a script. With `is_once`, each cue is answered one time only."""

    def __init__(self, script: Script, *, is_once: bool = False) -> None:
        self._script = script
        self._is_once = is_once
        self._capabilities = capabilities_of(script)
        self._lists: dict[str, dict[str, object]] = {}
        self._about: tuple[str, str, dict[str, object]] | None = None
        self._schemas: dict[str, object] | None = None

    @property
    def methods(self) -> tuple[str, ...]:
        """The methods of requests that can be answered."""
        return tuple(dict.fromkeys((*self._script.methods, *BEFORE_HANDSHAKE, *LISTS)))

    @property
    def about(self) -> tuple[str, str, dict[str, object]]:
        """The name, the version and the capabilities of the server, as its handshake has them."""
        if self._about is None:
            self._about = about_server(self._script, self._welcoming, self._capabilities)
        return self._about

    def input_schema(self, tool: str) -> object:
        """The schema of the arguments of a tool, None when no list has it."""
        if self._schemas is None:
            self._schemas = input_schemas(self._script, self._listed("tools/list"))
        return self._schemas.get(tool)

    @property
    def _welcoming(self) -> list[Cue]:
        """The cues of a handshake that is not refused."""
        cues = self._script.cues_for("request", "initialize")
        return [cue for cue in cues if "error" not in self._script.answer_to(cue)]

    def start(self) -> State:
        return fresh_state(bits_of(self._script.opening))

    def enter(self, state: State) -> Outcome:
        """A client that makes no handshake: all cases that begin with one have had it."""
        unplayable = unplayable_cases(self._script)
        if unplayable:
            state = state.note("unplayable cases", unplayable)
        state = state.use(*(cue.index for cue in self._welcoming))
        return self._begin(state, {"jsonrpc": "2.0", "method": INITIALIZED})

    def report(self, state: State) -> MockReport:
        """What the client did in a session; a case is exercised when all of it came."""
        script = self._script
        exercised = [is_exercised(script, state, act) for act, _ in enumerate(script.acts)]
        asked = [script.lines[each.line] for each in state.asked.values()]
        awaited = {line.act: line.method for line in reversed(asked) if line.reply is not None}
        return MockReport.of([act.place() for act in script.acts], exercised, state, awaited)

    # Requests

    def request(self, state: State, message: Message) -> Outcome:
        method = message["method"]
        if method == "initialize":
            return self._initialize(state, message)
        opening: tuple[Sent, ...] = ()
        if method not in BEFORE_HANDSHAKE:
            state, opening = self._get_ready(state)
        before = state
        cue = find_cue(self._script, state, "request", message)
        if cue and self._is_once and state.has_used(cue.index):
            state, sent = self._refuse_again(state, cue, message)
        elif cue:
            state, sent = self._play(state, cue, message)
        else:
            state, sent = self._without_cue(state, message)
        return self._and_openings(before, state, (*opening, *sent))

    def _initialize(self, state: State, message: Message) -> Outcome:
        """Who the client is, is not the contract's business: any cue for it will do."""
        before = state
        cues = self._script.cues_for("request", "initialize")
        welcoming = self._welcoming
        cue = find_cue(self._script, state, "request", message)
        cue = cue or next(iter((*welcoming, *cues)), None)
        if cue is None:
            answer = self._result(message, self._initialized(message))
            return _negotiated(state, (answer,))
        state, sent = self._play(state, cue, message)
        if cue.answer is not None and self._script.lines[cue.answer].is_partial:
            sent = tuple(_completed(each, self._initialized(message)) for each in sent)
        if cue.index in {each.index for each in welcoming}:
            # A client does this once: all cases that begin with it have had it.
            state = state.use(*(each.index for each in welcoming))
        return self._and_openings(before, *_negotiated(state, sent))

    def _initialized(self, message: Message) -> dict[str, object]:
        params = message.get("params")
        return initialize_result(self._script.name, "", self._capabilities, params)

    def _play(self, state: State, cue: Cue, message: Message) -> Outcome:
        owed = Owed(cue=cue.index, id=message["id"])
        heard = hear(state, cue, message).owe(owed)
        try:
            heard, sent = say(self._script, heard, cue.lines, owed)
        except UnboundNameError as error:
            return self._refuse_unbound(state.owe(owed), error, message, owed)
        if cue.answer is None:
            heard = heard.settle(owed)
            sent = (*sent, self._result(message, self._plausible(message)))
        return heard, sent

    def _plausible(self, message: Message) -> dict[str, object]:
        method = message["method"]
        if method in LISTS:
            return self._listed(method)
        return self._initialized(message) if method == "initialize" else empty_result(method)

    def _without_cue(self, state: State, message: Message) -> Outcome:
        method = message["method"]
        params = message.get("params")
        cursor = params.get("cursor") if isinstance(params, dict) else None
        if method == "ping":
            return state, (self._result(message, {}),)
        if method == "server/discover":
            return state, (self._result(message, discover_result(*self.about)),)
        if method in LISTS and cursor is None:
            return state, (self._result(message, self._listed(method)),)
        return self._refuse(state, message)

    def _listed(self, method: str) -> dict[str, object]:
        # Always the same, and made of the whole contract.
        if method not in self._lists:
            self._lists[method] = listed(self._script, method)
        return self._lists[method]

    def _result(self, message: Message, result: dict[str, object]) -> Sent:
        return Sent(message=result_response(message["id"], result), method=message["method"])

    # Refusals

    def _refuse(self, state: State, message: Message) -> Outcome:
        method = message["method"]
        near = nearest_cue(self._script, state, "request", message)
        is_known = method in self.methods
        if is_known:
            code, sentence = INVALID_PARAMS, f"no case answers this {method}"
        else:
            meant = f"; did you mean {near.cue.method}?" if near.cue else ""
            code, sentence = METHOD_NOT_FOUND, f"no case has the method {method}{meant}"
        return self._refused(state, message, code, sentence, near.cue, near.differences)

    def _refuse_again(self, state: State, cue: Cue, message: Message) -> Outcome:
        sentence = "every case that answers this has been used, and each is used once"
        return self._refused(state, message, INVALID_PARAMS, sentence, cue, ())

    def _refuse_unbound(
        self, state: State, error: UnboundNameError, message: Message, owed: Owed | None
    ) -> Outcome:
        """A line that cannot be filled in: another case of the file must come before it."""
        act = self._script.acts[error.line.act]
        sentence = f"nothing has bound the name {error.name} yet, which the answer needs"
        difference = Mismatch(
            path="", expected=f"!!ref {error.name}", actual=ABSENT, message=sentence
        )
        state = state.blame(message, act.place(), (difference,))
        if owed is None or not state.is_owed(owed):
            return state, ()
        method = self._script.cues[owed.cue].method
        return state.settle(owed), (
            refusal(owed.id, method, INVALID_PARAMS, sentence, act.place(), (difference,)),
        )

    def _refused(
        self,
        state: State,
        message: Message,
        code: int,
        sentence: str,
        cue: Cue | None,
        found: Sequence[Mismatch],
    ) -> Outcome:
        place = self._script.acts[cue.act].place() if cue else None
        answer = refusal(message["id"], message["method"], code, sentence, place, found)
        return state.blame(message, place, found), (answer,)

    # Notifications

    def notification(self, state: State, message: Message) -> Outcome:
        if message["method"] == INITIALIZED:
            return self._begin(state, message)
        return self._and_openings(state, *self._notified(state, message))

    def _notified(self, state: State, message: Message) -> Outcome:
        cue = find_cue(self._script, state, "notification", message)
        is_spent = cue is not None and self._is_once and state.has_used(cue.index)
        if cue and not is_spent:
            return self._upon(state, cue, message)
        if message["method"] in ALWAYS_FINE:
            return state, ()
        near = nearest_cue(self._script, state, "notification", message)
        place = self._script.acts[near.cue.act].place() if near.cue else None
        return state.blame(message, place, near.differences), ()

    def _begin(self, state: State, message: Message) -> Outcome:
        """The session is ready: all cases that begin like this go on."""
        before = state
        sent: list[Sent] = []
        for cue in self._script.cues_for("notification", INITIALIZED):
            if not state.has_used(cue.index):
                state, more = self._upon(state, cue, message)
                sent += more
        state, opening = self._get_ready(state)
        return self._and_openings(before, state, (*sent, *opening))

    def _get_ready(self, state: State) -> Outcome:
        if state.is_ready:
            return state, ()
        return open_first(self._script, state.but(is_ready=True))

    def _and_openings(self, before: State, state: State, sent: tuple[Sent, ...]) -> Outcome:
        """What was sent, and the openings of cases whose turn has come thereby."""
        state, opening = open_next(self._script, before, state)
        return state, (*sent, *opening)

    def _upon(self, state: State, cue: Cue, message: Message, owed: Owed | None = None) -> Outcome:
        try:
            return say(self._script, hear(state, cue, message), cue.lines, owed)
        except UnboundNameError as error:
            return self._refuse_unbound(state, error, message, owed)

    # Answers of the client

    def response(self, state: State, message: Message, breaches: Sequence[str]) -> Outcome:
        key = id_key(message.get("id"))
        asked = state.asked.get(key)
        if asked is None:
            return self._refuse_stray(state, message)
        state = state.hear_answer(key)
        reply = self._script.lines[asked.line].reply
        cue = None if reply is None else self._script.cues[reply]
        wrong = [Mismatch(path="", expected=ABSENT, actual=ABSENT, message=b) for b in breaches]
        if cue and not wrong:
            wrong = list(differences(cue, state, message))
        if wrong:
            return self._refuse_reply(state, asked, message, wrong)
        if cue is None:
            return state, ()
        return self._and_openings(state, *self._upon(state, cue, message, asked.owed))

    def _refuse_stray(self, state: State, message: Message) -> Outcome:
        """An answer to what was not asked. Of a single question it is the answer, and wrong."""
        found = Mismatch(
            path="id",
            expected=ABSENT,
            actual=message.get("id"),
            message="answers nothing that was asked",
        )
        if len(state.asked) != 1:
            return state.blame(message, None, (found,)), ()
        ((key, asked),) = state.asked.items()
        found = found.but(expected=key[1], message="differs", hint="an answer repeats the id")
        return self._refuse_reply(state.hear_answer(key), asked, message, (found,))

    def _refuse_reply(
        self, state: State, asked: Asked, message: Message, found: Sequence[Mismatch]
    ) -> Outcome:
        """The request that waits for this answer gets to know what is wrong with it."""
        line = self._script.lines[asked.line]
        place = self._script.acts[line.act].place()
        state = state.blame(message, place, found)
        waiting = asked.owed
        if waiting is None or not state.is_owed(waiting):
            return state, ()
        sentence = f"the client's answer to {line.method} is not what the case says"
        method = self._script.cues[waiting.cue].method
        answer = refusal(waiting.id, method, INVALID_PARAMS, sentence, place, found)
        return state.settle(waiting), (answer,)


def _completed(sent: Sent, whole: dict[str, object]) -> Sent:
    """The answer to `initialize` with what its case leaves out of it."""
    message = sent.message
    result = message.get("result") if isinstance(message, dict) else None
    if sent.method != "initialize" or not isinstance(result, dict):
        return sent
    assert isinstance(message, dict)
    return sent.but(message=message | {"result": whole | result})


def _negotiated(state: State, sent: tuple[Sent, ...]) -> Outcome:
    """The session with the revision that the answer to `initialize` names."""
    for each in sent:
        result = each.message.get("result") if isinstance(each.message, dict) else None
        if each.method == "initialize" and isinstance(result, dict):
            state = state.but(revision=str(result.get("protocolVersion", "")))
    return state, sent
