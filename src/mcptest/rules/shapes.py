"""The table of the shapes of all messages, and the check against it.

Each mistake is reported under one rule. A message is `kind method Shape`: the shape is that of its
`result` or its `params`, which may be missing when the shape ends in `?`.

A shape is rows of `member type`. `member?` may be missing; of `one|other` at least one must be
there, of `one^other` exactly one. `+Shape` takes over the rows of another shape. Types are text
(a string), integer, count (an integer from 0 up), number, boolean, object, array, schema (an
object or a boolean), any, null, absent, id (a string or an integer), `=a,b` (one of these
strings), `[T]` (an array of T), `{T}` (an object whose members are all T), `T|U` (U if it is an
array or null, else T) and the names of shapes. A shape that begins with `by member` is a choice
between others by the string in that member, and `by member=word` names the default.

A row may end in options. `since VERSION` and `until VERSION` are the first and the last revision
that have it, `only VERSION` is both. `rule ID` is the rule that a mistake in this value breaks,
`within ID` the one for mistakes inside it whose rows name none; else it is BASE-41. Members that
are not in the table are always valid.

A shape becomes functions when it is first needed, once for each revision. All rules that rows
name share the one check of a message: `shape_faults` returns what a rule gets of it.
"""

from __future__ import annotations

from functools import cache

from mcptest.core.text import render_trail, shorten
from mcptest.core.value_class import Record
from mcptest.protocol.revisions import REVISIONS
from mcptest.rules.rule import MAX_SENTENCES, Rule, SessionCheck, collect, is_number, show
from mcptest.rules.schemas import describe_schema_error

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from mcptest.core.text import Trail
    from mcptest.rules.rule import Entry, EntryCheck, Facts, Findings

    # Sentences by the rule they break; a rule that was checked and kept has an empty list.
    Faults = dict[str, list[str]]
    # Checks a value at a path. Mistakes in the value itself break the first rule, mistakes
    # inside it the second one, when that is not "".
    ValueCheck = Callable[[Any, Trail, str, str, Faults], None]

__all__ = [
    "MESSAGES",
    "RULES",
    "SHAPES",
    "SHAPE_TOPICS",
    "Row",
    "by_shape",
    "check_shape",
    "rows_at",
    "shape_faults",
    "with_shape",
]


MESSAGES = (
    "result initialize InitializeResult until 2025-11-25",
    "result server/discover DiscoverResult since 2026-07-28",
    "result ping Result until 2025-11-25",
    "result logging/setLevel Result until 2025-11-25",
    "result resources/subscribe Result until 2025-11-25",
    "result resources/unsubscribe Result until 2025-11-25",
    "result subscriptions/listen ListenResult since 2026-07-28",
    "result tools/list ListToolsResult",
    "result tools/call CallToolResult",
    "result resources/list ListResourcesResult",
    "result resources/templates/list ListTemplatesResult",
    "result resources/read ReadResourceResult",
    "result prompts/list ListPromptsResult",
    "result prompts/get GetPromptResult",
    "result completion/complete CompleteResult",
    "result tasks/get TaskResult only 2025-11-25",
    "result tasks/get TaskInput since 2026-07-28",
    "result tasks/cancel TaskResult only 2025-11-25",
    "result tasks/list ListTasksResult only 2025-11-25",
    "result tasks/result Result only 2025-11-25",
    "request ping Ask? until 2025-11-25",
    "request roots/list Ask? until 2025-11-25",
    "request sampling/createMessage SamplingParams until 2025-11-25 rule SAMP-03",
    "request elicitation/create FormParams only 2025-06-18 rule ELIC-03",
    "request elicitation/create ElicitParams only 2025-11-25 rule ELIC-03",
    "request tasks/get TaskAsk only 2025-11-25",
    "request tasks/cancel TaskAsk only 2025-11-25",
    "request tasks/result TaskAsk only 2025-11-25",
    "request tasks/list Ask? only 2025-11-25",
    "notification notifications/cancelled CancelledParams until 2025-11-25 rule CANC-04",
    "notification notifications/cancelled CancelledParams since 2026-07-28 rule CANC-05",
    "notification notifications/progress ProgressParams rule PROG-05",
    "notification notifications/message LogParams rule LOG-02",
    "notification notifications/tools/list_changed Note?",
    "notification notifications/prompts/list_changed Note?",
    "notification notifications/resources/list_changed Note?",
    "notification notifications/resources/updated UpdatedParams",
    "notification notifications/elicitation/complete ElicitedParams only 2025-11-25 rule ELIC-10",
    "notification notifications/tasks/status TaskStatusParams only 2025-11-25",
    "notification notifications/subscriptions/acknowledged AcknowledgedParams since 2026-07-28",
)

