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
    from collections.abc import Sequence
    from types import TracebackType
    from typing import Any

    from mcptest.sdk.async_client import AsyncClient

    Arguments = dict[str, Any] | None

__all__ = ["Client", "Connection", "connect"]

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
        self._async: AsyncClient | None = None

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
        # An event loop takes longer to import than all the rest: only for those who have one.
        from mcptest.sdk.async_client import AsyncClient  # noqa: PLC0415

        self._async = AsyncClient()
        await self._async.open(self.__enter__, self._coprocess.close)
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


def _drift(method: str, result: object) -> ContractError:
    shown = dump_json(result)[:_MAX_QUOTED]
    return ContractError(f"contract drift: the result of {method} cannot be {shown}")
