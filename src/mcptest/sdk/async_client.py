"""What `async with mcptest.connect(…)` gives: the calls of a `Client`, to be awaited."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor

from mcptest.sdk.errors import CoprocessError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar

    from mcptest.sdk.arguments import Path
    from mcptest.sdk.client import Client
    from mcptest.sdk.verdict import Verdict

    Arguments = dict[str, Any] | None
    T = TypeVar("T")

__all__ = ["AsyncClient"]

# Whoever reads a traceback in a test of their own has no use for what is in here.
__tracebackhide__ = True


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
