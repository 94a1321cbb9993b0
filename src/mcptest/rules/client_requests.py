"""What a server asks of its client, and the rules about sampling and roots: SAMP and ROOT."""

from __future__ import annotations

from mcptest.core.text import render_path, shorten
from mcptest.rules.facts import META_CAPABILITIES
from mcptest.rules.rule import Rule, limit, meta_of, show
from mcptest.rules.shapes import SHAPE_TOPICS, by_shape

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from mcptest.rules.facts import Facts
    from mcptest.rules.rule import Entry, Findings, Look

    Members = dict[str, Any]

__all__ = [
    "CAPABILITIES",
    "INPUT_METHODS",
    "RULES",
    "ClientRequest",
    "asked_in",
    "asking_topics",
    "declared_in",
    "each_asked",
    "input_path",
    "is_declared",
    "undeclared",
]

# What a server may ask for, and the capability of the client that allows it.
CAPABILITIES = {
    "elicitation/create": "elicitation",
    "roots/list": "roots",
    "sampling/createMessage": "sampling",
}

# The requests that may be answered with a wish for input.
INPUT_METHODS = ("tools/call", "prompts/get", "resources/read")

_MAX_STEP = 40


class ClientRequest:
    """One request to the client: a message of its own, or a part of a result.

    Up to 2025-11-25 a server sends requests. Since 2026-07-28 it asks inside a result that says
    `input_required`, or inside the state of a task. The rules judge both alike.

    `key` is its name among the input requests of a result, None for a request of the server's
    own. `capabilities` is what the client declared, None when that cannot be known.
    """

    __slots__ = ("capabilities", "key", "method", "params")

    def __init__(
        self, method: str, params: object, capabilities: Members | None, key: str | None = None
    ) -> None:
        self.method = method
        self.params: Members = params if isinstance(params, dict) else {}
        self.capabilities = capabilities
        self.key = key

    def at(self, *steps: str | int) -> str:
        """The path of a value of the params in the message."""
        if self.key is None:
            return _path("params", *steps)
        return _path("result", "inputRequests", self.key, "params", *steps)

    @property
    def place(self) -> str:
        """What asks, as a sentence can begin."""
        if self.key is None:
            return f"the server's request {self.method}"
        return f"{input_path(self.key)} ({self.method})"


def input_path(key: str) -> str:
    """The path of an input request in the result."""
    return _path("result", "inputRequests", key)


def _path(*steps: str | int) -> str:
    return render_path(
        shorten(step, _MAX_STEP) if isinstance(step, str) else step for step in steps
    )


def asking_topics(method: str) -> tuple[str, ...]:
    """What a rule about one kind of question subscribes to."""
    return (
        f"request:{method}",
        *(f"result:{each}" for each in INPUT_METHODS),
        "result:tasks/get",
    )


def each_asked(method: str, check: Callable[[ClientRequest, Facts], Findings]) -> Look:
    """A check that judges every request of one method."""

    def look(entry: Entry, facts: Facts) -> Findings:
        # Nearly every result asks for nothing, and many rules check.
        if entry.kind == "result":
            result = entry.message["result"]
            if not isinstance(result, dict) or "inputRequests" not in result:
                return None
        found: list[str] | None = None
        for asked in asked_in(entry, facts):
            findings = check(asked, facts) if asked.method == method else None
            if findings is not None:
                found = limit((*(found or ()), *findings))
        return found

    return look


def asked_in(entry: Entry, facts: Facts) -> Iterator[ClientRequest]:
    """Everything that a message of the server asks its client for."""
    if entry.kind == "request":
        yield ClientRequest(entry.method, entry.params, facts.client_capabilities)
    elif "inputRequests" in entry.result and facts.is_stateless:
        is_task = entry.method == "tasks/get"
        inputs = entry.result["inputRequests"]
        if not isinstance(inputs, dict) or not (is_task or _wants_input(entry)):
            return
        # A task was begun by an earlier request, and that one may have declared something else.
        capabilities = None if is_task else declared_in(entry.request)
        for key, value in inputs.items():
            if isinstance(value, dict) and isinstance(value.get("method"), str):
                yield ClientRequest(value["method"], value.get("params"), capabilities, key)


