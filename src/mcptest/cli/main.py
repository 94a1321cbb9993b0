"""Find the command, run it, and turn every exception into a message and an exit code."""

from __future__ import annotations

import os
import sys
from itertools import pairwise

from mcptest import __version__
from mcptest.cli.commands.registry import COMMANDS, load_command
from mcptest.cli.options import parse_arguments, parse_color, render_help
from mcptest.cli.output import (
    StandardOutput,
    describe_exhaustion,
    prepare_streams,
    silence_broken_stderr,
    silence_stdout,
    write_stderr,
    write_stderr_wrapped,
)
from mcptest.cli.signals import ignore_signals, interrupt_on_signals
from mcptest.core.diagnostics import closest
from mcptest.core.errors import (
    FormatError,
    InterruptedRunError,
    McptestError,
    NothingSelectedError,
    OwnFaultError,
    RefusedError,
    UsageError,
)
from mcptest.core.results import ExitCode
from mcptest.core.text import visible
from mcptest.transport import utc_now

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Literal, NoReturn

    from mcptest.cli.options import Command
    from mcptest.core.diagnostics import Diagnostic
    from mcptest.core.events import ReportedShard

    JsonWish = Literal["", "run", "validation"]

__all__ = [
    "conductor",
    "failure_kind",
    "main",
    "render_error",
    "status_of_kind",
    "write_validation",
]


# Commands that messages about the lanes of a suite name, and that this version does not have.
_PLANNED = {
    "eval": 'mcptest run checks the lane "evals" for mistakes and reports it as not run',
}

# Commands that other tools have, and what does that here.
_ELSEWHERE = {
    "test": "mcptest run runs tests",
    "lint": "mcptest validate checks test files, and mcptest compliance run a server",
    "check": "mcptest validate checks test files, and mcptest compliance run a server",
    "inspect": "mcptest list shows what a server offers; call, read and prompt try it out, and "
    "discover writes tests for it",
    "inspector": "mcptest list shows what a server offers; call, read and prompt try it out, and "
    "discover writes tests for it",
    "query": "mcptest call calls a tool, and mcptest list shows what a server offers",
    "conformance": "mcptest compliance run checks a server against the specification",
    "audit": "mcptest security looks for what can harm the users of a server",
    "doctor": "mcptest validate checks test files, mcptest list tries to start a server, and "
    "mcptest plugin list shows what is installed",
    "new": "mcptest init creates a first test",
    "generate": "mcptest discover writes tests for what a server offers",
    "scan": "mcptest security looks for what can harm the users of a server",
    "tools": "mcptest list tools lists the tools of a server",
    "serve": "mcptest mock serves a contract, to test clients",
    "watch": "mcptest run --watch runs tests again when a file changes",
    "version": "mcptest --version shows the version",
}

_VERSION_OPTIONS = ("-V", "--version")


def command() -> NoReturn:
    """Run `mcptest` and exit."""
    _exit(main())


def conductor_command() -> NoReturn:
    """Run `conductor` and exit."""
    _exit(conductor())


