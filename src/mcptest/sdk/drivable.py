"""What of a test file can be run over the coprocess channel, and why the rest cannot. Pure.

The channel has a word for calling a tool, reading a resource, getting a prompt and two lists.
Whatever else a case asks for is said, never left out.
"""

from __future__ import annotations

from mcptest.core.framing import encode_line
from mcptest.core.plan import Step
from mcptest.core.record import ABSENT, Record
from mcptest.core.strict_json import dump_json, parse_json
from mcptest.matching.compare import source_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from mcptest.core.dialogue import Dialogue, Turn
    from mcptest.core.plan import Case, Expectation

    Message = dict[str, Any]

__all__ = ["NotDrivableError", "Spoken", "as_sent", "asked_by", "is_list", "spoken"]

_CHANNEL = "over the SDK channel"

_WORDS = {
    "tools/call": "mcp.call",
    "resources/read": "mcp.readResource",
    "prompts/get": "mcp.callPrompt",
    "tools/list": "mcp.listTools",
    "resources/list": "mcp.listResources",
}
_MEMBERS = frozenset(["jsonrpc", "id", "method", "params"])
_LISTS = ("tools/list", "resources/list")


class NotDrivableError(Exception):
    """A case that asks for something the channel has no word for; its text says what."""


class Spoken(Record):
    """A case as the channel can speak it: steps, each a request and its answer.

    What was a dialogue of two messages is one step; `key` and `line` are then those of the
    answer in the file.
    """

    case: Case
    key: str = ""
    line: int = 0


def spoken(case: Case) -> Spoken:
    """The case for the channel; `NotDrivableError` when it cannot be."""
    if case.dialogue is None:
        found = Spoken(case=case)
    else:
        asked, answered = _two_of(case.dialogue)
        assert answered.expectation is not None, "what the server says is compared"
        step = Step(
            line=encode_line(asked.value),
            method=asked.method,
            expectation=answered.expectation,
            id=asked.id,
        )
        converted = case.but(steps=(step,), dialogue=None)
        found = Spoken(case=converted, key=answered.key, line=answered.line)
    for step in (*found.case.steps, *found.case.teardown):
        _refuse_unspeakable(step)
    return found


def asked_by(step: Step) -> tuple[str, Message | None]:
    """The word of the channel for a step, and its params."""
    request = parse_json(step.line.decode("utf-8"))
    if isinstance(request, dict) and _is_usual(request):
        method, params = step.method, request.get("params", {})
        if method == "tools/call" and _is_call(params):
            if "arguments" not in params:
                why = "without arguments is sent with empty ones"
                raise NotDrivableError(f"a call {why} {_CHANNEL}")
            return "mcp.call", {"tool": params["name"], "arguments": params["arguments"]}
        if method == "prompts/get" and _is_call(params):
            return "mcp.callPrompt", params
        if method == "resources/read" and _is_address(params):
            return "mcp.readResource", params
        if method in _LISTS and params == {}:
            return _WORDS[method], None
    raise NotDrivableError(f"this form of {step.method} is not drivable {_CHANNEL}")


def as_sent(line: str) -> str:
    """A request that the channel can speak, as the binary sends it in its place."""
    request = parse_json(line)
    assert isinstance(request, dict), "what was sent is a request"
    plain = {"jsonrpc": "2.0", "id": request.get("id"), "method": request.get("method")}
    return dump_json({**plain, "params": request.get("params", {})})


def _is_usual(request: Message) -> bool:
    """Whether a request is one that everybody would send: the channel makes it anew."""
    is_plain = request.keys() <= _MEMBERS and request.get("jsonrpc") == "2.0"
    return is_plain and type(request.get("id")) in (int, str)


def is_list(line: str) -> bool:
    """Whether a request asks for a list, whose pages come in one."""
    request = parse_json(line)
    return isinstance(request, dict) and request.get("method") in _LISTS


def _is_address(params: object) -> bool:
    if not isinstance(params, dict) or params.keys() != {"uri"}:
        return False
    return isinstance(params["uri"], str)


def _is_call(params: object) -> bool:
    """Whether they are a name and arguments, and nothing beside them."""
    if not isinstance(params, dict) or not params.keys() <= {"name", "arguments"}:
        return False
    return isinstance(params.get("name"), str) and isinstance(params.get("arguments", {}), dict)


def _refuse_unspeakable(step: Step) -> None:
    if step.method not in _WORDS or step.id is ABSENT:
        what = step.method or "a message without a method"
        raise NotDrivableError(f"{what} is not drivable {_CHANNEL}")
    if step.template is None:
        asked_by(step)
    _refuse_unseen(step.expectation)
    if step.method in _LISTS and '"nextCursor"' in dump_json(_wanted(step.expectation)):
        raise NotDrivableError(f"the pages of a list come as one {_CHANNEL}")


def _refuse_unseen(wanted: Expectation) -> None:
    """Refuse what looks at something that stays on the other side."""
    if wanted.stderr is not ABSENT:
        raise NotDrivableError(f"stderr is not visible {_CHANNEL}")
    if wanted.exit_code is not None:
        raise NotDrivableError(f"exit codes are not visible {_CHANNEL}")
    roots = {assertion.steps[0] for assertion in wanted.assertions}
    if "stderr" in roots:
        raise NotDrivableError(f"stderr is not visible {_CHANNEL}")
    if wanted.notifications or "notifications" in roots:
        raise NotDrivableError(f"notifications are not visible {_CHANNEL}")
    if wanted.has_remote_check:
        raise NotDrivableError(f"plugins and snapshots are not asked {_CHANNEL}")


def _wanted(wanted: Expectation) -> object:
    """All that an expectation says of an answer, as data."""
    response = None if wanted.response is ABSENT else source_of(wanted.response)
    return [response, *([assertion.target, *assertion.steps] for assertion in wanted.assertions)]


def _two_of(dialogue: Dialogue) -> tuple[Turn, Turn]:
    """The request and the answer that are the whole of a dialogue."""
    if dialogue.before or dialogue.after:
        raise NotDrivableError(f"hooks around a case are not run {_CHANNEL}")
    if dialogue.opens_session:
        raise NotDrivableError(f"a handshake of one's own is not drivable {_CHANNEL}")
    if dialogue.is_strict:
        raise NotDrivableError(f"what else the server says (_strict) is not visible {_CHANNEL}")
    if len(dialogue.turns) != 2:
        raise NotDrivableError(f"a dialogue is not drivable {_CHANNEL}")
    asked, answered = dialogue.turns
    is_plain = asked.is_ours and asked.kind == "request" and answered.answers == 0
    if not is_plain or answered.is_ours:
        raise NotDrivableError(f"a dialogue is not drivable {_CHANNEL}")
    if asked.binds or asked.needs or answered.binds or answered.needs:
        raise NotDrivableError(f"values of other cases (!!bind, !!ref) are not known {_CHANNEL}")
    if not _is_data(asked.value):
        raise NotDrivableError(f"a request with a pattern in it is not drivable {_CHANNEL}")
    return asked, answered


def _is_data(value: object) -> bool:
    if isinstance(value, dict):
        return all(map(_is_data, value.values()))
    if isinstance(value, list):
        return all(map(_is_data, value))
    return value is None or isinstance(value, (str, int, float))
