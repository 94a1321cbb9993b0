"""A mock that is slow or broken on purpose: `--latency` and `--fault`.

Answers go in, deliveries come out: how many seconds to wait, and the bytes to send; None
instead of bytes closes the connection.
"""

from __future__ import annotations

import re

from mcptest.core.diagnostics import suggest
from mcptest.core.errors import UsageError
from mcptest.core.strict_json import dump_json
from mcptest.core.text import visible
from mcptest.core.value_class import Record
from mcptest.formats.fields import parse_duration
from mcptest.protocol.framing import encode_line
from mcptest.protocol.jsonrpc import INTERNAL_ERROR

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from mcptest.mock.session import Sent

    Delivery = tuple[float, bytes | None]

__all__ = ["Faults", "deliver", "parse_faults", "plan_deliveries"]

_KINDS = ("hang", "drop", "error", "slow", "malformed")

_EVERY_METHOD = "*"


class Faults(Record):
    """What happens to answers, by the method of the request; "*" is every method."""

    latencies_s: Mapping[str, float]
    kinds: Mapping[str, str]

    def kind(self, method: str) -> str:
        """hang, drop, error, malformed or slow:SECONDS; "" for a plain answer."""
        return self.kinds.get(method, self.kinds.get(_EVERY_METHOD, ""))

    def delay_s(self, method: str) -> float:
        kind, _, seconds = self.kind(method).partition(":")
        latency_s = self.latencies_s.get(method, self.latencies_s.get(_EVERY_METHOD, 0.0))
        return latency_s + (float(seconds) if kind == "slow" else 0.0)


def parse_faults(latencies: Iterable[str], faults: Iterable[str], methods: Sequence[str]) -> Faults:
    """Parse the options. UsageError if one is malformed, or names an unknown method."""
    latencies_s: dict[str, float] = {}
    for word in latencies:
        method, equals, text = word.rpartition("=")
        name = _check_method("--latency", method if equals else _EVERY_METHOD, methods, latencies_s)
        latencies_s[name] = _parse_seconds("--latency", text)
    kinds: dict[str, str] = {}
    for word in faults:
        method, equals, text = word.rpartition("=")
        if not equals:
            help = f"for example --fault tools/call=hang; there are {', '.join(_KINDS)}"
            raise UsageError(f"--fault takes METHOD=KIND, not {visible(word)!r}", help)
        kinds[_check_method("--fault", method, methods, kinds)] = _parse_kind(text)
    return Faults(latencies_s=latencies_s, kinds=kinds)


def _check_method(
    option: str, method: str, methods: Sequence[str], given: Mapping[str, object]
) -> str:
    if method != _EVERY_METHOD and method not in methods:
        question = suggest(method, methods)
        there = f"there are {', '.join(sorted(methods))}, and * for all"
        raise UsageError(f"{option}: nothing asks for {visible(method)!r}{question}", there)
    if method in given:
        raise UsageError(f"{option} is given twice for {method}")
    return method


def _parse_kind(text: str) -> str:
    kind, colon, rest = text.partition(":")
    if kind not in _KINDS:
        question = suggest(kind, _KINDS)
        raise UsageError(
            f"there is no fault {visible(kind)!r}{question}", f"there are {', '.join(_KINDS)}"
        )
    if (kind == "slow") != bool(colon):
        message = "takes a time: slow:500" if kind == "slow" else f"takes no {visible(rest)!r}"
        raise UsageError(f"--fault {kind} {message}")
    return f"slow:{_parse_seconds('--fault slow', rest)}" if kind == "slow" else kind


def _parse_seconds(option: str, text: str) -> float:
    try:
        return parse_duration(text)
    except ValueError as error:
        raise UsageError(f"{option} {error}") from None


def deliver(faults: Faults, sent: Iterable[Sent]) -> Iterator[Delivery]:
    """When to send which lines; what follows a late answer waits for it."""
    for wait_s, _, line in plan_deliveries(faults, sent):
        yield wait_s, line


def plan_deliveries(
    faults: Faults, sent: Iterable[Sent]
) -> Iterator[tuple[float, Sent, bytes | None]]:
    """As `deliver`, each line with its message, or the error that replaces it."""
    wait_s = 0.0
    for each in sent:
        kind = ""
        if each.is_answer:
            answers = each.parts or (each,)
            wait_s = max(wait_s, *(faults.delay_s(part.method) for part in answers))
            kinds = [faults.kind(part.method) for part in answers]
            if "drop" in kinds or "malformed" in kinds:
                kind = "drop" if "drop" in kinds else "malformed"
            elif all(part == "hang" for part in kinds):
                # If only a part of a batch hangs, the rest is sent.
                kind = "hang"
        if kind == "hang":
            return
        if kind == "drop":
            yield wait_s, each, None
            return
        each = each.but(message=_replace_message(faults, each))
        line = encode_line(each.message)
        if kind == "malformed":
            # The first half of the message, as a line.
            text = re.sub(r"[\r\n]", " ", dump_json(each.message))
            line = text[: max(1, len(text) // 2)].encode("utf-8", "backslashreplace") + b"\n"
        yield wait_s, each, line


def _replace_message(faults: Faults, sent: Sent) -> object:
    if sent.parts:
        rest = [each for each in sent.parts if faults.kind(each.method) != "hang"]
        return [_replace_message(faults, each) for each in rest]
    if not sent.is_answer or faults.kind(sent.method) != "error":
        return sent.message
    id = sent.members.get("id")
    message = f"mcptest mock: an error for {sent.method or 'everything'} was asked for with --fault"
    return {"jsonrpc": "2.0", "id": id, "error": {"code": INTERNAL_ERROR, "message": message}}
