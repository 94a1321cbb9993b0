"""Rules about requests in several rounds: MRTR. A result may say that input is needed first."""

from __future__ import annotations

from mcptest.invariants.asking import CAPABILITIES, INPUT_METHODS, asked_in, input_path, undeclared
from mcptest.invariants.elicitation import METHOD, wrong_mode
from mcptest.invariants.rule import Looking, Rule, at_levels
from mcptest.invariants.wording import few, seen, shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from mcptest.invariants.facts import Facts
    from mcptest.invariants.rule import Breaches
    from mcptest.invariants.said import Said

__all__ = ["ROUND_RULES"]

_KINDS = tuple(CAPABILITIES)


def _interim(check: Callable[[Said, Facts], Breaches]) -> Callable[[], Looking]:
    """The start of a rule that looks only at results that want input."""

    def look(said: Said, facts: Facts) -> Breaches:
        result = said.message["result"]
        if not isinstance(result, dict) or result.get("resultType") != "input_required":
            return None
        return check(said, facts)

    return lambda: Looking(look)


def _allowed_method(said: Said, _: Facts) -> Breaches:
    if said.request is None:
        return None
    if said.method in INPUT_METHODS:
        return ()
    return [
        f'result.resultType is "input_required" in the answer to {shown(said.method)}; only '
        f"{', '.join(INPUT_METHODS)} may be answered so"
    ]


def _something_to_do(said: Said, _: Facts) -> Breaches:
    if any(said.result.get(name) is not None for name in ("inputRequests", "requestState")):
        return ()
    return ["the result wants input, and has neither inputRequests nor requestState"]


def _kinds(said: Said, _: Facts) -> Breaches:
    if "inputRequests" not in said.result:
        return None
    inputs = said.result["inputRequests"]
    if not isinstance(inputs, dict):
        return [f"result.inputRequests must be an object and is {shown(inputs)}"]
    if not inputs:
        return None
    return few(
        f"{input_path(key)} {problem}"
        for key, value in inputs.items()
        for problem in _kind_problems(value)
    )


def _kind_problems(value: object) -> Iterator[str]:
    if not isinstance(value, dict):
        yield f"must be an object and is {shown(value)}"
        return
    method = value.get("method")
    if method not in _KINDS:
        found = seen(value, "method")
        yield f"must have one of the methods {', '.join(_KINDS)}; its method is {found}"
    elif not isinstance(value.get("params", {} if method == "roots/list" else None), dict):
        yield f"must have an object as params; they are {seen(value, 'params')}"
    for name in ("jsonrpc", "id"):
        if name in value:
            yield f"must not have the member {name}: it is no message of its own"


def _gate(said: Said, facts: Facts) -> Breaches:
    found: list[str] | None = None
    for asked in asked_in(said, facts):
        if asked.method in _KINDS:
            modes = wrong_mode(asked, facts) if asked.method == METHOD else None
            found = few((*(found or ()), *(undeclared(asked, facts) or ()), *(modes or ())))
    return found


def _state(said: Said, _: Facts) -> Breaches:
    if "requestState" not in said.result:
        return None
    if isinstance(said.result["requestState"], str):
        return ()
    return [f"result.requestState must be text and is {shown(said.result['requestState'])}"]


_NO_ROUNDS = "no result says that input is required"
_ELSEWHERE = "no results that require input"
_INTERIM = tuple(f"result:{method}" for method in INPUT_METHODS)

ROUND_RULES = (
    Rule(
        id="MRTR-01",
        name="allowed-methods",
        category="input-rounds",
        property="only tools/call, prompts/get and resources/read are answered with input_required",
        levels=at_levels("E"),
        topics=("result",),
        start=_interim(_allowed_method),
        nothing=_NO_ROUNDS,
        elsewhere=_ELSEWHERE,
    ),
    Rule(
        id="MRTR-02",
        name="something-to-do",
        category="input-rounds",
        property="a result that requires input has inputRequests or requestState",
        levels=at_levels("E"),
        topics=_INTERIM,
        start=_interim(_something_to_do),
        nothing=_NO_ROUNDS,
        elsewhere=_ELSEWHERE,
    ),
    Rule(
        id="MRTR-03",
        name="request-kinds",
        category="input-rounds",
        property="each input request is an elicitation, a sampling or a wish for roots, with "
        "params and without id",
        levels=at_levels("E"),
        topics=_INTERIM,
        start=_interim(_kinds),
        nothing="no result asks for input",
        elsewhere=_ELSEWHERE,
    ),
    Rule(
        id="MRTR-04",
        name="capability-gate",
        category="input-rounds",
        property="only input is asked for whose kind and mode the request declared",
        levels=at_levels("E"),
        topics=_INTERIM,
        start=_interim(_gate),
        nothing="no result asks for input",
        elsewhere=_ELSEWHERE,
    ),
    Rule(
        id="MRTR-05",
        name="state-opaque-string",
        category="input-rounds",
        property="requestState is text",
        levels=at_levels("E"),
        topics=_INTERIM,
        start=_interim(_state),
        nothing="no result has a requestState",
        elsewhere=_ELSEWHERE,
    ),
)
