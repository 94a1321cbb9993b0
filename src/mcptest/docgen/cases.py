"""What case files say about a server: its handshake, its lists, and how its features are used.

A case of MCP Cases is a dialogue already; a test of a conductor file becomes one: its request,
the notifications it waits for and the answer it expects.
"""

from __future__ import annotations

import contextlib

from mcptest.core.coverage import KINDS
from mcptest.core.strict_json import NotJsonError, parse_json
from mcptest.core.text import plural, render_path, shorten
from mcptest.core.value_class import ABSENT, Record
from mcptest.docgen.model import (
    CaseDoc,
    Code,
    FeatureDoc,
    MessageDoc,
    Row,
    ServerDescription,
    Table,
    is_tag,
    json_lines,
    one_line,
    split_tag,
)
from mcptest.formats.conductor import use_of
from mcptest.matching.case_tags import TAGS
from mcptest.matching.compare import Group, Partial
from mcptest.matching.json_values import json_type
from mcptest.matching.patterns import Pattern
from mcptest.protocol.dialogue import Dialogue, Ref, Turn
from mcptest.protocol.jsonrpc import id_key, message_kind
from mcptest.protocol.lists import feature_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from mcptest.core.coverage import Kind, Use
    from mcptest.core.plan import Case, Suite
    from mcptest.docgen.model import Inline, Message

__all__ = [
    "MAX_NAME_CHARS",
    "MAX_TEXT_CHARS",
    "MAX_VALUE_CHARS",
    "Call",
    "build_case",
    "build_legend",
    "build_undescribed",
    "calls_in",
    "describe_server",
    "dialogue_of",
]

MAX_TEXT_CHARS = 20_000
MAX_NAME_CHARS = 300
MAX_VALUE_CHARS = 120
_MAX_SUMMARY_CHARS = 80
_MAX_ROWS = 100
_MAX_SEEN_VALUES = 5


def dialogue_of(case: Case) -> Dialogue:
    """The dialogue of a case, or one made of its steps."""
    if case.dialogue is not None:
        return case.dialogue
    turns: list[Turn] = []
    for step in case.steps:
        start = len(turns)
        if step.template is not None:
            # Show the names of saved values. Where no string can be, as in a number, the sample
            # values that the test was checked with are shown.
            with contextlib.suppress(ValueError):
                step = step.template.fill({name: f"${{{name}}}" for name in step.template.needs})
        try:
            request = parse_json(step.line.decode("utf-8"))
        except (NotJsonError, UnicodeDecodeError):
            request = step.line.decode("utf-8", "replace")
        turns.append(Turn(key="in", is_ours=True, value=request, line=case.line))
        for each in step.expectation.notifications:
            turns.append(Turn(key="out", is_ours=False, value=each, line=case.line))
        answer = step.expectation.response
        if answer is not ABSENT:
            turn = Turn(key="out", is_ours=False, value=answer, line=case.line, answers=start)
            turns.append(turn)
    return Dialogue(turns=tuple(turns))


def _as_dict(value: object) -> Message:
    """The members of a compiled mapping, including those of `match:partial`."""
    if isinstance(value, Group):
        found = dict(value.siblings or {})
        for check in value.checks:
            found |= _as_dict(check.value) if isinstance(check, Partial) else {}
        return found
    return value if isinstance(value, dict) else {}


def _messages_of(turn: Turn) -> list[Message]:
    """The messages of a turn: one, or those of a batch."""
    values = turn.value if isinstance(turn.value, list) else [turn.value]
    return [found for found in map(_as_dict, values) if found]


_IDS = (str, int)


def _request_of(dialogue: Dialogue, turn: Turn) -> Message:
    """The request that a turn answers; {} if it answers none that is known."""
    if turn.answers is None or not 0 <= turn.answers < len(dialogue.turns):
        return {}
    requests = _messages_of(dialogue.turns[turn.answers])
    if len(requests) == 1:
        return requests[0]
    id = _as_dict(turn.value).get("id")
    # Patterns are not ids.
    plain = [each for each in requests if isinstance(id, _IDS) and isinstance(each.get("id"), _IDS)]
    return next((each for each in plain if id_key(each["id"]) == id_key(id)), {})


