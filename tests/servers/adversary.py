"""A server that works against the one who checks it, in one way: adversary.py MODE [FILE].

Everything else it does well enough. FILE gets a line for each call of a tool, with the name of it;
for the mode `dies-at` it is the number of the message at which it ends.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

MODE = sys.argv[1]
CALLS = sys.argv[2] if len(sys.argv) > 2 else ""

ATTACK = (
    "x\n::error::by line\n   ::warning::by indented line\r::notice::by return\n"
    "\x1b[31m::error::red\x1b]8;;http://evil.example\x07 \u202ebidi \u2066 \u200bhidden "
    "##[error]d ##vso[task.setvariable variable=a]b ##teamcity[buildStop]\n"
    "<script>alert(1)</script><img src=http://evil.example/x onerror=alert(1)> "
    "![x](http://evil.example/x) [y](javascript:alert(1)) ]]> \x00 \ufffe `a` ```\n```\n|"
)
FLOOD = json.dumps({"jsonrpc": "2.0", "method": "notifications/message", "params": {"data": "x"}})
READ_ONLY = {"readOnlyHint": True}
FETCHING = {"$ref": "http://127.0.0.1:9/never", "properties": {"a": {"$ref": "file:///etc/passwd"}}}
SELF = {"type": "object", "properties": {"a": {"$ref": "#"}}, "required": ["a"], "$defs": {}}
count = {"messages": 0, "lists": 0}


def say(message: object) -> None:
    write(json.dumps(message).encode() + b"\n")


def write(raw: bytes) -> None:
    try:
        sys.stdout.buffer.write(raw)
        sys.stdout.buffer.flush()
    except OSError:
        os._exit(0)


def answer(id: object, result: object) -> None:
    if MODE == "twice":
        say({"jsonrpc": "2.0", "id": id, "result": result})
    say({"jsonrpc": "2.0", "id": id, "result": result})


def refuse(id: object, code: int, text: str) -> None:
    text = ATTACK if MODE == "attack" else text
    say({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": text, "data": text}})


def tool(name: str, **more: object) -> dict[str, object]:
    schema = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}
    return {"name": name, "inputSchema": schema, **more}


def tools() -> list[dict[str, object]]:
    plain = [tool("look", annotations=READ_ONLY), tool("change"), tool("delete_all")]
    if MODE == "many-tools":
        return [tool(f"tool{number}", annotations=READ_ONLY) for number in range(10_000)]
    if MODE == "schemas":
        odd = [FETCHING, SELF, True, [], {"type": []}, {"type": {}}, {"allOf": [SELF] * 50}]
        odd += [{"type": "object", "properties": {"a": {"pattern": "(a+)+$", "type": "string"}}}]
        return [
            tool(f"odd{number}", annotations=READ_ONLY) | {"inputSchema": schema}
            for number, schema in enumerate(odd)
        ]
    if MODE == "odd-types":
        as_task = {"annotations": READ_ONLY, "execution": {"taskSupport": "required"}}
        return [*plain, {"name": [], "annotations": READ_ONLY}, {"name": {}, **as_task}, as_task]
    if MODE == "long-texts":
        texts = ("<!--" * 200_000, " " * 800_000, "\n" * 800_000, "ignore " * 100_000)
        return [tool(f"t{at}", description=text) for at, text in enumerate(texts)]
    if MODE == "attack":
        plain = [{**each, "description": ATTACK} for each in plain]
        plain.append(tool(ATTACK, annotations=READ_ONLY, description=ATTACK))
    return plain


def list_page(name: str, params: dict[str, Any]) -> dict[str, object]:
    count["lists"] += 1
    entries: dict[str, list[Any]] = {
        "tools": tools(),
        "resources": [{"uri": "note://one", "name": "one"}],
        "resourceTemplates": [],
        "prompts": [{"name": "ask"}],
    }
    if MODE == "odd-types":
        entries["prompts"] = [{"name": [], "arguments": 5}, {"name": "a", "arguments": [None, 5]}]
    page: dict[str, object] = {name: entries[name]}
    if MODE in ("endless-pages", "hanging-pages"):
        page["nextCursor"] = f"{time.monotonic_ns()}"
    if MODE == "large-pages":
        page = {name: [{**each, "filler": "x" * 15_000_000} for each in entries[name][:1]]}
    return page


def serve(message: dict[str, Any]) -> None:
    method, id, params = message.get("method"), message.get("id"), message.get("params") or {}
    if method == "initialize":
        version = params.get("protocolVersion")
        if MODE == "version-from-the-future":
            version = "2026-07-28"
        if MODE == "attack-version":
            version = ATTACK
        capabilities: dict[str, object] = {"tools": {}, "prompts": {}, "logging": {}}
        capabilities["resources"] = {"subscribe": True}
        if MODE == "odd-types":
            capabilities["tasks"] = {"requests": {"tools": {"call": {}}}, "list": 5, "cancel": []}
        info = {"name": ATTACK, "version": ATTACK} if MODE == "attack" else {"name": "adversary"}
        answer(
            id,
            {
                "protocolVersion": version,
                "capabilities": capabilities,
                "serverInfo": {"version": "1", **info},
                "instructions": ATTACK if MODE == "attack" else "",
            },
        )
    elif method == "ping":
        answer(id, {})
    elif method == "server/discover" and MODE == "odd-types":
        answer(id, {"supportedVersions": 5, "capabilities": [], "_meta": 5})
    elif isinstance(method, str) and method.endswith("/list"):
        if MODE == "hanging-lists" or (MODE == "hanging-pages" and "cursor" in params):
            return
        name = method.removesuffix("/list")
        name = "resourceTemplates" if name == "resources/templates" else name
        if name in ("tools", "resources", "resourceTemplates", "prompts"):
            answer(id, list_page(name, params))
        else:
            refuse(id, -32601, "no")
    elif method == "tools/call":
        call(id, params)
    elif method == "resources/read":
        answer(id, {"contents": [{"uri": "note://one", "text": ATTACK}]})
    elif method == "prompts/get":
        answer(id, {"messages": []})
    elif method in ("logging/setLevel", "resources/subscribe", "resources/unsubscribe"):
        answer(id, {})
    elif id is not None:
        refuse(id, -32601, "no")


def call(id: object, params: dict[str, Any]) -> None:
    if CALLS and MODE != "dies-at":
        with open(CALLS, "a", encoding="utf-8") as file:
            file.write(f"{params.get('name')}\n")
    known = [each["name"] for each in tools()]
    if MODE == "hanging-tool" and params.get("name") == "look":
        return
    if params.get("name") not in known:
        refuse(id, -32602, "no")
    else:
        answer(id, {"content": [{"type": "text", "text": ATTACK}], "isError": True})


def before_each() -> None:
    """What a mode does when a message has arrived, before it is answered."""
    count["messages"] += 1
    if MODE == "dies-at" and count["messages"] == int(CALLS):
        os._exit(3)
    if MODE == "dies-often" and count["messages"] == 6:
        os._exit(3)
    if MODE == "slow":
        time.sleep(0.9)
    if MODE == "asks":
        for number in range(200):
            for method in ("roots/list", "sampling/createMessage", "elicitation/create", "ping"):
                say({"jsonrpc": "2.0", "id": f"{number}", "method": method, "params": {}})
    if MODE == "odd-types":
        say({"jsonrpc": "2.0", "id": {}, "method": {"x": 1}, "params": 5})
    if MODE == "flood-after" and count["messages"] > 2:
        flood(FLOOD.encode() + b"\n")
    if MODE == "large-answer" and count["messages"] > 2:
        write(b'{"jsonrpc": "2.0", "id": 1, "result": {"x": "')
        flood(b"x" * 1_000_000)
    if MODE == "deep" and count["messages"] > 2:
        write(b"[" * 200_000 + b"]" * 200_000 + b"\n")
    if MODE == "bytes":
        write(b"\xff\xfe\x00\x1b[31m::error::x ##[error]x\x07\n")


def flood(part: bytes) -> None:
    while True:
        write(part)


def main() -> None:
    if MODE in ("stubborn", "stubborn-child"):
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if MODE == "stubborn-child":
        code = "import signal, time; signal.signal(15, signal.SIG_IGN); time.sleep(600)"
        argv = [sys.executable, "-c", code]
        subprocess.Popen(argv, stdin=subprocess.DEVNULL, start_new_session=True)
    if MODE == "mute":
        time.sleep(600)
    if MODE == "flood":
        flood(FLOOD.encode() + b"\n")
    if MODE == "flood-noise":
        flood(b"noise " * 10 + b"\n")
    if MODE == "flood-stderr" and os.fork() == 0:
        while True:
            os.write(2, b"noise " * 10_000 + b"\n")
    if MODE == "endless-line":
        flood(b"x" * 65_536)
    for line in sys.stdin.buffer:
        before_each()
        try:
            message = json.loads(line)
        except ValueError:
            refuse(None, -32700, "no")
            continue
        if MODE == "only-pings" and isinstance(message, dict) and message.get("method") != "ping":
            continue
        if isinstance(message, dict):
            serve(message)
        else:
            refuse(None, -32600, "no")
    if MODE in ("stubborn", "stubborn-child"):
        time.sleep(600)


if __name__ == "__main__":
    main()
