"""What the channel has a word for, and why the rest is left to the command."""

from __future__ import annotations

import json
from typing import Any

import pytest

from mcptest.core.framing import encode_line
from mcptest.core.plan import Assertion, Case, Expectation, Performance, Step
from mcptest.formats.cases import load_cases
from mcptest.matching.registry import builtin_registry
from mcptest.sdk.drivable import NotDrivableError, as_sent, asked_by, is_list, spoken


def step(
    method: str, params: Any = None, *, expects: Expectation | None = None, **more: Any
) -> Step:
    request = {"jsonrpc": "2.0", "id": 1, "method": method} | more
    request |= {} if params is None else {"params": params}
    wanted = expects or Expectation(response={})
    return Step(line=encode_line(request), method=method, expectation=wanted, id=request["id"])


def why_not(*steps: Step, **more: Any) -> str:
    with pytest.raises(NotDrivableError) as caught:
        spoken(Case(name="a", line=1, steps=steps, **more))
    return str(caught.value)


@pytest.mark.parametrize(
    ("sent", "asked"),
    [
        (
            step("tools/call", {"name": "add", "arguments": {"a": 1}}),
            ("mcp.call", {"tool": "add", "arguments": {"a": 1}}),
        ),
        (step("resources/read", {"uri": "memo://a"}), ("mcp.readResource", {"uri": "memo://a"})),
        (
            step("prompts/get", {"name": "greet", "arguments": {"who": "x"}}),
            ("mcp.callPrompt", {"name": "greet", "arguments": {"who": "x"}}),
        ),
        (step("prompts/get", {"name": "greet"}), ("mcp.callPrompt", {"name": "greet"})),
        (step("tools/list"), ("mcp.listTools", None)),
        (step("resources/list", {}), ("mcp.listResources", None)),
    ],
)
def test_each_of_these_has_a_word(sent: Step, asked: tuple[str, Any]) -> None:
    assert asked_by(sent) == asked
    case = Case(name="a", line=1, steps=(sent,))
    assert spoken(case).case is case


def test_a_call_without_arguments_is_not_sent_with_empty_ones() -> None:
    why = "a call without arguments is sent with empty ones over the SDK channel"
    assert why_not(step("tools/call", {"name": "now"})) == why


def test_what_is_shown_as_sent_is_what_the_binary_sends() -> None:
    call = '{"params":{"name":"a","arguments":{}},"method":"tools/call","id":"x","jsonrpc":"2.0"}'
    ordered = {"jsonrpc": "2.0", "id": "x", "method": "tools/call"}
    assert json.loads(as_sent(call)) == ordered | {"params": {"name": "a", "arguments": {}}}
    listing = '{"jsonrpc":"2.0","id":7,"method":"tools/list"}'
    assert json.loads(as_sent(listing))["params"] == {}
    assert is_list(listing)
    assert not is_list(call)


@pytest.mark.parametrize("method", ["ping", "completion/complete", "prompts/list", "echo"])
def test_a_method_without_a_word_is_named(method: str) -> None:
    assert why_not(step(method)) == f"{method} is not drivable over the SDK channel"


def test_a_message_that_is_no_request_is_named() -> None:
    gone = Step(line=b"{}\n", method="", expectation=Expectation())
    assert why_not(gone) == "a message without a method is not drivable over the SDK channel"


FORMS = [
    step("tools/call", {"name": "a", "_meta": {"progressToken": 1}}),
    step("tools/call", {"arguments": {}}),
    step("tools/call", {"name": 5}),
    step("tools/call", {"name": "a", "arguments": []}),
    step("tools/call", ["a"]),
    step("tools/call", {"name": "a"}, jsonrpc="1.0"),
    step("tools/call", {"name": "a"}, extra=1),
    step("tools/call", {"name": "a"}, id=1.5),
    step("tools/call"),
    step("resources/read", {"uri": "memo://a", "more": 1}),
    step("resources/read", {"uri": 5}),
    step("prompts/get", {}),
    step("tools/list", {"cursor": "2"}),
]


@pytest.mark.parametrize("sent", FORMS, ids=lambda sent: sent.line.decode().strip())
def test_a_request_that_the_channel_would_change_is_not_sent(sent: Step) -> None:
    assert why_not(sent) == f"this form of {sent.method} is not drivable over the SDK channel"


