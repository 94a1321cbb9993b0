"""That a call succeeds: what a suite asserts where nothing else is, in the words of patterns."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    Mapping = dict[str, object]

__all__ = ["is_success", "success_of"]

# Anything but true, also nothing at all.
_NO_ERROR: Mapping = {"match:any": [False, "match:not:type:boolean"]}


def success_of(step: Mapping) -> object:
    """What the result of a call is when it succeeds."""
    return {"isError": dict(_NO_ERROR)} if "tool" in step else "match:type:object"


def is_success(response: object, step: Mapping) -> bool:
    """Whether just this is expected of a call."""
    return response == {"match:partial": {"result": success_of(step)}}
