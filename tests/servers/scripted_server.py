"""The good server, with answers from its argument.

The argument is JSON: for each method the members of the answer (`{"result": …}` or
`{"error": …}`), or a list of such, used one after the other and the last one again. "exit"
instead of an answer ends the server. "stderr" holds bytes (as Latin-1) to write there.
"""

from __future__ import annotations

import json
import sys

from good_server import incoming, line_for, say, write

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Script = dict[str, Any]


def answer_for(script: Script, method: str) -> Any:
    """What the script says to this method now; None when it says nothing."""
    found = script.get(method)
    if not isinstance(found, list):
        return found
    return found.pop(0) if len(found) > 1 else found[0]


def main(script: Script) -> None:
    write(script.get("stderr", "").encode("latin-1"), fd=2)
    for request in incoming():
        answer = answer_for(script, request.get("method", ""))
        if answer == "exit":
            sys.exit(3)
        if answer is not None:
            say({"jsonrpc": "2.0", "id": request["id"]} | answer)
        elif "id" in request and "method" in request:
            write(line_for(request))


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
