"""`conductor.config.json`, and the same keys under `server:` in a test file.

`read_server` turns a mapping into a `ServerSpec`. Whether folders and programs exist is checked
when the server is started; the environment is an argument.
"""

from __future__ import annotations

import posixpath
import re
from functools import partial

from mcptest.core.plan import (
    ACCEPT_DEFAULTS,
    AUTH_METHODS,
    DEFAULT_TIMEOUT_S,
    ISOLATIONS,
    PRIVATE_KEY,
    ClientSpec,
    HttpSpec,
    Limits,
    OAuthSpec,
    PluginSpec,
    ServerSpec,
)
from mcptest.core.secrets import names_secret
from mcptest.core.text import visible
from mcptest.formats.fields import (
    FLAG,
    NON_EMPTY,
    OBJECT,
    STRING,
    STRINGS,
    Fields,
    Key,
    Keys,
    check_diagnostics,
    kind_of,
    one_of,
    read_top,
    warn_of_weak_secret,
    whole_number,
)
from mcptest.formats.yaml import read_document
from mcptest.protocol.revisions import REVISIONS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any, Protocol

    from mcptest.core.diagnostics import Diagnostic, PathDiagnostic

    Body = dict[str, object]

    class Values(Protocol):
        """Where values come from: what is written, and the environment."""

        def header(self, fields: Fields, key: str) -> str: ...
        def url(self, fields: Fields) -> str: ...
        def secret(self, fields: Fields, key: str) -> str: ...


__all__ = [
    "AUTH_KEYS",
    "CLIENT",
    "ELICITATION_ACTIONS",
    "GRANT_KEYS",
    "HTTP_KEYS",
    "IMPORT_KEYS",
    "INHERIT_ENV",
    "KEYS",
    "PLUGIN_KEYS",
    "PLUGIN_NAME",
    "SETTINGS",
    "SHELLS",
    "STRICT",
    "SUBPROCESS_MATCHERS",
    "camel_case",
    "default_startup_s",
    "fill_argument_secrets",
    "is_header_name",
    "is_our_header",
    "load_config",
    "read_client",
    "read_http",
    "read_server",
    "read_settings",
    "read_subprocess_matchers",
    "why_not_set",
]

# Keys that a server has in a config and, in another spelling, in a suite.
INHERIT_ENV = Key(
    FLAG,
    "false: the server gets only a few variables of the environment, such as PATH.",
    is_filled=True,
)
CLIENT = Key(
    Keys(
        {
            "capabilities": Key(
                OBJECT,
                "Capabilities to declare, beside those that follow from the answers.",
                is_filled=True,
            ),
            "roots": Key("roots", "The roots of the client.", ["file:///project"], is_filled=True),
            "sampling": Key(
                "sampling",
                "What a model answers: a string or a whole result, or a list of them, in turn.",
                "The capital of France is Paris.",
            ),
            "elicitation": Key(
                "elicitation",
                "What the user answers, or a list of answers, in turn; accept-defaults fills in "
                "the defaults of the form.",
                "decline",
                ACCEPT_DEFAULTS,
                {"action": "accept", "content": {"name": "Ada"}},
            ),
        }
    ),
    "What the client can do, and its answers when the server asks.",
    is_filled=True,
)
STRICT = Key(
    FLAG,
    "true: a test fails that passes because it calls a tool or prompt that the server does not "
    "list, unless it says so.",
)
# The keys as suites spell them; configs use camel case.
SETTINGS = Keys(
    {
        "startup_timeout": Key(
            "duration",
            "Longest wait until the server is ready and the handshake done.",
            "20s",
            is_filled=True,
        ),
        "ready_pattern": Key(
            STRING,
            "A regular expression that must appear on stderr before the handshake begins.",
            "listening on",
        ),
        "timeout": Key("duration", "Longest wait for one answer (default: 30 s).", is_filled=True),
        "protocol_version": Key(
            one_of(REVISIONS), "The revision of the protocol that is offered.", is_filled=True
        ),
        "isolation": Key(
            one_of(ISOLATIONS), "What gets a server process of its own.", is_filled=True
        ),
        "max_line_bytes": Key(
            whole_number(1, 1 << 31),
            "Longest line that the server may write, in bytes "
            f"(default: {Limits().max_line_bytes}).",
            is_filled=True,
        ),
        "client": CLIENT,
    }
)
ELICITATION_ACTIONS = ("accept", "decline", "cancel")

