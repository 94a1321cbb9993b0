"""`mcptest compliance run`: check a live server against the specification.

`check_actively` runs the same checks for the lane `compliance` of a suite.
"""

from __future__ import annotations

import os
import re
import shlex
import sys
import time

from mcptest import __version__
from mcptest.cli.one_server import print_fault, print_note, print_stderr
from mcptest.cli.options import COLOR_OPTIONS, Command, Option, check_choice, parse_color
from mcptest.cli.output import (
    StandardOutput,
    hide_secrets,
    terminal_columns,
    wants_colour,
    write_stderr,
)
from mcptest.cli.report_files import check_writable, refuse_clashes, write_file
from mcptest.cli.shared_options import (
    CONFIG_OPTION,
    ENV_FILE_OPTION,
    HTTP_OPTIONS,
    SERVER_COMMAND_OPTION,
    SERVER_DETAILS,
    SERVER_NAME_OPTION,
    START_TIMEOUT_OPTION,
    choose_server,
    find_server_file,
    parse_seconds,
)
from mcptest.compliance.check import Check
from mcptest.compliance.checks import CHECKS
from mcptest.compliance.report import (
    GRADES,
    Grade,
    Judgement,
    best_profiles,
    build_report,
    find_reference,
    load_profiles,
)
from mcptest.compliance.run import Run, Settings, check_server
from mcptest.core.diagnostics import suggest
from mcptest.core.errors import InterruptedRunError, ServerError, UsageError
from mcptest.core.results import ExitCode, Mismatch
from mcptest.core.secrets import redact_all, redactor
from mcptest.core.text import visible
from mcptest.engine.server import launching
from mcptest.engine.test_files import is_suite_name, read_text
from mcptest.explore.credentials import CredentialHider
from mcptest.formats.lane_files import read_expected_failures, read_hints
from mcptest.protocol.revisions import REVISIONS
from mcptest.reporters.compliance import (
    render_badge,
    render_html,
    render_json,
    render_junit,
    render_markdown,
    render_sarif_report,
    render_text,
)
from mcptest.reporters.style import NO_COLOUR, Paint, narrow_encoding
from mcptest.rules.all_rules import RULES
from mcptest.rules.rule import Rule, family_of
from mcptest.transport import utc_now
from mcptest.transport.process.signals import Interrupts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mcptest.cli.options import Arguments
    from mcptest.core.compliance import CheckResult, ComplianceReport
    from mcptest.core.plan import ServerSpec
    from mcptest.core.results import Fault
    from mcptest.engine.server import Launcher

__all__ = ["RUN_COMMAND", "check_actively"]

_FORMATS = ("text", "json", "junit", "sarif", "html", "markdown", "badge")

# Shorter than in a run: a server that answers at all answers these requests at once.
_TIMEOUT_S = 5.0
# The server is started many times; once slowly must not look like a failure.
_START_TIMEOUT_S = 10.0
_TOTAL_S = 300.0

# The options that the command which repeats one check must have, too.
_TARGET_OPTIONS = (
    *("--config", "--server", "--server-command", "--url", "--bearer-env", "--header-env"),
    *("--ca-file", "--hints", "--allow-tool", "--remote-probes", "--timeout", "--start-timeout"),
)

# The options that go with --from-suite, and the reporter of `mcptest run` for each format.
_SUITE_OPTIONS = (
    "--from-suite",
    "--env-file",
    "--format",
    "--output",
    "--color",
    "--no-color",
    "--verbose",
)
_REPORTERS = {name: name for name in ("json", "junit", "sarif", "html", "markdown")}


def _check_live_server(arguments: Arguments) -> int:
    """Check a server, and write the report; return the exit code."""
    if arguments.paths:
        message = f"mcptest compliance run takes no {visible(arguments.paths[0])!r}"
        raise UsageError(message, "the command that starts the server comes after --")
    format = check_choice("--format", arguments.last("--format", "text"), _FORMATS)
    if arguments.has("--list"):
        StandardOutput().write(_render_list())
        return ExitCode.PASSED
    if arguments.has("--from-suite"):
        return _run_lane(arguments, format)
    target = _output_file(arguments)
    settings, judgement = _parse_settings(arguments), _parse_judgement(arguments)
    least = _parse_min_grade(arguments, settings)
    settings, spec = _choose_server(arguments, settings)
    report, fault = _check(spec, settings, judgement)
    if fault:
        print_fault(fault, arguments)
        if format == "text" and not target:
            return ExitCode.NO_SERVER
    text = _render(report, format, arguments, spec, fault, is_file=bool(target))
    if target:
        write_file(target, text)
    elif format == "text":
        StandardOutput().write(text)
    else:
        StandardOutput().write_utf8(text)
    return _exit_code(report, fault, least, must_complete=arguments.has("--require-complete"))


