"""A report never replaces another one or a file that the run uses."""

from __future__ import annotations

import shlex
import sys
from typing import TYPE_CHECKING

import pytest
from console import TINY_SERVER, case, mcptest, write_config, write_suite

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_config(tmp_path / "conductor.config.json", str(tmp_path / "started"))
    write_config(tmp_path / "other.json", str(tmp_path / "started"))
    write_suite(tmp_path / "a.test.mcp.yml", case("good"))
    write_suite(tmp_path / "plain.yml", case("good"))
    (tmp_path / "server.py").write_text(TINY_SERVER.read_text(encoding="utf-8"), encoding="utf-8")
    (tmp_path / "to-test").symlink_to("a.test.mcp.yml")
    (tmp_path / "to-config").symlink_to("conductor.config.json")
    (tmp_path / "to-report").symlink_to("o.json")
    return tmp_path


COMMAND = ("--server-command", f"{shlex.quote(sys.executable)} server.py")


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("--reporter", "json=o.json", "--reporter", "junit=./o.json"), "two reports cannot share"),
        (("--reporter", "json=o.json", "--junit", "to-report"), "two reports cannot share"),
        (("--reporter", "json=o.json", "--capture", "to-report"), "two reports cannot share"),
        (("--reporter", "json=a.test.mcp.yml"), "a.test.mcp.yml is a test file; a report would"),
        (("--reporter", "json=to-test"), "is a test file; a report would replace it"),
        (("--capture", "to-test"), "is a test file; a report would replace it"),
        (("--reporter", "json=to-config"), "is a config; a report would replace it"),
        (("-c", "other.json", "--reporter", "json=./other.json"), "is the config of this run"),
        (("plain.yml", "--reporter", "json=plain.yml"), "plain.yml is one of the files to run"),
        ((*COMMAND, "--junit", "server.py"), "server.py is named in the command of the server"),
        (("--junit", "./server.py", "--", "x", "server.py"), "is named in the command of the"),
    ],
)
def test_a_file_that_a_report_would_replace_is_refused_before_anything_runs(
    folder: Path, words: tuple[str, ...], why: str
) -> None:
    before = {path: path.read_bytes() for path in folder.iterdir() if path.is_file()}
    ended = mcptest(folder, "run", *words)
    assert (ended.code, ended.out) == (2, "")
    assert why in ended.err
    assert {path: path.read_bytes() for path in folder.iterdir() if path.is_file()} == before


@pytest.mark.parametrize(
    "words",
    [
        ("--reporter", "json=o.json", "--reporter", "junit=o.xml", "--capture", "o.capture"),
        ("--reporter", "json=to-report"),
        (*COMMAND, "--junit", "server.py.xml"),
        ("plain.yml", "-c", "other.json", "--reporter", "json=plain.json"),
    ],
)
def test_files_of_their_own_are_written(folder: Path, words: tuple[str, ...]) -> None:
    ended = mcptest(folder, "run", *words)
    assert (ended.code, ended.err) == (0, "")
