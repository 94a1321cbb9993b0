"""Rules about requests in several rounds: MRTR. A result may say that input is needed first."""

from __future__ import annotations

from mcptest.rules.client_requests import CAPABILITIES, INPUT_METHODS, asked_in, undeclared
from mcptest.rules.elicitation import wrong_mode
from mcptest.rules.rule import Rule, limit, show
from mcptest.rules.shapes import SHAPE_TOPICS, by_shape

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from mcptest.rules.facts import Facts
    from mcptest.rules.rule import Entry, Findings, Look

    Members = dict[str, Any]

__all__ = ["RULES"]


def _interim(check: Callable[[Entry, Facts], Findings]) -> Look:
    """A check that judges only results that require input."""

    def look(entry: Entry, facts: Facts) -> Findings:
        result = entry.message["result"]
        if not isinstance(result, dict) or result.get("resultType") != "input_required":
            return None
        return check(entry, facts)

    return look


def _allowed_method(entry: Entry, _: Facts) -> Findings:
    if entry.request is None:
        return None
    if entry.method in INPUT_METHODS:
        return ()
    return [
        f'result.resultType is "input_required" in the answer to {show(entry.method)}; only '
        f"{', '.join(INPUT_METHODS)} may be answered so"
    ]


def _something_to_do(entry: Entry, _: Facts) -> Findings:
    if any(entry.result.get(name) is not None for name in ("inputRequests", "requestState")):
        return ()
    return ["the result requires input, and has neither inputRequests nor requestState"]


def _gate(entry: Entry, facts: Facts) -> Findings:
    found: list[str] | None = None
    for asked in asked_in(entry, facts):
        if asked.method in CAPABILITIES:
            modes = wrong_mode(asked, facts) if asked.method == "elicitation/create" else None
            found = limit((*(found or ()), *(undeclared(asked, facts) or ()), *(modes or ())))
    return found


_NO_ROUNDS = "no result says that input is required"
_ELSEWHERE = "no results that require input"
_INTERIM = tuple(f"result:{method}" for method in INPUT_METHODS)

RULES = (
    Rule(
        id="MRTR-01",
        name="allowed-methods",
        category="input-rounds",
        property="only tools/call, prompts/get and resources/read are answered with input_required",
        since="2026-07-28",
        topics=("result",),
        look=_interim(_allowed_method),
        nothing=_NO_ROUNDS,
        elsewhere=_ELSEWHERE,
    ),
    Rule(
        id="MRTR-02",
        name="something-to-do",
        category="input-rounds",
        property="a result that requires input has inputRequests or requestState",
        since="2026-07-28",
        topics=_INTERIM,
        look=_interim(_something_to_do),
        nothing=_NO_ROUNDS,
        elsewhere=_ELSEWHERE,
    ),
    Rule(
        id="MRTR-03",
        name="request-kinds",
        category="input-rounds",
        property="each input request is an elicitation, a sampling or a wish for roots, with "
        "params and without id",
        since="2026-07-28",
        topics=SHAPE_TOPICS,
        look=by_shape("MRTR-03"),
        nothing="no result asks for input",
        elsewhere=_ELSEWHERE,
    ),
    Rule(
        id="MRTR-04",
        name="capability-gate",
        category="input-rounds",
        property="only input is asked for whose kind and mode the request declared",
        since="2026-07-28",
        topics=_INTERIM,
        look=_interim(_gate),
        nothing="no result asks for input",
        elsewhere=_ELSEWHERE,
    ),
    Rule(
        id="MRTR-05",
        name="state-opaque-string",
        category="input-rounds",
        property="requestState is a string",
        since="2026-07-28",
        topics=SHAPE_TOPICS,
        look=by_shape("MRTR-05"),
        nothing="no result has a requestState",
        elsewhere=_ELSEWHERE,
    ),
)
