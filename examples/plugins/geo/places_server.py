"""A small MCP server over stdio that knows where cities are. Standard library only."""

from __future__ import annotations

import json
import sys
from typing import Any

CITIES = {
    "Paris": {"lat": 48.8567, "lon": 2.3522},
    "Oslo": {"lat": 59.9133, "lon": 10.7389},
    "Suva": {"lat": -18.1416, "lon": 178.4419},
}
TOOLS = [
    {
        "name": "locate",
        "description": "Says where a city is.",
        "inputSchema": {
            "type": "object",
            "properties": {"city": {"type": "string", "enum": list(CITIES)}},
            "required": ["city"],
        },
    }
]


def result_of(method: str, params: dict[str, Any]) -> dict[str, Any]:
    if method == "initialize":
        return {
            "protocolVersion": params["protocolVersion"],
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "places", "version": "1"},
        }
    if method == "tools/call":
        place = CITIES[params["arguments"]["city"]]
        text = json.dumps(place)
        return {"content": [{"type": "text", "text": text}], "structuredContent": place}
    lists: dict[str, Any] = {"tools/list": {"tools": TOOLS}, "ping": {}}
    found: dict[str, Any] = lists[method]
    return found


def main() -> None:
    for line in sys.stdin:
        request = json.loads(line)
        if "id" not in request:
            continue
        reply: dict[str, Any] = {"jsonrpc": "2.0", "id": request["id"]}
        try:
            reply["result"] = result_of(request["method"], request.get("params", {}))
        except KeyError as error:
            reply["error"] = {"code": -32602, "message": f"there is nothing like {error}"}
        sys.stdout.write(json.dumps(reply) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
