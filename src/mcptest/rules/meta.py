"""Rules about `_meta` and the names of extensions.

Only the places that the protocol defines are judged: a member `_meta` in arguments, schemas or
structured content is the server's own business.
"""

from __future__ import annotations

import re

from mcptest.rules.rule import Rule, collect, members, show
from mcptest.rules.shared import LISTED, all_blocks, input_requests, objects_in

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcptest.rules.rule import Entry, Facts, Findings, Members
    from mcptest.rules.shared import Placed

__all__ = ["RULES"]

_TOPICS = ("request", "notification", "result")

# The array of each result whose items have a `_meta` of their own.
_WITH_META = LISTED | {"resources/read": "contents"}

_RESERVED = ("mcp", "modelcontextprotocol")
_OFFICIAL = "io.modelcontextprotocol"
# Names under the official prefix that the revisions define.
_DEFINED = frozenset(
    {
        *("clientCapabilities", "clientInfo", "logLevel", "model-immediate-response"),
        *("protocolVersion", "related-task", "serverInfo", "subscriptionId"),
    }
)
# The same with their prefix: nearly every key there is.
_COMMON = frozenset(f"{_OFFICIAL}/{name}" for name in _DEFINED)
# Official extensions, and the registry: each may have keys and a prefix of its own.
_EXTENSIONS = frozenset(
    {
        *("enterprise-managed-authorization", "oauth-client-credentials"),
        *("registry", "skills", "tasks", "ui"),
    }
)


def _metas(entry: Entry) -> Placed:
    """Every `_meta` that is an object, with its path."""
    if entry.kind != "result":
        holders = _holders_in_request("params", entry.params)
    else:
        result, listed = entry.result, _WITH_META.get(entry.method)
        holders = [("result", result)]
        if listed:
            holders += objects_in(f"result.{listed}", result.get(listed), "_meta")
        for path, request in input_requests(entry):
            holders += _holders_in_request(f"{path}.params", members(request.get("params")))
    for path, block in all_blocks(entry):
        holders.append((path, block))
        if isinstance(resource := block.get("resource"), dict):
            holders.append((f"{path}.resource", resource))
    return [
        (f"{path}._meta", meta)
        for path, holder in holders
        if isinstance(meta := holder.get("_meta"), dict)
    ]


def _holders_in_request(path: str, params: Members) -> Placed:
    # Messages and tools are those of a request for sampling.
    return [
        (path, params),
        *objects_in(f"{path}.messages", params.get("messages"), "_meta"),
        *objects_in(f"{path}.tools", params.get("tools"), "_meta"),
    ]


# The grammar of keys


def _check_keys(entry: Entry, _: Facts) -> Findings:
    return collect(
        [
            f"the key {show(key)} of {path} is not well formed: {fault}"
            for key in meta
            if key not in _COMMON and (fault := _key_fault(key))
        ]
        for path, meta in _metas(entry)
    )


def _check_extension_names(entry: Entry, _: Facts) -> Findings:
    def judge(key: str) -> Iterator[str]:
        fault = _key_fault(key) or ("" if "/" in key else "it has no prefix")
        if fault:
            path = "result.capabilities.extensions"
            yield f"the extension {show(key)} in {path} is not well named: {fault}"

    return collect(map(judge, members(members(entry.result.get("capabilities")).get("extensions"))))


_LABEL = r"[A-Za-z](?:[A-Za-z0-9-]*[A-Za-z0-9])?"
_NAME = r"(?:[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)?"


def _key_fault(key: str) -> str:
    """What is wrong with a key, "" when nothing is."""
    prefix, slash, name = key.partition("/") if "/" in key else ("", "", key)
    for label in prefix.split(".") if slash else ():
        if not re.fullmatch(_LABEL, label):
            return (
                f"{show(label)} in its prefix must begin with a letter, end with a letter or "
                "digit, and have only letters, digits and hyphens"
            )
    if re.fullmatch(_NAME, name):
        return ""
    return (
        f"{show(name)} must begin and end with a letter or digit, and have only letters, digits, "
        "hyphens, underscores and dots"
    )


# Reserved prefixes


