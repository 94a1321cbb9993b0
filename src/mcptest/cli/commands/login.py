"""`mcptest login`: log in to a server once, and keep the tokens for later runs."""

from __future__ import annotations

import os
import sys
import time

from mcptest.cli.options import Command, Option, parse_number
from mcptest.cli.output import StandardOutput, hide_secrets, write_stderr, write_stderr_wrapped
from mcptest.cli.shared_options import CA_FILE_OPTION, parse_ca_file, parse_seconds
from mcptest.core.errors import InterruptedRunError, UsageError
from mcptest.core.results import ExitCode
from mcptest.core.secrets import redactor
from mcptest.core.text import visible
from mcptest.protocol.http_address import BadUrlError, parse_url
from mcptest.protocol.oauth import OAuthError
from mcptest.transport.http.login import LoginRun, LoginWish, open_page, why_no_browser
from mcptest.transport.http.stored_login import check_keyring, find_store
from mcptest.transport.process.signals import Interrupts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mcptest.cli.options import Arguments
    from mcptest.transport.http.stored_login import Login

__all__ = ["COMMAND", "log_in", "parse_server_url", "report_oauth_error"]

_PATIENCE_S = 300.0


def log_in(arguments: Arguments) -> int:
    """Log in to a server, or list the logins; return the exit code."""
    hide_secrets(())
    try:
        if arguments.has("--list"):
            return _list(arguments)
        return _log_in(arguments)
    except OAuthError as error:
        return report_oauth_error(error)


def report_oauth_error(error: OAuthError) -> int:
    """Print why a login is impossible; return the exit code."""
    redact = redactor(())
    help = f"  help: {redact(error.hint)}\n" if error.hint else ""
    write_stderr_wrapped(f"error: auth_failed: {redact(error.message)}\n{help}")
    return ExitCode.NO_SERVER


def parse_server_url(arguments: Arguments, command: str) -> str:
    """Return the URL of the server, as logins are kept under it."""
    if len(arguments.paths) != 1:
        help = f"such as {command} https://shop.example/mcp"
        raise UsageError(f"{command} takes one URL of a server", help)
    try:
        return parse_url(arguments.paths[0]).url
    except BadUrlError as error:
        # The URL is not quoted: it may contain credentials.
        raise UsageError(f"this is not the URL of a server: {error}") from None


def _log_in(arguments: Arguments) -> int:
    wish = _parse_wish(arguments)
    patience_s = parse_seconds(arguments, "--timeout") or _PATIENCE_S
    opens_browser = not (arguments.has("--no-browser") or arguments.has("--device"))
    why = why_no_browser(os.environ, has_terminal=sys.stderr.isatty())
    if opens_browser and why:
        hint = "log in with --device, or open the page yourself with --no-browser; tests in CI use "
        hint += "client credentials, or a token in the environment (--bearer-env)"
        raise OAuthError(f"no browser is opened: {why}", hint)
    store = find_store(os.environ)
    # What is wrong with the store is said before the user approves anything.
    with store.lock():
        store.read()
    if arguments.has("--keyring"):
        check_keyring()
    with Interrupts() as interrupts:
        run = LoginRun(wish, interrupts, time.monotonic() + patience_s, _say)
        try:
            if wish.is_device:
                login = run.by_device()
            else:
                show = _open if opens_browser else _print_url
                port = parse_number(arguments, "--callback-port", 0, 65535) or 0
                login = run.by_browser(port, show)
        except InterruptedRunError:
            raise InterruptedRunError("interrupted; you are not logged in") from None
    with store.lock():
        store.put(login.but(keyring=arguments.has("--keyring")))
    where = "the keyring" if arguments.has("--keyring") else visible(store.path)
    StandardOutput().write(f"Logged in to {_describe(login)}\n  kept in  {where}\n")
    return ExitCode.PASSED


def _parse_wish(arguments: Arguments) -> LoginWish:
    url = parse_server_url(arguments, "mcptest login")
    address = parse_url(url)
    if address.scheme != "https" and not address.is_loopback:
        message = "tokens are sent over https only, and the URL begins with http://"
        raise UsageError(message, "only a server on this machine may use http")
    for one, other in (
        ("--device", "--no-browser"),
        ("--device", "--callback-port"),
        ("--client-id", "--client-metadata-url"),
    ):
        if arguments.has(one) and arguments.has(other):
            raise UsageError(f"{one} and {other} exclude each other; give one of them")
    for option in ("--client-id", "--client-secret-env", "--scope"):
        if arguments.has(option) and not arguments.last(option).strip():
            raise UsageError(f"the value of {option} is empty", f"leave out {option}, or give one")
    if arguments.has("--client-secret-env") and not arguments.has("--client-id"):
        raise UsageError("--client-secret-env needs --client-id")
    for option in ("--client-metadata-url", "--issuer"):
        _check_url(arguments, option)
    return LoginWish(
        url=url,
        client_id=arguments.last("--client-id"),
        client_secret=_read_secret(arguments.last("--client-secret-env")),
        metadata_url=arguments.last("--client-metadata-url"),
        issuer=arguments.last("--issuer"),
        scope=arguments.last("--scope"),
        is_device=arguments.has("--device"),
        ca_file=parse_ca_file(arguments),
    )


