"""A server all of whose strings try to be commands to a CI system."""

from __future__ import annotations

import json
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

ATTACK = (
    "x\n::error::by line\n   ::warning::by indented line\r::set-output name=a::by return\n"
    "\x1b[0m::notice::by colour ##[error]d ##vso[task.setvariable variable=a]b "
    "##teamcity[buildStop]\n##[group]e\n::stop-commands::f"
)
INLINE = "::error::a ##[error]b ##vso[task.complete]c ##teamcity[buildStop]d"
SCHEMA = {"type": "object", "properties": {INLINE: {"type": "string", "description": ATTACK}}}


def answer(method: str, params: dict[str, Any]) -> dict[str, Any]:
    if method == "initialize":
        return {
            "protocolVersion": params["protocolVersion"],
            "capabilities": {"tools": {}, "resources": {}, "prompts": {}},
            "serverInfo": {"name": INLINE, "version": INLINE},
            "instructions": ATTACK,
        }
    read_only = {"readOnlyHint": True}
    offers: dict[str, Any] = {
        "tools/list": {
            "tools": [
                {
                    "name": name,
                    "description": ATTACK,
                    "inputSchema": SCHEMA,
                    "annotations": read_only,
                }
                for name in ("show", INLINE)
            ]
        },
        "tools/call": {"content": [{"type": "text", "text": ATTACK}], "isError": False},
        "resources/list": {
            "resources": [{"uri": "a://b", "name": INLINE, "description": ATTACK}],
        },
        "resources/templates/list": {"resourceTemplates": []},
        "resources/read": {"contents": [{"uri": "a://b", "text": ATTACK}]},
        "prompts/list": {"prompts": [{"name": "ask", "description": ATTACK}]},
        "prompts/get": {
            "description": ATTACK,
            "messages": [{"role": "user", "content": {"type": "text", "text": ATTACK}}],
        },
    }
    return dict(offers.get(method, {}))


def main() -> None:
    sys.stderr.write(ATTACK + "\n")
    sys.stderr.flush()
    for line in sys.stdin:
        message = json.loads(line)
        if "id" not in message:
            continue
        params = message.get("params", {})
        reply = {"jsonrpc": "2.0", "id": message["id"]}
        if params.get("name") == "refused":
            reply["error"] = {"code": -1, "message": ATTACK, "data": INLINE}
        elif params.get("name") == "noise":
            sys.stdout.write(f"{INLINE}\n{ATTACK}\n")
            sys.stdout.flush()
            sys.exit(3)
        else:
            reply["result"] = answer(message["method"], params)
        sys.stdout.write(json.dumps(reply) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
