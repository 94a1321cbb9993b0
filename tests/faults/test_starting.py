"""Group A of the fault catalogue: starting a server and shaking hands with it."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest
from command import running, write_files
from staging import FAULT_SERVER, LONG_S, SHORT_GRACE, Report, echo, perform, spec_for, stage

from mcptest.core.plan import ServerSpec
from mcptest.protocol.framing import Frame
from mcptest.transport.process.stopping import stop
from mcptest.transport.stdio import StdioTransport

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from connect_back import Listener


def _not_executable(folder: Path) -> tuple[str, ...]:
    (folder / "plain").write_bytes(b"#!/bin/sh\n")
    return (str(folder / "plain"),)


def _no_interpreter(folder: Path) -> tuple[str, ...]:
    (folder / "script").write_bytes(b"#!/no/such/interpreter\n")
    (folder / "script").chmod(0o755)
    return (str(folder / "script"),)


def _no_first_line(folder: Path) -> tuple[str, ...]:
    (folder / "script").write_bytes(b"hello\n")
    (folder / "script").chmod(0o755)
    return (str(folder / "script"),)


CANNOT_START: dict[str, tuple[Callable[[Path], tuple[str, ...]], str, str]] = {
    "not found": (lambda _: ("no-such-command",), "No such file", "on the PATH"),
    "not executable": (_not_executable, "Permission denied", "not executable"),
    "a folder": (lambda folder: (str(folder),), "Permission denied", "it is a folder"),
    "wrong interpreter": (_no_interpreter, "No such file", "the interpreter its first line names"),
    "no interpreter": (_no_first_line, "Exec format error", "does not name an interpreter"),
    "NUL in an argument": (lambda _: ("python3", "a\0b"), "embedded null byte", ""),
}


@pytest.mark.parametrize("case", CANNOT_START)
def test_a_command_that_cannot_start_is_named_with_its_folder_and_the_reason(
    case: str, tmp_path: Path
) -> None:
    """Row 1."""
    make, why, hint = CANNOT_START[case]
    command = make(tmp_path)
    report = perform(ServerSpec(name="broken", command=command, cwd=str(tmp_path)))
    assert (report.status, report.tests) == (3, [])
    assert report.fault["kind"] == "spawn_failed"
    for part in (repr(command[0]), repr(str(tmp_path)), why):
        assert part in report.fault["message"]
    assert hint in report.fault["hint"]


def test_a_folder_that_does_not_exist_is_named_as_the_reason(tmp_path: Path) -> None:
    """Row 1."""
    folder = str(tmp_path / "gone")
    report = perform(ServerSpec(name="lost", command=("python3",), cwd=folder))
    assert report.fault["kind"] == "spawn_failed"
    assert report.fault["hint"] == f"the folder {folder} does not exist; set cwd in the config"


def test_a_server_that_ends_before_it_reads_is_reported_at_once() -> None:
    """Row 2. The limits are 30 s; the run takes a moment."""
    report = perform(spec_for("exit", "0"))
    assert (report.status, report.tests) == (3, [])
    assert report.fault["kind"] == "exited_early"
    assert report.fault["message"] == (
        "the server ended (exit status 0) while initialize was waiting for its answer"
    )
    assert report.fault["effect"] == "definite"
    assert report.members["duration_ms"] < LONG_S * 1000 / 3


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        (("exit", "1"), "exit status 1"),
        (("die", "SIGABRT"), "killed by SIGABRT"),
        (("die", "SIGSEGV"), "killed by SIGSEGV"),
        (("exit-on-initialize",), "exit status 3"),
    ],
)
def test_a_server_that_fails_at_the_start_is_quoted(
    arguments: tuple[str, ...], status: str
) -> None:
    """Row 3."""
    report = perform(spec_for(*arguments, "cannot open the database\n"))
    assert (report.status, report.fault["kind"]) == (3, "exited_early")
    assert f"({status})" in report.fault["message"]
    assert report.fault["exit_status"] == status
    assert report.fault["stderr_tail"] == "cannot open the database"


def test_a_path_that_is_right_from_here_and_wrong_from_the_cwd_is_pointed_out(
    tmp_path: Path,
) -> None:
    """The mistake in the example of source 001."""
    script = os.path.relpath(FAULT_SERVER)
    report = perform(ServerSpec(name="lost", command=("python3", script), cwd=str(tmp_path)))
    assert report.fault["kind"] == "exited_early"
    assert f"{script!r} exists in {os.getcwd()}" in report.fault["hint"]
    assert str(tmp_path) in report.fault["hint"]


@pytest.mark.parametrize(
    "arguments",
    [
        ("python3", "server.py"),
        ("sh", "-u", "dist/index.js", "--port", "1"),
        ("python3", "./bin/server"),
    ],
)
def test_a_script_that_is_not_in_the_folder_of_the_server_is_named_with_that_folder(
    tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    report = perform(ServerSpec(name="lost", command=arguments, cwd=str(tmp_path)))
    script = next(word for word in arguments[1:] if "/" in word or word.endswith(".py"))
    assert report.fault["kind"] == "exited_early"
    assert report.fault["hint"] == (
        f"the server was started in {tmp_path}, and there is no {script!r}; "
        '"cwd" names another folder'
    )


def test_a_hint_about_a_command_line_names_no_keys_of_files(tmp_path: Path) -> None:
    given = ServerSpec(name="lost", is_named=False, command=("python3", "a.py"), cwd=str(tmp_path))
    assert perform(given).fault["hint"].endswith("there is no 'a.py'; give the whole path")
    joined = given.but(command=("python3 a.py",))
    assert perform(joined).fault["hint"] == (
        "the command is one program, started without a shell: give each argument as a word of its "
        'own; or write sh -c "…"'
    )
    assert '"args"' in perform(joined.but(is_named=True)).fault["hint"]


@pytest.mark.parametrize(
    "arguments",
    [
        ("python3", "server.py"),
        ("sh", "-c", "exit 3", "--directory", "project", "inner.py"),
        ("sh", "-c", "exit 3", "--directory=project", "inner.py"),
        ("sh", "-c", "exit 3", "-m", "package.module", "https://host/x.py", "--config=a.py"),
    ],
)
def test_the_folder_is_not_suspected_when_the_file_is_there_or_none_is_named(
    tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "inner.py").touch()
    (tmp_path / "server.py").write_text("raise SystemExit(3)", encoding="utf-8")
    report = perform(ServerSpec(name="broken", command=arguments, cwd=str(tmp_path)))
    assert (report.fault["kind"], report.fault["hint"]) == ("exited_early", "")


def test_a_server_that_never_answers_the_handshake_is_abandoned_and_killed(
    listener: Listener,
) -> None:
    """Row 4."""
    report = perform(spec_for("mute", listener=listener, startup_timeout_s=0.3))
    assert (report.status, report.fault["kind"]) == (3, "handshake_timeout")
    assert report.fault["message"] == "the server did not answer initialize within 300 ms"
    assert "startupTimeout" in report.fault["hint"]
    assert listener.next_caller().is_dead_within(5)


def test_an_answer_that_has_arrived_counts_even_when_the_time_is_up() -> None:
    """Row 5. No answer is missed for a matter of microseconds."""
    with stage() as launcher:
        wire = StdioTransport(
            spec_for("first", b"[]\n".hex()), launcher.guardian, launcher.interrupts
        )
        arrived = select.poll()
        arrived.register(wire._stdout, select.POLLIN)
        assert arrived.poll(LONG_S * 1000)
        long_ago = time.monotonic() - 1
        assert wire.receive(long_ago) == [Frame(value=[], line=1)]
        assert wire.receive(long_ago) == []
        stop(wire, SHORT_GRACE)


def test_no_time_at_all_is_a_timeout_and_not_a_crash() -> None:
    """Row 5."""
    report = perform(spec_for("good", startup_timeout_s=0.0))
    assert (report.status, report.fault["kind"]) == (3, "handshake_timeout")


def test_a_slow_handshake_below_the_limit_passes() -> None:
    """Row 5, the other side."""
    perform(spec_for("slow-start", "200")).assert_spotless()


@pytest.mark.parametrize("version", ["1999-01-01", "2026-07-28", 7, [], True, {}, ""])
def test_an_unsupported_version_ends_the_run_and_names_both_sides(
    version: object,
) -> None:
    """Row 6."""
    report = perform(spec_for("initialize-result", json.dumps({"protocolVersion": version})))
    assert (report.status, report.fault["kind"]) == (3, "unsupported_version")
    assert f"protocol version {json.dumps(version)};" in report.fault["message"]
    assert "2024-11-05, 2025-03-26, 2025-06-18, 2025-11-25" in report.fault["message"]


@pytest.mark.parametrize("version", ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"])
def test_every_version_with_a_handshake_is_spoken(version: str) -> None:
    """Row 6, the other side."""
    changes = json.dumps({"protocolVersion": version})
    perform(spec_for("initialize-result", changes)).assert_spotless()


@pytest.mark.parametrize(
    ("changes", "gap"),
    [
        ({"protocolVersion": None}, "result.protocolVersion is missing; 2025-11-25 is assumed"),
        ({"capabilities": None}, "result.capabilities must be an object and is missing"),
        ({"capabilities": []}, "result.capabilities must be an object"),
        ({"serverInfo": None}, "result.serverInfo must be an object and is missing"),
        ({"serverInfo": "me"}, "result.serverInfo must be an object"),
        (
            {"serverInfo": {"version": "1"}},
            "result.serverInfo.name must be a string and is missing",
        ),
        ({"serverInfo": {"name": "x", "version": 1}}, "result.serverInfo.version must be a string"),
    ],
)
def test_a_gap_in_the_answer_to_initialize_is_a_finding_and_the_tests_run(
    changes: object, gap: str
) -> None:
    """Row 7, as product.md has it."""
    report = perform(spec_for("initialize-result", json.dumps(changes)))
    assert (report.status, report.statuses) == (0, ["passed"])
    finding = report.findings["protocol_violation"]
    assert finding["message"] == f"in the answer to initialize, {gap}"
    assert len(report.findings) == 1


@pytest.mark.parametrize(
    ("members", "where"),
    [
        ({"result": []}, "the result of initialize must be an object and is []"),
        ({"result": None}, "the result of initialize must be an object and is null"),
        ({}, 'a response must carry "result" or "error"'),
        ({"result": {}, "error": {"code": 1, "message": ""}}, "must not carry both"),
        ({"error": {"code": "1", "message": ""}}, "breaks JSON-RPC at error.code"),
        ({"error": {"code": 1}}, "breaks JSON-RPC at error.message"),
    ],
)
def test_an_invalid_answer_to_initialize_ends_the_run(members: object, where: str) -> None:
    """Row 7."""
    report = perform(spec_for("initialize-answer", json.dumps(members)))
    assert (report.status, report.fault["kind"]) == (3, "protocol_violation")
    assert where in report.fault["message"]


def test_a_refused_handshake_shows_code_message_and_data() -> None:
    """Row 8."""
    error = {"code": -32603, "message": "db \u202e down", "data": {"a": 1}}
    report = perform(spec_for("initialize-answer", json.dumps({"error": error})))
    assert (report.status, report.fault["kind"]) == (3, "handshake_refused")
    assert report.fault["message"] == (
        'the server refused initialize: code -32603, "db \\u202e down", data {"a":1}'
    )


def test_a_refusal_of_the_stateless_era_is_explained() -> None:
    """Row 8 meets row 9."""
    error = {"code": -32022, "message": "unsupported", "data": {"supported": ["2026-07-28"]}}
    report = perform(spec_for("initialize-answer", json.dumps({"error": error})))
    assert report.fault["kind"] == "unsupported_version"
    assert "speaks only the stateless era of the protocol, 2026-07-28" in report.fault["message"]
    assert "asked without a handshake: the server does not speak" in report.fault["hint"]


def test_messages_before_the_handshake_is_done_are_tolerated() -> None:
    """Row 11. The ping and the request are answered, the log message is taken."""
    perform(spec_for("chatty-start")).assert_spotless()


def test_an_unsolicited_answer_is_never_matched() -> None:
    """Row 12. The guessed ids are 0 and 1; the test asks with 1 and gets its own answer."""
    report = perform(spec_for("eager"))
    assert (report.status, report.statuses) == (0, ["passed"])
    assert report.findings["unknown_id"]["count"] == 2
    assert report.findings["early_response"]["count"] == 1
    assert "guessed" in report.findings["unknown_id"]["quote"]


def test_a_banner_is_a_finding_quoted_once_and_breaks_nothing() -> None:
    """Row 13, as conductor.md has it."""
    report = perform(spec_for("first", b"Server v1 ready\n> \n".hex()), echo(), echo(id=2))
    assert (report.status, report.statuses) == (0, ["passed", "passed"])
    finding = report.findings["malformed_line"]
    assert finding["quote"] == '"Server v1 ready" (it does not begin like JSON)'
    assert finding["count"] == 2


def test_a_banner_is_named_as_the_cause_of_what_it_breaks() -> None:
    """Row 13. Without its own newline the banner swallows the first answer."""
    report = perform(spec_for("first", b"Server v1 ready> ".hex()))
    assert (report.status, report.fault["kind"]) == (3, "malformed_line")
    assert '"Server v1 ready> {' in report.fault["message"]
    assert "logs and banners belong on stderr" in report.fault["hint"]


def test_a_banner_is_named_when_the_answer_never_arrives() -> None:
    """Row 13. A server that talks and does not answer is asked to be quiet first."""
    command = ("sh", "-c", "echo Listening on port 3000; exec sleep 60")
    spec = ServerSpec(name="web", command=command, startup_timeout_s=0.3)
    report = perform(spec)
    assert report.fault["kind"] == "handshake_timeout"
    assert '"Listening on port 3000"' in report.fault["hint"]
    assert "belong on stderr" in report.fault["hint"]


def test_a_server_is_given_no_terminal_even_when_we_have_one(tmp_path: Path) -> None:
    """Row 15."""
    test = echo(expect={"stderr": "there is no terminal"})
    words = write_files(tmp_path, spec_for("tty"), test)
    on_a_terminal = "import pty, sys; pty.spawn(sys.argv[1:])"
    words = [sys.executable, "-c", on_a_terminal, *words, "--reporter", "json=report.json"]
    with running(tmp_path, words, stdin=subprocess.DEVNULL) as run:
        out, _ = run.process.communicate(timeout=60)
    report = Report((tmp_path / "report.json").read_text(encoding="utf-8"), 0)
    report.assert_spotless()
    assert b"1 passed" in out


def test_a_ready_pattern_is_waited_for_and_its_absence_explained() -> None:
    """Row 4, for the wait before the handshake."""
    spec = spec_for("good", ready_pattern="listening", startup_timeout_s=0.3)
    report = perform(spec)
    assert (report.status, report.fault["kind"]) == (3, "handshake_timeout")
    assert "did not write 'listening' to stderr within 300 ms" in report.fault["message"]
    ready = spec_for("announce-ready", ready_pattern=r"listening on \d+")
    perform(ready).assert_spotless()


def test_a_server_that_ends_before_it_is_ready_is_reported_at_once() -> None:
    """Row 3, for the wait before the handshake."""
    report = perform(spec_for("exit", "1", "no such port\n", ready_pattern="listening"))
    assert (report.status, report.fault["kind"]) == (3, "exited_early")
    assert report.fault["stderr_tail"] == "no such port"
