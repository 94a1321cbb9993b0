"""Rules about sampling and roots: SAMP and ROOT."""

from __future__ import annotations

from mcptest.invariants.asking import asking_topics, each_asked, is_declared, undeclared
from mcptest.invariants.rule import Rule, at_levels
from mcptest.invariants.sentences import has_kind
from mcptest.invariants.wording import few, seen, shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcptest.invariants.asking import Asked
    from mcptest.invariants.facts import Facts
    from mcptest.invariants.rule import Breaches

__all__ = ["SAMPLING_RULES"]

_METHOD = "sampling/createMessage"
_ROLES = ("user", "assistant")
_CONTEXTS = ("none", "thisServer", "allServers")
_WITH_TOOLS = frozenset("DE")


def _tools_gate(asked: Asked, _: Facts) -> Breaches:
    if asked.capabilities is None:
        return None
    used = [name for name in ("tools", "toolChoice") if asked.params.get(name) is not None]
    if not used or is_declared(asked.capabilities, "sampling", "tools"):
        return ()
    return [
        f"{asked.at(name)} needs the capability sampling.tools, which the client did not declare"
        for name in used
    ]


def _shape(asked: Asked, facts: Facts) -> Breaches:
    return few(_shape_breaches(asked, may_be_many=facts.letters <= _WITH_TOOLS))


def _shape_breaches(asked: Asked, *, may_be_many: bool) -> Iterator[str]:
    if not has_kind(asked.params.get("maxTokens"), "an integer"):
        found = seen(asked.params, "maxTokens")
        yield f"{asked.at('maxTokens')} must be an integer and is {found}"
    messages = asked.params.get("messages")
    if not isinstance(messages, list):
        yield f"{asked.at('messages')} must be an array and is {seen(asked.params, 'messages')}"
        return
    for index, message in enumerate(messages):
        if not isinstance(message, dict):
            yield f"{asked.at('messages', index)} must be an object and is {shown(message)}"
            continue
        if message.get("role") not in _ROLES:
            where = asked.at("messages", index, "role")
            yield f'{where} must be "user" or "assistant" and is {seen(message, "role")}'
        content = message.get("content")
        if not _is_content(content, may_be_many=may_be_many):
            wanted = "a content block or an array of them" if may_be_many else "a content block"
            where = asked.at("messages", index, "content")
            yield f"{where} must be {wanted} and is {seen(message, 'content')}"


def _is_content(content: object, *, may_be_many: bool) -> bool:
    blocks = content if may_be_many and isinstance(content, list) else [content]
    return all(isinstance(block, dict) and isinstance(block.get("type"), str) for block in blocks)


def _results_alone(asked: Asked, _: Facts) -> Breaches:
    messages = asked.params.get("messages")
    mixed: list[str] = []
    has_results = False
    for index, message in enumerate(messages if isinstance(messages, list) else ()):
        content = message.get("content") if isinstance(message, dict) else None
        blocks = content if isinstance(content, list) else [content]
        types = [block.get("type") for block in blocks if isinstance(block, dict)]
        if "tool_result" not in types:
            continue
        has_results = True
        other = [type for type in types if type != "tool_result"]
        if other:
            where = asked.at("messages", index, "content")
            mixed.append(f"{where} has a tool_result and beside it {shown(other[0])}")
    return few(mixed) if has_results else None


def _context(asked: Asked, facts: Facts) -> Breaches:
    value = asked.params.get("includeContext", "none")
    where = asked.at("includeContext")
    if value not in _CONTEXTS:
        return [f"{where} must be one of {', '.join(_CONTEXTS)} and is {shown(value)}"]
    if value == "none" or asked.capabilities is None or not facts.letters <= _WITH_TOOLS:
        return ()
    if is_declared(asked.capabilities, "sampling", "context"):
        return ()
    return [
        f"{where} is {shown(value)}, which needs the capability sampling.context, and the client "
        "did not declare it"
    ]


_NO_SAMPLING = "the server asked for no sampling"

SAMPLING_RULES = (
    Rule(
        id="SAMP-01",
        name="capability-gate",
        category="sampling",
        property="the server asks for sampling only when the client declared it",
        levels=at_levels("CDE", should="AB"),
        topics=asking_topics(_METHOD),
        start=each_asked(_METHOD, undeclared),
        nothing=_NO_SAMPLING,
    ),
    Rule(
        id="SAMP-02",
        name="tools-gate",
        category="sampling",
        property="the server offers tools in sampling only when the client declared sampling.tools",
        levels=at_levels("DE"),
        topics=asking_topics(_METHOD),
        start=each_asked(_METHOD, _tools_gate),
        nothing=_NO_SAMPLING,
        elsewhere="no tools in sampling",
    ),
    Rule(
        id="SAMP-03",
        name="request-shape",
        category="sampling",
        property="a request for sampling has messages with role and content, and an integer "
        "maxTokens",
        levels=at_levels("ABCDE"),
        topics=asking_topics(_METHOD),
        start=each_asked(_METHOD, _shape),
        nothing=_NO_SAMPLING,
    ),
    Rule(
        id="SAMP-04",
        name="tool-result-only",
        category="sampling",
        property="a message with tool results holds nothing else",
        levels=at_levels("DE"),
        topics=asking_topics(_METHOD),
        start=each_asked(_METHOD, _results_alone),
        nothing="the server sent no tool results in sampling",
        elsewhere="no tools in sampling",
    ),
    Rule(
        id="SAMP-06",
        name="context-values",
        category="sampling",
        property="includeContext is one of its values, and from 2025-11-25 on none unless the "
        "client declared sampling.context",
        levels=at_levels(should="ABCDE"),
        topics=asking_topics(_METHOD),
        start=each_asked(_METHOD, _context),
        nothing=_NO_SAMPLING,
    ),
    Rule(
        id="ROOT-01",
        name="capability-gate",
        category="roots",
        property="the server asks for roots only when the client declared them",
        levels=at_levels("CDE", should="AB"),
        topics=asking_topics("roots/list"),
        start=each_asked("roots/list", undeclared),
        nothing="the server asked for no roots",
    ),
)