SHAPES = {
    # Common parts
    "Result": ("_meta? object",),
    "CachedResult": (
        "+Result",
        "ttlMs any since 2026-07-28 rule CACHE-01",
        "ttlMs? count since 2026-07-28 rule CACHE-02",
        "cacheScope any since 2026-07-28 rule CACHE-01",
        "cacheScope? =public,private since 2026-07-28 rule CACHE-03",
    ),
    "Page": ("+CachedResult", "nextCursor? text rule PAGE-01"),
    "Ask": ("_meta? AskMeta",),
    "AskMeta": (
        "progressToken? id until 2025-11-25 rule PROG-06",
        "progressToken? id since 2026-07-28",
    ),
    "Note": ("_meta? object until 2025-11-25", "_meta? NoteMeta since 2026-07-28"),
    "NoteMeta": ("io.modelcontextprotocol/subscriptionId? id",),
    # The server and its capabilities
    "InitializeResult": (
        "+Result",
        "protocolVersion text",
        "capabilities Capabilities",
        "serverInfo Implementation",
        "instructions? text",
    ),
    "DiscoverResult": (
        "+CachedResult",
        "supportedVersions [text]",
        "capabilities Capabilities",
        "instructions? text",
    ),
    "Capabilities": (
        "experimental? {object}",
        "extensions? {object} since 2026-07-28",
        "logging? object",
        "completions? object since 2025-03-26",
        "prompts? Changing",
        "resources? ChangingResources",
        "tools? Changing",
        "tasks? object only 2025-11-25",
    ),
    "Changing": ("listChanged? boolean",),
    "ChangingResources": ("listChanged? boolean", "subscribe? boolean"),
    "Implementation": (
        "name text",
        "version text",
        "title? text since 2025-06-18",
        "description? text since 2025-11-25",
        "websiteUrl? text since 2025-11-25",
        "icons? [Icon] since 2025-11-25",
    ),
    "Icon": ("src text", "mimeType? text", "sizes? [text]", "theme? =light,dark"),
    # Everything that is listed by name
    "Named": (
        "title? text since 2025-06-18",
        "description? text",
        "icons? [Icon] since 2025-11-25",
        "_meta? object since 2025-06-18",
    ),
    "Annotations": (
        "audience? [=user,assistant]",
        "priority? number",
        "lastModified? text since 2025-06-18",
    ),
    # Tools
    "ListToolsResult": ("+Page", "tools [Tool]"),
    "Tool": (
        "+Named",
        "name text rule TOOL-03",
        "inputSchema ObjectSchema rule TOOL-03 within TOOL-04",
        "outputSchema? ObjectSchema since 2025-06-18 until 2025-11-25 rule TOOL-10 within TOOL-10",
        "outputSchema? object since 2026-07-28",
        "annotations? Hints since 2025-03-26 rule TOOL-19 within TOOL-19",
        "execution? Execution only 2025-11-25",
    ),
    "ObjectSchema": (
        "type =object",
        "properties? {schema} until 2025-11-25",
        "required? [text] until 2025-11-25",
    ),
    "Hints": (
        "title? text",
        "readOnlyHint? boolean",
        "destructiveHint? boolean",
        "idempotentHint? boolean",
        "openWorldHint? boolean",
    ),
    "Execution": ("taskSupport? =forbidden,optional,required",),
    "CallToolResult": (
        "+Result",
        "content array rule TOOL-12",
        "content? any|[ToolBlock] within TOOL-13",
        "isError? boolean rule TOOL-15",
        "structuredContent? object since 2025-06-18 until 2025-11-25 rule TOOL-09",
    ),
    # Content
    "Block": (
        "by type",
        "text TextBlock",
        "image MediaBlock",
        "audio MediaBlock since 2025-03-26",
        "resource ResourceBlock",
        "resource_link Resource since 2025-06-18",
    ),
    "ToolBlock": (
        "by type",
        "text TextBlock",
        "image MediaBlock within TOOL-14",
        "audio MediaBlock since 2025-03-26 within TOOL-14",
        "resource ToolResourceBlock",
        "resource_link Resource since 2025-06-18",
    ),
    "PromptBlock": (
        "by type",
        "text TextBlock",
        "image MediaBlock within PROMPT-05",
        "audio MediaBlock since 2025-03-26 within PROMPT-06",
        "resource PromptResourceBlock",
        "resource_link Resource since 2025-06-18",
    ),
    "Annotated": (
        "annotations? Annotations rule RES-12 within RES-12",
        "_meta? object since 2025-06-18",
    ),
    "TextBlock": ("+Annotated", "text text"),
    "MediaBlock": ("+Annotated", "data text", "mimeType text"),
    "ResourceBlock": ("+Annotated", "resource Contents"),
    "ToolResourceBlock": (
        "+Annotated",
        "resource ToolContents rule TOOL-23 within TOOL-23",
    ),
    "PromptResourceBlock": (
        "+Annotated",
        "resource PromptContents rule PROMPT-07 within PROMPT-07",
    ),
    "Contents": ("+AnyContents", "mimeType? text", "text^blob any"),
    "ToolContents": ("+AnyContents", "mimeType? text", "text^blob any"),
    "PromptContents": ("+AnyContents", "mimeType text", "text^blob any"),
    "AnyContents": (
        "uri text",
        "text? text",
        "blob? text rule RES-06",
        "_meta? object since 2025-06-18",
    ),
    # Resources
    "ListResourcesResult": ("+Page", "resources [Resource]"),
    "Resource": (
        "+Named",
        "name text",
        "uri text rule RES-03",
        "mimeType? text",
        "size? integer rule RES-12",
        "annotations? Annotations rule RES-12 within RES-12",
    ),
    "ListTemplatesResult": ("+Page", "resourceTemplates [Template]"),
    "Template": (
        "+Named",
        "name text",
        "uriTemplate text rule RES-04",
        "mimeType? text",
        "annotations? Annotations rule RES-12 within RES-12",
    ),
    "ReadResourceResult": ("+CachedResult", "contents [Contents] rule RES-05 within RES-05"),
    "UpdatedParams": ("+Note", "uri text"),
    # Prompts and completion
    "ListPromptsResult": ("+Page", "prompts [Prompt]"),
    "Prompt": ("+Named", "name text rule PROMPT-03", "arguments? [Argument] rule PROMPT-03"),
    "Argument": (
        "name text rule PROMPT-03",
        "title? text since 2025-06-18",
        "description? text",
        "required? boolean rule PROMPT-03",
    ),
    "GetPromptResult": (
        "+Result",
        "description? text",
        "messages [PromptMessage] rule PROMPT-04 within PROMPT-04",
    ),
    "PromptMessage": ("role =user,assistant", "content PromptBlock"),
    "CompleteResult": ("+Result", "completion Completion rule COMP-03 within COMP-03"),
    "Completion": ("values [text]", "total? integer", "hasMore? boolean"),
    # Notifications
    "CancelledParams": (
        "+Note",
        "requestId id until 2025-06-18 rule CANC-04",
        "requestId? id only 2025-11-25 rule CANC-04",
        "requestId id since 2026-07-28 rule CANC-05",
        "reason? text",
    ),
    "ProgressParams": (
        "+Note",
        "progressToken id rule PROG-01",
        "progress number rule PROG-05",
        "total? number rule PROG-05",
        "message? text since 2025-03-26 rule PROG-05",
    ),
    "LogParams": (
        "+Note",
        "level =debug,info,notice,warning,error,critical,alert,emergency rule LOG-02",
        "data any rule LOG-02",
        "logger? text",
    ),
    "ListenResult": ("_meta ListenMeta rule SUB-03",),
    "ListenMeta": ("io.modelcontextprotocol/subscriptionId id rule SUB-03",),
    "AcknowledgedParams": ("+Note", "notifications Filter"),
    "Filter": (
        "toolsListChanged? boolean",
        "promptsListChanged? boolean",
        "resourcesListChanged? boolean",
        "resourceSubscriptions? [text]",
    ),
    # Requests to the client
    "SamplingParams": (
        "+Ask",
        "messages [SamplingMessage] rule SAMP-03",
        "maxTokens integer rule SAMP-03",
        "modelPreferences? ModelPreferences",
        "systemPrompt? text",
        "includeContext? =none,thisServer,allServers",
        "temperature? number",
        "stopSequences? [text]",
        "metadata? object",
        "tools? [Tool] since 2025-11-25",
        "toolChoice? ToolChoice since 2025-11-25",
    ),
    "SamplingMessage": (
        "role =user,assistant rule SAMP-03",
        "content SamplingBlock until 2025-06-18 rule SAMP-03",
        "content SamplingBlock|[SamplingBlock] since 2025-11-25 rule SAMP-03",
    ),
    "SamplingBlock": (
        "by type",
        "text TextBlock",
        "image MediaBlock",
        "audio MediaBlock since 2025-03-26",
        "tool_use ToolUse since 2025-11-25",
        "tool_result ToolAnswer since 2025-11-25",
    ),
    "ToolUse": ("id text", "name text", "input object"),
    "ToolAnswer": (
        "toolUseId text",
        "content [Block]",
        "isError? boolean",
        "structuredContent? object only 2025-11-25",
    ),
    "ToolChoice": ("mode? =auto,required,none",),
    "ModelPreferences": (
        "hints? [ModelHint]",
        "costPriority? number",
        "speedPriority? number",
        "intelligencePriority? number",
    ),
    "ModelHint": ("name? text",),
    "ElicitParams": ("by mode=form rule ELIC-02", "form FormParams", "url UrlParams"),
    "FormParams": (
        "+Ask",
        "message text rule ELIC-03",
        "requestedSchema FormSchema rule ELIC-04 within ELIC-04",
    ),
    "FormSchema": ("type =object", "properties {object}", "required? [text]"),
    "UrlParams": (
        "+Ask",
        "message text rule ELIC-03",
        "url text rule ELIC-05",
        "elicitationId text only 2025-11-25 rule ELIC-05",
    ),
    "ElicitedParams": ("+Note", "elicitationId text rule ELIC-10"),
    "InputRequired": (
        "+Result",
        "inputRequests? {InputRequest} rule MRTR-03",
        "requestState? text rule MRTR-05",
    ),
    "InputRequest": (
        "by method rule MRTR-03",
        "elicitation/create ElicitInput",
        "sampling/createMessage SamplingInput",
        "roots/list RootsInput",
    ),
    "ElicitInput": ("+NoMessage", "params ElicitParams rule MRTR-03"),
    "SamplingInput": ("+NoMessage", "params SamplingParams rule MRTR-03"),
    "RootsInput": ("+NoMessage", "params? object rule MRTR-03"),
    # An input request is not a message of its own.
    "NoMessage": ("jsonrpc? absent rule MRTR-03", "id? absent rule MRTR-03"),
    "TaskInput": ("inputRequests? {InputRequest}",),
    # Tasks
    "Task": (
        "taskId text",
        "status =working,input_required,completed,failed,cancelled",
        "statusMessage? text",
        "createdAt text",
        "lastUpdatedAt text",
        "ttl number|null",
        "pollInterval? number",
    ),
    "TaskResult": ("+Result", "+Task"),
    "CreateTaskResult": ("+Result", "task Task"),
    "ListTasksResult": ("+Page", "tasks [Task]"),
    "TaskStatusParams": ("+Note", "+Task"),
    "TaskAsk": ("+Ask", "taskId text"),
}


