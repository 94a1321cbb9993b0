"""`mcptest exec`: the coprocess protocol, over which SDKs call servers and run test files."""

from __future__ import annotations

import os
import sys

from mcptest.cli.options import Command, Option
from mcptest.cli.output import hide_secrets, write_stderr
from mcptest.cli.shared_options import (
    CONFIG_OPTION,
    HTTP_OPTIONS,
    SERVER_COMMAND_OPTION,
    SERVER_NAME_OPTION,
    SPEC_VERSION_OPTION,
    START_TIMEOUT_OPTION,
    choose_server,
)
from mcptest.coprocess.serve import Channel
from mcptest.core.errors import InterruptedRunError, UsageError
from mcptest.core.results import ExitCode
from mcptest.core.secrets import secrets_in, why_not_blanked
from mcptest.core.strict_json import NotJsonError, parse_json
from mcptest.core.text import visible
from mcptest.core.typed_json import Key, TypedJsonError, check_object
from mcptest.engine.server import launching
from mcptest.transport import refuse_windows
from mcptest.transport.process.signals import Interrupts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mcptest.cli.options import Arguments
    from mcptest.coprocess.serve import Session
    from mcptest.core.events import RunFinished
    from mcptest.core.plan import ServerSpec
    from mcptest.core.results import Finding
    from mcptest.protocol.http_address import Address

__all__ = ["COMMAND", "run_exec"]


# A file for the server's stderr, and what to add to the server's environment.
_STDERR_VARIABLE = "MCPTEST_SERVER_STDERR"
_ENV_VARIABLE = "MCPTEST_SERVER_ENV"
_ENV_KEYS = {"set": Key(type=dict), "secrets": Key(type=list, required=False)}


def run_exec(arguments: Arguments) -> int:
    """Serve one SDK until it says goodbye, closes our input or exits; return the exit code."""
    modes = [name for name in ("--connection-server", "--suite-server") if arguments.has(name)]
    if len(modes) != 1:
        message = "mcptest exec needs either --connection-server or --suite-server FILE"
        raise UsageError(message, "SDKs start it; to call a tool by hand, use mcptest call")
    refuse_windows("serving an SDK on standard input")
    if sys.__stdout__ is None:
        raise UsageError("standard output is closed: there is nowhere to answer to")
    # Removed from the environment: the server may be a program that starts mcptest itself.
    variables = {name: os.environ.pop(name, "") for name in (_STDERR_VARIABLE, _ENV_VARIABLE)}
    serve = _serve_suite if modes[0] == "--suite-server" else _serve_connection
    with Interrupts() as interrupts:
        channel = Channel(sys.stdin.fileno(), sys.stdout.fileno(), interrupts)
        serve(arguments, variables, channel, interrupts)
        if channel.problem:
            _warn(channel.problem)
        return ExitCode.INTERRUPTED if interrupts.count else ExitCode.PASSED


def _serve_connection(
    arguments: Arguments, variables: dict[str, str], channel: Channel, interrupts: Interrupts
) -> None:
    from mcptest.coprocess.connection import (  # noqa: PLC0415  # this mode only
        ConnectionSession,
        Upstream,
    )
    from mcptest.coprocess.stores import Cache, cache_folder, server_key  # noqa: PLC0415  # as above

    spec = _with_environment(choose_server(arguments, '--server-command "ARGV"'), variables)
    if arguments.has("--cwd"):
        spec = spec.but(cwd=_parse_folder(arguments.last("--cwd"), spec))
    hide_secrets(spec.secrets)

    def check_client() -> None:
        channel.check_client(upstream.asked_at)

    with launching(interrupts, None, judges=False, while_waiting=check_client) as launcher:
        upstream = Upstream(spec, launcher)
        cache = Cache(cache_folder(os.environ), server_key(spec), _warn)
        session = ConnectionSession(upstream, cache, _post, variables[_STDERR_VARIABLE])
        try:
            session.is_complete = _answer_all(channel, session)
        finally:
            session.save()
            for note in session.describe_unlisted() if session.is_complete else ():
                _warn(note)
            upstream.close()
            for finding in upstream.findings:
                _warn(_describe_finding(finding))
            for problem in filter(None, session.close().split("\n")):
                _warn(problem)


def _serve_suite(
    arguments: Arguments, variables: dict[str, str], channel: Channel, interrupts: Interrupts
) -> None:
    from mcptest.coprocess.suite import SuiteSession  # noqa: PLC0415  # this mode only

    given = [option.names[-1] for option in _CONNECTION_OPTIONS if arguments.has(option.names[-1])]
    given += [_ENV_VARIABLE] if variables[_ENV_VARIABLE] else []
    if given:
        message = f"{given[0]} is for --connection-server, not for --suite-server"
        raise UsageError(message, "describe the server in the file, or in a config beside it")
    path = arguments.last("--suite-server")
    if not path:
        raise UsageError("--suite-server needs a file")
    path = os.path.relpath(path)

    def check_client() -> None:
        channel.check_client(session.asked_at)

    with launching(interrupts, None, while_waiting=check_client) as launcher:
        session = SuiteSession(path, launcher)
        try:
            _answer_all(channel, session)
        finally:
            for ended in session.close():
                for text in _describe_ending(ended):
                    _warn(text)


