"""A small MCP server over stdio that keeps notes in memory.

It has a bit of everything: tools that build on each other, a resource for each note, a
prompt, a notification when something changed, and a question to the client. Standard
library only.
"""

from __future__ import annotations

import json
import sys
from itertools import count
from typing import Any

Message = dict[str, Any]

TOOLS = [
    {
        "name": "create_note",
        "description": "Keeps a text and returns its id.",
        "inputSchema": {
            "type": "object",
            "properties": {"text": {"type": "string"}},
            "required": ["text"],
        },
    },
    {
        "name": "summarise",
        "description": "Asks the client's model for a summary of a note.",
        "inputSchema": {"type": "object", "properties": {"id": {"type": "integer"}}},
        "annotations": {"readOnlyHint": True},
    },
]
PROMPTS = [{"name": "remind", "arguments": [{"name": "id", "required": True}]}]
TEMPLATES = [{"uriTemplate": "note://{id}", "name": "note"}]

notes: dict[int, str] = {}


def send(message: Message) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


# No id is used twice in a session.
QUESTIONS = count(1)


def ask(method: str, params: Message) -> Message:
    """What the client answers; it is the only one who writes to us."""
    send({"id": f"ask-{next(QUESTIONS)}", "method": method, "params": params})
    answer: Message = json.loads(sys.stdin.readline())
    return answer


def call(name: str, given: Message) -> Message:
    if name == "create_note":
        id = len(notes) + 1
        notes[id] = given["text"]
        send({"method": "notifications/resources/list_changed"})
        content = [{"type": "text", "text": f"Kept as note {id}."}]
        return {"content": content, "structuredContent": {"id": id}, "isError": False}
    words = {"role": "user", "content": {"type": "text", "text": notes[given["id"]]}}
    answer = ask("sampling/createMessage", {"messages": [words], "maxTokens": 50})
    if "error" in answer:
        text = answer["error"]["message"]
        return {"content": [{"type": "text", "text": text}], "isError": True}
    return {"content": [answer["result"]["content"]], "isError": False}


def result_of(method: str, params: Message) -> Message:
    if method == "initialize":
        return {
            "protocolVersion": params["protocolVersion"],
            "capabilities": {"tools": {}, "resources": {"listChanged": True}, "prompts": {}},
            "serverInfo": {"name": "notes", "version": "1"},
        }
    if method == "tools/call":
        return call(params["name"], params.get("arguments", {}))
    if method == "resources/read":
        text = notes[int(params["uri"].removeprefix("note://"))]
        return {"contents": [{"uri": params["uri"], "mimeType": "text/plain", "text": text}]}
    if method == "prompts/get":
        text = f"Remind me of: {notes[int(params['arguments']['id'])]}"
        return {"messages": [{"role": "user", "content": {"type": "text", "text": text}}]}
    lists: Message = {
        "tools/list": {"tools": TOOLS},
        "resources/list": {"resources": [{"uri": f"note://{id}", "name": str(id)} for id in notes]},
        "resources/templates/list": {"resourceTemplates": TEMPLATES},
        "prompts/list": {"prompts": PROMPTS},
        "ping": {},
    }
    found: Message = lists[method]
    return found


def main() -> None:
    while line := sys.stdin.readline():
        request = json.loads(line)
        if "id" not in request:
            continue
        try:
            result = result_of(request["method"], request.get("params", {}))
            send({"id": request["id"], "result": result})
        except (KeyError, ValueError) as error:
            message = f"there is nothing like {error}"
            send({"id": request["id"], "error": {"code": -32602, "message": message}})


if __name__ == "__main__":
    main()
