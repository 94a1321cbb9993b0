"""Answers `large` with one line of as many bytes as it was told."""

import json
import os
import sys

INITIALIZED = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "serverInfo": {"name": "large", "version": "1"},
}


def main() -> None:
    body = b'{"text":"' + b"x" * int(sys.argv[1]) + b'"}'
    for line in sys.stdin:
        message = json.loads(line)
        if "id" not in message:
            continue
        id = json.dumps(message["id"]).encode()
        result = body if message["method"] == "large" else json.dumps(INITIALIZED).encode()
        rest = memoryview(b'{"jsonrpc":"2.0","id":' + id + b',"result":' + result + b"}\n")
        while rest:
            rest = rest[os.write(1, rest) :]


main()
