"""`mcptest security`: look for what can harm the users of a server."""

from __future__ import annotations

import os
import sys

from mcptest import __version__
from mcptest.cli.one_server import print_fault, print_note
from mcptest.cli.options import COLOR_OPTIONS, Command, Option, check_choice, parse_color
from mcptest.cli.output import StandardOutput, hide_secrets, wants_colour, write_stderr
from mcptest.cli.report_files import check_writable, write_file
from mcptest.cli.shared_options import (
    SERVER_DETAILS,
    SERVER_OPTIONS,
    choose_servers,
    find_server_file,
    find_suite,
    parse_seconds,
)
from mcptest.core.diagnostics import suggest
from mcptest.core.errors import RefusedError, ServerError, UsageError
from mcptest.core.results import ExitCode
from mcptest.core.secrets import redact_all, redactor
from mcptest.core.security import SEVERITIES, BaselineEntry
from mcptest.core.text import ci_variable, plural, visible
from mcptest.engine.pool import SingleServer
from mcptest.engine.server import launching
from mcptest.engine.test_files import read_text
from mcptest.formats.lane_files import read_baseline, read_hints, write_baseline
from mcptest.reporters.security import FORMATS, render_rules, render_scan
from mcptest.reporters.style import Paint, narrow_encoding
from mcptest.security.rules import RULES
from mcptest.security.run import Scanner, ScanOptions
from mcptest.transport import utc_now
from mcptest.transport.process.signals import Interrupts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mcptest.cli.options import Arguments
    from mcptest.core.plan import ServerSpec
    from mcptest.core.results import Fault
    from mcptest.core.security import ScanReport

__all__ = ["COMMAND", "security"]

# A tool that answers in more time is given up; there may be many calls.
_TIMEOUT_S = 10.0
_TOTAL_S = 300.0


def security(arguments: Arguments) -> int:
    """Scan the servers and show the report; return the exit code."""
    if arguments.has("--list"):
        rules = [(rule.id, rule.severity, rule.confidence, rule.title) for rule in RULES.values()]
        StandardOutput().write(render_rules(rules, _paint(arguments)))
        return ExitCode.PASSED
    options = _parse_options(arguments)
    format = check_choice("--format", arguments.last("--format", "text"), FORMATS)
    if arguments.has("--output"):
        check_writable(arguments.last("--output"))
    entries = _load_baseline(arguments)
    specs = choose_servers(arguments)
    if not arguments.has("--timeout"):
        specs = [spec.but(timeout_s=min(spec.timeout_s, _TIMEOUT_S)) for spec in specs]
    report, faults = _scan(specs, options)
    for fault in faults:
        print_fault(fault, arguments)
    if report is None:
        return ExitCode.NO_SERVER
    others: tuple[BaselineEntry, ...] = ()
    if arguments.has("--server"):
        # Entries about servers that were not scanned are neither used nor stale.
        names = {"", *(server.name for server in report.servers)}
        others = tuple(each for each in entries if each.server not in names)
        entries = tuple(each for each in entries if each.server in names)
    is_written = arguments.has("--write-baseline") and _write_new_baseline(
        arguments.last("--baseline"), report, entries, others
    )
    report = report.with_baseline(() if is_written else entries)
    _write(report, format, arguments)
    return _exit_code(report, faults, is_written=is_written)


def _exit_code(report: ScanReport, faults: list[Fault], *, is_written: bool) -> int:
    """The exit code; `is_written` says that a new baseline was written."""
    if report.interrupted:
        write_stderr("interrupted; the servers were stopped, and the report is not complete\n")
        return ExitCode.INTERRUPTED
    if faults:
        return ExitCode.NO_SERVER
    if report.passed and not any(rule.status == "ran" for rule in report.rules):
        write_stderr("error: no rule was applied; the report says why\n")
        return ExitCode.NOTHING_SELECTED
    # A new baseline accepts findings, not what could not be judged.
    is_passed = report.passed or (is_written and not report.unread)
    return ExitCode.PASSED if is_passed else ExitCode.FAILED


