"""Which server a command talks to: the words after `--`, a URL, an option, or a config."""

from __future__ import annotations

import os
import re

from mcptest.cli.options import Option
from mcptest.cli.output import write_stderr
from mcptest.core.diagnostics import render_diagnostic
from mcptest.core.errors import UsageError
from mcptest.core.plan import HttpSpec, PluginSpec, ServerSpec
from mcptest.core.text import visible
from mcptest.engine.discovery import (
    CONFIG_NAMES,
    SuiteFolders,
    find_config,
    is_suite_name,
    read_text,
)
from mcptest.engine.loading import resolve_folders
from mcptest.formats.config import default_startup_s, load_config
from mcptest.formats.keys import parse_duration
from mcptest.protocol.revisions import REVISIONS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mcptest.cli.options import Arguments
    from mcptest.engine.loading import ExtraHttpOptions

__all__ = [
    "HTTP_OPTIONS",
    "PLUGIN",
    "SERVER_DETAILS",
    "SERVER_OPTIONS",
    "SPEC_VERSION",
    "choose_server",
    "find_own_config",
    "over_http",
    "plugins",
    "sent_along",
    "server_command",
    "spec_version",
    "timeout_s",
]


# The options by which a command reaches a server over HTTP, and picks a revision.


HTTP_OPTIONS = (
    Option(
        names=("--url",),
        value="URL",
        help="a server on HTTP, such as http://127.0.0.1:3001/mcp; with a command, that starts it",
    ),
    Option(
        names=("--bearer-env",),
        value="NAME",
        help="send the token in this environment variable to a server on HTTP",
    ),
    Option(
        names=("--header-env",),
        value="HEADER=NAME",
        help="send a header with the value of this environment variable; repeatable",
    ),
    Option(names=("--ca-file",), value="FILE", help="further authorities that TLS believes"),
)
SPEC_VERSION = Option(
    names=("--spec-version",),
    value="REVISION",
    help="the only revision of the protocol that will do; default: auto, a handshake and, where "
    "the server refuses it, the stateless era",
)


def sent_along(arguments: Arguments) -> ExtraHttpOptions | None:
    """What the command line has sent to a server that a file describes; None for nothing."""
    named = [name for name in ("--bearer-env", "--header-env", "--ca-file") if arguments.has(name)]
    if not named or arguments.has("--url"):
        return None
    from mcptest.engine.loading import ExtraHttpOptions  # noqa: PLC0415  # only for those with some

    secrets: list[str] = []
    headers = dict(_headers(arguments, secrets))
    return ExtraHttpOptions(
        option=named[0], headers=headers, secrets=tuple(secrets), ca_file=_ca_file(arguments)
    )


def over_http(arguments: Arguments, command: tuple[str, ...]) -> ServerSpec:
    """The server at the URL of the command line, with the credentials it names.

    `command` is what starts it, if anything does, which only says here that something will.
    """
    # What takes URLs apart is of no use to others.
    from mcptest.protocol.http_address import BadUrlError, parse_url  # noqa: PLC0415

    url = arguments.last("--url")
    try:
        address = parse_url(url.replace("{port}", "65535"))
    except BadUrlError as error:
        # It is not quoted: there may be credentials in it.
        raise UsageError(f"--url is no URL of a server: {error}") from None
    if "{port}" in url and not command:
        message = "{port} in --url is a free port for a server that we start; there is no command"
        raise UsageError(message, "give the command that starts it, or the number of the port")
    secrets: list[str] = []
    headers = dict(_headers(arguments, secrets))
    http = HttpSpec(url=url, headers=headers, ca_file=_ca_file(arguments))
    # Where the port is chosen for each start, it is no part of a name.
    name = address.host if "{port}" in url else address.authority
    return ServerSpec(name=name, command=(), http=http, secrets=tuple(secrets))


def _ca_file(arguments: Arguments) -> str:
    path = arguments.last("--ca-file")
    if arguments.has("--ca-file") and not os.path.isfile(path):
        raise UsageError(f"--ca-file: there is no file {visible(path)!r}")
    return path


