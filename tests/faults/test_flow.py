"""Group E of the fault catalogue: full pipes, floods, and missing answers."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from staging import LONG_S, call, echo, perform, spec_for

from mcptest.core.errors import FormatError
from mcptest.formats.config import load_config
from mcptest.formats.fields import parse_duration
from mcptest.transport.process.stopping import Grace

if TYPE_CHECKING:
    from connect_back import Listener

SERVERS = Path(__file__).parent.parent / "servers"

PING = {
    "it": "answers a ping",
    "request": {"jsonrpc": "2.0", "id": 2, "method": "ping"},
    "expect": {"response": {"jsonrpc": "2.0", "id": 2, "result": {}}},
}


def test_a_server_that_never_reads_is_named_at_the_deadline() -> None:
    """Row 70. It is killed at once, since it will not notice that its stdin closes."""
    report = perform(spec_for("no-read", timeout_s=0.4), echo("x" * 1_000_000))
    assert (report.status, report.fault["kind"]) == (1, "stdin_blocked")
    assert report.fault["message"].startswith("the server stopped reading: 9")
    assert "bytes of tools/call (id 1) could not be written" in report.fault["message"]
    assert report.fault["effect"] == "indefinite"
    assert report.members["findings"] == []
    assert report.members["duration_ms"] < LONG_S * 1000 / 3


@pytest.mark.long
@pytest.mark.parametrize("size", [10, 1_000_000])
def test_a_server_that_closed_its_stdin_is_said_to_have(size: int) -> None:
    """Row 70, a variant."""
    report = perform(spec_for("deaf", timeout_s=0.4), echo("x" * size))
    assert (report.status, report.fault["kind"]) == (1, "timeout")
    assert "it has closed its stdin" in report.fault["hint"]


# Closes its stdin only when the call is in the pipe already, where it fits.
DEAF_LATER = f"""
import os, sys, time; sys.path.insert(0, {str(SERVERS)!r})
from good_server import incoming, line_for, write
for request in incoming():
    write(line_for(request))
    if request["method"] == "notifications/initialized":
        time.sleep(0.3)
        os.close(0)
        time.sleep(600)
"""


@pytest.mark.long
def test_so_is_one_that_closed_it_after_the_call_was_sent() -> None:
    command = (sys.executable, "-S", "-E", "-c", DEAF_LATER)
    report = perform(spec_for("deaf-later", command=command, timeout_s=2.0))
    assert (report.status, report.fault["kind"]) == (1, "timeout")
    assert "it has closed its stdin" in report.fault["hint"]


def test_reading_never_waits_for_writing() -> None:
    """Row 71. Both sides write 2 MB first."""
    perform(spec_for("shout-first", "2000000"), echo("x" * 2_000_000)).assert_spotless()


def test_a_flood_on_stderr_is_drained_while_the_call_continues() -> None:
    """Row 72. Its memory is measured in test_command_line."""
    perform(spec_for("stderr-flood", "32")).assert_spotless()


def test_stderr_that_never_ends_delays_nothing() -> None:
    """Row 72. Also where stderr is used: after a call, in a failure, at the end."""
    spec = spec_for("stderr-endless", timeout_s=5.0)
    noisy = echo(id=2, expect={"stderr": "match:contains:eee"})
    report = perform(spec, echo(), noisy, echo("no", id=3) | {"request": call("yes", 3)})
    assert (report.status, report.statuses) == (1, ["passed", "passed", "failed"])
    assert report.members["findings"] == []
    assert report.members["duration_ms"] < LONG_S * 1000 / 3


def test_a_flood_before_a_failure_says_how_much_of_it_is_not_shown() -> None:
    """Row 72."""
    test = echo(expect={"stderr": "match:startsWith:["})
    perform(spec_for("stderr-flood", "2"), test).assert_spotless()


def test_stderr_that_is_not_text_is_shown_escaped() -> None:
    """Row 73."""
    report = perform(spec_for("stderr-bytes", b"\xff\xfe\x00bin".hex(), timeout_s=0.3))
    assert report.fault["stderr_tail"] == "\\xff\\xfe\x00bin"


def test_a_closed_stderr_is_not_a_fault() -> None:
    """Row 74."""
    test = echo(expect={"stderr": "toBeEmpty"})
    perform(spec_for("stderr-closed"), test).assert_spotless()


def test_stderr_merged_into_stdout_is_a_finding_that_quotes_it() -> None:
    """Row 74."""
    report = perform(spec_for("stderr-on-stdout"))
    assert (report.status, report.statuses) == (0, ["passed"])
    assert '"INFO fault_server is starting"' in report.findings["malformed_line"]["quote"]


def test_a_call_that_is_too_slow_is_cancelled_and_may_have_had_its_effect(
    listener: Listener,
) -> None:
    """Row 75. The server is used again for calls with other ids."""
    report = perform(spec_for("silent", listener=listener), echo(id=1, timeout="300ms"), PING)
    assert (report.status, report.statuses) == (1, ["error", "passed"])
    assert report.fault["kind"] == "timeout"
    assert report.fault["effect"] == "indefinite"
    assert report.fault["message"] == ("no answer to tools/call (id 1) within 300 ms")
    assert (report.notes, report.members["findings"]) == ([], [])
    caller = listener.next_caller()
    assert caller.next_word() == "cancelled 1"
    assert caller.next_word() == ""


@pytest.mark.parametrize(
    "value",
    [0, -1, -0.5, float("nan"), float("inf"), "0", "0ms", "-1s", "1h", "", "soon", True, None, []],
)
def test_an_invalid_timeout_is_refused(value: object) -> None:
    """Row 76."""
    with pytest.raises(ValueError, match="must be"):
        parse_duration(value)


@pytest.mark.parametrize("value", [86_400_001, "25000000s", "1441m", 10**400])
def test_a_timeout_of_more_than_a_day_is_refused(value: object) -> None:
    """Row 76."""
    with pytest.raises(ValueError, match="at most 24 hours"):
        parse_duration(value)


@pytest.mark.parametrize("key", ["timeout", "startupTimeout"])
@pytest.mark.parametrize("value", ["0", "-5", '"never"', "1e999", "[]"])
def test_an_invalid_timeout_is_refused_when_the_config_is_read(key: str, value: str) -> None:
    """Row 76."""
    text = f'{{"name": "x", "command": "x", "args": [], "{key}": {value}}}'
    with pytest.raises(FormatError):
        load_config(text, "conductor.config.json", {})


def test_a_stopped_server_times_out_and_is_killed() -> None:
    """Row 79."""
    grace = Grace(stdin_s=0.1, term_s=0.1, kill_s=5.0)
    report = perform(spec_for("stop-itself", timeout_s=0.3), grace=grace)
    assert (report.status, report.fault["kind"]) == (1, "timeout")
    assert list(report.findings) == ["needed_kill"]


def test_a_server_that_went_silent_is_named_as_the_cause_of_later_timeouts(
    listener: Listener,
) -> None:
    spec = spec_for("silent", listener=listener)
    report = perform(spec, echo(id=1, timeout="200ms"), echo(id=2, timeout="200ms"), PING)
    first, second, _ = report.tests
    assert "since" not in first["error"]["hint"]
    cause = "it has not answered anything since tools/call (id 1) timed out"
    assert second["error"]["hint"].startswith(cause)


# One thing after the other, and the first call never ends.
STUCK = f"""
import sys, time; sys.path.insert(0, {str(SERVERS)!r})
import good_server
def call(request):
    if request["params"]["arguments"]["text"] == "hang":
        time.sleep(600)
    good_server.write(good_server.line_for(request))
