"""A test that passes because it misspells the name of a tool or a prompt has a note."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from console import Ended, mcptest, write_suite

SERVER = Path(__file__).parents[2] / "servers" / "naming_server.py"
ERROR = {"response": {"error": {"match:partial": {"code": -32602}}}}
NOTE = 'the server lists no tool "red_file"; did you mean "read_file"?'


def naming(*modes: str, **keys: Any) -> dict[str, Any]:
    args = ["-S", "-E", str(SERVER), *modes]
    return {"name": "naming", "command": sys.executable, "args": args, **keys}


def refused(tool: str = "red_file", **keys: Any) -> dict[str, Any]:
    return {"it": f"refuses {tool}", "tool": tool, "expect": ERROR, **keys}


def run(
    folder: Path, *tests: dict[str, Any], words: tuple[str, ...] = (), server: Any = None
) -> Ended:
    write_suite(folder / "a.test.mcp.yml", *tests, server=server or naming())
    return mcptest(folder, "run", "a.test.mcp.yml", *(words or ("--json",)))


def notes(ended: Ended) -> list[tuple[str, list[str]]]:
    return [
        (test["status"], test.get("notes", []))
        for suite in ended.report()["suites"]
        for test in suite["tests"]
    ]


def test_a_misspelt_tool_is_a_note_with_a_suggestion(tmp_path: Path) -> None:
    ended = run(tmp_path, refused())
    assert (ended.code, notes(ended)) == (0, [("passed", [NOTE])])


def test_so_is_one_that_the_server_reports_as_a_failed_call(tmp_path: Path) -> None:
    failed = {"response": {"result": {"match:partial": {"isError": True}}}}
    ended = run(tmp_path, refused() | {"expect": failed}, server=naming("quiet"))
    assert notes(ended) == [("passed", [NOTE])]


def test_so_is_a_misspelt_prompt(tmp_path: Path) -> None:
    ended = run(tmp_path, {"it": "refuses", "prompt": "great", "expect": ERROR})
    note = 'the server lists no prompt "great"; did you mean "greet"?'
    assert notes(ended) == [("passed", [note])]


def test_a_name_like_no_other_has_no_suggestion(tmp_path: Path) -> None:
    assert notes(run(tmp_path, refused("zzz"))) == [
        ("passed", ['the server lists no tool "zzz"']),
    ]


def test_a_listed_tool_that_fails_has_no_note(tmp_path: Path) -> None:
    failed = {"response": {"result": {"match:partial": {"isError": True}}}}
    ended = run(tmp_path, {"it": "needs a path", "tool": "read_file", "expect": failed})
    assert notes(ended) == [("passed", [])]


def test_a_resource_has_no_note(tmp_path: Path) -> None:
    unknown = {"response": {"error": {"match:partial": {"code": -32601}}}}
    ended = run(tmp_path, {"it": "refuses", "resource": "memo://x", "expect": unknown})
    assert notes(ended) == [("passed", [])]


@pytest.mark.parametrize("mode", ["undeclared", "unlisted", "half"])
def test_a_server_that_does_not_list_its_tools_gives_no_note(tmp_path: Path, mode: str) -> None:
    ended = run(tmp_path, refused(), server=naming(mode))
    assert (ended.code, notes(ended)) == (0, [("passed", [])])


@pytest.mark.parametrize("mode", ["undeclared", "unlisted", "half"])
def test_a_strict_test_says_that_the_name_could_not_be_checked(tmp_path: Path, mode: str) -> None:
    server = naming(mode, strict=True)
    ended = run(tmp_path, refused(), refused("zzz", unlisted=True), server=server)
    unchecked = 'strict: the server did not list all its tools, so "red_file" could not be checked'
    assert (ended.code, notes(ended)) == (0, [("passed", [unchecked]), ("passed", [])])


@pytest.mark.parametrize("strict", [False, True])
def test_an_empty_list_is_a_list(tmp_path: Path, strict: bool) -> None:
    ended = run(tmp_path, refused("zzz"), server=naming("empty", strict=strict))
    first = ("failed", []) if strict else ("passed", ['the server lists no tool "zzz"'])
    assert (ended.code, notes(ended)) == (int(strict), [first])


def test_a_test_that_fails_has_the_note_too(tmp_path: Path) -> None:
    wanted = {"response": {"result": {"match:partial": {"isError": False}}}}
    failing = refused() | {"expect": wanted}
    no_path = {"it": "needs a path", "tool": "read_file", "expect": wanted}
    ended = run(tmp_path, failing, no_path, words=("--json", "--bail"))
    assert notes(ended) == [("failed", [NOTE])]
    first, second = notes(run(tmp_path, failing, no_path, server=naming(strict=True)))
    assert first == ("failed", [NOTE])
    assert second == ("failed", ['the tool reported an error: "no path"'])


def test_a_strict_config_makes_it_a_failure_with_the_same_sentence(tmp_path: Path) -> None:
    ended = run(tmp_path, refused(), refused("zzz", unlisted=True), server=naming(strict=True))
    tests = ended.report()["suites"][0]["tests"]
    assert (ended.code, [test["status"] for test in tests]) == (1, ["failed", "passed"])
    assert tests[0]["mismatches"][0]["message"] == NOTE
    assert ended.report()["summary"]["failed"] == 1


def test_a_test_says_that_it_means_an_unlisted_name(tmp_path: Path) -> None:
    assert notes(run(tmp_path, refused(unlisted=True))) == [("passed", [])]


def test_a_listed_name_that_a_test_calls_unlisted_is_reported(tmp_path: Path) -> None:
    failed = {"response": {"result": {"match:partial": {"isError": True}}}}
    test = {"it": "needs a path", "tool": "read_file", "unlisted": True, "expect": failed}
    [(status, [note])] = notes(run(tmp_path, test))
    assert (status, note) == (
        "passed",
        'the test says "unlisted", and the server lists the tool "read_file"',
    )


def test_a_resource_cannot_be_unlisted(tmp_path: Path) -> None:
    ended = run(tmp_path, {"it": "x", "resource": "memo://x", "unlisted": True, "expect": ERROR})
    assert ended.code == 2
    message = ended.report()["error"]["diagnostics"][0]["message"]
    assert message == '"unlisted" is about a tool or a prompt, and this test calls neither'


def test_the_expectation_is_shown_as_a_description(tmp_path: Path) -> None:
    ended = run(tmp_path, refused(), server=naming(strict=True), words=("--no-color",))
    assert "  expected  a tool that the server lists\n" in ended.out
    assert '  actual    "red_file"\n' in ended.out
    assert "differs" not in ended.out


def test_the_list_is_read_once_and_after_all_calls(tmp_path: Path) -> None:
    journal = tmp_path / "journal"
    server = naming(env={"JOURNAL": str(journal)})
    read = {"it": "reads", "tool": "read_file", "arguments": {"path": "a"}}
    wanted = {"response": {"result": {"match:partial": {"isError": False}}}}
    ended = run(tmp_path, refused(), refused("red"), read | {"expect": wanted}, server=server)
    assert [status for status, _ in notes(ended)] == ["passed"] * 3
    methods = journal.read_text(encoding="utf-8").split()
    assert methods[2:] == ["tools/call", "tools/call", "tools/call", "tools/list", "prompts/list"]


def test_every_report_has_the_note(tmp_path: Path) -> None:
    reporters = ("agent", "github", "html", "junit", "markdown", "minimal", "sarif", "tap")
    words = tuple(f"--reporter={name}=report.{name}" for name in reporters)
    ended = run(tmp_path, refused(), words=(*words, "--reporter=terminal"))
    assert f"note: {NOTE}" in ended.out
    for name in reporters:
        text = (tmp_path / f"report.{name}").read_text(encoding="utf-8")
        assert "the server lists no tool" in text, name


def test_files_side_by_side_have_it_too(tmp_path: Path) -> None:
    write_suite(tmp_path / "b.test.mcp.yml", refused(), server=naming(isolation="file"))
    run(tmp_path, refused(), server=naming(isolation="file"))
    ended = mcptest(tmp_path, "run", ".", "-j", "2", "--json")
    assert notes(ended) == [("passed", [NOTE])] * 2


def test_cases_have_it_too(tmp_path: Path) -> None:
    def case(name: str, **keys: object) -> str:
        asked = {"name": "red_file", "arguments": {}}
        request = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": asked}
        answer = {"jsonrpc": "2.0", "id": 1, "error": {"code": -32602}}
        return json.dumps({"case": name, "in": request, "out": answer, **keys})

    documents = [case("a", _server=naming(strict=True)), case("b", _unlisted=True)]
    (tmp_path / "a.cases.yaml").write_text("\n---\n".join(documents), encoding="utf-8")
    tests = mcptest(tmp_path, "run", "--json").report()["suites"][0]["tests"]
    assert [test["status"] for test in tests] == ["failed", "passed"]
    assert tests[0]["mismatches"][0]["message"] == NOTE
    assert '"_unlisted: true"' in tests[0]["mismatches"][0]["hint"]
    failing = case("c", _server=naming()).replace('"code": -32602', '"code": -1')
    (tmp_path / "a.cases.yaml").write_text(failing, encoding="utf-8")
    assert NOTE in notes(mcptest(tmp_path, "run", "--json"))[0][1]


@pytest.mark.parametrize("strict", [False, True])
def test_suites_have_it_too(tmp_path: Path, strict: bool) -> None:
    code = [{"target": "error.code", "matcher": {"exact": -32602}}]
    entry = {"name": "a", "tool": "red_file", "expect": code}
    suite = {
        "servers": {"s": {"command": [sys.executable, "-S", "-E", str(SERVER)]}},
        "tools": [entry, entry | {"name": "b", "unlisted": True}],
        "run_options": {"strict": strict},
    }
    (tmp_path / "mcptest.yaml").write_text(json.dumps(suite), encoding="utf-8")
    ended = mcptest(tmp_path, "run", "--json")
    first = ("failed", []) if strict else ("passed", [NOTE])
    assert (ended.code, notes(ended)) == (int(strict), [first, ("passed", [])])
