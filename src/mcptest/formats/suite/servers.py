"""`servers:` of a suite: each is started once, and only when a test needs it."""

from __future__ import annotations

from mcptest.core.plan import DEFAULT_TIMEOUT_S, ISOLATIONS, ClientSpec, Limits, ServerSpec
from mcptest.formats.config import (
    CLIENT,
    HTTP_KEYS,
    INHERIT_ENV,
    ISOLATION,
    MAX_LINE_BYTES,
    PROTOCOL_VERSION,
    READY_PATTERN,
    STARTUP_TIMEOUT,
    TIMEOUT,
    default_startup_s,
    read_client,
    read_http,
)
from mcptest.formats.keys import STRING, Fields, Key, Keys, kind_of
from mcptest.formats.suite.variables import is_source
from mcptest.matching.regex import compile_regex
from mcptest.protocol.revisions import REVISIONS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mcptest.core.diagnostics import Diagnostic
    from mcptest.formats.suite.variables import Variables

__all__ = ["SERVER", "SERVER_KEYS", "read_servers"]

# How tests name their server.
SERVER = Key(STRING, "The server that is meant; it may be left out when there is only one.")

SERVER_KEYS = Keys(
    {
        "command": Key(
            "argv",
            "The program and its arguments; no shell is involved.",
            ["python3", "server.py"],
            is_filled=True,
        ),
        "env": Key(
            "env",
            "Variables to set for the server.",
            {"SHOP_MODE": "test", "TOKEN": {"secret_env": "API_TOKEN"}},
        ),
        "inherit_env": INHERIT_ENV,
        "cwd": Key(
            STRING, "The working folder of the server. Relative to the suite's.", "${CONFIG_DIR}"
        ),
        "startup_timeout": STARTUP_TIMEOUT,
        "ready_pattern": READY_PATTERN,
        "timeout": TIMEOUT,
        "protocol_version": PROTOCOL_VERSION,
        "isolation": ISOLATION,
        "max_line_bytes": MAX_LINE_BYTES,
        "client": CLIENT,
        **HTTP_KEYS,
    }
)


def read_servers(
    fields: Fields, variables: Variables, isolation: str
) -> dict[str, tuple[ServerSpec, tuple[Diagnostic, ...]]]:
    """Return the servers of a file by name, each with the variables that are not set.

    Mistakes are reported through `fields`.
    """
    inner = fields.mapping_at("servers")
    if inner is None:
        return {}
    if not inner.mapping:
        fields.complain("servers", "F011", '"servers" is empty: there is nothing to test')
    found = {}
    for name in inner.mapping:
        if not name.strip():
            inner.complain(name, "F009", "the name of a server must not be empty")
        entry = inner.mapping_at(name)
        if entry:
            variables.asked()
            spec = _read_server(name, entry, variables, isolation)
            found[name] = (spec, variables.asked())
    return found


def _read_server(name: str, written: Fields, variables: Variables, isolation: str) -> ServerSpec:
    written.check_keys(SERVER_KEYS, "a server")
    if "url" not in written.mapping:
        written.require(("command",), "a server")
    fields = _filled(written, variables)
    http = read_http(fields, str, _Values(variables))
    command = () if http and "command" not in fields.mapping else _command(fields)
    env = _env(fields, variables)
    cwd = fields.text("cwd")
    _refuse_nul(fields, "cwd", cwd)
    client = fields.mapping_at("client")
    limit = fields.whole_number("max_line_bytes", *MAX_LINE_BYTES.bounds, Limits().max_line_bytes)
    return ServerSpec(
        name=name,
        command=command,
        cwd=cwd,
        env=env,
        inherit_env=fields.flag("inherit_env", True),
        http=http,
        startup_timeout_s=fields.duration_s("startup_timeout")
        or default_startup_s(command[0] if command else ""),
        ready_pattern=_ready_pattern(fields),
        timeout_s=fields.duration_s("timeout") or DEFAULT_TIMEOUT_S,
        protocol_version=_revision(fields),
        isolation=fields.choice("isolation", ISOLATIONS, isolation),
        limits=Limits(max_line_bytes=limit),
        client=read_client(client) if client else ClientSpec(),
    )


