"""A small MCP server over Streamable HTTP, in both eras of the protocol: python3 greeter.py PORT

It greets, in the language of the tenant that a header names, and serves nobody without one.
"""

from __future__ import annotations

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

GREETINGS = {"de": "Guten Tag", "en": "Good day", "fr": "Bonjour"}
HANDSHAKE, STATELESS = "2025-11-25", "2026-07-28"
VERSION_KEY = "io.modelcontextprotocol/protocolVersion"
INFO = {"name": "greeter", "version": "1.0"}
CAPABILITIES: dict[str, Any] = {"tools": {}}
TOOL = {
    "name": "greet",
    "description": "Greet somebody in the tenant's language.",
    "inputSchema": {
        "type": "object",
        "properties": {"who": {"type": "string"}},
        "required": ["who"],
    },
    "outputSchema": {
        "type": "object",
        "properties": {"greeting": {"type": "string"}},
        "required": ["greeting"],
    },
}


class RefusedError(Exception):
    """A request that gets an error; its code, then its message."""


def greet(arguments: dict[str, Any], tenant: str) -> dict[str, Any]:
    text = f"{GREETINGS[tenant]}, {arguments.get('who', 'you')}!"
    return {"content": [{"type": "text", "text": text}], "structuredContent": {"greeting": text}}


def result_of(message: dict[str, Any], tenant: str) -> dict[str, Any]:
    method, params = message["method"], message.get("params", {})
    if method == "initialize":
        return {"protocolVersion": HANDSHAKE, "capabilities": CAPABILITIES, "serverInfo": INFO}
    if method == "server/discover":
        return {"supportedVersions": [STATELESS], "capabilities": CAPABILITIES}
    if method == "ping":
        return {}
    if method == "tools/list":
        return {"tools": [TOOL]}
    if method == "tools/call" and params.get("name") == "greet":
        return greet(params.get("arguments", {}), tenant)
    if method == "tools/call":
        raise RefusedError(-32602, f"there is no tool {params.get('name')!r}")
    raise RefusedError(-32601, f"there is no method {method!r}")


def stateless(result: dict[str, Any], method: str) -> dict[str, Any]:
    """A result with what the era without a handshake wants in it."""
    result = {"resultType": "complete", **result}
    result["_meta"] = {"io.modelcontextprotocol/serverInfo": INFO}
    is_kept = method in ("server/discover", "tools/list")
    return result | ({"ttlMs": 60_000, "cacheScope": "public"} if is_kept else {})


class Endpoint(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        tenant = self.headers.get("X-Tenant", "")
        if self.path != "/mcp" or tenant not in GREETINGS:
            self.answer(404 if self.path != "/mcp" else 403)
            return
        message = json.loads(body)
        if "id" not in message:
            self.answer(202)
            return
        meta = message.get("params", {}).get("_meta", {})
        try:
            result = result_of(message, tenant)
            said = {
                "result": stateless(result, message["method"]) if VERSION_KEY in meta else result
            }
            status = 200
        except RefusedError as error:
            code, text = error.args
            said = {"error": {"code": code, "message": text}}
            status = 404 if code == -32601 and VERSION_KEY in meta else 200
        self.answer(status, {"jsonrpc": "2.0", "id": message["id"], **said})

    def do_GET(self) -> None:
        self.answer(405)

    def do_DELETE(self) -> None:
        self.answer(405)

    def answer(self, status: int, message: dict[str, Any] | None = None) -> None:
        body = json.dumps(message).encode() if message else b""
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing: stderr is for what matters."""


if __name__ == "__main__":
    ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Endpoint).serve_forever()
