"""A small, correct MCP server of all five revisions, and one that breaks one rule on purpose.

    server.py [--http PORT] [--host HOST] [--break ID[,ID…]] [--era handshake|stateless|both]
              [--auth TOKEN] [--no CAPABILITY]… [--list-breaks]

It serves stdio, or HTTP with `--http` (0 chooses a port; the address is written to stderr).
`breaks.py` lists the ids; `--no` leaves out tools, resources, subscribe, prompts, completions,
logging or tasks. With `--auth` every request over HTTP needs this token, or
one of several with commas between them, each of which is a user.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import threading
import time
from typing import TYPE_CHECKING, Any

# Even when started as a program, this folder is a package.
sys.path[0] = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

from conformance import features  # noqa: E402  # found by the line above
from conformance.breaks import BREAKS, SETTINGS, broken  # noqa: E402  # as above
from conformance.eras import (  # noqa: E402  # as above
    Connection,
    Dropped,
    RpcError,
    bind_era,
    end_all_subscriptions,
    receive,
    receive_batch,
)

if TYPE_CHECKING:
    from conformance.eras import Message, Reply

CAPABILITIES = ("tools", "resources", "subscribe", "prompts", "completions", "logging", "tasks")
_LONGEST_LINE_IF_BROKEN = 100_000


def main() -> None:
    arguments = read_arguments()
    SETTINGS.breaks = frozenset(arguments.breaks)
    SETTINGS.without = frozenset(arguments.without)
    if "resources" in SETTINGS.without:
        SETTINGS.without |= {"subscribe"}
    SETTINGS.era = arguments.era
    SETTINGS.tokens = frozenset(filter(None, arguments.auth.split(",")))
    can_wait = hasattr(signal, "pthread_sigmask")
    ends = {signal.SIGTERM, signal.SIGINT}
    if can_wait:
        # Before any thread starts, so that only the main thread takes them.
        signal.pthread_sigmask(signal.SIG_BLOCK, ends)
    if arguments.http is None:
        stdio = Stdio()
        work, finish = stdio.serve, stdio.finish
    else:
        from conformance.http_endpoint import start  # noqa: PLC0415  # stdio starts faster without http.server

        work, finish = start(arguments.host, arguments.http), end_all_subscriptions
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    if can_wait:
        signal.sigwait(ends)
    else:
        thread.join()
    finish()
    os._exit(0)


def read_arguments() -> argparse.Namespace:
    def ids(words: str) -> list[str]:
        unknown = [word for word in words.split(",") if word not in BREAKS]
        if unknown:
            raise argparse.ArgumentTypeError(f"there is no break {unknown[0]}; see breaks.py")
        return words.split(",")

    parser = argparse.ArgumentParser(allow_abbrev=False)
    parser.add_argument("--http", type=int, metavar="PORT")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--break", dest="breaks", type=ids, action="extend", default=[])
    parser.add_argument("--era", choices=("handshake", "stateless", "both"), default="both")
    parser.add_argument("--auth", default="", metavar="TOKEN")
    parser.add_argument("--no", dest="without", action="append", choices=CAPABILITIES, default=[])
    parser.add_argument("--list-breaks", action="store_true")
    arguments = parser.parse_args()
    if arguments.list_breaks:
        sys.stdout.writelines(f"{check:9} {text}\n" for check, text in BREAKS.items())
        sys.exit()
    return arguments


class Stdio:
    """One client on stdin and stdout."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.connection = Connection(self.send, "stdio")

    def serve(self) -> None:
        if broken("STDIO-04"):
            self.write("Conformance server, ready.")
        for line in sys.stdin.buffer:
            if line.strip():
                self.receive_line(line)
        if broken("STDIO-10"):
            time.sleep(60)
        self.finish()
        os._exit(0)

    def receive_line(self, line: bytes) -> None:
        if broken("STDIO-16") and len(line) > _LONGEST_LINE_IF_BROKEN:
            return
        try:
            message = features.parse_or_log(self.connection, line)
        except RpcError as error:
            if broken("BASE-20"):
                os._exit(1)
            self.reply(error.answer(None))
            return
        if isinstance(message, list):
            self.reply(receive_batch(self.connection, message))
        elif features.is_blocking(message):
            bind_era(self.connection, message)
            threading.Thread(target=self.receive, args=[message], daemon=True).start()
        else:
            self.receive(message)

    def receive(self, message: Any) -> None:
        try:
            reply = receive(self.connection, message)
        except Dropped:
            os._exit(1)
        if reply and not reply.only_http:
            self.reply(reply)

    def reply(self, reply: Reply | None) -> None:
        if reply is None:
            return
        message = reply.message
        if broken("STDIO-06") and isinstance(message, dict) and "error" in message:
            self.write("Traceback (most recent call last):\n  ...\nValueError: it went wrong")
        self.send(message)

    def send(self, message: Message | list[Message]) -> None:
        self.write(json.dumps(message))

    def write(self, text: str) -> None:
        with self.lock:
            try:
                sys.stdout.buffer.write(text.encode("utf-8") + b"\n")
                sys.stdout.buffer.flush()
            except OSError:
                os._exit(0)

    def finish(self) -> None:
        """End subscriptions; a client that does not read must not keep the process alive."""
        threading.Timer(1, lambda: os._exit(0)).start()
        end_all_subscriptions()
        if broken("STDIO-05"):
            self.write("Goodbye.")
        self.lock.acquire(timeout=1)


if __name__ == "__main__":
    main()
