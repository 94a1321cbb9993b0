"""What programs hand to the SDK, held against what it must be: what is wrong is named at once."""

from __future__ import annotations

import math
import os
import shlex

from mcptest.core.typed_json import STRING, Key, TypedJsonError, check_value
from mcptest.sdk.server_config import Told

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    Path = str | os.PathLike[str]
    Command = Path | Sequence[Path]

__all__ = [
    "choice_of",
    "json_of",
    "mapping_of",
    "path_of",
    "seconds_of",
    "text_of",
    "told_of",
    "variable_of",
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
