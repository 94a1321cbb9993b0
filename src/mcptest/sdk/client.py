"""`mcptest.connect`: one server, asked from Python, with `with` or `async with`."""

from __future__ import annotations

import time

from mcptest._coprocess import Coprocess
from mcptest.sdk.verdict import Verdict, read_verdict

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import TracebackType
    from typing import Any, TypeVar

    Arguments = dict[str, Any] | None
    T = TypeVar("T")

__all__ = ["AsyncClient", "Client", "Connection", "connect"]


def connect(
    server_command: str | Sequence[str],
    *,
    cwd: str = "",
    env: dict[str, str] | None = None,
    timeout: float = 30.0,
) -> Connection:
    """A connection to the server that this command starts; `timeout` is for one answer, in seconds.

    Enter it with `with` for a `Client`, with `async with` for an `AsyncClient`.
    """
    # The binary gives up first, so that its words are heard.
    coprocess = Coprocess(
        server_command, cwd=cwd, env=env, timeout=timeout + 15.0, call_timeout=timeout
    )
    return Connection(coprocess)


class Connection:
    """A server that is started when this is entered, and stopped when it is left."""

    def __init__(self, coprocess: Coprocess) -> None:
        self._coprocess = coprocess

    def __enter__(self) -> Client:
        client = Client(self._coprocess)
        try:
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
        return AsyncClient(await _in_thread(self.__enter__))

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await _in_thread(self._coprocess.close)


class Client:
    """What can be asked of a server. A refusal is an `UpstreamError`, its end another error."""

    def __init__(self, coprocess: Coprocess) -> None:
        self.coprocess = coprocess

    def initialize(self) -> dict[str, Any]:
        """What the server answered to `initialize`."""
        found: dict[str, Any] = self.coprocess.request("mcp.initialize")
        return found

    def call_tool(self, name: str, arguments: Arguments = None) -> Verdict:
        """Call a tool; an error that the tool reports is a verdict without success."""
        began = time.monotonic()
        params = {"tool": name, "arguments": arguments or {}}
        result = self.coprocess.request("mcp.call", params)
        return read_verdict(result, round((time.monotonic() - began) * 1000, 3))

    def list_tools(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.coprocess.request("mcp.listTools")["tools"]
        return found

    def list_resources(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.coprocess.request("mcp.listResources")["resources"]
        return found

    def read_resource(self, uri: str) -> dict[str, Any]:
        found: dict[str, Any] = self.coprocess.request("mcp.readResource", {"uri": uri})
        return found

    def get_prompt(self, name: str, arguments: Arguments = None) -> dict[str, Any]:
        params = {"name": name, "arguments": arguments or {}}
        found: dict[str, Any] = self.coprocess.request("mcp.callPrompt", params)
        return found

    def set_cache(self, mode: str) -> None:
        """Keep results of tools for the next run: off, read_write, read_only or refresh."""
        self.coprocess.request("mcp.cache.set_mode", {"mode": mode})

    def set_cassette(self, mode: str, path: str = "") -> None:
        """Record everything to a tape, or replay it without the server: off, record, replay."""
        params = {"mode": mode, **({"path": path} if path else {})}
        self.coprocess.request("mcp.cassette.set_mode", params)

    def upload_to(self, target: str) -> None:
        """Have calls delivered to a `file:` or HTTP target by `flush`."""
        self.coprocess.request("mcp.reporter.setUpload", {"enabled": True, "target": target})

    def flush(self) -> int:
        """Deliver the calls since the last time; how many there were."""
        found: int = self.coprocess.request("mcp.reporter.flush")["flushed"]
        return found


class AsyncClient:
    """The same, for `await`: each call runs in a thread, and they queue."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def call_tool(self, name: str, arguments: Arguments = None) -> Verdict:
        return await _in_thread(self._client.call_tool, name, arguments)

    async def list_tools(self) -> list[dict[str, Any]]:
        return await _in_thread(self._client.list_tools)

    async def list_resources(self) -> list[dict[str, Any]]:
        return await _in_thread(self._client.list_resources)

    async def read_resource(self, uri: str) -> dict[str, Any]:
        return await _in_thread(self._client.read_resource, uri)

    async def get_prompt(self, name: str, arguments: Arguments = None) -> dict[str, Any]:
        return await _in_thread(self._client.get_prompt, name, arguments)


async def _in_thread(work: Callable[..., T], *words: object) -> T:
    import asyncio  # noqa: PLC0415  # only for those who await

    return await asyncio.to_thread(work, *words)
