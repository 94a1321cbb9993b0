"""`mcptest list`: show what a server offers."""

from __future__ import annotations

from mcptest.cli.one_server import (
    OUTPUT_OPTIONS,
    OutputStyle,
    print_note,
    render_listings,
    use_server,
    write_json,
    write_lines,
)
from mcptest.cli.options import Command
from mcptest.cli.shared_options import SERVER_DETAILS, SERVER_OPTIONS, choose_server
from mcptest.core.coverage import KINDS
from mcptest.core.diagnostics import closest
from mcptest.core.errors import UsageError
from mcptest.core.results import ExitCode
from mcptest.core.text import visible
from mcptest.protocol.lists import is_declared, list_features

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mcptest.cli.options import Arguments
    from mcptest.core.coverage import Kind
    from mcptest.engine.pool import SingleServer
    from mcptest.engine.server import Launcher

__all__ = ["COMMAND", "list_all"]


def list_all(arguments: Arguments) -> int:
    """List the features of a server; return the exit code."""
    wanted = _parse_kinds(arguments)
    style = OutputStyle(arguments)

    def work(visit: SingleServer, launcher: Launcher) -> int:
        return _show(visit, wanted, style, is_chosen=bool(arguments.paths))

    return use_server(arguments, choose_server(arguments), work)


def _parse_kinds(arguments: Arguments) -> list[Kind]:
    for name in arguments.paths:
        if name not in KINDS:
            meant = closest(name, KINDS)
            question = f"; did you mean {meant}?" if meant else ""
            message = f"a server has no {visible(name)!r} to list{question}"
            raise UsageError(message, f"there are: {', '.join(KINDS)}; a command comes after --")
    return [KINDS[name] for name in arguments.paths or KINDS]


def _show(visit: SingleServer, wanted: list[Kind], style: OutputStyle, *, is_chosen: bool) -> int:
    declared = [kind for kind in wanted if is_declared(kind, visit.capabilities)]
    for kind in wanted:
        if is_chosen and kind not in declared:
            print_note(
                f"the server does not declare {kind.capability}, so it was not asked for any"
            )
    listings = [list_features(visit.ask, kind) for kind in declared]
    if style.is_raw:
        for listing in listings:
            for answer in listing.answers:
                write_json(answer)
    elif style.is_pretty:
        write_lines(_heading(visit))
        write_lines(render_listings(listings, style.paint, style.width))
    else:
        kinds = wanted if is_chosen else declared
        found: dict[str, object] = {kind.name: [] for kind in kinds}
        found |= {listing.kind.name: list(listing.features) for listing in listings}
        write_json(found)
    problems = [listing for listing in listings if listing.problem]
    for listing in problems:
        print_note(f"{listing.kind.name}: {listing.problem}")
    return ExitCode.FAILED if problems else ExitCode.PASSED


def _heading(visit: SingleServer) -> list[str]:
    info = visit.server_info
    name, version = info.get("name", visit.spec.name), info.get("version", "")
    title = visible(f"{name} {version}".strip())
    return [f"{title}, MCP {visible(visit.protocol_version)}", ""]


COMMAND = Command(
    name="mcptest list",
    summary="List the tools, resources, resource templates and prompts of a server.",
    usage="mcptest list [KIND…] [options] [-- COMMAND…]",
    details="KIND is tools, resources, resourceTemplates or prompts (default: all of them). "
    f"{SERVER_DETAILS}\n"
    "The output is formatted on a terminal and JSON elsewhere.",
    options=(*SERVER_OPTIONS, *OUTPUT_OPTIONS),
    examples=(
        "mcptest list -- python3 server.py",
        "mcptest list tools --json -- npx -y @modelcontextprotocol/server-everything",
    ),
    words=tuple(KINDS),
    run=list_all,
    takes_command=True,
)
