"""Server-sent events as text: what `text/event-stream` carries, written down.

One event goes in, its bytes come out. Reading such a stream is `mcptest.core.sse`'s affair.
"""

from __future__ import annotations

import re

__all__ = ["render_event"]

# What ends a line in an event stream: a carriage return does so too.
_LINE_END = re.compile(rb"\r\n|\r|\n")


def render_event(data: bytes, id: str = "", event: str = "") -> bytes:
    """One event; data of several lines gets a field for each of them."""
    lines = [f"event: {event}".encode()] if event else []
    if id:
        lines.append(f"id: {id}".encode())
    lines += [b"data: " + line for line in _LINE_END.split(data)]
    return b"\n".join(lines) + b"\n\n"