# What the answers say about the server

_BY_METHOD = {kind.method: kind for kind in KINDS.values()}


def describe_server(suites: Iterable[Suite]) -> ServerDescription:
    """What the answers in all cases say of the server; what comes first counts."""
    introduction: Message = {}
    features: dict[str, dict[str, Message]] = {name: {} for name in KINDS}
    for method, result in _answers(suites):
        if method in ("initialize", "server/discover"):
            names = [
                _as_dict(each.get("serverInfo")).get("name") for each in (introduction, result)
            ]
            # It may come from the server that is known already, or from another one.
            if not all(isinstance(name, str) for name in names) or names[0] == names[1]:
                introduction = {**result, **introduction}
        kind = _BY_METHOD.get(method)
        entries = result.get(kind.name) if kind else None
        for entry in map(_as_dict, entries if isinstance(entries, list) else ()):
            if kind and (name := feature_name(entry, kind)):
                known = features[kind.name]
                known[name] = {**_plain_members(entry), **known.get(name, {})}
    version = introduction.get("protocolVersion")
    instructions = introduction.get("instructions")
    return ServerDescription(
        source="the contract",
        info=_plain_members(_as_dict(introduction.get("serverInfo"))),
        capabilities=_plain_members(_as_dict(introduction.get("capabilities"))),
        protocol_version=version if isinstance(version, str) else "",
        instructions=instructions if isinstance(instructions, str) else "",
        features={name: tuple(found.values()) for name, found in features.items()},
    )


def _answers(suites: Iterable[Suite]) -> Iterator[tuple[str, Message]]:
    """The method and the result of every answer of the server."""
    for suite in suites:
        for case in suite.cases:
            dialogue = dialogue_of(case)
            for turn in dialogue.turns:
                method = _request_of(dialogue, turn).get("method")
                if not turn.is_ours and isinstance(method, str):
                    yield method, _as_dict(_as_dict(turn.value).get("result"))


def _plain_members(value: Message) -> Message:
    """The plain members: a tag or a pattern only says what would be accepted."""
    return {key: _plain_value(inner) for key, inner in value.items() if not _is_expectation(inner)}


def _plain_value(value: object) -> object:
    if isinstance(value, list):
        return [_plain_value(item) for item in value if not _is_expectation(item)]
    found = _as_dict(value)
    return _plain_members(found) if found else value


def _is_expectation(value: object) -> bool:
    """True if this is a tag, a pattern or a directive other than `match:partial`."""
    return isinstance(value, (Pattern, Ref)) or (isinstance(value, Group) and not _as_dict(value))


# How features are used


class Call(Record):
    """One use of a feature in a dialogue, with the arguments as they are written there."""

    use: Use
    arguments: Message


def calls_in(dialogue: Dialogue) -> list[Call]:
    """Every use of a feature by the client, in order."""
    calls = []
    for turn in dialogue.turns:
        for message in _messages_of(turn) if turn.is_ours else ():
            use = use_of(message)
            if use and use[1]:
                arguments = _as_dict(_as_dict(message["params"]).get("arguments"))
                calls.append(Call(use=use, arguments=arguments))
    return calls


_PLAIN = (type(None), bool, int, float, str, list, dict)


def build_undescribed(kind: Kind, name: str, calls: list[Call], note: str) -> FeatureDoc:
    """A feature that is used and not described: the arguments that were passed to it."""
    values: dict[str, list[object]] = {}
    for call in calls:
        for key, value in call.arguments.items():
            values.setdefault(key, []).append(value)
    rows = []
    for key, seen in list(values.items())[:_MAX_ROWS]:
        # Tags and patterns have no type.
        types = dict.fromkeys(json_type(each) for each in seen if isinstance(each, _PLAIN))
        shown = list(dict.fromkeys(one_line(each, MAX_VALUE_CHARS) for each in seen))
        rule: list[str] = ["seen: "]
        for each in shown[:_MAX_SEEN_VALUES]:
            rule += [Code(each), ", "]
        rule[-1:] = [", …"] if len(shown) > _MAX_SEEN_VALUES else []
        rows.append(Row(name=key, type=" or ".join(types), rules=(tuple(rule),)))
    if len(values) > _MAX_ROWS:
        rows.append(Row(name="…", description="There is more than is shown here."))
    tables = (Table(title="Arguments seen", rows=tuple(rows)),) if rows else ()
    return FeatureDoc(kind=kind, name=name, tables=tables, note=note)


