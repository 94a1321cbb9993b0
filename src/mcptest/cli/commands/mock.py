"""`mcptest mock`: serve a contract, a capture or a manifest, and report what the client did."""

from __future__ import annotations

import os
import re
import sys
import time

from mcptest.cli.options import Command, Option
from mcptest.cli.output import write_stderr
from mcptest.cli.report_files import check_writable, refuse_clashes, write_file
from mcptest.core.diagnostics import render_diagnostic
from mcptest.core.errors import FormatError, NothingSelectedError, UsageError
from mcptest.core.results import ExitCode
from mcptest.core.text import visible
from mcptest.engine.loading import PlaceholderEnvironment
from mcptest.engine.test_files import SuiteFolders, read_text, suggest_name
from mcptest.formats.cases import load_cases
from mcptest.matching.registry import builtin_registry
from mcptest.mock.contract import RECORDED, build_contract
from mcptest.mock.faults import deliver, parse_faults
from mcptest.mock.manifest import ManifestPlayer, kind_of_file, load_manifest, merge_manifests
from mcptest.mock.player import ContractPlayer
from mcptest.mock.respond import end_subscriptions, respond, respond_to_noise
from mcptest.mock.session import render_report, render_summary
from mcptest.protocol.framing import Frame, encode_line
from mcptest.transport import refuse_windows
from mcptest.transport.line_server import serve_lines
from mcptest.transport.process.signals import CpuLimit, Interrupts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from mcptest.cli.options import Arguments
    from mcptest.core.diagnostics import Diagnostic
    from mcptest.core.plan import Suite
    from mcptest.mock.faults import Faults
    from mcptest.mock.manifest import Manifest
    from mcptest.mock.respond import Player
    from mcptest.mock.session import MockReport
    from mcptest.protocol.framing import Noise, Overlong

    Server = Callable[[Player, Faults, Interrupts], MockReport]

__all__ = ["COMMAND", "mock"]

# Time limits for patterns: on messages of a client, and when examples are generated.
_MATCH_LIMIT = CpuLimit(2.0)
_LOAD_LIMIT = CpuLimit(1.0)

# All waits are short, so a signal that has not ended the mock by then never will.
_PATIENCE_S = 10.0

_MAX_PORT = 65_535

_CASE_KEY = re.compile(r"case\s*:|(?:in|out)\w*\s*:")


def mock(arguments: Arguments) -> int:
    """Serve until the client leaves; return the exit code."""
    if not arguments.paths:
        message = "mcptest mock needs a file: cases, a capture or a manifest"
        raise UsageError(message, "for example mcptest mock server.cases.yaml")
    file = arguments.last("--report")
    if arguments.has("--report"):
        refuse_clashes([file], arguments)
        check_writable(file)
    player, warnings = _load_player(arguments.paths, is_once=arguments.has("--once"))
    faults = parse_faults(arguments.all("--latency"), arguments.all("--fault"), player.methods)
    for warning in warnings:
        write_stderr(render_diagnostic(warning) + "\n\n")
    is_quiet = arguments.has("--quiet")
    serve: Server = _serve_pipes
    if arguments.has("--http"):
        serve = _http_server(arguments.last("--http"))
    else:
        refuse_windows("serving on standard input", "serve over HTTP with --http PORT")
    if serve is _serve_pipes and sys.stdin.isatty() and not is_quiet:
        write_stderr("mcptest mock: waiting for a client on standard input; Ctrl-D ends it\n")
    with Interrupts(_PATIENCE_S) as interrupts:
        report = serve(player, faults, interrupts)
        if file:
            write_file(file, render_report(report))
        if not is_quiet:
            write_stderr(render_summary(report))
    is_broken = arguments.has("--verify") and not report.is_kept
    return ExitCode.FAILED if is_broken else ExitCode.PASSED


def _serve_pipes(player: Player, faults: Faults, interrupts: Interrupts) -> MockReport:
    """Serve the one client on standard input and output."""
    session = player.start()

    def receive(item: Frame | Noise | Overlong) -> Iterator[tuple[float, bytes | None]]:
        if isinstance(item, Frame):
            sent = respond(player, session, item.value, _MATCH_LIMIT)
        else:
            sent = respond_to_noise(session, item)
        return deliver(faults, sent)

    def last_lines() -> Iterator[bytes]:
        return (encode_line(each.message) for each in end_subscriptions(player, session))

    source, sink = sys.stdin.fileno(), sys.stdout.fileno()
    serve_lines(source, sink, interrupts, receive, last_lines)
    return player.report(session)


def _http_server(word: str) -> Server:
    """A function that serves at a port until a signal. UsageError if it cannot listen there."""
    import secrets  # noqa: PLC0415  # not needed on stdio

    from mcptest.mock.http import ENDPOINT, HttpMock  # noqa: PLC0415  # not needed on stdio
    from mcptest.transport.http.server import open_listener, serve_http  # noqa: PLC0415  # not needed on stdio

    port = int(word) if word.isascii() and word.isdigit() and len(word) <= 5 else -1
    if not 0 <= port <= _MAX_PORT:
        help = "for example --http 8000; with 0 a free one is taken"
        raise UsageError(f"--http takes a port from 0 to {_MAX_PORT}, not {visible(word)!r}", help)
    listener = open_listener(port)

    def serve(player: Player, faults: Faults, interrupts: Interrupts) -> MockReport:
        mock = HttpMock(player, faults, lambda: secrets.token_urlsafe(32), _MATCH_LIMIT)
        address = f"http://127.0.0.1:{listener.getsockname()[1]}{ENDPOINT}"
        write_stderr(f"mcptest mock: listening on {address}\n")
        serve_http(listener, interrupts, mock)
        return mock.report()

    return serve


