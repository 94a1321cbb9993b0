"""`conductor.config.json`, and the same keys under `server:` in a test file.

A mapping goes in, a `ServerSpec` comes out. Whether folders and programs exist is
for whoever starts the server to find out; the environment is an argument.
"""

from __future__ import annotations

import posixpath
import re

from mcptest.core.errors import FormatError
from mcptest.core.plan import DEFAULT_TIMEOUT_S, ISOLATIONS, ClientSpec, Limits, ServerSpec
from mcptest.core.revisions import REVISIONS
from mcptest.formats.document import read_document
from mcptest.formats.fields import Fields, diagnose, kind_of, warn_of_weak_secret
from mcptest.formats.http_keys import HTTP_KEYS, camel_case

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcptest.core.diagnostics import Complaint, Diagnostic
    from mcptest.core.plan import HttpSpec, PluginSpec

__all__ = ["default_startup_s", "load_config", "read_server"]

KEYS = (
    "name",
    "command",
    "args",
    "cwd",
    "env",
    "inheritEnv",
    "startupTimeout",
    "readyPattern",
    "timeout",
    "protocolVersion",
    "isolation",
    "maxLineBytes",
    "client",
    "strictInvariants",
    *map(camel_case, HTTP_KEYS),
)
_REQUIRED = ("name", "command", "args")

# They may have to fetch the server before they can start it.
_PACKAGE_RUNNERS = frozenset(["bunx", "docker", "npm", "npx", "pipx", "pnpm", "uv", "uvx", "yarn"])
_STARTUP_S = 5.0
_STARTUP_WITH_FETCH_S = 20.0


def load_config(
    text: str, file: str, environment: Mapping[str, str]
) -> tuple[ServerSpec, tuple[Diagnostic, ...]]:
    """The server a config file describes, and warnings. FormatError lists every mistake."""
    document = read_document(text, file)
    complaints: list[Complaint] = []
    if isinstance(document.value, dict):
        fields = Fields(document.value, (), complaints)
        spec = read_server(fields, environment, also=("imports",))
        spec = spec.but(plugins=_read_plugins(fields, file))
    else:
        Fields({}, (), complaints).complain(
            "", "F005", f"a config must be an object and is {kind_of(document.value)}"
        )
        spec = None
    diagnostics = diagnose(document, complaints)
    if spec is None or any(found.severity == "error" for found in diagnostics):
        raise FormatError(diagnostics)
    return spec, diagnostics


def _read_plugins(fields: Fields, file: str) -> tuple[PluginSpec, ...]:
    imports = fields.mapping_at("imports")
    if imports is None:
        return ()
    # Most configs say no more than how a server is started, and nobody waits for the rest.
    from mcptest.formats.plugin_imports import read_subprocess_matchers  # noqa: PLC0415

    imports.refuse_unknown(("subprocess_matchers",), (), '"imports" in a config')
    return read_subprocess_matchers(imports, file)


def read_server(
    fields: Fields, environment: Mapping[str, str], also: tuple[str, ...] = ()
) -> ServerSpec:
    """The server that these keys describe; every mistake has been complained about.

    `also` are further keys that may stand beside them, and are somebody else's to read.
    """
    if "mcpServers" in fields.mapping:
        message = '"mcpServers" is what a client\'s config has; this one describes one server'
        help = 'copy one entry of mcpServers to the top and give it a "name"'
        fields.complain("mcpServers", "F006", message, help)
        return ServerSpec(name="", command=("",))
    fields.refuse_unknown((*KEYS, *also), (), "the config of a server")
    # One with a URL need not be started by us.
    needed = _REQUIRED if "url" not in fields.mapping else _REQUIRED[:1]
    fields.require(needed, "the config of a server")
    if fields.mapping.get("args") and needed is not _REQUIRED and "command" not in fields.mapping:
        fields.complain("args", "F003", '"args" are for a "command", and there is none')
    command = fields.text("command")
    if fields.mapping.get("command") == "":
        fields.complain("command", "F009", '"command" is empty', on_key=False)
    env, secrets = _read_env(fields, environment)
    values = _Values(environment)
    http = _read_http(fields, values)
    most = 1 << 31
    limit = fields.whole_number("maxLineBytes", 1, most, Limits().max_line_bytes)
    return ServerSpec(
        name=fields.text("name"),
        command=(command, *fields.texts("args")) if command or not http else (),
        http=http,
        cwd=fields.text("cwd"),
        env=env,
        inherit_env=fields.flag("inheritEnv", True),
        startup_timeout_s=fields.duration_s("startupTimeout") or default_startup_s(command),
        ready_pattern=_read_ready_pattern(fields),
        timeout_s=fields.duration_s("timeout") or DEFAULT_TIMEOUT_S,
        protocol_version=_read_version(fields),
        isolation=fields.choice("isolation", ISOLATIONS, "run"),
        limits=Limits(max_line_bytes=limit),
        secrets=(*secrets, *values.secrets),
        client=_read_client(fields),
        strict_invariants=fields.flag("strictInvariants", False),
    )


