"""Findings are true, and one mistake of a server is reported once: against real servers."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from console import Ended, mcptest, write_suite
from record_client import recording

CAPTURES = Path(__file__).parents[2] / "captures"

# A server whose mistakes are its arguments.
SERVER = """
import json, sys
MISTAKES = sys.argv[1:]
LOG = {"level": "info", "msg": "ready"}
def say(message):
    print(message if isinstance(message, str) else json.dumps(message), flush=True)
def answer(request, **members):
    say({"jsonrpc": "2.0", "id": request["id"], **members})
for line in sys.stdin:
    request = json.loads(line)
    id, method = request.get("id"), request["method"]
    if id is None:
        continue
    if method == "initialize":
        if "log" in MISTAKES:
            say(LOG)
        if "log-with-id" in MISTAKES:
            say(LOG | {"id": id, "error": "no cache", "method": "initialize"})
        info = {"name": "s", "version": "1"}
        version = request["params"]["protocolVersion"]
        offered = {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info}
        if "prompts" in MISTAKES:
            offered["capabilities"]["prompts"] = {}
        answer(request, result=offered)
    elif method == "tools/list":
        tool = {"name": "echo", "inputSchema": {"type": "object"}}
        answer(request, result={"tools": [tool]})
    elif method == "prompts/list":
        answer(request, result={"prompts": [{"name": "greet"}]})
    elif "no-content" in MISTAKES:
        answer(request, result={"isError": False})
    elif "string-code" in MISTAKES:
        answer(request, error={"code": "-32601", "message": "Method not found"})
    elif "null-error" in MISTAKES:
        answer(request, result={"content": []}, error=None)
    elif "pretty" in MISTAKES:
        content = [{"type": "text", "text": "hi"}]
        message = {"jsonrpc": "2.0", "method": "notifications/message",
                   "params": {"level": "info", "data": "hi"}}
        say(json.dumps(message, indent=1))
        answer(request, result={"content": content})
    elif "backend" in MISTAKES:
        said = "connect ECONNREFUSED 127.0.0.1:5432"
        answer(request, error={"code": -32603, "message": said})
    elif request["params"]["name"] == "echo" and "refuses" not in MISTAKES:
        answer(request, result={"content": [{"type": "text", "text": "hi"}]})
    else:
        answer(request, error={"code": -32602, "message": "Unknown tool"})