good_server.serve({{"tools/call": call}})
"""


@pytest.mark.long
def test_a_server_that_is_stuck_is_replaced_after_two_calls() -> None:
    spec = spec_for("stuck", command=(sys.executable, "-S", "-E", "-c", STUCK))
    tests = [echo("hang", id=1), echo(id=2), echo(id=3), echo(id=4)]
    report = perform(spec, *({**test, "timeout": "300ms"} for test in tests[:2]), *tests[2:])
    assert report.statuses == ["error", "error", "passed", "passed"]
    note = "a fresh server was started: the last one left 2 calls in a row without an answer"
    assert [test.get("notes", []) for test in report.tests[2:]] == [[note], []]


# Answers each call, and some too late.
LATE = f"""
import sys, time; sys.path.insert(0, {str(SERVERS)!r})
import good_server
def call(request):
    time.sleep(0.6 if request["params"]["arguments"]["text"] == "late" else 0)
    good_server.write(good_server.line_for(request))
good_server.serve({{"tools/call": call}})
"""


@pytest.mark.long
def test_a_server_that_answers_too_late_is_not_stuck() -> None:
    spec = spec_for("late", command=(sys.executable, "-S", "-E", "-c", LATE))
    late = [{**echo("late", id=number), "timeout": "450ms"} for number in range(1, 8)]
    report = perform(spec, *late, echo(id=8))
    assert report.statuses == ["error"] * 7 + ["passed"]
    assert report.notes == []
    hints = [test["error"]["hint"] for test in report.tests[:7]]
    assert any("an answer with id" in hint for hint in hints)
    # A server is not called silent if its answer is quoted beside it.
    assert not any("not answered anything" in hint and " came" in hint for hint in hints)


@pytest.mark.long
def test_a_server_that_answers_in_between_is_kept() -> None:
    """Wrong answers are answers."""
    spec = spec_for("stuck", command=(sys.executable, "-S", "-E", "-c", STUCK))
    hangs = [{**echo("hang", id=number), "timeout": "200ms"} for number in (1, 2)]
    wrong = echo(id=3) | {"expect": {"response": {"jsonrpc": "2.0", "id": 3, "result": {}}}}
    report = perform(spec, *[*hangs, wrong] * 3, echo(id=4))
    assert report.statuses == ["error", "error", "failed"] * 3 + ["passed"]


def test_a_server_that_never_answers_is_abandoned_after_a_while(listener: Listener) -> None:
    tests = [echo(id=number, timeout="100ms") for number in range(1, 10)]
    report = perform(spec_for("silent", listener=listener), *tests)
    assert set(report.statuses) == {"error"}
    given_up = "not run: the server failed 3 times in a row"
    message = [test["error"]["message"].startswith(given_up) for test in report.tests]
    assert message == [False] * 6 + [True] * 3


FLOOD = """
import json, os, sys
for line in sys.stdin:
    message = json.loads(line)
    if message.get("method") == "tools/call":
        while True:
            os.write(1, (message["params"]["arguments"]["text"] + "\\n").encode() * 30_000)
    if "id" in message:
        info = {"name": "flood", "version": "1"}
        result = {"protocolVersion": "2025-06-18", "capabilities": {}, "serverInfo": info}
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
"""


@pytest.mark.long
@pytest.mark.parametrize("line", ["x", "{}", '{"jsonrpc": "2.0", "id": 99, "result": {}}'])
def test_short_lines_without_end_do_not_stretch_the_time_limit(line: str) -> None:
    spec = spec_for("flood", command=(sys.executable, "-S", "-E", "-c", FLOOD), timeout_s=0.5)
    report = perform(spec, echo(line))
    assert (report.status, report.fault["kind"]) == (1, "timeout")
    assert report.members["duration_ms"] < LONG_S * 1000


FLOOD_AT_THE_END = f"""
import os, sys; sys.path.insert(0, {str(SERVERS)!r})
import good_server
good_server.serve({{}})
for _ in range(200):  # more than all pipes and reads together hold
    os.write(1, b'"not a message"\\nnot JSON\\n' * 1000)
