"""A small MCP server over stdio that reads files below one folder.

Standard library only, so that it runs wherever Python does. Usage: server.py FOLDER
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

TOOLS = [
    {
        "name": "read_file",
        "description": "Reads the content of a file.",
        "inputSchema": {
            "type": "object",
            "properties": {"path": {"type": "string"}},
            "required": ["path"],
        },
    },
    {
        "name": "list_folder",
        "description": "Lists the names in a folder.",
        "inputSchema": {"type": "object", "properties": {"path": {"type": "string"}}},
    },
]


class RpcError(Exception):
    """An error that is answered instead of a result."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


def text_result(text: str, *, is_error: bool = False) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": text}], "isError": is_error}


def inside(root: Path, name: str) -> Path:
    path = (root / name).resolve()
    if not path.is_relative_to(root):
        raise PermissionError(f"Access denied: {name}")
    return path


def call_tool(root: Path, params: dict[str, Any]) -> dict[str, Any]:
    arguments = params.get("arguments", {})
    try:
        if params.get("name") == "read_file":
            return text_result(inside(root, arguments["path"]).read_text(encoding="utf-8"))
        if params.get("name") == "list_folder":
            names = sorted(path.name for path in inside(root, arguments.get("path", ".")).iterdir())
            return text_result("\n".join(names))
    except FileNotFoundError:
        return text_result(f"File not found: {arguments['path']}", is_error=True)
    except PermissionError as error:
        return text_result(str(error), is_error=True)
    except (IsADirectoryError, NotADirectoryError, UnicodeDecodeError, KeyError) as error:
        return text_result(f"{type(error).__name__}: {error}", is_error=True)
    raise RpcError(-32602, f"Unknown tool: {params.get('name')}")


def answer(root: Path, method: str, params: dict[str, Any]) -> dict[str, Any]:
    if method == "initialize":
        return {
            "protocolVersion": params["protocolVersion"],
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "simple-filesystem", "version": "1.0.0"},
        }
    if method == "ping":
        return {}
    if method == "tools/list":
        return {"tools": TOOLS}
    if method == "tools/call":
        return call_tool(root, params)
    raise RpcError(-32601, f"Method not found: {method}")


def main() -> None:
    root = Path(sys.argv[1]).resolve()
    for line in sys.stdin:
        message = json.loads(line)
        if "id" not in message:
            continue
        reply: dict[str, Any] = {"jsonrpc": "2.0", "id": message["id"]}
        try:
            reply["result"] = answer(root, message["method"], message.get("params", {}))
        except RpcError as error:
            reply["error"] = {"code": error.code, "message": str(error)}
        sys.stdout.write(json.dumps(reply) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
