"""The rows of golden frames, each with an id for pytest."""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING, Any

import pytest

from mcptest.core.strict_json import MAX_DEPTH, parse_json

if TYPE_CHECKING:
    from pathlib import Path

    Row = dict[str, Any]


def golden_rows(themes: list[Path]) -> list[Any]:
    rows = []
    for theme in themes:
        for line in theme.read_text(encoding="ascii").splitlines():
            # A row is deeper than the frame it describes.
            row: Any = parse_json(line, 2 * MAX_DEPTH)
            rows.append(pytest.param(row, id=f"{theme.stem}: {row['direction']}: {row['name']}"))
    names = [row.id for row in rows]
    assert len(set(names)) == len(names)
    return rows


def raw(row: Row) -> bytes:
    if "frame_base64" in row:
        return base64.b64decode(row["frame_base64"], validate=True)
    return str(row["frame"]).encode("utf-8")


def same(left: object, right: object) -> bool:
    """Equal as JSON, where 1 is neither true nor 1.0, and members have no order."""
    return json.dumps(left, sort_keys=True) == json.dumps(right, sort_keys=True)
