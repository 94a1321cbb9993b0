"""The benchmark's server where there is no C compiler, or where a call is to take some time.

Its first argument, when there is one, is how many milliseconds a call takes.
"""

import json
import sys
import time


def main() -> None:
    pause_s = int(sys.argv[1]) / 1000 if len(sys.argv) > 1 else 0.0
    for line in sys.stdin:
        message = json.loads(line)
        if "id" not in message:
            continue
        if message["method"] == "initialize":
            result: object = {
                "protocolVersion": "2025-06-18",
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "echo", "version": "1"},
            }
        elif message["method"] == "tools/list":
            result = {"tools": [{"name": "echo", "inputSchema": {"type": "object"}}]}
        else:
            time.sleep(pause_s)
            text = message["params"]["arguments"]["text"]
            result = {"content": [{"type": "text", "text": text}], "isError": False}
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}))
        sys.stdout.write("\n")
        sys.stdout.flush()


main()
