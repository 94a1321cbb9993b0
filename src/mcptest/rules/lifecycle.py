"""Rules about a whole session and its handshake (INV, LIFE)."""

from __future__ import annotations

import re

from mcptest.core.strict_json import dump_json
from mcptest.protocol.jsonrpc import METHOD_NOT_FOUND
from mcptest.protocol.revisions import META_SERVER_INFO
from mcptest.rules.rule import Rule, SessionCheck, error_faults, members, show, show_member

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mcptest.rules.rule import Entry, Facts, Findings

__all__ = ["INVARIANTS", "RULES"]

# The capability that each family of methods belongs to.
_CAPABILITIES = {
    "tools": "tools",
    "resources": "resources",
    "prompts": "prompts",
    "logging": "logging",
    "completion": "completions",
}
_LISTS = ("tools/list", "resources/list", "prompts/list")


class _InitializeFirst(SessionCheck):
    """A client of both eras asks server/discover first; if it is refused, initialize follows."""

    def __init__(self) -> None:
        self._has_begun = False

    def check(self, entry: Entry, _: Facts) -> Findings:
        is_probe = entry.is_client and entry.method == "server/discover"
        if self._has_begun or is_probe or entry.kind not in ("request", "result"):
            return None
        self._has_begun = True
        if entry.method == "initialize":
            return ()
        return [f"the first request is {show(entry.method)}, not initialize"]


class _InitializedFollows(SessionCheck):
    def __init__(self) -> None:
        self._is_answered = False
        self._came_early = False
        self._came = False
        self._went_on = False

    def check(self, entry: Entry, _: Facts) -> Findings:
        if not entry.is_client:
            self._is_answered = True
        elif entry.method == "notifications/initialized" and entry.kind == "notification":
            self._came, self._came_early = True, self._came_early or not self._is_answered
        elif self._is_answered:
            self._went_on = True
        return None

    def end(self, facts: Facts) -> Findings:
        if not self._is_answered or not (self._came or self._went_on):
            return None
        if self._came_early and facts.is_handshake_misplaced:
            # When the answer came is not known.
            return None
        if self._came_early:
            return ["notifications/initialized came before the response to initialize"]
        return () if self._came else ["notifications/initialized never came"]


class _ListsAdvertised(SessionCheck):
    def __init__(self) -> None:
        self._answered: dict[str, None] = {}
        self._has_discovered = False

    def check(self, entry: Entry, _: Facts) -> Findings:
        if entry.method in _LISTS:
            self._answered[entry.method] = None
        self._has_discovered |= entry.method == "server/discover"
        return None

    def end(self, facts: Facts) -> Findings:
        if not self._answered or (facts.is_stateless and not self._has_discovered):
            return None
        declared = _declared_capabilities(facts)
        if facts.is_handshake_misplaced and not declared:
            # The answer that would show them is not in the capture.
            return None
        return [
            f"the server answered {method} and did not advertise the capability {capability}"
            for method in self._answered
            if (capability := _CAPABILITIES[method.partition("/")[0]]) not in declared
        ]


# What errors say when a database or an API behind the server does not answer.
_UNREACHABLE = (
    r"(?i)\bE(?:CONNREFUSED|CONNRESET|NOTFOUND|TIMEDOUT|HOSTUNREACH|NETUNREACH|AI_AGAIN)\b"
    r"|connection (?:was )?(?:refused|reset)|getaddrinfo|fetch failed|no route to host"
    r"|name or service not known|name resolution|network is unreachable|connect(?:ion)? timed out"
    r"|(?:could not|cannot|can't|failed to|unable to) connect"
)
# How many characters of an error are searched.
_MAX_SEARCHED = 4_000


