"""Arguments of the SDK's functions: checked at once, and turned into options of the binary."""

from __future__ import annotations

import math
import os
import re
import shlex

from mcptest.core.secrets import secrets_in
from mcptest.core.strict_json import dump_json
from mcptest.core.typed_json import STRING, Key, TypedJsonError, check_value
from mcptest.core.value_class import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    Path = str | os.PathLike[str]
    Command = Path | Sequence[Path]
    Config = dict[str, object]

__all__ = [
    "ServerArguments",
    "build_config",
    "build_options",
    "check_choice",
    "check_json",
    "check_mapping",
    "check_path",
    "check_seconds",
    "check_string",
    "list_secrets",
    "name_arguments",
    "read_arguments",
    "split_command",
]

_MAX_S = 7 * 24 * 3600.0
# The channel refuses values that are nested deeper.
_MAX_DEPTH = 190


class ServerArguments(Record):
    """The arguments of `connect` that describe a server.

    `header_env` maps header names to environment variables that hold their values; `bearer_env`
    names the variable that holds a token. `client` is the section of that name of a config.
    `secrets` names variables in `env` whose values are secret, in addition to those whose name
    suggests it.
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


def read_arguments(
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
) -> ServerArguments:
    """Check the arguments of `connect`, each alone and all together."""
    headers = check_mapping("header_env", header_env)
    for header, name in (headers or {}).items():
        _check_variable(f"header_env[{header!r}]", name)
    if client is not None:
        _check("client", client, Key(type=dict, words="a dict"))
        check_json("client", client)
    if not isinstance(secrets, (list, tuple, set, frozenset)):
        raise TypeError(f"secrets is a list of names, not {_type_name(secrets)}")
    given = ServerArguments(
        command=split_command(command),
        url=check_string("url", url),
        bearer_env=_check_variable("bearer_env", bearer_env) if bearer_env != "" else "",
        header_env=headers,
        ca_file=check_path("ca_file", ca_file),
        cwd=check_path("cwd", cwd),
        env=check_mapping("env", env),
        startup_timeout_s=(
            None if startup_timeout is None else check_seconds("startup_timeout", startup_timeout)
        ),
        client=client if isinstance(client, dict) else None,
        secrets=tuple(check_string("a name in secrets", each) for each in secrets),
    )
    _check_together(given)
    return given


def _check_together(given: ServerArguments) -> None:
    if given.command and not given.command[0]:
        raise ValueError("server_command is empty")
    if not given.url and not given.command:
        raise ValueError("there is no server: give server_command, or url=")
    for name in ("bearer_env", "header_env", "ca_file"):
        if getattr(given, name) and not given.url:
            raise ValueError(f"{name} is for a server on HTTP: give url= as well")
    for name in ("cwd", "env"):
        if getattr(given, name) and not given.command:
            raise ValueError(f"{name} is for a server that is started: give server_command as well")
    for name in given.secrets:
        if name not in (given.env or {}):
            raise ValueError(f"secrets names variables in env, and {name!r} is not there")


def split_command(command: Command) -> tuple[str, ...]:
    """The words of a server's command; a string is split as a shell would, a path is one word."""
    if isinstance(command, os.PathLike):
        return (check_path("server_command", command),)
    if isinstance(command, (list, tuple)):
        return tuple(check_path("a word of server_command", word) for word in command)
    if not isinstance(command, str):
        name = type(command).__name__
        raise TypeError(f"server_command is a list of words, or one string, not {name}")
    check_string("server_command", command)
    if command.startswith(("http://", "https://")):
        raise ValueError(f"{command!r} starts nothing: say connect(url={command!r})")
    try:
        return tuple(shlex.split(command))
    except ValueError as error:
        message = f"server_command cannot be split into words: {error}"
        raise ValueError(f"{message}; give it as a list of words") from None


# Single values


def check_string(name: str, value: object) -> str:
    """A string without NUL, which no argument of a program can contain."""
    _check(name, value, STRING)
    if "\0" in str(value):
        raise ValueError(f"{name} holds a NUL character")
    return str(value)


def check_path(name: str, value: object) -> str:
    """A path, as a string or a path object."""
    if not isinstance(value, (str, os.PathLike)):
        raise TypeError(f"{name} is a string or a path, not {_type_name(value)}")
    return check_string(name, os.fspath(value))


def check_mapping(name: str, value: object) -> dict[str, str] | None:
    """A dict of strings by name."""
    if value is None:
        return None
    _check(name, value, Key(type=dict, words="a dict of strings"))
    assert isinstance(value, dict)
    for key in value:
        check_string(f"a key of {name}", key)
        check_string(f"{name}[{key!r}]", value[key])
        if not key or "=" in key:
            raise ValueError(f"{name} has the key {key!r}, which cannot be a name")
    return dict(value)


