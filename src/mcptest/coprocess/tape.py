"""Cassettes: what was asked of a server and what came of it, to be played without the server.

A tape is NDJSON, so that it can be read and reviewed, and is whole up to the last line that was
written: a header, then one line for each call in its order. Pure.
"""

from __future__ import annotations

from collections import deque

from mcptest.core.record import ABSENT, Record
from mcptest.core.strict_json import NotJsonError, dump_json, parse_json
from mcptest.core.text import shorten, show_json, visible
from mcptest.matching.compare import compare

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = [
    "BadTapeError",
    "Player",
    "Take",
    "canonical",
    "looks_like_tape",
    "read_tape",
    "render_header",
]

_FORMAT, _VERSION = "mcptest-cassette", 1
_HEADER = {"format", "version", "command"}
_MAX_SHOWN_CHARS = 300


class BadTapeError(ValueError):
    """A file that is no tape, or one that has nothing more for a call."""


class Take(Record):
    """One call on a tape: what was asked, and the result, or else the error."""

    method: str
    params: dict[str, Any]
    result: Any = ABSENT
    error: Any = ABSENT

    def render(self) -> bytes:
        outcome = {"error": self.error} if self.result is ABSENT else {"result": self.result}
        return _line({"method": self.method, "params": self.params, **outcome})


def render_header(command: tuple[str, ...]) -> bytes:
    return _line({"format": _FORMAT, "version": _VERSION, "command": list(command)})


def looks_like_tape(line: bytes) -> bool:
    """Whether this is the first line of a tape, of whatever version."""
    try:
        header = parse_json(line.decode("utf-8"))
    except (NotJsonError, UnicodeDecodeError):
        return False
    is_ours = isinstance(header, dict) and header.get("format") == _FORMAT
    return is_ours and line.endswith(b"\n")


def _line(value: object) -> bytes:
    return dump_json(value).encode("utf-8", "backslashreplace") + b"\n"


class Player:
    """Plays a tape: each call gets the next take of the same call.

    What the server answered to `initialize` is the same however often it is asked for.
    """

    def __init__(self, takes: list[Take]) -> None:
        self._takes = takes
        self._queues: dict[str, deque[Take]] = {}
        for take in takes:
            self._queues.setdefault(_key(take.method, take.params), deque()).append(take)

    def play(self, method: str, params: dict[str, Any]) -> Take:
        """The next take; BadTapeError with the first difference when there is none."""
        queue = self._queues.get(_key(method, params))
        if not queue:
            raise BadTapeError(self._difference(method, params))
        return queue[0] if method == "initialize" else queue.popleft()

    def _difference(self, method: str, params: dict[str, Any]) -> str:
        wanted = f"{method} {_shown(params)}"
        others = [take for take in self._takes if take.method == method]
        if _key(method, params) in self._queues:
            key = _key(method, params)
            times = sum(_key(take.method, take.params) == key for take in others)
            many = "once" if times == 1 else f"{times} times"
            return f"the tape has no further take of {wanted}: it was recorded {many}"
        if not others:
            there = ", ".join(sorted({visible(take.method) for take in self._takes})) or "nothing"
            return f"{wanted} is not on the tape: it has only {there}"
        nearest = min((_differences(take.params, params) for take in others), key=len)
        return f"{wanted} is not on the tape; the nearest take differs at {nearest[0]}"


def _differences(recorded: dict[str, Any], asked: dict[str, Any]) -> list[str]:
    found = [
        f"{visible(each.path) or 'its params'}: recorded {_shown(each.expected)}, "
        f"asked {_shown(each.actual)}"
        for each in compare(recorded, asked)
    ]
    # Where 1 was recorded and 1.0 is asked, only the way they are written differs.
    return found or [f"how a number is written: recorded {_shown(recorded)}, asked {_shown(asked)}"]


def _shown(value: object) -> str:
    return "nothing" if value is ABSENT else show_json(value, _MAX_SHOWN_CHARS)


def _key(method: str, params: dict[str, Any]) -> str:
    return f"{method} {canonical(params)}"


def canonical(value: object) -> str:
    """The same text for values that differ only in the order of their members."""
    return dump_json(_sorted(value))


def _sorted(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _sorted(value[key]) for key in sorted(value)}
    return [_sorted(item) for item in value] if isinstance(value, list) else value


# Reading


def read_tape(text: str) -> list[Take]:
    """Every take of a tape in its order; BadTapeError says what is wrong, and where."""
    # Only a newline ends a line: other separators of Unicode may stand in a text.
    *lines, rest = text.split("\n")
    if rest:
        lines.append(rest)
    header = _parsed(lines[0], 1) if lines and lines[0].startswith("{") else None
    if not isinstance(header, dict) or header.get("format") != _FORMAT:
        raise BadTapeError(f"it is no cassette: its first line is not that of {_FORMAT}")
    version = header.get("version")
    if type(version) is not int or version != _VERSION:
        theirs = "no version" if version is None else f"version {_shown(version)}"
        raise BadTapeError(f"it is of {theirs}; this mcptest plays version {_VERSION}")
    _refuse_surplus(header, _HEADER, 1)
    return [
        _take(_parsed(line, number, is_torn=number == len(lines) and bool(rest)), number)
        for number, line in enumerate(lines[1:], 2)
    ]


def _parsed(line: str, number: int, *, is_torn: bool = False) -> object:
    try:
        return parse_json(line)
    except NotJsonError as error:
        if is_torn:
            advice = "the recording was cut off; record it again, or remove that line"
            raise BadTapeError(f"its last line, {number}, is torn: {advice}") from None
        raise BadTapeError(f"line {number} is no JSON: {error.reason}") from None


def _refuse_surplus(value: dict[str, Any], known: set[str], number: int) -> None:
    surplus = [key for key in value if key not in known]
    if surplus:
        name = visible(shorten(surplus[0], 40))
        raise BadTapeError(f'line {number} has a member "{name}" that no tape has')


def _take(value: object, number: int) -> Take:
    if not isinstance(value, dict) or ("result" in value) == ("error" in value):
        raise BadTapeError(f"line {number} is no call with its result or error")
    _refuse_surplus(value, {"method", "params", "result", "error"}, number)
    method, params = value.get("method"), value.get("params")
    if not isinstance(method, str) or not isinstance(params, dict):
        raise BadTapeError(f"line {number} does not say what was asked")
    if "error" not in value:
        if not isinstance(value["result"], dict):
            raise BadTapeError(f"line {number} has a result that is no object")
        return Take(method=method, params=params, result=value["result"])
    error = value["error"]
    if not isinstance(error, dict) or not isinstance(error.get("message"), str):
        raise BadTapeError(f"line {number} has an error without a message")
    _refuse_surplus(error, {"message", "data"}, number)
    return Take(method=method, params=params, error=error)
