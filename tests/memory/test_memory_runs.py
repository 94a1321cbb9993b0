"""Test files of every format, run against objects in this process."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from mcp.server.mcpserver import MCPServer
from memory_stage import BadServer, adder, answered, left_clean, shake_hands, write_test

import mcptest
from mcptest.core.errors import FormatError, NothingSelectedError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

CONDUCTOR = """
description: sums
tests:
  - it: adds
    tags: [quick]
    tool: add
    arguments: {a: 1, b: 2}
    expect: {response: {match:partial: {result: {structuredContent: {result: 3}}}}}
"""
WRONG = (
    CONDUCTOR
    + """
  - it: adds wrongly
    tool: add
    arguments: {a: 1, b: 2}
    expect: {response: {match:partial: {result: {structuredContent: {result: 4}}}}}
"""
)
SUITE = """
servers: {shop: {command: [no-such-command]}}
tools:
  - name: adds in a suite
    server: shop
    tool: add
    args: {a: 20, b: 3}
    expect: [{target: "result.content[0].text", matcher: {equals: "23"}}]
"""
CASES = """
case: adds in a contract
in: {jsonrpc: "2.0", id: 1, method: tools/call, params: {name: add, arguments: {a: 1, b: 1}}}
out:
  jsonrpc: "2.0"
  id: 1
  result: {structuredContent: {result: 2}}
