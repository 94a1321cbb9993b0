"""An MCP server on stdio that keeps books. JOURNAL names a file for what happens to it."""

import json
import os
import sys
import time

BOOKS: list[str] = []
NAMES = ("add_book", "find_book", "environment", "hang", "crash")
# Two servers do not offer the same tools.
PREFIX = "attic_" if sys.argv[1:] == ["attic"] else ""


def note(text: str) -> None:
    if "JOURNAL" in os.environ:
        with open(os.environ["JOURNAL"], "a", encoding="utf-8") as file:
            file.write(f"{text}\n")


def answer(text: str, data: object = None, is_error: bool = False) -> dict[str, object]:
    result: dict[str, object] = {"content": [{"type": "text", "text": text}], "isError": is_error}
    return result if data is None else {**result, "structuredContent": data}


def call(name: str, arguments: dict[str, object]) -> dict[str, object]:
    if name == "add_book":
        BOOKS.append(str(arguments["title"]))
        return answer("added", {"id": len(BOOKS)})
    if name == "find_book":
        number = int(str(arguments["id"]))
        if number > len(BOOKS):
            return answer(f"there is no book {number}", is_error=True)
        return answer(BOOKS[number - 1])
    if name == "environment":
        return answer(os.getcwd(), {"CITY": os.environ.get("CITY"), "pid": os.getpid()})
    if name == "hang":
        time.sleep(60)
    sys.stderr.write(f"the shelf in {os.environ.get('CITY')} collapsed\n")
    sys.exit(3)


def respond(request: dict[str, object]) -> dict[str, object]:
    method, params = request["method"], request.get("params", {})
    assert isinstance(params, dict)
    if method == "initialize":
        info = {"name": "shelf", "version": "1"}
        version = params["protocolVersion"]
        return {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info}
    if method == "tools/list":
        schema = {"type": "object"}
        return {"tools": [{"name": PREFIX + name, "inputSchema": schema} for name in NAMES]}
    if method != "tools/call":
        raise LookupError
    note(f"call {params['name']}")
    return call(params["name"].removeprefix(PREFIX), params.get("arguments", {}))


note(f"start {' '.join(sys.argv[1:])} {os.getpid()}")
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    response = {"jsonrpc": "2.0", "id": message["id"]}
    try:
        response["result"] = respond(message)
    except LookupError:
        response["error"] = {"code": -32601, "message": "there is no such method"}
    sys.stdout.write(json.dumps(response) + "\n")
    sys.stdout.flush()
