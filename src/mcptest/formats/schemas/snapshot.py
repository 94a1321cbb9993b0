"""The schema of the file that holds the snapshots of a suite."""

from __future__ import annotations

from mcptest.formats.schemas.shape import closed, document, said
from mcptest.formats.schemas.values import TEXT
from mcptest.formats.snapshot_file import _KEYS, _VERSION

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mcptest.formats.schemas.shape import Schema

__all__ = ["snapshot_schema"]

_EXAMPLE = {
    "version": _VERSION,
    "snapshots": {"finds the order": {"content": [{"type": "text", "text": "A-17"}]}},
}


def snapshot_schema() -> Schema:
    """What may stand in a file of snapshots."""
    members = {
        "version": said("The version of this format.", {"const": _VERSION}),
        "snapshots": said("What was accepted, by the name of the snapshot.", {"type": "object"}),
        "json": said(
            "The same for values that YAML cannot hold: each is a text of JSON.",
            {"type": "object", "additionalProperties": TEXT},
        ),
    }
    body = {**closed(_KEYS, members, ("version", "snapshots")), "examples": [_EXAMPLE]}
    description = "What the server answered when it was last accepted. mcptest writes this file."
    return document("snapshot", "mcptest snapshots", description, body, {})
