"""Tests on their way from one format to another."""

from __future__ import annotations

from mcptest.core.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mcptest.migrate.remarks import Remark

    Mapping = dict[str, object]

__all__ = ["CALL_KEYS", "METHODS", "Draft", "Source", "lane_of", "without_nothing"]

# The method of each call, the key that says what is called, and the lane it belongs to.
METHODS = {"tools/call": "tool", "resources/read": "uri", "prompts/get": "prompt"}
CALL_KEYS = {"tool": "tools", "uri": "resources", "prompt": "prompts"}


class Draft(Record):
    """One test. `steps` are calls as a suite writes them, with what each expects and captures.

    `marks` are the keys beside them: tags, skip, only, timeout, retries.
    """

    file: str
    line: int
    name: str
    steps: tuple[Mapping, ...]
    marks: Mapping
    needs: tuple[str, ...] = ()
    captures: tuple[str, ...] = ()


class Source(Record):
    """What a file holds, as far as it can be carried over."""

    file: str
    title: str
    drafts: tuple[Draft, ...]
    remarks: tuple[Remark, ...]


def lane_of(step: Mapping) -> str:
    """Where a suite lists such a call."""
    return next(lane for key, lane in CALL_KEYS.items() if key in step)


def without_nothing(mapping: Mapping) -> Mapping:
    """The keys that say something: no empty mapping or list, no null, no `false` switch."""
    return {
        key: value
        for key, value in mapping.items()
        if value is not None and value is not False and value not in ({}, [], "")
    }
