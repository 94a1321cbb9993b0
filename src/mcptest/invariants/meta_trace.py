"""Trace context in `_meta`: traceparent, tracestate and baggage, as the W3C writes them."""

from __future__ import annotations

from mcptest.invariants.base_values import gathered
from mcptest.invariants.meta_places import META_TOPICS, metas
from mcptest.invariants.rule import Looking, Rule, at_levels
from mcptest.invariants.wording import shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcptest.invariants.facts import Facts
    from mcptest.invariants.rule import Breaches
    from mcptest.invariants.said import Said

__all__ = ["TRACE_RULES"]

_HEX = frozenset("0123456789abcdef")
_LOWER = frozenset("abcdefghijklmnopqrstuvwxyz0123456789")
_STATE_KEY = _LOWER | frozenset("_-*/@")
_TOKEN = _LOWER | frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZ!#$%&'*+-.^_`|~")
_PRINTABLE = frozenset(map(chr, range(0x21, 0x7F)))
_STATE_VALUE = (_PRINTABLE | {" "}) - frozenset(",=")
_BAGGAGE_VALUE = _PRINTABLE - frozenset('",;\\')

_MAX_STATES = 32
_MAX_STATE_CHARS = 256
# How long the parts of a traceparent are: version, trace, parent, flags.
_PARENT_PARTS = (2, 32, 16, 2)


def _trace_context(said: Said, _: Facts) -> Breaches:
    return gathered(_contexts(said))


def _contexts(said: Said) -> Iterator[str]:
    for path, meta in metas(said):
        for key, is_sound in _FORMATS.items():
            if key in meta:
                value = meta[key]
                is_right = isinstance(value, str) and is_sound(value)
                wanted = f"must be what the W3C calls a {key}"
                yield "" if is_right else f"{path}.{key} {wanted} and is {shown(value)}"


def _is_traceparent(value: str) -> bool:
    parts = value.split("-", 4)
    if len(parts) < 4 or tuple(map(len, parts[:4])) != _PARENT_PARTS:
        return False
    version, trace, parent, _ = parts[:4]
    if not all(_HEX.issuperset(part) for part in parts[:4]) or version == "ff":
        return False
    # Later versions may append more.
    has_end = len(parts) == 4 or version != "00"
    return has_end and trace.strip("0") != "" and parent.strip("0") != ""


def _is_tracestate(value: str) -> bool:
    # Members may be empty.
    listed = [member for each in value.split(",") if (member := each.strip(" \t"))]
    keys = {member.partition("=")[0] for member in listed}
    return len(listed) <= _MAX_STATES and len(keys) == len(listed) and all(map(_is_state, listed))


def _is_state(member: str) -> bool:
    key, equals, value = member.partition("=")
    return (
        equals == "="
        and 0 < len(key) <= _MAX_STATE_CHARS
        and 0 < len(value) <= _MAX_STATE_CHARS
        and key[0] in _LOWER
        and _STATE_KEY.issuperset(key)
        and _STATE_VALUE.issuperset(value)
    )


def _is_baggage(value: str) -> bool:
    return all(_is_baggage_member(member) for member in value.split(","))


def _is_baggage_member(member: str) -> bool:
    pair, *properties = member.split(";")
    return _is_pair(pair) and all(_is_pair(each, may_be_bare=True) for each in properties)


def _is_pair(text: str, *, may_be_bare: bool = False) -> bool:
    key, equals, value = (part.strip(" \t") for part in text.partition("="))
    return (
        key != ""
        and _TOKEN.issuperset(key)
        and (may_be_bare or equals == "=")
        and _BAGGAGE_VALUE.issuperset(value)
    )


_FORMATS = {
    "traceparent": _is_traceparent,
    "tracestate": _is_tracestate,
    "baggage": _is_baggage,
}

TRACE_RULES = (
    Rule(
        id="BASE-30",
        name="trace-context-format",
        category="base",
        property="every traceparent, tracestate and baggage in a _meta is as the W3C writes it",
        levels=at_levels("E"),
        topics=META_TOPICS,
        start=lambda: Looking(_trace_context),
        nothing="no _meta of the server has a trace context",
    ),
)
