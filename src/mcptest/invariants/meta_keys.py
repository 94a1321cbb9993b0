"""The keys of `_meta` and the names of extensions: their grammar, and which are reserved."""

from __future__ import annotations

from mcptest.invariants.base_values import gathered, members
from mcptest.invariants.meta_places import META_TOPICS, metas
from mcptest.invariants.rule import Looking, Rule, at_levels
from mcptest.invariants.wording import shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcptest.invariants.facts import Facts
    from mcptest.invariants.rule import Breaches
    from mcptest.invariants.said import Said

__all__ = ["KEY_RULES"]

_RESERVED = ("mcp", "modelcontextprotocol")
_OFFICIAL = "io.modelcontextprotocol"
# Names under the official prefix that the revisions define.
_DEFINED = frozenset(
    [
        "clientCapabilities",
        "clientInfo",
        "logLevel",
        "model-immediate-response",
        "protocolVersion",
        "related-task",
        "serverInfo",
        "subscriptionId",
    ]
)
# Those with their prefix: nearly every key there is, and nothing is wrong with them.
_COMMON = frozenset(f"{_OFFICIAL}/{name}" for name in _DEFINED)
# Official extensions, and the registry: each may have keys and a prefix of its own.
_EXTENSIONS = frozenset(
    [
        "enterprise-managed-authorization",
        "oauth-client-credentials",
        "registry",
        "skills",
        "tasks",
        "ui",
    ]
)


def _grammar(said: Said, _: Facts) -> Breaches:
    return gathered(_malformed_keys(said))


def _malformed_keys(said: Said) -> Iterator[str]:
    for path, meta in metas(said):
        yield ""
        for key in meta:
            if key not in _COMMON and (fault := _fault(key)):
                yield f"the key {shown(key)} of {path} is not well formed: {fault}"


def _reserved(said: Said, facts: Facts) -> Breaches:
    return gathered(_taken_keys(said, facts))


def _taken_keys(said: Said, facts: Facts) -> Iterator[str]:
    declared: set[str] | None = None
    for path, meta in metas(said):
        yield ""
        for key in meta:
            prefix, slash, name = key.partition("/")
            if key in _COMMON or not slash or not _is_reserved(prefix, facts):
                continue
            if declared is None:
                declared = _declared_extensions(facts)
            if not _is_defined(prefix, name, declared):
                yield (
                    f"the key {shown(key)} of {path} has a prefix that is reserved for the "
                    "protocol, which does not define it"
                )


def _extension_ids(said: Said, _: Facts) -> Breaches:
    return gathered(_named_extensions(said))


def _named_extensions(said: Said) -> Iterator[str]:
    for key in members(members(said.result.get("capabilities")).get("extensions")):
        fault = _fault(key) or ("" if "/" in key else "it has no prefix")
        path = "result.capabilities.extensions"
        yield f"the extension {shown(key)} in {path} is not well named: {fault}" if fault else ""


# Grammar


def _fault(key: str) -> str:
    """What is wrong with a key, "" when nothing is."""
    prefix, slash, name = key.partition("/")
    if slash:
        for label in prefix.split("."):
            if not _is_label(label):
                return (
                    f"{shown(label)} in its prefix must begin with a letter, end with a letter or "
                    "digit, and have only letters, digits and hyphens"
                )
    return _name_fault(name if slash else prefix)


def _is_label(label: str) -> bool:
    return (
        label.isascii()
        and label[:1].isalpha()
        and label[-1:].isalnum()
        and label.replace("-", "").isalnum()
    )


def _name_fault(name: str) -> str:
    if not name:
        return ""
    bare = name.replace("-", "").replace("_", "").replace(".", "")
    if name.isascii() and bare.isalnum() and name[0].isalnum() and name[-1].isalnum():
        return ""
    return (
        f"{shown(name)} must begin and end with a letter or digit, and have only letters, digits, "
        "hyphens, underscores and dots"
    )


# Reserved prefixes


def _is_reserved(prefix: str, facts: Facts) -> bool:
    labels = prefix.split(".")
    if facts.letters == {"C"}:
        return any(label in _RESERVED for label in labels[:-1])
    return len(labels) > 1 and labels[1] in _RESERVED


def _is_defined(prefix: str, name: str, declared: set[str]) -> bool:
    if prefix == _OFFICIAL:
        # An extension that is not known here may have defined any name.
        return name in _EXTENSIONS or not declared <= _EXTENSIONS
    if not prefix.startswith(f"{_OFFICIAL}."):
        return False
    space = prefix[len(_OFFICIAL) + 1 :].partition(".")[0]
    return space in _EXTENSIONS or space in declared


def _declared_extensions(facts: Facts) -> set[str]:
    """The official extensions that either side declared, without their prefix."""
    return {
        name
        for capabilities in (facts.capabilities, facts.client_capabilities)
        for prefix, _, name in (
            key.partition("/") for key in members(capabilities.get("extensions"))
        )
        if prefix == _OFFICIAL
    }


_SINCE_C = at_levels("CDE")
_NO_META = "the server sent no _meta"

KEY_RULES = (
    Rule(
        id="BASE-28",
        name="meta-key-grammar",
        category="base",
        property="every key of a _meta is a name, after a prefix of dotted labels if it has one",
        levels=_SINCE_C,
        topics=META_TOPICS,
        start=lambda: Looking(_grammar),
        nothing=_NO_META,
    ),
    Rule(
        id="BASE-29",
        name="meta-reserved-prefix",
        category="base",
        property="no key of a _meta has a reserved prefix unless the protocol defines it",
        levels=_SINCE_C,
        topics=META_TOPICS,
        start=lambda: Looking(_reserved),
        nothing=_NO_META,
    ),
    Rule(
        id="BASE-31",
        name="extension-id-grammar",
        category="base",
        property="every extension that the server declares is named as prefix/name",
        levels=at_levels("E"),
        topics=("result:server/discover",),
        start=lambda: Looking(_extension_ids),
        nothing="the server declared no extensions",
    ),
)
