"""The methods of the channel, and what the params of each may be. Pure."""

from __future__ import annotations

from mcptest.coprocess.refusals import INVALID_PARAMS, RefusedError, quoted
from mcptest.core.record import Record
from mcptest.core.suggest import closest
from mcptest.matching.values import type_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["CACHE_MODES", "CASSETTE_MODES", "METHODS", "Param", "check_params"]

CACHE_MODES = ("off", "read_write", "read_only", "refresh")
CASSETTE_MODES = ("off", "record", "replay")


class Param(Record):
    """One param: its type in Python, and the only values there are when not all will do."""

    type: type
    required: bool = True
    choices: tuple[str, ...] = ()


_TEXT, _OPTIONAL_TEXT = Param(type=str), Param(type=str, required=False)
_OPTIONAL_OBJECT = Param(type=dict, required=False)

METHODS: dict[str, dict[str, Param]] = {
    "coprocess/handshake": {
        "protocol_version": Param(type=int),
        "sdk": _OPTIONAL_TEXT,
        "sdk_version": _OPTIONAL_TEXT,
    },
    "mcp.initialize": {},
    "mcp.call": {"tool": _TEXT, "arguments": _OPTIONAL_OBJECT},
    "mcp.listTools": {},
    "mcp.listResources": {},
    "mcp.readResource": {"uri": _TEXT},
    "mcp.callPrompt": {
        "name": _OPTIONAL_TEXT,
        "prompt": _OPTIONAL_TEXT,
        "arguments": _OPTIONAL_OBJECT,
    },
    "mcp.reporter.setUpload": {"enabled": Param(type=bool), "target": _OPTIONAL_TEXT},
    "mcp.reporter.flush": {},
    "mcp.cache.set_mode": {"mode": Param(type=str, choices=CACHE_MODES)},
    "mcp.cassette.set_mode": {
        "mode": Param(type=str, choices=CASSETTE_MODES),
        "path": _OPTIONAL_TEXT,
    },
    "mcp.shutdown": {},
}

_WORDS: dict[type, str] = {
    int: "an integer",
    str: "a string",
    dict: "an object",
    bool: "true or false",
}


def check_params(method: str, params: object) -> dict[str, Any]:
    """The params of a method that there is; `RefusedError` names the one that is wrong."""
    if not isinstance(params, dict):
        raise _refused(f"the params of {method} must be an object, not {type_name(params)}")
    wanted = METHODS[method]
    for name in params:
        if name not in wanted:
            raise _refused(_unknown(method, name, wanted))
    for name, param in wanted.items():
        if name in params:
            _check(method, name, param, params[name])
        elif param.required:
            raise _refused(f'{method} needs the param "{name}", {_WORDS[param.type]}')
    _check_together(method, params)
    return params


def _unknown(method: str, name: str, wanted: dict[str, Param]) -> str:
    meant = closest(name, wanted)
    if meant:
        advice = f'did you mean "{meant}"?'
    elif wanted:
        advice = "it takes " + ", ".join(f'"{known}"' for known in wanted)
    else:
        advice = "it takes none"
    return f"{method} has no param {quoted(name)}; {advice}"


def _check(method: str, name: str, param: Param, value: object) -> None:
    # In JSON true is no number: of the type itself, and not of one that is derived from it.
    if type(value) is not param.type:
        words = f"must be {_WORDS[param.type]}, not {_seen(param, value)}"
        raise _refused(f'the param "{name}" of {method} {words}')
    if param.choices and value not in param.choices:
        choices = ", ".join(param.choices)
        raise _refused(
            f'the param "{name}" of {method} is one of {choices}, not {quoted(str(value))}'
        )


def _seen(param: Param, value: object) -> str:
    is_fraction = param.type is int and type(value) is float
    return "a number written with a fraction" if is_fraction else type_name(value)


def _check_together(method: str, params: dict[str, Any]) -> None:
    """What one param says about another."""
    if method == "mcp.callPrompt" and len({"name", "prompt"} & set(params)) != 1:
        raise _refused('mcp.callPrompt needs the param "name" (or "prompt"), and one of them')
    if method == "mcp.reporter.setUpload" and params["enabled"] and not params.get("target"):
        raise _refused('mcp.reporter.setUpload needs the param "target" to be enabled')
    mode = params.get("mode", "off")
    if method == "mcp.cassette.set_mode" and mode != "off" and not params.get("path"):
        raise _refused(f'mcp.cassette.set_mode needs the param "path" to {mode}')


def _refused(message: str) -> RefusedError:
    return RefusedError(INVALID_PARAMS, message)