_GENERAL = "BASE-41"
_MAX_PATH = 120


class Row(Record):
    """One row of the table."""

    name: str
    type: str
    since: str = ""
    until: str = ""
    rule: str = ""
    within: str = ""


@cache
def rows_at(rows: tuple[str, ...], version: str) -> tuple[Row, ...]:
    """The rows that a revision has, parsed; all of them for ""."""
    return tuple(
        row
        for row in map(_parse_row, rows)
        if not version or (row.since <= version and not (row.until and version > row.until))
    )


def _parse_row(text: str) -> Row:
    *words, last = text.split()
    options: dict[str, str] = {}
    while words and words[-1] in ("since", "until", "only", "rule", "within"):
        options[words.pop()] = last
        last = words.pop()
    if "only" in options:
        options["since"] = options["until"] = options.pop("only")
    return Row(name=" ".join(words), type=last, **options)


# Messages


_ROWS_BY_VERSION = {
    version: {row.name.replace(" ", ":"): row for row in rows_at(MESSAGES, version)}
    for version in REVISIONS
}

# What a rule subscribes to whose id is in rows of the table.
SHAPE_TOPICS = tuple(dict.fromkeys(topic for rows in _ROWS_BY_VERSION.values() for topic in rows))

_RULES_IN_TABLE = {_GENERAL} | {
    id
    for rows in (MESSAGES, *SHAPES.values())
    for row in rows_at(rows, "")
    for id in (row.rule, row.within)
}