def _wants_input(entry: Entry) -> bool:
    return bool(entry.result.get("resultType") == "input_required")


def declared_in(request: object) -> Members:
    """The capabilities that a request without a handshake declared for itself."""
    declared = meta_of(request).get(META_CAPABILITIES)
    return declared if isinstance(declared, dict) else {}


def is_declared(capabilities: object, *names: str) -> bool:
    """True if a capability, or one inside it, was declared."""
    for name in names:
        capabilities = capabilities.get(name) if isinstance(capabilities, dict) else None
    return capabilities is not None


def undeclared(asked: ClientRequest, _: Facts) -> Findings:
    """That the client never declared what is asked of it; None when that cannot be known."""
    if asked.capabilities is None:
        return None
    capability = CAPABILITIES[asked.method]
    if is_declared(asked.capabilities, capability):
        return ()
    return [f"{asked.place} needs the capability {capability}, which the client did not declare"]


_METHOD = "sampling/createMessage"


def _tools_gate(asked: ClientRequest, _: Facts) -> Findings:
    if asked.capabilities is None:
        return None
    used = [name for name in ("tools", "toolChoice") if asked.params.get(name) is not None]
    if not used or is_declared(asked.capabilities, "sampling", "tools"):
        return ()
    return [
        f"{asked.at(name)} needs the capability sampling.tools, which the client did not declare"
        for name in used
    ]


def _results_alone(asked: ClientRequest, _: Facts) -> Findings:
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
            mixed.append(f"{where} has a tool_result and beside it {show(other[0])}")
    return limit(mixed) if has_results else None


def _context(asked: ClientRequest, facts: Facts) -> Findings:
    value, where = asked.params.get("includeContext", "none"), asked.at("includeContext")
    if value == "none" or asked.capabilities is None or facts.oldest < "2025-11-25":
        return ()
    if is_declared(asked.capabilities, "sampling", "context"):
        return ()
    return [
        f"{where} is {show(value)}, which needs the capability sampling.context, and the client "
        "did not declare it"
    ]


_NO_SAMPLING = "the server asked for no sampling"

RULES = (
    Rule(
        id="SAMP-01",
        name="capability-gate",
        category="sampling",
        property="the server asks for sampling only when the client declared it",
        must_since="2025-06-18",
        topics=asking_topics(_METHOD),
        look=each_asked(_METHOD, undeclared),
        nothing=_NO_SAMPLING,
    ),
    Rule(
        id="SAMP-02",
        name="tools-gate",
        category="sampling",
        property="the server offers tools in sampling only when the client declared sampling.tools",
        since="2025-11-25",
        topics=asking_topics(_METHOD),
        look=each_asked(_METHOD, _tools_gate),
        nothing=_NO_SAMPLING,
        elsewhere="no tools in sampling",
    ),
    Rule(
        id="SAMP-03",
        name="request-shape",
        category="sampling",
        property="a request for sampling has messages with role and content, and an integer "
        "maxTokens",
        topics=SHAPE_TOPICS,
        look=by_shape("SAMP-03"),
        nothing=_NO_SAMPLING,
    ),
    Rule(
        id="SAMP-04",
        name="tool-result-only",
        category="sampling",
        property="a message with tool results holds nothing else",
        since="2025-11-25",
        topics=asking_topics(_METHOD),
        look=each_asked(_METHOD, _results_alone),
        nothing="the server sent no tool results in sampling",
        elsewhere="no tools in sampling",
    ),
    Rule(
        id="SAMP-06",
        name="context-values",
        category="sampling",
        property="from 2025-11-25 on includeContext is none unless the client declared "
        "sampling.context",
        level="SHOULD",
        topics=asking_topics(_METHOD),
        look=each_asked(_METHOD, _context),
        nothing=_NO_SAMPLING,
    ),
    Rule(
        id="ROOT-01",
        name="capability-gate",
        category="roots",
        property="the server asks for roots only when the client declared them",
        must_since="2025-06-18",
        topics=asking_topics("roots/list"),
        look=each_asked("roots/list", undeclared),
        nothing="the server asked for no roots",
    ),
)