def _check_prefixes(entry: Entry, facts: Facts) -> Findings:
    metas = list(_metas(entry))
    if not metas:
        return None
    # The official extensions that either side declared, without their prefix.
    declared = {
        key.removeprefix(f"{_OFFICIAL}/")
        for capabilities in (facts.capabilities, facts.client_capabilities)
        for key in members(capabilities.get("extensions"))
        if key.startswith(f"{_OFFICIAL}/")
    }
    is_known = declared <= _EXTENSIONS

    # A generator: only the first sentences are wanted of a message that has thousands of keys.
    def sentences(path: str, meta: Members) -> Iterator[str]:
        for key in meta:
            if key in _COMMON or "/" not in key:
                continue
            if not _is_allowed(key, facts, declared, is_known=is_known):
                yield (
                    f"the key {show(key)} of {path} has a prefix that is reserved for the "
                    "protocol, which does not define it"
                )

    return collect(sentences(path, meta) for path, meta in metas)


def _is_allowed(key: str, facts: Facts, declared: set[str], *, is_known: bool) -> bool:
    """True if the prefix of a key is not reserved, or the protocol or an extension defines it."""
    prefix, _, name = key.partition("/")
    labels = prefix.split(".")
    reserved = labels[:-1] if facts.newest < "2025-11-25" else labels[1:2]
    if not any(label in _RESERVED for label in reserved):
        return True
    if prefix == _OFFICIAL:
        # An extension that is not known here may have defined any name.
        return name in _EXTENSIONS or not is_known
    if not prefix.startswith(f"{_OFFICIAL}."):
        return False
    space = prefix[len(_OFFICIAL) + 1 :].partition(".")[0]
    return space in _EXTENSIONS or space in declared


# Trace context


def _check_trace_context(entry: Entry, _: Facts) -> Findings:
    return collect(
        [f"{path}.{key} must be a {key} as the W3C defines it and is {show(meta[key])}"]
        if not (isinstance(meta[key], str) and is_valid(meta[key]))
        else ()
        for path, meta in _metas(entry)
        for key, is_valid in _FORMATS.items()
        if key in meta
    )


# After the version: the trace, the parent and the flags. Later versions may append more.
_PARENT = "-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}"
_TRACEPARENT = f"00{_PARENT}|(?!00|ff)[0-9a-f]{{2}}{_PARENT}(?:-.*)?"
_STATE = r"([a-z0-9][a-z0-9_\-*/@]{0,255})=[ -+\--<>-~]{1,256}"
_MAX_STATES = 32


def _is_traceparent(value: str) -> bool:
    return re.fullmatch(_TRACEPARENT, value, re.DOTALL) is not None


def _is_tracestate(value: str) -> bool:
    # Members may be empty.
    listed = [member for each in value.split(",") if (member := each.strip(" \t"))]
    found = [re.fullmatch(_STATE, member) for member in listed[: _MAX_STATES + 1]]
    keys = {each[1] for each in found if each}
    return len(keys) == len(listed) <= _MAX_STATES


_FORMATS = {"traceparent": _is_traceparent, "tracestate": _is_tracestate}

_NO_META = "the server sent no _meta"

RULES = {
    "BASE-28 meta-key-grammar": Rule(
        property="every key of a _meta is a name, after a prefix of dotted labels if it has one",
        since="2025-06-18",
        topics=_TOPICS,
        check=_check_keys,
        reason_if_unused=_NO_META,
        section="basic#_meta",
    ),
    "BASE-29 meta-reserved-prefix": Rule(
        property="no key of a _meta has a reserved prefix unless the protocol defines it",
        since="2025-06-18",
        topics=_TOPICS,
        check=_check_prefixes,
        reason_if_unused=_NO_META,
        section="basic#_meta",
    ),
    "BASE-30 trace-context-format": Rule(
        property="every traceparent and tracestate in a _meta is as the W3C defines it",
        since="2026-07-28",
        topics=_TOPICS,
        check=_check_trace_context,
        reason_if_unused="no _meta of the server has a trace context",
        section="basic#_meta",
    ),
    "BASE-31 extension-id-grammar": Rule(
        property="every extension that the server declares is named as prefix/name",
        since="2026-07-28",
        topics=("result:server/discover",),
        check=_check_extension_names,
        reason_if_unused="the server declared no extensions",
        section="basic/versioning#Extension Negotiation",
    ),
}
