"""The manual page `mcptest(1)`, made from the tables of commands and options."""

from __future__ import annotations

import textwrap

from mcptest.cli.commands.registry import COMMANDS, load_command
from mcptest.cli.commands.run import CONDUCTOR_COMMAND
from mcptest.cli.options import HELP, Command

__all__ = ["man_page"]

_EXIT_CODES = {
    0: "everything that was asked for ran and passed",
    1: "a test or a check failed",
    2: "a mistake on the command line, in a config or in a test file: nothing ran",
    3: "the server could not be started, or never completed its handshake",
    4: "a fault of mcptest itself",
    5: "refused, such as updating snapshots in CI",
    6: "a gate was missed, such as a minimum coverage",
    7: "no test was selected",
    130: "interrupted",
}
_VARIABLES = {
    "NO_COLOR": "no colour, unless --color always",
    "FORCE_COLOR, CLICOLOR_FORCE": "colour also where standard output is not a terminal",
    "GITHUB_ACTIONS, GITHUB_STEP_SUMMARY": "annotations and a job summary of mcptest run",
    "MCPTEST_CACHE_DIR": "the folder of the cache of SDKs",
}


def man_page() -> str:
    lines = [
        '.\\" Made from the code by python -m tools.generate_docs; do not edit.',
        '.TH MCPTEST 1 "" "mcptest" "User Commands"',
        ".SH NAME",
        "mcptest \\- test Model Context Protocol servers, and the clients that talk to them",
        ".SH SYNOPSIS",
        ".B mcptest",
        "COMMAND [options]",
        ".br",
        ".B mcptest",
        "COMMAND \\-\\-help",
        ".SH COMMANDS",
    ]
    for name, summary in COMMANDS.items():
        lines += [".TP", f".B {_escape(name)}", _escape(summary)]
    for command in (*map(load_command, COMMANDS), CONDUCTOR_COMMAND):
        for each in (command, *command.subcommands.values()):
            lines += _command(each)
    lines += [".SH EXIT STATUS"]
    for code, meaning in _EXIT_CODES.items():
        lines += [".TP", f".B {code}", _escape(meaning)]
    lines += [".SH ENVIRONMENT"]
    for name, meaning in _VARIABLES.items():
        lines += [".TP", f".B {_escape(name)}", _escape(meaning)]
    return "\n".join(lines) + "\n"


def _command(command: Command) -> list[str]:
    lines = [f'.SH "{_escape(command.name.upper())}"', _wrap(command.summary)]
    lines += [".PP", f"usage: {_escape(command.usage)}"]
    if command.details:
        lines += [".PP", _wrap(command.details)]
    for option in (*command.options, HELP):
        names = ", ".join(f"\\fB{_escape(name)}\\fR" for name in option.names)
        value = f" \\fI{_escape(option.value)}\\fR" if option.value else ""
        lines += [".TP", f"{names}{value}", _wrap(option.help)]
    lines += [".PP", "Examples:" if len(command.examples) > 1 else "Example:", ".PP", ".nf"]
    lines += [_escape(f"    {example}") for example in command.examples]
    return [*lines, ".fi"]


def _wrap(text: str) -> str:
    return "\n".join(map(_escape, textwrap.wrap(text, 66, break_on_hyphens=False)))


def _escape(text: str) -> str:
    """Text in which roff finds no command; a minus sign can be copied from the page."""
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("…", "...").replace('"', "\\(dq")
    return f"\\&{text}" if text[:1] in (".", "'") else text
