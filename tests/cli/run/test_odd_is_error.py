"""A tool with neither true nor false in `isError` has not succeeded, in any kind of test."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from console import mcptest
from format_runs import run_case, run_conductor, run_suite_entry, scripted, verdict

import mcptest as sdk

if TYPE_CHECKING:
    from pathlib import Path

ODD = ["true", "false", 1, 0, None, {}, []]
CONTENT = [{"type": "text", "text": "done"}]


def server(value: object, tool: dict[str, object] | None = None) -> list[str]:
    said = {"content": CONTENT, "structuredContent": {}, "isError": value}
    return scripted({"result": said}, tool)


def said_of(value: object) -> str:
    return f"isError must be true or false and is {json.dumps(value)}"


@pytest.mark.parametrize("value", ODD)
def test_a_suite_without_expectations(tmp_path: Path, value: object) -> None:
    status, found = verdict(run_suite_entry(tmp_path, server(value)))
    assert (status, found) == (
        "failed",
        [("result", f"expected a call that succeeds; {said_of(value)}")],
    )


@pytest.mark.parametrize(("value", "status"), [(False, "passed"), (True, "failed")])
def test_a_suite_takes_a_boolean_for_what_it_says(tmp_path: Path, value: bool, status: str) -> None:
    assert verdict(run_suite_entry(tmp_path, server(value)))[0] == status


def test_a_suite_whose_tool_has_an_output_schema(tmp_path: Path) -> None:
    tool: dict[str, object] = {"outputSchema": {"type": "object"}}
    wished = [{"target": "result.content[0].text", "matcher": {"exact": "done"}}]
    status, found = verdict(run_suite_entry(tmp_path, server("true", tool), expect=wished))
    assert (status, found) == ("failed", [("result.isError", said_of("true"))])
    for value in (True, False):
        ended = run_suite_entry(tmp_path, server(value, tool), expect=wished)
        assert verdict(ended) == ("passed", [])


@pytest.mark.parametrize("value", ODD)
def test_a_test_file_that_only_looks_at_stderr(tmp_path: Path, value: object) -> None:
    ended = run_conductor(tmp_path, server(value), {"stderr": "toBeEmpty"})
    assert verdict(ended) == ("failed", [("result.isError", said_of(value))])


def test_a_test_file_that_only_looks_at_stderr_takes_a_boolean(tmp_path: Path) -> None:
    for value in (True, False):
        ended = run_conductor(tmp_path, server(value), {"stderr": "toBeEmpty"})
        assert verdict(ended) == ("passed", [])


def test_a_contract_that_says_nothing_of_the_answer(tmp_path: Path) -> None:
    status, [(path, message)] = verdict(run_case(tmp_path, server("true")))
    assert (status, path, message) == ("failed", "answer to in: result.isError", said_of("true"))
    assert verdict(run_case(tmp_path, server(False))) == ("passed", [])


@pytest.mark.parametrize("value", ODD)
def test_call_ends_with_1(tmp_path: Path, value: object) -> None:
    ended = mcptest(tmp_path, "call", "say", "--", *server(value))
    assert (ended.code, ended.err.splitlines()[-1]) == (1, f"error: {said_of(value)}")


def test_discover_says_so(tmp_path: Path) -> None:
    words = ("discover", "--call-unannotated", "--")
    ended = mcptest(tmp_path, *words, *server("true"))
    assert (ended.code, said_of("true").replace('"', '\\"') in ended.out) == (0, True)
    fine = mcptest(tmp_path, *words, *server(False))
    assert "isError must be" not in fine.out


@pytest.mark.parametrize("value", ODD)
def test_the_python_sdk_has_no_success_and_no_failure(value: object) -> None:
    with sdk.connect(server(value)) as client:
        found = client.call_tool("say")
    assert (found.success, found.error) == (False, said_of(value))
    for check in (sdk.expect(found).to_succeed, sdk.expect(found).to_fail):
        with pytest.raises(AssertionError) as caught:
            check()
        assert said_of(value) in str(caught.value)


def test_the_python_sdk_takes_a_boolean_for_what_it_says() -> None:
    for value in (True, False):
        with sdk.connect(server(value)) as client:
            found = client.call_tool("say")
        assert found.success is not value
        (sdk.expect(found).to_fail if value else sdk.expect(found).to_succeed)()
