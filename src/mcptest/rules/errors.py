"""Rules about error codes, result types, and the methods that a server may use (BASE)."""

from __future__ import annotations

from mcptest.protocol.revisions import VERSION_KEY
from mcptest.rules.facts import META_CAPABILITIES
from mcptest.rules.rule import Rule, members, show, show_member

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from mcptest.rules.facts import Facts
    from mcptest.rules.rule import Entry, Findings

    Members = dict[str, Any]

__all__ = ["RULES"]

_HEADER_MISMATCH = -32020
_MISSING_CAPABILITY = -32021
_UNSUPPORTED_VERSION = -32022
_RESOURCE_NOT_FOUND = -32002
_URL_ELICITATION_REQUIRED = -32042

# Codes of earlier revisions, and what to send instead.
_WITHDRAWN = {
    _RESOURCE_NOT_FOUND: "a resource that is not found is -32602",
    _URL_ELICITATION_REQUIRED: "ask with a result of the type input_required",
}
# Reserved for the protocol.
_RESERVED = range(-32099, -32019)
# Used by implementations before the range was reserved.
_LEGACY = range(-32019, -31999)
# Probably the exit status of a process.
_STATUS_LIKE = range(100)


def _check_shape(entry: Entry, _: Facts) -> Findings:
    error = entry.message["error"]
    if not isinstance(error, dict):
        return [f"error must be an object and is {show(error)}"]
    findings = []
    if type(error.get("code")) is not int:
        findings.append(f"error.code must be an integer and is {show_member(error, 'code')}")
    if not isinstance(error.get("message"), str):
        findings.append(f"error.message must be a string and is {show_member(error, 'message')}")
    return findings


def _check_reserved_code(entry: Entry, _: Facts) -> Findings:
    code = entry.error_code
    if code is None:
        return None
    if code not in _RESERVED or code in _MEANINGS or code in _WITHDRAWN:
        return ()
    return [f"error.code is {code}; the codes from -32099 to -32020 are the protocol's own"]


def _check_not_code(withdrawn: int) -> Callable[[Entry, Facts], Findings]:
    """A check for one code that this revision no longer has."""

    def look(entry: Entry, _: Facts) -> Findings:
        code = entry.error_code
        if code is None:
            return None
        if code != withdrawn:
            return ()
        return [f"error.code is {code}, which this revision no longer has: {_WITHDRAWN[code]}"]

    return look


def _check_legacy_code(entry: Entry, facts: Facts) -> Findings:
    code = entry.error_code
    if code is None:
        return None
    if code in _STATUS_LIKE:
        return [f"error.code is {code}; JSON-RPC has -32601, -32602 and others that say more"]
    if code in _LEGACY and code not in _WITHDRAWN and _knows_revision(entry, facts):
        return [f"error.code is {code}; the codes from -32019 to -32000 no longer have a meaning"]
    return ()


def _knows_revision(entry: Entry, facts: Facts) -> bool:
    """True if the server knows this revision: server/discover may be sent to any server."""
    return facts.is_stateless and entry.method != "server/discover"


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
    declared = members(entry.request_params.get("_meta")).get(META_CAPABILITIES)
    if isinstance(declared, dict) and not _is_missing(declared, required):
        return [
            f"error.data.requiredCapabilities is {show(required)}, and the request declared all "
            "of it"
        ]
    return ()


def _is_missing(declared: dict[str, object], required: dict[str, object]) -> bool:
    """True if a capability, or a part of one, is required and not declared."""
    return any(
        name not in declared or not members(parts).keys() <= members(declared[name]).keys()
        for name, parts in required.items()
    )


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
    asked = members(entry.request_params.get("_meta")).get(VERSION_KEY)
    if findings or not isinstance(asked, str):
        return findings
    if requested != asked:
        return [f"error.data.requested is {show(requested)}, and the request has {show(asked)}"]
    if isinstance(supported, list) and asked in supported:
        return [f"error.data.supported holds {show(asked)}, which the error refuses"]
    return ()