def _load_player(paths: Sequence[str], *, is_once: bool) -> tuple[Player, list[Diagnostic]]:
    """A player for these files, and warnings. FormatError lists every mistake in them."""
    files = _Files(SuiteFolders(paths))
    seen: set[str] = set()
    for path in paths:
        if os.path.isdir(path):
            raise UsageError(f"{visible(path)} is a folder", "name the files to play")
        if not os.path.lexists(path):
            raise UsageError(f"there is no file {visible(path)!r}{suggest_name(path)}")
        # A file that is given twice is used once.
        if os.path.realpath(path) not in seen:
            seen.add(os.path.realpath(path))
            files.read(path)
    if files.mistakes:
        raise FormatError([*files.mistakes, *files.warnings])
    if files.manifests and files.suites:
        raise UsageError(
            "a manifest and cases cannot be played together",
            "several manifests can, and so can several files of cases or captures",
        )
    if files.manifests:
        if is_once:
            raise UsageError("--once is for cases: what a manifest offers is always there")
        return ManifestPlayer(merge_manifests(files.manifests)), files.warnings
    contract = build_contract(files.suites, _LOAD_LIMIT)
    if not contract.cases:
        raise NothingSelectedError(
            "every case in these files is skipped, so nothing is left to play"
        )
    return ContractPlayer(contract, is_once=is_once), files.warnings


class _Files:
    """The files read so far."""

    def __init__(self, folders: SuiteFolders) -> None:
        self._folders = folders
        self._registry = builtin_registry(time.time)
        self.suites: list[Suite] = []
        self.manifests: list[Manifest] = []
        self.mistakes: list[Diagnostic] = []
        self.warnings: list[Diagnostic] = []

    def read(self, path: str) -> None:
        text = read_text(path)
        try:
            kind = kind_of_file(text)
            if kind == "manifest":
                manifest, warnings = load_manifest(text, path, self._registry)
                self.manifests.append(manifest)
            elif kind == "capture" or _is_log(text):
                from mcptest.traffic import contract_text  # noqa: PLC0415  # only for recordings

                suite, warnings = self._load(contract_text(text, path, keep_values=True), path)
                # Line numbers in the generated text mean nothing to a user.
                cases = tuple(case.but(line=1) for case in suite.cases)
                self.suites.append(suite.but(format=RECORDED, cases=cases))
            else:
                suite, warnings = self._load(text, path)
                self.suites.append(suite)
            self.warnings += warnings
        except FormatError as error:
            self.mistakes += error.diagnostics

    def _load(self, text: str, path: str) -> tuple[Suite, tuple[Diagnostic, ...]]:
        return load_cases(
            text,
            path,
            self._registry,
            # No server is started, whatever the file says about one.
            PlaceholderEnvironment(os.environ),
            self._folders.reader_beside(path),
            for_mock=True,
            bounded=_LOAD_LIMIT,
        )


def _is_log(text: str) -> bool:
    """True if a text is a log of messages, which is played like a capture."""
    # Comments may quote messages.
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    for line in lines:
        if _CASE_KEY.match(line):
            return False
        if "{" in line and not line[0].isspace():
            from mcptest.traffic import is_traffic  # noqa: PLC0415  # not for plain cases

            return is_traffic("\n".join(lines))
    return False


COMMAND = Command(
    name="mcptest mock",
    summary="Serve a contract, a capture or a manifest, on stdio or over HTTP.",
    usage="mcptest mock FILE… [options]",
    details="FILE is a contract, whose cases are played in written order, a capture, or a manifest "
    "with tools, resources and prompts. A client starts the mock like any server on stdio; with "
    "--http it serves any number of clients. When the client leaves, or on Ctrl-C, a report on "
    "standard error lists exercised, missed and wrong calls.",
    options=(
        Option(
            names=("--http",),
            value="PORT",
            help="serve Streamable HTTP at http://127.0.0.1:PORT/mcp; 0 takes a free port, which "
            "is printed on standard error",
        ),
        Option(names=("--once",), help="answer each case only once; a repeated call is an error"),
        Option(
            names=("--latency",),
            value="[METHOD=]TIME",
            repeatable=True,
            help='delay every answer, or those to one method, by this time: 500, "500ms" or "2s"',
        ),
        Option(
            names=("--fault",),
            value="METHOD=KIND",
            repeatable=True,
            help="break the answers to a method, or with * all answers: hang, drop (the "
            "connection), error, slow:TIME or malformed",
        ),
        Option(names=("--report",), value="FILE", help="write the report as JSON"),
        Option(
            names=("--verify",),
            help="exit with 1 if a case was missed or a call was wrong",
        ),
        Option(names=("-q", "--quiet"), help="print no report on standard error"),
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
