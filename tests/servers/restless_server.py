"""A server for suites that lists, answers and waits in odd ways, one of them by its argument.

MODE is how it behaves; calls of `note` are written, line by line, into the file `notes.txt` of
its folder. When it is asked to `wait` it calls home, and never answers.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from connect_back import call_home

TYPE_CHECKING = False
if TYPE_CHECKING:
    import socket
    from typing import Any

MODE = sys.argv[1]
SUM = {"type": "object", "properties": {"sum": {"type": "integer"}}, "required": ["sum"]}
ANY = {"type": "object"}
SEEN: dict[str, int] = {}
HOMES: list[socket.socket] = []
HELD: list[dict[str, Any]] = []


def say(**members: Any) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **members}) + "\n")
    sys.stdout.flush()


def tool(name: str, **more: object) -> dict[str, object]:
    return {"name": name, "inputSchema": ANY, **more}


def text(words: str) -> dict[str, object]:
    return {"content": [{"type": "text", "text": words}]}


def list_tools(id: object, count: int) -> None:
    others = [tool("note"), tool("wait"), tool("again")]
    if MODE == "list-error":
        say(id=id, error={"code": -32000, "message": "not today"})
    elif MODE == "list-twice":
        say(id=id, result={"tools": [tool("add", outputSchema=SUM), tool("add"), *others]})
    elif MODE == "list-changed" and count == 1:
        say(id=id, result={"tools": [tool("add"), *others]})
    else:
        say(id=id, result={"tools": [tool("add", outputSchema=SUM), *others]})


def call(id: object, params: dict[str, Any]) -> None:
    name = params["name"]
    SEEN[name] = count = SEEN.get(name, 0) + 1
    if name == "note":
        if MODE == "answer-late":
            say(**HELD.pop())
        with Path("notes.txt").open("a", encoding="utf-8") as notes:
            notes.write(f"{params['arguments']['text']}\n")
        say(id=id, result=text("noted"))
    elif name == "add":
        if MODE == "list-changed":
            say(method="notifications/tools/list_changed")
        say(id=id, result={"content": [], "structuredContent": {"sum": "wrong"}})
    elif name == "again":
        answer_again(id, count)
    else:
        HELD.append({"id": id, "result": text("waited")})
        HOMES.append(call_home("wait"))


def answer_again(id: object, count: int) -> None:
    """The first call is answered wrongly; its second answer is sent when it is called again."""
    first = {"id": id, "result": text("right")}
    if count == 1:
        HELD.append(first)
        say(id=id, result=text("wrong"))
    else:
        say(**HELD[0])
        say(id=id, result=text("wrong"))


def main() -> None:
    lists = 0
    for line in sys.stdin:
        message = json.loads(line)
        method, id = message["method"], message.get("id")
        if method == "initialize":
            able = {"tools": {"listChanged": True}}
            info = {"name": "restless", "version": "1"}
            version = message["params"]["protocolVersion"]
            result = {"protocolVersion": version, "capabilities": able, "serverInfo": info}
            say(id=id, result=result)
        elif method == "tools/list":
            lists += 1
            list_tools(id, lists)
        elif method == "tools/call":
            call(id, message["params"])
        elif id is not None:
            say(id=id, error={"code": -32601, "message": "no such method"})


if __name__ == "__main__":
    main()
