"""`mcptest mock`: be the server that a contract describes, and tell what the client did with it."""

from __future__ import annotations

import sys

from mcptest.cli.mock_loading import load_player
from mcptest.cli.options import Command, Option
from mcptest.cli.output import check_writable, complain, write_file
from mcptest.cli.report_files import refuse_clashes
from mcptest.core.diagnostics import render_diagnostic
from mcptest.core.errors import CheckError, PatternTimeoutError, UsageError
from mcptest.core.exit_codes import ExitCode
from mcptest.core.framing import Frame
from mcptest.mock.faults import deliver, parse_faults
from mcptest.mock.report import render_report, render_summary
from mcptest.mock.respond import give_up, respond, respond_to_noise
from mcptest.wire.cpu_limit import CpuLimit
from mcptest.wire.interrupts import Interrupts
from mcptest.wire.serving import serve_lines

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from mcptest.cli.options import Arguments
    from mcptest.core.framing import Noise, Overlong
    from mcptest.mock.faults import Faults
    from mcptest.mock.report import MockReport
    from mcptest.mock.respond import Player

    Serving = Callable[[Player, Faults, Interrupts], MockReport]

__all__ = ["COMMAND", "mock"]

# A pattern of the contract may take for ever on what a client sends.
_PATTERN_LIMIT = CpuLimit(2.0)

# Everything that waits is short, so a signal that has not ended us by then never will.
_PATIENCE_S = 10.0


def mock(arguments: Arguments) -> int:
    """Serve until the client leaves; the exit status says whether the contract was kept."""
    if not arguments.paths:
        raise UsageError("mcptest mock needs a file: cases, a capture or a manifest")
    file = arguments.last("--report")
    if arguments.has("--report"):
        refuse_clashes([file], arguments)
        check_writable(file)
    player, warnings = load_player(arguments.paths, is_once=arguments.has("--once"))
    faults = parse_faults(arguments.all("--latency"), arguments.all("--fault"), player.methods)
    for warning in warnings:
        complain(render_diagnostic(warning) + "\n\n")
    is_quiet = arguments.has("--quiet")
    serve = _server_of(arguments, is_quiet=is_quiet)
    with Interrupts(_PATIENCE_S) as interrupts:
        report = serve(player, faults, interrupts)
        if file:
            write_file(file, render_report(report))
        if not is_quiet:
            complain(render_summary(report))
    is_broken = arguments.has("--verify") and not report.is_kept
    return ExitCode.FAILED if is_broken else ExitCode.PASSED


def _server_of(arguments: Arguments, *, is_quiet: bool) -> Serving:
    """What serves: standard input and output, or HTTP."""
    if arguments.has("--http"):
        from mcptest.cli.mock_http import serving_at  # noqa: PLC0415  # few need it

        return serving_at(arguments.last("--http"), _PATTERN_LIMIT)
    if sys.stdin.isatty() and not is_quiet:
        complain("mcptest mock: waiting for a client on standard input; Ctrl-D ends it\n")
    return _serve_pipes


def _serve_pipes(player: Player, faults: Faults, interrupts: Interrupts) -> MockReport:
    session = _Session(player, faults)
    serve_lines(sys.stdin.fileno(), sys.stdout.fileno(), interrupts, session.hear)
    return session.report()


class _Session:
    """The one client on standard input, and what it has said so far."""

    def __init__(self, player: Player, faults: Faults) -> None:
        self._player = player
        self._faults = faults
        self._state = player.start()

    def hear(self, item: Frame | Noise | Overlong) -> Iterator[tuple[float, bytes | None]]:
        """What is to be sent because of a line."""
        if not isinstance(item, Frame):
            self._state, sent = respond_to_noise(self._state, item)
        else:
            try:
                with _PATTERN_LIMIT:
                    self._state, sent = respond(self._player, self._state, item.value)
            except (PatternTimeoutError, CheckError) as error:
                self._state, sent = give_up(self._state, item.value, error)
        return deliver(self._faults, sent)

    def report(self) -> MockReport:
        return self._player.report(self._state)


COMMAND = Command(
    name="mcptest mock",
    summary="Be the server that a contract describes, on stdio or over HTTP.",
    usage="mcptest mock FILE… [options]",
    details="FILE holds cases, which are played in written order, or is a capture, or a\n"
    "manifest with tools, resources and prompts. Start it as a client starts any server on\n"
    "stdio, or with --http as a server for any number of clients. When the client leaves, or\n"
    "on Ctrl-C, what was exercised, missed and called wrongly is told on standard error.",
    options=(
        Option(
            names=("--http",),
            value="PORT",
            help="serve Streamable HTTP on this machine, at http://127.0.0.1:PORT/mcp; with 0 "
            "at a free port, which is told on standard error",
        ),
        Option(names=("--once",), help="answer each case one time only; a second time is an error"),
        Option(
            names=("--latency",),
            value="[METHOD=]TIME",
            repeatable=True,
            help='wait this long, as 500, "500ms" or "2s", before every answer, or before '
            "those to one method",
        ),
        Option(
            names=("--fault",),
            value="METHOD=KIND",
            repeatable=True,
            help="break the answers to a method, or with * to all: hang, drop (the connection), "
            "error, slow:TIME or malformed",
        ),
        Option(names=("--report",), value="FILE", help="write what the client did as JSON"),
        Option(
            names=("--verify",),
            help="exit with 1 when a case was missed or a call was wrong",
        ),
        Option(names=("-q", "--quiet"), help="tell nothing on standard error at the end"),
    ),
    examples=(
        "mcptest mock contract_test.yaml",
        "mcptest mock contract_test.yaml --verify --report client.json",
        "mcptest mock contract_test.yaml --http 8000",
        "mcptest mock contract_test.yaml --latency 200 --fault tools/call=hang",
        "mcptest call greet who=you -- mcptest mock manifest.yaml",
    ),
    run=mock,
)
