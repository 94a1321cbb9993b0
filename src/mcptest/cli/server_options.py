"""The server that a command talks to: the command after `--`, `--url`, `--config`, or a suite.

Also the options that say how the server is reached, and `--plugin`.
"""

from __future__ import annotations

import os
import re

from mcptest.cli.options import Option
from mcptest.cli.output import write_stderr
from mcptest.core.diagnostics import render_diagnostic
from mcptest.core.errors import FormatError, UsageError
from mcptest.core.plan import HttpSpec, PluginSpec, ServerSpec
from mcptest.core.text import visible
from mcptest.engine.discovery import (
    CONFIG_NAMES,
    SUITE_NAMES,
    SuiteFolders,
    find_config,
    is_suite_name,
    read_text,
)
from mcptest.engine.loading import ExtraHttpOptions, Wanted, load_suites, resolve_folders
from mcptest.formats.config import PLUGIN_NAME, default_startup_s, load_config
from mcptest.formats.keys import parse_duration
from mcptest.protocol.revisions import REVISIONS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mcptest.cli.options import Arguments
    from mcptest.engine.loading import ExtraHttpOptions

__all__ = [
    "HTTP_OPTIONS",
    "PLUGIN_OPTION",
    "SERVER_DETAILS",
    "SERVER_OPTIONS",
    "SPEC_VERSION_OPTION",
    "choose_server",
    "find_own_config",
    "find_suite",
    "parse_command",
    "parse_credentials",
    "parse_http_server",
    "parse_plugins",
    "parse_server_command",
    "parse_spec_version",
    "parse_timeout_s",
]


HTTP_OPTIONS = (
    Option(
        names=("--url",),
        value="URL",
        help="URL of a server on HTTP, such as http://127.0.0.1:3001/mcp; if a command is given, "
        "it starts that server",
    ),
    Option(
        names=("--bearer-env",),
        value="NAME",
        help="send the token in this environment variable to a server on HTTP",
    ),
    Option(
        names=("--header-env",),
        value="HEADER=NAME",
        repeatable=True,
        help="send a header with the value of this environment variable; repeatable",
    ),
    Option(names=("--ca-file",), value="FILE", help="additional CA certificates to trust (PEM)"),
)
SPEC_VERSION_OPTION = Option(
    names=("--spec-version",),
    value="REVISION",
    help="protocol revision to use (default: auto-negotiate)",
)
PLUGIN_OPTION = Option(
    names=("--plugin",),
    value="NAME=COMMAND",
    repeatable=True,
    help="program that evaluates match:plugin:NAME.METHOD:ARG; COMMAND is split like in a shell "
    "and run without one",
)
SERVER_OPTIONS = (
    Option(
        names=("-c", "--config"),
        value="FILE",
        help="config or suite that describes the server (default: conductor.config.json or "
        "mcptest.yaml in the current folder)",
    ),
    Option(
        names=("--server-command",),
        value='"ARGV"',
        help="command that starts the server; split like in a shell, run without one",
    ),
    *HTTP_OPTIONS,
    SPEC_VERSION_OPTION,
    Option(
        names=("--timeout",),
        value="TIME",
        help='time limit for each answer: 500, "500ms" or "2s"',
    ),
    Option(names=("-v", "--verbose"), help="show what the server writes to stderr"),
)
SERVER_DETAILS = "COMMAND starts the server; without it, a config or a suite describes the server."


