"""Pick the command, and turn whatever it raises into words and an exit status."""

from __future__ import annotations

import os
import sys
import time
from itertools import pairwise

from mcptest import __version__
from mcptest.cli.options import parse_arguments, render_help
from mcptest.cli.output import StandardOutput, complain, exhaustion, prepare_streams, silence_stdout
from mcptest.cli.signals import ignore, listen, uncollected
from mcptest.core.diagnostics import closest
from mcptest.core.errors import InterruptedRunError, McptestError, UsageError
from mcptest.core.results import ExitCode
from mcptest.core.text import visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import NoReturn

    from mcptest.cli.options import Command

__all__ = ["COMMANDS", "command", "conductor", "conductor_command", "load_command", "main"]

# Name and summary of each command; `cli.commands.<name>` is imported only when it is used.
COMMANDS = {
    "run": "run test files against a server",
    "validate": "load test files and report every mistake, without a server",
    "init": "write a config, a first test and a CI workflow into this folder",
    "discover": "write a test file for everything that a server offers",
    "list": "show what a server offers",
    "call": "call a tool and show its result",
    "read": "read a resource and show what it holds",
    "prompt": "get a prompt and show its messages",
    "docs": "write documentation of a server",
    "mock": "be the server that a contract describes, for testing clients",
    "record": "stand between a client and its server, and write a capture",
    "cases": "make a contract of recorded traffic",
    "migrate": "turn Conductor files and contracts into a suite",
    "compliance": "judge a capture by the rules about whole sessions",
    "exec": "serve an SDK over standard input and output",
    "report": "render a saved run again, or merge several into one",
    "plugin": "call a plugin and show its answer, or list plugins",
    "schema": "print the JSON Schema of a file format, for editors",
}


def command() -> NoReturn:
    """`mcptest` as the shell starts it."""
    _leave(main())


def conductor_command() -> NoReturn:
    """`conductor` as the shell starts it."""
    _leave(conductor())


def _leave(status: int) -> NoReturn:
    """After a run that came to its end, end at once: `main` has flushed what was said.

    Taking a large plan apart piece by piece is time for nothing. Any other end takes the long
    way, on which litter is removed, and so does whoever is being traced or measured.
    """
    ignore()
    is_watched = sys.gettrace() or sys.getprofile() or "coverage" in sys.modules
    if is_watched or status not in (ExitCode.PASSED, ExitCode.FAILED):
        sys.exit(status)
    os._exit(status)


def main(argv: Sequence[str] | None = None) -> int:
    """The `mcptest` command."""
    words = sys.argv[1:] if argv is None else list(argv)
    return _guarded(words, _run_mcptest)


def conductor(argv: Sequence[str] | None = None) -> int:
    """The `conductor` command: `mcptest run` under the name its format was born with."""
    words = sys.argv[1:] if argv is None else list(argv)
    return _guarded(words, _run_conductor)


def _run_mcptest(words: list[str]) -> int:
    if words[:1] == ["help"] and words[1:2] and words[1] in COMMANDS:
        words = [words[1], "--help"]
    if not words or words[0] in ("-h", "--help", "help"):
        StandardOutput().write(_overview())
        return ExitCode.PASSED if words else ExitCode.BAD_INPUT
    if words[0] in _VERSION:
        return _tell_version()
    name, *rest = words
    if name not in COMMANDS:
        meant = closest(name, COMMANDS)
        question = f"; did you mean {meant!r}?" if meant else ""
        raise UsageError(f"there is no command {visible(name)!r}{question}", "try mcptest --help")
    return _dispatch(load_command(name), rest)


def _run_conductor(words: list[str]) -> int:
    # Imported here like every command: see `_command`.
    from mcptest.cli.commands.run import CONDUCTOR_COMMAND  # noqa: PLC0415

    if words[:1] and words[0] in _VERSION:
        return _tell_version()
    if words[:1] == ["discover"]:
        return _dispatch(load_command("discover"), words[1:])
    return _dispatch(CONDUCTOR_COMMAND, words)


_VERSION = ("-V", "--version")


def _tell_version() -> int:
    StandardOutput().write(f"mcptest {__version__}\n")
    return ExitCode.PASSED


def load_command(name: str) -> Command:
    """The command of this name. Each pays only for what it imports itself."""
    with uncollected():
        module = __import__(f"mcptest.cli.commands.{name}", fromlist=["COMMAND"])
    command: Command = module.COMMAND
    return command


def _dispatch(command: Command, words: list[str]) -> int:
    arguments = parse_arguments(command, words)
    if arguments.has("--help"):
        StandardOutput().write(render_help(command))
        return ExitCode.PASSED
    _check_folder()
    return command.run(arguments)


def _check_folder() -> None:
    try:
        os.getcwd()
    except OSError:
        raise UsageError("the folder this was started in does not exist any more") from None


def _guarded(words: list[str], run: Callable[[list[str]], int]) -> int:
    """Every way a command can end, in one place."""
    prepare_streams()
    try:
        listen()
        status = _reported(words, run)
        StandardOutput().flush()
    except UsageError as error:
        # Only standard output itself is left to complain about here.
        complain(f"error: {error}\n")
        return ExitCode.BAD_INPUT
    except KeyboardInterrupt:
        return ExitCode.INTERRUPTED
    except BrokenPipeError:
        # Whoever read our output has left; nobody is there to be told.
        silence_stdout()
        return ExitCode.INTERRUPTED
    return status


def _reported(words: list[str], run: Callable[[list[str]], int]) -> int:
    started_at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    try:
        return int(run(words))
    except McptestError as error:
        return _told(error, words, started_at)
    except KeyboardInterrupt:
        return _told(InterruptedRunError("interrupted before any test ran"), words, started_at)
    except BrokenPipeError:
        raise
    except Exception as error:  # noqa: BLE001  # the one place where a fault of ours may surface
        if trouble := exhaustion(error):
            return _told(trouble, words, started_at)
        from mcptest.cli.failure import report_our_fault  # noqa: PLC0415  # as below

        return report_our_fault(_wants_json(words), started_at)


def _told(error: McptestError, words: list[str], started_at: str) -> int:
    # Most commands do their work.
    from mcptest.cli.failure import report_failure  # noqa: PLC0415

    return report_failure(error, _wants_json(words), started_at)


def _wants_json(words: list[str]) -> bool:
    """Whether standard output is promised to be JSON, also on a line we do not understand."""
    if "--" in words:
        # What follows is a server's command, and its own business.
        words = words[: words.index("--")]
    is_asked = "--json" in words or "--reporter=json" in words
    return is_asked or ("--reporter", "json") in pairwise(words)


def _overview() -> str:
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
        "  -h, --help     show this; mcptest COMMAND --help shows more",
        "  -V, --version  show the version",
        "",
        "example:",
        '  mcptest run tests/ --server-command "python3 server.py"',
    ]
    return "\n".join(lines) + "\n"
