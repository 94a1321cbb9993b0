"""A server that answers with what a file says: its first argument, a JSON object by name of call.

Each call has a list of answers, and the second argument says which of them is given; where there
is none of that number, it is the first one. An answer has a `result` or an `error`, and it may
have `stderr` to write, `notify` to send and `wait_s` to wait before that.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

ANSWERS: dict[str, Any] = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
WHICH = int(sys.argv[2])
KEYS = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}


def say(message: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def answer(method: str, params: dict[str, Any]) -> dict[str, Any]:
    if method == "initialize":
        info = {"name": "answering", "version": "1"}
        capabilities: dict[str, Any] = {"tools": {}, "resources": {}, "prompts": {}}
        version = params["protocolVersion"]
        result = {"protocolVersion": version, "capabilities": capabilities, "serverInfo": info}
        return {"result": result}
    if method.endswith("/list"):
        kind = method.partition("/")[0]
        return {"result": {kind: []}}
    if method not in KEYS:
        return {"result": {}}
    known = ANSWERS[params[KEYS[method]]]
    found = known[WHICH if len(known) > WHICH else 0]
    time.sleep(found.get("wait_s", 0))
    sys.stderr.write(found.get("stderr", ""))
    sys.stderr.flush()
    for message in found.get("notify", []):
        say(message)
    return {key: found[key] for key in ("result", "error") if key in found}


def main() -> None:
    for line in sys.stdin:
        request = json.loads(line)
        if "id" in request:
            say({"id": request["id"], **answer(request["method"], request.get("params", {}))})


if __name__ == "__main__":
    main()
