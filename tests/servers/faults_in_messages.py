"""Lines that are JSON and not what the protocol allows there."""

from __future__ import annotations

import json

from good_server import (
    INITIALIZE_RESULT,
    LOG,
    answer_to,
    incoming,
    line_for,
    line_of,
    mode,
    on,
    say,
    serve,
    text_result,
    write,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from good_server import Message


@on("initialize")
def initialize_answer(request: Message, line: bytes, members: str) -> None:
    """Answers initialize with these members (JSON) besides the id."""
    say({"jsonrpc": "2.0", "id": request["id"]} | json.loads(members))


@on("initialize")
def initialize_result(request: Message, line: bytes, changes: str) -> None:
    """Answers initialize with some members of the result changed; null takes one away."""
    result = INITIALIZE_RESULT | json.loads(changes)
    kept = {name: value for name, value in result.items() if value is not None}
    say({"jsonrpc": "2.0", "id": request["id"], "result": kept})


@on("initialize")
def chatty_start(request: Message, line: bytes) -> None:
    """A log message, a ping, a request and a guessed answer are sent during the handshake."""
    say(LOG)
    say({"jsonrpc": "2.0", "id": 1, "method": "ping"})
    say({"jsonrpc": "2.0", "id": 2, "method": "roots/list"})
    write(line)


@mode
def eager() -> None:
    """Guesses the ids 0 and 1 and answers them before anything was asked."""
    for id in (0, 1):
        say({"jsonrpc": "2.0", "id": id, "result": text_result("guessed")})
    serve()


@on("tools/call")
def id_as(request: Message, line: bytes, id: str) -> None:
    """Answers with this id (JSON) instead of the one it was asked with."""
    say(answer_to(request) | {"id": json.loads(id)})


@on("tools/call")
def wrong_then_right(request: Message, line: bytes) -> None:
    say(answer_to(request) | {"id": 999, "result": text_result("not yours")})
    write(line)


@on("tools/call")
def duplicate(request: Message, line: bytes) -> None:
    write(line + line)


@on("tools/call")
def duplicate_differs(request: Message, line: bytes) -> None:
    say(answer_to(request))
    say(answer_to(request) | {"result": text_result("second thoughts")})


@mode
def late() -> None:
    """Holds the first call until the next one arrives, and answers that one after it."""
    kept = b""
    calls = 0
    for request in incoming():
        if request["method"] == "tools/call":
            calls += 1
        if request["method"] == "tools/call" and calls == 1:
            kept = line_for(request)
            continue
        if "id" in request:
            write(kept + line_for(request))
            kept = b""


@on("tools/call")
def altered(request: Message, line: bytes, changes: str) -> None:
    """Answers with some members of the message changed (JSON); null takes one away."""
    message = answer_to(request) | json.loads(changes)
    say({name: value for name, value in message.items() if value is not None})


@mode
def batch(version: str) -> None:
    """Agrees on this revision and answers calls with a batch of a log message and the answer."""
    for request in incoming():
        answer = answer_to(request) if "id" in request else {}
        if request["method"] == "initialize":
            answer["result"] = INITIALIZE_RESULT | {"protocolVersion": version}
        if answer:
            say([LOG, answer] if request["method"] == "tools/call" else answer)


@on("tools/call")
def storm(request: Message, line: bytes, count: str) -> None:
    """This many notifications, then the answer."""
    many = line_of(LOG) * 1000
    for _ in range(int(count) // 1000):
        write(many)
    write(line)


@mode
def ask(method: str) -> None:
    """Asks the client during each call, under the id of the call, and returns what it said."""
    lines = incoming()
    for request in lines:
        if request["method"] != "tools/call":
            write(line_for(request))
            continue
        say({"jsonrpc": "2.0", "id": request["id"], "method": method, "params": {}})
        said = json.dumps(next(lines), sort_keys=True)
        say(answer_to(request) | {"result": text_result(said)})


@mode
def ask_first(method: str) -> None:
    """Asks before it reads the call, so that the answer queues up behind the call."""
    lines = incoming()
    for request in lines:
        if request["method"] == "notifications/initialized":
            say({"jsonrpc": "2.0", "id": "early", "method": method})
            received = [next(lines), next(lines)]
            call = next(message for message in received if "method" in message)
            said = next(message for message in received if "method" not in message)
            say(answer_to(call) | {"result": text_result(json.dumps(said, sort_keys=True))})
        else:
            write(line_for(request))


@mode
def ask_forever() -> None:
    """Asks again after each answer and never answers the call."""
    asked = 0
    for request in incoming():
        if request.get("method") in ("initialize", "notifications/initialized"):
            write(line_for(request))
        else:
            asked += 1
            say({"jsonrpc": "2.0", "id": asked, "method": "ping"})
