"""The options that commands share: the server to talk to, the tests to select, and how they run.

Commands for one server have `SERVER_OPTIONS` and call `choose_server`; `mcptest run` has `OPTIONS`
and calls `parse_wanted`. Functions that begin with `parse_` read one option, and raise a
`UsageError` if its value is wrong.
"""

from __future__ import annotations

import os
import re

from mcptest.cli.options import COLOR_OPTIONS, Option, parse_choice, parse_number
from mcptest.cli.output import write_note, write_stderr
from mcptest.core.diagnostics import render_diagnostic, suggest
from mcptest.core.errors import FormatError, UsageError
from mcptest.core.plan import ISOLATIONS, HttpSpec, PluginSpec, ServerSpec
from mcptest.core.text import list_names, visible
from mcptest.engine.loading import (
    ExtraHttpOptions,
    Wanted,
    load_client_servers,
    load_server,
    load_suites,
)
from mcptest.engine.selection import Selection, Shard, read_failed, split_lines
from mcptest.engine.test_files import (
    CONFIG_NAMES,
    FORMATS,
    SUITE_NAMES,
    SuiteFolders,
    find_client_config,
    find_config,
    is_client_config,
    is_suite_name,
    read_text,
)
from mcptest.formats.config import PLUGIN_NAME, default_startup_s
from mcptest.formats.fields import parse_duration
from mcptest.protocol.revisions import REVISIONS
from mcptest.reporters.registry import REPORTERS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mcptest.cli.options import Arguments
    from mcptest.core.plan import Suite
    from mcptest.core.results import SnapshotMode
    from mcptest.protocol.http_address import Address

__all__ = [
    "CA_FILE_OPTION",
    "CONFIG_OPTION",
    "ENV_FILE_OPTION",
    "HTTP_OPTIONS",
    "OPTIONS",
    "PLUGIN_OPTION",
    "SERVER_COMMAND_OPTION",
    "SERVER_DETAILS",
    "SERVER_NAME_OPTION",
    "SERVER_OPTIONS",
    "SHOWN_VARIABLE",
    "SPEC_VERSION_OPTION",
    "START_TIMEOUT_OPTION",
    "VERBOSE_OPTION",
    "WATCHER_VARIABLE",
    "choose_server",
    "choose_servers",
    "find_server_file",
    "find_suite",
    "parse_ca_file",
    "parse_command",
    "parse_format",
    "parse_http_server",
    "parse_max_failures",
    "parse_min_coverage",
    "parse_plugins",
    "parse_repeat",
    "parse_retries",
    "parse_seconds",
    "parse_server_command",
    "parse_timeout_s",
    "parse_wanted",
    "parse_workers",
    "read_env_file",
]


CA_FILE_OPTION = Option(
    names=("--ca-file",), value="FILE", help="additional CA certificates to trust (PEM)"
)
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
    Option(
        names=("--no-login",),
        help="do not use the tokens of mcptest login for the server at --url",
    ),
    CA_FILE_OPTION,
)
SPEC_VERSION_OPTION = Option(
    names=("--spec-version",),
    value="REVISION",
    choices=("auto", *REVISIONS),
    help="protocol revision to use (default: auto-negotiate)",
)
PLUGIN_OPTION = Option(
    names=("--plugin",),
    value="NAME=COMMAND",
    repeatable=True,
    help="program that evaluates match:plugin:NAME.METHOD:ARG; COMMAND is split like in a shell "
    "and run without one",
)
CONFIG_OPTION = Option(
    names=("-c", "--config"),
    value="FILE",
    help="config or suite that describes the server, or the config of a client such as .mcp.json "
    "(default: conductor.config.json, mcptest.yaml or a client's config in the current folder)",
)
SERVER_NAME_OPTION = Option(
    names=("--server",),
    value="NAME",
    help="which server of that file, if it has several",
)
START_TIMEOUT_OPTION = Option(
    names=("--start-timeout",),
    value="SECONDS",
    help='time limit for the server to be ready, with the handshake: 30, "500ms" or "2m" (default: '
    "5, or 20 for programs that may fetch it first, such as npx, uvx, docker)",
)
VERBOSE_OPTION = Option(names=("-v", "--verbose"), help="show what the server writes to stderr")
SERVER_COMMAND_OPTION = Option(
    names=("--server-command",),
    value='"ARGV"',
    help="command that starts the server; split like in a shell, run without one",
)
ENV_FILE_OPTION = Option(
    names=("--env-file",),
    value="FILE",
    repeatable=True,
    help="set the environment variables in this file (a line NAME=value for each) that are "
    "not set; their values are secrets; repeatable",
)

