"""A plugin that judges correctly, and misbehaves in one named way on request.

Usage: python3 -S -E bad_plugin.py [MODE [ARG…]]. A mode is what the whole process does; "good"
is the default. What it is called with, `method`, may misbehave as well: the next call then
shows whether the host has recovered. Standard library only: many of these are started.
"""

from __future__ import annotations

import json
import os
import signal
import sys

from connect_back import call_home

TYPE_CHECKING = False
if TYPE_CHECKING:
    import socket
    from collections.abc import Callable
    from typing import Any

    Request = dict[str, Any]

METHODS: dict[str, Callable[[Request], object]] = {}
MODES: dict[str, Callable[..., None]] = {}

# Every id there was, lines that are still owed, and the one who called home.
SEEN: list[object] = []
OWED: list[bytes] = []
HOME: list[socket.socket] = []


def method(function: Callable[[Request], object]) -> Callable[[Request], object]:
    """Register what a call does: bytes are written as they are, the rest is a result."""
    METHODS[function.__name__.rstrip("_")] = function
    return function


def mode(function: Callable[..., None]) -> Callable[..., None]:
    """Register what a process does."""
    MODES[function.__name__.replace("_", "-")] = function
    return function


def serve() -> None:
    """Answer everything until stdin ends."""
    for line in sys.stdin.buffer:
        request = json.loads(line)
        request["line"] = line.decode()
        SEEN.append(request["id"])
        act = METHODS.get(request["method"], not_found)
        done = act(request)
        write(done if isinstance(done, bytes) else answer(request, result=done))


def answer(request: Request, **members: object) -> bytes:
    return json.dumps({"id": request["id"], **members}).encode() + b"\n"


def write(data: bytes, fd: int = 1) -> None:
    """All of it, however the pipe takes it."""
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


def not_found(request: Request) -> bytes:
    error = {"code": -32601, "message": f"there is no method {request['method']}"}
    return answer(request, error=error)


def number(request: Request, default: int) -> int:
    """What a call is made with, where that is a number."""
    params = request.get("params")
    return params if isinstance(params, int) else default


# Calls that are answered


@method
def echo(request: Request) -> object:
    return request["params"]


@method
def pid(request: Request) -> int:
    return os.getpid()


@method
def ids(request: Request) -> list[object]:
    return SEEN


@method
def line(request: Request) -> str:
    return str(request["line"])


@method
def null(request: Request) -> None:
    return None