"""


def test_a_flood_while_the_server_is_stopped_is_read_and_its_first_lines_are_judged() -> None:
    """It must not block the server, and what is cut off must not look like another line."""
    spec = spec_for("flood", command=(sys.executable, "-S", "-E", "-c", FLOOD_AT_THE_END))
    report = perform(spec, echo())
    assert (report.status, report.statuses) == (0, ["passed"])
    assert {kind: each["count"] for kind, each in report.findings.items()} == {
        "protocol_violation": 500,
        "malformed_line": 500,
    }


MORTAL = f"""
import os, sys; sys.path.insert(0, {str(SERVERS)!r})
import good_server
def call(request):
    if request["params"]["arguments"]["text"] == "die":
        os._exit(7)
    good_server.write(good_server.line_for(request))
good_server.serve({{"tools/call": call}})
"""


def test_the_attempts_of_one_test_count_as_one_failure_of_the_server() -> None:
    spec = spec_for("mortal", command=(sys.executable, "-S", "-E", "-c", MORTAL))
    tests = [{**echo("die", id=1), "retries": 3}, {**echo("die", id=2), "retries": 3}, echo(id=3)]
    report = perform(spec, *tests)
    assert report.statuses == ["error", "error", "passed"]
    assert [test["attempts"] for test in report.tests[:2]] == [4, 4]


def test_an_answer_that_arrives_only_at_exit_is_reported_as_a_missing_flush() -> None:
    report = perform(spec_for("unflushed", startup_timeout_s=1.0))
    assert (report.status, report.members["error"]["kind"]) == (3, "handshake_timeout")
    assert "does it flush stdout" in report.members["error"]["hint"]


def test_a_program_that_echoes_its_input_is_not_mistaken_for_a_server() -> None:
    report = perform(spec_for("echo-input"))
    assert report.status == 3
    assert report.members["error"]["message"] == (
        "the server sends back what it is sent: is it an MCP server?"
    )


def test_a_message_over_several_lines_is_named_as_such() -> None:
    report = perform(spec_for("pretty", startup_timeout_s=1.0))
    assert report.status == 3
    assert "spread over several lines" in report.members["error"]["message"]


def test_a_fresh_server_is_noted_on_the_test_that_gets_it() -> None:
    report = perform(spec_for("exit-on-call", "1"), echo(id=1), PING)
    assert report.statuses == ["error", "passed"]
    note = "a fresh server was started: the test before ended in exited_during_call"
    assert report.tests[1]["notes"] == [note]


def test_an_answer_to_a_request_that_was_not_read_is_not_an_answer() -> None:
    big = echo(id=1, text="x" * 4_000_000)
    report = perform(spec_for("premature"), big)
    assert report.fault["kind"] == "stdin_blocked"
    assert "before it had read it" in report.fault["message"]


def test_a_server_that_sends_requests_forever_and_never_reads_is_stopped() -> None:
    report = perform(spec_for("ask-and-never-listen"))
    assert report.fault["kind"] == "stdin_blocked"
    assert "asks and does not read" in report.fault["message"]
