"""Cassettes: what was asked of a server and what came of it, to be played without the server.

A tape is NDJSON, so that it can be read, reviewed, and is whole up to the last line that was
written: a header, then one line for each call in its order.
"""

from __future__ import annotations

from mcptest.core.outcome import ABSENT
from mcptest.core.record import Record
from mcptest.core.strict_json import NotJsonError, dump_json, parse_json
from mcptest.matching.compare import compare

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from mcptest.core.outcome import Mismatch

__all__ = ["BadTapeError", "Player", "Take", "key_of", "render_header", "render_take"]

_FORMAT, _VERSION = "mcptest-cassette", 1


class BadTapeError(ValueError):
    """A file that is no tape, or one that has nothing more for a call."""


class Take(Record):
    """One call on a tape: what was asked, and the result, or else the error."""

    method: str
    params: dict[str, Any]
    result: Any = ABSENT
    error: Any = ABSENT


def render_header(command: tuple[str, ...]) -> str:
    header = {"format": _FORMAT, "version": _VERSION, "command": list(command)}
    return dump_json(header) + "\n"


def render_take(take: Take) -> str:
    body: dict[str, Any] = {"method": take.method, "params": take.params}
    if take.error is not ABSENT:
        body["error"] = take.error
    else:
        body["result"] = take.result
    return dump_json(body) + "\n"


class Player:
    """Plays a tape: each call gets the next take of the same call."""

    def __init__(self, text: str) -> None:
        self._takes = _read(text)
        self._queues: dict[str, list[Take]] = {}
        for take in self._takes:
            self._queues.setdefault(_key(take.method, take.params), []).append(take)

    def play(self, method: str, params: dict[str, Any]) -> Take:
        """The next take; BadTapeError with the first difference when there is none."""
        queue = self._queues.get(_key(method, params))
        if queue:
            return queue.pop(0)
        raise BadTapeError(self._difference(method, params))

    def _difference(self, method: str, params: dict[str, Any]) -> str:
        wanted = f"{method} {dump_json(params)}"
        if _key(method, params) in self._queues:
            return f"the tape has no further take of {wanted}: it was recorded fewer times"
        others = [take for take in self._takes if take.method == method]
        if not others:
            there = ", ".join(sorted({take.method for take in self._takes})) or "nothing"
            return f"{wanted} is not on the tape: it has only {there}"
        nearest = min((list(compare(take.params, params)) for take in others), key=len)
        return f"{wanted} is not on the tape; the nearest take differs at {_told(nearest[0])}"


def _told(mismatch: Mismatch) -> str:
    recorded, asked = (
        "nothing" if value is ABSENT else dump_json(value)
        for value in (mismatch.expected, mismatch.actual)
    )
    return f"{mismatch.path or 'its params'}: recorded {recorded}, asked {asked}"


def _key(method: str, params: dict[str, Any]) -> str:
    return f"{method} {dump_json(_sorted(params))}"


def _sorted(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _sorted(value[key]) for key in sorted(value)}
    return [_sorted(item) for item in value] if isinstance(value, list) else value


def _read(text: str) -> list[Take]:
    lines = text.splitlines()
    if not lines or not _is_header(_parsed(lines[0], 1)):
        raise BadTapeError(f"it is no cassette: its first line is not that of {_FORMAT}")
    return [_take(_parsed(line, number), number) for number, line in enumerate(lines[1:], 2)]


def _is_header(value: object) -> bool:
    return (
        isinstance(value, dict)
        and value.get("format") == _FORMAT
        and value.get("version") == _VERSION
    )


def _parsed(line: str, number: int) -> object:
    try:
        return parse_json(line)
    except NotJsonError as error:
        raise BadTapeError(f"line {number} is no JSON: {error.reason}") from None


def _take(value: object, number: int) -> Take:
    if not isinstance(value, dict) or ("result" in value) == ("error" in value):
        raise BadTapeError(f"line {number} is no call with its result or error")
    method, params = value.get("method"), value.get("params")
    if not isinstance(method, str) or not isinstance(params, dict):
        raise BadTapeError(f"line {number} does not say what was asked")
    return Take(
        method=method,
        params=params,
        result=value.get("result", ABSENT),
        error=value.get("error", ABSENT),
    )


def key_of(command: tuple[str, ...], tool: str, arguments: dict[str, Any]) -> str:
    """What tells two tool calls apart, whatever the order of their arguments."""
    return dump_json([list(command), tool, _sorted(arguments)])