SERVER_OPTIONS = (
    CONFIG_OPTION,
    SERVER_NAME_OPTION,
    SERVER_COMMAND_OPTION,
    *HTTP_OPTIONS,
    SPEC_VERSION_OPTION,
    ENV_FILE_OPTION,
    Option(
        names=("--timeout",),
        value="TIME",
        help='time limit for each answer: 500, "500ms" or "2s"',
    ),
    START_TIMEOUT_OPTION,
    VERBOSE_OPTION,
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
    _refuse_server_name(arguments)
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
        credentials = _parse_credentials(arguments)
        spec = _parse_started_server(arguments) or _load_server(arguments, way)
        spec = credentials.to(spec) if credentials else spec
    return _apply_limits(arguments, spec)


def choose_servers(arguments: Arguments) -> list[ServerSpec]:
    """Return the server that the command line describes, or all servers of a file."""
    path = find_server_file(arguments)
    names_server = _names_server(arguments) or arguments.has("--server")
    suite = find_suite(path) if not names_server and (not path or is_suite_name(path)) else ""
    if suite:
        specs = _servers_of(_load_suite_servers(suite, is_found=not path))
    elif path and os.path.exists(path) and is_client_config(path, read_text(path)):
        specs = _load_from_file(arguments, path, takes_all=not names_server)
    else:
        return [choose_server(arguments)]
    file = visible(suite or path)
    if not specs:
        raise UsageError(f"{file} has no server")
    credentials = _parse_credentials(arguments)
    if credentials and len(specs) > 1:
        message = f"{credentials.option} is for one server, and {file} has {len(specs)}"
        raise UsageError(message, "write credentials in the file: auth, headers")
    specs = [credentials.to(spec) if credentials else spec for spec in specs]
    return [_apply_limits(arguments, spec) for spec in specs]


def _apply_limits(arguments: Arguments, spec: ServerSpec) -> ServerSpec:
    """Return the server with the revision and the time limits of the command line."""
    return spec.but(
        timeout_s=parse_timeout_s(arguments) or spec.timeout_s,
        spec_version=_parse_spec_version(arguments) or spec.spec_version,
        startup_timeout_s=parse_seconds(arguments, "--start-timeout") or spec.startup_timeout_s,
    )


def _parse_started_server(arguments: Arguments) -> ServerSpec | None:
    command = arguments.command or parse_server_command(arguments)
    if not command:
        return None
    if not command[0]:
        raise UsageError("the server's command is empty")
    return ServerSpec(
        name=os.path.basename(command[0]),
        is_named=False,
        command=command,
        cwd=os.getcwd(),
        startup_timeout_s=default_startup_s(command[0]),
    )


def _load_server(arguments: Arguments, way: str) -> ServerSpec:
    """Load the server from the config or suite."""
    path = find_server_file(arguments)
    if (not path or is_suite_name(path)) and (suite := find_suite(path)):
        return _load_suite_server(suite, arguments.last("--server"), is_found=not path)
    if not path:
        raise UsageError(
            "no server to talk to",
            f"give {way}, --url URL or --config FILE, or put a {CONFIG_NAMES[0]}, an "
            "mcptest.yaml or the config of a client, such as .mcp.json, into this folder",
        )
    if not os.path.exists(path):
        raise UsageError(f"there is no config file {visible(path)!r}")
    return _load_from_file(arguments, path)[0]


def _load_from_file(
    arguments: Arguments, path: str, *, takes_all: bool = False
) -> list[ServerSpec]:
    """Load the server from a config, or all servers from the config of another program."""
    folders = SuiteFolders((arguments.last("--config"),))
    name = arguments.last("--server")
    with folders:
        if takes_all:
            text = read_text(path)
            specs, warnings = load_client_servers(
                path, text, name, os.environ, write_note, takes_all=True
            )
        else:
            spec, warnings = load_server(path, name, os.environ, write_note)
            specs = [spec]
    if not arguments.has("--config") and os.path.basename(path) not in CONFIG_NAMES:
        names = ", ".join(visible(spec.name) for spec in specs)
        servers = "server" if len(specs) == 1 else "servers"
        write_note(f"{visible(path)} describes the {servers}: {names}")
    for warning in folders.quotable(warnings):
        write_stderr(render_diagnostic(warning) + "\n\n")
    return specs


def find_server_file(arguments: Arguments) -> str:
    """Return the file that describes the server if no command is given, or "".

    A suite is returned only if `--config` names it: see `find_suite`.
    """
    if _names_server(arguments):
        return ""
    path = arguments.last("--config") or find_config(".")
    return path or ("" if find_suite() else find_client_config("."))


def _names_server(arguments: Arguments) -> bool:
    """True if the command line says where the server is."""
    ways = ("--server-command", "--url")
    return bool(arguments.command) or any(map(arguments.has, ways))


def _refuse_server_name(arguments: Arguments) -> None:
    if arguments.has("--server") and _names_server(arguments):
        message = "--server chooses a server of a file, and the command line names one already"
        raise UsageError(message, "give --config FILE with it, or leave it out")


def find_suite(config: str = "") -> str:
    """Return the suite that `--config` names, else that of the current folder, or ""."""
    if config:
        return config if is_suite_name(config) and os.path.isfile(config) else ""
    return next((name for name in SUITE_NAMES if os.path.isfile(name)), "")


def _load_suite_server(path: str, name: str, *, is_found: bool) -> ServerSpec:
    """Return a server of a suite: the one that is named, or the only one.

    `is_found` is true if the user did not name the file.
    """
    found = _load_suite_servers(path, is_found=is_found)
    shown = ", ".join(map(visible, found))
    if name and name not in found:
        question = suggest(name, found)
        message = f"{visible(path)} has no server {visible(name)!r}{question}"
        raise UsageError(message, f"there are: {shown}" if shown else "")
    if not name and len(found) != 1:
        names = f"{len(found)} servers: {shown}" if found else "no server"
        message = f"{visible(path)} has {names}"
        help = "choose one with --server NAME" if found else "give the command after --"
        raise UsageError(message, help)
    return _servers_of({name: found[name]} if name else found)[0]


def _load_suite_servers(path: str, *, is_found: bool) -> dict[str, Suite]:
    """Return a suite of each server, by its name."""
    suites, mistakes, _ = load_suites(Wanted(paths=(path,), is_found=is_found), os.environ)
    if mistakes:
        raise FormatError(mistakes)
    return {suite.server.name: suite for suite in suites if suite.server}


def _servers_of(suites: dict[str, Suite]) -> list[ServerSpec]:
    """Return the servers; a FormatError if variables that they need are unset."""
    # Variables that only the tests need may be unset.
    needs = [each for suite in suites.values() for each in suite.needs]
    if needs:
        raise FormatError(needs)
    return [suite.server for suite in suites.values() if suite.server]


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


def parse_seconds(arguments: Arguments, option: str) -> float | None:
    """Return the time of an option whose bare numbers are seconds; None if it is not given."""
    if not arguments.has(option):
        return None
    text = arguments.last(option)
    try:
        return parse_duration(f"{text}s" if re.fullmatch(r"[0-9.]+", text) else text)
    except ValueError as error:
        reason = str(error).replace("a number of milliseconds", "a number of seconds")
        raise UsageError(f"{option} {reason}, not {visible(text)!r}") from None


def _parse_spec_version(arguments: Arguments) -> str:
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
    headers, secrets = _parse_headers(arguments)
    http = HttpSpec(
        url=url,
        headers=headers,
        uses_login=_uses_login(arguments, address, headers),
        ca_file=parse_ca_file(arguments),
    )
    # A port that changes with every start is not part of the name.
    name = address.host if "{port}" in url else address.authority
    return ServerSpec(name=name, is_named=False, command=(), http=http, secrets=secrets)


def _uses_login(arguments: Arguments, server: Address, headers: dict[str, str]) -> bool:
    """True if the user has logged in to this very URL, and nothing else says who we are."""
    is_said = any(name.lower() == "authorization" for name in headers)
    if arguments.has("--no-login") or is_said or "{port}" in arguments.last("--url"):
        return False
    # Only for servers on HTTP.
    from mcptest.protocol.oauth import OAuthError  # noqa: PLC0415
    from mcptest.transport.http.stored_login import find_store  # noqa: PLC0415

    try:
        login = find_store(os.environ).read().get(server.url)
    except OAuthError as error:
        write_note(f"{error.message}: {error.hint}")
        return False
    if login:
        write_note(f"your login for {visible(server.url)} is used; --no-login leaves it out")
    return login is not None


def _parse_credentials(arguments: Arguments) -> ExtraHttpOptions | None:
    """Return the headers and certificates to add to a server that a file describes, or None."""
    if arguments.has("--no-login") and not arguments.has("--url"):
        message = (
            "--no-login is for the server at --url; a file says itself whether it uses a login"
        )
        raise UsageError(message, 'leave out "login: true" in its "auth"')
    named = [name for name in ("--bearer-env", "--header-env", "--ca-file") if arguments.has(name)]
    if not named or arguments.has("--url"):
        return None
    headers, secrets = _parse_headers(arguments)
    return ExtraHttpOptions(
        option=named[0], headers=headers, secrets=secrets, ca_file=parse_ca_file(arguments)
    )


def parse_ca_file(arguments: Arguments) -> str:
    """Return the file of `--ca-file`, "" if it is not given."""
    path = arguments.last("--ca-file")
    if arguments.has("--ca-file") and not os.path.isfile(path):
        raise UsageError(f"--ca-file: there is no file {visible(path)!r}")
    return path


def _parse_headers(arguments: Arguments) -> tuple[dict[str, str], tuple[str, ...]]:
    """Return the headers of the command line, and the secrets in them."""
    headers: dict[str, str] = {}
    secrets: list[str] = []
    for name in arguments.all("--bearer-env"):
        secrets.append(_read_variable(name, "--bearer-env"))
        headers["Authorization"] = f"Bearer {secrets[-1]}"
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
        secrets.append(_read_variable(name, "--header-env"))
        headers[header] = secrets[-1]
    return headers, tuple(secrets)


def _read_variable(name: str, option: str) -> str:
    value = os.environ.get(name, "")
    if not value:
        how = "is empty" if name in os.environ else "is not set"
        message = f"{option} names the environment variable {visible(name)!r}, which {how}"
        raise UsageError(message, f"export {visible(name)}=… before the run")
    if not value.isprintable() or not value.isascii():
        raise UsageError(f"the value of {visible(name)} is not valid in an HTTP header")
    return value


def parse_plugins(arguments: Arguments) -> tuple[PluginSpec, ...]:
    """Return the plugins of the command line, in its order."""
    if not arguments.has("--plugin"):
        return ()
    from mcptest.plugins.host import index_plugins  # noqa: PLC0415  # only with its option

    return tuple(index_plugins(map(_parse_plugin, arguments.all("--plugin"))).values())


def _parse_plugin(text: str) -> PluginSpec:
    import shlex  # noqa: PLC0415  # see above

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


# The options of `mcptest run` and `conductor`, and how their values are parsed.


# Set in the runs of --watch: the id of the watching process. A run ends when that process ends.
WATCHER_VARIABLE = "MCPTEST_FOLLOWS"
# Set as well: the file with the warnings and notes that earlier runs have shown.
SHOWN_VARIABLE = "MCPTEST_SHOWN"

_SERVER = (
    Option(
        names=("-c", "--config"),
        value="FILE",
        help="config that describes the server; also that of a client, such as .mcp.json (default: "
        "conductor.config.json, else a client's config, in the current folder)",
    ),
    SERVER_NAME_OPTION,
    SERVER_COMMAND_OPTION,
    *HTTP_OPTIONS,
    SPEC_VERSION_OPTION,
    Option(
        names=("--transport-matrix",),
        help="run all tests over stdio and HTTP and in both eras of the protocol, as far as the "
        "server supports them, and report differences",
    ),
    Option(
        names=("--http-command",),
        value='"ARGV"',
        help="with --transport-matrix: command that starts the server at --url; {port} is a free "
        "port in both",
    ),
    PLUGIN_OPTION,
    Option(
        names=("--variable",),
        value="NAME=VALUE",
        repeatable=True,
        help="value of a variable that suites declare; NAME:=JSON gives one that is not a string; "
        "repeatable",
    ),
    ENV_FILE_OPTION,
)

_SELECTION = (
    Option(
        names=("-k", "--filter"),
        value="TEXT",
        repeatable=True,
        help="run only tests whose name, or whose suite's name, contains this text, ignoring "
        "case; repeatable: any of the texts",
    ),
    Option(names=("--tag",), value="TAG", repeatable=True, help="run only tests with this tag"),
    Option(
        names=("--skip-tag",), value="TAG", repeatable=True, help="do not run tests with this tag"
    ),
    Option(
        names=("--lf", "--last-failed"),
        help="run only tests that failed in the last run in this folder; all if none did",
    ),
    Option(
        names=("--list",),
        help="list the selected tests and start nothing; as one JSON object with --json",
    ),
    Option(
        names=("--format",),
        value="NAME",
        choices=FORMATS,
        help="read all files as conductor, cases or suite (default: by name, else by content)",
    ),
    Option(
        names=("--shard",),
        value="I/N",
        help="run only part I of N of the files; every file is in exactly one part",
    ),
)

_ISOLATION_OPTION = Option(
    names=("--isolation",),
    value="|".join(ISOLATIONS),
    choices=ISOLATIONS,
    help="one server process for the whole run, for each file or for each test, instead of "
    "what configs and suites say (default: run)",
)
_RUNNING = (
    Option(
        names=("-j", "--parallel"),
        value="N|auto",
        choices=("auto",),
        help="run N files at a time; files that share a server stay together; auto: one per core",
    ),
    _ISOLATION_OPTION,
    Option(names=("-x", "--bail"), help="stop after the first test that does not pass"),
    Option(
        names=("--max-failures",),
        value="N",
        help="stop after N tests that do not pass; --bail is --max-failures 1",
    ),
    Option(
        names=("--repeat",),
        value="N",
        help="run each test N times; it passes if it passes every time; nothing is retried",
    ),
    Option(
        names=("--retries",),
        value="N",
        help="retry a test that does not pass up to N times; one that then passes is reported "
        "as flaky",
    ),
    Option(
        names=("--timeout",),
        value="TIME",
        help='time limit for each answer: 500, "500ms" or "2s" (default: 30s)',
    ),
    START_TIMEOUT_OPTION,
    Option(
        names=("--trace",),
        help="send a fresh W3C traceparent with the requests of each test, and show the trace of "
        "a failure",
    ),
    Option(
        names=("--update-snapshots",),
        help="accept the current answers as snapshots; refused in CI",
    ),
    Option(
        names=("--force-update-snapshots",),
        help="accept the current answers as snapshots, in CI too",
    ),
    Option(
        names=("--allow-not-run",),
        help="do not fail because of lanes of a suite that this version cannot run",
    ),
    Option(
        names=("--watch",),
        help="keep running: rerun the tests affected by each change, until Ctrl-C",
    ),
)

_REPORTS = (
    Option(names=("--json",), help="print the JSON report on standard output, and nothing else"),
    Option(names=("--junit",), value="FILE", help="write a JUnit XML report"),
    Option(
        names=("--reporter",),
        value="NAME[=FILE]",
        choices=tuple(REPORTERS),
        repeatable=True,
        help=f"{', '.join(REPORTERS)}; to standard output or, except terminal, to FILE; repeatable",
    ),
    Option(
        names=("--no-github",),
        help="in GitHub Actions, add neither annotations nor a job summary unless a reporter is "
        "given for them",
    ),
    Option(
        names=("--capture",), value="FILE", help="write all traffic as a capture (sessions in JSON)"
    ),
    Option(
        names=("--strict-invariants",),
        help="exit with 1 if a rule about sessions is violated (default: only report it)",
    ),
    Option(
        names=("--min-coverage",),
        value="PERCENT",
        help="exit with 6 if the tests exercise less of what the server offers",
    ),
    Option(
        names=("--server-coverage",),
        value="DIR",
        help="collect the code coverage of a Python (coverage.py) or Node (V8) server in DIR",
    ),
    *COLOR_OPTIONS,
    Option(
        names=("-v", "--verbose"),
        help="show more: requests and answers of failing tests, folders, stderr",
    ),
    Option(
        names=("-q", "--quiet"),
        help="show less: only tests that do not pass, and the totals",
    ),
    Option(
        names=("--durations",),
        value="N",
        help="list the N slowest tests at the end of the terminal report; 0 lists all",
    ),
)

OPTIONS = _SERVER + _SELECTION + _RUNNING + _REPORTS

_MOST_WORKERS = 256
_MOST_RETRIES = 100
_MOST_FAILURES = 999_999
_MOST_REPEATS = 10_000


def parse_wanted(arguments: Arguments) -> Wanted:
    """Return the files, the server and the selection that a command line asks for."""
    _refuse_server_name(arguments)
    paths, lines = arguments.paths, Selection().lines
    if any(":" in path for path in paths):
        paths, lines = split_lines(paths, has_format=arguments.has("--format"))
    return Wanted(
        paths=paths,
        config=arguments.last("--config"),
        server_name=arguments.last("--server"),
        server_command=parse_server_command(arguments),
        server=_parse_server_at_url(arguments),
        sent_along=_parse_credentials(arguments),
        spec_version=_parse_spec_version(arguments),
        isolation=parse_choice(arguments, _ISOLATION_OPTION),
        selection=Selection(
            filters=tuple(arguments.all("--filter")),
            tags=tuple(arguments.all("--tag")),
            skip_tags=tuple(arguments.all("--skip-tag")),
            shard=_parse_shard(arguments),
            # Set by mcptest compliance run --from-suite; it is not an option of a command line.
            lane=arguments.last("--lane"),
            lines=lines,
            last_failed=_read_last_failed() if arguments.has("--last-failed") else {},
        ),
        timeout_s=parse_timeout_s(arguments),
        startup_timeout_s=parse_seconds(arguments, "--start-timeout"),
        format=parse_format(arguments),
        plugins=parse_plugins(arguments),
        snapshots=_parse_snapshot_mode(arguments),
        variables=_parse_variables(arguments),
        note=write_note,
    )


def _parse_variables(arguments: Arguments) -> dict[str, object]:
    values: dict[str, object] = {}
    for word in arguments.all("--variable"):
        found = re.fullmatch(r"([A-Za-z_][A-Za-z0-9_]*)(:?)=(.*)", word, re.DOTALL)
        if not found:
            message = f"--variable takes NAME=VALUE or NAME:=JSON, not {visible(word)!r}"
            raise UsageError(message, "for example --variable region=eu --variable count:=3")
        name, value = found[1], found[3]
        if name in values:
            raise UsageError(f"--variable {name} is given twice")
        values[name] = value
        if found[2]:
            from mcptest.core.strict_json import NotJsonError, parse_json  # noqa: PLC0415  # rare

            try:
                values[name] = parse_json(value)
            except NotJsonError as error:
                raise UsageError(f"--variable {name}:= is not JSON: {error}") from None
    return values


# Of the mistakes in a file of variables.
_MAX_LINES_SHOWN = 10


def read_env_file(file: str) -> None:
    """Set the variables of a file, as an export in the shell would; those that are set stay."""
    # For those who want it.
    from mcptest.core.secrets import LEARNED  # noqa: PLC0415
    from mcptest.formats.client_configs import parse_env_file, parts_of_secret  # noqa: PLC0415

    if not os.path.exists(file):
        raise UsageError(f"--env-file: there is no file {visible(file)!r}")
    found, mistakes = parse_env_file(read_text(file))
    if mistakes:
        # The lines are not quoted: they may hold a secret.
        lines = list_names([str(number) for number in mistakes], _MAX_LINES_SHOWN)
        words = ("lines", "are") if len(mistakes) > 1 else ("line", "is")
        message = f"{words[0]} {lines} of {visible(file)} {words[1]} not NAME=value"
        raise UsageError(f"--env-file: {message}")
    kept = [name for name, value in found.items() if os.environ.get(name, value) != value]
    if kept:
        names = visible(", ".join(kept))
        write_note(f"--env-file {visible(file)}: already set otherwise, and left so: {names}")
    for name, value in found.items():
        os.environ.setdefault(name, value)
        LEARNED.add(*parts_of_secret(os.environ[name]))


def _read_last_failed() -> dict[str, frozenset[str]]:
    """Return the tests that failed the last time; if there are none, say that all run."""
    failed, why = read_failed()
    if not failed:
        write_note(f"--last-failed: {why or 'no test has failed here'}, so all tests run")
    return failed


def _parse_server_at_url(arguments: Arguments) -> ServerSpec | None:
    """Return the server at `--url`, or None."""
    if not arguments.has("--url"):
        return None
    if arguments.has("--config"):
        raise UsageError("--url and --config both name a server; give one of them")
    return parse_http_server(arguments, parse_server_command(arguments))


def _parse_snapshot_mode(arguments: Arguments) -> SnapshotMode | None:
    """Return the mode that the options set, or None to decide when there are snapshots."""
    update, force = arguments.has("--update-snapshots"), arguments.has("--force-update-snapshots")
    if not (update or force):
        return None
    from mcptest.engine.snapshots import choose_mode  # noqa: PLC0415  # rare

    return choose_mode(update, force, os.environ)


def parse_format(arguments: Arguments) -> str:
    """Return the format to read all files in, "" to detect it for each file."""
    name = arguments.last("--format")
    if arguments.has("--format") and name not in FORMATS:
        message = f"--format takes {' or '.join(FORMATS)}, not {visible(name)!r}"
        raise UsageError(message)
    return name


def parse_workers(arguments: Arguments) -> int | None:
    """Return how many files to run at a time: None without the option, 0 for one per core."""
    if not arguments.has("--parallel"):
        return None
    text = arguments.last("--parallel")
    if text == "auto":
        return 0
    if not re.fullmatch("[0-9]{1,9}", text) or not 1 <= int(text) <= _MOST_WORKERS:
        message = f"--parallel takes a number from 1 to {_MOST_WORKERS} or auto"
        raise UsageError(f"{message}, not {visible(text)!r}")
    return int(text)


def parse_retries(arguments: Arguments) -> int:
    return parse_number(arguments, "--retries", 0, _MOST_RETRIES) or 0


def parse_max_failures(arguments: Arguments) -> int:
    """Return after how many tests that do not pass the run stops; 0 if it does not."""
    limit = parse_number(arguments, "--max-failures", 1, _MOST_FAILURES)
    if arguments.has("--bail"):
        if limit not in (None, 1):
            raise UsageError(f"--bail is --max-failures 1, and --max-failures {limit} is given too")
        return 1
    return limit or 0


def parse_repeat(arguments: Arguments) -> int:
    """Return how often each test is run; 0 without the option."""
    count = parse_number(arguments, "--repeat", 1, _MOST_REPEATS)
    if count and arguments.has("--retries"):
        message = "--repeat finds tests that pass only sometimes, and --retries lets them pass"
        raise UsageError(message, "give one of them")
    return count or 0


def parse_min_coverage(arguments: Arguments) -> float | None:
    if not arguments.has("--min-coverage"):
        return None
    text = arguments.last("--min-coverage").removesuffix("%")
    if not re.fullmatch(r"[0-9]{1,3}(\.[0-9]+)?", text) or not 0 < float(text) <= 100:
        message = "--min-coverage takes a number above 0 and up to 100"
        raise UsageError(f"{message}, not {visible(arguments.last('--min-coverage'))!r}")
    return float(text)


def _parse_shard(arguments: Arguments) -> Shard | None:
    if not arguments.has("--shard"):
        return None
    text = arguments.last("--shard")
    found = re.fullmatch("([0-9]{1,6})/([0-9]{1,6})", text)
    if not found or not 1 <= int(found[1]) <= int(found[2]):
        message = "--shard takes I/N, part I of N, such as 2/3"
        raise UsageError(f"{message}, not {visible(text)!r}", "I is from 1 to N")
    return Shard(number=int(found[1]), count=int(found[2]))