# Cases


def build_case(case: Case, number: int, features: tuple[int, ...]) -> CaseDoc:
    """A case with its messages; `features` are those it uses."""
    dialogue = dialogue_of(case)
    return CaseDoc(
        number=number,
        name=shorten(case.name.strip(), MAX_NAME_CHARS) or f"case {number + 1}",
        messages=tuple(
            MessageDoc(
                is_ours=turn.is_ours,
                summary=_summarize(dialogue, turn),
                comment=shorten(turn.comment, MAX_TEXT_CHARS),
                notes=tuple(_notes(turn)),
                lines=json_lines(turn.value),
            )
            for turn in dialogue.turns
        ),
        comment=shorten(dialogue.comment, MAX_TEXT_CHARS),
        description=shorten(dialogue.description, MAX_TEXT_CHARS),
        tags=case.tags,
        skip=case.skip,
        is_strict=dialogue.is_strict,
        features=features,
    )


def _summarize(dialogue: Dialogue, turn: Turn) -> Inline:
    """What a message is: `request tools/call NAME`, `answer to tools/list`, …"""
    if isinstance(turn.value, list):
        return (f"batch of {plural(len(turn.value), 'message')}",)
    message = _as_dict(turn.value)
    kind = message_kind(message)
    if kind in ("request", "notification"):
        return f"{kind} ", *_method_and_subject(message)
    request = _request_of(dialogue, turn)
    about = (" to ", *_method_and_subject(request)) if "method" in request else ()
    if "error" in message:
        error = _as_dict(message["error"])
        code = (" ", Code(_short(error["code"]))) if "code" in error else ()
        return "error", *code, *about
    if kind == "response" and "result" in message:
        failed = _as_dict(message["result"]).get("isError") is True
        return "answer", *about, *((", which says that it failed",) if failed else ())
    return ("message",)


def _method_and_subject(message: Message) -> Inline:
    method = Code(_short(message.get("method")))
    params = _as_dict(message.get("params"))
    subject = next((params[key] for key in ("name", "uri", "level") if key in params), None)
    return (method,) if subject is None else (method, " ", Code(_short(subject)))


def _short(value: object) -> str:
    """A string as it is, anything else as JSON, on one short line."""
    if type(value) is str:
        return shorten(value, _MAX_SUMMARY_CHARS)
    return one_line(value, _MAX_SUMMARY_CHARS)


def _notes(turn: Turn) -> Iterator[Inline]:
    for bind in turn.binds:
        path = Code(render_path(bind.steps) or "the whole message")
        yield "The value at ", path, " is kept under the name ", Code(bind.name), "."
    for name in turn.needs:
        reference = Code(f"!!ref {name}")
        yield reference, " is replaced by the value kept as ", Code(name), "."


def build_legend(cases: Iterable[Case]) -> tuple[Inline, ...]:
    """One sentence about each kind of tag and pattern in the messages."""
    found: set[str] = set()
    for case in cases:
        for turn in dialogue_of(case).turns:
            found |= set(_tags_in(turn.value))
    explained = {
        name: (" ".join((f"!!{name}", *matcher.parameters)), matcher.summary)
        for name, matcher in TAGS.items()
    }
    explained["ref"] = ("!!ref NAME", "The value that an earlier message bound to NAME.")
    explained["match"] = ("match:…", "A pattern that the value meets.")
    legend = []
    for name, (sign, summary) in explained.items():
        if name in found:
            # In a summary, code is between backticks.
            parts = [Code(part) if at % 2 else part for at, part in enumerate(summary.split("`"))]
            legend.append((Code(sign), ": ", *filter(None, parts)))
    return tuple(legend)


def _tags_in(value: object) -> Iterator[str]:
    """The names of the tags in a value; "match" for all patterns."""
    if is_tag(value):
        yield split_tag(value)[0]
    elif isinstance(value, (dict, list)):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _tags_in(inner)
    elif isinstance(value, (Pattern, Group)):
        yield "match"