def assertion(target: str) -> tuple[Assertion, ...]:
    return (Assertion(target=target, steps=tuple(target.split(".")), check="a"),)


@pytest.mark.parametrize(
    ("expects", "why"),
    [
        (Expectation(stderr=""), "stderr is not visible over the SDK channel"),
        (Expectation(assertions=assertion("stderr")), "stderr is not visible over the SDK channel"),
        (Expectation(exit_code=0), "exit codes are not visible over the SDK channel"),
        (Expectation(notifications=({},)), "notifications are not visible over the SDK channel"),
        (
            Expectation(assertions=assertion("notifications")),
            "notifications are not visible over the SDK channel",
        ),
        (
            Expectation(response={}, has_remote_check=True),
            "plugins and snapshots are not asked over the SDK channel",
        ),
    ],
)
def test_what_is_not_visible_is_not_passed_over(expects: Expectation, why: str) -> None:
    call = {"name": "a", "arguments": {}}
    assert why_not(step("tools/call", call, expects=expects)) == why
    # Also where it is only the last of several, or what follows them.
    fine = step("tools/call", call)
    assert why_not(fine, step("tools/call", call, expects=expects)) == why
    assert why_not(fine, teardown=(step("tools/call", call, expects=expects),)) == why


def test_what_is_visible_is() -> None:
    wanted = Expectation(
        response={},
        performance=Performance(max_response_s=1.0),
        assertions=(*assertion("result"), *assertion("duration_ms")),
        has_regex=True,
        has_foreign_check=True,
    )
    spoken(Case(name="a", line=1, steps=(step("resources/read", {"uri": "a:"}, expects=wanted),)))


@pytest.mark.parametrize(
    "expects",
    [
        Expectation(response={"result": {"tools": [], "nextCursor": "2"}}),
        Expectation(assertions=assertion("result.nextCursor")),
    ],
)
def test_a_test_of_the_pages_of_a_list_is_left_to_the_command(expects: Expectation) -> None:
    why = "the pages of a list come as one over the SDK channel"
    assert why_not(step("tools/list", expects=expects)) == why


# Case files

CALL = (
    '{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "a", "arguments": {}}}'
)
ANSWER = '{"jsonrpc": "2.0", "id": 1, "result": {"isError": false}}'


def case_of(text: str) -> Case:
    suite, _ = load_cases(text, "a.cases.yaml", builtin_registry(), {}, lambda name: "")
    return suite.cases[0]


def test_a_dialogue_of_two_messages_is_a_step() -> None:
    found = spoken(case_of(f"case: a\nin: {CALL}\n\nout_answer: {ANSWER}\n"))
    assert (found.key, found.line) == ("out_answer", 4)
    (sent,) = found.case.steps
    assert asked_by(sent) == ("mcp.call", {"tool": "a", "arguments": {}})
    assert found.case.dialogue is None
    assert sent.expectation.leniency == "objects"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (f"in: {CALL}\n", "a dialogue is not drivable"),
        (f"in: {CALL}\nin_2: {CALL.replace('1,', '2,')}\nout: {ANSWER}\n", "a dialogue is not"),
        (f"_strict: true\nin: {CALL}\nout: {ANSWER}\n", "what else the server says (_strict)"),
        (
            f"_before: {{command: a, arguments: []}}\nin: {CALL}\nout: {ANSWER}\n",
            "hooks around a case are not run",
        ),
        (
            f'in: {CALL}\nout: {{"jsonrpc": "2.0", "id": 1, "result": !!bind x}}\n',
            "values of other cases (!!bind, !!ref) are not known",
        ),
        (
            'in: {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": '
            '{"protocolVersion": "2025-11-25", "capabilities": {}, '
            '"clientInfo": {"name": "a", "version": "1"}}}\n'
            'out: {"jsonrpc": "2.0", "id": 1, "result": {}}\n',
            "a handshake of one's own is not drivable",
        ),
        (f"in: {CALL.replace('tools/call', 'ping')}\nout: {ANSWER}\n", "ping is not drivable"),
    ],
)
def test_other_dialogues_are_left_to_the_command(text: str, why: str) -> None:
    with pytest.raises(NotDrivableError) as caught:
        spoken(case_of(f"case: a\n{text}"))
    assert str(caught.value).startswith(why)
    assert str(caught.value).endswith("over the SDK channel")
