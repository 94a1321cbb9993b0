"""What is kept of calls: cassettes, which replay a session, and the cache of tool calls."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
from collections import deque
from itertools import count

from mcptest.coprocess.protocol import UPSTREAM_ERROR, RefusedError, quote
from mcptest.core.strict_json import NotJsonError, dump_json, parse_json
from mcptest.core.text import excerpt, show_json, visible
from mcptest.core.value_class import ABSENT, Record
from mcptest.engine.test_files import (
    open_regular,
    read_regular,
    resolve_inside,
    resolve_target,
    why_not,
    write_all,
)
from mcptest.matching.compare import compare
from mcptest.protocol.framing import encode_line
from mcptest.protocol.http_address import Address
from mcptest.protocol.jsonrpc import INTERNAL_ERROR, INVALID_PARAMS, tool_failure
from mcptest.transport.files import open_beside, remove_leftovers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from mcptest.coprocess.connection import Upstream
    from mcptest.core.plan import ServerSpec

    Params = dict[str, Any]
    # (address, content type, body, deadline) -> status; OSError if there is no answer.
    Post = Callable[[Address, str, bytes, float], int]

__all__ = [
    "BadCassetteError",
    "Cache",
    "Cassette",
    "CassettePlayer",
    "RecordedCall",
    "cache_folder",
    "canonical_json",
    "is_cassette_header",
    "read_cassette",
    "render_header",
    "server_key",
]


_FORMAT, _VERSION = "mcptest-cassette", 1
_HEADER = {"format", "version", "command"}
_MAX_HEADER_BYTES = 1024 * 1024
_MAX_SHOWN_CHARS = 300
_part_numbers = count(1)


class Cassette:
    """Records what the server answers, or answers instead of it; secrets are not recorded."""

    def __init__(self, upstream: Upstream) -> None:
        self._upstream = upstream
        self._recorder: _CassetteRecorder | None = None
        self._player: CassettePlayer | None = None
        # Why recordings were not put in their place.
        self.warnings: list[str] = []

    @property
    def is_active(self) -> bool:
        """True if something is recorded or replayed."""
        return bool(self._recorder or self._player)

    def refuse_in_replay(self, what: str) -> None:
        """Raise if a cassette is replayed, which has no such thing."""
        if self._player:
            raise RefusedError(UPSTREAM_ERROR, f"a cassette is replayed, and it has no {what}")

    def set_mode(self, mode: str, path: str) -> None:
        """Record to a cassette, replay one, or neither. If that fails, the mode stays."""
        recorder: _CassetteRecorder | None = None
        player: CassettePlayer | None = None
        try:
            if mode == "record":
                command = self._upstream.redact(self._upstream.spec.command)
                recorder = _CassetteRecorder(path, command)
            elif mode == "replay":
                # What is being recorded is not in its place yet.
                current = self._recorder
                source = current.part if current and current.path == path else path
                player = CassettePlayer(read_cassette(read_regular(source)))
        except (OSError, BadCassetteError, UnicodeDecodeError) as error:
            is_text = not isinstance(error, UnicodeDecodeError)
            why = why_not(error) if is_text else "it is not a cassette: it is not UTF-8"
            message = f"the cassette {quote(path)} cannot be used to {mode}: {why}"
            raise RefusedError(INVALID_PARAMS, message) from None
        self.eject()
        self._recorder, self._player = recorder, player

    def eject(self, *, is_complete: bool = True) -> None:
        """Stop recording or replaying; `is_complete` is false if the session was broken off."""
        if self._recorder:
            warning = self._recorder.finish(is_complete and not self._upstream.is_lost)
            self.warnings += [warning] if warning else []
        self._recorder = self._player = None

    def perform(self, method: str, params: Params, ask: Callable[[], Params]) -> Params:
        """The answer of the server, or of the cassette; never of both."""
        if self._player:
            try:
                call = self._player.play(method, self._upstream.redact(params))
            except BadCassetteError as error:
                raise RefusedError(UPSTREAM_ERROR, str(error)) from None
            if call.error is not ABSENT:
                data = call.error.get("data", ABSENT)
                raise RefusedError(UPSTREAM_ERROR, call.error["message"], data)
            recorded: Params = call.result
            return recorded
        if self._recorder is None:
            return ask()
        try:
            result = ask()
        except RefusedError as error:
            if error.code == UPSTREAM_ERROR:
                body: dict[str, object] = {"message": error.message}
                body |= {} if error.data is ABSENT else {"data": error.data}
                self._record(self._recorder, RecordedCall(method=method, params=params, error=body))
            raise
        self._record(self._recorder, RecordedCall(method=method, params=params, result=result))
        return result

    def _record(self, recorder: _CassetteRecorder, call: RecordedCall) -> None:
        redact = self._upstream.redact
        # The handshake is always recorded: a replay may ask for it even if the recording did not.
        handshake = redact(self._upstream.handshake)
        opening = RecordedCall(method="initialize", params={}, result=handshake)
        fields = {name: redact(getattr(call, name)) for name in ("params", "result", "error")}
        try:
            recorder.begin(opening)
            if call.method != "initialize":
                recorder.add(call.but(**fields))
        except OSError as error:
            message = f"the cassette {quote(recorder.path)} cannot be written: {why_not(error)}"
            raise RefusedError(INTERNAL_ERROR, message) from None


class _CassetteRecorder:
    """Writes a cassette to `part`: the file itself, or one beside it if there is a cassette.

    So a recording that fails does not destroy an older one. OSError if the file cannot be
    written or is something other than a cassette.
    """

    def __init__(self, path: str, command: tuple[str, ...]) -> None:
        exists = _is_cassette(path)
        self.path = path
        # The target of a link is replaced, not the link.
        self._target = resolve_target(path)
        beside = f"{self._target}.{os.getpid()}-{next(_part_numbers)}.part"
        self.part = beside if exists else self._target
        self._has_begun = False
        self._calls = 0
        self._fd = open_regular(self.part, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW)
        try:
            write_all(self._fd, render_header(command))
        except OSError:
            self._remove()
            raise

    def begin(self, handshake: RecordedCall) -> None:
        """Write the handshake, once."""
        if not self._has_begun:
            write_all(self._fd, handshake.render())
            self._has_begun = True

    def add(self, call: RecordedCall) -> None:
        write_all(self._fd, call.render())
        self._calls += 1

    def finish(self, is_complete: bool) -> str:
        """Put the recording in its place; a warning if the old cassette was kept instead.

        It is replaced only by a complete session with at least one call.
        """
        if not self._has_begun:
            self._remove()
            return ""
        is_beside = self.part != self._target
        kept = f"the cassette {quote(self.path)} was left as it is"
        if is_beside and not self._calls:
            self._remove()
            return f"{kept}: nothing was asked"
        os.close(self._fd)
        if not is_beside:
            return ""
        recorded = f"what was recorded is in {quote(self.part)}"
        if not is_complete:
            return f"{kept}: the session broke off; {recorded}"
        try:
            os.replace(self.part, self._target)
        except OSError as error:
            message = f"the cassette {quote(self.path)} cannot be written: {why_not(error)}"
            return f"{message}; {recorded}"
        return ""

    def _remove(self) -> None:
        os.close(self._fd)
        with contextlib.suppress(OSError):
            os.unlink(self.part)


def _is_cassette(path: str) -> bool:
    """True if there is a cassette; OSError if there is any other file with content."""
    try:
        fd = open_regular(path, os.O_RDONLY)
    except FileNotFoundError:
        return False
    with os.fdopen(fd, "rb") as file:
        line = file.readline(_MAX_HEADER_BYTES)
    if line and not is_cassette_header(line):
        raise OSError(errno.EEXIST, "it exists and is not a cassette; choose another name")
    return bool(line)


# The format of cassettes. Pure.


class BadCassetteError(ValueError):
    """A file that is not a cassette, or one that has no entry for a call."""


class RecordedCall(Record):
    """One entry of a cassette: a request, and its result or its error."""

    method: str
    params: dict[str, Any]
    result: Any = ABSENT
    error: Any = ABSENT

    def render(self) -> bytes:
        outcome = {"error": self.error} if self.result is ABSENT else {"result": self.result}
        return encode_line({"method": self.method, "params": self.params, **outcome})


def render_header(command: tuple[str, ...]) -> bytes:
    return encode_line({"format": _FORMAT, "version": _VERSION, "command": list(command)})


def is_cassette_header(line: bytes) -> bool:
    """True if this is the first line of a cassette of any version."""
    try:
        header = parse_json(line.decode("utf-8"))
    except (NotJsonError, UnicodeDecodeError):
        return False
    is_ours = isinstance(header, dict) and header.get("format") == _FORMAT
    return is_ours and line.endswith(b"\n")


def read_cassette(text: str) -> list[RecordedCall]:
    """All entries in order; BadCassetteError says what is wrong, and in which line."""
    # Only a newline ends a line: strings may contain the other separators of Unicode.
    *lines, rest = text.split("\n")
    if rest:
        lines.append(rest)
    header = _parse_line(lines[0], 1) if lines and lines[0].startswith("{") else None
    if not isinstance(header, dict) or header.get("format") != _FORMAT:
        raise BadCassetteError(f"it is not a cassette: its first line is not that of {_FORMAT}")
    version = header.get("version")
    if type(version) is not int or version != _VERSION:
        theirs = "no version" if version is None else f"version {_show(version)}"
        raise BadCassetteError(f"it is of {theirs}; this mcptest plays version {_VERSION}")
    _refuse_surplus(header, _HEADER, 1)
    return [
        _read_call(_parse_line(line, number, is_torn=number == len(lines) and bool(rest)), number)
        for number, line in enumerate(lines[1:], 2)
    ]


def _parse_line(line: str, number: int, *, is_torn: bool = False) -> object:
    try:
        return parse_json(line)
    except NotJsonError as error:
        if is_torn:
            advice = "the recording was cut off; record it again, or remove that line"
            raise BadCassetteError(f"its last line, {number}, is torn: {advice}") from None
        raise BadCassetteError(f"line {number} is not JSON: {error.reason}") from None


def _read_call(value: object, number: int) -> RecordedCall:
    if not isinstance(value, dict) or ("result" in value) == ("error" in value):
        raise BadCassetteError(f"line {number} is not a call with its result or error")
    _refuse_surplus(value, {"method", "params", "result", "error"}, number)
    method, params = value.get("method"), value.get("params")
    if not isinstance(method, str) or not isinstance(params, dict):
        raise BadCassetteError(f"line {number} does not say what was asked")
    if "error" not in value:
        if not isinstance(value["result"], dict):
            raise BadCassetteError(f"line {number} has a result that is not an object")
        return RecordedCall(method=method, params=params, result=value["result"])
    error = value["error"]
    if not isinstance(error, dict) or not isinstance(error.get("message"), str):
        raise BadCassetteError(f"line {number} has an error without a message")
    _refuse_surplus(error, {"message", "data"}, number)
    return RecordedCall(method=method, params=params, error=error)


def _refuse_surplus(value: dict[str, Any], known: set[str], number: int) -> None:
    surplus = [key for key in value if key not in known]
    if surplus:
        name = excerpt(surplus[0], 40)
        raise BadCassetteError(f'line {number} has a member "{name}" that no cassette has')


class CassettePlayer:
    """Answers each request with the next entry recorded for the same request.

    The entry for `initialize` is used every time.
    """

    def __init__(self, calls: list[RecordedCall]) -> None:
        self._calls = calls
        self._queues: dict[str, deque[RecordedCall]] = {}
        for call in calls:
            self._queues.setdefault(_call_key(call.method, call.params), deque()).append(call)

    def play(self, method: str, params: dict[str, Any]) -> RecordedCall:
        """The next entry; BadCassetteError with the first difference when there is none."""
        queue = self._queues.get(_call_key(method, params))
        if not queue:
            raise BadCassetteError(self._describe_difference(method, params))
        return queue[0] if method == "initialize" else queue.popleft()

    def _describe_difference(self, method: str, params: dict[str, Any]) -> str:
        wanted = f"{method} {_show(params)}"
        others = [call for call in self._calls if call.method == method]
        key = _call_key(method, params)
        if key in self._queues:
            times = sum(_call_key(call.method, call.params) == key for call in others)
            often = "once" if times == 1 else f"{times} times"
            return f"the cassette has no further recording of {wanted}: it was recorded {often}"
        if not others:
            methods = ", ".join(sorted({visible(call.method) for call in self._calls}))
            return f"{wanted} is not in the cassette: it has only {methods or 'nothing'}"
        nearest = min((_list_differences(call.params, params) for call in others), key=len)
        return f"{wanted} is not in the cassette; the nearest recorded call differs at {nearest[0]}"


def _list_differences(recorded: dict[str, Any], asked: dict[str, Any]) -> list[str]:
    found = [
        f"{visible(each.path) or 'its params'}: recorded {_show(each.expected)}, "
        f"asked {_show(each.actual)}"
        for each in compare(recorded, asked)
    ]
    # 1 and 1.0 are equal values with different keys.
    return found or [f"how a number is written: recorded {_show(recorded)}, asked {_show(asked)}"]


def _show(value: object) -> str:
    return "nothing" if value is ABSENT else show_json(value, _MAX_SHOWN_CHARS)


def _call_key(method: str, params: dict[str, Any]) -> str:
    return f"{method} {canonical_json(params)}"


def canonical_json(value: object) -> str:
    """The same string for values that differ only in the order of their members."""

    def sort_members(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: sort_members(value[key]) for key in sorted(value)}
        return [sort_members(item) for item in value] if isinstance(value, list) else value

    return dump_json(sort_members(value))


# The cache: results of tool calls, kept on disk for the next run, one file for each call.
#
# `read_write` reads and stores, `read_only` never stores, `refresh` always calls and stores.

_FOLDER = os.path.join(".mcptest", "cache")


def cache_folder(environment: Mapping[str, str]) -> str:
    """MCPTEST_CACHE_DIR, else a folder in this one."""
    return environment.get("MCPTEST_CACHE_DIR") or _FOLDER


def server_key(spec: ServerSpec) -> str:
    """A digest that identifies a server.

    Headers count by their names: a renewed token belongs to the same user.
    """
    http = spec.http
    where = [http.url, sorted(http.headers or {})] if http else []
    where += ["login"] if http and http.uses_login else []
    folder = os.path.abspath(spec.cwd or ".")
    parts = [list(spec.command), folder, spec.env or {}, where, spec.spec_version]
    return _digest(canonical_json(parts))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()


class Cache:
    """The results of one server's tools, by tool and arguments. `warn` is called once at most."""

    def __init__(
        self, folder: str, server: str, warn: Callable[[str], None] = lambda text: None
    ) -> None:
        self._folder = folder
        self._server = server
        self._warn = warn
        self._has_warned = False
        self._is_clean = False
        self.mode = "off"

    @property
    def stores(self) -> bool:
        """True if new results are stored."""
        return self.mode in ("read_write", "refresh")

    def find(self, tool: str, arguments: dict[str, Any]) -> Any:
        """The stored result of a call, ABSENT if there is none or the mode does not read."""
        if self.mode not in ("read_write", "read_only"):
            return ABSENT
        key = self._key(tool, arguments)
        try:
            kept = parse_json(read_regular(self._path(key)))
        except (OSError, NotJsonError, UnicodeDecodeError):
            return ABSENT
        # Torn and foreign files count as none.
        is_ours = isinstance(kept, dict) and set(kept) == {"key", "result"} and kept["key"] == key
        result = kept["result"] if isinstance(kept, dict) and is_ours else ABSENT
        return result if isinstance(result, dict) else ABSENT

    def keep(self, tool: str, arguments: dict[str, Any], result: dict[str, Any]) -> None:
        """Store a successful result; remove the stored one if the tool reports an error.

        A file that cannot be written is a warning, not an error.
        """
        if not self.stores:
            return
        key = self._key(tool, arguments)
        try:
            if self._folder == _FOLDER:
                # The default folder must be in this one: no link leads out of it.
                resolve_inside(self._folder, ".")
            if tool_failure(result):
                self._drop(self._path(key))
            else:
                os.makedirs(self._folder, exist_ok=True)
                if not self._is_clean:
                    self._is_clean = True
                    remove_leftovers(self._folder)
                self._store(self._path(key), {"key": key, "result": result})
        except (OSError, ValueError) as error:
            if not self._has_warned:
                self._has_warned = True
                folder = visible(self._folder)
                self._warn(f"results cannot be kept in the cache {folder}: {why_not(error)}")

    def _store(self, path: str, kept: dict[str, Any]) -> None:
        """Replace the file at once, so that readers find the old result or the new one."""
        line = encode_line(kept)
        beside, fd = open_beside(path, cleans=False)
        try:
            write_all(fd, line)
            os.replace(beside, path)
        except OSError:
            self._drop(beside)
            raise
        finally:
            os.close(fd)

    def _drop(self, path: str) -> None:
        with contextlib.suppress(FileNotFoundError, NotADirectoryError):
            os.unlink(path)

    def _key(self, tool: str, arguments: dict[str, Any]) -> str:
        return canonical_json([self._server, tool, arguments])

    def _path(self, key: str) -> str:
        return os.path.join(self._folder, f"{_digest(key)[:40]}.json")
