"""Tools that could do harm are left alone, and others are not."""

from __future__ import annotations

import re
from typing import Any

from case_tables import each_case

from mcptest.explore.safe_tools import made_up_arguments, reason_not_to_call


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
    validate_and_process_payment read_and_dismiss check_or_bypass get_and_addresses
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
        "get_posts_and_comments",
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


PROGRAMS = ["sql", "sqlQuery", "command", "code", "javascript", "script", "expr", "expression"]
PLACES = ["output_path", "saveTo", "output", "target", "target_path", "dst", "dest", "outfile"]


@each_case("argument", [*PROGRAMS, *PLACES, "to_path", "dry_run"])
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
        {"name": "get_x", "title": None, "annotations": {"title": None, "readOnlyHint": None}},
        {"name": "get_x", "annotations": None},
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


def without_hints(text: str) -> dict[str, Any]:
    return {"name": "get_x", "description": text}


@each_case(
    "text",
    [
        "This tool runs programs.",
        "It closes issues.",
        "This tool stops servers.",
        "It starts machines.",
        "This clears the cache, stops the server, buys a car, books a flight and grants access.",
        "This tool clears the cache.",
        "It stops the server.",
        "Tool that buys a car.",
        "This tool books a flight.",
        "And grants access to it.",
        "This tool reads the inbox and marks it as read.",
        "Lists the cards and books a flight.",
        "Reads the message and posts to Slack.",
        "This tool posts to Slack.",
        "The bot posts in a channel.",
        "Validates the card and processes the payment.",
        "Gets the note, then archives it.",
        "Reads a row and locks it.",
        "This tool orders a pizza.",
        "Checks the price and orders.",
        "It updates the row.",
        "This tool starts the server.",
        "Reads it and commits the offset.",
        "Finds the job and runs it.",
        "This sets the volume.",
        "Reads the mail and dismisses the alert.",
        "Gets a seat and schedules a trip.",
        "Get the value. It emails the owner.",
    ],
)
def test_a_verb_of_harm_counts_anywhere_in_a_description(text: str) -> None:
    assert reason_not_to_call(without_hints(text))


@each_case(
    "text",
    [
        "Gets the orders of a user.",
        "List of posts.",
        "Lists all comments and posts of a user.",
        "Finds books by title.",
        "Search the books in the library.",
        "Lists the posts.",
        "Returns posts and comments.",
        "List git commits in a repository.",
        "Get blog posts by a user.",
        "Gets the bus stops of a line.",
        "Names that start or starts with a prefix.",
        "The token expires in an hour.",
        "Returns the tax that applies.",
        "Lists running processes.",
        "Shows recent changes of a file.",
        "Checks for updates.",
        "Get workflow runs for a repository.",
        "List the trades and orders for an account.",
        "Gives the marks of a student.",
        "Returns stores near a place.",
        "Tells when the market closes.",
        "Get the sets of a match.",
    ],
)
def test_a_noun_that_looks_like_a_verb_of_harm_does_not(text: str) -> None:
    assert reason_not_to_call(without_hints(text)) == ""


@each_case(
    ("tool", "reason"),
    [
        ({"annotations": {"destructiveHint": "true"}}, "its destructiveHint is neither true nor"),
        ({"annotations": {"readOnlyHint": "false"}}, "its readOnlyHint is neither true nor false"),
        ({"annotations": {"readOnlyHint": True, "openWorldHint": 1}}, "its openWorldHint is"),
        ({"annotations": "nonsense"}, "its annotations are not an object"),
        ({"description": ["Deletes the disk"]}, "its description is not a string"),
        ({"title": 5}, "its title is not a string"),
        ({"annotations": {"title": []}}, "its title is not a string"),
    ],
)
def test_a_malformed_hint_or_text_is_a_reason(tool: dict[str, Any], reason: str) -> None:
    assert reason_not_to_call({"name": "get_x", **tool}).startswith(reason)
    assert reason_not_to_call({"name": "get_x", **tool}, calls_unannotated=True)


# Arguments