class _CapabilitiesWork(SessionCheck):
    def __init__(self) -> None:
        # How many calls of each family ended in an error, and how many there were.
        self._calls: dict[str, tuple[int, int]] = {}
        # The first error of each that says that something is unreachable.
        self._unreachable: dict[str, str] = {}

    def check(self, entry: Entry, _: Facts) -> Findings:
        capability = _CAPABILITIES.get(entry.method.partition("/")[0])
        if capability:
            errors, calls = self._calls.get(capability, (0, 0))
            # A response with both counts as a result: BASE-09 reports it.
            is_error = entry.kind == "error" and "result" not in entry.message
            self._calls[capability] = errors + is_error, calls + 1
            if is_error and capability not in self._unreachable:
                said = dump_json(entry.message["error"])[:_MAX_SEARCHED]
                if re.search(_UNREACHABLE, said):
                    self._unreachable[capability] = show(entry.error.get("message"))
        return None

    def end(self, facts: Facts) -> Findings:
        declared = _declared_capabilities(facts)
        findings, has_called = [], False
        for name, (errors, calls) in self._calls.items():
            # A call that ended in the error that its test expects shows nothing.
            expected = sum(
                count
                for method, count in facts.expected_errors.items()
                if _CAPABILITIES.get(method.partition("/")[0]) == name
            )
            if name not in declared or calls <= expected:
                continue
            has_called = True
            if errors == calls:
                count = calls - expected
                said = self._unreachable.get(name)
                question = f"; {said}: is a backend of the server unreachable?" if said else ""
                findings.append(
                    f"the server advertised {name}, and every call to it ended in an error "
                    f"({count} of {count}){question}"
                )
        return findings if has_called else None


def _declared_capabilities(facts: Facts) -> dict[str, object]:
    """The capability block of the session; without a handshake, the answer to server/discover."""
    if facts.is_stateless or (facts.is_handshake_misplaced and facts.block is None):
        return facts.capabilities
    return members(facts.block)


def _check_tool_result(entry: Entry, _: Facts) -> Findings:
    result = entry.message["result"]
    if not isinstance(result, dict):
        return ["the result of tools/call is not an object"]
    # Not the final result: input is required, or a task was created.
    if result.get("resultType", "complete") != "complete" or "task" in result:
        return None
    findings = []
    has_content = isinstance(result.get("content"), list)
    if not has_content and not isinstance(result.get("structuredContent"), dict):
        findings.append(
            "the result of tools/call has neither a content array nor a structuredContent object"
        )
    if not isinstance(result.get("isError", False), bool):
        findings.append(f"isError must be a boolean and is {show(result['isError'])}")
    return findings


def _check_error(entry: Entry, _: Facts) -> Findings:
    names = ("the error", "the code of the error", "the message of the error")
    return error_faults(entry.message["error"], *names)


def _check_method_not_found(entry: Entry, _: Facts) -> Findings:
    message = entry.error.get("message")
    if not isinstance(message, str) or "method not found" not in message.casefold():
        return None
    if entry.error_code == METHOD_NOT_FOUND:
        return ()
    return [
        f"the error says {show(message)}, and its code is {show(entry.error.get('code'))}, not "
        f"{METHOD_NOT_FOUND}"
    ]


