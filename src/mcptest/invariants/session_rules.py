"""INV-001 to INV-007: properties of a whole session that no single message shows."""

from __future__ import annotations

from mcptest.invariants.rule import Looking, Rule, at_levels
from mcptest.invariants.wording import shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mcptest.invariants.facts import Facts
    from mcptest.invariants.rule import Breaches
    from mcptest.invariants.said import Said

__all__ = ["SESSION_RULES"]

# The capability that each family of methods belongs to.
_CAPABILITIES = {
    "tools": "tools",
    "resources": "resources",
    "prompts": "prompts",
    "logging": "logging",
    "completion": "completions",
}
_LISTS = ("tools/list", "resources/list", "prompts/list")


class _InitializeFirst:
    def __init__(self) -> None:
        self._has_begun = False

    def see(self, said: Said, _: Facts) -> Breaches:
        if self._has_begun or said.kind != "request":
            return None
        self._has_begun = True
        if said.method == "initialize":
            return ()
        return [f"the first request is {shown(said.method)}, not initialize"]

    def end(self, _: Facts) -> Breaches:
        return None


class _InitializedFollows:
    def __init__(self) -> None:
        self._is_answered = False
        self._came_early = False
        self._came = False
        self._went_on = False

    def see(self, said: Said, _: Facts) -> Breaches:
        if not said.is_client:
            self._is_answered = True
        elif said.method == "notifications/initialized" and said.kind == "notification":
            self._came, self._came_early = True, self._came_early or not self._is_answered
        elif self._is_answered:
            self._went_on = True
        return None

    def end(self, _: Facts) -> Breaches:
        if not self._is_answered or not (self._came or self._went_on):
            return None
        if self._came_early:
            return ["notifications/initialized came before the response to initialize"]
        return () if self._came else ["notifications/initialized never came"]


class _ListsAdvertised:
    def __init__(self) -> None:
        self._answered: dict[str, None] = {}
        self._has_discovered = False

    def see(self, said: Said, _: Facts) -> Breaches:
        if said.method in _LISTS:
            self._answered[said.method] = None
        self._has_discovered |= said.method == "server/discover"
        return None

    def end(self, facts: Facts) -> Breaches:
        if not self._answered or (facts.is_stateless and not self._has_discovered):
            return None
        declared = _declared(facts)
        return [
            f"the server answered {method} and did not advertise the capability {capability}"
            for method in self._answered
            if (capability := _CAPABILITIES[method.partition("/")[0]]) not in declared
        ]


class _CapabilitiesWork:
    def __init__(self) -> None:
        # How many calls of each family ended in an error, and how many there were.
        self._calls: dict[str, tuple[int, int]] = {}

    def see(self, said: Said, _: Facts) -> Breaches:
        capability = _CAPABILITIES.get(said.method.partition("/")[0])
        if capability:
            errors, calls = self._calls.get(capability, (0, 0))
            self._calls[capability] = errors + (said.kind == "error"), calls + 1
        return None

    def end(self, facts: Facts) -> Breaches:
        declared = _declared(facts)
        called = {name: counts for name, counts in self._calls.items() if name in declared}
        if not called:
            return None
        return [
            f"the server advertised {name}, and every call to it ended in an error "
            f"({calls} of {calls})"
            for name, (errors, calls) in called.items()
            if errors == calls
        ]


def _declared(facts: Facts) -> dict[str, object]:
    """The capability block of the session; without a handshake, what discovery told."""
    if facts.is_stateless:
        return facts.capabilities
    return facts.block if isinstance(facts.block, dict) else {}


def _tool_result(said: Said, _: Facts) -> Breaches:
    result = said.message["result"]
    if not isinstance(result, dict):
        return ["the result of tools/call is no object"]
    # A first answer that is not the result of the tool yet: more input is wanted, or a task began.
    if result.get("resultType", "complete") != "complete" or "task" in result:
        return None
    breaches = []
    has_content = isinstance(result.get("content"), list)
    if not has_content and not isinstance(result.get("structuredContent"), dict):
        breaches.append(
            "the result of tools/call has neither a content array nor a structuredContent object"
        )
    if not isinstance(result.get("isError", False), bool):
        breaches.append(f"isError must be a boolean and is {shown(result['isError'])}")
    return breaches


def _error_envelope(said: Said, _: Facts) -> Breaches:
    error = said.message["error"]
    if not isinstance(error, dict):
        return [f"the error must be an object and is {shown(error)}"]
    breaches = []
    if type(error.get("code")) is not int:
        seen = shown(error["code"]) if "code" in error else "missing"
        breaches.append(f"the code of the error must be an integer and is {seen}")
    if not isinstance(error.get("message"), str):
        seen = shown(error["message"]) if "message" in error else "missing"
        breaches.append(f"the message of the error must be text and is {seen}")
    return breaches


def _method_not_found(said: Said, _: Facts) -> Breaches:
    message, code = said.error.get("message"), said.error.get("code")
    if not isinstance(message, str) or "method not found" not in message.casefold():
        return None
    if type(code) is int and code == -32601:
        return ()
    return [f"the error says {shown(message)}, and its code is {shown(code)}, not -32601"]


_ALL = at_levels("ABCDE")
_WITH_HANDSHAKE = at_levels("ABCD")

SESSION_RULES = (
    Rule(
        id="INV-001",
        name="initialize-first",
        category="lifecycle",
        property="initialize is the first request the client sends",
        levels=_WITH_HANDSHAKE,
        topics=("client",),
        start=_InitializeFirst,
        nothing="the client sent no request",
        elsewhere="no handshake",
    ),
    Rule(
        id="INV-002",
        name="initialized-follows",
        category="lifecycle",
        property="notifications/initialized follows the response to initialize",
        levels=_WITH_HANDSHAKE,
        topics=("client", "result:initialize"),
        start=_InitializedFollows,
        nothing="initialize was not answered with a result, or nothing followed its response",
        elsewhere="no handshake",
    ),
    Rule(
        id="INV-003",
        name="lists-advertised",
        category="capability",
        property="a server that answers tools/list, resources/list or prompts/list advertised the "
        "matching capability",
        levels=_ALL,
        topics=(*(f"result:{method}" for method in _LISTS), "result:server/discover"),
        start=_ListsAdvertised,
        nothing="no list was answered, or the server was never asked what it can do",
    ),
    Rule(
        id="INV-004",
        name="capabilities-work",
        category="capability",
        property="a server that advertised a capability does not error on every call to it",
        levels=_ALL,
        topics=("result", "error"),
        start=_CapabilitiesWork,
        nothing="no call to an advertised capability was answered",
    ),
    Rule(
        id="INV-005",
        name="tool-result-shape",
        category="result-shape",
        property="a successful tools/call result carries a content array or a structuredContent "
        "object, and a boolean isError when present",
        levels=_ALL,
        topics=("result:tools/call",),
        start=lambda: Looking(_tool_result),
        nothing="no tools/call was answered with a result",
    ),
    Rule(
        id="INV-006",
        name="error-envelope",
        category="error-envelope",
        property="every JSON-RPC error carries an integer code and a text message",
        levels=_ALL,
        topics=("error",),
        start=lambda: Looking(_error_envelope),
        nothing="no error was sent",
    ),
    Rule(
        id="INV-007",
        name="method-not-found-code",
        category="error-envelope",
        property="a method-not-found error has the code -32601",
        levels=_ALL,
        topics=("error",),
        start=lambda: Looking(_method_not_found),
        nothing="no error says that a method was not found",
    ),
)