"""
MADE: dict[str, Callable[[], Any]] = {
    "object": adder,
    "app": lambda: adder().streamable_http_app(),
    "maker": lambda: lambda: adder().streamable_http_app(),
}


@pytest.fixture(autouse=True)
def _clean(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.chdir(tmp_path)
    with left_clean():
        yield


@pytest.mark.parametrize("era", ["", "2026-07-28"])
@pytest.mark.parametrize("kind", MADE)
def test_files_of_all_formats_are_run(kind: str, era: str, tmp_path: Path) -> None:
    files = [
        write_test(tmp_path, "sums.test.mcp.yml", CONDUCTOR),
        write_test(tmp_path, "mcptest.yaml", SUITE),
        write_test(tmp_path, "sums.cases.yaml", CASES),
    ]
    run = mcptest.run_memory(MADE[kind](), *files, spec_version=era)
    assert run.raise_for_failures() is run
    assert (run.passed, run.failed, run.skipped, run.findings) == (3, 0, 0, ())
    names = {os.path.basename(file): result.name for file, result in run.results}
    assert names == {
        "sums.test.mcp.yml": "adds",
        "mcptest.yaml": "adds in a suite",
        "sums.cases.yaml": "adds in a contract",
    }


def test_a_failure_is_an_assertion_with_the_diff_of_the_command(tmp_path: Path) -> None:
    run = mcptest.run_memory(adder(), Path(write_test(tmp_path, "sums.test.mcp.yml", WRONG)))
    assert (run.passed, run.failed, run.is_success) == (1, 1, False)
    with pytest.raises(AssertionError) as caught:
        run.raise_for_failures()
    text = str(caught.value)
    assert f"adds wrongly ({tmp_path}/sums.test.mcp.yml:10)" in text
    assert "result.structuredContent.result: differs\n    expected  4\n    actual    3" in text
    assert "2 tests: 1 passed, 1 failed" in text


def test_tests_are_chosen_by_name_and_by_tag(tmp_path: Path) -> None:
    file = write_test(tmp_path, "sums.test.mcp.yml", WRONG)
    assert mcptest.run_memory(adder(), file, filters=["wrongly"]).failed == 1
    chosen = mcptest.run_memory(adder(), file, tags=["quick"]).raise_for_failures()
    assert (chosen.passed, chosen.failed) == (1, 0)
    with pytest.raises(NothingSelectedError):
        mcptest.run_memory(adder(), file, filters=["no such test"])


def test_a_folder_is_searched_for_test_files(tmp_path: Path) -> None:
    write_test(tmp_path, "sums.test.mcp.yml", CONDUCTOR)
    assert mcptest.run_memory(adder(), tmp_path).raise_for_failures().passed == 1


def test_a_gate_that_is_missed_is_a_failure(tmp_path: Path) -> None:
    text = SUITE + "coverage: {tools: 100}\n"
    run = mcptest.run_memory(adder(), write_test(tmp_path, "mcptest.yaml", text))
    assert (run.passed, run.failed, run.is_success) == (1, 0, False)
    with pytest.raises(AssertionError, match="gate missed: "):
        run.raise_for_failures()


def test_a_suite_that_is_skipped_whole_does_not_succeed(tmp_path: Path) -> None:
    text = CONDUCTOR.replace("tool: add", "skip: true\n    tool: add")
    run = mcptest.run_memory(adder(), write_test(tmp_path, "sums.test.mcp.yml", text))
    assert (run.skipped, run.is_success) == (1, False)
    with pytest.raises(AssertionError, match="1 skipped"):
        run.raise_for_failures()


@pytest.mark.long
def test_an_exception_of_the_server_is_the_fault_of_the_test_and_the_next_has_a_fresh_session(
    tmp_path: Path,
) -> None:
    async def act(read: Any, write: Any) -> None:
        await shake_hands(read, write)
        asked = (await read.receive()).message
        if bad.runs == 1:
            raise ValueError("in the first one")
        await answered(write, asked.id, {"structuredContent": {"result": 3}, "content": []})
        async for _ in read:
            pass

    bad = BadServer(act)
    text = CONDUCTOR + CONDUCTOR.partition("tests:\n")[2].replace("it: adds", "it: adds again")
    run = mcptest.run_memory(bad, write_test(tmp_path, "a.test.mcp.yml", text), timeout=1)
    (_, first), (_, second) = run.results
    assert first.fault
    assert first.fault.kind == "server_raised"
    assert "ValueError: in the first one" in first.fault.message
    assert second.status == "passed"
    with pytest.raises(AssertionError, match=r"(?s)ValueError: in the first one.*Traceback"):
        run.raise_for_failures()


def test_an_exception_of_the_server_when_it_ends_fails_the_run(tmp_path: Path) -> None:
    async def act(read: Any, write: Any) -> None:
        await shake_hands(read, write)
        async for each in read:
            result = {"structuredContent": {"result": 3}, "content": [], "tools": []}
            await answered(write, each.message.id, result)
        raise ValueError("at the end")

    run = mcptest.run_memory(BadServer(act), write_test(tmp_path, "a.test.mcp.yml", CONDUCTOR))
    assert (run.passed, run.failed, run.is_success) == (1, 0, False)
    with pytest.raises(AssertionError, match="server_raised: the server raised ValueError: at the"):
        run.raise_for_failures()


def test_a_server_that_cannot_be_opened_is_reported_once(tmp_path: Path) -> None:
    async def act(read: Any, write: Any) -> None:
        raise ValueError("not today")

    run = mcptest.run_memory(BadServer(act), write_test(tmp_path, "a.test.mcp.yml", CONDUCTOR))
    assert (run.results, run.is_success) == ((), False)
    with pytest.raises(AssertionError, match="server_raised: the server raised ValueError: not"):
        run.raise_for_failures()


def test_each_test_has_a_fresh_server_where_the_file_asks_and_a_function_makes_them(
    tmp_path: Path,
) -> None:
    def make() -> MCPServer:
        made.append(1)
        return adder()

    made: list[int] = []
    text = SUITE.replace("]}}", "], isolation: test}}")
    entries = text.partition("tools:\n")[2]
    text += entries.replace("in a suite", "once more")
    run = mcptest.run_memory(make, write_test(tmp_path, "mcptest.yaml", text))
    assert (run.raise_for_failures().passed, len(made)) == (2, 2)


def test_how_a_file_starts_its_own_server_is_left_aside(tmp_path: Path) -> None:
    text = SUITE.replace("]}}", "], ready_pattern: never, env: {A: b}, cwd: nowhere}}")
    run = mcptest.run_memory(adder(), write_test(tmp_path, "mcptest.yaml", text))
    assert run.raise_for_failures().passed == 1


def test_mistakes_in_a_file_are_all_in_the_error(tmp_path: Path) -> None:
    text = CONDUCTOR.replace("tool: add", "toool: add").replace("match:partial", "match:partiall")
    with pytest.raises(FormatError) as caught:
        mcptest.run_memory(adder(), write_test(tmp_path, "a.test.mcp.yml", text))
    message = "\n".join(caught.value.__notes__)
    assert 'did you mean "tool"' in message
    assert "a.test.mcp.yml:6" in message


def test_a_suite_of_several_servers_is_refused(tmp_path: Path) -> None:
    text = SUITE.replace("servers: {", "servers: {mail: {command: [b]}, ")
    text += text.partition("tools:\n")[2].replace("shop", "mail").replace("in a", "in b")
    with pytest.raises(UsageError, match=r"run_memory\(\) tests one server, and .* has 2 servers"):
        mcptest.run_memory(adder(), write_test(tmp_path, "mcptest.yaml", text))


def test_it_needs_files_and_the_main_thread(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="needs the path of a test file"):
        mcptest.run_memory(adder())
    found: list[BaseException] = []

    def run() -> None:
        try:
            mcptest.run_memory(adder(), os.fspath(tmp_path))
        except UsageError as error:
            found.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join(20)
    assert "in the main thread" in str(found[0])