def _check_url(arguments: Arguments, option: str) -> None:
    if not arguments.has(option):
        return
    try:
        address = parse_url(arguments.last(option))
    except BadUrlError as error:
        raise UsageError(f"{option} is not a URL: {error}") from None
    if address.scheme != "https" and not address.is_loopback:
        raise UsageError(f"{option} must begin with https://")


def _read_secret(name: str) -> str:
    value = os.environ.get(name, "") if name else ""
    if name and not value:
        message = f"--client-secret-env names the environment variable {visible(name)!r}"
        raise UsageError(f"{message}, which is not set or empty")
    return value


def _say(text: str) -> None:
    write_stderr(f"{visible(text)}\n")


def _print_url(url: str) -> None:
    _say("Open this page in a browser on this machine to log in:")
    _say(f"  {url}")


def _open(url: str) -> None:
    _say("Opening a browser to log in. If it does not open, open this page yourself:")
    _say(f"  {url}")
    open_page(url, lambda: _say("No browser could be opened."))


# The list of logins


def _list(arguments: Arguments) -> int:
    others = [key for key in arguments.given if key != "--list"]
    if arguments.paths or others:
        raise UsageError("--list takes nothing else")
    logins = find_store(os.environ).read()
    lines = [_describe(login) for login in logins.values()] or ["There are no logins."]
    StandardOutput().write("".join(f"{line}\n" for line in lines))
    return ExitCode.PASSED


def _describe(login: Login) -> str:
    rows = {
        "issuer": login.issuer,
        "client": login.client_id,
        "scope": login.scope,
        "token": _describe_end(login),
    }
    lines = [f"  {name:<7}  {visible(text)}" for name, text in rows.items() if text]
    return "\n".join([visible(login.url), *lines])


def _describe_end(login: Login) -> str:
    is_renewed = bool(login.refresh_token)
    where = "in the keyring, " if login.keyring else ""
    if not login.expires_at:
        return f"{where}has no known end"
    left_s = login.expires_at - time.time()
    left = f"expires in {_round(left_s)}" if left_s > 0 else "has expired"
    if login.keyring:
        return f"{where}{left}"
    renewal = "is then renewed" if left_s > 0 else "is renewed when it is used"
    return f"{left}, and {renewal if is_renewed else 'cannot be renewed'}"


def _round(seconds: float) -> str:
    for unit_s, name in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= 2 * unit_s:
            return f"{seconds // unit_s:.0f} {name}"
    return f"{seconds:.0f} s"


COMMAND = Command(
    name="mcptest login",
    summary="Log in to a server once; later runs use the tokens.",
    usage="mcptest login URL [options] | mcptest login --list",
    details="The server says which authorization server it trusts. You approve the login there, in "
    "a browser on this machine or, with --device, anywhere. The tokens are kept in a file that "
    "only you can read, and sent to this URL alone: by commands with --url, and by suites and "
    'configs whose "auth" has "login: true". mcptest logout removes them.',
    options=(
        Option(names=("--device",), help="enter a code on any device instead of using a browser"),
        Option(names=("--no-browser",), help="print the page to open, and open no browser"),
        Option(
            names=("--client-id",),
            value="ID",
            help="client that the authorization server knows (default: one is registered)",
        ),
        Option(
            names=("--client-secret-env",),
            value="NAME",
            help="environment variable that holds the secret of that client",
        ),
        Option(
            names=("--client-metadata-url",),
            value="URL",
            help="document that describes the client, for authorization servers that read it",
        ),
        Option(
            names=("--scope",),
            value='"SCOPES"',
            help="scopes to request (default: those that the server asks for)",
        ),
        Option(
            names=("--issuer",),
            value="URL",
            help="authorization server to use, if the server names several (default: the first)",
        ),
        Option(
            names=("--callback-port",),
            value="PORT",
            help="port of this machine to which the browser returns (default: a free one)",
        ),
        Option(
            names=("--timeout",),
            value="SECONDS",
            help='how long to wait until you have approved: 300, "90s" or "10m" (default: 300)',
        ),
        Option(
            names=("--keyring",),
            help="keep the tokens in the keyring of the system; needs the extra mcptest[oauth]",
        ),
        CA_FILE_OPTION,
        Option(names=("--list",), help="list the logins, without tokens"),
    ),
    examples=(
        "mcptest login https://shop.example/mcp",
        "mcptest login https://shop.example/mcp --device --scope shop:read",
    ),
    run=log_in,
)