def with_shape(rule: Rule) -> Rule:
    """The rule; if rows of the table name it, it judges only messages of the right shape."""
    if rule.session_check or rule.id not in _RULES_IN_TABLE:
        return rule
    return rule.but(topics=rule.topics or SHAPE_TOPICS, check=by_shape(rule.id, rule.check))


def by_shape(id: str, check: EntryCheck | None = None) -> EntryCheck:
    """The check of a rule that rows of the table name; `check` judges messages that pass it."""

    def judge(entry: Entry, facts: Facts) -> Findings:
        faults = shape_faults(entry, facts, id)
        return check(entry, facts) if check and not faults else faults

    return judge


def shape_faults(entry: Entry, facts: Facts, id: str) -> list[str] | None:
    """What is wrong with the shape of a message by one rule; None when it checks nothing here."""
    if entry.shape is None:
        entry.shape = _check_message(entry, facts)
    return entry.shape.get(id)


def _check_message(entry: Entry, facts: Facts) -> Faults:
    best: Faults | None = None
    for version in REVISIONS:
        if facts.oldest <= version <= facts.newest:
            faults = _check_at(entry, version)
            # Before a version is agreed on, it is enough to be right in one of them.
            if faults is not None and (best is None or _count(faults) < _count(best)):
                best = faults
    return best or {}


