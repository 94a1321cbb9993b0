"""`mcptest.connect`: one server, asked from Python, with `with` or `async with`."""

from __future__ import annotations

import time

from mcptest._coprocess import Coprocess
from mcptest.core.errors import UsageError
from mcptest.core.strict_json import dump_json
from mcptest.sdk.errors import ContractError
from mcptest.sdk.verdict import Verdict, read_verdict

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from concurrent.futures import Executor
    from types import TracebackType
    from typing import Any, TypeVar

    Arguments = dict[str, Any] | None
    T = TypeVar("T")

__all__ = ["AsyncClient", "Client", "Connection", "connect"]

# The binary gives up first, so that its words are heard.
_SLACK_S = 15.0
_MAX_QUOTED = 200


def connect(
    server_command: str | Sequence[str],
    *,
    cwd: str = "",
    env: dict[str, str] | None = None,
    timeout: float = 30.0,
    cache: str = "",
    record: str = "",
    replay: str = "",
) -> Connection:
    """A connection to the server that this command starts; `timeout` is for one answer, in seconds.

    Enter it with `with` for a `Client`, with `async with` for an `AsyncClient`. `cache` is a mode
    of `Client.set_cache`; `record` and `replay` name a tape, from the first word on: what is
    replayed needs no server.
    """
    if record and replay:
        raise UsageError("a tape is recorded or replayed, not both at once")
    coprocess = Coprocess(
        server_command, cwd=cwd, env=env, timeout=timeout + _SLACK_S, call_timeout=timeout
    )
    return Connection(coprocess, cache=cache, record=record, replay=replay)


class Connection:
    """A server that is started when this is entered, and stopped when it is left."""

    def __init__(
        self, coprocess: Coprocess, *, cache: str = "", record: str = "", replay: str = ""
    ) -> None:
        self._coprocess = coprocess
        self._cache = cache
        self._tape = ("record", record) if record else ("replay", replay)
        self._threads: Executor | None = None

    def __enter__(self) -> Client:
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
        # Only for those who await.
        from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415

        # One thread: calls go out in the order in which they were made.
        self._threads = ThreadPoolExecutor(1, "mcptest")
        try:
            return AsyncClient(await _apart(self._threads, self.__enter__), self._threads)
        except BaseException:
            # Whoever was cancelled does not wait for it.
            _in_background(self._coprocess.close)
            self._threads.shutdown(wait=False)
            raise

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        # Not in the same thread: what it is still busy with is to be told that it is over.
        await _apart(None, self._coprocess.close)
        if self._threads:
            self._threads.shutdown(wait=False)


class Client:
    """What can be asked of a server. A refusal is an `UpstreamError`, its end another error."""

    def __init__(self, coprocess: Coprocess) -> None:
        self.coprocess = coprocess

    def initialize(self) -> dict[str, Any]:
        """What the server answered to `initialize`."""
        return self._asked("mcp.initialize")

    def call_tool(self, name: str, arguments: Arguments = None) -> Verdict:
        """Call a tool; an error that the tool reports is a verdict without success."""
        began = time.monotonic()
        params = {"tool": name, "arguments": arguments or {}}
        result = self.coprocess.request("mcp.call", params)
        return read_verdict(result, round((time.monotonic() - began) * 1000, 3))

    def list_tools(self) -> list[dict[str, Any]]:
        return self._listed("mcp.listTools", "tools")

    def list_resources(self) -> list[dict[str, Any]]:
        return self._listed("mcp.listResources", "resources")

    def read_resource(self, uri: str) -> dict[str, Any]:
        return self._asked("mcp.readResource", {"uri": uri})

    def get_prompt(self, name: str, arguments: Arguments = None) -> dict[str, Any]:
        return self._asked("mcp.callPrompt", {"name": name, "arguments": arguments or {}})

    def set_cache(self, mode: str) -> None:
        """Keep results of tools for the next run: off, read_write, read_only or refresh."""
        self._asked("mcp.cache.set_mode", {"mode": mode})

    def set_cassette(self, mode: str, path: str = "") -> None:
        """Record everything to a tape, or replay it without the server: off, record, replay."""
        self._asked("mcp.cassette.set_mode", {"mode": mode, **({"path": path} if path else {})})

    def upload_to(self, target: str) -> None:
        """Have calls delivered to a `file:` or HTTP target by `flush`."""
        self._asked("mcp.reporter.setUpload", {"enabled": True, "target": target})

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


class AsyncClient:
    """The same, for `await`: the calls of one connection go out one after the other."""

    def __init__(self, client: Client, threads: Executor) -> None:
        self._client = client
        self._threads = threads

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

    async def set_cassette(self, mode: str, path: str = "") -> None:
        await self._apart(self._client.set_cassette, mode, path)

    async def upload_to(self, target: str) -> None:
        await self._apart(self._client.upload_to, target)

    async def flush(self) -> int:
        return await self._apart(self._client.flush)

    async def _apart(self, work: Callable[..., T], *words: object) -> T:
        return await _apart(self._threads, work, *words)


def _in_background(work: Callable[[], None]) -> None:
    import asyncio  # noqa: PLC0415  # only for those who await

    asyncio.get_running_loop().run_in_executor(None, work)


async def _apart(threads: Executor | None, work: Callable[..., T], *words: object) -> T:
    import asyncio  # noqa: PLC0415  # only for those who await

    return await asyncio.get_running_loop().run_in_executor(threads, work, *words)


def _drift(method: str, result: object) -> ContractError:
    shown = dump_json(result)[:_MAX_QUOTED]
    return ContractError(f"contract drift: the result of {method} cannot be {shown}")
