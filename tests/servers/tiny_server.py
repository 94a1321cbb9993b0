"""A server in a few lines, whose methods show what it was started with.

The first argument, if there is one, names a file that is made when the server starts.
"""

from __future__ import annotations

import json
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def answer(method: str, params: dict[str, Any]) -> object:
    if method == "initialize":
        return {
            "protocolVersion": params["protocolVersion"],
            "capabilities": {},
            "serverInfo": {"name": "tiny", "version": "1"},
        }
    if method == "echo":
        return params
    if method == "cwd":
        return {"cwd": os.getcwd()}
    if method == "env":
        # Said aloud as well, as a careless server would.
        value = os.environ.get(params["name"])
        sys.stderr.write(f"{params['name']} is {value}\n")
        sys.stderr.flush()
        return {"value": value}
    if method == "die":
        sys.exit(f"dying with {os.environ.get('KEY')}")
    return {}


def main() -> None:
    if sys.argv[1:]:
        open(sys.argv[1], "ab").close()
    for line in sys.stdin:
        message = json.loads(line)
        if "id" not in message or message["method"] == "sleep":
            continue
        result = answer(message["method"], message.get("params", {}))
        reply = {"jsonrpc": "2.0", "id": message["id"], "result": result}
        sys.stdout.write(json.dumps(reply) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
