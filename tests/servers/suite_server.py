"""A server for suites: notes that are made, read and thrown away, and outputs with schemas.

Its first argument is a prefix of the names of its tools, so that two of them can run side by
side. What happens to it is written, line by line, into the file that JOURNAL names. MODE adds
tools whose schemas are wrong. It connects to a listener, if there is one.
"""

from __future__ import annotations

import json
import os
import sys
import time

from connect_back import PORT_VARIABLE, call_home

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Message = dict[str, Any]

PREFIX = sys.argv[1] if sys.argv[1:] else ""
ANY = {"type": "object"}
SUM = {
    "type": "object",
    "properties": {"sum": {"type": "integer", "maximum": 1000}},
    "required": ["sum"],
}
WHEN = {"type": "object", "properties": {"when": {"type": "string", "format": "date-time"}}}

# 2 to the power of 40 ways not to match.
WIDE = {
    "$defs": {
        "w40": {"type": "string"},
        **{f"w{n}": {"anyOf": [{"$ref": f"#/$defs/w{n + 1}"}] * 2} for n in range(40)},
    },
    "$ref": "#/$defs/w0",
}
TOOLS: list[tuple[str, list[str], Message | None]] = [
    ("echo", ["text"], None),
    ("create", ["text"], {"type": "object", "required": ["id"]}),
    ("read", ["id"], None),
    ("delete", ["id"], None),
    ("add", ["a", "b"], SUM),
    ("wrong", [], SUM),
    ("bare", [], SUM),
    ("failing", [], SUM),
    ("clock", ["when"], WHEN),
    ("flaky", ["until"], None),
    ("slow", ["ms"], None),
    ("notify", ["words"], None),
    ("shout", ["words"], None),
    ("refuse", [], None),
    ("hang", [], None),
    ("die", [], None),
]
EXTRA: dict[str, Message] = {
    "bad_input": {"name": "odd", "inputSchema": {"type": "objekt"}},
    "bad_output": {"name": "odd", "inputSchema": ANY, "outputSchema": {"type": 5}},
    "no_schema": {"name": "odd", "inputSchema": "none"},
    "ref": {"name": "odd", "inputSchema": ANY, "outputSchema": {"$ref": os.environ.get("REF")}},
    "wide": {"name": "odd", "inputSchema": ANY, "outputSchema": WIDE},
}
NOTES: dict[str, str] = {}
CALLS: dict[str, int] = {}
HOME = call_home(f"{PREFIX}suite") if PORT_VARIABLE in os.environ else None


def note(words: str) -> None:
    """Write down what happened."""
    path = os.environ.get("JOURNAL")
    if path:
        with open(path, "a", encoding="utf-8") as journal:
            journal.write(f"{PREFIX}{words}\n")


def say(**members: Any) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **members}) + "\n")
    sys.stdout.flush()


def text(words: str, **more: Any) -> Message:
    return {"content": [{"type": "text", "text": words}], **more}


def structured(**members: Any) -> Message:
    return text(json.dumps(members), structuredContent=members)


def tools() -> list[Message]:
    found = []
    for name, arguments, output in TOOLS:
        schema = {"type": "object", "properties": {each: {} for each in arguments}}
        tool = {"name": PREFIX + name, "inputSchema": schema}
        found.append(tool | ({"outputSchema": output} if output else {}))
    modes = [mode for mode in os.environ.get("MODE", "").split(",") if mode in EXTRA]
    return [*found, *(EXTRA[mode] for mode in modes)]


def call(name: str, given: Message) -> Message:
    CALLS[name] = CALLS.get(name, 0) + 1
    note(f"{name} {json.dumps(given, sort_keys=True)}")
    if name == "create":
        id = f"note-{len(NOTES) + 1}"
        NOTES[id] = str(given.get("text"))
        return structured(id=id, size=len(NOTES[id]))
    if name in ("read", "delete"):
        known = NOTES.pop(given["id"], None) if name == "delete" else NOTES.get(given["id"])
        return text("no such note", isError=True) if known is None else text(known)
    if name == "flaky":
        return text("ok" if CALLS[name] >= given["until"] else f"not yet, {CALLS[name]}")
    if name == "notify":
        for words in given["words"]:
            params = {"level": "info", "data": words}
            say(method="notifications/message", params=params)
    if name == "shout":
        sys.stderr.write(f"{given['words']}\n")
        sys.stderr.flush()
    if name == "hang" and HOME:
        HOME.sendall(b"hangs\n")
    if name in ("slow", "hang"):
        time.sleep(given.get("ms", 600_000) / 1000)
    if name == "die":
        sys.exit(3)
    return answer_of(name, given)


def answer_of(name: str, given: Message) -> Message:
    if name == "add":
        return structured(sum=given["a"] + given["b"])
    if name == "wrong":
        return structured(sum="five")
    if name == "odd":
        return structured(odd=True)
    if name == "clock":
        return structured(when=given["when"])
    if name == "failing":
        return text("it cannot be done", isError=True)
    if name == "echo":
        return text(str(given.get("text")), isError=False)
    return text("done")


def answer(method: str, params: Message) -> Message:
    if method == "initialize":
        return {
            "protocolVersion": params["protocolVersion"],
            "capabilities": {"tools": {}, "resources": {}, "prompts": {}, "logging": {}},
            "serverInfo": {"name": f"{PREFIX}suite", "version": "1"},
        }
    if method == "tools/list":
        return {"tools": tools()}
    if method == "tools/call":
        return call(params["name"].removeprefix(PREFIX), params.get("arguments", {}))
    if method == "resources/list":
        return {"resources": [{"uri": f"memo://{PREFIX}{name}", "name": name} for name in "ab"]}
    if method == "resources/templates/list":
        return {"resourceTemplates": []}
    if method == "resources/read":
        note(f"uri {params['uri']}")
        return {"contents": [{"uri": params["uri"], "text": f"# {params['uri']}"}]}
    if method == "prompts/list":
        return {"prompts": [{"name": f"{PREFIX}greet", "arguments": [{"name": "who"}]}]}
    if method == "prompts/get":
        note(f"prompt {json.dumps(params, sort_keys=True)}")
        who = params.get("arguments", {}).get("who", "you")
        return {"messages": [{"role": "user", "content": {"type": "text", "text": f"Hi {who}"}}]}
    return {}


def main() -> None:
    note("starts")
    for line in iter(sys.stdin.readline, ""):
        message = json.loads(line)
        if "id" not in message:
            continue
        name = message.get("params", {}).get("name", "")
        if name == f"{PREFIX}refuse":
            say(id=message["id"], error={"code": -32602, "message": "I would rather not"})
        else:
            say(id=message["id"], result=answer(message["method"], message.get("params", {})))
    note("ends")
    if HOME:
        HOME.close()


if __name__ == "__main__":
    main()
