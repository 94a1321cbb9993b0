"""A small MCP server over stdio for the tests of this SDK. Standard library only.

It appends a line with its process id to the file that JOURNAL names, and one for each call.
"""

import json
import os
import sys
import time

NAMES = ["echo", "look", "fail", "hang", "die", "slow"]


def journal(words):
    if "JOURNAL" in os.environ:
        with open(os.environ["JOURNAL"], "a", encoding="utf-8") as file:
            file.write(f"{words}\n")


def leave_child():
    """A process that is not waited for, in a session of its own."""
    first = os.fork()
    if first == 0:
        os.setsid()
        second = os.fork()
        if second == 0:
            time.sleep(600)
        journal(f"start {second} child")
        os._exit(0)
    os.waitpid(first, 0)


def text(words, **more):
    return {"content": [{"type": "text", "text": words}], **more}


def call(name, arguments):
    if name == "hang":
        leave_child()
    journal(f"call {name}")
    if name == "echo":
        return text(json.dumps(arguments), structuredContent=arguments)
    if name == "look":
        return text("", structuredContent={"folder": os.getcwd(), "color": os.environ.get("COLOR")})
    if name == "fail":
        return text("no such town", isError=True)
    if name == "hang":
        time.sleep(600)
    if name == "slow":
        time.sleep(0.5)
        return text("done")
    if name == "die":
        sys.stderr.write(f"out of paper {os.environ.get('COLOR', '')}\n")
        os._exit(3)
    return None


def answer(method, params):
    if method == "initialize":
        version = params["protocolVersion"]
        info = {"name": "test", "version": "1.0.0"}
        return {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info}
    if method == "tools/list":
        return {"tools": [{"name": name, "inputSchema": {"type": "object"}} for name in NAMES]}
    return call(params["name"], params.get("arguments", {})) if method == "tools/call" else {}


journal(f"start {os.getpid()} {' '.join(sys.argv[1:])}".strip())
for line in sys.stdin:
    message = json.loads(line)
    if "id" in message:
        result = answer(message["method"], message.get("params", {}))
        reply = {"jsonrpc": "2.0", "id": message["id"]}
        if result is None:
            reply["error"] = {"code": -32602, "message": "no such tool"}
        else:
            reply["result"] = result
        sys.stdout.write(json.dumps(reply) + "\n")
        sys.stdout.flush()
