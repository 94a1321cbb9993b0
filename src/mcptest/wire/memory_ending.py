"""What is said of a server in our own process that raised, or that did not end. Pure."""

from __future__ import annotations

from mcptest.core.trouble import Trouble
from mcptest.wire.raised import named

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mcptest.wire.loop_thread import Ending

__all__ = ["RAISED", "ending_trouble", "raised_trouble"]

RAISED = "server_raised"


def raised_trouble(error: BaseException, *, is_end: bool) -> Trouble:
    """That an exception came out of the server; of a task beside it, unless it is the end."""
    if is_end:
        # Whoever waits is told, whichever answer it is.
        return Trouble(kind=RAISED, message=f"the server raised {named(error)}", is_refusal=True)
    message = f"a task of the server raised, and nobody looked at it: {named(error)}"
    return Trouble(kind=RAISED, message=message)


def ending_trouble(how: Ending, place: str) -> Trouble | None:
    """What it took to end a server, unless asking was enough."""
    if how == "cancelled":
        message = "the server did not end when it was asked to; its tasks were cancelled"
        return Trouble(kind="needed_term", message=message)
    at = f", at {place}" if place else ""
    if how == "interrupted":
        message = f"the server did not come back to the event loop{at}; it was interrupted there"
        return Trouble(kind="needed_kill", message=message)
    if how == "left":
        message = f"a thread of the server could not be ended{at}; it is left running"
        return Trouble(kind="left_behind", message=message)
    return None
