"""The commands, by name: each has a module in this package, named like it, with its `COMMAND`.

To add one, write its module and add its line here. A module is imported when its command is used.
"""

from __future__ import annotations

from mcptest.cli.signals import without_gc

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mcptest.cli.options import Command

__all__ = ["COMMANDS", "load_command"]

# Name and summary of each command, in the order of `mcptest --help`.
COMMANDS = {
    "run": "run test files against a server",
    "validate": "check test files for mistakes, without a server",
    "init": "create a config, a first test and a CI workflow",
    "discover": "write a test file for everything a server offers",
    "list": "list the tools, resources and prompts of a server",
    "call": "call a tool and show its result",
    "read": "read a resource and show its contents",
    "prompt": "get a prompt and show its messages",
    "login": "log in to a server once; later runs use the tokens",
    "logout": "remove the tokens of a login",
    "docs": "write documentation of a server",
    "mock": "serve a contract, a capture or a manifest, to test clients",
    "record": "relay between a client and its server, and write a capture",
    "cases": "create a contract from recorded traffic",
    "migrate": "convert Conductor files and contracts to a suite",
    "compliance": "check a server, or a capture, against the specification",
    "security": "look for what can harm the users of a server",
    "exec": "serve an SDK over standard input and output",
    "report": "render a saved run, or merge several",
    "plugin": "call a plugin and show its answer, or list plugins",
    "schema": "print the JSON Schema of a file format, for editors",
    "completion": "print a script that completes commands in a shell",
}


def load_command(name: str) -> Command:
    """Import a command. Modules that only other commands need are not loaded."""
    with without_gc():
        module = __import__(f"mcptest.cli.commands.{name}", fromlist=["COMMAND"])
    command: Command = module.COMMAND
    return command
