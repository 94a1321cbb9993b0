"""What a server asks of its client, wherever it stands.

Up to 2025-11-25 a server sends requests of its own. From 2026-07-28 on it asks inside a result
that says `input_required`, or inside the state of a task. The rules look at both alike.
"""

from __future__ import annotations

from mcptest.core.text import render_path, shorten
from mcptest.invariants.facts import META_CAPABILITIES
from mcptest.invariants.rule import Looking
from mcptest.invariants.wording import few

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from mcptest.invariants.facts import Facts
    from mcptest.invariants.rule import Breaches
    from mcptest.invariants.said import Said

    Members = dict[str, Any]

__all__ = [
    "CAPABILITIES",
    "INPUT_METHODS",
    "Asked",
    "asked_in",
    "asking_topics",
    "declared_in",
    "each_asked",
    "input_path",
    "is_declared",
    "meta_of",
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


class Asked:
    """One thing that a server asks for.

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
        """Where a value of the params stands inside the message."""
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
    """Where an input request stands inside the result."""
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


def each_asked(method: str, check: Callable[[Asked, Facts], Breaches]) -> Callable[[], Looking]:
    """The start of a rule that looks at every question of one kind."""

    def look(said: Said, facts: Facts) -> Breaches:
        # Nearly every result asks for nothing, and many rules want to know.
        if said.kind == "result":
            result = said.message["result"]
            if not isinstance(result, dict) or "inputRequests" not in result:
                return None
        found: list[str] | None = None
        for asked in asked_in(said, facts):
            breaches = check(asked, facts) if asked.method == method else None
            if breaches is not None:
                found = few((*(found or ()), *breaches))
        return found

    return lambda: Looking(look)


def asked_in(said: Said, facts: Facts) -> Iterator[Asked]:
    """Everything that a message of the server asks for."""
    if said.kind == "request":
        yield Asked(said.method, said.params, facts.client_capabilities)
    elif "inputRequests" in said.result and facts.is_stateless:
        is_task = said.method == "tasks/get"
        inputs = said.result["inputRequests"]
        if not isinstance(inputs, dict) or not (is_task or _wants_input(said)):
            return
        # A task was begun by an earlier request, and that one may have declared something else.
        capabilities = None if is_task else declared_in(said.request)
        for key, value in inputs.items():
            if isinstance(value, dict) and isinstance(value.get("method"), str):
                yield Asked(value["method"], value.get("params"), capabilities, key)


def _wants_input(said: Said) -> bool:
    return bool(said.result.get("resultType") == "input_required")


def meta_of(message: object) -> Members:
    """The `_meta` in the params of a request or notification, {} when there is none."""
    params = message.get("params") if isinstance(message, dict) else None
    meta = params.get("_meta") if isinstance(params, dict) else None
    return meta if isinstance(meta, dict) else {}


def declared_in(request: object) -> Members:
    """The capabilities that a request without a handshake declared for itself."""
    declared = meta_of(request).get(META_CAPABILITIES)
    return declared if isinstance(declared, dict) else {}


def is_declared(capabilities: object, *names: str) -> bool:
    """Whether a capability, or one inside it, was declared."""
    for name in names:
        capabilities = capabilities.get(name) if isinstance(capabilities, dict) else None
    return capabilities is not None


def undeclared(asked: Asked, _: Facts) -> Breaches:
    """That the client never declared what is asked of it; None when that cannot be known."""
    if asked.capabilities is None:
        return None
    capability = CAPABILITIES[asked.method]
    if is_declared(asked.capabilities, capability):
        return ()
    return [f"{asked.place} needs the capability {capability}, which the client did not declare"]