INVARIANTS = {
    "INV-001 initialize-first": Rule(
        property="initialize is the first request the client sends",
        until="2025-11-25",
        topics=("client", "result:server/discover"),
        session_check=_InitializeFirst,
        reason_if_unused="the client sent no request",
        reason_if_other_revision="no handshake",
        section="basic/lifecycle#Initialization",
    ),
    "INV-002 initialized-follows": Rule(
        property="notifications/initialized follows the response to initialize",
        until="2025-11-25",
        topics=("client", "result:initialize"),
        session_check=_InitializedFollows,
        reason_if_unused="initialize was not answered with a result, or nothing followed its "
        "response",
        reason_if_other_revision="no handshake",
        section="basic/lifecycle#Initialization",
    ),
    "INV-003 lists-advertised": Rule(
        property="a server that answers tools/list, resources/list or prompts/list advertised the "
        "matching capability",
        topics=(*(f"result:{method}" for method in _LISTS), "result:server/discover"),
        session_check=_ListsAdvertised,
        reason_if_unused="no list was answered, or the server was never asked what it can do",
        section="basic/lifecycle#Capability Negotiation",
        stateless_section="server/discover#Response",
    ),
    "INV-004 capabilities-work": Rule(
        property="a server that advertised a capability does not error on every call to it",
        topics=("result", "error"),
        session_check=_CapabilitiesWork,
        reason_if_unused="no call to an advertised capability was answered",
        section="basic/lifecycle#Capability Negotiation",
        stateless_section="server/discover#Response",
    ),
    "INV-005 tool-result-shape": Rule(
        property="a successful tools/call result carries a content array or a structuredContent "
        "object, and a boolean isError when present",
        topics=("result:tools/call",),
        check=_check_tool_result,
        reason_if_unused="no tools/call was answered with a result",
        section="server/tools#Tool Result",
    ),
    "INV-006 error-envelope": Rule(
        property="every JSON-RPC error carries an integer code and a string message",
        topics=("error",),
        check=_check_error,
        reason_if_unused="no error was sent",
        section="basic#Responses",
    ),
    "INV-007 method-not-found-code": Rule(
        property="a method-not-found error has the code -32601",
        topics=("error",),
        check=_check_method_not_found,
        covers=("BASE-27",),
        reason_if_unused="no error says that a method was not found",
        section="basic#Messages",
    ),
}


# What a server may send before notifications/initialized: pings, log messages, and messages about
# an open request.
_ALLOWED_EARLY = frozenset(
    ["ping", "notifications/message", "notifications/progress", "notifications/cancelled"]
)


class _NothingBeforeInitialized(SessionCheck):
    def __init__(self) -> None:
        self._is_answered = False
        # True if the client sent requests without notifications/initialized.
        self._went_on = False

    def check(self, entry: Entry, facts: Facts) -> Findings:
        if entry.is_client:
            if entry.method == "notifications/initialized":
                return () if self._is_answered and not self._went_on else None
            is_early = entry.kind == "request" and entry.method not in ("initialize", "ping")
            self._went_on |= is_early
            return None
        if entry.kind == "result":
            self._is_answered = True
            return None
        if facts.is_initialised or self._went_on:
            return None
        if entry.method in _ALLOWED_EARLY:
            return ()
        return [f"{show(entry.method)} came before the client sent notifications/initialized"]


def _check_server_info(entry: Entry, _: Facts) -> Findings:
    if not isinstance(entry.message["result"], dict):
        return None
    info = members(entry.result.get("_meta")).get(META_SERVER_INFO)
    if info is None:
        return [f"the result of {show(entry.method)} has no {META_SERVER_INFO} in its _meta"]
    if not isinstance(info, dict):
        return [f"{META_SERVER_INFO} must be an object and is {show(info)}"]
    return [
        f"{META_SERVER_INFO}.{name} must be a string and is {show_member(info, name)}"
        for name in ("name", "version")
        if not isinstance(info.get(name), str)
    ]


_LIFECYCLE = {
    "LIFE-10 no-early-server-requests": Rule(
        property="before notifications/initialized the server sends only pings and log messages",
        until="2025-11-25",
        level="SHOULD",
        topics=("client", "request", "notification", "result:initialize"),
        session_check=_NothingBeforeInitialized,
        reason_if_unused="there was no handshake, or the client went on without finishing it",
        reason_if_other_revision="no handshake",
        section="basic/lifecycle#Initialization",
    ),
    "LIFE-17 discover-serverinfo": Rule(
        property="every result names the server in its _meta, with name and version",
        since="2026-07-28",
        level="SHOULD",
        topics=("result",),
        check=_check_server_info,
        reason_if_unused="nothing was answered with a result",
        reason_if_other_revision="serverInfo in the result of initialize",
        section="server/discover#Response",
    ),
}

RULES = {**INVARIANTS, **_LIFECYCLE}
