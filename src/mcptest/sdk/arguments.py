"""What programs hand to the SDK, held against what it must be: what is wrong is named at once."""

from __future__ import annotations

import math
import os
import re
import shlex

from mcptest.core.plan import Limits
from mcptest.core.record import Record
from mcptest.core.secrets import names_secret, why_not_blanked
from mcptest.core.typed_json import STRING, Key, TypedJsonError, check_value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from mcptest.core.plan import ClientSpec, HttpSpec, ServerSpec

    Path = str | os.PathLike[str]
    Command = Path | Sequence[Path]
    Config = dict[str, object]

__all__ = [
    "Told",
    "choice_of",
    "config_of",
    "json_of",
    "mapping_of",
    "path_of",
    "plain_config",
    "seconds_of",
    "secrets_of",
    "text_of",
    "told_of",
    "words_of",
]


_MAX_S = 7 * 24 * 3600.0
# Deeper values are refused by the channel.
_MAX_DEPTH = 190


def words_of(command: Command) -> tuple[str, ...]:
    """The words of a server's command; a string is split as a shell would, a path is one word."""
    if isinstance(command, os.PathLike):
        return (path_of("server_command", command),)
    if isinstance(command, str):
        return _split(command)
    if not isinstance(command, (list, tuple)):
        name = type(command).__name__
        raise TypeError(f"server_command is a list of words, or one string, not {name}")
    return tuple(path_of("a word of server_command", word) for word in command)


def _split(command: str) -> tuple[str, ...]:
    text_of("server_command", command)
    if command.startswith(("http://", "https://")):
        raise ValueError(f"{command!r} starts nothing: say connect(url={command!r})")
    try:
        return tuple(shlex.split(command))
    except ValueError as error:
        message = f"server_command cannot be split into words: {error}"
        raise ValueError(f"{message}; give it as a list of words") from None


def told_of(
    *,
    command: Command,
    url: object,
    bearer_env: object,
    header_env: object,
    ca_file: object,
    cwd: object,
    env: object,
    startup_timeout: object,
    client: object,
    secrets: object,
) -> Told:
    """A server as `connect` is told of it, when all of that makes sense."""
    told = Told(
        command=words_of(command),
        url=text_of("url", url),
        bearer_env=variable_of("bearer_env", bearer_env) if bearer_env != "" else "",
        header_env=_headers_of(header_env),
        ca_file=path_of("ca_file", ca_file),
        cwd=path_of("cwd", cwd),
        env=mapping_of("env", env),
        startup_timeout_s=_startup_of(startup_timeout),
        client=_client_of(client),
        secrets=_names_of("secrets", secrets),
    )
    _refuse_senseless(told)
    return told


def _headers_of(value: object) -> dict[str, str] | None:
    headers = mapping_of("header_env", value)
    for header, name in (headers or {}).items():
        variable_of(f"header_env[{header!r}]", name)
    return headers


def _startup_of(value: object) -> float | None:
    return None if value is None else seconds_of("startup_timeout", value)


def _client_of(value: object) -> dict[str, Any] | None:
    if value is None:
        return None
    _check("client", value, Key(type=dict, words="a dict"))
    json_of("client", value)
    assert isinstance(value, dict)
    return value


def _names_of(name: str, value: object) -> tuple[str, ...]:
    if not isinstance(value, (list, tuple, set, frozenset)):
        raise TypeError(f"{name} is a list of names, not {_kind(value)}")
    return tuple(text_of(f"a name in {name}", each) for each in value)


def _refuse_senseless(told: Told) -> None:
    """Refuse what says nothing of a server, or something of one that is not there."""
    if told.command and not told.command[0]:
        raise ValueError("server_command is empty")
    if not told.url and not told.command:
        raise ValueError("there is no server: give server_command, or url=")
    for name in ("bearer_env", "header_env", "ca_file"):
        if getattr(told, name) and not told.url:
            raise ValueError(f"{name} is for a server on HTTP: give url= as well")
    for name in ("cwd", "env"):
        if getattr(told, name) and not told.command:
            raise ValueError(f"{name} is for a server that is started: give server_command as well")
    for name in told.secrets:
        if name not in (told.env or {}):
            raise ValueError(f"secrets names variables in env, and {name!r} is not there")


def text_of(name: str, value: object) -> str:
    """A string without NUL, which no argument of a program can contain."""
    _check(name, value, STRING)
    if "\0" in str(value):
        raise ValueError(f"{name} holds a NUL character")
    return str(value)


def path_of(name: str, value: object) -> str:
    """A path, as a string or a path object."""
    if not isinstance(value, (str, os.PathLike)):
        raise TypeError(f"{name} is a string or a path, not {_kind(value)}")
    return text_of(name, os.fspath(value))


