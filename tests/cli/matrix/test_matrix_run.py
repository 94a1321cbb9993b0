"""`mcptest run --transport-matrix`: the same tests in every way that a server supports."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from console import ENVIRONMENT, PATIENCE_S, mcptest, write_suite
from matrix_runs import AT_A_FREE_PORT, argv, counts, greets, matrix, server, ways, write

if TYPE_CHECKING:
    from pathlib import Path

    from connect_back import Listener

HANDSHAKE, STATELESS = "2025-11-25", "2026-07-28"
ALL_WAYS = [
    ("stdio", HANDSHAKE, True),
    ("stdio", STATELESS, True),
    ("http", HANDSHAKE, True),
    ("http", STATELESS, True),
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write(tmp_path)
    return tmp_path


def statuses(difference: dict[str, Any]) -> list[str | None]:
    return [result["status"] for result in difference["results"]]


def test_a_server_that_is_the_same_in_all_ways_passes_in_all_of_them(folder: Path) -> None:
    ended = matrix(folder)
    assert (ended.code, len(ended.err.splitlines())) == (0, 4)
    assert "all 2 tests have the same result over 4 ways" in ended.out
    assert "8 tests: 8 passed" in ended.out


def test_differences_are_a_table_within_80_columns_and_exit_code_1(folder: Path) -> None:
    ended = matrix(folder, flags="other-text fewer-tools")
    assert ended.code == 1
    table = ended.out.partition("transport matrix\n")[2].split("\n")
    assert "2 of 2 tests have different results in different ways:" in table
    assert [line.split() for line in table if line.startswith(("    greets ", "    counts "))] == [
        ["greets", "passed", "passed", "failed", "failed"],
        ["counts", "passed", "failed", "passed", "failed"],
    ]
    assert "      http, 2025-11-25: result.content[0].text: differs" in table
    assert max(map(len, table)) <= 80


def test_the_json_report_has_the_ways_and_the_differences(folder: Path) -> None:
    ended = matrix(folder, "--json", flags="other-text")
    report = ended.report()
    assert (ended.code, ways(report)) == (1, ALL_WAYS)
    found = report["matrix"]
    assert (found["selected"], found["compared"], report["selected"]) == (2, 2, 8)
    (difference,) = found["differences"]
    assert (difference["test"], difference["file"]) == ("greets", "shop.test.mcp.yml")
    assert statuses(difference) == ["passed", "passed", "failed", "failed"]
    assert [suite["server"].partition(" ")[2] for suite in report["suites"]] == [
        f"[{transport}, {revision}]" for transport, revision, _ in ALL_WAYS
    ]


def test_descriptions_of_the_server_are_compared_and_fail_no_test(folder: Path) -> None:
    write(folder, greets())
    ended = matrix(folder, "--json", flags="fewer-tools other-schema")
    offers = ended.report()["matrix"]["offers"]
    assert ended.code == 0
    assert [(each["what"], each["member"]) for each in offers] == [
        ('tool "greet"', "inputSchema.properties.name.type"),
        ('tool "count"', None),
    ]
    assert [seen.get("missing") for seen in offers[1]["seen"]] == [None, ["value"]] * 2


@pytest.mark.long
def test_a_strict_run_fails_for_what_the_server_does_not_say_in_all_ways(folder: Path) -> None:
    write(folder, greets())
    ended = matrix(folder, "--json", "--strict-invariants", flags="fewer-tools")
    assert (ended.code, ended.report()["broken_rules"]) == (1, ["offers_differ"])
    assert matrix(folder, "--strict-invariants").code == 0


def test_an_unsupported_era_is_reported_in_the_words_of_the_server(folder: Path) -> None:
    ended = matrix(folder, flags="no-stateless")
    assert ended.code == 0
    assert "  stdio, 2026-07-28  not spoken\n" in ended.out
    assert "only handshakes here" in ended.out
    assert "all 2 tests have the same result over 2 ways" in ended.out


def test_a_server_without_a_handshake_is_tested_without_one(folder: Path) -> None:
    report = matrix(folder, "--json", flags="no-handshake").report()
    assert [spoken for _, _, spoken in ways(report)] == [False, True, False, True]
    assert report["summary"]["passed"] == 4


def test_a_server_with_an_older_handshake_is_tested_with_that(folder: Path) -> None:
    ended = matrix(folder, "--json", flags="old")
    assert (ended.code, ways(ended.report())[0]) == (0, ("stdio", "2025-06-18", True))


def test_a_server_that_cannot_be_opened_in_any_way_is_exit_code_3(folder: Path) -> None:
    ended = matrix(folder, "--json", flags="deaf")
    error = ended.report()["error"]
    assert (ended.code, error["kind"]) == (3, "exited_early")
    assert "cannot be tested over stdio" in error["message"]


def test_a_requested_transport_that_is_dead_is_not_skipped(folder: Path) -> None:
    """A green run over stdio alone would look like one over HTTP as well."""
    dead = ("--url", AT_A_FREE_PORT, "--http-command", server("http", "{port}", "deaf"))
    ended = mcptest(folder, "run", "--transport-matrix", "--server-command", server("stdio"), *dead)
    assert ended.code == 3
    assert "cannot be tested over http" in ended.out
    assert "--http-command is what starts the one at --url" in ended.out


def test_stdio_alone_is_tested_in_both_eras(folder: Path) -> None:
    words = ("--transport-matrix", "--json", "--", *argv("stdio"))
    ended = mcptest(folder, "run", *words)
    assert (ended.code, ways(ended.report())) == (0, ALL_WAYS[:2])


def test_a_url_alone_is_tested_in_both_eras(folder: Path) -> None:
    words = ("--url", AT_A_FREE_PORT, "--http-command", server("http", "{port}"))
    ended = mcptest(folder, "run", "--transport-matrix", "--json", *words)
    assert (ended.code, ways(ended.report())) == (0, ALL_WAYS[2:])


def test_the_server_of_a_config_is_the_one_over_stdio(folder: Path) -> None:
    command, *args = argv("stdio")
    config = {"name": "shop", "command": command, "args": args}
    (folder / "other.json").write_text(json.dumps(config), encoding="utf-8")
    words = ("--url", AT_A_FREE_PORT, "--http-command", server("http", "{port}"))
    ended = mcptest(folder, "run", "--transport-matrix", "--json", "--config", "other.json", *words)
    assert (ended.code, ways(ended.report())) == (0, ALL_WAYS)
    assert ended.report()["suites"][3]["server"] == f"shop [http, {STATELESS}]"


def test_a_server_of_a_file_that_is_on_http_is_tested_over_http(folder: Path) -> None:
    command, *args = argv("http", "{port}")
    config = {"name": "shop", "command": command, "args": args, "url": AT_A_FREE_PORT}
    (folder / "conductor.config.json").write_text(json.dumps(config), encoding="utf-8")
    ended = mcptest(folder, "run", "--transport-matrix", "--json")
    assert (ended.code, ways(ended.report())) == (0, ALL_WAYS[2:])


@pytest.mark.long
def test_tests_are_chosen_as_ever(folder: Path) -> None:
    write(folder, greets(tags=["quick"]), counts())
    by_name = matrix(folder, "--json", "-k", "greet").report()
    by_tag = matrix(folder, "--json", "--tag", "quick").report()
    assert by_name["summary"]["total"] == by_tag["summary"]["total"] == 4
    assert matrix(folder, "-k", "nothing like it").code == 7


def test_bail_stops_all_ways_and_says_which_did_not_run(folder: Path) -> None:
    ended = matrix(folder, "--bail", "--json", flags="fewer-tools")
    report = ended.report()
    assert (ended.code, report["bailed"], report["summary"]["total"]) == (1, True, 4)
    assert [bool(each["summary"]) for each in report["matrix"]["ways"]] == [True, True] + [
        False
    ] * 2
    assert len(report["matrix"]["differences"]) == 1


@pytest.mark.long
def test_files_may_run_side_by_side_within_a_way(folder: Path) -> None:
    write_suite(folder / "other.test.mcp.yml", greets())
    for workers in ("1", "2"):
        report = matrix(folder, "--json", "--parallel", workers, flags="other-text").report()
        assert [each["test"] for each in report["matrix"]["differences"]] == ["greets"] * 2
        assert (report["matrix"]["compared"], report["summary"]["total"]) == (3, 12)


def test_each_way_is_held_against_the_same_snapshots(tmp_path: Path) -> None:
    snapshot = [{"target": "result.content", "matcher": {"snapshot": True}}]
    suite = {
        "servers": {"shop": {"command": argv("stdio")}},
        "tools": [{"name": "greets", "tool": "greet", "args": {}, "expect": snapshot}],
    }
    (tmp_path / "mcptest.yaml").write_text(json.dumps(suite), encoding="utf-8")
    same = mcptest(tmp_path, "run", "--transport-matrix", "--json")
    assert (same.code, same.report()["snapshots"]["written"]) == (
        0,
        {"mcptest.yaml": ["greets > result.content"]},
    )
    (difference,) = matrix(tmp_path, "--json", flags="other-text").report()["matrix"]["differences"]
    assert statuses(difference) == ["passed", "passed", "failed", "failed"]


def test_junit_and_a_capture_hold_all_ways(folder: Path) -> None:
    assert matrix(folder, "--junit", "run.xml", "--capture", "run.json").code == 0
    document = (folder / "run.xml").read_text(encoding="utf-8")
    assert 'tests="8"' in document
    for transport, revision, _ in ALL_WAYS:
        assert document.count(f'[{transport}, {revision}]" file=') == 3
    assert len(json.loads((folder / "run.json").read_bytes())) == 4


def test_a_saved_run_shows_its_table_again(folder: Path) -> None:
    ended = matrix(folder, "--json", flags="other-text")
    (folder / "run.json").write_text(ended.out, encoding="utf-8")
    again = mcptest(folder, "report", "run.json", "--format", "terminal")
    assert again.code == 1
    assert "1 of 2 tests has different results in different ways:" in again.out


def test_a_token_is_sent_over_http_and_shown_nowhere(folder: Path) -> None:
    ended = matrix(folder, "--json", "--bearer-env", "SHOP", SHOP="s3cr3t-of-the-shop")
    assert (ended.code, "s3cr3t" in ended.out + ended.err) == (0, False)


def test_the_agent_report_says_to_repeat_all_ways(folder: Path) -> None:
    ended = matrix(folder, "--reporter", "agent", flags="other-text")
    (first, *_) = (line for line in ended.out.split("\n") if "repeat: " in line)
    assert "--http-command" in first
    assert "--transport-matrix" in first


def test_an_interrupt_ends_it_with_what_is_known(folder: Path) -> None:
    """It arrives while a test of the third way waits."""
    words = ("--reporter", "ndjson", "--reporter", "json=run.json", "--timeout", "50s")
    flags = ("--url", AT_A_FREE_PORT, "--http-command", server("http", "{port}", "hang"))
    command = [sys.executable, "-m", "mcptest", "run", "--transport-matrix", *words, *flags]
    child = subprocess.Popen(
        [*command, "--server-command", server("stdio")],
        cwd=folder,
        env=ENVIRONMENT,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
    )
    assert child.stdout is not None
    for line in child.stdout:
        event = json.loads(line)
        if event.get("name") == "counts" and "[http" in event["server"]:
            child.send_signal(signal.SIGINT)
            break
    child.communicate(timeout=PATIENCE_S)
    report = json.loads((folder / "run.json").read_bytes())
    assert (child.returncode, report["interrupted"], report["interrupted_in"]) == (
        130,
        True,
        "counts",
    )
    assert report["summary"]["passed"] == 5
    ran = [each["summary"] and each["summary"]["total"] for each in report["matrix"]["ways"]]
    assert ran == [2, 2, 1, None]
    assert report["matrix"]["differences"] == []


def test_an_interrupt_while_ways_are_tried_ends_it_and_the_server(
    folder: Path, listener: Listener
) -> None:
    words = ("--transport-matrix", "--reporter", "json=run.json")
    child = subprocess.Popen(
        [sys.executable, "-m", "mcptest", "run", *words, "--", *argv("stdio", "mute")],
        cwd=folder,
        env=ENVIRONMENT | listener.environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
    )
    caller = listener.next_caller()
    child.send_signal(signal.SIGINT)
    child.communicate(timeout=PATIENCE_S)
    report = json.loads((folder / "run.json").read_bytes())
    assert (child.returncode, report["interrupted"], report["suites"]) == (130, True, [])
    assert caller.is_dead_within(PATIENCE_S)


def test_gates_are_asked_of_each_way(folder: Path) -> None:
    write(folder, greets())
    ended = matrix(folder, "--json", "--min-coverage", "50", flags="fewer-tools no-stateless")
    gates = ended.report()["gates"]
    assert ended.code == 6
    assert [gate.partition(": coverage is")[0] for gate in gates] == [
        f"stdio, {HANDSHAKE}",
        f"http, {HANDSHAKE}",
    ]