def _choose_server(arguments: Arguments, settings: Settings) -> tuple[Settings, ServerSpec]:
    """The server with the limits of this command, and the settings with what it says."""
    # How sessions are opened is decided by the checks.
    plain = {name: value for name, value in arguments.given.items() if name != "--spec-version"}
    spec = choose_server(arguments.but(given=plain))
    settings, spec = _add_hints(arguments, settings, spec)
    # What looks like a credential in the command and the URL, which reports quote.
    hider = CredentialHider(os.environ, os.path.isfile)
    hider.hide_args(spec.command[1:])
    if spec.http:
        hider.hide_url(spec.http.url)
    credentials = [credential.value for credential in hider.found.values()]
    spec = spec.but(secrets=(*spec.secrets, *credentials))
    if not arguments.has("--timeout"):
        spec = spec.but(timeout_s=_TIMEOUT_S)
    if not arguments.has("--start-timeout"):
        spec = spec.but(startup_timeout_s=max(spec.startup_timeout_s, _START_TIMEOUT_S))
    if spec.spec_version and not settings.version:
        settings = settings.but(version=spec.spec_version)
    return settings, spec


def _exit_code(
    report: ComplianceReport, fault: Fault | None, least: str, *, must_complete: bool
) -> int:
    if report.interrupted:
        return ExitCode.INTERRUPTED
    if fault or not report.revisions:
        return ExitCode.NO_SERVER
    if least and Grade(letter=report.grade).is_below(least):
        write_stderr(f"error: the grade is {report.grade}, and --min-grade is {least}\n")
        return ExitCode.GATE_MISSED
    is_open = any(check.verdict == "could_not_run" for check in report.checks)
    if must_complete and is_open:
        write_stderr("error: checks could not run, and --require-complete is given\n")
        return ExitCode.GATE_MISSED
    if report.failures or report.problems:
        return ExitCode.FAILED
    if all(check.verdict in ("not_applicable", "could_not_run") for check in report.checks):
        write_stderr("error: no check was made; the report says why\n")
        return ExitCode.NOTHING_SELECTED
    return ExitCode.PASSED


# Options


def _parse_settings(arguments: Arguments) -> Settings:
    version = arguments.last("--spec-version", "auto")
    if version not in ("auto", "all", *REVISIONS):
        known = f"--spec-version takes auto, all or one of {', '.join(REVISIONS)}"
        raise UsageError(f"{known}, not {visible(version)!r}")
    settings = Settings(
        version="" if version == "auto" else version,
        only=_parse_ids(arguments, "--only"),
        skip=_parse_ids(arguments, "--skip"),
        level=check_choice("--level", arguments.last("--level", "should"), ("must", "should")),
        allowed_tools=tuple(arguments.all("--allow-tool")),
        remote_probes=arguments.has("--remote-probes"),
        total_timeout_s=parse_seconds(arguments, "--total-timeout") or _TOTAL_S,
        target=_target(arguments),
    )
    if not any(settings.selects(id, "MUST") for id in _all_ids()):
        hint = "mcptest compliance run --list shows them"
        raise UsageError("--only and --skip leave no check", hint)
    return settings


def _all_ids() -> set[str]:
    ids = {check.id for check in CHECKS}
    return ids | {rule.id for rule in RULES if family_of(rule.id) != "INV"}


def _parse_ids(arguments: Arguments, option: str) -> tuple[str, ...]:
    """The ids and families that an option names, in upper case."""
    ids = _all_ids()
    families = {family_of(id) for id in ids}
    names = [word for text in arguments.all(option) for word in text.upper().split(",")]
    for name in names:
        if name not in ids and name not in families:
            question = suggest(name, sorted(ids | families))
            raise UsageError(
                f"{option}: there is no check and no family {visible(name)!r}{question}",
                f"the families are {', '.join(sorted(families))}",
            )
    return tuple(names)


def _parse_judgement(arguments: Arguments) -> Judgement:
    wanted, known = arguments.all("--profile"), load_profiles()
    for id in wanted:
        check_choice("--profile", id, known)
    file = arguments.last("--expected-failures")
    expected = read_expected_failures(read_text(file), file, _all_ids()) if file else ()
    return Judgement(profiles=best_profiles(wanted), expected=expected, today=utc_now()[:10])


