"""Checks of tools that ask the client for something: a form, an answer of a model.

The hints `eliciting_tool` and `sampling_tool` name such tools. With a handshake the server sends a
request while the call is open; in the stateless era it answers that input is required, and the
client repeats the call with it (MRTR).
"""

from __future__ import annotations

from functools import partial

from mcptest.compliance.check import (
    PASSED,
    Check,
    Outcome,
    could_not_run,
    not_applicable,
    violated,
)
from mcptest.compliance.checks.features import hinted_call, is_success, own_session, show_name
from mcptest.core.strict_json import dump_json
from mcptest.core.text import excerpt
from mcptest.explore.arguments import sample_arguments
from mcptest.protocol.jsonrpc import INTERNAL_ERROR, METHOD_NOT_FOUND
from mcptest.protocol.revisions import MISSING_CAPABILITY

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from mcptest.compliance.raw_connection import Answer, Peer
    from mcptest.compliance.run import Run

    Message = dict[str, Any]

__all__ = ["CHECKS"]

_ELICIT = "elicitation/create"
_SAMPLE = "sampling/createMessage"
# The hint with a tool that needs a capability of the client.
_TOOLS = {"eliciting_tool": "elicitation", "sampling_tool": "sampling"}
_MODEL_ANSWER: Message = {
    "role": "assistant",
    "content": {"type": "text", "text": "An answer of mcptest."},
    "model": "mcptest",
    "stopReason": "endTurn",
}


# A client without the capability


def _names_missing_capability(peer: Peer, run: Run) -> Outcome:
    outcome = not_applicable("the tools of the hints work without the capability")
    for hint, capability in _TOOLS.items():
        if not run.hints.get(hint):
            continue
        peer.clear_evidence()
        answer = peer.request("tools/call", hinted_call(run.hints, hint))
        if is_success(answer):
            continue
        what = (
            f"a call of {hint} from a client that does not declare {capability} got "
            f"{answer.describe()}; expected error {MISSING_CAPABILITY}"
        )
        result = answer.result
        if result is not None:
            # What asks for input nevertheless is reported by MRTR-04.
            if result.get("resultType") == "complete":
                return violated(what, level="SHOULD")
            continue
        data = (answer.error or {}).get("data")
        required = data.get("requiredCapabilities") if isinstance(data, dict) else None
        if answer.code != MISSING_CAPABILITY:
            return violated(what)
        if not isinstance(required, dict) or capability not in required:
            return violated(f"{what} whose data.requiredCapabilities has {capability}")
        outcome = PASSED
    return outcome


def _missing_capability_status(peer: Peer, run: Run) -> Outcome:
    answer = peer.request("tools/call", hinted_call(run.hints, "eliciting_tool"))
    if answer.code != MISSING_CAPABILITY:
        return not_applicable(f"the call did not get error {MISSING_CAPABILITY}, see BASE-35")
    if answer.status == 400:
        return PASSED
    return violated(
        f"error {MISSING_CAPABILITY} came with HTTP status {answer.status}; expected 400"
    )


# Answers that a user or a model may give


def _survives_refusals(peer: Peer, run: Run) -> Outcome:
    """Decline and cancel an elicitation, and answer it with an error: the call must end."""
    call = hinted_call(run.hints, "eliciting_tool")
    replies: dict[str, Message] = {
        "decline": {"result": {"action": "decline"}},
        "cancel": {"result": {"action": "cancel"}},
    }
    if not peer.is_stateless:
        replies["an error"] = {"error": {"code": INTERNAL_ERROR, "message": "mcptest refuses"}}
    with own_session(peer, run, "elicitation") as fresh:
        for how, reply in replies.items():
            fresh.clear_evidence()
            fresh.replies[_ELICIT] = reply
            if fresh.is_stateless:
                first = fresh.request("tools/call", call)
                if not _requires_input(first, _ELICIT):
                    return _not_asked("eliciting_tool", first)
                answer = _retry(fresh, call, first, {_ELICIT: reply["result"]})
            else:
                before = len(fresh.messages)
                answer = fresh.request("tools/call", call)
                if not any(each.get("method") == _ELICIT for each in fresh.messages[before:]):
                    return _not_asked("eliciting_tool", answer)
            is_internal = answer.code == INTERNAL_ERROR and how != "an error"
            if is_internal or (answer.message is None and not answer.is_refused):
                return violated(
                    f"the elicitation of the tool {show_name(call)} was answered "
                    f"with {how}, and its call got {answer.describe()}; expected a result"
                )
    return PASSED


