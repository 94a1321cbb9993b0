"""What the cases of a contract say about their server: its handshake, its lists, its calls."""

from __future__ import annotations

from mcptest.core.dialogue import Ref
from mcptest.core.offer_kinds import KINDS
from mcptest.core.record import Record
from mcptest.docgen.contents import Code, Described, Offer, Row, Table
from mcptest.docgen.json_lines import one_line
from mcptest.docgen.speech import dialogue_of, messages_of, plain_dict, request_behind
from mcptest.explore.features import feature_name
from mcptest.formats.conductor_request import use_of
from mcptest.matching.group import Group
from mcptest.matching.patterns import Pattern
from mcptest.matching.values import json_type

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

    from mcptest.core.coverage import Use
    from mcptest.core.dialogue import Dialogue
    from mcptest.core.offer_kinds import Kind
    from mcptest.core.plan import Suite

    Message = dict[str, Any]

__all__ = ["Call", "calls_in", "described_by", "seen_offer", "unit_kind"]

# Two revisions, two ways to say who one is.
_INTRODUCTIONS = ("initialize", "server/discover")
_BY_METHOD = {kind.method: kind for kind in KINDS.values()}

MAX_SEEN = 5
MAX_ROWS = 100
MAX_VALUE_CHARS = 120


class Call(Record):
    """One use of an offer in a dialogue, with the arguments as they are written there."""

    use: Use
    arguments: Message


def described_by(suites: Iterable[Suite]) -> Described:
    """What the answers in all dialogues say of the server; what is said first counts."""
    introduction: Message = {}
    offers: dict[str, dict[str, Message]] = {name: {} for name in KINDS}
    for method, result in _answers(suites):
        if method in _INTRODUCTIONS and _is_same_server(introduction, result):
            introduction = {**result, **introduction}
        for offer in _listed(method, result):
            known = offers[_BY_METHOD[method].name]
            name = feature_name(offer, _BY_METHOD[method])
            known[name] = {**offer, **known.get(name, {})}
    version = introduction.get("protocolVersion")
    instructions = introduction.get("instructions")
    return Described(
        source="the contract",
        info=_stated(plain_dict(introduction.get("serverInfo"))),
        capabilities=_stated(plain_dict(introduction.get("capabilities"))),
        protocol_version=version if isinstance(version, str) else "",
        instructions=instructions if isinstance(instructions, str) else "",
        offers={name: tuple(found.values()) for name, found in offers.items()},
    )


def _is_same_server(known: Message, result: Message) -> bool:
    """Whether an introduction may be of the server that is known already."""
    names = [plain_dict(each.get("serverInfo")).get("name") for each in (known, result)]
    return not all(isinstance(name, str) for name in names) or names[0] == names[1]


def _answers(suites: Iterable[Suite]) -> Iterator[tuple[str, Message]]:
    """The method and the result of every answer of the server."""
    for suite in suites:
        for case in suite.cases:
            dialogue = dialogue_of(case)
            for turn in dialogue.turns:
                method = request_behind(dialogue, turn).get("method")
                if not turn.is_ours and isinstance(method, str):
                    yield method, plain_dict(plain_dict(turn.value).get("result"))


def _listed(method: str, result: Message) -> Iterator[Message]:
    """The offers in an answer; one whose name is a tag is none that could be named."""
    kind = _BY_METHOD.get(method)
    if kind is None:
        return
    entries = result.get(kind.name)
    for entry in entries if isinstance(entries, list) else ():
        if feature_name(plain_dict(entry), kind):
            yield _stated(plain_dict(entry))


def _stated(value: Message) -> Message:
    """What is said of something outright: a tag only says what would be accepted."""
    return {key: _stated_value(inner) for key, inner in value.items() if not _is_open(inner)}


def _stated_value(value: object) -> object:
    if isinstance(value, list):
        return [_stated_value(item) for item in value if not _is_open(item)]
    found = plain_dict(value)
    return _stated(found) if found else value


def _is_open(value: object) -> bool:
    """Whether a tag, a pattern or a directive stands here, other than `match:partial`."""
    return isinstance(value, (Pattern, Ref)) or (isinstance(value, Group) and not plain_dict(value))


def calls_in(dialogue: Dialogue) -> list[Call]:
    """Every use of an offer by the client, in order."""
    calls = []
    for turn in dialogue.turns:
        for message in messages_of(turn) if turn.is_ours else ():
            use = use_of(message)
            if use and use[1]:
                arguments = plain_dict(plain_dict(message["params"]).get("arguments"))
                calls.append(Call(use=use, arguments=arguments))
    return calls


def unit_kind(unit: str) -> Kind:
    """The kind whose offers are called this."""
    return next(kind for kind in KINDS.values() if kind.unit == unit)


def seen_offer(kind: Kind, name: str, calls: list[Call], note: str) -> Offer:
    """An offer that nobody describes, by what it was given where it is used."""
    values: dict[str, list[object]] = {}
    for call in calls:
        for key, value in call.arguments.items():
            values.setdefault(key, []).append(value)
    rows = [_seen_row(key, seen) for key, seen in values.items()]
    if len(rows) > MAX_ROWS:
        rows = [*rows[:MAX_ROWS], Row(name="…", description="There is more than is shown here.")]
    tables = (Table(title="Arguments seen", rows=tuple(rows)),) if rows else ()
    return Offer(kind=kind, name=name, tables=tables, note=note)


def _seen_row(name: str, values: list[object]) -> Row:
    kinds = dict.fromkeys(_kind_of(value) for value in values)
    shown = dict.fromkeys(one_line(value, MAX_VALUE_CHARS) for value in values)
    words: list[str] = ["seen: "]
    for number, each in enumerate(list(shown)[:MAX_SEEN]):
        words += [", "] if number else []
        words.append(Code(each))
    words += [", …"] if len(shown) > MAX_SEEN else []
    return Row(name=name, type=" or ".join(filter(None, kinds)), rules=(tuple(words),))


def _kind_of(value: object) -> str:
    """The type of a plain value; that of a tag nobody knows."""
    is_plain = value is None or isinstance(value, (bool, int, float, str, list, dict))
    return json_type(value) if is_plain else ""
