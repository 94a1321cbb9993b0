"""Rules about the output of a server over stdio (STDIO)."""

from __future__ import annotations

import json

from mcptest.core.strict_json import NotJsonError, dump_json, parse_json
from mcptest.core.text import list_names
from mcptest.rules.rule import Rule, SessionCheck, show

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcptest.rules.rule import Entry, EntryCheck, Facts, Findings

__all__ = ["RULES"]

# A message over more lines or characters than this is not reassembled.
_MAX_LINES = 10_000
_MAX_CHARS = 1_000_000
# Findings kept until the transport is known.
_MAX_HELD = 20
_MAX_NAMED = 3


class _StdioOnly(SessionCheck):
    """Judges sessions over stdio only.

    A capture may name its transport after its exchanges, so findings in messages are kept until
    the end unless its label names it. Noise is recorded only over stdio.
    """

    def __init__(self, judge: EntryCheck | SessionCheck) -> None:
        self._judge = judge.check if isinstance(judge, SessionCheck) else judge
        self._at_end = judge.end if isinstance(judge, SessionCheck) else None
        self._held: list[str] | None = None

    def check(self, entry: Entry, facts: Facts) -> Findings:
        if facts.transport and not facts.is_stdio:
            return None
        findings = self._judge(entry, facts)
        if findings is None or facts.transport or facts.is_stdio or entry.kind == "noise":
            return findings
        self._held = [*(self._held or ()), *findings][:_MAX_HELD]
        return None

    def end(self, facts: Facts) -> Findings:
        if not facts.is_stdio:
            return None
        more = self._at_end(facts) if self._at_end else None
        return self._held if more is None else [*(self._held or ()), *more]


class _StdoutPure(SessionCheck):
    """Reports lines that are not messages, except those that STDIO-02 joins to a message."""

    def __init__(self) -> None:
        self._joined = _OnOneLine()
        self._waiting: list[str] = []

    def check(self, entry: Entry, facts: Facts) -> Findings:
        findings = _check_message(entry, facts)
        if self._joined.check(entry, facts):
            self._waiting = []
            return ()
        self._waiting += findings
        if self._joined.is_open:
            return ()
        waiting, self._waiting = self._waiting, []
        return waiting

    def end(self, _: Facts) -> Findings:
        return self._waiting or None


def _check_message(entry: Entry, _: Facts) -> Sequence[str]:
    if entry.kind == "noise":
        return [f"the server wrote a line that is not a message: {show(entry.message)}"]
    is_other = entry.kind == "malformed" and (
        not isinstance(entry.message, dict) or "jsonrpc" not in entry.message
    )
    if is_other:
        return [f"the server wrote a line of JSON that is not a message: {show(entry.message)}"]
    return ()