def mapping_of(name: str, value: object) -> dict[str, str] | None:
    """A dict of strings by name."""
    if value is None:
        return None
    _check(name, value, Key(type=dict, words="a dict of strings"))
    assert isinstance(value, dict)
    for key in value:
        text_of(f"a key of {name}", key)
        text_of(f"{name}[{key!r}]", value[key])
        if not key or "=" in key:
            raise ValueError(f"{name} has the key {key!r}, which cannot be a name")
    return dict(value)


def json_of(name: str, value: object, depth: int = 0) -> None:
    """Refuse what JSON cannot say, or would say otherwise; `name` is where it stands."""
    if value is None or isinstance(value, (str, bool, int)):
        return
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ValueError(f"{name} is {value!r}, and JSON has no such number")
        return
    if depth == _MAX_DEPTH:
        raise ValueError(f"{name[:_MAX_DEPTH]}… is nested deeper than {_MAX_DEPTH} levels")
    if isinstance(value, dict):
        for key, inner in value.items():
            if not isinstance(key, str):
                raise TypeError(f"a key of {name} is a string, not {_kind(key)}: {key!r}")
            json_of(f"{name}[{key!r}]", inner, depth + 1)
    elif isinstance(value, (list, tuple)):
        for index, inner in enumerate(value):
            json_of(f"{name}[{index}]", inner, depth + 1)
    else:
        raise TypeError(f"{name} is {_kind(value)}, and JSON has no such value")


def seconds_of(name: str, value: object) -> float:
    """A time to wait, in seconds."""
    _check(name, value, Key(type=float, words="a number of seconds"))
    assert isinstance(value, (int, float))
    if not (math.isfinite(value) and 0 < value <= _MAX_S):
        raise ValueError(f"{name} is more than 0 and up to {_MAX_S:,.0f} seconds, not {value!r}")
    return float(value)


def choice_of(name: str, value: object, choices: Sequence[str]) -> str:
    """One of these words."""
    _check(name, value, Key(type=str, choices=tuple(choices)))
    return str(value)


def variable_of(name: str, value: object) -> str:
    """The name of an environment variable that is set."""
    if not os.environ.get(text_of(name, value), ""):
        raise ValueError(f"{name} names the environment variable {value!r}, which is not set")
    return str(value)


def _check(name: str, value: object, key: Key) -> None:
    """Raise a `TypeError` or `ValueError` that names the argument."""
    try:
        check_value(value, key, name)
    except TypedJsonError as error:
        if error.problem == "choice":
            raise ValueError(f"{name} is one of {error.expected}, not {value!r}") from None
        raise TypeError(f"{name} is {error.expected}, not {_kind(value)}") from None


def _kind(value: object) -> str:
    return "None" if value is None else type(value).__name__


# A server as the config file that the binary reads, when its command alone does not say all.
#
# Where it is, what it is given in its environment, how long it may take, what we answer when it
# asks something: `exec --config` knows all of it. Secrets are not written down. They travel in the
# environment of the binary, which fills them in and blanks them in what it says.


_SECRET = "MCPTEST_SERVER_SECRET_{}"
_OAUTH_SECRET = "MCPTEST_SERVER_OAUTH_SECRET"

# Where the script of a client stands in a config, by the method that it answers.
_SCRIPTS = {"sampling/createMessage": "sampling", "elicitation/create": "elicitation"}
_ROOTS = "roots/list"


class Told(Record):
    """A server as a program that uses the SDK tells of it.

    `header_env` names for each header the environment variable that holds its value, and
    `bearer_env` the one that holds a token. `client` is what a config has under that key.
    `secrets` names variables in `env` whose values are secret, besides those that say so.
    """

    command: tuple[str, ...] = ()
    url: str = ""
    bearer_env: str = ""
    header_env: dict[str, str] | None = None
    ca_file: str = ""
    cwd: str = ""
    env: dict[str, str] | None = None
    startup_timeout_s: float | None = None
    client: dict[str, object] | None = None
    secrets: tuple[str, ...] = ()

    @property
    def is_plain(self) -> bool:
        """Whether its command says all there is."""
        return self == Told(command=self.command)


def plain_config(told: Told) -> tuple[Config, dict[str, str]]:
    """The config of a server of which only this is known, and variables for the binary."""
    filled, variables = _env_of(told.env or {}, _secrets_in_env(told))
    config: Config = {"name": os.path.basename(told.command[0]) if told.command else told.url}
    config |= _started(told.command, told.cwd) | ({"env": filled} if told.command else {})
    if told.url:
        config["url"] = told.url
        config["headers"] = {name: f"${{{env}}}" for name, env in (told.header_env or {}).items()}
    if told.bearer_env:
        config["auth"] = {"bearerTokenEnv": told.bearer_env}
    if told.ca_file:
        config["caFile"] = os.path.abspath(told.ca_file)
    if told.startup_timeout_s:
        config["startupTimeout"] = told.startup_timeout_s * 1000
    return (config | {"client": told.client} if told.client else config), variables


