"""`mcptest exec --connection-server`: the channel over which SDKs use this program."""

from __future__ import annotations

import contextlib
import os
import sys

from mcptest.cli.options import Command, Option
from mcptest.cli.output import hide_secrets, write_stderr
from mcptest.cli.server_options import HTTP_OPTIONS, SPEC_VERSION, choose_server
from mcptest.coprocess.cache import Cache, cache_folder, server_key
from mcptest.coprocess.serve import Channel, Session
from mcptest.coprocess.upstream import Upstream
from mcptest.core.errors import InterruptedRunError, UsageError
from mcptest.core.results import ExitCode
from mcptest.core.text import visible
from mcptest.engine.server import Launcher
from mcptest.transport.process.guardian import Guardian
from mcptest.transport.process.signals import Interrupts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mcptest.cli.options import Arguments
    from mcptest.core.plan import ServerSpec
    from mcptest.core.results import Finding
    from mcptest.protocol.http_address import Address

__all__ = ["COMMAND", "run_exec"]


def run_exec(arguments: Arguments) -> int:
    """Serve one SDK until it says goodbye, closes our input or leaves; the exit status."""
    if not arguments.has("--connection-server"):
        message = "mcptest exec needs --connection-server: there is no other way to use it yet"
        raise UsageError(message, "SDKs start it; by hand, mcptest call asks a server something")
    if sys.__stdout__ is None:
        raise UsageError("standard output is closed: there is nowhere to answer to")
    spec = choose_server(arguments, '--server-command "ARGV"')
    hide_secrets(spec.secrets)
    with Interrupts() as interrupts:
        guardian = Guardian(adopts_orphans=True)
        interrupts.on_second = guardian.kill_all
        try:
            # Whoever has left needs no answer; a signal is told by the status.
            with contextlib.suppress(InterruptedRunError):
                _serve(spec, guardian, interrupts)
        finally:
            guardian.dismiss()
        return ExitCode.INTERRUPTED if interrupts.count else ExitCode.PASSED


def _serve(spec: ServerSpec, guardian: Guardian, interrupts: Interrupts) -> None:
    channel = Channel(sys.stdin.fileno(), sys.stdout.fileno(), interrupts)
    launcher = Launcher(
        guardian=guardian, interrupts=interrupts, while_waiting=channel.check_reader
    )
    upstream = Upstream(spec, launcher)
    session = Session(upstream, Cache(cache_folder(os.environ), server_key(spec), _warn), _post)
    try:
        for request in channel.requests():
            channel.send(session.answer(request))
            if session.is_over:
                break
        channel.finish()
        session.is_complete = True
    finally:
        session.save()
        upstream.close()
        for finding in upstream.findings:
            _warn(_told(finding))
        for trouble in filter(None, session.close().split("\n")):
            _warn(trouble)


def _told(finding: Finding) -> str:
    """What the server did that breaks a rule and no call; nobody else would hear of it."""
    times = f" ({finding.count:,} times)" if finding.count > 1 else ""
    quote = f": {visible(finding.quote)}" if finding.quote else ""
    return f"{finding.message}{times}{quote}"


def _post(address: Address, content_type: str, body: bytes, deadline: float) -> int:
    # Only for those who upload; it takes longer to import than the rest of this program.
    from mcptest.transport.http.post import post  # noqa: PLC0415

    return post(address, content_type, body, deadline)


def _warn(text: str) -> None:
    write_stderr(f"warning: {text}\n")


COMMAND = Command(
    name="mcptest exec",
    summary="Serve an SDK: requests on standard input, one answer each on standard output.",
    usage="mcptest exec --connection-server [options]",
    details="SDKs start this; docs/coprocess.md has the protocol. A command that starts it, a URL\n"
    "or a config names the server; without any of them, a config in this folder.",
    options=(
        Option(names=("--connection-server",), help="speak the coprocess protocol, version 2"),
        Option(
            names=("--server-command",),
            value='"ARGV"',
            help="starts the server under test; split like a shell would, run without one",
        ),
        Option(
            names=("-c", "--config"),
            value="FILE",
            help="how to start or reach the server: a config, or a suite with one; default: "
            "conductor.config.json or mcptest.yaml in this folder",
        ),
        *HTTP_OPTIONS,
        SPEC_VERSION,
        Option(
            names=("--timeout",),
            value="TIME",
            help='longest wait for one answer of the server, as 500, "500ms" or "2s"',
        ),
    ),
    examples=(
        'mcptest exec --connection-server --server-command "python3 server.py"',
        "mcptest exec --connection-server --url http://127.0.0.1:3001/mcp",
    ),
    run=run_exec,
    takes_paths=False,
)
