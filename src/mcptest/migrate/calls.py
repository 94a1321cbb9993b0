"""Raw requests, as the calls that a suite makes."""

from __future__ import annotations

from mcptest.core.text import visible
from mcptest.formats.stream import Tagged
from mcptest.migrate.drafts import METHODS, without_nothing
from mcptest.migrate.remarks import LeftBehindError

TYPE_CHECKING = False
if TYPE_CHECKING:
    Mapping = dict[str, object]

__all__ = ["call_of_request"]

_ENVELOPE = ("jsonrpc", "id", "method", "params")


def call_of_request(request: Mapping) -> tuple[Mapping, str]:
    """The call that a request makes, and a note about what is sent differently, "" for none."""
    _refuse_own_envelope(request)
    method = request.get("method")
    if not isinstance(method, str) or method not in METHODS:
        shown = visible(method) if isinstance(method, str) else "something else"
        reason = f"it sends {shown}, and a suite only calls tools, reads resources and gets prompts"
        raise LeftBehindError(reason)
    params = request.get("params", {})
    key = METHODS[method]
    name = "uri" if key == "uri" else "name"
    allowed = (name,) if key == "uri" else (name, "arguments")
    if not isinstance(params, dict) or not params.get(name):
        raise LeftBehindError(f'its params have no "{name}"')
    surplus = [each for each in params if each not in allowed]
    if surplus:
        raise LeftBehindError(f'its params hold "{visible(surplus[0])}", which a suite never sends')
    if not isinstance(params[name], str):
        raise LeftBehindError(f'the "{name}" in its params is no text')
    call = without_nothing({key: params[name], "args": _arguments(params, key)})
    return call, _difference(params, key)


def _refuse_own_envelope(request: Mapping) -> None:
    surplus = [key for key in request if key not in _ENVELOPE]
    if surplus:
        raise LeftBehindError(
            f'its request has an envelope of its own, with "{visible(surplus[0])}"'
        )
    if request.get("jsonrpc") != "2.0":
        raise LeftBehindError('its request has an envelope of its own, without jsonrpc "2.0"')
    if "id" not in request:
        raise LeftBehindError("it sends a notification, and a suite only makes calls")
    if type(request["id"]) not in (str, int):
        raise LeftBehindError("its request has an id that is neither text nor a whole number")


def _arguments(params: Mapping, key: str) -> object:
    arguments = params.get("arguments", {})
    if not isinstance(arguments, dict):
        raise LeftBehindError('the "arguments" in its params are no object')
    is_text = all(isinstance(value, (str, Tagged)) for value in arguments.values())
    if key == "prompt" and not is_text:
        raise LeftBehindError("what a prompt is given is text in a suite")
    return arguments


def _difference(params: Mapping, key: str) -> str:
    """A tool is always sent arguments, a prompt only when there are some."""
    if key == "tool" and "arguments" not in params:
        return 'it is sent with "arguments": {}, which its request left out'
    if key == "prompt" and params.get("arguments") == {}:
        return 'it is sent without "arguments", which were empty in its request'
    return ""
