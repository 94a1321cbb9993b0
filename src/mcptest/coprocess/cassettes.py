"""The cassette of a session: records what the server says, or plays it in the server's place."""

from __future__ import annotations

import contextlib
import errno
import os
from collections import deque
from itertools import count

from mcptest.coprocess.protocol import UPSTREAM_ERROR, RefusedError, quoted
from mcptest.core.record import ABSENT, Record
from mcptest.core.strict_json import NotJsonError, dump_json, parse_json
from mcptest.core.text import shorten, show_json, visible
from mcptest.engine.discovery import open_regular
from mcptest.engine.files import read_regular, resolve_target, why_not, write_all
from mcptest.matching.compare import compare
from mcptest.protocol.jsonrpc import INTERNAL_ERROR, INVALID_PARAMS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from mcptest.coprocess.upstream import Upstream

    Params = dict[str, Any]

__all__ = [
    "BadTapeError",
    "Cassette",
    "Player",
    "Take",
    "canonical",
    "looks_like_tape",
    "read_tape",
    "render_header",
]


class Cassette:
    """Stands between a session and its server. A tape holds no secrets of the config."""

    def __init__(self, upstream: Upstream) -> None:
        self._upstream = upstream
        self._recorder: Recorder | None = None
        self._player: Player | None = None
        # What became of recordings that did not become a tape, in words.
        self.troubles: list[str] = []

    @property
    def is_in(self) -> bool:
        """Whether anything is recorded or played."""
        return bool(self._recorder or self._player)

    def set_mode(self, mode: str, path: str) -> None:
        """Record to a tape, play one, or neither. When that is impossible, nothing changes."""
        recorder: Recorder | None = None
        player: Player | None = None
        try:
            if mode == "record":
                recorder = Recorder(path, self._upstream.cleaned(self._upstream.spec.command))
            elif mode == "replay":
                player = Player(read_tape(read_regular(self._source(path))))
        except UnicodeDecodeError:
            raise _unusable(path, mode, "it is no cassette: it is not UTF-8") from None
        except (OSError, BadTapeError) as error:
            raise _unusable(path, mode, why_not(error)) from None
        self.eject()
        self._recorder, self._player = recorder, player

    def _source(self, path: str) -> str:
        """Where a tape is read from: what is being recorded is not at its place yet."""
        is_recorded = self._recorder and self._recorder.path == path
        return self._recorder.part if self._recorder and is_recorded else path

    def eject(self, *, is_whole: bool = True) -> None:
        """Nothing is recorded or played any more; a session that broke off is not whole."""
        if self._recorder:
            trouble = self._recorder.finish(is_whole=is_whole and not self._upstream.is_lost)
            self.troubles += [trouble] if trouble else []
        self._recorder = self._player = None

    def perform(self, method: str, params: Params, ask: Callable[[], Any]) -> Any:
        """What the server says, or the tape in its place; never both."""
        if self._player:
            return self._played(self._player, method, params)
        if self._recorder is None:
            return ask()
        try:
            result = ask()
        except RefusedError as error:
            if error.code == UPSTREAM_ERROR:
                said: dict[str, object] = {"message": error.message}
                said |= {} if error.data is ABSENT else {"data": error.data}
                self._record(self._recorder, Take(method=method, params=params, error=said))
            raise
        self._record(self._recorder, Take(method=method, params=params, result=result))
        return result

    def _played(self, player: Player, method: str, params: Params) -> Any:
        try:
            take = player.play(method, self._upstream.cleaned(params))
        except BadTapeError as error:
            raise RefusedError(UPSTREAM_ERROR, str(error)) from None
        if take.error is not ABSENT:
            data = take.error.get("data", ABSENT)
            raise RefusedError(UPSTREAM_ERROR, take.error["message"], data)
        return take.result

    def _record(self, recorder: Recorder, take: Take) -> None:
        cleaned = self._upstream.cleaned
        # Whoever plays it may ask for this, whether or not it was asked for now.
        hello = Take(method="initialize", params={}, result=cleaned(self._upstream.handshake))
        fields = {name: cleaned(getattr(take, name)) for name in ("params", "result", "error")}
        try:
            recorder.begin(hello)
            if take.method != "initialize":
                recorder.add(take.but(**fields))
        except OSError as error:
            message = f"the cassette {quoted(recorder.path)} cannot be written: {why_not(error)}"
            raise RefusedError(INTERNAL_ERROR, message) from None


def _unusable(path: str, mode: str, why: str) -> RefusedError:
    return RefusedError(
        INVALID_PARAMS, f"the cassette {quoted(path)} cannot be used to {mode}: {why}"
    )


# A tape that grows. Where there is one, beside it, until the session was recorded.
#
# A recording that fails must not cost the tape of a session that did not.


_MAX_HEADER_BYTES = 1024 * 1024
_numbers = count(1)


class Recorder:
    """Records to `part`: the file itself, or one beside it when that is a tape.

    OSError when that is impossible, or when something else is there.
    """

    def __init__(self, path: str, command: tuple[str, ...]) -> None:
        is_there = _is_tape(path)
        self.path = path
        # Where a link leads is replaced, and not the link.
        self._place = resolve_target(path)
        beside = f"{self._place}.{os.getpid()}-{next(_numbers)}.part"
        self.part = beside if is_there else self._place
        self._has_begun = False
        self._calls = 0
        self._fd = open_regular(self.part, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW)
        try:
            write_all(self._fd, render_header(command))
        except OSError:
            self._drop()
            raise

    def begin(self, hello: Take) -> None:
        """The first take of all, once."""
        if not self._has_begun:
            write_all(self._fd, hello.render())
            self._has_begun = True

    def add(self, take: Take) -> None:
        write_all(self._fd, take.render())
        self._calls += 1

    def finish(self, *, is_whole: bool) -> str:
        """Put the tape in its place; a sentence when it is left where it is, or is no use.

        One that is there is only replaced by a whole session in which something was asked.
        """
        if not self._has_begun:
            self._drop()
            return ""
        if self.part == self._place:
            os.close(self._fd)
            return ""
        if not (is_whole and self._calls):
            return self._left()
        try:
            os.replace(self.part, self._place)
        except OSError as error:
            os.close(self._fd)
            why = f"the cassette {quoted(self.path)} cannot be written: {why_not(error)}"
            return f"{why}; what was recorded is in {quoted(self.part)}"
        os.close(self._fd)
        return ""

    def _left(self) -> str:
        kept = f"the cassette {quoted(self.path)} was left as it is"
        if not self._calls:
            self._drop()
            return f"{kept}: nothing was asked"
        os.close(self._fd)
        return f"{kept}: the session broke off; what was recorded is in {quoted(self.part)}"

    def _drop(self) -> None:
        os.close(self._fd)
        with contextlib.suppress(OSError):
            os.unlink(self.part)


def _is_tape(path: str) -> bool:
    """Whether there is a tape; whatever else is there is not ours to replace."""
    try:
        fd = open_regular(path, os.O_RDONLY)
    except FileNotFoundError:
        return False
    with os.fdopen(fd, "rb") as file:
        line = file.readline(_MAX_HEADER_BYTES)
    if line and not looks_like_tape(line):
        raise OSError(errno.EEXIST, "it is there and is no cassette; choose another name")
    return bool(line)


# Cassettes: what was asked of a server and what came of it, to be played without the server.
#
# A tape is NDJSON, so that it can be read and reviewed, and is whole up to the last line that was
# written: a header, then one line for each call in its order. Pure.


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