_TRANSPORTS = ("auto", "streamable-http", "sse")
GRANT_KEYS = Keys(
    {
        "client_id": Key(STRING, "The client id."),
        "client_id_env": Key(NON_EMPTY, "The environment variable that holds the client id."),
        "client_secret_env": Key(
            NON_EMPTY, "The environment variable that holds the client secret."
        ),
        "private_key_env": Key(
            NON_EMPTY,
            "The environment variable that holds a private key (PEM), to sign with instead of "
            "sending a secret.",
        ),
        "issuer": Key(
            "url",
            "The authorization server that the credentials are for (default: the one that the "
            "server names).",
        ),
        "token_url": Key(
            "url",
            "Where to fetch the token: https, or on this machine (default: where the metadata of "
            "the authorization server says).",
        ),
        "token_endpoint_auth_method": Key(
            one_of(AUTH_METHODS),
            "How the client authenticates (default: what the authorization server supports).",
        ),
        "scope": Key(STRING, "The scopes to request (default: those that the server asks for)."),
        "resource": Key(
            STRING, "The server that the token is for (default: what its metadata says)."
        ),
    }
)
AUTH_KEYS = Keys(
    {
        "bearer_token_env": Key(
            NON_EMPTY, "The environment variable that holds a token.", "SHOP_TOKEN"
        ),
        "client_credentials": Key("grant", "Fetch a token by OAuth client credentials."),
        "login": Key({"const": True}, "true: send the tokens of mcptest login."),
    }
)
# Names as suites spell them; configs use camel case.
HTTP_KEYS = Keys(
    {
        "url": Key(
            "url",
            "Where the server is; {port} stands for a free port, in the command as well.",
            "http://127.0.0.1:3001/mcp",
        ),
        "headers": Key("headers", "Headers to send with every request."),
        "auth": Key("auth", "How to authenticate to the server."),
        "ca_file": Key(STRING, "Additional CA certificates to trust (a PEM file)."),
        "insecure_tls": Key(FLAG, "true: the server's certificate is not checked.", is_filled=True),
        "transport": Key(one_of(_TRANSPORTS), "Which HTTP transport to use.", is_filled=True),
    }
)


def camel_case(key: str) -> str:
    """A key as configs spell it."""
    first, *others = key.split("_")
    return first + "".join(word.capitalize() for word in others)


# A dot ends the name in a pattern, an equals sign on the command line.
PLUGIN_NAME = r"[A-Za-z][A-Za-z0-9_-]*"
PLUGIN_KEYS = Keys(
    {
        "command": Key(
            "argv", "The program and its arguments.", ["python3", "geo.py"], is_required=True
        ),
        "call_timeout": Key("duration", "Longest wait for one verdict.", "5s"),
    }
)
SUBPROCESS_MATCHERS = Key(
    "plugins", "Programs that judge values, by the name that match:plugin:NAME.METHOD asks them by."
)
IMPORT_KEYS = Keys({"subprocess_matchers": SUBPROCESS_MATCHERS})

# Without a URL, "command" and "args" are required as well.
KEYS = Keys(
    {
        "name": Key(STRING, "What reports call the server.", "files", is_required=True),
        "command": Key(NON_EMPTY, "The program; no shell is involved.", "python3"),
        "args": Key(
            STRINGS,
            "Its arguments; ${TOKEN} and other names of secrets take values from the environment.",
            ["server.py"],
        ),
        "cwd": Key(STRING, "The working folder of the server. Relative to the config's."),
        "env": Key(
            "env",
            "Variables to set for the server; ${NAME} takes a value from the environment.",
            {"API_KEY": "${MY_API_KEY}"},
        ),
        "inheritEnv": INHERIT_ENV,
        **SETTINGS.spelled(camel_case),
        "strictInvariants": Key(FLAG, "true: a broken rule about whole sessions fails the run."),
        "strict": STRICT,
        **HTTP_KEYS.spelled(camel_case),
    }
)

