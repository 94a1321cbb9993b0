"""A server that answers everything with what it was asked, to the last digit and letter."""

from __future__ import annotations

import json
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Message = dict[str, Any]

HELLO: Message = {
    "protocolVersion": "2025-11-25",
    "capabilities": {"tools": {}, "resources": {}, "prompts": {}},
    "serverInfo": {"name": "mirror", "version": "1"},
}
LISTS: dict[str, Message] = {
    "tools/list": {"tools": [{"name": "mirror", "inputSchema": {"type": "object"}}]},
    "resources/list": {"resources": [{"uri": "a:b", "name": "a"}]},
}


def answer_to(method: str, params: object) -> Message:
    if method == "initialize":
        return HELLO
    return LISTS.get(method) or {"asked": params}


def main() -> None:
    for line in sys.stdin.buffer:
        request = json.loads(line)
        if "id" in request:
            result = answer_to(request["method"], request.get("params", {}))
            answer = {"jsonrpc": "2.0", "id": request["id"], "result": result}
            sys.stdout.write(json.dumps(answer) + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
