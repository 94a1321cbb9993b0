"""`mcptest.connect`: one server, asked from Python, with `with` or `async with`."""

from __future__ import annotations

import asyncio
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from mcptest.protocol.jsonrpc import METHOD_NOT_FOUND
from mcptest.protocol.revisions import REVISIONS
from mcptest.sdk.arguments import (
    check_choice,
    check_json,
    check_path,
    check_seconds,
    check_string,
    read_arguments,
)
from mcptest.sdk.coprocess import Coprocess
from mcptest.sdk.errors import (
    UPSTREAM_ERROR,
    ContractError,
    CoprocessError,
    RefusedError,
    UpstreamError,
    VersionError,
    quote_json,
)
from mcptest.sdk.expect import Verdict, read_verdict, remember_stderr

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection
    from typing import Any, TypeVar

    from mcptest.sdk.arguments import Command, Path

    Arguments = dict[str, Any] | None
    T = TypeVar("T")

__all__ = ["AsyncClient", "Client", "Connection", "connect"]


# pytest leaves the frames of this module out of tracebacks.
__tracebackhide__ = True

# The binary's time limit ends first, so that it can report what it saw.
_SLACK_S = 15.0
# A binary of the same version of the channel may be older than these.
_NEWER_METHODS = frozenset(
    [
        "mcp.listPrompts",
        "mcp.listResourceTemplates",
        "mcp.callWithProgress",
        "mcp.complete",
        "mcp.ping",
        "mcp.subscribeResource",
        "mcp.unsubscribeResource",
        "mcp.notifications",
        "mcp.stderr",
    ]
)
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
    `spec_version` pins a revision of the protocol. `client` has the answers to what the server
    asks, as in a config. `cache` is a mode of `Client.set_cache`; `record` and `replay` name a
    cassette, in use from the start: a replay needs no server.
    """
    server = read_arguments(
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
    cassettes = check_path("record", record), check_path("replay", replay)
    if all(cassettes):
        raise ValueError("a cassette is recorded or replayed, not both at once")
    limit_s = check_seconds("timeout", timeout)
    coprocess = Coprocess(
        server=server,
        spec_version=check_choice("spec_version", spec_version, ("", *REVISIONS)),
        timeout=limit_s + (server.startup_timeout_s or 0.0) + _SLACK_S,
        call_timeout=limit_s,
    )
    cache = check_choice("cache", cache, _CACHE_MODES) if cache != "" else ""
    return Connection(coprocess, cache=cache, record=cassettes[0], replay=cassettes[1])


class Connection:
    """Starts the server when it is entered and stops it when it is left; usable once."""

    def __init__(
        self, coprocess: Coprocess, *, cache: str = "", record: str = "", replay: str = ""
    ) -> None:
        self._coprocess = coprocess
        self._cache = cache
        self._cassette = ("record", record) if record else ("replay", replay)
        self._is_entered = False
        self._async: AsyncClient | None = None

    # For type checkers, any other name is a mistake.
    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> object:
            advice = ""
            if hasattr(Client, name):
                advice = f"; with mcptest.connect(…) as server: server.{name}(…)"
            raise AttributeError(f"a connection has no {name!r} before it is entered{advice}")

    def __enter__(self) -> Client:
        self._check_first_use()
        return self._open()

    def _check_first_use(self) -> None:
        if self._is_entered:
            message = "this connection has been entered before, and one is entered once"
            raise CoprocessError(f"{message}: call mcptest.connect() again for another")
        self._is_entered = True

    def _open(self) -> Client:
        client = Client(self._coprocess)
        try:
            if self._cache:
                client.set_cache(self._cache)
            if self._cassette[1]:
                client.set_cassette(*self._cassette)
            client.initialize()
        except BaseException:
            self._coprocess.close()
            raise
        return client

    def __exit__(self, *_: object) -> None:
        self._coprocess.close()

    async def __aenter__(self) -> AsyncClient:
        self._check_first_use()
        self._async = AsyncClient()
        await self._async.open(self._open, self._coprocess.close)
        return self._async

    async def __aexit__(self, *_: object) -> None:
        if self._async:
            await self._async.close(self._coprocess.close)


class Client:
    """The calls of a server. What the server refuses is raised as an `UpstreamError`."""

    def __init__(self, coprocess: Coprocess) -> None:
        self.coprocess = coprocess
        # By method, the number of the last notification that was waited for.
        self._waited_for: dict[str, int] = {}

    def initialize(self) -> dict[str, Any]:
        """What the server answered to `initialize`."""
        return self._request("mcp.initialize")

    def call_tool(
        self, name: str, arguments: Arguments = None, *, progress: bool = False
    ) -> Verdict:
        """Call a tool; an error that the tool reports is a verdict without success.

        With `progress`, the server is asked to report the progress of the call.
        """
        params = {"tool": check_string("name", name), "arguments": _check_arguments(arguments)}
        began = time.monotonic()
        reported: list[dict[str, Any]] | None = None
        if progress:
            method = "mcp.callWithProgress"
            outcome = self._request(method, params)
            result, reported = outcome.get("result"), outcome.get("progress")
            if not isinstance(reported, list):
                raise _contract_error(method, outcome)
        else:
            result = self.coprocess.request("mcp.call", params)
        took_ms = round((time.monotonic() - began) * 1000, 3)
        verdict = read_verdict(result, took_ms, self.coprocess.last_stderr)
        verdict = verdict.but(progress=reported) if progress else verdict
        remember_stderr(verdict.stderr, verdict.raw, verdict.data, verdict.text)
        return verdict

    def list_tools(self) -> list[dict[str, Any]]:
        return self._request_list("mcp.listTools", "tools")

    def list_resources(self) -> list[dict[str, Any]]:
        return self._request_list("mcp.listResources", "resources")

    def read_resource(self, uri: str) -> dict[str, Any]:
        return self._request("mcp.readResource", {"uri": check_string("uri", uri)})

    def get_prompt(self, name: str, arguments: Arguments = None) -> dict[str, Any]:
        params: dict[str, Any] = {"name": check_string("name", name)}
        if arguments is not None:
            params["arguments"] = _check_arguments(arguments)
        return self._request("mcp.callPrompt", params)

    def list_prompts(self) -> list[dict[str, Any]]:
        return self._request_list("mcp.listPrompts", "prompts")

    def list_resource_templates(self) -> list[dict[str, Any]]:
        return self._request_list("mcp.listResourceTemplates", "resourceTemplates")

    def complete(
        self, ref: dict[str, Any], argument: dict[str, Any], context: Arguments = None
    ) -> dict[str, Any]:
        """Ask for values of an argument of a prompt or a template.

        `ref` is `{"type": "ref/prompt", "name": …}` or `{"type": "ref/resource", "uri": …}`,
        `argument` has the `name` and the `value` so far, `context` the `arguments` already given.
        """
        params = {"ref": ref, "argument": argument}
        params |= {} if context is None else {"context": context}
        for name, value in params.items():
            if not isinstance(value, dict):
                raise TypeError(f"{name} is a dict, not {type(value).__name__}")
            check_json(name, value)
        return self._request("mcp.complete", params)

    def ping(self) -> None:
        """Ask the server whether it is there."""
        self._request("mcp.ping")

    def subscribe(self, uri: str) -> None:
        """Ask the server for a notification whenever this resource changes."""
        self._request("mcp.subscribeResource", {"uri": check_string("uri", uri)})

    def unsubscribe(self, uri: str) -> None:
        self._request("mcp.unsubscribeResource", {"uri": check_string("uri", uri)})

    @property
    def notifications(self) -> list[dict[str, Any]]:
        """The notifications that the server has sent so far, the last 1,000 of them."""
        return [_without_number(each) for each in self._notifications({})[0]]

    def wait_for_notification(self, method: str, timeout: float = 5.0) -> dict[str, Any]:
        """The next notification of this method, which may have been received already.

        Each is returned once. `UpstreamError` if there is none within `timeout` seconds.
        """
        limit_s = check_seconds("timeout", timeout)
        after = self._waited_for.get(check_string("method", method), 0)
        params = {"after": after, "method": method, "wait_ms": max(1, round(limit_s * 1000))}
        found, received = self._notifications(params, limit_s + _SLACK_S)
        if not found:
            methods = ", ".join(dict.fromkeys(each["method"] for each in self.notifications))
            message = f"the server did not send {method} within {limit_s:g} s"
            seen = f"of {received} notifications, it sent {methods}" if methods else "it sent none"
            hint = {"kind": "timeout", "effect": "definite", "hint": seen}
            raise UpstreamError(UPSTREAM_ERROR, message, hint)
        self._waited_for[method] = found[0]["number"]
        return _without_number(found[0])

    def _notifications(
        self, params: dict[str, Any], limit_s: float | None = None
    ) -> tuple[list[dict[str, Any]], int]:
        """Those that the params ask for, and how many there were in all."""
        method = "mcp.notifications"
        result = self._request(method, params, limit_s)
        found, received = result.get("notifications"), result.get("received")
        if not isinstance(found, list) or type(received) is not int:
            raise _contract_error(method, result)
        for each in found:
            if not isinstance(each, dict) or set(each) != {"number", "method", "params"}:
                raise _contract_error(method, each)
        return found, received

    @property
    def stderr(self) -> str:
        """What the server has written to stderr so far, the last 256 KiB of it."""
        method = "mcp.stderr"
        text = self._request(method).get("stderr")
        if not isinstance(text, str):
            raise _contract_error(method, text)
        return text

    def set_cache(self, mode: str) -> None:
        """Keep results of tools for the next run: off, read_write, read_only or refresh."""
        self._request("mcp.cache.set_mode", {"mode": check_choice("mode", mode, _CACHE_MODES)})

    def set_cassette(self, mode: str, path: Path = "") -> None:
        """Record to a cassette, or replay one without the server: off, record or replay."""
        params = {"mode": check_choice("mode", mode, ("off", "record", "replay"))}
        where = check_path("path", path)
        if mode != "off" and not where:
            raise ValueError(f"to {mode} takes the path of a cassette")
        self._request("mcp.cassette.set_mode", params | ({"path": where} if where else {}))

    def upload_to(self, target: str) -> None:
        """Have calls delivered to a `file:` or HTTP target by `flush`, and at the end."""
        params = {"enabled": True, "target": check_string("target", target)}
        self._request("mcp.reporter.setUpload", params)

    def stop_uploads(self) -> None:
        """Queue no further calls; those that are queued are still delivered."""
        self._request("mcp.reporter.setUpload", {"enabled": False})

    def flush(self) -> int:
        """Deliver the calls since the last time; how many there were."""
        method = "mcp.reporter.flush"
        count = self._request(method).get("flushed")
        if type(count) is not int:
            raise _contract_error(method, count)
        return count

    def _request(
        self, method: str, params: dict[str, Any] | None = None, limit_s: float | None = None
    ) -> dict[str, Any]:
        try:
            result = self.coprocess.request(method, params, timeout=limit_s)
        except RefusedError as error:
            if error.code != METHOD_NOT_FOUND or method not in _NEWER_METHODS:
                raise
            binary = f"the mcptest binary {self.coprocess.binary_version}".rstrip()
            message = f"{binary} is too old for this call: it does not know {method}"
            advice = "upgrade it, or set MCPTEST_BIN to a newer one; other calls work"
            raise VersionError(f"{message}; {advice}") from None
        if not isinstance(result, dict):
            raise _contract_error(method, result)
        remember_stderr(self.coprocess.last_stderr, result)
        return result

    def _request_list(self, method: str, key: str) -> list[dict[str, Any]]:
        entries = self._request(method).get(key)
        if not isinstance(entries, list):
            raise _contract_error(method, entries)
        remember_stderr(self.coprocess.last_stderr, entries)
        return entries


def _check_arguments(value: object) -> dict[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise TypeError(f"arguments is a dict, not {type(value).__name__}")
    check_json("arguments", value)
    return value


def _without_number(notification: dict[str, Any]) -> dict[str, Any]:
    """Only its method and its params."""
    return {name: notification[name] for name in ("method", "params")}


def _contract_error(method: str, result: object) -> ContractError:
    return ContractError(f"contract drift: the result of {method} cannot be {quote_json(result)}")


class AsyncClient:
    """The calls of a `Client` as coroutines; they are sent one after the other."""

    _client: Client

    def __init__(self) -> None:
        # One thread: calls go out in the order in which they were made.
        self._threads = ThreadPoolExecutor(1, "mcptest")

    async def open(self, enter: Callable[[], Client], close: Callable[[], None]) -> None:
        """Start the server; a cancelled task does not wait until it has ended."""
        try:
            self._client = await self._run(enter)
        except BaseException:
            asyncio.get_running_loop().run_in_executor(None, close)
            self._threads.shutdown(wait=False)
            raise

    async def close(self, close: Callable[[], None]) -> None:
        """Stop the server. A call that is under way fails."""
        # In another thread: this connection's own may be busy with that call.
        await asyncio.get_running_loop().run_in_executor(None, close)
        self._threads.shutdown(wait=False)

    async def initialize(self) -> dict[str, Any]:
        return await self._run(self._client.initialize)

    async def call_tool(
        self, name: str, arguments: Arguments = None, *, progress: bool = False
    ) -> Verdict:
        call = partial(self._client.call_tool, progress=progress)
        return await self._run(call, name, arguments)

    async def list_tools(self) -> list[dict[str, Any]]:
        return await self._run(self._client.list_tools)

    async def list_resources(self) -> list[dict[str, Any]]:
        return await self._run(self._client.list_resources)

    async def read_resource(self, uri: str) -> dict[str, Any]:
        return await self._run(self._client.read_resource, uri)

    async def get_prompt(self, name: str, arguments: Arguments = None) -> dict[str, Any]:
        return await self._run(self._client.get_prompt, name, arguments)

    async def list_prompts(self) -> list[dict[str, Any]]:
        return await self._run(self._client.list_prompts)

    async def list_resource_templates(self) -> list[dict[str, Any]]:
        return await self._run(self._client.list_resource_templates)

    async def complete(
        self, ref: dict[str, Any], argument: dict[str, Any], context: Arguments = None
    ) -> dict[str, Any]:
        return await self._run(self._client.complete, ref, argument, context)

    async def ping(self) -> None:
        await self._run(self._client.ping)

    async def subscribe(self, uri: str) -> None:
        await self._run(self._client.subscribe, uri)

    async def unsubscribe(self, uri: str) -> None:
        await self._run(self._client.unsubscribe, uri)

    @property
    async def notifications(self) -> list[dict[str, Any]]:
        return await self._run(lambda: self._client.notifications)

    async def wait_for_notification(self, method: str, timeout: float = 5.0) -> dict[str, Any]:
        return await self._run(self._client.wait_for_notification, method, timeout)

    @property
    async def stderr(self) -> str:
        return await self._run(lambda: self._client.stderr)

    async def set_cache(self, mode: str) -> None:
        await self._run(self._client.set_cache, mode)

    async def set_cassette(self, mode: str, path: Path = "") -> None:
        await self._run(self._client.set_cassette, mode, path)

    async def upload_to(self, target: str) -> None:
        await self._run(self._client.upload_to, target)

    async def stop_uploads(self) -> None:
        await self._run(self._client.stop_uploads)

    async def flush(self) -> int:
        return await self._run(self._client.flush)

    async def _run(self, work: Callable[..., T], *arguments: object) -> T:
        try:
            return await asyncio.get_running_loop().run_in_executor(self._threads, work, *arguments)
        except CoprocessError as error:
            # The traceback in the thread shows nothing of the caller.
            raise error.with_traceback(None) from None
