"""A server of a suite, as the keys of a config."""

from __future__ import annotations

import posixpath
import re

from mcptest.core.record import Record
from mcptest.formats.suite_variables import is_source
from mcptest.migrate.drafts import without_nothing
from mcptest.migrate.references import unescaped
from mcptest.migrate.remarks import LeftBehindError, Remark
from mcptest.migrate.suite_servers import KEYS
from mcptest.migrate.suite_values import source_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mcptest.migrate.suite_reading import SuiteEntries
    from mcptest.migrate.suite_values import SuiteValues

    Mapping = dict[str, object]

__all__ = ["ConfigServer", "config_server"]

_REFERENCE = re.compile(r"(\$?)\$\{([^}]*)\}")


class ConfigServer(Record):
    """The keys of a config, and what could not be said with them."""

    keys: Mapping
    remarks: tuple[Remark, ...]


def config_server(name: str, entries: SuiteEntries, folder: str) -> ConfigServer:
    """The server of this name, for a config in this folder. LeftBehindError when it cannot be."""
    part, values = entries.owners[name], entries.values
    servers = part.top.mapping["servers"]
    assert isinstance(servers, dict)
    written = servers[name]
    values.turn_to(part.folder)
    filled = {key: _filled(values, value) for key, value in written.items() if key != "env"}
    command = filled["command"]
    assert isinstance(command, list)
    env, losses = _environment(written.get("env") or {}, values)
    cwd = posixpath.join(part.folder, str(filled.get("cwd") or "."))
    cwd = posixpath.relpath(posixpath.normpath(cwd), folder)
    keys: Mapping = {"name": name, "command": command[0], "args": command[1:]}
    keys.update(without_nothing({"cwd": "" if cwd == "." else cwd, "env": env}))
    for key, own in KEYS.items():
        if own in filled:
            keys[key] = filled[own]
    if entries.isolation:
        keys.setdefault("isolation", entries.isolation)
    remarks = [Remark(file=part.file, line=0, what=name, reason=why) for why in losses]
    return ConfigServer(keys=keys, remarks=tuple(remarks))


def _filled(values: SuiteValues, value: object) -> object:
    return unescaped(values.filled(value))


def _environment(written: Mapping, values: SuiteValues) -> tuple[Mapping, list[str]]:
    """The variables of a server; what comes from outside is `${NAME}` in a config."""
    found: Mapping = {}
    losses: list[str] = []
    for key, value in written.items():
        try:
            found[key] = _value(value, values)
        except LeftBehindError as error:
            losses.append(f"env {key}: {error.reason}")
    return found, losses


def _value(value: object, values: SuiteValues) -> str:
    if is_source(value):
        return _reference(source_of(value))
    text = str(value)

    def replace(found: re.Match[str]) -> str:
        if found[1]:
            raise LeftBehindError("a text with ${…} in it would be read as a variable")
        if found[2] in values.sources:
            return _reference(values.sources[found[2]])
        put = str(_filled(values, found[0]))
        if "${" in put:
            raise LeftBehindError("a text with ${…} in it would be read as a variable")
        return put

    return _REFERENCE.sub(replace, text)


def _reference(name: str) -> str:
    if not name:
        raise LeftBehindError("a config has no default for a variable that is not set")
    return f"${{{name}}}"