def _answer_all(channel: Channel, session: Session) -> bool:
    """Answer every request; False if the SDK has left or a signal came.

    The exit code reports a signal; an SDK that has exited needs no answer.
    """
    try:
        for request in channel.requests():
            channel.send(session.answer(request))
            if session.is_over:
                break
        channel.finish()
    except InterruptedRunError:
        return False
    return True


def _parse_folder(path: str, spec: ServerSpec) -> str:
    """The folder to start the server in."""
    if not spec.command:
        message = "--cwd is for a server that is started"
        raise UsageError(message, "give its command, or leave --cwd out")
    if not os.path.isdir(path):
        raise UsageError(f"--cwd: there is no folder {visible(path)!r}")
    return os.path.abspath(path)


def _with_environment(spec: ServerSpec, variables: dict[str, str]) -> ServerSpec:
    """The server with the variables that MCPTEST_SERVER_ENV sets; its text is never shown."""
    text = variables[_ENV_VARIABLE]
    if not text:
        return spec
    try:
        given = check_object(parse_json(text), _ENV_KEYS)
    except (TypedJsonError, NotJsonError):
        given = {"set": None}
    env, secrets = given["set"], given.get("secrets", [])
    if not (
        isinstance(env, dict)
        and all(isinstance(each, str) and "\0" not in each for item in env.items() for each in item)
        and all(name and "=" not in name for name in env)
        and all(isinstance(name, str) and name in env for name in secrets)
    ):
        message = f"{_ENV_VARIABLE} is not what an SDK sets"
        help = 'it is {"set": {"NAME": "value"}, "secrets": ["NAME"]}, each secret a name in "set"'
        raise UsageError(message, help)
    if not spec.command:
        raise UsageError(f"{_ENV_VARIABLE} is for a server that is started: give its command")
    for name in secrets:
        why = why_not_blanked(env[name])
        if env[name] and why:
            _warn(f"the value of {name!r} {why}; whatever is written may hold it")
    hidden = (*spec.secrets, *secrets_in(env, secrets))
    return spec.but(env={**(spec.env or {}), **env}, secrets=hidden)


def _describe_ending(ended: RunFinished) -> list[str]:
    """What became of snapshots, and findings that are those of no single test."""
    from mcptest.reporters.style import Paint  # noqa: PLC0415  # this mode only
    from mcptest.reporters.terminal import snapshot_lines  # noqa: PLC0415  # as above

    lines = snapshot_lines(ended.snapshots, Paint(on=False)) if ended.snapshots else []
    return [*lines, *map(_describe_finding, ended.findings)]


def _describe_finding(finding: Finding) -> str:
    """Describe what the server did wrong outside of any call; only this warning reports it."""
    times = f" ({finding.count:,} times)" if finding.count > 1 else ""
    quote = f": {visible(finding.quote)}" if finding.quote else ""
    return f"{finding.message}{times}{quote}"


def _post(address: Address, content_type: str, body: bytes, deadline: float) -> int:
    # Only for uploads: it takes longer to import than everything else here.
    from mcptest.transport.http.probe import post  # noqa: PLC0415

    return post(address, content_type, body, deadline)


def _warn(text: str) -> None:
    write_stderr(f"warning: {text}\n")


_CONNECTION_OPTIONS = (
    SERVER_COMMAND_OPTION,
    CONFIG_OPTION,
    SERVER_NAME_OPTION,
    *HTTP_OPTIONS,
    SPEC_VERSION_OPTION,
    Option(names=("--cwd",), value="DIR", help="folder to start the server in"),
    Option(
        names=("--timeout",),
        value="TIME",
        help='time limit for each answer of the server: 500, "500ms" or "2s"',
    ),
    START_TIMEOUT_OPTION,
)

COMMAND = Command(
    name="mcptest exec",
    summary="Serve an SDK: requests on standard input, one answer each on standard output.",
    usage="mcptest exec --connection-server|--suite-server FILE [options]",
    details="SDKs start this command; docs/coprocess.md describes the protocol. With "
    "--connection-server they call a server: a command, a URL or a config names it (default: a "
    "config in the current folder). With --suite-server they list and run the tests of a file "
    "(docs/suite-channel.md), which has its server.",
    options=(
        Option(names=("--connection-server",), help="speak the coprocess protocol, version 2"),
        Option(
            names=("--suite-server",),
            value="FILE",
            help="list and run the tests of FILE, which may be anything that mcptest run accepts",
        ),
        *_CONNECTION_OPTIONS,
    ),
    examples=(
        'mcptest exec --connection-server --server-command "python3 server.py"',
        "mcptest exec --connection-server --url http://127.0.0.1:3001/mcp",
        "mcptest exec --suite-server mcptest.yaml",
    ),
    run=run_exec,
    takes_paths=False,
)
