"""`mcptest mock` on its pipes: delays, faults, and clients that do not behave."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from console import ENVIRONMENT, PATIENCE_S
from mock_client import call, mocking, request

if TYPE_CHECKING:
    from pathlib import Path

CONTRACT = """\
case: Goes
in: {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "go"}}
out: {"jsonrpc": "2.0", "id": 1, "result": {"content": []}}
---
case: Matches slowly
in: {"jsonrpc": "2.0", "id": 1, "method": "slow", "params": {"text": !!re '^(a|a)*$'}}
out: {"jsonrpc": "2.0", "id": 1, "result": {}}
---
case: Says much
in: {"jsonrpc": "2.0", "id": 1, "method": "much"}
out: {"jsonrpc": "2.0", "id": 1, "result": {"text": "%s"}}
""" % ("x" * 50_000)

PING = request("ping", None, "ping")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "c.yaml").write_text(CONTRACT, encoding="utf-8")
    return tmp_path


# Delays


@pytest.mark.parametrize(
    "option", [("--latency", "tools/call=500"), ("--fault", "tools/call=slow:500")]
)
def test_a_late_answer_holds_up_no_other(folder: Path, option: tuple[str, str]) -> None:
    with mocking(folder, "c.yaml", *option) as client:
        client.send(call("go", "late"), PING)
        assert [client.message()["id"] for _ in range(2)] == ["ping", "late"]


def test_answers_that_are_equally_late_keep_their_order(folder: Path) -> None:
    with mocking(folder, "c.yaml", "--latency", "50ms") as client:
        client.send(*(request("ping", None, number) for number in range(20)))
        assert [client.message()["id"] for _ in range(20)] == list(range(20))


def test_at_the_end_of_the_input_what_is_still_late_is_sent_at_once(folder: Path) -> None:
    with mocking(folder, "c.yaml", "--latency", "1000s") as client:
        client.send(PING, call("go"))
        ended = client.leave()
    assert [json.loads(line)["id"] for line in ended.out.splitlines()] == ["ping", 1]
    assert ended.code == 0


def test_a_signal_does_not_wait_for_late_answers(folder: Path) -> None:
    with mocking(folder, "c.yaml", "--latency", "tools/call=1000s") as client:
        client.send(call("go"), PING)
        assert client.message()["id"] == "ping"
        ended = client.signal(signal.SIGTERM)
    assert (ended.code, ended.out) == (0, "")
    assert "1 of 3 cases" in ended.err


# Faults


def test_hang_leaves_one_request_without_an_answer(folder: Path) -> None:
    with mocking(folder, "c.yaml", "--fault", "tools/call=hang") as client:
        client.send(call("go"), PING)
        assert client.message()["id"] == "ping"
        ended = client.leave()
    assert (ended.code, ended.out) == (0, "")


def test_drop_closes_the_connection(folder: Path) -> None:
    with mocking(folder, "c.yaml", "--fault", "tools/call=drop") as client:
        client.send(PING, call("go"))
        assert client.message()["id"] == "ping"
        assert client.line() == b""
        assert client.leave().code == 0


def test_error_answers_with_an_error(folder: Path) -> None:
    with mocking(folder, "c.yaml", "--fault", "tools/call=error") as client:
        client.send(call("go", 5))
        answer = client.message()
        assert (answer["id"], answer["error"]["code"]) == (5, -32603)
        assert "--fault" in answer["error"]["message"]


def test_malformed_sends_a_line_that_is_not_json_and_continues(folder: Path) -> None:
    with mocking(folder, "c.yaml", "--fault", "tools/call=malformed") as client:
        client.send(call("go"), PING)
        with pytest.raises(json.JSONDecodeError):
            json.loads(client.line())
        assert client.message()["id"] == "ping"


def test_faults_work_on_initialize_and_on_everything(folder: Path) -> None:
    with mocking(folder, "c.yaml", "--fault", "initialize=error") as client:
        assert "error" in client.ask("initialize", {})
    with mocking(folder, "c.yaml", "--fault", "*=drop") as client:
        client.send(PING)
        assert client.line() == b""


# Clients that do not behave


def test_lines_that_are_not_messages_are_answered(folder: Path) -> None:
    with mocking(folder, "c.yaml") as client:
        client.send(b"hello\n\n\xff\n[]\n")
        assert [client.message()["error"]["code"] for _ in range(3)] == [-32700, -32700, -32600]
        client.send(PING)
        assert client.message()["result"] == {}


def test_a_last_line_without_an_end_is_answered(folder: Path) -> None:
    with mocking(folder, "c.yaml") as client:
        client.send(json.dumps(PING).encode())
        assert json.loads(client.leave().out)["id"] == "ping"


@pytest.mark.long
def test_a_pattern_that_takes_forever_is_an_error_and_the_mock_continues(folder: Path) -> None:
    with mocking(folder, "c.yaml") as client:
        answer = client.ask("slow", {"text": "a" * 60 + "!"})
        assert answer["error"]["code"] == -32603
        assert "more than 2 s" in answer["error"]["message"]
        client.send(PING)
        assert client.message()["result"] == {}


def test_a_client_that_does_not_read_is_still_listened_to(folder: Path) -> None:
    """What it sends is more than the pipe holds, and so is what it should read."""
    asked = 400
    with mocking(folder, "c.yaml") as client:
        padding = {"_meta": {"padding": "y" * 5_000}}
        client.send(*(request("much", padding, number) for number in range(asked)))
        assert [client.message()["id"] for _ in range(asked)] == list(range(asked))
        assert client.leave().code == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_client_that_never_reads_cannot_keep_it_from_ending(
    folder: Path, number: signal.Signals
) -> None:
    with mocking(folder, "c.yaml", "--report", "r.json") as client:
        client.ask("ping")
        client.send(*(request("much", None, each) for each in range(100)))
        client.process.send_signal(number)
        # Nothing is read before it has ended.
        assert client.process.wait(PATIENCE_S) == 0
    assert (folder / "r.json").exists()


@pytest.mark.long
def test_a_client_that_leaves_without_reading_cannot_keep_it_from_ending(folder: Path) -> None:
    with mocking(folder, "c.yaml") as client:
        client.send(*(request("much", None, each) for each in range(100)))
        client.stdin.close()
        assert client.process.wait(PATIENCE_S) == 0


def test_a_client_that_closes_our_output_ends_it_quietly(folder: Path) -> None:
    with mocking(folder, "c.yaml", "--report", "r.json") as client:
        client.stdout.close()
        client.send(PING)
        assert client.process.wait(PATIENCE_S) == 0
        assert client.process.stderr
        err = client.process.stderr.read().decode("utf-8")
    assert err.startswith("mcptest mock: 0 of 3 cases exercised\n")
    assert (folder / "r.json").exists()


def test_on_a_terminal_the_mock_says_what_it_waits_for(folder: Path) -> None:
    ours, theirs = pty.openpty()
    try:
        process = subprocess.Popen(
            [sys.executable, "-m", "mcptest", "mock", "c.yaml"],
            cwd=folder,
            env=ENVIRONMENT,
            stdin=theirs,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        os.write(ours, json.dumps(PING).encode() + b"\n\x04")
        out, err = process.communicate(timeout=PATIENCE_S)
    finally:
        os.close(ours)
        os.close(theirs)
    assert json.loads(out)["id"] == "ping"
    assert err.startswith(b"mcptest mock: waiting for a client on standard input")


# Progress

PROGRESS = """\
case: Has a token
in: {"jsonrpc": "2.0", "id": 1, "method": "tools/call",
  "params": {"name": "written", "_meta": {"progressToken": "t"}}}
