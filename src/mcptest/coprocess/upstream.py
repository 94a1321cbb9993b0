"""The server under test, started by the first request that needs it, and kept."""

from __future__ import annotations

import re
import shlex
import time

from mcptest.coprocess.refusals import UPSTREAM_ERROR, UPSTREAM_GONE, RefusedError
from mcptest.core.errors import ServerError
from mcptest.core.redaction import redact_all, redactor
from mcptest.core.visible import shorten, visible
from mcptest.runner import faults
from mcptest.runner.server import Server

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from mcptest.core.outcome import Fault, Finding
    from mcptest.core.plan import ServerSpec
    from mcptest.runner.launcher import Launcher

    Message = dict[str, Any]

__all__ = ["Upstream"]

# After these the server is not used again: nothing it says can be trusted.
_SPENT = frozenset(["line_too_long", "output_budget"])
_MAX_PAGES = 1000
_MAX_COMMAND_CHARS = 200

# The ids of our own requests mean nothing to anybody.
_OWN_ID = r' \(id "mcptest-\d+"\)'


class Upstream:
    """One server. What it refuses is a `RefusedError`, and so is that it is not there."""

    def __init__(self, spec: ServerSpec, launcher: Launcher) -> None:
        self.spec = spec
        self._launcher = launcher
        self._redact = redactor(spec.secrets) if spec.secrets else None
        self._server: Server | None = None
        # Once it is gone: what is said of that from then on.
        self._lost: tuple[str, Message] | None = None
        self.handshake: Message = {}
        self.findings: tuple[Finding, ...] = ()

    def cleaned(self, value: Any) -> Any:
        """The same without the secrets that a config gave to the server."""
        return redact_all(value, self._redact) if self._redact else value

    def initialize(self) -> Message:
        """What the server answered to `initialize`; asked again, the same."""
        self._ready()
        return self.handshake

    def ask(self, method: str, params: Message, limit_s: float | None = None) -> Message:
        """The result of a request, as it came."""
        server = self._ready()
        try:
            answer = server.ask(method, params, limit_s or self.spec.timeout_s)
        except ServerError as error:
            raise self._broken(server, error.fault) from None
        if "error" in answer:
            said = answer["error"]
            words = visible(shorten(said["message"], 1000))
            raise RefusedError(UPSTREAM_ERROR, f"the server refused {method}: {words}", said)
        result = answer.get("result")
        if not isinstance(result, dict):
            raise self._useless(f"its answer to {method} has no result that is an object")
        return result

    def ask_all(self, method: str, key: str) -> Message:
        """Every page of a list, in one; all together may take as long as one answer."""
        return {key: [entry for page in self._pages(method, key) for entry in page]}

    def _pages(self, method: str, key: str) -> Iterator[list[object]]:
        limit_s = self.spec.timeout_s
        self._ready()
        deadline = time.monotonic() + limit_s
        params: Message = {}
        seen: set[str] = set()
        for _ in range(_MAX_PAGES):
            left_s = deadline - time.monotonic()
            if left_s <= 0:
                raise self._useless(f"{method} is not at its end after {faults.seconds(limit_s)}")
            result = self.ask(method, params, left_s)
            if not isinstance(result.get(key), list):
                raise self._useless(f'its answer to {method} has no array "{key}"')
            yield result[key]
            cursor = result.get("nextCursor")
            if cursor is None:
                return
            if not isinstance(cursor, str):
                raise self._useless(f'its answer to {method} has a "nextCursor" that is no text')
            if cursor in seen:
                raise self._useless(f"{method} goes in a circle: a cursor has come before")
            seen.add(cursor)
            params = {"cursor": cursor}
        raise self._useless(f"{method} does not end ({_MAX_PAGES:,} pages)")

    def _useless(self, why: str) -> RefusedError:
        return RefusedError(UPSTREAM_ERROR, f"the server cannot be used like this: {why}")

    def close(self) -> None:
        """Stop the server, if it runs."""
        server, self._server = self._server, None
        if server:
            server.close()
            self.findings = tuple(self.cleaned(list(server.findings)))

    # Opening, and what breaks

    def _ready(self) -> Server:
        if self._lost:
            raise RefusedError(UPSTREAM_GONE, *self._lost)
        if self._server is None:
            try:
                self._server = Server(self.spec, self._launcher)
                self._server.open()
            except ServerError as error:
                raise self._not_opened(error.fault) from None
            self.handshake = self._server.handshake
        return self._server

    def _not_opened(self, fault: Fault) -> RefusedError:
        server = self._server
        self.close()
        if server and server.answered_at_the_end:
            fault = faults.unflushed(fault)
        command = visible(shorten(shlex.join(self.spec.command), _MAX_COMMAND_CHARS))
        return self._gone(fault.but(message=f"{fault.message} (command: {command})"))

    def _broken(self, server: Server, fault: Fault) -> RefusedError:
        if fault.kind in _SPENT or not server.is_usable:
            self.close()
            return self._gone(fault)
        return RefusedError(UPSTREAM_ERROR, self._words(fault), self._evidence(fault))

    def _gone(self, fault: Fault) -> RefusedError:
        evidence = {
            "command": self.cleaned(list(self.spec.command)),
            "exit_status": fault.evidence.exit_status,
        }
        data = self._evidence(fault) | evidence
        self._lost = self._words(fault), data
        return RefusedError(UPSTREAM_GONE, *self._lost)

    def _words(self, fault: Fault) -> str:
        text: str = self.cleaned(re.sub(_OWN_ID, "", fault.message))
        return text

    def _evidence(self, fault: Fault) -> Message:
        hint = re.sub(_OWN_ID, "", fault.hint)
        found: Message = {"kind": fault.kind, "stderr": fault.evidence.stderr_tail}
        cleaned: Message = self.cleaned(found | ({"hint": hint} if hint else {}))
        return cleaned