def _parse_min_grade(arguments: Arguments, settings: Settings) -> str:
    if not arguments.has("--min-grade"):
        return ""
    least = check_choice("--min-grade", arguments.last("--min-grade"), GRADES)
    for option, is_given in (
        ("--only", settings.only),
        ("--skip", settings.skip),
        ("--level must", settings.level == "must"),
    ):
        if is_given:
            message = f"there is no grade for a part of the checks: --min-grade and {option}"
            raise UsageError(message, "give one of them")
    return least


def _add_hints(
    arguments: Arguments, settings: Settings, spec: ServerSpec
) -> tuple[Settings, ServerSpec]:
    """The settings with the hints of the file, and the server with the secrets among them."""
    file = arguments.last("--hints")
    if not file:
        return settings, spec
    hints = read_hints(read_text(file), file, os.environ)
    root = hints.values.get("file_root")
    if root:
        # Relative to the file, like paths in configs.
        folder = os.path.dirname(os.path.abspath(file))
        hints = hints.but(values=hints.values | {"file_root": os.path.join(folder, root)})
    token = hints.values.get("token")
    if token and arguments.has("--bearer-env"):
        message = "--bearer-env and token in the file of --hints both give a token"
        raise UsageError(message, "give one of them")
    if token and spec.http:
        headers = {**(spec.http.headers or {}), "Authorization": f"Bearer {token}"}
        spec = spec.but(http=spec.http.but(headers=headers))
    secrets = (*spec.secrets, *hints.secrets)
    return settings.but(hints=hints.values), spec.but(secrets=secrets)


def _target(arguments: Arguments) -> str:
    """The part of the command line that names the server and how it is checked."""
    command = ("--", *arguments.command) if arguments.command else ()
    return shlex.join([*arguments.words(_TARGET_OPTIONS), *command])


def _output_file(arguments: Arguments) -> str:
    """The file to write the report to, "" for standard output."""
    file = arguments.last("--output", "-")
    if file == "-":
        return ""
    check_writable(file)
    refuse_clashes([file], arguments)
    return file


# The run


def _check(
    spec: ServerSpec, settings: Settings, judgement: Judgement
) -> tuple[ComplianceReport, Fault | None]:
    """Run the checks; return the report, and the fault if the server cannot be started."""
    hide_secrets(spec.secrets)
    redact = redactor(spec.secrets)
    progress = _Progress(spec.name)
    started_at, began = utc_now(), time.monotonic()
    fault: Fault | None = None
    with Interrupts() as interrupts, launching(interrupts, None, judges=False) as launcher:
        run = Run(spec, launcher, settings, progress.show)
        try:
            check_server(run)
        except ServerError as error:
            fault = redact_all(error.fault, redact)
        finally:
            run.close()
            progress.clear()
    if spec.http and spec.http.insecure_tls:
        print_note("the certificate of the server was not checked, as its settings ask")
    if not (run.spoken or run.is_interrupted):
        print_stderr(redact(run.stderr))
    report = build_report(run, judgement, started_at, time.monotonic() - began)
    return redact_all(report, redact), fault


class _Progress:
    """A line on a terminal with the check that runs, cleared before other output."""

    def __init__(self, name: str) -> None:
        self._is_wanted = sys.stderr.isatty()
        self._name = visible(name)
        self._began = time.monotonic()

    def show(self, what: str) -> None:
        if self._is_wanted:
            elapsed_s = time.monotonic() - self._began
            text = f"checking {self._name}: {visible(what)} ({elapsed_s:.0f} s)"
            write_stderr(f"\r\x1b[K{text[: (terminal_columns() or 80) - 1]}")

    def clear(self) -> None:
        if self._is_wanted:
            write_stderr("\r\x1b[K")


def _render(
    report: ComplianceReport,
    format: str,
    arguments: Arguments,
    spec: ServerSpec,
    fault: Fault | None,
    *,
    is_file: bool,
) -> str:
    if format == "json":
        return render_json(report, __version__, fault)
    if format == "junit":
        return render_junit(report, fault)
    if format == "sarif":
        # Findings are located at the config, or at the program.
        words = (word for word in spec.command[1:] if os.path.isfile(word))
        file = find_server_file(arguments) or next(words, "")
        return render_sarif_report(report, file, __version__)
    if format == "html":
        return render_html(report, __version__)
    if format == "markdown":
        return render_markdown(report)
    if format == "badge":
        return render_badge(report)
    is_verbose = arguments.has("--verbose")
    if is_file:
        return render_text(report, NO_COLOUR, is_verbose=is_verbose)
    paint = Paint(on=wants_colour(parse_color(arguments)))
    encoding = narrow_encoding(sys.stdout)
    return render_text(report, paint, encoding, terminal_columns(), is_verbose=is_verbose)


