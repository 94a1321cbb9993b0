"""A binary that answers as it should, except for what its first argument names. It writes its
process id to the file JOURNAL."""

import json
import os
import sys
import time

WRONG = sys.argv[1]
CONTROLS = "\x1b[2J\r\x07\u202e"
TEST = {
    "id": "a::b",
    "server": "a",
    "name": "b",
    "file": "f",
    "line": 1,
    "tags": [],
    "skip": "",
    "limit_ms": 1000,
}
RESULTS = {
    "coprocess/handshake": {"protocol_version": 2, "binary_version": "wrong"},
    "suite.list": {
        "version": 1,
        "file": "f",
        "tests": [TEST, {**TEST, "id": "a::c", "skip": "skip" + CONTROLS}],
        "lanes": [],
        "left": [{"name": "gate", "reason": "reason" + CONTROLS}],
        "warnings": ["mistake" + CONTROLS],
    },
    "suite.run": {
        "status": "failed",
        "text": "text" + CONTROLS + "\nf:1",
        "file": "f",
        "line": 1,
        "duration_ms": 1,
        "notes": ["remark" + CONTROLS],
    },
}

with open(os.environ["JOURNAL"], "w", encoding="utf-8") as journal:
    journal.write(f"wrong {os.getpid()}\n")
if WRONG == "group":
    os.setpgid(0, os.getpgid(os.getppid()))
for line in sys.stdin:
    request = json.loads(line)
    if WRONG == "silent" and request["method"] != "coprocess/handshake":
        time.sleep(30)
    if WRONG == "group" and request["method"] == "mcp.initialize":
        time.sleep(30)
    result = json.dumps(RESULTS.get(request["method"], {}))
    if WRONG == "keys" and request["method"] == "mcp.initialize":
        key = '"' + "k" * 100_000 + '": 1'
        result = "{" + key + ", " + key + "}"
    if WRONG == "deep" and request["method"] == "mcp.initialize":
        result = '{"a":' * 200 + "1" + "}" * 200
    sys.stdout.write(f'{{"jsonrpc": "2.0", "id": {request["id"]}, "result": {result}}}\n')
    sys.stdout.flush()
    if WRONG == "long" and request["method"] == "mcp.initialize":
        try:
            os.write(1, b"x" * (65 << 20))
        except BrokenPipeError:
            break
    if request["method"] == "mcp.shutdown":
        break
