"""`mcptest compliance run`: its options, its exit codes and how it ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from active import check_server, compliance_run
from console import ENVIRONMENT

SERVERS = Path(__file__).parents[2] / "servers"
TINY = (sys.executable, str(SERVERS / "tiny_server.py"))


def test_only_and_skip_choose_checks_by_id_and_family(tmp_path: Path) -> None:
    found = check_server("--only", "BASE", "--skip", "base-07", "--", *TINY).checks()
    assert {each["family"] for each in found.values()} == {"BASE"}
    assert "BASE-18" in found
    assert "BASE-07" not in found


def test_a_server_that_cannot_be_started_is_3(tmp_path: Path) -> None:
    ended = compliance_run("--format", "json", "--", "./nowhere", folder=tmp_path)
    assert ended.code == 3
    assert "cannot start './nowhere'" in ended.err
    assert ended.report()["checks"] == []
    assert ended.report()["error"]["kind"] == "spawn_failed"
    text = compliance_run("--", "./nowhere", folder=tmp_path)
    assert (text.code, text.out) == (3, "")


def test_a_server_that_never_opens_a_session_is_3_and_its_stderr_is_shown() -> None:
    script = "import sys; sys.exit('no database')"
    ended = compliance_run("--format", "json", "--", sys.executable, "-c", script)
    assert ended.code == 3
    assert "| no database" in ended.err
    assert {each["verdict"] for each in ended.report()["checks"]} <= {"could_not_run", "failed"}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--only", "BAS"), "--only: there is no check and no family 'BAS'; did you mean BASE?"),
        (("--only", "HTTP-02", "--skip", "HTTP"), "--only and --skip leave no check"),
        (("--format", "jsn"), "--format has no 'jsn'; did you mean"),
        (("--level", "may"), "--level has no 'may'"),
        (("--spec-version", "2025"), "--spec-version takes auto, all or one of 2024-11-05"),
        (("--total-timeout", "soon"), "--total-timeout"),
        (("server.py",), "mcptest compliance run takes no 'server.py'"),
        ((), "no server to talk to"),
    ],
)
def test_bad_usage_is_2(tmp_path: Path, words: tuple[str, ...], message: str) -> None:
    ended = compliance_run(*words, folder=tmp_path)
    assert (ended.code, ended.out) == (2, "")
    assert message in ended.err


def test_a_run_that_makes_no_check_does_not_pass() -> None:
    ended = compliance_run("--only", "HTTP-02", "--", *TINY)
    assert ended.code == 7
    assert ended.err == "error: no check was made; the report says why\n"
    assert "0 passed, 0 failed, 0 warnings, 0 could not run, 1 do not apply" in ended.out


def test_only_the_chosen_checks_are_not_run_when_there_is_no_time(tmp_path: Path) -> None:
    late = tmp_path / "late.py"
    late.write_text("import time; time.sleep(30)", encoding="utf-8")
    words = ("--only", "LIFE-01", "--total-timeout", "200ms", "--", sys.executable, str(late))
    ended = compliance_run("--format", "json", *words)
    assert ended.code == 3
    assert [each["id"] for each in ended.report()["checks"]] == ["LIFE-01"]


def test_ctrl_c_ends_with_a_partial_report_that_says_so(tmp_path: Path) -> None:
    started = tmp_path / "started"
    server = "import pathlib, sys, time; pathlib.Path(sys.argv[1]).touch(); time.sleep(60)"
    argv = [sys.executable, "-m", "mcptest", "compliance", "run", "--timeout", "60s"]
    argv += ["--format", "json", "--", sys.executable, "-c", server, str(started)]
    with subprocess.Popen(
        argv, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        deadline = time.monotonic() + 60
        while not started.exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        os.kill(process.pid, signal.SIGINT)
        out, _ = process.communicate(timeout=60)
    assert process.returncode == 130
    assert b'"interrupted": true' in out
