"""Servers of one era of the protocol, or of both, on stdio: `era_server.py LOG MODE [ROUNDS]`.

To the file LOG it writes "start" and the method and the params of each message that it reads.

* `stateless CODE`: knows no handshake and refuses `initialize` with this code
* `choosy`: the same, and refuses requests of any revision but 2026-07-28, which it names
* `handshake`: knows nothing else, and refuses `server/discover`
* `silent`: the same, but leaves what it does not know unanswered
* `rounds N`: stateless; answers a call only after it has asked for input N times
* `contrary`: refuses both
* `typed TYPE`: stateless; the results of calls are of this type, and a tool is listed
* `odd`: as `handshake`, with results that have a type anyway
"""

from __future__ import annotations

import json
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Message = dict[str, Any]

STATELESS = "2026-07-28"
HANDSHAKE = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
STATE = 'opaque "\\ ü \u2028 state'
_META = "io.modelcontextprotocol/"


def main(log: str, mode: str, argument: str = "0") -> None:
    note(log, "start", {})
    for line in sys.stdin:
        message = json.loads(line)
        note(log, message.get("method", "an answer"), message.get("params", {}))
        if "id" in message and "method" in message:
            answer = answer_to(message, mode, argument)
            if answer:
                sys.stdout.write(
                    json.dumps({"jsonrpc": "2.0", "id": message["id"]} | answer) + "\n"
                )
                sys.stdout.flush()


def note(log: str, method: str, params: Message) -> None:
    with open(log, "a", encoding="utf-8") as file:
        file.write(json.dumps([method, params]) + "\n")


def error(code: int, message: str) -> Message:
    return {"error": {"code": code, "message": message}}


def answer_to(message: Message, mode: str, argument: str) -> Message | None:
    method, params = message["method"], message.get("params", {})
    if mode in ("typed", "odd") and method == "tools/call":
        return {"result": {"resultType": argument if mode == "typed" else "odd", "content": []}}
    if mode == "contrary":
        return error(-32603, f"no {method} today")
    if mode in ("handshake", "silent", "odd"):
        return with_handshake(method, params, is_silent=mode == "silent")
    if method == "initialize":
        return error(int(argument) if mode == "stateless" else -32022, "no such thing")
    version = params.get("_meta", {}).get(f"{_META}protocolVersion")
    if version is None:
        return error(-32602, "the request names no revision")
    if mode == "choosy" and version != STATELESS:
        data = {"supported": [STATELESS], "requested": version}
        return {"error": {"code": -32022, "message": "unsupported", "data": data}}
    tool = {"name": "a", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": True}}
    rounds = int(argument) if mode == "rounds" else 0
    return without_handshake(method, params, rounds, [tool] if mode == "typed" else [])


def with_handshake(method: str, params: Message, *, is_silent: bool) -> Message | None:
    if method == "initialize":
        offered = params["protocolVersion"]
        version = offered if offered in HANDSHAKE else HANDSHAKE[-1]
        info = {"name": "era", "version": "1"}
        return {"result": {"protocolVersion": version, "capabilities": {}, "serverInfo": info}}
    if method == "tools/call":
        return {"result": {"content": []}}
    return None if is_silent else error(-32601, "unknown method")


def without_handshake(method: str, params: Message, rounds: int, tools: list[Message]) -> Message:
    hints = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
    if method == "server/discover":
        found = {"supportedVersions": [STATELESS], "capabilities": {"tools": {}}}
        return {"result": hints | found | {"_meta": {f"{_META}serverInfo": {"name": "era"}}}}
    if method == "tools/list":
        return {"result": hints | {"tools": tools}}
    if method != "tools/call":
        return error(-32601, "unknown method")
    asked = len(json.loads(params.get("requestState", "[]").partition("|")[0]))
    if asked < rounds:
        state = json.dumps(["asked"] * (asked + 1)) + "|" + STATE
        ask = {"method": "elicitation/create", "params": {"message": "who?"}}
        wanted = {"who": ask}
        return {
            "result": {
                "resultType": "input_required",
                "inputRequests": wanted,
                "requestState": state,
            }
        }
    said = json.dumps(params.get("inputResponses", {}), sort_keys=True)
    return {"result": {"resultType": "complete", "content": [{"type": "text", "text": said}]}}


if __name__ == "__main__":
    main(*sys.argv[1:])
