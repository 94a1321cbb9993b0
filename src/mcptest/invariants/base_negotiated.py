"""What a server may send at all: what its client declared, and what the revision has."""

from __future__ import annotations

from mcptest.invariants.base_content import content_blocks
from mcptest.invariants.base_values import gathered
from mcptest.invariants.facts import LETTERS
from mcptest.invariants.rule import Looking, Rule, at_levels
from mcptest.invariants.wording import shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcptest.invariants.facts import Facts
    from mcptest.invariants.rule import Breaches
    from mcptest.invariants.said import Said

__all__ = ["NEGOTIATED_RULES"]

# Families of requests that only a client with the capability of the same name takes.
_NEED_CAPABILITY = ("sampling", "elicitation", "roots", "tasks")

# The first revision with each method that servers send, and with each type of content.
_METHODS = {
    "ping": "A",
    "roots/list": "A",
    "sampling/createMessage": "A",
    "notifications/cancelled": "A",
    "notifications/message": "A",
    "notifications/progress": "A",
    "notifications/prompts/list_changed": "A",
    "notifications/resources/list_changed": "A",
    "notifications/resources/updated": "A",
    "notifications/tools/list_changed": "A",
    "elicitation/create": "C",
    "notifications/elicitation/complete": "D",
    "notifications/tasks/status": "D",
    "tasks/cancel": "D",
    "tasks/get": "D",
    "tasks/list": "D",
    "tasks/result": "D",
    "notifications/subscriptions/acknowledged": "E",
}
_CONTENT = {
    "text": "A",
    "image": "A",
    "resource": "A",
    "audio": "B",
    "resource_link": "C",
    "tool_use": "D",
    "tool_result": "D",
}
_VERSIONS = {letter: version for version, letter in LETTERS.items()}


def _declared_by_client(said: Said, facts: Facts) -> Breaches:
    family = said.method.partition("/")[0]
    # Without a handshake in the capture nobody knows what was declared.
    if family not in _NEED_CAPABILITY or not facts.is_initialised:
        return None
    if family in facts.client_capabilities:
        return ()
    return [f"the server sent {shown(said.method)}, and the client did not declare {family}"]


def _in_revision(said: Said, facts: Facts) -> Breaches:
    return gathered(_dated(said, facts)) if facts.version else None


def _dated(said: Said, facts: Facts) -> Iterator[str]:
    letter = LETTERS[facts.version]
    since = _METHODS.get(said.method) if said.kind != "result" else None
    if since:
        yield "" if since <= letter else _newer("method", said.method, since, facts)
    for path, block in content_blocks(said):
        named = block.get("type")
        since = _CONTENT.get(named) if isinstance(named, str) else None
        if since:
            yield "" if since <= letter else _newer(f"{path}.type", named, since, facts)


def _newer(path: str, value: object, since: str, facts: Facts) -> str:
    came = f"which came with {_VERSIONS[since]}"
    return f"{path} is {shown(value)}, {came}; the session is at {facts.version}"


_LEVELS = at_levels("CD", should="AB")

NEGOTIATED_RULES = (
    Rule(
        id="BASE-37",
        name="only-negotiated-capabilities",
        category="base",
        property="the server asks its client only for what the client declared",
        levels=_LEVELS,
        topics=("request",),
        start=lambda: Looking(_declared_by_client),
        nothing="the server asked for nothing that needs a capability",
        elsewhere="no requests from servers",
    ),
    Rule(
        id="BASE-38",
        name="only-version-methods",
        category="base",
        property="the server sends no method and no type of content newer than the revision",
        levels=_LEVELS,
        topics=("request", "notification", "result:tools/call", "result:prompts/get"),
        start=lambda: Looking(_in_revision),
        nothing="the server sent nothing whose revision is known",
    ),
)
