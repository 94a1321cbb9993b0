"""The server under test of a coprocess: started by the first request, never replaced."""

from __future__ import annotations

import math
import shlex
import time

from mcptest.coprocess.protocol import UPSTREAM_ERROR, UPSTREAM_GONE, RefusedError
from mcptest.core.errors import ServerError
from mcptest.core.plan import Expectation, Step
from mcptest.core.record import ABSENT
from mcptest.core.secrets import redact_all, redactor
from mcptest.core.text import excerpt, visible
from mcptest.engine.pool import FATAL_FAULTS, ServerPool
from mcptest.engine.recorder import NotificationLog
from mcptest.protocol import jsonrpc
from mcptest.protocol.framing import encode_line
from mcptest.protocol.lists import ListPages
from mcptest.transport.process.stopping import signal_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from mcptest.core.plan import ServerSpec
    from mcptest.core.results import Fault, Finding
    from mcptest.engine.server import Launcher, Server

    Message = dict[str, Any]

__all__ = ["Upstream"]

_MAX_COMMAND_CHARS = 200
_MAX_STDERR_CHARS = 4000

_ENVELOPE = frozenset(["jsonrpc", "id", "result", "error"])


class Upstream:
    """One server. Errors of the server and its absence are both raised as `RefusedError`."""

    def __init__(self, spec: ServerSpec, launcher: Launcher) -> None:
        self.spec = spec
        self._notifications = NotificationLog()
        self._pool = ServerPool(launcher.but(on_notification=self._notifications.add))
        self._server: Server | None = None
        self._redact = redactor(spec.secrets)
        # Once it is gone: the message about that, and the data with it.
        self._lost: tuple[str, Message] | None = None
        self.handshake: Message = {}
        self.findings: tuple[Finding, ...] = ()
        # The id of the next request to the server: that of the SDK's own request, so that a
        # server which does not return ids unchanged is noticed.
        self.next_id: object = ABSENT
        self._asked = 0
        # When the last request was sent; no time at all while the server starts, which has a time
        # limit of its own.
        self.asked_at = math.inf
        # How long it took to start, which is not part of any call.
        self.start_s = 0.0

    @property
    def is_lost(self) -> bool:
        """Whether it could not be started, or is gone."""
        return self._lost is not None

    @property
    def is_running(self) -> bool:
        return self._pool.is_running and not self.is_lost

    def cleaned(self, value: Any) -> Any:
        """The value without the secrets that a config gave to the server."""
        return redact_all(value, self._redact)

    def start_request(self) -> None:
        """What the server writes to stderr from here on belongs to the next request."""
        self._pool.start_test()

    def stderr_of_request(self) -> str:
        """The end of what the server has written to stderr since the request began."""
        text: str = self.cleaned(self._pool.stderr_of_test())
        return text[-_MAX_STDERR_CHARS:]

    def initialize(self) -> Message:
        """What the server answered to `initialize`; asked again, the same."""
        if not self._pool.is_running:
            self._ready("initialize", None)
        return self.handshake

    def ask(self, method: str, params: Message, limit_s: float | None = None) -> Message:
        """The result of a request, as it came."""
        id, self.next_id = self.next_id, ABSENT
        self._asked += 1
        id = id if type(id) in (int, str) else f"mcptest-{self._asked}"
        line = encode_line(jsonrpc.request(id, method, params))
        step = Step(line=line, method=method, expectation=Expectation(), id=id)
        server = self._ready(method, step)
        self.asked_at = time.monotonic()
        try:
            answer = server.perform(step, limit_s or self.spec.timeout_s).message
        except ServerError as error:
            raise self._refusal(server, _without_id(error.fault, step.id)) from None
        _refuse_unusual(answer, step)
        if "error" in answer:
            said = answer["error"]
            words = excerpt(self.cleaned(said["message"]), 1000)
            raise RefusedError(UPSTREAM_ERROR, f"the server refused {method}: {words}", said)
        result: Message = answer["result"]
        return result

    def ask_with_progress(self, method: str, params: Message) -> Message:
        """The result of a request, and the progress that the server reported before it."""
        since, token = self._notifications.count, f"mcptest-progress-{self._asked + 1}"
        result = self.ask(method, {**params, "_meta": {"progressToken": token}})
        return {"result": result, "progress": self._notifications.progress(token, since)}

    def notifications(self, after: int, method: str, wait_s: float) -> Message:
        """The notifications after the one with this number, waited for if there is none."""
        found: list[Message] = []

        def find() -> list[Message]:
            found[:] = self._notifications.since(after, method)
            return found

        if not self._lost:
            server = self._ready("notifications", None) if self._server is None else self._server
            self.asked_at = time.monotonic()
            try:
                server.listen(self.asked_at + wait_s, find)
            except ServerError as error:
                raise self._refusal(server, error.fault) from None
            if wait_s and not find() and not server.is_usable:
                raise self._lose(server.exit_fault("while a notification was awaited"))
        elif wait_s and not find():
            self._ready("notifications", None)
        return {"received": self._notifications.count, "notifications": find()}

    def stderr(self) -> str:
        """What the server has written to stderr so far, as far as it was kept."""
        if self._server is None:
            return ""
        connection = self._server.connection
        if not self._lost:
            connection.wire.drain_stderr()
        text: str = self.cleaned(connection.stderr_since(0))
        return text

    def _refusal(self, server: Server, fault: Fault) -> RefusedError:
        """The error for a fault of the server, which is stopped if it cannot be used any more."""
        if fault.kind in FATAL_FAULTS or not server.is_usable:
            return self._lose(fault)
        return RefusedError(UPSTREAM_ERROR, self.cleaned(fault.message), self._evidence(fault))

    def ask_all(self, method: str, key: str, limit_s: float | None = None) -> Message:
        """Every page of a list, in one; all together may take as long as one answer."""
        limit_s = limit_s or self.spec.timeout_s
        if not self._pool.is_running:
            # Starting is not part of the time for the list.
            self._ready(method, None)
        deadline = time.monotonic() + limit_s
        left_bytes = self.spec.limits.max_line_bytes
        entries: list[object] = []
        pages = ListPages(method, key, limit_s=limit_s)
        while (params := pages.next_params(left_s := deadline - time.monotonic())) is not None:
            result = self.ask(method, params, left_s)
            left_bytes -= len(encode_line(result))
            if left_bytes < 0:
                most = f"{self.spec.limits.max_line_bytes:,} bytes"
                raise self._useless(f"the pages of {method} have more than {most} in all")
            entries += pages.add({"result": result})
        if pages.problem:
            raise self._useless(pages.problem.reason)
        return {key: entries}

    def _useless(self, why: str) -> RefusedError:
        return RefusedError(UPSTREAM_ERROR, f"the server cannot be used like this: {why}")

    def close(self) -> None:
        """Stop the server, if it runs."""
        self._pool.retire()
        self.findings = tuple(self.cleaned(self._pool.findings))

    def _ready(self, method: str, step: Step | None) -> Server:
        """The server, started if this is the first request; RefusedError once it is gone."""
        if self._lost:
            message, data = self._lost
            words = f"{method} was not sent, because of what came before: {message}"
            raise RefusedError(UPSTREAM_GONE, words, {**data, "effect": "definite"})
        is_running = self._pool.is_running
        began = time.monotonic()
        try:
            server, _ = self._pool.server_for(self.spec, step)
        except ServerError as error:
            fault = error.fault
            if is_running:
                raise self._lose(_without_id(fault, step.id if step else ABSENT)) from None
            http = self.spec.http
            way = f"url: {http.url}" if http else f"command: {shlex.join(self.spec.command)}"
            shown = excerpt(way, _MAX_COMMAND_CHARS)
            raise self._lose(fault.but(message=f"{fault.message} ({shown})")) from None
        finally:
            self.start_s += 0.0 if is_running else time.monotonic() - began
        self.handshake, self._server = server.handshake, server
        return server

    def _lose(self, fault: Fault) -> RefusedError:
        """Stop the server for good, because of this fault."""
        self.close()
        http = self.spec.http
        where: Message = {"url": http.url} if http else {}
        if self.spec.command:
            code = fault.evidence.exit_code
            is_killed = code is not None and code < 0
            where |= {
                "command": list(self.spec.command),
                # How the process ended: in words, and for programs (null if that is not known).
                "exit_status": fault.evidence.exit_status,
                "exit_code": None if is_killed else code,
                "signal": signal_name(-code) if code is not None and is_killed else None,
            }
        data = self._evidence(fault) | self.cleaned(where)
        self._lost = self.cleaned(fault.message), data
        return RefusedError(UPSTREAM_GONE, *self._lost)

    def _evidence(self, fault: Fault) -> Message:
        found: Message = {
            "kind": fault.kind,
            "effect": fault.effect,
            "stderr": fault.evidence.stderr_tail,
        }
        cleaned: Message = self.cleaned(found | ({"hint": fault.hint} if fault.hint else {}))
        return cleaned


def _without_id(fault: Fault, id: object) -> Fault:
    """The fault without the id of the request, which means nothing to the author of the call."""
    shown = f" ({visible(jsonrpc.describe_id(id))})"
    return fault.but(message=fault.message.replace(shown, ""), hint=fault.hint.replace(shown, ""))


def _refuse_unusual(answer: Any, step: Step) -> None:
    """Refuse an answer that the SDK's channel cannot carry whole; it is in `data`."""
    extra = [key for key in answer if key not in _ENVELOPE]
    if extra:
        name = excerpt(extra[0], 40)
        why = f'its answer to {step.method} has a member "{name}" beside the result'
    elif jsonrpc.id_key(answer.get("id")) != jsonrpc.id_key(step.id):
        why = f"its answer to {step.method} has not the id of the request"
    elif "result" in answer and not isinstance(answer["result"], dict):
        why = f"its answer to {step.method} has no result that is an object"
    else:
        return
    data = {"kind": "protocol_violation", "effect": "indefinite", "answer": answer}
    raise RefusedError(UPSTREAM_ERROR, f"the server cannot be used like this: {why}", data)
