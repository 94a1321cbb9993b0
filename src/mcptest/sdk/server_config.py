"""A server as the config file that the binary reads, when its command alone does not say all.

What a server is given in its environment, how long it may take, what we answer when it asks
something: `exec --config` knows all of it. Secrets are not written down. They travel in the
environment of the binary, which fills them in and blanks them in what it says.
"""

from __future__ import annotations

import os
import re

from mcptest.core.plan import Limits

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mcptest.core.plan import ClientSpec, ServerSpec

    Config = dict[str, object]

__all__ = ["config_of", "plain_config"]

_SECRET = "MCPTEST_SERVER_SECRET_{}"

# Where the script of a client stands in a config, by the method that it answers.
_SCRIPTS = {"sampling/createMessage": "sampling", "elicitation/create": "elicitation"}
_ROOTS = "roots/list"


def plain_config(
    command: Sequence[str], cwd: str, env: Mapping[str, str] | None
) -> tuple[Config, dict[str, str]]:
    """The config of a server of which only this is known, and variables for the binary."""
    filled, variables = _env_of(env or {}, ())
    config: Config = {
        "name": os.path.basename(command[0]),
        "command": command[0],
        "args": list(command[1:]),
        "cwd": os.path.abspath(cwd or "."),
        "env": filled,
    }
    return config, variables


def config_of(spec: ServerSpec, limit_s: float) -> tuple[Config, dict[str, str]]:
    """The same for a server of which everything is known; `limit_s` is for one answer."""
    config, _ = plain_config(spec.command, spec.cwd, None)
    filled, variables = _env_of(spec.env or {}, spec.secrets)
    config |= {
        "name": spec.name or config["name"],
        "env": filled,
        "inheritEnv": spec.inherit_env,
        "startupTimeout": spec.startup_timeout_s * 1000,
        "timeout": limit_s * 1000,
    }
    if spec.ready_pattern:
        config["readyPattern"] = spec.ready_pattern
    if spec.protocol_version:
        config["protocolVersion"] = spec.protocol_version
    if spec.limits != Limits():
        config["maxLineBytes"] = spec.limits.max_line_bytes
    client = _client_of(spec.client)
    return (config | {"client": client} if client else config), variables


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
