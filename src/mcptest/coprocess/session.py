"""One SDK on the other side: its requests in, one answer each."""

from __future__ import annotations

import os
import time

from mcptest import __version__
from mcptest.coprocess.cache import CACHE_MODES
from mcptest.coprocess.protocol import (
    COPROCESS_PROTOCOL_VERSION,
    INTERNAL_ERROR,
    INVALID_PARAMS,
    UPSTREAM_ERROR,
    RefusedError,
    answer,
    mismatch,
    read_request,
    refusal,
)
from mcptest.coprocess.tape import BadTapeError, Player, Take, render_header, render_take
from mcptest.coprocess.uploads import UploadError, check_target
from mcptest.core.outcome import ABSENT
from mcptest.core.visible import visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from mcptest.coprocess.cache import Cache
    from mcptest.coprocess.protocol import Request
    from mcptest.coprocess.uploads import Uploads
    from mcptest.coprocess.upstream import Upstream
    from mcptest.core.framing import Frame, Noise, Overlong

    Params = dict[str, Any]

__all__ = ["CASSETTE_MODES", "Session"]

CASSETTE_MODES = ("off", "record", "replay")


class Session:
    """Knows what the SDK has set, and asks the server for the rest."""

    def __init__(self, upstream: Upstream, cache: Cache, uploads: Uploads) -> None:
        self._upstream = upstream
        self._cache = cache
        self._uploads = uploads
        self._mismatch = ""
        self._recorder = -1
        self._player: Player | None = None

    def hear(self, item: Frame | Noise | Overlong) -> Iterator[tuple[float, bytes | None]]:
        """The answer to a line; after a goodbye, the end."""
        try:
            request = read_request(item)
        except RefusedError as error:
            yield 0.0, refusal(error)
            return
        yield 0.0, self._answered(request)
        if request.method == "mcp.shutdown":
            yield 0.0, None

    def _answered(self, request: Request) -> bytes:
        try:
            if self._mismatch and request.method not in ("mcp.shutdown", "coprocess/handshake"):
                raise RefusedError(INVALID_PARAMS, self._mismatch)
            return answer(request.id, _METHODS[request.method](self, request.params))
        except RefusedError as error:
            error.id = request.id
            return refusal(error)

    # Methods

    def _handshake(self, params: Params) -> object:
        self._mismatch = mismatch(params)
        if self._mismatch:
            raise RefusedError(INVALID_PARAMS, self._mismatch)
        return {"protocol_version": COPROCESS_PROTOCOL_VERSION, "binary_version": __version__}

    def _initialize(self, params: Params) -> object:
        return self._taped("initialize", {}, self._upstream.initialize)

    def _call(self, params: Params) -> object:
        tool, arguments = params["tool"], params.get("arguments", {})
        began = time.monotonic()
        record: dict[str, Any] = {"tool": tool, "arguments": arguments}
        try:
            result = self._called(tool, arguments)
        except RefusedError as error:
            record |= {"success": False, "error": {"code": error.code, "message": error.message}}
            raise
        else:
            is_error = isinstance(result, dict) and result.get("isError") is True
            record |= {"success": not is_error, "result": result}
            return result
        finally:
            record["duration_ms"] = round((time.monotonic() - began) * 1000, 3)
            self._uploads.add(record)

    def _called(self, tool: str, arguments: Params) -> object:
        if self._player is None and (kept := self._cache.find(tool, arguments)) is not ABSENT:
            return kept
        asked = {"name": tool, "arguments": arguments}
        result = self._taped("tools/call", asked, lambda: self._upstream.ask("tools/call", asked))
        self._cache.keep(tool, arguments, result)
        return result

    def _list_tools(self, params: Params) -> object:
        return self._listed("tools")

    def _list_resources(self, params: Params) -> object:
        return self._listed("resources")

    def _listed(self, key: str) -> object:
        method = f"{key}/list"
        return self._taped(method, {}, lambda: self._upstream.ask_all(method, key))

    def _read_resource(self, params: Params) -> object:
        method = "resources/read"
        return self._taped(method, params, lambda: self._upstream.ask(method, params))

    def _call_prompt(self, params: Params) -> object:
        names = [params[key] for key in ("name", "prompt") if key in params]
        if len(names) != 1:
            message = 'mcp.callPrompt needs the param "name" (or "prompt"), and one of them'
            raise RefusedError(INVALID_PARAMS, message)
        arguments = params.get("arguments", {})
        asked = {"name": names[0]} | ({"arguments": arguments} if arguments else {})
        return self._taped("prompts/get", asked, lambda: self._upstream.ask("prompts/get", asked))

    def _set_upload(self, params: Params) -> object:
        target = params.get("target", self._uploads.target)
        if params["enabled"]:
            if not target:
                message = 'mcp.reporter.setUpload needs the param "target" to be enabled'
                raise RefusedError(INVALID_PARAMS, message)
            try:
                check_target(target)
            except UploadError as error:
                message = f'the param "target" of mcp.reporter.setUpload: {error}'
                raise RefusedError(INVALID_PARAMS, message) from None
        self._uploads.is_enabled, self._uploads.target = params["enabled"], target
        return {"enabled": params["enabled"]}

    def _flush(self, params: Params) -> object:
        try:
            return {"flushed": self._uploads.flush()}
        except UploadError as error:
            raise RefusedError(INTERNAL_ERROR, str(error)) from None

    def _set_cache(self, params: Params) -> object:
        _refuse_mode("mcp.cache.set_mode", params["mode"], CACHE_MODES)
        self._cache.mode = params["mode"]
        return {"mode": params["mode"]}

    def _set_cassette(self, params: Params) -> object:
        mode, path = params["mode"], params.get("path", "")
        _refuse_mode("mcp.cassette.set_mode", mode, CASSETTE_MODES)
        if mode != "off" and not path:
            message = f'mcp.cassette.set_mode needs the param "path" to {mode}'
            raise RefusedError(INVALID_PARAMS, message)
        self._eject()
        try:
            if mode == "record":
                self._recorder = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666)
                self._write(render_header(self._upstream.spec.command))
            elif mode == "replay":
                with open(path, encoding="utf-8") as file:
                    self._player = Player(file.read())
        except (OSError, BadTapeError, UnicodeDecodeError) as error:
            why = getattr(error, "strerror", None) or str(error)
            message = f"the cassette {visible(path)} cannot be used to {mode}: {why}"
            raise RefusedError(INVALID_PARAMS, message) from None
        return {"mode": mode}

    def _shutdown(self, params: Params) -> object:
        return {}

    # Tapes

    def _taped(self, method: str, params: Params, ask: Callable[[], Any]) -> Any:
        """What the server says, or the tape in its place; never both."""
        if self._player:
            return self._played(self._player, method, params)
        try:
            result = ask()
        except RefusedError as error:
            if error.code == UPSTREAM_ERROR:
                said: dict[str, Any] = {"message": error.message}
                said |= {} if error.data is ABSENT else {"data": error.data}
                self._record(Take(method=method, params=params, error=said))
            raise
        self._record(Take(method=method, params=params, result=result))
        return result

    def _played(self, player: Player, method: str, params: Params) -> Any:
        try:
            take = player.play(method, params)
        except BadTapeError as error:
            raise RefusedError(UPSTREAM_ERROR, str(error)) from None
        if take.error is not ABSENT:
            said = take.error if isinstance(take.error, dict) else {}
            message = str(said.get("message", "refused"))
            raise RefusedError(UPSTREAM_ERROR, message, said.get("data", ABSENT))
        return take.result

    def _record(self, take: Take) -> None:
        if self._recorder >= 0:
            try:
                self._write(render_take(take))
            except OSError as error:
                message = f"the cassette cannot be written: {error.strerror}"
                raise RefusedError(INTERNAL_ERROR, message) from None

    def _write(self, line: str) -> None:
        raw = memoryview(line.encode("utf-8", "backslashreplace"))
        while raw:
            raw = raw[os.write(self._recorder, raw) :]

    def _eject(self) -> None:
        self._player = None
        if self._recorder >= 0:
            os.close(self._recorder)
            self._recorder = -1

    def close(self) -> str:
        """Deliver what is left; a sentence when that was impossible."""
        self._eject()
        try:
            if self._uploads.is_enabled:
                self._uploads.flush()
        except UploadError as error:
            return f"calls that were to be uploaded are lost: {error}"
        return ""


def _refuse_mode(method: str, mode: str, modes: tuple[str, ...]) -> None:
    if mode not in modes:
        message = f'the param "mode" of {method} is one of {", ".join(modes)}, not {mode!r}'
        raise RefusedError(INVALID_PARAMS, message)


_METHODS: dict[str, Callable[[Session, Params], object]] = {
    "coprocess/handshake": Session._handshake,
    "mcp.initialize": Session._initialize,
    "mcp.call": Session._call,
    "mcp.listTools": Session._list_tools,
    "mcp.listResources": Session._list_resources,
    "mcp.readResource": Session._read_resource,
    "mcp.callPrompt": Session._call_prompt,
    "mcp.reporter.setUpload": Session._set_upload,
    "mcp.reporter.flush": Session._flush,
    "mcp.cache.set_mode": Session._set_cache,
    "mcp.cassette.set_mode": Session._set_cassette,
    "mcp.shutdown": Session._shutdown,
}