"""
LIST = {"it": "lists", "request": {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}}
LIST["expect"] = {"response": {"match:partial": {"result": {"tools": "match:type:array"}}}}
ECHO = {"it": "calls", "tool": "echo", "arguments": {}}
ECHO["expect"] = {"response": {"match:partial": {"result": {"content": "match:type:array"}}}}
ANY = ECHO | {"expect": {"response": "match:type:object"}}
REFUSED = ECHO | {"tool": "nothing", "expect": {"response": {"match:partial": {"error": {}}}}}


@pytest.fixture
def server(tmp_path: Path) -> list[str]:
    (tmp_path / "server.py").write_text(SERVER, encoding="utf-8")
    return [sys.executable, "-S", "server.py"]


def ran(folder: Path, server: list[str], *tests: dict[str, Any], mistakes: str = "") -> Ended:
    block = {"name": "s", "command": server[0], "args": [*server[1:], *mistakes.split()]}
    write_suite(folder / "a.test.mcp.yml", *tests, server=block)
    words = ("a.test.mcp.yml", "--strict-invariants", "--capture", "c.json", "--json")
    return mcptest(folder, "run", *words)


def reported(folder: Path, capture: str = "c.json") -> list[str]:
    """The rules that `compliance check` reports."""
    words = ("--capture", capture, "--format", "json")
    [session] = mcptest(folder, "compliance", "check", *words).report()["sessions"]
    return [each["id"] for each in session["invariants"] if each["status"] in ("fail", "warning")]


# Lines of a log among the messages


@pytest.mark.parametrize("mistake", ["log", "log-with-id"])
def test_a_log_line_is_not_mistaken_for_the_answer_to_initialize(
    tmp_path: Path, server: list[str], mistake: str
) -> None:
    report = ran(tmp_path, server, LIST, ECHO, mistakes=mistake).report()
    assert report["summary"]["passed"] == 2
    assert report["broken_rules"] == ["STDIO-01"]
    assert len(report["findings"]) == 1
    assert report["findings"][0]["message"].endswith("logs belong on stderr")
    capture = json.loads((tmp_path / "c.json").read_text(encoding="utf-8"))
    [session] = capture if isinstance(capture, list) else [capture]
    assert session["server_capabilities"] == {"tools": {}}
    assert session["exchanges"][0]["response"]["result"]["serverInfo"]["name"] == "s"
    assert reported(tmp_path) == ["STDIO-01"]


@pytest.mark.parametrize("mistake", ["log", "log-with-id"])
def test_a_recorded_session_pairs_answers_by_id(
    tmp_path: Path, server: list[str], mistake: str
) -> None:
    info = {"name": "c", "version": "1"}
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": info}
    with recording(tmp_path, command=[*server, mistake]) as client:
        client.send({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello})
        assert [b"level" in client.line(), b"serverInfo" in client.line()] == [True, True]
        client.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        client.ask(2, "tools/list")
        assert client.leave() == 0
    capture = client.capture()
    assert capture["server_capabilities"] == {"tools": {}}
    assert reported(tmp_path, "s.json") == ["STDIO-01"]


def test_a_capture_with_a_log_line_instead_of_the_answer_breaks_no_invariant(
    tmp_path: Path,
) -> None:
    capture = json.loads((CAPTURES / "INV-003.keeps-log-as-response.json").read_text("utf-8"))
    (tmp_path / "c.json").write_text(json.dumps(capture), encoding="utf-8")
    assert reported(tmp_path) == ["STDIO-01"]
    # Without the answer it is not known what the server advertised.
    del capture["exchanges"][1]["response"]
    (tmp_path / "c.json").write_text(json.dumps(capture), encoding="utf-8")
    assert reported(tmp_path) == ["STDIO-01"]


# One mistake, one finding


@pytest.mark.parametrize(
    ("mistake", "rule", "invariants"),
    [
        ("no-content", "TOOL-12", ["INV-005"]),
        ("string-code", "BASE-11", ["INV-006", "INV-007"]),
        ("null-error", "BASE-09", ["INV-006"]),
        ("pretty", "STDIO-02", []),
    ],
)
def test_one_mistake_is_reported_once_and_by_the_invariants_as_well(
    tmp_path: Path, server: list[str], mistake: str, rule: str, invariants: list[str]
) -> None:
    report = ran(tmp_path, server, LIST, ANY, mistakes=mistake).report()
    assert report["broken_rules"] == [rule]
    # A fault of the test is the report of some mistakes.
    assert len(report["findings"]) + report["summary"]["errors"] == 1
    assert reported(tmp_path) == [rule]
    words = ("--capture", "c.json", "--format", "json")
    [session] = mcptest(tmp_path, "compliance", "invariants", *words).report()["sessions"]
    broken = [each["id"] for each in session["invariants"] if each["status"] == "fail"]
    assert broken == invariants


def test_the_text_names_the_rule_that_reports_it(tmp_path: Path) -> None:
    capture = str(CAPTURES / "TOOL-12.breaks.json")
    ended = mcptest(tmp_path, "compliance", "check", "--capture", capture)
    assert "nor a structuredContent object (reported as TOOL-12)" in ended.out
    assert ended.out.endswith("1 session: 1 rule broken\n")


def test_the_check_of_the_invariants_in_a_suite_still_fails(
    tmp_path: Path, server: list[str]
) -> None:
    suite = {
        "servers": {"s": {"command": [*server, "no-content"]}},
        "tools": [{"name": "calls", "tool": "echo"}],
        "compliance": [{"name": "session", "check": "invariants"}],
    }
    (tmp_path / "mcptest.yaml").write_text(json.dumps(suite), encoding="utf-8")
    ended = mcptest(tmp_path, "run")
    assert "INV-005: the result of tools/call has neither" in ended.out, ended.out


# INV-004 and tests that expect errors


def written_cases(server: list[str], answer: dict[str, Any]) -> str:
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "nothing"}}
    head = {"_server": {"command": server[0], "args": server[1:]}}
    case = {"case": "refuses", "in": call, "out": {"jsonrpc": "2.0", "id": 1} | answer}
    return f"{json.dumps(head)}\n---\n{json.dumps(case)}\n"


def test_a_test_that_expects_an_error_does_not_break_inv_004(
    tmp_path: Path, server: list[str]
) -> None:
    ended = ran(tmp_path, server, REFUSED)
    assert (ended.code, ended.report()["broken_rules"]) == (0, [])
    # A capture has no tests in it.
    assert reported(tmp_path) == ["INV-004"]


@pytest.mark.parametrize("expected", [{"code": 1}, "match:type:string"])
def test_not_even_if_it_expects_another_error(
    tmp_path: Path, server: list[str], expected: object
) -> None:
    test = REFUSED | {"expect": {"response": {"match:partial": {"error": expected}}}}
    assert ran(tmp_path, server, test).report()["broken_rules"] == []


def test_not_if_it_expects_that_the_tool_reports_an_error(
    tmp_path: Path, server: list[str]
) -> None:
    test = REFUSED | {"expect": {"response": {"match:partial": {"result": {"isError": True}}}}}
    assert ran(tmp_path, server, test).report()["broken_rules"] == []


def test_a_test_that_expects_a_result_does(tmp_path: Path, server: list[str]) -> None:
    ended = ran(tmp_path, server, REFUSED, ECHO, mistakes="refuses")
    assert ended.report()["broken_rules"] == ["INV-004"]
    assert "ended in an error (1 of 1)" in ended.out
    assert "unreachable" not in ended.out


@pytest.mark.parametrize(
    ("target", "matcher", "broken"),
    [
        ("error.code", {"exact": -32602}, []),
        ("error.code", {"exact": 1}, []),
        ("result.messages[0].role", {"exact": "user"}, ["INV-004"]),
        ("error", {"not": {"exists": True}}, ["INV-004"]),
    ],
)
def test_a_suite_that_expects_an_error(
    tmp_path: Path, server: list[str], target: str, matcher: object, broken: list[str]
) -> None:
    test = {"name": "refuses", "prompt": "none", "expect": [{"target": target, "matcher": matcher}]}
    suite = {"servers": {"s": {"command": [*server, "prompts"]}}, "prompts": [test]}
    (tmp_path / "mcptest.yaml").write_text(json.dumps(suite), encoding="utf-8")
    report = mcptest(tmp_path, "run", "--strict-invariants", "--json").report()
    assert report["broken_rules"] == broken


@pytest.mark.parametrize(
    ("answer", "broken"),
    [
        ({"error": {"code": -32602, "message": "Unknown tool"}}, []),
        ({"error": {"code": -32000, "message": "Another one"}}, []),
        ({"result": {"isError": True, "content": []}}, []),
        ({"result": {"content": []}}, ["INV-004"]),
    ],
)
def test_a_contract_that_expects_an_error(
    tmp_path: Path, server: list[str], answer: dict[str, Any], broken: list[str]
) -> None:
    (tmp_path / "a.cases.yaml").write_text(written_cases(server, answer), encoding="utf-8")
    report = mcptest(tmp_path, "run", "--strict-invariants", "--json").report()
    assert report["broken_rules"] == broken


def test_inv_004_asks_for_a_backend_that_the_errors_name(tmp_path: Path, server: list[str]) -> None:
    ended = ran(tmp_path, server, ECHO, mistakes="backend")
    [finding] = [each for each in ended.report()["findings"] if each["kind"] == "INV-004"]
    assert finding["message"].endswith(
        '(1 of 1); "connect ECONNREFUSED 127.0.0.1:5432": is a backend of the server unreachable?'
    )


# Tasks, cancellation, and the end of the input

CARELESS = """
import json, sys, time
MISTAKES = sys.argv[1:]
steps = 0
def say(message):
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)
def progress():
    global steps
    steps += 1
    say({"method": "notifications/progress", "params": {"progressToken": "p", "progress": steps}})
