"""However a session ends, and over however many processes, no process is left behind."""

from __future__ import annotations

import re
import signal
import subprocess
from pathlib import Path

import pytest
from connect_back import Caller, Listener
from processes import has_ended
from sessions import (
    PATIENCE_S,
    SERVER,
    call,
    cases_of,
    pytest_in,
    running,
    text,
    write_conductor,
)

HANG = call("hangs", "hang")
XDIST = ("xdist.plugin", "no:cacheprovider")


def coprocess_of(server: Caller) -> int:
    return int(server.name.removeprefix("server of "))


def words_of(process: subprocess.Popen[bytes]) -> str:
    out, _ = process.communicate(timeout=PATIENCE_S)
    return out.decode("utf-8")


def test_a_session_that_ends_kills_all_processes_of_its_servers(
    tmp_path: Path, listener: Listener
) -> None:
    write_conductor(tmp_path / "a.test.mcp.yml", call("counts", "count"))
    with running(tmp_path, env=listener.environment) as session:
        server = listener.next_caller()
        coprocess = coprocess_of(server)
        assert "1 passed" in words_of(session)
        assert server.is_dead_within(PATIENCE_S)
        assert has_ended(coprocess)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_session_that_is_killed_in_the_middle_leaves_no_process_behind(
    tmp_path: Path, listener: Listener, number: signal.Signals
) -> None:
    write_conductor(tmp_path / "a.test.mcp.yml", call("counts", "count"), HANG)
    with running(tmp_path, env=listener.environment) as session:
        server = listener.next_caller()
        coprocess = coprocess_of(server)
        assert server.next_word() == "hangs"
        session.send_signal(number)
        session.wait(PATIENCE_S)
        assert server.is_dead_within(PATIENCE_S)
        assert has_ended(coprocess)


@pytest.mark.long
def test_ctrl_c_ends_a_session_in_good_time(tmp_path: Path, listener: Listener) -> None:
    write_conductor(tmp_path / "a.test.mcp.yml", call("counts", "count"), HANG, call("c", "count"))
    with running(tmp_path, env=listener.environment) as session:
        server = listener.next_caller()
        coprocess = coprocess_of(server)
        assert server.next_word() == "hangs"
        session.send_signal(signal.SIGINT)
        said = words_of(session)
        assert session.returncode == 2
        # The previous test may not be reported yet: the next request is sent meanwhile.
        assert "KeyboardInterrupt" in said
        assert server.is_dead_within(PATIENCE_S)
        assert has_ended(coprocess)


def test_a_fixtures_server_is_not_left_behind_either(tmp_path: Path, listener: Listener) -> None:
    (tmp_path / "test_a.py").write_text(
        "def test_a(mcptest_client):\n    mcptest_client.call_tool('hang')\n", encoding="utf-8"
    )
    words = ("--mcp-server-command", " ".join(SERVER))
    with running(tmp_path, *words, env=listener.environment) as session:
        server = listener.next_caller()
        coprocess = coprocess_of(server)
        assert server.next_word() == "hangs"
        session.kill()
        session.wait(PATIENCE_S)
        assert server.is_dead_within(PATIENCE_S)
        assert has_ended(coprocess)


# Several processes


def write_files(folder: Path, count: int) -> None:
    for number in range(count):
        stores = call("stores", "store", arguments={"text": f"tea {number}"})
        stores["capture"] = {"id": "result.structuredContent.id"}
        recalls = call("recalls", "recall", text(f"tea {number}"), arguments={"id": "${id}"})
        write_conductor(folder / f"{number}.test.mcp.yml", stores, recalls)


def test_files_are_spread_over_two_workers(tmp_path: Path) -> None:
    write_files(tmp_path, 6)
    words = ("-n", "2", "--dist", "loadfile", "-v", "--junitxml", "report.xml")
    ended = pytest_in(tmp_path, *words, plugins=XDIST)
    assert (ended.code, ended.summary) == (0, "12 passed"), ended.out
    workers = set(re.findall(r"^\[(gw\d)\]", ended.out, re.MULTILINE))
    assert workers == {"gw0", "gw1"}
    assert len(cases_of(tmp_path / "report.xml")) == 12


