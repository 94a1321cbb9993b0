"""A server for dialogues: it answers out of order, sends messages of its own, and misbehaves.

What it does is chosen by method. It needs no handshake, and remembers whether it had one.
"""

from __future__ import annotations

import json
import os
import random
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Message = dict[str, Any]

STATE: Message = {"initialised": 0, "held": []}


def say(message: Message) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def answer(asked: Message, result: object) -> None:
    say({"id": asked["id"], "result": result})


def note(words: str) -> None:
    say({"method": "notifications/message", "params": {"level": "info", "data": words}})


def initialize(asked: Message) -> None:
    STATE["initialised"] += 1
    version = asked.get("params", {}).get("protocolVersion")
    info = {"name": "dialogue", "version": "1"}
    capabilities: Message = {"tools": {}, "logging": {}}
    answer(asked, {"protocolVersion": version, "capabilities": capabilities, "serverInfo": info})


def either_order(asked: Message) -> None:
    """Holds the first request back until the second has arrived, and answers in any order."""
    STATE["held"].append(asked)
    if len(STATE["held"]) == 2:
        random.shuffle(STATE["held"])
        for held in STATE["held"]:
            answer(held, {"echo": held["params"]})
        STATE["held"] = []


def chatty(asked: Message) -> None:
    note("before")
    say({"method": "notifications/progress", "params": {"progress": 1}})
    answer(asked, {"done": True})
    note("after")


def asks(asked: Message) -> None:
    """Asks the client, and answers with what the client said."""
    say({"id": "s-17", "method": "sampling/createMessage", "params": {"messages": []}})
    said = json.loads(sys.stdin.readline())
    answer(asked, {"said": said.get("result", said.get("error")), "reply_to": said["id"]})


def gives_id(asked: Message) -> None:
    answer(asked, {"ticket": f"t-{random.randrange(10**9)}", "at": "2025-01-01T00:00:00Z"})


def answer_under_unknown_id(asked: Message) -> None:
    say({"id": 999, "result": {}})
    answer(asked, {})


def twice(asked: Message) -> None:
    sys.stdout.write("a word to nobody\n")
    answer(asked, {})
    answer(asked, {})


def starts_helper(asked: Message) -> None:
    """Starts a detached process, as some servers do."""
    reader, writer = os.pipe()
    if os.fork() == 0:
        os.setsid()
        helper = os.fork()
        if helper:
            os.write(writer, str(helper).encode())
            os._exit(0)
        os.close(0)
        os.close(1)
        time.sleep(60)
        os._exit(0)
    os.wait()
    STATE["helper"] = int(os.read(reader, 20))
    answer(asked, {})


def has_helper(asked: Message) -> None:
    try:
        os.kill(STATE["helper"], 0)
        answer(asked, {"alive": True})
    except ProcessLookupError:
        answer(asked, {"alive": False})


def predicts(asked: Message) -> None:
    """Answers, and then sends the answer to a request that has not been sent yet."""
    say({"id": 2, "result": {}})
    answer(asked, {})


def needs_roots(asked: Message) -> None:
    """Answers only when its own question has been answered."""
    say({"id": "early", "method": "roots/list"})
    while "method" in json.loads(sys.stdin.readline()):
        pass
    answer(asked, {})


def slow(asked: Message) -> None:
    time.sleep(0.4)
    answer(asked, {"slow": True})


METHODS: dict[str, Callable[[Message], object]] = {
    "initialize": initialize,
    "ping": lambda asked: answer(asked, {}),
    "echo": lambda asked: answer(asked, {"echo": asked.get("params")}),
    "either": either_order,
    "chatty": chatty,
    "asks": asks,
    "gives": gives_id,
    "stray": answer_under_unknown_id,
    "status": lambda asked: answer(asked, {"initialised": STATE["initialised"]}),
    "pid": lambda asked: answer(asked, {"pid": os.getpid()}),
    "silent": lambda asked: note("I heard you"),
    "exits": lambda asked: sys.exit(3),
    "prompts/list": lambda asked: answer(asked, {"prompts": []}),
    "tools/list": lambda asked: answer(asked, {"tools": []}),
    "slow": slow,
    "helper": starts_helper,
    "has_helper": has_helper,
    "predicts": predicts,
    "needs_roots": needs_roots,
    "never": lambda asked: None,
    "twice": twice,
    "as_text": lambda asked: say({"id": str(asked["id"]), "result": {}}),
}


def take(message: Message) -> None:
    method = message.get("method")
    if method == "notifications/initialized":
        STATE["ready"] = True
    elif method == "notifications/ask_me":
        say({"id": "roots-1", "method": "roots/list"})
    elif "id" in message and method in METHODS:
        METHODS[method](message)
    elif "id" in message and method:
        say({"id": message["id"], "error": {"code": -32601, "message": f"no method {method}"}})


def main() -> None:
    for line in sys.stdin:
        value = json.loads(line)
        for message in value if isinstance(value, list) else [value]:
            take(message)


if __name__ == "__main__":
    main()
