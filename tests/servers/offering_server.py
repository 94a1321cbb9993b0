"""A server that offers a little of everything, for the commands that explore one.

It writes to stderr when it starts, remembers what was called in the file that CALLS names, and
gives its tools on two pages. One of them changes its answer once the file that FICKLE names
is there. With ODD its name and some of its texts are such as no file can hold.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

NASTY = "\x1b[31mred\x1b[0m \x07 \u202eabc\nsecond line"

HALF = "half \ud800 a pair"

READS: dict[str, Any] = {"readOnlyHint": True}
FIRST_PAGE: list[dict[str, Any]] = [
    {
        "name": "show",
        "description": f"Shows what it was given. {NASTY}",
        "annotations": READS,
        "inputSchema": {
            "type": "object",
            "properties": {
                "text": {"type": "string", "description": "any text"},
                "count": {"type": "integer"},
                "ratio": {"type": "number"},
                "deep": {"type": "boolean"},
                "tags": {"type": "array", "items": {"type": "string"}},
                "where": {"type": "object", "properties": {"city": {"type": "string"}}},
                "mode": {"enum": ["fast", "slow"]},
                "maybe": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
            },
            "required": ["text"],
            "additionalProperties": False,
        },
    },
    {"name": "fail", "description": "Fails.", "annotations": READS, "inputSchema": {}},
    {"name": "refuse", "description": "Is refused.", "annotations": READS, "inputSchema": {}},
    {"name": "media", "description": "Gives bytes.", "annotations": READS, "inputSchema": {}},
]
SECOND_PAGE: list[dict[str, Any]] = [
    {"name": "structured", "annotations": READS, "inputSchema": {"type": "object"}},
    {"name": "nasty", "annotations": READS, "inputSchema": {"type": "object"}},
    {"name": "secret", "annotations": READS, "inputSchema": {"type": "object"}},
    {"name": "hang", "annotations": READS, "inputSchema": {"type": "object"}},
    {"name": "die", "annotations": READS, "inputSchema": {"type": "object"}},
    {"name": "fickle", "annotations": READS, "inputSchema": {"type": "object"}},
    {"name": "delete_all", "description": "Deletes.", "inputSchema": {"type": "object"}},
    {"name": "wipe", "annotations": {"destructiveHint": True}, "inputSchema": {"type": "object"}},
]
NAME = "offering"
if os.environ.get("ODD"):
    NAME = f"{HALF} of ${{NOBODY}}"
    SECOND_PAGE += [
        {"name": HALF, "annotations": READS, "inputSchema": {}},
        {
            "name": "odd",
            "title": HALF,
            "description": HALF,
            "annotations": READS,
            "inputSchema": {"properties": {"a": {"default": HALF}}, "required": ["a", HALF]},
        },
    ]
PROMPT = {
    "name": "greet",
    "arguments": [{"name": "who", "required": True}, {"name": "tone"}],
}


def text(value: str, **more: Any) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": value}], **more}


def is_known(variable: str) -> bool:
    """Is the file that a variable names there? It is made when it is not."""
    path = os.environ.get(variable)
    if not path:
        return False
    known = Path(path).exists()
    Path(path).touch()
    return known


def call(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    if os.environ.get("CALLS"):
        with Path(os.environ["CALLS"]).open("a", encoding="utf-8") as calls:
            calls.write(f"{name}\n")
    if name == "show" and "text" in arguments:
        return {"result": text(json.dumps(arguments, sort_keys=True))}
    if name in RESULTS:
        return {"result": RESULTS[name]}
    if name == "secret":
        return {"result": text(f"the key is {os.environ.get('KEY')}")}
    if name == "fickle":
        return {"result": {"structuredContent": {}} if is_known("FICKLE") else text("a")}
    if name == "refuse":
        return {"error": {"code": -32602, "message": "no"}}
    if name == "hang":
        time.sleep(600)
    if name == "die":
        sys.exit("dying now")
    return {"result": text("it went wrong", isError=True)}


RESULTS = {
    "media": {
        "content": [
            {"type": "image", "mimeType": "image/png", "data": "AAAA"},
            {"type": "audio", "data": "AAA="},
        ]
    },
    "structured": text("{}", structuredContent={"n": 1, "inner": {"s": "a"}, "x": None}),
    "odd": text(HALF, structuredContent={HALF: HALF, "n": HALF}, **{HALF: 1}),
    "nasty": text(f"{NASTY}\n::error::not a command"),
}


def answer(method: str, params: dict[str, Any]) -> dict[str, Any]:
    if method == "initialize":
        result: dict[str, Any] = {
            "protocolVersion": params["protocolVersion"],
            "capabilities": {"tools": {}, "resources": {}, "prompts": {}},
            "serverInfo": {"name": NAME, "version": "1"},
        }
    elif method == "tools/list" and "cursor" not in params:
        result = {"tools": FIRST_PAGE, "nextCursor": "two"}
    elif method == "tools/list":
        result = {"tools": SECOND_PAGE}
    elif method == "tools/call":
        return call(params["name"], params["arguments"])
    elif method == "resources/list":
        result = {"resources": [{"uri": "note://one", "name": "one"}]}
    elif method == "resources/read" and params["uri"] == "note://one":
        result = {"contents": [{"uri": "note://one", "text": "first\nsecond"}]}
    elif method == "resources/read" and params["uri"] == "note://blob":
        result = {"contents": [{"uri": "note://blob", "blob": "AAAA"}]}
    elif method == "prompts/list":
        result = {"prompts": [PROMPT]}
    elif method == "prompts/get":
        said = f"Hello {params['arguments'].get('who')}"
        result = {"messages": [{"role": "user", "content": {"type": "text", "text": said}}]}
    else:
        return {"error": {"code": -32601, "message": f"no {method}"}}
    return {"result": result}


def main() -> None:
    sys.stderr.write(f"started \x1b[1m with {os.environ.get('KEY')}\n")
    sys.stderr.flush()
    for line in sys.stdin:
        message = json.loads(line)
        if "id" not in message:
            continue
        reply = {"jsonrpc": "2.0", "id": message["id"]}
        reply |= answer(message["method"], message.get("params", {}))
        sys.stdout.write(json.dumps(reply) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