def test_tests_that_share_nothing_are_spread_one_by_one(tmp_path: Path) -> None:
    tests = [call(f"echo {n}", "echo", text(str(n)), arguments={"text": str(n)}) for n in range(20)]
    wrong = call("wrong", "echo", text("a"), arguments={"text": "b"})
    lane = call("skipped", "count", skip="not today")
    write_conductor(tmp_path / "a.test.mcp.yml", *tests, wrong, lane)
    ended = pytest_in(tmp_path, "-n", "2", plugins=XDIST)
    assert (ended.code, ended.summary) == (1, "1 failed, 20 passed, 1 skipped")
    assert "result.content[0].text: differs" in ended.out
    assert "FAILED a.test.mcp.yml::mcptest::sdk::wrong - MismatchError: result.content" in ended.out


def test_a_value_that_another_worker_saved_is_saved_again(tmp_path: Path) -> None:
    stores = call("stores", "store", arguments={"text": "tea"})
    stores["capture"] = {"id": "result.structuredContent.id"}
    recalls = [
        call(f"recalls {n}", "recall", text("tea"), arguments={"id": "${id}"}) for n in range(9)
    ]
    write_conductor(tmp_path / "a.test.mcp.yml", stores, *recalls)
    ended = pytest_in(tmp_path, "-n", "2", "-v", plugins=XDIST)
    assert (ended.code, ended.summary) == (0, "10 passed"), ended.out
    assert set(re.findall(r"^\[(gw\d)\]", ended.out, re.MULTILINE)) == {"gw0", "gw1"}


def test_notes_of_passed_tests_are_reported_by_the_controller(tmp_path: Path) -> None:
    flaky = call("flaky", "flaky", text("ok"), arguments={"until": 2}, retries=2)
    write_conductor(tmp_path / "a.test.mcp.yml", flaky)
    ended = pytest_in(tmp_path, "-n", "2", plugins=XDIST)
    assert ended.summary == "1 passed"
    assert "a.test.mcp.yml::mcptest::sdk::flaky: flaky: attempt 2 passed" in ended.out


def test_mistakes_in_files_are_reported_by_workers_as_well(tmp_path: Path) -> None:
    write_conductor(tmp_path / "a.test.mcp.yml", call("a", "echo", text("match:containz:a")))
    ended = pytest_in(tmp_path, "-n", "2", plugins=XDIST)
    assert ended.code in (1, 2)
    assert 'error[F012]: unknown matcher "containz"' in ended.out


def test_tags_are_marks_in_workers_as_well(tmp_path: Path) -> None:
    write_conductor(
        tmp_path / "a.test.mcp.yml", call("a", "count", tags=["slow"]), call("b", "count")
    )
    words = ("-n", "2", "-m", "slow", "--strict-markers", "-v")
    ended = pytest_in(tmp_path, *words, plugins=XDIST)
    assert (ended.code, ended.summary) == (0, "1 passed")


@pytest.mark.long
def test_two_workers_that_are_killed_leave_no_process_behind(
    tmp_path: Path, listener: Listener
) -> None:
    for name in ("a", "b"):
        write_conductor(tmp_path / f"{name}.test.mcp.yml", HANG)
    words = ("-n", "2", "--dist", "loadfile")
    with running(tmp_path, *words, plugins=XDIST, env=listener.environment) as session:
        servers = [listener.next_caller(), listener.next_caller()]
        coprocesses = [coprocess_of(server) for server in servers]
        assert [server.next_word() for server in servers] == ["hangs", "hangs"]
        session.kill()
        session.wait(PATIENCE_S)
        assert all(server.is_dead_within(PATIENCE_S) for server in servers)
        assert all(map(has_ended, coprocesses))
