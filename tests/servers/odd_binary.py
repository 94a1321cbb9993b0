"""Stands where an SDK looks for the mcptest binary, and answers what a script says.

Usage: MCPTEST_BIN="python3 odd_binary.py SCRIPT". The script is JSON: one entry for each request,
in order. An entry is the members of the answer ("id" and "jsonrpc" are added unless they are
there), a text that is written as it is, or a list of texts, the last of which is a word: "silent",
"exit", "close". When it is used up, everything is answered with an empty result. `{"hello": 2}`
is the answer to a handshake.
"""

from __future__ import annotations

import json
import os
import sys
import time

from connect_back import PORT_VARIABLE, call_home

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

HOME = call_home("binary") if PORT_VARIABLE in os.environ else None


def answered(request: dict[str, Any], entry: object) -> str:
    if isinstance(entry, str):
        return entry
    assert isinstance(entry, dict)
    if "hello" in entry:
        entry = {"result": {"protocol_version": entry["hello"], "binary_version": "9.9"}}
    return json.dumps({"jsonrpc": "2.0", "id": request["id"], **entry}) + "\n"


def misbehave(word: str) -> None:
    if word == "exit":
        sys.stderr.write("odd: I have had enough\n")
        sys.stderr.flush()
        os._exit(7)
    if word == "close":
        os.close(1)
    time.sleep(600)


def main() -> None:
    script = json.loads(sys.argv[1])
    for line in sys.stdin:
        entry = script.pop(0) if script else {"result": {}}
        if isinstance(entry, list):
            sys.stdout.write("".join(entry[:-1]))
            sys.stdout.flush()
            misbehave(entry[-1])
        sys.stdout.write(answered(json.loads(line), entry))
        sys.stdout.flush()


if __name__ == "__main__":
    main()