def taking(name: str, part: dict[str, Any], *required: str) -> dict[str, Any]:
    schema = {"type": "object", "properties": {name: part}, "required": list(required)}
    return {"name": "get_x", "inputSchema": schema}


def test_a_destination_beside_a_source_says_where_to_write() -> None:
    schema: dict[str, Any] = {"properties": {"from": {}, "to": {}, "amount": {}}}
    assert reason_not_to_call({"name": "convert_currency", "inputSchema": schema}) == ""
    schema = {"properties": {"url": {}, "to": {}}}
    assert "where to write" in reason_not_to_call({"name": "fetch", "inputSchema": schema})
    inner = {"type": "object", "properties": {"sql": {"type": "string"}}}
    assert "may take a program" in reason_not_to_call(taking("options", inner))


@each_case(
    ("name", "part"),
    [
        ("action", {"const": "delete"}),
        ("action", {"enum": ["delete", "purge"]}),
        ("action", {"enum": ["dismiss", "approve"]}),
        ("actions", {"type": "array", "items": {"enum": ["delete"]}}),
        ("httpMethod", {"enum": ["POST", "DELETE"]}),
        ("method", {"type": "string", "pattern": "^DELETE$"}),
        ("mode", {"enum": ["w", "a"]}),
        ("op", {"type": "string", "enum": ["remove"]}),
        ("kind", {"const": "delete"}),
        ("delete", {"const": True}),
        ("purge_all", {"type": "boolean", "enum": [True]}),
        ("force", {"const": True}),
        ("options", {"const": {"overwrite": True}}),
        ("query", {"type": "string", "default": "DROP TABLE users"}),
        ("query", {"type": "string", "examples": ["SELECT 1", "truncate users"]}),
        ("query", {"type": "string", "example": "MATCH (n) DETACH DELETE n"}),
        ("text", {"type": "string", "const": "delete from users"}),
    ],
)
def test_a_tool_whose_generated_arguments_may_do_harm_is_not_called(
    name: str, part: dict[str, Any]
) -> None:
    tool = taking(name, part, name)
    assert f'its argument "{name}" ' in reason_not_to_call(tool)
    assert reason_not_to_call(tool, calls_unannotated=True)
    assert reason_not_to_call(tool | {"annotations": {"readOnlyHint": True}}) == ""


@each_case(
    ("name", "part", "value"),
    [
        ("action", {"enum": ["delete", "get"]}, "get"),
        ("action", {"enum": ["delete", "dismiss", "list_all"], "default": "delete"}, "list_all"),
        ("method", {"enum": ["POST", "GET"]}, "GET"),
        ("mode", {"enum": ["w", "r"]}, "r"),
        ("mode", {"enum": ["fast", "slow"]}, "fast"),
        ("operation", {"enum": ["add", "subtract"]}, "add"),
        ("event", {"enum": ["deleted", "created"]}, "created"),
        ("force", {"type": "boolean", "default": True}, False),
        ("include_deleted", {"type": "boolean", "examples": [True]}, False),
        ("verbose", {"type": "boolean", "default": True}, True),
        ("query", {"type": "string", "default": "SELECT 1"}, "SELECT 1"),
        ("query", {"type": "string"}, "example"),
        ("path", {"type": "string"}, "."),
        ("text", {"type": "string", "default": "Please delete it."}, "Please delete it."),
    ],
)
def test_harmless_arguments_are_chosen_where_there_are_any(
    name: str, part: dict[str, Any], value: object
) -> None:
    tool = taking(name, part, name)
    assert reason_not_to_call(tool) == ""
    assert made_up_arguments(tool).arguments == {name: value}


def test_an_argument_with_a_harmful_default_is_not_left_out() -> None:
    tool = taking("recursive", {"type": "boolean", "default": True})
    assert made_up_arguments(tool).arguments == {"recursive": False}
    assert reason_not_to_call(tool) == ""
    tool = taking("action", {"enum": ["delete"], "default": "delete"})
    assert reason_not_to_call(tool)
    assert made_up_arguments(taking("limit", {"default": 5})).arguments == {}
