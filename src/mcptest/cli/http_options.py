"""The options by which a command reaches a server over HTTP, and picks a revision."""

from __future__ import annotations

import os

from mcptest.cli.options import Option
from mcptest.core.errors import UsageError
from mcptest.core.plan import HttpSpec, ServerSpec
from mcptest.core.revisions import REVISIONS
from mcptest.core.visible import visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mcptest.cli.options import Arguments

__all__ = ["HTTP_OPTIONS", "SPEC_VERSION", "is_over_http", "over_http", "spec_version"]

HTTP_OPTIONS = (
    Option(
        names=("--url",),
        value="URL",
        help="a server on HTTP, such as http://127.0.0.1:3001/mcp; with a command, that starts it",
    ),
    Option(
        names=("--bearer-env",),
        value="NAME",
        help="send the token in this environment variable; with --url",
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


def is_over_http(arguments: Arguments) -> bool:
    """Whether the command line names a URL; what only makes sense with one is refused without."""
    if arguments.has("--url"):
        return True
    for name in ("--bearer-env", "--header-env", "--ca-file"):
        if arguments.has(name):
            raise UsageError(f"{name} is for servers on HTTP; give --url as well")
    return False


def over_http(arguments: Arguments) -> ServerSpec:
    """The server at the URL of the command line, with the credentials it names.

    How it is started, if it is, is said by whoever reads the rest of the command line.
    """
    # What takes URLs apart is of no use to others.
    from mcptest.core.http_address import BadUrlError, parse_url  # noqa: PLC0415

    url = arguments.last("--url")
    try:
        address = parse_url(url.replace("{port}", "0"))
    except BadUrlError as error:
        # It is not quoted: there may be credentials in it.
        raise UsageError(f"--url is no URL of a server: {error}") from None
    secrets: list[str] = []
    headers = dict(_headers(arguments, secrets))
    http = HttpSpec(url=url, headers=headers, ca_file=arguments.last("--ca-file"))
    return ServerSpec(name=address.host, command=(), http=http, secrets=tuple(secrets))


def _headers(arguments: Arguments, secrets: list[str]) -> list[tuple[str, str]]:
    found = []
    for name in arguments.all("--bearer-env"):
        found.append(("Authorization", f"Bearer {_variable(name, '--bearer-env', secrets)}"))
    for word in arguments.all("--header-env"):
        header, _, name = word.partition("=")
        if not header or not name:
            message = f"--header-env takes HEADER=NAME, not {visible(word)!r}"
            raise UsageError(message, "such as --header-env X-Api-Key=SHOP_KEY")
        if not header.isascii() or not header.replace("-", "").isalnum():
            raise UsageError(f"{visible(header)!r} is no name of a header")
        found.append((header, _variable(name, "--header-env", secrets)))
    return found


def _variable(name: str, option: str, secrets: list[str]) -> str:
    value = os.environ.get(name, "")
    if not value:
        message = f"{option} names the environment variable {visible(name)!r}, which is not set"
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
