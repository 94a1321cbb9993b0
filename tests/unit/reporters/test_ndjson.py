"""The NDJSON report: one object per event, at once."""

from __future__ import annotations

import json

from sample_run import FAILED, PASSED, bad_file_run, run_of

from mcptest.core.results import LogLine
from mcptest.reporters.json import JsonReporter, NdjsonReporter


def test_each_event_is_written_as_a_line_before_the_next_one() -> None:
    lines: list[str] = []
    reporter = NdjsonReporter(lines.append, "0.1.0")
    for number, event in enumerate(run_of(PASSED, FAILED).replay(), 1):
        reporter(event)
        assert len(lines) == number
        assert lines[-1].endswith("}\n")
    assert [json.loads(line)["event"] for line in lines] == [
        "run_started",
        "suite_started",
        "test_started",
        "test_finished",
        "test_started",
        "test_finished",
        "suite_finished",
        "run_finished",
    ]


def test_a_test_has_the_members_it_has_in_the_json_report_its_file_and_its_server() -> None:
    lines: list[str] = []
    said = LogLine(at_s=0.0, direction="sent", text="{}")
    run = run_of(FAILED.but(log=(said,)))
    reporter, whole = NdjsonReporter(lines.append, "0.1.0"), JsonReporter("0.1.0")
    for event in run.replay():
        reporter(event)
        whole(event)
    (test,) = json.loads(whole.render())["suites"][0]["tests"]
    origin = {"file": "tests/files.test.mcp.yml", "server": "Files"}
    wanted = {"event": "test_finished", **origin, **test}
    assert json.loads(lines[3]) == wanted


def test_a_run_that_never_began_ends_with_its_error() -> None:
    lines: list[str] = []
    reporter = NdjsonReporter(lines.append, "0.1.0")
    for event in bad_file_run():
        reporter(event)
    begun, ended = map(json.loads, lines)
    assert begun["warnings"][0]["code"] == "F006"
    assert (ended["event"], ended["error"]["kind"]) == ("run_finished", "bad_file")