tool = {"name": "slow", "inputSchema": {"type": "object"}}
tool["execution"] = {"taskSupport": "required"}
for line in sys.stdin:
    request = json.loads(line)
    id, method, params = request.get("id"), request["method"], request.get("params", {})
    token = params.get("_meta", {}).get("progressToken")
    if id is None:
        continue
    result = {}
    if method == "initialize":
        tasks = {"requests": {"tools": {"call": {}}}}
        result = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}, "tasks": tasks}}
        result["serverInfo"] = {"name": "s", "version": "1"}
    elif method == "tools/list":
        result = {"tools": [tool]}
    elif method == "tools/call" and token:
        progress()
        continue
    elif method == "ping" and "goes-on" in MISTAKES:
        progress()
    elif method == "tools/call" and "no-task" not in MISTAKES:
        say({"id": id, "error": {"code": -32601, "message": "Call it as a task"}})
        continue
    elif method == "tools/call":
        result = {"content": []}
    say({"id": id, "result": result})
if "stays" in MISTAKES:
    say({"id": "q", "method": "ping"})
    time.sleep(60)
"""


def ping(id: int) -> dict[str, Any]:
    request = {"jsonrpc": "2.0", "id": id, "method": "ping"}
    return {"it": f"pings {id}", "request": request, "expect": {"response": "match:type:object"}}


@pytest.mark.parametrize(
    ("mistake", "rule"),
    [("no-task", ["TASK-16"]), ("goes-on", ["CANC-03"]), ("stays", ["STDIO-10"]), ("", [])],
)
def test_each_careless_mistake_breaks_exactly_its_rule(
    tmp_path: Path, mistake: str, rule: list[str]
) -> None:
    (tmp_path / "server.py").write_text(CARELESS, encoding="utf-8")
    call: dict[str, Any] = {"jsonrpc": "2.0", "id": 3, "method": "tools/call"}
    call["params"] = {"name": "slow", "_meta": {"progressToken": "p"}}
    anything = {"response": "match:type:object"}
    slow = {"it": "is slow", "request": call, "timeout": "300ms", "expect": anything}
    plain = {"it": "calls", "tool": "slow", "arguments": {}, "expect": anything}
    tests = (LIST, plain, slow, ping(4), ping(5))
    ran(tmp_path, [sys.executable, "-S", "server.py"], *tests, mistakes=mistake)
    assert [each for each in reported(tmp_path) if each != "INV-004"] == rule
