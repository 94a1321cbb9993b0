"""`servers:` of a suite: each is started once, and only when a test needs it."""

from __future__ import annotations

import posixpath

from mcptest.core.diagnostics import UNQUOTED, UnquotedText
from mcptest.core.errors import FormatError
from mcptest.core.plan import ServerSpec
from mcptest.core.value_class import Record
from mcptest.formats.config import HTTP_KEYS, INHERIT_ENV, SETTINGS, read_http, read_settings
from mcptest.formats.fields import NON_EMPTY, STRING, Fields, Key, Keys, kind_of
from mcptest.formats.suite.variables import is_source

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from mcptest.core.diagnostics import Diagnostic
    from mcptest.formats.suite.variables import Variables

__all__ = ["SAID_BY_FROM", "SERVER", "SERVER_KEYS", "ServerFiles", "read_servers"]

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
        "from": Key(
            NON_EMPTY,
            "The config of another program that describes the server; #NAME names one of several.",
            ".mcp.json",
            ".mcp.json#shop",
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


class ServerFiles(Record):
    """Where `from:` finds files: how they are read, by their path from the folder of the suite.

    `folder` is the absolute path of the suite's folder, `file` the name of the suite. Mistakes and
    warnings in the files are added to `found`.
    """

    read: Callable[[str], str]
    folder: str
    file: str
    found: list[Diagnostic]


def read_servers(
    fields: Fields, variables: Variables, isolation: str, files: ServerFiles
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
            variables.take_unset()
            needs: tuple[Diagnostic, ...] = ()
            base = None
            if "from" in entry.mapping:
                base, needs = _read_from(name, entry, variables, files)
            spec = _read_server(name, entry, variables, isolation, base)
            found[name] = (spec, (*needs, *variables.take_unset()))
    return found


# Keys that a server with "from" may not have: the other file says it.
SAID_BY_FROM = ("command", "url", "headers", "auth", "transport")


def _read_from(
    name: str, fields: Fields, variables: Variables, files: ServerFiles
) -> tuple[ServerSpec, tuple[Diagnostic, ...]]:
    """Return the server of another program's config, and its variables that are not set.

    The server is the one that the key names, else the one with the same name as in the suite, else
    the only one.
    """
    # Loaded only for suites with such a key.
    from mcptest.formats.client_configs import ChoiceError, ClientConfig  # noqa: PLC0415

    nothing = ServerSpec(name=name, command=())
    for key in SAID_BY_FROM:
        if key in fields.mapping:
            message = f'"from" and "{key}" both say how the server is reached; give one of them'
            fields.report(key, "F003", message)
    written = variables.text(fields.mapping["from"], fields.at(("from",)))
    path, _, wanted = str(written).partition("#")
    if not isinstance(written, str) or not path:
        if wanted:
            message = '"from" names a server, and no file'
            fields.report("from", "F009", message, f"write FILE#{wanted}", on_key=False)
        return nothing, ()
    try:
        text = files.read(path)
    except (OSError, ValueError) as error:
        reason = str(error).removeprefix("cannot read it: ")
        fields.report("from", "F001", f"cannot read {path!r}: {reason}", on_key=False)
        return nothing, ()
    place = posixpath.normpath(posixpath.join(files.folder, posixpath.dirname(path)))
    shown = posixpath.normpath(posixpath.join(posixpath.dirname(files.file), path))
    try:
        config = ClientConfig(text, shown, place)
        chosen, _ = config.choose(wanted or (name if name in config.names() else ""))
        server = config.read(chosen, variables.environment, files.read)
    except ChoiceError as error:
        help = f"write from: {path}#NAME, with one of {error.names}" if error.names else ""
        fields.report("from", "F009", str(error), help, on_key=False)
        return nothing, ()
    except FormatError as error:
        if isinstance(text, UnquotedText):
            message = "the config that it names has mistakes"
            fields.report("from", error.diagnostics[0].code, message, UNQUOTED, on_key=False)
        else:
            files.found.extend(error.diagnostics)
        return nothing, ()
    variables.secrets += server.spec.secrets
    files.found.extend(() if isinstance(text, UnquotedText) else server.warnings)
    return server.spec, server.unset


def _read_server(
    name: str, written: Fields, variables: Variables, isolation: str, base: ServerSpec | None
) -> ServerSpec:
    """Return a server; `base` is what the file says that `from` names."""
    written.check_keys(SERVER_KEYS, "a server")
    if "url" not in written.mapping and not base:
        written.require(("command",), "a server")
    fields = _fill(written, variables)
    env = _env(fields, variables)
    cwd = fields.text("cwd")
    if base:
        written.non_empty_text("from")
        http, command = base.http, base.command
        env, cwd = (base.env or {}) | env, cwd or base.cwd
        # Of how a server of another file is reached, only the keys about TLS are the suite's.
        given = [key for key in ("ca_file", "insecure_tls") if key in fields.mapping]
        if given and not http:
            fields.report(given[0], "F003", f'"{given[0]}" is for a server on HTTP')
        insecure_tls = fields.flag("insecure_tls", False)
        if http:
            http = http.but(ca_file=fields.text("ca_file"), insecure_tls=insecure_tls)
    else:
        http = read_http(fields, str, _Values(variables))
        command = () if http and "command" not in fields.mapping else _command(fields)
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
_TEXTS = (
    "from",
    "cwd",
    "ready_pattern",
    "protocol_version",
    "isolation",
    "url",
    "ca_file",
    "transport",
)

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


def _fill(written: Fields, variables: Variables) -> Fields:
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