def _read_http(fields: Fields, values: _Values) -> HttpSpec | None:
    if not any(camel_case(key) in fields.mapping for key in HTTP_KEYS):
        return None
    from mcptest.formats.server_http import read_http  # noqa: PLC0415  # as above

    return read_http(fields, camel_case, values)


def _read_client(fields: Fields) -> ClientSpec:
    client = fields.mapping_at("client")
    if client is None:
        return ClientSpec()
    from mcptest.formats.client_stubs import read_client  # noqa: PLC0415  # as above

    return read_client(client)


_VARIABLE = r"\$\{([^}]*)\}"


class _Values:
    """Texts of a config in which `${NAME}` stands for a variable of the environment."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = environment
        # The values that came from outside, all of which are treated as secrets.
        self.secrets: list[str] = []

    def header(self, fields: Fields, key: str) -> str:
        """A text with its variables replaced."""
        text = fields.text(key)
        filled = re.sub(_VARIABLE, lambda found: self._value(fields, key, found[1]), text)
        if "${" in re.sub(_VARIABLE, "", text):
            message = "${ is never closed; a variable is written ${NAME}"
            fields.complain(key, "F009", message, on_key=False)
        return filled

    def secret(self, fields: Fields, key: str) -> str:
        """The value of the variable that is named at a key."""
        name = fields.text(key)
        if fields.mapping[key] == "":
            fields.complain(key, "F009", f'"{key}" is empty', on_key=False)
        elif self._environment.get(name) == "":
            # Nobody is known by an empty credential.
            message = f"the environment variable {name!r} is empty"
            fields.complain(key, "F016", message, f"export {name}=… before the run", on_key=False)
        return self._value(fields, key, name) if name else ""

    def _value(self, fields: Fields, key: str, name: str) -> str:
        # Whoever starts no server has every variable, though `get` finds no value for it.
        if name not in self._environment:
            message = f"the environment variable {name!r} is not set"
            help = f"export {name}=… before the run"
            fields.complain(key, "F016", message, help, on_key=False)
            return ""
        value = self._environment[name]
        if value:
            self.secrets.append(value)
        from mcptest.core.secrets import names_secret  # noqa: PLC0415  # as above

        # What is called like a setting is one.
        if names_secret(name) or names_secret(key):
            warn_of_weak_secret(fields, key, name, value)
        return value


def _read_env(
    fields: Fields, environment: Mapping[str, str]
) -> tuple[dict[str, str], tuple[str, ...]]:
    """The variables to set, and the values that came from outside and are secrets."""
    inner = fields.mapping_at("env")
    if inner is None:
        return {}, ()
    values = _Values(environment)
    filled = {}
    for key in inner.mapping:
        filled[key] = values.header(inner, key)
        if not key or "=" in key or "\0" in key + filled[key]:
            message = "the name of a variable must not be empty or hold =, and no value holds NUL"
            inner.complain(key, "F009", message)
    return filled, tuple(values.secrets)


def _read_ready_pattern(fields: Fields) -> str:
    if "readyPattern" not in fields.mapping:
        return ""
    from mcptest.matching.regex import compile_regex  # noqa: PLC0415  # as above

    try:
        return compile_regex(fields.text("readyPattern")).pattern
    except ValueError as error:
        fields.complain("readyPattern", "F015", f'"readyPattern" {error}', on_key=False)
        return ""


def _read_version(fields: Fields) -> str:
    if "protocolVersion" not in fields.mapping:
        return ""
    return fields.choice("protocolVersion", tuple(REVISIONS), "")


def default_startup_s(command: str) -> float:
    """How long a server may take to be ready when nobody has said."""
    is_runner = posixpath.basename(command) in _PACKAGE_RUNNERS
    return _STARTUP_WITH_FETCH_S if is_runner else _STARTUP_S