# They may have to fetch the server before they can start it.
_PACKAGE_RUNNERS = frozenset(
    [
        *("bun", "bunx", "deno", "docker", "npm", "npx", "pipx", "pnpm", "podman", "uv", "uvx"),
        "yarn",
    ]
)
_STARTUP_S = 5.0
_STARTUP_WITH_FETCH_S = 20.0


def load_config(
    text: str, file: str, environment: Mapping[str, str]
) -> tuple[ServerSpec, tuple[Diagnostic, ...]]:
    """Return the server of a config file, and warnings. FormatError lists every mistake."""
    document = read_document(text, file)
    diagnostics: list[PathDiagnostic] = []
    fields = read_top(document, "a config must be an object", diagnostics)
    spec = read_server(fields, environment, also=("imports",))
    imports = fields.mapping_at("imports")
    if imports:
        imports.check_keys(IMPORT_KEYS, '"imports" in a config')
        spec = spec.but(plugins=read_subprocess_matchers(imports, file))
    return spec, check_diagnostics(document, diagnostics)


def read_server(
    fields: Fields, environment: Mapping[str, str], also: tuple[str, ...] = ()
) -> ServerSpec:
    """Return the server that these keys describe; mistakes are reported through `fields`.

    `also` are further keys that the caller reads.
    """
    if "mcpServers" in fields.mapping:
        message = '"mcpServers" is what a client\'s config has; this one describes one server'
        help = (
            "give the file a name of its own, such as .mcp.json, or copy one entry to the top and "
            'give it a "name"'
        )
        fields.report("mcpServers", "F006", message, help)
        return ServerSpec(name="", command=("",))
    fields.refuse_unknown((*KEYS, *also), "the config of a server")
    # A server with a URL may be running already.
    has_url = "url" in fields.mapping
    needed = ("name",) if has_url else ("name", "command", "args")
    fields.require(needed, "the config of a server")
    if fields.mapping.get("args") and has_url and "command" not in fields.mapping:
        fields.report("args", "F003", '"args" are for a "command", and there is none')
    command = fields.non_empty_text("command")
    env, secrets = _read_env(fields, environment)
    values = _Values(environment)
    http = read_http(fields, camel_case, values)
    return ServerSpec(
        name=fields.text("name"),
        command=(command, *values.arguments(fields, command)) if command or not http else (),
        http=http,
        cwd=fields.text("cwd"),
        env=env,
        inherit_env=fields.flag("inheritEnv", True),
        secrets=(*secrets, *values.secrets),
        strict_invariants=fields.flag("strictInvariants", False),
        is_strict=fields.flag("strict", False),
        **read_settings(fields, camel_case, command, "run"),
    )


def read_settings(
    fields: Fields, spell: Callable[[str], str], command: str, isolation: str
) -> dict[str, Any]:
    """Return the fields of a `ServerSpec` for `SETTINGS`; `isolation` is the default."""
    max_bytes = Limits().max_line_bytes
    bounds = SETTINGS["max_line_bytes"].bounds
    client = fields.mapping_at("client")
    startup_s = fields.duration_s(spell("startup_timeout"))
    return {
        "startup_timeout_s": startup_s or default_startup_s(command),
        "ready_pattern": _read_ready_pattern(fields, spell("ready_pattern")),
        "timeout_s": fields.duration_s("timeout") or DEFAULT_TIMEOUT_S,
        "protocol_version": fields.choice(spell("protocol_version"), REVISIONS, ""),
        "isolation": fields.choice("isolation", ISOLATIONS, isolation),
        "limits": Limits(
            max_line_bytes=fields.whole_number(spell("max_line_bytes"), *bounds, max_bytes)
        ),
        "client": read_client(client) if client else ClientSpec(),
    }


