"""What counts as the plainest of answers."""

from __future__ import annotations

from typing import Any

import pytest
from case_tables import each_case

from mcptest.protocol.jsonrpc import is_plain_answer

TEXT = {"type": "text", "text": "hi"}


def answer(result: Any, **members: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 1, "result": result} | members


@pytest.mark.parametrize(
    "result",
    [{"content": [TEXT]}, {"content": [TEXT, TEXT]}, {"content": [TEXT], "isError": True}],
)
def test_blocks_of_text_are_plain(result: object) -> None:
    assert is_plain_answer(answer(result))


@each_case(
    "message",
    [
        None,
        [],
        answer({"content": []}),
        answer({"content": "hi"}),
        answer({"content": [{**TEXT, "_meta": {}}]}),
        answer({"content": [{"type": "text", "text": 5}]}),
        answer({"content": [{"type": "image", "text": "hi"}]}),
        answer({"content": ["hi"]}),
        answer({"content": [TEXT], "isError": None}),
        answer({"content": [TEXT], "isError": 0}),
        answer({"content": [TEXT], "structuredContent": {}}),
        answer({"content": [TEXT]}, _meta={}),
        answer({"content": [TEXT]}, jsonrpc="1.0"),
        {"jsonrpc": "2.0", "method": "x", "result": {"content": [TEXT]}},
        {"jsonrpc": "2.0", "id": 1, "error": {"code": 1, "message": ""}},
    ],
)
def test_everything_else_is_not(message: object) -> None:
    assert not is_plain_answer(message)
