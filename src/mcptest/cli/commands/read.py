"""`mcptest read`: read one resource and show its contents."""

from __future__ import annotations

from mcptest.cli.one_server import (
    OUTPUT_OPTIONS,
    ask_and_show,
    print_note,
    render_resource,
    report_unfinished,
    use_server,
)
from mcptest.cli.options import Command
from mcptest.cli.shared_options import SERVER_DETAILS, SERVER_OPTIONS, choose_server
from mcptest.core.coverage import KINDS
from mcptest.core.diagnostics import closest
from mcptest.core.errors import UsageError
from mcptest.core.results import ExitCode
from mcptest.core.text import visible
from mcptest.protocol.lists import list_features

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mcptest.cli.options import Arguments
    from mcptest.engine.pool import SingleServer
    from mcptest.engine.server import Launcher

__all__ = ["COMMAND", "read"]


def read(arguments: Arguments) -> int:
    """Read the resource at a URI; return the exit code."""
    if len(arguments.paths) != 1:
        raise UsageError(
            "mcptest read takes one URI", "mcptest list resources -- COMMAND lists them"
        )
    uri = arguments.paths[0]

    def work(visit: SingleServer, launcher: Launcher) -> int:
        params: dict[str, object] = {"uri": uri}
        if ask_and_show(visit, "resources/read", params, arguments, render_resource) is None:
            # Suggested only now: resources need not be listed.
            meant = closest(uri, list_features(visit.ask, KINDS["resources"]).names)
            if meant:
                print_note(f"there is a resource {visible(meant)}")
            return ExitCode.FAILED
        return ExitCode.FAILED if report_unfinished(visit) else ExitCode.PASSED

    return use_server(arguments, choose_server(arguments), work)


COMMAND = Command(
    name="mcptest read",
    summary="Read one resource of a server and show its contents.",
    usage="mcptest read URI [options] [-- COMMAND…]",
    details=SERVER_DETAILS,
    options=(*SERVER_OPTIONS, *OUTPUT_OPTIONS),
    examples=("mcptest read file:///readme.md -- python3 server.py",),
    run=read,
    takes_command=True,
)
