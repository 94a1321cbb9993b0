"""Whatever a client says: nothing breaks, and every request is answered."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from stage import a_case, cases, contract, manifest

if TYPE_CHECKING:
    from stage import Stage

CONTRACT = cases(
    a_case("Adds", "{name: add, arguments: {a: 1, b: !!any}}", "three"),
    a_case("Greets", "{name: greet, arguments: {who: !!bind who}}", "!!ref who"),
    a_case("Remembers", "{name: last}", "!!ref who"),
    "in: {jsonrpc: '2.0', id: 1, method: resources/list, params: {cursor: x}}\n"
    "out: {jsonrpc: '2.0', id: 1, result: {resources: []}}\n",
    "in: {jsonrpc: '2.0', method: notifications/x}\n"
    "out: {jsonrpc: '2.0', method: notifications/message, params: {data: x}}\n",
)
MANIFEST = """
tools:
  - name: add
    inputSchema: {type: object, properties: {a: {type: integer}}}
    answer: "${args.a}"
  - name: greet
    answers: [{when: {who: Bob}, result: {structuredContent: "${args}"}}]
resources: [{uri: "note://one", text: x}]
prompts: [{name: last, text: "${args.who}"}]
"""

ANY_JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from(["add", "Bob", "x", "", "2025-03-26", "note://one"])
    | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["name", "arguments", "a", "who", "cursor", "uri", "_meta"]),
            inner,
            max_size=4,
        )
    ),
    max_leaves=8,
)
METHODS = st.sampled_from(
    [
        "initialize",
        "ping",
        "server/discover",
        "tools/list",
        "tools/call",
        "resources/list",
        "resources/read",
        "prompts/list",
        "prompts/get",
        "notifications/x",
        "notifications/initialized",
        "nope",
    ]
)
PARAMS = ANY_JSON | st.fixed_dictionaries(
    {"name": st.sampled_from(["add", "greet", "last", "uri"])}, optional={"arguments": ANY_JSON}
)
MESSAGES = (
    st.fixed_dictionaries(
        {"jsonrpc": st.just("2.0"), "method": METHODS}, optional={"id": ANY_JSON, "params": PARAMS}
    )
    | st.fixed_dictionaries({"id": ANY_JSON}, optional={"result": ANY_JSON, "error": ANY_JSON})
    | ANY_JSON
)


def check(stage: Stage, values: list[Any]) -> None:
    for value in values:
        sent = stage.send(value)
        if isinstance(value, dict) and "method" in value and "id" in value:
            answers = [each for each in sent if "method" not in each]
            assert len(answers) == 1
            assert ("result" in answers[0]) != ("error" in answers[0])


@pytest.mark.long
@pytest.mark.slow
@settings(deadline=None)
@given(st.lists(MESSAGES, max_size=6))
def test_a_contract_answers_every_request(values: list[Any]) -> None:
    check(contract(CONTRACT), values)


@pytest.mark.long
@pytest.mark.slow
@settings(deadline=None)
@given(st.lists(MESSAGES, max_size=6))
def test_a_manifest_answers_every_request(values: list[Any]) -> None:
    check(manifest(MANIFEST), values)
