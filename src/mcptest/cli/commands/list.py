"""`mcptest list`: show what a server offers."""

from __future__ import annotations

from mcptest.cli.one_server import (
    OUTPUT_OPTIONS,
    Manner,
    note,
    render_listings,
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
from mcptest.explore.features import is_declared, list_features

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mcptest.cli.options import Arguments
    from mcptest.core.coverage import Kind
    from mcptest.engine.server import Launcher
    from mcptest.engine.single_server import SingleServer

__all__ = ["COMMAND", "list_all"]


def list_all(arguments: Arguments) -> int:
    """Ask for every list that is wanted, and show them; the exit status."""
    wanted = _wanted(arguments)
    manner = Manner(arguments)

    def work(visit: SingleServer, launcher: Launcher) -> int:
        return _show(visit, wanted, manner, is_chosen=bool(arguments.paths))

    return visiting(arguments, choose_server(arguments), work)


def _wanted(arguments: Arguments) -> list[Kind]:
    for name in arguments.paths:
        if name not in KINDS:
            meant = closest(name, KINDS)
            question = f"; did you mean {meant}?" if meant else ""
            message = f"a server has no {visible(name)!r} to list{question}"
            raise UsageError(message, f"there are: {', '.join(KINDS)}; a command comes after --")
    return [KINDS[name] for name in arguments.paths or KINDS]


def _show(visit: SingleServer, wanted: list[Kind], manner: Manner, *, is_chosen: bool) -> int:
    declared = [kind for kind in wanted if is_declared(kind, visit.capabilities)]
    for kind in wanted:
        if is_chosen and kind not in declared:
            note(f"the server does not declare {kind.capability}, so it was not asked for any")
    listings = [list_features(visit.ask, kind) for kind in declared]
    if manner.is_raw:
        for listing in listings:
            for answer in listing.answers:
                write_json(answer)
    elif manner.is_pretty:
        write_lines(_heading(visit))
        write_lines(render_listings(listings, manner.paint, manner.width))
    else:
        kinds = wanted if is_chosen else declared
        found: dict[str, object] = {kind.name: [] for kind in kinds}
        found |= {listing.kind.name: list(listing.features) for listing in listings}
        write_json(found)
    problems = [listing for listing in listings if listing.problem]
    for listing in problems:
        note(f"{listing.kind.name}: {listing.problem}")
    return ExitCode.FAILED if problems else ExitCode.PASSED


def _heading(visit: SingleServer) -> list[str]:
    info = visit.server_info
    name, version = info.get("name", visit.spec.name), info.get("version", "")
    title = visible(f"{name} {version}".strip())
    return [f"{title}, MCP {visible(visit.protocol_version)}", ""]


COMMAND = Command(
    name="mcptest list",
    summary="Show the tools, resources, resource templates and prompts of a server.",
    usage="mcptest list [KIND…] [options] [-- COMMAND…]",
    details="KIND is tools, resources, resourceTemplates or prompts; without one, all of them. "
    f"{SERVER_DETAILS}\n"
    "On a terminal the lists are made for reading; elsewhere they are JSON.",
    options=(*SERVER_OPTIONS, *OUTPUT_OPTIONS),
    examples=(
        "mcptest list -- python3 server.py",
        "mcptest list tools --json -- npx -y @modelcontextprotocol/server-everything",
    ),
    run=list_all,
    takes_command=True,
)
