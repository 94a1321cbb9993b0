"""A server of both eras that writes the trace of each request to a file.

`traced_server.py LOG [PORT]`; with a port it serves HTTP. A line of LOG is a JSON object:
`method`, `meta` (its `traceparent`) and `header` (over HTTP, that of the same name). The tool `say`
answers with its arguments, `die` ends the process.
"""

from __future__ import annotations

import json
import os
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Message = dict[str, Any]

STATELESS = "2026-07-28"
LOG = sys.argv[1]


def answer(message: Message, header: str | None = None) -> Message | None:
    method, params = message["method"], message.get("params") or {}
    meta = params.get("_meta", {}).get("traceparent")
    with open(LOG, "a", encoding="utf-8") as log:
        log.write(json.dumps({"method": method, "meta": meta, "header": header}) + "\n")
    if "id" not in message:
        return None
    offer: Message = {"capabilities": {"tools": {}}}
    if method == "initialize":
        info = {"name": "traced", "version": "1"}
        offer |= {"protocolVersion": params["protocolVersion"], "serverInfo": info}
        result = offer
    elif method == "server/discover":
        result = offer | {"supportedVersions": [STATELESS], "resultType": "complete"}
        result |= {"ttlMs": 0, "cacheScope": "private"}
    elif method == "tools/list":
        tools = [{"name": name, "inputSchema": {"type": "object"}} for name in ("say", "die")]
        result = {"tools": tools, "ttlMs": 0, "cacheScope": "private", "resultType": "complete"}
    else:
        if params.get("name") == "die":
            os._exit(3)
        words = json.dumps(params.get("arguments", {}))
        result = {"content": [{"type": "text", "text": words}], "resultType": "complete"}
    return {"jsonrpc": "2.0", "id": message["id"], "result": result}


class Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        found = answer(json.loads(body), self.headers.get("traceparent"))
        said = b"" if found is None else json.dumps(found).encode()
        self.send_response(202 if found is None else 200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(said)))
        self.end_headers()
        self.wfile.write(said)

    def do_GET(self) -> None:
        self.send_error(405)

    def log_message(self, format: str, *args: object) -> None:
        """Write nothing to stderr."""


def main() -> None:
    if len(sys.argv) > 2:
        HTTPServer(("127.0.0.1", int(sys.argv[2])), Handler).serve_forever()
    for line in sys.stdin:
        found = answer(json.loads(line))
        if found is not None:
            sys.stdout.write(json.dumps(found) + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
