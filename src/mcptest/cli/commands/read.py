"""`mcptest read`: read one resource and show what it holds."""

from __future__ import annotations

from mcptest.cli.one_server import (
    OUTPUT_OPTIONS,
    Manner,
    note,
    render_resource,
    result_of,
    tell_unfinished,
    visiting,
    write_json,
    write_lines,
)
from mcptest.cli.options import Command
from mcptest.cli.server_options import SERVER_DETAILS, SERVER_OPTIONS, choose_server
from mcptest.core.coverage import KINDS
from mcptest.core.diagnostics import closest
from mcptest.core.errors import UsageError
from mcptest.core.results import ExitCode
from mcptest.core.text import visible
from mcptest.explore.features import list_features

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mcptest.cli.options import Arguments
    from mcptest.engine.server import Launcher
    from mcptest.engine.single_server import SingleServer

__all__ = ["COMMAND", "read"]


def read(arguments: Arguments) -> int:
    """Read the resource at an address; the exit status."""
    if len(arguments.paths) != 1:
        raise UsageError(
            "mcptest read takes one URI", "mcptest list resources -- COMMAND shows what there is"
        )
    uri = arguments.paths[0]
    manner = Manner(arguments)

    def work(visit: SingleServer, launcher: Launcher) -> int:
        answer = visit.ask("resources/read", {"uri": uri})
        result = result_of(answer, "resources/read", arguments)
        if result is None:
            _suggest(visit, uri)
            return ExitCode.FAILED
        if manner.is_pretty:
            write_lines(render_resource(result, manner.paint))
        elif not manner.is_raw:
            write_json(result)
        return ExitCode.FAILED if tell_unfinished(visit) else ExitCode.PASSED

    return visiting(arguments, choose_server(arguments), work)


def _suggest(visit: SingleServer, uri: str) -> None:
    """Which address was probably meant: resources need not be listed, so this comes after."""
    names = list_features(visit.ask, KINDS["resources"]).names
    meant = closest(uri, names)
    if meant:
        note(f"there is a resource {visible(meant)}")


COMMAND = Command(
    name="mcptest read",
    summary="Read one resource of a server and show what it holds.",
    usage="mcptest read URI [options] [-- COMMAND…]",
    details=SERVER_DETAILS,
    options=(*SERVER_OPTIONS, *OUTPUT_OPTIONS),
    examples=("mcptest read file:///readme.md -- python3 server.py",),
    run=read,
    takes_command=True,
)
