"""The server under test, started by the first request that needs it, and kept."""

from __future__ import annotations

from mcptest.coprocess.protocol import UPSTREAM_ERROR, UPSTREAM_GONE, RefusedError
from mcptest.core.errors import ServerError
from mcptest.runner.server import Server

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from mcptest.core.outcome import Fault
    from mcptest.core.plan import ServerSpec
    from mcptest.runner.launcher import Launcher

    Message = dict[str, Any]

__all__ = ["Upstream"]

# After these the server is not used again: it has ended, or nothing it says can be trusted.
_GONE = frozenset(["exited_during_call", "exited_early", "line_too_long", "output_budget"])
_MAX_PAGES = 1000


class Upstream:
    """One server. What it refuses is a `RefusedError`, and so is that it is not there."""

    def __init__(self, spec: ServerSpec, launcher: Launcher) -> None:
        self.spec = spec
        self._launcher = launcher
        self._server: Server | None = None
        self._lost: Fault | None = None

    def initialize(self) -> Message:
        """What the server answered to `initialize`; asked again, the same."""
        return self._ready().handshake

    def ask(self, method: str, params: Message) -> Message:
        """The result of a request, as it came."""
        server = self._ready()
        try:
            answer = server.ask(method, params, self.spec.timeout_s)
        except ServerError as error:
            raise self._broken(error.fault) from None
        if isinstance(answer, dict) and isinstance(answer.get("error"), dict):
            said = answer["error"]
            message = f"the server refused {method}: {said.get('message', 'without a word')}"
            raise RefusedError(UPSTREAM_ERROR, message, said)
        result = answer.get("result") if isinstance(answer, dict) else None
        if not isinstance(result, dict):
            message = f"the server's answer to {method} has no result that is an object"
            raise RefusedError(UPSTREAM_ERROR, message)
        return result

    def ask_all(self, method: str, key: str) -> Message:
        """Every page of a list, in one."""
        return {key: [entry for page in self._pages(method, key) for entry in page]}

    def _pages(self, method: str, key: str) -> Iterator[list[object]]:
        params: Message = {}
        seen: set[str] = set()
        for _ in range(_MAX_PAGES):
            result = self.ask(method, params)
            entries = result.get(key)
            yield entries if isinstance(entries, list) else []
            cursor = result.get("nextCursor")
            if not isinstance(cursor, str):
                return
            if cursor in seen:
                raise RefusedError(UPSTREAM_ERROR, f"the server's list never ends: {method}")
            seen.add(cursor)
            params = {"cursor": cursor}
        raise RefusedError(UPSTREAM_ERROR, f"the server's list has too many pages: {method}")

    def close(self) -> None:
        server, self._server = self._server, None
        if server:
            server.close()

    def _ready(self) -> Server:
        if self._lost:
            raise self._refusal(self._lost)
        if self._server is None:
            self._server = server = Server(self.spec, self._launcher)
            try:
                server.open()
            except ServerError as error:
                self.close()
                self._lost = error.fault
                raise self._refusal(error.fault) from None
        return self._server

    def _broken(self, fault: Fault) -> RefusedError:
        if fault.kind in _GONE or self._server is None or not self._server.is_usable:
            self._lost = fault
            self.close()
            return self._refusal(fault)
        return RefusedError(UPSTREAM_ERROR, fault.message, {"kind": fault.kind})

    def _refusal(self, fault: Fault) -> RefusedError:
        evidence = fault.evidence
        data = {
            "kind": fault.kind,
            "command": list(self.spec.command),
            "exit_status": evidence.exit_status,
            "stderr": evidence.stderr_tail,
        }
        return RefusedError(UPSTREAM_GONE, fault.message, data)
