"""Tools that could do harm are left alone, and others are not."""

from __future__ import annotations

from typing import Any

import pytest

from mcptest.explore.caution import why_not_called


@pytest.mark.parametrize(
    "tool",
    [
        {"name": "x", "annotations": {"destructiveHint": True}},
        {"name": "get_x", "annotations": {"destructiveHint": True, "readOnlyHint": True}},
        {"name": "delete_file"},
        {"name": "deleteFile"},
        {"name": "FILE-DELETE"},
        {"name": "run"},
        {"name": "add_user"},
        {"name": "kill", "annotations": {"readOnlyHint": False}},
        {"name": "x", "description": "Removes everything."},
        {"name": "x", "description": "Will send a mail."},
        {"name": "x", "description": "Pushes it out."},
        {"name": "x", "annotations": {"openWorldHint": True}},
        {"name": "update", "annotations": {"destructiveHint": False}},
        {"name": "drop_table", "annotations": "nonsense"},
    ],
)
def test_a_tool_that_could_do_harm_is_not_called(tool: dict[str, Any]) -> None:
    assert why_not_called(tool)


@pytest.mark.parametrize(
    "tool",
    [
        {"name": "get_weather"},
        {"name": "add", "description": "Gives the sum."},
        {"name": "list_posts"},
        {"name": "dropdown"},
        {"name": "delete_file", "annotations": {"readOnlyHint": True}},
        {"name": "x", "description": "When it was created.", "annotations": {}},
        {"name": "search", "annotations": {"readOnlyHint": True, "openWorldHint": True}},
        {"name": "x", "description": None},
    ],
)
def test_a_tool_that_only_reads_is_called(tool: dict[str, Any]) -> None:
    assert why_not_called(tool) == ""
