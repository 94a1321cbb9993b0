"""Lines of a log that somebody kept of the traffic: what was said, and by whom if it says so.

There are many such logs. A line is a message, a message in a wrapper that names its direction,
or either of them behind an arrow or a word.
"""

from __future__ import annotations

import re

from mcptest.core.strict_json import MAX_DEPTH, NotJsonError, parse_json
from mcptest.traffic.recording import is_message, parts_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from mcptest.traffic.directions import Entry
    from mcptest.traffic.recording import Direction

__all__ = ["MAX_MESSAGE_DEPTH", "entries_of_line", "entries_of_value"]

# A case file holds a message one level down, and its reader has the same limit.
MAX_MESSAGE_DEPTH = MAX_DEPTH - 2

_DIRECTION_KEYS = ("direction", "dir", "from", "type", "source", "stream", "sender", "origin")
_MESSAGE_KEYS = ("message", "data", "payload", "body", "raw", "line", "json", "msg", "content")

_WORDS: dict[str, Direction] = {
    **dict.fromkeys(("in", "client", "host", "send", "sent", "stdin", "c2s"), "in"),
    **dict.fromkeys((">", ">>", "toserver", "clienttoserver", "client>server"), "in"),
    **dict.fromkeys(("out", "server", "recv", "received", "receive", "stdout", "s2c"), "out"),
    **dict.fromkeys(("<", "<<", "toclient", "servertoclient", "server>client"), "out"),
}
# A message under such a key says nothing more about its direction than it does itself.
_KINDS = ("request", "response", "notification")
# What may stand before a message: words and arrows, a time, a level.
_HEAD_MARK = (
    r"(?:client|server) *(?:[-=]+>|→) *(?:client|server)|to[ _-](?:client|server)"
    r"|<[-=]*|[-=]*>+|[→←]|[a-z][a-z0-9_-]*"
)
_MAX_HEAD = 300


def entries_of_line(line: str) -> list[Entry]:
    """What a line of a log says; nothing when it holds no message."""
    line = line.strip()
    entries = entries_of_value(_parsed(line)) if line[:1] in ("{", "[") else []
    if entries:
        return entries
    start = _start_of_json(line)
    if start <= 0:
        return []
    direction = _direction_of_head(line[:start])
    found = entries_of_value(_parsed(line[start:]))
    return [(told or direction, message) for told, message in found]


def entries_of_value(value: Any) -> list[Entry]:
    """What an entry of a log says: a message, a batch, or a wrapper around either."""
    if _is_said(value):
        return [(None, value)]
    if not isinstance(value, dict):
        return []
    for key in _MESSAGE_KEYS:
        message = _unpacked(value.get(key))
        if _is_said(message):
            return [(_direction_of_wrapper(value), message)]
    return list(_by_side(value))


def _by_side(value: dict[str, Any]) -> Iterator[Entry]:
    """The messages of `{"in": …}`, `{"out": …}` or both."""
    for key, inner in value.items():
        direction = _direction_of_word(key)
        message = _unpacked(inner) if direction or key in _KINDS else None
        if _is_said(message):
            yield direction, message


def _is_said(value: Any) -> bool:
    return value not in (None, []) and all(map(is_message, parts_of(value)))


def _unpacked(value: Any) -> Any:
    """A message that is kept as the text of its line."""
    return _parsed(value) if isinstance(value, str) else value


def _parsed(text: str) -> Any:
    try:
        return parse_json(text, MAX_MESSAGE_DEPTH)
    except NotJsonError as error:
        # Some logs put words behind the message as well.
        rest = text[error.column - 1 :] if error.reason.startswith("something follows") else ""
        return _parsed(text[: error.column - 1]) if rest else None


def _start_of_json(line: str) -> int:
    found = re.search(r"\{\s*\"|\[\s*\{", line[:_MAX_HEAD])
    return found.start() if found else -1


def _direction_of_head(head: str) -> Direction | None:
    """The direction in the words before a message: the nearest one counts."""
    marks = re.findall(_HEAD_MARK, head.lower())
    told = [direction for mark in marks if (direction := _direction_of_word(mark))]
    return told[-1] if told else None


def _direction_of_wrapper(value: dict[str, Any]) -> Direction | None:
    for key in _DIRECTION_KEYS:
        word = value.get(key)
        if isinstance(word, str) and (direction := _direction_of_word(word)):
            return direction
    return None


def _direction_of_word(word: str) -> Direction | None:
    # client-to-server, client_to_server and clientToServer are the same word, and so are arrows.
    return _WORDS.get(re.sub("[-_ =]", "", word.lower().replace("→", ">").replace("←", "<")))
