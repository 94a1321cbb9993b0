"""Rules about error codes, result types, and the methods that a server may use (BASE)."""

from __future__ import annotations

from mcptest.protocol.jsonrpc import meta_of
from mcptest.protocol.revisions import (
    HEADER_MISMATCH,
    META_CAPABILITIES,
    MISSING_CAPABILITY,
    RESOURCE_NOT_FOUND,
    TASKS_EXTENSION,
    UNSUPPORTED_VERSION,
    URL_ELICITATION_REQUIRED,
    VERSION_KEY,
)
from mcptest.rules.rule import Rule, error_faults, members, show, show_member

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from mcptest.rules.rule import Entry, EntryCheck, Facts, Findings

__all__ = ["RULES"]

# Codes of earlier revisions, and what to send instead.
_WITHDRAWN = {
    RESOURCE_NOT_FOUND: "a resource that is not found is -32602",
    URL_ELICITATION_REQUIRED: "ask with a result of the type input_required",
}
# Reserved for the protocol.
_RESERVED = range(-32099, -32019)
# Used by implementations before the range was reserved.
_LEGACY = range(-32019, -31999)
# Probably the exit status of a process.
_STATUS_LIKE = range(100)


def _check_shape(entry: Entry, _: Facts) -> Findings:
    return error_faults(entry.message["error"], "error", "error.code", "error.message")


def _check_code(describe: Callable[[int, Entry, Facts], str]) -> EntryCheck:
    """A check of the code of an error; `describe` says what is wrong with it, "" if nothing is."""

    def check(entry: Entry, facts: Facts) -> Findings:
        code = entry.error_code
        if code is None:
            return None
        fault = describe(code, entry, facts)
        return [f"error.code is {code}{fault}"] if fault else ()

    return check


def _describe_reserved_code(code: int, _: Entry, __: Facts) -> str:
    if code not in _RESERVED or code in _MEANINGS or code in _WITHDRAWN:
        return ""
    return "; the codes from -32099 to -32020 are the protocol's own"


def _check_not_code(withdrawn: int) -> EntryCheck:
    """A check for one code that this revision no longer has."""
    fault = f", which this revision no longer has: {_WITHDRAWN[withdrawn]}"
    return _check_code(lambda code, _, __: fault if code == withdrawn else "")


def _describe_legacy_code(code: int, entry: Entry, facts: Facts) -> str:
    if code in _STATUS_LIKE:
        return "; JSON-RPC has -32601, -32602 and others that say more"
    # A request for server/discover may be sent to a server that does not know this revision.
    knows_revision = facts.is_stateless and entry.method != "server/discover"
    if code in _LEGACY and code not in _WITHDRAWN and knows_revision:
        return "; the codes from -32019 to -32000 no longer have a meaning"
    return ""


# What the codes of the protocol mean


def _check_meaning(entry: Entry, facts: Facts) -> Findings:
    meaning = _MEANINGS.get(entry.error_code or 0)
    return meaning(entry, facts) if meaning else None


def _check_header_mismatch(entry: Entry, facts: Facts) -> Findings:
    if facts.transport.startswith("stdio"):
        return ["error.code is -32020 (a header does not match), and stdio has no headers"]
    return () if entry.http or facts.transport.startswith(("http", "sse")) else None


def _check_missing_capability(entry: Entry, _: Facts) -> Findings:
    data = members(entry.error.get("data"))
    required = data.get("requiredCapabilities")
    if not isinstance(required, dict) or not required:
        return [
            "error.data.requiredCapabilities must be an object that names what is missing and is "
            + show_member(data, "requiredCapabilities")
        ]
    declared = meta_of(entry.request).get(META_CAPABILITIES)
    is_missing = not isinstance(declared, dict) or any(
        name not in declared or not members(parts).keys() <= members(declared[name]).keys()
        for name, parts in required.items()
    )
    if not is_missing:
        return [
            f"error.data.requiredCapabilities is {show(required)}, and the request declared all "
            "of it"
        ]
    return ()


