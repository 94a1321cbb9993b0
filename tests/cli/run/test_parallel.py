"""Files side by side: the same report, sooner; and no process is left when it goes wrong."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import processes
import pytest
from console import ENVIRONMENT, PATIENCE_S, Ended, mcptest, write_suite
from test_features import echo, results, said
from test_features import features as features_config

FILES = 4


def features(**keys: Any) -> dict[str, Any]:
    return features_config(**{"isolation": "file", **keys})


def slow(name: str, ms: int) -> dict[str, Any]:
    given = {"ms": ms, "text": name}
    return {"it": name, "tool": "sleep", "arguments": given, "expect": said(name)}


def write_files(folder: Path, ms: int = 0, **more: Any) -> None:
    for number in range(FILES):
        # The first files take longest, so that the others are ready before their turn.
        tests = [slow(f"{number}-{each}", ms * (FILES - number)) for each in range(3)]
        path = folder / f"f{number}.test.mcp.yml"
        write_suite(path, *tests, *more.get(f"f{number}", ()), server=features())


def timeless(text: str) -> str:
    """A report without its times."""
    return re.sub(r'"(duration_ms|started_at|at_ms)": [^,}\]]+', "", text)


@pytest.mark.long
def test_the_report_is_the_same_however_many_run_at_a_time(tmp_path: Path) -> None:
    wrong = echo("x") | {"expect": said("y")}
    write_files(tmp_path, 10, f1=(wrong, echo("after")), f3=(echo("z", skip="not now"),))
    reports = [mcptest(tmp_path, "run", ".", "--json", "-j", each) for each in ("1", "3", "auto")]
    assert {report.code for report in reports} == {1}
    assert len({timeless(report.out) for report in reports}) == 1
    summary = reports[0].report()["summary"]
    assert (summary["total"], summary["failed"], summary["skipped"]) == (15, 1, 1)


def test_the_terminal_tells_the_files_in_their_order(tmp_path: Path) -> None:
    write_files(tmp_path, 10)
    ended = mcptest(tmp_path, "run", ".", "-j", "4")
    assert re.findall(r"✓ (\d-\d)", ended.out) == [f"{a}-{b}" for a in range(4) for b in range(3)]


@pytest.mark.long
def test_bail_reports_what_a_run_one_by_one_reports(tmp_path: Path) -> None:
    wrong = echo("x") | {"expect": said("y")}
    write_files(tmp_path, 10, f1=(wrong, echo("never")))
    one, four = (mcptest(tmp_path, "run", ".", "--json", "-x", "-j", each) for each in "14")
    assert timeless(one.out) == timeless(four.out)
    assert (four.code, len(results(four)), four.report()["bailed"]) == (1, 7, True)


def test_every_file_has_its_own_server(tmp_path: Path) -> None:
    """Counted by the processes that the servers were."""
    for number in range(3):
        test = {
            "it": "pid",
            "request": {"jsonrpc": "2.0", "id": 1, "method": "ping"},
            "expect": {"response": {"jsonrpc": "2.0", "id": 1, "result": {}}},
        }
        write_suite(tmp_path / f"f{number}.test.mcp.yml", test, test, server=features())
    ended = mcptest(tmp_path, "run", ".", "-j", "2", "--capture", "c.json")
    assert ended.code == 0
    assert len(json.loads((tmp_path / "c.json").read_text(encoding="utf-8"))) == 3


def test_a_server_that_never_starts_is_3_and_nothing_else(tmp_path: Path) -> None:
    write_files(tmp_path)
    codes = []
    for workers in ("1", "4"):
        words = ("run", ".", "--json", "-j", workers, "--server-command", "/nowhere/server")
        ended = mcptest(tmp_path, *words)
        codes.append((ended.code, ended.report()["error"]["kind"], ended.report()["suites"]))
    assert codes == [(3, "spawn_failed", [])] * 2


@pytest.mark.long
def test_a_server_of_one_file_that_never_starts_is_an_error_of_its_tests(tmp_path: Path) -> None:
    write_files(tmp_path)
    broken = features() | {"command": "/nowhere/server", "name": "broken"}
    write_suite(tmp_path / "f2.test.mcp.yml", echo("a"), echo("b"), server=broken)
    one, four = (mcptest(tmp_path, "run", ".", "--json", "-j", each) for each in "14")
    assert timeless(one.out) == timeless(four.out)
    assert four.report()["summary"]["errors"] == 2


def start(folder: Path, *words: str) -> subprocess.Popen[bytes]:
    return processes.start(
        [sys.executable, "-m", "mcptest", "run", ".", *words],
        cwd=folder,
        env=ENVIRONMENT | {"MCPTEST_TRACE": str(folder)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def servers_in(folder: Path) -> list[int]:
    """The processes that work in this folder, except the command itself and its copies."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                command = (entry / "cmdline").read_bytes()
                where = (entry / "cwd").resolve()
            except OSError:
                continue
            if where == folder.resolve() and b"feature_server" in command:
                found.append(int(entry.name))
    return found


