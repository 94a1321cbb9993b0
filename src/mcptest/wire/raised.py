"""What code of the user's raised, or where it stands still, in words."""

from __future__ import annotations

import os
import sysconfig
import traceback

from mcptest.core.text import shorten, visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType

__all__ = ["named", "only_cause", "standing_in", "trace_of"]

_MAX_WORDS = 300

# What is installed is hardly ever the place that somebody looks for.
_INSTALLED = tuple({sysconfig.get_path(name) + os.sep for name in ("stdlib", "purelib", "platlib")})

_OURS = os.path.dirname(os.path.abspath(__file__)) + os.sep
_FOREIGN = (*_INSTALLED, _OURS)


def only_cause(error: BaseException) -> BaseException:
    """The one exception in a group that has no other: groups are how task groups pass them on."""
    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    return error


def named(error: BaseException) -> str:
    """An exception as one line: what it is, what it says, and where it was raised."""
    error = only_cause(error)
    words = visible(shorten(str(error), _MAX_WORDS))
    told = f"{type(error).__name__}: {words}" if words else type(error).__name__
    places = [(each.filename, each.lineno, each.name) for each in _frames(error)]
    own = [place for place in places if not place[0].startswith(_INSTALLED)]
    return f"{told} ({_place(*(own or places)[-1])})" if places else told


def trace_of(error: BaseException) -> bytes:
    """The traceback, as Python would have written it to stderr."""
    error = only_cause(error)
    trace = error.__traceback__
    # It begins where the user's own code does.
    while trace and trace.tb_next and trace.tb_frame.f_code.co_filename.startswith(_FOREIGN):
        trace = trace.tb_next
    lines = traceback.format_exception(type(error), error, trace)
    return "".join(lines).encode("utf-8", "replace")


def standing_in(frame: FrameType | None) -> str:
    """The innermost place of the user's own code on a stack, or the innermost of all."""
    places = []
    while frame is not None:
        places.append((frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name))
        frame = frame.f_back
    own = [place for place in places if not place[0].startswith(_FOREIGN)]
    return _place(*(own or places)[0]) if places else ""


def _frames(error: BaseException) -> list[traceback.FrameSummary]:
    return [
        each
        for each in traceback.extract_tb(error.__traceback__)
        if not each.filename.startswith(_OURS)
    ]


def _place(file: str, line: int | None, name: str) -> str:
    return f"{visible(os.path.basename(file))}:{line}, in {visible(name)}"
