"""What a suite asks of every call without being told to, and what becomes of that elsewhere."""

from __future__ import annotations

from mcptest.migrate.remarks import Remark
from mcptest.migrate.shapes import ABSENT_PATTERN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from mcptest.migrate.drafts import Draft

    Mapping = dict[str, object]

__all__ = ["is_success", "schema_notes", "success_of"]

# False, or nothing at all.
_NO_ERROR: Mapping = {"match:any": [False, ABSENT_PATTERN]}


_NO_SCHEMA = (
    "structured output is no longer held against the schema of its tool, "
    "which only a suite does without being asked"
)


def success_of(step: Mapping) -> object:
    """What the result of a call is when it succeeds."""
    return {"isError": dict(_NO_ERROR)} if "tool" in step else "match:type:object"


def is_success(response: object, step: Mapping) -> bool:
    """Whether just this is expected of a call."""
    return response == {"match:partial": {"result": success_of(step)}}


def schema_notes(drafts: Iterable[Draft]) -> list[Remark]:
    """That tools are no longer held to their own schemas, once for each file that calls some."""
    files = [draft.file for draft in drafts if any("tool" in step for step in draft.steps)]
    return [
        Remark(file=file, line=0, what="", reason=_NO_SCHEMA, is_loss=False)
        for file in dict.fromkeys(files)
    ]