def _render_list() -> str:
    """All checks and rules, with what the specification says of them."""
    oldest, *_, newest = REVISIONS
    entries: list[Check | Rule] = [*CHECKS, *(r for r in RULES if family_of(r.id) != "INV")]
    lines = []
    # A rule and a check may share an id.
    for entry in sorted(entries, key=lambda each: (each.id, isinstance(each, Rule))):
        level = f"MUST since {entry.must_since}" if entry.must_since else entry.level
        way = "passive"
        if isinstance(entry, Check):
            way = f"active, needs {entry.hint}" if entry.hint else "active"
        span = f"{entry.since or oldest} to {entry.until or newest}"
        reference = find_reference(entry, entry.until or newest)
        lines.append(f"{entry.id:<10} {level:<7} {span}  {way}")
        lines.append(f"{'':11}{entry.property}")
        lines.append(f"{'':11}{reference.page}, {reference.section}")
    return "\n".join(lines) + "\n"


# Suites


def _run_lane(arguments: Arguments, format: str) -> int:
    """Run the lane `compliance` of a suite, and nothing else of it."""
    from mcptest.cli.commands.run import run  # noqa: PLC0415  # only for suites

    others = [name for name in arguments.given if name not in _SUITE_OPTIONS]
    if others or arguments.command:
        named = others[0] if others else "a command after --"
        message = f"--from-suite takes everything from the suite, so it does not go with {named}"
        raise UsageError(message, "mcptest compliance run -- COMMAND checks a server alone")
    file = arguments.last("--from-suite")
    if not is_suite_name(file):
        raise UsageError(f"--from-suite takes an mcptest.yaml, not {visible(file)!r}")
    target = _output_file(arguments)
    given: dict[str, list[str]] = {"--lane": ["compliance"]}
    shown = ("--color", "--no-color", "--verbose")
    given |= {name: arguments.all(name) for name in shown if arguments.has(name)}
    if format in _REPORTERS:
        given["--reporter"] = [f"{format}={target}" if target else format]
    elif format != "text" or target:
        what = "a file" if format == "text" else f"the format {format}"
        message = f"--from-suite writes the reports of mcptest run, which do not have {what}"
        raise UsageError(message, f"there are: {', '.join(_REPORTERS)}, and text on a terminal")
    return run(arguments.but(paths=(file,), given=given, command=()))


def check_actively(
    spec: ServerSpec, launcher: Launcher, version: str
) -> tuple[tuple[Mismatch, ...], tuple[str, ...]]:
    """Run all checks for a suite: a mismatch for each failure, a note for each other finding.

    ServerError if the server cannot be started.
    """
    spec = spec.but(timeout_s=min(spec.timeout_s, _TIMEOUT_S))
    settings = Settings(version=version or spec.spec_version, total_timeout_s=_TOTAL_S)
    run = Run(spec, launcher, settings, lambda _: None)
    try:
        check_server(run)
    finally:
        run.close()
    if run.is_interrupted:
        raise InterruptedRunError
    report = build_report(run, Judgement(profiles=best_profiles(())), "", 0.0)
    mismatches = tuple(map(_mismatch, report.failures))
    if all(check.verdict in ("not_applicable", "could_not_run") for check in report.checks):
        # What could not be checked does not pass.
        why = next(
            (check.message for check in report.checks if check.verdict == "could_not_run"), ""
        )
        mismatches = (
            Mismatch(
                path="checks",
                expected="a check that can be made",
                actual=why,
                message=f"no check could be made: {why}",
                is_described=True,
            ),
        )
    notes = [
        f"{check.id} ({check.revision}): {check.message}"
        for check in report.checks
        if check.verdict == "warning"
    ]
    open_ids = {check.id for check in report.checks if check.verdict == "could_not_run"}
    if open_ids:
        notes.append(f"could not run: {', '.join(sorted(open_ids))}")
    return mismatches, tuple(notes)


def _mismatch(check: CheckResult) -> Mismatch:
    received = check.received
    if len(received) > 1 and len(check.sent) > 1 and _ENDS_A_CHECK.search(check.sent[-1]):
        # The answer to the last request only shows that nothing else came before it.
        received = received[:-1]
    return Mismatch(
        path=check.id,
        expected=check.property,
        actual=received[-1] if received else "",
        message=f"{check.message} ({check.revision})",
        hint=check.reference.url,
        is_described=True,
    )


