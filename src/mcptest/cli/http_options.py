"""The options by which a command reaches a server over HTTP, and picks a revision."""

from __future__ import annotations

import os

from mcptest.cli.options import Option
from mcptest.core.errors import UsageError
from mcptest.core.plan import HttpSpec, ServerSpec
from mcptest.core.revisions import REVISIONS
from mcptest.core.text import visible
from mcptest.formats.durations import parse_duration

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mcptest.cli.options import Arguments
    from mcptest.runner.sent_along import SentAlong

__all__ = [
    "HTTP_OPTIONS",
    "SPEC_VERSION",
    "over_http",
    "sent_along",
    "server_command",
    "spec_version",
    "timeout_s",
]

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


def sent_along(arguments: Arguments) -> SentAlong | None:
    """What the command line has sent to a server that a file describes; None for nothing."""
    named = [name for name in ("--bearer-env", "--header-env", "--ca-file") if arguments.has(name)]
    if not named or arguments.has("--url"):
        return None
    from mcptest.runner.sent_along import SentAlong  # noqa: PLC0415  # only for those with some

    secrets: list[str] = []
    headers = dict(_headers(arguments, secrets))
    return SentAlong(
        option=named[0], headers=headers, secrets=tuple(secrets), ca_file=_ca_file(arguments)
    )


def over_http(arguments: Arguments, command: tuple[str, ...]) -> ServerSpec:
    """The server at the URL of the command line, with the credentials it names.

    `command` is what starts it, if anything does, which only says here that something will.
    """
    # What takes URLs apart is of no use to others.
    from mcptest.core.http_address import BadUrlError, parse_url  # noqa: PLC0415

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
        from mcptest.formats.server_http import is_header_name, is_our_header  # noqa: PLC0415

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
