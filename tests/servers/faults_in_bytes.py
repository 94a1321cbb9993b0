"""Bytes on stdout that are not one JSON message per line."""

from __future__ import annotations

import json
import os

from good_server import LOG, answer_to, incoming, line_for, line_of, mode, on, serve, write

TYPE_CHECKING = False
if TYPE_CHECKING:
    from good_server import Message


@mode
def first(data: str) -> None:
    """Writes these bytes (hexadecimal) before it reads anything, then is good."""
    write(bytes.fromhex(data))
    serve()


@on("tools/call")
def before(request: Message, line: bytes, data: str) -> None:
    """Writes these bytes (hexadecimal) before each answer."""
    write(bytes.fromhex(data) + line)


@on("tools/call")
def instead(request: Message, line: bytes, data: str) -> None:
    """Writes these bytes (hexadecimal) instead of an answer."""
    write(bytes.fromhex(data))


@mode
def drip() -> None:
    """Writes every answer byte by byte."""
    for request in incoming():
        for byte in line_for(request):
            write(bytes([byte]))


@on("tools/call")
def half_exit(request: Message, line: bytes) -> None:
    write(line[:20])
    os._exit(0)


@on("tools/call")
def no_newline_exit(request: Message, line: bytes) -> None:
    write(line[:-1])
    os._exit(0)


@on("tools/call")
def no_newline(request: Message, line: bytes) -> None:
    write(line[:-1])


@mode
def crlf() -> None:
    for request in incoming():
        write(line_for(request).replace(b"\n", b"\r\n"))


@on("tools/call")
def encoded(request: Message, line: bytes, encoding: str) -> None:
    """Answers in another encoding."""
    write((json.dumps(answer_to(request), ensure_ascii=False) + "\n").encode(encoding))


@on("tools/call")
def torn(request: Message, line: bytes) -> None:
    """Two threads write at once: the answer lands inside a log message."""
    log = line_of(LOG)
    write(log[:30] + line + log[30:])


@mode
def lsp() -> None:
    """Frames its messages as language servers do."""
    for request in incoming():
        body = line_for(request)[:-1]
        if body:
            write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))


@on("tools/call")
def big_line(request: Message, line: bytes, size: str) -> None:
    """The answer is a line of exactly this many bytes, without its newline."""
    empty = answer_to(request | {"params": {"arguments": {"text": ""}}})
    text = "x" * (int(size) + 1 - len(line_of(empty)))
    empty["result"]["content"][0]["text"] = text
    write(line_of(empty))


@on("tools/call")
def endless_line(request: Message, line: bytes) -> None:
    while True:
        write(b"x" * 65536)


@on("tools/call")
def long_after(request: Message, line: bytes, size: str) -> None:
    """Answers well, and in the same breath writes a line of this many bytes."""
    write(line + b"x" * int(size) + b"\n")


@on("tools/call")
def endless_blank_lines(request: Message, line: bytes) -> None:
    while True:
        write(b"\n" * 65536)


@on("tools/call")
def endless_notifications(request: Message, line: bytes) -> None:
    many = line_of(LOG) * 500
    while True:
        write(many)


@on("tools/call")
def close_stdout(request: Message, line: bytes) -> None:
    """Closes its stdout and keeps running until its stdin ends."""
    os.close(1)


@mode
def last(data: str) -> None:
    """Writes these bytes (hexadecimal) when its stdin has ended, and ends."""
    serve()
    write(bytes.fromhex(data))
