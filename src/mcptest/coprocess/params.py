"""The methods of the channel and the params of each. Pure."""

from __future__ import annotations

from mcptest.coprocess.refusals import INVALID_PARAMS, RefusedError, quoted
from mcptest.core.suggest import closest
from mcptest.core.typed_json import STRING, Key, TypedJsonError, check_object
from mcptest.matching.values import type_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["CACHE_MODES", "CASSETTE_MODES", "METHODS", "check_params"]

CACHE_MODES = ("off", "read_write", "read_only", "refresh")
CASSETTE_MODES = ("off", "record", "replay")


_OPTIONAL_STRING = Key(type=str, required=False)
_OPTIONAL_OBJECT = Key(type=dict, required=False)

METHODS: dict[str, dict[str, Key]] = {
    "coprocess/handshake": {
        "protocol_version": Key(type=int),
        "sdk": _OPTIONAL_STRING,
        "sdk_version": _OPTIONAL_STRING,
    },
    "mcp.initialize": {},
    "mcp.call": {"tool": STRING, "arguments": _OPTIONAL_OBJECT},
    "mcp.listTools": {},
    "mcp.listResources": {},
    "mcp.readResource": {"uri": STRING},
    "mcp.callPrompt": {
        "name": _OPTIONAL_STRING,
        "prompt": _OPTIONAL_STRING,
        "arguments": _OPTIONAL_OBJECT,
    },
    "mcp.reporter.setUpload": {"enabled": Key(type=bool), "target": _OPTIONAL_STRING},
    "mcp.reporter.flush": {},
    "mcp.cache.set_mode": {"mode": Key(type=str, choices=CACHE_MODES)},
    "mcp.cassette.set_mode": {
        "mode": Key(type=str, choices=CASSETTE_MODES),
        "path": _OPTIONAL_STRING,
    },
    "mcp.shutdown": {},
}


def check_params(method: str, params: object) -> dict[str, Any]:
    """The params of a known method; a `RefusedError` names the one that is wrong."""
    try:
        checked = check_object(params, METHODS[method])
    except TypedJsonError as error:
        raise _refused(_describe(method, error)) from None
    _check_together(method, checked)
    return checked


def _describe(method: str, error: TypedJsonError) -> str:
    if error.problem == "unknown":
        meant = closest(error.name, METHODS[method])
        takes = ", ".join(f'"{known}"' for known in METHODS[method]) or "none"
        advice = f'did you mean "{meant}"?' if meant else f"it takes {takes}"
        return f"{method} has no param {quoted(error.name)}; {advice}"
    if error.problem == "missing":
        return f'{method} needs the param "{error.name}", {error.expected}'
    param = f'the param "{error.path}" of {method}'
    if error.problem == "choice":
        return f"{param} is one of {error.expected}, not {quoted(str(error.actual))}"
    seen = type_name(error.actual)
    if error.expected == "an integer" and isinstance(error.actual, float):
        seen = "a number written with a fraction"
    what = param if error.path else f"the params of {method}"
    return f"{what} must be {error.expected}, not {seen}"


def _check_together(method: str, params: dict[str, Any]) -> None:
    """Check params that depend on each other."""
    if method == "mcp.callPrompt" and len({"name", "prompt"} & set(params)) != 1:
        raise _refused('mcp.callPrompt needs the param "name" (or "prompt"), and one of them')
    if method == "mcp.reporter.setUpload" and params["enabled"] and not params.get("target"):
        raise _refused('mcp.reporter.setUpload needs the param "target" to be enabled')
    mode = params.get("mode", "off")
    if method == "mcp.cassette.set_mode" and mode != "off" and not params.get("path"):
        raise _refused(f'mcp.cassette.set_mode needs the param "path" to {mode}')


def _refused(message: str) -> RefusedError:
    return RefusedError(INVALID_PARAMS, message)