def default_startup_s(command: str) -> float:
    """Return the default time for a server to be ready."""
    is_runner = posixpath.basename(command) in _PACKAGE_RUNNERS
    return _STARTUP_WITH_FETCH_S if is_runner else _STARTUP_S


def _read_ready_pattern(fields: Fields, key: str) -> str:
    if key not in fields.mapping:
        return ""
    # Only a server with this key needs it.
    from mcptest.matching.regex import compile_regex  # noqa: PLC0415

    try:
        return compile_regex(fields.text(key)).pattern
    except ValueError as error:
        fields.report(key, "F015", f'"{key}" {error}', on_key=False)
        return ""


_VARIABLE = r"\$\{([^}]*)\}"
_ARGUMENT_VARIABLE = r"\$\{([A-Z][A-Z0-9_]*)\}"
SHELLS = frozenset(["bash", "dash", "fish", "ksh", "sh", "zsh"])


def fill_argument_secrets(
    command: str, args: Sequence[str], fill: Callable[[int, str], str]
) -> tuple[str, ...]:
    """Return the arguments with each reference to a secret replaced.

    Programs have their own meanings for `${…}`, so only variables with the name of a secret are
    references, and none in the arguments of a shell.
    """
    if posixpath.basename(command) in SHELLS:
        return tuple(args)

    def replace(index: int, found: re.Match[str]) -> str:
        return fill(index, found[1]) if names_secret(found[1]) else found[0]

    return tuple(
        re.sub(_ARGUMENT_VARIABLE, partial(replace, index), argument)
        for index, argument in enumerate(args)
    )