def _survives_refused_sampling(peer: Peer, run: Run) -> Outcome:
    call = hinted_call(run.hints, "sampling_tool")
    with own_session(peer, run, "sampling") as fresh:
        for code, text in ((-1, "User rejected sampling request"), (METHOD_NOT_FOUND, "no")):
            fresh.clear_evidence()
            fresh.replies[_SAMPLE] = {"error": {"code": code, "message": text}}
            before = len(fresh.messages)
            answer = fresh.request("tools/call", call)
            if not any(each.get("method") == _SAMPLE for each in fresh.messages[before:]):
                return _not_asked("sampling_tool", answer)
            if answer.message is None and not answer.is_refused:
                return violated(
                    f"{_SAMPLE} was answered with error {code}, and the call that needed it got "
                    f"{answer.describe()}; expected a result or an error"
                )
    return PASSED


def _not_asked(hint: str, answer: Answer) -> Outcome:
    """The outcome if a hint is wrong about a tool."""
    return could_not_run(
        f"the call of {hint} did not ask for anything, it got {answer.describe()}", needs=hint
    )


# Calls that are repeated with input


def _requires_input(answer: Answer, method: str = "") -> bool:
    """True if an answer says that input is required, of this method."""
    result = answer.result or {}
    if result.get("resultType") != "input_required":
        return False
    return not method or any(
        each.get("method") == method for each in _input_requests(answer).values()
    )


def _input_requests(answer: Answer) -> dict[str, Message]:
    requests = (answer.result or {}).get("inputRequests")
    found = requests.items() if isinstance(requests, dict) else ()
    return {key: each for key, each in found if isinstance(each, dict)}


def _good_answers(answer: Answer) -> dict[str, Message]:
    """An answer to each question that a user or a model could have given."""
    answers: dict[str, Message] = {}
    for key, request in _input_requests(answer).items():
        params = request.get("params")
        schema = params.get("requestedSchema") if isinstance(params, dict) else None
        form = {"action": "accept", "content": sample_arguments(schema).arguments}
        by_method = {_ELICIT: form, _SAMPLE: _MODEL_ANSWER, "roots/list": {"roots": []}}
        answers[key] = by_method.get(str(request.get("method")), {})
    return answers


def _retry_params(call: Message, first: Answer, **changes: object) -> Message:
    params = {**call, "inputResponses": _good_answers(first)}
    state = (first.result or {}).get("requestState")
    return params | ({} if state is None else {"requestState": state}) | changes


def _retry(peer: Peer, call: Message, first: Answer, by_method: dict[str, Message]) -> Answer:
    """Repeat a call; questions of a method in `by_method` get that answer."""
    answers = _good_answers(first)
    for key, request in _input_requests(first).items():
        answers[key] = by_method.get(str(request.get("method")), answers[key])
    return peer.request("tools/call", _retry_params(call, first, inputResponses=answers))


def _with_question(
    judge: Callable[[Peer, Message, Answer, Run], Outcome],
) -> Callable[[Peer, Run], Outcome]:
    """A check of a call that asks, and that succeeds with a good answer."""

    def check(peer: Peer, run: Run) -> Outcome:
        call = hinted_call(run.hints, "eliciting_tool")
        with own_session(peer, run, "elicitation", "sampling") as fresh:
            first = fresh.request("tools/call", call)
            if not _requires_input(first):
                return _not_asked("eliciting_tool", first)
            answer = fresh.request("tools/call", _retry_params(call, first))
            if not is_success(answer):
                return could_not_run(
                    f"the call does not succeed with a made-up answer: it got {answer.describe()}"
                )
            fresh.clear_evidence()
            return judge(fresh, call, fresh.request("tools/call", call), run)

    return check


def _refuses_changed_state(peer: Peer, call: Message, first: Answer, run: Run) -> Outcome:
    state = (first.result or {}).get("requestState")
    if not isinstance(state, str) or not state:
        return not_applicable("the server asks without a requestState")
    middle = len(state) // 2
    changed = state[:middle] + ("A" if state[middle] != "A" else "B") + state[middle + 1 :]
    answer = peer.request("tools/call", _retry_params(call, first, requestState=changed))
    if not is_success(answer):
        return PASSED
    return violated(
        f"one character of the requestState was changed, and the call got {answer.describe()}; "
        "expected an error, unless nothing depends on the requestState"
    )


def _refuses_foreign_state(peer: Peer, call: Message, first: Answer, run: Run) -> Outcome:
    if "sampling_tool" in run.hints and not run.hints["sampling_tool"]:
        return not_applicable("according to the hints the server has no sampling_tool")
    if "sampling_tool" not in run.hints:
        return could_not_run("needs sampling_tool", needs="sampling_tool")
    other = hinted_call(run.hints, "sampling_tool")
    asked = peer.request("tools/call", other)
    states = [(each.result or {}).get("requestState") for each in (first, asked)]
    if not _requires_input(asked) or None in states or states[0] == states[1]:
        return not_applicable("the two tools do not ask with a requestState of their own")
    answer = peer.request("tools/call", _retry_params(other, asked, requestState=states[0]))
    if not is_success(answer):
        return PASSED
    return violated(
        f"a call of the tool {show_name(other)} with the requestState of a call of "
        f"{show_name(call)} got {answer.describe()}; expected an error"
    )


