"""`mcptest mock --http`: clients of both eras, reports, and which requests it refuses."""

from __future__ import annotations

import contextlib
import json
import signal
import socket
import sys
from pathlib import Path

import pytest
from console import PATIENCE_S, mcptest, run
from http_mock_client import STATELESS, asking, calling, http_mocking
from http_probe import probing

ROOT = Path(__file__).parents[3]

CONTRACT = """\
case: Adds
in: {"jsonrpc": "2.0", "id": 1, "method": "tools/call",
     "params": {"name": "add", "arguments": {"a": 1, "b": 2}}}
out: {"jsonrpc": "2.0", "id": 1, "result": {"content": [{"type": "text", "text": "3"}]}}
---
case: Goes
in: {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "go"}}
out: {"jsonrpc": "2.0", "id": 1, "result": {"content": []}}
out_changed: {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}
---
case: Matches slowly
in: {"jsonrpc": "2.0", "id": 1, "method": "tools/call",
     "params": {"name": "slow", "arguments": {"text": !!re '^(a|a)*$'}}}
out: {"jsonrpc": "2.0", "id": 1, "result": {"content": []}}
"""

ADDING = calling("add", a=1, b=2)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "c.yaml").write_text(CONTRACT, encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_clients_of_both_eras_are_served_and_summarized_together(
    folder: Path, number: signal.Signals
) -> None:
    with http_mocking(folder, "c.yaml", "--report", "r.json") as mock:
        assert mock.told == f"mcptest mock: listening on http://127.0.0.1:{mock.port}/mcp\n"
        session = mock.open()
        answer = mock.post(ADDING, Mcp_Session_Id=session).message()
        assert answer["result"] == {"content": [{"type": "text", "text": "3"}]}
        result = mock.stateless("tools/call", name="go").message()["result"]
        assert result["resultType"] == "complete"
        assert mock.post(calling("nope"), Mcp_Session_Id=session).status == 200
        ended = mock.end(number)
    assert (ended.code, ended.out) == (0, "")
    assert ended.err.startswith("mcptest mock: 2 of 3 cases exercised, 1 wrong call\n")
    report = json.loads((folder / "r.json").read_text(encoding="utf-8"))
    assert (report["exercised"], report["missed"]) == (["Adds", "Goes"], ["Matches slowly"])
    assert report["wrong"][0]["request"]["params"]["name"] == "nope"


def test_verify_is_exit_0_when_the_clients_kept_the_contract_together(folder: Path) -> None:
    with http_mocking(folder, "c.yaml", "--verify", "--quiet") as mock:
        one, two = mock.open(), mock.open("2025-03-26")
        mock.post(ADDING, Mcp_Session_Id=one)
        mock.post(calling("go"), Mcp_Session_Id=two)
        mock.post(calling("slow", text="aaa"), Mcp_Session_Id=one)
        ended = mock.end()
    assert (ended.code, ended.err) == (0, "")


@pytest.mark.parametrize("is_wrong", [True, False])
def test_verify_is_exit_1_when_something_was_missed_or_wrong(folder: Path, is_wrong: bool) -> None:
    with http_mocking(folder, "c.yaml", "--verify") as mock:
        session = mock.open()
        for message in (ADDING, calling("go"), *([calling("slow", text="a")] * is_wrong)):
            mock.post(message, Mcp_Session_Id=session)
        if is_wrong:
            assert mock.post(ADDING).status == 400
        assert mock.end().code == 1


def test_two_clients_at_once_have_each_a_state_of_their_own(folder: Path) -> None:
    with http_mocking(folder, "c.yaml", "--once") as mock, contextlib.ExitStack() as stack:
        sessions = [mock.open() for _ in range(2)]
        probes = [stack.enter_context(probing(mock.port)) for _ in sessions]
        for round in range(2):
            for probe, session in zip(probes, sessions, strict=True):
                probe.ask(
                    "POST",
                    "/mcp",
                    json.dumps(ADDING).encode(),
                    Content_Type="application/json",
                    Accept="*/*",
                    Mcp_Session_Id=session,
                )
            for probe in probes:
                status, body = probe.answer()
                assert (status, "result" in json.loads(body)) == (200, round == 0)


def test_a_late_answer_holds_up_no_other_client(folder: Path) -> None:
    with http_mocking(folder, "c.yaml", "--latency", "tools/call=1000s") as mock:
        session = mock.open()
        with probing(mock.port) as late:
            late.ask(
                "POST",
                "/mcp",
                json.dumps(ADDING).encode(),
                Content_Type="application/json",
                Accept="*/*",
                Mcp_Session_Id=session,
            )
            assert mock.post(asking("ping"), Mcp_Session_Id=session).message()["result"] == {}
            # A signal does not wait for it either.
            assert mock.end().code == 0


def test_a_broken_connection_is_not_the_end_of_the_mock(folder: Path) -> None:
    with http_mocking(folder, "c.yaml", "--fault", "tools/call=drop") as mock:
        session = mock.open()
        with pytest.raises(ConnectionError):
            mock.post(ADDING, Mcp_Session_Id=session)
        assert mock.post(asking("ping"), Mcp_Session_Id=session).status == 200


@pytest.mark.long
def test_a_pattern_that_takes_forever_is_an_error_and_the_mock_continues(folder: Path) -> None:
    with http_mocking(folder, "c.yaml") as mock:
        answer = mock.stateless("tools/call", name="slow", arguments={"text": "a" * 60 + "!"})
        assert answer.message()["error"]["code"] == -32603
        assert mock.stateless("tools/list").status == 200


def test_clients_that_send_and_read_nothing_delay_no_other(folder: Path) -> None:
    with http_mocking(folder, "c.yaml") as mock, contextlib.ExitStack() as stack:
        session = mock.open()
        for begun in (b"", b"POST /mcp HT", b"POST /mcp HTTP/1.1\r\nContent-Length: 999\r\n"):
            stack.enter_context(probing(mock.port)).send(begun)
        deaf = stack.enter_context(probing(mock.port))
        deaf.ask("GET", "/mcp", Accept="text/event-stream", Mcp_Session_Id=session)
        for _ in range(50):
            assert mock.post(calling("go"), Mcp_Session_Id=session).status == 200
        assert mock.stateless("tools/list").status == 200
        assert deaf.until(b"list_changed").startswith(b"HTTP/1.1 200 ")
        assert mock.end().code == 0


# Strangers


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "evil.example:{port}"},
        {"Host": "evil.example"},
        {"Host": "127.0.0.1"},
        {"Origin": "http://evil.example"},
        {"Origin": "http://127.0.0.1.evil.example"},
        {"Origin": "null"},
    ],
)
def test_a_page_from_another_origin_gets_403_and_no_data(
    folder: Path, headers: dict[str, str]
) -> None:
    with http_mocking(folder, "c.yaml") as mock:
        filled = {name: value.format(port=mock.port) for name, value in headers.items()}
        session = mock.open()
        for method in ("POST", "GET", "DELETE", "OPTIONS"):
            with probing(mock.port) as probe:
                probe.ask(method, "/mcp", b"{}", **filled, Mcp_Session_Id=session)
                status, body = probe.answer()
            assert status == 403
            assert b"tools" not in body
        assert mock.post(asking("ping"), Mcp_Session_Id=session).status == 200


