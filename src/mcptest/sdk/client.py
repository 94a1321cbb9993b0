"""`mcptest.connect`: one server, asked from Python, with `with` or `async with`."""

from __future__ import annotations

import asyncio
import time
from concurrent.futures import ThreadPoolExecutor

from mcptest.protocol.revisions import REVISIONS
from mcptest.sdk.arguments import choice_of, json_of, path_of, seconds_of, text_of, told_of
from mcptest.sdk.coprocess import Coprocess
from mcptest.sdk.errors import ContractError, CoprocessError, quoted
from mcptest.sdk.verdict import Verdict, read_verdict

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection
    from types import TracebackType
    from typing import Any, TypeVar

    from mcptest.sdk.arguments import Command, Path
    from mcptest.sdk.verdict import Verdict

    Arguments = dict[str, Any] | None
    T = TypeVar("T")

__all__ = ["AsyncClient", "Client", "Connection", "connect"]


# Whoever reads a traceback in a test of their own has no use for what is in here.
__tracebackhide__ = True

# The binary gives up first, so that its words are heard.
_SLACK_S = 15.0
_CACHE_MODES = ("off", "read_write", "read_only", "refresh")


def connect(
    server_command: Command = (),
    *,
    url: str = "",
    bearer_env: str = "",
    header_env: dict[str, str] | None = None,
    ca_file: Path = "",
    spec_version: str = "",
    cwd: Path = "",
    env: dict[str, str] | None = None,
    secrets: Collection[str] = (),
    timeout: float = 30.0,
    startup_timeout: float | None = None,
    client: dict[str, Any] | None = None,
    cache: str = "",
    record: Path = "",
    replay: Path = "",
) -> Connection:
    """A connection to the server that this command starts, or that is at this `url`; or both.

    Enter it with `with` for a `Client`, with `async with` for an `AsyncClient`. `timeout` is for
    one answer, `startup_timeout` for the server to be ready, in seconds. `bearer_env` and
    `header_env` name environment variables that hold a token and the values of headers.
    `secrets` names variables in `env` whose values are blanked, as those of secret names are.
    `spec_version` is the only revision of the protocol that will do. `client` has our answers to
    what the server asks, as in a config. `cache` is a mode of `Client.set_cache`; `record` and
    `replay` name a tape, from the first word on: what is replayed needs no server.
    """
    told = told_of(
        command=server_command,
        url=url,
        bearer_env=bearer_env,
        header_env=header_env,
        ca_file=ca_file,
        cwd=cwd,
        env=env,
        startup_timeout=startup_timeout,
        client=client,
        secrets=secrets,
    )
    tapes = _tapes_of(record, replay)
    limit_s = seconds_of("timeout", timeout)
    coprocess = Coprocess(
        told=told,
        spec_version=choice_of("spec_version", spec_version, ("", *REVISIONS)),
        timeout=limit_s + (told.startup_timeout_s or 0.0) + _SLACK_S,
        call_timeout=limit_s,
    )
    cache = choice_of("cache", cache, _CACHE_MODES) if cache != "" else ""
    return Connection(coprocess, cache=cache, record=tapes[0], replay=tapes[1])


def _tapes_of(record: Path, replay: Path) -> tuple[str, str]:
    tapes = path_of("record", record), path_of("replay", replay)
    if all(tapes):
        raise ValueError("a tape is recorded or replayed, not both at once")
    return tapes


class Connection:
    """A server that is started when this is entered, and stopped when it is left. Once."""

    def __init__(
        self, coprocess: Coprocess, *, cache: str = "", record: str = "", replay: str = ""
    ) -> None:
        self._coprocess = coprocess
        self._cache = cache
        self._tape = ("record", record) if record else ("replay", replay)
        self._is_entered = False
        self._async: AsyncClient | None = None

    # A type checker knows that there is nothing else.
    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> object:
            advice = ""
            if hasattr(Client, name):
                advice = f"; with mcptest.connect(…) as server: server.{name}(…)"
            raise AttributeError(f"a connection has no {name!r} before it is entered{advice}")

    def __enter__(self) -> Client:
        self._enter_once()
        return self._opened()

    def _enter_once(self) -> None:
        if self._is_entered:
            message = "this connection has been entered before, and one is entered once"
            raise CoprocessError(f"{message}: call mcptest.connect() again for another")
        self._is_entered = True

    def _opened(self) -> Client:
        client = Client(self._coprocess)
        try:
            if self._cache:
                client.set_cache(self._cache)
            if self._tape[1]:
                client.set_cassette(*self._tape)
            client.initialize()
        except BaseException:
            self._coprocess.close()
            raise
        return client

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._coprocess.close()

    async def __aenter__(self) -> AsyncClient:
        # An event loop takes longer to import than all the rest: only for those who have one.

        self._enter_once()
        self._async = AsyncClient()
        await self._async.open(self._opened, self._coprocess.close)
        return self._async

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._async:
            await self._async.close(self._coprocess.close)