def parent_of(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[1])


def wait_for(condition: Any, what: str) -> Any:
    deadline = time.monotonic() + PATIENCE_S
    while not (found := condition()):
        assert time.monotonic() < deadline, f"waited too long for {what}"
        time.sleep(0.01)
    return found


@pytest.mark.long
def test_an_interrupted_run_reports_its_results_and_leaves_no_process(tmp_path: Path) -> None:
    write_files(tmp_path, 60_000)
    child = start(tmp_path, "-j", "4", "--json")
    wait_for(lambda: len(servers_in(tmp_path)) == 4, "four servers")
    child.send_signal(signal.SIGINT)
    out, err = child.communicate(timeout=PATIENCE_S)
    ended = Ended(child.returncode, out.decode(), err.decode())
    assert (ended.code, ended.report()["interrupted"]) == (130, True)
    assert servers_in(tmp_path) == []


def test_no_process_is_left_when_the_command_is_killed(tmp_path: Path) -> None:
    write_files(tmp_path, 60_000)
    child = start(tmp_path, "-j", "4")
    wait_for(lambda: len(servers_in(tmp_path)) == 4, "four servers")
    child.kill()
    child.communicate(timeout=PATIENCE_S)
    wait_for(lambda: not servers_in(tmp_path), "the servers to end")


def test_a_worker_that_is_killed_costs_its_own_file_only(tmp_path: Path) -> None:
    write_files(tmp_path, 0)
    write_suite(tmp_path / "f0.test.mcp.yml", slow("long", 60_000), echo("b"), server=features())
    child = start(tmp_path, "-j", "1", "--json")
    (server,) = wait_for(lambda: servers_in(tmp_path), "the server")
    os.kill(parent_of(server), signal.SIGKILL)
    out, err = child.communicate(timeout=PATIENCE_S)
    ended = Ended(child.returncode, out.decode(), err.decode())
    tests = results(ended)
    assert [test["error"]["kind"] for test in tests[:2]] == ["worker_lost"] * 2
    assert {test["status"] for test in tests[2:]} == {"passed"}
    assert (ended.code, len(tests)) == (1, 11)
    assert servers_in(tmp_path) == []


@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_the_shards_of_a_run_are_the_run(tmp_path: Path, count: int) -> None:
    write_files(tmp_path)
    found: list[str] = []
    for number in range(count):
        ended = mcptest(tmp_path, "run", ".", "--json", "--shard", f"{number + 1}/{count}")
        found += [suite["file"] for suite in ended.report()["suites"]]
    assert sorted(found) == [f"f{number}.test.mcp.yml" for number in range(FILES)]


def test_a_shard_without_a_file_is_7(tmp_path: Path) -> None:
    write_files(tmp_path)
    ended = mcptest(tmp_path, "run", ".", "--shard", "5/5")
    assert ended.code == 7
    assert "shard 5 of 5 has no file: there are 4 in all" in ended.err


