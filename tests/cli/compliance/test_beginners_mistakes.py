"""Mistakes in a first server: the finding names the mistake, not one of its consequences."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from active import check_server, compliance_run

STDIO = """\
import json, sys

BEGIN
for line in sys.stdin:
    message = json.loads(line)
    NOTE
    result = {"ok": True}
    if message["method"] == "initialize":
        result = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
                  "serverInfo": {"name": "first", "version": "1"}}
    if message["method"] == "tools/list":
        result = {"tools": [{"name": "look", "inputSchema": {"type": "object"}}]}
    print(json.dumps({"jsonrpc": "2.0", "id": ID, "result": result}), flush=True)
END
"""
HTTP = """\
import http.server, json, sys

class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        result = {"protocolVersion": "2025-11-25", "capabilities": {},
                  "serverInfo": {"name": 1, "version": "1"}}
        text = {"jsonrpc": "2.0", "id": message.get("id"), "result": result}
        body = json.dumps(text).encode() if "id" in message else b""
        self.send_response(200 if body else 202)
        self.send_header("Content-Type", "text/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"""
LIMITS = ("--timeout", "1s", "--start-timeout", "1")


def stdio_server(folder: Path, **parts: str) -> tuple[str, ...]:
    text = STDIO
    for name, default in (("BEGIN", ""), ("NOTE", ""), ("ID", 'message.get("id")'), ("END", "")):
        text = text.replace(name, parts.get(name, default))
    (folder / "first.py").write_text(text, encoding="utf-8")
    return "--", sys.executable, str(folder / "first.py")


def over_http(folder: Path, text: str, *only: str) -> dict[str, Any]:
    (folder / "first.py").write_text(text, encoding="utf-8")
    where = ("--url", "http://127.0.0.1:{port}/mcp", "--", sys.executable, "first.py", "{port}")
    return check_server("--only", ",".join(only), *where, folder=folder).checks()


@pytest.mark.long
def test_an_answer_with_another_id_is_named_and_shown(tmp_path: Path) -> None:
    server = stdio_server(
        tmp_path,
        ID='str(message.get("id"))',
        BEGIN='print("[INFO] starting"); print("[INFO] ready")',
        END='raise SystemExit("no more input")',
    )
    ended = compliance_run("--only", "LIFE-01", *LIMITS, *server)
    assert ended.code == 3
    text = " ".join(ended.out.split())
    assert 'a response came with the id "1"; it must have that of the request, 1' in text
    assert 'received [INFO] starting {"jsonrpc":"2.0","id":"1","result"' in text
    # What it writes at the end of its input is not the reason.
    assert "no more input" not in ended.err


def test_a_server_that_ends_at_a_notification_is_reported_as_such(tmp_path: Path) -> None:
    checks = check_server(*stdio_server(tmp_path, NOTE='message["id"]')).checks()
    words = "(on stderr: \"KeyError: 'id'\") when it was sent notifications/initialized, which is a"
    for id in ("LIFE-01", "LIFE-11"):
        assert checks[id]["verdict"] == "failed"
        assert words in checks[id]["message"]
    assert ['"initialize"' in each for each in checks["LIFE-01"]["sent"]] == [True, False, False]


@pytest.mark.parametrize("name", ["look", "lok"])
def test_an_allowed_tool_that_does_not_exist_is_noted(tmp_path: Path, name: str) -> None:
    server = stdio_server(tmp_path)
    (tmp_path / "hints.yml").write_text(
        f"slow_tool: none\nprogress_tool: {name}\n", encoding="utf-8"
    )
    words = ("--only", "TOOL-16", "--allow-tool", name, "--hints", str(tmp_path / "hints.yml"))
    notes = check_server(*words, *server).report["notes"]
    expected = [
        "--allow-tool lok: the server lists no tool of this name",
        "hint progress_tool lok: the server lists no tool of this name",
    ]
    assert notes == (expected if name == "lok" else [])


def test_json_of_another_type_is_a_finding_and_hides_no_other(tmp_path: Path) -> None:
    checks = over_http(tmp_path, HTTP, "HTTP-03", "BASE", "LIFE-01")
    assert checks["HTTP-03"]["verdict"] == "failed"
    assert 'came as "text/json"; it must be application/json' in checks["HTTP-03"]["message"]
    assert checks["BASE-01"]["verdict"] == "passed"


def test_a_connection_that_is_closed_at_a_parse_error_counts(tmp_path: Path) -> None:
    check = over_http(tmp_path, HTTP, "BASE-20")["BASE-20"]
    assert (check["verdict"], check["shared"]) == ("warning", False)
    assert "closed the connection without an answer" in check["message"]


def test_a_server_that_ends_before_it_listens_says_why() -> None:
    script = "import sys; sys.exit('no database')"
    where = ("--url", "http://127.0.0.1:{port}/mcp", "--", sys.executable, "-c", script)
    ended = compliance_run("--format", "json", *where)
    assert ended.code == 3
    assert ended.report()["error"]["kind"] == "exited_early"
    assert "before it listened" in ended.report()["error"]["message"]
    assert "| no database" in ended.err
