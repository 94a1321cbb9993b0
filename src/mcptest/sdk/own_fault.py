"""A fault of our own, in one sentence: nobody who runs tests has a use for our insides."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType

__all__ = ["own_fault"]


def own_fault(error: Exception, file: str) -> str:
    """What is to be said of it; "" when it was not raised in our code.

    Whoever breaks a test off, a plugin with a time limit for example, raises from elsewhere.
    """
    last = _last(error.__traceback__)
    name = str(last.tb_frame.f_globals.get("__name__", "")) if last else ""
    if not last or name.split(".")[0] != "mcptest":
        return ""
    what = f"this is a fault of mcptest, and not of the server: {type(error).__name__}: {error}"
    return f"{what} ({name}:{last.tb_lineno}); please report it, and run: mcptest run {file}"


def _last(trace: TracebackType | None) -> TracebackType | None:
    while trace and trace.tb_next:
        trace = trace.tb_next
    return trace
