"""Rules about the lines that a server writes to its standard output: STDIO."""

from __future__ import annotations

import json

from mcptest.core.strict_json import NotJsonError, dump_json, parse_json
from mcptest.rules.rule import Rule, Watch, show

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from mcptest.rules.facts import Facts
    from mcptest.rules.rule import Entry, Findings, Look

    Members = dict[str, Any]

__all__ = ["RULES"]

# A message that is spread over more lines, or characters, than this is not put together again.
_MAX_LINES = 10_000
_MAX_CHARS = 1_000_000
# So many findings are held back.
_MAX_HELD = 20


class _OverStdio(Watch):
    """Judges sessions over stdio only.

    A capture may name its transport after its exchanges. Only sessions over stdio have noise;
    findings in messages are held back until the transport is known.
    """

    def __init__(self, look: Look) -> None:
        self._look = look
        self._held: list[str] | None = None

    def see(self, entry: Entry, facts: Facts) -> Findings:
        if facts.transport and not facts.is_stdio:
            return None
        findings = self._look(entry, facts)
        if findings is None or facts.transport or entry.kind == "noise":
            return findings
        self._held = [*(self._held or ()), *findings][:_MAX_HELD]
        return None

    def end(self, facts: Facts) -> Findings:
        return self._held if facts.is_stdio else None


def _pure(entry: Entry, _: Facts) -> Findings:
    if entry.kind == "noise":
        return [f"the server wrote a line that is not a message: {show(entry.message)}"]
    is_other = entry.kind == "malformed" and (
        not isinstance(entry.message, dict) or "jsonrpc" not in entry.message
    )
    if is_other:
        return [f"the server wrote a line of JSON that is not a message: {show(entry.message)}"]
    return ()


class _OneLine(Watch):
    """Puts lines that are no messages together again, and sees whether they are one then."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._chars = 0
        self._depth = 0

    def see(self, entry: Entry, _: Facts) -> Findings:
        line = _line_of(entry)
        if line is None:
            self._forget()
            return ()
        return self._take(line)

    def _take(self, line: str) -> Findings:
        depth = _depth_change(line)
        begins = depth > 0 and line.lstrip().startswith(("{", "["))
        if not self._lines and not begins:
            return None
        self._lines.append(line)
        self._chars += len(line)
        self._depth += depth
        if self._depth > 0:
            if len(self._lines) > _MAX_LINES or self._chars > _MAX_CHARS:
                self._forget()
            return None
        lines, text = len(self._lines), "\n".join(self._lines)
        self._forget()
        if not _is_json(text):
            return None
        return [f"a message is spread over {lines:,} lines and must be on one: {show(text)}"]

    def _forget(self) -> None:
        self._lines, self._chars, self._depth = [], 0, 0


def _line_of(entry: Entry) -> str | None:
    """What may be a piece of a message: noise, or a value that stands alone on its line."""
    if entry.kind == "noise":
        return str(entry.message)
    is_value = entry.kind == "malformed" and not isinstance(entry.message, dict)
    return dump_json(entry.message) if is_value or entry.message in ([], {}) else None


def _depth_change(line: str) -> int:
    """How many more brackets a line opens than it closes; what is quoted does not count."""
    # No text in JSON goes over the end of a line, and what is escaped is no quote.
    pieces = line.replace("\\\\", "").replace('\\"', "").split('"')[::2]
    return sum(
        piece.count("{") + piece.count("[") - piece.count("}") - piece.count("]")
        for piece in pieces
    )


def _is_json(text: str) -> bool:
    try:
        parse_json(text)
    except NotJsonError:
        return False
    return True


def _ended(entry: Entry, _: Facts) -> Findings:
    if entry.kind != "noise":
        return ()
    line = str(entry.message).lstrip()
    if not line.startswith("{") or '"jsonrpc"' not in line:
        return None
    rest = _after_message(line)
    if rest is None:
        return None
    if not rest:
        # A line that is refused for something else may well have had its newline.
        return [f"a message has no newline at its end: {show(line)}"] if _is_json(line) else None
    return [f"a message has no newline at its end; {show(rest)} follows it on the same line"]


def _after_message(line: str) -> str | None:
    """What follows the message with which a line begins; None when it begins with none."""
    try:
        message, end = json.JSONDecoder().raw_decode(line)
    except (ValueError, RecursionError):
        return None
    is_message = isinstance(message, dict) and "jsonrpc" in message
    return line[end:].strip() if is_message else None


def _no_requests(entry: Entry, _: Facts) -> Findings:
    if entry.kind != "request":
        return ()
    return [f"the server sent the request {show(entry.method)}; it may only answer and notify"]


class _Utf8OnStderr(Watch):
    """The content of stderr is free, but it must be readable."""

    def see(self, entry: Entry, facts: Facts) -> Findings:
        return None

    def end(self, facts: Facts) -> Findings:
        if facts.is_stderr_utf8 is None:
            return None
        return () if facts.is_stderr_utf8 else ["what the server wrote to stderr is not UTF-8"]


_NOTHING = "the server wrote nothing, or not to its standard output"

RULES = (
    Rule(
        id="STDIO-01",
        name="stdout-pure",
        category="stdio",
        property="every line that the server writes to its standard output is a message",
        topics=("noise", "server"),
        watch=lambda: _OverStdio(_pure),
        nothing=_NOTHING,
    ),
    Rule(
        id="STDIO-02",
        name="one-line-per-message",
        category="stdio",
        property="no message is spread over several lines",
        topics=("noise", "server"),
        watch=lambda: _OverStdio(_OneLine().see),
        nothing=_NOTHING,
    ),
    Rule(
        id="STDIO-03",
        name="newline-terminated",
        category="stdio",
        property="every message ends with a newline",
        topics=("noise", "server"),
        watch=lambda: _OverStdio(_ended),
        nothing=_NOTHING,
    ),
    Rule(
        id="STDIO-07",
        name="no-server-requests",
        category="stdio",
        property="over stdio the server sends no requests of its own",
        since="2026-07-28",
        topics=("server",),
        watch=lambda: _OverStdio(_no_requests),
        nothing=_NOTHING,
        elsewhere="requests of the server",
    ),
    Rule(
        id="STDIO-08",
        name="stderr-utf8",
        category="stdio",
        property="what the server writes to its standard error is UTF-8",
        level="SHOULD",
        topics=(),
        watch=_Utf8OnStderr,
        nothing="nothing is known of what the server wrote to its standard error",
    ),
)