# The harmless request that proves what did not come; see `Peer.settle`.
_ENDS_A_CHECK = re.compile(r'^\{"jsonrpc":"2\.0","id":\d+,"method":"(?:ping|server/discover)"')

RUN_COMMAND = Command(
    name="mcptest compliance run",
    summary="Check a live server against the specification of MCP.",
    usage="mcptest compliance run [options] [-- COMMAND…]",
    details="Sends valid and invalid messages, and judges the answers by the revisions that the "
    f"server speaks. {SERVER_DETAILS} Tools are called only if they declare readOnlyHint or "
    "are allowed by name. Exit code 0: no failure; 1: a check failed, or the expected failures "
    "are out of date; 3: no session with the server could be opened; 6: --min-grade or "
    "--require-complete is missed; 7: no check was made.",
    options=(
        CONFIG_OPTION,
        SERVER_NAME_OPTION,
        SERVER_COMMAND_OPTION,
        *HTTP_OPTIONS,
        ENV_FILE_OPTION,
        Option(
            names=("--spec-version",),
            value="REVISION|all",
            choices=("auto", "all", *REVISIONS),
            help="revision to check (default: the newest of each era that the server speaks)",
        ),
        Option(
            names=("--only",),
            value="ID|FAMILY",
            repeatable=True,
            help="only this check or family, such as BASE-18 or TOOL; repeatable",
        ),
        Option(
            names=("--skip",),
            value="ID|FAMILY",
            repeatable=True,
            help="leave out this check or family; repeatable",
        ),
        Option(
            names=("--level",),
            value="must|should",
            choices=("must", "should"),
            help="must leaves out what the specification only recommends (default: should)",
        ),
        Option(
            names=("--hints",),
            value="FILE",
            help="file with hints about the server, such as a slow tool, for the checks that "
            "need them",
        ),
        Option(
            names=("--allow-tool",),
            value="NAME",
            repeatable=True,
            help="a tool that may be called although it does not declare readOnlyHint; repeatable",
        ),
        Option(
            names=("--remote-probes",),
            help="send requests with a foreign Origin and Host also to a server on another machine",
        ),
        Option(
            names=("--timeout",),
            value="TIME",
            help='time limit for each answer: 500, "500ms" or "2s" (default: 5s)',
        ),
        START_TIMEOUT_OPTION.but(
            help='time limit for the server to be ready, each time it is started: 30, "500ms" or '
            '"2m" (default: 10, or 20 for programs that may fetch it first, such as npx, uvx or '
            "docker)"
        ),
        Option(
            names=("--total-timeout",),
            value="SECONDS",
            help='time limit for all checks: 300, "10m" (default: 300)',
        ),
        Option(
            names=("--expected-failures",),
            value="FILE",
            help="file with failures that are accepted, each with a reason",
        ),
        Option(
            names=("--profile",),
            value="ID",
            repeatable=True,
            help="frozen set of checks to grade by, such as 2025-11-25.1 (default: the newest of "
            "each revision); repeatable",
        ),
        Option(
            names=("--min-grade",),
            value="GRADE",
            choices=GRADES,
            help="exit with 6 if the grade is below this: A+, A, B, C or D",
        ),
        Option(names=("--require-complete",), help="exit with 6 if a check could not run"),
        Option(
            names=("--from-suite",),
            value="FILE",
            help="run only the compliance lane of this suite",
        ),
        Option(
            names=("--format",),
            value="NAME",
            choices=_FORMATS,
            help=f"{', '.join(_FORMATS[:-1])} or {_FORMATS[-1]} (default: text)",
        ),
        Option(
            names=("-o", "--output"),
            value="FILE",
            help="file to write the report to (default: standard output)",
        ),
        Option(names=("--list",), help="list all checks, with their sections of the specification"),
        *COLOR_OPTIONS,
        Option(
            names=("-v", "--verbose"), help="also show the evidence of findings that do not count"
        ),
    ),
    examples=(
        "mcptest compliance run -- node server.js",
        "mcptest compliance run --url http://127.0.0.1:3001/mcp --format html -o report.html",
        "mcptest compliance run --min-grade A --hints hints.yml -- python3 server.py",
        "mcptest compliance run --from-suite mcptest.yaml",
    ),
    run=_check_live_server,
    takes_command=True,
)
