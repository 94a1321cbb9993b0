"""`mcptest logout`: remove the tokens of a login."""

from __future__ import annotations

import os

from mcptest.cli.commands.login import parse_server_url, report_oauth_error
from mcptest.cli.options import Command
from mcptest.cli.output import StandardOutput, hide_secrets
from mcptest.core.errors import UsageError
from mcptest.core.results import ExitCode
from mcptest.core.text import visible
from mcptest.protocol.oauth import OAuthError
from mcptest.transport.http.stored_login import find_store

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mcptest.cli.options import Arguments

__all__ = ["COMMAND", "log_out"]


def log_out(arguments: Arguments) -> int:
    """Remove the login for a server; return the exit code."""
    hide_secrets(())
    url = parse_server_url(arguments, "mcptest logout")
    store = find_store(os.environ)
    try:
        with store.lock():
            is_removed = store.remove(url)
    except OAuthError as error:
        return report_oauth_error(error)
    if not is_removed:
        raise UsageError(f"there is no login for {visible(url)}", "mcptest login --list lists them")
    StandardOutput().write(f"Logged out of {visible(url)}: its tokens are removed.\n")
    return ExitCode.PASSED


COMMAND = Command(
    name="mcptest logout",
    summary="Remove the tokens of a login from this machine.",
    usage="mcptest logout URL",
    details="The authorization server is not notified; there you can revoke what you approved.",
    options=(),
    examples=("mcptest logout https://shop.example/mcp",),
    run=log_out,
)
