"""`mcptest exec --connection-server`: the channel over which SDKs use this program."""

from __future__ import annotations

import os
import select
import sys

from mcptest.cli.options import Command, Option
from mcptest.cli.output import complain
from mcptest.cli.server_choice import choose_server
from mcptest.coprocess.cache import Cache, cache_folder
from mcptest.coprocess.session import Session
from mcptest.coprocess.uploads import Uploads
from mcptest.coprocess.upstream import Upstream
from mcptest.core.errors import InterruptedRunError, UsageError
from mcptest.core.exit_codes import ExitCode
from mcptest.runner.launcher import Launcher
from mcptest.wire.guardian import Guardian
from mcptest.wire.interrupts import Interrupts
from mcptest.wire.serving import serve_lines

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mcptest.cli.options import Arguments

__all__ = ["COMMAND", "run_exec"]


def run_exec(arguments: Arguments) -> int:
    """Serve one SDK until it says goodbye or closes our input; the exit status."""
    if not arguments.has("--connection-server"):
        message = "mcptest exec needs --connection-server: there is no other way to use it yet"
        raise UsageError(message, "SDKs start it; by hand, mcptest call asks a server something")
    spec = choose_server(arguments)
    with Interrupts() as interrupts:
        guardian = Guardian(adopts_orphans=True)
        interrupts.on_second = guardian.kill_all
        launcher = Launcher(guardian=guardian, interrupts=interrupts, while_waiting=_heed_the_end)
        upstream = Upstream(spec, launcher)
        cache = Cache(cache_folder(os.environ), spec.command)
        session = Session(upstream, cache, Uploads())
        try:
            serve_lines(sys.stdin.fileno(), sys.stdout.fileno(), interrupts, session.hear)
        except InterruptedRunError:
            return ExitCode.INTERRUPTED
        finally:
            trouble = session.close()
            upstream.close()
            guardian.dismiss()
        if trouble:
            complain(f"warning: {trouble}\n")
    return ExitCode.PASSED


def _heed_the_end() -> None:
    """Where nobody reads any more, what the server is busy with need not be awaited.

    That our input has ended does not say so: whoever asks a few things and reads the answers
    may close it at once.
    """
    poll = select.poll()
    poll.register(sys.stdout.fileno(), 0)
    if any(event & select.POLLERR for _, event in poll.poll(0)):
        raise InterruptedRunError("the SDK has left")


COMMAND = Command(
    name="mcptest exec",
    summary="Serve an SDK: requests on standard input, one answer each on standard output.",
    usage='mcptest exec --connection-server --server-command "ARGV"',
    details="SDKs start this; docs/coprocess.md has the protocol.",
    options=(
        Option(names=("--connection-server",), help="speak the coprocess protocol, version 2"),
        Option(
            names=("--server-command",),
            value='"ARGV"',
            help="starts the server under test; split like a shell would, run without one",
        ),
        Option(names=("-c", "--config"), value="FILE", help="how to start the server instead"),
        Option(names=("--url",), value="URL", help="a server on HTTP; not in this version"),
        Option(
            names=("--timeout",),
            value="TIME",
            help='longest wait for one answer of the server, as 500, "500ms" or "2s"',
        ),
    ),
    examples=('mcptest exec --connection-server --server-command "python3 server.py"',),
    run=run_exec,
)
