"""What a server did wrong without breaking a test: each thing once, with a count."""

from __future__ import annotations

from mcptest.core.outcome import Finding
from mcptest.core.text import visible
from mcptest.runner import faults
from mcptest.wire.stopping import describe_end

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcptest.core.framing import LineDecoder, Noise
    from mcptest.core.session import Strayed, Violated
    from mcptest.wire.stopping import Stopped

__all__ = ["Findings"]

# A server can be wrong in endless ways; this many are told apart.
_MAX_KINDS = 50


class Findings:
    """Collects findings about one server, folding repeats."""

    def __init__(self, server: str) -> None:
        self._server = server
        self._found: dict[str, Finding] = {}

    def __iter__(self) -> Iterator[Finding]:
        return iter(self._found.values())

    def count(self, kind: str) -> int:
        return sum(finding.count for finding in self if finding.kind == kind)

    def add(self, kind: str, message: str, *, quote: str = "", count: int = 1) -> None:
        key = f"{kind} {message}"
        known = self._found.get(key)
        if known:
            self._found[key] = known.but(count=known.count + count)
        elif len(self._found) < _MAX_KINDS:
            self._found[key] = Finding(
                kind=kind, server=self._server, message=message, quote=quote, count=count
            )

    def add_noise(self, noise: Noise) -> None:
        quote = f"{faults.quoted_line(noise.raw, noise.size)} ({noise.reason})"
        self.add("malformed_line", faults.NOISE, quote=quote)

    def add_stray(self, event: Strayed) -> None:
        self.add(event.kind, faults.STRAYS[event.kind], quote=faults.quoted(event.message))

    def add_violation(self, event: Violated) -> None:
        sentence = faults.violation_sentence(event)
        self.add("protocol_violation", sentence, quote=faults.quoted(event.message))

    def note_ending(self, stopped: Stopped, decoder: LineDecoder, is_told: bool) -> None:
        """What is only known when the server has ended."""
        # Who ends between the last answer and our closing its stdin is a matter of luck, so
        # a bad status counts either way.
        is_its_own_end = stopped.rung in ("exited", "stdin")
        if is_its_own_end and stopped.exit_code and not is_told:
            self.add("unclean_end", f"the server {describe_end(stopped.exit_code)}")
        elif stopped.rung == "exited" and not is_told:
            self.add("unclean_end", "the server ended before it was asked to")
        if decoder.crlf_lines:
            message = "the server ends its lines with CR LF; messages end with LF alone"
            self.add("crlf", message, count=decoder.crlf_lines)
        if decoder.blank_lines:
            self.add("blank_line", "the server wrote blank lines", count=decoder.blank_lines)
        if stopped.rung == "term":
            self.add("needed_term", "the server did not end when its stdin closed; SIGTERM did it")
        if stopped.rung == "kill":
            self.add(
                "needed_kill", "the server ignored its closed stdin and SIGTERM; it was killed"
            )
        for pid, command in stopped.left_behind.items():
            message = "the server left processes behind; they were killed"
            if pid in stopped.unmarked and stopped.suspects:
                others = " or ".join(map(visible, stopped.suspects))
                message = f"the server or {others} left processes behind; they were killed"
            self.add("left_behind", message, quote=f"{pid}: {visible(command)}")
