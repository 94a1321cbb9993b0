"""`servers:` of a suite: each is started once, and only when a test needs it."""

from __future__ import annotations

from mcptest.core.plan import ServerSpec
from mcptest.formats.config import HTTP_KEYS, INHERIT_ENV, SETTINGS, read_http, read_settings
from mcptest.formats.keys import STRING, Fields, Key, Keys, kind_of
from mcptest.formats.suite.variables import is_source

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
        **SETTINGS,
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
        fields.report("servers", "F011", '"servers" is empty: there is nothing to test')
    found = {}
    for name in inner.mapping:
        if not name.strip():
            inner.report(name, "F009", "the name of a server must not be empty")
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
    return ServerSpec(
        name=name,
        command=command,
        cwd=cwd,
        env=env,
        inherit_env=fields.flag("inherit_env", True),
        http=http,
        is_of_suite=True,
        **read_settings(fields, str, command[0] if command else "", isolation),
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
        if is_source(fields.mapping[key]):
            return self._variables.sent_from_environment(fields, key)
        return _text(self._variables, fields, key)

    def url(self, fields: Fields) -> str:
        """Return the URL, whose references have been replaced."""
        return fields.text("url")

    def secret(self, fields: Fields, key: str) -> str:
        """Return the value of the variable that is named at a key."""
        return self._variables.secret(fields, key)


def _text(variables: Variables, fields: Fields, key: str, help: str = "") -> str:
    """Return the string at a key, with its references replaced."""
    value = fields.mapping[key]
    if isinstance(value, str):
        return str(variables.text(value, fields.at((key,))))
    message = f'"{key}" must be text, {{from_env: NAME}} or {{secret_env: NAME}}'
    fields.report(key, "F008", f"{message} and is {kind_of(value)}", help, on_key=False)
    return ""


def _filled(written: Fields, variables: Variables) -> Fields:
    """Return the server with its references replaced, except in `env` and `headers`."""
    filled = dict(written.mapping)
    for key, value in written.mapping.items():
        place = written.at((key,))
        if key == "command" and isinstance(value, list):
            filled[key] = [variables.text(each, place.at((i,))) for i, each in enumerate(value)]
        elif key not in _OWN_WAY:
            filled[key] = (variables.text if key in _TEXTS else variables.fill)(value, place)
    return written.replaced(filled)


def _command(fields: Fields) -> tuple[str, ...]:
    value = fields.mapping.get("command")
    if isinstance(value, str):
        message = '"command" must be a list: the program and its arguments'
        words = ", ".join(f'"{word}"' for word in value.split())
        fields.report("command", "F008", message, f"write command: [{words}]", on_key=False)
        return ("",)
    given = fields.texts("command")
    if value == [] or (isinstance(value, list) and value[0] == ""):
        fields.report("command", "F009", '"command" is empty', on_key=False)
    _refuse_nul(fields, "command", "".join(given))
    return given or ("",)


def _refuse_nul(fields: Fields, key: str, text: str) -> None:
    """Report NUL, which no program can be given."""
    if "\0" in text:
        fields.report(key, "F009", f'"{key}" must not hold NUL', on_key=False)


def _env(fields: Fields, variables: Variables) -> dict[str, str]:
    inner = fields.mapping_at("env")
    if inner is None:
        return {}
    found = {}
    for key, value in inner.mapping.items():
        if not key or "=" in key:
            inner.report(key, "F009", "the name of a variable must not be empty or hold =")
        if is_source(value):
            found[key] = variables.from_environment(inner, key)
        else:
            found[key] = _text(variables, inner, key, 'put it in quotes: "…"')
        _refuse_nul(inner, key, key + found[key])
    return found