out_1: {"jsonrpc": "2.0", "method": "notifications/progress",
  "params": {"progressToken": "t", "progress": 1}}
out: {"jsonrpc": "2.0", "id": 1, "result": {"content": []}}
---
case: Has none
in: {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "unwritten"}}
out_1: {"jsonrpc": "2.0", "method": "notifications/progress",
  "params": {"progressToken": "t", "progress": 1}}
out: {"jsonrpc": "2.0", "id": 1, "result": {"content": []}}
---
case: Has any
in: {"jsonrpc": "2.0", "id": 1, "method": "tools/call",
  "params": {"name": "any", "_meta": {"progressToken": !!any }}}
out_1: {"jsonrpc": "2.0", "method": "notifications/progress",
  "params": {"progressToken": !!any , "progress": 1}}
out: {"jsonrpc": "2.0", "id": 1, "result": {"content": []}}
"""


@pytest.mark.parametrize("name", ["written", "unwritten", "any"])
def test_progress_has_the_token_of_the_client_or_is_not_sent(tmp_path: Path, name: str) -> None:
    (tmp_path / "c.yaml").write_text(PROGRESS, encoding="utf-8")
    meta = {"progressToken": 77}
    info = {"name": "c", "version": "1"}
    hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": info}
    with mocking(tmp_path, "c.yaml") as client:
        client.ask("initialize", hello)
        client.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        progress = client.ask("tools/call", {"name": name, "_meta": meta}, 2)
        assert progress["params"] == {"progressToken": 77, "progress": 1}
        assert client.message()["id"] == 2
        assert client.ask("tools/call", {"name": name}, 3)["id"] == 3
