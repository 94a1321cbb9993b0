"""The keys of a config, as a server of a suite."""

from __future__ import annotations

import posixpath
import re

from mcptest.core.record import Record
from mcptest.core.revisions import HANDSHAKE_REVISIONS
from mcptest.core.strict_json import dump_json
from mcptest.formats.templates import NAME
from mcptest.migrate.drafts import without_nothing
from mcptest.migrate.references import escaped
from mcptest.migrate.remarks import LeftBehindError, Remark
from mcptest.migrate.shapes import is_plain

TYPE_CHECKING = False
if TYPE_CHECKING:
    Mapping = dict[str, object]

__all__ = ["KEYS", "ServerText", "SuiteServer", "suite_server"]

# The key of a config, and what a suite calls it.
KEYS = {
    "inheritEnv": "inherit_env",
    "startupTimeout": "startup_timeout",
    "readyPattern": "ready_pattern",
    "timeout": "timeout",
    "protocolVersion": "protocol_version",
    "isolation": "isolation",
    "maxLineBytes": "max_line_bytes",
    "client": "client",
}
_VARIABLE = re.compile(r"\$\{([^}]*)\}")
_LOST = {"strictInvariants": "run the suite with --strict-invariants instead"}


class ServerText(Record):
    """What a file says about its server, and where that server runs: a definite folder."""

    keys: Mapping
    file: str
    cwd: str


class SuiteServer(Record):
    """A server under `servers`, and the variables that its environment is made of.

    One `is_for_one_file` is not shared with another file that names the same.
    """

    name: str
    value: Mapping
    variables: Mapping
    remarks: tuple[Remark, ...]
    is_for_one_file: bool


def suite_server(
    text: ServerText, folder: str, *, is_contract: bool = False, hello: Mapping | None = None
) -> SuiteServer:
    """The server for a suite in this folder.

    A contract has a process of its own; `hello` is what it says itself when it opens a session.
    """
    keys = text.keys
    env = _Environment()
    arguments = keys.get("args")
    command = [keys["command"], *(arguments if isinstance(arguments, list) else [])]
    value: Mapping = {"command": escaped(command)}
    cwd = posixpath.relpath(text.cwd, folder)
    value.update(without_nothing({"cwd": "" if cwd == "." else escaped(cwd)}))
    value.update(without_nothing({"env": env.read(keys.get("env"))}))
    for key, name in KEYS.items():
        if keys.get(key) is not None:
            value[name] = escaped(keys[key])
    if is_contract and value.get("isolation", "run") == "run":
        value["isolation"] = "file"
    _introduce(value, hello or {})
    reasons = [f"{key}: {help}" for key, help in _LOST.items() if keys.get(key)] + env.losses
    return SuiteServer(
        name=str(keys.get("name") or "server"),
        value=value,
        variables=env.variables,
        remarks=tuple(Remark(file=text.file, line=0, what="", reason=why) for why in reasons),
        is_for_one_file=value.get("isolation") == "file",
    )


def _introduce(value: Mapping, hello: Mapping) -> None:
    """What a file says when it opens a session, as what the runner says instead."""
    version, capabilities = hello.get("protocolVersion"), hello.get("capabilities")
    if version in HANDSHAKE_REVISIONS:
        value.setdefault("protocol_version", version)
    if isinstance(capabilities, dict) and capabilities and is_plain(capabilities):
        client = value.get("client")
        known = client if isinstance(client, dict) else {}
        value["client"] = {**known, "capabilities": escaped(capabilities)}


class _Environment:
    """`env:` with its references; those inside of longer texts become variables."""

    def __init__(self) -> None:
        self.variables: Mapping = {}
        self.losses: list[str] = []

    def read(self, written: object) -> Mapping:
        found: Mapping = {}
        for key, text in (written if isinstance(written, dict) else {}).items():
            try:
                found[key] = self._value(str(text))
            except LeftBehindError as error:
                self.losses.append(f"env {key}: {error.reason}")
        return found

    def _value(self, text: str) -> object:
        whole = _VARIABLE.fullmatch(text)
        if whole:
            return {"secret_env": whole[1]}
        if "$${" in text:
            reason = f"{dump_json(text)} would be read as a text that stands for itself"
            raise LeftBehindError(reason)
        return _VARIABLE.sub(lambda found: f"${{{self._variable(found[1])}}}", text)

    def _variable(self, name: str) -> str:
        known = name if re.fullmatch(NAME, name) else "v_" + re.sub(r"\W", "_", name)
        self.variables[known] = {"secret_env": name}
        return known