def check_json(name: str, value: object, depth: int = 0) -> None:
    """Refuse what JSON cannot express; `name` is the path to the value."""
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
                raise TypeError(f"a key of {name} is a string, not {_type_name(key)}: {key!r}")
            check_json(f"{name}[{key!r}]", inner, depth + 1)
    elif isinstance(value, (list, tuple)):
        for index, inner in enumerate(value):
            check_json(f"{name}[{index}]", inner, depth + 1)
    else:
        raise TypeError(f"{name} is {_type_name(value)}, and JSON has no such value")


def check_seconds(name: str, value: object) -> float:
    """A time limit in seconds."""
    _check(name, value, Key(type=float, words="a number of seconds"))
    assert isinstance(value, (int, float))
    if not (math.isfinite(value) and 0 < value <= _MAX_S):
        raise ValueError(f"{name} is more than 0 and up to {_MAX_S:,.0f} seconds, not {value!r}")
    return float(value)


def check_choice(name: str, value: object, choices: Sequence[str]) -> str:
    """One of these strings."""
    _check(name, value, Key(type=str, choices=tuple(choices)))
    return str(value)


def _check_variable(name: str, value: object) -> str:
    """The name of an environment variable that is set."""
    if not os.environ.get(check_string(name, value), ""):
        raise ValueError(f"{name} names the environment variable {value!r}, which is not set")
    return str(value)


def _check(name: str, value: object, key: Key) -> None:
    """Raise a `TypeError` or `ValueError` that names the argument."""
    try:
        check_value(value, key, name)
    except TypedJsonError as error:
        if error.problem == "choice":
            # An empty choice means an argument that is not given.
            choices = error.expected.removeprefix(", ")
            raise ValueError(f"{name} is one of {choices}, not {value!r}") from None
        raise TypeError(f"{name} is {error.expected}, not {_type_name(value)}") from None


def _type_name(value: object) -> str:
    return "None" if value is None else type(value).__name__


# How the binary learns of the server: by options, and by a variable for those of the server, whose
# values may be secrets. Only `client` has no option.


def build_options(given: ServerArguments) -> tuple[list[str], dict[str, str]]:
    """The options of the binary for a server, and the variables to start it with."""
    places = {} if given.client else {"--server-command": shlex.join(given.command)}
    places |= {} if given.client else {"--url": given.url}
    # A config is in another folder.
    folder = os.path.abspath(given.cwd or ".") if given.client and given.command else given.cwd
    limit_s = given.startup_timeout_s
    places |= {
        "--bearer-env": given.bearer_env,
        "--ca-file": given.ca_file,
        "--cwd": folder,
        "--start-timeout": f"{limit_s * 1000:.6f}ms" if limit_s else "",
    }
    options = [word for option, value in places.items() if value for word in (option, value)]
    for header, name in (given.header_env or {}).items():
        options += ["--header-env", f"{header}={name}"]
    if not given.env:
        return options, {}
    variables = {"set": given.env, "secrets": list(given.secrets)}
    return options, {"MCPTEST_SERVER_ENV": dump_json(variables)}


def build_config(given: ServerArguments) -> Config:
    """The config of a server with a `client`: what to connect to, and how to answer it."""
    command = given.command
    config: Config = {"name": os.path.basename(command[0]) if command else given.url}
    config |= {"command": command[0], "args": list(command[1:])} if command else {}
    config |= {"url": given.url} if given.url else {}
    return {**config, "client": given.client}


def name_arguments(text: str) -> str:
    """What the binary says about its options, with the names that they have in `connect`."""
    text = re.sub(r"--spec-version (\d{4}-\d\d-\d\d)", r'spec_version="\1"', text)
    return re.sub("|".join(_OPTION_NAMES), lambda found: _OPTION_NAMES[found[0]], text)


_OPTION_NAMES = {
    "--server-command": "server_command",
    "--url": "url",
    "--bearer-env": "bearer_env",
    "--header-env": "header_env",
    "--ca-file": "ca_file",
    "--cwd": "cwd",
    "--start-timeout": "startup_timeout",
    "--timeout": "timeout",
    "--spec-version": "spec_version",
}


def list_secrets(given: ServerArguments, environment: Mapping[str, str]) -> tuple[str, ...]:
    """Every secret that the server gets: in its environment, as a token, in headers."""
    names = (given.bearer_env, *(given.header_env or {}).values())
    sent = (environment[name] for name in names if environment.get(name))
    return (*secrets_in(given.env or {}, given.secrets), *sent)