def _count(faults: Faults) -> int:
    return sum(map(len, faults.values()))


def _check_at(entry: Entry, version: str) -> Faults | None:
    row = _ROWS_BY_VERSION[version].get(f"{entry.kind}:{entry.method}")
    if row is None:
        return None
    member = "result" if entry.kind == "result" else "params"
    shape = row.type.removesuffix("?")
    faults: Faults = {_GENERAL: []}
    if member not in entry.message:
        if shape == row.type:
            _add_fault(faults, row.rule or _GENERAL, (None, member), "an object", "missing")
        return faults
    value = entry.message[member]
    if member == "result":
        if not isinstance(value, dict):
            # Every result must be an object, with a shape or without: that is BASE-10.
            return None
        shape = _result_shape(shape, version, entry)
    _make_check(shape, version)(value, (None, member), row.rule or _GENERAL, "", faults)
    return faults


def _result_shape(shape: str, version: str, entry: Entry) -> str:
    """The shape of a result, which may be something else than its method promises."""
    revision, kind = REVISIONS[version], entry.result.get("resultType", "complete")
    is_task = "task" in entry.request_params and "task" in entry.result
    if revision.has_tasks and entry.method == "tools/call" and is_task:
        return "CreateTaskResult"
    if not revision.is_stateless or kind == "complete" or not isinstance(kind, str):
        return shape
    return "InputRequired" if kind == "input_required" else "Result"


def check_shape(shape: str, version: str, value: object, path: Trail) -> Faults:
    """What is wrong with a value that must have a shape, in a revision."""
    faults: Faults = {}
    _make_check(shape, version)(value, path, _GENERAL, "", faults)
    return faults


# Values


def _add_fault(faults: Faults, rule: str, path: Trail, wanted: str, found: str) -> None:
    if _count(faults) < MAX_SENTENCES:
        place = shorten(render_trail(path), _MAX_PATH)
        faults.setdefault(rule, []).append(f"{place} must be {wanted} and is {found}")


def _is_integer(value: object) -> bool:
    """True for a JSON integer, which may be written 3 or 3.0."""
    return type(value) is int or (type(value) is float and value.is_integer())


