"""A server over stdio and over HTTP, in both eras, that may differ from way to way on purpose.

`ways_server.py stdio [FLAG…]` or `ways_server.py http PORT [FLAG…]`. The flags:

* `other-text`: over HTTP `greet` answers with another text
* `fewer-tools`: in the stateless era there is no tool `count`
* `other-schema`: over HTTP the argument of `greet` is of another type
* `no-stateless`, `no-handshake`: it does not support that era
* `old`: the only revision with a handshake that it supports is 2025-06-18
* `failing`: asked for what it offers without a handshake, it answers with an internal error
* `failing-hello`: the same for the handshake
* `leaving`: without a handshake it ends
* `status-STATUS`: over HTTP that is what it answers without a handshake, and "oops"
* `twice`: in the stateless era it lists the tool `greet` twice
* `deaf`: it ends at once
* `hang`: over HTTP `count` is never answered
* `mute`: it calls home, as `connect_back` has it, and never answers
"""

from __future__ import annotations

import json
import os
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from connect_back import call_home

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Message = dict[str, Any]

TRANSPORT = sys.argv[1]
IS_HTTP = TRANSPORT == "http"
PORT = int(sys.argv[2]) if IS_HTTP else 0
FLAGS = frozenset(sys.argv[3 if IS_HTTP else 2 :])
# What is answered over HTTP without a handshake; 0 for what is right.
STATUS = max((int(flag[7:]) for flag in FLAGS if flag.startswith("status-")), default=0)

STATELESS = "2026-07-28"
VERSION_KEY = "io.modelcontextprotocol/protocolVersion"
INFO = {"name": "ways", "version": "1"}
CAPABILITIES: Message = {"tools": {}}


class RefusedError(Exception):
    """What the server answers with an error: its code, and its words."""


def tools(is_stateless: bool) -> list[Message]:
    kind = "integer" if IS_HTTP and "other-schema" in FLAGS else "string"
    schema = {"type": "object", "properties": {"name": {"type": kind}}}
    listed: list[Message] = [{"name": "greet", "inputSchema": schema}]
    if not (is_stateless and "fewer-tools" in FLAGS):
        listed.append({"name": "count", "inputSchema": {"type": "object"}})
    if is_stateless and "twice" in FLAGS:
        listed.append(listed[0] | {"description": "another one"})
    return listed


def call(name: str, is_stateless: bool) -> Message:
    if name not in [tool["name"] for tool in tools(is_stateless)]:
        raise RefusedError(-32602, f"there is no tool {name}")
    if name == "count" and IS_HTTP and "hang" in FLAGS:
        sys.stderr.write("hanging\n")
        sys.stderr.flush()
        threading.Event().wait(60)
    words = "hi" if IS_HTTP and "other-text" in FLAGS else "hello"
    return {"content": [{"type": "text", "text": words if name == "greet" else "1"}]}


def open_session(method: str) -> Message:
    if method == "initialize":
        if "no-handshake" in FLAGS:
            raise RefusedError(-32601, "no handshakes here")
        if "failing-hello" in FLAGS:
            raise RefusedError(-32603, "oops")
        version = "2025-06-18" if "old" in FLAGS else "2025-11-25"
        return {"protocolVersion": version, "capabilities": CAPABILITIES, "serverInfo": INFO}
    if "no-stateless" in FLAGS:
        raise RefusedError(-32601, "only handshakes here")
    if "failing" in FLAGS:
        raise RefusedError(-32603, "oops")
    if "leaving" in FLAGS:
        os._exit(1)
    return {
        "supportedVersions": [STATELESS],
        "capabilities": CAPABILITIES,
        "ttlMs": 0,
        "cacheScope": "private",
        "_meta": {"io.modelcontextprotocol/serverInfo": INFO},
    }


def result_of(message: Message) -> Message:
    params = message.get("params", {})
    is_stateless = VERSION_KEY in params.get("_meta", {})
    method = message["method"]
    if method in ("initialize", "server/discover"):
        result = open_session(method)
    elif method == "tools/list":
        result = {"tools": tools(is_stateless)}
        result |= {"ttlMs": 0, "cacheScope": "private"} if is_stateless else {}
    elif method == "tools/call":
        result = call(params["name"], is_stateless)
    else:
        raise RefusedError(-32601, f"what is {method}?")
    return {"resultType": "complete"} | result if is_stateless else result


def answer_to(message: Message) -> Message:
    head = {"jsonrpc": "2.0", "id": message["id"]}
    try:
        return head | {"result": result_of(message)}
    except RefusedError as error:
        code, words = error.args
        return head | {"error": {"code": code, "message": words}}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if "id" not in message:
            self._reply(202, b"")
        elif VERSION_KEY in message.get("params", {}).get("_meta", {}) and STATUS:
            self._reply(STATUS, b"oops")
        else:
            self._reply(200, json.dumps(answer_to(message)).encode())

    def do_GET(self) -> None:
        self._reply(405, b"")

    do_DELETE = do_GET

    def _reply(self, status: int, body: bytes) -> None:
        self.send_response(status)
        if body:
            self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Log nothing."""


def main() -> None:
    if "deaf" in FLAGS:
        sys.stderr.write("not today\n")
    elif "mute" in FLAGS:
        with call_home("mute"):
            sys.stdin.buffer.read()
    elif IS_HTTP:
        ThreadingHTTPServer(("127.0.0.1", PORT), Handler).serve_forever()
    else:
        for line in sys.stdin.buffer:
            message = json.loads(line)
            if "id" in message:
                sys.stdout.write(json.dumps(answer_to(message)) + "\n")
                sys.stdout.flush()


if __name__ == "__main__":
    main()