def _asks_again(peer: Peer, call: Message, first: Answer, run: Run) -> Outcome:
    answer = peer.request("tools/call", _retry_params(call, first, inputResponses={}))
    if answer.error is None and answer.message is not None:
        return PASSED
    return violated(
        f"a call that was repeated without the answer that was asked for got {answer.describe()}; "
        "expected to be asked again"
    )


def _ignores_extra_answers(peer: Peer, call: Message, first: Answer, run: Run) -> Outcome:
    extra = {run.unknown_name("answer"): {"action": "accept", "content": {}}}
    answers = _good_answers(first) | extra
    answer = peer.request("tools/call", _retry_params(call, first, inputResponses=answers))
    if is_success(answer):
        return PASSED
    return violated(
        f"with an answer that was not asked for, beside the good one, the call got "
        f"{answer.describe()}; expected it to be ignored"
    )


def _refuses_malformed_answers(peer: Peer, call: Message, first: Answer, run: Run) -> Outcome:
    for malformed in (["mcptest"], dict.fromkeys(_input_requests(first), 7)):
        peer.clear_evidence()
        params = _retry_params(call, first, inputResponses=malformed)
        answer = peer.request("tools/call", params, is_judged=False)
        if peer.is_lost:
            return violated(
                f"after the inputResponses {excerpt(dump_json(malformed), 80)} the server "
                f"{peer.end_status}"
            )
        if is_success(answer) or answer.message is None:
            return violated(
                f"a call with the inputResponses {excerpt(dump_json(malformed), 80)} got "
                f"{answer.describe()}; expected an error, or to be asked again"
            )
    return PASSED


# A SHOULD: a requestState may be unprotected if nothing depends on it, which cannot be seen from
# outside.
_question_check = partial(
    Check, since="2026-07-28", level="SHOULD", phase="own", hint="eliciting_tool"
)

CHECKS = {
    "BASE-35 missing-capability-error": Check(
        property=f"a call that needs a capability the client lacks gets {MISSING_CAPABILITY}",
        run=_names_missing_capability,
        since="2026-07-28",
        hint="eliciting_tool",
        section="basic#Error Codes",
    ),
    "HTTP-38 missing-capability-400": Check(
        property=f"the error {MISSING_CAPABILITY} comes with HTTP status 400",
        run=_missing_capability_status,
        since="2026-07-28",
        transport="http",
        hint="eliciting_tool",
        section="basic/transports/streamable-http#Standard Request Headers",
    ),
    "ELIC-08 decline-cancel-handled": Check(
        property="a call ends properly if its elicitation is declined, cancelled or refused",
        run=_survives_refusals,
        explains=("HTTP-10",),
        since="2025-06-18",
        must_since="2026-07-28",
        phase="own",
        hint="eliciting_tool",
        section="client/elicitation#Response Actions",
        stateless_section="server/tools#Input Required Tool Results",
    ),
    "SAMP-07 error-survives": Check(
        property="a call is answered also if its sampling request is refused",
        run=_survives_refused_sampling,
        explains=("HTTP-10",),
        until="2025-11-25",
        level="SHOULD",
        phase="own",
        hint="sampling_tool",
        section="client/sampling#Error Handling",
    ),
    "MRTR-06 tampered-state": _question_check(
        property="a call with a requestState that was changed does not succeed",
        run=_with_question(_refuses_changed_state),
        explains=("MRTR-07",),
        section="basic/patterns/mrtr#Server Requirements (Basic Workflow)",
    ),
    "MRTR-07 foreign-state": _question_check(
        property="a call with the requestState of another call does not succeed",
        run=_with_question(_refuses_foreign_state),
        section="basic/patterns/mrtr#Server Requirements (Basic Workflow)",
    ),
    "MRTR-08 missing-answer-reasked": _question_check(
        property="a call without the answer that was asked for is asked again",
        run=_with_question(_asks_again),
        section="basic/patterns/mrtr#Error Handling",
    ),
    "MRTR-09 extra-answers-ignored": _question_check(
        property="answers that were not asked for are ignored",
        run=_with_question(_ignores_extra_answers),
        section="basic/patterns/mrtr#Error Handling",
    ),
    "MRTR-10 malformed-answers": _question_check(
        property="answers of a wrong shape get an error, or are asked for again",
        run=_with_question(_refuses_malformed_answers),
        section="basic/patterns/mrtr#Error Handling",
    ),
}
