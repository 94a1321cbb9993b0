"""`--plugin NAME=COMMAND`: a program that judges values, for this run."""

from __future__ import annotations

import re

from mcptest.cli.options import Option
from mcptest.core.errors import UsageError
from mcptest.core.plan import PluginSpec
from mcptest.core.text import visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mcptest.cli.options import Arguments

__all__ = ["PLUGIN", "plugins"]

PLUGIN = Option(
    names=("--plugin",),
    value="NAME=COMMAND",
    repeatable=True,
    help="a program that match:plugin:NAME.METHOD:ARG asks; the command is split like a shell "
    "would, run without one",
)


def plugins(arguments: Arguments) -> tuple[PluginSpec, ...]:
    """The plugins that a command line declares, in its order."""
    found: dict[str, PluginSpec] = {}
    for text in arguments.all("--plugin"):
        spec = _plugin(text)
        other = found.setdefault(spec.name, spec)
        if other is not spec:
            owners = f"{visible(other.owner)} and {visible(spec.owner)}"
            message = f"the plugin {spec.name!r} has two owners: {owners}"
            raise UsageError(message, "give one of them another name")
    return tuple(found.values())


def _plugin(text: str) -> PluginSpec:
    import shlex  # noqa: PLC0415  # only for those who use the option

    from mcptest.formats.plugin_imports import PLUGIN_NAME  # noqa: PLC0415  # as above

    name, equals, command = text.partition("=")
    if not equals or not re.fullmatch(PLUGIN_NAME, name):
        message = f"--plugin takes NAME=COMMAND, not {visible(text)!r}"
        raise UsageError(message, "for example --plugin geo='python3 geo.py'")
    try:
        words = tuple(shlex.split(command))
    except ValueError as error:
        raise UsageError(f"--plugin {name}: the command cannot be split: {error}") from None
    if not words:
        raise UsageError(f"--plugin {name}= has no command", "write --plugin NAME=COMMAND")
    return PluginSpec(name=name, command=words, owner=f"--plugin {text}")