# Keys whose value is a string, even if a reference in it is another value.
_TEXTS = ("cwd", "ready_pattern", "protocol_version", "isolation", "url", "ca_file", "transport")

# Keys that read values from the environment themselves.
_OWN_WAY = ("env", "headers")


class _Values:
    """Values of headers and credentials."""

    def __init__(self, variables: Variables) -> None:
        self._variables = variables

    def header(self, fields: Fields, key: str) -> str:
        """Return a string, or a value from the environment."""
        value = fields.mapping[key]
        if is_source(value):
            return self._variables.sent_from_environment(fields, key)
        if not isinstance(value, str):
            message = f'"{key}" must be text, {{from_env: NAME}} or {{secret_env: NAME}}'
            fields.complain(key, "F008", f"{message} and is {kind_of(value)}", on_key=False)
            return ""
        return str(self._variables.text(value, fields.at((key,))))

    def secret(self, fields: Fields, key: str) -> str:
        """Return the value of the variable that is named at a key."""
        return self._variables.secret(fields, key)


def _filled(written: Fields, variables: Variables) -> Fields:
    """Return the server with its references replaced, except in `env` and `headers`."""
    filled = {
        key: value if key in _OWN_WAY else _filled_at(key, value, written, variables)
        for key, value in written.mapping.items()
    }
    return written.replaced(filled)


def _filled_at(key: str, value: object, written: Fields, variables: Variables) -> object:
    if key == "command" and isinstance(value, list):
        place = written.at((key,))
        return [variables.text(item, place.at((index,))) for index, item in enumerate(value)]
    fill = variables.text if key in _TEXTS else variables.fill
    return fill(value, written.at((key,)))


def _command(fields: Fields) -> tuple[str, ...]:
    value = fields.mapping.get("command")
    if isinstance(value, str):
        message = '"command" must be a list: the program and its arguments'
        words = ", ".join(f'"{word}"' for word in value.split())
        fields.complain("command", "F008", message, f"write command: [{words}]", on_key=False)
        return ("",)
    given = fields.texts("command")
    if value == [] or (isinstance(value, list) and value[0] == ""):
        fields.complain("command", "F009", '"command" is empty', on_key=False)
    _refuse_nul(fields, "command", "".join(given))
    return given or ("",)


def _refuse_nul(fields: Fields, key: str, text: str) -> None:
    """Report NUL, which no program can be given."""
    if "\0" in text:
        fields.complain(key, "F009", f'"{key}" must not hold NUL', on_key=False)


def _env(fields: Fields, variables: Variables) -> dict[str, str]:
    inner = fields.mapping_at("env")
    if inner is None:
        return {}
    found = {}
    for key, value in inner.mapping.items():
        if not key or "=" in key:
            inner.complain(key, "F009", "the name of a variable must not be empty or hold =")
        if is_source(value):
            found[key] = variables.from_environment(inner, key)
        elif isinstance(value, str):
            found[key] = str(variables.text(value, inner.at((key,))))
        else:
            message = f'"{key}" must be text, {{from_env: NAME}} or {{secret_env: NAME}}'
            message += f" and is {kind_of(value)}"
            inner.complain(key, "F008", message, 'put it in quotes: "…"', on_key=False)
        _refuse_nul(inner, key, key + found.get(key, ""))
    return found


def _revision(fields: Fields) -> str:
    if "protocol_version" not in fields.mapping:
        return ""
    return fields.choice("protocol_version", tuple(REVISIONS), "")


def _ready_pattern(fields: Fields) -> str:
    try:
        return compile_regex(fields.text("ready_pattern")).pattern
    except ValueError as error:
        fields.complain("ready_pattern", "F015", f'"ready_pattern" {error}', on_key=False)
        return ""
