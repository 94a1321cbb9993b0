"""Too much, too little, too late: pipes that fill up and missing answers."""

from __future__ import annotations

import os
import signal
import sys
import threading

from connect_back import call_home
from good_server import LOG, incoming, line_for, line_of, mode, on, serve, write

TYPE_CHECKING = False
if TYPE_CHECKING:
    from good_server import Message


@mode
def mute() -> None:
    """Calls home, reads everything and answers nothing."""
    home = call_home("mute")
    for _ in sys.stdin.buffer:
        pass
    home.close()


@mode
def slow_start(milliseconds: str) -> None:
    """Takes this long to answer initialize, which only the duration of a wait shows."""
    threading.Event().wait(int(milliseconds) / 1000)
    serve()


@mode
def no_read() -> None:
    """Shakes hands and never reads again."""
    for request in incoming():
        write(line_for(request))
        if request["method"] == "notifications/initialized":
            signal.pause()


@mode
def deaf() -> None:
    """Shakes hands, then closes its stdin and lives on."""
    for request in incoming():
        write(line_for(request))
        if request["method"] == "notifications/initialized":
            os.close(0)
            signal.pause()


@on("notifications/initialized")
def shout_first(request: Message, line: bytes, size: str) -> None:
    """Writes this many bytes of notifications before it reads the next request."""
    one = line_of(LOG)
    write(one * (int(size) // len(one) + 1))


@on("tools/call")
def stderr_flood(request: Message, line: bytes, mebibytes: str) -> None:
    block = (b"e" * 127 + b"\n") * 8192
    for _ in range(int(mebibytes)):
        write(block, 2)
    write(line)


@mode
def stderr_endless() -> None:
    """Another thread never stops writing to stderr; everything else is good."""
    block = (b"e" * 127 + b"\n") * 512

    def flood() -> None:
        while True:
            write(block, 2)

    threading.Thread(target=flood, daemon=True).start()
    for request in incoming():
        write(line_for(request))
    os._exit(0)


@on("tools/call")
def stderr_bytes(request: Message, line: bytes, data: str) -> None:
    """Writes these bytes (hexadecimal) to stderr, then stops answering."""
    write(bytes.fromhex(data), 2)


@mode
def stderr_closed() -> None:
    os.close(2)
    serve()


@mode
def stderr_on_stdout() -> None:
    """Started by a wrapper that says 2>&1, it logs to what it takes for stderr."""
    os.dup2(1, 2)
    write(b"INFO fault_server is starting\n", 2)
    serve()


@mode
def silent() -> None:
    """Never answers a call; reports cancellations to the listener."""
    home = call_home("silent")
    for request in incoming():
        if request["method"] == "notifications/cancelled":
            home.sendall(f"cancelled {request['params']['requestId']}\n".encode())
        elif request["method"] != "tools/call":
            write(line_for(request))


@mode
def announced() -> None:
    """A good server that reports each method to the listener; at the end it waits for release."""
    home = call_home("announced")
    for request in incoming():
        home.sendall(f"{request['method']}\n".encode())
        write(line_for(request))
    home.sendall(b"end of stdin\n")
    home.recv(1)


@mode
def announced_silent() -> None:
    """Answers everything except calls; reports those to the listener."""
    home = call_home("announced-silent")
    for request in incoming():
        if request["method"] == "tools/call":
            home.sendall(b"tools/call\n")
        else:
            write(line_for(request))


@mode
def leave_stdout() -> None:
    """On notifications/leave it closes its stdout, reports it, and runs until stdin ends."""
    home = call_home("leave-stdout")
    for request in incoming():
        if request["method"] == "notifications/leave":
            os.close(1)
            home.sendall(b"closed\n")
        else:
            write(line_for(request))


@on("tools/call")
def descriptors(request: Message, line: bytes) -> None:
    """Lists the descriptors it was started with on stderr."""
    found = sorted(int(name) for name in os.listdir("/proc/self/fd"))
    # The last one is the listing itself.
    write(" ".join(map(str, found[:-1])).encode(), 2)
    write(line)


@mode
def announce_ready() -> None:
    """Says on stderr, in two pieces, that it is ready."""
    write(b"listening ", 2)
    write(b"on 3000\n", 2)
    serve()


@on("tools/call")
def tty(request: Message, line: bytes) -> None:
    """Opens the controlling terminal; says on stderr whether there is one."""
    try:
        os.close(os.open("/dev/tty", os.O_RDWR))
        write(b"there is a terminal\n", 2)
    except OSError:
        write(b"there is no terminal\n", 2)
    write(line)


@on("tools/call")
def stop_itself(request: Message, line: bytes) -> None:
    os.kill(os.getpid(), signal.SIGSTOP)


@mode
def unflushed() -> None:
    """Keeps its answers to itself until its stdin ends, as a forgotten flush does."""
    kept = [line_for(request) for request in incoming()]
    write(b"".join(kept))


@mode
def echo_input() -> None:
    """Sends back every line it is sent, as cat does."""
    for line in sys.stdin.buffer:
        write(line)


@mode
def pretty() -> None:
    """Writes its answers over several lines."""
    for request in incoming():
        if "id" in request:
            write(line_for(request).replace(b",", b",\n ").replace(b"{", b"{\n "))


@mode
def premature() -> None:
    """Answers a call as soon as it has seen its beginning, and reads no further."""
    for request in incoming():
        write(line_for(request))
        if request["method"] == "notifications/initialized":
            break
    os.read(0, 100)
    write(b'{"jsonrpc":"2.0","id":1,"result":{}}\n')
    signal.pause()


@mode
def ask_and_never_listen() -> None:
    """Sends requests with enormous ids forever, and reads nothing."""
    for request in incoming():
        write(line_for(request))
        if request["method"] == "notifications/initialized":
            break
    id = "x" * 1_000_000
    while True:
        write(line_of({"jsonrpc": "2.0", "id": id, "method": "ping"}))
