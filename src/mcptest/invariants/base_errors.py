"""Errors: their shape, and which codes may stand in them."""

from __future__ import annotations

from mcptest.invariants.base_values import error_code, is_over_http, members
from mcptest.invariants.facts import META_CAPABILITIES, META_VERSION
from mcptest.invariants.rule import Looking, Rule, at_levels
from mcptest.invariants.wording import seen, shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from mcptest.invariants.facts import Facts
    from mcptest.invariants.rule import Breaches
    from mcptest.invariants.said import Said

__all__ = ["ERROR_RULES"]

_HEADER_MISMATCH = -32020
_MISSING_CAPABILITY = -32021
_UNSUPPORTED_VERSION = -32022
_RESOURCE_NOT_FOUND = -32002
_URL_ELICITATION_REQUIRED = -32042

# Codes that earlier revisions defined, and what to send instead.
_WITHDRAWN = {
    _RESOURCE_NOT_FOUND: "a resource that is not found is -32602",
    _URL_ELICITATION_REQUIRED: "ask with a result of the type input_required",
}
# Codes that only this protocol gives a meaning to.
_RESERVED = range(-32099, -32019)
# Codes that programs chose for themselves before there was an order.
_LEGACY = range(-32019, -31999)
# What looks like the status of a process rather than a code.
_STATUS_LIKE = range(100)


def _error_shape(said: Said, _: Facts) -> Breaches:
    error = said.message["error"]
    if not isinstance(error, dict):
        return [f"error must be an object and is {shown(error)}"]
    breaches = []
    if type(error.get("code")) is not int:
        breaches.append(f"error.code must be an integer and is {seen(error, 'code')}")
    if not isinstance(error.get("message"), str):
        breaches.append(f"error.message must be text and is {seen(error, 'message')}")
    return breaches


def _reserved_range(said: Said, _: Facts) -> Breaches:
    code = error_code(said)
    if code is None:
        return None
    if code not in _RESERVED or code in _MEANINGS or code in _WITHDRAWN:
        return ()
    return [f"error.code is {code}; the codes from -32099 to -32020 are the protocol's own"]


def _never(withdrawn: int) -> Callable[[Said, Facts], Breaches]:
    """Looks for one code that this revision has no more."""

    def look(said: Said, _: Facts) -> Breaches:
        code = error_code(said)
        if code is None:
            return None
        if code != withdrawn:
            return ()
        return [f"error.code is {code}, which this revision has no more: {_WITHDRAWN[code]}"]

    return look


def _legacy_range(said: Said, facts: Facts) -> Breaches:
    code = error_code(said)
    if code is None:
        return None
    if code in _STATUS_LIKE:
        return [f"error.code is {code}; JSON-RPC has -32601, -32602 and others that say more"]
    if code in _LEGACY and code not in _WITHDRAWN and _is_bound(said, facts):
        return [f"error.code is {code}; the codes from -32019 to -32000 have no meaning any more"]
    return ()


def _is_bound(said: Said, facts: Facts) -> bool:
    """Whether the server knows this revision: a client may be finding out with its first
    request."""
    return facts.is_stateless and said.method != "server/discover"


# What the codes of the protocol mean


def _error_meaning(said: Said, facts: Facts) -> Breaches:
    meaning = _MEANINGS.get(error_code(said) or 0)
    return meaning(said, facts) if meaning else None


def _header_mismatch(said: Said, facts: Facts) -> Breaches:
    if facts.transport.startswith("stdio"):
        return ["error.code is -32020 (a header does not match), and stdio has no headers"]
    return () if is_over_http(said, facts) else None


def _missing_capability(said: Said, _: Facts) -> Breaches:
    data = members(said.error.get("data"))
    required = data.get("requiredCapabilities")
    if not isinstance(required, dict) or not required:
        return [
            "error.data.requiredCapabilities must be an object that names what is missing and is "
            + seen(data, "requiredCapabilities")
        ]
    declared = members(said.asked.get("_meta")).get(META_CAPABILITIES)
    if isinstance(declared, dict) and not _lacks(declared, required):
        return [
            f"error.data.requiredCapabilities is {shown(required)}, and the request declared all "
            "of it"
        ]
    return ()


def _lacks(declared: dict[str, object], required: dict[str, object]) -> bool:
    """Whether a capability, or a part of one, is required and not declared."""
    return any(
        name not in declared or not members(parts).keys() <= members(declared[name]).keys()
        for name, parts in required.items()
    )


def _unsupported_version(said: Said, _: Facts) -> Breaches:
    data = members(said.error.get("data"))
    supported, requested = data.get("supported"), data.get("requested")
    breaches = []
    if not isinstance(supported, list) or not all(isinstance(each, str) for each in supported):
        breaches.append(
            f"error.data.supported must be an array of versions and is {seen(data, 'supported')}"
        )
    if not isinstance(requested, str):
        breaches.append(f"error.data.requested must be text and is {seen(data, 'requested')}")
    asked = members(said.asked.get("_meta")).get(META_VERSION)
    if breaches or not isinstance(asked, str):
        return breaches
    if requested != asked:
        return [f"error.data.requested is {shown(requested)}, and the request has {shown(asked)}"]
    if isinstance(supported, list) and asked in supported:
        return [f"error.data.supported holds {shown(asked)}, which the error refuses"]
    return ()


_MEANINGS: dict[int, Callable[[Said, Facts], Breaches]] = {
    _HEADER_MISMATCH: _header_mismatch,
    _MISSING_CAPABILITY: _missing_capability,
    _UNSUPPORTED_VERSION: _unsupported_version,
}

_NO_ERROR = "no request was answered with an error"
_STATELESS = at_levels("E")

ERROR_RULES = (
    Rule(
        id="BASE-11",
        name="error-shape",
        category="base",
        property="every error is an object with an integer code and a text message",
        levels=at_levels("ABCDE"),
        topics=("error",),
        start=lambda: Looking(_error_shape),
        nothing=_NO_ERROR,
    ),
    Rule(
        id="BASE-23",
        name="reserved-error-range",
        category="base",
        property="no error has a code from -32099 to -32020 that the protocol does not define",
        levels=_STATELESS,
        topics=("error",),
        start=lambda: Looking(_reserved_range),
        nothing=_NO_ERROR,
    ),
    Rule(
        id="BASE-24",
        name="error-meaning",
        category="base",
        property="-32020, -32021 and -32022 are sent only for what they mean, with their data",
        levels=_STATELESS,
        topics=("error",),
        start=lambda: Looking(_error_meaning),
        nothing="no error has one of these codes",
    ),
    Rule(
        id="BASE-25",
        name="no-32002",
        category="base",
        property="no error has the code -32002",
        levels=_STATELESS,
        topics=("error",),
        start=lambda: Looking(_never(_RESOURCE_NOT_FOUND)),
        nothing=_NO_ERROR,
    ),
    Rule(
        id="BASE-26",
        name="no-32042",
        category="base",
        property="no error has the code -32042",
        levels=_STATELESS,
        topics=("error",),
        start=lambda: Looking(_never(_URL_ELICITATION_REQUIRED)),
        nothing=_NO_ERROR,
    ),
    Rule(
        id="BASE-27",
        name="legacy-error-range",
        category="base",
        property="no error has a code of which nobody can tell what it means",
        levels=at_levels(should="ABCDE"),
        topics=("error",),
        start=lambda: Looking(_legacy_range),
        nothing=_NO_ERROR,
    ),
)
