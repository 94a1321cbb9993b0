"""A server as the config file that the binary reads, when its command alone does not say all.

Where it is, what it is given in its environment, how long it may take, what we answer when it
asks something: `exec --config` knows all of it. Secrets are not written down. They travel in the
environment of the binary, which fills them in and blanks them in what it says.
"""

from __future__ import annotations

import os
import re

from mcptest.core.plan import Limits
from mcptest.core.record import Record
from mcptest.core.secrets import names_secret, why_not_blanked

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mcptest.core.plan import ClientSpec, HttpSpec, ServerSpec

    Config = dict[str, object]

__all__ = ["Told", "config_of", "plain_config", "secrets_of"]

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
    client = _client_of(spec.client)
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


def _client_of(client: ClientSpec) -> Config:
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
