"""The verdict on a tool call: strictly one shape or the other, and nothing in between."""

from __future__ import annotations

from typing import Any

import pytest
from case_tables import each_case

from mcptest.sdk.errors import ContractError
from mcptest.sdk.expect import Verdict, read_verdict

DECLARED = {"success": True, "data": None, "text": "sunny", "error": None, "duration_ms": 3}


def test_a_verdict_is_read_as_it_is() -> None:
    assert read_verdict(DECLARED, 99.0) == Verdict(
        success=True,
        data=None,
        text="sunny",
        error=None,
        duration_ms=3,
        raw={"content": [{"type": "text", "text": "sunny"}], "isError": False},
    )


def test_paths_into_an_answer_find_what_a_verdict_says() -> None:
    failed = DECLARED | {"success": False, "text": None, "error": "no", "data": {"a": 1}}
    assert read_verdict(failed, 0.0).raw == {
        "content": [{"type": "text", "text": "no"}],
        "structuredContent": {"a": 1},
        "isError": True,
    }


def test_a_verdict_without_text_has_an_answer_without_content() -> None:
    assert read_verdict(DECLARED | {"text": None}, 0.0).raw == {"content": [], "isError": False}


@each_case(
    ("result", "words"),
    [
        (DECLARED | {"score": 1}, 'a verdict has no field "score"'),
        (DECLARED | {"content": []}, 'a verdict has no field "content"'),
        ({"success": True}, 'a verdict without "data"'),
        # A server that sends it itself cannot be distinguished from a verdict.
        ({"content": [], "success": True}, 'a verdict has no field "content"; unless it is the'),
        (DECLARED | {"success": 1}, "is not a verdict"),
        (DECLARED | {"text": 5}, "is not a verdict"),
        (DECLARED | {"error": {"code": 1}}, "is not a verdict"),
        (DECLARED | {"duration_ms": "3"}, "is not a verdict"),
        (DECLARED | {"duration_ms": True}, "is not a verdict"),
        ([], "the result of mcp.call is []"),
        (None, "the result of mcp.call is null"),
        ("\x1b[2J", 'the result of mcp.call is "\\u001b[2J"'),
    ],
)
def test_a_verdict_of_neither_shape_raises(result: object, words: str) -> None:
    with pytest.raises(ContractError) as caught:
        read_verdict(result, 0.0)
    assert str(caught.value).startswith("contract drift: ")
    assert words in str(caught.value)


def test_the_answer_of_a_server_is_recognised_and_kept() -> None:
    answer = {
        "content": [
            {"type": "text", "text": "a"},
            {"type": "image", "data": "", "mimeType": "image/png"},
            {"type": "text", "text": "b"},
        ],
        "structuredContent": {"n": 1},
        "_meta": {"x": 1},
    }
    assert read_verdict(answer, 4.5) == Verdict(
        success=True, data={"n": 1}, text="a\nb", error=None, duration_ms=4.5, raw=answer
    )


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        ({"content": [{"type": "text", "text": "no such town"}], "isError": True}, "no such town"),
        ({"content": [], "isError": True}, "the tool reported an error"),
    ],
)
def test_an_answer_that_is_an_error_has_no_success(answer: dict[str, Any], error: str) -> None:
    verdict = read_verdict(answer, 0.0)
    assert (verdict.success, verdict.error) == (False, error)


@pytest.mark.parametrize(
    "answer",
    [
        {"isError": False},
        {"structuredContent": {}},
        {"resultType": "input_required", "inputRequests": {}},
        {"task": {"taskId": "1"}},
        {"content": "not a list"},
        {"content": [5, {"type": "text"}]},
        {},
        {"_meta": {}},
        # Words of a verdict that is none.
        {"text": "sunny"},
        {"data": 1, "text": "sunny", "error": "no", "duration_ms": 3},
    ],
)
def test_an_answer_without_text_has_none(answer: dict[str, Any]) -> None:
    verdict = read_verdict(answer, 0.0)
    assert (verdict.success, verdict.text, verdict.raw) == (True, None, answer)
