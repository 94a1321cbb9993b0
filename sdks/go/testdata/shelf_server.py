"""A small MCP server over stdio that keeps books on a shelf, and misbehaves when asked to.

It appends its name, the first argument, and its process id to the file that $JOURNAL names.
"""

import json
import os
import sys
import time

BOOK = {"type": "object", "properties": {"id": {"type": "integer"}}}
TOOLS = [
    {"name": name, "description": f"Does {name}.", "inputSchema": BOOK}
    for name in ("add_book", "find_book", "hang", "crash", "look")
]
SHELF = []


def text(words, **more):
    return {"content": [{"type": "text", "text": words}], **more}


def call(name, arguments):
    if name == "add_book":
        SHELF.append(arguments["title"])
        return text("added", structuredContent={"id": len(SHELF)}, isError=False)
    if name == "find_book":
        number = arguments["id"]
        if 0 < number <= len(SHELF):
            return text(SHELF[number - 1], isError=False)
        return text(f"there is no book {number}", isError=True)
    if name == "hang":
        time.sleep(arguments.get("seconds", 600))
        return text("at last")
    if name == "crash":
        sys.stderr.write(f"crashing with {os.environ.get('SHELF_TOKEN')}\n\tat the shelf\n")
        sys.exit(3)
    return text(f"{os.getcwd()} {os.environ.get('SHELF_NAME')}")


def answer(method, params):
    if method == "initialize":
        return {
            "protocolVersion": params["protocolVersion"],
            "capabilities": {"tools": {}, "resources": {}, "prompts": {}},
            "serverInfo": {"name": "shelf", "version": "1.0.0"},
        }
    if method == "tools/list":
        return {"tools": TOOLS}
    if method == "resources/list":
        return {"resources": [{"uri": "shelf://first", "name": "first"}]}
    if method == "resources/read":
        return {"contents": [{"uri": params["uri"], "text": "Emma"}]}
    if method == "prompts/get":
        words = f"Review {params.get('arguments', {}).get('title', 'a book')}."
        return {"messages": [{"role": "user", "content": {"type": "text", "text": words}}]}
    return call(params["name"], params.get("arguments", {})) if method == "tools/call" else {}


def main():
    if "JOURNAL" in os.environ:
        with open(os.environ["JOURNAL"], "a", encoding="utf-8") as journal:
            journal.write(f"{sys.argv[1] if sys.argv[1:] else 'shelf'} {os.getpid()}\n")
    for line in sys.stdin:
        message = json.loads(line)
        if "id" in message:
            params = message.get("params", {})
            reply = {"jsonrpc": "2.0", "id": message["id"]}
            if "refuse" in params.values():
                reply["error"] = {"code": -32050, "message": "not today"}
            else:
                reply["result"] = answer(message["method"], params)
            sys.stdout.write(json.dumps(reply) + "\n")
            sys.stdout.flush()


main()
