"""`imports.subprocess_matchers`: the plugins that a config or a suite brings along."""

from __future__ import annotations

import re

from mcptest.core.plan import PluginSpec
from mcptest.core.text import visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mcptest.formats.fields import Fields

__all__ = ["PLUGIN_NAME", "read_subprocess_matchers"]

# A dot ends it in a pattern, an equals sign on the command line.
PLUGIN_NAME = r"[A-Za-z][A-Za-z0-9_-]*"

_KEYS = ("command", "call_timeout")


def read_subprocess_matchers(imports: Fields, owner: str) -> tuple[PluginSpec, ...]:
    """The plugins under this key of `imports`; every mistake has been complained about."""
    inner = imports.mapping_at("subprocess_matchers")
    if inner is None:
        return ()
    found = []
    for name in inner.mapping:
        if not re.fullmatch(PLUGIN_NAME, name):
            message = f"{visible(name)!r} is no name for a plugin: letters, digits, _ and - only"
            inner.complain(name, "F009", message, "it begins with a letter")
        entry = inner.mapping_at(name)
        if entry:
            found.append(_read_plugin(name, entry, owner))
    return tuple(found)


def _read_plugin(name: str, fields: Fields, owner: str) -> PluginSpec:
    fields.refuse_unknown(_KEYS, (), "a plugin")
    fields.require(("command",), "a plugin")
    command = fields.texts("command")
    if fields.mapping.get("command") == [] or command[:1] == ("",):
        message = '"command" is empty: it is the program and its arguments'
        fields.complain("command", "F009", message, on_key=False)
    limit_s = fields.duration_s("call_timeout") or PluginSpec(name="", command=()).call_timeout_s
    return PluginSpec(name=name, command=command, call_timeout_s=limit_s, owner=owner)