def _check_unsupported_version(entry: Entry, _: Facts) -> Findings:
    data = members(entry.error.get("data"))
    supported, requested = data.get("supported"), data.get("requested")
    findings = []
    if not isinstance(supported, list) or not all(isinstance(each, str) for each in supported):
        found = show_member(data, "supported")
        findings.append(f"error.data.supported must be an array of versions and is {found}")
    if not isinstance(requested, str):
        findings.append(
            f"error.data.requested must be a string and is {show_member(data, 'requested')}"
        )
    asked = meta_of(entry.request).get(VERSION_KEY)
    if findings or not isinstance(asked, str):
        return findings
    if requested != asked:
        return [f"error.data.requested is {show(requested)}, and the request has {show(asked)}"]
    if isinstance(supported, list) and asked in supported:
        return [f"error.data.supported holds {show(asked)}, which the error refuses"]
    return ()


_MEANINGS: dict[int, EntryCheck] = {
    HEADER_MISMATCH: _check_header_mismatch,
    MISSING_CAPABILITY: _check_missing_capability,
    UNSUPPORTED_VERSION: _check_unsupported_version,
}

_NO_ERROR = "no request was answered with an error"

_ERROR_RULES = {
    "BASE-11 error-shape": Rule(
        property="every error is an object with an integer code and a string message",
        topics=("error",),
        check=_check_shape,
        covers=("INV-006", "INV-007"),
        reason_if_unused=_NO_ERROR,
        section="basic#Responses",
    ),
    "BASE-23 reserved-error-range": Rule(
        property="no error has a code from -32099 to -32020 that the protocol does not define",
        since="2026-07-28",
        topics=("error",),
        check=_check_code(_describe_reserved_code),
        reason_if_unused=_NO_ERROR,
        section="basic#Error Codes",
    ),
    "BASE-24 error-meaning": Rule(
        property="-32020, -32021 and -32022 are sent only for what they mean, with their data",
        since="2026-07-28",
        topics=("error",),
        check=_check_meaning,
        reason_if_unused="no error has one of these codes",
        section="basic#Error Codes",
    ),
    "BASE-25 no-32002": Rule(
        property="no error has the code -32002",
        since="2026-07-28",
        topics=("error",),
        check=_check_not_code(RESOURCE_NOT_FOUND),
        reason_if_unused=_NO_ERROR,
        section="basic#Error Codes",
    ),
    "BASE-26 no-32042": Rule(
        property="no error has the code -32042",
        since="2026-07-28",
        topics=("error",),
        check=_check_not_code(URL_ELICITATION_REQUIRED),
        reason_if_unused=_NO_ERROR,
        section="basic#Error Codes",
    ),
    "BASE-27 legacy-error-range": Rule(
        property="no error has a code without a meaning",
        level="SHOULD",
        topics=("error",),
        check=_check_code(_describe_legacy_code),
        reason_if_unused=_NO_ERROR,
        section="basic#Messages",
        stateless_section="basic#Error Codes",
        older_sections={"2024-11-05": "basic/messages#Responses"},
    ),
}


_PROTOCOL_TYPES = ("complete", "input_required")
# Result types that known extensions add.
_EXTENSION_TYPES: dict[str, tuple[str, ...]] = {
    TASKS_EXTENSION: ("task",),
    "io.modelcontextprotocol/ui": (),
    "io.modelcontextprotocol/skills": (),
    "io.modelcontextprotocol/oauth-client-credentials": (),
    "io.modelcontextprotocol/enterprise-managed-authorization": (),
}


def _check_result_type(entry: Entry, _: Facts) -> Findings:
    result = entry.message["result"]
    if not isinstance(result, dict):
        return None
    if isinstance(result.get("resultType"), str):
        return ()
    return [
        f"result.resultType of {show(entry.method)} must be a string and is "
        f"{show_member(result, 'resultType')}"
    ]


