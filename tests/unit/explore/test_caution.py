"""Tools that could do harm are left alone, and others are not."""

from __future__ import annotations

from typing import Any

from case_tables import each_case

from mcptest.explore.discover import reason_not_to_call


@each_case(
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
        {"name": "x", "annotations": {"readOnlyHint": False}},
        {"name": "ban_user"},
        {"name": "rm_rf"},
        {"name": "rmdir"},
        {"name": "format_disk"},
        {"name": "block_user"},
        {"name": "deletefile"},
        {"name": "sendmail"},
        {"name": "execsql"},
        {"name": "flush_db"},
        {"name": "löschen"},
        {"name": "d\u200belete"},
        {"name": "get weather; now"},
        {"name": "x", "title": "Delete everything"},
        {"name": "x", "title": "D\u200belete everything"},
        {"name": "x", "annotations": {"title": "Delete everything"}},
        {"name": "x", "description": "Formats the disk, irrevocably."},
        {"name": "x", "description": "Will quietly format your whole hard drive."},
        {"name": "x", "description": "Deleting everything, wiping the rest."},
        {"name": "x", "description": "Reads. Stopping the machine is what it does then."},
        {"name": "x", "description": "Blocks a user."},
        {"name": "x", "description": "Modifies it."},
        {"name": "x", "description": "reads and " * 2_001 + "deletes"},
    ],
)
def test_a_tool_that_could_do_harm_is_not_called(tool: dict[str, Any]) -> None:
    assert reason_not_to_call(tool)


@each_case(
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
        {"name": "x", "title": 5, "annotations": {"title": []}},
        {"name": "löschen", "annotations": {"readOnlyHint": True}},
        {"name": "get_block"},
        {"name": "list_formats"},
        {"name": "list_cameras"},
        {"name": "get_skills"},
        {"name": "get_payments"},
        {"name": "list_installations"},
        {"name": "get_urban_bank", "title": "Get the bank of a town"},
        {"name": "a.b/c-d"},
        {"name": "x", "description": "Gives the time in ISO format."},
        {"name": "x", "description": "What is longer is truncated."},
        {"name": "x", "description": "Determination of a code block."},
        {"name": "x", "description": "The sum.\n\nArgs:\n  a: One.\n  start: The first day."},
        {"name": "x", "description": "Sagt, wie spät es ist."},
    ],
)
def test_a_tool_that_only_reads_is_called(tool: dict[str, Any]) -> None:
    assert reason_not_to_call(tool) == ""
