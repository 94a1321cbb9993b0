"""Watch stderr for the text with which a server says that it is ready."""

from __future__ import annotations

import re

from mcptest.core.errors import PatternTimeoutError, ServerError
from mcptest.runner import faults
from mcptest.wire.cpu_limit import CpuLimit

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mcptest.core.ring import Ring

__all__ = ["ReadyPattern"]

# How long the pattern may compute on one piece of text.
_LIMIT = CpuLimit(2.0)

# What it may look back over when text arrives in pieces.
_CARRY_CHARS = 4096


class ReadyPattern:
    """Looks at each piece of stderr once, and a little of what came before it."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._pattern = re.compile(source)
        self._seen = 0
        self._text = ""

    def is_found_in(self, stderr: Ring) -> bool:
        fresh, _ = stderr.since(self._seen)
        self._seen = stderr.total
        self._text = self._text[-_CARRY_CHARS:] + fresh.decode("utf-8", "replace")
        try:
            with _LIMIT:
                return self._pattern.search(self._text) is not None
        except PatternTimeoutError as error:
            culprit = PatternTimeoutError(error.limit_s, self._source)
            raise ServerError(faults.slow_pattern(culprit)) from None