class Client:
    """What can be asked of a server. A refusal is an `UpstreamError`, its end another error."""

    def __init__(self, coprocess: Coprocess) -> None:
        self.coprocess = coprocess

    def initialize(self) -> dict[str, Any]:
        """What the server answered to `initialize`."""
        return self._asked("mcp.initialize")

    def call_tool(self, name: str, arguments: Arguments = None) -> Verdict:
        """Call a tool; an error that the tool reports is a verdict without success."""
        params = {"tool": text_of("name", name), "arguments": _arguments_of(arguments)}
        began = time.monotonic()
        result = self.coprocess.request("mcp.call", params)
        return read_verdict(result, round((time.monotonic() - began) * 1000, 3))

    def list_tools(self) -> list[dict[str, Any]]:
        return self._listed("mcp.listTools", "tools")

    def list_resources(self) -> list[dict[str, Any]]:
        return self._listed("mcp.listResources", "resources")

    def read_resource(self, uri: str) -> dict[str, Any]:
        return self._asked("mcp.readResource", {"uri": text_of("uri", uri)})

    def get_prompt(self, name: str, arguments: Arguments = None) -> dict[str, Any]:
        params: dict[str, Any] = {"name": text_of("name", name)}
        if arguments is not None:
            params["arguments"] = _arguments_of(arguments)
        return self._asked("mcp.callPrompt", params)

    def set_cache(self, mode: str) -> None:
        """Keep results of tools for the next run: off, read_write, read_only or refresh."""
        self._asked("mcp.cache.set_mode", {"mode": choice_of("mode", mode, _CACHE_MODES)})

    def set_cassette(self, mode: str, path: Path = "") -> None:
        """Record everything to a tape, or replay it without the server: off, record, replay."""
        params = {"mode": choice_of("mode", mode, ("off", "record", "replay"))}
        where = path_of("path", path)
        if mode != "off" and not where:
            raise ValueError(f"to {mode} takes the path of a tape")
        self._asked("mcp.cassette.set_mode", params | ({"path": where} if where else {}))

    def upload_to(self, target: str) -> None:
        """Have calls delivered to a `file:` or HTTP target by `flush`, and at the end."""
        params = {"enabled": True, "target": text_of("target", target)}
        self._asked("mcp.reporter.setUpload", params)

    def stop_uploads(self) -> None:
        """Queue no further calls; those that are queued are still delivered."""
        self._asked("mcp.reporter.setUpload", {"enabled": False})

    def flush(self) -> int:
        """Deliver the calls since the last time; how many there were."""
        method = "mcp.reporter.flush"
        count = self._asked(method).get("flushed")
        if type(count) is not int:
            raise _drift(method, count)
        return count

    def _asked(self, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
        result = self.coprocess.request(method, params)
        if not isinstance(result, dict):
            raise _drift(method, result)
        return result

    def _listed(self, method: str, key: str) -> list[dict[str, Any]]:
        entries = self._asked(method).get(key)
        if not isinstance(entries, list):
            raise _drift(method, entries)
        return entries


def _arguments_of(value: object) -> dict[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise TypeError(f"arguments is a dict, not {type(value).__name__}")
    json_of("arguments", value)
    return value


def _drift(method: str, result: object) -> ContractError:
    return ContractError(f"contract drift: the result of {method} cannot be {quoted(result)}")


# What `async with mcptest.connect(…)` gives: the calls of a `Client`, to be awaited.


class AsyncClient:
    """A `Client` for `await`: the calls of one connection go out one after the other."""

    _client: Client

    def __init__(self) -> None:
        # One thread: calls go out in the order in which they were made.
        self._threads = ThreadPoolExecutor(1, "mcptest")

    async def open(self, enter: Callable[[], Client], close: Callable[[], None]) -> None:
        """Start the server; whoever is cancelled meanwhile does not wait for its end."""
        try:
            self._client = await self._apart(enter)
        except BaseException:
            asyncio.get_running_loop().run_in_executor(None, close)
            self._threads.shutdown(wait=False)
            raise

    async def close(self, close: Callable[[], None]) -> None:
        """Stop the server. A call that is still under way is told that it is over."""
        # In another thread: this one's may be busy with that call.
        await asyncio.get_running_loop().run_in_executor(None, close)
        self._threads.shutdown(wait=False)

    async def initialize(self) -> dict[str, Any]:
        return await self._apart(self._client.initialize)

    async def call_tool(self, name: str, arguments: Arguments = None) -> Verdict:
        return await self._apart(self._client.call_tool, name, arguments)

    async def list_tools(self) -> list[dict[str, Any]]:
        return await self._apart(self._client.list_tools)

    async def list_resources(self) -> list[dict[str, Any]]:
        return await self._apart(self._client.list_resources)

    async def read_resource(self, uri: str) -> dict[str, Any]:
        return await self._apart(self._client.read_resource, uri)

    async def get_prompt(self, name: str, arguments: Arguments = None) -> dict[str, Any]:
        return await self._apart(self._client.get_prompt, name, arguments)

    async def set_cache(self, mode: str) -> None:
        await self._apart(self._client.set_cache, mode)

    async def set_cassette(self, mode: str, path: Path = "") -> None:
        await self._apart(self._client.set_cassette, mode, path)

    async def upload_to(self, target: str) -> None:
        await self._apart(self._client.upload_to, target)

    async def stop_uploads(self) -> None:
        await self._apart(self._client.stop_uploads)

    async def flush(self) -> int:
        return await self._apart(self._client.flush)

    async def _apart(self, work: Callable[..., T], *words: object) -> T:
        try:
            return await asyncio.get_running_loop().run_in_executor(self._threads, work, *words)
        except CoprocessError as error:
            # What the thread was about tells nobody anything.
            raise error.with_traceback(None) from None
