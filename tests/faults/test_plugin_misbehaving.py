"""Plugins that break their contract: which failure it is, and what happens afterwards."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import pytest
from plugin_stage import LONG_S, SHORT_S, children, command_for, hosting, left_clean

from mcptest.core.errors import McptestError
from mcptest.plugins import (
    HostError,
    InvalidJson,
    InvalidResponse,
    PluginCrashed,
    PluginHost,
    SpawnFailed,
    Timeout,
)

if TYPE_CHECKING:
    from pathlib import Path

    from connect_back import Listener


@pytest.mark.parametrize(
    "kind", [SpawnFailed, PluginCrashed, Timeout, InvalidJson, InvalidResponse]
)
def test_every_failure_is_a_host_error(kind: type[Exception]) -> None:
    assert issubclass(kind, HostError)
    assert issubclass(kind, McptestError)


# Lines that are not answers

NOT_OF_THE_CALL = "its id is not that of the call"
NEVER_ASKED = ": it answers what was never asked"


def test_a_line_that_is_not_json_is_quoted_and_the_next_call_works() -> None:
    with hosting() as host:
        pid = host.call("pid").result
        with pytest.raises(InvalidJson) as caught:
            host.call("not_json")
        assert caught.value.line == "geo: looking it up \x1b[1m"
        assert caught.value.message == (
            "its line is not JSON: it does not begin like JSON: geo: looking it up \\u001b[1m"
        )
        assert host.call("pid").result == pid


@pytest.mark.parametrize("id", [1, 0, 2])
def test_an_answer_to_the_first_call_from_before_it_was_asked_is_refused(
    id: int, tmp_path: Path
) -> None:
    eager = tmp_path / "eager.py"
    said = f'{{"id": {id}, "result": {{"pass": true}}}}'
    eager.write_text(f"import sys\nprint({said!r}, flush=True)\nsys.stdin.read()", encoding="utf-8")
    with left_clean(), PluginHost([sys.executable, "-S", "-E", str(eager)], LONG_S) as host:
        with pytest.raises(InvalidResponse) as caught:
            host.call("near")
        assert caught.value.line == said


def test_the_id_of_the_first_call_is_random() -> None:
    firsts = set()
    for _ in range(3):
        with hosting(first_id=None) as host:
            firsts.add(host.call("null").id)
    assert len(firsts) == 3


def test_a_later_call_is_not_said_to_be_the_first() -> None:
    with hosting() as host:
        host.call("null")
        with pytest.raises(InvalidResponse) as caught:
            host.call("other_id")
        assert caught.value.reason == f"{NOT_OF_THE_CALL}, 2"


def test_bytes_that_are_not_utf8_are_not_json() -> None:
    with hosting() as host:
        with pytest.raises(InvalidJson, match="not valid UTF-8") as caught:
            host.call("not_utf8")
        assert caught.value.line == '{"id":1,"result":"\\xff"}'
        assert host.call("echo", 1).result == 1


@pytest.mark.parametrize(
    ("method", "reason", "line"),
    [
        ("both", 'it has both of "result" and "error"', '"result": 1, "error": {'),
        ("neither", 'it has neither of "result" and "error"', '{"id": 1}'),
        ("array", "it is not an object", "[]"),
        ("other_id", f"{NOT_OF_THE_CALL}, 1{NEVER_ASKED}", '{"id": 999, "result": "stray"}'),
        ("id_as_text", f"{NOT_OF_THE_CALL}, 1{NEVER_ASKED}", '{"id": "1", "result": 1}'),
    ],
)
def test_json_that_is_not_an_answer_is_quoted_and_the_next_call_works(
    method: str, reason: str, line: str
) -> None:
    with hosting() as host:
        with pytest.raises(InvalidResponse) as caught:
            host.call(method)
        assert caught.value.reason == reason
        assert line in caught.value.line
        assert caught.value.message.startswith(f"{reason}: ")
        assert host.call("echo", 1).result == 1


def test_a_second_answer_to_one_call_is_not_an_answer_to_the_next() -> None:
    with hosting() as host:
        assert host.call("twice").result == "first"
        # Which of them depends on when it arrives.
        message = "its id is not that of the call, 2|it was said before anything was asked"
        with pytest.raises(InvalidResponse, match=message) as caught:
            host.call("echo", 1)
        assert '"second"' in caught.value.line
        assert host.call("echo", 2).result == 2


def test_a_line_that_is_too_long_is_cut_at_the_limit_and_the_next_call_works() -> None:
    limit = 100_000
    with hosting(max_line_bytes=limit) as host:
        with pytest.raises(InvalidResponse) as caught:
            host.call("long_line", limit + 1)
        assert caught.value.reason == "its line is longer than 100,000 bytes"
        assert set(caught.value.line) == {"x"}
        assert len(caught.value.line) <= 4096
        assert len(caught.value.message) < 400
        assert host.call("echo", 1).result == 1


def test_a_line_that_is_just_short_enough_is_read() -> None:
    with hosting(max_line_bytes=2000) as host:
        with pytest.raises(InvalidJson):
            host.call("long_line", 2000)
        assert host.call("echo", 1).result == 1


# No answer in time


def test_after_a_timeout_the_plugin_is_left_running_and_its_late_answers_are_dropped() -> None:
    with hosting() as host:
        pid = host.call("pid").result
        host.call_timeout = SHORT_S
        for _ in range(2):
            with pytest.raises(Timeout, match=r"^no answer to 'late' within 0\.2 s$") as caught:
                host.call("late")
            assert caught.value.seconds == SHORT_S
            assert "50 ms" in caught.value.hint
        host.call_timeout = LONG_S
        assert host.call("settle").result == "in time"
        assert host.call("pid").result == pid


def test_an_answer_that_never_arrives_does_not_hurt_the_next_call() -> None:
    with hosting() as host:
        host.call_timeout = SHORT_S
        with pytest.raises(Timeout):
            host.call("silent")
        host.call_timeout = LONG_S
        assert host.call("echo", 1).result == 1


def test_a_second_late_answer_is_an_error() -> None:
    """The second one belongs to no call at all."""
    with hosting() as host:
        host.call_timeout = SHORT_S
        with pytest.raises(Timeout):
            host.call("late")
        host.call_timeout = LONG_S
        with pytest.raises(InvalidResponse, match="its id is not that of the call, 2") as caught:
            host.call("settle", 2)
        assert '"late"' in caught.value.line
        assert host.call("echo", 1).result == 1


def test_a_plugin_that_never_reads_is_a_timeout_however_much_is_sent(
    listener: Listener, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(*next(iter(listener.environment.items())))
    with hosting("never-reading") as host:
        host.call_timeout = SHORT_S
        for _ in range(2):
            with pytest.raises(Timeout):
                host.call("echo", "x" * 1_000_000)
        caller = listener.next_caller()
    assert caller.is_dead_within(LONG_S)


# A plugin that ends


@pytest.mark.parametrize(
    ("method", "how"),
    [
        ("exit", "exit status 3"),
        ("die", "killed by SIGKILL"),
        ("half_a_line", 'exit status 0, in the middle of a line: {"id": 2, "result"'),
        ("close_stdout", "it closed its stdout and stayed"),
    ],
)
def test_a_plugin_that_ends_over_a_call_has_crashed_for_good(method: str, how: str) -> None:
    with hosting() as host:
        host.call("pid")
        with pytest.raises(PluginCrashed) as caught:
            host.call(method)
        assert caught.value.message.startswith(f"ended before it answered '{method}': {how}")
        assert children() == [], "it is reaped, and nobody guards it any more"
        for _ in range(3):
            with pytest.raises(PluginCrashed, match=r"\(in an earlier call\)$") as again:
                host.call("echo", 1)
            assert how in again.value.message
        assert children() == [], "nothing is started again"


def test_stderr_of_a_crashed_plugin_is_kept() -> None:
    with hosting() as host:
        with pytest.raises(PluginCrashed) as caught:
            host.call("exit", 5)
        assert "exit status 5" in caught.value.message
        assert caught.value.stderr == host.stderr == "geo: out of memory\n"


def test_a_plugin_that_ends_before_it_reads_has_crashed() -> None:
    with hosting("exits-at-once") as host:
        with pytest.raises(PluginCrashed) as caught:
            host.call("echo", "x" * 1_000_000)
        assert "exit status 4" in caught.value.message
        assert caught.value.stderr == "geo: no map found\n"


def test_a_plugin_that_answers_and_ends_has_answered(
    listener: Listener, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(*next(iter(listener.environment.items())))
    with hosting("only-once") as host:
        answered = host.call("pid")
        assert answered.result
        assert listener.next_caller().is_dead_within(LONG_S)
        for _ in range(2):
            with pytest.raises(PluginCrashed, match="exit status 0"):
                host.call("pid")
        assert children() == []


# A plugin that never was


def test_a_program_that_is_missing_is_reported_by_every_call() -> None:
    with left_clean(), PluginHost(["/no/such/program", "-x"]) as host:
        for _ in range(2):
            with pytest.raises(SpawnFailed, match="cannot start '/no/such/program' in") as caught:
                host.call("ping")
            assert (
                caught.value.hint
                == "there is no such file: check the path, and whether it is installed"
            )


def test_a_file_that_is_not_executable_is_reported(tmp_path: Path) -> None:
    script = tmp_path / "geo.py"
    script.write_text("pass\n", encoding="utf-8")
    with left_clean(), PluginHost([str(script)]) as host:
        with pytest.raises(SpawnFailed, match="Permission denied") as caught:
            host.call("ping")
        assert "chmod +x" in caught.value.hint


def test_a_script_whose_interpreter_is_missing_is_reported(tmp_path: Path) -> None:
    script = tmp_path / "geo"
    script.write_text("#!/no/such/interpreter\n", encoding="utf-8")
    script.chmod(0o755)
    with left_clean(), PluginHost([str(script)]) as host:
        with pytest.raises(SpawnFailed) as caught:
            host.call("ping")
        assert "the interpreter its first line names is not" in caught.value.hint


def test_a_folder_that_is_missing_is_reported(tmp_path: Path) -> None:
    with left_clean(), PluginHost(command_for(), cwd=str(tmp_path / "gone")) as host:
        with pytest.raises(SpawnFailed) as caught:
            host.call("ping")
        assert "does not exist" in caught.value.hint


def test_a_program_that_is_put_right_can_be_started_by_the_next_call(tmp_path: Path) -> None:
    """Nothing has crashed yet: there was nothing to crash."""
    script = tmp_path / "geo"
    script.write_text(f"#!/bin/sh\nexec {' '.join(command_for())}\n", encoding="utf-8")
    with left_clean(), PluginHost([str(script)], LONG_S) as host:
        with pytest.raises(SpawnFailed):
            host.call("echo", 1)
        os.chmod(script, 0o755)
        assert host.call("echo", 1).result == 1
