"""Open a session with a server that has been started: in the era of the protocol that it speaks.

With a handshake, unless the stateless era is asked for. A server that refuses the handshake is
asked once more, as a fresh process, whether it is of that era; both are never tried on one.
"""

from __future__ import annotations

import os
import time

from mcptest.core.errors import ServerError
from mcptest.core.framing import encode_line
from mcptest.core.handshake import (
    discovery_fault,
    handshake_fault,
    handshake_gaps,
    is_mishap,
    pinned_fault,
)
from mcptest.core.revisions import STATELESS
from mcptest.runner import faults

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from mcptest.core.outcome import Fault
    from mcptest.core.session import Message
    from mcptest.runner.server import Server

__all__ = ["await_ready", "open_session"]

_INFO_KEY = "io.modelcontextprotocol/serverInfo"


def await_ready(server: Server, deadline: float) -> None:
    """Wait until the server can be spoken to."""
    connection = server.connection
    connection.start_step()
    if server.spec.ready_pattern:
        _wait_for_pattern(server, deadline)
    fault = connection.wire.open(deadline)
    if fault:
        raise ServerError(faults.with_evidence(fault, connection.wire))
    if connection.wire.has_exited and not connection.wire.is_pipe:
        raise ServerError(server.gone("while it was awaited to listen"))
    if connection.wire.stranger:
        message = "what listens at the URL is no process that the command is known to have started"
        server.findings.add("foreign_listener", message, quote=connection.wire.stranger)
    http = server.spec.http
    if http and http.insecure_tls:
        message = "the certificate of the server was not checked, as its settings ask"
        server.findings.add("tls_unverified", message)


def _wait_for_pattern(server: Server, deadline: float) -> None:
    # Few servers have one.
    from mcptest.runner.readiness import ReadyPattern  # noqa: PLC0415

    wire, connection = server.connection.wire, server.connection
    pattern = ReadyPattern(server.spec.ready_pattern)
    while not pattern.is_found_in(wire.stderr):
        # Stdout is watched too: a server that ends or talks nonsense is noticed here.
        connection.take(wire.receive(min(deadline, time.monotonic() + 0.05)))
        connection.raise_broken()
        if wire.is_closed:
            raise ServerError(server.gone("while it was awaited to be ready"))
        if time.monotonic() >= deadline:
            raise ServerError(faults.not_ready(server.spec, wire))


def open_session(server: Server, deadline: float, params: Message | None) -> dict[str, Any]:
    """What the server says of itself; `params` replace those of initialize."""
    session, wire = server.connection.session, server.connection.wire
    if session.is_stateless:
        return _discover(server, deadline)
    answer = server.ask_first(session.initialize(params), deadline)
    fault = handshake_fault(answer)
    if fault and "error" in answer and not server.spec.spec_version:
        return _try_stateless(server, faults.with_evidence(fault, wire))
    fault = fault or pinned_fault(server.spec.spec_version, answer["result"])
    if fault:
        raise ServerError(faults.with_evidence(fault, wire))
    result: dict[str, Any] = answer["result"]
    for gap in handshake_gaps(result):
        server.findings.add("protocol_violation", f"in the answer to initialize, {gap}")
    server.connection.send(encode_line(session.accept(result)))
    wire.wait_until_read()
    server.refuse_refusal()
    return result


def _try_stateless(server: Server, refusal: Fault) -> dict[str, Any]:
    """A fresh process in the other era; the refusal stands when that does not help."""
    spec = server.spec
    try:
        server.begin_anew(spec.but(protocol_version=STATELESS))
        deadline = time.monotonic() + spec.startup_timeout_s
        await_ready(server, deadline)
        found = _discover(server, deadline)
    except ServerError as error:
        hint = f"and asked without a handshake: {error.fault.message}"
        raise ServerError(refusal.but(hint=hint)) from None
    if is_mishap(refusal):
        message = f"{refusal.message}; the stateless era was used instead"
        server.findings.add("protocol_violation", message)
    server.is_open = True
    return found


def _discover(server: Server, deadline: float) -> dict[str, Any]:
    # Only in this era does a server ask for more in its answers.
    from mcptest.core.input_rounds import InputRounds  # noqa: PLC0415

    session = server.connection.session
    session.rounds = InputRounds(session.script, f"-{os.urandom(4).hex()}")
    try:
        answer = server.ask_first(session.discover(), deadline)
    except ServerError as error:
        raise ServerError(_said_of(server, error.fault)) from None
    fault = discovery_fault(answer)
    if fault:
        raise ServerError(faults.with_evidence(_said_of(server, fault), server.connection.wire))
    result: dict[str, Any] = answer["result"]
    session.accept_discovery(result)
    if not server.connection.wire.is_pipe:
        # A pipe has no headers that could tell what the tools want in them.
        from mcptest.runner.tool_list import learn_tools  # noqa: PLC0415

        learn_tools(server, deadline)
    # As a handshake would have told it.
    meta = result.get("_meta")
    info = meta.get(_INFO_KEY) if isinstance(meta, dict) else None
    return {"protocolVersion": STATELESS, "serverInfo": info or {}} | result


def _said_of(server: Server, fault: Fault) -> Fault:
    """The fault; what it advises to leave out is what was given."""
    if server.spec.spec_version:
        return fault
    key = '"protocol_version" (in a config "protocolVersion")'
    return fault.but(hint=fault.hint.replace("--spec-version", key))