def _scan(specs: list[ServerSpec], options: ScanOptions) -> tuple[ScanReport | None, list[Fault]]:
    """The report, None if there is none; and why servers could not be started."""
    secrets = [secret for spec in specs for secret in spec.secrets]
    hide_secrets(secrets)
    progress = _Progress(specs)
    with (
        Interrupts() as interrupts,
        launching(interrupts, None, judges=False, while_waiting=None) as launcher,
    ):
        scanner = Scanner(
            lambda spec: SingleServer(spec, launcher, lambda: None),
            options,
            progress.show,
            utc_now(),
        )
        try:
            scanner.run(specs)
            report, faults = scanner.report(), scanner.faults
        except ServerError as error:
            report, faults = None, [error.fault]
        finally:
            progress.clear()
    # Errors over HTTP may repeat what they were sent.
    redact = redactor(secrets)
    return redact_all(report, redact), redact_all(faults, redact)


class _Progress:
    """A line on a terminal that says what is being done."""

    def __init__(self, specs: list[ServerSpec]) -> None:
        self._is_wanted = sys.stderr.isatty()
        self._name = visible(specs[0].name) if len(specs) == 1 else plural(len(specs), "server")

    def show(self, text: str) -> None:
        if self._is_wanted:
            write_stderr(f"\r\x1b[Kscanning {self._name}: {text} …"[:200])

    def clear(self) -> None:
        if self._is_wanted:
            write_stderr("\r\x1b[K")


# Options


def _parse_options(arguments: Arguments) -> ScanOptions:
    if arguments.paths:
        message = f"mcptest security takes no {visible(arguments.paths[0])!r}"
        raise UsageError(message, "the command that starts the server comes after --")
    root = ""
    if arguments.has("--hints"):
        file = arguments.last("--hints")
        # The same file serves `mcptest compliance run`, which uses all of it.
        root = read_hints(_read(file, "--hints"), file, os.environ).values.get("file_root") or ""
        root = os.path.join(os.path.dirname(file), os.path.expanduser(root)) if root else ""
        if root and not os.path.isdir(root):
            raise UsageError(f"file_root of {visible(file)} is not a folder: {visible(root)}")
    if root and not arguments.has("--probe-tools"):
        print_note("file_root of --hints is used by --probe-tools only")
    tools = [name for word in arguments.all("--probe-tools") for name in word.split(",") if name]
    only, skip = _parse_ids(arguments, "--only"), _parse_ids(arguments, "--skip")
    if skip >= (only or RULES.keys()):
        raise UsageError("--only and --skip leave no rule", "mcptest security --list shows them")
    return ScanOptions(
        only=only,
        skip=skip,
        probe_tools=tuple(dict.fromkeys(tools)),
        file_root=os.path.abspath(root) if root else "",
        remote_probes=arguments.has("--remote-probes"),
        fail_on=check_choice(
            "--fail-on", arguments.last("--fail-on", "high"), (*SEVERITIES, "never")
        ),
        total_timeout_s=parse_seconds(arguments, "--total-timeout") or _TOTAL_S,
    )


def _parse_ids(arguments: Arguments, option: str) -> frozenset[str]:
    words = [word.upper() for value in arguments.all(option) for word in value.split(",")]
    for word in words:
        if word not in RULES:
            message = f"{option}: there is no rule {visible(word)!r}{suggest(word, RULES)}"
            raise UsageError(message, "mcptest security --list shows them")
    return frozenset(words)


def _load_baseline(arguments: Arguments) -> tuple[BaselineEntry, ...]:
    is_written = arguments.has("--write-baseline")
    if is_written and not arguments.has("--baseline"):
        raise UsageError("--write-baseline needs --baseline FILE: the file to write")
    if not arguments.has("--baseline"):
        return ()
    file = arguments.last("--baseline")
    if is_written:
        if variable := ci_variable(os.environ):
            message = f"--write-baseline is refused in CI ({variable} is set): no one reviews it"
            raise RefusedError(message, "run it on your machine, and commit the file")
        check_writable(file)
        if not os.path.exists(file):
            return ()
    return read_baseline(_read(file, "--baseline"), file, needs_reasons=not is_written)


def _read(file: str, option: str) -> str:
    if not os.path.exists(file):
        raise UsageError(f"{option}: there is no file {visible(file)!r}")
    return read_text(file)


# Output


