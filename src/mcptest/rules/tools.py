"""Rules about tools, their icons and their results: TOOL."""

from __future__ import annotations

import re

from mcptest.core.strict_json import NotJsonError, parse_json
from mcptest.core.text import render_path, shorten
from mcptest.protocol.jsonrpc import METHOD_NOT_FOUND
from mcptest.protocol.revisions import META_SERVER_INFO
from mcptest.rules.client_requests import is_declared
from mcptest.rules.resources import ListedOnce, list_changed_rule
from mcptest.rules.rule import Rule, SessionCheck, collect, limit, members, objects, show
from mcptest.rules.schemas import is_affordable, is_plainly_valid, make_validator
from mcptest.rules.shared import (
    LISTED,
    complete_result,
    for_each_block,
    listed_objects,
    media_faults,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from mcptest.rules.rule import Entry, Facts, Findings, Members

__all__ = ["RULES"]


# Names and icons

_MAX_NAME_CHARS = 128
_IN_NAMES = frozenset("_.-0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")


def _check_names(entry: Entry, facts: Facts) -> Findings:
    faults: list[str] | None = None
    for path, tool in listed_objects(entry, facts):
        name = tool.get("name")
        if not isinstance(name, str):
            continue
        faults = faults or []
        if not 1 <= len(name) <= _MAX_NAME_CHARS:
            limits = f"1 to {_MAX_NAME_CHARS} characters"
            faults.append(f"{path}.name should have {limits} and has {len(name):,}")
        elif not _IN_NAMES.issuperset(name):
            rule = "only letters, digits, _, . and -"
            faults.append(f"{path}.name should have {rule}, and is {show(name)}")
    return None if faults is None else limit(faults)


def _check_icons(entry: Entry, facts: Facts) -> Findings:
    """The icons of everything that is listed, or of the server itself."""
    if entry.method in LISTED:
        holders = listed_objects(entry, facts)
    else:
        info = members(entry.result.get("_meta")).get(META_SERVER_INFO)
        holders = [
            ("result.serverInfo", members(entry.result.get("serverInfo"))),
            (f'result._meta["{META_SERVER_INFO}"]', members(info)),
        ]
    return collect(_icon_faults(path, holder) for path, holder in holders if "icons" in holder)


def _icon_faults(path: str, holder: Members) -> Iterator[str]:
    icons = holder["icons"]
    for index, icon in enumerate(icons if isinstance(icons, list) else ()):
        place, source, sizes = f"{path}.icons[{index}]", *map(members(icon).get, ("src", "sizes"))
        if isinstance(source, str) and not source[:8].lower().startswith(("https://", "data:")):
            yield f"{place}.src should be an https: or data: URL and is {show(source)}"
        for at, size in enumerate(sizes if isinstance(sizes, list) else ()):
            if isinstance(size, str) and not re.fullmatch("any|[0-9]+x[0-9]+", size.lower()):
                yield f'{place}.sizes[{at}] should be WxH or "any" and is {show(size)}'


# Structured content

# Validators that are kept for the tools of a session.
_MAX_VALIDATORS = 100
_MAX_CHARS = 160


def _structured_result(entry: Entry, facts: Facts) -> Members | None:
    """A result that has structured content and does not report an error."""
    result = complete_result(entry, facts)
    return result if "structuredContent" in result and result.get("isError") is not True else None


def _output_schema(entry: Entry, facts: Facts) -> Members | None:
    """The outputSchema of the tool that was called, as a list showed it."""
    name = entry.request_params.get("name")
    schema = facts.tools.get(name, {}).get("outputSchema") if isinstance(name, str) else None
    return schema if isinstance(schema, dict) else None


class _OutputConforms(SessionCheck):
    """Validates structured content; what would take unbounded work is not judged."""

    def __init__(self) -> None:
        # By name of the tool: its schema when it was last called, and a validator for it.
        self._validators: dict[str, tuple[Members, Any]] = {}

    def check(self, entry: Entry, facts: Facts) -> Findings:
        schema, result = _output_schema(entry, facts), _structured_result(entry, facts)
        if schema is None or result is None:
            return None
        value = result["structuredContent"]
        if is_plainly_valid(schema, value):
            return ()
        if not is_affordable(schema, value):
            return None
        name = entry.request_params["name"]
        if name not in self._validators or self._validators[name][0] is not schema:
            if len(self._validators) >= _MAX_VALIDATORS:
                self._validators.clear()
            self._validators[name] = (schema, make_validator(schema))
        validator = self._validators[name][1]
        if validator is None:
            return None
        try:
            # Stops at the first error: there can be a million.
            validator.validate(value)
        except ValueError as error:
            if not hasattr(error, "instance_path"):
                # Half of a surrogate pair cannot be passed to the validator.
                return None
            place = render_path(("result", "structuredContent", *error.instance_path))
            reason = shorten(str(getattr(error, "message", "")), _MAX_CHARS)
            return [
                f"{shorten(place, _MAX_CHARS)} does not meet the outputSchema of {show(name)}: "
                f"{reason}"
            ]
        return ()


def _check_structured_present(entry: Entry, facts: Facts) -> Findings:
    result = complete_result(entry, facts)
    is_error = result.get("isError") is True
    if result is not entry.result or is_error or _output_schema(entry, facts) is None:
        return None
    if "structuredContent" in result:
        return ()
    name = show(entry.request_params["name"])
    return [f"the tool {name} has an outputSchema, and its result has no structuredContent"]


def _check_text_copy(entry: Entry, facts: Facts) -> Findings:
    result = _structured_result(entry, facts)
    if result is None:
        return None
    value, content = result["structuredContent"], result.get("content")
    blocks = content if isinstance(content, list) else []
    texts = [block["text"] for block in objects(blocks) if isinstance(block.get("text"), str)]
    if any(_is_copy(text, value) for text in texts) or _is_unwrapped(value, texts, blocks):
        return ()
    return [
        "result.structuredContent should also be in a text block of result.content, as JSON; "
        f"{'none of them has it' if texts else 'there is no text block'}"
    ]


def _is_copy(text: str, value: object) -> bool:
    first = text.lstrip()[:1]
    if (isinstance(value, dict) and first != "{") or (isinstance(value, list) and first != "["):
        return False
    try:
        return parse_json(text) == value
    except NotJsonError:
        return False


def _is_unwrapped(value: object, texts: list[str], blocks: list[object]) -> bool:
    """True if the content has a plain value that many servers wrap for structuredContent, as
    {"result": …}: in one text, in one for each item of a list, or as the blocks that it is."""
    if not isinstance(value, dict) or len(value) != 1:
        return False
    [inner] = value.values()
    if inner is None and not blocks:
        return True
    if isinstance(inner, list) and len(inner) == len(texts):
        pairs = zip(texts, inner, strict=True)
        if all(text == item or _is_copy(text, item) for text, item in pairs):
            return True
    return inner == blocks or any(text == inner or _is_copy(text, inner) for text in texts)


# Tasks


def _check_task_required(entry: Entry, facts: Facts) -> Findings:
    name = entry.request_params.get("name")
    tool = facts.tools.get(name, {}) if isinstance(name, str) else {}
    support = members(tool.get("execution")).get("taskSupport")
    # Without this capability a client may not ask for tasks, whatever its tools say.
    has_tasks = is_declared(facts.capabilities, "tasks", "requests", "tools", "call")
    if support != "required" or not has_tasks or "task" in entry.request_params:
        return None
    if entry.error_code == METHOD_NOT_FOUND:
        return ()
    got = "a result" if entry.kind == "result" else f"the error {show(entry.error.get('code'))}"
    return [
        f"the tool {show(name)} can only be called as a task (execution.taskSupport is "
        f'"required"); a call without one got {got}, not the error {METHOD_NOT_FOUND}'
    ]


_LISTS = ("result:tools/list",)
_CALLS = ("result:tools/call",)

RULES = {
    "TOOL-03 required-members": Rule(
        property="every tool has a name, which is a string, and an inputSchema, which is an object",
        reason_if_unused="no tool was listed",
        section="server/tools#Tool",
    ),
    "TOOL-04 input-schema-object": Rule(
        property='every inputSchema is a schema of the type "object"',
        reason_if_unused="no tool was listed with an inputSchema",
        section="server/tools#Tool",
    ),
    "TOOL-05 unique-names": Rule(
        property="no two tools share a name",
        level="SHOULD",
        topics=_LISTS,
        session_check=lambda: ListedOnce("name"),
        reason_if_unused="no tool was listed",
        section="server/tools#Tool",
    ),
    "TOOL-06 name-charset": Rule(
        property="the names of tools have 1 to 128 letters, digits, underscores, dots and hyphens",
        since="2025-11-25",
        level="SHOULD",
        topics=_LISTS,
        check=_check_names,
        reason_if_unused="no tool was listed",
        section="server/tools#Tool Names",
    ),
    "TOOL-07 output-conforms": Rule(
        property="the structured content of a tool with an outputSchema is valid by it",
        since="2025-06-18",
        topics=_CALLS,
        session_check=_OutputConforms,
        reason_if_unused="no structured content came from a tool whose outputSchema is known",
        reason_if_other_revision="no outputSchema",
        section="server/tools#Output Schema",
    ),
    "TOOL-08 structured-present": Rule(
        property="a tool with an outputSchema answers with structured content",
        since="2025-06-18",
        topics=_CALLS,
        check=_check_structured_present,
        reason_if_unused="no result came from a tool that is known to have an outputSchema",
        reason_if_other_revision="no outputSchema",
        section="server/tools#Output Schema",
    ),
    "TOOL-09 structured-object": Rule(
        property="structured content is an object",
        since="2025-06-18",
        until="2025-11-25",
        covers=("TOOL-07",),
        reason_if_unused="no result has structured content",
        section="server/tools#Structured Content",
    ),
    "TOOL-10 output-schema-object": Rule(
        property='every outputSchema is a schema of the type "object"',
        since="2025-06-18",
        until="2025-11-25",
        reason_if_unused="no tool was listed with an outputSchema",
        section="server/tools#Output Schema",
    ),
    "TOOL-11 structured-text-copy": Rule(
        property="structured content is also in a text block, as JSON",
        since="2025-06-18",
        level="SHOULD",
        topics=_CALLS,
        check=_check_text_copy,
        reason_if_unused="no result has structured content",
        reason_if_other_revision="no structured content",
        section="server/tools#Structured Content",
    ),
    "TOOL-12 content-array": Rule(
        property="every result of a tool has a content array",
        covers=("INV-005", "TOOL-11"),
        reason_if_unused="no tools/call was answered with a complete result",
        section="server/tools#Tool Result",
    ),
    "TOOL-13 content-types": Rule(
        property="every content block is of a type that the revision has, with its members",
        reason_if_unused="no result of a tool has a content block",
        section="server/tools#Tool Result",
    ),
    "TOOL-14 base64-media": Rule(
        property="images and audio from tools are base64 and name their media type",
        topics=_CALLS,
        check=for_each_block(("image", "audio"), media_faults),
        reason_if_unused="no tool answered with an image or with audio",
        section="server/tools#Tool Result",
    ),
    "TOOL-15 is-error-boolean": Rule(
        property="isError is a boolean",
        covers=("INV-005",),
        reason_if_unused="no result of a tool has isError",
        section="server/tools#Calling Tools",
    ),
    "TOOL-19 annotations-types": Rule(
        property="the hints in the annotations of tools are booleans, and their titles are strings",
        since="2025-03-26",
        reason_if_unused="no tool was listed with annotations",
        reason_if_other_revision="no annotations of tools",
        section="server/tools#Tool",
    ),
    "TOOL-20 list-changed-declared": list_changed_rule("tools", "server/tools#Capabilities"),
    "TOOL-23 embedded-resource-shape": Rule(
        property="a resource in the content of a tool has a uri, and either a text or a blob",
        reason_if_unused="no tool answered with an embedded resource",
        section="server/tools#Embedded Resources",
    ),
    "TOOL-25 icons-safe": Rule(
        property="icons have https: or data: URLs, and sizes such as 48x48 or any",
        since="2025-11-25",
        level="SHOULD",
        topics=(
            *(f"result:{method}" for method in LISTED),
            "result:initialize",
            "result:server/discover",
        ),
        check=_check_icons,
        reason_if_unused="nothing was named with an icon",
        reason_if_other_revision="no icons",
        section="basic#icons",
    ),
    "TASK-16 required-without-task": Rule(
        property="a tool that can only be called as a task answers other calls with the error "
        "-32601",
        since="2025-11-25",
        until="2025-11-25",
        topics=("result:tools/call", "error:tools/call"),
        check=_check_task_required,
        reason_if_unused="no tool that needs a task was called without one",
        reason_if_other_revision="no tasks of this kind",
        section="basic/utilities/tasks#Tool-Level Negotiation",
    ),
}
