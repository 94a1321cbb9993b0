"""`mcptest prompt`: get one prompt and show its messages."""

from __future__ import annotations

from mcptest.cli.one_server import (
    OUTPUT_OPTIONS,
    ask_and_show,
    find_feature,
    render_messages,
    report_unfinished,
    use_server,
)
from mcptest.cli.options import Command, Option
from mcptest.cli.shared_options import SERVER_DETAILS, SERVER_OPTIONS, choose_server
from mcptest.core.coverage import KINDS
from mcptest.core.errors import UsageError
from mcptest.core.results import ExitCode
from mcptest.explore.arguments import build_arguments, parse_words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from mcptest.cli.options import Arguments
    from mcptest.engine.pool import SingleServer
    from mcptest.engine.server import Launcher

__all__ = ["COMMAND", "prompt"]


def prompt(arguments: Arguments) -> int:
    """Get a prompt with the arguments of the command line; return the exit code."""
    if not arguments.paths:
        raise UsageError("which prompt?", "mcptest list prompts -- COMMAND lists them")
    name, *words = arguments.paths
    parsed = parse_words(words)
    is_checked = not arguments.has("--no-check")

    def work(visit: SingleServer, launcher: Launcher) -> int:
        schema = _schema(visit, name) if is_checked else {}
        built = build_arguments(parsed, schema, {}, is_checked=is_checked)
        params = {"name": name, "arguments": built}
        if ask_and_show(visit, "prompts/get", params, arguments, render_messages) is None:
            return ExitCode.FAILED
        return ExitCode.FAILED if report_unfinished(visit) else ExitCode.PASSED

    return use_server(arguments, choose_server(arguments), work)


def _schema(visit: SingleServer, name: str) -> dict[str, Any]:
    """Return the arguments of a prompt as a JSON Schema, like that of a tool; all are strings."""
    found = find_feature(visit, KINDS["prompts"], name, "--no-check gets it anyway") or {}
    listed = found.get("arguments")
    named = [
        argument
        for argument in (listed if isinstance(listed, list) else [])
        if isinstance(argument, dict) and isinstance(argument.get("name"), str)
    ]
    return {
        "type": "object",
        "properties": {argument["name"]: {"type": "string"} for argument in named},
        "required": [each["name"] for each in named if each.get("required") is True],
        "additionalProperties": False,
    }


COMMAND = Command(
    name="mcptest prompt",
    summary="Get one prompt of a server and show its messages.",
    usage="mcptest prompt NAME [key=value]… [options] [-- COMMAND…]",
    details=f"The arguments of a prompt are strings. {SERVER_DETAILS}",
    options=(
        Option(
            names=("--no-check",),
            help="do not check the prompt and its arguments against the server's list",
        ),
        *SERVER_OPTIONS,
        *OUTPUT_OPTIONS,
    ),
    examples=("mcptest prompt summarise style=short -- python3 server.py",),
    run=prompt,
    takes_command=True,
)