def _write_new_baseline(
    file: str,
    report: ScanReport,
    entries: tuple[BaselineEntry, ...],
    others: tuple[BaselineEntry, ...],
) -> bool:
    """Accept all findings; those that were accepted before keep their reasons.

    Entries about what was not judged are kept, and all `others`. False if the scan was
    interrupted: then nothing is written.
    """
    if report.interrupted:
        print_note(f"{visible(file)} is not written: the scan was interrupted")
        return False
    checked = report.with_baseline(entries)
    names_servers = len(report.servers) > 1 or bool(others)
    fresh = [
        BaselineEntry(
            id=finding.id,
            path=finding.path,
            fingerprint=finding.fingerprint,
            reason=reason,
            server=finding.server if names_servers else "",
        )
        for finding, reason in (*((each, "") for each in checked.findings), *checked.accepted)
    ]
    fresh += [
        each
        for each in entries
        if each not in checked.stale and not report.with_baseline([each]).accepted
    ]
    fresh += others
    write_file(file, write_baseline(fresh))
    empty = sum(not entry.reason for entry in fresh)
    print_note(f"wrote {visible(file)} with {plural(len(fresh), 'finding')}")
    if empty:
        print_note(f"give a reason for {empty:,} of them before the file is used")
    return True


def _write(report: ScanReport, format: str, arguments: Arguments) -> None:
    target = arguments.last("--output")
    paint = Paint(on=False) if target else _paint(arguments)
    encoding = "" if target else narrow_encoding(sys.stdout)
    config = find_server_file(arguments)
    # The file that describes the server; a server that is given in words has none.
    place = config or find_suite(config) or "mcptest-security"
    text = render_scan(report, format, paint, encoding, place, __version__)
    if target:
        write_file(target, text)
    elif format == "text":
        StandardOutput().write(text)
    else:
        StandardOutput().write_utf8(text)


def _paint(arguments: Arguments) -> Paint:
    return Paint(on=wants_colour(parse_color(arguments)))


COMMAND = Command(
    name="mcptest security",
    summary="Look for what can harm the users of a server: hostile definitions, open endpoints.",
    usage="mcptest security [options] [-- COMMAND…]",
    details="The tools, prompts, resources and instructions of the server are read and judged by "
    "fixed rules, without a model and without any network but the server itself. Tools are called "
    "only if their readOnlyHint is true and they need no arguments. A config or suite with several "
    f"servers is scanned as a whole. {SERVER_DETAILS} Exit code 1: there is a finding at or above "
    "--fail-on, a stale entry in the baseline, or definitions that could not be read whole.",
    options=(
        Option(
            names=("--fail-on",),
            value="SEVERITY",
            choices=(*SEVERITIES, "never"),
            help="lowest severity that fails: critical, high, medium, low or never (default: high)",
        ),
        Option(
            names=("--only",), value="ID", repeatable=True, help="apply only this rule; repeatable"
        ),
        Option(names=("--skip",), value="ID", repeatable=True, help="leave out this rule"),
        Option(
            names=("--baseline",),
            value="FILE",
            help="accept the findings in this file; entries that match nothing fail the scan",
        ),
        Option(
            names=("--write-baseline",),
            help="write the findings to the file of --baseline; refused in CI",
        ),
        Option(
            names=("--probe-tools",),
            value="NAME",
            repeatable=True,
            help="call this tool with hostile arguments (SEC-030 to SEC-033), watching for effects "
            "in harmless places; repeatable",
        ),
        Option(
            names=("--hints",),
            value="FILE",
            help="file with file_root: the folder below which tools may read (default: the working "
            "folder of the server)",
        ),
        Option(
            names=("--remote-probes",),
            help="send requests with a foreign Origin and Host also to servers on other machines",
        ),
        Option(
            names=("--format",),
            value="NAME",
            choices=FORMATS,
            help=f"{', '.join(FORMATS[:-1])} or {FORMATS[-1]} (default: text)",
        ),
        Option(
            names=("-o", "--output"),
            value="FILE",
            help="write the report to this file (default: standard output)",
        ),
        Option(
            names=("--total-timeout",),
            value="SECONDS",
            help='time limit for the whole scan: 300, "10m" (default: 300)',
        ),
        Option(names=("--list",), help="list all rules"),
        *SERVER_OPTIONS,
        *COLOR_OPTIONS,
    ),
    examples=(
        "mcptest security -- python3 server.py",
        "mcptest security --url http://127.0.0.1:3001/mcp --format sarif -o security.sarif",
        "mcptest security --probe-tools read_file --hints hints.yml -- python3 server.py data",
    ),
    run=security,
    takes_command=True,
)
