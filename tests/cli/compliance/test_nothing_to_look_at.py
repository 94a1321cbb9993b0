"""A check that has nothing to look at does not pass."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from active import REFERENCE_SERVER, check_server

SERVERS = Path(__file__).parents[2] / "servers"
REFERENCE = (sys.executable, str(REFERENCE_SERVER))


def hinted(folder: Path, hints: str) -> tuple[str, ...]:
    file = folder / "hints.yml"
    file.write_text(hints, encoding="utf-8")
    return ("--hints", str(file))


@pytest.mark.long
def test_a_slow_tool_whose_duration_is_not_given_is_waited_for(tmp_path: Path) -> None:
    server = (sys.executable, str(SERVERS / "unusual_server.py"))
    hints = hinted(tmp_path, "slow_tool: wait\n")
    check = check_server("--only", "CANC-02", *hints, "--", *server).checks()["CANC-02"]
    assert check["verdict"] == "warning"
    assert "a call that was cancelled still got the result" in check["message"]


@pytest.mark.parametrize(
    ("id", "hint", "words"),
    [
        ("CANC-02", "slow_tool: echo", "answered within 0.3 s, before it was cancelled"),
        ("CANC-02", "slow_tool: {name: slow, arguments: {seconds: 9}}", "seconds long enough?"),
        ("PROG-02", "progress_tool: echo", "reports no progress with a progress token either"),
        ("ELIC-08", "eliciting_tool: no_such_tool", "did not ask for anything, it got error"),
        ("SAMP-07", "sampling_tool: echo", "did not ask for anything, it got"),
        ("MRTR-08", "eliciting_tool: echo", "did not ask for anything, it got"),
    ],
)
def test_a_wrong_hint_is_named(tmp_path: Path, id: str, hint: str, words: str) -> None:
    hints = hinted(tmp_path, f"{hint}\n")
    checked = check_server("--only", id, "--timeout", "2s", *hints, "--", *REFERENCE)
    found = [each for each in checked.report["checks"] if each["verdict"] != "not_applicable"]
    assert found
    for check in found:
        assert check["verdict"] == "could_not_run"
        assert words in check["message"]
        assert check["needs"] == hint.partition(":")[0]


def test_secrets_are_looked_for_even_if_no_other_check_is_chosen() -> None:
    words = ("--only", "LOG-08", "--spec-version", "2026-07-28")
    checked = check_server(*words, "--", *REFERENCE, "--break", "LOG-08")
    assert checked.ids("failed") == {"LOG-08"}


# It opens exactly this many sessions; their ids differ.
FEW_SESSIONS = """\
import http.server, json, sys, uuid

opened = []

class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if message["method"] == "initialize" and len(opened) == int(sys.argv[2]):
            return self.answer(503)
        if message["method"] == "initialize":
            opened.append(f"{uuid.uuid4()}{7 * len(opened)}")
            result = {"protocolVersion": "2025-11-25", "capabilities": {},
                      "serverInfo": {"name": "few", "version": "1"}}
            return self.answer(200, message["id"], result, opened[-1])
        self.answer(200 if "id" in message else 202, message.get("id"), {})

    def do_DELETE(self):
        self.answer(405)

    do_GET = do_DELETE

    def answer(self, status, id=None, result=None, session=""):
        text = {"jsonrpc": "2.0", "id": id, "result": result}
        body = json.dumps(text).encode() if id is not None else b""
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        if session:
            self.send_header("Mcp-Session-Id", session)
        self.end_headers()
        self.wfile.write(body)

http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"""


@pytest.mark.parametrize(("count", "verdict"), [("12", "passed"), ("5", "could_not_run")])
def test_sessions_that_could_not_be_opened_are_not_the_same_session(
    tmp_path: Path, count: str, verdict: str
) -> None:
    server = tmp_path / "few.py"
    server.write_text(FEW_SESSIONS, encoding="utf-8")
    words = ("--only", "HTTP-12", "--url", "http://127.0.0.1:{port}/mcp")
    checked = check_server(*words, "--", sys.executable, str(server), "{port}", count)
    assert checked.checks()["HTTP-12"]["verdict"] == verdict


def test_session_ids_that_count_can_be_guessed(tmp_path: Path) -> None:
    counts = FEW_SESSIONS.replace('f"{uuid.uuid4()}{7 * len(opened)}"', 'f"id-{len(opened)}"')
    server = tmp_path / "counts.py"
    server.write_text(counts, encoding="utf-8")
    words = ("--only", "HTTP-12", "--url", "http://127.0.0.1:{port}/mcp")
    checked = check_server(*words, "--", sys.executable, str(server), "{port}", "12")
    check = checked.checks()["HTTP-12"]
    assert check["verdict"] == "warning"
    assert "consecutive numbers, so they can be guessed: id-" in check["message"]
