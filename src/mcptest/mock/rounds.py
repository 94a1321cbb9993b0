"""Ask a client that cannot be asked: `input_required`, and the same request once more.

Where a contract has the server ask something, a client of the stateless era gets the questions
as the result of its request. It asks again, with the answers and the token that came with
them; then the contract goes on as if the client had been asked.
"""

from __future__ import annotations

from binascii import crc32

from mcptest.core.jsonrpc import result_response
from mcptest.core.strict_json import dump_json
from mcptest.mock.bodies import body_of
from mcptest.mock.eras import MISSING_CAPABILITY, Fault, params_of
from mcptest.mock.playing import NEEDED
from mcptest.mock.refusal import INVALID_PARAMS
from mcptest.mock.state import Round, Sent

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mcptest.mock.state import Message, State

    # By the ids that the contract writes.
    Questions = Sequence[tuple[str, Message]]

__all__ = ["answers_in", "ask_by_result", "ask_once_more", "find_round", "undeclared"]

_RESPONSES = "inputResponses"
_STATE = "requestState"


def undeclared(state: State, questions: Questions) -> Fault | None:
    """The fault of a client that is to be asked what it did not say it can answer."""
    needed: dict[str, object] = {NEEDED[each["method"]]: {} for _, each in questions}
    missing = {name: each for name, each in needed.items() if name not in (state.declared or ())}
    if not missing:
        return None
    sentence = f"this needs a client that declares {' and '.join(missing)}"
    return Fault(code=MISSING_CAPABILITY, sentence=sentence, data={"requiredCapabilities": missing})


def ask_by_result(
    state: State, message: Message, owed: object, questions: Questions
) -> tuple[State, Sent]:
    """The session that waits for answers to these questions, and the result that has them."""
    by_key: dict[str, Message] = {}
    for key, each in questions:
        by_key[f"{key}-{len(by_key)}" if key in by_key else key] = each
    method, body = message["method"], _plain_body(message)
    round = Round(
        token=_token(state, method, body), owed=owed, method=method, body=body, questions=by_key
    )
    return state.open_round(round), _asking(round, message, by_key)


def _asking(round: Round, message: Message, questions: Mapping[str, Message]) -> Sent:
    asked = {
        key: {name: each[name] for name in ("method", "params") if name in each}
        for key, each in questions.items()
    }
    result = {"resultType": "input_required", "inputRequests": asked, _STATE: round.token}
    return Sent(message=result_response(message["id"], result), method=message["method"])


def _token(state: State, method: str, body: object) -> str:
    """What no other round has, and none has with a few characters changed."""
    number = state.minted + 1
    # A check, and no secret: what would keep strangers out takes longer to load than all this.
    seal = crc32(f"{number} {method} {dump_json(body)}".encode("utf-8", "replace"))
    return f"mock-{number}-{seal:08x}{crc32(b'%d' % seal):08x}"


def _plain_body(message: Message) -> object:
    """What a request asks for, without what belongs to its round."""
    params = {
        key: value for key, value in params_of(message).items() if key not in (_RESPONSES, _STATE)
    }
    return body_of(message | {"params": params})


def find_round(state: State, message: Message) -> Round | Fault | None:
    """The round that a request goes on with; a fault when it is not the same request."""
    token = params_of(message).get(_STATE)
    round = next((each for each in state.rounds if each.token == token), None)
    if round is None:
        return None
    if (round.method, round.body) != (message["method"], _plain_body(message)):
        sentence = f"{_STATE} belongs to another request: a retry repeats its method and params"
        return Fault(code=INVALID_PARAMS, sentence=sentence)
    if not isinstance(params_of(message).get(_RESPONSES, {}), dict):
        return Fault(code=INVALID_PARAMS, sentence=f"params.{_RESPONSES} must be an object")
    return round


def ask_once_more(round: Round, message: Message) -> Sent | None:
    """The questions once more, when one of them has no answer in this request."""
    given = params_of(message).get(_RESPONSES)
    open = {
        key: each
        for key, each in round.questions.items()
        if not isinstance(given, dict) or not isinstance(given.get(key), dict)
    }
    return _asking(round, message, round.questions) if open else None


def answers_in(round: Round, message: Message) -> list[Message]:
    """The client's answers, as they would have come one by one."""
    given = params_of(message)[_RESPONSES]
    assert isinstance(given, dict)
    return [
        result_response(question["id"], given[key]) for key, question in round.questions.items()
    ]