def _headers(arguments: Arguments, secrets: list[str]) -> list[tuple[str, str]]:
    found = []
    for name in arguments.all("--bearer-env"):
        found.append(("Authorization", f"Bearer {_variable(name, '--bearer-env', secrets)}"))
    for word in arguments.all("--header-env"):
        from mcptest.formats.http_servers import is_header_name, is_our_header  # noqa: PLC0415

        header, _, name = word.partition("=")
        if not header or not name:
            message = f"--header-env takes HEADER=NAME, not {visible(word)!r}"
            raise UsageError(message, "such as --header-env X-Api-Key=SHOP_KEY")
        if not is_header_name(header):
            raise UsageError(f"{visible(header)!r} is no name of a header")
        if is_our_header(header):
            raise UsageError(f"--header-env: the header {header} is set by mcptest itself")
        found.append((header, _variable(name, "--header-env", secrets)))
    return found


def _variable(name: str, option: str, secrets: list[str]) -> str:
    value = os.environ.get(name, "")
    if not value:
        how = "is empty" if name in os.environ else "is not set"
        message = f"{option} names the environment variable {visible(name)!r}, which {how}"
        raise UsageError(message, f"export {visible(name)}=… before the run")
    if not value.isprintable() or not value.isascii():
        raise UsageError(f"the value of {visible(name)} cannot stand in a header of HTTP")
    secrets.append(value)
    return value


def spec_version(arguments: Arguments) -> str:
    """The revision that is pinned; "" for auto."""
    text = arguments.last("--spec-version", "auto")
    if text == "auto":
        return ""
    if text not in REVISIONS:
        message = f"--spec-version takes auto or one of {', '.join(REVISIONS)}"
        raise UsageError(f"{message}, not {visible(text)!r}")
    return text


def server_command(arguments: Arguments) -> tuple[str, ...]:
    """The words of `--server-command`; none when it is not given."""
    if arguments.command:
        for name in ("--server-command", "--config"):
            if arguments.has(name):
                raise UsageError(f"{name} and the words after -- both name a server; give one")
        return arguments.command
    if not arguments.has("--server-command"):
        return ()
    import shlex  # noqa: PLC0415  # only for those who use the option

    text = arguments.last("--server-command")
    try:
        words = tuple(shlex.split(text))
    except ValueError as error:
        raise UsageError(f"--server-command cannot be split: {error}") from None
    if not words:
        raise UsageError("--server-command is empty")
    if arguments.has("--config"):
        raise UsageError("--server-command and --config both name a server; give one of them")
    return words


def timeout_s(arguments: Arguments) -> float | None:
    if not arguments.has("--timeout"):
        return None
    try:
        return parse_duration(arguments.last("--timeout"))
    except ValueError as error:
        raise UsageError(f"--timeout {error}") from None


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
        from mcptest.cli.suite_server import find_suite, server_of_suite  # noqa: PLC0415

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
        write_stderr(render_diagnostic(warning) + "\n\n")
    return resolve_folders(spec, os.path.dirname(path) or ".")


# `--plugin NAME=COMMAND`: a program that judges values, for this run.


PLUGIN = Option(
    names=("--plugin",),
    value="NAME=COMMAND",
    repeatable=True,
    help="a program that match:plugin:NAME.METHOD:ARG asks; the command is split like a shell "
    "would, run without one",
)


def plugins(arguments: Arguments) -> tuple[PluginSpec, ...]:
    """The plugins that a command line declares, in its order."""
    found: dict[str, PluginSpec] = {}
    for text in arguments.all("--plugin"):
        spec = _plugin(text)
        other = found.setdefault(spec.name, spec)
        if other is not spec:
            owners = f"{visible(other.owner)} and {visible(spec.owner)}"
            message = f"the plugin {spec.name!r} has two owners: {owners}"
            raise UsageError(message, "give one of them another name")
    return tuple(found.values())


def _plugin(text: str) -> PluginSpec:
    import shlex  # noqa: PLC0415  # only for those who use the option

    from mcptest.formats.config import PLUGIN_NAME  # noqa: PLC0415  # as above

    name, equals, command = text.partition("=")
    if not equals or not re.fullmatch(PLUGIN_NAME, name):
        message = f"--plugin takes NAME=COMMAND, not {visible(text)!r}"
        raise UsageError(message, "for example --plugin geo='python3 geo.py'")
    try:
        words = tuple(shlex.split(command))
    except ValueError as error:
        raise UsageError(f"--plugin {name}: the command cannot be split: {error}") from None
    if not words:
        raise UsageError(f"--plugin {name}= has no command", "write --plugin NAME=COMMAND")
    return PluginSpec(name=name, command=words, owner=f"--plugin {text}")
