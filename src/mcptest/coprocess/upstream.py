"""The server under test, started by the first request that needs it, and kept."""

from __future__ import annotations

import shlex
import time

from mcptest.coprocess.protocol import UPSTREAM_ERROR, UPSTREAM_GONE, RefusedError
from mcptest.core.errors import ServerError
from mcptest.core.plan import Expectation, Step
from mcptest.core.record import ABSENT
from mcptest.core.secrets import redact_all, redactor
from mcptest.core.text import shorten, visible
from mcptest.engine import faults
from mcptest.engine.server import Server
from mcptest.protocol import jsonrpc
from mcptest.protocol.framing import encode_line
from mcptest.protocol.lists import ListPages

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from mcptest.core.plan import ServerSpec
    from mcptest.core.results import Fault, Finding
    from mcptest.engine.server import Launcher

    Message = dict[str, Any]

__all__ = ["Upstream"]

# After these the server is not used again: nothing it says can be trusted, or it is not there.
_SPENT = frozenset(["connect_failed", "line_too_long", "output_budget", "session_lost"])
_MAX_COMMAND_CHARS = 200

_ENVELOPE = frozenset(["jsonrpc", "id", "result", "error"])


class Upstream:
    """One server. What it refuses is a `RefusedError`, and so is that it is not there."""

    def __init__(self, spec: ServerSpec, launcher: Launcher) -> None:
        self.spec = spec
        self._launcher = launcher
        self._redact = redactor(spec.secrets)
        self._server: Server | None = None
        # Once it is gone: what was said of that, and what is known of it.
        self._lost: tuple[str, Message] | None = None
        self.handshake: Message = {}
        self.findings: tuple[Finding, ...] = ()
        # The id that the next request to the server is to have: that of the SDK's own request,
        # so that a server which does not give ids back as they came is found out.
        self.next_id: object = ABSENT
        self._asked = 0
        # How long it took to start, which is no part of any call.
        self.start_s = 0.0

    @property
    def is_lost(self) -> bool:
        """Whether it could not be started, or is gone."""
        return self._lost is not None

    def cleaned(self, value: Any) -> Any:
        """The same without the secrets that a config gave to the server."""
        return redact_all(value, self._redact)

    def initialize(self) -> Message:
        """What the server answered to `initialize`; asked again, the same."""
        self._ready("initialize")
        return self.handshake

    def ask(self, method: str, params: Message, limit_s: float | None = None) -> Message:
        """The result of a request, as it came."""
        server = self._ready(method)
        step = self._step(method, params)
        try:
            answer = server.perform(step, limit_s or self.spec.timeout_s).message
        except ServerError as error:
            raise self._broken(server, _without_id(error.fault, step.id)) from None
        _refuse_unusual(answer, step)
        if "error" in answer:
            said = answer["error"]
            words = visible(shorten(self.cleaned(said["message"]), 1000))
            raise RefusedError(UPSTREAM_ERROR, f"the server refused {method}: {words}", said)
        result: Message = answer["result"]
        return result

    def _step(self, method: str, params: Message) -> Step:
        id, self.next_id = self.next_id, ABSENT
        self._asked += 1
        id = id if type(id) in (int, str) else f"mcptest-{self._asked}"
        line = encode_line(jsonrpc.request(id, method, params))
        return Step(line=line, method=method, expectation=Expectation(), id=id)

    def ask_all(self, method: str, key: str) -> Message:
        """Every page of a list, in one; all together may take as long as one answer."""
        return {key: [entry for page in self._pages(method, key) for entry in page]}

    def _pages(self, method: str, key: str) -> Iterator[list[object]]:
        limit_s = self.spec.timeout_s
        self._ready(method)
        deadline = time.monotonic() + limit_s
        left_bytes = self.spec.limits.max_line_bytes
        pages = ListPages(method, key, limit_s=limit_s)
        while (params := pages.next_params(left_s := deadline - time.monotonic())) is not None:
            result = self.ask(method, params, left_s)
            left_bytes -= len(encode_line(result))
            if left_bytes < 0:
                most = f"{self.spec.limits.max_line_bytes:,} bytes"
                raise self._useless(f"the pages of {method} have more than {most} in all")
            yield pages.add({"result": result})
        if pages.problem:
            raise self._useless(pages.problem.reason)

    def _useless(self, why: str) -> RefusedError:
        return RefusedError(UPSTREAM_ERROR, f"the server cannot be used like this: {why}")

    def close(self) -> None:
        """Stop the server, if it runs."""
        server, self._server = self._server, None
        if server:
            server.close()
            self.findings = tuple(self.cleaned(list(server.findings)))

    # Opening, and what breaks

    def _ready(self, method: str) -> Server:
        if self._lost:
            message, data = self._lost
            words = f"{method} was not sent, because of what came before: {message}"
            raise RefusedError(UPSTREAM_GONE, words, {**data, "effect": "definite"})
        if self._server is None:
            began = time.monotonic()
            try:
                self._server = Server(self.spec, self._launcher)
                self._server.open()
            except ServerError as error:
                raise self._not_opened(error.fault) from None
            finally:
                self.start_s += time.monotonic() - began
            self.handshake = self._server.handshake
        return self._server

    def _not_opened(self, fault: Fault) -> RefusedError:
        server = self._server
        self.close()
        if server and server.answered_at_the_end:
            fault = faults.unflushed(fault)
        http = self.spec.http
        way = f"url: {http.url}" if http else f"command: {shlex.join(self.spec.command)}"
        shown = visible(shorten(way, _MAX_COMMAND_CHARS))
        return self._gone(fault.but(message=f"{fault.message} ({shown})"))

    def _broken(self, server: Server, fault: Fault) -> RefusedError:
        if fault.kind in _SPENT or not server.is_usable:
            self.close()
            return self._gone(fault)
        return RefusedError(UPSTREAM_ERROR, self.cleaned(fault.message), self._evidence(fault))

    def _gone(self, fault: Fault) -> RefusedError:
        http = self.spec.http
        where: Message = {"url": http.url} if http else {}
        if self.spec.command:
            where |= {
                "command": list(self.spec.command),
                "exit_status": fault.evidence.exit_status,
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
    """The fault without the id of the request, which means nothing to whoever wrote the call."""
    told = f" ({visible(jsonrpc.describe_id(id))})"
    return fault.but(message=fault.message.replace(told, ""), hint=fault.hint.replace(told, ""))


def _refuse_unusual(answer: Any, step: Step) -> None:
    """Refuse an answer of which the channel could not carry all: it has it in `data`."""
    surplus = [key for key in answer if key not in _ENVELOPE]
    if surplus:
        name = visible(shorten(surplus[0], 40))
        why = f'its answer to {step.method} has a member "{name}" beside the result'
    elif jsonrpc.id_key(answer.get("id")) != jsonrpc.id_key(step.id):
        why = f"its answer to {step.method} has not the id of the request"
    elif "result" in answer and not isinstance(answer["result"], dict):
        why = f"its answer to {step.method} has no result that is an object"
    else:
        return
    data = {"kind": "protocol_violation", "effect": "indefinite", "answer": answer}
    raise RefusedError(UPSTREAM_ERROR, f"the server cannot be used like this: {why}", data)
