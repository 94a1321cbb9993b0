#!/usr/bin/env python3
"""A fake mcptest binary for the tests of SDKs: answers as a script says, rightly or wrongly.

Started like the real one, `fake_binary.py exec --connection-server --server-command …`, so that
MCPTEST_BIN can name it. It starts no server. What it answers is in the JSON file that the variable
FAKE_BINARY_SCRIPT names; without a script it is a binary of version 2 with a small weather server
behind it. Everything it hears is appended to the file that FAKE_BINARY_HEARD names, its arguments
first. README.md beside this file says what a script can hold. Standard library only.
"""

from __future__ import annotations

import base64
import json
import os
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

    Message = dict[str, Any]

VERSION = 2
FRAMES = os.path.join(os.path.dirname(os.path.abspath(__file__)), f"v{VERSION}")

HELLO = {"protocol_version": VERSION, "binary_version": "0.0.0-fake"}
INITIALIZED = {
    "protocolVersion": "2025-11-25",
    "capabilities": {"tools": {}, "resources": {}, "prompts": {}},
    "serverInfo": {"name": "fake weather", "version": "1"},
}
TOOL = {"name": "get_weather", "inputSchema": {"type": "object"}}
RESOURCE = {"uri": "weather://paris", "name": "Paris"}


def usual_answer(request: Message) -> Message:
    """What a real binary would answer, as the members of the response."""
    method, params = request.get("method"), request.get("params", {})
    results: Message = {
        "coprocess/handshake": HELLO,
        "mcp.initialize": INITIALIZED,
        "mcp.call": _called(params),
        "mcp.listTools": {"tools": [TOOL]},
        "mcp.listResources": {"resources": [RESOURCE]},
        "mcp.readResource": {"contents": [{"uri": params.get("uri"), "text": "sunny"}]},
        "mcp.callPrompt": {"messages": [_message(params)]},
        "mcp.reporter.setUpload": {"enabled": params.get("enabled")},
        "mcp.reporter.flush": {"flushed": 0},
        "mcp.cache.set_mode": {"mode": params.get("mode")},
        "mcp.cassette.set_mode": {"mode": params.get("mode")},
        "mcp.shutdown": {},
    }
    if method in results:
        return {"result": results[method]}
    return {"error": {"code": -32601, "message": f'there is no method "{method}"'}}


def _called(params: Message) -> Message:
    text = json.dumps(params.get("arguments", {}))
    content = [{"type": "text", "text": text}]
    return {"content": content, "structuredContent": {"tool": params.get("tool")}, "isError": False}


def _message(params: Message) -> Message:
    name = params.get("name", params.get("prompt"))
    return {"role": "user", "content": {"type": "text", "text": f"This is {name}."}}


class FakeBinary:
    """One session."""

    def __init__(self, script: Message, heard: str) -> None:
        unknown = set(script) - {"before", "answers"}
        if unknown:
            fail(f'a script has no "{min(unknown)}"')
        self._before = script.get("before", [])
        self._answers = script.get("answers", {})
        self._heard = heard

    def serve(self) -> None:
        """Answer line by line until the input ends, or an answer is to exit."""
        self._note(json.dumps({"arguments": sys.argv[1:]}).encode() + b"\n")
        for action in self._before:
            perform(action, {})
        for line in sys.stdin.buffer:
            self._note(line)
            request = json.loads(line)
            action = self._next_action(request.get("method", ""))
            if action is None:
                say({"jsonrpc": "2.0", "id": request.get("id"), **usual_answer(request)})
            else:
                perform(action, request)
            if request.get("method") == "mcp.shutdown":
                return

    def _next_action(self, method: str) -> Any:
        """What the script says to this method now: of a list the next one, the last one again."""
        found = self._answers.get(method, self._answers.get("*"))
        if not isinstance(found, list):
            return found
        return found.pop(0) if len(found) > 1 else found[0]

    def _note(self, line: bytes) -> None:
        if self._heard:
            with open(self._heard, "ab") as file:
                file.write(line)


def perform(action: Any, request: Message) -> None:
    """Do what a script says in the place of an answer."""
    kind = kind_of(action)
    value = action[kind]
    if kind in ("result", "error"):
        say({"jsonrpc": "2.0", "id": request.get("id"), kind: value, **action.get("with", {})})
    elif kind in ("frame", "frame_base64", "half"):
        write(_bytes_of(kind, value))
    elif kind == "golden":
        perform(golden(*value), request)
    elif kind == "all":
        for each in value:
            perform(each, request)
    elif kind == "wait_ms":
        time.sleep(value / 1000)
    elif kind == "exit":
        sys.stderr.write(action.get("stderr", ""))
        sys.exit(value)


# What there is to do, and what may be said beside it.
KINDS: dict[str, tuple[str, ...]] = {
    "result": ("with",),
    "error": ("with",),
    "frame": (),
    "frame_base64": (),
    "half": (),
    "golden": (),
    "all": (),
    "wait_ms": (),
    "silence": (),
    "exit": ("stderr",),
}


def kind_of(action: Any) -> str:
    kinds = [name for name in KINDS if isinstance(action, dict) and name in action]
    if len(kinds) != 1 or set(action) - {kinds[0], *KINDS[kinds[0]]}:
        fail(f"this is nothing that can be done: {json.dumps(action)}")
    return kinds[0]


def _bytes_of(kind: str, text: str) -> bytes:
    """The bytes that a script means; only half a line has no end."""
    if kind == "frame_base64":
        return base64.b64decode(text) + b"\n"
    return text.encode("utf-8") + (b"" if kind == "half" else b"\n")


def golden(theme: str, name: str) -> Message:
    """A frame of the binary, from the files beside this one."""
    with open(os.path.join(FRAMES, f"{theme}.jsonl"), encoding="ascii") as file:
        for line in file:
            row = json.loads(line)
            if row["name"] == name and row["direction"] == "binary":
                return {key: row[key] for key in ("frame", "frame_base64") if key in row}
    fail(f'there is no frame "{name}" of the binary in {theme}.jsonl')


def say(message: Message) -> None:
    text = json.dumps(message, ensure_ascii=False, separators=(",", ":"))
    write(text.encode("utf-8", "backslashreplace") + b"\n")


def write(data: bytes) -> None:
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def fail(why: str) -> NoReturn:
    sys.stderr.write(f"fake_binary: {why}\n")
    sys.exit(2)


def main() -> None:
    if sys.argv[1:3] != ["exec", "--connection-server"]:
        fail(f"started with {sys.argv[1:]}, not with exec --connection-server …")
    script: Message = {}
    path = os.environ.get("FAKE_BINARY_SCRIPT", "")
    if path:
        with open(path, encoding="utf-8") as file:
            script = json.load(file)
    FakeBinary(script, os.environ.get("FAKE_BINARY_HEARD", "")).serve()


if __name__ == "__main__":
    main()
