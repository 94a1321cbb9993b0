"""`mcptest call`: call one tool and show its result."""

from __future__ import annotations

import sys

from mcptest.cli.one_server import (
    OUTPUT_OPTIONS,
    ask_and_show,
    find_feature,
    render_tool_result,
    report_unfinished,
    use_server,
)
from mcptest.cli.options import Command, Option
from mcptest.cli.output import write_stderr
from mcptest.cli.shared_options import SERVER_DETAILS, SERVER_OPTIONS, choose_server
from mcptest.core.coverage import KINDS
from mcptest.core.errors import UsageError
from mcptest.core.results import ExitCode
from mcptest.core.strict_json import NotJsonError, parse_json
from mcptest.core.text import visible
from mcptest.engine.test_files import read_text
from mcptest.explore.arguments import build_arguments, parse_words
from mcptest.protocol.http_messages import header_annotation_fault
from mcptest.protocol.jsonrpc import tool_failure

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from mcptest.cli.options import Arguments
    from mcptest.engine.pool import SingleServer
    from mcptest.engine.server import Launcher

__all__ = ["COMMAND", "call"]

# Larger input is certainly not a set of arguments.
_MAX_STDIN_CHARS = 64 * 1024 * 1024


def call(arguments: Arguments) -> int:
    """Call a tool with the arguments of the command line; return the exit code."""
    if not arguments.paths:
        raise UsageError("which tool?", "mcptest list tools -- COMMAND lists them")
    name, *words = arguments.paths
    parsed = parse_words(words)
    given = _read_arguments(arguments)
    is_checked = not arguments.has("--no-check")

    def work(visit: SingleServer, launcher: Launcher) -> int:
        advice = "--no-check calls it anyway" if is_checked else ""
        tool = find_feature(visit, KINDS["tools"], name, advice) or {}
        schema = tool.get("inputSchema")
        schema = schema if isinstance(schema, dict) else {}
        if is_checked and visit.sends_param_headers and (why := header_annotation_fault(schema)):
            message = f"the tool {visible(name)} must not be called over HTTP: {why}"
            write_stderr(f"error: {message}; {advice}\n")
            return ExitCode.FAILED
        built = build_arguments(parsed, schema, given, is_checked=is_checked)
        params = {"name": name, "arguments": built}
        result = ask_and_show(visit, "tools/call", params, arguments, render_tool_result)
        if result is None:
            return ExitCode.FAILED
        why = tool_failure(result, "the tool says that it failed (isError is true)")
        if why:
            write_stderr(f"error: {why}\n")
            return ExitCode.FAILED
        return ExitCode.FAILED if report_unfinished(visit) else ExitCode.PASSED

    return use_server(arguments, choose_server(arguments), work)


def _read_arguments(arguments: Arguments) -> dict[str, Any]:
    """Return the arguments from the file or standard input that `--args` names."""
    if not arguments.has("--args"):
        return {}
    source = arguments.last("--args")
    where = "standard input" if source == "-" else visible(source)
    text = sys.stdin.read(_MAX_STDIN_CHARS) if source == "-" else read_text(source)
    try:
        value = parse_json(text)
    except NotJsonError as error:
        raise UsageError(f"--args {where} is not JSON: {error.reason}") from None
    if not isinstance(value, dict):
        raise UsageError(f"--args {where} must hold one JSON object")
    return value


COMMAND = Command(
    name="mcptest call",
    summary="Call one tool of a server and show its result.",
    usage="mcptest call TOOL [key=value | key:=json]… [options] [-- COMMAND…]",
    details="key=value is converted according to the tool's schema, key:=json is JSON, and "
    f"a.b=value sets b in the object a. {SERVER_DETAILS}",
    options=(
        Option(
            names=("--args",),
            value="FILE|-",
            help="arguments as a JSON object, from a file or standard input; overridden by "
            "key=value",
        ),
        Option(
            names=("--no-check",),
            help="do not check the tool, its headers and its arguments against the server's list",
        ),
        *SERVER_OPTIONS,
        *OUTPUT_OPTIONS,
    ),
    examples=(
        "mcptest call echo message=hello -- python3 server.py",
        "mcptest call search query=rain limit=3 tags:='[\"a\"]' --config conductor.config.json",
    ),
    run=call,
    takes_command=True,
)