class _OnOneLine(SessionCheck):
    """Joins lines that are not messages and tries to parse them as one."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._chars = 0
        self._depth = 0

    def check(self, entry: Entry, _: Facts) -> Findings:
        line = _line_of(entry)
        if line is None:
            self._reset()
            return ()
        depth = _depth_change(line)
        begins = depth > 0 and line.lstrip().startswith(("{", "["))
        if not self._lines and not begins:
            return None
        self._lines.append(line)
        self._chars += len(line)
        self._depth += depth
        if self._depth > 0:
            if len(self._lines) > _MAX_LINES or self._chars > _MAX_CHARS:
                self._reset()
            return None
        lines, text = len(self._lines), "\n".join(self._lines)
        self._reset()
        if not _is_json(text):
            return None
        return [f"a message is spread over {lines:,} lines and must be on one: {show(text)}"]

    @property
    def is_open(self) -> bool:
        """True if a message has begun that goes on in the next line."""
        return bool(self._lines)

    def _reset(self) -> None:
        self._lines, self._chars, self._depth = [], 0, 0


def _line_of(entry: Entry) -> str | None:
    """A line that may be part of a message: noise, or a value that is not a message."""
    if entry.kind == "noise":
        return str(entry.message)
    is_value = entry.kind == "malformed" and not isinstance(entry.message, dict)
    return dump_json(entry.message) if is_value or entry.message in ([], {}) else None


def _depth_change(line: str) -> int:
    """How many more brackets a line opens than it closes, outside strings."""
    # JSON strings end on the line on which they begin.
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


def _check_newline(entry: Entry, _: Facts) -> Findings:
    if entry.kind != "noise":
        return ()
    line = str(entry.message).lstrip()
    if not line.startswith("{") or '"jsonrpc"' not in line:
        return None
    try:
        message, end = json.JSONDecoder().raw_decode(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(message, dict) or "jsonrpc" not in message:
        return None
    rest = line[end:].strip()
    if not rest:
        # A line that is refused for another reason may have had its newline.
        return [f"a message has no newline at its end: {show(line)}"] if _is_json(line) else None
    return [f"a message has no newline at its end; {show(rest)} follows it on the same line"]


def _check_no_request(entry: Entry, _: Facts) -> Findings:
    if entry.kind != "request":
        return ()
    return [f"the server sent the request {show(entry.method)}; it may only answer and notify"]


class _StderrUtf8(SessionCheck):
    """Any output on stderr is allowed, if it is UTF-8."""

    def end(self, facts: Facts) -> Findings:
        if facts.is_stderr_utf8 is None:
            return None
        return () if facts.is_stderr_utf8 else ["what the server wrote to stderr is not UTF-8"]


class _ExitOnEndOfInput(SessionCheck):
    """The end of the session shows whether SIGTERM or SIGKILL was needed."""

    def end(self, facts: Facts) -> Findings:
        if not facts.is_stdio or facts.ended_by not in ("stdin", "term", "kill"):
            return None
        if facts.ended_by == "stdin":
            return ()
        signal = "SIGTERM" if facts.ended_by == "term" else "SIGKILL"
        asked = [str(request.get("method")) for request in facts.server_open.values()]
        waiting = f" while {list_names(asked, _MAX_NAMED)} had no answer" if asked else ""
        return [f"the server did not exit when its input ended{waiting}; {signal} ended it"]


_NOTHING = "the server wrote nothing, or not to its standard output"

RULES = {
    "STDIO-01 stdout-pure": Rule(
        property="every line that the server writes to its standard output is a message",
        topics=("noise", "server"),
        session_check=lambda: _StdioOnly(_StdoutPure()),
        reason_if_unused=_NOTHING,
        section="basic/transports#stdio",
        stateless_section="basic/transports/stdio#Receiving Messages",
    ),
    "STDIO-02 one-line-per-message": Rule(
        property="no message is spread over several lines",
        topics=("noise", "server"),
        session_check=lambda: _StdioOnly(_OnOneLine()),
        reason_if_unused=_NOTHING,
        section="basic/transports#stdio",
        stateless_section="basic/transports/stdio#Receiving Messages",
    ),
    "STDIO-03 newline-terminated": Rule(
        property="every message ends with a newline",
        topics=("noise", "server"),
        session_check=lambda: _StdioOnly(_check_newline),
        covers=("STDIO-01",),
        reason_if_unused=_NOTHING,
        section="basic/transports#stdio",
        stateless_section="basic/transports/stdio#Receiving Messages",
    ),
    "STDIO-07 no-server-requests": Rule(
        property="over stdio the server sends no requests of its own",
        since="2026-07-28",
        topics=("server",),
        session_check=lambda: _StdioOnly(_check_no_request),
        covers=("BASE-36", "ELIC-01", "ELIC-02", "ROOT-01", "SAMP-01"),
        reason_if_unused=_NOTHING,
        reason_if_other_revision="requests of the server",
        section="basic/transports/stdio#Receiving Messages",
    ),
    "STDIO-08 stderr-utf8": Rule(
        property="what the server writes to its standard error is UTF-8",
        level="SHOULD",
        topics=(),
        session_check=_StderrUtf8,
        reason_if_unused="nothing is known of what the server wrote to its standard error",
        section="basic/transports#stdio",
        stateless_section="basic/transports/stdio#Receiving Messages",
    ),
    "STDIO-10 exit-on-eof": Rule(
        property="the server exits when its input ends, also if it waits for answers of the client",
        level="SHOULD",
        topics=(),
        session_check=_ExitOnEndOfInput,
        reason_if_unused="it is not known that the server exited after the end of its input",
        section="basic/lifecycle#Shutdown",
        stateless_section="basic/transports/stdio#Shutdown",
    ),
}
