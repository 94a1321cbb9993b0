"""`mcptest run --trace`: the trace context that each test sends, and where it is shown."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from console import mcptest

SERVERS = Path(__file__).parents[2] / "servers"
CONTEXT = r"00-([0-9a-f]{32})-[0-9a-f]{16}-01"
OWN = "00-11111111111111111111111111111111-2222222222222222-00"
TESTS = """description: traced
tests:
  - it: passes
    tool: say
    arguments: {a: 1}
    expect: {response: {match:partial: {result: {content: [{text: '{"a": 1}'}]}}}}
  - it: passes again
    tool: say
    arguments: {a: 2}
    expect: {response: {match:partial: {result: {content: [{text: '{"a": 2}'}]}}}}
  - it: fails
    tool: say
    arguments: {a: 3}
    expect: {response: {match:partial: {result: {content: [{text: other}]}}}}
  - it: has its own
    request:
      jsonrpc: "2.0"
      id: 7
      method: tools/call
      params: {name: say, arguments: {}, _meta: {traceparent: OWN}}
    expect: {response: {match:partial: {result: {content: [{text: other}]}}}}
  - it: ends in an error
    tool: die
    arguments: {}
    expect: {response: {match:partial: {result: {}}}}
""".replace("OWN", OWN)


def write(folder: Path, transport: str = "stdio", tests: str = TESTS) -> None:
    (folder / "traced.test.mcp.yml").write_text(tests, encoding="utf-8")
    words = [str(SERVERS / "traced_server.py"), "log"]
    config: dict[str, Any] = {"name": "traced", "command": sys.executable, "args": words}
    if transport == "http":
        config |= {"args": [*words, "{port}"], "url": "http://127.0.0.1:{port}/mcp"}
    (folder / "conductor.config.json").write_text(json.dumps(config), encoding="utf-8")


def calls(folder: Path) -> list[dict[str, Any]]:
    lines = (folder / "log").read_text(encoding="utf-8").splitlines()
    return [each for each in map(json.loads, lines) if each["method"] == "tools/call"]


def others(folder: Path) -> list[dict[str, Any]]:
    lines = (folder / "log").read_text(encoding="utf-8").splitlines()
    return [each for each in map(json.loads, lines) if each["method"] != "tools/call"]


@pytest.mark.parametrize("era", ["2025-11-25", "2026-07-28"])
@pytest.mark.parametrize("transport", ["stdio", "http"])
def test_each_test_sends_a_context_of_its_own_and_a_failure_shows_it(
    transport: str, era: str, tmp_path: Path
) -> None:
    write(tmp_path, transport)
    words = [
        "--trace",
        "--spec-version",
        era,
        "--junit",
        "junit.xml",
        "--reporter",
        "json=out.json",
    ]
    ended = mcptest(tmp_path, "run", *words)
    assert ended.code == 1, ended.out + ended.err
    sent = [each["meta"] for each in calls(tmp_path)]
    assert len(sent) == 5
    found = [re.fullmatch(CONTEXT, each) for each in sent]
    assert [bool(each) for each in found] == [True, True, True, False, True]
    assert sent[3] == OWN
    ids = [each[1] if each else "1" * 32 for each in found]
    assert len(set(ids)) == 5
    report = json.loads((tmp_path / "out.json").read_text(encoding="utf-8"))
    tests = report["suites"][0]["tests"]
    assert [each["trace_id"] for each in tests] == ids
    assert re.findall(r"(?m)^ +trace: (.*)$", ended.out) == ids[2:]
    root = ElementTree.parse(tmp_path / "junit.xml").getroot()
    written = [each.get("value") for each in root.iterfind(".//property[@name='trace_id']")]
    assert written == ids
    # HTTP servers read a header.
    headers = [each["header"] for each in calls(tmp_path)]
    assert headers == (sent if transport == "http" else [None] * 5)
    # What opens the session and lists what there is belongs to no test.
    assert [each for each in others(tmp_path) if each["meta"] or each["header"]] == []


@pytest.mark.parametrize("transport", ["stdio", "http"])
def test_without_the_option_nothing_is_sent_or_shown(transport: str, tmp_path: Path) -> None:
    write(tmp_path, transport)
    ended = mcptest(tmp_path, "run", "--reporter", "json=out.json")
    assert ended.code == 1
    sent = [each["meta"] for each in calls(tmp_path)]
    assert sent == [None, None, None, OWN, None]
    assert [each["header"] for each in calls(tmp_path)] == [None] * 5
    assert "trace:" not in ended.out
    assert "trace_id" not in (tmp_path / "out.json").read_text(encoding="utf-8")


@pytest.mark.parametrize("value", ["null", "5", "[a]", "{a: 1}"])
def test_a_trace_context_that_is_not_a_string_is_sent_and_not_shown(
    value: str, tmp_path: Path
) -> None:
    write(tmp_path, tests=TESTS.replace(OWN, value))
    ended = mcptest(tmp_path, "run", "--trace", "-k", "has its own")
    assert ended.code == 1
    assert "trace:" not in ended.out
    assert len(calls(tmp_path)) == 1


def test_each_attempt_has_a_context_of_its_own(tmp_path: Path) -> None:
    write(tmp_path)
    ended = mcptest(tmp_path, "run", "--trace", "-k", "fails", "--retries", "1", "--json")
    sent = [each["meta"] for each in calls(tmp_path)]
    assert len(set(sent)) == 2
    (test,) = ended.report()["suites"][0]["tests"]
    assert test["trace_id"] in sent[1]


def test_a_saved_report_shows_the_trace_again(tmp_path: Path) -> None:
    write(tmp_path)
    ran = mcptest(tmp_path, "run", "--trace", "-k", "fails", "--json")
    (tmp_path / "out.json").write_text(ran.out, encoding="utf-8")
    (test,) = ran.report()["suites"][0]["tests"]
    for reporter in ("terminal", "agent", "markdown", "tap"):
        shown = mcptest(tmp_path, "report", "out.json", "--format", reporter)
        assert test["trace_id"] in shown.out, reporter


def test_workers_send_it_too(tmp_path: Path) -> None:
    write(tmp_path)
    text = TESTS.replace("traced\n", "second\n")
    (tmp_path / "second.test.mcp.yml").write_text(text, encoding="utf-8")
    ended = mcptest(tmp_path, "run", "--trace", "--isolation", "file", "-j", "2", "-k", "passes")
    assert ended.code == 0, ended.out
    sent = [each["meta"] for each in calls(tmp_path)]
    assert len(set(sent)) == 4
    assert all(re.fullmatch(CONTEXT, each) for each in sent)


def test_a_capture_has_the_messages_as_written(tmp_path: Path) -> None:
    write(tmp_path)
    ended = mcptest(tmp_path, "run", "--trace", "--capture", "capture.json", "-k", "passes")
    assert ended.code == 0, ended.out
    capture = (tmp_path / "capture.json").read_text(encoding="utf-8")
    assert "tools/call" in capture
    assert "traceparent" not in capture


def test_a_contract_meets_its_mock_with_a_trace(tmp_path: Path) -> None:
    contract = str(Path(__file__).parents[3] / "examples" / "contract" / "library.cases.yaml")
    command = f"{sys.executable} -m mcptest mock {contract}"
    plain = mcptest(tmp_path, "run", contract, "--server-command", command)
    traced = mcptest(tmp_path, "run", contract, "--server-command", command, "--trace")
    assert (plain.code, traced.code) == (0, 0), plain.out + plain.err + traced.out + traced.err