def secrets_of(told: Told, environment: Mapping[str, str]) -> tuple[str, ...]:
    """Every secret that the server gets: in its environment, as a token, in headers."""
    names = (told.bearer_env, *(told.header_env or {}).values())
    sent = (environment[name] for name in names if environment.get(name))
    return (*_secrets_in_env(told), *sent)


def _secrets_in_env(told: Told) -> list[str]:
    """The values of variables that are secret, because they were named or by their names."""
    env = told.env or {}
    # A word that cannot be blanked is none that was meant to be, unless somebody says so.
    found = [env[name] for name in env if names_secret(name) and not why_not_blanked(env[name])]
    return list(dict.fromkeys([*found, *(env[name] for name in told.secrets)]))


def _started(command: Sequence[str], cwd: str) -> Config:
    """How a server is started; nothing when others do it."""
    if not command:
        return {}
    folder = os.path.abspath(cwd or ".")
    return {"command": command[0], "args": list(command[1:]), "cwd": folder}


def config_of(spec: ServerSpec, limit_s: float) -> tuple[Config, dict[str, str]]:
    """The same for a server of which everything is known; `limit_s` is for one answer."""
    http = spec.http
    texts = {f"env {name}": value for name, value in (spec.env or {}).items()}
    headers = (http.headers or {}) if http else {}
    texts |= {f"header {name}": value for name, value in headers.items()}
    filled, variables = _env_of(texts, spec.secrets)
    config: Config = {
        "name": spec.name or os.path.basename(spec.command[0]),
        **_started(spec.command, spec.cwd),
        "startupTimeout": spec.startup_timeout_s * 1000,
        "timeout": limit_s * 1000,
    }
    if spec.command:
        config |= {"env": _named("env ", filled), "inheritEnv": spec.inherit_env}
    if http:
        config |= _reached(http, variables) | {"headers": _named("header ", filled)}
    if spec.ready_pattern:
        config["readyPattern"] = spec.ready_pattern
    if spec.protocol_version:
        config["protocolVersion"] = spec.protocol_version
    if spec.limits != Limits():
        config["maxLineBytes"] = spec.limits.max_line_bytes
    client = _client_section(spec.client)
    return (config | {"client": client} if client else config), variables


def _named(prefix: str, filled: Config) -> Config:
    return {
        name.removeprefix(prefix): value
        for name, value in filled.items()
        if name.startswith(prefix)
    }


def _reached(http: HttpSpec, variables: dict[str, str]) -> Config:
    """How a server on HTTP is reached, but for its headers."""
    config: Config = {"url": http.url, "transport": http.transport}
    if http.ca_file:
        config["caFile"] = os.path.abspath(http.ca_file)
    if http.insecure_tls:
        config["insecureTls"] = True
    oauth = http.oauth
    if oauth:
        variables[_OAUTH_SECRET] = oauth.client_secret
        grant = {
            "tokenUrl": oauth.token_url,
            "clientId": oauth.client_id,
            "clientSecretEnv": _OAUTH_SECRET,
            "scope": oauth.scope,
            "resource": oauth.resource,
        }
        config["auth"] = {"clientCredentials": {key: grant[key] for key in grant if grant[key]}}
    return config


def _env_of(env: Mapping[str, str], secrets: Sequence[str]) -> tuple[Config, dict[str, str]]:
    """The variables of a server as a config has them, and those that stand for secrets."""
    names = {secret: _SECRET.format(number) for number, secret in enumerate(secrets) if secret}
    # The longest first: one secret may be a part of another.
    texts = sorted(names, key=len, reverse=True)
    parts = "|".join(map(re.escape, texts))
    filled: Config = {}
    used: dict[str, str] = {}

    def named(found: re.Match[str]) -> str:
        used[names[found[0]]] = found[0]
        return f"${{{names[found[0]]}}}"

    for key, value in env.items():
        if "${" in (re.sub(parts, "", value) if parts else value):
            # It would be read as a variable, and is none.
            name = _SECRET.format(f"{len(secrets)}_{len(used)}")
            used[name] = value
            filled[key] = f"${{{name}}}"
        else:
            filled[key] = re.sub(parts, named, value) if parts else value
    return filled, used


def _client_section(client: ClientSpec) -> Config:
    """The script of a client as it is written."""
    written: Config = {}
    answers = client.answers or {}
    for method, key in _SCRIPTS.items():
        if method in answers:
            script = answers[method]
            written[key] = list(map(_plain, script)) if isinstance(script, list) else _plain(script)
    roots = answers.get(_ROOTS)
    if isinstance(roots, dict):
        written["roots"] = roots["result"]["roots"]
    return written | ({"capabilities": client.capabilities} if client.capabilities else {})


def _plain(body: object) -> object:
    """An answer as it is written: a result is itself, an error says that it is one."""
    return body["result"] if isinstance(body, dict) and "result" in body else body