def _exit(status: int) -> NoReturn:
    """Exit; after a completed run without taking all its objects apart, which takes time.

    Other exits run the `atexit` functions that remove temporary files, and so do exits under a
    tracer, a profiler or coverage.
    """
    ignore_signals()
    silence_broken_stderr()
    is_traced = sys.gettrace() or sys.getprofile() or "coverage" in sys.modules
    if is_traced or status not in (ExitCode.PASSED, ExitCode.FAILED):
        sys.exit(status)
    os._exit(status)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the `mcptest` command; return its exit code."""
    return _run_guarded(sys.argv[1:] if argv is None else list(argv), _run_mcptest)


def conductor(argv: Sequence[str] | None = None) -> int:
    """Run the `conductor` command, which is `mcptest run`; return its exit code."""
    return _run_guarded(sys.argv[1:] if argv is None else list(argv), _run_conductor)


def _run_mcptest(words: list[str]) -> int:
    if words[:1] == ["help"] and words[1:2] and words[1] in COMMANDS:
        words = [words[1], "--help"]
    if not words or words[0] in ("-h", "--help", "help"):
        StandardOutput().write(_render_overview())
        return ExitCode.PASSED if words else ExitCode.BAD_INPUT
    if words[0] in _VERSION_OPTIONS:
        return _print_version()
    name, *rest = words
    if name in COMMANDS:
        return _run_command(load_command(name), rest)
    if name in _PLANNED:
        raise UsageError(f"this version has no command mcptest {name}", _PLANNED[name])
    if name in _ELSEWHERE:
        raise UsageError(f"there is no command {name!r}", _ELSEWHERE[name])
    meant = closest(name, COMMANDS)
    question = f"; did you mean {meant!r}?" if meant else ""
    raise UsageError(f"there is no command {visible(name)!r}{question}", "try mcptest --help")


def _run_conductor(words: list[str]) -> int:
    from mcptest.cli.commands.run import CONDUCTOR_COMMAND  # noqa: PLC0415  # see load_command

    if words[:1] and words[0] in _VERSION_OPTIONS:
        return _print_version()
    if words[:1] == ["discover"]:
        return _run_command(load_command("discover"), words[1:])
    return _run_command(CONDUCTOR_COMMAND, words)


def _run_command(command: Command, words: list[str]) -> int:
    if words[:1] and words[0] in command.subcommands:
        return _run_command(command.subcommands[words[0]], words[1:])
    arguments = parse_arguments(command, words)
    if arguments.has("--help"):
        StandardOutput().write(render_help(command))
        return ExitCode.PASSED
    parse_color(arguments)
    if arguments.has("--env-file"):
        from mcptest.cli.shared_options import read_env_file  # noqa: PLC0415  # only with its option

        for file in arguments.all("--env-file"):
            read_env_file(file)
    try:
        os.getcwd()
    except OSError:
        raise UsageError("the current folder does not exist any more") from None
    return command.run(arguments)


def _print_version() -> int:
    StandardOutput().write(f"mcptest {__version__}\n")
    return ExitCode.PASSED


def _run_guarded(words: list[str], run: Callable[[list[str]], int]) -> int:
    """Run a command; report errors in words and, where JSON is expected, as JSON."""
    prepare_streams()
    try:
        interrupt_on_signals()
        started_at = utc_now()
        try:
            status = int(run(words))
        except McptestError as error:
            status = _report_failure(error, _json_wish(words), started_at)
        except KeyboardInterrupt:
            interrupted = InterruptedRunError("interrupted before any test ran")
            status = _report_failure(interrupted, _json_wish(words), started_at)
        except BrokenPipeError:
            raise
        except Exception as error:  # noqa: BLE001  # the only handler of internal errors
            if exhausted := describe_exhaustion(error):
                status = _report_failure(exhausted, _json_wish(words), started_at)
            else:
                status = _report_internal_error(_json_wish(words), started_at)
        StandardOutput().flush()
    except UsageError as error:
        # Only errors of standard output itself get here.
        write_stderr(f"error: {error}\n")
        return ExitCode.BAD_INPUT
    except KeyboardInterrupt:
        return ExitCode.INTERRUPTED
    except BrokenPipeError:
        silence_stdout()
        return ExitCode.INTERRUPTED
    return status


def _json_wish(words: list[str]) -> JsonWish:
    """The JSON that standard output must have: that of a run, that of a validation, or none.

    Works for command lines that cannot be parsed, too.
    """
    if "--" in words:
        # The rest is the command that starts a server.
        words = words[: words.index("--")]
    is_asked = "--json" in words or "--reporter=json" in words
    if not is_asked and ("--reporter", "json") not in pairwise(words):
        return ""
    return "validation" if words[:1] == ["validate"] else "run"


def _render_overview() -> str:
    width = max(map(len, COMMANDS))
    lines = [
        "mcptest tests Model Context Protocol servers.",
        "",
        "usage: mcptest COMMAND …",
        "",
        "commands:",
        *(f"  {name.ljust(width)}  {summary}" for name, summary in COMMANDS.items()),
        "",
        "options:",
        "  -h, --help     show this help; mcptest COMMAND --help shows that of a command",
        "  -V, --version  show the version",
        "",
        "example:",
        '  mcptest run tests/ --server-command "python3 server.py"',
    ]
    return "\n".join(lines) + "\n"


# Report the error that ended a command: in words on standard error, or as a JSON report.


_KINDS = (
    (FormatError, "bad_file", ExitCode.BAD_INPUT),
    (UsageError, "usage", ExitCode.BAD_INPUT),
    (RefusedError, "refused", ExitCode.REFUSED),
    (NothingSelectedError, "nothing_selected", ExitCode.NOTHING_SELECTED),
    (InterruptedRunError, "interrupted", ExitCode.INTERRUPTED),
    (OwnFaultError, "internal", ExitCode.OUR_FAULT),
)


def _report_failure(error: McptestError, wish: JsonWish, started_at: str) -> int:
    """Print an error; return the exit code for it."""
    kind, status = failure_kind(error)
    diagnostics = error.diagnostics if isinstance(error, FormatError) else ()
    write_stderr_wrapped("".join(map(render_error, (error, *error.unwritten))))
    if wish == "validation":
        write_validation(error)
    elif wish:
        _write_json(kind, str(error), diagnostics, started_at, error.shard)
    return ExitCode.BAD_INPUT if error.unwritten else status


def failure_kind(error: McptestError) -> tuple[str, ExitCode]:
    """Return the kind of an error, as the JSON report names it, and its exit code."""
    return next((kind, status) for family, kind, status in _KINDS if isinstance(error, family))


def status_of_kind(kind: str) -> ExitCode | None:
    """Return the exit code for a kind in a saved report, or None for faults of servers."""
    return {known: status for _, known, status in _KINDS}.get(kind)


def _report_internal_error(wish: JsonWish, started_at: str) -> int:
    """Print the current exception, an internal error; return the exit code for it."""
    import traceback  # noqa: PLC0415  # rare

    # An exception may quote data of a server or a file.
    write_stderr(visible(traceback.format_exc(), keep_newlines=True))
    whose = f"a fault of mcptest {__version__}, not of your server or your tests"
    write_stderr(
        f"\nThis is {whose}.\nPlease report it, with the lines above and the command you ran.\n"
    )
    message = f"{whose}; standard error has the details"
    if wish == "validation":
        write_validation(OwnFaultError(message))
    elif wish:
        _write_json("internal", message, (), started_at)
    return ExitCode.OUR_FAULT


def write_validation(
    error: McptestError | None,
    *,
    files: int = 0,
    tests: int = 0,
    warnings: Sequence[Diagnostic] = (),
    notes: Sequence[str] = (),
) -> None:
    """Write the JSON of `mcptest validate`, which has one shape however it ends."""
    from mcptest.reporters.json import render_validation  # noqa: PLC0415  # only with --json

    diagnostics = error.diagnostics if isinstance(error, FormatError) else ()
    failure = (failure_kind(error)[0], str(error), diagnostics) if error else None
    text = render_validation(files, tests, warnings, __version__, notes=notes, error=failure)
    StandardOutput().write_utf8(text)


def _write_json(
    kind: str,
    message: str,
    diagnostics: Sequence[Diagnostic],
    started_at: str,
    shard: ReportedShard | None = None,
) -> None:
    from mcptest.reporters.json import render_failure  # noqa: PLC0415  # only with --json

    report = render_failure(kind, message, diagnostics, __version__, started_at, shard)
    StandardOutput().write_utf8(report)


def render_error(error: McptestError) -> str:
    """Render an error as lines for standard error."""
    from mcptest.core.diagnostics import render_diagnostic  # noqa: PLC0415  # rare

    if isinstance(error, FormatError):
        blocks = [render_diagnostic(diagnostic) for diagnostic in error.diagnostics]
        return "\n\n".join(blocks) + f"\n\n{error}; nothing was started\n"
    lines = [f"error: {error}"]
    if isinstance(error, (UsageError, RefusedError)) and error.help:
        lines.append(f"  help: {error.help}")
    return "\n".join(lines) + "\n"