_BASIC: dict[str, tuple[str, Callable[[Any], bool]]] = {
    "text": ("a string", lambda value: type(value) is str),
    "integer": ("an integer", _is_integer),
    "count": ("an integer from 0 up", lambda value: _is_integer(value) and value >= 0),
    "number": ("a number", is_number),
    "boolean": ("a boolean", lambda value: type(value) is bool),
    "object": ("an object", lambda value: type(value) is dict),
    "array": ("an array", lambda value: type(value) is list),
    "schema": ("a schema", lambda value: type(value) in (dict, bool)),
    "null": ("null", lambda value: value is None),
    "id": ("a string or an integer", lambda value: type(value) is str or _is_integer(value)),
    "absent": ("absent", lambda _: False),
    "any": ("present", lambda _: True),
}


@cache
def _make_check(type_: str, version: str) -> ValueCheck:
    if "|" in type_:
        return _make_union_check(type_.split("|"), version)
    if type_ in _BASIC:
        return _make_simple_check(*_BASIC[type_])
    if type_[0] == "=":
        words = type_[1:].split(",")
        return _make_simple_check(
            _describe_words(words), lambda value: type(value) is str and value in words
        )
    if type_[0] == "[":
        return _make_items_check("an array", list, enumerate, _make_check(type_[1:-1], version))
    if type_[0] == "{":
        return _make_items_check("an object", dict, dict.items, _make_check(type_[1:-1], version))
    if SHAPES[type_][0].startswith("by "):
        return _make_choice_check(SHAPES[type_], version)
    return _make_members_check(type_, version)


def _make_simple_check(wanted: str, test: Callable[[Any], bool]) -> ValueCheck:
    def check(value: Any, path: Trail, rule: str, _: str, faults: Faults) -> None:
        if not test(value):
            _add_fault(faults, rule, path, wanted, show(value))

    return check


def _describe_words(words: list[str]) -> str:
    quoted = [f'"{word}"' for word in words]
    return f"one of {', '.join(quoted)}" if len(quoted) > 1 else quoted[0]


def _make_items_check(
    wanted: str, kind: type, items: Callable[[Any], Any], inner: ValueCheck
) -> ValueCheck:
    def check(value: Any, path: Trail, rule: str, within: str, faults: Faults) -> None:
        if type(value) is not kind:
            _add_fault(faults, rule, path, wanted, show(value))
            return
        for step, each in items(value):
            inner(each, (path, step), within or rule, within, faults)
            if _count(faults) >= MAX_SENTENCES:
                return

    return check


def _make_union_check(types: list[str], version: str) -> ValueCheck:
    first, *others = types
    kinds = {"[": list, "n": type(None)}
    checks = {kinds[other[0]]: _make_check(other, version) for other in others}
    usual = _make_check(first, version)

    def check(value: Any, path: Trail, rule: str, within: str, faults: Faults) -> None:
        checks.get(type(value), usual)(value, path, rule, within, faults)

    return check


def _make_choice_check(rows: tuple[str, ...], version: str) -> ValueCheck:
    head, *_ = rows_at(rows[:1], "")
    member, _, usual = head.type.partition("=")
    choices = {
        row.name: (_make_check(row.type, version), row.within) for row in rows_at(rows[1:], version)
    }
    newer = {row.name: row.since for row in rows_at(rows[1:], "") if row.since > version}
    wanted = _describe_words(list(choices))

    def check(value: Any, path: Trail, rule: str, within: str, faults: Faults) -> None:
        if type(value) is not dict:
            _add_fault(faults, rule, path, "an object", show(value))
            return
        word_rule = head.rule or within or rule
        faults.setdefault(word_rule, [])
        word = value.get(member, usual)
        name = word if type(word) is str else ""
        if name in choices:
            inner, own_within = choices[name]
            inner(value, path, rule, own_within or within, faults)
        else:
            found = show(word) if member in value else "missing"
            if name in newer:
                found += f", which is new in {newer[name]}"
            _add_fault(faults, word_rule, (path, member), wanted, found)

    return check