def test_a_page_of_this_machine_is_let_in(folder: Path) -> None:
    with http_mocking(folder, "c.yaml") as mock:
        origin = "http://localhost:6274"
        host = f"localhost:{mock.port}"
        received = mock.post(asking("initialize"), Origin=origin, Host=host)
        assert received.status == 200


def test_only_this_machine_can_reach_it(folder: Path) -> None:
    with http_mocking(folder, "c.yaml") as mock:
        for family, address in ((socket.AF_INET, "127.0.0.2"), (socket.AF_INET6, "::1")):
            with contextlib.closing(socket.socket(family)) as elsewhere:
                elsewhere.settimeout(PATIENCE_S)
                assert elsewhere.connect_ex((address, mock.port)) != 0


# What makes no sense


@pytest.mark.parametrize("word", ["", "-1", "65536", "8000x", "http", "1e3", "٣"])
def test_an_invalid_port_is_refused(folder: Path, word: str) -> None:
    ended = mcptest(folder, "mock", "c.yaml", f"--http={word}")
    assert (ended.code, ended.out) == (2, "")
    assert "--http" in ended.err


def test_a_port_that_is_taken_serves_nothing(folder: Path) -> None:
    with http_mocking(folder, "c.yaml") as mock:
        ended = mcptest(folder, "mock", "c.yaml", "--http", str(mock.port))
    assert ended.code == 2
    assert f"cannot listen on port {mock.port}" in ended.err
    assert "0 for one that is free" in ended.err


def test_on_stdio_no_http_module_is_loaded(folder: Path) -> None:
    script = (
        "import sys; from mcptest.cli.main import main; main(['mock', 'c.yaml', '-q']); "
        "print([name for name in sys.modules if name in ('h11', 'socket', 'secrets')])"
    )
    assert run([sys.executable, "-c", script], folder, {}).out == "[]\n"


# Pipes


def test_a_client_without_handshake_is_served_on_pipes_too(folder: Path) -> None:
    message = calling("add", a=1, b=2)
    prefix = "io.modelcontextprotocol/"
    meta = {f"{prefix}protocolVersion": STATELESS, f"{prefix}clientCapabilities": {}}
    message["params"]["_meta"] = meta
    command = [sys.executable, "-m", "mcptest", "mock", "c.yaml"]
    ended = run(command, folder, {}, input=json.dumps(message).encode())
    assert json.loads(ended.out)["result"]["resultType"] == "complete"


# The example


def test_the_reader_of_the_example_borrows_a_book() -> None:
    contract = "examples/contract/library.cases.yaml"
    with http_mocking(ROOT, contract) as mock:
        done = run([sys.executable, "examples/contract/reader.py", mock.url], ROOT, {})
        ended = mock.end()
    found, asked, received = done.out.splitlines()
    assert (found, received) == ("found Moby-Dick", "heard Enjoy it.")
    assert asked.startswith("asked Back by ")
    assert "3 of 7 cases exercised" in ended.err