_MEANINGS: dict[int, Callable[[Entry, Facts], Findings]] = {
    _HEADER_MISMATCH: _check_header_mismatch,
    _MISSING_CAPABILITY: _check_missing_capability,
    _UNSUPPORTED_VERSION: _check_unsupported_version,
}

_NO_ERROR = "no request was answered with an error"

_ERROR_RULES = (
    Rule(
        id="BASE-11",
        name="error-shape",
        category="base",
        property="every error is an object with an integer code and a string message",
        topics=("error",),
        look=_check_shape,
        nothing=_NO_ERROR,
    ),
    Rule(
        id="BASE-23",
        name="reserved-error-range",
        category="base",
        property="no error has a code from -32099 to -32020 that the protocol does not define",
        since="2026-07-28",
        topics=("error",),
        look=_check_reserved_code,
        nothing=_NO_ERROR,
    ),
    Rule(
        id="BASE-24",
        name="error-meaning",
        category="base",
        property="-32020, -32021 and -32022 are sent only for what they mean, with their data",
        since="2026-07-28",
        topics=("error",),
        look=_check_meaning,
        nothing="no error has one of these codes",
    ),
    Rule(
        id="BASE-25",
        name="no-32002",
        category="base",
        property="no error has the code -32002",
        since="2026-07-28",
        topics=("error",),
        look=_check_not_code(_RESOURCE_NOT_FOUND),
        nothing=_NO_ERROR,
    ),
    Rule(
        id="BASE-26",
        name="no-32042",
        category="base",
        property="no error has the code -32042",
        since="2026-07-28",
        topics=("error",),
        look=_check_not_code(_URL_ELICITATION_REQUIRED),
        nothing=_NO_ERROR,
    ),
    Rule(
        id="BASE-27",
        name="legacy-error-range",
        category="base",
        property="no error has a code without a meaning",
        level="SHOULD",
        topics=("error",),
        look=_check_legacy_code,
        nothing=_NO_ERROR,
    ),
)


_PROTOCOL_TYPES = ("complete", "input_required")
# Result types that known extensions add.
_EXTENSION_TYPES: dict[str, tuple[str, ...]] = {
    "io.modelcontextprotocol/tasks": ("task",),
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
    capabilities = members(entry.request_params.get("_meta")).get(META_CAPABILITIES)
    declared = members(members(capabilities).get("extensions"))
    # An unknown extension may add any type.
    if any(named in _EXTENSION_TYPES.get(extension, (named,)) for extension in declared):
        return ()
    return [
        f"result.resultType of {show(entry.method)} is {show(named)}; expected complete, "
        "input_required or a type of an extension that the request declared"
    ]


_RESULT_RULES = (
    Rule(
        id="BASE-21",
        name="result-type-present",
        category="base",
        property="every result has a string resultType",
        since="2026-07-28",
        topics=("result",),
        look=_check_result_type,
        nothing="no request was answered with a result",
    ),
    Rule(
        id="BASE-22",
        name="result-type-known",
        category="base",
        property="every resultType is one of the protocol or of an extension the request declared",
        since="2026-07-28",
        topics=("result",),
        look=_check_known_result_type,
        nothing="no result names its type",
    ),
)


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


_NEGOTIATED_RULES = (
    Rule(
        id="BASE-37",
        name="only-negotiated-capabilities",
        category="base",
        property="the server asks its client only for what the client declared",
        until="2025-11-25",
        must_since="2025-06-18",
        topics=("request",),
        look=_check_declared,
        nothing="the server asked for nothing that needs a capability",
        elsewhere="no requests from servers",
    ),
    Rule(
        id="BASE-38",
        name="only-version-methods",
        category="base",
        property="the server sends no method that is newer than the revision",
        until="2025-11-25",
        must_since="2025-06-18",
        topics=("request", "notification"),
        look=_check_revision,
        nothing="the server sent nothing whose revision is known",
    ),
)

RULES = (*_ERROR_RULES, *_RESULT_RULES, *_NEGOTIATED_RULES)
