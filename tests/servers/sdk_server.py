"""A server for tests of the SDK: what it was started with, how often it was called, and faults.

It calls home when MCPTEST_CONNECT_BACK says where that is, with its parent's process id.
SDK_MODE is a way of being broken from the start: "no-answer", "exit", "unready".
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time

from connect_back import PORT_VARIABLE, call_home

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Message = dict[str, Any]

HOME = call_home(f"server of {os.getppid()}") if PORT_VARIABLE in os.environ else None
MODE = os.environ.get("SDK_MODE", "")
HELLO: Message = {}
CALLS: list[str] = []
NOTES: dict[str, str] = {}

ADDED = {"type": "object", "properties": {"sum": {"type": "integer"}}, "required": ["sum"]}
NAMES = (
    "refuse",
    "echo",
    "fail",
    "count",
    "env",
    "cwd",
    "hello",
    "ask",
    "die",
    "hang",
    "slow",
    "flaky",
)
TOOLS: list[Message] = [{"name": name, "inputSchema": {"type": "object"}} for name in NAMES]
TOOLS += [
    {"name": "add", "inputSchema": {"type": "object"}, "outputSchema": ADDED},
    {"name": "lie", "inputSchema": {"type": "object"}, "outputSchema": ADDED},
]


def say(message: Message) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def text(words: object, **more: object) -> Message:
    return {"content": [{"type": "text", "text": str(words)}], **more}


def structured(**members: object) -> Message:
    return text(json.dumps(members), structuredContent=members)


def ask_client(method: str) -> object:
    """What the client answers to a request of ours."""
    say({"id": "ours", "method": method, "params": {}})
    answer = json.loads(sys.stdin.readline())
    return answer.get("result", answer.get("error"))


def about(name: str, given: Message) -> object:
    """What the server knows of itself."""
    if name == "count":
        return len(CALLS)
    if name == "env":
        return os.environ.get(given["name"], "unset")
    if name == "cwd":
        return os.getcwd()
    if name == "hello":
        return HELLO.get(given["key"])
    return json.dumps(ask_client(given["method"]))


def cause_fault(name: str, given: Message) -> Message:
    if name == "die":
        sys.stderr.write(f"last words: {given.get('words', 'goodbye')}\n")
        sys.stderr.flush()
        os._exit(3)
    if name in ("hang", "slow"):
        if HOME:
            HOME.sendall(b"hangs\n")
        time.sleep(given.get("ms", 600_000) / 1000)
    if name == "orphan":
        os.kill(os.getppid(), signal.SIGKILL)
    if name == "flaky":
        return text("ok" if CALLS.count("flaky") >= given["until"] else "not yet")
    if name == "shout":
        sys.stderr.write("shouted\n")
        sys.stderr.flush()
    return text("done")


def call(name: str, given: Message) -> Message:
    CALLS.append(name)
    if name == "echo":
        return text(given.get("text"), isError=False)
    if name == "add":
        return structured(sum=given["a"] + given["b"])
    if name == "lie":
        return structured(sum="five")
    if name == "fail":
        return text(given.get("words", "it cannot be done"), isError=True)
    if name == "say":
        return given
    if name == "store":
        NOTES[f"n{len(NOTES)}"] = given["text"]
        return structured(id=f"n{len(NOTES) - 1}")
    if name == "recall":
        return text(NOTES.get(given["id"], "unknown"), isError=given["id"] not in NOTES)
    if name in ("count", "env", "cwd", "hello", "ask"):
        return text(about(name, given))
    return cause_fault(name, given)


def answer(method: str, params: Message) -> Message:
    if method == "initialize":
        HELLO.update(params)
        return {
            "protocolVersion": params["protocolVersion"],
            "capabilities": {"tools": {}, "resources": {}, "prompts": {}},
            "serverInfo": {"name": "sdk", "version": "1"},
        }
    if method == "tools/list":
        return {"tools": TOOLS}
    if method == "tools/call":
        return call(params["name"], params.get("arguments", {}))
    if method == "resources/list":
        return {"resources": [{"uri": "memo://a", "name": "a"}]}
    if method == "resources/read":
        return {"contents": [{"uri": params["uri"], "text": f"# {params['uri']}"}]}
    if method == "prompts/get":
        who = params.get("arguments", {}).get("who", "you")
        return {"messages": [{"role": "user", "content": {"type": "text", "text": f"Hi {who}"}}]}
    return {}


def main() -> None:
    if MODE == "exit":
        sys.exit("this server does not want to start")
    if MODE != "unready":
        sys.stderr.write("ready\n")
        sys.stderr.flush()
    for line in iter(sys.stdin.readline, ""):
        message = json.loads(line)
        if "id" not in message or MODE == "no-answer":
            continue
        params = message.get("params", {})
        if params.get("name") == "refuse":
            words = params.get("arguments", {}).get("words", "I would rather not")
            error = {"code": -32602, "message": words, "data": {"why": "mood"}}
            say({"id": message["id"], "error": error})
        else:
            say({"id": message["id"], "result": answer(message["method"], params)})


if __name__ == "__main__":
    main()
