"""A server on stdio that conforms in unusual ways: `unusual_server.py [fragile]`.

Its only tool answers late and cannot be cancelled, its prompt refuses what it does not know, its
template fits any URI. If it is fragile, it ends at what it cannot read, and cuts off the fraction
of an id.
"""

from __future__ import annotations

import json
import sys
import threading

IS_FRAGILE = sys.argv[1:] == ["fragile"]
VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
# Longer than a tool with made-up arguments is waited for.
LATE_S = 2.5
NOTHING = {"type": "object", "properties": {}, "additionalProperties": False}
RESULTS = {
    "ping": {},
    "tools/list": {
        "tools": [{"name": "wait", "inputSchema": NOTHING, "annotations": {"readOnlyHint": True}}]
    },
    "prompts/list": {
        "prompts": [{"name": "ask", "arguments": [{"name": "color", "required": True}]}]
    },
    "resources/list": {"resources": []},
    "resources/templates/list": {"resourceTemplates": [{"name": "any", "uriTemplate": "{+uri}"}]},
}
LOCK = threading.Lock()
NEEDED = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}


def send(id: object, **members: object) -> None:
    with LOCK:
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": id, **members}) + "\n")
        sys.stdout.flush()


def refuse(id: object, code: int, message: str) -> None:
    send(id, error={"code": code, "message": message})


def call(id: object, name: object, arguments: object) -> None:
    if name != "wait" or not isinstance(arguments, dict):
        refuse(id, -32602, "there is no such tool, or its arguments are not an object")
    elif arguments:
        send(id, result={"content": [{"type": "text", "text": "no arguments"}], "isError": True})
    else:
        result = {"content": [{"type": "text", "text": "It is late."}]}
        timer = threading.Timer(LATE_S, send, (id,), {"result": result})
        timer.daemon = True
        timer.start()


def answer(id: object, method: object, params: object) -> None:
    params = params if isinstance(params, dict) else {}
    if method == "initialize":
        offered = params.get("protocolVersion")
        result: dict[str, object] = {
            "protocolVersion": offered if offered in VERSIONS else VERSIONS[-1],
            "capabilities": {"tools": {}, "prompts": {}, "resources": {}},
            "serverInfo": {"name": "unusual", "version": "1"},
        }
        send(id, result=result)
    elif method in NEEDED and not isinstance(params.get(NEEDED[str(method)]), str):
        refuse(id, -32602, "a name is missing")
    elif method == "tools/call":
        call(id, params["name"], params.get("arguments", {}))
    elif method in NEEDED:
        refuse(id, -32602, "that is not known here")
    elif "cursor" in params:
        refuse(id, -32602, "every list has one page")
    elif method in RESULTS:
        send(id, result=RESULTS[str(method)])
    else:
        refuse(id, -32601, "there is no such method")


def take(line: str) -> None:
    try:
        message = json.loads(line)
    except ValueError:
        message = None
    id = message.get("id") if isinstance(message, dict) else None
    if IS_FRAGILE and type(id) is float:
        id = int(id)
    if IS_FRAGILE and isinstance(message, dict) and type(message.get("method", "")) is not str:
        sys.exit(1)
    is_request = isinstance(message, dict) and "id" in message
    if message is None or (is_request and type(id) not in (str, int)):
        if IS_FRAGILE:
            sys.exit(1)
        refuse(None, -32700 if message is None else -32600, "that is not a message")
    elif is_request and "method" in message:
        answer(id, message["method"], message.get("params"))


for each in sys.stdin:
    take(each)
