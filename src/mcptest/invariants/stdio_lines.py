"""Rules about the lines that a server writes to its standard output.

What is no message comes as noise: a line of text, as the capture has it. A capture has nothing
of the standard error, so that no rule is about it.
"""

from __future__ import annotations

import json

from mcptest.core.strict_json import NotJsonError, dump_json, parse_json
from mcptest.invariants.rule import Looking, Rule, at_levels
from mcptest.invariants.wording import shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mcptest.invariants.facts import Facts
    from mcptest.invariants.rule import Breaches, Watch
    from mcptest.invariants.said import Said

__all__ = ["STDIO_RULES"]

# A message that is spread over more lines, or characters, than this is not put together again.
_MAX_LINES = 10_000
_MAX_CHARS = 1_000_000
# So many breaches are held back.
_MAX_HELD = 20


class _OverStdio:
    """Asks another watch about sessions over stdio only.

    A capture may name its transport after its exchanges. Noise can only be of one over stdio;
    what is found in messages is held back until the transport is known.
    """

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._held: list[str] | None = None

    def see(self, said: Said, facts: Facts) -> Breaches:
        if facts.transport and not _is_stdio(facts):
            return None
        breaches = self._watch.see(said, facts)
        if breaches is None or facts.transport or said.kind == "noise":
            return breaches
        self._held = [*(self._held or ()), *breaches][:_MAX_HELD]
        return None

    def end(self, facts: Facts) -> Breaches:
        return self._held if _is_stdio(facts) else None


def _is_stdio(facts: Facts) -> bool:
    return facts.is_stdio


def _pure(said: Said, _: Facts) -> Breaches:
    if said.kind == "noise":
        return [f"the server wrote a line that is no message: {shown(said.message)}"]
    is_stray = said.kind == "malformed" and (
        not isinstance(said.message, dict) or "jsonrpc" not in said.message
    )
    if is_stray:
        return [f"the server wrote a line of JSON that is no message: {shown(said.message)}"]
    return ()


class _OneLine:
    """Puts lines that are no messages together again, and sees whether they are one then."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._chars = 0
        self._depth = 0

    def see(self, said: Said, _: Facts) -> Breaches:
        line = _line_of(said)
        if line is None:
            self._forget()
            return ()
        return self._take(line)

    def _take(self, line: str) -> Breaches:
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
        return [f"a message is spread over {lines:,} lines and must be on one: {shown(text)}"]

    def _forget(self) -> None:
        self._lines, self._chars, self._depth = [], 0, 0

    def end(self, _: Facts) -> Breaches:
        return None


def _line_of(said: Said) -> str | None:
    """What may be a piece of a message: noise, or a value that stands alone on its line."""
    if said.kind == "noise":
        return str(said.message)
    is_value = said.kind == "malformed" and not isinstance(said.message, dict)
    return dump_json(said.message) if is_value or said.message in ([], {}) else None


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


def _ended(said: Said, _: Facts) -> Breaches:
    if said.kind != "noise":
        return ()
    line = str(said.message).lstrip()
    if not line.startswith("{") or '"jsonrpc"' not in line:
        return None
    rest = _after_message(line)
    if rest is None:
        return None
    if not rest:
        # A line that is refused for something else may well have had its newline.
        return [f"a message has no newline at its end: {shown(line)}"] if _is_json(line) else None
    return [f"a message has no newline at its end; {shown(rest)} follows it on the same line"]


def _after_message(line: str) -> str | None:
    """What follows the message with which a line begins; None when it begins with none."""
    try:
        message, end = json.JSONDecoder().raw_decode(line)
    except (ValueError, RecursionError):
        return None
    is_message = isinstance(message, dict) and "jsonrpc" in message
    return line[end:].strip() if is_message else None


def _no_requests(said: Said, _: Facts) -> Breaches:
    if said.kind != "request":
        return ()
    return [f"the server sent the request {shown(said.method)}; it may only answer and notify"]


class _Utf8OnStderr:
    """What is on stderr is nobody's business; but whoever reads it must be able to."""

    def see(self, said: Said, facts: Facts) -> Breaches:
        return None

    def end(self, facts: Facts) -> Breaches:
        if facts.is_stderr_utf8 is None:
            return None
        return () if facts.is_stderr_utf8 else ["what the server wrote to stderr is not UTF-8"]


_ALL = at_levels("ABCDE")
_NOTHING = "the server wrote nothing, or not to its standard output"

STDIO_RULES = (
    Rule(
        id="STDIO-01",
        name="stdout-pure",
        category="stdio",
        property="every line that the server writes to its standard output is a message",
        levels=_ALL,
        topics=("noise", "server"),
        start=lambda: _OverStdio(Looking(_pure)),
        nothing=_NOTHING,
    ),
    Rule(
        id="STDIO-02",
        name="one-line-per-message",
        category="stdio",
        property="no message is spread over several lines",
        levels=_ALL,
        topics=("noise", "server"),
        start=lambda: _OverStdio(_OneLine()),
        nothing=_NOTHING,
    ),
    Rule(
        id="STDIO-03",
        name="newline-terminated",
        category="stdio",
        property="every message ends with a newline",
        levels=_ALL,
        topics=("noise", "server"),
        start=lambda: _OverStdio(Looking(_ended)),
        nothing=_NOTHING,
    ),
    Rule(
        id="STDIO-07",
        name="no-server-requests",
        category="stdio",
        property="over stdio the server sends no requests of its own",
        levels=at_levels("E"),
        topics=("server",),
        start=lambda: _OverStdio(Looking(_no_requests)),
        nothing=_NOTHING,
        elsewhere="requests of the server",
    ),
    Rule(
        id="STDIO-08",
        name="stderr-utf8",
        category="stdio",
        property="what the server writes to its standard error is UTF-8",
        levels=at_levels(should="ABCDE"),
        topics=(),
        start=_Utf8OnStderr,
        nothing="nothing is known of what the server wrote to its standard error",
    ),
)
