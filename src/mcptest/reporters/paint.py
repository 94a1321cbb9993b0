"""Colour as a value: on, every method wraps its text; off, text comes back as it went in.

Text goes in and comes out. Whether a stream is a terminal, and what NO_COLOR says,
is for the caller to find out.
"""

from __future__ import annotations

from mcptest.core.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mcptest.matching.diff import DiffLine

__all__ = ["Paint"]


class Paint(Record):
    """A box of colours, or an empty one."""

    on: bool

    def red(self, text: str) -> str:
        return self._with("31", text)

    def green(self, text: str) -> str:
        return self._with("32", text)

    def yellow(self, text: str) -> str:
        return self._with("33", text)

    def dim(self, text: str) -> str:
        return self._with("2", text)

    def bold(self, text: str) -> str:
        return self._with("1", text)

    def signed(self, line: DiffLine) -> str:
        """The line in the colour of its kind: what was wanted green, what came red."""
        if line.sign == "-":
            return self.green(line.text)
        if line.sign in "+^":
            return self.red(line.text)
        return self.dim(line.text) if line.sign == "…" else line.text

    def _with(self, code: str, text: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self.on and text else text