def test_coverage_does_not_depend_on_which_file_could_be_asked(tmp_path: Path) -> None:
    """The server of the second file is gone before it could be asked what it offers."""
    write_suite(tmp_path / "a.test.mcp.yml", echo("a"), server=features())
    gone = {"it": "dies", "tool": "flaky", "arguments": {}, "expect": said("ok")}
    loud = {"it": "loud", "tool": "echo", "arguments": {"loud": 1}, "expect": said("")}
    write_suite(tmp_path / "b.test.mcp.yml", loud, gone, server=features())
    found = [mcptest(tmp_path, "run", ".", "--json", *words) for words in ((), ("-j", "2"))]
    one, two = (ended.report()["coverage"]["servers"][0]["tools"][0] for ended in found)
    assert (
        one
        == two
        == {
            "name": "echo",
            "calls": 2,
            "properties": [{"name": "text", "calls": 1}, {"name": "loud", "calls": 1}],
        }
    )


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGALRM, signal.SIGKILL])
def test_no_test_gets_lost_when_a_server_signals_its_worker(tmp_path: Path, number: int) -> None:
    write_files(tmp_path)
    hit = {
        "it": "hits",
        "tool": "signal_parent",
        "arguments": {"number": int(number)},
        "expect": said(""),
    }
    write_suite(tmp_path / "f1.test.mcp.yml", echo("a"), hit, echo("b"), server=features())
    ended = mcptest(tmp_path, "run", ".", "--json", "-j", "1")
    summary = ended.report()["summary"]
    assert (ended.code, summary["total"]) == (1, 12)
    # A request is sent before the verdict on the previous test is reported.
    assert summary["errors"] in (1, 2, 3)
    kinds = {test["error"]["kind"] for test in results(ended) if test["error"]}
    assert kinds == {"worker_lost"}


@pytest.mark.long
@pytest.mark.parametrize("ignored", [signal.SIGINT, signal.SIGTERM])
def test_workers_ignore_the_signals_that_the_command_was_started_to_ignore(
    tmp_path: Path, ignored: int
) -> None:
    """As `nohup` and some schedulers start commands."""
    write_files(tmp_path, 60_000)
    previous = signal.signal(ignored, signal.SIG_IGN)
    try:
        child = start(tmp_path, "-j", "4", "--json")
    finally:
        signal.signal(ignored, previous)
    wait_for(lambda: len(servers_in(tmp_path)) == 4, "four servers")
    child.send_signal(signal.SIGTERM if ignored == signal.SIGINT else signal.SIGINT)
    out, err = child.communicate(timeout=PATIENCE_S)
    ended = Ended(child.returncode, out.decode(), err.decode())
    assert (ended.code, ended.report()["interrupted"]) == (130, True)
    assert servers_in(tmp_path) == []


@pytest.mark.long
@pytest.mark.cold
def test_a_hangup_that_we_were_started_to_ignore_is_ignored_by_workers_too(tmp_path: Path) -> None:
    """As `nohup` starts commands: when the terminal closes, all of them continue."""
    write_files(tmp_path, 60_000)
    previous = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        child = start(tmp_path, "-j", "2", "--json")
    finally:
        signal.signal(signal.SIGHUP, previous)
    servers = wait_for(lambda: len(servers_in(tmp_path)) == 2 and servers_in(tmp_path), "servers")
    for pid in (child.pid, *map(parent_of, servers)):
        os.kill(pid, signal.SIGHUP)
    time.sleep(0.5)
    assert servers_in(tmp_path) == servers
    child.send_signal(signal.SIGTERM)
    out, err = child.communicate(timeout=PATIENCE_S)
    ended = Ended(child.returncode, out.decode(), err.decode())
    assert (ended.code, ended.report()["interrupted"]) == (130, True)
    assert servers_in(tmp_path) == []


def test_no_process_is_left_when_a_stopped_worker_loses_its_parent(tmp_path: Path) -> None:
    write_files(tmp_path, 60_000)
    child = start(tmp_path, "-j", "2")
    servers = wait_for(lambda: len(servers_in(tmp_path)) == 2 and servers_in(tmp_path), "servers")
    os.kill(parent_of(servers[0]), signal.SIGSTOP)
    child.kill()
    child.communicate(timeout=PATIENCE_S)
    wait_for(lambda: not servers_in(tmp_path), "the servers to end")
