"""Messages that cannot be sent, because of what went before in the same file."""

from __future__ import annotations

from mcptest.core.outcome import Fault
from mcptest.core.text import visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["UnsentError", "missing_values"]


class UnsentError(Exception):
    """A message that cannot be made or sent; the server has no part in it.

    `has_begun` says that others were sent before it, which may still be answered.
    """

    def __init__(self, fault: Fault, *, has_begun: bool = False) -> None:
        super().__init__(fault.message)
        self.fault = fault
        self.has_begun = has_begun


def missing_values(names: Sequence[str]) -> Fault:
    """Names that a dialogue uses and that nothing has bound in this run."""
    listed = ", ".join(visible(name) for name in names)
    return Fault(
        kind="missing_capture",
        message=f"it needs the value of {listed}, which nothing has bound in this run",
        hint="the case that binds it failed, was skipped or was not selected",
    )
