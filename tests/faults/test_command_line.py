"""What only the whole command can show: its exit status, its streams and its memory."""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING

import pytest
from command import peak_memory_bytes, running, write_files
from staging import echo, spec_for

if TYPE_CHECKING:
    from pathlib import Path

    from connect_back import Listener

MEGABYTE = 1_000_000

# The command itself takes about 25 MB.
MODEST_BYTES = 100 * MEGABYTE

ESCAPES = b"\x1b[31mred\x1b[0m \x1b]0;title\x07 \x1b]8;;http://x\x1b\\ \x9b31m\n"


def test_a_good_run_writes_one_report_and_nothing_else(tmp_path: Path) -> None:
    """The other half of every row."""
    words = write_files(tmp_path, spec_for("good"))
    with running(tmp_path, [*words, "--json"]) as run:
        out, err = run.process.communicate(timeout=60)
    assert (run.process.returncode, err) == (0, b"")
    assert json.loads(out)["summary"]["passed"] == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "a.test.mcp.yml",
        "conductor.config.json",
    ]


@pytest.mark.parametrize(
    ("mode", "status", "kind"),
    [
        (("exit", "1"), 3, "exited_early"),
        (("exit-on-call", "1"), 1, "exited_during_call"),
        (("instead", b'{"id":1,}\n'.hex()), 1, "malformed_line"),
        (("first", b"banner\n".hex()), 0, None),
    ],
)
def test_the_exit_status_says_how_the_run_ended(
    mode: tuple[str, ...], status: int, kind: str | None, tmp_path: Path
) -> None:
    """Rows 2, 13, 39 and 84."""
    words = write_files(tmp_path, spec_for(*mode))
    with running(tmp_path, [*words, "--json"]) as run:
        report = run.finish()
    assert report.status == status
    assert kind is None or report.fault["kind"] == kind


@pytest.mark.parametrize("where", ["stdout", "stderr"])
def test_server_output_never_reaches_the_terminal_unescaped(where: str, tmp_path: Path) -> None:
    """Row 29."""
    if where == "stdout":
        spec = spec_for("before", (ESCAPES + ESCAPES[:-1]).hex())
    else:
        spec = spec_for("exit-on-call", "1", ESCAPES.decode("latin-1"))
    words = write_files(tmp_path, spec)
    for options in ([], ["--verbose"], ["--json"]):
        with running(tmp_path, [*words, *options]) as run:
            out, err = run.process.communicate(timeout=60)
        for stream in (out, err):
            assert b"\x1b" not in stream
            assert b"\x07" not in stream
            # In JSON, which is not for terminals, the controls above U+007F are allowed.
            assert b"\xc2\x9b" not in stream or options == ["--json"]
        assert b"31mred" in out


@pytest.mark.long
def test_a_reader_who_leaves_ends_the_run_quietly(tmp_path: Path, listener: Listener) -> None:
    """Row 81: mcptest run … | head -1."""
    tests = [echo("x" * 2000, id=n) | {"expect": {"stderr": "never"}} for n in range(30)]
    spec = spec_for("announced", listener=listener)
    with running(tmp_path, write_files(tmp_path, spec, *tests)) as run:
        assert run.process.stdout is not None
        assert run.process.stdout.readline()
        run.process.stdout.close()
        caller = listener.next_caller()
        caller.let_go()
        assert run.process.stderr is not None
        assert run.process.stderr.read() == b""
        assert run.status() == 130
    assert caller.is_dead_within(2)


def test_a_flood_of_256_mebibytes_on_stderr_takes_no_memory(tmp_path: Path) -> None:
    """Row 72."""
    words = write_files(tmp_path, spec_for("stderr-flood", "256"))
    peak, report = peak_memory_bytes([*words, "--json"], tmp_path)
    report.assert_spotless()
    assert peak < MODEST_BYTES


@pytest.mark.long
def test_a_storm_of_200_000_notifications_takes_no_memory(tmp_path: Path) -> None:
    """Row 55."""
    words = write_files(tmp_path, spec_for("storm", "200000"))
    peak, report = peak_memory_bytes([*words, "--json"], tmp_path)
    report.assert_spotless()
    assert peak < MODEST_BYTES


def test_an_endless_line_takes_no_more_than_the_limit_allows(tmp_path: Path) -> None:
    """Rows 30 and 32, with the limit that users get: 64 MiB."""
    words = write_files(tmp_path, spec_for("endless-line"))
    peak, report = peak_memory_bytes([*words, "--json"], tmp_path)
    assert (report.status, report.fault["kind"]) == (1, "line_too_long")
    assert "more than 67,108,864 bytes" in report.fault["message"]
    assert peak < 3 * 67_108_864


def test_an_endless_line_under_a_small_limit_takes_no_memory(tmp_path: Path) -> None:
    """Row 32, with a limit from the config."""
    words = write_files(tmp_path, spec_for("endless-line"), maxLineBytes=MEGABYTE)
    peak, report = peak_memory_bytes([*words, "--json"], tmp_path)
    assert (report.status, report.fault["kind"]) == (1, "line_too_long")
    assert peak < MODEST_BYTES


def test_nothing_of_ours_is_inherited_but_the_three_pipes(tmp_path: Path) -> None:
    """Rows 1 and 97: a server that lists its descriptors finds 0, 1 and 2."""
    test = echo(expect={"stderr": "0 1 2"})
    words = write_files(tmp_path, spec_for("descriptors"), test)
    with (
        open(tmp_path / "held", "wb") as held,
        running(tmp_path, [*words, "--json"], pass_fds=[held.fileno()]) as run,
    ):
        run.finish().assert_spotless()


def test_a_run_whose_own_streams_are_closed_still_runs(tmp_path: Path) -> None:
    """Row 80, in part: our output is never read."""
    words = write_files(tmp_path, spec_for("good"))
    with running(tmp_path, [*words, "--json"], stdin=subprocess.DEVNULL) as run:
        assert run.finish().status == 0


def test_a_daemon_without_group_or_mark_is_still_found(tmp_path: Path, listener: Listener) -> None:
    """Row 88. The command adopts orphans, so it turns up as a child of ours."""
    words = write_files(tmp_path, spec_for("leave-no-trace", listener=listener))
    with running(tmp_path, [*words, "--json"]) as run:
        daemon = listener.next_caller()
        report = run.finish()
    assert daemon.is_dead_within(2)
    assert (report.status, report.statuses) == (0, ["passed"])
    assert "socket.create_connection" in report.findings["left_behind"]["quote"]
