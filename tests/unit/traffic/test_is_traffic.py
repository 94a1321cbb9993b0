"""Captures and logs are traffic; case files, manifests and everything else are not."""

from __future__ import annotations

import json

import pytest
from case_tables import each_case
from traffic_samples import HANDSHAKE, call, capture, contract, log, result

from mcptest.core.errors import FormatError
from mcptest.traffic import contract_text, is_traffic

IN, OUT = json.dumps(call(1)), json.dumps(result(1))
EXCHANGE = {"request": call(1), "response": result(1)}
CASE = {"case": "a", "in": call(1), "out": result(1)}


@each_case(
    "text",
    [
        capture(EXCHANGE),
        json.dumps(json.loads(capture(EXCHANGE)), indent=2),
        f"\ufeff\n{capture(EXCHANGE)}",
        json.dumps([json.loads(capture(EXCHANGE))]),
        log(*HANDSHAKE),
        f"{IN}\n{OUT}\n",
        f"\n\nserver started\n-> {IN}\n<- {OUT}\n",
        f"2025-01-01T12:00:00Z client: {IN}\n2025-01-01T12:00:00Z server: {OUT}\n",
        f'{{"in": {IN}}}\n{{"out": {OUT}}}\n',
        f"---\n{IN}\n---\n{OUT}\n",
        IN,
        json.dumps([call(1), result(1)], indent=2),
        f"{IN}\nincoming: nothing\n",
    ],
)
def test_captures_and_logs_are_traffic(text: str) -> None:
    assert is_traffic(text)
    assert contract_text(text, "a.json")


@each_case(
    "text",
    [
        *("", "\n", "just words\n", "{}", "[]", "5", "null", '"text"', "{broken", '{"a": 1}'),
        f"case: a\nin: {IN}\nout: {OUT}\n",
        f"in: {IN}\nout: {OUT}\n",
        f"# words\n---\nin:\n  {IN}\nout:\n  {OUT}\n",
        f"_before: {{command: x}}\nin_1:\n  {IN}\n",
        json.dumps(CASE),
        json.dumps(CASE, indent=2),
        f"{json.dumps(CASE)}\n---\n{json.dumps(CASE)}\n",
        json.dumps({"in": call(1), "out": result(1)}),
        f'{{"in": {IN}, "out": {OUT}}}\n---\n{{"in": {IN}}}\n',
        contract(("in", call(1)), ("out", result(1))).text,
        json.dumps({"server": {"name": "a"}, "tools": [{"name": "exchanges", "result": {"a": 1}}]}),
        "server:\n  name: a\ntools:\n  - name: echo\n    result: {content: []}\n",
        f"tools:\n  - name: echo\n    result: {IN}\n",
        "\n" * 2000 + "words\n" * 2000 + IN,
    ],
)
def test_anything_else_is_none(text: str) -> None:
    assert not is_traffic(text)


@pytest.mark.parametrize(
    "text",
    [
        f"in:\n  {IN}\nout:\n  {OUT}\n",
        f"case: a\nin:\n    {IN}\n---\ncase: b\nin:\n  {IN}\nout:\n  {OUT}\n",
    ],
)
def test_a_case_file_with_messages_below_their_keys_is_not_a_log(text: str) -> None:
    assert not is_traffic(text)
    with pytest.raises(FormatError) as caught:
        contract_text(text, "a.yaml")
    assert "this is a case file already" in caught.value.diagnostics[0].message