def _make_members_check(shape: str, version: str) -> ValueCheck:
    rows = [(row, _make_check(row.type, version)) for row in _rows_of(shape, version)]
    single = [
        (row, row.name.removesuffix("?"), row.name[-1] != "?", row.type[0] in "[{", check)
        for row, check in rows
        if "|" not in row.name and "^" not in row.name
    ]
    several = [row for row, _ in rows if "|" in row.name or "^" in row.name]

    def check(value: Any, path: Trail, rule: str, within: str, faults: Faults) -> None:
        if type(value) is not dict:
            _add_fault(faults, rule, path, "an object", show(value))
            return
        for row, name, is_needed, is_collection, inner in single:
            if name not in value and not is_needed:
                continue
            row_rule = row.rule or within or _GENERAL
            if name not in value:
                _add_fault(faults, row_rule, (path, name), _describe_type(row.type), "missing")
                continue
            # An empty collection shows nothing of what is in it.
            if value[name] or not is_collection:
                faults.setdefault(row_rule, [])
            row_within = row.within or ("" if row.rule else within)
            inner(value[name], (path, name), row_rule, row_within, faults)
        for row in several:
            row_rule = row.rule or within or _GENERAL
            faults.setdefault(row_rule, [])
            names = row.name.replace("^", "|").split("|")
            has_none = not any(name in value for name in names)
            has_both = all(type(value.get(name)) is str for name in names)
            if has_none or (has_both and "^" in row.name):
                found = f"an object with {'neither' if has_none else 'both'}"
                _add_fault(faults, row_rule, path, f"an object with {' or '.join(names)}", found)

    return check


def _rows_of(shape: str, version: str) -> Iterator[Row]:
    for row in rows_at(SHAPES[shape], version):
        if row.type[0] == "+":
            yield from _rows_of(row.type[1:], version)
        else:
            yield row


def _describe_type(type_: str) -> str:
    """What a member that is missing must be."""
    if type_ in _BASIC:
        return _BASIC[type_][0]
    if "|" in type_:
        return " or ".join(map(_describe_type, type_.split("|")))
    if type_[0] == "=":
        return _describe_words(type_[1:].split(","))
    return "an array" if type_[0] == "[" else "an object"


# The schemas of tools


class _Schemas(SessionCheck):
    """Judges the schemas of tools; a list that is the same as before is not judged again."""

    def __init__(self) -> None:
        self._tools: list[Any] = []
        self._findings: Findings = None

    def check(self, entry: Entry, facts: Facts) -> Findings:
        tools = entry.result.get("tools")
        if not isinstance(tools, list):
            return None
        if tools != self._tools:
            self._tools, self._findings = tools, collect(_schema_errors(tools, facts))
        return self._findings


def _schema_errors(tools: list[Any], facts: Facts) -> Iterator[Findings]:
    for index, tool in enumerate(tools):
        for member in ("inputSchema", "outputSchema"):
            schema = tool.get(member) if isinstance(tool, dict) else None
            if not isinstance(schema, dict):
                continue
            path = (((None, "result"), "tools"), index), member
            is_free = member == "outputSchema" and facts.is_stateless
            if not is_free and _count(check_shape("ObjectSchema", facts.newest, schema, path)):
                # TOOL-04 or TOOL-10 reports it.
                continue
            error = describe_schema_error(schema)
            if not error:
                yield error
            else:
                steps, reason = error
                trail: Trail = path
                for step in steps:
                    trail = (trail, step)
                place = shorten(render_trail(trail), _MAX_PATH)
                yield [f"{place} is not valid: {reason} (the tool {show(tool.get('name'))})"]


RULES = {
    "BASE-39 schema-dialect-valid": Rule(
        property="the schemas of every tool are valid in the dialect they name, or else in "
        "JSON Schema 2020-12",
        topics=("result:tools/list",),
        since="2025-11-25",
        session_check=_Schemas,
        reason_if_unused="no tool with a schema in a known dialect was listed",
        reason_if_other_revision="no default dialect for schemas",
        section="basic#Schema Validation",
    ),
    f"{_GENERAL} frame-matches-schema": Rule(
        property="every result, request and notification of the server has the members its "
        "method needs, and they are of the right types, as far as no other rule says so",
        reason_if_unused="the server sent nothing that has a shape of its own",
        section="basic#Schema",
        older_sections={"2024-11-05": "basic/messages#Requests"},
    ),
}
