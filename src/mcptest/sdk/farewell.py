"""What a binary that has ended left to say, passed on to whoever used it."""

from __future__ import annotations

import sys
import warnings

from mcptest.core.text import visible
from mcptest.sdk.errors import CoprocessWarning, blanked
from mcptest.wire.stopping import describe_end

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from mcptest.wire.line_peer import LinePeer

__all__ = ["last_words", "pass_on"]

_MARK = "warning: "


def last_words(peer: LinePeer, *, was_awaited: bool) -> list[str]:
    """The warnings of a binary, and how it ended when that was not as it should.

    Whoever was not awaited to end was ended by us.
    """
    text = "\n" + visible(peer.last_words, keep_newlines=True)
    found = [block.strip("\n") for block in text.split(f"\n{_MARK}") if block.strip()]
    if peer.exit_code and was_awaited:
        found.append(f"the mcptest binary {describe_end(peer.exit_code)}")
    return found


def pass_on(told: Iterable[str]) -> None:
    """Warn, at the line that is not ours. Whoever has warnings raised is left here."""
    for words in told:
        warnings.warn(blanked(words), CoprocessWarning, stacklevel=_outside())


def _outside() -> int:
    """How far up the stack the first caller is that is not in this package."""
    frame, level = sys._getframe(1), 1
    while frame.f_back and frame.f_globals.get("__name__", "").startswith("mcptest"):
        frame, level = frame.f_back, level + 1
    return level
