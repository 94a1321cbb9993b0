"""Tools that could do harm are left alone, and others are not."""

from __future__ import annotations

import re
from typing import Any

from case_tables import each_case

from mcptest.explore.caution import reason_not_to_call


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
        {"name": "read_queue_pop"},
        {"name": "get_next_job"},
        {"name": "getNextJob"},
        {"name": "get_next_page"},
        {"name": "list_and_claim"},
        {"name": "fetch_ack"},
        {"name": "get_consume"},
        {"name": "fetch_dequeue"},
        {"name": "find_take"},
        {"name": "get_mark"},
        {"name": "list_x", "description": "Lists mails and marks them as read."},
        {"name": "list_x", "description": "Lists mails. They are marked as read then."},
        {"name": "list_x", "description": "Lists mails, marking all as read."},
        {"name": "list_x", "description": "Lists messages and acknowledges them."},
        {"name": "list_x", "description": "Reads and consumes the events."},
        {"name": "list_x", "description": "The first job, which it dequeues."},
        {"name": "list_x", "description": "Gives the last item and pops it."},
        {"name": "list_x", "description": "Finds a free slot and claims it."},
        {"name": "list_x", "description": "Gives a page and advances the cursor."},
        {"name": "list_x", "description": "Gives a number, incrementing the counter."},
        {"name": "list_x", "description": "Takes the next job of the queue."},
        {"name": "x", "description": "reads and " * 2_001 + "deletes"},
    ],
)
def test_a_tool_that_could_do_harm_is_not_called(tool: dict[str, Any]) -> None:
    assert reason_not_to_call(tool)
    is_open = tool.get("annotations") == {"openWorldHint": True}
    assert bool(reason_not_to_call(tool, calls_unannotated=True)) != is_open


# Verbs that nothing says are harmless; no hints.
DOING = """
    accept_call activate_alarm add_numbers annotate_pdf approve ask assign authorize autofill
    backup_db bind boost_volume boot_vm broadcast browse build_image bump_version bookmark
    call_contact capture_screen chat check_in check_out checkout_branch click clone_repo
    compile complete_task compose connect crawl_site debug_attach deactivate_user debit deploy
    dial dispatch_job dismiss download_file draft_mail drag elevate_privileges email_me
    emit_event encrypt_disk enqueue escalate evaluate export_data fetch_and_store fill_form
    find_and_fix follow fork_repository format_code forward_mail generate_image get_or_make
    go_back heal hide hover ingest inject issue_refund join_room label_issue like
    link_accounts load_model log_message mark_read message_user mint navigate open_browser
    open_pull_request pair_device perform ping play_song port_forward press_key print_document
    process promote provision query rate_product react_to record_audio redeem refresh_cache
    release reload_config remind remote_control repair reserve resize_vm resolve_issue respond
    retry_job review_pull_request scan_ports screenshot scroll share show_notification
    simulate snooze solve speak star start stream subscribe summarize switch_branch sync
    tag_image take_photo test_connection train_model translate trigger_build turn_on type_text
    unarchive unfollow use_coupon verify_email wait wake watch zip_files
"""


@each_case("name", re.findall(r"\S+", DOING))
def test_a_tool_without_hints_is_not_called_unless_its_name_begins_with_a_verb_that_reads(
    name: str,
) -> None:
    assert reason_not_to_call({"name": name})


@each_case(
    "name",
    [
        "get_weather",
        "list_files",
        "search_issues",
        "echo",
        "getWeather",
        "GetWeather",
        "get-sum",
        "get_files_and_folders",
        "search_and_list",
        "check_health",
        "show_status",
        "fetch",
        "calculate_sum",
        "convert_time",
        "is_prime",
    ],
)
def test_a_tool_without_hints_whose_name_begins_with_a_verb_that_reads_is_called(name: str) -> None:
    assert reason_not_to_call({"name": name}) == ""


@each_case("argument", ["sql", "sqlQuery", "command", "code", "output_path", "saveTo", "output"])
def test_an_argument_may_say_that_a_tool_does_more_than_read(argument: str) -> None:
    tool = {"name": "get_rows", "inputSchema": {"properties": {argument: {"type": "string"}}}}
    assert reason_not_to_call(tool)
    assert reason_not_to_call(tool | {"annotations": {"readOnlyHint": True}}) == ""


@each_case(
    "argument", ["query", "output_format", "destination_city", "to", "path", "currency_code"]
)
def test_other_arguments_say_nothing(argument: str) -> None:
    tool = {"name": "get_rows", "inputSchema": {"properties": {argument: {"type": "string"}}}}
    assert reason_not_to_call(tool) == ""


@each_case(
    "tool",
    [
        {"name": "fork_repository"},
        {"name": "add"},
        {"name": "x", "annotations": {"openWorldHint": True}},
        {"name": "query", "inputSchema": {"properties": {"sql": {}}}},
    ],
)
def test_on_request_tools_that_do_not_look_harmful_are_called(tool: dict[str, Any]) -> None:
    assert reason_not_to_call(tool)
    assert reason_not_to_call(tool, calls_unannotated=True) == ""


@each_case(
    "tool",
    [
        {"name": "get_weather"},
        {"name": "list_posts"},
        {"name": "get_dropdown"},
        {"name": "delete_file", "annotations": {"readOnlyHint": True}},
        {"name": "get_x", "description": "When it was created.", "annotations": {}},
        {"name": "search", "annotations": {"readOnlyHint": True, "openWorldHint": True}},
        {"name": "get_x", "description": None},
        {"name": "get_x", "title": 5, "annotations": {"title": []}},
        {"name": "löschen", "annotations": {"readOnlyHint": True}},
        {"name": "get_block"},
        {"name": "list_formats"},
        {"name": "list_cameras"},
        {"name": "get_skills"},
        {"name": "get_payments"},
        {"name": "list_installations"},
        {"name": "get_urban_bank", "title": "Get the bank of a town"},
        {"name": "get.b/c-d"},
        {"name": "get_x", "description": "Gives the time in ISO format."},
        {"name": "get_x", "description": "What is longer is truncated."},
        {"name": "get_x", "description": "Determination of a code block."},
        {"name": "get_x", "description": "The sum.\n\nArgs:\n  a: One.\n  start: The first day."},
        {"name": "get_x", "description": "Sagt, wie spät es ist."},
        {"name": "get_x", "description": "Takes a city and gives its weather."},
        {"name": "get_x", "description": "The claims of a token, in advance."},
        {"name": "get_x", "description": "Rounds to increments of 5."},
        {"name": "get_x", "description": "Next departures. Question marks are kept."},
        {"name": "list_bookmarks"},
        {"name": "get_popular_songs"},
        {"name": "list_packages"},
    ],
)
def test_a_tool_that_only_reads_is_called(tool: dict[str, Any]) -> None:
    assert reason_not_to_call(tool) == ""
