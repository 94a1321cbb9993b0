"""`mcptest exec --connection-server`: the coprocess protocol, over which SDKs use mcptest."""

from __future__ import annotations

import contextlib
import os
import sys

from mcptest.cli.options import Command, Option
from mcptest.cli.output import hide_secrets, write_stderr
from mcptest.cli.shared_options import (
    CONFIG_OPTION,
    HTTP_OPTIONS,
    SERVER_COMMAND_OPTION,
    SPEC_VERSION_OPTION,
    choose_server,
)
from mcptest.coprocess.serve import Channel, Session
from mcptest.coprocess.stores import Cache, cache_folder, server_key
from mcptest.coprocess.upstream import Upstream
from mcptest.core.errors import InterruptedRunError, UsageError
from mcptest.core.results import ExitCode
from mcptest.core.text import visible
from mcptest.engine.server import launching
from mcptest.transport.process.signals import Interrupts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mcptest.cli.options import Arguments
    from mcptest.core.results import Finding
    from mcptest.protocol.http_address import Address

__all__ = ["COMMAND", "run_exec"]


def run_exec(arguments: Arguments) -> int:
    """Serve one SDK until it says goodbye, closes our input or exits; return the exit code."""
    if not arguments.has("--connection-server"):
        message = "mcptest exec needs --connection-server: it has no other mode"
        raise UsageError(message, "SDKs start it; to call a tool by hand, use mcptest call")
    if sys.__stdout__ is None:
        raise UsageError("standard output is closed: there is nowhere to answer to")
    spec = choose_server(arguments, '--server-command "ARGV"')
    hide_secrets(spec.secrets)
    with Interrupts() as interrupts:
        channel = Channel(sys.stdin.fileno(), sys.stdout.fileno(), interrupts)

        def check_client() -> None:
            channel.check_client(upstream.asked_at)

        with launching(interrupts, None, judges=False, while_waiting=check_client) as launcher:
            upstream = Upstream(spec, launcher)
            # The exit code reports a signal; an SDK that has exited needs no answer.
            with contextlib.suppress(InterruptedRunError):
                _serve(channel, upstream, server_key(spec))
        if channel.problem:
            _warn(channel.problem)
        return ExitCode.INTERRUPTED if interrupts.count else ExitCode.PASSED


def _serve(channel: Channel, upstream: Upstream, key: str) -> None:
    # Not for the server, which may be a program that starts mcptest itself.
    stderr_file = os.environ.pop("MCPTEST_SERVER_STDERR", "")
    cache = Cache(cache_folder(os.environ), key, _warn)
    session = Session(upstream, cache, _post, stderr_file)
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
            _warn(_describe_finding(finding))
        for problem in filter(None, session.close().split("\n")):
            _warn(problem)


def _describe_finding(finding: Finding) -> str:
    """Describe what the server did wrong outside of any call; only this warning reports it."""
    times = f" ({finding.count:,} times)" if finding.count > 1 else ""
    quote = f": {visible(finding.quote)}" if finding.quote else ""
    return f"{finding.message}{times}{quote}"


def _post(address: Address, content_type: str, body: bytes, deadline: float) -> int:
    # Only for uploads: it takes longer to import than everything else here.
    from mcptest.transport.http.channel import post  # noqa: PLC0415

    return post(address, content_type, body, deadline)


def _warn(text: str) -> None:
    write_stderr(f"warning: {text}\n")


COMMAND = Command(
    name="mcptest exec",
    summary="Serve an SDK: requests on standard input, one answer each on standard output.",
    usage="mcptest exec --connection-server [options]",
    details="SDKs start this command; docs/coprocess.md describes the protocol. A command, a URL "
    "or a config names the server (default: a config in the current folder).",
    options=(
        Option(names=("--connection-server",), help="speak the coprocess protocol, version 2"),
        SERVER_COMMAND_OPTION,
        CONFIG_OPTION,
        *HTTP_OPTIONS,
        SPEC_VERSION_OPTION,
        Option(
            names=("--timeout",),
            value="TIME",
            help='time limit for each answer of the server: 500, "500ms" or "2s"',
        ),
    ),
    examples=(
        'mcptest exec --connection-server --server-command "python3 server.py"',
        "mcptest exec --connection-server --url http://127.0.0.1:3001/mcp",
    ),
    run=run_exec,
    takes_paths=False,
)