def choose_server(
    arguments: Arguments, way: str = "the command that starts it after --"
) -> ServerSpec:
    """Return the server that the command line, or a file in the current folder, describes.

    With a URL, a command starts the server there. `way` is what the help of the error tells the
    user to give if there is no server.
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
        if arguments.has("--config"):
            raise UsageError("--url and --config both name a server; give one of them")
        started = _parse_started_server(arguments)
        spec = parse_http_server(arguments, started.command if started else ())
        if started:
            spec = started.but(name=spec.name, http=spec.http, secrets=spec.secrets)
        else:
            spec = spec.but(cwd=os.getcwd())
    else:
        credentials = parse_credentials(arguments)
        spec = _parse_started_server(arguments) or _load_server(arguments, way)
        spec = credentials.to(spec) if credentials else spec
    limit_s, pinned = parse_timeout_s(arguments), parse_spec_version(arguments)
    spec = spec.but(spec_version=pinned) if pinned else spec
    return spec.but(timeout_s=limit_s) if limit_s else spec


def _parse_started_server(arguments: Arguments) -> ServerSpec | None:
    command = arguments.command or parse_server_command(arguments)
    if not command:
        return None
    if not command[0]:
        raise UsageError("the server's command is empty")
    return ServerSpec(
        name=os.path.basename(command[0]),
        command=command,
        cwd=os.getcwd(),
        startup_timeout_s=default_startup_s(command[0]),
    )


def _load_server(arguments: Arguments, way: str) -> ServerSpec:
    """Load the server from the config or suite."""
    path = find_own_config(arguments)
    if (not path or is_suite_name(path)) and (suite := find_suite(path)):
        return _load_suite_server(suite, is_found=not path)
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


def find_own_config(arguments: Arguments) -> str:
    """Return the config file that is used if no command is given, or ""."""
    if arguments.command or arguments.has("--server-command") or arguments.has("--url"):
        return ""
    return arguments.last("--config") or find_config(".")


def find_suite(config: str = "") -> str:
    """Return the suite that `--config` names, else that of the current folder, or ""."""
    if config:
        return config if is_suite_name(config) and os.path.isfile(config) else ""
    return next((name for name in SUITE_NAMES if os.path.isfile(name)), "")


def _load_suite_server(path: str, *, is_found: bool) -> ServerSpec:
    """Return the only server of a suite. `is_found` is true if the user did not name the file."""
    suites, mistakes, _ = load_suites(Wanted(paths=(path,), is_found=is_found), os.environ)
    if mistakes:
        raise FormatError(mistakes)
    found = {suite.server.name: suite for suite in suites if suite.server}
    if len(found) != 1:
        names = f"{len(found)} servers: {', '.join(map(visible, found))}" if found else "no server"
        message = f"{visible(path)} has {names}"
        raise UsageError(message, "give the command that starts the server after --")
    [suite] = found.values()
    assert suite.server is not None, "suites without a server were filtered out"
    # Variables that only the tests need may be unset.
    if suite.needs:
        raise FormatError(list(suite.needs))
    return suite.server


def parse_server_command(arguments: Arguments) -> tuple[str, ...]:
    """Return the words after `--`, or of `--server-command`; empty if there are none."""
    if arguments.command:
        for name in ("--server-command", "--config"):
            if arguments.has(name):
                raise UsageError(f"{name} and the words after -- both name a server; give one")
        return arguments.command
    command = parse_command(arguments, "--server-command")
    if command and arguments.has("--config"):
        raise UsageError("--server-command and --config both name a server; give one of them")
    return command


def parse_command(arguments: Arguments, option: str) -> tuple[str, ...]:
    """Return the words of an option whose value is a command; empty if it is not given."""
    if not arguments.has(option):
        return ()
    import shlex  # noqa: PLC0415  # only if such an option is used

    try:
        words = tuple(shlex.split(arguments.last(option)))
    except ValueError as error:
        raise UsageError(f"{option} cannot be split: {error}") from None
    if not words:
        raise UsageError(f"{option} is empty")
    return words


def parse_timeout_s(arguments: Arguments) -> float | None:
    if not arguments.has("--timeout"):
        return None
    try:
        return parse_duration(arguments.last("--timeout"))
    except ValueError as error:
        raise UsageError(f"--timeout {error}") from None


def parse_spec_version(arguments: Arguments) -> str:
    """Return the revision to use, "" to negotiate it."""
    text = arguments.last("--spec-version", "auto")
    if text == "auto":
        return ""
    if text not in REVISIONS:
        message = f"--spec-version takes auto or one of {', '.join(REVISIONS)}"
        raise UsageError(f"{message}, not {visible(text)!r}")
    return text


def parse_http_server(arguments: Arguments, command: tuple[str, ...]) -> ServerSpec:
    """Return the server at `--url` with its credentials, without the command that starts it."""
    from mcptest.protocol.http_address import BadUrlError, parse_url  # noqa: PLC0415  # only here

    url = arguments.last("--url")
    try:
        address = parse_url(url.replace("{port}", "65535"))
    except BadUrlError as error:
        # The URL is not quoted: it may contain credentials.
        raise UsageError(f"--url is not the URL of a server: {error}") from None
    if "{port}" in url and not command:
        message = "{port} in --url is a free port for a server that we start; there is no command"
        raise UsageError(message, "give the command that starts it, or the number of the port")
    secrets: list[str] = []
    headers = dict(_parse_headers(arguments, secrets))
    http = HttpSpec(url=url, headers=headers, ca_file=_parse_ca_file(arguments))
    # A port that changes with every start is not part of the name.
    name = address.host if "{port}" in url else address.authority
    return ServerSpec(name=name, command=(), http=http, secrets=tuple(secrets))


def parse_credentials(arguments: Arguments) -> ExtraHttpOptions | None:
    """Return the headers and certificates to add to a server that a file describes, or None."""
    named = [name for name in ("--bearer-env", "--header-env", "--ca-file") if arguments.has(name)]
    if not named or arguments.has("--url"):
        return None
    secrets: list[str] = []
    headers = dict(_parse_headers(arguments, secrets))
    return ExtraHttpOptions(
        option=named[0], headers=headers, secrets=tuple(secrets), ca_file=_parse_ca_file(arguments)
    )


def _parse_ca_file(arguments: Arguments) -> str:
    path = arguments.last("--ca-file")
    if arguments.has("--ca-file") and not os.path.isfile(path):
        raise UsageError(f"--ca-file: there is no file {visible(path)!r}")
    return path


def _parse_headers(arguments: Arguments, secrets: list[str]) -> list[tuple[str, str]]:
    """Return the headers of the command line; add their values to `secrets`."""
    found = []
    for name in arguments.all("--bearer-env"):
        found.append(("Authorization", f"Bearer {_read_variable(name, '--bearer-env', secrets)}"))
    for word in arguments.all("--header-env"):
        from mcptest.formats.config import is_header_name, is_our_header  # noqa: PLC0415

        header, _, name = word.partition("=")
        if not header or not name:
            message = f"--header-env takes HEADER=NAME, not {visible(word)!r}"
            raise UsageError(message, "such as --header-env X-Api-Key=SHOP_KEY")
        if not is_header_name(header):
            raise UsageError(f"{visible(header)!r} is not a valid header name")
        if is_our_header(header):
            raise UsageError(f"--header-env: the header {header} is set by mcptest itself")
        found.append((header, _read_variable(name, "--header-env", secrets)))
    return found


def _read_variable(name: str, option: str, secrets: list[str]) -> str:
    value = os.environ.get(name, "")
    if not value:
        how = "is empty" if name in os.environ else "is not set"
        message = f"{option} names the environment variable {visible(name)!r}, which {how}"
        raise UsageError(message, f"export {visible(name)}=… before the run")
    if not value.isprintable() or not value.isascii():
        raise UsageError(f"the value of {visible(name)} is not valid in an HTTP header")
    secrets.append(value)
    return value


def parse_plugins(arguments: Arguments) -> tuple[PluginSpec, ...]:
    """Return the plugins of the command line, in its order."""
    found: dict[str, PluginSpec] = {}
    for text in arguments.all("--plugin"):
        spec = _parse_plugin(text)
        other = found.setdefault(spec.name, spec)
        if other is not spec:
            owners = f"{visible(other.owner)} and {visible(spec.owner)}"
            message = f"the plugin {spec.name!r} has two owners: {owners}"
            raise UsageError(message, "give one of them another name")
    return tuple(found.values())


def _parse_plugin(text: str) -> PluginSpec:
    import shlex  # noqa: PLC0415  # only if the option is used

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
