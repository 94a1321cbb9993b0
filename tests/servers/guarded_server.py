"""A server on HTTP that accepts only the right token, and logs what it received.

    guarded_server.py PORT LOG [WANTED]

With a WANTED header value it accepts that; without, it issues tokens at /token, `issued-token-1`
and so on, and accepts only those after the first: a client has to fetch a second one. Every
request for a token, and every Authorization header, is a line of LOG.
"""

from __future__ import annotations

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

LOG = Path(sys.argv[2])
WANTED = sys.argv[3] if len(sys.argv) > 3 else ""
INFO = {
    "protocolVersion": "2025-11-25",
    "capabilities": {"tools": {}},
    "serverInfo": {"name": "guarded", "version": "1"},
}


class Guarded(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    issued = 0

    def log_message(self, *words: object) -> None:
        pass

    def answer(self, status: int, value: object = None) -> None:
        body = b"" if value is None else json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self) -> None:
        self.answer(405)

    def do_DELETE(self) -> None:
        self.answer(405)

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        shown = self.headers.get("Authorization", "")
        with LOG.open("a", encoding="utf-8") as log:
            log.write(f"{self.path} {shown} {body.decode() if self.path == '/token' else ''}\n")
        if self.path == "/token":
            Guarded.issued += 1
            token = f"issued-token-{Guarded.issued}"
            self.answer(200, {"access_token": token, "token_type": "Bearer", "expires_in": 600})
        elif not self.is_let_in(shown):
            self.answer(401, {"error": f"{shown} will not do"})
        else:
            self.serve(json.loads(body), shown)

    def is_let_in(self, shown: str) -> bool:
        if WANTED:
            return WANTED in (shown, self.headers.get("X-Key"))
        return shown.startswith("Bearer issued-token-") and not shown.endswith("-1")

    def serve(self, message: dict[str, Any], shown: str) -> None:
        if "id" not in message:
            self.answer(202)
            return
        said = f"you showed {shown} and {self.headers.get('X-Key')}"
        results: dict[str, Any] = {
            "initialize": INFO,
            "tools/list": {"tools": []},
            "tools/call": {"content": [{"type": "text", "text": said}]},
        }
        result = results.get(message["method"], {})
        self.answer(200, {"jsonrpc": "2.0", "id": message["id"], "result": result})


ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Guarded).serve_forever()
