"""Tests on their way from a Conductor file or a contract into a suite."""

from __future__ import annotations

import re

from mcptest.core.text import visible
from mcptest.core.value_class import Record
from mcptest.formats.yaml.full import Tagged

TYPE_CHECKING = False
if TYPE_CHECKING:
    Mapping = dict[str, object]

__all__ = [
    "Draft",
    "LeftBehindError",
    "Note",
    "Source",
    "drop_empty",
    "escape_references",
    "read_request",
]

# For each method: the key of a call in a suite, the param that names its target, and whether
# it takes arguments.
_METHODS = {
    "tools/call": ("tool", "name", True),
    "resources/read": ("uri", "uri", False),
    "prompts/get": ("prompt", "name", True),
}


class LeftBehindError(Exception):
    """A suite cannot express this; `reason` is a sentence for the user."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Note(Record):
    """A sentence about a place in a source file. `test` is "" if it is not about one test.

    `is_loss` says that something was left behind; otherwise it is only information.
    """

    file: str
    line: int
    test: str
    reason: str
    is_loss: bool = True


class Draft(Record):
    """One test. `steps` are calls with `expect` and `capture`, as a suite writes them.

    `marks` are the other keys of the test: tags, skip, only, timeout, retries. `needs` and
    `captures` are the names of the values that it uses and that it captures.
    """

    file: str
    line: int
    name: str
    steps: tuple[Mapping, ...]
    marks: Mapping
    needs: tuple[str, ...] = ()
    captures: tuple[str, ...] = ()

    def lose(self, reason: str) -> Note:
        """Return the note that something of this test is left behind."""
        return Note(file=self.file, line=self.line, test=self.name, reason=reason)


class Source(Record):
    """The tests of one file that a suite can express, and notes about the others."""

    title: str
    drafts: tuple[Draft, ...]
    notes: tuple[Note, ...]


def drop_empty(mapping: Mapping) -> Mapping:
    """Return the mapping without null, false and empty values."""
    return {
        key: value
        for key, value in mapping.items()
        if value is not None and value is not False and value not in ({}, [], "")
    }


def escape_references(value: object) -> object:
    """Return the value with every `${name}` escaped, which a suite would take for a reference.

    In a Conductor file it is a reference only if the file captures something, in a contract never.
    """
    if isinstance(value, str):
        return re.sub(r"\$\{[^}]*\}", r"$\g<0>", value)
    if isinstance(value, dict):
        return {
            str(escape_references(key)): escape_references(inner) for key, inner in value.items()
        }
    return [escape_references(item) for item in value] if isinstance(value, list) else value


def read_request(request: Mapping) -> tuple[Mapping, str]:
    """Return the call that a raw request makes, and how the suite's request differs, or ""."""
    for each in request:
        if each not in ("jsonrpc", "id", "method", "params"):
            raise LeftBehindError(f'its request has "{visible(each)}" in the envelope')
    if request.get("jsonrpc") != "2.0":
        raise LeftBehindError('its request does not have jsonrpc "2.0"')
    if "id" not in request:
        raise LeftBehindError("it sends a notification, and a suite only makes calls")
    if type(request["id"]) not in (str, int):
        raise LeftBehindError("its request has an id that is neither a string nor an integer")
    method = request.get("method")
    if not isinstance(method, str) or method not in _METHODS:
        shown = visible(method) if isinstance(method, str) else "something else"
        reason = f"it sends {shown}, and a suite only calls tools, reads resources and gets prompts"
        raise LeftBehindError(reason)
    key, name, takes_arguments = _METHODS[method]
    params = request.get("params", {})
    if not isinstance(params, dict) or not params.get(name):
        raise LeftBehindError(f'its params have no "{name}"')
    if not isinstance(params[name], str):
        raise LeftBehindError(f'the "{name}" in its params is not a string')
    for each in params:
        if each != name and not (takes_arguments and each == "arguments"):
            raise LeftBehindError(f'its params have "{visible(each)}", which a suite never sends')
    arguments = params.get("arguments", {})
    if not isinstance(arguments, dict):
        raise LeftBehindError('the "arguments" in its params are not an object')
    if key == "prompt" and not all(
        isinstance(value, (str, Tagged)) for value in arguments.values()
    ):
        raise LeftBehindError("a suite passes only strings to a prompt")
    difference = ""
    if key == "tool" and "arguments" not in params:
        difference = 'it is sent with "arguments": {}, which its request left out'
    elif key == "prompt" and params.get("arguments") == {}:
        difference = 'it is sent without "arguments", which were empty in its request'
    return drop_empty({key: params[name], "args": arguments}), difference