def _check_known_result_type(entry: Entry, _: Facts) -> Findings:
    named = entry.result.get("resultType")
    if not isinstance(named, str) or not entry.request:
        return None
    if named in _PROTOCOL_TYPES:
        return ()
    capabilities = meta_of(entry.request).get(META_CAPABILITIES)
    declared = members(members(capabilities).get("extensions"))
    # An unknown extension may add any type.
    if any(named in _EXTENSION_TYPES.get(extension, (named,)) for extension in declared):
        return ()
    return [
        f"result.resultType of {show(entry.method)} is {show(named)}; expected complete, "
        "input_required or a type of an extension that the request declared"
    ]


_RESULT_RULES = {
    "BASE-21 result-type-present": Rule(
        property="every result has a string resultType",
        since="2026-07-28",
        topics=("result",),
        check=_check_result_type,
        reason_if_unused="no request was answered with a result",
        section="basic#ResultType",
    ),
    "BASE-22 result-type-known": Rule(
        property="every resultType is one of the protocol or of an extension the request declared",
        since="2026-07-28",
        topics=("result",),
        check=_check_known_result_type,
        reason_if_unused="no result names its type",
        section="basic#ResultType",
    ),
}


# Requests that need a client capability of the same name.
_NEED_CAPABILITY = ("sampling", "elicitation", "roots", "tasks")

# The first revision with each method that servers send.
_SINCE = {
    "elicitation/create": "2025-06-18",
    "notifications/elicitation/complete": "2025-11-25",
    "notifications/tasks/status": "2025-11-25",
    "tasks/cancel": "2025-11-25",
    "tasks/get": "2025-11-25",
    "tasks/list": "2025-11-25",
    "tasks/result": "2025-11-25",
    "notifications/subscriptions/acknowledged": "2026-07-28",
    **dict.fromkeys(
        [
            "ping",
            "roots/list",
            "sampling/createMessage",
            "notifications/cancelled",
            "notifications/message",
            "notifications/progress",
            "notifications/prompts/list_changed",
            "notifications/resources/list_changed",
            "notifications/resources/updated",
            "notifications/tools/list_changed",
        ],
        "2024-11-05",
    ),
}


def _check_declared(entry: Entry, facts: Facts) -> Findings:
    family = entry.method.partition("/")[0]
    # Without a handshake in the capture, the declared capabilities are unknown.
    if family not in _NEED_CAPABILITY or not facts.is_initialised:
        return None
    if family in facts.client_capabilities:
        return ()
    return [f"the server sent {show(entry.method)}, and the client did not declare {family}"]


def _check_revision(entry: Entry, facts: Facts) -> Findings:
    since = _SINCE.get(entry.method)
    if not facts.version or since is None:
        return None
    if since <= facts.version:
        return ()
    return [
        f"method is {show(entry.method)}, which came with {since}; the session is at "
        f"{facts.version}"
    ]


_NEGOTIATED_RULES = {
    "BASE-37 only-negotiated-capabilities": Rule(
        property="the server asks its client only for what the client declared",
        until="2025-11-25",
        must_since="2025-06-18",
        topics=("request",),
        check=_check_declared,
        reason_if_unused="the server asked for nothing that needs a capability",
        reason_if_other_revision="no requests from servers",
        section="basic/lifecycle#Operation",
    ),
    "BASE-38 only-version-methods": Rule(
        property="the server sends no method that is newer than the revision",
        until="2025-11-25",
        must_since="2025-06-18",
        topics=("request", "notification"),
        check=_check_revision,
        reason_if_unused="the server sent nothing whose revision is known",
        section="basic/lifecycle#Operation",
    ),
}

RULES = {**_ERROR_RULES, **_RESULT_RULES, **_NEGOTIATED_RULES}
