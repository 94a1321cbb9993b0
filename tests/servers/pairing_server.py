"""A server that answers as its script says, and writes down what it read and wrote, and when.

Usage: pairing_server.py SCRIPT LOG. The script is JSON: under "start" the lines to write before
anything is read, under "calls" what to do with a call by the `tag` among its arguments:

    {"write": [OP, …], "delay_ms": 0, "exit": false}

An OP is {"id": "wire"} (the id of this call as it came), {"id": "last"} (that of the call before
it), {"id": "next"} (what may follow it) or {"id": [LITERAL]}, with the other members of the message
beside it; {"echo": true} is the line that was read; with "hold": true it is written in front of
the answer to the next call.
{"pause_ms": N} sleeps, without reading anything.

Everything between two pauses is written at once: no part of it can be answered alone. Each line
of the log is [PID, "in" | "out", MONOTONIC_S, PIECE, LINE], where PIECE counts the writes. A line
is logged as read after it was read, and as written before it is written.
"""

from __future__ import annotations

import json
import os
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Message = dict[str, Any]

INITIALIZED = {
    "protocolVersion": "2025-11-25",
    "capabilities": {"tools": {}},
    "serverInfo": {"name": "pairing", "version": "1"},
}
TOOLS = [{"name": "echo", "inputSchema": {"type": "object"}}]


class Server:
    """One session."""

    def __init__(self, script: Message, log: int) -> None:
        self._script = script
        self._log = log
        self._last: object = None
        self._held: list[str] = []
        self._pieces = 0

    def serve(self) -> None:
        self._write([json.dumps(message) for message in self._script.get("start", [])])
        for raw in sys.stdin.buffer:
            line = raw.decode().rstrip("\n")
            self._note("in", line)
            message = json.loads(line)
            if "method" in message and "id" in message:
                self._answer(message, line)
        self._write(self._held)

    def _answer(self, request: Message, line: str) -> None:
        id, method = request["id"], request["method"]
        tag = (request.get("params") or {}).get("arguments", {}).get("tag")
        call = self._script["calls"].get(tag) if method == "tools/call" else None
        if call is None:
            results: Message = {"initialize": INITIALIZED, "tools/list": {"tools": TOOLS}}
            said = {"jsonrpc": "2.0", "id": id, "result": results.get(method, {})}
            self._write([json.dumps(said)])
            return
        time.sleep(call.get("delay_ms", 0) / 1000)
        lines, self._held = self._held, []
        for op in call["write"]:
            if "pause_ms" in op:
                self._write(lines)
                lines = []
                time.sleep(op["pause_ms"] / 1000)
            else:
                (self._held if op.get("hold") else lines).append(self._line(op, id, line))
        self._last = id
        self._write(lines)
        if call.get("exit"):
            sys.exit(0)

    def _line(self, op: Message, id: object, line: str) -> str:
        if op.get("echo"):
            return line
        known = {"wire": id, "last": self._last, "next": _following(id)}
        chosen = op["id"][0] if isinstance(op["id"], list) else known[op["id"]]
        body = {key: value for key, value in op.items() if key not in ("id", "hold")}
        return json.dumps({"jsonrpc": "2.0", "id": chosen, **body})

    def _write(self, lines: list[str]) -> None:
        if not lines:
            return
        self._pieces += 1
        for line in lines:
            self._note("out", line)
        os.write(1, "".join(f"{line}\n" for line in lines).encode())

    def _note(self, direction: str, line: str) -> None:
        entry = json.dumps([os.getpid(), direction, time.monotonic(), self._pieces, line])
        os.write(self._log, f"{entry}\n".encode())


def _following(id: object) -> object:
    """The id that a client which counts would use next."""
    if isinstance(id, str):
        head = id.rstrip("0123456789")
        return f"{head}{int(id[len(head) :] or 0) + 1}"
    return id + 1 if isinstance(id, (int, float)) else id


def main(script: str, log: str) -> None:
    with open(script, encoding="utf-8") as file:  # quick to start
        members = json.load(file)
    Server(members, os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)).serve()


if __name__ == "__main__":
    main(*sys.argv[1:])
