"""A server that writes to stderr what each call asks it to, on pipes or over HTTP.

Usage: python3 logging_server.py [PORT]. `say` in the arguments of a tool goes to stderr, `text` is
its answer, `refuse` makes it answer with an error; `starting` is said once, before anything else.
"""

from __future__ import annotations

import json
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any


def answer(message: dict[str, Any]) -> dict[str, Any]:
    """The answer to a request."""
    method, params = message["method"], message.get("params", {})
    reply: dict[str, Any] = {"jsonrpc": "2.0", "id": message["id"]}
    if method == "initialize":
        return reply | {
            "result": {
                "protocolVersion": params["protocolVersion"],
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "logging", "version": "1"},
            }
        }
    if method != "tools/call":
        return reply | {"result": {"tools": []} if method == "tools/list" else {}}
    given = params.get("arguments", {})
    if "say" in given:
        sys.stderr.write(f"{given['say']}\n")
        sys.stderr.flush()
    if given.get("refuse"):
        return reply | {"error": {"code": -32000, "message": "refused"}}
    return reply | {"result": {"content": [{"type": "text", "text": given.get("text", "")}]}}


class Handler(BaseHTTPRequestHandler):
    """One message in each POST, one answer in each response."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        body = json.dumps(answer(message)).encode() if "id" in message else b""
        self.send_response(200 if body else 202)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self) -> None:
        self.send_response(405)
        self.send_header("Content-Length", "0")
        self.end_headers()

    do_DELETE = do_GET

    def log_message(self, format: str, *args: object) -> None:
        """Nothing: only what a call asks for goes to stderr."""


def main() -> None:
    sys.stderr.write("starting\n")
    sys.stderr.flush()
    if sys.argv[1:]:
        HTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
    for line in sys.stdin:
        message = json.loads(line)
        if "id" in message:
            sys.stdout.write(json.dumps(answer(message)) + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
