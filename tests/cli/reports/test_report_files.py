"""Reports in files: what is in them, and what becomes of the old one when something fails."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

import pytest
from console import ENVIRONMENT, PATIENCE_S, case, mcptest, write_config, write_suite

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_config(tmp_path / "conductor.config.json", str(tmp_path / "started"))
    write_suite(tmp_path / "a.test.mcp.yml", case("good"), case("bad", wants={}))
    return tmp_path


def files(folder: Path) -> set[str]:
    inputs = {"conductor.config.json", "a.test.mcp.yml", "started", ".mcptest"}
    return {path.name for path in folder.iterdir()} - inputs


def test_a_junit_report_is_written_beside_the_one_on_the_terminal(folder: Path) -> None:
    ended = mcptest(folder, "run", "--junit", "out.xml")
    assert ended.code == 1
    assert "2 tests: 1 passed, 1 failed" in ended.out
    root = ET.parse(folder / "out.xml").getroot()
    assert [
        (each.get("name"), each.find("failure") is not None) for each in root.iter("testcase")
    ] == [
        ("good", False),
        ("bad", True),
    ]


def test_several_reports_of_one_run_are_written(folder: Path) -> None:
    words = ("--reporter", "json=out.json", "--reporter=junit=out.xml", "--capture", "out.capture")
    ended = mcptest(folder, "run", *words, "--json")
    assert ended.code == 1
    assert files(folder) == {"out.json", "out.xml", "out.capture"}
    assert (folder / "out.json").read_text(encoding="utf-8") == ended.out
    capture = json.loads((folder / "out.capture").read_text(encoding="utf-8"))
    assert [exchange["request"]["method"] for exchange in capture["exchanges"]] == [
        "initialize",
        "notifications/initialized",
        "echo",
        "echo",
    ]


def test_a_report_on_standard_output_takes_the_place_of_the_terminals(folder: Path) -> None:
    ended = mcptest(folder, "run", "--reporter", "junit")
    assert ended.code == 1
    assert ET.fromstring(ended.out).tag == "testsuites"


def test_an_old_report_is_replaced_and_keeps_its_mode(folder: Path) -> None:
    old = folder / "out.json"
    old.write_text("old", encoding="utf-8")
    old.chmod(0o640)
    reader = old.open(encoding="utf-8")
    assert mcptest(folder, "run", "--reporter", "json=out.json").code == 1
    assert json.loads(old.read_text(encoding="utf-8"))["summary"]["total"] == 2
    assert old.stat().st_mode & 0o777 == 0o640
    # A reader of the old one still sees all of it: it was replaced, not rewritten.
    with reader:
        assert reader.read() == "old"
    assert files(folder) == {"out.json"}


def test_a_link_to_a_report_is_followed(folder: Path) -> None:
    (folder / "real.json").write_text("old", encoding="utf-8")
    (folder / "link.json").symlink_to("real.json")
    mcptest(folder, "run", "--reporter", "json=link.json")
    assert (folder / "link.json").is_symlink()
    assert json.loads((folder / "real.json").read_text(encoding="utf-8"))["version"] == 1


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("--junit", "no/such/out.xml"), "there is no folder"),
        (("--junit", "."), "it is a folder"),
        (("--reporter", "json=conductor.config.json/x"), "there is no folder"),
        (("--capture", "no/such/file"), "there is no folder"),
    ],
)
def test_a_report_that_cannot_be_written_is_refused_before_anything_runs(
    folder: Path, words: tuple[str, ...], why: str
) -> None:
    ended = mcptest(folder, "run", *words)
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith("error: cannot write ")
    assert why in ended.err
    assert not (folder / "started").exists()


def test_a_full_device_is_2_with_the_cause_and_the_other_reports_are_written(folder: Path) -> None:
    ended = mcptest(folder, "run", "--junit", "/dev/full", "--reporter", "json=out.json")
    assert ended.code == 2
    assert ended.err == "error: cannot write /dev/full: No space left on device\n"
    assert "2 tests: 1 passed, 1 failed" in ended.out
    assert json.loads((folder / "out.json").read_text(encoding="utf-8"))["summary"]["failed"] == 1


def test_under_json_a_report_that_could_not_be_written_costs_nothing_of_the_object(
    folder: Path,
) -> None:
    ended = mcptest(folder, "run", "--json", "--junit", "/dev/full")
    assert ended.code == 2
    assert ended.err == "error: cannot write /dev/full: No space left on device\n"
    report = ended.report()
    assert (report["error"], report["summary"]["total"]) == (None, 2)


def test_a_disk_that_fills_up_leaves_the_old_report_and_no_litter(folder: Path) -> None:
    (folder / "out.json").write_text("old", encoding="utf-8")
    ended = subprocess.run(
        [sys.executable, "-B", "-m", "mcptest", "run", "--reporter", "json=out.json"],
        cwd=folder,
        env=ENVIRONMENT,
        capture_output=True,
        timeout=PATIENCE_S,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100)),
    )
    assert ended.returncode == 2
    assert ended.stderr == b"error: cannot write out.json: File too large\n"
    assert (folder / "out.json").read_text(encoding="utf-8") == "old"
    assert files(folder) == {"out.json"}


def test_a_pipe_is_written_to_and_not_replaced(folder: Path) -> None:
    os.mkfifo(folder / "pipe")
    reader = subprocess.Popen(["cat", str(folder / "pipe")], stdout=subprocess.PIPE)
    mcptest(folder, "run", "--reporter", "json=pipe")
    out, _ = reader.communicate(timeout=PATIENCE_S)
    assert json.loads(out)["summary"]["total"] == 2
    assert (folder / "pipe").is_fifo()


@pytest.mark.parametrize("words", [("run",), ("run", "--json"), ("run", "nope"), ("--help",)])
def test_full_standard_output_is_reported_and_is_not_an_internal_error(
    folder: Path, words: tuple[str, ...]
) -> None:
    with open("/dev/full", "wb") as full:
        ended = subprocess.run(
            [sys.executable, "-m", "mcptest", *words],
            cwd=folder,
            env=ENVIRONMENT,
            stdout=full,
            stderr=subprocess.PIPE,
            timeout=PATIENCE_S,
            check=False,
        )
    assert ended.returncode == 2
    assert b"Traceback" not in ended.stderr
    if words != ("run", "nope"):
        assert b"error: cannot write to standard output: No space left" in ended.stderr


@pytest.mark.parametrize(
    ("words", "code", "kind"),
    [
        (("run", "a.test.mcp.yml", "-k", "nope"), 7, "nothing_selected"),
        (("run", "missing.test.mcp.yml"), 2, "usage"),
        (("run", "bad.test.mcp.yml"), 2, "bad_file"),
    ],
)
def test_a_run_that_never_began_leaves_no_old_report(
    folder: Path, words: tuple[str, ...], code: int, kind: str
) -> None:
    """A green report of yesterday must not pass for today's run."""
    (folder / "bad.test.mcp.yml").write_text("tests: 1\n", encoding="utf-8")
    for name in ("out.xml", "out.json"):
        (folder / name).write_text("old", encoding="utf-8")
    ended = mcptest(folder, *words, "--junit", "out.xml", "--reporter", "json=out.json")
    assert ended.code == code
    report = json.loads((folder / "out.json").read_text(encoding="utf-8"))
    assert (report["suites"], report["error"]["kind"]) == ([], kind)
    (element,) = ET.parse(folder / "out.xml").getroot().iter("error")
    assert element.get("type") == kind
