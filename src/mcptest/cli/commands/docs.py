"""`mcptest docs`: document a server, from case files, from the live server, or both."""

from __future__ import annotations

import os

from mcptest.cli.one_server import print_note, use_server
from mcptest.cli.options import Command, Option, check_choice
from mcptest.cli.output import StandardOutput, write_note, write_stderr
from mcptest.cli.report_files import check_writable, write_file
from mcptest.cli.shared_options import SERVER_OPTIONS, choose_server, find_server_file
from mcptest.core.coverage import KINDS
from mcptest.core.diagnostics import render_diagnostic
from mcptest.core.errors import FormatError, NothingSelectedError, UsageError
from mcptest.core.results import ExitCode
from mcptest.core.text import visible
from mcptest.core.value_class import Record
from mcptest.docgen.build import build_docs
from mcptest.docgen.cases import describe_server
from mcptest.docgen.html import render_html
from mcptest.docgen.markdown import render_markdown
from mcptest.docgen.model import ServerDescription
from mcptest.engine.loading import PlaceholderEnvironment, Wanted, load_suites
from mcptest.engine.pool import SingleServer
from mcptest.engine.test_files import CONFIG_NAMES
from mcptest.protocol.lists import is_declared, list_features

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcptest.cli.options import Arguments
    from mcptest.core.plan import Suite
    from mcptest.engine.server import Launcher

__all__ = ["COMMAND", "docs"]

_FORMATS = {"markdown": render_markdown, "html": render_html}
_ENDINGS = {".html": "html", ".htm": "html", ".md": "markdown"}
_SERVER_WAYS = ("--server-command", "--config", "--url")


class _Output(Record):
    """Format, title and file of the documentation; "" is standard output."""

    format: str
    target: str
    title: str


def docs(arguments: Arguments) -> int:
    """Write the documentation of a server; return the exit code."""
    output = _output(arguments)
    suites = _suites(arguments.paths) if arguments.paths else []
    is_live = bool(arguments.command) or any(map(arguments.has, _SERVER_WAYS))
    if suites and not is_live:
        _write(describe_server(suites), suites, output)
        return ExitCode.PASSED
    if not is_live and not find_server_file(arguments):
        raise UsageError(
            "nothing to document: neither a file nor a server is given",
            "give case files, or the command that starts the server after --, or put a "
            f"{CONFIG_NAMES[0]} into this folder",
        )

    def work(visit: SingleServer, _launcher: Launcher) -> int:
        described, is_whole = _describe(visit)
        visit.close()
        _write(described, suites, output)
        return ExitCode.PASSED if is_whole else ExitCode.FAILED

    return use_server(arguments, choose_server(arguments), work)


def _output(arguments: Arguments) -> _Output:
    target = arguments.last("--output", "-")
    ending = os.path.splitext(target)[1].lower()
    format = arguments.last("--format") or _ENDINGS.get(ending, "markdown")
    check_choice("--format", format, _FORMATS)
    if target == "-":
        return _Output(format=format, target="", title=arguments.last("--title"))
    if os.path.realpath(target) in map(os.path.realpath, arguments.paths):
        message = f"{visible(target)} is one of the files to read; it would be replaced"
        raise UsageError(message, "give the documentation another name")
    check_writable(target)
    return _Output(format=format, target=target, title=arguments.last("--title"))


def _suites(paths: Sequence[str]) -> list[Suite]:
    # Servers that the files describe are not started.
    suites, mistakes, warnings = load_suites(
        Wanted(paths=tuple(paths), note=write_note), PlaceholderEnvironment(os.environ)
    )
    if mistakes:
        raise FormatError([*mistakes, *warnings])
    for warning in warnings:
        write_stderr(render_diagnostic(warning) + "\n\n")
    return suites


def _describe(visit: SingleServer) -> tuple[ServerDescription, bool]:
    """Return the description that a live server gives, and whether it is complete."""
    declared = [kind for kind in KINDS.values() if is_declared(kind, visit.capabilities)]
    listings = [list_features(visit.ask, kind) for kind in declared]
    problems = [listing for listing in listings if listing.problem]
    for listing in problems:
        print_note(f"{listing.kind.name}: {listing.problem}")
    info = visit.server_info if visit.server_info.get("name") else {"name": visit.spec.name}
    described = ServerDescription(
        source="the server",
        info=info,
        capabilities=visit.capabilities,
        protocol_version=visit.protocol_version,
        instructions=visit.instructions,
        features={listing.kind.name: listing.features for listing in listings},
    )
    return described, not problems


def _write(described: ServerDescription, suites: Sequence[Suite], output: _Output) -> None:
    doc = build_docs(described, suites, output.title)
    if not doc.features and not doc.cases:
        raise NothingSelectedError(
            "there is nothing to document: no tool, no resource, no prompt and no dialogue"
        )
    text = _FORMATS[output.format](doc)
    if not output.target:
        StandardOutput().write_utf8(text)
        return
    write_file(output.target, text)
    write_stderr(f"wrote {visible(output.target)}\n")


COMMAND = Command(
    name="mcptest docs",
    summary="Write documentation of a server: from case files, the live server, or both.",
    usage="mcptest docs [FILE…] [-o FILE] [options] [-- COMMAND…]",
    details="FILE is a case file, a folder or a quoted glob. With files only, the features of the "
    "server are taken from the answers in them; with a server, from its own lists. COMMAND starts "
    "the server; with neither FILE nor COMMAND, a config describes it.",
    options=(
        Option(
            names=("-o", "--output"),
            value="FILE",
            help="file to write (default: standard output)",
        ),
        Option(
            names=("--format",),
            value="NAME",
            choices=tuple(_FORMATS),
            help="markdown or html (default: by the ending of the file, else markdown)",
        ),
        Option(
            names=("--title",),
            value="TEXT",
            help="first heading (default: the server's own name)",
        ),
        *SERVER_OPTIONS,
    ),
    examples=(
        "mcptest docs contract_test.yaml -o contract.md",
        "mcptest docs -o server.html -- python3 server.py",
        "mcptest docs contract_test.yaml -o server.html -- python3 server.py",
    ),
    run=docs,
    takes_command=True,
)