class _Values:
    """Values of a config, in which `${NAME}` refers to a variable of the environment."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = environment
        # All values from the environment are treated as secrets.
        self.secrets: list[str] = []

    def header(self, fields: Fields, key: str) -> str:
        """Return a string with its variables replaced."""
        text = fields.text(key)
        filled = re.sub(_VARIABLE, lambda found: self._value(fields, key, found[1]), text)
        if "${" in re.sub(_VARIABLE, "", text):
            message = "${ is never closed; a variable is written ${NAME}"
            fields.report(key, "F009", message, on_key=False)
        return filled

    def url(self, fields: Fields) -> str:
        """Return the URL with its variables replaced."""
        return self.header(fields, "url")

    def arguments(self, fields: Fields, command: str) -> tuple[str, ...]:
        """Return the arguments of the server with the secrets in them filled in."""

        def fill(index: int, name: str) -> str:
            return self._value(fields.at(("args", index)), "", name)

        return fill_argument_secrets(command, fields.texts("args"), fill)

    def secret(self, fields: Fields, key: str) -> str:
        """Return the value of the variable that is named at a key."""
        name = fields.non_empty_text(key)
        if name and self._environment.get(name) == "":
            # An empty credential is of no use.
            message = f"the environment variable {name!r} is empty"
            fields.report(key, "F016", message, f"export {name}=… before the run", on_key=False)
        return self._value(fields, key, name) if name else ""

    def _value(self, fields: Fields, key: str, name: str) -> str:
        # Commands that start no server pass an environment that contains every name.
        if name not in self._environment:
            message = f"the environment variable {name!r} is not set"
            help = f"export {name}=… before the run"
            fields.report(key, "F016", message, help, on_key=False)
            return ""
        value = self._environment[name]
        if value:
            self.secrets.append(value)
        if names_secret(name) or names_secret(key):
            warn_of_weak_secret(fields, key, name, value)
        return value


def _read_env(
    fields: Fields, environment: Mapping[str, str]
) -> tuple[dict[str, str], tuple[str, ...]]:
    """Return the variables to set, and those of their values that are secrets."""
    inner = fields.mapping_at("env")
    if inner is None:
        return {}, ()
    values = _Values(environment)
    filled = {}
    for key in inner.mapping:
        filled[key] = values.header(inner, key)
        if message := why_not_set(key, filled[key]):
            inner.report(key, "F009", message)
    return filled, tuple(values.secrets)


def why_not_set(name: str, value: str) -> str:
    """Say why no process can get this variable of the environment; "" if it can."""
    if name and "=" not in name and "\0" not in name + value:
        return ""
    return "the name of a variable must not be empty or hold =, and no value holds NUL"


# `client:`, the capabilities of the client and its scripted answers


def read_client(fields: Fields) -> ClientSpec:
    """Return the client that these keys describe; mistakes are reported through `fields`.

        client:
          roots: ["file:///project"]
          sampling: "The capital of France is Paris."
          elicitation: [{action: accept, content: {name: Ada}}, decline]

    Each of the three is one answer, given every time, or a list of answers, given one after
    the other. Whatever has an answer is declared as a capability; `capabilities` adds more.
    """
    assert isinstance(CLIENT.type, Keys)
    fields.check_keys(CLIENT.type, '"client"')
    answers: dict[str, object] = {}
    declared: dict[str, object] = {}
    if "roots" in fields.mapping:
        answers["roots/list"] = _read_roots(fields)
        declared["roots"] = {}
    if "sampling" in fields.mapping:
        answers["sampling/createMessage"] = _read_answers(fields, "sampling", _read_sample)
        declared["sampling"] = {}
    if "elicitation" in fields.mapping:
        answers["elicitation/create"] = _read_answers(fields, "elicitation", _read_elicited)
        declared["elicitation"] = {}
    capabilities = fields.mapping_at("capabilities")
    if capabilities:
        declared |= capabilities.mapping
    return ClientSpec(capabilities=declared or None, answers=answers or None)


def _read_roots(fields: Fields) -> Body:
    roots = []
    for index, root in enumerate(fields.list_at("roots")):
        entry = {"uri": root} if isinstance(root, str) else root
        message = ""
        if not isinstance(entry, dict) or not isinstance(entry.get("uri"), str):
            message = f'a root is a URI or has the key "uri"; number {index + 1} does not'
        elif not str(entry["uri"]).startswith("file://"):
            message = f"number {index + 1} is not a file:// URI; roots must be file:// URIs"
        if message:
            place = fields.at(("roots", index))
            place.report("", "F009", message, 'for example "file:///project"', on_key=False)
        roots.append(entry)
    return {"result": {"roots": roots}}


def _read_answers(fields: Fields, key: str, read: Callable[[Fields, object], Body | str]) -> object:
    """Return one answer, or a list of them; each is a result, an error or ACCEPT_DEFAULTS."""

    def read_one(place: Fields, value: object) -> Body | str:
        if not isinstance(value, dict) or "error" not in value:
            return read(place, value)
        error = value["error"]
        if len(value) > 1 or not isinstance(error, dict) or type(error.get("code")) is not int:
            message = 'an error answer is {error: {code: NUMBER, message: "…"}} and nothing else'
            place.report("", "F009", message, on_key=False)
        return {"error": error}

    value = fields.mapping[key]
    if not isinstance(value, list):
        return read_one(fields.at((key,)), value)
    if not value:
        fields.report(key, "F011", f'"{key}" is an empty list: it answers nothing')
    return [read_one(fields.at((key, index)), item) for index, item in enumerate(value)]


def _read_sample(place: Fields, value: object) -> Body:
    if isinstance(value, str):
        content = {"type": "text", "text": value}
        return {"result": {"role": "assistant", "content": content, "model": "mcptest"}}
    if not isinstance(value, dict):
        message = f"an answer to sampling is a text or a whole result and is {kind_of(value)}"
        place.report("", "F009", message, on_key=False)
        return {"result": {}}
    for member in ("role", "content", "model"):
        if member not in value:
            message = f'a sampling result needs the key "{member}"'
            place.report("", "F009", message, on_key=False)
    return {"result": value}


def _read_elicited(place: Fields, value: object) -> Body | str:
    if value == ACCEPT_DEFAULTS:
        return ACCEPT_DEFAULTS
    result = {"action": value} if isinstance(value, str) else value
    if not isinstance(result, dict) or result.get("action") not in ELICITATION_ACTIONS:
        actions = ", ".join((*ELICITATION_ACTIONS, ACCEPT_DEFAULTS))
        message = f"an answer to elicitation says one of {actions}"
        help = "for example {action: accept, content: {…}}"
        place.report("", "F009", message, help, on_key=False)
        return {"result": {}}
    for member in result:
        if member not in ("action", "content", "_meta"):
            message = f'an elicitation result has no key "{member}"'
            place.report("", "F009", message, on_key=False)
    return {"result": result}


# `imports.subprocess_matchers`, the plugins of a config or a suite


def read_subprocess_matchers(imports: Fields, owner: str) -> tuple[PluginSpec, ...]:
    """Return the plugins under `imports`; mistakes are reported through the fields."""
    inner = imports.mapping_at("subprocess_matchers")
    if inner is None:
        return ()
    found = []
    for name in inner.mapping:
        if not re.fullmatch(PLUGIN_NAME, name):
            message = f"{visible(name)!r} is not a name for a plugin: letters, digits, _ and - only"
            inner.report(name, "F009", message, "it begins with a letter")
        entry = inner.mapping_at(name)
        if entry is None:
            continue
        entry.check_keys(PLUGIN_KEYS, "a plugin")
        command = entry.texts("command")
        if entry.mapping.get("command") == [] or command[:1] == ("",):
            message = '"command" is empty: it is the program and its arguments'
            entry.report("command", "F009", message, on_key=False)
        plugin = PluginSpec(name=name, command=command, owner=owner)
        limit_s = entry.duration_s("call_timeout") or plugin.call_timeout_s
        found.append(plugin.but(call_timeout_s=limit_s))
    return tuple(found)


# Servers over HTTP

# Headers that the transport sets.
_OURS = frozenset(
    [
        "accept",
        "accept-encoding",
        "connection",
        "content-length",
        "content-type",
        "host",
        "last-event-id",
        "mcp-method",
        "mcp-name",
        "mcp-protocol-version",
        "mcp-session-id",
        "transfer-encoding",
    ]
)
_TOKEN = r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+"


def is_header_name(name: str) -> bool:
    """True if HTTP allows this as the name of a header."""
    return re.fullmatch(_TOKEN, name) is not None


def is_our_header(name: str) -> bool:
    """True for a header that the transport sets, and a file may not."""
    return name.lower() in _OURS


def read_http(fields: Fields, spell: Callable[[str], str], values: Values) -> HttpSpec | None:
    """How a server on HTTP is reached; None for one that is not."""
    if "url" not in fields.mapping:
        for key in list(HTTP_KEYS)[1:]:
            if spell(key) in fields.mapping:
                message = f'"{spell(key)}" is for a server on HTTP, and there is no "url"'
                fields.report(spell(key), "F003", message)
        return None
    url = values.url(fields)
    if isinstance(fields.mapping["url"], str):
        _check_url(fields, "url", url.replace("{port}", "65535"))
        if "{port}" in url and "command" not in fields.mapping:
            message = "{port} is a free port for a server that we start; there is no"
            help = "write the number of the port at which it listens, or how it is started"
            fields.report("url", "F003", f'{message} "command"', help, on_key=False)
    headers = _headers(fields, values)
    auth = fields.mapping_at("auth")
    oauth = _read_auth(auth, spell, values, headers) if auth else None
    uses_login = auth is not None and auth.mapping.get("login") is True
    if auth and uses_login and "{port}" in url:
        message = '"login" is for a server at one address, and {port} differs each time'
        auth.report("login", "F003", message)
    return HttpSpec(
        url=url,
        headers=headers,
        oauth=oauth,
        uses_login=uses_login,
        ca_file=fields.text(spell("ca_file")),
        insecure_tls=fields.flag(spell("insecure_tls"), False),
        transport=fields.choice("transport", _TRANSPORTS, "auto"),
    )


def _headers(fields: Fields, values: Values) -> dict[str, str]:
    inner = fields.mapping_at("headers")
    found = {}
    for name in inner.mapping if inner else ():
        assert inner
        if not is_header_name(name):
            inner.report(name, "F009", f"{name!r} is not the name of a header")
        elif is_our_header(name):
            inner.report(name, "F003", f"the header {name} is set by mcptest itself")
        else:
            found[name] = values.header(inner, name)
            _refuse_unsendable(inner, name, found[name])
    return found


def _refuse_unsendable(fields: Fields, key: str, value: str) -> None:
    if not value.isprintable() or not value.isascii():
        fields.report(key, "F009", "a header holds visible ASCII only", on_key=False)


def _read_auth(
    fields: Fields, spell: Callable[[str], str], values: Values, headers: dict[str, str]
) -> OAuthSpec | None:
    known = bearer, grant, login = tuple(spell(key) for key in AUTH_KEYS)
    fields.refuse_unknown(known, '"auth"')
    given = [key for key in known if key in fields.mapping]
    # A misspelt key has been reported already.
    if len(given) > 1 or not fields.mapping:
        message = f'"auth" needs one of "{bearer}", "{grant}" and "{login}"'
        fields.report(given[1] if given else "", "F003" if given else "F007", message)
    if login in fields.mapping and fields.mapping[login] is not True:
        message = f'"{login}" is true, or left out'
        fields.report(login, "F009", message, on_key=False)
    if any(name.lower() == "authorization" for name in headers):
        message = '"auth" and the header "Authorization" both say who we are; give one of them'
        fields.report("", "F003", message)
        return None
    if bearer in fields.mapping:
        token = values.secret(fields, bearer)
        _refuse_unsendable(fields, bearer, token)
        headers["Authorization"] = f"Bearer {token}"
    inner = fields.mapping_at(grant)
    return _read_grant(inner, spell, values) if inner else None


def _read_grant(fields: Fields, spell: Callable[[str], str], values: Values) -> OAuthSpec:
    where = f'"{spell("client_credentials")}"'
    fields.check_keys(GRANT_KEYS.spelled(spell), where)
    for key in map(spell, ("token_url", "issuer")):
        if isinstance(fields.mapping.get(key), str):
            _check_url(fields, key, fields.text(key), needs_tls=True)
    id_key, id_env = spell("client_id"), spell("client_id_env")
    secret, private_key = spell("client_secret_env"), spell("private_key_env")
    for one, other in ((id_key, id_env), (secret, private_key)):
        if (one in fields.mapping) == (other in fields.mapping):
            fields.report("", "F003", f'{where} needs either "{one}" or "{other}"')
    method_key = spell("token_endpoint_auth_method")
    method = fields.choice(method_key, AUTH_METHODS, "")
    if method and (method == PRIVATE_KEY) != (private_key in fields.mapping):
        needed = private_key if method == PRIVATE_KEY else secret
        fields.report(method_key, "F003", f'"{method}" needs "{needed}"', on_key=False)
    return OAuthSpec(
        client_id=fields.text(id_key) or _env(fields, id_env, values),
        client_secret=_env(fields, secret, values),
        private_key=_env(fields, private_key, values),
        token_url=fields.text(spell("token_url")),
        issuer=fields.text("issuer"),
        auth_method=method,
        scope=fields.text("scope"),
        resource=fields.text("resource"),
    )


def _env(fields: Fields, key: str, values: Values) -> str:
    return values.secret(fields, key) if key in fields.mapping else ""


def _check_url(fields: Fields, key: str, url: str, *, needs_tls: bool = False) -> None:
    # What takes URLs apart is loaded by those files alone that have some.
    from mcptest.protocol.http_address import BadUrlError, parse_url  # noqa: PLC0415

    try:
        address = parse_url(url)
    except BadUrlError as error:
        message = f'"{key}" is not the URL of a server: {error}'
        fields.report(key, "F009", message, on_key=False)
        return
    if needs_tls and address.scheme != "https" and not address.is_loopback:
        message = f'"{key}" must begin with https://: credentials are sent there'
        fields.report(key, "F009", message, on_key=False)
