"""`--watch`: what changed is run again and shown in full, until Ctrl-C."""

from __future__ import annotations

import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from console import PATIENCE_S, write_suite
from test_features import echo, features, said
from test_parallel import servers_in, wait_for
from watching import ENDS, Watching

from mcptest.cli.run_modes import find_affected

if TYPE_CHECKING:
    from collections.abc import Iterator


NAMING = Path(__file__).parents[2] / "servers" / "naming_server.py"


@pytest.fixture
def watching(tmp_path: Path) -> Iterator[Watching]:
    write_suite(tmp_path / "a.test.mcp.yml", echo("in a"), server=features())
    write_suite(tmp_path / "b.test.mcp.yml", echo("in b"), echo("more"), server=features())
    command = Watching(tmp_path)
    try:
        yield command
    finally:
        if command.process.poll() is None:
            command.process.kill()
        command.process.wait(PATIENCE_S)


def test_a_change_runs_the_file_it_touches_and_nothing_else(
    watching: Watching, tmp_path: Path
) -> None:
    watching.wait_for("watching 1 folder; Ctrl-C ends it")
    assert "3 tests: 3 passed" in watching.text
    before = len(watching.text)
    wrong = echo("in a") | {"expect": said("not in a")}
    a = tmp_path / "a.test.mcp.yml"
    watching.wait_for("1 failed", lambda: write_suite(a, wrong, server=features()))
    assert "in b" not in watching.text[before:]
    watching.wait_for("1 passed", lambda: write_suite(a, echo("in a"), server=features()))
    assert watching.end() in ENDS


def test_every_round_shows_failures_in_full_and_everything_else_once(tmp_path: Path) -> None:
    def write(text: str) -> None:
        wrong = echo("in a") | {"expect": said(text), "stderr": "toBeEmpty"}
        write_suite(tmp_path / "a.test.mcp.yml", wrong, server=features())

    write("first")
    foreign = "suite: a\ntests:\n  - it: renders\n    asserts: []\n"
    (tmp_path / "helm_test.yaml").write_text(foreign, encoding="utf-8")
    command = Watching(tmp_path)
    try:
        command.wait_for("Ctrl-C ends it")
        command.wait_for('"second"', lambda: write("second"))
        command.wait_for('"third"', lambda: write("third"))
        assert command.text.count("warning[W001]") == 1
        assert command.text.count("note: skipped helm_test.yaml") == 1
        for text in ("first", "second", "third"):
            assert f'expected  "{text}"' in command.text
        assert command.end() in (1, 130)
    finally:
        if command.process.poll() is None:
            command.process.kill()
        command.process.wait(PATIENCE_S)


def test_a_mistake_does_not_end_the_watch(watching: Watching, tmp_path: Path) -> None:
    watching.wait_for("Ctrl-C ends it")
    a = tmp_path / "a.test.mcp.yml"
    watching.wait_for("F007", lambda: a.write_text("description: 1\n", encoding="utf-8"))
    assert watching.end() in (2, 130)


def test_a_folder_that_is_used_later_is_named(tmp_path: Path) -> None:
    tests, server = tmp_path / "tests", tmp_path / "server"
    tests.mkdir()
    server.mkdir()
    a = tests / "a.test.mcp.yml"
    a.write_text("description: 1\n", encoding="utf-8")
    command = Watching(tests)
    try:
        command.wait_for("Ctrl-C ends it")
        described = features() | {"cwd": str(server)}
        command.wait_for("1 passed", lambda: write_suite(a, echo("in a"), server=described))
        command.wait_for(f"note: the folder {server}, which tests use now, is not watched until")
        assert command.end() in ENDS
    finally:
        command.process.kill()
        command.process.wait(PATIENCE_S)


def test_a_change_of_a_file_that_is_not_a_test_reruns_all_tests(tmp_path: Path) -> None:
    for name in ("a", "b"):
        write_suite(tmp_path / f"{name}.test.mcp.yml", echo("x"), server=features())
    paths = (str(tmp_path),)
    a = str(tmp_path / "a.test.mcp.yml")
    assert find_affected([a], paths) == (a,)
    assert find_affected([a, str(tmp_path / "server.py")], paths) == paths
    assert find_affected([str(tmp_path / "gone.test.mcp.yml")], paths) == paths


def test_files_that_a_server_writes_do_not_cause_another_round(
    watching: Watching, tmp_path: Path
) -> None:
    watching.wait_for("Ctrl-C ends it")
    before = len(watching.text)
    (tmp_path / "server.log").write_text("x", encoding="utf-8")
    (tmp_path / "data.json").write_text("{}", encoding="utf-8")
    b = tmp_path / "b.test.mcp.yml"
    saved = (echo("b"), echo("c"))
    watching.wait_for("2 tests: 2 passed", lambda: write_suite(b, *saved, server=features()))
    assert watching.text[before:].count("passed") == 1
    assert watching.end() in ENDS


@pytest.mark.long
def test_no_process_is_left_when_the_watch_is_killed(tmp_path: Path) -> None:
    slow = {"it": "slow", "tool": "sleep", "arguments": {"ms": 60_000}, "expect": said("")}
    write_suite(tmp_path / "a.test.mcp.yml", slow, server=features())
    command = Watching(tmp_path)
    wait_for(lambda: servers_in(tmp_path), "the server")
    command.process.kill()
    command.process.wait(PATIENCE_S)
    wait_for(lambda: not servers_in(tmp_path), "the server to end")


@pytest.mark.long
def test_a_hangup_that_the_watch_was_started_to_ignore_ends_nothing(tmp_path: Path) -> None:
    slow = {"it": "slow", "tool": "sleep", "arguments": {"ms": 2_000}, "expect": said("")}
    write_suite(tmp_path / "a.test.mcp.yml", slow, server=features())
    previous = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        command = Watching(tmp_path)
    finally:
        signal.signal(signal.SIGHUP, previous)
    wait_for(lambda: servers_in(tmp_path), "the server")
    command.process.send_signal(signal.SIGHUP)
    command.wait_for("Ctrl-C ends it")
    assert "interrupted" not in command.text
    assert command.end() in ENDS


@pytest.mark.long
def test_a_watch_that_ends_in_its_first_round_does_not_say_that_it_continues(
    tmp_path: Path,
) -> None:
    slow = {"it": "slow", "tool": "sleep", "arguments": {"ms": 60_000}, "expect": said("")}
    write_suite(tmp_path / "a.test.mcp.yml", slow, server=features())
    command = Watching(tmp_path)
    wait_for(lambda: servers_in(tmp_path), "the server")
    assert command.end() == 130
    assert "watching" not in command.text


def test_every_round_has_the_isolation_that_was_asked_for(tmp_path: Path) -> None:
    """The server counts: with a process for each test it never gets beyond one."""
    server = {"name": "naming", "command": sys.executable, "args": ["-S", "-E", str(NAMING)]}
    text = {"match:partial": {"content": [{"text": "1"}]}}
    once = {"it": "counts", "tool": "count", "expect": {"response": {"result": text}}}
    a = tmp_path / "a.test.mcp.yml"
    write_suite(a, once, once, server=server)
    command = Watching(tmp_path, "--isolation", "test")
    try:
        command.wait_for("Ctrl-C ends it")
        assert "2 tests: 2 passed" in command.text
        command.wait_for(
            "3 tests: 3 passed", lambda: write_suite(a, once, once, once, server=server)
        )
        assert command.end() in ENDS
    finally:
        if command.process.poll() is None:
            command.process.kill()
        command.process.wait(PATIENCE_S)
