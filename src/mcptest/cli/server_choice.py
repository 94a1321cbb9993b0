"""Which server a command talks to: the words after `--`, a URL, an option, or a config."""

from __future__ import annotations

import os

from mcptest.cli.http_options import (
    HTTP_OPTIONS,
    SPEC_VERSION,
    over_http,
    sent_along,
    server_command,
    spec_version,
    timeout_s,
)
from mcptest.cli.options import Option
from mcptest.cli.output import complain
from mcptest.core.diagnostics import render_diagnostic
from mcptest.core.errors import UsageError
from mcptest.core.plan import ServerSpec
from mcptest.core.text import visible
from mcptest.formats.conductor_config import default_startup_s, load_config
from mcptest.runner.discovery import CONFIG_NAMES, find_config, is_suite_name, read_text
from mcptest.runner.quoting import SuiteFolders
from mcptest.runner.servers import placed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mcptest.cli.options import Arguments

__all__ = ["SERVER_DETAILS", "SERVER_OPTIONS", "choose_server", "find_own_config"]

SERVER_OPTIONS = (
    Option(
        names=("-c", "--config"),
        value="FILE",
        help="how to start the server: a config, or a suite with one; default: "
        "conductor.config.json or mcptest.yaml in this folder",
    ),
    Option(
        names=("--server-command",),
        value='"ARGV"',
        help="start the server with this command instead; split like a shell would, "
        "run without one",
    ),
    *HTTP_OPTIONS,
    SPEC_VERSION,
    Option(
        names=("--timeout",),
        value="TIME",
        help='longest wait for one answer, as 500, "500ms" or "2s"',
    ),
    Option(names=("-v", "--verbose"), help="show what the server writes to stderr"),
)
_WAY = "the command that starts it after --"
SERVER_DETAILS = "COMMAND starts the server; without one, a config or a suite says how."


def choose_server(arguments: Arguments, way: str = _WAY) -> ServerSpec:
    """The server that the command line, or a config in this folder, names.

    With a URL, a command is what starts the server there. `way` is how the command at hand is
    given the one that starts it.
    """
    ways = [
        ("a command after --", bool(arguments.command)),
        ("--server-command", arguments.has("--server-command")),
        ("--config", arguments.has("--config")),
    ]
    named = [name for name, is_given in ways if is_given]
    if len(named) > 1:
        raise UsageError(f"{named[0]} and {named[1]} both name a server; give one of them")
    if arguments.has("--url"):
        spec = _at_url(arguments)
    else:
        sent = sent_along(arguments)
        spec = _from_command(arguments) or _from_config(arguments, way)
        spec = sent.to(spec) if sent else spec
    limit_s, pinned = timeout_s(arguments), spec_version(arguments)
    spec = spec.but(spec_version=pinned) if pinned else spec
    return spec.but(timeout_s=limit_s) if limit_s else spec


def _at_url(arguments: Arguments) -> ServerSpec:
    if arguments.has("--config"):
        raise UsageError("--url and --config both name a server; give one of them")
    started = _from_command(arguments)
    there = over_http(arguments, started.command if started else ())
    if started is None:
        return there.but(cwd=_this_folder())
    return started.but(name=there.name, http=there.http, secrets=there.secrets)


def _from_command(arguments: Arguments) -> ServerSpec | None:
    command = arguments.command or server_command(arguments)
    if not command:
        return None
    if not command[0]:
        raise UsageError("the server's command is empty")
    return ServerSpec(
        name=os.path.basename(command[0]),
        command=command,
        cwd=_this_folder(),
        startup_timeout_s=default_startup_s(command[0]),
    )


def _this_folder() -> str:
    try:
        return os.getcwd()
    except OSError:
        raise UsageError("the folder this was started in does not exist any more") from None


def find_own_config(arguments: Arguments) -> str:
    """The config file that is used when no command is given, or ""."""
    if arguments.command or arguments.has("--server-command") or arguments.has("--url"):
        return ""
    return arguments.last("--config") or find_config(".")


def _from_config(arguments: Arguments, way: str) -> ServerSpec:
    path = find_own_config(arguments)
    if not path or is_suite_name(path):
        # Only those without a config need to know what a suite is.
        from mcptest.cli.suite_here import find_suite, server_of_suite  # noqa: PLC0415

        suite = find_suite(path)
        if suite:
            return server_of_suite(suite, is_found=not path)
    if not path:
        raise UsageError(
            "no server to talk to",
            f"give {way}, --url URL or --config FILE, or put a "
            f"{CONFIG_NAMES[0]} or an mcptest.yaml into this folder",
        )
    if not os.path.exists(path):
        raise UsageError(f"there is no config file {visible(path)!r}")
    folders = SuiteFolders((arguments.last("--config"),))
    with folders:
        spec, warnings = load_config(read_text(path), path, os.environ)
    for warning in folders.quotable(warnings):
        complain(render_diagnostic(warning) + "\n\n")
    return placed(spec, os.path.dirname(path) or ".")
