"""Read recorded traffic, whatever kind of recording it is.

Text and a name to blame go in; a `Recording` comes out, or a FormatError. Captures and logs
are told apart by what they hold, never by their names.
"""

from __future__ import annotations

import re
from itertools import zip_longest

from mcptest.core.strict_json import NotJsonError, parse_json
from mcptest.traffic.captures import is_capture, read_sessions
from mcptest.traffic.directions import are_turned_round, directed
from mcptest.traffic.log_lines import MAX_MESSAGE_DEPTH, entries_of_line, entries_of_value
from mcptest.traffic.recording import (
    Recording,
    Session,
    is_message,
    mistake,
    opposite,
    parts_of,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from mcptest.core.errors import FormatError
    from mcptest.traffic.directions import Entry
    from mcptest.traffic.recording import Spoken

__all__ = ["is_traffic", "read_recording"]

_KINDS = (
    "a recording is a capture (mcptest run … --capture FILE), or a log with one JSON-RPC "
    "message per line, bare or with its direction"
)
_CASE_LINE = re.compile(r"(?m)^(?:---\s*$|case\s*:|(?:in|out)\w*\s*:\s*(?:[|>{\[]\s*)?$)")
_TURN = re.compile(r"(?:in|out)\w*\s*:")
_MAX_NAMED_LINES = 8
# What a file is, is seen before this.
_MAX_SEEN_LINES = 1_000


def is_traffic(text: str) -> bool:
    """Whether a text is a recording that can be read: a capture, or a log.

    A case file is none, though it holds messages.
    """
    text = text.removeprefix("\ufeff")
    if re.match(r"\s*[\[{]", text):
        try:
            value = parse_json(text, MAX_MESSAGE_DEPTH)
        except NotJsonError:
            return _is_log(text)
        if is_capture(value) or _is_case(value):
            return is_capture(value)
        return bool(_entries_of_values(value if isinstance(value, list) else [value]))
    return _is_log(text)


def _is_log(text: str) -> bool:
    """Whether a line says something before any line that only a case file has."""
    lines = [line for line in text.split("\n", _MAX_SEEN_LINES)[:_MAX_SEEN_LINES] if line.strip()]
    for line, following in zip_longest(lines, lines[1:], fillvalue="---"):
        if re.match(r"case\s*:", line) or _TURN.match(line):
            return False
        entries = [] if line[0].isspace() else entries_of_line(line)
        if entries:
            # An object with both sides may be a document of cases, and then it stands alone.
            return not (following.startswith("---") and _is_case(_value_of(line)))
    return False


def _value_of(line: str) -> object:
    try:
        return parse_json(line.strip(), MAX_MESSAGE_DEPTH)
    except NotJsonError:
        return None


def _is_case(value: object) -> bool:
    """Whether an object is a case written in JSON."""
    if not isinstance(value, dict) or is_message(value):
        return False
    return any(key == "case" or _TURN.match(f"{key}:") for key in value)


def read_recording(text: str, file: str) -> Recording:
    """What is recorded in a file."""
    text = text.removeprefix("\ufeff")
    try:
        value = parse_json(text, MAX_MESSAGE_DEPTH)
    except NotJsonError as error:
        return _read_log(text, file, error)
    if is_capture(value):
        sessions, notes = read_sessions(value, file)
        return _recording(file, sessions, tuple(notes))
    entries = _entries_of_values(value if isinstance(value, list) else [value])
    if not entries:
        raise mistake("F005", file, "there is no MCP message in this file", _KINDS)
    return _read_entries(entries, file, ())


def _entries_of_values(values: Iterable[Any]) -> list[Entry]:
    return [entry for value in values for entry in entries_of_value(value)]


def _read_log(text: str, file: str, error: NotJsonError) -> Recording:
    entries: list[Entry] = []
    left_out: list[int] = []
    is_log = False
    for number, line in enumerate(text.split("\n"), 1):
        found = entries_of_line(line)
        entries += found
        # Cases may have messages on lines of their own, below their keys.
        is_log = is_log or (bool(found) and not line[0].isspace() and not _TURN.match(line))
        if not found and line.strip():
            left_out.append(number)
    if not is_log and _CASE_LINE.search(text):
        message = "this is a case file already, and needs no conversion"
        raise mistake("F005", file, message, "run it as it is: mcptest run FILE")
    if not entries:
        raise _nothing_read(text, file, error)
    return _read_entries(entries, file, _told(file, left_out))


def _nothing_read(text: str, file: str, error: NotJsonError) -> FormatError:
    if not text.strip():
        return mistake("F005", file, "the file is empty", _KINDS)
    if text.lstrip()[0] not in "{[":
        return mistake("F005", file, "there is no MCP message in this file", _KINDS)
    before = text[: max(0, error.column - 1)]
    line = before.count("\n") + 1
    column = len(before) - before.rfind("\n")
    source = text.split("\n")[line - 1].rstrip("\r")
    place = {"line": line, "column": column, "source": source} if error.column else {}
    return mistake("F002", file, f"not JSON: {error.reason}", _KINDS, **place)


def _told(file: str, left_out: list[int]) -> tuple[str, ...]:
    if not left_out:
        return ()
    named = ", ".join(map(str, left_out[:_MAX_NAMED_LINES]))
    more = f" and {len(left_out) - _MAX_NAMED_LINES:,} more"
    more = more if len(left_out) > _MAX_NAMED_LINES else ""
    lines = "line holds" if len(left_out) == 1 else "lines hold"
    were = "was" if len(left_out) == 1 else "were"
    where = f"line {named}{more}" if len(left_out) == 1 else f"lines {named}{more}"
    return (f"{file}: {len(left_out):,} {lines} no message and {were} left out: {where}",)


def _read_entries(entries: list[Entry], file: str, notes: tuple[str, ...]) -> Recording:
    if are_turned_round(entries):
        entries = [(told and opposite(told), message) for told, message in entries]
        notes += (f"{file}: the directions are those that the server sees, and were turned round",)
    return _recording(file, [Session(messages=tuple(directed(entries)))], notes)


def _recording(file: str, sessions: list[Session], notes: tuple[str, ...]) -> Recording:
    """The recording, with each session cut where the client begins anew."""
    cut = [part for session in sessions for part in _cut(session)]
    if not cut:
        raise mistake("F005", file, "there is no message in this recording", _KINDS)
    labels = sorted({session.label for session in cut if session.label})
    if len(labels) > 1:
        which = ", ".join(labels[:_MAX_NAMED_LINES])
        notes += (f"{file}: sessions of {len(labels)} servers are in one contract: {which}",)
    return Recording(file=file, sessions=tuple(cut), notes=notes)


def _cut(session: Session) -> list[Session]:
    pieces: list[list[Spoken]] = []
    for spoken in session.messages:
        if not pieces or _is_beginning(spoken):
            pieces.append([])
        pieces[-1].append(spoken)
    return [session.but(messages=tuple(piece)) for piece in pieces]


def _is_beginning(spoken: Spoken) -> bool:
    first = parts_of(spoken.message)[0]
    is_request = "id" in first and first.get("method") == "initialize"
    return spoken.direction == "in" and is_request
