"""A server that writes down how it was started, and repeats it if it is asked to.

`seen.json` beside the program has its arguments, its folder and its environment. The tool `reveal`
returns the value of a variable, as a careless server would; `units` is what --units said.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

TOOLS = [{"name": name, "inputSchema": {"type": "object"}} for name in ("reveal", "units")]


def answer(method: str, params: dict[str, Any]) -> object:
    if method == "initialize":
        return {
            "protocolVersion": params["protocolVersion"],
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "surroundings", "version": "1"},
        }
    if method == "tools/list":
        return {"tools": TOOLS}
    if params.get("name") == "reveal":
        text = str(os.environ.get(params["arguments"]["name"]))
        sys.stderr.write(f"it is {text}\n")
        sys.stderr.flush()
    else:
        text = sys.argv[sys.argv.index("--units") + 1] if "--units" in sys.argv else "none"
    return {"content": [{"type": "text", "text": text}]}


def main() -> None:
    seen = {"argv": sys.argv[1:], "cwd": os.getcwd(), "env": dict(os.environ)}
    Path(__file__).with_name("seen.json").write_text(json.dumps(seen), encoding="utf-8")
    for line in sys.stdin:
        message = json.loads(line)
        if "id" in message:
            result = answer(message["method"], message.get("params", {}))
            reply = {"jsonrpc": "2.0", "id": message["id"], "result": result}
            sys.stdout.write(json.dumps(reply) + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
