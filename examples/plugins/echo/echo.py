"""The smallest whole plugin: `echo` gives back what it is given, `ping` says pong.

One JSON object per line in, one per line out, until the input ends. A template for your own.
Standard library only.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

INVALID_REQUEST, METHOD_NOT_FOUND = -32600, -32601

METHODS: dict[str, Callable[[Any], Any]] = {
    "echo": lambda params: params,
    "ping": lambda params: "pong",
}


def answer(request: dict[str, Any]) -> dict[str, Any]:
    """The result of a request, or the error that stands in its place."""
    method = request.get("method")
    if not isinstance(method, str):
        return {"error": {"code": INVALID_REQUEST, "message": "the method must be text"}}
    if method not in METHODS:
        return {"error": {"code": METHOD_NOT_FOUND, "message": f"there is no method {method}"}}
    return {"result": METHODS[method](request.get("params"))}


def main() -> None:
    for line in sys.stdin:
        try:
            request = json.loads(line)
            reply = {"id": request["id"], **answer(request)}
        except (ValueError, KeyError, TypeError, AttributeError):
            # Without an id nobody can be answered; stderr is for words to people.
            sys.stderr.write("echo: this line is no request\n")
            continue
        sys.stdout.write(json.dumps(reply) + "\n")
        # Whoever waits sees the answer only once it has been flushed.
        sys.stdout.flush()


if __name__ == "__main__":
    main()