@method
def big(request: Request) -> str:
    return "é" * (number(request, 0) // 2)


@method
def folder(request: Request) -> str:
    return os.getcwd()


@method
def refusal(request: Request) -> bytes:
    error = {"code": 7, "message": "no such town", "data": {"town": request.get("params")}}
    return answer(request, error=error)


@method
def more_members(request: Request) -> bytes:
    return answer(request, jsonrpc="2.0", result="fine", took_ms=3, hint=None)


@method
def id_as_fraction(request: Request) -> bytes:
    return b'{"id":%d.0,"result":"fine"}\n' % request["id"]


@method
def unescaped(request: Request) -> bytes:
    message = json.dumps({"id": request["id"], "result": "Ærø 🙂"}, ensure_ascii=False)
    return message.encode() + b"\n"


@method
def crlf(request: Request) -> bytes:
    return answer(request, result="fine").rstrip() + b"\r\n"


@method
def blank_lines(request: Request) -> bytes:
    return b"\n \n" + answer(request, result="fine")


@method
def flooded(request: Request) -> str:
    """Fills stderr with this many megabytes before it answers."""
    for _ in range(number(request, 0)):
        write(b"x" * 1023 + b"\n" + b"y" * 1023 * 1024 + b"\n", 2)
    return "fine"


# Verdicts, as matchers ask for them


@method
def same(request: Request) -> object:
    actual, expected = request["params"]["actual"], request["params"]["expected"]
    return {"pass": actual == expected, "message": f"{actual!r} is not {expected!r}"}


@method
def shown(request: Request) -> object:
    """Refuses everything, and reports its request."""
    return {"pass": False, "message": json.dumps(request["params"])}


@method
def here(request: Request) -> object:
    """Accepts the name of the folder it runs in."""
    return {"pass": os.getcwd() == request["params"]["expected"], "message": os.getcwd()}


@method
def noted(request: Request) -> object:
    """Accepts equal values; reports the path of the value to the listener."""
    HOME[0].sendall(f"{request['params']['path']}\n".encode())
    return same(request)


@method
def counted(request: Request) -> object:
    """Refuses everything, and reports how often it was called."""
    return {"pass": False, "message": f"call number {len(SEEN)}"}


@method
def mute_refusal(request: Request) -> object:
    return {"pass": False}


@method
def rude(request: Request) -> object:
    return {"pass": False, "message": "\x1b[2J\u202ered\n" + "x" * 5000}


@method
def verdict(request: Request) -> object:
    """Answers with ARG, read as JSON."""
    return json.loads(request["params"]["expected"])


# Calls that are answered wrongly


@method
def not_json(request: Request) -> bytes:
    return b"geo: looking it up \x1b[1m\n"


@method
def not_utf8(request: Request) -> bytes:
    return b'{"id":%d,"result":"\xff"}\n' % request["id"]


@method
def array(request: Request) -> bytes:
    return b"[]\n"


@method
def both(request: Request) -> bytes:
    return answer(request, result=1, error={"code": 1, "message": "x"})


@method
def neither(request: Request) -> bytes:
    return answer(request)


@method
def other_id(request: Request) -> bytes:
    return answer({"id": 999}, result="stray")


@method
def id_as_text(request: Request) -> bytes:
    return answer({"id": str(request["id"])}, result=1)


@method
def twice(request: Request) -> bytes:
    return answer(request, result="first") + answer(request, result="second")


@method
def long_line(request: Request) -> bytes:
    return b"x" * number(request, 0) + b"\n"


# Calls that are not answered


@method
def silent(request: Request) -> bytes:
    return b""


@method
def late(request: Request) -> bytes:
    """Answers when `settle` is called."""
    OWED.append(answer(request, result="late"))
    return b""


@method
def settle(request: Request) -> bytes:
    """Writes the pending answers, as often as requested."""
    owed, OWED[:] = b"".join(OWED), []
    return owed * number(request, 1) + answer(request, result="in time")


@method
def exit_(request: Request) -> bytes:
    write(b"geo: out of memory\n", 2)
    os._exit(number(request, 3))


@method
def die(request: Request) -> bytes:
    os.kill(os.getpid(), signal.SIGKILL)
    return b""


@method
def half_a_line(request: Request) -> bytes:
    write(answer(request, result=1)[:-4])
    os._exit(0)


@method
def close_stdout(request: Request) -> bytes:
    os.close(1)
    live_on()
    return b""


@method
def interrupt(request: Request) -> bytes:
    """Sends SIGINT to its parent, and never answers."""
    os.kill(os.getppid(), signal.SIGINT)
    return b""


@method
def announced(request: Request) -> bytes:
    """Reports the call to the listener, and never answers."""
    HOME[0].sendall(b"asked\n")
    return b""


# Processes


@mode
def good() -> None:
    serve()


@mode
def at_home() -> None:
    """Good, and calls home first; ends when its stdin does."""
    HOME.append(call_home("plugin"))
    serve()
    HOME[0].sendall(b"end of stdin\n")


@mode
def stubborn() -> None:
    """Keeps running when its stdin has ended, ignores SIGTERM, and has a child that does, too."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    reader, writer = os.pipe()
    if os.fork() == 0:
        HOME.append(call_home("child"))
        os.write(writer, b"!")
        live_on()
    # No call may be answered before there is a process to be left behind.
    os.read(reader, 1)
    HOME.append(call_home("plugin"))
    serve()
    HOME[0].sendall(b"end of stdin\n")
    live_on()


@mode
def orphan_child() -> None:
    """Ends when its stdin does, and leaves a child that has made a session of its own."""
    reader, writer = os.pipe()
    if os.fork() == 0:
        os.setsid()
        HOME.append(call_home("child"))
        os.write(writer, b"!")
        live_on()
    os.read(reader, 1)
    serve()


@mode
def never_reading() -> None:
    HOME.append(call_home("plugin"))
    live_on()


@mode
def exits_at_once() -> None:
    write(b"geo: no map found\n", 2)
    os._exit(4)


@mode
def only_once() -> None:
    """Answers one call and ends; is called to life again, it would call home again."""
    HOME.append(call_home("plugin"))
    request = json.loads(sys.stdin.buffer.readline())
    write(answer(request, result=os.getpid()))


def live_on() -> None:
    while True:
        signal.pause()


def main(name: str = "good", *arguments: str) -> None:
    if name not in MODES:
        sys.exit(f"bad_plugin: there is no mode {name!r}; there are: {', '.join(sorted(MODES))}")
    MODES[name](*arguments)


if __name__ == "__main__":
    main(*sys.argv[1:])
