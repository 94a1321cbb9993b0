"""A small MCP server for the tests of the SDK; each start adds its process id to a file."""

import json
import os
import sys
import time

SHELF = []


def text(words, **more):
    return {"content": [{"type": "text", "text": words}], **more}


def add_book(title):
    SHELF.append(title)
    return text(
        title, structuredContent={"id": len(SHELF), "shelf": [{"title": each} for each in SHELF]}
    )


def find_book(id):
    if 0 < id <= len(SHELF):
        return text(SHELF[id - 1])
    return text(f"there is no book {id}", isError=True)


def crash():
    sys.stderr.write("out of paper\n")
    sys.exit(3)


def describe():
    return text(
        f"{os.environ.get('CITY')} {os.environ.get('SHOP_TOKEN')} {os.path.basename(os.getcwd())}"
    )


def hang():
    time.sleep(600)


TOOLS = {each.__name__: each for each in (add_book, find_book, crash, describe, hang)}


def answer(method, params):
    if method == "initialize":
        version, info = params["protocolVersion"], {"name": "shelf", "version": "1.0.0"}
        capabilities = {"tools": {}, "resources": {}, "prompts": {}}
        return {"protocolVersion": version, "capabilities": capabilities, "serverInfo": info}
    if method == "tools/list":
        return {"tools": [{"name": name, "inputSchema": {"type": "object"}} for name in TOOLS]}
    if method == "resources/list":
        return {"resources": [{"uri": "shelf://all", "name": "all"}]}
    if method == "resources/read":
        return {"contents": [{"uri": params["uri"], "text": "\n".join(SHELF)}]}
    if method == "prompts/get":
        words = f"Recommend a book to {params.get('arguments', {}).get('who', 'me')}."
        return {"messages": [{"role": "user", "content": {"type": "text", "text": words}}]}
    if params.get("name") not in TOOLS:
        return None
    return TOOLS[params["name"]](**params.get("arguments", {}))


if len(sys.argv) > 1:
    with open(sys.argv[1], "a", encoding="utf-8") as log:
        log.write(f"{os.getpid()}\n")
for line in sys.stdin:
    message = json.loads(line)
    if "id" in message:
        result = answer(message["method"], message.get("params", {}))
        error = {"code": -32602, "message": "no such tool"}
        outcome = {"error": error} if result is None else {"result": result}
        response = {"jsonrpc": "2.0", "id": message["id"], **outcome}
        sys.stdout.write(f"{json.dumps(response)}\n")
        sys.stdout.flush()
