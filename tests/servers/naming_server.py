"""A server that refuses what it does not know, and counts how often it was asked to count.

Arguments: `undeclared` declares no capabilities, `unlisted` refuses to list anything, `half`
refuses the second page of its tools, `empty` lists none, `quiet` reports unknown tools as results
with isError. What it receives is written to the file that JOURNAL names, one method per line.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Message = dict[str, Any]

TOOLS = ("read_file", "write_file", "count")
MODES = sys.argv[1:]
counted = 0


def text(words: str, *, is_error: bool = False) -> Message:
    return {"result": {"content": [{"type": "text", "text": words}], "isError": is_error}}


def refusal(message: str, code: int = -32602) -> Message:
    return {"error": {"code": code, "message": message}}


def call(name: str, given: Message) -> Message:
    global counted
    if name == "die":
        os._exit(1)
    if name not in TOOLS:
        unknown = f"unknown tool {name}"
        return text(unknown, is_error=True) if "quiet" in MODES else refusal(unknown)
    if name == "count":
        counted += 1
        return text(str(counted))
    return text("read") if "path" in given else text("no path", is_error=True)


def answer_to(method: str, params: Message) -> Message:
    if method == "initialize":
        declared: Message = {} if "undeclared" in MODES else {"tools": {}, "prompts": {}}
        info = {"name": "naming", "version": "1"}
        version = params["protocolVersion"]
        return {
            "result": {"protocolVersion": version, "capabilities": declared, "serverInfo": info}
        }
    if method == "tools/call":
        return call(params["name"], params.get("arguments", {}))
    if method == "prompts/get":
        return {"result": {"messages": []}} if params["name"] == "greet" else refusal("unknown")
    if method == "tools/list" and "unlisted" not in MODES and "cursor" not in params:
        names = () if "empty" in MODES else TOOLS
        tools = [{"name": n, "inputSchema": {"type": "object"}} for n in names]
        more = {"nextCursor": "2"} if "half" in MODES else {}
        return {"result": {"tools": tools, **more}}
    if method == "prompts/list" and "unlisted" not in MODES:
        return {"result": {"prompts": [{"name": "greet"}]}}
    return refusal("no such method", -32601)


for line in sys.stdin:
    request = json.loads(line)
    if "JOURNAL" in os.environ:
        with Path(os.environ["JOURNAL"]).open("a", encoding="utf-8") as journal:
            journal.write(f"{request['method']}\n")
    if "id" in request:
        found = answer_to(request["method"], request.get("params", {}))
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": request["id"], **found}) + "\n")
        sys.stdout.flush()
